/* Kinds of vertices with their own batches, like DyNet's agenda for operations of one signature: G.
 * Neubig, Y. Goldberg, C. Dyer, "On-the-fly operation batching in dynamic computation graphs", NIPS
 * 2017. The kind of a vertex is the truth of conditions on its data by which its value is selected;
 * vertices are sorted by level, then by kind:
 *
 *     h[v, j] = select(label[v] == 1, a[v, j], b[v, j])
 *     ->
 *     key[v]  = 2*level[v] + (label[v] == 1)          block b has kind b % 2
 *     kind[p] = (label[order[p]] == 1)                kinds first
 *     h[p, j] = select(kind[p] == 1, a[p, j], b[p, j])
 *     a[p, j] = select(kind[p] == 1, .., 0)           partial
 *
 * A block of rows of one kind computes only what that kind needs (fusion/recurrence/rows.c). */
#include "ir/limits.h"
#include "transform/levels/needs.h"

enum { MOST_VERTICES = INT32_MAX >> LEVELS_CONDITIONS };

/* ---- conditions */

typedef struct {
  levels *s;
  levels_graph *g;
  uint32_t axis; /* the vertex */
  bool given, of_vertex;
} keys;

/* Rejects computed data, which may depend on the order, and children, which make the level. */
static void look_at_data(void *ctx, neo_expr e) {
  keys *x = ctx;
  neo_module *m = x->s->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n))
    return;
  neo_role role = (neo_role)neo_tensor_at(m, (neo_tensor){n->attr})->role;
  x->given = x->given && (role == NEO_ROLE_INPUT || role == NEO_ROLE_CONST);
  for (uint32_t k = 0; k < x->g->n_indices; k++)
    x->given = x->given && x->g->index[k].child.i != n->attr;
  for (uint32_t k = 0; k < n->arg.n; k++)
    x->of_vertex = x->of_vertex || neo_expr_axes(m, neo_list_expr(m, n->arg, k));
}

static void add_condition(keys *x, neo_expr c) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, c);
  neo_expr by[NEO_DEF_AXES] = {{0}};
  if (n.op == NEO_OP_NOT || n.op == NEO_OP_AND || n.op == NEO_OP_OR) {
    for (uint32_t k = 0; k < n.arg.n; k++)
      add_condition(x, neo_list_expr(m, n.arg, k));
    return;
  }
  x->given = true;
  x->of_vertex = false;
  if (neo_expr_axes(m, c) != (uint64_t)1 << x->axis || neo_expr_accs(m, c))
    return;
  neo_expr_visit(m, c, look_at_data, x);
  by[x->axis] = neo_axis_ref(m, 0);
  if (!x->given || !x->of_vertex || x->g->n_is == LEVELS_CONDITIONS)
    return;
  c = neo_expr_subst_axes(m, c, by, x->axis + 1);
  for (uint32_t k = 0; k < x->g->n_is; k++)
    if (x->g->is[k].i == c.i)
      return;
  x->g->is[x->g->n_is++] = c;
}

static void look_at_select(void *ctx, neo_expr e) {
  keys *x = ctx;
  if (neo_expr_node(x->s->m, e)->op == NEO_OP_SELECT)
    add_condition(x, neo_expr_arg(x->s->m, e, 0));
}

static bool is_leveled(const levels *s, uint32_t d) {
  return d < s->n_defs && s->number[d] && s->leveled[s->number[d]];
}

/* Are keys of levels and kinds in the range of i32? */
static bool has_keys(const levels *s, const levels_graph *g) {
  int64_t lo, hi;
  return neo_interval(s->p, NULL, g->n, &lo, &hi) && hi <= MOST_VERTICES;
}

void levels_find_keys(levels *s) {
  neo_module *m = s->m;
  for (uint32_t d = 1; d < s->n_defs; d++) {
    keys x = {.s = s};
    for (uint32_t k = 0; is_leveled(s, d) && k < neo_def_at(m, (neo_def){d})->n_out; k++) {
      x.g = s->vertex[d] ? s->vertex[d][k] : NULL;
      x.axis = k;
      if (x.g && has_keys(s, x.g))
        neo_def_visit(m, (neo_def){d}, look_at_select, &x);
    }
  }
}

/* ---- tables */

/* order[x] */
static neo_expr vertex_at(const levels *s, const levels_graph *g, neo_expr x) {
  return neo_cast(s->m, NEO_I64_T,
                  neo_load(s->m, g->order, &x, 1, neo_tensor_at(s->m, g->index[0].child)->span));
}

/* ---- conditions as tests of kinds */

typedef struct {
  const levels *s;
  neo_expr from[LEVELS_CONDITIONS], to[LEVELS_CONDITIONS];
  uint32_t n;
} replacing;

static neo_expr replaced(void *ctx, neo_module *m, neo_expr e) {
  const replacing *x = ctx;
  (void)m;
  for (uint32_t k = 0; k < x->n; k++)
    if (e.i == x->from[k].i)
      return x->to[k];
  return e;
}

/* Is condition k of the kind true? */
static neo_expr has_condition(const levels *s, const levels_graph *g, neo_expr kind, uint32_t k) {
  neo_module *m = s->m;
  neo_expr two = neo_const_int(m, NEO_I32_T, 2), one = neo_const_int(m, NEO_I32_T, 1);
  if (k)
    kind = neo_op2(m, NEO_OP_DIV, kind, neo_const_int(m, NEO_I32_T, (int64_t)1 << k));
  if (k + 1 < g->n_is)
    kind = neo_op2(m, NEO_OP_MOD, kind, two);
  return neo_op2(m, NEO_OP_EQ, kind, one);
}

static neo_expr kind_at(const levels *s, const levels_graph *g, neo_expr at) {
  return neo_load(s->m, g->kind, &at, 1, neo_tensor_at(s->m, g->kind)->span);
}

static void write_conditions(levels *s, neo_def d, const levels_graph *g, uint32_t axis) {
  neo_module *m = s->m;
  neo_expr at = neo_axis_ref(m, axis), vertex = vertex_at(s, g, at);
  replacing x = {.s = s, .n = g->n_is};
  for (uint32_t k = 0; k < g->n_is; k++) {
    x.from[k] = neo_expr_subst_axes(m, g->is[k], &vertex, 1);
    x.to[k] = has_condition(s, g, kind_at(s, g, at), k);
  }
  neo_def_rewrite(m, d, replaced, &x);
}

/* ---- tensors that some kinds alone read */

static uint32_t all_kinds(const levels_graph *g) {
  return (1u << levels_kinds_of(g)) - 1;
}

/* The kinds among `kinds` for which the condition on the vertex at `at` can hold, or fail. */
static uint32_t by_condition(const levels_needs *x, const levels_graph *g, neo_expr c, bool holds,
                             neo_expr at) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, c);
  uint32_t all = all_kinds(g), a, b;
  if (n.op == NEO_OP_NOT)
    return by_condition(x, g, neo_list_expr(m, n.arg, 0), !holds, at);
  if (n.op == NEO_OP_AND || n.op == NEO_OP_OR) {
    a = by_condition(x, g, neo_list_expr(m, n.arg, 0), holds, at);
    b = by_condition(x, g, neo_list_expr(m, n.arg, 1), holds, at);
    return (n.op == NEO_OP_AND) == holds ? a & b : a | b;
  }
  for (uint32_t k = 0; k < g->n_is; k++) {
    if (has_condition(x->s, g, kind_at(x->s, g, at), k).i != c.i)
      continue;
    for (uint32_t i = 0; i < (uint32_t)levels_kinds_of(g); i++)
      if ((i >> k & 1) != holds)
        all &= ~(1u << i);
  }
  return all;
}

static uint32_t own_need(const levels_needs *x, const neo_def_rec *d) {
  uint32_t t = neo_list_at(x->s->m, d->out, 0);
  return d->out.n == 1 && x->in.wanted[t] ? x->need[t] : UINT32_MAX;
}

static uint32_t need_of(levels_needs *x, neo_def id, const neo_guarded_read *r) {
  neo_module *m = x->s->m;
  neo_def_rec def = *neo_def_at(m, id), *d = &def;
  uint32_t t = neo_expr_node(m, r->read)->attr, own = neo_list_at(m, d->out, 0);
  const levels_graph *g = x->in.graph[t];
  neo_expr at = neo_expr_arg(m, r->read, x->in.dim[t]);
  const neo_node *n = neo_expr_node(m, at);
  uint32_t need = all_kinds(g);
  bool own_row = n->op == NEO_OP_AXIS && n->attr < d->n_out && x->in.wanted[own] &&
                 x->in.graph[own] == g && x->in.dim[own] == n->attr;
  if (!g->n_is || !own_row)
    return need;
  need &= own_need(x, d);
  for (uint32_t k = 0; k < r->n_assume; k++)
    need &= by_condition(x, g, r->assume[k], true, at);
  return need;
}

/* The condition that the vertex at `at` is of one of these kinds; 0: of any. */
static neo_expr is_of_kinds(const levels *s, const levels_graph *g, uint32_t kinds, neo_expr at) {
  neo_module *m = s->m;
  uint32_t rest = all_kinds(g) & ~kinds, one = kinds & (kinds - 1) ? rest : kinds;
  if (!rest || !kinds || one & (one - 1))
    return (neo_expr){0};
  neo_expr number = neo_const_int(m, NEO_I32_T, __builtin_ctz(one));
  return neo_op2(m, one == kinds ? NEO_OP_EQ : NEO_OP_NE, kind_at(s, g, at), number);
}

/* Makes a tensor partial for the kinds that read it. A tensor for leaves alone, or for others,
 * keeps that condition. */
static void leave_out(const levels_needs *x, neo_def id) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_list_at(m, d.out, 0);
  if (d.out.n != 1 || !x->in.wanted[t] || !is_leveled(x->s, id.i))
    return;
  neo_expr c = is_of_kinds(x->s, x->in.graph[t], x->need[t], neo_axis_ref(m, x->in.dim[t]));
  neo_expr value = neo_list_expr(m, d.finish, 0);
  neo_type type = neo_expr_type(m, value);
  neo_expr none = neo_const_int(m, type, 0);
  if (!c.i)
    return;
  if (neo_tensor_at(m, (neo_tensor){t})->partial) {
    c = neo_op2(m, NEO_OP_AND, neo_expr_arg(m, value, 0), c);
    value = neo_expr_arg(m, value, 1);
  }
  value = neo_op3(m, NEO_OP_SELECT, c, value, none);
  neo_def_at(m, id)->finish = neo_list_one(m, value.i);
  neo_tensor_at(m, (neo_tensor){t})->partial = true;
}

void levels_write_kinds(levels *s) {
  neo_module *m = s->m;
  bool any = false;
  for (uint32_t d = 1; d < s->n_defs; d++)
    for (uint32_t k = 0; s->vertex[d] && k < neo_def_at(m, (neo_def){d})->axes.n; k++)
      if (s->vertex[d][k] && s->vertex[d][k]->n_is) {
        write_conditions(s, (neo_def){d}, s->vertex[d][k], k);
        any = true;
      }
  if (!any)
    return;
  levels_needs x = levels_needs_begin(s);
  x.own = own_need;
  x.of = need_of;
  levels_needs_find(&x);
  for (size_t k = 0; k < x.n; k++)
    leave_out(&x, x.defs[k]);
}
