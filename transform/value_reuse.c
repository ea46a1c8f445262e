/* Available values: an expression whose value some read tensor already has becomes that read.
 *
 *     Y[r, c] = exp(X[r, c] - z[r])
 *     D[r, c] = G[r, c]*Y[r, c] + s[r]*exp(X[r, c] - z[r])
 *     ->
 *     D[r, c] = G[r, c]*Y[r, c] + s[r]*Y[r, c]
 *
 * The definition reads an element, and also has the expression that defines it. Gradients do: the
 * slope of a function by its value beside one by its argument. Only values that cost more than a
 * load are replaced, and only those of definitions without reductions.
 *
 * The expression may occur where the read does not: under other conditions, without such an
 * element, or before it is computed. So it becomes the read in two cases:
 * - each point that computes the expression also makes the read, since its conditions include the
 * read's: no point reads more than before;
 * - the element provably exists under the expression's conditions, and its definition is
 * independent of the reader.
 *
 * Integers and their operands stay, since proofs of other reads use them. */
#include "transform/value_reuse.h"
#include "ir/component.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"

enum { MOST_READS = 32, MOST_VISITS = 4096 };

/* Conditions that hold at a place: those of `outer` and one more. The default of a guarded read is
 * under the read itself, as a condition that does not hold. */
typedef struct {
  uint32_t outer; /* number of a row; row 0: no conditions */
  neo_expr condition;
  bool holds;
} place;

typedef struct { /* a read and its place */
  uint32_t load, place;
  bool in_reduction;
} made;

typedef struct {
  neo_module *m;
  neo_prover **prover; /* made on demand */
  neo_arena scratch;
  neo_def_rec def;
  neo_expr load[MOST_READS], value[MOST_READS]; /* elements that are read; their values */
  bool met[MOST_READS];                         /* value[k] occurs */
  bool earlier[MOST_READS];                     /* load[k] is independent of the definition */
  uint32_t n;

  bool in_reduction; /* current part of the definition: its reduction, or the finish */
  uint32_t visits;
  NEO_VEC(place) places;
  neo_map inner;  /* (row, condition) -> row */
  neo_map done;   /* (row, node) -> the node's replacement */
  neo_map matter; /* nodes with a value or a read in them */
  NEO_VEC(made) reads;
} known;

static bool is_dear(const neo_module *m, neo_expr e, const void *x) {
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  (void)x;
  return neo_op_is_elementwise(op) && neo_op_cost(op) >= NEO_COST_DIVIDE;
}

/* Does it cost more than a load? */
static bool costs(const neo_module *m, neo_expr e) {
  return neo_expr_any(m, e, is_dear, NULL);
}

/* The value of tensor t over the axes of its definition; 0: it is not elementwise. */
static neo_expr value_of(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_expr none = {0};
  if (r->pieces.n != 1 || (r->type != NEO_F32_T && r->type != NEO_F64_T))
    return none;
  const neo_def_rec *d = neo_def_at(m, neo_list_def(m, r->pieces, 0));
  if (d->reducer != NEO_RED_NONE || d->axes.n != d->n_out || d->where.i || d->out_map.n)
    return none;
  for (uint32_t k = 0; k < d->out.n && k < d->finish.n; k++) {
    neo_expr e = neo_list_expr(m, d->finish, k);
    if (neo_list_at(m, d->out, k) == t.i)
      return !neo_expr_uses_op(m, e, NEO_OP_ACC) && costs(m, e) ? e : none;
  }
  return none;
}

static void find_load(void *ctx, neo_expr e) {
  known *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (n->op != NEO_OP_LOAD || c->n == MOST_READS || n->arg.n > NEO_DEF_AXES)
    return;
  neo_expr value = value_of(c->m, (neo_tensor){n->attr});
  if (!value.i)
    return;
  c->load[c->n] = e;
  c->value[c->n++] = value;
}

/* Substitutes the element's indices for the axes of its definition. */
static void place_value(known *c, uint32_t k) {
  neo_list args = neo_expr_node(c->m, c->load[k])->arg;
  neo_expr index[NEO_DEF_AXES];
  for (uint32_t i = 0; i < args.n; i++)
    index[i] = neo_list_expr(c->m, args, i);
  c->value[k] = neo_expr_subst_axes(c->m, c->value[k], index, args.n);
}

static void find_value(void *ctx, neo_expr e) {
  known *c = ctx;
  for (uint32_t k = 0; k < c->n; k++)
    c->met[k] = c->met[k] || c->value[k].i == e.i;
}

typedef struct {
  known *c;
  uint32_t k;
} wanted;

static void find_in_integer(void *ctx, neo_expr e) {
  wanted *w = ctx;
  if (w->c->value[w->k].i == e.i)
    w->c->met[w->k] = false;
}

/* Notes an integer that is made of other types: a conversion, a choice. */
static void look_integer(void *ctx, neo_expr e) {
  wanted *w = ctx;
  const neo_module *m = w->c->m;
  const neo_node *n = neo_expr_node(m, e);
  if (neo_type_is_int((neo_type)n->type))
    for (uint32_t i = 0; i < n->arg.n; i++)
      if (!neo_type_is_int(neo_expr_type(m, neo_list_expr(m, n->arg, i))))
        neo_expr_visit(m, neo_list_expr(m, n->arg, i), find_in_integer, w);
}

/* ---- conditions */

static uint32_t under_one(known *c, uint32_t at, neo_expr condition, bool holds) {
  for (uint32_t p = at; p; p = c->places.at[p].outer)
    if (c->places.at[p].condition.i == condition.i && c->places.at[p].holds == holds)
      return at;
  uint64_t row, key = (uint64_t)at << 33 | (uint64_t)condition.i << 1 | holds;
  if (neo_map_get(&c->inner, key, &row))
    return (uint32_t)row;
  row = c->places.n;
  neo_map_set(&c->inner, key, row);
  NEO_PUSH(&c->scratch, &c->places, (place){at, condition, holds});
  return (uint32_t)row;
}

/* The place inside of `at` where the condition is `holds`. */
static uint32_t under(known *c, uint32_t at, neo_expr condition, bool holds) {
  neo_node n = *neo_expr_node(c->m, condition);
  if (n.op == NEO_OP_NOT)
    return under(c, at, neo_list_expr(c->m, n.arg, 0), !holds);
  if (n.op == (holds ? NEO_OP_AND : NEO_OP_OR)) {
    at = under(c, at, neo_list_expr(c->m, n.arg, 0), holds);
    return under(c, at, neo_list_expr(c->m, n.arg, 1), holds);
  }
  return under_one(c, at, condition, holds);
}

/* The place of argument k of a node at `at`. */
static uint32_t place_of(known *c, uint32_t at, neo_expr e, uint32_t k) {
  neo_node n = *neo_expr_node(c->m, e);
  neo_expr first = n.arg.n ? neo_list_expr(c->m, n.arg, 0) : e;
  if (n.op == NEO_OP_SELECT && k)
    return under(c, at, first, k == 1);
  if ((n.op == NEO_OP_AND || n.op == NEO_OP_OR) && k)
    return under(c, at, first, n.op == NEO_OP_AND);
  bool other = n.op == NEO_OP_LOAD_ELSE && k + 1 == n.arg.n;
  return other ? under_one(c, at, e, false) : at;
}

static bool holds_at(const known *c, uint32_t at, const place *p) {
  for (; at; at = c->places.at[at].outer)
    if (c->places.at[at].condition.i == p->condition.i && c->places.at[at].holds == p->holds)
      return true;
  return false;
}

/* Do all conditions of `outer` hold at `at`? */
static bool is_inside(const known *c, uint32_t at, uint32_t outer) {
  for (; outer; outer = c->places.at[outer].outer)
    if (!holds_at(c, at, &c->places.at[outer]))
      return false;
  return true;
}

/* ---- places of reads */

static void mark(void *ctx, neo_expr e) {
  known *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  bool found = false;
  for (uint32_t k = 0; k < c->n && !found; k++)
    found = c->met[k] && (c->load[k].i == e.i || c->value[k].i == e.i);
  for (uint32_t k = 0; k < n->arg.n && !found; k++)
    found = neo_map_get(&c->matter, neo_list_at(c->m, n->arg, k), NULL);
  if (found)
    neo_map_set(&c->matter, e.i, 1);
}

/* Is the node worth a look, and new? */
static bool enters(known *c, uint32_t at, neo_expr e) {
  uint64_t key = (uint64_t)at << 32 | e.i;
  if (c->visits == MOST_VISITS || !neo_map_get(&c->matter, e.i, NULL) ||
      neo_map_get(&c->done, key, NULL))
    return false;
  neo_map_set(&c->done, key, e.i);
  c->visits++;
  return true;
}

static void note_reads(known *c, uint32_t at, neo_expr e) {
  if (!enters(c, at, e))
    return;
  for (uint32_t k = 0; k < c->n; k++)
    if (c->met[k] && c->load[k].i == e.i)
      NEO_PUSH(&c->scratch, &c->reads, (made){k, at, c->in_reduction});
  for (uint32_t k = 0; k < neo_expr_node(c->m, e)->arg.n; k++)
    note_reads(c, place_of(c, at, e, k), neo_expr_arg(c->m, e, k));
}

/* ---- places of values */

static bool is_made_at(const known *c, uint32_t k, uint32_t at) {
  for (size_t i = 0; i < c->reads.n; i++) {
    const made *r = &c->reads.at[i];
    if (r->load == k && (c->in_reduction || !r->in_reduction) && is_inside(c, at, r->place))
      return true;
  }
  return false;
}

static uint32_t conditions_at(known *c, uint32_t at, neo_expr *out, uint32_t most) {
  uint32_t n = 0;
  for (; at && n < most; at = c->places.at[at].outer) {
    place p = c->places.at[at];
    if (neo_expr_type(c->m, p.condition) == NEO_BOOL_T)
      out[n++] = p.holds ? p.condition : neo_op1(c->m, NEO_OP_NOT, p.condition);
  }
  return n;
}

static bool is_there(known *c, uint32_t k, uint32_t at) {
  neo_module *m = c->m;
  neo_axis_rec axis[NEO_DEF_AXES];
  neo_expr assume[NEO_DEF_AXES];
  neo_facts f = {.axes = axis, .n_axes = c->in_reduction ? c->def.axes.n : c->def.n_out};
  neo_node n = *neo_expr_node(m, c->load[k]);
  for (uint32_t i = 0; i < f.n_axes; i++)
    axis[i] = *neo_def_axis(m, &c->def, i);
  f.n_assume = conditions_at(c, at, assume, NEO_DEF_AXES);
  f.assume = assume;
  if (!*c->prover)
    *c->prover = neo_prover_new(m);
  neo_prover_at(*c->prover, c->def.span);
  for (uint32_t i = 0; i < n.arg.n; i++)
    if (!neo_proves_index(*c->prover, &f, neo_list_expr(m, n.arg, i),
                          neo_tensor_extent(m, (neo_tensor){n.attr}, i)))
      return false;
  return true;
}

/* The read that may replace the expression at this place; 0: none. */
static neo_expr read_for(known *c, uint32_t at, neo_expr e) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->met[k] && c->value[k].i == e.i &&
        (is_made_at(c, k, at) || (c->earlier[k] && is_there(c, k, at))))
      return c->load[k];
  return (neo_expr){0};
}

/* ---- the definition */

static neo_expr replaced(known *c, uint32_t at, neo_expr e) {
  uint64_t key = (uint64_t)at << 32 | e.i, known_as;
  neo_node n = *neo_expr_node(c->m, e);
  neo_expr arg[NEO_DEF_AXES];
  bool load = neo_node_is_load(&n);
  if (neo_map_get(&c->done, key, &known_as))
    return (neo_expr){(uint32_t)known_as};
  if (!enters(c, at, e) || neo_type_is_int((neo_type)n.type) || n.arg.n > NEO_DEF_AXES)
    return e;
  neo_expr to = read_for(c, at, e);
  for (uint32_t k = 0; !to.i && k < n.arg.n; k++) {
    arg[k] = neo_list_expr(c->m, n.arg, k);
    if (!load || !neo_type_is_int(neo_expr_type(c->m, arg[k])))
      arg[k] = replaced(c, place_of(c, at, e, k), arg[k]);
  }
  if (!to.i)
    to = neo_expr_make(c->m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
  neo_map_set(&c->done, key, to.i);
  return to;
}

typedef void part_fn(known *c, uint32_t at, neo_expr *e);

static void part_reads(known *c, uint32_t at, neo_expr *e) {
  note_reads(c, at, *e);
}

static void part_replaced(known *c, uint32_t at, neo_expr *e) {
  *e = replaced(c, at, *e);
}

static void each_of(known *c, uint32_t at, neo_list *l, part_fn *f) {
  uint32_t ids[8];
  assert(l->n <= 8);
  for (uint32_t k = 0; k < l->n; k++) {
    neo_expr e = neo_list_expr(c->m, *l, k);
    f(c, at, &e);
    ids[k] = e.i;
  }
  *l = neo_list_new(c->m, ids, l->n);
}

/* Calls f for the finish and the reduction of d, with their places. */
static void each_part(known *c, neo_def_rec *d, part_fn *f) {
  c->visits = 0;
  neo_map_init(&c->done, &c->scratch);
  c->in_reduction = false;
  each_of(c, 0, &d->finish, f);
  neo_map_init(&c->done, &c->scratch);
  c->in_reduction = true;
  uint32_t at = d->where.i ? under(c, 0, d->where, true) : 0;
  each_of(c, at, &d->body, f);
  if (d->where.i)
    f(c, 0, &d->where);
}

static void reuse(known *c, neo_def d) {
  neo_def_rec *r = &c->def, to = *r;
  neo_map_init(&c->inner, &c->scratch);
  neo_map_init(&c->matter, &c->scratch);
  NEO_PUSH(&c->scratch, &c->places, (place){0});
  neo_def_visit(c->m, d, mark, c);
  each_part(c, &to, part_reads);
  each_part(c, &to, part_replaced);
  neo_def_at(c->m, d)->finish = to.finish;
  neo_def_at(c->m, d)->body = to.body;
  neo_def_at(c->m, d)->where = to.where;
}

static void find_values(known *c, neo_def d, const uint32_t *recurrence) {
  neo_module *m = c->m;
  neo_def_visit(m, d, find_load, c);
  for (uint32_t k = 0; k < c->n; k++) {
    neo_tensor t = {neo_expr_node(m, c->load[k])->attr};
    uint32_t maker = neo_tensor_piece(m, t, 0).i;
    c->earlier[k] = !recurrence[d.i] || recurrence[d.i] != recurrence[maker];
    place_value(c, k);
  }
  if (c->n)
    neo_def_visit(m, d, find_value, c);
  for (uint32_t k = 0; k < c->n; k++)
    if (c->met[k]) {
      c->met[k] = costs(m, c->value[k]);
      neo_def_visit(m, d, look_integer, &(wanted){c, k});
    }
}

static void of_definition(neo_module *m, neo_prover **prover, neo_def d,
                          const uint32_t *recurrence) {
  known c = {.m = m, .prover = prover, .def = *neo_def_at(m, d)};
  bool any = false;
  if (c.def.axes.n > NEO_DEF_AXES)
    return;
  find_values(&c, d, recurrence);
  for (uint32_t k = 0; k < c.n; k++)
    any = any || c.met[k];
  if (!any)
    return;
  c.scratch = neo_arena_scratch(m->arena);
  reuse(&c, d);
  neo_arena_free(&c.scratch);
}

void neo_reuse_values(neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch) {
  neo_prover *prover = NULL;
  uint32_t *recurrence = NEO_NEW_ARRAY(scratch, uint32_t, m->defs.n);
  neo_recurrences(m, defs, n, scratch, recurrence);
  for (size_t k = 0; k < n; k++)
    of_definition(m, &prover, defs[k], recurrence);
  neo_prover_free(prover);
}
