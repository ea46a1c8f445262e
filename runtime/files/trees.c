/* trees.c: labelled bracketed trees, (3 (2 It) (4 (2 's) (4 good))).
 *
 *   trees = {tree}    tree = "(" LABEL (WORD | tree {tree}) ")"
 *
 * The reader does not recurse: vertices that are open are on one stack, those that wait for their
 * parent on another, and a closing bracket takes its children from the top of that. The number of
 * opening brackets bounds all tables, which are one allocation. */
#include "base/hash.h"
#include "include/neo/neo_graph.h"
#include "runtime/files.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct { /* a vertex whose bracket is not closed */
  int32_t label, word, line, column;
  int64_t children;
} open_vertex;

typedef struct {
  const unsigned char *p, *end;
  int64_t line, column;
  neo_rt_trees *t;
  open_vertex *open;
  int32_t *waiting; /* vertices of this tree that have no parent yet */
  int64_t n_open, n_waiting, edges;
  uint32_t *slot; /* words by their hash: number + 1 */
  size_t n_slots;
  char *text; /* position of the next word */
  char *error;
  size_t error_bytes;
} reader;

#define REJECT_AT(r, line, column, ...) \
  reject(r, (long long)(line), (long long)(column), __VA_ARGS__)
#define REJECT(r, ...) REJECT_AT(r, (r)->line, (r)->column, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static neo_rt_status
reject(const reader *r, long long line, long long column, const char *format, ...) {
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return neo_rti_say(r->error, r->error_bytes, NEO_FORMAT, "%lld:%lld: %s", line, column, what);
}

/* ---- characters */

static bool is_space(unsigned char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_plain(unsigned char c) {
  return c > ' ' && c != '(' && c != ')' && c != 0x7f;
}

/* Columns count characters of UTF-8. */
static void step(reader *r) {
  if (*r->p == '\n') {
    r->line++;
    r->column = 1;
  } else if ((*r->p & 0xc0) != 0x80) {
    r->column++;
  }
  r->p++;
}

static void skip_space(reader *r) {
  while (r->p < r->end && is_space(*r->p))
    step(r);
}

static const char *shown(const reader *r, char out[8]) {
  if (r->p == r->end)
    return "the end of the file";
  bool printed = *r->p > ' ' && *r->p < 0x7f;
  neo_rti_say(out, 8, NEO_OK, printed ? "'%c'" : "0x%02x", *r->p);
  return out;
}

/* ---- words */

static int32_t find_word(reader *r, const unsigned char *p, size_t n) {
  neo_rt_trees *t = r->t;
  size_t k = (size_t)neo_hash(p, n, 0) & (r->n_slots - 1);
  for (; r->slot[k]; k = (k + 1) & (r->n_slots - 1)) {
    const char *have = t->text[r->slot[k] - 1];
    if (strncmp(have, (const char *)p, n) == 0 && have[n] == 0) {
      t->count[r->slot[k] - 1]++;
      return (int32_t)(r->slot[k] - 1);
    }
  }
  memcpy(r->text, p, n);
  r->text[n] = 0;
  t->text[t->words] = r->text;
  t->count[t->words++] = 1;
  r->text += n + 1;
  r->slot[k] = (uint32_t)t->words;
  return (int32_t)(t->words - 1);
}

static neo_rt_status read_word(reader *r) {
  open_vertex *v = &r->open[r->n_open - 1];
  const unsigned char *begin = r->p;
  if (v->children)
    return REJECT(r, "a word after children: expected ')' or '('");
  if (v->word >= 0)
    return REJECT(r, "a second word: a leaf has one");
  while (r->p < r->end && is_plain(*r->p))
    step(r);
  v->word = find_word(r, begin, (size_t)(r->p - begin));
  return NEO_OK;
}

/* ---- brackets */

static neo_rt_status open_bracket(reader *r) {
  open_vertex v = {.word = -1, .line = (int32_t)r->line, .column = (int32_t)r->column};
  int64_t label = 0;
  if (r->n_open && r->open[r->n_open - 1].word >= 0)
    return REJECT(r, "a child after a word: expected ')'");
  step(r);
  skip_space(r);
  char c[8];
  if (r->p == r->end || *r->p < '0' || *r->p > '9')
    return REJECT(r, "expected the vertex' label, an integer, found %s", shown(r, c));
  int64_t column = r->column;
  for (; r->p < r->end && *r->p >= '0' && *r->p <= '9' && label <= INT32_MAX; step(r))
    label = 10 * label + (*r->p - '0');
  if (label > INT32_MAX)
    return REJECT_AT(r, r->line, column, "the label is too large");
  if (r->p < r->end && is_plain(*r->p))
    return REJECT(r, "expected a space after the label, found %s", shown(r, c));
  v.label = (int32_t)label;
  r->open[r->n_open++] = v;
  return NEO_OK;
}

static void end_tree(reader *r) {
  neo_rt_trees *t = r->t;
  int64_t n = t->vertices - t->start[t->trees];
  t->start[++t->trees] = t->vertices;
  t->most_vertices = n > t->most_vertices ? n : t->most_vertices;
  r->n_waiting = 0;
}

static neo_rt_status close_bracket(reader *r) {
  neo_rt_trees *t = r->t;
  if (r->n_open == 0)
    return REJECT(r, "')' without '('");
  open_vertex v = r->open[--r->n_open];
  if (v.word < 0 && v.children == 0)
    return REJECT(r, "a vertex with neither a word nor children");
  int64_t k = t->vertices++;
  t->label[k] = v.label;
  t->word[k] = v.word;
  t->line[k] = v.line;
  t->column[k] = v.column;
  r->n_waiting -= v.children;
  if (v.children)
    memcpy(t->child + r->edges, r->waiting + r->n_waiting, (size_t)v.children * sizeof *t->child);
  r->edges += v.children;
  t->first[k + 1] = r->edges;
  t->most_children = v.children > t->most_children ? (int32_t)v.children : t->most_children;
  r->waiting[r->n_waiting++] = (int32_t)(k - t->start[t->trees]);
  step(r);
  if (r->n_open)
    r->open[r->n_open - 1].children++;
  else
    end_tree(r);
  return NEO_OK;
}

static neo_rt_status read_trees(reader *r) {
  neo_rt_status status = NEO_OK;
  char c[8];
  for (skip_space(r); r->p < r->end && !status; skip_space(r)) {
    if (*r->p == '(')
      status = open_bracket(r);
    else if (*r->p == ')')
      status = close_bracket(r);
    else if (!is_plain(*r->p))
      status = REJECT(r, "a control character, %s", shown(r, c));
    else
      status = r->n_open ? read_word(r) : REJECT(r, "expected '(', found %s", shown(r, c));
  }
  if (status)
    return status;
  if (r->n_open)
    return REJECT_AT(r, r->open[r->n_open - 1].line, r->open[r->n_open - 1].column,
                     "the bracket is not closed");
  return r->t->trees ? NEO_OK : REJECT(r, "no tree");
}

/* ---- memory */

typedef struct { /* an allocation that is divided; with `p` null, bytes are only counted */
  char *p;
  size_t n;
} block;

static void *take(block *b, size_t count, size_t bytes) {
  void *p = b->p ? b->p + b->n : NULL;
  b->n += (count * bytes + 7) & ~(size_t)7;
  return p;
}

/* Lays out the tables for a number of brackets, and a text of n bytes. Tables of the reader alone
 * come last. */
static void lay_out(block *b, reader *r, size_t brackets, size_t n) {
  neo_rt_trees *t = r->t;
  t->start = take(b, brackets + 1, sizeof *t->start);
  t->first = take(b, brackets + 1, sizeof *t->first);
  t->text = take(b, brackets, sizeof *t->text);
  t->count = take(b, brackets, sizeof *t->count);
  t->child = take(b, brackets, sizeof *t->child);
  t->label = take(b, brackets, sizeof *t->label);
  t->word = take(b, brackets, sizeof *t->word);
  t->line = take(b, brackets, sizeof *t->line);
  t->column = take(b, brackets, sizeof *t->column);
  r->text = take(b, n + brackets, 1);
  r->open = take(b, brackets, sizeof *r->open);
  r->waiting = take(b, brackets, sizeof *r->waiting);
  r->slot = take(b, r->n_slots, sizeof *r->slot);
}

static neo_rt_status parse(const neo_rti_source *s, neo_rt_trees *t) {
  *t = (neo_rt_trees){0};
  reader r = {.p = s->p, .end = s->p + s->n, .line = 1, .column = 1, .t = t, .n_slots = 16};
  size_t brackets = 0;
  block b = {0};
  r.error = s->error;
  r.error_bytes = s->error_bytes;
  for (size_t k = 0; k < s->n; k++)
    brackets += s->p[k] == '(';
  if (s->n >= INT32_MAX) /* lines, columns, vertices and edges are counted in 32 bits */
    return neo_rti_say(s->error, s->error_bytes, NEO_FORMAT, "1:1: more than 2 GiB of text");
  while (r.n_slots < 2 * brackets)
    r.n_slots *= 2;
  lay_out(&b, &r, brackets, s->n);
  t->memory = b.p = s->alloc->resize(s->alloc->ctx, NULL, b.n);
  b.n = 0;
  if (!b.p)
    return neo_rti_say(s->error, s->error_bytes, NEO_MEMORY, "out of memory");
  lay_out(&b, &r, brackets, s->n);
  memset(r.slot, 0, r.n_slots * sizeof *r.slot);
  t->start[0] = t->first[0] = 0;
  neo_rt_status status = read_trees(&r);
  if (status) {
    NEO_RTI_FREE(s->alloc, t->memory);
    *t = (neo_rt_trees){0};
  }
  return status;
}

/* ---- from outside */

neo_rt_status neo_rt_trees_parse(const void *text, size_t n, neo_rt_trees *trees, char *error,
                                 size_t error_bytes) {
  if (!text || !trees)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  return parse(&(neo_rti_source){&neo_alloc_default, text, n, NULL, error, error_bytes}, trees);
}

neo_rt_status neo_rt_trees_load(const char *path, neo_rt_trees *trees, char *error,
                                size_t error_bytes) {
  if (!path || !trees)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  unsigned char *p;
  size_t n;
  char what[320] = "";
  *trees = (neo_rt_trees){0};
  errno = 0;
  neo_rt_status status = neo_rti_file_read(&env, path, &p, &n);
  if (status)
    return neo_rti_say(error, error_bytes, status, "%s: %s", path,
                       status == NEO_MEMORY ? "out of memory"
                       : errno              ? strerror(errno)
                                            : "cannot be read");
  status = parse(&(neo_rti_source){&env.alloc, p, n, NULL, what, sizeof what}, trees);
  NEO_RTI_FREE(&env.alloc, p);
  return status ? neo_rti_say(error, error_bytes, status, "%s:%s%s", path,
                              status == NEO_FORMAT ? "" : " ", what)
                : NEO_OK;
}

void neo_rt_trees_free(neo_rt_trees *trees) {
  if (trees) {
    NEO_RTI_FREE(&neo_alloc_default, trees->memory);
    *trees = (neo_rt_trees){0};
  }
}

neo_rt_graph neo_rt_trees_graph(const neo_rt_trees *trees, int64_t t) {
  int64_t v = trees->start[t];
  return (neo_rt_graph){trees->start[t + 1] - v, trees->first + v, trees->child};
}
