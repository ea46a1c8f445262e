/* Axes, loops and indices at the current point of code generation.
 *
 * Sums of indices are built from the outermost loop inwards, ((b*784 + i) + row) + lane, so that
 * loop-invariant parts can be computed outside of loops. */
#include "codegen/lower/common/scope.h"
#include <assert.h>
#include <string.h>

void neo_lower_fail(lowering *l, const char *what) {
  if (!l->failed)
    neo_str_addf(l->why, "%s: %s", l->g->name, what);
  l->failed = true;
}

void neo_lower_forget(lowering *l) {
  neo_map_init(&l->memo, l->a);
}

void neo_lower_set_parts(lowering *l, uint32_t axis, axis_value v) {
  l->axis[axis] = v;
  neo_lower_forget(l);
}

void neo_lower_set_axis(lowering *l, uint32_t axis, const neo_lx *e, uint32_t depth) {
  neo_lower_set_parts(l, axis, (axis_value){.at = {{e, 1, depth}}, .n = 1});
}

void neo_lower_facts(lowering *l, const neo_form *f, const neo_stage *s) {
  static const neo_stage none;
  uint32_t n = neo_stage_axes(f, s ? s : &none, l->fact_axes);
  l->stage = s;
  l->facts = (neo_facts){l->fact_axes, n, NULL, 0};
  neo_map_init(&l->safe, l->a);
  neo_lower_forget(l);
}

neo_block *neo_lower_open(lowering *l, neo_block *in, const char *name, const neo_lx *lo,
                          const neo_lx *hi, int64_t step, const neo_lx **v) {
  uint32_t var = neo_kernel_var(l->k, name);
  neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_SERIAL, var, lo, hi, step);
  l->depth++;
  *v = neo_lx_var(l->k, var);
  return &loop->loop.body;
}

void neo_lower_close(lowering *l) {
  l->depth--;
}

const neo_lx *neo_lower_floor_to_multiple(lowering *l, const neo_lx *lo, const neo_lx *hi,
                                          int64_t n) {
  const neo_lx *length = lx_max(l, lx_sub(l, hi, lo), lx_int(l, 0));
  return lx_add(l, lo, n == 1 ? length : lx_mul(l, lx_div(l, length, n), n));
}

bool neo_lower_lanes_shared(const lowering *l) {
  int64_t v = l->lanes.vector_axis;
  return v >= 0 && v < (int64_t)l->f->axes.n;
}

/* Stable insertion by depth. */
void neo_lower_add_term(lower_terms *t, const neo_lx *e, int64_t coef, uint32_t depth) {
  uint32_t k = t->n++;
  for (; k > 0 && t->at[k - 1].depth > depth; k--)
    t->at[k] = t->at[k - 1];
  assert(k < sizeof t->at / sizeof t->at[0]);
  t->at[k] = (lower_term){e, coef, depth};
}

void neo_lower_add_axis(lowering *l, lower_terms *t, uint32_t axis, int64_t coef) {
  const axis_value *v = &l->axis[axis];
  for (uint32_t k = 0; k < v->n; k++)
    neo_lower_add_term(t, v->at[k].e, (int64_t)((uint64_t)coef * (uint64_t)v->at[k].scale),
                       v->at[k].depth);
}

/* Are the terms n*c*(x/n) and c*(x%n)? Their sum is c*x. */
static bool is_whole(const lower_term *quotient, const lower_term *rest) {
  const neo_lx *a = quotient->e, *b = rest->e;
  int64_t n, by;
  return a->kind == NEO_LX_OP && a->attr == NEO_OP_DIV && b->kind == NEO_LX_OP &&
         b->attr == NEO_OP_MOD && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] &&
         neo_lx_is_int(a->arg[1], &n) && !__builtin_mul_overflow(n, rest->coef, &by) &&
         quotient->coef == by;
}

static bool join_terms(lower_terms *t) {
  for (uint32_t i = 0; i < t->n; i++)
    for (uint32_t k = 0; k < t->n; k++)
      if (is_whole(&t->at[i], &t->at[k])) {
        t->at[k].e = t->at[k].e->arg[0];
        memmove(&t->at[i], &t->at[i + 1], (--t->n - i) * sizeof t->at[0]);
        return true;
      }
  return false;
}

/* Axes that were delinearized from one number and appear with its strides sum up to that number. */
const neo_lx *neo_lower_sum(lowering *l, const lower_terms *t, int64_t constant) {
  lower_terms joined = *t;
  const neo_lx *y = lx_int(l, 0);
  while (join_terms(&joined))
    continue;
  for (uint32_t k = 0; k < joined.n; k++)
    y = lx_add(l, y, lx_mul(l, joined.at[k].e, joined.at[k].coef));
  return lx_add(l, y, lx_int(l, constant));
}

const neo_lx *neo_lower_axis(lowering *l, uint32_t axis) {
  lower_terms t = {.n = 0};
  neo_lower_add_axis(l, &t, axis, 1);
  return neo_lower_sum(l, &t, 0);
}

void neo_lower_push_part(axis_value *v, const neo_lx *e, int64_t scale, uint32_t depth) {
  assert(v->n < MAX_PARTS);
  if (e)
    v->at[v->n++] = (axis_part){e, scale, depth};
}
