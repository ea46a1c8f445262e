/* Checkpoints of `neoc train`: the model's parameters and states, and the position in the data and
 * the sums of the epoch so far, so that a training continues as if it had never stopped. */
#include "tools/neoc/train/train.h"
#include "tools/neoc/train/trees.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const last_words[] = {"small", "drop", "pad"};

static const char *number(const neoc_trainer *t, int64_t x) {
  return neo_arena_printf(t->cli->arena, "%" PRId64, x);
}

/* The exact sums of the entries' losses, as text. */
static const char *losses(const neoc_trainer *t) {
  neo_str s = neo_str_in(t->cli->arena);
  for (size_t k = 0; k < t->n_entries; k++)
    neo_str_addf(&s, "%s%a", k ? "," : "", t->entry[k].loss_sum);
  return neo_str_text(&s);
}

/* The sums of losses and the numbers of rows since the last row of the log, as text. */
static const char *row_losses(const neoc_trainer *t) {
  neo_str s = neo_str_in(t->cli->arena);
  for (size_t k = 0; k < t->n_entries; k++)
    neo_str_addf(&s, "%s%a:%" PRId64, k ? "," : "", t->entry[k].row_sum, t->entry[k].row_rows);
  return neo_str_text(&s);
}

/* The best epoch, its value, and the entry and output that it is the best of. */
static const char *best(const neoc_trainer *t) {
  const neoc_best *b = &t->best;
  if (b->output < 0)
    return "";
  const neo_rt_entry *e = &t->r.lib.model->entries[t->test.feed.entry];
  const char *name = neoc_feed_tensor(&t->test.feed, e->n_inputs + b->output)->name;
  return neo_arena_printf(t->cli->arena, "%s:%s:%" PRId64 ":%a", b->highest ? "max" : "min", name,
                          b->epoch, b->value);
}

/* A hash of the vocabulary; "" without trees. */
static const char *vocabulary(const neoc_trainer *t) {
  const neoc_treebank *b = t->data.bank;
  return b && b->vocab ? neo_arena_printf(t->cli->arena, "%016" PRIx64, neo_rt_vocab_hash(b->vocab))
                       : "";
}

/* The classes of an input as a list of JSON; null: its data are numbers. */
static const char *classes(const neoc_trainer *t, int32_t tensor) {
  const neoc_source *x = &t->data.source[tensor];
  neo_str s = neo_str_in(t->cli->arena);
  for (size_t k = 0; k < x->classes.n; k++) {
    neo_str_add(&s, k ? ", " : "[");
    neo_str_add_json(&s, x->classes.at[k]);
  }
  return x->classes.n ? (neo_str_addc(&s, ']'), neo_str_text(&s)) : NULL;
}

static const char *classes_key(const neoc_trainer *t, int32_t tensor) {
  return neo_arena_printf(t->cli->arena, "classes.%s", t->r.lib.model->tensors[tensor].name);
}

/* The state of a training beside the context, and facts about its data for readers of the file. */
static neo_rt_pair *metadata_of(const neoc_trainer *t, int32_t *n) {
  const neo_rt_pair own[] = {{"epoch", number(t, t->epoch)},
                             {"position", number(t, t->position)},
                             {"batch", number(t, t->entry[t->with_inputs].feed.batch)},
                             {"rows", number(t, t->data.rows)},
                             {"epoch_loss", losses(t)},
                             {"row_loss", row_losses(t)},
                             {"best", best(t)},
                             {"entries", neoc_train_entries(t)},
                             {"last", last_words[t->last]},
                             {"map", neoc_map_name(t)},
                             {"vocabulary", vocabulary(t)}};
  enum { OWN = sizeof own / sizeof *own };
  int32_t tensors = t->r.lib.model->n_tensors;
  neo_rt_pair *out = NEO_NEW_ARRAY(t->cli->arena, neo_rt_pair, OWN + tensors);
  memcpy(out, own, sizeof own);
  *n = OWN;
  for (int32_t k = 0; k < tensors; k++) {
    const char *list = classes(t, k);
    if (list)
      out[(*n)++] = (neo_rt_pair){classes_key(t, k), list};
  }
  return out;
}

static neoc_exit save(neoc_trainer *t, const char *path) {
  neoc_exit e = t->allow_nan ? NEOC_OK : neoc_check_kept(t);
  if (!e)
    e = neoc_log_sync(&t->log); /* the log has to be on the disk before the checkpoint */
  if (e)
    return e;
  int32_t n;
  const neo_rt_pair *extra = metadata_of(t, &n);
  neo_rt_status s = neo_rt_save(t->r.ctx, path, extra, n);
  return s ? neoc_train_failed(t, s) : NEOC_OK;
}

neoc_exit neoc_train_save(neoc_trainer *t) {
  neoc_exit e = t->save ? save(t, t->save) : NEOC_OK;
  if (!e && t->save)
    t->saved_step = neo_rt_step_count(t->r.ctx);
  return e;
}

neoc_exit neoc_train_save_best(neoc_trainer *t) {
  return t->best.path ? save(t, t->best.path) : NEOC_OK;
}

/* ---- going on */

static bool metadata(const neoc_trainer *t, const char *key, int64_t *x) {
  const char *text = neo_rt_loaded(t->r.ctx, key);
  return text && neoc_parse_int(text, x);
}

static bool read_losses(neoc_trainer *t) {
  const char *at = neo_rt_loaded(t->r.ctx, "epoch_loss");
  for (size_t k = 0; k < t->n_entries && at; k++) {
    char *end;
    t->entry[k].loss_sum = strtod(at, &end);
    at = *end == ',' ? end + 1 : *end || end == at || k + 1 < t->n_entries ? NULL : end;
  }
  return at != NULL;
}

/* Reads the sums since the last row. Older checkpoints have none: the first row then covers the
 * steps from here on. */
static void read_row_losses(neoc_trainer *t) {
  const char *at = neo_rt_loaded(t->r.ctx, "row_loss");
  for (size_t k = 0; k < t->n_entries && at; k++) {
    char *end;
    double sum = strtod(at, &end);
    if (*end++ != ':')
      return;
    t->entry[k].row_sum = sum;
    t->entry[k].row_rows = strtoll(end, &end, 10);
    at = *end == ',' ? end + 1 : NULL;
  }
}

/* Reads the best epoch; one that was judged by another value does not count. */
static void read_best(neoc_trainer *t) {
  const char *then = neo_rt_loaded(t->r.ctx, "best"), *now = best(t);
  size_t n = strcspn(now, ":");
  n += now[n] ? strcspn(now + n + 1, ":") + 1 : 0;
  if (!*now || !then || strncmp(then, now, n) != 0 || then[n] != ':')
    return;
  char *end;
  t->best.epoch = strtoll(then + n + 1, &end, 10);
  if (*end == ':')
    t->best.value = strtod(end + 1, &end);
}

/* Checks that an option is as in the checkpoint. Older checkpoints lack it: it had its usual
 * value. */
static neoc_exit same_word(const neoc_trainer *t, const char *key, const char *option,
                           const char *now, const char *usual) {
  const char *then = neo_rt_loaded(t->r.ctx, key);
  then = then ? then : usual;
  return neo_streq(then, now) ? NEOC_OK
                              : neoc_fail(t->cli, NEOC_FAILED, "%s: was made with --%s=%s, not %s",
                                          t->save, option, then, now);
}

/* Checks that the names of classes have the same integers as in the checkpoint. */
static neoc_exit same_classes(const neoc_trainer *t) {
  for (int32_t k = 0; k < t->r.lib.model->n_tensors; k++) {
    const char *now = classes(t, k), *then = neo_rt_loaded(t->r.ctx, classes_key(t, k));
    if (!neo_streq(now ? now : "", then ? then : ""))
      return neoc_fail(t->cli, NEOC_FAILED, "%s: was made with the classes %s of %s, not %s",
                       t->save, then ? then : "[]", t->r.lib.model->tensors[k].name,
                       now ? now : "[]");
  }
  return NEOC_OK;
}

static neoc_exit same_choices(const neoc_trainer *t, int64_t batch, int64_t rows, int64_t seed) {
  const neoc_feed *f = &t->entry[t->with_inputs].feed;
  if (batch != f->batch || rows != t->data.rows)
    return neoc_fail(
        t->cli, NEOC_FAILED, "%s: was made with --batch %lld and %lld rows, not %lld and %lld",
        t->save, (long long)batch, (long long)rows, (long long)f->batch, (long long)t->data.rows);
  if (neoc_has(t->cli, NEOC_O_SEED) && (uint64_t)seed != t->seed)
    return neoc_fail(t->cli, NEOC_FAILED, "%s: was made with --seed %lld", t->save,
                     (long long)seed);
  const char *words = neo_rt_loaded(t->r.ctx, "vocabulary");
  if (words && !neo_streq(words, vocabulary(t)))
    return neoc_fail(t->cli, NEOC_FAILED, "%s: was made with the words of another file", t->save);
  neoc_exit e = same_classes(t);
  if (!e)
    e = same_word(t, "entries", "entries", neoc_train_entries(t), neoc_train_entries(t));
  if (!e)
    e = same_word(t, "map", "map", neoc_map_name(t), "");
  if (e)
    return e;
  return same_word(t, "last", "last", last_words[t->last],
                   neoc_feed_is_exact(f) ? "drop" : "small");
}

/* Checks the position at which the training goes on: a step ends there, and the number of steps up
 * to it is the number saved. */
static neoc_exit check_position(const neoc_trainer *t) {
  int64_t batch = t->entry[t->with_inputs].feed.batch;
  bool ends_step = t->position % batch == 0 || t->position == t->epoch_rows;
  int64_t steps = ends_step ? neoc_train_steps(t, t->epoch, t->position) : -1;
  if (steps >= 0 && (uint64_t)steps == t->saved_step)
    return NEOC_OK;
  return neoc_fail(
      t->cli, NEOC_FAILED,
      "%s: its data position is damaged: row %lld of epoch %lld is not where step %llu "
      "ends",
      t->save, (long long)t->position, (long long)t->epoch + 1, (unsigned long long)t->saved_step);
}

neoc_exit neoc_train_resume(neoc_trainer *t) {
  int64_t batch, rows, seed;
  neo_rt_status s = neo_rt_load(t->r.ctx, t->save);
  if (s == NEO_NAME || s == NEO_SHAPE || s == NEO_TYPE) /* another model, or an old neoc */
    return neoc_fail(t->cli, NEOC_FAILED, "%s; --load takes parameters alone",
                     neo_rt_error(t->r.ctx));
  if (s)
    return neoc_train_failed(t, s);
  const char *model = neo_rt_loaded(t->r.ctx, "model");
  if (model && !neo_streq(model, t->r.lib.model->name))
    return neoc_fail(t->cli, NEOC_FAILED,
                     "%s: was made by the model %s, not %s; --load takes parameters alone", t->save,
                     model, t->r.lib.model->name);
  if (!metadata(t, "epoch", &t->epoch) || !metadata(t, "position", &t->position) ||
      !metadata(t, "batch", &batch) || !metadata(t, "rows", &rows) || !metadata(t, "seed", &seed) ||
      !neo_rt_loaded(t->r.ctx, "epoch_loss"))
    return neoc_fail(t->cli, NEOC_FAILED, "%s: is no checkpoint of `neoc train`", t->save);
  neoc_exit e = same_choices(t, batch, rows, seed);
  if (e)
    return e;
  t->seed = (uint64_t)seed;
  t->saved_step = neo_rt_step_count(t->r.ctx);
  read_row_losses(t);
  read_best(t);
  if (!read_losses(t) || t->epoch < 0 || t->position < 0 || t->position > t->epoch_rows)
    return neoc_fail(t->cli, NEOC_FAILED, "%s: its data position is damaged", t->save);
  return check_position(t);
}
