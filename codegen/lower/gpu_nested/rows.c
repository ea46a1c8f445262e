/* Rows that are reduced over inner sums (lower/gpu_nested/nested.c).
 *
 * Each stage that reduces rows has its own loop over steps (a maximum, then a sum that needs it),
 * which computes the inner sums again. A logsumexp needs one loop for its maximum and its sum
 * (online softmax):
 *
 *   e = exp(min(m, x) - max(m, x));  s = x > m ? s*e + 1 : s + e;  m = max(m, x)
 *
 * Two of its parts are combined in the same way. */
#include "codegen/lower/gpu_nested/nested.h"
#include <math.h>

static tile tile_of(int64_t rows, int64_t columns, int64_t width) {
  return (tile){.m_axis = -1, .n_axis = -1, .rows = rows, .cols = columns, .width = width};
}

/* Loads results of earlier stages as accumulators: those of a thread's rows, or of one row. */
static void get_rows(nested_kernel *x, neo_block *in, const tile_dim *rows, const neo_lx *one) {
  lowering *l = x->l;
  const neo_lx *place[2];
  point p;
  neo_ln_place_of(x, place);
  for (uint32_t k = 0; k < l->f->n_accs; k++) {
    if (!x->done[k])
      continue;
    neo_type t = (neo_type)l->k->bufs.at[x->row[k]].type;
    uint32_t reg = neo_lower_reg(l, in, "row", t, one ? 1 : rows->tile, 1, 1);
    const neo_lx *at = one, *number = lx_int(l, 0);
    neo_block *body = in;
    if (!one) {
      body = neo_ln_open_dim(l, in, rows, place[0], &p);
      at = p.at;
      number = p.number;
    }
    neo_ls_set(l->k, body, reg, (const neo_lx *[]){number, lx_int(l, 0)}, 2,
               neo_lx_load(l->k, x->row[k], at));
    l->acc[k] = (acc_reg){reg, 2, false, true, 0, 0};
  }
  neo_lower_forget(l);
}

/* Gives each thread one row; returns the block where that row exists. */
static neo_block *open_row(nested_kernel *x, neo_block *in, const neo_lx **row) {
  lowering *l = x->l;
  const neo_lx *i;
  int64_t n = (x->rows.block + x->threads - 1) / x->threads;
  in = neo_ln_open_threads(x, in);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "r", n, &i);
  *row = lx_add(l, lx_mul(l, i, x->threads), x->thread);
  if (x->rows.block % x->threads)
    in = &neo_ls_if(l->k, in, lx_lt(l, *row, lx_int(l, x->rows.block)))->branch.then;
  return in;
}

/* Reduces each thread's tile to one part for each row, then the threads' parts of each row. */
static void join_rows(nested_kernel *x, neo_block *in, const neo_stage *s) {
  lowering *l = x->l;
  int64_t width = x->steps.threads;
  const neo_lx *place[2], *row, *zero = lx_int(l, 0);
  tile part = tile_of(x->rows.tile, x->steps.tile, 1), whole = tile_of(x->rows.tile, 1, 1);
  neo_block *body = neo_ln_open_threads(x, in);
  point p;
  neo_lower_join_lanes(l, body, s, &part, &whole);
  neo_ln_place_of(x, place);
  body = neo_ln_open_dim(l, body, &x->rows, place[0], &p);
  const neo_lx *index[] = {p.number, zero};
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
    neo_ls_store(l->k, body, x->part[k], lx_add(l, lx_mul(l, p.at, width), neo_ln_part(x)),
                 neo_lx_reg(l->k, l->acc[k].reg, index, 2), NULL);
  body = open_row(x, in, &row);
  part = tile_of(1, 1, width);
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++) {
    neo_type t = (neo_type)s->accs.at[k - s->first_acc].type;
    uint32_t reg = neo_lower_reg(l, body, "part", t, 1, 1, width);
    for (int64_t i = 0; i < width; i++) {
      const neo_lx *at = lx_add(l, lx_mul(l, row, width), lx_int(l, i));
      neo_ls_set(l->k, body, reg, (const neo_lx *[]){zero, zero, lx_int(l, i)}, width > 1 ? 3 : 2,
                 neo_lx_load(l->k, x->part[k], at));
    }
    l->acc[k] = (acc_reg){reg, width > 1 ? 3 : 2, false, true, 0, 0};
  }
  neo_lower_join_lanes(l, body, s, &part, &part);
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++) {
    neo_ls_store(l->k, body, x->row[k], row,
                 neo_lx_reg(l->k, l->acc[k].reg, (const neo_lx *[]){zero, zero}, 2), NULL);
    x->done[k] = true;
  }
}

static void reduce_rows(nested_kernel *x, neo_block *in, const neo_stage *s) {
  lowering *l = x->l;
  tile t = tile_of(x->rows.tile, x->steps.tile, 1);
  acc_reg own[MAX_ACCS];
  point p[2];
  const neo_lx *cond;
  neo_ln_set_steps(x, s);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    neo_type type = (neo_type)s->accs.at[k].type;
    own[k] = (acc_reg){
        neo_gpu_thread_reg(l, in, "acc", type, t.rows, t.cols, x->threads), 2, true, true, 0, 0};
    l->acc[s->first_acc + k] = own[k];
  }
  neo_lower_clear_accs(l, neo_ln_open_threads(x, in), s, &t);
  neo_block *body = neo_ln_open_steps(x, in, s);
  neo_ln_inner_sums(x, body, s);
  body = neo_ln_open_threads(x, body);
  get_rows(x, body, &x->rows, NULL);
  body = neo_ln_open_points(x, body, s, &x->rows, &x->steps, p, &cond);
  neo_lower_combine(l, body, s, cond);
  neo_ln_end_points(x);
  neo_ln_close_steps(x);
  for (uint32_t k = 0; k < s->accs.n; k++)
    l->acc[s->first_acc + k] = own[k];
  join_rows(x, in, s);
}

/* ---- a logsumexp in one pass */

typedef struct { /* a partial logsumexp: the sum's terms are scaled by exp(-top) */
  const neo_lx *top, *sum;
} logsum;

static const neo_lx *real(lowering *l, const neo_lx *like, double v) {
  return neo_lx_const(l->k, (neo_type)like->type, (neo_value){.f = v});
}

static logsum join_logsums(lowering *l, logsum a, logsum b) {
  neo_kernel *k = l->k;
  const neo_lx *lo = neo_lx_op2(k, NEO_OP_MIN, a.top, b.top);
  const neo_lx *hi = neo_lx_op2(k, NEO_OP_MAX, a.top, b.top);
  const neo_lx *e = neo_lx_op1(k, NEO_OP_EXP, neo_lx_op2(k, NEO_OP_SUB, lo, hi));
  e = neo_lx_op3(k, NEO_OP_SELECT, neo_lx_op2(k, NEO_OP_EQ, a.top, b.top), real(l, e, 1), e);
  const neo_lx *up = neo_lx_op2(k, NEO_OP_ADD, neo_lx_op2(k, NEO_OP_MUL, a.sum, e), b.sum);
  const neo_lx *stay = neo_lx_op2(k, NEO_OP_ADD, a.sum, neo_lx_op2(k, NEO_OP_MUL, b.sum, e));
  return (logsum){hi,
                  neo_lx_op3(k, NEO_OP_SELECT, neo_lx_op2(k, NEO_OP_LT, a.top, b.top), up, stay)};
}

/* The sum for an infinite maximum, which is not subtracted from the terms. */
static logsum end_logsum(lowering *l, logsum a) {
  const neo_lx *inf = real(l, a.top, (double)INFINITY), *none = real(l, a.top, -(double)INFINITY);
  const neo_lx *y = neo_lx_op3(l->k, NEO_OP_SELECT, neo_lx_op2(l->k, NEO_OP_EQ, a.top, none),
                               real(l, a.top, 0), a.sum);
  a.sum = neo_lx_op3(l->k, NEO_OP_SELECT, neo_lx_op2(l->k, NEO_OP_EQ, a.top, inf), inf, y);
  return a;
}

static logsum logsum_in(lowering *l, const acc_reg *r, const neo_lx *const *at) {
  return (logsum){neo_lx_reg(l->k, r[0].reg, at, 2), neo_lx_reg(l->k, r[1].reg, at, 2)};
}

/* Sets the maximum last, because the sum reads the old one. */
static void set_logsum(lowering *l, neo_block *in, const acc_reg *r, const neo_lx *const *at,
                       logsum y) {
  neo_ls_set(l->k, in, r[1].reg, at, 2, y.sum);
  neo_ls_set(l->k, in, r[0].reg, at, 2, y.top);
}

/* Stores threads' parts of rows to shared memory, then reduces those of each row. */
static void join_logsum_rows(nested_kernel *x, neo_block *in, const neo_stage *s,
                             const acc_reg *r) {
  lowering *l = x->l;
  int64_t width = x->steps.threads;
  uint32_t acc = s->first_acc;
  const neo_lx *place[2], *row, *zero = lx_int(l, 0);
  point p;
  neo_block *body = neo_ln_open_threads(x, in);
  neo_ln_place_of(x, place);
  body = neo_ln_open_dim(l, body, &x->rows, place[0], &p);
  const neo_lx *first[] = {p.number, zero};
  for (int64_t c = 1; c < x->steps.tile; c++) {
    const neo_lx *at[] = {p.number, lx_int(l, c)};
    set_logsum(l, body, r, first, join_logsums(l, logsum_in(l, r, first), logsum_in(l, r, at)));
  }
  const neo_lx *to = lx_add(l, lx_mul(l, p.at, width), neo_ln_part(x));
  neo_ls_store(l->k, body, x->part[acc], to, logsum_in(l, r, first).top, NULL);
  neo_ls_store(l->k, body, x->part[acc + 1], to, logsum_in(l, r, first).sum, NULL);
  body = open_row(x, in, &row);
  neo_type t = type_of(s);
  acc_reg one[2] = {{neo_lower_reg(l, body, "top", t, 1, 1, 1), 2, false, true, 0, 0},
                    {neo_lower_reg(l, body, "sum", t, 1, 1, 1), 2, false, true, 0, 0}};
  const neo_lx *at[] = {zero, zero};
  for (int64_t i = 0; i < width; i++) {
    const neo_lx *from = lx_add(l, lx_mul(l, row, width), lx_int(l, i));
    logsum y = {neo_lx_load(l->k, x->part[acc], from), neo_lx_load(l->k, x->part[acc + 1], from)};
    set_logsum(l, body, one, at, i ? join_logsums(l, logsum_in(l, one, at), y) : y);
  }
  logsum whole = end_logsum(l, logsum_in(l, one, at));
  neo_ls_store(l->k, body, x->row[acc], row, whole.top, NULL);
  neo_ls_store(l->k, body, x->row[acc + 1], row, whole.sum, NULL);
  x->done[acc] = x->done[acc + 1] = true;
}

static void reduce_logsum(nested_kernel *x, neo_block *in, const neo_stage *top,
                          const neo_stage *sum) {
  lowering *l = x->l;
  tile t = tile_of(x->rows.tile, x->steps.tile, 1);
  acc_reg own[2];
  point p[2];
  const neo_lx *cond;
  neo_ln_set_steps(x, top);
  for (uint32_t k = 0; k < 2; k++) {
    own[k] = (acc_reg){
        neo_gpu_thread_reg(l, in, k ? "sum" : "top", type_of(top), t.rows, t.cols, x->threads),
        2,
        true,
        true,
        0,
        0};
    l->acc[top->first_acc + k] = own[k];
  }
  neo_block *body = neo_ln_open_threads(x, in);
  neo_lower_clear_accs(l, body, top, &t);
  neo_lower_clear_accs(l, body, sum, &t);
  body = neo_ln_open_steps(x, in, top);
  neo_ln_inner_sums(x, body, top);
  body = neo_ln_open_threads(x, body);
  get_rows(x, body, &x->rows, NULL);
  body = neo_ln_open_points(x, body, top, &x->rows, &x->steps, p, &cond);
  const neo_lx *at[] = {p[0].number, p[1].number};
  logsum old = logsum_in(l, own, at);
  logsum y = {neo_lower_expr(l, top->accs.at[0].body), NULL};
  y.sum = real(l, y.top, 1);
  y = join_logsums(l, old, y);
  y.top = neo_lx_op3(l->k, NEO_OP_SELECT, cond, y.top, old.top);
  y.sum = neo_lx_op3(l->k, NEO_OP_SELECT, cond, y.sum, old.sum);
  set_logsum(l, body, own, at, y);
  neo_ln_end_points(x);
  neo_ln_close_steps(x);
  join_logsum_rows(x, in, top, own);
}

static void store_rows(nested_kernel *x, neo_block *in, const neo_stage *s) {
  lowering *l = x->l;
  const neo_lx *row;
  in = open_row(x, in, &row);
  const neo_lx *at = lx_add(l, x->rows.lo, row);
  in = &neo_ls_if(l->k, in, lx_lt(l, at, x->rows.total))->branch.then;
  neo_lower_facts(l, l->f, s);
  neo_ln_set_axes(l, s, x->rows.axes, at);
  get_rows(x, in, &x->rows, row);
  neo_lower_store_point(l, in, s, NULL);
}

static void row_buffers(nested_kernel *x) {
  lowering *l = x->l;
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    for (uint32_t i = 0; !s->over && i < s->accs.n; i++) {
      neo_type t = (neo_type)s->accs.at[i].type;
      x->part[s->first_acc + i] = neo_gpu_shared_buffer(
          l, "parts", t, x->rows.block * x->steps.threads, NEO_GPU_ALIGN_BYTES);
      x->row[s->first_acc + i] =
          neo_gpu_shared_buffer(l, "rows", t, x->rows.block, NEO_GPU_ALIGN_BYTES);
    }
  }
}

void neo_ln_rows(nested_kernel *x, neo_block *in) {
  row_buffers(x);
  for (size_t k = 0; k < x->l->f->stages.n; k++) {
    const neo_stage *s = &x->l->f->stages.at[k];
    if (s->over)
      continue;
    if (k + 1 < x->l->f->stages.n && neo_form_is_logsumexp(x->l->m, s, s + 1)) {
      reduce_logsum(x, in, s, s + 1);
      k++;
    } else if (s->accs.n)
      reduce_rows(x, in, s);
    else
      store_rows(x, in, s);
  }
}
