/* The measurer as a process of our own (tools/measure/measure.h): started once, told jobs and
 * candidates, asked for times. If it dies while a candidate runs, that one is refused; the process
 * is started again, some times, and told the job again. */
#ifndef NEO_TOOLS_TUNE_MEASURER_H
#define NEO_TOOLS_TUNE_MEASURER_H
#include "tools/measure/words.h"
#include "tools/tune/build.h"
#include <stdio.h>
#include <sys/types.h>

typedef struct {
  neo_arena *arena;
  const char *program;
  pid_t pid;
  FILE *to, *from;
  const char *why;            /* of the last failure of the process itself */
  NEO_VEC(const char *) told; /* lines of the job so far, the base's among them */
  const char *device;         /* the line that named it; null: none did */
  int restarts;
} neo_measurer;

typedef struct {
  bool ok;
  measure_reason reason; /* NONE where it is ok */
  char why[256];         /* the same for people */
  double ns, ratio;      /* medians: of a run; of its ratios to the base's */
  double busy, finite;
} neo_measured;

/* NEO_IO: it is not beside this program, or cannot be run. */
neo_status neo_measurer_start(neo_arena *a, neo_measurer *m, const char **why) NEO_MUST_CHECK;
void neo_measurer_stop(neo_measurer *m);
/* A new job: lines as measure.h says, each with its newline, "job" first and "ready" last; or what
 * is told of it later. They outlive the measurer. */
void neo_measurer_job(neo_measurer *m, const char *lines);
/* A line that is answered with {"ok":...}: "device ...", "save ...". *text: the answer's "device"
 * or "why". NEO_UNSUPPORTED: it is not ok. */
neo_status neo_measurer_ask(neo_measurer *m, const char *line, const char **text) NEO_MUST_CHECK;
/* A candidate as the measurer's lines name it, after its number. */
const char *neo_candidate_text(neo_arena *a, const neo_candidate *x);
/* command: "plain", "base", "try", "race". best_ratio: see measure.h. Not NEO_OK only when the
 * process itself failed. */
neo_status neo_measurer_run(neo_measurer *m, const char *command, const neo_candidate *x,
                            double best_ratio, neo_measured *out) NEO_MUST_CHECK;

#endif
