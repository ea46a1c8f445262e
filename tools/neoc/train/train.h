/* `neoc train`. Each file calls only those below it:
 *
 *   train.c    runs the epochs
 *   setup.c    reads the command line
 *   record.c   rows of --history, --curve and --tensorboard (log.h)
 *   best.c     finds the best epoch, and stops early
 *   save.c     saves and resumes
 *   map.c      transforms batches by another model
 *   test.c     tests on held-out data
 *   async.c    sends batches to the network of --async (async.h)
 *   finite.c   looks for NaN
 *   show.c     prints progress and epochs
 *   async_show.c
 *              prints what the network did
 *   trainer.c  tells which entries are due
 *
 * and below all of them the data (data.h). */
#pragma once
#include "tools/neoc/train/async.h"
#include "tools/neoc/train/data.h"
#include "tools/neoc/train/log.h"

/* How the last rows of an epoch are used, if they are fewer than a step's. */
typedef enum {
  NEOC_LAST_SMALL, /* a step of fewer rows */
  NEOC_LAST_DROP,  /* left out */
  NEOC_LAST_PAD    /* a whole step: the epoch's first rows come again */
} neoc_last;

typedef struct { /* an entry that trains */
  neoc_feed feed;
  int64_t times;   /* steps per round-robin turn of all entries */
  double loss_sum; /* sum over this epoch, weighted by rows */
  double loss;     /* loss of the last step */
  double row_sum;  /* sum of losses since the last row of the log */
  int64_t row_rows;
} neoc_trained;

typedef struct { /* the mean of a scalar output, over calls */
  double sum, weight;
  int32_t size; /* the entry's size that is the weight of a call; -1: its rows */
} neoc_mean;

typedef struct { /* held-out data */
  neoc_data data;
  neoc_feed feed;
  int64_t *order;
  int32_t *mean_over; /* per output: as neoc_mean.size */
  double *value;      /* per output, a scalar: the result of the last test */
  int64_t left;       /* rows that `feed` cannot take */
  neoc_runner rest;   /* the model for the last `left` rows of a test, if `has_rest` */
  neoc_data rest_data;
  neoc_feed rest_feed;
  bool has_rest;
} neoc_test;

typedef struct {    /* the best epoch, by a value of --test */
  int32_t output;   /* output of the test's entry; -1: not wanted */
  bool highest;     /* else the lowest is the best */
  int64_t patience; /* epochs without a better one after which training ends; 0: any number */
  double value;     /* value in the best epoch */
  int64_t epoch;    /* the best one, from 1; 0: none yet */
  const char *path; /* path of its checkpoint; null: not saved */
} neoc_best;

typedef struct neoc_map neoc_map;
typedef struct neoc_async neoc_async;

typedef struct {
  neoc_runner r;
  neoc_cli *cli;
  neoc_data data;
  neoc_trained *entry; /* in the order of their steps */
  size_t n_entries,
      with_inputs; /* with_inputs: the first entry with inputs, which determines the rows of a
                             step */
  int64_t round;   /* batches until the entries' turns repeat */
  neoc_test test;
  bool has_test, progress, allow_nan;
  bool told_empty; /* a size of 0 in a batch, and the outputs that are NaN because of it, were
                      reported */
  neoc_last last;
  int64_t epochs, save_every;
  int32_t threads;
  const char *save;
  neoc_best best;
  neoc_map *map; /* the map of --map; null: none */
  neoc_async_words async_words;
  neoc_async *async; /* null: training is synchronous */
  neoc_log log;
  neoc_log_value *row_value; /* [log.columns] */
  int64_t log_every;         /* steps; 0: a row at the end of an epoch only */
  double seconds_before;     /* seconds of the trainings that this one continues */
  uint64_t seed;
  int64_t epoch, position; /* position: rows of this epoch that are done */
  int64_t epoch_rows;      /* rows in an epoch's steps */
  int64_t *order;
  double begun, epoch_begun, shown;        /* seconds */
  double line_every;                       /* interval of lines if stderr is no terminal; 0: no
                                              lines */
  int64_t steps_done;                      /* steps in this run */
  int64_t rows_done, rows_done_this_epoch; /* rows in this run */
  uint64_t saved_step;                     /* step of the saved file; 0: none */
} neoc_trainer;

/* ---- trainer.c */
/* The number of rows of the step that begins at this row of the epoch. */
int64_t neoc_train_batch(const neoc_trainer *t, int64_t position);
/* Whether entry k has a step at this row of this epoch. */
bool neoc_train_is_due(const neoc_trainer *t, size_t k, int64_t epoch, int64_t position);
/* Reports the message of a failed call; returns the exit code for its status. */
neoc_exit neoc_train_failed(const neoc_trainer *t, neo_rt_status s);
/* The number of steps of all entries before this row of this epoch, from the first epoch on; -1: it
 * overflows. */
int64_t neoc_train_steps(const neoc_trainer *t, int64_t epoch, int64_t position);
/* The entries as a checkpoint stores them, "d:5,g"; a single entry by its name. In the arena of the
 * command line. */
const char *neoc_train_entries(const neoc_trainer *t);

/* ---- setup.c: options, entries and data, after the model is compiled */
neoc_exit neoc_train_options(neoc_trainer *t);
neoc_exit neoc_train_open(neoc_trainer *t);

/* ---- record.c */
/* Begins the files, or continues them, after a checkpoint was read. */
neoc_exit neoc_record_open(neoc_trainer *t);
/* Adds a row, if one is due, after a batch of `steps` steps. */
neoc_exit neoc_record_steps(neoc_trainer *t, int64_t steps);
/* Adds the row at the end of an epoch, after its test. */
neoc_exit neoc_record_epoch(neoc_trainer *t);

/* ---- best.c */
/* Reads --best and --early-stop, after --test. */
neoc_exit neoc_best_open(neoc_trainer *t);
/* Updates the best epoch after a test; true: this epoch is the best so far. */
bool neoc_best_update(neoc_trainer *t);
/* Whether there was no better epoch for too long. */
bool neoc_best_is_over(const neoc_trainer *t);
/* Prints that training ends early, and the best epoch. */
void neoc_best_tell(const neoc_trainer *t);

/* ---- save.c */
/* Writes the file of --save, if there is one, unless a value in it is not finite. */
neoc_exit neoc_train_save(neoc_trainer *t);
/* The same to a file of its own, after the best epoch so far. */
neoc_exit neoc_train_save_best(neoc_trainer *t);
/* Loads the checkpoint of --save and its position in the data; a failure was reported. */
neoc_exit neoc_train_resume(neoc_trainer *t);

/* ---- map.c */
/* Compiles the model of --map, after the data are open. */
neoc_exit neoc_map_open(neoc_trainer *t);
/* Ends the model of --map, if there is one. */
void neoc_map_close(neoc_trainer *t);
/* The name of that model; "" without one. Owned by the model. */
const char *neoc_map_name(const neoc_trainer *t);
/* Replaces a batch of n rows by the model's outputs for it. */
neoc_exit neoc_map_apply(neoc_trainer *t, neoc_feed *f, int64_t n);

/* ---- test.c */
/* Opens the files of --test and makes room for their rows; an error was reported. */
neoc_exit neoc_test_open(neoc_trainer *t);
/* Computes scalar outputs over all rows of --test, weighted by rows; appends text such as " loss
 * 0.1 accuracy 0.9". */
neoc_exit neoc_test_run(neoc_trainer *t, neo_str *out);
/* Frees the data of --test. */
void neoc_test_close(neoc_trainer *t);

/* ---- async.c, for train.c */
/* Makes the network of --async, after values were loaded; nothing without --async. */
neoc_exit neoc_async_open(neoc_trainer *t);
/* Writes the file of --trace, if there is one. Only with a network. */
neoc_exit neoc_async_end_trace(neoc_trainer *t);
/* Ends the network, if there is one. */
void neoc_async_close(neoc_trainer *t);
/* Sends the n rows of the batch at the present position. */
neoc_exit neoc_async_batch(neoc_trainer *t, int64_t n);
/* Adds the losses that are known by now. */
void neoc_async_poll(neoc_trainer *t);
/* Waits for what is on its way, applies what is left in sums of gradients, and takes losses and
 * values into the trainer. Nothing if nothing was sent. */
neoc_exit neoc_async_barrier(neoc_trainer *t);

/* ---- finite.c */
/* Checks the loss after a step of `e` on n rows: NEOC_FAILED, with a message, if it is not
 * finite. */
neoc_exit neoc_check_loss(const neoc_trainer *t, const neoc_trained *e, int64_t n);
/* Reports a loss that is NaN, of which `what` tells; NEOC_FAILED. */
neoc_exit neoc_tell_nan(const neoc_trainer *t, const char *what);
/* After a call: reports, once, that an output is NaN because a size of the batch is 0. */
void neoc_check_empty(neoc_trainer *t, const neoc_feed *f, int32_t output);
/* Checks that parameters and states are finite; NEOC_FAILED, with a message. */
neoc_exit neoc_check_kept(const neoc_trainer *t);

/* ---- show.c */
/* Shows progress within an epoch on stderr: on a terminal one line that changes, at most five times
 * a second, else a line at intervals. */
void neoc_show_progress(neoc_trainer *t);
/* The same during a test, `rows` of whose rows are done. */
void neoc_show_test(neoc_trainer *t, int64_t rows);
/* Clears the line of progress on a terminal. */
void neoc_clear_progress(const neoc_trainer *t);
/* Prints the line of a finished epoch; `test` is the text of neoc_test_run. */
void neoc_show_epoch(const neoc_trainer *t, const char *test);
/* Prints how the rows of an epoch that fill no step are used, if any are lost or repeated. */
void neoc_show_last(const neoc_trainer *t);

/* ---- async_show.c; without --async these do nothing */
/* Clears the counts of messages and updates, as an epoch begins. */
void neoc_async_begin_epoch(neoc_trainer *t);
/* Takes these counts, which the functions below print. */
void neoc_async_count(neoc_trainer *t);
/* Prints staleness and the threads' utilisation, behind a line. */
void neoc_async_put_summary(const neoc_trainer *t, FILE *out);
/* Prints all counts as a member of a JSON object. */
void neoc_async_put_json(const neoc_trainer *t, FILE *out);
/* Prints a table of the nodes. */
void neoc_async_show_nodes(const neoc_trainer *t);
