/* Declarations that the tuner's files share. Each file calls only those below it:
 *
 *   tune.c       chooses the task of the next batch, and ends the search
 *   emit.c, import.c, quality.c: instead of a search
 *   session.c    begin and end: the measurer, the files
 *   race.c       races, and records of winners
 *   base.c       the base of a task
 *   task.c       jobs for the measurer; batches
 *   inputs.c     buffers that kernels read in a run of their entry
 *   tasks.c      the tasks of a compilation
 *   journal.c    the log of trials
 *   shrink.c     smaller sizes for long kernels
 *   progress.c   the time that is left; the time of a step
 *
 * and below them the search (search.h), the builder (build.h) and the measurer (measurer.h).
 *
 * Texts that these functions return are in the arena of the compilation.
 *
 * A status that is no NEO_OK ends the tuning, with its text in t->why. */
#pragma once
#include "tools/tune/tune.h"

/* A candidate must be below this ratio to the base's time to win and to be recorded. */
#define NEO_TASK_WORTH 0.98

enum { NEO_TASK_LIMIT_MS = 60000, NEO_TASK_CPU_MS = 3000 }; /* limits of a base and of a race */

/* ---- progress.c */
double neo_tune_left_s(const neo_tune *t); /* seconds that are left; below 0: time is over */
/* Whether the time of the search is over. */
bool neo_tune_late(const neo_tune *t);
/* Whether the user's `stop` asks for the end; false without one. */
bool neo_tune_stopped(const neo_tune *t);
/* Calls the user's `progress`, if there is one. */
void neo_tune_show(const neo_tune *t);
/* Updates the nanoseconds per unit of the model's cost, after the base of a task was measured. */
void neo_tune_rescale(neo_tune *t);
/* The time of a kernel by the model's cost, scaled by measured kernels. */
double neo_tune_guess_ns(const neo_tune *t, const neo_task *x);
/* The ratio of the base's time to that of the model's choice, as its record says. */
double neo_task_base_ratio(const neo_task *x);
/* The line that tells the measurer on which device a target's kernels run. */
const char *neo_tune_device_text(neo_arena *a, const neo_target *t);

/* ---- shrink.c */
/* Halves run-time sizes until the iterations are at most `factor` of what they were. False: they
 * depend on no size that may shrink. */
bool neo_task_shrink(const neo_tune *t, neo_task *x, double factor);

/* ---- journal.c: the log of trials, JSON lines. An error in the log costs only its trials. */
neo_status neo_journal_open(neo_tune *t) NEO_MUST_CHECK;
/* Logs a trial. ratio: to the default's time; below 0: refused, with the reason. */
void neo_journal_add(neo_tune *t, const neo_task *x, const neo_schedule *s, double ratio,
                     const char *why);
/* Tells the search of a task its logged trials. */
void neo_journal_recall(neo_tune *t, neo_task *x);

/* ---- tasks.c: fills t->tasks. NEO_ARGUMENT: t->o.only is not a regular expression. */
neo_status neo_tune_add_tasks(neo_tune *t) NEO_MUST_CHECK;

/* ---- inputs.c */
/* Whether entries can be run here. */
bool neo_tune_can_run(const neo_tune *t);
/* Sets the sizes, as kernels read them, and the files of inputs of a task at x->sizes. Runs its
 * entry if that is needed and was not done. Null, or the reason of a failure. */
const char *neo_task_inputs(neo_tune *t, neo_task *x);
/* Counts how often kernels run in a step, and how long they take, if a run is needed. */
void neo_tune_look_at_run(neo_tune *t);
void neo_inputs_free(neo_tune *t);

/* ---- task.c */
/* The measurer died: its reason becomes the tuning's. Never NEO_OK. */
neo_status neo_task_lost(neo_tune *t) NEO_MUST_CHECK;
/* The job of a task for the measurer. */
const char *neo_task_job(neo_tune *t, neo_task *x);
/* Sets the limits of candidates: processor time, and a much longer wall time, since a busy machine
 * may let them wait, but at most `most_ms`. */
void neo_task_limit(neo_tune *t, double cpu_ms, double most_ms);
/* Ends the task; it failed with the message "WHAT: WHY". */
void neo_task_fail(neo_tune *t, neo_task *x, const char *what, const char *why);
/* The plain schedule, a unit for each point of the shared axes: single ones can be run. */
neo_schedule neo_task_plain(const neo_task *x);
/* Builds and measures schedules: ratio[k] is the time of schedule k relative to the default's, -1
 * if it was refused, 0 if time did not suffice. */
neo_status neo_task_measure(neo_tune *t, neo_task *x, const neo_schedule *s, size_t n,
                            double *ratio) NEO_MUST_CHECK;

/* ---- base.c */
/* Sets the sizes to measure at, the search and the base's schedule. False: the task failed. */
bool neo_task_prepare(neo_tune *t, neo_task *x);
/* Starts the search with logged trials once the base's time is known. */
void neo_task_open(neo_tune *t, neo_task *x, double default_ns);
/* Measures the base if that was not done yet; else sends the job again if the measurer has another
 * one. NEO_OK also if the task failed. */
neo_status neo_task_begin(neo_tune *t, neo_task *x) NEO_MUST_CHECK;

/* ---- race.c */
/* Records x->best with its measurement, unless a record is as good. */
neo_status neo_task_record(neo_tune *t, neo_task *x, const neo_measured *m) NEO_MUST_CHECK;
/* Races the best candidate that was not yet raced, and records it if it wins. */
neo_status neo_task_confirm(neo_tune *t, neo_task *x) NEO_MUST_CHECK;
/* Races the best candidates at the end of a search, since the luckiest of many times is not always
 * that of the best schedule. */
neo_status neo_task_finals(neo_tune *t, neo_task *x) NEO_MUST_CHECK;

/* ---- tune.c */
/* The task that gets the next batch; null: none. */
neo_task *neo_tune_next(neo_tune *t);
