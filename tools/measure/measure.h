/* neo-measure: runs kernels that may be wrong, and says how long they take.
 *
 * It reads commands, a line each, and answers those that measure, and no others, with one line of
 * JSON; what was wrong with a line before them is told then, until the next `job`. It links
 * the runtime only, and is executed before any thread exists, so that it can fork: every candidate
 * runs in a child of its own, one at a time, with limits on time, memory, descriptors, files,
 * processes and system calls, in a process group that is killed at the end. What it computed is
 * compared with the expected answer by the parent before its time is taken.
 *
 *   job               forget the job before; what follows describes a new one
 *   threads 1         (the defaults are shown)
 *   seed 0
 *   fill signed       or positive
 *   limit wall_ms=2000 cpu_ms=2000 memory_mb=256
 *                     of a child; memory beyond what the job itself needs
 *   time run_ms=2 least_runs=7 total_ms=60
 *                     of a run of some units; of all runs of a candidate
 *   sizes 64 128      run-time sizes, in the model's order
 *   buffer read f32 262144 [bound=1000]
 *                     in the order of the kernel's buffers; elements of an index are below
 *                     its bound
 *   buffer write f32 4096 rtol=1e-5 [atol=0] [rare=0.0001]
 *                     answers may differ by rtol*(|expected| + their root mean square) + atol, and
 *                     a share `rare` of them by anything
 *   ready             allocates and fills
 *   plain KERNEL      some units of a kernel that is right: what `base` is compared with
 *   base KERNEL       the default: measured; its answer is the expected one from now on
 *   try KERNEL        a candidate: measured against the base, in turns, on some units
 *   race KERNEL       the same on all units, for longer
 *   quit
 *
 * where KERNEL is `id=3 symbol=k3 units=64 scratch=8192 [best_ratio=0.8] path=/tmp/x/k3.so` (the
 * path to the end of the line; scratch in bytes). The answer repeats the id:
 * {"id":3,"ok":false,"why":"..."}, or {"id":3,"ok":true,"ns":...} with "ns" the median of a run of
 * all units; of try and race also "ratio", the median of the ratios to the base in each turn. */
#ifndef NEO_TOOLS_MEASURE_H
#define NEO_TOOLS_MEASURE_H
#include "include/neo/neo_rt.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
  MEASURE_TO_PARENT = 3, /* descriptors of a child */
  MEASURE_FROM_PARENT = 4,
  MEASURE_MAX_BUFS = 1024,
  MEASURE_MAX_SIZES = 64,
  MEASURE_MAX_SAMPLES = 64,
  MEASURE_UNWRITTEN = 0xa5, /* every byte of what nobody has written */
  MEASURE_LINE = 8192
};

typedef struct {
  uint8_t type;
  bool write;
  int64_t n, bound;
  size_t bytes;
  double rtol, atol, rare;
  char *data;     /* what kernels get: between pages without access */
  char *answer;   /* shared with the child, which copies its answers here */
  char *plain;    /* the elements that `plain` computed; null: there is none */
  char *expected; /* null before `base` */
  double scale;   /* root mean square of the expected elements */
} measure_buf;

typedef struct {
  int32_t threads;
  uint64_t seed;
  bool positive, sandbox;
  int64_t wall_ms, cpu_ms, memory_bytes;
  double run_ns, total_ns;
  int least_runs;
  int64_t sizes[MEASURE_MAX_SIZES];
  int n_bufs;
  measure_buf buf[MEASURE_MAX_BUFS];
  bool ready;
  double calibration_ns; /* the least that was seen; 0: none yet */
} measure_job;

typedef struct {
  char symbol[256], path[4096];
  long id;
  int64_t units;
  size_t scratch_bytes;
  double
      best_ratio; /* to the base's time: what is much slower is not measured to the end; 0: none */
} measure_kernel;

typedef enum { MEASURE_PLAIN, MEASURE_BASE, MEASURE_TRY, MEASURE_RACE } measure_mode;

typedef struct {
  bool ok;
  char why[256];
  double ns;    /* median of a run of all units */
  double ratio; /* of try and race: the median of the turns' ratios to the base */
  int samples;
  double share; /* of the elements to write that the units which ran have written */
  double
      busy; /* the calibration loop's time against the least that was seen: 1 on an idle machine */
  double finite; /* MEASURE_BASE: share of answers that are finite */
} measure_result;

/* ---- job.c: buffers. False: no memory, or nonsense. */
bool measure_job_ready(measure_job *j);
void measure_job_clear(measure_job *j); /* as new, but for `sandbox` */
/* Puts what nobody has written into all answers. */
void measure_answers_reset(measure_job *j);

/* ---- answer.c: the parent's comparison of the shared answers, by mode. False: *why says which
 * element is wrong. `whole`: all units ran; else *share gets the share of all elements that they
 * have written. */
bool measure_answer_right(measure_job *j, measure_mode mode, bool whole, double *share,
                          char why[256]);
/* Keeps the answers as the reference, or as what is expected; returns the share of finite ones. */
double measure_answer_keep(measure_job *j, measure_mode mode);

/* ---- trial.c: one child */
measure_result measure_trial(measure_job *j, measure_mode mode, const measure_kernel *k,
                             const measure_kernel *base);

/* ---- child.c: never returns. Results go to `out`, permission to go on comes from `in`. */
typedef struct {
  enum { MEASURE_ANSWER, MEASURE_TIMES, MEASURE_FAIL } kind;
  int which;   /* ANSWER: of the candidate, 0, or the base, 1 */
  bool whole;  /* ANSWER: all units ran */
  double busy; /* TIMES: the median of the calibrations, against the job's */
  int n;       /* TIMES: samples */
  double sample_ns[2][MEASURE_MAX_SAMPLES]; /* of the units that ran; [1]: of the base */
  char why[128];
} measure_message;
void measure_child(const measure_job *j, measure_mode mode, const measure_kernel *k,
                   const measure_kernel *base, int in, int out) __attribute__((noreturn));

/* ---- limits.c: what a child may do. After `measure_limits_calls` any system call beyond
 * computing, and telling the parent, kills it. */
void measure_limits_set(const measure_job *j, size_t scratch_bytes);
void measure_limits_calls(void);

/* ---- clock.c */
double measure_now_ns(
    const measure_job *j); /* one thread: of its own time; several: of the clock on the wall */
double measure_wall_ns(void);
double measure_calibrate(const measure_job *j,
                         int times); /* of a fixed amount of arithmetic, some us, so many times */
double measure_median(double *x, int n); /* sorts */

#endif
