/* Keyed scans (schedule/keyed_scan/keyed_scan.h):
 *
 *     for i: table[i] = the identity
 *     for u: key = key[u]; P[u] = finish(u, table[key])
 *            if 0 <= key: table[key] = reduce(table[key], body(u))
 *
 * If the reduction is over the elements after u, the loop runs from the last u down. The order of a
 * key's elements alone determines the rounding of the result. */
#include "codegen/lower/keyed_scan/keyed_scan.h"
#include "codegen/lower/common/acc.h"
#include "schedule/keyed_scan/keyed_scan.h"

/* Positions run upwards or downwards. */
static const neo_lx *position(lowering *l, const neo_keyed_scan *x, const neo_lx *i) {
  const neo_lx *last = lx_sub(l, neo_lower_extent(l, x->axis), lx_int(l, 1));
  return x->down ? lx_sub(l, last, i) : i;
}

static void put(lowering *l, neo_block *in, const neo_keyed_scan *x, uint32_t table,
                const neo_lx *none) {
  const neo_stage *store = &l->f->stages.at[1];
  const neo_form_acc *a = &l->f->stages.at[0].accs.at[0];
  tile t = {.m_axis = (int32_t)x->axis, .n_axis = -1, .rows = 1, .cols = 1, .width = 1};
  neo_lower_facts(l, l->f, store);
  t.m_at = neo_lower_axis(l, x->axis);
  t.m_depth = l->depth;
  const neo_lx *at = neo_lower_expr(l, x->key), *there = neo_lower_cond(l, x->there);
  const neo_lx *old = neo_lx_load(l->k, table, at),
               *shown = there ? neo_lx_loadif(l->k, table, at, there, none) : old;
  if (x->asks.i && x->asks.i != x->there.i)
    shown = neo_lx_op3(l->k, NEO_OP_SELECT, neo_lower_expr(l, x->asks), shown, none);
  l->acc_value = shown;
  neo_lower_forget(l);
  neo_lower_store(l, in, store, &t);
  l->acc_value = NULL;
  neo_lower_forget(l);
  if (there)
    in = &neo_ls_if(l->k, in, there)->branch.then;
  if (x->adds.i)
    in = &neo_ls_if(l->k, in, neo_lower_expr(l, x->adds))->branch.then;
  const neo_lx *next = neo_acc_combined(l, (neo_reducer)a->kind, old, neo_lower_expr(l, x->value));
  neo_ls_store(l->k, in, table, at, next, NULL);
}

void neo_lower_keyed_scan(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  (void)level, (void)range;
  neo_keyed_scan x;
  if (!neo_keyed_scan_of(l->m, l->g, &x)) {
    neo_lower_fail(l, "the schedule runs a reduction by keys that has none");
    return;
  }
  const neo_form_acc *a = &l->f->stages.at[0].accs.at[0];
  neo_type type = (neo_type)a->type;
  const neo_lx *v, *none = neo_lx_const(l->k, type, neo_acc_identity((neo_reducer)a->kind, type));
  uint32_t table = neo_kernel_scratch(l->k, "table", type, x.most > 0 ? x.most : 1);
  neo_lower_fill(l, in, table, lx_int(l, 0), neo_lower_expr(l, x.n), none);
  neo_block *body = neo_lower_open(l, in, "u", lx_int(l, 0), neo_lower_extent(l, x.axis), 1, &v);
  neo_lower_set_axis(l, x.axis, position(l, &x, v), l->depth);
  put(l, body, &x, table, none);
  neo_lower_close(l);
}
