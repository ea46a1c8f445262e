/* See csv.h. Rows are read one after the other, and only the chosen columns are kept. */
#include "base/utf8.h"
#include "runtime/files.h"
#include "tools/neoc/csv/parts.h"
#include <errno.h>
#include <math.h>
#include <string.h>

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

static neoc_exit wrong_field(const reading *r, uint32_t column, const char *what) {
  neo_arena *a = r->cli->arena;
  return wrong(r, r->record.line,
               neo_arena_printf(a, "%s: %s", neoc_csv_column_text(a, &r->table, column), what));
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

/* ---- classes */

static neoc_exit number_names(reading *r, neoc_texts *classes) {
  if (!r->cells.n)
    return NEOC_OK;
  *classes = r->wish->known ? *r->wish->known : neoc_csv_classes(r->cli->arena, &r->cells);
  for (size_t k = 0; k < r->cells.n; k++) {
    const neoc_csv_cell *c = &r->cells.at[k];
    int64_t number = neoc_csv_class_of(classes, c->field);
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
    e = neoc_csv_choose(r->cli, &r->table, &r->columns);
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
