/* The stores of a stage: its results at a tile, or along its own axes, by vectors along the
 * last. */
#include "codegen/lower/common/scope.h"
#include <assert.h>

static uint32_t out_buf(const lowering *l, const neo_form_out *o) {
  uint64_t buf = 0;
  neo_map_get(&l->buf_of, o->tensor.i, &buf);
  return (uint32_t)buf;
}

/* A processor combines nontemporal stores to a cache line as long as no store to another line comes
 * between (write combining). So if several results are nontemporal, each is stored a whole line at
 * a time. */
int64_t neo_lower_line(const lowering *l, const neo_stage *s, int64_t width) {
  int64_t most = 1;
  uint32_t n = 0;
  for (size_t k = 0; k < s->outs.n; k++) {
    const neo_kbuf *b = &l->k->bufs.at[out_buf(l, &s->outs.at[k])];
    int64_t vectors = l->line_bytes / (width * neo_type_bytes((neo_type)b->type));
    most = b->nontemporal && vectors > most ? vectors : most;
    n += b->nontemporal;
  }
  return n > 1 ? most : 1;
}

void neo_lower_fill_row_stash(lowering *l, neo_block *in, const neo_stage *s) {
  for (uint32_t k = 0; k < l->stash.n; k++)
    if (s == &l->f->stages.at[l->stash.at[k].first] && (!l->stash_threads || l->stash_here))
      neo_lower_put_stashed(l, in, k, neo_lower_expr(l, l->stash.at[k].value));
}

enum { MOST_OUTS = 64 };

typedef struct { /* one vector, or t->cols vectors, of a stage's results */
  const neo_stage *s;
  const tile *t;
  bool lanes;
  const neo_lx *at, *end; /* range along the last own axis; at null: lanes run over shared axes */
  uint32_t reg[MOST_OUTS];
} store;

/* Declares registers for several results. All are computed before any is stored, since a result may
 * overwrite an operand. */
static void value_regs(lowering *l, neo_block *in, store *c) {
  assert(c->s->outs.n <= MOST_OUTS);
  for (size_t k = 0; k < c->s->outs.n && c->s->outs.n > 1; k++) {
    neo_type type = neo_expr_type(l->m, c->s->outs.at[k].value);
    c->reg[k] = neo_lower_reg(l, in, "y", type, c->t->rows, c->t->cols, c->lanes ? c->t->width : 1);
  }
}

static neo_block *open_store(lowering *l, neo_block *in, const store *c) {
  neo_block *b = neo_lower_open_tile(l, in, c->t, c->lanes);
  uint32_t axis = (uint32_t)(l->f->axes.n + c->s->axes.n - 1);
  if (!c->at)
    return b;
  axis_value v = {.n = 0};
  neo_lower_push_part(&v, c->at, 1, l->depth);
  if (c->t->n_axis < 0)
    neo_lower_push_part(&v, l->col, neo_lower_column_stride(c->t), DEPTH_UNROLL);
  neo_lower_push_part(&v, l->lane, 1, DEPTH_LANE);
  neo_lower_set_parts(l, axis, v);
  if (c->end) {
    l->mask = neo_lx_op2(l->k, NEO_OP_LT, neo_lower_axis(l, axis), c->end);
    l->mask_axis = (int32_t)axis;
  }
  return b;
}

static const neo_lx *zero_like(lowering *l, const neo_lx *x) {
  return neo_lx_const(l->k, (neo_type)x->type, (neo_value){.f = 0});
}

/* The value to store. Where the result is a sum over a block of rows (form.h), that is the sum so
 * far plus the row's value. */
static const neo_lx *value_of(lowering *l, const neo_form_out *o) {
  const neo_lx *value = neo_lower_expr(l, o->value), *at, *old;
  if (!o->row_block)
    return value;
  at = neo_lower_expr(l, o->offset);
  old = l->mask ? neo_lx_loadif(l->k, out_buf(l, o), at, l->mask, zero_like(l, value))
                : neo_lx_load(l->k, out_buf(l, o), at);
  return neo_lx_op2(l->k, NEO_OP_ADD, old, value);
}

static const neo_lx *store_value(lowering *l, neo_block *in, const store *c, size_t k, bool set) {
  if (c->s->outs.n == 1)
    return value_of(l, &c->s->outs.at[k]);
  const neo_lx *index[] = {lx_or_0(l, l->row), lx_or_0(l, l->col), lx_or_0(l, l->lane)};
  uint8_t rank = c->lanes && c->t->width > 1 ? 3 : 2;
  if (set)
    neo_ls_set(l->k, in, c->reg[k], index, rank, value_of(l, &c->s->outs.at[k]));
  return neo_lx_reg(l->k, c->reg[k], index, rank);
}

static void put_value(lowering *l, neo_block *in, const store *c, size_t k, const neo_lx *value) {
  const neo_form_out *o = &c->s->outs.at[k];
  neo_ls_store(l->k, in, out_buf(l, o), neo_lower_expr(l, o->offset), value, l->mask);
}

/* Stores zeros to the results that are sums over blocks of rows. */
static void clear_values(lowering *l, neo_block *in, const store *c) {
  neo_block *b = open_store(l, in, c);
  for (size_t k = 0; k < c->s->outs.n; k++) {
    const neo_form_out *o = &c->s->outs.at[k];
    if (o->row_block)
      neo_ls_store(l->k, b, out_buf(l, o), neo_lower_expr(l, o->offset),
                   zero_like(l, neo_lower_expr(l, o->value)), l->mask);
  }
  neo_lower_close_tile(l);
}

static void store_values(lowering *l, neo_block *in, store *c) {
  const neo_lx *value[MOST_OUTS];
  if (l->clears) {
    clear_values(l, in, c);
    return;
  }
  bool by_line = c->t->cols > 1 && c->lanes && neo_lower_line(l, c->s, c->t->width) > 1;
  value_regs(l, in, c);
  neo_block *b = open_store(l, in, c);
  for (size_t k = 0; k < c->s->outs.n; k++)
    value[k] = store_value(l, b, c, k, true);
  for (size_t k = 0; k < c->s->outs.n && !by_line; k++)
    put_value(l, b, c, k, value[k]);
  if (c->at)
    neo_lower_fill_row_stash(l, b, c->s);
  neo_lower_close_tile(l);
  for (size_t k = 0; k < c->s->outs.n && by_line; k++) {
    b = open_store(l, in, c);
    put_value(l, b, c, k, store_value(l, b, c, k, false));
    neo_lower_close_tile(l);
  }
}

static void store_tile(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  store c = {.s = s, .t = t, .lanes = lanes};
  store_values(l, in, &c);
}

void neo_lower_store_point(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  static const tile one = {.m_axis = -1, .n_axis = -1, .rows = 1, .cols = 1, .width = 1};
  store_tile(l, in, s, t ? t : &one, t && t->width > 1);
}

void neo_lower_store_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const neo_lx *at, const neo_lx *end) {
  store c = {.s = s, .t = t, .lanes = true, .at = at, .end = end};
  store_values(l, in, &c);
}

/* Stores full vectors along the last own axis from `lo` on; returns where they end. With `end`,
 * stores the masked rest. */
static const neo_lx *store_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                               const neo_lx *lo, const neo_lx *hi, const neo_lx *end) {
  int64_t step = t->width * (t->n_axis < 0 ? t->cols : 1), a, b;
  const neo_lx *to = end ? hi : neo_lower_floor_to_multiple(l, lo, hi, step), *v;
  if (neo_lx_is_int(lo, &a) && neo_lx_is_int(to, &b) && a == b)
    return to;
  neo_block *body = neo_lower_open(l, in, "j", lo, to, step, &v);
  store c = {.s = s, .t = t, .lanes = true, .at = v, .end = end};
  if (!end && !l->clears)
    neo_lower_prefetch_row(l, body, s, v, step);
  store_values(l, body, &c);
  neo_lower_close(l);
  return to;
}

static void store_row(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                      const neo_lx *lo, const neo_lx *hi) {
  tile line = *t;
  line.cols = t->n_axis < 0 ? neo_lower_line(l, s, t->width) : 1;
  if (line.cols > 1)
    lo = store_run(l, in, s, &line, lo, hi, NULL);
  lo = store_run(l, in, s, t, lo, hi, NULL);
  store_run(l, in, s, t, lo, hi, hi);
}

static void store_loops(lowering *l, neo_block *in, const neo_stage *s, const tile *t, uint32_t k) {
  bool shared = neo_lower_lanes_shared(l);
  if (k == s->axes.n) {
    tile scalar = *t;
    if (!shared)
      scalar.width = 1;
    store_tile(l, in, s, &scalar, shared);
    return;
  }
  const neo_lx *lo = neo_lower_expr(l, s->axes.at[k].lo), *hi = neo_lower_expr(l, s->axes.at[k].hi);
  const neo_lx *v;
  if (!shared && k + 1 == s->axes.n && t->width > 1) {
    store_row(l, in, s, t, lo, hi);
    return;
  }
  neo_block *body = neo_lower_open(l, in, "j", lo, hi, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
  store_loops(l, body, s, t, k + 1);
  neo_lower_close(l);
}

/* The first row of a block of rows clears the block's sums. */
static void clear_runs(lowering *l, neo_block *in, const neo_stage *s, const tile *t, int64_t run) {
  const neo_lx *row = neo_lower_axis(l, (uint32_t)l->f->axes.n - 1);
  const neo_lx *at = neo_lx_op2(l->k, NEO_OP_MOD, row, lx_int(l, run));
  neo_ls *first = neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_EQ, at, lx_int(l, 0)));
  neo_lower_forget(l);
  l->clears = true;
  store_loops(l, &first->branch.then, s, t, 0);
  l->clears = false;
  neo_lower_forget(l);
}

void neo_lower_store(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  int64_t run = 0;
  for (size_t k = 0; k < s->outs.n; k++)
    run = s->outs.at[k].row_block ? s->outs.at[k].row_block : run;
  if (run)
    clear_runs(l, in, s, t, run);
  store_loops(l, in, s, t, 0);
}
