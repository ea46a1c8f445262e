/* The parts of `neoc tune`: tune.c runs, print.c prints progress and results, options.c reads the
 * command line, entry.c runs the model.
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

/* ---- options.c */
/* The options of the tuner; the files of records go to *co too. */
neoc_exit neoc_tune_options(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co);
/* The file that winners are written to, which is read too, and that of the log. */
neoc_exit neoc_tune_files(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co);
/* "90s", "5m", "1h"; false: the text is none. */
bool neoc_tune_duration(const char *text, double *seconds);

/* ---- entry.c */
/* A neo_tune_options.run, `tuner` is one: with inputs as `neoc run` draws them. False: it has said
 * on stderr why not. */
bool neoc_tune_run_entry(void *tuner, const char *entry, const int64_t *sizes,
                         const struct neo_rti_watch *watch);

/* ---- print.c */
/* Called after every batch, with a tuner; on a terminal one line that changes. */
void neoc_tune_progress(void *tuner, const neo_tune *t);
/* Print the results of a search, and of a survey of n tasks. */
void neoc_tune_print(const tuner *x);
const char *neoc_tune_json(const tuner *x); /* members of an object */
void neoc_tune_print_survey(const tuner *x, const neo_quality *q, size_t n);
/* members of an object */
const char *neoc_tune_survey_json(const tuner *x, const neo_quality *q, size_t n);
