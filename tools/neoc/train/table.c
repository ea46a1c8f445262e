/* --history: rows as CSV, `step,epoch,loss,test.accuracy,lr,seconds`. A value that a row lacks is
 * an empty field. */
#include "base/file.h"
#include "tools/neoc/train/log.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void neoc_table_put_head(const neoc_log *l, neo_str *out) {
  neo_str_add(out, "step,epoch");
  for (size_t k = 0; k < l->columns.n; k++)
    neo_str_addf(out, ",%s", l->columns.at[k]);
  neo_str_add(out, ",seconds\n");
}

/* The shortest text, with at most nine digits; for a number that f32 has, one that reads back as
 * the same number. */
static void put_number(neo_str *out, double x) {
  char text[32];
  int digits = 6;
  do
    snprintf(text, sizeof text, "%.*g", digits, x);
  while (++digits <= 9 && strtof(text, NULL) != (float)x);
  if ((double)(float)x == x)
    neo_str_add(out, text);
  else
    neo_str_addf(out, "%.9g", x);
}

void neoc_table_put_row(const neoc_log *l, const neoc_log_row *row, neo_str *out) {
  neo_str_addf(out, "%" PRIu64 ",%" PRId64, row->step, row->epoch);
  for (size_t k = 0; k < l->columns.n; k++) {
    neo_str_addc(out, ',');
    if (row->value[k].has && isnan(row->value[k].x)) /* the sign of a NaN means nothing */
      neo_str_add(out, "nan");
    else if (row->value[k].has)
      put_number(out, row->value[k].x);
  }
  neo_str_addf(out, ",%.3f\n", row->seconds);
}

/* ---- reading */

/* Parses one line up to its end; false: it is no row. */
static bool parse_row(const neoc_log *l, const char *p, neoc_log_row *row) {
  char *end;
  errno = 0;
  row->step = strtoull(p, &end, 10);
  if (errno || end == p || *end++ != ',')
    return false;
  row->epoch = strtoll(p = end, &end, 10);
  if (errno || end == p || *end != ',')
    return false;
  for (size_t k = 0; k < l->columns.n; k++) {
    p = end + 1;
    row->value[k] = (neoc_log_value){.x = strtod(p, &end)};
    row->value[k].has = end > p;
    if (*end != ',')
      return false;
  }
  row->seconds = strtod(p = end + 1, &end);
  return end > p && *end == '\n';
}

bool neoc_table_parse(neoc_log *l, const char *text) {
  neo_str head = neo_str_in(l->cli->arena);
  neoc_table_put_head(l, &head);
  neoc_log_row row = {.value = NEO_NEW_ARRAY(l->cli->arena, neoc_log_value, l->columns.n + 1)};
  if (strncmp(text, neo_str_text(&head), head.n) != 0)
    return false;
  l->n_rows = 0;
  for (const char *p = text + head.n; parse_row(l, p, &row) && row.step <= l->kept_step;
       p = strchr(p, '\n') + 1)
    neoc_log_remember(l, &row);
  return true;
}

/* ---- the file */

/* The bytes that stay of an existing table: the lines up to the step that is kept. */
static size_t kept_bytes(const neoc_log *l, const char *text, size_t head) {
  neo_arena *a = l->cli->arena;
  neoc_log_row row = {.value = NEO_NEW_ARRAY(a, neoc_log_value, l->columns.n + 1)};
  const char *p = text + head;
  while (parse_row(l, p, &row) && row.step <= l->kept_step)
    p = strchr(p, '\n') + 1;
  return (size_t)(p - text);
}

static neoc_exit begin_file(neoc_log *l) {
  char *text = NULL;
  size_t n = 0;
  neo_str head = neo_str_in(l->cli->arena);
  neoc_table_put_head(l, &head);
  bool there = l->goes_on && neo_path_exists(l->table_path) &&
               neo_file_read(&neo_io_default, l->cli->arena, l->table_path, 0, &text, &n) == NEO_OK;
  if (there && n > 0 && !neoc_table_parse(l, text))
    return neoc_fail(l->cli, NEOC_FAILED, "%s: has other columns than %.*s", l->table_path,
                     (int)head.n - 1, neo_str_text(&head));
  bool goes_on = there && n > 0;
  size_t kept = goes_on ? kept_bytes(l, text, head.n) : head.n;
  const char *from = goes_on ? text : neo_str_text(&head);
  return neo_file_write(&neo_io_default, l->table_path, from, kept)
             ? neoc_log_failed(l, l->table_path)
             : NEOC_OK;
}

neoc_exit neoc_table_open(neoc_log *l) {
  errno = 0;
  neoc_exit e = begin_file(l);
  if (e)
    return e;
  l->table = open(l->table_path, O_WRONLY | O_APPEND | O_CLOEXEC);
  return l->table < 0 ? neoc_log_failed(l, l->table_path) : NEOC_OK;
}

neoc_exit neoc_table_add(neoc_log *l, const neoc_log_row *row) {
  neo_arena scratch;
  neo_arena_init(&scratch, neo_alloc_default, l->cli->arena->on_fail);
  neo_str line = neo_str_in(&scratch);
  neoc_table_put_row(l, row, &line);
  neoc_exit e = neoc_log_append(l, l->table, l->table_path, neo_str_text(&line), line.n);
  neo_arena_free(&scratch);
  return e;
}
