/* Segmented reductions, whose terms have the key of their row as data: one pass over the terms
 * replaces a pass over all terms for each row.
 *
 *     Z[v, d] = finish(reduce[e | key[e] == v and rest] body(v, e, d))
 *     ->
 *     for v: Z[v, d] = the identity
 *     for e: if before: v = key[e]
 *            if 0 <= v < V and rest: Z[v, d] = reduce(Z[v, d], body(v, e, d))
 *     for v: Z[v, d] = finish(Z[v, d])             if the stage has a finish
 *
 * with d in lanes. If Z cannot hold the accumulators, because they have another type or there are
 * several (a mean's sum and count, an argmax), they are in tables of the kernel. A logsumexp makes
 * two passes over e, the first of which computes the maxima. Long bodies are computed in lanes, a
 * vector of terms at a time, before the terms are added to their rows one by one. If only rows with
 * a term are read, the first loop is over e, too, and clears these rows; if each such row is a
 * single integer, the first term is stored, and there is no first loop.
 *
 * Units of work divide d, and each takes terms in the order of e. So the result is deterministic
 * without atomics. */
#include "codegen/lower/segment/segment.h"
#include "codegen/lower/common/acc.h"

typedef struct segment segment;
typedef void segment_body(segment *c, neo_block *in);
struct segment {
  neo_lower_tables t;
  uint32_t pass;
  const neo_stage *sum; /* the current pass's sum */
  uint32_t clears;      /* the accumulator that is cleared */
  segment_body *body;
  uint32_t terms[NEO_SEGMENT_ACCS]; /* buffers of the terms of a vector */
  const neo_lx *term; /* the current term's number; null: each is computed where it is added */
  bool registers;     /* rows are read, changed and written by way of registers */
};

static void over_source(segment *c, neo_block *in, uint32_t k);

static lowering *lowering_of(const segment *c) {
  return c->t.l;
}

/* A register for each accumulator's lanes. */
static void declare_registers(segment *c, neo_block *in, int64_t width) {
  lowering *l = lowering_of(c);
  for (uint32_t p = 0; p < c->t.seg.n_passes && c->registers; p++) {
    const neo_stage *s = &l->f->stages.at[p];
    for (uint32_t k = 0; k < s->accs.n; k++) {
      neo_type type = (neo_type)s->accs.at[k].type;
      l->acc[s->first_acc + k] = (acc_reg){.reg = neo_lower_reg(l, in, "acc", type, 1, 1, width),
                                           .rank = width > 1 ? 3 : 2,
                                           .live = true};
    }
  }
}

/* Calls f for every vector along the axis, then for every single element that is left. */
static void over_lanes(segment *c, neo_block *in, uint32_t axis, const neo_lx *from,
                       const neo_lx *hi, int64_t most, segment_body *f) {
  lowering *l = lowering_of(c);
  const neo_lx *v;
  int64_t a, b;
  for (int64_t width = most; width >= 1; width = width > 1 ? 1 : 0) {
    const neo_lx *to = neo_lower_floor_to_multiple(l, from, hi, width);
    if (neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a == b)
      continue;
    neo_block *body = neo_lower_open(l, in, "n", from, to, width, &v);
    axis_value at = {.at = {{v, 1, l->depth}}, .n = 1};
    declare_registers(c, body, width);
    if (width > 1) {
      uint32_t var = neo_kernel_var(l->k, "l");
      const neo_lx *lanes = lx_int(l, width);
      body = &neo_ls_for(l->k, body, NEO_LOOP_VECTOR, var, lx_int(l, 0), lanes, 1)->loop.body;
      l->lane = neo_lx_var(l->k, var);
      at.at[at.n++] = (axis_part){l->lane, 1, DEPTH_LANE};
    }
    neo_lower_set_parts(l, axis, at);
    f(c, body);
    l->lane = NULL;
    neo_lower_close(l);
    from = to;
  }
}

static void over_columns(segment *c, neo_block *in, segment_body *f) {
  if (c->t.n_axis >= 0) {
    over_lanes(c, in, (uint32_t)c->t.n_axis, c->t.n_lo, c->t.n_hi,
               lowering_of(c)->s->loops.vector_width, f);
    return;
  }
  declare_registers(c, in, 1);
  f(c, in);
}

/* ---- the work on a row */

static const neo_lx *load_acc(segment *c, uint32_t k) {
  return neo_lx_load(lowering_of(c)->k, c->t.buf[k], neo_lower_table_at(&c->t, k));
}

static void store_acc(segment *c, neo_block *in, uint32_t k, const neo_lx *value) {
  neo_ls_store(lowering_of(c)->k, in, c->t.buf[k], neo_lower_table_at(&c->t, k), value, NULL);
}

static void clear(segment *c, neo_block *in) {
  const neo_form_acc *a = &c->sum->accs.at[c->clears - c->sum->first_acc];
  neo_type type = (neo_type)a->type;
  store_acc(c, in, c->clears,
            neo_lx_const(lowering_of(c)->k, type, neo_acc_identity((neo_reducer)a->kind, type)));
}

/* The payload is stored first, because the choice reads the old best value. */
static void take_winner(segment *c, neo_block *in, uint32_t k) {
  lowering *l = lowering_of(c);
  uint32_t acc = c->sum->first_acc + k;
  const neo_lx *old = load_acc(c, acc), *old_p = load_acc(c, acc + 1);
  const neo_lx *x = neo_lower_expr(l, c->sum->accs.at[k].body);
  const neo_lx *p = neo_lower_expr(l, c->sum->accs.at[k + 1].body);
  const neo_lx *take = neo_acc_wins(l, (neo_reducer)c->sum->accs.at[k].kind, x, old, old_p);
  store_acc(c, in, acc + 1, neo_acc_where(l, take, p, old_p));
  store_acc(c, in, acc, neo_acc_where(l, take, x, old));
}

/* Combines the accumulators of a pass with the bodies. Bodies of a second pass may read the results
 * of the first. */
static void take_term(segment *c, neo_block *in) {
  lowering *l = lowering_of(c);
  l->acc_value = c->pass ? load_acc(c, 0) : NULL;
  neo_lower_forget(l);
  for (uint32_t k = 0; k < c->sum->accs.n; k++) {
    const neo_form_acc *a = &c->sum->accs.at[k];
    uint32_t acc = c->sum->first_acc + k;
    if (k + 1 < c->sum->accs.n && c->sum->accs.at[k + 1].kind == NEO_RED_NONE) {
      take_winner(c, in, k++);
      continue;
    }
    const neo_lx *x =
        c->term ? neo_lx_load(l->k, c->terms[k], c->term) : neo_lower_expr(l, a->body);
    x = neo_acc_combined(l, (neo_reducer)a->kind, load_acc(c, acc), x);
    store_acc(c, in, acc, x);
  }
  l->acc_value = NULL;
  neo_lower_forget(l);
}

/* The payload of a reduction of nothing is 0. */
static const neo_lx *shown_acc(segment *c, const neo_stage *s, uint32_t k) {
  lowering *l = lowering_of(c);
  const neo_lx *x = load_acc(c, s->first_acc + k), *zero = lx_int(l, 0);
  if (s->accs.at[k].kind != NEO_RED_NONE)
    return x;
  return neo_acc_where(l, neo_lx_op2(l->k, NEO_OP_EQ, x, lx_int(l, INT64_MIN)), zero, x);
}

/* Loads all accumulators into registers, because the results may overwrite their memory. */
static void load_all(segment *c, neo_block *in) {
  lowering *l = lowering_of(c);
  for (uint32_t p = 0; p < c->t.seg.n_passes; p++) {
    const neo_stage *s = &l->f->stages.at[p];
    for (uint32_t k = 0; k < s->accs.n; k++)
      neo_acc_set(l, in, &l->acc[s->first_acc + k], shown_acc(c, s, k));
  }
}

static void store_results(segment *c, neo_block *in) {
  lowering *l = lowering_of(c);
  load_all(c, in);
  neo_lower_forget(l);
  for (size_t k = 0; k < c->t.store->outs.n; k++) {
    const neo_form_out *o = &c->t.store->outs.at[k];
    uint64_t buf = 0;
    neo_map_get(&l->buf_of, o->tensor.i, &buf);
    neo_ls_store(l->k, in, (uint32_t)buf, neo_lower_expr(l, o->offset), neo_lower_expr(l, o->value),
                 NULL);
  }
}

static void store_finish(segment *c, neo_block *in) {
  lowering *l = lowering_of(c);
  const neo_form_out *o = &c->t.store->outs.at[0];
  uint64_t buf = 0;
  neo_map_get(&l->buf_of, o->tensor.i, &buf);
  l->acc_value = load_acc(c, 0);
  neo_lower_forget(l);
  neo_ls_store(l->k, in, (uint32_t)buf, neo_lower_expr(l, o->offset), neo_lower_expr(l, o->value),
               NULL);
  l->acc_value = NULL;
  neo_lower_forget(l);
}

/* ---- loops */

/* Calls f for all rows: all points of the keys' axes from k on. */
static void over_rows(segment *c, neo_block *in, uint32_t k, segment_body *f) {
  lowering *l = lowering_of(c);
  const neo_lx *v;
  while (k < l->f->axes.n && !(c->t.seg.axes >> k & 1))
    k++;
  if (k == l->f->axes.n) {
    over_columns(c, in, f);
    return;
  }
  bool rows = k == c->t.seg.axis;
  const neo_lx *lo = rows ? c->t.m_lo : lx_int(l, 0);
  const neo_lx *hi = rows ? c->t.m_hi : neo_lower_extent(l, k);
  in = neo_lower_open(l, in, "v", lo, hi, 1, &v);
  neo_lower_set_axis(l, k, v, l->depth);
  over_rows(c, in, k + 1, f);
  neo_lower_close(l);
}

/* ---- terms in lanes */

enum { LONG = 8, VECTOR_BYTES = 64 };

static bool is_long(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  (void)x;
  return neo_op_is_elementwise((neo_op)n->op) && neo_type_is_float((neo_type)n->type) &&
         neo_op_additions((neo_op)n->op) >= LONG;
}

/* Does a body take so long that it pays to compute it in lanes? Terms are then in no lanes of
 * columns, belong to one row each, and to no payload. */
static bool has_lanes(const segment *c) {
  lowering *l = lowering_of(c);
  const neo_segment_pass *p = &c->t.seg.pass[c->pass];
  bool fits = c->t.n_axis < 0, any = false;
  for (uint32_t k = 0; k < p->n_keys; k++)
    fits = fits && !p->key[k].last.i && !p->key[k].end.i;
  for (uint32_t k = 0; k < c->sum->accs.n; k++) {
    fits = fits && c->sum->accs.at[k].kind != NEO_RED_NONE;
    any = any || neo_expr_any(l->m, c->sum->accs.at[k].body, is_long, NULL);
  }
  return fits && any;
}

static void store_terms(segment *c, neo_block *in, const neo_lx *lane) {
  lowering *l = lowering_of(c);
  const neo_lx *cond =
      neo_lower_keyed_condition(l, &c->t.seg.pass[c->pass], c->t.seg.axis, c->t.m_lo, c->t.m_hi);
  if (c->pass) {
    neo_type type = (neo_type)l->f->stages.at[0].accs.at[0].type;
    const neo_lx *zero = neo_lx_const(l->k, type, (neo_value){.i = 0});
    const neo_lx *at = neo_lower_table_at(&c->t, 0);
    l->acc_value = cond ? neo_lx_loadif(l->k, c->t.buf[0], at, cond, zero) : load_acc(c, 0);
    neo_lower_forget(l);
  }
  for (uint32_t k = 0; k < c->sum->accs.n; k++)
    neo_ls_store(l->k, in, c->terms[k], lane, neo_lower_expr(l, c->sum->accs.at[k].body), NULL);
  l->acc_value = NULL;
  l->guard = NULL;
  l->exact = false;
  neo_lower_forget(l);
}

/* Takes vectors of terms; returns where those that are left begin. */
static const neo_lx *over_vectors(segment *c, neo_block *in, uint32_t k, const neo_lx *lo,
                                  const neo_lx *hi) {
  lowering *l = lowering_of(c);
  uint32_t axis = (uint32_t)l->f->axes.n + k, var = neo_kernel_var(l->k, "l");
  int64_t width = VECTOR_BYTES / neo_type_bytes((neo_type)c->sum->accs.at[0].type);
  const neo_lx *to = neo_lower_floor_to_multiple(l, lo, hi, width), *v, *one;
  for (uint32_t a = 0; a < c->sum->accs.n; a++)
    c->terms[a] = neo_kernel_scratch(l->k, "terms", (neo_type)c->sum->accs.at[a].type, width);
  neo_block *body = neo_lower_open(l, in, "e", lo, to, width, &v);
  const neo_lx *lane = neo_lx_var(l->k, var);
  axis_value at = {.at = {{v, 1, l->depth}, {lane, 1, DEPTH_LANE}}, .n = 2};
  neo_lower_set_parts(l, axis, at);
  store_terms(
      c,
      &neo_ls_for(l->k, body, NEO_LOOP_VECTOR, var, lx_int(l, 0), lx_int(l, width), 1)->loop.body,
      lane);
  body = neo_lower_open(l, body, "l", lx_int(l, 0), lx_int(l, width), 1, &one);
  neo_lower_set_axis(l, axis, lx_add(l, v, one), l->depth);
  c->term = one;
  over_source(c, body, k + 1);
  c->term = NULL;
  neo_lower_close(l);
  neo_lower_close(l);
  return to;
}

/* ---- loops over terms */

static void at_term(void *ctx, neo_block *in) {
  segment *c = ctx;
  over_columns(c, in, c->body);
}

static void over_axis(segment *c, neo_block *in, uint32_t k, const neo_lx *lo, const neo_lx *hi) {
  lowering *l = lowering_of(c);
  const neo_lx *v;
  neo_block *body = neo_lower_open(l, in, "e", lo, hi, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
  over_source(c, body, k + 1);
  neo_lower_close(l);
}

static void over_source(segment *c, neo_block *in, uint32_t k) {
  lowering *l = lowering_of(c);
  if (k < c->sum->axes.n) {
    const neo_axis_rec *x = &c->sum->axes.at[k];
    const neo_lx *lo = neo_lower_expr(l, x->lo), *hi = neo_lower_expr(l, x->hi);
    if (k + 1 == c->sum->axes.n && c->body == take_term && has_lanes(c))
      lo = over_vectors(c, in, k, lo, hi);
    over_axis(c, in, k, lo, hi);
    return;
  }
  neo_lower_keyed_term(l, in, &c->t.seg.pass[c->pass], c->t.seg.axis, c->t.m_lo, c->t.m_hi, at_term,
                       c);
}

/* Opens a branch for the case that the segment has rows. */
static neo_block *where_rows(segment *c, neo_block *in) {
  lowering *l = lowering_of(c);
  const neo_lx *all = NULL;
  for (uint32_t k = 0; k < l->f->axes.n; k++)
    all = lx_and(l, all, lx_lt(l, lx_int(l, 0), neo_lower_extent(l, k)));
  return &neo_ls_if(l->k, in, all)->branch.then;
}

static void run_over_source(segment *c, neo_block *in, segment_body *f) {
  c->body = f;
  over_source(c, c->t.seg.pass[c->pass].of_rows ? where_rows(c, in) : in, 0);
}

static void clear_rows(segment *c, neo_block *in) {
  for (uint32_t k = 0; k < c->sum->accs.n; k++) {
    c->clears = c->sum->first_acc + k;
    if (c->t.seg.rows)
      run_over_source(c, in, clear);
    else if (!neo_lower_fill_table(&c->t, in, c->clears))
      over_rows(c, in, 0, clear);
  }
}

static void run_pass(segment *c, neo_block *in, uint32_t pass) {
  c->pass = pass;
  c->sum = &lowering_of(c)->f->stages.at[pass];
  neo_lower_facts(lowering_of(c), lowering_of(c)->f, c->sum);
  clear_rows(c, in);
  run_over_source(c, in, take_term);
}

/* The results of all rows. Without columns, vectors are of rows. */
static void finish(segment *c, neo_block *in) {
  lowering *l = lowering_of(c);
  c->registers = l->f->n_accs > 1 || c->t.store->outs.n > 1;
  segment_body *f = c->registers ? store_results : store_finish;
  bool one = (c->t.seg.axes & (c->t.seg.axes - 1)) == 0;
  int64_t width = VECTOR_BYTES / neo_type_bytes((neo_type)l->f->stages.at[0].accs.at[0].type);
  if (c->t.n_axis < 0 && one)
    over_lanes(c, in, c->t.seg.axis, c->t.m_lo, c->t.m_hi, width, f);
  else
    over_rows(c, in, 0, f);
}

void neo_lower_segment(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  segment c = {.t = {l, .m_lo = range[0], .m_hi = range[1], .n_lo = range[2], .n_hi = range[3]}};
  (void)level;
  int64_t v = l->s->loops.vector_axis;
  if (!neo_segment_of(l->m, l->g, &c.t.seg)) {
    neo_lower_fail(l, "the schedule runs a reduction over its source that has none");
    return;
  }
  c.t.n_axis = v < (int64_t)l->f->axes.n ? (int32_t)v : -1;
  c.t.store = &l->f->stages.at[c.t.seg.n_passes];
  neo_lower_add_tables(&c.t);
  for (uint32_t k = 0; k < c.t.seg.n_passes; k++)
    run_pass(&c, in, k);
  neo_lower_facts(l, l->f, c.t.store);
  if (!c.t.seg.ends)
    finish(&c, in);
}
