/* Kinds of vertices: those for which a condition on their data holds, such as having a word. The
 * entry finds the first and last position of a kind in the order,
 *
 *     begin = min[p where c(p)] p,   end = max[p where c(p)] p + 1
 *
 * and definitions that only such vertices need, and sums over them, run over the range between.
 * Leaves come first in the order, so a kind of leaves alone, or of others alone, costs as much as
 * it has vertices:
 *
 *     x[p, j] = select(0 <= word[order[p]], sum[i] .., b[j])
 *     ->
 *     t[p, j] = select(begin <= p and p < end, sum[i] .., 0)      partial
 *     x[p, j] = select(0 <= word[order[p]], t[p, j], b[j]) */
#include "ir/define.h"
#include "ir/limits.h"
#include "transform/levels/needs.h"

enum { MOST_KINDS = 16, ALL = (1 << MOST_KINDS) - 1 };

typedef struct {
  levels_graph *graph;
  neo_expr where;        /* over AXIS 0, a position */
  neo_tensor begin, end; /* 0: not defined yet */
  neo_span span;
} kind;

typedef struct {
  levels_needs needs; /* bit k: kind k reads */
  kind kind[MOST_KINDS];
  uint32_t n_kinds;
} kinds;

/* Is it a single kind? LEVELS_ALL, for readers in no order, is several. */
static bool is_one(uint32_t need) {
  return need && !(need & (need - 1));
}

/* ---- conditions */

typedef struct {
  const neo_module *m;
  const levels_graph *g;
  bool of_vertex, given; /* an element of each vertex; all data are given to the entry */
} asked;

/* Rejects computed tensors: the kind may narrow their definition, which would then depend on
 * itself. */
static void look_at_data(void *ctx, neo_expr e) {
  asked *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (!neo_node_is_load(n))
    return;
  neo_role role = (neo_role)neo_tensor_at(x->m, (neo_tensor){n->attr})->role;
  x->given = x->given && (role == NEO_ROLE_INPUT || role == NEO_ROLE_CONST ||
                          n->attr == x->g->order.i || n->attr == x->g->kind.i);
  for (uint32_t k = 0; k < n->arg.n; k++)
    x->of_vertex = x->of_vertex || neo_expr_axes(x->m, neo_list_expr(x->m, n->arg, k));
}

/* The kind for which the condition on the axis holds, or fails; ALL: not known. */
static uint32_t kind_of(kinds *x, levels_graph *g, neo_expr c, bool holds, uint32_t axis) {
  neo_module *m = x->needs.s->m;
  neo_expr by[NEO_DEF_AXES];
  asked data = {m, g, false, true};
  if (neo_expr_axes(m, c) != 1ULL << axis || neo_expr_accs(m, c))
    return ALL;
  neo_expr_visit(m, c, look_at_data, &data);
  if (!data.of_vertex || !data.given)
    return ALL;
  for (uint32_t k = 0; k <= axis; k++)
    by[k] = neo_axis_ref(m, k == axis ? 0 : k);
  c = neo_expr_subst_axes(m, holds ? c : neo_op1(m, NEO_OP_NOT, c), by, axis + 1);
  for (uint32_t k = 0; k < x->n_kinds; k++)
    if (x->kind[k].where.i == c.i && x->kind[k].graph == g)
      return 1u << k;
  if (x->n_kinds == MOST_KINDS)
    return ALL;
  x->kind[x->n_kinds] = (kind){.graph = g, .where = c};
  return 1u << x->n_kinds++;
}

/* x, if the condition says that integer x is in [0, n), as an axis is; 0: it does not. */
static neo_expr counted(const kinds *x, const neo_def_rec *d, neo_expr c) {
  neo_module *m = x->needs.s->m;
  neo_node n = *neo_expr_node(m, c);
  int64_t lo;
  for (uint32_t k = 0; n.op == NEO_OP_EQ && k < 2; k++) {
    neo_expr e = neo_list_expr(m, n.arg, k);
    const neo_node *other = neo_expr_node(m, neo_list_expr(m, n.arg, 1 - k));
    if (other->op != NEO_OP_AXIS || !neo_expr_is_int(m, neo_def_axis(m, d, other->attr)->lo, &lo) ||
        lo)
      continue;
    const neo_node *cast = neo_expr_node(m, e);
    return cast->op == NEO_OP_CAST ? neo_list_expr(m, cast->arg, 0) : e;
  }
  return (neo_expr){0};
}

/* The kind that a conjunct implies. */
static uint32_t by_assumption(kinds *x, levels_graph *g, const neo_def_rec *d, neo_expr c,
                              uint32_t axis) {
  neo_module *m = x->needs.s->m;
  neo_node n = *neo_expr_node(m, c);
  if (n.op == NEO_OP_AND) {
    uint32_t a = by_assumption(x, g, d, neo_list_expr(m, n.arg, 0), axis);
    return a != ALL ? a : by_assumption(x, g, d, neo_list_expr(m, n.arg, 1), axis);
  }
  neo_expr e = counted(x, d, c);
  if (e.i && neo_type_is_int(neo_expr_type(m, e)))
    return kind_of(x, g, neo_op2(m, NEO_OP_LE, neo_const_int(m, neo_expr_type(m, e), 0), e), true,
                   axis);
  return kind_of(x, g, c, true, axis);
}

/* ---- sums */

typedef struct {
  kinds *x;
  levels_graph *g;
  uint32_t axis;
  uint32_t kind;
} term;

static void note_condition(void *ctx, neo_expr c, bool holds) {
  term *t = ctx;
  if (t->kind == ALL)
    t->kind = kind_of(t->x, t->g, c, holds, t->axis);
}

/* The only kind with nonzero terms of the sum. */
static uint32_t by_terms(kinds *x, levels_graph *g, const neo_def_rec *d, uint32_t axis) {
  term t = {x, g, axis, ALL};
  levels_zero zero = {x->needs.s, &t, note_condition, NULL};
  if (d->reducer == NEO_RED_SUM && d->body.n == 1)
    levels_where_not_zero(&zero, neo_list_expr(x->needs.s->m, d->body, 0), LEVELS_DEPTH);
  return t.kind;
}

/* ---- readers' needs */

static uint32_t need_of(levels_needs *needs, neo_def id, const neo_guarded_read *r) {
  kinds *x = (kinds *)needs; /* its first member */
  neo_module *m = needs->s->m;
  neo_def_rec def = *neo_def_at(m, id), *d = &def;
  uint32_t t = neo_expr_node(m, r->read)->attr, own = neo_list_at(m, d->out, 0);
  const neo_node *at = neo_expr_node(m, neo_expr_arg(m, r->read, x->needs.in.dim[t]));
  levels_graph *g = x->needs.in.graph[t];
  uint32_t need = ALL;
  if (at->op != NEO_OP_AXIS)
    return ALL;
  uint32_t axis = at->attr;
  if (axis >= d->n_out)
    need = by_terms(x, g, d, axis);
  else if (x->needs.in.wanted[own] && x->needs.in.graph[own] == g && x->needs.in.dim[own] == axis)
    need = levels_own_need(needs, d);
  for (uint32_t k = 0; k < r->n_assume && need && !is_one(need); k++)
    need = by_assumption(x, g, d, r->assume[k], axis);
  return need;
}

/* ---- range of a kind */

/* Defines end[] or begin[]: the kind's last position and one more, or its first. */
static neo_tensor define_end(kinds *x, const kind *k, bool last) {
  neo_module *m = x->needs.s->m;
  neo_expr p = neo_axis_ref(m, 0), n = k->graph->n, none = last ? levels_int(x->needs.s, 0) : n;
  neo_axis_rec axis = {.name = neo_name_of(m->names, "p"),
                       .lo = levels_int(x->needs.s, 0),
                       .hi = n,
                       .span = k->span};
  neo_expr at = last ? neo_op2(m, NEO_OP_ADD, p, levels_int(x->needs.s, 1)) : p;
  neo_expr body = neo_cast(m, NEO_I32_T, neo_op3(m, NEO_OP_SELECT, k->where, at, none));
  neo_expr finish = neo_op2(m, last ? NEO_OP_MAX : NEO_OP_MIN, neo_acc_ref(m, NEO_I32_T, 0),
                            neo_cast(m, NEO_I32_T, none));
  neo_def_rec d = {.reducer = last ? NEO_RED_MAX : NEO_RED_MIN, .span = k->span};
  d.axes = neo_list_one(m, neo_axis_add(m, axis).i);
  d.body = neo_list_one(m, body.i);
  d.finish = neo_list_one(m, finish.i);
  neo_temp t = {.prefix = last ? "end" : "begin",
                .like = k->graph->place,
                .type = NEO_I32_T,
                .bound = neo_op2(m, NEO_OP_ADD, n, levels_int(x->needs.s, 1))};
  return neo_temp_define(m, &t, d);
}

static neo_expr end_of(kinds *x, kind *k, bool last, neo_span span) {
  neo_module *m = x->needs.s->m;
  neo_tensor *t = last ? &k->end : &k->begin;
  k->span = span;
  if (!t->i)
    *t = define_end(x, k, last);
  return neo_cast(m, NEO_I64_T, neo_load(m, *t, NULL, 0, span));
}

/* ---- rewriting */

typedef struct {
  neo_expr lo, hi; /* 0: no bound */
} places;

static neo_expr later_of(neo_module *m, neo_op op, neo_expr a, neo_expr b) {
  return !a.i ? b : !b.i || a.i == b.i ? a : neo_op2(m, op, a, b);
}

static void add_places(neo_module *m, places *p, places other) {
  p->lo = later_of(m, NEO_OP_MAX, p->lo, other.lo);
  p->hi = later_of(m, NEO_OP_MIN, p->hi, other.hi);
}

static places of_kind(kinds *x, kind *k, neo_span span) {
  return (places){end_of(x, k, false, span), end_of(x, k, true, span)};
}

/* Reads a range from the condition lo <= at, at < hi, or both. */
static bool read_places(neo_module *m, neo_expr c, neo_expr at, places *out) {
  neo_node n = *neo_expr_node(m, c);
  if (n.op == NEO_OP_AND)
    return read_places(m, neo_list_expr(m, n.arg, 0), at, out) &&
           read_places(m, neo_list_expr(m, n.arg, 1), at, out);
  if (n.op == NEO_OP_LE && neo_list_at(m, n.arg, 1) == at.i)
    add_places(m, out, (places){.lo = neo_list_expr(m, n.arg, 0)});
  else if (n.op == NEO_OP_LT && neo_list_at(m, n.arg, 0) == at.i)
    add_places(m, out, (places){.hi = neo_list_expr(m, n.arg, 1)});
  else
    return false;
  return true;
}

/* The value where the position is in the range, else 0. */
static neo_expr select_places(neo_module *m, const places *p, neo_expr at, neo_expr value) {
  neo_type type = neo_expr_type(m, value);
  neo_expr none = neo_const_int(m, type, 0);
  neo_expr lo = p->lo.i ? neo_op2(m, NEO_OP_LE, p->lo, at) : p->lo;
  neo_expr hi = p->hi.i ? neo_op2(m, NEO_OP_LT, at, p->hi) : p->hi;
  neo_expr c = !lo.i ? hi : !hi.i ? lo : neo_op2(m, NEO_OP_AND, lo, hi);
  return neo_op3(m, NEO_OP_SELECT, c, value, none);
}

/* Matches the select of a partial tensor's definition: the value, and its range. */
static bool open_select(neo_module *m, neo_expr *value, neo_expr at, places *p) {
  neo_node n = *neo_expr_node(m, *value);
  if (n.op != NEO_OP_SELECT || !read_places(m, neo_list_expr(m, n.arg, 0), at, p))
    return false;
  *value = neo_list_expr(m, n.arg, 1);
  return true;
}

static void leave_out(kinds *x, neo_def id) {
  neo_module *m = x->needs.s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_list_at(m, d.out, 0);
  bool alone = d.out.n == 1 && x->needs.in.wanted[t] && is_one(x->needs.need[t]);
  if (!alone || (id.i < x->needs.s->n_defs && x->needs.s->number[id.i]))
    return;
  neo_expr at = neo_axis_ref(m, x->needs.in.dim[t]), value = neo_list_expr(m, d.finish, 0);
  places p = {0};
  if (neo_tensor_at(m, (neo_tensor){t})->partial && !open_select(m, &value, at, &p))
    return;
  add_places(m, &p, of_kind(x, &x->kind[__builtin_ctz(x->needs.need[t])], d.span));
  value = select_places(m, &p, at, value);
  neo_def_at(m, id)->finish = neo_list_one(m, value.i);
  neo_tensor_at(m, (neo_tensor){t})->partial = true;
}

static bool narrow_to_kind(void *ctx, const neo_def_rec *d, levels_graph *g, uint32_t k,
                           neo_axis_rec *axis) {
  kinds *x = ctx;
  neo_module *m = x->needs.s->m;
  int64_t lo;
  uint32_t only = by_terms(x, g, d, k);
  if (only == ALL)
    return false;
  places p = {neo_expr_is_int(m, axis->lo, &lo) ? (neo_expr){0} : axis->lo, axis->hi};
  add_places(m, &p, of_kind(x, &x->kind[__builtin_ctz(only)], d->span));
  axis->lo = p.lo;
  axis->hi = p.hi;
  return true;
}

void levels_leave_out_kinds(levels *s) {
  kinds x = {.needs = levels_needs_begin(s)};
  x.needs.own = levels_own_need;
  x.needs.of = need_of;
  levels_needs_find(&x.needs);
  for (size_t k = 0; k < x.needs.n; k++)
    levels_narrow_axes(s, x.needs.defs[k], narrow_to_kind, &x);
  for (size_t k = 0; k < x.needs.n; k++)
    leave_out(&x, x.needs.defs[k]);
}
