/* Jobs for the measurer: a group's buffers with their lengths, the run-time sizes, and the
 * tolerance between two right answers. */
#pragma once
#include "tools/pipeline/compile.h"

typedef struct {
  const int64_t *sizes; /* [size id] */
  const int64_t
      *numbers; /* the sizes in the order in which kernels read them, with indices of loops */
  const char *const
      *input; /* [buffer but for scratch] the file with its elements; null: they are drawn */
  int threads;
  uint64_t seed;
  bool positive; /* inputs are positive, where negative ones make most answers NaN */
  bool in_loop;  /* the kernel is a loop: rounding of an iteration goes into the next */
  bool loose;    /* larger tolerances, where sums cancel */
  double run_ms, total_ms;
  int64_t between_bytes;    /* bytes that other kernels of the step touch between two runs */
  int64_t limit_ms, cpu_ms; /* limits of a child: wall time; processor time */
} neo_job_options;

/* Writes the lines of a job, from "job" to "ready". k: a kernel of the group, for its buffers. */
void neo_job_text(neo_compilation *c, const neo_group *g, const neo_kernel *k,
                  const neo_job_options *o, neo_str *out);
/* Bytes of the buffers that a kernel accesses, without scratch. */
double neo_job_bytes(neo_compilation *c, const neo_kernel *k, const int64_t *sizes);
/* Elements of a buffer that the kernel sees. */
int64_t neo_job_elements(const neo_compilation *c, const neo_kbuf *b, const int64_t *sizes);
/* Why the measurer cannot take the kernel: it has too many buffers or bytes. Null: it can. */
const char *neo_job_refused(neo_compilation *c, const neo_kernel *k, const int64_t *sizes);
