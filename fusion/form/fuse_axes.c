/* Axis fusion (collapse): two neighbours i, j with constant extent E of j become one axis of
 * extent(i)*E, if every offset and every comparison of positions has strides E*s and s along them,
 * and nothing else uses them:
 *
 *     Y[n*12544 + p*28 + q] = relu(X[n*12544 + p*28 + q])   ->   Y[x] = relu(X[x])
 *
 * Elementwise work of any rank is then one long loop, a reduction over an image one axis. */
#include "fusion/form/steps.h"

typedef struct {
  neo_form *f;
  uint32_t at;    /* position of the first of the two */
  int64_t extent; /* extent of the second */
} axis_pair;

enum { STAND_IN = 62 }; /* position of the fused axis while the others keep theirs */

/* The offset over the fused axis; unchanged if its strides do not fit. */
static neo_expr fused_offset(const axis_pair *c, neo_module *m, neo_expr e) {
  neo_linear l;
  if (!neo_flat_linear(m, e, &l))
    return e;
  neo_expr outer = neo_axis_ref(m, c->at), inner = neo_axis_ref(m, c->at + 1);
  int64_t a = neo_linear_coef(&l, outer), b = neo_linear_coef(&l, inner);
  if (b == 0 || a != b * c->extent)
    return e;
  neo_linear x = {.n = 1, .term = {{outer, 1}}}, y = {.n = 1, .term = {{inner, 1}}};
  neo_linear z = {.n = 1, .term = {{neo_axis_ref(m, STAND_IN), 1}}};
  bool ok = neo_linear_add(&l, -a, &x, &l) && neo_linear_add(&l, -b, &y, &l) &&
            neo_linear_add(&l, b, &z, &l);
  return ok ? neo_linear_expr(m, &l) : e;
}

/* A comparison of positions over the fused axis. */
static neo_expr fuse_comparison(const axis_pair *c, neo_module *m, const neo_node *n) {
  neo_expr a = neo_list_expr(m, n->arg, 0), b = neo_list_expr(m, n->arg, 1);
  return neo_op2(m, (neo_op)n->op, fused_offset(c, m, a), fused_offset(c, m, b));
}

static neo_expr fuse_node(void *ctx, neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  if ((n.op == NEO_OP_LT || n.op == NEO_OP_LE) &&
      neo_expr_type(m, neo_list_expr(m, n.arg, 0)) == NEO_I64_T)
    return fuse_comparison(ctx, m, &n);
  if ((n.op != NEO_OP_LOAD && n.op != NEO_OP_RAND) || n.arg.n == 0)
    return e;
  neo_expr at = fused_offset(ctx, m, neo_expr_arg(m, e, 0));
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, &at, 1, n.span);
}

/* ---- a stage over the fused axis */

static neo_expr fuse_value(void *ctx, neo_module *m, neo_expr e) {
  return neo_expr_rewrite(m, e, fuse_node, ctx);
}

static neo_expr fuse_offset(void *ctx, neo_module *m, neo_expr e) {
  return fused_offset(ctx, m, fuse_value(ctx, m, e));
}

typedef struct {
  neo_expr by[NEO_DEF_AXES];
  uint32_t n;
} renumbering;

static neo_expr renumber(void *ctx, neo_module *m, neo_expr e) {
  renumbering *r = ctx;
  return neo_expr_subst_axes(m, e, r->by, r->n);
}

static void visit_stage_axes(void *ctx, neo_expr e) {
  struct {
    const neo_module *m;
    uint64_t axes;
  } *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (n->op == NEO_OP_AXIS && n->attr < 63)
    c->axes |= 1ULL << n->attr;
}

static uint64_t axes_used(const neo_module *m, const neo_stage *s) {
  struct {
    const neo_module *m;
    uint64_t axes;
  } c = {m, 0};
  neo_stage_visit(m, s, visit_stage_axes, &c);
  return c.axes;
}

static neo_stage copy_stage(neo_module *m, const neo_stage *s) {
  neo_stage y = {.where = s->where, .first_acc = s->first_acc};
  for (size_t k = 0; k < s->axes.n; k++)
    NEO_PUSH(m->arena, &y.axes, s->axes.at[k]);
  for (size_t k = 0; k < s->accs.n; k++)
    NEO_PUSH(m->arena, &y.accs, s->accs.at[k]);
  for (size_t k = 0; k < s->outs.n; k++)
    NEO_PUSH(m->arena, &y.outs, s->outs.at[k]);
  return y;
}

/* Copies the stage over the fused axis, if all of it fits. */
static bool fuse_stage(neo_module *m, const axis_pair *c, const neo_stage *s, neo_stage *out) {
  *out = copy_stage(m, s);
  neo_stage_rewrite(m, out, fuse_value, fuse_offset, (void *)c);
  if (axes_used(m, out) & (3ULL << c->at))
    return false;
  renumbering r = {.n = 63};
  r.by[STAND_IN] = neo_axis_ref(m, c->at);
  for (uint32_t k = c->at + 2; k < STAND_IN; k++)
    r.by[k] = neo_axis_ref(m, k - 1);
  neo_stage_rewrite(m, out, renumber, renumber, &r);
  return true;
}

/* Do both axes start at 0, and has the inner one a constant extent? */
static bool fusable(const neo_module *m, const neo_axis_rec *outer, const neo_axis_rec *inner,
                    int64_t *extent) {
  int64_t lo;
  return neo_expr_is_int(m, outer->lo, &lo) && lo == 0 && neo_expr_is_int(m, inner->lo, &lo) &&
         lo == 0 && neo_expr_is_int(m, inner->hi, extent) && *extent > 0;
}

static void join_records(neo_module *m, neo_axis_rec *outer, int64_t extent) {
  neo_linear l;
  outer->hi = neo_op2(m, NEO_OP_MUL, outer->hi, neo_const_i64(m, extent));
  if (neo_linear_of(m, outer->hi, &l))
    outer->hi = neo_linear_expr(m, &l);
}

static bool fuse_shared(neo_module *m, neo_form *f, uint32_t at) {
  axis_pair c = {f, at, 0};
  neo_stage made[16];
  if (f->stages.n > 16 || !fusable(m, &f->axes.at[at], &f->axes.at[at + 1], &c.extent))
    return false;
  for (size_t k = 0; k < f->stages.n; k++)
    if (!fuse_stage(m, &c, &f->stages.at[k], &made[k]))
      return false;
  for (size_t k = 0; k < f->stages.n; k++)
    f->stages.at[k] = made[k];
  join_records(m, &f->axes.at[at], c.extent);
  for (size_t k = at + 1; k + 1 < f->axes.n; k++)
    f->axes.at[k] = f->axes.at[k + 1];
  f->axes.n--;
  return true;
}

static bool fuse_own(neo_module *m, neo_form *f, neo_stage *s, uint32_t at) {
  axis_pair c = {f, (uint32_t)f->axes.n + at, 0};
  neo_stage made;
  if (!fusable(m, &s->axes.at[at], &s->axes.at[at + 1], &c.extent) || !fuse_stage(m, &c, s, &made))
    return false;
  join_records(m, &made.axes.at[at], c.extent);
  for (size_t k = at + 1; k + 1 < made.axes.n; k++)
    made.axes.at[k] = made.axes.at[k + 1];
  made.axes.n--;
  *s = made;
  return true;
}

void neo_form_fuse_axes(neo_module *m, neo_form *f) {
  for (uint32_t at = (uint32_t)f->axes.n; at-- > 1;)
    fuse_shared(m, f, at - 1);
  for (size_t k = 0; k < f->stages.n; k++)
    for (uint32_t at = (uint32_t)f->stages.at[k].axes.n; at-- > 1;)
      fuse_own(m, f, &f->stages.at[k], at - 1);
}
