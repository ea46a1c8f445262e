/* Segmented sums: a sum whose condition is an equation of an index and data runs over its source.
 *
 *     for v: Z[v, d] = 0
 *     for e: if before: v = key[e]; if 0 <= v < V and rest: Z[v, d] += body(v, e, d)
 *     for v: Z[v, d] = finish(Z[v, d])             if the stage has a finish
 *
 * with d in lanes. If only rows that some key is are read, the first loop is over e, too, and clears these; if each of
 * them is one integer, it is stored, and there is no first loop.
 *
 * Units of work divide d, and each adds elements in the order of e. So the result is deterministic
 * and needs no atomics. */
#include "schedule/segment/segment.h"
#include "codegen/lower/segment/segment.h"

typedef struct {
  lowering *l;
  neo_segment seg;
  const neo_stage *sum, *store;
  uint32_t buf;
  int32_t n_axis;
  const neo_lx *n_lo, *n_hi;
} segment;

typedef void segment_body(segment *c, neo_block *in);

/* Calls f for every vector of the columns, then for every single element that is left. */
static void over_columns(segment *c, neo_block *in, segment_body *f) {
  lowering *l = c->l;
  if (c->n_axis < 0) {
    f(c, in);
    return;
  }
  const neo_lx *from = c->n_lo, *v;
  int64_t a, b;
  for (int64_t width = l->s->loops.vector_width; width >= 1; width = width > 1 ? 1 : 0) {
    const neo_lx *to = neo_lower_floor_to_multiple(l, from, c->n_hi, width);
    if (neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a == b)
      continue;
    neo_block *body = neo_lower_open(l, in, "n", from, to, width, &v);
    axis_value at = {.at = {{v, 1, l->depth}}, .n = 1};
    if (width > 1) {
      uint32_t var = neo_kernel_var(l->k, "l");
      const neo_lx *lanes = lx_int(l, width);
      body = &neo_ls_for(l->k, body, NEO_LOOP_VECTOR, var, lx_int(l, 0), lanes, 1)->loop.body;
      at.at[at.n++] = (axis_part){neo_lx_var(l->k, var), 1, DEPTH_LANE};
    }
    neo_lower_set_parts(l, (uint32_t)c->n_axis, at);
    f(c, body);
    neo_lower_close(l);
    from = to;
  }
}

/* Elements of a row, if the rows lie one behind the other from element 0 on, with all columns; 0: they do not. */
static int64_t row_elements(const segment *c) {
  const lowering *l = c->l;
  neo_linear at;
  neo_expr row = neo_axis_ref(l->m, c->seg.axis);
  int64_t n = 1, lo, hi;
  if (c->n_axis >= 0 && (!neo_lx_is_int(c->n_lo, &lo) || lo != 0 || !neo_lx_is_int(c->n_hi, &n)))
    return 0;
  if (l->f->axes.n != 1u + (c->n_axis >= 0) ||
      !neo_flat_linear(l->m, c->store->outs.at[0].offset, &at) || at.constant ||
      at.n != l->f->axes.n || neo_linear_coef(&at, row) != n)
    return 0;
  if (c->n_axis < 0)
    return n;
  neo_expr column = neo_axis_ref(l->m, (uint32_t)c->n_axis);
  bool whole = neo_expr_is_int(l->m, l->f->axes.at[c->n_axis].hi, &hi) && hi == n;
  return whole && neo_linear_coef(&at, column) == 1 ? n : 0;
}

static const neo_lx *place(segment *c) {
  return neo_lower_expr(c->l, c->store->outs.at[0].offset);
}

static void store_zero(segment *c, neo_block *in) {
  lowering *l = c->l;
  neo_type t = (neo_type)c->sum->accs.at[0].type;
  neo_ls_store(l->k, in, c->buf, place(c), neo_lx_const(l->k, t, (neo_value){.i = 0}), NULL);
}

static void add_body(segment *c, neo_block *in) {
  lowering *l = c->l;
  const neo_lx *at = place(c), *old = neo_lx_load(l->k, c->buf, at);
  const neo_lx *x = neo_lower_expr(l, c->sum->accs.at[0].body);
  if (c->seg.injective) {
    neo_ls_store(l->k, in, c->buf, at, x, NULL);
    return;
  }
  neo_op op = c->sum->accs.at[0].kind == NEO_RED_ANY ? NEO_OP_OR : NEO_OP_ADD;
  neo_ls_store(l->k, in, c->buf, at, neo_lx_op2(l->k, op, old, x), NULL);
}

static void store_finish(segment *c, neo_block *in) {
  lowering *l = c->l;
  const neo_lx *at = place(c);
  l->acc_value = neo_lx_load(l->k, c->buf, at);
  neo_lower_forget(l);
  neo_ls_store(l->k, in, c->buf, at, neo_lower_expr(l, c->store->outs.at[0].value), NULL);
  l->acc_value = NULL;
}

static void over_rows(segment *c, neo_block *in, const neo_lx *lo, const neo_lx *hi,
                      segment_body *f) {
  const neo_lx *v;
  neo_block *body = neo_lower_open(c->l, in, "v", lo, hi, 1, &v);
  neo_lower_set_axis(c->l, c->seg.axis, v, c->l->depth);
  over_columns(c, body, f);
  neo_lower_close(c->l);
}

/* Is v, the key, one of the rows? Null: always. */
static const neo_lx *is_inside(lowering *l, const neo_segment *seg, const neo_lx *lo,
                               const neo_lx *v, const neo_lx *hi) {
  neo_expr key = neo_cast(l->m, NEO_I64_T, seg->key), zero = neo_const_int(l->m, NEO_I64_T, 0);
  neo_expr below = neo_op2(l->m, NEO_OP_LT, key, l->f->axes.at[seg->axis].hi);
  const neo_lx *low = neo_lx_op2(l->k, NEO_OP_LE, lo, v),
               *high = neo_lx_op2(l->k, NEO_OP_LT, v, hi);
  int64_t first;
  bool is_low = neo_lx_is_int(lo, &first) && first == 0 &&
                neo_prove(l->p, &l->facts, neo_op2(l->m, NEO_OP_LE, zero, key), NULL) == NEO_PROVED;
  bool is_high =
      hi == neo_lower_extent(l, seg->axis) && neo_prove(l->p, &l->facts, below, NULL) == NEO_PROVED;
  if (is_low && is_high)
    return NULL;
  return is_low ? high : is_high ? low : neo_lx_op2(l->k, NEO_OP_AND, low, high);
}

neo_block *neo_lower_segment_term(lowering *l, neo_block *in, const neo_segment *seg,
                                  const neo_lx *lo, const neo_lx *hi) {
  if (seg->before.i)
    in = &neo_ls_if(l->k, in, neo_lower_expr(l, seg->before))->branch.then;
  const neo_lx *v = neo_lower_expr(l, seg->key), *inside = is_inside(l, seg, lo, v, hi);
  if (inside)
    in = &neo_ls_if(l->k, in, inside)->branch.then;
  neo_lower_set_axis(l, seg->axis, v, l->depth);
  if (seg->rest.i)
    in = &neo_ls_if(l->k, in, neo_lower_expr(l, seg->rest))->branch.then;
  return in;
}

static void over_source(segment *c, neo_block *in, const neo_lx *lo, const neo_lx *hi, uint32_t k,
                        segment_body *f) {
  lowering *l = c->l;
  const neo_lx *v;
  if (k < c->sum->axes.n) {
    const neo_axis_rec *x = &c->sum->axes.at[k];
    neo_block *body =
        neo_lower_open(l, in, "e", neo_lower_expr(l, x->lo), neo_lower_expr(l, x->hi), 1, &v);
    neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
    over_source(c, body, lo, hi, k + 1, f);
    neo_lower_close(l);
    return;
  }
  over_columns(c, neo_lower_segment_term(l, in, &c->seg, lo, hi), f);
}

static const neo_lx *times(lowering *l, const neo_lx *x, int64_t n) {
  return neo_lx_op2(l->k, NEO_OP_MUL, x, lx_int(l, n));
}

void neo_lower_segment(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                       const neo_lx *n_lo, const neo_lx *n_hi) {
  segment c = {.l = l, .n_lo = n_lo, .n_hi = n_hi};
  uint64_t buf = 0;
  int64_t v = l->s->loops.vector_axis;
  if (!neo_segment_of(l->m, l->g, &c.seg)) {
    neo_lower_fail(l, "the schedule runs a sum over its source that has none");
    return;
  }
  c.n_axis = v < (int64_t)l->f->axes.n ? (int32_t)v : -1;
  c.sum = &l->f->stages.at[0];
  c.store = &l->f->stages.at[1];
  neo_map_get(&l->buf_of, c.store->outs.at[0].tensor.i, &buf);
  c.buf = (uint32_t)buf;
  l->k->bufs.at[buf].use = NEO_BUF_READ | NEO_BUF_WRITE;
  neo_lower_facts(l, l->f, c.sum);
  if (c.seg.injective)
    l->k->bufs.at[buf].use = NEO_BUF_WRITE;
  else if (c.seg.rows)
    over_source(&c, in, m_lo, m_hi, 0, store_zero);
  else if (row_elements(&c))
    neo_lower_fill_zero(l, in, c.buf, times(l, m_lo, row_elements(&c)),
                        times(l, m_hi, row_elements(&c)));
  else
    over_rows(&c, in, m_lo, m_hi, store_zero);
  over_source(&c, in, m_lo, m_hi, 0, add_body);
  const neo_node *value = neo_expr_node(l->m, c.store->outs.at[0].value);
  neo_lower_facts(l, l->f, c.store);
  if (value->op != NEO_OP_ACC)
    over_rows(&c, in, m_lo, m_hi, store_finish);
}
