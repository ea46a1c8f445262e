/* The parts of `neoc tune`: tune.c reads the command line, tunes and runs the model, print.c
 * prints progress and results.
 *
 * Texts that these functions return are in the arena of the command line. */
#pragma once
#include "tools/neoc/run/runner.h"
#include "tools/tune/tune.h"

typedef struct {
  neoc_cli *cli;
  neoc_runner runner; /* with the compilation; its library is opened in children only */
  neo_tune tune;
  bool terminal;
  bool before;    /* tuning before a compilation, which reports failures itself */
  double shown_s; /* when progress was printed last */
} tuner;

/* ---- print.c, for tune.c */
/* Called after every batch, with a tuner; on a terminal one line that changes. */
void neoc_tune_progress(void *tuner, const neo_tune *t);
/* Print the results of a search, and of a survey of n tasks. */
void neoc_tune_print(const tuner *x);
const char *neoc_tune_json(const tuner *x); /* members of an object */
void neoc_tune_print_survey(const tuner *x, const neo_quality *q, size_t n);
/* members of an object */
const char *neoc_tune_survey_json(const tuner *x, const neo_quality *q, size_t n);
