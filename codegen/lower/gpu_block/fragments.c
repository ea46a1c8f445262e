/* Layouts of a warp's operands (codegen/loop/warp.h) in shared memory, and loads of their
 * fragments. A fragment has 8 cells of 4 bytes along the sum: steps of f32, or pairs of steps of
 * bf16 and f16.
 *
 * An operand that is contiguous along the steps in memory is so in shared memory; of others a
 * step's rows are contiguous. Warps load matrices of 8 rows of 16 bytes by ldmatrix. A row has
 * steps, or, with transposition, rows of one step. Each thread computes once where its row of a
 * matrix begins:
 *
 *   at = place of (row, step) of the thread's row of a matrix        once
 *   ldmatrix       a[i], rows[at + 16*i*pitch + s*steps]             steps inside
 *   ldmatrix.trans a[i], rows[at + 16*i + s*steps*pitch]             rows inside, of 2 bytes
 *
 * ldmatrix cannot transpose elements of 4 bytes: if their rows are inside, threads load them one by
 * one.
 *
 * Fragments of 3xtf32 are split when they are loaded: a = tf32(x), low = tf32(x - a).
 *
 * There are no bank conflicts. For ldmatrix the pitch is an odd multiple of 16 bytes, so that the 8
 * rows of a matrix begin in different groups of 4 banks. For single elements threads read 8 rows at
 * 4 steps; the pitch is a multiple of 32 elements plus 8, so that the 4 steps begin in different
 * groups of 8 banks. In both layouts copies write 16 bytes to aligned addresses. */
#include "codegen/lower/gpu_block/block.h"

enum { BANKS = 32 };

static neo_block *open_threads(neo_products *x, neo_block *in) {
  return open_loop(x->l, in, NEO_LOOP_THREAD, "t", x->threads, &x->thread);
}

neo_mma_place neo_mma_place_of(neo_products *x) {
  lowering *l = x->l;
  int64_t width = x->o[1].block / x->o[1].tile;
  const neo_lx *warp = lx_div(l, x->thread, NEO_WARP);
  const neo_lx *lane = lx_mod(l, x->thread, lx_int(l, NEO_WARP));
  neo_mma_place p = {.group = lx_div(l, lane, 4), .in = lx_mod(l, lane, lx_int(l, 4))};
  p.at[0] = lx_mul(l, lx_div(l, warp, width), x->o[0].tile);
  p.at[1] = lx_mul(l, lx_mod(l, warp, lx_int(l, width)), x->o[1].tile);
  return p;
}

/* ---- layout */

static neo_type type_of(const neo_products *x, const operand *o) {
  return (neo_type)x->l->k->bufs.at[o->buf].type;
}

/* The number of elements in a row of a matrix, and of steps in 8 cells. */
static int64_t in_row(neo_type t) {
  return NEO_LDMATRIX_ROW_BYTES / neo_type_bytes(t);
}

static int64_t steps_of(const neo_products *x, const operand *o) {
  return 2 * in_row(type_of(x, o));
}

static bool by_matrices(const neo_products *x, const operand *o) {
  return o->steps_inside || neo_type_bytes(type_of(x, o)) == 2;
}

static int64_t odd_rows(int64_t n, int64_t row) {
  return n / row % 2 ? n : n + row;
}

int64_t neo_mma_operand(neo_products *x, operand *o, neo_type t) {
  o->steps_inside = o->along_steps;
  if (o->steps_inside)
    o->pitch = odd_rows(x->block_k, in_row(t));
  else if (neo_type_bytes(t) == 2)
    o->pitch = odd_rows(o->block, in_row(t));
  else
    o->pitch = o->block + (BANKS + 8 - o->block % BANKS) % BANKS;
  return o->pitch * (o->steps_inside ? o->block : x->block_k);
}

static const neo_lx *place_in(lowering *l, const operand *o, const neo_lx *row,
                              const neo_lx *step) {
  return lx_add(l, lx_mul(l, row, o->steps_inside ? o->pitch : 1),
                lx_mul(l, step, o->steps_inside ? 1 : o->pitch));
}

/* ---- registers */

int64_t neo_mma_fragments(const operand *o) {
  return o->tile / (o->side == NEO_SIDE_ROWS ? NEO_MMA_ROWS : NEO_MMA_COLUMNS);
}

void neo_mma_declare(neo_products *x, neo_block *in) {
  for (int k = 0; k < 2; k++) {
    operand *o = &x->o[k];
    neo_type cell = type_of(x, o) == NEO_F32_T ? NEO_F32_T : NEO_I32_T;
    o->value = neo_gpu_thread_reg(x->l, in, k ? "b" : "a", cell, neo_mma_fragments(o),
                                  k ? NEO_MMA_B : NEO_MMA_A, x->threads);
    if (x->warps == NEO_WARPS_3XTF32)
      o->low = neo_gpu_thread_reg(x->l, in, k ? "b_low" : "a_low", cell, neo_mma_fragments(o),
                                  k ? NEO_MMA_B : NEO_MMA_A, x->threads);
    if (by_matrices(x, o))
      o->at = neo_gpu_thread_reg(x->l, in, k ? "column" : "row", NEO_I64_T, 1, 1, x->threads);
  }
}

/* The first element of the thread's row of a matrix, in one fragment of rows or two of columns. */
static const neo_lx *row_of(neo_products *x, const operand *o, const neo_mma_place *p) {
  lowering *l = x->l;
  bool rows = o->side == NEO_SIDE_ROWS;
  const neo_lx *lane = lx_mod(l, x->thread, lx_int(l, NEO_WARP));
  const neo_lx *in = lx_mod(l, lane, lx_int(l, NEO_LDMATRIX_ROWS));
  const neo_lx *matrix = lx_div(l, lane, NEO_LDMATRIX_ROWS), *two = lx_int(l, 2);
  const neo_lx *half = rows ? lx_mod(l, matrix, two) : lx_div(l, matrix, 2);
  const neo_lx *far = rows ? lx_div(l, matrix, 2) : lx_mod(l, matrix, two);
  const neo_lx *row = lx_add(l, p->at[!rows], lx_mul(l, half, 8));
  const neo_lx *step = lx_mul(l, far, steps_of(x, o) / 2);
  return o->steps_inside ? place_in(l, o, lx_add(l, row, in), step)
                         : place_in(l, o, row, lx_add(l, step, in));
}

void neo_mma_set_rows(neo_products *x, neo_block *in) {
  lowering *l = x->l;
  neo_mma_place p = neo_mma_place_of(x);
  const neo_lx *zero[] = {lx_int(l, 0), lx_int(l, 0)};
  for (int k = 0; k < 2; k++)
    if (by_matrices(x, &x->o[k]))
      neo_ls_set(l->k, in, x->o[k].at, zero, 2, row_of(x, &x->o[k], &p));
}

/* ---- fragments */

static void read(neo_products *x, neo_block *in, const operand *o, neo_ldmatrix_op op, uint32_t buf,
                 const neo_lx *fragment, const neo_lx *step) {
  lowering *l = x->l;
  const neo_lx *zero[] = {lx_int(l, 0), lx_int(l, 0)};
  int64_t rows = o->side == NEO_SIDE_ROWS ? NEO_MMA_ROWS : NEO_MMA_COLUMNS;
  const neo_lx *at =
      lx_add(l, neo_lx_reg(l->k, o->at, zero, 2), place_in(l, o, lx_mul(l, fragment, rows), step));
  if (o->begin)
    at = lx_add(l, at, o->begin);
  neo_ls_ldmatrix(l->k, in, op, o->value, fragment, buf, at);
}

/* Loads four matrices at a time; the last one of an odd number of columns' fragments by itself. */
static void get_matrices(neo_products *x, neo_block *in, const operand *o, uint32_t buf,
                         const neo_lx *step) {
  lowering *l = x->l;
  int64_t n = neo_mma_fragments(o), each = o->side == NEO_SIDE_ROWS ? 1 : 2;
  const neo_lx *f;
  if (n / each) {
    neo_block *body = open_loop(l, in, NEO_LOOP_UNROLL, "f", n / each, &f);
    read(x, body, o, o->steps_inside ? NEO_LDMATRIX_X4 : NEO_LDMATRIX_X4_TRANS, buf,
         lx_mul(l, f, each), step);
  }
  if (n % each)
    read(x, in, o, o->steps_inside ? NEO_LDMATRIX_X2 : NEO_LDMATRIX_X2_TRANS, buf, lx_int(l, n - 1),
         step);
}

/* Loads single elements. Element e is at row group + 8*(e%2) and step in + 4*(e/2) of a fragment of
 * rows, and at column group and step in + 4*e of a fragment of columns. */
static void get_elements(neo_products *x, neo_block *in, const operand *o, const neo_mma_place *p,
                         uint32_t buf, const neo_lx *step) {
  lowering *l = x->l;
  bool rows = o->side == NEO_SIDE_ROWS;
  const neo_lx *i, *far, *down = lx_int(l, 0);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "f", neo_mma_fragments(o), &i);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "h", 2, &far);
  if (rows)
    in = open_loop(l, in, NEO_LOOP_UNROLL, "e", 2, &down);
  const neo_lx *row = lx_add(l, p->at[!rows], p->group);
  row = lx_add(l, row, lx_mul(l, i, rows ? NEO_MMA_ROWS : NEO_MMA_COLUMNS));
  row = lx_add(l, row, lx_mul(l, down, 8));
  step = lx_add(l, lx_add(l, p->in, step), lx_mul(l, far, 4));
  const neo_lx *e = rows ? lx_add(l, lx_mul(l, far, 2), down) : far;
  const neo_lx *at = place_in(l, o, row, step);
  if (o->begin)
    at = lx_add(l, at, o->begin);
  neo_ls_set(l->k, in, o->value, (const neo_lx *[]){i, e}, 2, neo_lx_load(l->k, buf, at));
}

/* Rounds fragments of an operand that was copied to shared memory without rounding. */
static void round_fragments(neo_products *x, neo_block *in, const operand *o) {
  lowering *l = x->l;
  const neo_lx *at[2];
  in = open_threads(x, in);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "f", neo_mma_fragments(o), &at[0]);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", l->k->regs.at[o->value].extent[1], &at[1]);
  neo_ls_set(l->k, in, o->value, at, 2,
             neo_lx_op1(l->k, NEO_OP_TF32, neo_lx_reg(l->k, o->value, at, 2)));
}

static void get_fragments(neo_products *x, neo_block *in, const uint32_t *buf, const neo_lx *step) {
  neo_block *body = NULL;
  neo_mma_place p;
  for (int k = 0; k < 2; k++)
    if (!by_matrices(x, &x->o[k])) {
      if (!body) {
        body = open_threads(x, in);
        p = neo_mma_place_of(x);
      }
      get_elements(x, body, &x->o[k], &p, buf[k], step);
    }
  for (int k = 0; k < 2; k++)
    if (by_matrices(x, &x->o[k]))
      get_matrices(x, in, &x->o[k], buf[k], step);
  for (int k = 0; k < 2; k++)
    if (x->o[k].rounded)
      round_fragments(x, in, &x->o[k]);
}

static void split_3xtf32(neo_products *x, neo_block *in) {
  lowering *l = x->l;
  neo_block *each = open_threads(x, in);
  for (int k = 0; k < 2; k++) {
    const operand *o = &x->o[k];
    const neo_lx *at[2];
    neo_block *body = open_loop(l, each, NEO_LOOP_UNROLL, "f", neo_mma_fragments(o), &at[0]);
    body = open_loop(l, body, NEO_LOOP_UNROLL, "e", k ? NEO_MMA_B : NEO_MMA_A, &at[1]);
    const neo_lx *whole = neo_lx_reg(l->k, o->value, at, 2);
    const neo_lx *high = neo_lx_op1(l->k, NEO_OP_TF32, whole);
    const neo_lx *rest = neo_lx_op2(l->k, NEO_OP_SUB, whole, high);
    neo_ls_set(l->k, body, o->low, at, 2, neo_lx_op1(l->k, NEO_OP_TF32, rest));
    neo_ls_set(l->k, body, o->value, at, 2, high);
  }
}

/* ---- products */

static neo_mma_op op_of(neo_warps kind) {
  return kind == NEO_WARPS_BF16 ? NEO_MMA_BF16 : kind == NEO_WARPS_F16 ? NEO_MMA_F16 : NEO_MMA_TF32;
}

static void add_products(neo_products *x, neo_block *in, uint32_t a, uint32_t b) {
  lowering *l = x->l;
  const neo_lx *i, *j;
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", neo_mma_fragments(&x->o[0]), &i);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", neo_mma_fragments(&x->o[1]), &j);
  const neo_lx *c = lx_add(l, lx_mul(l, i, neo_mma_fragments(&x->o[1])), j);
  neo_ls_mma(l->k, in, op_of(x->warps), (const uint32_t[]){x->acc, a, b},
             (const neo_lx *[]){c, i, j});
}

void neo_mma_multiply(neo_products *x, neo_block *in, const uint32_t *buf) {
  lowering *l = x->l;
  const neo_lx *s;
  int64_t steps = steps_of(x, &x->o[0]);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", x->block_k / steps, &s);
  get_fragments(x, in, buf, lx_mul(l, s, steps));
  if (x->warps == NEO_WARPS_3XTF32) { /* the small products are added first */
    split_3xtf32(x, in);
    add_products(x, in, x->o[0].low, x->o[1].value);
    add_products(x, in, x->o[0].value, x->o[1].low);
  }
  add_products(x, in, x->o[0].value, x->o[1].value);
}
