/* Schedule trees from text (ir/tree/print.c), line by line: a node's children are the lines below it that are indented more, up
 * to one that is not. */
#include "ir/parse/parse.h"
#include "tests/tree/tree_text.h"
#include <string.h>

enum { MOST_RANK = 16, MOST_DEPTH = 64 };

typedef struct {
  size_t begin, end; /* tokens */
  uint32_t column;
} line;

typedef struct {
  neo_ir_parser p;
  neo_arena *a;
  NEO_VEC(line) lines;
  size_t at; /* the next line */
  neo_schedule_tree *out;
  bool failed;
} reader;

/* ---- lines */

static uint32_t column_of(const neo_ir_parser *p, token t) {
  uint32_t at = t.offset;
  while (at > 0 && p->text[at - 1] != '\n')
    at--;
  return t.offset - at;
}

/* Is the token the first one of its line? */
static bool begins_line(const neo_ir_parser *p, token t) {
  uint32_t at = t.offset;
  while (at > 0 && (p->text[at - 1] == ' ' || p->text[at - 1] == '\t'))
    at--;
  return at == 0 || p->text[at - 1] == '\n';
}

static void split(reader *r) {
  const neo_ir_parser *p = &r->p;
  for (size_t k = 0; k + 1 < p->tokens.n; k++) {
    if (k == 0 || begins_line(p, p->tokens.at[k]))
      NEO_PUSH(r->a, &r->lines, (line){k, k, column_of(p, p->tokens.at[k])});
    r->lines.at[r->lines.n - 1].end = k + 1;
  }
}

/* Begins the next line; its tokens are those that the parser sees. */
static const line *next_line(reader *r) {
  const line *l = &r->lines.at[r->at++];
  r->p.at = l->begin;
  r->p.stop = l->end;
  r->p.failed = false;
  r->p.depth = 0;
  return l;
}

static void end_line(reader *r) {
  if (!r->p.failed && r->p.at < r->p.stop)
    neo_parse_expected(&r->p, "the end of the line");
  r->failed = r->failed || r->p.failed;
}

static bool has_child(const reader *r, const line *of) {
  return r->at < r->lines.n && r->lines.at[r->at].column > of->column;
}

/* ---- instances */

/* The definition that makes the tensor; `@n` says which of several. */
static neo_def parse_def(reader *r, neo_tensor t) {
  neo_ir_parser *p = &r->p;
  token at = neo_parse_peek(p, 0);
  neo_list pieces = neo_tensor_at(p->m, t)->pieces;
  bool numbered = at.kind == T_DEF;
  uint32_t number = numbered ? neo_parse_tag(p, neo_parse_next(p)) : 0;
  for (uint32_t k = 0; k < pieces.n && !p->failed; k++)
    if (numbered ? neo_list_at(p->m, pieces, k) == number : pieces.n == 1)
      return (neo_def){neo_list_at(p->m, pieces, k)};
  neo_parse_fail(p, at, NEO_D_IR_NAME, "definition", neo_parse_word(p, at));
  return (neo_def){0};
}

static void parse_position(neo_ir_parser *p, neo_expr *lo, neo_expr *hi) {
  if (!neo_parse_is(p, ".."))
    *lo = neo_parse_expr(p);
  if (neo_parse_accept(p, "..") && !neo_parse_is(p, ",") && !neo_parse_is(p, "]"))
    *hi = neo_parse_expr(p);
}

static void parse_positions(neo_ir_parser *p, neo_expr *lo, neo_expr *hi, uint32_t n) {
  uint32_t k = 0;
  do {
    if (k == n)
      neo_parse_limit(p, (int)n, "axes of the definition");
    if (!p->failed)
      parse_position(p, &lo[k], &hi[k]);
    k++;
  } while (!p->failed && neo_parse_accept(p, ","));
  neo_parse_expect(p, "]");
}

static void parse_instance(reader *r, neo_tree_leaf *leaf) {
  neo_ir_parser *p = &r->p;
  neo_tensor t = neo_parse_tensor(p);
  neo_instance x = {.def = p->failed ? (neo_def){0} : parse_def(r, t)};
  uint32_t n = x.def.i ? neo_def_at(p->m, x.def)->n_out : 0;
  neo_expr *lo = NEO_NEW_ARRAY(r->a, neo_expr, n + 1), *hi = NEO_NEW_ARRAY(r->a, neo_expr, n + 1);
  if (!p->failed && neo_parse_accept(p, "["))
    parse_positions(p, lo, hi, n);
  x.lo = lo;
  x.hi = hi;
  NEO_PUSH(r->a, &leaf->instances, x);
}

static const neo_tree *parse_leaf(reader *r) {
  neo_tree_leaf leaf = {0};
  while (!r->p.failed && r->p.at < r->p.stop)
    parse_instance(r, &leaf);
  end_line(r);
  return neo_tree_of_leaf(r->a, leaf);
}

/* ---- nodes */

static const neo_tree *parse_node(reader *r);

static const neo_tree *parse_child(reader *r, const line *of) {
  end_line(r);
  if (!r->failed && has_child(r, of))
    return parse_node(r);
  if (!r->failed)
    neo_parse_expected(&r->p, "an indented line below");
  r->failed = true;
  return NULL;
}

static neo_size row_size(neo_ir_parser *p) {
  uint32_t name = neo_parse_name(p, "the name of a row");
  neo_size_rec rec = {.kind = NEO_SIZE_RUNTIME, .loop_index = true, .name = name};
  rec.hi = INT32_MAX;
  neo_size s = neo_size_add(p->m, rec);
  if (name)
    neo_map_set(&p->sizes, name, s.i);
  return s;
}

static void parse_rows(neo_ir_parser *p, neo_tree_rows *rows) {
  rows->first = neo_parse_tensor(p);
  neo_parse_expect(p, "as");
  rows->begin = row_size(p);
  neo_parse_expect(p, "..");
  rows->end = row_size(p);
  rows->range = neo_parse_accept(p, "wide")     ? NEO_BLOCKS_WIDE
                : neo_parse_accept(p, "serial") ? NEO_BLOCKS_SERIAL
                : neo_parse_accept(p, "whole")  ? NEO_BLOCKS_WHOLE
                                                : NEO_BLOCKS_ALL;
}

static const neo_tree *parse_band(reader *r, const line *of) {
  neo_ir_parser *p = &r->p;
  neo_tree_band b = {.name = neo_parse_name(p, "an index")};
  neo_parse_expect(p, "in");
  b.lo = neo_parse_expr(p);
  neo_parse_expect(p, "..");
  b.hi = neo_parse_expr(p);
  b.down = neo_parse_accept(p, "down");
  if (neo_parse_accept(p, "rows"))
    parse_rows(p, &b.rows);
  if (p->n_axes == MOST_DEPTH)
    neo_parse_limit(p, MOST_DEPTH, "bands in one another");
  if (p->failed)
    return parse_child(r, of);
  p->axis[p->n_axes++] = b.name;
  const neo_tree *child = parse_child(r, of);
  p->n_axes--;
  return child ? neo_tree_of_band(r->a, b, child) : NULL;
}

static const neo_tree *parse_sequence(reader *r, const line *of) {
  neo_trees children = {0};
  end_line(r);
  while (!r->failed && has_child(r, of)) {
    const neo_tree *child = parse_node(r);
    if (child)
      NEO_PUSH(r->a, &children, child);
  }
  return neo_tree_sequence(r->a, &children);
}

/* ---- stores */

static uint32_t parse_list(neo_ir_parser *p, neo_expr *at, const char *end) {
  uint32_t n = 0;
  if (neo_parse_accept(p, end))
    return 0;
  do {
    if (n == MOST_RANK)
      neo_parse_limit(p, MOST_RANK, "coordinates");
    neo_expr e = neo_parse_expr(p);
    if (!p->failed)
      at[n++] = e;
  } while (!p->failed && neo_parse_accept(p, ","));
  neo_parse_expect(p, end);
  return n;
}

static neo_store parse_store(reader *r) {
  neo_ir_parser *p = &r->p;
  neo_expr extent[MOST_RANK], at[MOST_RANK];
  uint32_t around[MOST_DEPTH], n_around = p->n_axes;
  neo_store s = {.tensor = neo_parse_tensor(p)};
  memcpy(around, p->axis, sizeof around);
  neo_parse_expect(p, "[");
  s.rank = parse_list(p, extent, "]");
  neo_parse_expect(p, "at");
  p->n_axes = p->failed ? 0 : neo_tensor_rank(p->m, s.tensor);
  for (uint32_t k = 0; k < p->n_axes; k++)
    p->axis[k] = neo_name_of(p->m->names, neo_arena_printf(r->a, "d%u", k));
  neo_parse_expect(p, "(");
  if (parse_list(p, at, ")") != s.rank)
    neo_parse_expected(p, "a coordinate for each extent");
  memcpy(p->axis, around, sizeof around);
  p->n_axes = n_around;
  s.extent = neo_arena_copy(r->a, extent, (s.rank + 1) * sizeof *extent);
  s.at = neo_arena_copy(r->a, at, (s.rank + 1) * sizeof *at);
  end_line(r);
  return s;
}

static const neo_tree *parse_stored(reader *r, const line *of) {
  neo_store s = parse_store(r);
  if (!r->failed && (r->at == r->lines.n || r->lines.at[r->at].column != of->column)) {
    neo_parse_expected(&r->p, "the node that is its scope, below");
    r->failed = true;
  }
  s.scope = r->failed ? NULL : parse_node(r);
  NEO_PUSH(r->a, &r->out->stores, s);
  return s.scope;
}

static const neo_tree *parse_guard(reader *r, const line *of) {
  neo_expr condition = neo_parse_expr(&r->p);
  const neo_tree *child = parse_child(r, of);
  return child ? neo_tree_guard(r->a, condition, child) : NULL;
}

static const neo_tree *parse_exit(reader *r) {
  neo_parse_expect(&r->p, "unless");
  neo_expr condition = neo_parse_expr(&r->p);
  end_line(r);
  return neo_tree_exit(r->a, condition);
}

static const neo_tree *parse_mark(reader *r, const line *of) {
  int64_t mark = neo_parse_integer(&r->p);
  const neo_tree *child = parse_child(r, of);
  return child ? neo_tree_mark(r->a, (uint32_t)mark, child) : NULL;
}

/* Null: it failed. */
static const neo_tree *parse_node(reader *r) {
  neo_ir_parser *p = &r->p;
  const line *l = next_line(r);
  if (neo_parse_accept(p, "store"))
    return parse_stored(r, l);
  if (neo_parse_accept(p, "seq"))
    return parse_sequence(r, l);
  if (neo_parse_accept(p, "band"))
    return parse_band(r, l);
  if (neo_parse_accept(p, "leaf"))
    return parse_leaf(r);
  if (neo_parse_accept(p, "guard"))
    return parse_guard(r, l);
  if (neo_parse_accept(p, "exit"))
    return parse_exit(r);
  if (neo_parse_accept(p, "kernel"))
    return parse_mark(r, l);
  neo_parse_expected(p, "a node of a tree");
  r->failed = true;
  return NULL;
}

/* ---- the whole */

static void add_names(neo_ir_parser *p) {
  const neo_module *m = p->m;
  neo_map_init(&p->sizes, p->arena);
  neo_map_init(&p->tensors, p->arena);
  neo_map_init(&p->lets, p->arena);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (!m->sizes.at[k].loop_index)
      neo_map_set(&p->sizes, m->sizes.at[k].name, k);
  for (uint32_t k = 1; k < m->tensors.n; k++)
    neo_map_set(&p->tensors, m->tensors.at[k].name, k);
  for (uint32_t k = 0; k < m->tensors.n; k++)
    NEO_PUSH(p->arena, &p->bad_tensors, false);
}

bool neo_tree_parse(neo_module *m, neo_arena *a, const char *path, const char *text, size_t n,
                    neo_schedule_tree *out) {
  reader r = {.p = {.arena = a, .m = m, .n_text = (uint32_t)n}, .a = a, .out = out};
  neo_sources *sources = neo_diags_sources(m->diags);
  *out = (neo_schedule_tree){0};
  r.p.text = neo_arena_strndup(a, text, n);
  r.p.file = neo_sources_add(sources, neo_arena_strdup(a, path), r.p.text, r.p.n_text);
  add_names(&r.p);
  neo_parse_lex(&r.p, 0);
  split(&r);
  if (!r.lines.n) {
    neo_diag(m->diags, neo_span_of(sources, r.p.file, 0, 0), NEO_D_IR_EXPECTED, "a node of a tree",
             "the end");
    return false;
  }
  out->root = parse_node(&r);
  if (!r.failed && r.at < r.lines.n) {
    (void)next_line(&r);
    neo_parse_expected(&r.p, "the end of the tree");
    r.failed = true;
  }
  return !r.failed;
}
