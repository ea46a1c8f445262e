/* Segmented integer sums whose threads take terms. One block clears the rows and, after a barrier,
 * adds the terms:
 *
 *   for u in 0..1 unit
 *     for t in 0..n thread
 *       for i in t..V step n: Z[i] = 0
 *     for t in 0..n thread
 *       for i in t..terms step n: v = key[i]; if 0 <= v < V and rest: Z[v] += body(i)
 *
 * The terms are numbered along the own axes first, then along the shared axes other than the
 * rows. */
#include "codegen/lower/gpu_scatter/gpu_scatter.h"
#include "codegen/lower/segment/segment.h"
#include "schedule/gpu_scatter/gpu_scatter.h"

typedef struct { /* axes that are counted through as one, the last one innermost */
  uint32_t axis[2 * NEO_FORM_MAX_AXES], n;
  const neo_lx *lo[2 * NEO_FORM_MAX_AXES], *length[2 * NEO_FORM_MAX_AXES], *total;
} numbering;

typedef struct {
  lowering *l;
  neo_segment seg;
  const neo_stage *sum, *store;
  uint32_t buf;
  int64_t threads;
} scatter;

/* ---- numbers of terms and of elements */

static void add_axis(lowering *l, numbering *y, uint32_t axis, const neo_lx *lo, const neo_lx *n) {
  y->axis[y->n] = axis;
  y->lo[y->n] = lo;
  y->length[y->n++] = n;
  y->total = y->total ? neo_lx_op2(l->k, NEO_OP_MUL, y->total, n) : n;
}

static void add_shared(const scatter *c, numbering *y, bool rows) {
  for (uint32_t k = 0; k < c->l->f->axes.n; k++)
    if (rows || k != c->seg.axis)
      add_axis(c->l, y, k, lx_int(c->l, 0), neo_lower_extent(c->l, k));
}

static numbering terms_of(const scatter *c) {
  lowering *l = c->l;
  numbering y = {.n = 0};
  for (uint32_t k = 0; k < c->sum->axes.n; k++) {
    const neo_lx *lo = neo_lower_expr(l, c->sum->axes.at[k].lo),
                 *hi = neo_lower_expr(l, c->sum->axes.at[k].hi);
    add_axis(l, &y, (uint32_t)l->f->axes.n + k, lo, lx_max(l, lx_sub(l, hi, lo), lx_int(l, 0)));
  }
  add_shared(c, &y, false);
  return y;
}

static numbering elements_of(const scatter *c) {
  numbering y = {.n = 0};
  add_shared(c, &y, true);
  return y;
}

/* Sets the axes to number `at`. */
static void go_to(lowering *l, const numbering *y, const neo_lx *at) {
  for (uint32_t k = y->n; k-- > 0;) {
    const neo_lx *x = k ? lx_mod(l, at, y->length[k]) : at;
    neo_lower_set_axis(l, y->axis[k], lx_add(l, y->lo[k], x), l->depth);
    at = k ? neo_lx_op2(l->k, NEO_OP_DIV, at, y->length[k]) : at;
  }
}

/* ---- the work of a thread on a row or a term */

typedef void scatter_body(const scatter *c, neo_block *in);

static const neo_lx *place(const scatter *c) {
  return neo_lower_expr(c->l, c->store->outs.at[0].offset);
}

static void store_zero(const scatter *c, neo_block *in) {
  neo_kernel *k = c->l->k;
  neo_type t = (neo_type)c->sum->accs.at[0].type;
  neo_ls_store(k, in, c->buf, place(c), neo_lx_const(k, t, (neo_value){.i = 0}), NULL);
}

static void take_term(const scatter *c, neo_block *in) {
  lowering *l = c->l;
  in = neo_lower_segment_term(l, in, &c->seg, lx_int(l, 0), neo_lower_extent(l, c->seg.axis));
  const neo_lx *value = neo_lower_expr(l, c->sum->accs.at[0].body);
  neo_ls_add(l->k, in, c->buf, place(c), value);
}

/* ---- the kernel */

static neo_block *open_threads(const scatter *c, neo_block *in, const neo_lx **thread) {
  lowering *l = c->l;
  uint32_t var = neo_kernel_var(l->k, "t");
  *thread = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, NEO_LOOP_THREAD, var, lx_int(l, 0), lx_int(l, c->threads), 1)
              ->loop.body;
}

/* One block goes through all numbers. */
static void go_through(const scatter *c, neo_block *in, const numbering *y, scatter_body *body) {
  const neo_lx *thread, *at;
  in = open_threads(c, in, &thread);
  in = neo_lower_open(c->l, in, "i", thread, y->total, c->threads, &at);
  go_to(c->l, y, at);
  body(c, in);
  neo_lower_close(c->l);
}

static void add_all(const scatter *c, const numbering *y) {
  lowering *l = c->l;
  const neo_lx *unit;
  numbering elements = elements_of(c);
  neo_block *in = neo_lower_open_units(l, &l->k->body, lx_int(l, 1), &unit);
  l->depth++; /* threads */
  go_through(c, in, &elements, store_zero);
  go_through(c, in, y, take_term);
}

void neo_lower_gpu_scatter(lowering *l) {
  scatter c = {.l = l, .threads = l->s->rows.threads};
  uint64_t buf = 0;
  if (!neo_scatter_of(l->m, l->g, &c.seg)) {
    neo_lower_fail(l, "the schedule takes the terms of a sum by keys that is none");
    return;
  }
  c.sum = &l->f->stages.at[0];
  c.store = &l->f->stages.at[1];
  neo_map_get(&l->buf_of, c.store->outs.at[0].tensor.i, &buf);
  c.buf = (uint32_t)buf;
  neo_lower_facts(l, l->f, c.sum);
  numbering terms = terms_of(&c);
  l->k->bufs.at[buf].use = NEO_BUF_READ | NEO_BUF_WRITE;
  add_all(&c, &terms);
}
