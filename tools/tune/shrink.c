/* Run-time sizes for measuring one kernel: the given ones, or smaller ones where it would take too
 * long. A schedule that is quicker for a part of the rows is taken to be quicker for all; the time
 * of the whole is scaled by the number of iterations. */
#include "schedule/extent.h"
#include "tools/tune/task.h"
#include <string.h>

typedef struct {
  const neo_module *m;
  bool only_sizes;
} look;

static void look_at(void *ctx, neo_expr e) {
  look *c = ctx;
  switch (neo_expr_node(c->m, e)->op) {
  case NEO_OP_AXIS:
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
  case NEO_OP_ACC:
    c->only_sizes = false;
    break;
  default:
    break;
  }
}

/* Iterations of an axis at these sizes; an upper bound where data decide. */
static double extent(const neo_tune *t, const neo_axis_rec *x, const int64_t *sizes) {
  neo_module *m = t->c->module;
  look c = {m, true};
  neo_expr_visit(m, x->lo, look_at, &c);
  neo_expr_visit(m, x->hi, look_at, &c);
  if (!c.only_sizes)
    return (double)neo_axis_most(m, x);
  double n = (double)(neo_size_value(m, x->hi, sizes) - neo_size_value(m, x->lo, sizes));
  return n < 1 ? 1 : n;
}

/* Iterations of all loops of a task's kernel at these sizes. */
static double iterations_of(const neo_tune *t, const neo_task *x, const int64_t *sizes) {
  const neo_form *f = neo_group_form(t->c->module, x->g);
  double shared = 1, all = 0;
  for (size_t k = 0; k < f->axes.n; k++)
    shared *= extent(t, &f->axes.at[k], sizes);
  for (size_t k = 0; k < f->stages.n; k++) {
    double own = 1;
    for (size_t i = 0; i < f->stages.at[k].axes.n; i++)
      own *= extent(t, &f->stages.at[k].axes.at[i], sizes);
    all += shared * own;
  }
  return all;
}

/* The largest size that may shrink; 0: none. */
static uint32_t largest(const neo_module *m, const int64_t *sizes) {
  uint32_t best = 0;
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (m->sizes.at[k].kind == NEO_SIZE_RUNTIME && sizes[k] > 1 && sizes[k] > m->sizes.at[k].lo &&
        (!best || sizes[k] > sizes[best]))
      best = k;
  return best;
}

bool neo_task_shrink(const neo_tune *t, neo_task *x, double factor) {
  const neo_module *m = t->c->module;
  double whole = iterations_of(t, x, t->o.sizes);
  double before = iterations_of(t, x, x->sizes), now = before;
  int64_t *sizes = NEO_NEW_ARRAY(&t->c->arena, int64_t, m->sizes.n + 1);
  memcpy(sizes, x->sizes, m->sizes.n * sizeof *sizes);
  while (now > before * factor) {
    uint32_t k = largest(m, sizes);
    if (!k)
      break;
    int64_t half = sizes[k] / 2;
    sizes[k] = half < m->sizes.at[k].lo ? m->sizes.at[k].lo : half;
    now = iterations_of(t, x, sizes);
  }
  if (now >= before)
    return false;
  x->sizes = x->in_iteration = sizes;
  x->part = now / whole;
  return true;
}
