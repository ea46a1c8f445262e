/* What the measurer is told of a group: its buffers with their lengths, the run-time sizes, and how
 * far apart two right answers may be. */
#ifndef NEO_TOOLS_TUNE_JOB_H
#define NEO_TOOLS_TUNE_JOB_H
#include "tools/pipeline/compile.h"

typedef struct {
  const int64_t *sizes; /* [size id] */
  int threads;
  uint64_t seed;
  bool positive; /* no negative numbers: where they make most answers NaN */
  bool loose;    /* answers may be nothing but rounding: sums that cancel */
  double run_ms, total_ms;
  int64_t between_bytes;    /* what other kernels of the step touch between two runs */
  int64_t limit_ms, cpu_ms; /* of a child: by the clock on the wall; of its own time */
} neo_job_options;

/* The lines of a job, "job" to "ready". k: a kernel of the group, for its buffers. */
void neo_job_text(neo_compilation *c, const neo_group *g, const neo_kernel *k,
                  const neo_job_options *o, neo_str *out);
/* Bytes of the buffers that a kernel reads and writes, without scratch. */
double neo_job_bytes(neo_compilation *c, const neo_kernel *k, const int64_t *sizes);
/* Why the measurer cannot take it: buffers, sizes or bytes are too many. Null: it can. */
const char *neo_job_refused(neo_compilation *c, const neo_kernel *k, const int64_t *sizes);

#endif
