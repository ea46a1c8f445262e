/* Tuning a model: for each of its kernels, the search for a better schedule, measured, checked and
 * recorded.
 *
 * A task is a group with a kernel of its own. Tasks take turns, a batch of candidates each: next is
 * the one with the largest (time in the step) x (share that its search is expected to save). The
 * first batch of a task is preceded by its base: the kernel that a compilation takes today, of a
 * record or of the analytic model. Its answer is compared with that of the plain schedule, and is
 * the expected answer from then on. What a search found is raced against that default,
 * alternating; only if it is quicker by more than 2 % it is recorded, at once. Every trial goes to
 * the log; a later run knows what the log and the records know, so an interruption costs the batch
 * that was under way. */
#ifndef NEO_TOOLS_TUNE_H
#define NEO_TOOLS_TUNE_H
#include "tools/tune/job.h"
#include "tools/tune/measurer.h"
#include "tools/tune/search.h"

typedef struct neo_tune neo_tune;
typedef struct {
  double seconds;
  int threads, workers; /* that a kernel is measured with; that compile */
  uint64_t seed;
  const char *records; /* file that is appended to */
  unsigned records_flags;
  neo_records *unkept;  /* takes the winners that the file does not, where it cannot be written; its
                          arena outlives the tuning. Null: that is a failure */
  const char *log;      /* of trials; null: none */
  const char *only;     /* tasks whose name matches this regular expression; null: all */
  const int64_t *sizes; /* [size id] */
  const char *emit;     /* folder for candidates, instead of measuring them; null: none */
  int candidates;       /* of a kernel, that go there */
  const char *import;   /* folder whose results are taken, instead of measuring; null: none */
  bool (*stop)(void *ctx);                        /* asked between candidates; may be null */
  void (*progress)(void *ctx, const neo_tune *t); /* after every batch and race; may be null */
  void *ctx;
} neo_tune_options;

typedef struct {
  const neo_group *g;
  uint32_t kernel;       /* number in the compilation */
  int64_t count;         /* how often it runs in the step */
  int64_t between_bytes; /* what the others of a step touch between two runs of it */
  neo_record record;
  bool contraction;
  double cost; /* the model's, of its choice; in units of its own for what is no contraction */
  bool begun, over;
  const char *failed;   /* why it cannot be tuned; null: it can */
  bool positive, loose; /* see job.h */
  const int64_t *sizes; /* that it is measured at */
  double part; /* of the iterations at the sizes that were asked for; times are of the whole */
  neo_search search;
  neo_candidate base;            /* what a compilation takes today */
  const neo_record *base_record; /* that it is of; null: it is the model's choice */
  double default_ns;             /* of the base, measured when it began */
  double best_ns;                /* the default's, or of what won a race */
  neo_schedule best;
  bool recorded;
  int64_t trials, known; /* measured in this run; known from the log */
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
  neo_target processor;    /* this machine's, for plain kernels of a GPU's */
  const neo_task *current; /* the one whose job the measurer has */
  NEO_VEC(neo_task) tasks;
  NEO_VEC(neo_logged_trial) known;
  double begun_s;
  double scale[2]; /* nanoseconds of a unit of cost: of contractions [1], of other kernels [0] */
  double *ratios;  /* room for one a task */
  int64_t trials, refused;
  int log; /* descriptor; -1: none */
  const char *why;
  const char *place_why; /* why the files cannot be written; null: they can */
};

/* After neo_compile_kernels. Failures have their text in t->why. */
neo_status neo_tune_init(neo_tune *t, neo_compilation *c, const neo_tune_options *o) NEO_MUST_CHECK;
/* NEO_OK: time is over, or there is nothing left; NEO_INTERRUPTED: stopped; all that was found is
 * recorded. */
neo_status neo_tune_run(neo_tune *t) NEO_MUST_CHECK;
void neo_tune_free(neo_tune *t);

/* Instead of a search, with o.emit (emit.c): builds what the search would measure first, and writes
 * it with what it has to compute. NEO_INTERRUPTED: stopped; what was built is there. */
typedef struct {
  size_t tasks, candidates;
  int64_t bytes;
  bool full; /* no more would travel: not all tasks are in it */
} neo_emission;
neo_status neo_tune_emit(neo_tune *t, neo_emission *out) NEO_MUST_CHECK;
/* Instead of a search, with o.import (import.c): what was measured of such a folder goes to the
 * log, what won a race to the records. *device: what it was measured on. */
neo_status neo_tune_import(neo_tune *t, const char **device) NEO_MUST_CHECK;

/* Instead of a search: measures the whole of a small space (survey.h) of each task, then says how
 * many measurements the search would have taken in it. Until time is over. */
typedef struct {
  const neo_task *task;
  size_t space, measured;
  double default_ns, best_ns;
  neo_schedule best;
  int64_t to_95, to_99; /* measurements to 95 % and 99 % of the best: medians over seeds */
} neo_quality;
neo_status neo_tune_survey(neo_tune *t, neo_quality **out, size_t *n) NEO_MUST_CHECK;

/* Time of a step by what is known: measured, where it is, else guessed from the model. best: with
 * what was found. */
double neo_tune_step_ns(const neo_tune *t, bool best);
/* Share of that time in kernels that were tuned. */
double neo_tune_covered(const neo_tune *t);
/* What a kernel takes by the model, by what was measured of others. */
double neo_tune_guess_ns(const neo_tune *t, const neo_task *x);

/* A record is worth its line, and a winner its name, from here on. */
#define NEO_TASK_WORTH 0.98

/* ---- task.c */
/* Sizes to measure at, the search, the base's schedule; false: the task failed. */
bool neo_task_prepare(neo_tune *t, neo_task *x);
/* The time of the base is known: the search begins, with what the log knows. */
void neo_task_open(neo_tune *t, neo_task *x, double default_ns);
void neo_task_fail(neo_tune *t, neo_task *x, const char *what, const char *why);
/* The plain schedule, a unit for each point of the shared axes: single ones can be run. */
neo_schedule neo_task_plain(const neo_task *x);
/* What the measurer is told of it. */
const char *neo_task_job(neo_tune *t, neo_task *x);
/* x->best, that took so long: into the records, unless one there is as good. */
neo_status neo_task_record(neo_tune *t, neo_task *x, const neo_measured *m) NEO_MUST_CHECK;
/* The base, if there is none yet; else the job again, if the measurer has another one. NEO_OK also
 * where the task failed. */
neo_status neo_task_begin(neo_tune *t, neo_task *x) NEO_MUST_CHECK;
/* Time of the base to that of the model's choice, as its record says. */
double neo_task_base_ratio(const neo_task *x);
/* Builds and measures: ratio[k] is the time of schedule k to the default's, -1 where it was
 * refused. What time does not allow stays 0. */
neo_status neo_task_measure(neo_tune *t, neo_task *x, const neo_schedule *s, size_t n,
                            double *ratio) NEO_MUST_CHECK;
/* A batch of candidates. */
neo_status neo_task_batch(neo_tune *t, neo_task *x) NEO_MUST_CHECK;
/* Races the best candidate that was not raced yet, and records it if it wins. */
neo_status neo_task_confirm(neo_tune *t, neo_task *x) NEO_MUST_CHECK;
/* Races the best ones, at the end of a search: the luckiest time among many is not always the best
 * schedule's. */
neo_status neo_task_finals(neo_tune *t, neo_task *x) NEO_MUST_CHECK;
/* ---- shrink.c */
/* Iterations of all loops of a task's kernel at some sizes. */
double neo_task_iterations(const neo_tune *t, const neo_task *x, const int64_t *sizes);
/* Halves run-time sizes until that is at most `factor` of what it is; false: it depends on none
 * that can be less. */
bool neo_task_shrink(const neo_tune *t, neo_task *x, double factor);

/* The line that tells the measurer what a target's kernels run on. */
const char *neo_tune_device_text(neo_arena *a, const neo_target *t);

bool neo_tune_stopped(const neo_tune *t);
bool neo_tune_late(const neo_tune *t);
double neo_tune_left_s(const neo_tune *t); /* seconds of the time; below 0: it is over */

/* Which task is next; null: none. */
neo_task *neo_tune_next(neo_tune *t);
void neo_tune_show(const neo_tune *t);

/* ---- journal.c: the log of trials, JSON lines. Whatever is wrong with it costs only what it would
 * have told. */
neo_status neo_journal_open(neo_tune *t) NEO_MUST_CHECK;
/* ratio: of the default's time; below 0: refused, with the reason. */
void neo_journal_add(neo_tune *t, const neo_task *x, const neo_schedule *s, double ratio,
                     const char *why);
/* Tells the search of a task what the log knows of it. */
void neo_journal_recall(neo_tune *t, neo_task *x);

#endif
