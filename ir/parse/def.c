/* Definitions of the text form. */
#include "ir/limits.h"
#include "ir/out_map.h"
#include "ir/parse/parse.h"

enum { MAX_OUTS = 4, MAX_BODIES = 2, MAX_DEF = 1 << 18 };

static void begin_scope(neo_ir_parser *p) {
  p->n_axes = 0;
  p->n_accs = 0;
  neo_map_init(&p->lets, p->arena);
}

/* ---- axes */

static void add_axis(neo_ir_parser *p, uint32_t *ids) {
  size_t first = p->at;
  neo_axis_rec rec = {.name = neo_parse_name(p, "an axis")};
  if (p->n_axes == NEO_DEF_AXES)
    neo_parse_limit(p, NEO_DEF_AXES, "axes");
  for (uint32_t k = 0; !p->failed && k < p->n_axes; k++)
    if (p->axis[k] == rec.name)
      neo_parse_fail(p, p->tokens.at[first], NEO_D_IR_TWICE, "axis",
                     neo_name_text(p->m->names, rec.name));
  neo_parse_expect(p, ":");
  rec.lo = neo_const_i64(p->m, 0);
  rec.hi = neo_parse_sum(p);
  if (neo_parse_accept(p, "..")) {
    rec.lo = rec.hi;
    rec.hi = neo_parse_sum(p);
  }
  if (p->failed)
    return;
  rec.span = neo_parse_span_from(p, first);
  ids[p->n_axes] = neo_axis_add(p->m, rec).i;
  p->axis[p->n_axes++] = rec.name;
}

/* Appends to the axes of the scope. */
static void parse_axes(neo_ir_parser *p, uint32_t *ids) {
  neo_parse_expect(p, "[");
  if (neo_parse_accept(p, "]"))
    return;
  do
    add_axis(p, ids);
  while (neo_parse_accept(p, ","));
  neo_parse_expect(p, "]");
}

/* ---- out map: `at [2*p + 1, q]`, the axes in order */

static void parse_map_dim(neo_ir_parser *p, uint32_t k, int64_t *stride, int64_t *offset) {
  *stride = 1;
  *offset = 0;
  if (neo_parse_peek(p, 0).kind == T_NUMBER || neo_parse_is(p, "-")) {
    *stride = neo_parse_integer(p);
    neo_parse_expect(p, "*");
  }
  token t = neo_parse_peek(p, 0);
  uint32_t name = neo_parse_name(p, "an axis");
  if (!p->failed && (k >= p->n_axes || p->axis[k] != name))
    neo_parse_fail(p, t, NEO_D_IR_EXPECTED, "the axes in their order", neo_parse_word(p, t));
  bool minus = neo_parse_is(p, "-");
  if (minus || neo_parse_is(p, "+")) {
    (void)neo_parse_next(p);
    *offset = neo_parse_integer(p);
    if (minus)
      *offset = (int64_t)(0 - (uint64_t)*offset);
  }
  if (*stride != (int32_t)*stride || *offset != (int32_t)*offset)
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
}

static neo_list parse_map(neo_ir_parser *p) {
  neo_out_dim at[NEO_DEF_AXES];
  uint32_t n = 0;
  neo_parse_expect(p, "[");
  do {
    int64_t stride, offset;
    if (n == p->n_axes)
      neo_parse_expected(p, "as many dimensions as axes");
    parse_map_dim(p, n, &stride, &offset);
    if (p->failed)
      return (neo_list){0, 0};
    at[n++] = (neo_out_dim){(int32_t)stride, (int32_t)offset};
  } while (neo_parse_accept(p, ","));
  neo_parse_expect(p, "]");
  return neo_out_map_new(p->m, at, n);
}

/* ---- the right side */

static void parse_lets(neo_ir_parser *p) {
  while (neo_parse_accept(p, "let")) {
    token t = neo_parse_next(p);
    if (t.kind != T_LET)
      neo_parse_fail(p, t, NEO_D_IR_EXPECTED, "a name like $0", "another");
    uint32_t number = neo_parse_tag(p, t);
    if (neo_map_get(&p->lets, number, NULL))
      neo_parse_fail(p, t, NEO_D_IR_TWICE, "name", neo_parse_word(p, t));
    neo_parse_expect(p, "=");
    neo_expr e = neo_parse_expr(p);
    neo_parse_expect(p, ";");
    if (p->failed)
      return;
    neo_map_set(&p->lets, number, e.i);
    neo_parse_named(p, e);
  }
}

static neo_list parse_exprs(neo_ir_parser *p, uint32_t limit) {
  uint32_t at[2 * NEO_ROWS_LISTS + 1], n = 0;
  do {
    if (n == limit)
      neo_parse_limit(p, (int)limit, "expressions");
    neo_expr e = neo_parse_expr(p);
    if (!p->failed)
      at[n++] = e.i;
  } while (neo_parse_accept(p, ","));
  return p->failed ? (neo_list){0, 0} : neo_list_new(p->m, at, n);
}

static bool begins_reduction(neo_ir_parser *p, neo_reducer *r) {
  token t = neo_parse_peek(p, 0), after = neo_parse_peek(p, 1);
  if (t.kind != T_NAME || after.kind != T_PUNCT || p->text[after.offset] != '[')
    return false;
  return neo_reducer_of_text(neo_parse_word(p, t), r) && *r != NEO_RED_NONE;
}

static void parse_reduction(neo_ir_parser *p, neo_def_rec *d, neo_reducer r, uint32_t *axes) {
  (void)neo_parse_next(p);
  d->reducer = (uint8_t)r;
  parse_axes(p, axes);
  parse_lets(p);
  if (neo_parse_accept(p, "where")) {
    d->where = neo_parse_expr(p);
    neo_parse_expect(p, ";");
  }
  d->body = parse_exprs(p, neo_reducer_bodies(r));
  if (p->failed)
    return;
  p->n_accs = neo_reducer_accs(r);
  neo_type t = neo_expr_type(p->m, neo_list_expr(p->m, d->body, 0));
  for (uint32_t k = 0; k < p->n_accs; k++)
    p->acc[k] = neo_reducer_acc_type(t, k);
  if (neo_parse_accept(p, "then")) {
    parse_lets(p);
    d->finish = parse_exprs(p, MAX_OUTS);
  } else {
    neo_expr acc = neo_acc_ref(p->m, p->acc[0], 0);
    d->finish = neo_list_one(p->m, acc.i);
  }
}

static void parse_right(neo_ir_parser *p, neo_def_rec *d) {
  uint32_t axes[NEO_DEF_AXES];
  neo_reducer r;
  parse_axes(p, axes);
  d->n_out = p->n_axes;
  if (neo_parse_accept(p, "at"))
    d->out_map = parse_map(p);
  neo_parse_expect(p, "=");
  if (begins_reduction(p, &r)) {
    parse_reduction(p, d, r, axes);
  } else {
    parse_lets(p);
    d->finish = parse_exprs(p, MAX_OUTS);
  }
  if (!p->failed)
    d->axes = neo_list_new(p->m, axes, p->n_axes);
}

/* Appends empty records for removed definitions, whose numbers the text omits. */
static void fill_to(neo_ir_parser *p, uint32_t id) {
  while (p->m->defs.n < id)
    NEO_PUSH(p->m->arena, &p->m->defs, (neo_def_rec){0});
}

/* ---- levels */

static neo_tensor parse_table(neo_ir_parser *p) {
  return neo_parse_accept(p, "-") ? (neo_tensor){0} : neo_parse_tensor(p);
}

static neo_tensor parse_next_table(neo_ir_parser *p) {
  neo_parse_expect(p, ",");
  return parse_table(p);
}

static void parse_tables(neo_ir_parser *p, neo_rows_rec *r) {
  r->level = parse_table(p);
  r->first = parse_next_table(p);
  r->place = parse_next_table(p);
  r->vertex = parse_next_table(p);
  r->kind = parse_next_table(p);
  while (!p->failed && neo_parse_accept(p, ";")) {
    if (r->n_lists == NEO_ROWS_LISTS)
      neo_parse_limit(p, NEO_ROWS_LISTS, "lists of children");
    neo_row_list l = {.slots = 1, .placed = parse_table(p)};
    l.end = parse_next_table(p);
    l.edge = parse_next_table(p);
    if (neo_parse_accept(p, ",")) {
      l.parent = parse_table(p);
      l.begin = parse_next_table(p);
    }
    if (!p->failed)
      r->list[r->n_lists++] = l;
  }
  neo_parse_expect(p, ")");
}

/* Sets the number of slots of each list from the extents of the tensor of its children. */
static void count_slots(neo_ir_parser *p, neo_rows_rec *r, neo_list body) {
  for (uint32_t i = 0; i < r->n_lists && i < body.n; i++) {
    const neo_node *n = neo_expr_node(p->m, neo_list_expr(p->m, body, i));
    int64_t slots = 0;
    for (uint32_t k = 1; n->op == NEO_OP_LOAD && k < n->arg.n; k++)
      if (neo_expr_is_int(p->m, neo_tensor_extent(p->m, (neo_tensor){n->attr}, k), &slots))
        r->list[i].slots *= slots;
  }
}

/* levels (level, first, place, vertex, kind; placed, end, edge) kinds 1 [p: n, k: 2] = child[p, k];
 * lists have placed, end, edge, parent, begin, and begin[p] at the end. */
static void parse_levels(neo_ir_parser *p, uint32_t id) {
  neo_rows_rec r = {0};
  neo_def_rec d = {0};
  uint32_t axes[NEO_DEF_AXES];
  size_t first = p->at;
  (void)neo_parse_next(p);
  neo_parse_expect(p, "(");
  parse_tables(p, &r);
  neo_parse_expect(p, "kinds");
  r.kinds = neo_parse_integer(p);
  parse_axes(p, axes);
  neo_parse_expect(p, "=");
  d.body = parse_exprs(p, 2 * NEO_ROWS_LISTS + 1);
  if (!p->failed && p->at < p->stop)
    neo_parse_expected(p, "the end of the statement");
  if (p->failed)
    return;
  count_slots(p, &r, d.body);
  d.axes = neo_list_new(p->m, axes, p->n_axes);
  d.span = neo_parse_span_from(p, first);
  fill_to(p, id);
  neo_levels_add(p->m, d, &r);
}

/* ---- the whole */

static neo_list parse_outs(neo_ir_parser *p) {
  uint32_t at[MAX_OUTS], n = 0;
  bool several = neo_parse_accept(p, "(");
  do {
    if (n == MAX_OUTS)
      neo_parse_limit(p, MAX_OUTS, "results");
    uint32_t t = neo_parse_tensor(p).i;
    if (!p->failed)
      at[n++] = t;
  } while (several && neo_parse_accept(p, ","));
  if (several)
    neo_parse_expect(p, ")");
  return neo_list_new(p->m, at, n);
}

static uint32_t parse_def_number(neo_ir_parser *p) {
  token t = neo_parse_peek(p, 0);
  if (t.kind != T_DEF)
    return (uint32_t)p->m->defs.n;
  uint32_t id = neo_parse_tag(p, neo_parse_next(p));
  if (!p->failed && (id < p->m->defs.n || id > MAX_DEF))
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
  return id;
}

static uint32_t parse_origin(neo_ir_parser *p) {
  if (!neo_parse_accept(p, "from"))
    return 0;
  token t = neo_parse_next(p);
  if (t.kind == T_DEF)
    return neo_parse_tag(p, t);
  neo_parse_fail(p, t, NEO_D_IR_EXPECTED, "a definition's number", neo_parse_word(p, t));
  return 0;
}

/* Parses "chunk_loop 3"; 0 if absent. A tensor may have the same name: a number decides. */
static uint32_t parse_loop(neo_ir_parser *p, const char *word) {
  token number = neo_parse_peek(p, 1);
  if (number.kind != T_NUMBER || !neo_parse_accept(p, word))
    return 0;
  int64_t n = neo_parse_integer(p);
  if (n < 1 || n > MAX_DEF)
    neo_parse_fail(p, number, NEO_D_IR_NUMBER, neo_parse_word(p, number), "");
  return (uint32_t)n;
}

/* Parses "after dy"; 0 if absent. A tensor may be named `after`: a following name decides. */
static neo_tensor parse_after(neo_ir_parser *p) {
  token_kind next = neo_parse_peek(p, 1).kind;
  bool names = next == T_NAME || next == T_STRING;
  return names && neo_parse_accept(p, "after") ? neo_parse_tensor(p) : (neo_tensor){0};
}

void neo_parse_def(neo_ir_parser *p, bool init) {
  size_t first = p->at - 1;
  neo_def_rec d = {0};
  begin_scope(p);
  uint32_t id = parse_def_number(p);
  if (!init && neo_parse_is(p, "levels") && p->text[neo_parse_peek(p, 1).offset] == '(') {
    parse_levels(p, id);
    return;
  }
  d.origin = parse_origin(p);
  d.chunk_loop = parse_loop(p, "chunk_loop");
  d.inner_loop = parse_loop(p, "inner_loop");
  d.after = parse_after(p);
  d.out = parse_outs(p);
  token name = p->tokens.at[p->at - 1];
  parse_right(p, &d);
  if (!p->failed && p->at < p->stop)
    neo_parse_expected(p, "the end of the statement");
  if (init && !p->failed && d.out.n != 1)
    neo_parse_limit(p, 1, "results of an initialiser");
  if (p->failed)
    return;
  neo_tensor out = {neo_list_at(p->m, d.out, 0)};
  if (init && neo_tensor_at(p->m, out)->init.i) {
    neo_parse_fail(p, name, NEO_D_IR_TWICE, "initialiser of", neo_parse_word(p, name));
    return;
  }
  d.span = neo_parse_span_from(p, first);
  fill_to(p, id);
  neo_def added = neo_def_add(p->m, d, !init);
  if (init)
    neo_tensor_at(p->m, out)->init = added;
}
