/* For tools/neoc: tunes a model: searches a better schedule for each of its kernels, measures and
 * checks it, and records it.
 *
 * A task is a group with its own kernel. Tasks alternate, one batch of candidates at a time: the
 * next one has the largest (time in the step) x (share that its search is expected to save). Before
 * its first batch, the base of a task is measured: the kernel that a compilation takes today, by a
 * record or by the analytic model. Its answer is compared with that of the plain schedule and is
 * the expected answer from then on. The best candidate is raced against the base, alternating, and
 * is recorded at once if it is quicker by more than 2 %. Every trial goes to the log, and later
 * runs read the log and the records, so an interruption costs one batch.
 *
 * A status that is no NEO_OK has its text in t->why. Lists and texts are in the compilation's
 * arena. */
#pragma once
#include "tools/tune/inputs.h"
#include "tools/tune/job.h"
#include "tools/tune/measurer.h"
#include "tools/tune/search.h"

struct neo_rti_watch;
typedef struct neo_tune neo_tune;
typedef struct {
  double seconds;
  int threads, workers; /* threads that measure a kernel; processes that compile */
  uint64_t seed;
  const char *records; /* file to which winners are appended */
  unsigned records_flags;
  /* Takes the winners if the file cannot be written; its arena outlives the tuning. Null: a file
   * that cannot be written is a failure. */
  neo_records *in_memory;
  const char *log;      /* the log of trials; null: none */
  const char *only;     /* tasks whose name matches this regular expression; null: all */
  const int64_t *sizes; /* [size id] */
  const char *emit;   /* folder to which candidates are written, instead of measuring; null: none */
  int candidates;     /* candidates per kernel in that folder */
  const char *import; /* folder whose results are imported, instead of measuring; null: none */
  bool (*stop)(void *ctx); /* called between candidates; may be null */
  void (*progress)(void *ctx,
                   const neo_tune *t); /* called after every batch and race; may be null */
  /* Runs an entry on this machine with inputs that are drawn, at these sizes [size id], and lets
   * the watch see its kernels. It is called in a child, once or more. False: it has said on stderr
   * why not. Null: integers that kernels read are drawn. */
  bool (*run)(void *ctx, const char *entry, const int64_t *sizes,
              const struct neo_rti_watch *watch);
  void *ctx;
} neo_tune_options;

typedef struct {
  const neo_group *g;
  const neo_segment *segment; /* g is in a recurrence's loops; null: it has a kernel of its own */
  const neo_machine *machine; /* as g may use it */
  uint32_t kernel;            /* number of the kernel in the compilation */
  int sharing;                /* tasks that have this kernel: segments of one loop */
  int64_t count;              /* how often it runs in the step */
  int64_t own_count;          /* this kernel, of several that have the record */
  const char *entry;          /* an entry that runs it; null: none that can be run */
  int32_t step;               /* the model's step that does */
  bool in_loop;               /* the step is in a loop of the plan */
  int64_t between_bytes;      /* bytes that other kernels of a step touch between two runs */
  neo_record record;
  bool contraction;
  double cost; /* the model's cost of its choice; for non-contractions in other units */
  bool begun, over;
  const char *failed;          /* why it cannot be tuned; null: it can */
  bool positive, loose;        /* see job.h */
  const int64_t *sizes;        /* sizes for measuring */
  const int64_t *in_iteration; /* the sizes, with indices of loops */
  const int64_t *numbers;      /* the sizes in the order in which kernels read them */
  const char **input;          /* [buffer] as in neo_job_options */
  double runs;                 /* as in neo_input */
  double seen_ns;              /* time of a run of the kernel within its entry; 0: not known */
  double part; /* share of the iterations at the requested sizes; times are scaled to the whole */
  neo_search search;
  neo_candidate base;            /* the kernel that a compilation takes today */
  const neo_record *base_record; /* the base's record; null: the base is the model's choice */
  double default_ns;             /* time of the base, measured first */
  double best_ns;                /* time of the default or of the last winner of a race */
  neo_schedule best;
  bool recorded;
  int64_t trials, logged; /* trials of this run; trials of the log */
} neo_task;

typedef struct { /* a trial of an earlier run */
  uint64_t key[2];
  neo_schedule schedule;
  double ratio;
} neo_logged_trial;

struct neo_tune {
  neo_compilation *c;
  neo_tune_options o;
  neo_measurer measurer;
  neo_builder builder;
  neo_target processor;    /* this machine, for plain kernels of a GPU's groups */
  const neo_task *current; /* the task whose job the measurer has */
  NEO_VEC(neo_task) tasks;
  NEO_VEC(neo_logged_trial) logged;
  NEO_VEC(neo_inputs) inputs; /* runs of entries */
  const char *inputs_folder;  /* the files of their integers; null: not made yet */
  double begun_s;
  double scale[2]; /* nanoseconds per unit of cost: of contractions [1], of other kernels [0] */
  double *ratios;  /* room for one per task */
  int64_t trials, refused;
  int log; /* descriptor; -1: none */
  const char *why;
  const char *place_why; /* why the files cannot be written; null: they can */
};

/* Call it after neo_compile_kernels. Failures have their text in t->why. */
neo_status neo_tune_init(neo_tune *t, neo_compilation *c, const neo_tune_options *o) NEO_MUST_CHECK;
/* Runs the search. NEO_OK: time is over or nothing is left; NEO_INTERRUPTED: stopped. All winners
 * are recorded. */
neo_status neo_tune_run(neo_tune *t) NEO_MUST_CHECK;
/* Stops the measurer and removes the temporary folders. */
void neo_tune_free(neo_tune *t);

/* Instead of a search, with o.emit (emit.c): builds the candidates that the search would measure
 * first, and writes them with their expected answers. NEO_INTERRUPTED: stopped; what was built is
 * in the folder. */
typedef struct {
  size_t tasks, candidates;
  int64_t bytes;
  bool full; /* the folder's limit was reached before all tasks were in it */
} neo_emission;
neo_status neo_tune_emit(neo_tune *t, neo_emission *out) NEO_MUST_CHECK;
/* Instead of a search, with o.import (import.c): the results of such a folder go to the log,
 * winners of races to the records. *device: the device that measured. */
neo_status neo_tune_import(neo_tune *t, const char **device) NEO_MUST_CHECK;

/* Instead of a search: measures all of a small space (survey.h) of each task, then replays the
 * search in it, until time is over. */
typedef struct {
  const neo_task *task;
  size_t space, measured;
  double default_ns, best_ns;
  neo_schedule best;
  int64_t to_95, to_99; /* measurements until 95 % and 99 % of the best: medians over seeds */
} neo_quality;
neo_status neo_tune_survey(neo_tune *t, neo_quality **out, size_t *n) NEO_MUST_CHECK;

/* The time of all runs of a task in a step, measured or else estimated. best: with the best
 * schedule found. Segments of one kernel have equal shares of its time. */
double neo_task_ns(const neo_tune *t, const neo_task *x, bool best);
/* The time of a step: of measured kernels, and estimates of others. best: with the best schedules
 * found. */
double neo_tune_step_ns(const neo_tune *t, bool best);
/* The share of that time in tuned kernels. */
double neo_tune_covered(const neo_tune *t);
