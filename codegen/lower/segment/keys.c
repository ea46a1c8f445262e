/* Loops over the terms of a segmented reduction, which call f with the row v of each:
 *
 *     if before: v = key(e)
 *       if 0 <= v < V: for w in max(0, from(e)) .. min(W, end(e)): if rest: f(v, w, e)
 */
#include "codegen/lower/segment/segment.h"

typedef struct {
  lowering *l;
  const neo_segment_pass *pass;
  uint32_t row;
  const neo_lx *lo, *hi; /* range of rows */
  neo_lower_keyed_body *f;
  void *ctx;
} keys;

/* Is v, the key, one of the rows? Null: always. */
static const neo_lx *is_inside(lowering *l, const neo_segment_key *x, const neo_lx *lo,
                               const neo_lx *v, const neo_lx *hi) {
  neo_expr key = neo_cast(l->m, NEO_I64_T, x->from), zero = neo_const_i64(l->m, 0);
  neo_expr below = neo_op2(l->m, NEO_OP_LT, key, l->f->axes.at[x->axis].hi);
  const neo_lx *low = neo_lx_op2(l->k, NEO_OP_LE, lo, v),
               *high = neo_lx_op2(l->k, NEO_OP_LT, v, hi);
  int64_t first;
  bool is_low = neo_lx_is_int(lo, &first) && first == 0 &&
                neo_proves(l->p, &l->facts, neo_op2(l->m, NEO_OP_LE, zero, key));
  bool is_high = hi == neo_lower_extent(l, x->axis) && neo_proves(l->p, &l->facts, below);
  if (is_low && is_high)
    return NULL;
  return is_low ? high : is_high ? low : neo_lx_op2(l->k, NEO_OP_AND, low, high);
}

static neo_block *set_equal(keys *c, neo_block *in, const neo_segment_key *x, const neo_lx *lo,
                            const neo_lx *hi) {
  lowering *l = c->l;
  const neo_lx *v = neo_lower_expr(l, x->from), *inside = is_inside(l, x, lo, v, hi);
  if (inside)
    in = &neo_ls_if(l->k, in, inside)->branch.then;
  neo_lower_set_axis(l, x->axis, v, l->depth);
  return in;
}

/* The end of an interval. `last` is cut off before 1 is added to it, as it may be the largest
 * number there is. */
static const neo_lx *end_of(lowering *l, const neo_segment_key *x, const neo_lx *hi) {
  if (x->end.i)
    return lx_min(l, neo_lower_expr(l, x->end), hi);
  const neo_lx *one = lx_int(l, 1), *last = neo_lower_expr(l, x->last);
  return lx_add(l, lx_min(l, last, lx_sub(l, hi, one)), one);
}

static void at_keys(keys *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  const neo_segment_pass *p = c->pass;
  if (k == p->n_keys) {
    if (p->rest.i)
      in = &neo_ls_if(l->k, in, neo_lower_expr(l, p->rest))->branch.then;
    c->f(c->ctx, in);
    return;
  }
  const neo_segment_key *x = &p->key[k];
  bool rows = x->axis == c->row;
  const neo_lx *lo = rows ? c->lo : lx_int(l, 0), *v;
  const neo_lx *hi = rows ? c->hi : neo_lower_extent(l, x->axis);
  if (!x->last.i && !x->end.i) {
    at_keys(c, set_equal(c, in, x, lo, hi), k + 1);
    return;
  }
  const neo_lx *from = lx_max(l, neo_lower_expr(l, x->from), lo);
  in = neo_lower_open(l, in, "v", from, end_of(l, x, hi), 1, &v);
  neo_lower_set_axis(l, x->axis, v, l->depth);
  at_keys(c, in, k + 1);
  neo_lower_close(l);
}

void neo_lower_keyed_term(lowering *l, neo_block *in, const neo_segment_pass *p, uint32_t row,
                          const neo_lx *lo, const neo_lx *hi, neo_lower_keyed_body *f, void *ctx) {
  keys c = {l, p, row, lo, hi, f, ctx};
  if (p->before.i)
    in = &neo_ls_if(l->k, in, neo_lower_expr(l, p->before))->branch.then;
  at_keys(&c, in, 0);
}

static const neo_lx *also(lowering *l, const neo_lx *cond, const neo_lx *more) {
  l->guard = lx_and(l, cond, more);
  l->exact = l->guard != NULL; /* where it fails the keys' axes are anywhere */
  return l->guard;
}

const neo_lx *neo_lower_keyed_condition(lowering *l, const neo_segment_pass *p, uint32_t row,
                                        const neo_lx *lo, const neo_lx *hi) {
  const neo_lx *cond = also(l, NULL, p->before.i ? neo_lower_expr(l, p->before) : NULL);
  for (uint32_t k = 0; k < p->n_keys; k++) {
    const neo_segment_key *x = &p->key[k];
    bool rows = x->axis == row;
    const neo_lx *v = neo_lower_expr(l, x->from);
    const neo_lx *inside =
        is_inside(l, x, rows ? lo : lx_int(l, 0), v, rows ? hi : neo_lower_extent(l, x->axis));
    neo_lower_set_axis(l, x->axis, v, l->depth);
    cond = also(l, cond, inside);
  }
  return also(l, cond, p->rest.i ? neo_lower_expr(l, p->rest) : NULL);
}

static void take_block(void *ctx, neo_block *in) {
  *(neo_block **)ctx = in;
}

neo_block *neo_lower_segment_term(lowering *l, neo_block *in, const neo_segment *seg,
                                  const neo_lx *lo, const neo_lx *hi) {
  neo_block *y = NULL;
  neo_lower_keyed_term(l, in, &seg->pass[0], seg->axis, lo, hi, take_block, &y);
  return y;
}
