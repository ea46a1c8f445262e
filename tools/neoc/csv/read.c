/* See csv.h. Rows are read one after the other, and only the chosen columns are kept. */
#include "base/utf8.h"
#include "runtime/files.h"
#include "tools/neoc/csv/parts.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef NEO_VEC(uint32_t) neoc_csv_columns; /* numbers from 0 */
typedef struct {
  const neoc_csv_options *o;
  const char *tensor;
  const neoc_csv_record *names; /* null: the file has none */
  size_t width;                 /* columns of the file */
} neoc_csv_table;

typedef struct { /* a field whose text is a class */
  neoc_csv_field field;
  int64_t line;
  uint32_t column;
} neoc_csv_cell;
typedef NEO_VEC(neoc_csv_cell) neoc_csv_cells;

typedef struct {
  neoc_cli *cli;
  const neoc_csv_wish *wish;
  neoc_csv_options o;
  neoc_csv_text text;
  neoc_csv_record first, second, record; /* first two records of the file; the present one */
  neoc_csv_table table;
  neoc_csv_columns columns;
  neoc_csv_field fill;
  neo_rt_array x; /* its first extent is the room; `rows` rows are filled */
  int64_t rows;
  neoc_csv_cells cells; /* the fields, if they are names */
  bool any_number;
} reading;

/* ---- messages */

static neoc_exit wrong(const reading *r, int64_t line, const char *what) {
  return neoc_fail(r->cli, NEOC_FAILED, "%s: %s:%lld: %s", r->wish->tensor, r->o.file,
                   (long long)line, what);
}

/* ---- COLUMNS: `age+height`, `1..4`, `a..d+f`, and `-species+id` for all other columns. An item
 * is a name of the first line, else a number from 1; a range includes both ends. */

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

static neoc_exit choose(neoc_cli *cli, const neoc_csv_table *t, neoc_csv_columns *out) {
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

/* "column 3 (age)" */
static const char *column_text(neo_arena *a, const neoc_csv_table *t, uint32_t column) {
  if (!t->names)
    return neo_arena_printf(a, "column %u", column + 1);
  const neoc_csv_field *f = &t->names->fields.at[column];
  return neo_arena_printf(a, "column %u (%.*s)", column + 1, (int)f->n, f->at);
}

static neoc_exit wrong_field(const reading *r, uint32_t column, const char *what) {
  neo_arena *a = r->cli->arena;
  return wrong(r, r->record.line,
               neo_arena_printf(a, "%s: %s", column_text(a, &r->table, column), what));
}

static neoc_exit no_number(const reading *r, uint32_t column, neoc_csv_field f) {
  neo_arena *a = r->cli->arena;
  bool comma = r->text.separator != ',' && memchr(f.at, ',', f.n);
  const char *hint = comma ? " (a decimal point is '.')" : "";
  return wrong_field(r, column,
                     neo_arena_printf(a, "%s is no %s%s", neoc_csv_quote(a, f),
                                      r->wish->integer ? "integer" : "number", hint));
}

/* ---- the first line */

/* Whether the first line has a number. A number in quotes is a name if the field below has no
 * quotes, as "2019" above 1.5. */
static bool has_number(const neoc_csv_record *r, const neoc_csv_record *below) {
  neoc_number x;
  for (size_t k = 0; k < r->fields.n; k++) {
    bool name = r->fields.at[k].quoted && k < below->fields.n && !below->fields.at[k].quoted;
    if (!name && neoc_csv_number(r->fields.at[k], &x))
      return true;
  }
  return false;
}

/* Decides whether the first line has names: not if one of its fields is a number. If the second
 * line has no number either, it cannot be decided. */
static neoc_exit find_names(reading *r, bool has_second) {
  bool names = r->o.head == NEOC_CSV_HEADER;
  if (r->o.head == NEOC_CSV_GUESS) {
    names = !has_number(&r->first, &r->second);
    if (names && (!has_second || !has_number(&r->second, &r->second)))
      return wrong(r, r->first.line,
                   "is this line names of columns or a row? Say :header or :no-header after the "
                   "file's name");
  }
  r->table.names = names ? &r->first : NULL;
  return NEOC_OK;
}

/* ---- fields */

static neoc_exit put_number(reading *r, uint32_t column, neoc_csv_field f, neoc_number v,
                            int64_t at) {
  const double EXACT = 0x1p53;
  if (!r->wish->integer) {
    ((double *)r->x.data)[at] = v.f;
    return NEOC_OK;
  }
  if (!v.whole && (trunc(v.f) != v.f || !(fabs(v.f) < EXACT)))
    return no_number(r, column, f);
  ((int64_t *)r->x.data)[at] = v.whole ? v.i : (int64_t)v.f;
  return NEOC_OK;
}

static neoc_exit put_name(reading *r, uint32_t column, neoc_csv_field f) {
  neo_arena *a = r->cli->arena;
  for (size_t at = 0, n; at < f.n; at += n)
    if ((n = neo_utf8_decode(f.at + at, f.n - at, NULL)) == 0 || f.at[at] == 0)
      return wrong_field(r, column, "a name is not UTF-8");
  if (r->wish->no_names)
    return wrong_field(r, column,
                       neo_arena_printf(a,
                                        "%s is no number; names of classes are numbered by "
                                        "`neoc train` alone",
                                        neoc_csv_quote(a, f)));
  NEO_PUSH(a, &r->cells, (neoc_csv_cell){f, r->record.line, column});
  return NEOC_OK;
}

/* Stores a field. A column must not mix names and numbers, since a typing error would become a
 * class. */
static neoc_exit put_field(reading *r, uint32_t column, int64_t at) {
  neo_arena *a = r->cli->arena;
  neoc_csv_field f = r->record.fields.at[column];
  neoc_number v;
  if (neoc_csv_is_missing(f)) {
    if (!r->o.fill)
      return wrong_field(r, column, "the value is missing (:fill=0 after the file's name puts 0)");
    f = r->fill;
  }
  bool number = !r->o.classes && neoc_csv_number(f, &v);
  if (number && r->cells.n)
    return wrong_field(r, column,
                       neo_arena_printf(a,
                                        "%s is a number, but there are names before it (:classes "
                                        "takes all as names)",
                                        neoc_csv_quote(a, f)));
  r->any_number = r->any_number || number;
  if (number)
    return put_number(r, column, f, v, at);
  if (!r->wish->integer || r->any_number)
    return no_number(r, column, f);
  return put_name(r, column, f);
}

/* ---- rows */

static neoc_exit make_room(reading *r) {
  neo_rt_array *x = &r->x, wider = *x;
  if (r->rows < x->extent[0])
    return NEOC_OK;
  wider.extent[0] = x->extent[0] ? 2 * x->extent[0] : 256;
  wider.data = NULL;
  if (neo_rti_array_alloc(&neo_alloc_default, &wider))
    return neoc_fail(r->cli, NEOC_DEVICE, "%s: %s: out of memory", r->wish->tensor, r->o.file);
  memcpy(wider.data, x->data ? x->data : "", x->size_bytes);
  neo_rt_array_free(x);
  *x = wider;
  return NEOC_OK;
}

static neoc_exit put_record(reading *r) {
  neo_arena *a = r->cli->arena;
  neoc_exit e = make_room(r);
  if (!e && r->record.fields.n != r->table.width)
    e = wrong(r, r->record.line,
              neo_arena_printf(a, "%zu field%s, but line %lld has %zu", r->record.fields.n,
                               r->record.fields.n == 1 ? "" : "s", (long long)r->first.line,
                               r->table.width));
  for (size_t k = 0; k < r->columns.n && !e; k++)
    e = put_field(r, r->columns.at[k], r->rows * (int64_t)r->columns.n + (int64_t)k);
  r->rows++;
  return e;
}

static neoc_exit put_records(reading *r, const char *text, size_t n) {
  neoc_exit e = NEOC_OK;
  neoc_csv_begin(r->cli->arena, text, n, r->o.separator, &r->text);
  bool more = neoc_csv_next(&r->text, &r->record);
  if (more && r->table.names)
    more = neoc_csv_next(&r->text, &r->record);
  for (; more && !e; more = !e && neoc_csv_next(&r->text, &r->record))
    e = put_record(r);
  if (!e && r->text.error)
    e = wrong(r, r->text.line, r->text.error);
  return e;
}

/* ---- Names of classes as integers: the different names of a table in the order of their bytes,
 * so that the numbers do not depend on the order of rows. */

static int compare(const char *a, size_t n, const char *b, size_t m) {
  int c = memcmp(a, b, n < m ? n : m);
  return c ? c : (n > m) - (n < m);
}

static int by_text(const void *a, const void *b) {
  const neoc_csv_field *x = a, *y = b;
  return compare(x->at, x->n, y->at, y->n);
}

/* The distinct texts, sorted by bytes. */
static neoc_texts classes_of(neo_arena *a, const neoc_csv_cells *cells) {
  neoc_texts out = {0};
  neoc_csv_field *all = NEO_NEW_ARRAY(a, neoc_csv_field, cells->n + 1);
  for (size_t k = 0; k < cells->n; k++)
    all[k] = cells->at[k].field;
  qsort(all, cells->n, sizeof *all, by_text);
  for (size_t k = 0; k < cells->n; k++)
    if (k == 0 || by_text(&all[k - 1], &all[k]) != 0)
      NEO_PUSH(a, &out, neo_arena_strndup(a, all[k].at, all[k].n));
  return out;
}

/* The number of a class; -1: there is no such class. */
static int64_t class_of(const neoc_texts *classes, neoc_csv_field f) {
  size_t lo = 0, hi = classes->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    int c = compare(f.at, f.n, classes->at[mid], strlen(classes->at[mid]));
    if (c == 0)
      return (int64_t)mid;
    if (c < 0)
      hi = mid;
    else
      lo = mid + 1;
  }
  return -1;
}

static neoc_exit number_names(reading *r, neoc_texts *classes) {
  if (!r->cells.n)
    return NEOC_OK;
  *classes = r->wish->known ? *r->wish->known : classes_of(r->cli->arena, &r->cells);
  for (size_t k = 0; k < r->cells.n; k++) {
    const neoc_csv_cell *c = &r->cells.at[k];
    int64_t number = class_of(classes, c->field);
    if (number < 0) {
      r->record.line = c->line;
      return wrong_field(r, c->column,
                         neo_arena_printf(r->cli->arena, "%s is none of the training's classes",
                                          neoc_csv_quote(r->cli->arena, c->field)));
    }
    ((int64_t *)r->x.data)[k] = number;
  }
  return NEOC_OK;
}

/* ---- telling */

static void tell(const reading *r, const neoc_texts *classes) {
  enum { MOST = 12 };
  fprintf(stderr, "%s: %lld rows of %zu column%s of %s, whose first line %s", r->wish->tensor,
          (long long)r->rows, r->columns.n, r->columns.n == 1 ? "" : "s", r->o.file,
          r->table.names ? "has their names" : "is a row");
  if (r->cells.n)
    fprintf(stderr, "; %zu class%s:", classes->n, classes->n == 1 ? "" : "es");
  for (size_t k = 0; r->cells.n && k < classes->n && k < MOST; k++)
    fprintf(stderr, "%s %zu %s", k ? "," : "", k, classes->at[k]);
  fprintf(stderr, "%s\n", r->cells.n && classes->n > MOST ? ", ..." : "");
}

/* ---- reading */

static neoc_exit begin(reading *r, const char *text, size_t n) {
  neoc_csv_text look;
  neoc_csv_begin(r->cli->arena, text, n, r->o.separator, &look);
  bool has_first = neoc_csv_next(&look, &r->first);
  bool has_second = has_first && neoc_csv_next(&look, &r->second);
  if (look.error)
    return wrong(r, look.line, look.error);
  if (!has_first)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: %s is empty", r->wish->tensor, r->o.file);
  neoc_exit e = find_names(r, has_second);
  r->table.o = &r->o;
  r->table.tensor = r->wish->tensor;
  r->table.width = r->first.fields.n;
  if (!e)
    e = choose(r->cli, &r->table, &r->columns);
  if (r->o.fill)
    r->fill = (neoc_csv_field){r->o.fill, strlen(r->o.fill), false};
  bool one = r->columns.n == 1;
  r->x = (neo_rt_array){.type = r->wish->integer ? NEO_RT_I64 : NEO_RT_F64, .rank = one ? 1 : 2};
  r->x.extent[1] = (int64_t)r->columns.n;
  return e;
}

static neoc_exit read_text(reading *r, const char *text, size_t n, neoc_texts *classes) {
  neoc_exit e = begin(r, text, n);
  if (!e)
    e = make_room(r);
  if (!e)
    e = put_records(r, text, n);
  return e ? e : number_names(r, classes);
}

neoc_exit neoc_csv_read(neoc_cli *cli, const char *path, const neoc_csv_wish *wish,
                        neo_rt_array *out, neoc_texts *classes) {
  reading r = {.cli = cli, .wish = wish};
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  unsigned char *text;
  size_t n;
  neoc_texts own = {0};
  *out = (neo_rt_array){0};
  neoc_exit e = neoc_csv_options_read(cli, wish->tensor, path, &r.o);
  if (e)
    return e;
  errno = 0;
  neo_rt_status s = neo_rti_file_read(&env, r.o.file, &text, &n);
  if (s)
    return neoc_fail(cli, neoc_exit_of((neo_status)s), "%s: %s: %s", wish->tensor, r.o.file,
                     errno ? strerror(errno) : "cannot be read");
  e = read_text(&r, (const char *)text, n, &own);
  if (!e && wish->tells)
    tell(&r, &own);
  NEO_RTI_FREE(&env.alloc, text);
  if (e) {
    neo_rt_array_free(&r.x);
    return e;
  }
  r.x.extent[0] = r.rows;
  r.x.size_bytes = (size_t)r.rows * r.columns.n * sizeof(int64_t);
  *out = r.x;
  if (classes)
    *classes = own;
  return NEOC_OK;
}
