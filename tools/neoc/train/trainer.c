/* What every part of `neoc train` asks of a training: the rows of a step, whose step is due, the
 * names of its entries. */
#include "tools/neoc/train/train.h"

neoc_exit neoc_train_failed(const neoc_trainer *t, neo_rt_status s) {
  return neoc_fail(t->cli, neoc_exit_of((neo_status)s), "%s", neo_rt_error(t->r.ctx));
}

int64_t neoc_train_batch(const neoc_trainer *t, int64_t position) {
  int64_t left = t->epoch_rows - position, batch = t->entry[t->lead].feed.batch;
  return left < batch ? left : batch;
}

bool neoc_train_is_due(const neoc_trainer *t, size_t k, int64_t position) {
  int64_t batch = t->entry[t->lead].feed.batch, in_epoch = (t->epoch_rows + batch - 1) / batch;
  int64_t place = (t->epoch % t->round * (in_epoch % t->round) + position / batch) % t->round;
  return place >= t->round - t->entry[k].times;
}

const char *neoc_train_entries(const neoc_trainer *t) {
  neo_str s;
  neo_str_init(&s, t->cli->arena);
  for (size_t k = 0; k < t->n_entries; k++) {
    neo_str_addf(&s, "%s%s", k ? "," : "", t->r.lib.model->entries[t->entry[k].feed.entry].name);
    if (t->entry[k].times > 1)
      neo_str_addf(&s, ":%lld", (long long)t->entry[k].times);
  }
  return neo_str_text(&s);
}
