/* --best and --early-stop: which epoch is the best by a scalar of --test. */
#include "tools/neoc/train/train.h"
#include <math.h>
#include <string.h>

static const neo_rt_entry *test_entry(const neoc_trainer *t) {
  return &t->r.lib.model->entries[t->test.feed.entry];
}

static const neo_rt_tensor *output(const neoc_trainer *t, int32_t k) {
  return neoc_feed_tensor(&t->test.feed, test_entry(t)->n_inputs + k);
}

/* The scalar output of this name; -1: there is none. */
static int32_t find(const neoc_trainer *t, const char *name) {
  const neo_rt_entry *e = test_entry(t);
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
    if (neo_streq(output(t, k)->name, name) && output(t, k)->rank == 0)
      return k;
  return -1;
}

static const char *scalars(const neoc_trainer *t) {
  const neo_rt_entry *e = test_entry(t);
  neo_str s = neo_str_in(t->cli->arena);
  for (int32_t k = 0; k < e->n_args - e->n_inputs; k++)
    if (output(t, k)->rank == 0)
      neo_str_addf(&s, "%s%s", s.n ? ", " : "", output(t, k)->name);
  return neo_str_text(&s);
}

/* "w.safetensors" -> "w.best.safetensors" */
static const char *path_of_best(const neoc_trainer *t) {
  if (!t->save)
    return NULL;
  const char *slash = strrchr(t->save, '/'), *point = strrchr(t->save, '.');
  const char *name = slash ? slash + 1 : t->save;
  size_t n = point && point > name ? (size_t)(point - t->save) : strlen(t->save);
  return neo_arena_printf(t->cli->arena, "%.*s.best%s", (int)n, t->save, t->save + n);
}

neoc_exit neoc_best_open(neoc_trainer *t) {
  const char *text = neoc_text(t->cli, NEOC_O_BEST, NULL), *name = text;
  if (!text && !t->best.patience)
    return NEOC_OK;
  const neo_rt_entry *trained = &t->r.lib.model->entries[t->entry[0].feed.entry];
  if (!text)
    name = neoc_feed_tensor(&t->entry[0].feed, trained->n_inputs)->name;
  if (text && (strncmp(text, "min:", 4) == 0 || strncmp(text, "max:", 4) == 0))
    name = text + 4;
  else if (text)
    return neoc_usage(t->cli, "--best is min:OUTPUT or max:OUTPUT, not '%s'", text);
  t->best.highest = text && text[1] == 'a';
  t->best.output = find(t, name);
  t->best.path = path_of_best(t);
  if (t->best.output >= 0)
    return NEOC_OK;
  return neoc_usage(t->cli,
                    "%s: entry %s has no scalar '%s': --best=min:NAME or max:NAME says what is to "
                    "get better (it has: %s)",
                    text ? "--best" : "--early-stop", test_entry(t)->name, name, scalars(t));
}

/* Compares this epoch with the best one; NaN is never better. */
bool neoc_best_update(neoc_trainer *t) {
  neoc_best *b = &t->best;
  if (b->output < 0)
    return false;
  double now = t->test.value[b->output];
  bool better = b->epoch == 0 ? !isnan(now) : b->highest ? now > b->value : now < b->value;
  if (better) {
    b->value = now;
    b->epoch = t->epoch + 1;
  }
  return better;
}

bool neoc_best_is_over(const neoc_trainer *t) {
  const neoc_best *b = &t->best;
  return b->output >= 0 && b->patience && t->epoch - b->epoch >= b->patience;
}

void neoc_best_tell(const neoc_trainer *t) {
  const neoc_best *b = &t->best;
  if (b->output < 0 || neoc_has(t->cli, NEOC_O_QUIET))
    return;
  if (neoc_best_is_over(t))
    fprintf(stderr, "stopped early: %s has not got better for %lld epoch%s\n",
            output(t, b->output)->name, (long long)b->patience, b->patience == 1 ? "" : "s");
  if (b->epoch)
    fprintf(stderr, "the best %s is %.6g, of epoch %lld%s%s\n", output(t, b->output)->name,
            b->value, (long long)b->epoch, b->path ? ": " : "", b->path ? b->path : "");
}
