/* `neoc train`: epochs over data files, with a checkpoint from which a training continues as if it
 * had never stopped.
 *
 * The order of an epoch's rows is a function of (seed, epoch); the position in it, and the sums of
 * the epoch so far, are in the checkpoint with step and seed. Everything else that a step depends
 * on is a parameter, a state or a setting. Signals are blocked, and checked between steps, so that
 * a checkpoint is always of a finished step.
 *
 * Several entries alternate on the same rows, in round-robin turns: an entry with fewer steps than
 * the others has the last batches of a turn. */
#include "tools/neoc/train/train.h"
#include "base/clock.h"
#include <signal.h>

/* ---- signals */

static void block_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool interrupted(void) {
  sigset_t set;
  sigpending(&set);
  return sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1;
}

static neoc_exit stop(neoc_trainer *t) {
  neoc_clear_progress(t);
  neoc_exit e = neoc_async_barrier(t);
  if (!e)
    e = neoc_train_save(t);
  if (!e && !t->save)
    e = neoc_log_sync(&t->log);
  if (e)
    return e;
  if (t->save)
    fprintf(stderr, "interrupted in epoch %lld after step %llu; saved to %s, go on with --resume\n",
            (long long)t->epoch + 1, (unsigned long long)neo_rt_step_count(t->r.ctx), t->save);
  else
    fprintf(stderr, "interrupted; nothing is kept without --save\n");
  return NEOC_INTERRUPTED;
}

/* ---- steps */

static neoc_exit step(neoc_trainer *t, neoc_trained *e, int64_t n) {
  neoc_exit code = neoc_feed_fill(&e->feed, t->order + t->position, n);
  if (code)
    return code;
  code = neoc_map_apply(t, &e->feed, n);
  if (code)
    return code;
  neoc_feed_prefetch(&e->feed, t->order + t->position + n, neoc_train_batch(t, t->position + n));
  neo_rt_status s = neo_rt_call(t->r.ctx, e->feed.entry, e->feed.sizes, e->feed.args);
  if (s)
    return neoc_train_failed(t, s);
  e->loss = neoc_feed_scalar(&e->feed, 0);
  e->loss_sum += (double)n * e->loss;
  e->row_sum += (double)n * e->loss;
  e->row_rows += n;
  neoc_check_empty(t, &e->feed, 0);
  return neoc_check_loss(t, e, n);
}

/* A step of each entry that is due on the batch. */
static neoc_exit step_all(neoc_trainer *t, int64_t n, int64_t *steps) {
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < t->n_entries && !e; k++)
    if (neoc_train_is_due(t, k, t->epoch, t->position)) {
      e = step(t, &t->entry[k], n);
      ++*steps;
    }
  return e;
}

/* Trains on one batch, or sends it to the network, which counts as a step. */
static neoc_exit train_batch(neoc_trainer *t, int64_t *steps) {
  int64_t n = neoc_train_batch(t, t->position);
  *steps = t->async != NULL;
  neoc_exit e = t->async ? neoc_async_batch(t, n) : step_all(t, n, steps);
  t->position += n;
  t->rows_done += n;
  t->rows_done_this_epoch += n;
  t->steps_done += *steps;
  return e;
}

/* Has the count of steps passed a multiple of --save-every? */
static bool save_is_due(const neoc_trainer *t, int64_t steps) {
  int64_t done = (int64_t)neo_rt_step_count(t->r.ctx);
  return t->save_every && done / t->save_every > (done - steps) / t->save_every;
}

/* Saves between two batches. */
static neoc_exit save_now(neoc_trainer *t) {
  neoc_exit e = neoc_async_barrier(t);
  return e ? e : neoc_train_save(t);
}

/* ---- epochs */

static void begin_epoch(neoc_trainer *t) {
  neoc_data_shuffle(&t->data, t->seed, t->epoch, t->order);
  for (int64_t k = t->data.rows; k < t->epoch_rows; k++)
    t->order[k] = t->order[k % t->data.rows];
  neoc_async_begin_epoch(t);
  t->epoch_begun = t->shown = neo_now_s();
  t->rows_done_this_epoch = 0;
}

static neoc_exit end_epoch(neoc_trainer *t) {
  neo_str test = neo_str_in(t->cli->arena);
  neoc_exit e = neoc_async_barrier(t);
  neoc_async_count(t);
  if (!e && t->has_test)
    e = neoc_test_run(t, &test);
  if (e)
    return e;
  neoc_show_epoch(t, neo_str_text(&test));
  bool best = neoc_best_update(t);
  e = neoc_record_epoch(t);
  t->epoch++;
  t->position = 0;
  for (size_t k = 0; k < t->n_entries; k++)
    t->entry[k].loss_sum = 0;
  if (!e && best)
    e = neoc_train_save_best(t);
  if (!e)
    e = neoc_train_save(t);
  return e || t->save ? e : neoc_log_sync(&t->log);
}

static neoc_exit run_epoch(neoc_trainer *t) {
  begin_epoch(t);
  while (t->position < t->epoch_rows) {
    int64_t steps;
    neoc_exit e = train_batch(t, &steps);
    neoc_async_poll(t);
    if (!e)
      e = neoc_record_steps(t, steps);
    if (e)
      return e;
    if (interrupted())
      return stop(t);
    if (save_is_due(t, steps) && (e = save_now(t)) != NEOC_OK)
      return e;
    neoc_show_progress(t);
  }
  return end_epoch(t);
}

/* ---- the command */

static neoc_exit train(neoc_trainer *t) {
  block_signals();                   /* before the pool's threads are made: they inherit it */
  t->r.aside = t->async_words.given; /* a trace is of the network */
  neoc_exit e = neoc_runner_begin(&t->r, t->threads, t->seed);
  if (!e)
    e = neoc_train_open(t);
  if (!e)
    e = neoc_async_open(t);
  t->begun = neo_now_s();
  while (!e && t->epoch < t->epochs && !neoc_best_is_over(t))
    e = run_epoch(t);
  if (!e)
    neoc_async_show_nodes(t);
  if (!e)
    neoc_best_tell(t);
  if (e)
    return e;
  return t->async ? neoc_async_end_trace(t) : neoc_runner_end_trace(&t->r);
}

neoc_exit neoc_train(neoc_cli *cli) {
  neoc_trainer t = {.cli = cli};
  neo_compile_options o;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  if (!e)
    e = neoc_train_options(&t);
  if (!e)
    neoc_async_compile(&t.async_words, &o);
  if (!e)
    e = neoc_runner_compile(&t.r, cli, &o, false);
  if (e)
    return e;
  e = train(&t);
  neoc_async_close(&t);
  neoc_log_close(&t.log);
  neoc_map_close(&t);
  neoc_test_close(&t);
  neoc_data_close(&t.data);
  neoc_runner_close(&t.r);
  return e;
}
