/* `neoc train`: epochs over data files, with a checkpoint from which a training goes on as if it
 * had never stopped.
 *
 * The order of an epoch's rows is a function of (seed, epoch); the position in it, and the sums of
 * the epoch so far, are kept in the checkpoint beside step and seed. Everything else that a step
 * depends on is a parameter, a state or a setting. Signals stay blocked and are looked for between
 * steps, so that a checkpoint is always of a finished step. */
#include "tools/neoc/train.h"
#include "runtime/internal.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  neoc_runner r;
  neoc_cli *cli;
  neoc_feed train, test;
  bool has_test, progress;
  int64_t epochs, save_every;
  const char *save;
  uint64_t seed;
  int64_t epoch, position; /* rows of this epoch that are done */
  double loss_sum;         /* of this epoch, weighted by rows */
  int64_t *order, *test_order;
  double begun, epoch_begun, shown; /* seconds */
  int64_t epoch_rows, rows_done;    /* of this run */
  double step_loss;
} trainer;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static neoc_exit failed(const trainer *t, neo_rt_status s) {
  return neoc_fail(t->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(t->r.ctx));
}

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

/* ---- checkpoints */

static neoc_exit save(trainer *t) {
  char epoch[32], position[32], batch[32], rows[32], loss[64];
  if (!t->save)
    return NEOC_OK;
  snprintf(epoch, sizeof epoch, "%" PRId64, t->epoch);
  snprintf(position, sizeof position, "%" PRId64, t->position);
  snprintf(batch, sizeof batch, "%" PRId64, t->train.batch);
  snprintf(rows, sizeof rows, "%" PRId64, t->train.rows);
  snprintf(loss, sizeof loss, "%a", t->loss_sum);
  const neo_rt_pair extra[] = {{"epoch", epoch},
                               {"position", position},
                               {"batch", batch},
                               {"rows", rows},
                               {"epoch_loss", loss}};
  neo_rt_status s = neo_rt_save(t->r.ctx, t->save, extra, 5);
  return s ? failed(t, s) : NEOC_OK;
}

static bool metadata(const trainer *t, const char *key, int64_t *x) {
  const char *text = neo_rt_loaded(t->r.ctx, key);
  return text && neoc_parse_int(text, x);
}

static neoc_exit resume(trainer *t) {
  int64_t batch, rows, seed;
  neo_rt_status s = neo_rt_load(t->r.ctx, t->save);
  if (s)
    return failed(t, s);
  const char *loss = neo_rt_loaded(t->r.ctx, "epoch_loss");
  if (!metadata(t, "epoch", &t->epoch) || !metadata(t, "position", &t->position) ||
      !metadata(t, "batch", &batch) || !metadata(t, "rows", &rows) || !metadata(t, "seed", &seed) ||
      !loss)
    return neoc_fail(t->cli, NEOC_FAILED, "%s: is no checkpoint of `neoc train`", t->save);
  t->loss_sum = strtod(loss, NULL);
  if (batch != t->train.batch || rows != t->train.rows)
    return neoc_fail(t->cli, NEOC_FAILED,
                     "%s: was made with --batch %lld and %lld rows, not %lld "
                     "and %lld",
                     t->save, (long long)batch, (long long)rows, (long long)t->train.batch,
                     (long long)t->train.rows);
  if (neoc_has(t->cli, NEOC_O_SEED) && (uint64_t)seed != t->seed)
    return neoc_fail(t->cli, NEOC_FAILED, "%s: was made with --seed %lld", t->save,
                     (long long)seed);
  t->seed = (uint64_t)seed;
  if (t->epoch < 0 || t->position < 0 || t->position > t->train.rows)
    return neoc_fail(t->cli, NEOC_FAILED, "%s: its data position is damaged", t->save);
  return NEOC_OK;
}

/* ---- what the user sees */

static void put_time(FILE *out, double seconds) {
  long s = seconds < 0 ? 0 : (long)(seconds + 0.5);
  if (s >= 3600)
    fprintf(out, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    fprintf(out, "%ld:%02ld", s / 60, s % 60);
}

static void show_progress(trainer *t) {
  double at = now();
  if (!t->progress || at - t->shown < 0.2)
    return;
  t->shown = at;
  double rate = (double)t->rows_done / (at - t->begun);
  int64_t left = (t->epochs - t->epoch) * t->train.rows - t->position;
  fprintf(stderr, "\repoch %lld/%lld  %3.0f %%  loss %.4f  %.0f samples/s  ",
          (long long)t->epoch + 1, (long long)t->epochs,
          100.0 * (double)t->position / (double)t->train.rows, t->step_loss, rate);
  put_time(stderr, (double)left / (rate > 0 ? rate : 1));
  fprintf(stderr, " left \033[K");
}

static void clear_progress(const trainer *t) {
  if (t->progress)
    fprintf(stderr, "\r\033[K");
}

static double as_double(uint8_t type, const void *p) {
  neo_rt_array x = {.type = type, .data = (void *)(uintptr_t)p};
  return neoc_array_at(&x, 0);
}

/* Scalar outputs over the test rows, weighted by rows; text " loss 0.1 accuracy 0.9". */
static neoc_exit run_test(trainer *t, neo_str *out) {
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *e = &m->entries[t->test.entry];
  int32_t n_out = e->n_args - e->n_inputs;
  double *sum = NEO_NEW_ARRAY(t->cli->arena, double, n_out + 1);
  int64_t done = 0;
  while (done < t->test.rows) {
    int64_t n = t->test.rows - done < t->test.batch ? t->test.rows - done : t->test.batch;
    if (n < t->test.batch && t->test.batch_size < 0)
      break;
    neoc_feed_fill(&t->r, &t->test, t->test_order + done, n);
    neo_rt_status s = neo_rt_call(t->r.ctx, t->test.entry, t->test.sizes, t->test.args);
    if (s)
      return failed(t, s);
    for (int32_t k = 0; k < n_out; k++) {
      const neo_rt_tensor *o = &m->tensors[m->entry_args[e->args + e->n_inputs + k]];
      if (o->rank == 0)
        sum[k] += (double)n * as_double(o->type, t->test.args[e->n_inputs + k]);
    }
    done += n;
  }
  for (int32_t k = 0; k < n_out; k++) {
    const neo_rt_tensor *o = &m->tensors[m->entry_args[e->args + e->n_inputs + k]];
    if (o->rank)
      continue;
    if (t->cli->json)
      neo_str_addf(out, "%s\"%s\": %.9g", out->n ? ", " : "", o->name, sum[k] / (double)done);
    else
      neo_str_addf(out, " %s %.6g", o->name, sum[k] / (double)done);
  }
  return NEOC_OK;
}

static neoc_exit end_of_epoch(trainer *t, int64_t rows) {
  neo_str test;
  neo_str_init(&test, t->cli->arena);
  double seconds = now() - t->epoch_begun;
  neoc_exit e = t->has_test ? run_test(t, &test) : NEOC_OK;
  if (e)
    return e;
  clear_progress(t);
  double loss = t->loss_sum / (double)rows, rate = (double)t->epoch_rows / seconds;
  if (t->cli->json)
    printf("{\"epoch\": %lld, \"loss\": %.9g, \"samples_per_s\": %.1f, \"test\": {%s}}\n",
           (long long)t->epoch + 1, loss, rate, neo_str_text(&test));
  else if (!neoc_has(t->cli, NEOC_O_QUIET))
    printf("epoch %lld/%lld: loss %.6g%s%s, %.0f samples/s\n", (long long)t->epoch + 1,
           (long long)t->epochs, loss, t->has_test ? ", test" : "", neo_str_text(&test), rate);
  fflush(stdout);
  return NEOC_OK;
}

/* ---- training */

static neoc_exit step(trainer *t, int64_t n) {
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *e = &m->entries[t->train.entry];
  neoc_feed_fill(&t->r, &t->train, t->order + t->position, n);
  neo_rt_status s = neo_rt_call(t->r.ctx, t->train.entry, t->train.sizes, t->train.args);
  if (s)
    return failed(t, s);
  const neo_rt_tensor *loss = &m->tensors[m->entry_args[e->args + e->n_inputs]];
  t->step_loss = as_double(loss->type, t->train.args[e->n_inputs]);
  t->loss_sum += (double)n * t->step_loss;
  t->position += n;
  t->rows_done += n;
  t->epoch_rows += n;
  return NEOC_OK;
}

static neoc_exit stop(trainer *t) {
  clear_progress(t);
  neoc_exit e = save(t);
  if (e)
    return e;
  if (t->save)
    fprintf(stderr, "interrupted in epoch %lld after step %llu; saved to %s, go on with --resume\n",
            (long long)t->epoch + 1, (unsigned long long)neo_rt_step_count(t->r.ctx), t->save);
  else
    fprintf(stderr, "interrupted; nothing is kept without --save\n");
  return NEOC_INTERRUPTED;
}

/* Rows of an epoch: a model with a constant number of rows leaves the last ones out. */
static int64_t epoch_length(const trainer *t) {
  const neoc_feed *f = &t->train;
  return f->batch_size < 0 ? f->rows / f->batch * f->batch : f->rows;
}

static neoc_exit run_epoch(trainer *t) {
  int64_t rows = epoch_length(t);
  neo_rt_shuffle(t->seed, (uint64_t)t->epoch, t->train.rows, t->order);
  t->epoch_begun = now();
  t->epoch_rows = 0;
  while (t->position < rows) {
    int64_t n = rows - t->position < t->train.batch ? rows - t->position : t->train.batch;
    neoc_exit e = step(t, n);
    if (e)
      return e;
    if (interrupted())
      return stop(t);
    bool due = t->save_every && neo_rt_step_count(t->r.ctx) % (uint64_t)t->save_every == 0;
    if (due && (e = save(t)) != NEOC_OK)
      return e;
    show_progress(t);
  }
  neoc_exit e = end_of_epoch(t, rows);
  t->epoch++;
  t->position = 0;
  t->loss_sum = 0;
  if (!e)
    e = save(t);
  return e;
}

/* ---- setting up */

static neoc_exit find_entry(trainer *t, neoc_option option, const char *otherwise, uint8_t kind,
                            int32_t *out) {
  const neo_rt_model *m = t->r.lib.model;
  const char *name = neoc_text(t->cli, option, otherwise);
  *out = -1;
  for (int32_t k = 0; k < m->n_entries && *out < 0; k++)
    if (name ? neo_streq(m->entries[k].name, name) : m->entries[k].kind == kind)
      *out = k;
  if (*out < 0 && name)
    return neoc_fail(t->cli, NEOC_FAILED, "the model has no entry '%s'", name);
  if (*out < 0)
    return neoc_fail(t->cli, NEOC_FAILED, "the model has no `train` statement");
  if (m->entries[*out].kind != kind)
    return neoc_fail(t->cli, NEOC_FAILED, "entry '%s' is not one for %s", m->entries[*out].name,
                     kind == NEO_RT_ENTRY_TRAIN ? "training" : "testing");
  return NEOC_OK;
}

static int64_t *identity(neo_arena *a, int64_t n) {
  int64_t *x = NEO_NEW_ARRAY(a, int64_t, n + 1);
  for (int64_t k = 0; k < n; k++)
    x[k] = k;
  return x;
}

static neoc_exit open_data(trainer *t) {
  neoc_exit e = NEOC_OK;
  int32_t entry, test;
  int64_t batch = neoc_int(t->cli, NEOC_O_BATCH, 0, 1, &e);
  if (!e)
    e = find_entry(t, NEOC_O_ENTRY, NULL, NEO_RT_ENTRY_TRAIN, &entry);
  if (!e)
    e = neoc_feed_open(&t->r, NEOC_O_DATA, entry, batch, &t->train);
  t->has_test = neoc_has(t->cli, NEOC_O_TEST);
  if (e)
    return e;
  t->order = identity(t->cli->arena, t->train.rows);
  if (!t->has_test)
    return NEOC_OK;
  e = find_entry(t, NEOC_O_TEST_ENTRY, "test", NEO_RT_ENTRY_FORWARD, &test);
  if (!e)
    e = neoc_feed_open(&t->r, NEOC_O_TEST, test, 0, &t->test);
  if (!e)
    t->test_order = identity(t->cli->arena, t->test.rows);
  return e;
}

static neoc_exit apply_settings(trainer *t) {
  const neoc_texts *given = &t->cli->value[NEOC_O_SET];
  for (size_t k = 0; k < given->n; k++) {
    double x;
    const char *value = NULL, *name = neoc_pair(t->cli, given->at[k], &value);
    if (!name || !neoc_parse_real(value, &x))
      return neoc_usage(t->cli, "--set takes NAME=NUMBER, not '%s'", given->at[k]);
    neo_rt_status s = neo_rt_set_scalar(t->r.ctx, name, x);
    if (s)
      return failed(t, s);
  }
  return NEOC_OK;
}

static neoc_exit read_options(trainer *t, int64_t *threads) {
  neoc_exit e = NEOC_OK;
  t->epochs = neoc_int(t->cli, NEOC_O_EPOCHS, 1, 0, &e);
  t->save_every = neoc_int(t->cli, NEOC_O_SAVE_EVERY, 0, 1, &e);
  t->seed = (uint64_t)neoc_int(t->cli, NEOC_O_SEED, 0, 0, &e);
  *threads = neoc_int(t->cli, NEOC_O_THREADS, 0, 0, &e);
  t->save = neoc_text(t->cli, NEOC_O_SAVE, NULL);
  t->progress = isatty(2) && !neoc_has(t->cli, NEOC_O_QUIET);
  if (!e && !neoc_has(t->cli, NEOC_O_DATA))
    e = neoc_usage(t->cli, "--data is missing");
  if (!e && neoc_has(t->cli, NEOC_O_RESUME) && !t->save)
    e = neoc_usage(t->cli, "--resume goes on from the file of --save: which?");
  if (!e && neoc_has(t->cli, NEOC_O_RESUME) && neoc_has(t->cli, NEOC_O_LOAD))
    e = neoc_usage(t->cli, "--resume takes everything from the file of --save: not with --load");
  return e;
}

static neoc_exit train(trainer *t, int64_t threads) {
  block_signals(); /* before the pool's threads are made: they inherit it */
  neoc_exit e = neoc_runner_begin(&t->r, (int32_t)threads, t->seed);
  if (!e)
    e = open_data(t);
  if (!e && neoc_has(t->cli, NEOC_O_RESUME))
    e = resume(t);
  else if (!e)
    e = neoc_runner_load(&t->r, false);
  if (!e)
    e = apply_settings(t);
  t->begun = now();
  while (!e && t->epoch < t->epochs)
    e = run_epoch(t);
  return e;
}

neoc_exit neoc_train(neoc_cli *cli) {
  trainer t = {.cli = cli};
  neo_compile_options o;
  int64_t threads = 0;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &o);
  if (!e)
    e = read_options(&t, &threads);
  if (!e)
    e = neoc_runner_compile(&t.r, cli, &o, false);
  if (e)
    return e;
  e = train(&t, threads);
  if (!e)
    e = neoc_runner_end_trace(&t.r);
  if (t.train.data)
    neoc_feed_close(&t.r, &t.train);
  if (t.test.data)
    neoc_feed_close(&t.r, &t.test);
  neoc_runner_close(&t.r);
  return e;
}
