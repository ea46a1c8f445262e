/* Rows for the log: losses, values of --test, scalar settings such as the learning rate. A loss is
 * the mean over the rows of data since the row before; its sum is in the checkpoint, so that a
 * training that goes on has the same rows. */
#include "base/clock.h"
#include "runtime/model.h"
#include "tools/neoc/train/train.h"

static const neo_rt_entry *entry_at(const neoc_trainer *t, const neoc_feed *f) {
  return &t->r.lib.model->entries[f->entry];
}

static bool is_setting(const neo_rt_tensor *x) {
  return x->role == NEO_RT_ROLE_SETTING && x->rank == 0;
}

/* ---- columns */

static const char *loss_name(const neoc_trainer *t, size_t k) {
  return neoc_feed_tensor(&t->entry[k].feed, entry_at(t, &t->entry[k].feed)->n_inputs)->name;
}

/* The panel of a test's value: that of the losses, if it is one of them. */
static const char *panel_of(const neoc_trainer *t, const char *output) {
  for (size_t k = 0; k < t->n_entries; k++)
    if (neo_streq(loss_name(t, k), output))
      return "loss";
  return output;
}

static void add_column(neoc_trainer *t, const char *name, const char *panel, const char **panels) {
  panels[t->log.columns.n] = panel;
  NEO_PUSH(t->cli->arena, &t->log.columns, name);
}

static void add_columns(neoc_trainer *t) {
  neo_arena *a = t->cli->arena;
  const neo_rt_model *m = t->r.lib.model;
  size_t most = t->n_entries + (size_t)m->n_tensors;
  const neo_rt_entry *test = t->has_test ? entry_at(t, &t->test.feed) : NULL;
  const char **panels =
      NEO_NEW_ARRAY(a, const char *, most + (test ? (size_t)test->n_args : 0) + 1);
  for (size_t k = 0; k < t->n_entries; k++)
    add_column(t,
               t->n_entries == 1
                   ? "loss"
                   : neo_arena_printf(a, "loss.%s", entry_at(t, &t->entry[k].feed)->name),
               "loss", panels);
  for (int32_t k = 0; test && k < test->n_args - test->n_inputs; k++) {
    const neo_rt_tensor *o = neoc_feed_tensor(&t->test.feed, test->n_inputs + k);
    if (o->rank == 0)
      add_column(t, neo_arena_printf(a, "test.%s", o->name), panel_of(t, o->name), panels);
  }
  for (int32_t k = 0; k < m->n_tensors; k++)
    if (is_setting(&m->tensors[k]))
      add_column(t, m->tensors[k].name, NULL, panels);
  t->log.panel = panels;
  t->row_value = NEO_NEW_ARRAY(a, neoc_log_value, t->log.columns.n + 1);
}

/* ---- values */

static neoc_log_value setting_value(const neoc_trainer *t, int32_t tensor) {
  double data = 0; /* large enough for an element of any type */
  neo_rt_array x = {.type = t->r.lib.model->tensors[tensor].type, .data = &data};
  if (neo_rt_get(t->r.ctx, tensor, &data, neo_rti_type_bytes(x.type)))
    return (neoc_log_value){0};
  return (neoc_log_value){neoc_array_at(&x, 0), true};
}

static neoc_exit add_row(neoc_trainer *t, bool tested) {
  const neo_rt_model *m = t->r.lib.model;
  const neo_rt_entry *test = t->has_test ? entry_at(t, &t->test.feed) : NULL;
  neoc_log_value *value = t->row_value;
  size_t n = 0;
  for (size_t k = 0; k < t->n_entries; k++, n++) {
    neoc_trained *e = &t->entry[k];
    value[n] =
        (neoc_log_value){e->row_rows ? e->row_sum / (double)e->row_rows : 0, e->row_rows > 0};
    e->row_sum = 0;
    e->row_rows = 0;
  }
  for (int32_t k = 0; test && k < test->n_args - test->n_inputs; k++)
    if (neoc_feed_tensor(&t->test.feed, test->n_inputs + k)->rank == 0)
      value[n++] = (neoc_log_value){t->test.value[k], tested};
  for (int32_t k = 0; k < m->n_tensors; k++)
    if (is_setting(&m->tensors[k]))
      value[n++] = setting_value(t, k);
  neoc_log_row row = {.step = neo_rt_step_count(t->r.ctx),
                      .epoch = t->epoch + 1,
                      .seconds = t->seconds_before + neo_now_s() - t->begun,
                      .value = value};
  return neoc_log_add(&t->log, &row);
}

/* ---- the training */

neoc_exit neoc_record_open(neoc_trainer *t) {
  neoc_cli *cli = t->cli;
  neoc_log *l = &t->log;
  *l = (neoc_log){.cli = cli,
                  .title = t->r.lib.model->name,
                  .table_path = neoc_text(cli, NEOC_O_HISTORY, NULL),
                  .curve_path = neoc_text(cli, NEOC_O_CURVE, NULL),
                  .events_folder = neoc_text(cli, NEOC_O_TENSORBOARD, NULL),
                  .goes_on = neoc_has(cli, NEOC_O_RESUME)};
  add_columns(t);
  l->kept_step = neo_rt_step_count(t->r.ctx);
  if (l->kept_step && t->position == t->epoch_rows)
    l->kept_step--; /* the epoch's end is repeated, with its row */
  neoc_exit e = neoc_log_open(l);
  t->seconds_before = neoc_log_seconds(l);
  return e;
}

/* Adds a row if one is due. After the last steps of an epoch, the epoch's own row follows
 * instead. */
neoc_exit neoc_record_steps(neoc_trainer *t, int64_t steps) {
  int64_t done = (int64_t)neo_rt_step_count(t->r.ctx);
  bool due = t->log_every && done / t->log_every > (done - steps) / t->log_every;
  return due && t->position < t->epoch_rows ? add_row(t, false) : NEOC_OK;
}

neoc_exit neoc_record_epoch(neoc_trainer *t) {
  return add_row(t, t->has_test);
}
