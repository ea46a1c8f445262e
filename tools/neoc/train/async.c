/* The network of --async: its messages, and its barriers. See async.h. */
#include "tools/neoc/train/async.h"
#include "runtime/context.h"
#include "tools/neoc/train/async_parts.h"
#include <math.h>

static neoc_exit failed(const neoc_trainer *t, neo_rt_status s) {
  if (s == NEO_RT_E_RANGE)
    return neoc_tell_nan(t, neo_rt_net_error(t->async->run));
  neoc_clear_progress(t);
  return neoc_fail(t->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_net_error(t->async->run));
}

/* ---- the beginning */

static neoc_exit bind_inputs(neoc_trainer *t) {
  neoc_async *a = t->async;
  const neoc_feed *f = &t->entry[0].feed;
  int32_t n_inputs = t->r.lib.model->entries[f->entry].n_inputs;
  a->input = NEO_NEW_ARRAY(t->cli->arena, const void *, a->net->n_inputs + 1);
  for (int32_t k = 0; k < a->net->n_inputs; k++) {
    for (int32_t j = 0; j < n_inputs; j++)
      if (neo_streq(neoc_feed_tensor(f, j)->name, a->net->inputs[k]))
        a->input[k] = f->args[j];
    if (!a->input[k])
      return neoc_fail(t->cli, NEOC_INTERNAL, "the step has no input %s", a->net->inputs[k]);
  }
  return NEOC_OK;
}

static neoc_exit choose_rows(neoc_trainer *t) {
  neoc_async *a = t->async;
  const neoc_feed *f = &t->entry[0].feed;
  long long rows = t->async_words.value[NEOC_ASYNC_ROWS], batch = f->batch;
  a->rows = rows ? rows : batch;
  if (rows > batch)
    return neoc_usage(t->cli,
                      "--async=rows:%lld: a batch has %lld rows: give fewer, or a larger --batch",
                      rows, batch);
  if (a->rows < f->least)
    return neoc_usage(t->cli, "--async=rows:%lld: entry %s takes at least %lld rows", rows,
                      t->r.lib.model->entries[f->entry].name, (long long)f->least);
  a->per_batch = (batch + a->rows - 1) / a->rows;
  return NEOC_OK;
}

/* Does the model's text accumulate gradients, by `every`? Its counts of rows are a state of the
 * optimizer (frontend/check/every.c), which an interval of the network would count wrongly. */
static bool accumulates(const neoc_trainer *t) {
  const neo_rt_model *m = t->r.lib.model;
  const char *name =
      neo_arena_printf(t->cli->arena, "%s.rows", m->entries[t->entry[0].feed.entry].name);
  int32_t k = neo_rt_find(m, name);
  return k >= 0 && m->tensors[k].role == NEO_RT_ROLE_STATE && m->tensors[k].optimizer;
}

/* Without workers nodes run in this thread, and one key is the synchronous step. Two keys for each
 * worker let none of them wait for a message that another one works on. */
static neo_rt_net_config config_of(const neoc_trainer *t) {
  const neoc_async_words *w = &t->async_words;
  neo_rt_net_config c = {.seed = t->seed,
                         .keys = (int32_t)w->value[NEOC_ASYNC_KEYS],
                         .workers = (int32_t)w->value[NEOC_ASYNC_WORKERS],
                         .every = (int32_t)w->value[NEOC_ASYNC_EVERY],
                         .place = (int32_t)w->value[NEOC_ASYNC_PLACE],
                         .allow_nan = t->allow_nan,
                         .log = w->text[NEOC_ASYNC_LOG],
                         .replay = w->text[NEOC_ASYNC_REPLAY]};
  c.keys = c.keys ? c.keys : c.workers ? 2 * c.workers : 1;
  if (!c.every)
    c.every = accumulates(t) ? 1 : (int32_t)t->async->per_batch;
  if (w->text[NEOC_ASYNC_ORDER]) {
    c.order = NEO_RT_NET_SHUFFLED;
    c.order_seed = (uint64_t)w->value[NEOC_ASYNC_ORDER];
  }
  return c;
}

static neoc_exit make_network(neoc_trainer *t) {
  neoc_async *a = t->async;
  char why[1024] = "";
  a->config = config_of(t);
  if (a->config.every > 1 && accumulates(t))
    return neoc_usage(t->cli,
                      "--async=every:%d: the model's `every` decides when its optimizer runs: "
                      "leave out every of --async, or of the model",
                      a->config.every);
  neo_rt_status s = neo_rt_net_create(a->net, &a->config, &a->run, why, sizeof why);
  return s ? neoc_fail(t->cli, neoc_exit_of((neo_status)s), "--async: %s", why) : NEOC_OK;
}

/* The model's count of steps is of batches, the network's of updates. */
static neoc_exit give_values(neoc_trainer *t) {
  neoc_async *a = t->async;
  uint64_t steps = neo_rt_step_count(t->r.ctx);
  neo_rti_set_position(t->r.ctx, t->seed,
                       steps * (uint64_t)a->per_batch / (uint64_t)a->config.every);
  neo_rt_status s = neo_rt_net_take(a->run, t->r.ctx);
  neo_rti_set_position(t->r.ctx, t->seed, steps);
  return s ? failed(t, s) : NEOC_OK;
}

static neoc_exit take_values(neoc_trainer *t) {
  uint64_t steps = neo_rt_step_count(t->r.ctx);
  neo_rt_status s = neo_rt_net_give(t->async->run, t->r.ctx);
  neo_rti_set_position(t->r.ctx, t->seed, steps);
  return s ? failed(t, s) : NEOC_OK;
}

/* The runner's own trace, of the whole model, would be a second one of that name. */
static neoc_exit begin_trace(neoc_trainer *t) {
  const char *path = neoc_text(t->cli, NEOC_O_TRACE, NULL);
  neo_rt_status s = path ? neo_rt_net_trace(t->async->run, path) : NEO_OK;
  return s ? failed(t, s) : NEOC_OK;
}

neoc_exit neoc_async_end_trace(neoc_trainer *t) {
  neo_rt_status s = neo_rt_net_trace(t->async->run, NULL);
  return s ? failed(t, s) : NEOC_OK;
}

neoc_exit neoc_async_open(neoc_trainer *t) {
  const neo_rt_model *m = t->r.lib.model;
  if (!t->async_words.given)
    return NEOC_OK;
  neoc_async *a = t->async = NEO_NEW(t->cli->arena, neoc_async);
  a->net = neo_library_net(&t->r.c, &t->r.lib, m->entries[t->entry[0].feed.entry].name);
  if (!a->net)
    return neoc_fail(t->cli, NEOC_INTERNAL, "the library has no network");
  a->sizes = NEO_NEW_ARRAY(t->cli->arena, int64_t, m->n_sizes + 1);
  for (int32_t k = 0; k < m->n_sizes; k++)
    a->sizes[k] = m->sizes[k].hi;
  neoc_exit e = bind_inputs(t);
  if (!e)
    e = choose_rows(t);
  if (!e)
    e = make_network(t);
  if (e)
    return e;
  a->nodes = NEO_NEW_ARRAY(t->cli->arena, neo_rt_net_node_stats, a->net->n_nodes + 1);
  a->workers = NEO_NEW_ARRAY(t->cli->arena, neo_rt_net_worker_stats, a->config.workers + 1);
  neoc_exit given = give_values(t);
  return given ? given : begin_trace(t);
}

void neoc_async_close(neoc_trainer *t) {
  if (t->async)
    neo_rt_net_destroy(t->async->run);
}

/* ---- messages */

static neoc_exit send(neoc_trainer *t, int64_t at, int64_t n) {
  neoc_async *a = t->async;
  neoc_feed *f = &t->entry[0].feed;
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *e = &m->entries[f->entry];
  neoc_exit code = neoc_feed_fill(f, t->order + at, n);
  if (!code)
    code = neoc_map_apply(t, f, n);
  if (code)
    return code;
  for (int32_t k = 0; k < e->n_sizes; k++)
    a->sizes[m->entry_sizes[e->sizes + k]] = f->sizes[k];
  neo_rt_net_instance x = {
      .sizes = a->sizes, .inputs = a->input, .weight = (double)n / (double)a->rows, .rows = n};
  neo_rt_status s = neo_rt_net_send(a->run, &x);
  a->unsettled += n;
  return s ? failed(t, s) : NEOC_OK;
}

neoc_exit neoc_async_batch(neoc_trainer *t, int64_t n) {
  neoc_async *a = t->async;
  neoc_exit e = NEOC_OK;
  for (int64_t at = 0, rows; at < n && !e; at += rows) {
    rows = n - at < a->rows ? n - at : a->rows;
    e = send(t, t->position + at, rows);
  }
  neoc_feed_prefetch(&t->entry[0].feed, t->order + t->position + n,
                     neoc_train_batch(t, t->position + n));
  neo_rti_set_position(t->r.ctx, t->seed, neo_rt_step_count(t->r.ctx) + 1);
  return e;
}

/* ---- losses, barriers */

/* Adds the losses of instances that have come back since the last call: `sum` and `rows` are those
 * since the last barrier. */
static void take_losses(neoc_trainer *t, double sum, int64_t rows) {
  neoc_async *a = t->async;
  neoc_trained *x = &t->entry[0];
  if (rows > a->taken_rows)
    x->loss = (sum - a->taken_sum) / (double)(rows - a->taken_rows);
  x->loss_sum += sum - a->taken_sum;
  x->row_sum += sum - a->taken_sum;
  x->row_rows += rows - a->taken_rows;
  a->taken_sum = sum;
  a->taken_rows = rows;
}

void neoc_async_poll(neoc_trainer *t) {
  neo_rt_net_total total;
  neoc_async *a = t->async;
  if (!a || !a->unsettled)
    return;
  neo_rt_net_stats(a->run, &total, NULL, NULL, 0);
  double rows = total.loss_weight * (double)a->rows;
  if (rows > 0)
    take_losses(t, total.loss * rows, llround(rows));
}

neoc_exit neoc_async_barrier(neoc_trainer *t) {
  neoc_async *a = t->async;
  double loss;
  if (!a || !a->unsettled)
    return NEOC_OK;
  neo_rt_status s = neo_rt_net_wait(a->run, &loss);
  if (s)
    return failed(t, s);
  take_losses(t, loss * (double)a->unsettled, a->unsettled);
  a->unsettled = a->taken_rows = 0;
  a->taken_sum = 0;
  return take_values(t);
}
