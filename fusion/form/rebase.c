/* Rebasing: offsets of a form count from its least element in each tensor. Layers of one network
 * differ only in the slice of a stacked parameter, steps of an unrolled cell in the slice of time:
 *
 *     Y[j] = sum[i] X[i]*W[i*128 + j + 16384]   ->   Y[j] = sum[i] X[i]*W'[i*128 + j]
 *
 * W' is the memory of W from element 16384 on, which the plan passes to the kernel. All layers then
 * share one kernel.
 *
 * A tensor is closed if every access is inside of it for all points of the ranges. Its length then
 * does not matter to the kernel, and the least offset, if known, is subtracted from all. Tensors
 * that bounds and conditions read are never closed: such reads also run where they do not hold,
 * after a comparison with the length. */
#include "fusion/form/steps.h"
#include "ir/prove/prove.h"

typedef struct {
  neo_module *m;
  neo_prover *p;
  neo_form *f;
  const neo_stage *s;
  neo_facts facts;
} rebasing;

static neo_form_access *access_of(const neo_form *f, neo_tensor t) {
  for (size_t k = 0; k < f->accesses.n; k++)
    if (f->accesses.at[k].tensor.i == t.i)
      return &f->accesses.at[k];
  return NULL;
}

int64_t neo_form_base(const neo_form *f, neo_tensor t) {
  const neo_form_access *w = access_of(f, t);
  return w ? w->base : 0;
}

bool neo_form_closed(const neo_form *f, neo_tensor t) {
  const neo_form_access *w = access_of(f, t);
  return w && w->closed;
}

bool neo_form_inside(neo_module *m, neo_prover *p, const neo_form *f, const neo_facts *facts,
                     neo_expr load) {
  neo_tensor t = {neo_expr_node(m, load)->attr};
  return neo_form_closed(f, t) ||
         neo_proves_index(p, facts, neo_flat_at(m, load), neo_tensor_elements(m, t));
}

/* ---- finding offsets */

static neo_form_access *access_add(rebasing *c, neo_tensor t) {
  neo_form_access *w = access_of(c->f, t);
  if (w)
    return w;
  NEO_PUSH(c->m->arena, &c->f->accesses, (neo_form_access){t, INT64_MAX, true});
  return &c->f->accesses.at[c->f->accesses.n - 1];
}

static void note_access(rebasing *c, neo_tensor t, neo_expr at) {
  neo_form_access *w = access_add(c, t);
  int64_t lo, hi;
  if (w->closed)
    w->closed = neo_proves_index(c->p, &c->facts, at, neo_tensor_elements(c->m, t));
  if (!neo_interval(c->p, &c->facts, at, &lo, &hi) || lo < 0)
    lo = 0;
  w->base = lo < w->base ? lo : w->base;
}

static void note_load(void *ctx, neo_expr e) {
  rebasing *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (n->op == NEO_OP_LOAD)
    note_access(c, (neo_tensor){n->attr}, neo_flat_at(c->m, e));
}

static void note_open(void *ctx, neo_expr e) {
  rebasing *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (neo_node_is_load(n))
    access_add(c, (neo_tensor){n->attr})->closed = false;
}

static void note_bounds(rebasing *c, const neo_axis_rec *x, size_t n) {
  for (size_t k = 0; k < n; k++) {
    neo_expr_visit(c->m, x[k].lo, note_open, c);
    neo_expr_visit(c->m, x[k].hi, note_open, c);
  }
}

static void note_stage(rebasing *c, const neo_stage *s) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  c->facts = (neo_facts){axes, neo_stage_axes(c->f, s, axes), NULL, 0};
  note_bounds(c, s->axes.at, s->axes.n);
  neo_expr_visit(c->m, s->where, note_open, c);
  for (size_t k = 0; k < s->accs.n; k++)
    neo_expr_visit(c->m, s->accs.at[k].body, note_load, c);
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_expr_visit(c->m, s->outs.at[k].value, note_load, c);
    note_access(c, s->outs.at[k].tensor, s->outs.at[k].offset);
  }
}

/* ---- subtracting them */

static neo_expr lowered(const rebasing *c, neo_tensor t, neo_expr at) {
  int64_t base = neo_form_base(c->f, t);
  neo_linear l;
  if (!base)
    return at;
  if (neo_flat_linear(c->m, at, &l)) {
    l.constant -= base;
    return neo_linear_expr(c->m, &l);
  }
  return neo_op2(c->m, NEO_OP_SUB, at, neo_const_i64(c->m, base));
}

static neo_expr rebase_node(void *ctx, neo_module *m, neo_expr e) {
  const rebasing *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (n.op != NEO_OP_LOAD || n.arg.n == 0)
    return e;
  neo_expr at = lowered(c, (neo_tensor){n.attr}, neo_expr_arg(m, e, 0));
  return neo_expr_make(m, NEO_OP_LOAD, (neo_type)n.type, n.attr, &at, 1, n.span);
}

static neo_expr rebased(rebasing *c, neo_expr e) {
  return e.i ? neo_expr_rewrite(c->m, e, rebase_node, c) : e;
}

static void rebase_stage(rebasing *c, neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    s->accs.at[k].body = rebased(c, s->accs.at[k].body);
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_form_out *o = &s->outs.at[k];
    o->value = rebased(c, o->value);
    o->offset = lowered(c, o->tensor, o->offset);
  }
}

void neo_form_rebase(neo_module *m, neo_prover *p, const neo_group *g, neo_form *f) {
  rebasing c = {.m = m, .p = p, .f = f};
  bool any = false;
  for (size_t k = 0; k < g->when.n; k++)
    neo_expr_visit(m, g->when.at[k], note_open, &c);
  note_bounds(&c, f->axes.at, f->axes.n);
  for (size_t k = 0; k < f->stages.n; k++)
    note_stage(&c, &f->stages.at[k]);
  for (size_t k = 0; k < f->accesses.n; k++) {
    neo_form_access *w = &f->accesses.at[k];
    w->base = w->closed ? w->base : 0;
    any = any || w->base;
  }
  for (size_t k = 0; any && k < f->stages.n; k++)
    rebase_stage(&c, &f->stages.at[k]);
}
