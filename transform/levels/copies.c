/* Copy propagation in the order. A tensor that copies another one at some positions, and is 0 at
 * others, is the adjoint of a branch. Readers at those positions read the original:
 *
 *     z[p, j] = select(leaves <= p, d[p, j], 0)
 *     g[i, j] = sum[p: leaves .. n] z[p, j]*x[p, i]      ->   sum[p: leaves .. n] d[p, j]*x[p, i]
 *     y[p, j] = select(leaves <= p, 0, d[p, j]) + z[p, j]   ->   d[p, j] */
#include "transform/levels/needs.h"

typedef struct {
  neo_tensor of; /* 0: not a copy */
  uint32_t places;
  neo_expr c; /* over the definition's axes; 0: at all positions */
} copy;

static copy copy_of(const levels_needs *x, neo_def id) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_list_at(m, d.out, 0);
  copy none = {0}, out = {.places = LEVELS_ALL};
  if (d.out.n != 1 || !x->in.wanted[t] || d.reducer != NEO_RED_NONE || d.finish.n != 1 ||
      d.out_map.n || neo_tensor_at(m, (neo_tensor){t})->role != NEO_ROLE_TEMP)
    return none;
  neo_node n = *neo_expr_node(m, neo_list_expr(m, d.finish, 0));
  if (n.op == NEO_OP_SELECT && neo_expr_is_zero(m, neo_list_expr(m, n.arg, 2))) {
    levels_bounds b = levels_bounds_of(x, x->in.graph[t], d.span);
    out.c = neo_list_expr(m, n.arg, 0);
    neo_op op = (neo_op)neo_expr_node(m, out.c)->op;
    out.places = levels_by_condition(x, out.c, true, neo_axis_ref(m, x->in.dim[t]), &b);
    n = *neo_expr_node(m, neo_list_expr(m, n.arg, 1));
    if ((op != NEO_OP_LE && op != NEO_OP_LT) || out.places == LEVELS_ALL)
      return none;
  }
  bool own =
      n.op == NEO_OP_LOAD && n.arg.n == d.n_out && x->in.wanted[n.attr] &&
      x->in.graph[n.attr] == x->in.graph[t] && x->in.dim[n.attr] == x->in.dim[t] &&
      neo_tensor_at(m, (neo_tensor){n.attr})->type == neo_tensor_at(m, (neo_tensor){t})->type;
  for (uint32_t k = 0; k < n.arg.n && own; k++)
    own = neo_list_at(m, n.arg, k) == neo_axis_ref(m, k).i;
  out.of.i = n.attr;
  return own ? out : none;
}

typedef struct {
  levels_needs *x;
  const copy *copies; /* by tensor */
} copying;

/* The element of the original, with the condition under which the copy has it; elsewhere it is
 * 0. */
static neo_expr original(neo_module *m, const copy *c, neo_node read, neo_expr *where) {
  neo_expr by[NEO_DEF_AXES], index[NEO_DEF_AXES];
  for (uint32_t k = 0; k < read.arg.n; k++)
    by[k] = index[k] = neo_list_expr(m, read.arg, k);
  *where = neo_expr_subst_axes(m, c->c, by, read.arg.n);
  return neo_load(m, c->of, index, read.arg.n, read.span);
}

/* Matches select(c, a, 0) or select(c, 0, a), perhaps the element of a copy; `holds`: where it is
 * a. */
static bool of_branch(const copying *x, neo_expr e, neo_expr *c, neo_expr *a, bool *holds) {
  neo_module *m = x->x->s->m;
  neo_node n = *neo_expr_node(m, e);
  *holds = true;
  if (n.op == NEO_OP_LOAD && x->copies[n.attr].of.i && x->copies[n.attr].c.i) {
    *a = original(m, &x->copies[n.attr], n, c);
    return true;
  }
  if (n.op != NEO_OP_SELECT)
    return false;
  *c = neo_list_expr(m, n.arg, 0);
  *holds = neo_expr_is_zero(m, neo_list_expr(m, n.arg, 2));
  *a = neo_list_expr(m, n.arg, *holds ? 1 : 2);
  return *holds || neo_expr_is_zero(m, neo_list_expr(m, n.arg, 1));
}

/* Simplifies the sum of select(c, a, 0) and select(c, 0, a) to a. */
static neo_expr join_branches(void *ctx, neo_module *m, neo_expr e) {
  copying *x = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr c[2], a[2];
  bool holds[2];
  if (n.op != NEO_OP_ADD || !of_branch(x, neo_list_expr(m, n.arg, 0), &c[0], &a[0], &holds[0]) ||
      !of_branch(x, neo_list_expr(m, n.arg, 1), &c[1], &a[1], &holds[1]))
    return e;
  return c[0].i == c[1].i && a[0].i == a[1].i && holds[0] != holds[1] ? a[0] : e;
}

/* The positions at which the definition makes the read, in all of its conditions. */
static uint32_t places_of_read(const copying *x, neo_def id, const neo_guarded_reads *reads,
                               neo_expr read) {
  uint32_t all = 0;
  for (size_t k = 0; k < reads->n; k++)
    if (reads->at[k].read.i == read.i)
      all |= levels_need_of(x->x, id, &reads->at[k]);
  return all;
}

static void read_original(copying *x, neo_def id) {
  neo_module *m = x->x->s->m;
  neo_guarded_reads reads = {0};
  neo_def_rec d = *neo_def_at(m, id);
  if (!levels_own_need(x->x, &d) || d.body.n > NEO_DEF_AXES || d.finish.n > NEO_DEF_AXES)
    return;
  d.finish = neo_list_rewrite(m, d.finish, join_branches, x);
  neo_def_at(m, id)->finish = d.finish;
  neo_guarded_reads_of(m, id, x->x->in.wanted, x->x->s->a, &reads);
  for (size_t k = 0; k < reads.n; k++) {
    neo_expr read = reads.at[k].read, c;
    neo_node n = *neo_expr_node(m, read);
    const copy *from = &x->copies[n.attr];
    if (n.op != NEO_OP_LOAD || !from->of.i || places_of_read(x, id, &reads, read) & ~from->places)
      continue;
    neo_expr to = original(m, from, n, &c);
    d.body = neo_list_replace(m, d.body, read, to);
    d.finish = neo_list_replace(m, d.finish, read, to);
  }
  neo_def_at(m, id)->body = d.body;
  neo_def_at(m, id)->finish = d.finish;
}

/* Chains of copies; those of a recurrence are in no order. */
void levels_read_originals(levels_needs *x) {
  neo_module *m = x->s->m;
  copy *copies = NEO_NEW_ARRAY(x->s->a, copy, m->tensors.n);
  copying ctx = {x, copies};
  for (int round = 0; round < LEVELS_DEPTH; round++) {
    for (size_t k = 0; k < x->n; k++)
      copies[neo_def_out(m, x->defs[k], 0).i] = copy_of(x, x->defs[k]);
    for (size_t k = 0; k < x->n; k++)
      read_original(&ctx, x->defs[k]);
  }
}
