/* neo-measure: runs kernels, which may be wrong, and measures the time that they take.
 *
 * The program reads commands, one per line. Only commands that measure are answered, each with one
 * line of JSON; an error in an earlier line is reported by the next answer, up to the next `job`.
 * The program links the runtime only, and runs before any thread exists, so that it can fork. Every
 * candidate runs in a child process of its own, one at a time, with limits on time, memory,
 * descriptors, files, processes and system calls, in a process group that is killed at the end. The
 * parent compares a candidate's answer with the expected one before the time is measured.
 *
 *   job               begins a new job, and forgets the one before
 *   threads 1         (values shown here are the defaults)
 *   seed 0
 *   fill signed       inputs have both signs; `fill positive`: positive numbers only
 *   limit wall_ms=2000 cpu_ms=2000 memory_mb=256
 *                     limits of a child; the memory is in addition to that of the job's buffers
 *   time run_ms=2 least_runs=7 total_ms=60
 *                     time of one run of some units; least number of runs; time of all runs
 *   between bytes=0   reads this much other memory before each sample, at most the size of the
 *                     caches, as other kernels of the same step would. Processor kernels only
 *   sizes 64 128      run-time sizes, in the order of neo_rt_args
 *   buffer read f32 262144 [least=-1] [bound=1000] [path=/tmp/x/3.input]
 *                     the kernel's next buffer: 262144 elements, drawn at random. Elements that are
 *                     indices are at least `least` (0 by default) and less than `bound`. With a
 *                     path (to the end of the line) the elements are read from a file in which they
 *                     are as in memory
 *   buffer write f32 4096 rtol=1e-5 [atol=0] [loose=0.001] [rare=0.0001]
 *                     a result. It may differ by rtol*(|expected| + root mean square of all
 *                     expected elements) + atol; a share `rare` of the elements by any amount
 *   buffer update f32 4096 rtol=1e-5 ...
 *                     a buffer that is read and written, with the words of both. It is reset to its
 *                     first content before each run that is checked
 *   loose             adds `loose` to atol of every buffer so far: for sums that cancel, whose
 *                     results consist of rounding errors
 *   ready             allocates and fills the buffers
 *   expect path=/tmp/x/3.expected
 *                     the expected result of `base`, from a file that `save` wrote, instead of the
 *                     result of `plain`
 *   plain KERNEL      runs some units of a kernel known to be right: the expected result of `base`
 *   base KERNEL       measures the default kernel; its result is the expected one from now on
 *   try KERNEL        measures a candidate against the base, in turns, on some units
 *   race KERNEL       the same on all units, for longer
 *   save path=/tmp/x/3.expected
 *                     writes some elements of the result of `plain` to a file; answered
 *   device cpu avx2,fma
 *   device cuda sm_90a [number=1]
 *                     selects the device for the following kernels. The answer is its name, or why
 *                     it is not available
 *   quit
 *
 * KERNEL is `id=3 symbol=k3 units=64 scratch=8192 [best_ratio=0.8] path=/tmp/x/k3.so` (the path to
 * the end of the line; scratch in bytes). A GPU kernel also has `block=128 block_units=128`, the
 * threads and units of a block, and its file is an image for the driver; it is launched as the
 * record of a model says. `persistent=1` launches at most one block for each multiprocessor.
 * `maps=0:bf16:100,0,64:33,200,64;1:...` lists boxes of tensors (neo_rt_map): the buffer, its type,
 * and for each axis the extent, the bytes between two elements, and the elements of a box. All
 * units of a GPU kernel run, in one child until something fails (gpu.c), and the device's clock
 * measures them. `plain` is a kernel for this processor even then.
 *
 * An answer repeats the id. {"id":3,"ok":false,"code":"wrong","why":"..."} has a word of
 * reasons.def and a text for people; {"id":3,"ok":true,"ns":...} the median time of a run of all
 * units. Answers to `try` and `race` add "ratio", the median over turns of the ratio to the base;
 * those for a GPU "graph":true if several launches were one graph of the driver. */
#pragma once
#include "include/neo/neo_rt.h"
#include "tools/measure/words.h"
#include <stdio.h>
#include <sys/types.h>

enum {
  MEASURE_TO_PARENT = 3, /* descriptors in a child */
  MEASURE_FROM_PARENT = 4,
  MEASURE_MAX_BUFS = 1024,
  MEASURE_MAX_SIZES = NEO_RT_MOST_SIZES,
  MEASURE_MAX_SAMPLES = 64,
  MEASURE_UNWRITTEN = 0xa5, /* the value of every unwritten byte */
  MEASURE_LINE = 8192
};

typedef struct {
  uint8_t type;
  bool write, reads; /* reads: it is written and read, or only read */
  int64_t n, least, bound;
  size_t bytes;
  double rtol, atol, loose, rare;
  char *path;     /* a file with its elements; null: they are drawn */
  char *data;     /* the kernels' buffer, between guard pages */
  char *start;    /* buffer that is read and written: its first content; else null */
  char *answer;   /* shared memory to which the child copies its answer */
  char *plain;    /* the elements that `plain` computed; null: none */
  char *expected; /* null before `base` */
  double scale;   /* root mean square of the expected elements */
} measure_buf;

typedef struct {
  pid_t pid;    /* 0: none */
  int from, to; /* pipes: messages of the child; our permission to go on */
} measure_process;

typedef struct {
  int32_t threads;
  uint64_t seed;
  bool positive, sandbox, gpu;
  char level[16];          /* level of a GPU: "sm_90a" */
  int device;              /* number of the GPU */
  measure_process process; /* a GPU's child, which serves all candidates */
  int64_t wall_ms, cpu_ms, memory_bytes;
  double run_ns, total_ns;
  int least_runs;
  size_t between_bytes; /* bytes read before each sample, at most the size of the caches */
  char *between;        /* between_bytes of memory */
  int64_t sizes[MEASURE_MAX_SIZES];
  int n_sizes;
  int n_bufs;
  measure_buf buf[MEASURE_MAX_BUFS];
  bool ready;
  double calibration_ns; /* the shortest time of the calibration loop; 0: none yet */
} measure_job;

typedef struct {
  neo_rt_map of; /* the map without its extents */
  int64_t extent[NEO_RT_MAP_RANK];
} measure_map;

typedef struct {
  char symbol[256], path[4096];
  long id;
  int64_t units;
  size_t scratch_bytes;
  int32_t block,
      block_units;    /* threads and units of a GPU's block; 0: the kernel is a processor's */
  int32_t persistent; /* neo_rt_kernel.persistent */
  measure_map map[NEO_RT_MOST_MAPS];
  int n_maps;
  /* Best ratio to the base's time so far: much slower candidates are not measured to the end; 0:
   * none. */
  double best_ratio;
} measure_kernel;

typedef enum { MEASURE_PLAIN, MEASURE_BASE, MEASURE_TRY, MEASURE_RACE } measure_mode;

typedef struct {
  bool ok;
  measure_reason reason; /* NONE if it is ok */
  char why[256];         /* the reason as text for people */
  double ns;             /* median time of a run of all units */
  double ratio;          /* try and race: the median of the pairs' ratios to the base */
  int samples;
  double share; /* share of the output elements that the units which ran have written */
  double busy; /* time of the calibration loop relative to the shortest one: 1 on an idle machine */
  double finite; /* MEASURE_BASE: share of answers that are finite */
  bool graph;    /* GPU: the launches of a sample were one graph */
} measure_result;

/* ---- job.c: buffers. False: no memory, or invalid sizes. */
bool measure_job_ready(measure_job *j);
/* Called in the child: gives long answers pages of its own, large ones. Pages shared with the
 * parent would become small when they are written to. */
void measure_job_own(const measure_job *j);
void measure_job_clear(measure_job *j); /* resets all except `sandbox` and the device */

/* ---- contents.c */
/* Fills the k-th buffer. False: its file cannot be read, or has another length. */
bool measure_fill(measure_job *j, int k);
/* Makes a copy of the buffer's elements what they are before a run. */
void measure_forget(const measure_buf *b, char *to);
/* Are n elements of a copy, from `at` on, what they were before a run? */
bool measure_unwritten(const measure_buf *b, const char *p, int64_t at, int64_t n);

/* ---- expected.c: a sample of the answer of `plain` in a file. Null, or what is wrong. */
const char *measure_answer_save(const measure_job *j, const char *path);
const char *measure_answer_load(measure_job *j, const char *path);

/* ---- server.c: lines of the protocol */
typedef struct {
  measure_job job;
  measure_kernel base;
  bool has_base;
  const char *wrong; /* what is wrong with the job's description; null: nothing */
} measure_server;
/* Does a line measure? *mode: how. */
bool measure_server_mode(const char *line, measure_mode *mode);
/* Takes a line that describes a job, such as a buffer; an error is kept for the next answer. */
void measure_server_describe(measure_server *s, const char *line);
/* Null, or what is wrong with the line or with the job before it. */
const char *measure_server_run(measure_server *s, measure_mode mode, const char *line, long *id,
                               measure_result *r);

/* ---- process.c */
/* Ends a child, if there is one, with all its processes and clears `p`. Returns its wait status. */
int measure_process_end(measure_process *p);

/* ---- trial.c: one child */
measure_result measure_trial(measure_job *j, measure_mode mode, const measure_kernel *k,
                             const measure_kernel *base);

/* ---- child.c: it never returns. Results go to `out`; permission to go on comes from `in`. */
typedef struct {
  enum { MEASURE_ANSWER, MEASURE_TIMES, MEASURE_FAIL } kind;
  int which;   /* ANSWER: whose it is: the candidate's, 0, or the base's, 1 */
  bool whole;  /* ANSWER: all units ran */
  double busy; /* TIMES: the median calibration relative to the job's */
  bool graph;  /* TIMES: the launches of a sample were one graph */
  int n;       /* TIMES: samples */
  double sample_ns[2][MEASURE_MAX_SAMPLES]; /* times of the units that ran; [1]: the base's */
  char why[128];
} measure_message;
/* Measures a kernel in a child process, against `base` in the modes that compare: reads from
 * descriptor `in`, answers to `out`, and exits. */
void measure_child(const measure_job *j, measure_mode mode, const measure_kernel *k,
                   const measure_kernel *base, int in, int out) __attribute__((noreturn));

/* ---- library.c, for child.c: maps a candidate's library; nothing of it runs. *out: the address of
 * the symbol. Null, or what is wrong. */
const char *measure_library_open(const char *path, const char *symbol, void **out);

/* ---- inside.c: for children of both kinds */
/* Isolates the child: it keeps only the two pipes, and gets a process group of its own. */
void measure_child_begin(int in, int out);
/* Writes a message to the parent. */
void measure_child_tell(const measure_message *m);
/* Reports the reason as m and ends the child. */
void measure_child_fail(measure_message *m, const char *why) __attribute__((noreturn));
/* Waits for the parent's verdict; returns the share of elements that the units wrote. */
double measure_child_permission(void);
/* Whether descriptors besides the pipes are open in this child. */
bool measure_child_leaks(void);

/* ---- gpu.c, for trial.c */
typedef struct {
  measure_mode mode;
  measure_kernel kernel, base;
} measure_request;
/* A child for all candidates of a job; it reads requests from its pipe. */
void measure_gpu_child(const measure_job *j, int in, int out) __attribute__((noreturn));
/* ---- device.c */
/* Applies a line "device ...": selects the device from now on. *text: its name; false: why it is
 * not available. */
bool measure_device_choose(measure_job *j, const char *line, char text[256]);

/* ---- limits.c, for child.c: the sandbox of a child. After `measure_limits_calls`, any system call
 * is fatal except for computing and for messages to the parent. */
void measure_limits_set(const measure_job *j, size_t scratch_bytes);
void measure_limits_calls(void);

/* ---- clock.c */
double measure_now_ns(const measure_job *j); /* one thread: its own time; several: wall time */
/* The monotonic clock in nanoseconds. */
double measure_wall_ns(void);
double
measure_calibrate(const measure_job *j,
                  int times); /* repetitions of a fixed amount of arithmetic of some microseconds */
double measure_median(double *x, int n); /* the median; sorts x */
