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
  neo_records
      *in_memory;       /* takes the winners that the file does not, where it cannot be written; its
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
  int64_t trials, logged; /* measured in this run; known from the log */
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
  NEO_VEC(neo_logged_trial) logged;
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

#endif
