/* Running sums by keys (schedule/keyed_scan/keyed_scan.h):
 *
 *     for i: table[i] = 0
 *     for u: key = key[u]; P[u] = finish(u, table[key]); table[key] += body(u)     if 0 <= key
 *
 * Elements of a key are added in their order, so the result does not depend on anything else. */
#include "codegen/lower/keyed_scan/keyed_scan.h"
#include "schedule/keyed_scan/keyed_scan.h"

void neo_lower_keyed_scan(lowering *l, neo_block *in) {
  neo_keyed_scan x;
  if (!neo_keyed_scan_of(l->m, l->g, &x)) {
    neo_lower_fail(l, "the schedule runs a sum by keys that has none");
    return;
  }
  const neo_stage *sum = &l->f->stages.at[0], *store = &l->f->stages.at[1];
  neo_type type = (neo_type)sum->accs.at[0].type;
  const neo_lx *v, *zero = neo_lx_const(l->k, type, (neo_value){.i = 0});
  uint32_t table = neo_kernel_buf(l->k, (neo_kbuf){.name = "table",
                                                   .type = (uint8_t)type,
                                                   .use = NEO_BUF_SCRATCH,
                                                   .scratch_elems = x.most > 0 ? x.most : 1,
                                                   .no_alias = true,
                                                   .align = 64});
  neo_lower_fill_zero(l, in, table, lx_int(l, 0), neo_lower_expr(l, x.n));
  tile t = {.m_axis = 0, .n_axis = -1, .rows = 1, .cols = 1, .width = 1};
  neo_block *body = neo_lower_open(l, in, "u", lx_int(l, 0), neo_lower_extent(l, 0), 1, &v);
  neo_lower_set_axis(l, 0, v, l->depth);
  neo_lower_facts(l, l->f, store);
  t.m_at = v;
  const neo_lx *at = neo_lower_expr(l, x.key),
               *there = neo_lx_op2(l->k, NEO_OP_LE, lx_int(l, 0), at);
  const neo_lx *old = neo_lx_load(l->k, table, at);
  l->acc_value = x.asks ? neo_lx_loadif(l->k, table, at, there, zero) : old;
  neo_lower_forget(l);
  neo_lower_store(l, body, store, &t);
  const neo_lx *next = neo_lx_op2(l->k, NEO_OP_ADD, old, neo_lower_expr(l, x.value));
  l->acc_value = NULL;
  neo_lower_forget(l);
  if (x.asks)
    body = &neo_ls_if(l->k, body, there)->branch.then;
  neo_ls_store(l->k, body, table, at, next, NULL);
  neo_lower_close(l);
}
