/* A contraction's tile whose products are those of warps (codegen/warp.h): TILE_M by TILE_N of the
 * block's rows and columns are a warp's, in fragments of 16 by 8.
 *
 *   for u in 0..units unit
 *     for t in 0..threads thread: acc = 0; one half of rows, columns <- steps 0..BLOCK_K
 *     for k in 0..steps step 2*BLOCK_K
 *       each half in turn:
 *         for t in 0..threads thread: next <- the BLOCK_K steps after these
 *         for s in 0..BLOCK_K/8 unroll
 *           for t in 0..threads thread: fragments a[i], b[j] <- shared memory
 *           warp acc[i, j] += a[i] * b[j]
 *         for t in 0..threads thread: the other half = next
 *     for t in 0..threads thread: stages after it, at each element of the fragments
 *
 * Halves are buffers of their own, so that one is read while the other is written, with one barrier
 * for both.
 *
 * Banks: the threads of a warp read, of an operand, 8 rows at 4 steps. Where it lies contiguous in
 * memory along the steps, so it does here, with a pitch of 4 more than a multiple of 8: 8 rows
 * begin in different groups of 4 banks. Else a step's rows lie together, with a pitch of 8 more
 * than a multiple of 32: 4 steps begin in different groups of 8. Either way each bank is read once,
 * and both begin at multiples of 16 bytes, by which copies write. */
#include "codegen/lower_block.h"

enum { BANKS = 32, HALVES = 2 };

typedef struct { /* of a thread of a warp */
  const neo_lx *at[2];    /* the warp's first row and column */
  const neo_lx *group, *in; /* the thread's number is 4*group + in */
} place;

static place place_of(block_tile *x) {
  lowering *l = x->l;
  int64_t wide = x->o[1].block / x->o[1].tile;
  const neo_lx *warp = lx_div(l, x->thread, NEO_WARP);
  const neo_lx *lane = lx_mod(l, x->thread, lx_int(l, NEO_WARP));
  place p = {.group = lx_div(l, lane, 4), .in = lx_mod(l, lane, lx_int(l, 4))};
  p.at[0] = lx_mul(l, lx_div(l, warp, wide), x->o[0].tile);
  p.at[1] = lx_mul(l, lx_mod(l, warp, lx_int(l, wide)), x->o[1].tile);
  return p;
}

int64_t neo_btile_warp_operand(block_tile *x, operand *o) {
  o->steps_inside = o->along_steps;
  o->pitch = o->steps_inside ? x->block_k + 4 : o->block + (BANKS + 8 - o->block % BANKS) % BANKS;
  return o->pitch * (o->steps_inside ? o->block : x->block_k);
}

/* ---- fragments */

static int64_t fragments_of(const operand *o) {
  return o->tile / (o->side == NEO_SIDE_ROWS ? NEO_WARP_ROWS : NEO_WARP_COLUMNS);
}

static uint32_t fragments(block_tile *x, neo_block *in, const char *name, int64_t n,
                          int64_t elements, neo_type t) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = 2, .threads = x->threads};
  r.extent[0] = n;
  r.extent[1] = elements;
  uint32_t reg = neo_kernel_reg(x->l->k, r);
  neo_ls_reg(x->l->k, in, reg);
  return reg;
}

/* Those of an operand at eight steps from `step` of a half on: element e is at row group + 8*(e%2)
 * and step in + 4*(e/2) of a fragment of rows, at column group and step in + 4*e of one of columns.
 */
static void get_fragments(block_tile *x, neo_block *in, operand *o, const place *p, uint32_t buf,
                          const neo_lx *step) {
  lowering *l = x->l;
  bool rows = o->side == NEO_SIDE_ROWS;
  const neo_lx *i, *far, *down, *zero = lx_int(l, 0);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "f", fragments_of(o), &i);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "h", 2, &far);
  down = zero;
  if (rows)
    in = open_loop(l, in, NEO_LOOP_UNROLL, "e", 2, &down);
  const neo_lx *row = lx_add(l, p->at[!rows], p->group);
  row = lx_add(l, row, lx_mul(l, i, rows ? NEO_WARP_ROWS : NEO_WARP_COLUMNS));
  row = lx_add(l, row, lx_mul(l, down, 8));
  step = lx_add(l, lx_add(l, p->in, step), lx_mul(l, far, 4));
  const neo_lx *at = lx_add(l, lx_mul(l, row, o->steps_inside ? o->pitch : 1),
                            lx_mul(l, step, o->steps_inside ? 1 : o->pitch));
  const neo_lx *e = rows ? lx_add(l, lx_mul(l, far, 2), down) : far;
  neo_ls_set(l->k, in, o->value, (const neo_lx *[]){i, e}, 2, neo_lx_load(l->k, buf, at));
}

/* ---- the sum */

static void multiply(block_tile *x, neo_block *in, const uint32_t *buf) {
  lowering *l = x->l;
  const neo_lx *s, *i, *j;
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", x->block_k / NEO_WARP_STEPS, &s);
  neo_block *body = open_threads(x, in);
  place p = place_of(x);
  for (int k = 0; k < 2; k++)
    get_fragments(x, body, &x->o[k], &p, buf[k], lx_mul(l, s, NEO_WARP_STEPS));
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", fragments_of(&x->o[0]), &i);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", fragments_of(&x->o[1]), &j);
  const neo_lx *c = lx_add(l, lx_mul(l, i, fragments_of(&x->o[1])), j);
  neo_ls_warp(l->k, in, NEO_WARP_TF32,
              (const uint32_t[]){x->acc, x->o[0].value, x->o[1].value},
              (const neo_lx *[]){c, i, j});
}

static void begin(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *at[2], *zero = lx_int(l, 0);
  neo_type t = (neo_type)l->k->bufs.at[x->o[0].buf].type;
  int64_t n[] = {fragments_of(&x->o[0]), fragments_of(&x->o[1])};
  x->acc = fragments(x, in, "acc", n[0] * n[1], NEO_WARP_C, t);
  x->o[0].value = fragments(x, in, "a", n[0], NEO_WARP_A, t);
  x->o[1].value = fragments(x, in, "b", n[1], NEO_WARP_B, t);
  neo_btile_declare_next(x, in, true);
  in = open_threads(x, in);
  neo_block *clear = open_loop(l, in, NEO_LOOP_UNROLL, "f", n[0] * n[1], &at[0]);
  clear = open_loop(l, clear, NEO_LOOP_UNROLL, "e", NEO_WARP_C, &at[1]);
  neo_ls_set(l->k, clear, x->acc, at, 2, neo_btile_zero(l, t));
  for (int k = 0; k < 2; k++) {
    neo_btile_get_next(x, in, &x->o[k], zero);
    neo_btile_put_next(x, in, &x->o[k], x->o[k].buf, zero);
  }
}

/* Steps k + half*BLOCK_K and so on, which lie in that half. */
static void sum_half(block_tile *x, neo_block *in, const neo_lx *k, int half) {
  lowering *l = x->l;
  uint32_t now[2], then[2];
  for (int i = 0; i < 2; i++) {
    now[i] = half ? x->o[i].other : x->o[i].buf;
    then[i] = half ? x->o[i].buf : x->o[i].other;
  }
  neo_block *body = open_threads(x, in);
  for (int i = 0; i < 2; i++)
    neo_btile_get_next(x, body, &x->o[i], lx_add(l, k, lx_int(l, (half + 1) * x->block_k)));
  multiply(x, in, now);
  body = open_threads(x, in);
  for (int i = 0; i < 2; i++)
    neo_btile_put_next(x, body, &x->o[i], then[i], lx_int(l, 0));
}

static void sum(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *k;
  begin(x, in);
  in = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, HALVES * x->block_k, &k);
  sum_half(x, in, k, 0);
  const neo_lx *next = lx_add(l, k, lx_int(l, x->block_k));
  sum_half(x, &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, next, x->steps))->body, k, 1);
  neo_lower_close(l);
}

/* ---- the stages that store */

static void store(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *i, *j, *down, *beside, *at[2];
  in = open_threads(x, in);
  place p = place_of(x);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", fragments_of(&x->o[0]), &i);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "h", 2, &down);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", fragments_of(&x->o[1]), &j);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", 2, &beside);
  at[0] = lx_add(l, lx_add(l, p.at[0], p.group), lx_mul(l, i, NEO_WARP_ROWS));
  at[0] = lx_add(l, at[0], lx_mul(l, down, 8));
  at[1] = lx_add(l, lx_add(l, p.at[1], lx_mul(l, p.in, 2)), lx_mul(l, j, NEO_WARP_COLUMNS));
  at[1] = lx_add(l, at[1], beside);
  const neo_lx *index[] = {lx_add(l, lx_mul(l, i, fragments_of(&x->o[1])), j),
                           lx_add(l, lx_mul(l, down, 2), beside)};
  neo_btile_store_point(x, in, at, neo_lx_reg(l->k, x->acc, index, 2));
}

void neo_btile_warps(block_tile *x, neo_block *in) {
  sum(x, in);
  store(x, in);
}
