/* COLUMNS: `age+height`, `1..4`, `a..d+f`, and `-species+id` for all other columns. An item is a
 * name of the first line, else a number from 1; a range includes both ends. */
#include "tools/neoc/csv/parts.h"
#include <string.h>

static bool is_name(const neoc_csv_table *t, uint32_t k, const char *text, size_t n) {
  const neoc_csv_field *f = &t->names->fields.at[k];
  return f->n == n && memcmp(f->at, text, n) == 0;
}

static bool is_any_name(const neoc_csv_table *t, const char *text, size_t n) {
  for (uint32_t k = 0; t->names && k < t->width; k++)
    if (is_name(t, k, text, n))
      return true;
  return false;
}

static neoc_exit unknown(neoc_cli *cli, const neoc_csv_table *t, const char *name) {
  enum { MOST = 20 };
  neo_str s = neo_str_in(cli->arena);
  for (size_t k = 0; t->names && k < t->width && k < MOST; k++)
    neo_str_addf(&s, "%s%.*s", k ? ", " : "; it has: ", (int)t->names->fields.at[k].n,
                 t->names->fields.at[k].at);
  neo_str_add(&s, t->names && t->width > MOST ? ", ..." : "");
  neo_str_addf(&s, t->names ? "" : ", whose first line has no names (:header says that it has)");
  return neoc_fail(cli, NEOC_FAILED, "%s: there is no column '%s' in %s, which has %zu%s",
                   t->tensor, name, t->o->file, t->width, neo_str_text(&s));
}

/* Finds the column of one item, from 0. */
static neoc_exit find(neoc_cli *cli, const neoc_csv_table *t, const char *text, size_t n,
                      uint32_t *out) {
  const char *name = neo_arena_strndup(cli->arena, text, n);
  int64_t number = 0, found = -1;
  for (uint32_t k = 0; t->names && k < t->width; k++) {
    if (!is_name(t, k, text, n))
      continue;
    if (found >= 0)
      return neoc_fail(cli, NEOC_FAILED,
                       "%s: columns %lld and %u of %s are both called '%s': use the number",
                       t->tensor, (long long)found + 1, k + 1, t->o->file, name);
    found = k;
  }
  if (found < 0 && neoc_parse_int(name, &number) && number >= 1 && number <= (int64_t)t->width)
    found = number - 1;
  if (found < 0)
    return unknown(cli, t, name);
  *out = (uint32_t)found;
  return NEOC_OK;
}

static neoc_exit add_item(neoc_cli *cli, const neoc_csv_table *t, const char *text, size_t n,
                          neoc_csv_columns *out) {
  uint32_t from, to;
  const char *dots = is_any_name(t, text, n) ? NULL : strstr(text, "..");
  size_t first = dots && dots < text + n ? (size_t)(dots - text) : n;
  neoc_exit e = find(cli, t, text, first, &from);
  to = from;
  if (!e && first < n)
    e = find(cli, t, dots + 2, n - first - 2, &to);
  if (!e && to < from)
    return neoc_fail(cli, NEOC_FAILED, "%s: %.*s: column %u stands after column %u", t->tensor,
                     (int)n, text, from + 1, to + 1);
  for (; !e && from <= to; from++)
    NEO_PUSH(cli->arena, out, from);
  return e;
}

static neoc_exit add_items(neoc_cli *cli, const neoc_csv_table *t, const char *text,
                           neoc_csv_columns *out) {
  neoc_exit e = NEOC_OK;
  if (is_any_name(t, text, strlen(text)))
    return add_item(cli, t, text, strlen(text), out);
  for (const char *p = text; !e; p++) {
    size_t n = strcspn(p, "+");
    e = add_item(cli, t, p, n, out);
    p += n;
    if (!*p)
      break;
  }
  return e;
}

static bool has(const neoc_csv_columns *c, uint32_t k) {
  for (size_t i = 0; i < c->n; i++)
    if (c->at[i] == k)
      return true;
  return false;
}

neoc_exit neoc_csv_choose(neoc_cli *cli, const neoc_csv_table *t, neoc_csv_columns *out) {
  const char *text = t->o->columns;
  neoc_csv_columns named = {0};
  bool others = text && text[0] == '-';
  neoc_exit e = text ? add_items(cli, t, text + others, &named) : NEOC_OK;
  *out = named;
  if (e || (text && !others))
    return e;
  *out = (neoc_csv_columns){0};
  for (uint32_t k = 0; k < t->width; k++)
    if (!has(&named, k))
      NEO_PUSH(cli->arena, out, k);
  return out->n ? NEOC_OK
                : neoc_fail(cli, NEOC_FAILED, "%s: %s leaves no column of %s", t->tensor, text,
                            t->o->file);
}

const char *neoc_csv_column_text(neo_arena *a, const neoc_csv_table *t, uint32_t column) {
  if (!t->names)
    return neo_arena_printf(a, "column %u", column + 1);
  const neoc_csv_field *f = &t->names->fields.at[column];
  return neo_arena_printf(a, "column %u (%.*s)", column + 1, (int)f->n, f->at);
}
