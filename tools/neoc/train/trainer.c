/* Facts about a training that all parts of `neoc train` use: the rows of a step, whether a step is
 * due, the names of its entries. */
#include "tools/neoc/train/train.h"

neoc_exit neoc_train_failed(const neoc_trainer *t, neo_rt_status s) {
  return neoc_fail(t->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(t->r.ctx));
}

int64_t neoc_train_batch(const neoc_trainer *t, int64_t position) {
  int64_t left = t->epoch_rows - position, batch = t->entry[t->with_inputs].feed.batch;
  return left < batch ? left : batch;
}

bool neoc_train_is_due(const neoc_trainer *t, size_t k, int64_t epoch, int64_t position) {
  int64_t batch = t->entry[t->with_inputs].feed.batch,
          in_epoch = (t->epoch_rows + batch - 1) / batch;
  int64_t place = (epoch % t->round * (in_epoch % t->round) + position / batch) % t->round;
  return place >= t->round - t->entry[k].times;
}

static int64_t steps_in(const neoc_trainer *t, int64_t epoch, int64_t end) {
  int64_t n = 0;
  for (int64_t at = 0; at < end; at += neoc_train_batch(t, at))
    for (size_t k = 0; k < t->n_entries; k++)
      n += neoc_train_is_due(t, k, epoch, at);
  return n;
}

/* Counts steps: after `round` epochs the turns repeat. */
int64_t neoc_train_steps(const neoc_trainer *t, int64_t epoch, int64_t position) {
  int64_t all = 0, rest = steps_in(t, epoch, position);
  for (int64_t k = 0; k < t->round && k < epoch; k++) {
    int64_t times = (epoch - 1 - k) / t->round + 1, n;
    if (__builtin_mul_overflow(steps_in(t, k, t->epoch_rows), times, &n) ||
        __builtin_add_overflow(all, n, &all))
      return -1;
  }
  return __builtin_add_overflow(all, rest, &all) ? -1 : all;
}

const char *neoc_train_entries(const neoc_trainer *t) {
  neo_str s = neo_str_in(t->cli->arena);
  for (size_t k = 0; k < t->n_entries; k++) {
    neo_str_addf(&s, "%s%s", k ? "," : "", t->r.lib.model->entries[t->entry[k].feed.entry].name);
    if (t->entry[k].times > 1)
      neo_str_addf(&s, ":%lld", (long long)t->entry[k].times);
  }
  return neo_str_text(&s);
}
