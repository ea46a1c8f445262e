/* Output of `neoc train`: progress on a terminal, a line for each epoch. */
#include "base/clock.h"
#include "tools/neoc/train/train.h"
#include <math.h>
#include <time.h>

static void put_time(FILE *out, double seconds) {
  long s = seconds < 0 ? 0 : (long)(seconds + 0.5);
  if (s >= 3600)
    fprintf(out, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    fprintf(out, "%ld:%02ld", s / 60, s % 60);
}

static const char *entry_name(const neoc_trainer *t, size_t k) {
  return t->r.lib.model->entries[t->entry[k].feed.entry].name;
}

/* "epoch 3/10, step 1234, loss 0.123, 45.1 steps/s, 12:33 left", with the time of day in front: in
 * a file of a night it tells when something went slowly. */
static void put_line(neoc_trainer *t, double at) {
  char clock[16];
  struct tm now;
  time_t seconds = time(NULL);
  double ran = at - t->begun, rate = (double)t->rows_done / ran;
  int64_t left = (t->epochs - t->epoch) * t->epoch_rows - t->position;
  t->shown = at;
  strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&seconds, &now));
  fprintf(stderr, "%s epoch %lld/%lld, step %llu, loss", clock, (long long)t->epoch + 1,
          (long long)t->epochs, (unsigned long long)neo_rt_step_count(t->r.ctx));
  for (size_t k = 0; k < t->n_entries; k++)
    fprintf(stderr, " %.6g", neoc_printed(t->entry[k].loss));
  fprintf(stderr, ", %.3g steps/s", (double)t->steps_done / ran);
  neoc_async_count(t);
  neoc_async_put_summary(t, stderr);
  fputs(", ", stderr);
  put_time(stderr, (double)left / (rate > 0 ? rate : 1));
  fputs(" left\n", stderr);
}

void neoc_show_test(neoc_trainer *t, int64_t rows) {
  double at = neo_now_s();
  int64_t all = t->test.data.rows;
  if (t->progress && at - t->shown >= 0.2) {
    t->shown = at;
    fprintf(stderr, "\repoch %lld/%lld  testing %3.0f %%\033[K", (long long)t->epoch + 1,
            (long long)t->epochs, 100.0 * (double)rows / (double)all);
  } else if (t->line_every > 0 && at - t->shown >= t->line_every) {
    t->shown = at;
    fprintf(stderr, "epoch %lld/%lld, tested %lld of %lld rows\n", (long long)t->epoch + 1,
            (long long)t->epochs, (long long)rows, (long long)all);
  }
}

void neoc_show_progress(neoc_trainer *t) {
  double at = neo_now_s();
  if (t->line_every > 0 && at - t->shown >= t->line_every)
    put_line(t, at);
  if (!t->progress || at - t->shown < 0.2)
    return;
  t->shown = at;
  double rate = (double)t->rows_done / (at - t->begun);
  int64_t left = (t->epochs - t->epoch) * t->epoch_rows - t->position;
  fprintf(stderr, "\repoch %lld/%lld  %3.0f %%  loss", (long long)t->epoch + 1,
          (long long)t->epochs, 100.0 * (double)t->position / (double)t->epoch_rows);
  for (size_t k = 0; k < t->n_entries; k++)
    fprintf(stderr, " %.4f", t->entry[k].loss);
  fprintf(stderr, "  %.0f samples/s", rate);
  neoc_async_count(t);
  neoc_async_put_summary(t, stderr);
  fputs("  ", stderr);
  put_time(stderr, (double)left / (rate > 0 ? rate : 1));
  fprintf(stderr, " left \033[K");
}

void neoc_clear_progress(const neoc_trainer *t) {
  if (t->progress)
    fprintf(stderr, "\r\033[K");
}

/* The rows of the steps of entry k in this epoch, which may be shorter than a round-robin turn. */
static int64_t rows_of(const neoc_trainer *t, size_t k) {
  int64_t rows = 0;
  for (int64_t at = 0, n; at < t->epoch_rows; at += n) {
    n = neoc_train_batch(t, at);
    rows += neoc_train_is_due(t, k, t->epoch, at) ? n : 0;
  }
  return rows;
}

/* The mean loss of an entry; "-", or in JSON null, if it had no step. */
static const char *loss_text(const neoc_trainer *t, size_t k) {
  int64_t rows = rows_of(t, k);
  double mean = rows ? t->entry[k].loss_sum / (double)rows : 0;
  if (!rows || (t->cli->json && !isfinite(mean)))
    return t->cli->json ? "null" : "-";
  return neo_arena_printf(t->cli->arena, t->cli->json ? "%.9g" : "%.6g", neoc_printed(mean));
}

static void put_json(const neoc_trainer *t, double rate, const char *test) {
  printf("{\"epoch\": %lld, ", (long long)t->epoch + 1);
  if (t->n_entries == 1)
    printf("\"loss\": %s, ", loss_text(t, 0));
  for (size_t k = 0; k < t->n_entries && t->n_entries > 1; k++)
    printf("%s\"%s\": %s%s", k ? ", " : "\"losses\": {", entry_name(t, k), loss_text(t, k),
           k + 1 == t->n_entries ? "}, " : "");
  printf("\"samples_per_s\": %.1f, \"test\": {%s}", rate, test);
  neoc_async_put_json(t, stdout);
  puts("}");
}

static void put_text(const neoc_trainer *t, double rate, const char *test) {
  printf("epoch %lld/%lld: ", (long long)t->epoch + 1, (long long)t->epochs);
  for (size_t k = 0; k < t->n_entries; k++)
    printf("%s%s %s", k ? ", " : "", t->n_entries > 1 ? entry_name(t, k) : "loss", loss_text(t, k));
  printf("%s%s, %.0f samples/s", t->has_test ? ", test" : "", test, rate);
  neoc_async_put_summary(t, stdout);
  putchar('\n');
}

void neoc_show_epoch(const neoc_trainer *t, const char *test) {
  double rate = (double)t->rows_done_this_epoch / (neo_now_s() - t->epoch_begun);
  neoc_clear_progress(t);
  if (t->cli->json)
    put_json(t, rate, test);
  else if (!neoc_has(t->cli, NEOC_O_QUIET))
    put_text(t, rate, test);
  fflush(stdout);
}

void neoc_show_last(const neoc_trainer *t) {
  int64_t rows = t->data.rows;
  if (neoc_has(t->cli, NEOC_O_QUIET) || t->epoch_rows == rows)
    return;
  if (t->last == NEOC_LAST_PAD)
    fprintf(stderr, "each epoch ends with %lld of its first rows again, to fill the last step\n",
            (long long)(t->epoch_rows - rows));
  else
    fprintf(stderr,
            "each epoch leaves out %lld of %lld rows, others each time: a step takes %s%lld "
            "(--last=pad leaves none out)\n",
            (long long)(rows - t->epoch_rows), (long long)rows,
            t->entry[t->with_inputs].feed.least == t->entry[t->with_inputs].feed.most ? "exactly "
                                                                                      : "",
            (long long)t->entry[t->with_inputs].feed.batch);
}
