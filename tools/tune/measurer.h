/* The measurer as a child process (tools/measure/measure.h). It is started once, gets jobs and
 * candidates, and answers with times. If it dies while a candidate runs, that candidate is refused;
 * the process is restarted, a limited number of times, with the same job. */
#pragma once
#include "tools/measure/words.h"
#include "tools/tune/build.h"
#include <stdio.h>
#include <sys/types.h>

typedef struct {
  neo_arena *arena;
  const char *program;
  pid_t pid;
  FILE *to, *from;
  const char *why;            /* reason of the last failure of the process itself */
  NEO_VEC(const char *) told; /* lines of the job so far, the base's among them */
  const char *device;         /* the line "device ..."; null: none */
  int restarts;
} neo_measurer;

typedef struct {
  bool ok;
  measure_reason reason; /* NONE if it is ok */
  char why[256];         /* the reason as text for people */
  double ns, ratio;      /* medians: time of a run; ratio to the base */
  double busy, finite;
} neo_measured;

/* Starts the process. NEO_IO: it is not in this program's folder, or cannot be run. */
neo_status neo_measurer_start(neo_arena *a, neo_measurer *m, const char **why) NEO_MUST_CHECK;
/* Ends the process, if it runs; the measurer may be started again. */
void neo_measurer_stop(neo_measurer *m);
/* Sends a new job: lines as in measure.h, each with its newline, "job" first and "ready" last; or
 * later additions to the job. The lines have to outlive the measurer. */
void neo_measurer_job(neo_measurer *m, const char *lines);
/* Sends a line that is answered with {"ok":...}: "device ..." or "save ...". *text: the answer's
 * "device" or "why". It is in the measurer's arena. NEO_UNSUPPORTED: the answer is not ok. */
neo_status neo_measurer_ask(neo_measurer *m, const char *line, const char **text) NEO_MUST_CHECK;
/* A candidate in the syntax of the measurer's lines, after its number. */
const char *neo_candidate_text(neo_arena *a, const neo_candidate *x);
/* Measures a candidate. command: "plain", "base", "try" or "race". best_ratio: see measure.h. It
 * only fails if the process itself failed. */
neo_status neo_measurer_run(neo_measurer *m, const char *command, const neo_candidate *x,
                            double best_ratio, neo_measured *out) NEO_MUST_CHECK;
