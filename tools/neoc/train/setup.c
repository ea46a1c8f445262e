/* Reads the command line of `neoc train`: options, the entries and how often each is due, the data,
 * settings. */
#include "base/file.h"
#include "base/temp.h"
#include "tools/neoc/train/train.h"
#include <string.h>
#include <unistd.h>

enum { PROGRESS_SECONDS = 30 };

static neoc_exit check_files(const neoc_cli *cli) {
  static const struct {
    neoc_option needs, one;
    const char *what;
  } pairs[] = {
      {NEOC_O_TEST_ENTRY, NEOC_O_TEST, "--test-entry is for the data of --test: which?"},
      {NEOC_O_MEAN_OVER, NEOC_O_TEST, "--mean-over is for the data of --test: which?"},
      {NEOC_O_BEST, NEOC_O_TEST, "--best goes by a value of --test: which data?"},
      {NEOC_O_EARLY_STOP, NEOC_O_TEST, "--early-stop goes by a value of --test: which data?"},
      {NEOC_O_RESUME, NEOC_O_SAVE, "--resume goes on from the file of --save: which?"},
      {NEOC_O_SAVE_EVERY, NEOC_O_SAVE, "--save-every writes the file of --save: which?"}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
    if (neoc_has(cli, pairs[k].needs) && !neoc_has(cli, pairs[k].one))
      return neoc_usage(cli, "%s", pairs[k].what);
  bool rows = neoc_has(cli, NEOC_O_HISTORY) || neoc_has(cli, NEOC_O_CURVE) ||
              neoc_has(cli, NEOC_O_TENSORBOARD);
  if (neoc_has(cli, NEOC_O_HISTORY_EVERY) && !rows)
    return neoc_usage(cli, "--history-every is for --history, --curve or --tensorboard: which?");
  return NEOC_OK;
}

neoc_exit neoc_train_options(neoc_trainer *t) {
  neoc_cli *cli = t->cli;
  neoc_exit e = NEOC_OK;
  t->epochs = neoc_int(cli, NEOC_O_EPOCHS, 1, 0, &e);
  t->save_every = neoc_int(cli, NEOC_O_SAVE_EVERY, 0, 1, &e);
  t->seed = (uint64_t)neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  t->threads = neoc_count(cli, NEOC_O_THREADS, 0, 0, &e);
  t->save = neoc_text(cli, NEOC_O_SAVE, NULL);
  t->log_every = neoc_int(cli, NEOC_O_HISTORY_EVERY, 0, 1, &e);
  t->best = (neoc_best){.output = -1, .patience = neoc_int(cli, NEOC_O_EARLY_STOP, 0, 1, &e)};
  t->line_every = isatty(2) || neoc_has(cli, NEOC_O_QUIET)
                      ? 0
                      : neoc_real(cli, NEOC_O_PROGRESS, PROGRESS_SECONDS, &e);
  t->progress = isatty(2) && !neoc_has(cli, NEOC_O_QUIET);
  t->allow_nan = neoc_has(cli, NEOC_O_ALLOW_NAN);
  if (!e && !neoc_has(cli, NEOC_O_DATA))
    e = neoc_usage(cli, "--data is missing");
  if (!e)
    e = check_files(cli);
  if (!e && neoc_has(cli, NEOC_O_RESUME) && neoc_has(cli, NEOC_O_LOAD))
    e = neoc_usage(cli, "--resume takes everything from the file of --save: not with --load");
  if (!e && neoc_has(cli, NEOC_O_ENTRY) && neoc_has(cli, NEOC_O_ENTRIES))
    e = neoc_usage(cli, "--entry is one, --entries several: which?");
  return e ? e : neoc_async_read(cli, &t->async_words);
}

/* ---- entries */

static neoc_exit add_entry(neoc_trainer *t, const char *name, int64_t times) {
  const neo_rt_model *m = t->r.lib.model;
  int32_t found = -1;
  for (int32_t k = 0; k < m->n_entries && found < 0; k++)
    if (name ? neo_streq(m->entries[k].name, name) : m->entries[k].kind == NEO_RT_ENTRY_TRAIN)
      found = k;
  if (found < 0 && name)
    return neoc_fail(t->cli, NEOC_FAILED, "the model has no entry '%s'", name);
  if (found < 0)
    return neoc_fail(t->cli, NEOC_FAILED, "the model has no `train` statement");
  if (m->entries[found].kind != NEO_RT_ENTRY_TRAIN)
    return neoc_fail(t->cli, NEOC_FAILED, "entry '%s' is not one for training", name);
  for (size_t k = 0; k < t->n_entries; k++)
    if (t->entry[k].feed.entry == found)
      return neoc_usage(t->cli, "--entries names '%s' twice", name);
  t->entry[t->n_entries++] = (neoc_trained){.feed = {.entry = found}, .times = times};
  t->round = times > t->round ? times : t->round;
  return NEOC_OK;
}

/* "d:5,g": five steps of d for one of g. */
static neoc_exit choose_entries(neoc_trainer *t) {
  neoc_texts words = neoc_words(t->cli, NEOC_O_ENTRIES);
  t->entry = NEO_NEW_ARRAY(t->cli->arena, neoc_trained, words.n + 1);
  if (!words.n)
    return add_entry(t, neoc_text(t->cli, NEOC_O_ENTRY, NULL), 1);
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < words.n && !e; k++) {
    const char *colon = strchr(words.at[k], ':');
    size_t n = colon ? (size_t)(colon - words.at[k]) : strlen(words.at[k]);
    int64_t times = 1;
    if (colon && (!neoc_parse_int(colon + 1, &times) || times < 1))
      return neoc_usage(t->cli, "--entries takes NAME or NAME:TIMES, not '%s'", words.at[k]);
    e = add_entry(t, neo_arena_strndup(t->cli->arena, words.at[k], n), times);
  }
  return e;
}

/* ---- data */

static neoc_exit open_feeds(neoc_trainer *t, int64_t batch) {
  int32_t *entries = NEO_NEW_ARRAY(t->cli->arena, int32_t, t->n_entries + 1);
  for (size_t k = 0; k < t->n_entries; k++)
    entries[k] = t->entry[k].feed.entry;
  while (t->with_inputs < t->n_entries &&
         t->r.lib.model->entries[entries[t->with_inputs]].n_inputs == 0)
    t->with_inputs++;
  if (t->with_inputs == t->n_entries)
    return neoc_fail(t->cli, NEOC_FAILED, "entry %s has no inputs: there are no rows to feed",
                     t->r.lib.model->entries[entries[0]].name);
  neoc_exit e = neoc_data_open(&t->r, NEOC_O_DATA, entries, t->n_entries, NULL, &t->data);
  if (!e)
    e = neoc_feed_open(&t->data, entries[t->with_inputs], batch, &t->entry[t->with_inputs].feed);
  for (size_t k = 0; k < t->n_entries && !e; k++)
    if (k != t->with_inputs)
      e = neoc_feed_open(&t->data, entries[k], t->entry[t->with_inputs].feed.batch,
                         &t->entry[k].feed);
  return e;
}

/* Decides about the last rows, fewer than a step needs: a smaller step if the model takes one, else
 * they are dropped. */
static neoc_exit choose_last(neoc_trainer *t) {
  const char *word = neoc_text(t->cli, NEOC_O_LAST, NULL);
  const neoc_feed *f = &t->entry[t->with_inputs].feed;
  int64_t rows = t->data.rows, batch = f->batch, left = rows % batch;
  if (word && !neo_streq(word, "pad") && !neo_streq(word, "drop"))
    return neoc_usage(t->cli, "--last takes pad or drop, not '%s'", word);
  t->last = !word ? (neoc_feed_is_exact(f) ? NEOC_LAST_DROP : NEOC_LAST_SMALL)
                  : (neo_streq(word, "pad") ? NEOC_LAST_PAD : NEOC_LAST_DROP);
  bool small = t->last == NEOC_LAST_SMALL && left >= f->least;
  t->epoch_rows = t->last == NEOC_LAST_PAD ? (rows + batch - 1) / batch * batch
                  : small                  ? rows
                                           : rows / batch * batch;
  if (t->epoch_rows == 0)
    return neoc_fail(t->cli, NEOC_FAILED,
                     "%lld rows are too few for a step of %lld; --last=pad repeats some",
                     (long long)rows, (long long)batch);
  t->order = NEO_NEW_ARRAY(t->cli->arena, int64_t, t->epoch_rows + rows);
  return NEOC_OK;
}

/* Sets an integer exactly, including those that f64 lacks. */
static neoc_exit set_integer(neoc_trainer *t, neo_tensor setting, const char *value) {
  const char *end, *name = neoc_tensor_name(&t->r, setting);
  neoc_number v;
  neo_type type = neo_tensor_type(t->r.c.module, setting);
  neo_rt_array x = neoc_array_new(t->cli->arena, type, 0, NULL);
  if (!neoc_read_number(value, &end, &v) || *end)
    return neoc_usage(t->cli, "--set %s=%s: is no %s", name, value, neo_type_text(type));
  neoc_exit e = neoc_array_take(t->cli, name, &x, 0, v);
  return e ? e : neoc_runner_set(&t->r, setting, &x);
}

static neoc_exit apply_setting(neoc_trainer *t, const char *text) {
  double x;
  const char *value = NULL, *name = neoc_pair(t->cli, text, &value);
  const neo_module *m = t->r.c.module;
  neo_tensor found = name ? neo_tensor_find(m, name) : (neo_tensor){0};
  if (found.i && neo_tensor_at(m, found)->role == NEO_ROLE_SETTING &&
      neo_tensor_rank(m, found) == 0 && neo_type_is_int(neo_tensor_type(m, found)))
    return set_integer(t, found, value);
  if (!name || !neoc_parse_real(value, &x))
    return neoc_usage(t->cli, "--set takes NAME=NUMBER, not '%s'", text);
  neo_rt_status s = neo_rt_set_scalar(t->r.ctx, name, x);
  return s ? neoc_train_failed(t, s) : NEOC_OK;
}

static neoc_exit apply_settings(neoc_trainer *t) {
  const neoc_texts *given = &t->cli->value[NEOC_O_SET];
  neoc_exit e = neoc_pairs_differ(t->cli, "--set ", *given);
  for (size_t k = 0; k < given->n && !e; k++)
    e = apply_setting(t, given->at[k]);
  return e;
}

/* Checks that each factor of --scale belongs to rows that were read. */
static neoc_exit check_scales(const neoc_trainer *t) {
  neoc_texts words = neoc_words(t->cli, NEOC_O_SCALE);
  neoc_exit e = neoc_pairs_differ(t->cli, "--scale ", words);
  for (size_t k = 0; k < words.n && !e; k++) {
    const char *value, *name = neoc_pair(t->cli, words.at[k], &value);
    int32_t tensor = name ? neo_rt_find(t->r.lib.model, name) : -1;
    if (!name)
      e = neoc_usage(t->cli, "--scale takes NAME=FACTOR, not '%s'", words.at[k]);
    else if (tensor < 0 || !(neoc_data_has_rows(&t->data, tensor) ||
                             (t->has_test && neoc_data_has_rows(&t->test.data, tensor))))
      e = neoc_usage(t->cli, "--scale %s: there are no data of '%s'", words.at[k], name);
  }
  return e;
}

neoc_exit neoc_train_open(neoc_trainer *t) {
  neoc_exit e = NEOC_OK;
  int64_t batch = neoc_int(t->cli, NEOC_O_BATCH, 0, 1, &e);
  t->has_test = neoc_has(t->cli, NEOC_O_TEST);
  if (!e)
    e = choose_entries(t);
  if (!e)
    e = open_feeds(t, batch);
  if (!e)
    e = choose_last(t);
  if (!e && t->has_test)
    e = neoc_test_open(t);
  if (!e)
    e = check_scales(t);
  if (!e)
    e = neoc_best_open(t);
  if (!e)
    e = neoc_map_open(t);
  if (!e)
    e = neoc_has(t->cli, NEOC_O_RESUME) ? neoc_train_resume(t) : neoc_runner_load(&t->r, false);
  if (!e)
    e = apply_settings(t);
  if (!e)
    neoc_show_last(t);
  if (!e && t->save)
    neo_temp_sweep(neo_path_folder(t->cli->arena, t->save));
  return e ? e : neoc_record_open(t);
}
