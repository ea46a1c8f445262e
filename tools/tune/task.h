/* What the files of the tuner share. Each calls only those below it:
 *
 *   tune.c       which task gets the next batch, and when it is enough
 *   emit.c, import.c, quality.c: instead of a search
 *   session.c    begin and end: the measurer, the files
 *   race.c       races, and records of winners
 *   base.c       the base of a task
 *   task.c       what the measurer is told of a task; batches
 *   tasks.c      the tasks of a compilation
 *   journal.c    the log of trials
 *   shrink.c     smaller sizes for long kernels
 *   progress.c   the time that is left, what a step takes
 *
 * and below them the search (search.h), the builder (build.h) and the measurer (measurer.h). */
#ifndef NEO_TOOLS_TUNE_TASK_H
#define NEO_TOOLS_TUNE_TASK_H
#include "tools/tune/tune.h"

/* A record is worth its line, and a winner its name, from here on: of the base's time. */
#define NEO_TASK_WORTH 0.98

enum { NEO_TASK_LIMIT_MS = 60000, NEO_TASK_CPU_MS = 3000 }; /* of a base, and of a race */

/* ---- progress.c */
double neo_tune_now_s(void);               /* a clock that only rises */
double neo_tune_left_s(const neo_tune *t); /* seconds of the time; below 0: it is over */
bool neo_tune_late(const neo_tune *t);
bool neo_tune_stopped(const neo_tune *t);
void neo_tune_show(const neo_tune *t);
/* After the base of a task was measured: what a unit of the model's cost is in nanoseconds. */
void neo_tune_rescale(neo_tune *t);
/* What a kernel takes by the model, by what was measured of others. */
double neo_tune_guess_ns(const neo_tune *t, const neo_task *x);
/* All runs of a task in a step: measured, else guessed. best: with what was found. */
double neo_task_ns(const neo_tune *t, const neo_task *x, bool best);
/* Time of the base to that of the model's choice, as its record says. */
double neo_task_base_ratio(const neo_task *x);
/* The line that tells the measurer what a target's kernels run on. */
const char *neo_tune_device_text(neo_arena *a, const neo_target *t);

/* ---- shrink.c */
/* Iterations of all loops of a task's kernel at some sizes. */
double neo_task_iterations(const neo_tune *t, const neo_task *x, const int64_t *sizes);
/* Halves run-time sizes until that is at most `factor` of what it is; false: it depends on none
 * that can be less. */
bool neo_task_shrink(const neo_tune *t, neo_task *x, double factor);

/* ---- journal.c: the log of trials, JSON lines. Whatever is wrong with it costs only what it would
 * have told. */
neo_status neo_journal_open(neo_tune *t) NEO_MUST_CHECK;
/* ratio: of the default's time; below 0: refused, with the reason. */
void neo_journal_add(neo_tune *t, const neo_task *x, const neo_schedule *s, double ratio,
                     const char *why);
/* Tells the search of a task what the log knows of it. */
void neo_journal_recall(neo_tune *t, neo_task *x);

/* ---- tasks.c: fills in t->tasks. NEO_ARGUMENT: t->o.only is no regular expression. */
neo_status neo_tune_add_tasks(neo_tune *t) NEO_MUST_CHECK;

/* ---- task.c */
/* The measurer has gone: its reason is the tuning's. Never NEO_OK. */
neo_status neo_task_lost(neo_tune *t) NEO_MUST_CHECK;
/* What the measurer is told of it. */
const char *neo_task_job(neo_tune *t, neo_task *x);
/* Limits of a candidate from now on: of its own time; by the clock on the wall much more, as a busy
 * machine may let it wait, but no more than `most_ms`. */
void neo_task_limit(neo_tune *t, double cpu_ms, double most_ms);
void neo_task_fail(neo_tune *t, neo_task *x, const char *what, const char *why);
/* The plain schedule, a unit for each point of the shared axes: single ones can be run. */
neo_schedule neo_task_plain(const neo_task *x);
/* Builds and measures: ratio[k] is the time of schedule k to the default's, -1 where it was
 * refused. What time does not allow stays 0. */
neo_status neo_task_measure(neo_tune *t, neo_task *x, const neo_schedule *s, size_t n,
                            double *ratio) NEO_MUST_CHECK;
/* A batch of candidates. */
neo_status neo_task_batch(neo_tune *t, neo_task *x) NEO_MUST_CHECK;

/* ---- base.c */
/* Sizes to measure at, the search, the base's schedule; false: the task failed. */
bool neo_task_prepare(neo_tune *t, neo_task *x);
/* The time of the base is known: the search begins, with what the log knows. */
void neo_task_open(neo_tune *t, neo_task *x, double default_ns);
/* The base, if there is none yet; else the job again, if the measurer has another one. NEO_OK also
 * where the task failed. */
neo_status neo_task_begin(neo_tune *t, neo_task *x) NEO_MUST_CHECK;

/* ---- race.c */
/* x->best, that took so long: into the records, unless one there is as good. */
neo_status neo_task_record(neo_tune *t, neo_task *x, const neo_measured *m) NEO_MUST_CHECK;
/* Races the best candidate that was not raced yet, and records it if it wins. */
neo_status neo_task_confirm(neo_tune *t, neo_task *x) NEO_MUST_CHECK;
/* Races the best ones, at the end of a search: the luckiest time among many is not always the best
 * schedule's. */
neo_status neo_task_finals(neo_tune *t, neo_task *x) NEO_MUST_CHECK;

/* ---- tune.c */
/* Which task is next; null: none. */
neo_task *neo_tune_next(neo_tune *t);

#endif
