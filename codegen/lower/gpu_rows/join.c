/* Tree reduction of the partial sums of a block's lanes: parts [lane] and [lane + n/2] become part
 * [lane], for n = LANES, LANES/2 and so on down to 2. So the order of additions follows from LANES
 * alone.
 *
 * Parts of different warps are reduced in shared memory, RADIX of them between two barriers; the
 * last of these steps is done redundantly by all warps. Parts within a warp are reduced by shuffles
 * (loop.h), without shared memory and barriers. At the end all lanes have the sums in registers.
 *
 *   for t in 0..256 thread                                LANES = 256
 *     sums[t] = sum
 *   for t in 0..256 thread
 *     sum = sums[t%32] + .. + sums[t%32 + 224]            in the order of the tree
 *   shuffle other, sum down 16 of 32
 *   for t in 0..256 thread
 *     sum = sum + other                                   and so on, down to 1
 *   shuffle sum, sum first 1 of 32 */
#include "base/whole.h"
#include "codegen/lower/gpu_rows/rows.h"

enum { RADIX = 8 };

static const tile one = {.m_axis = -1, .n_axis = -1, .rows = 1, .cols = 1, .width = 1};

int64_t neo_gpu_rows_lanes_in_warp(const rows_kernel *p) {
  int64_t stride = neo_gpu_rows_stride(p), most = NEO_WARP / stride;
  if (!neo_is_power_of_2(stride) || most < 2)
    return 1;
  return p->lanes < most ? p->lanes : most;
}

/* ---- parts of one element: registers that neo_lower_join_lanes takes */

/* The index of element e in a register. */
static void index_of(const rows_kernel *p, int64_t e, const neo_lx **index) {
  index[0] = index[1] = lx_int(p->l, 0);
  index[2] = lx_int(p->l, e);
}

static uint8_t rank_of(const rows_kernel *p) {
  return p->lanes_shared && p->width > 1 ? 3 : 2;
}

static int64_t elements(const rows_kernel *p) {
  return p->lanes_shared ? p->width : 1;
}

typedef const neo_lx *part_of(rows_kernel *p, const void *from, uint32_t acc, int64_t e, int64_t i);

/* sum = the reduction of the n parts of each element. */
static void join_parts(rows_kernel *p, neo_block *in, const neo_stage *s, int64_t n, part_of *part,
                       const void *from) {
  lowering *l = p->l;
  tile parts = one;
  parts.width = n;
  for (int64_t e = 0; e < elements(p); e++) {
    const neo_lx *index[3], *zero = lx_int(l, 0);
    for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++) {
      neo_type type = (neo_type)s->accs.at[k - s->first_acc].type;
      uint32_t reg = neo_lower_reg(l, in, "part", type, 1, 1, n);
      for (int64_t i = 0; i < n; i++)
        neo_ls_set(l->k, in, reg, (const neo_lx *[]){zero, zero, lx_int(l, i)}, 3,
                   part(p, from, k, e, i));
      l->acc[k] = (acc_reg){reg, 3, false, true, 0, 0};
    }
    neo_lower_join_lanes(l, in, s, &parts, &parts);
    index_of(p, e, index);
    for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
      neo_ls_set(l->k, in, p->sum[k], index, rank_of(p), neo_lower_acc(l, k));
  }
}

static void use_sums(rows_kernel *p, const neo_stage *s) {
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
    p->l->acc[k] = (acc_reg){p->sum[k], rank_of(p), false, true, 0, 0};
}

/* ---- shared memory: element e of thread t at e*threads + t */

typedef struct {
  const neo_lx *at; /* place of the first part */
  int64_t stride;
} place;

static const neo_lx *part_in_memory(rows_kernel *p, const void *from, uint32_t acc, int64_t e,
                                    int64_t i) {
  lowering *l = p->l;
  const place *x = from;
  const neo_lx *at = lx_add(l, x->at, lx_int(l, e * p->threads + i * x->stride));
  return neo_lx_load(l->k, p->sums[acc], at);
}

static void put_in_memory(rows_kernel *p, neo_block *in, const neo_stage *s) {
  lowering *l = p->l;
  const neo_lx *index[3];
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
    for (int64_t e = 0; e < elements(p); e++) {
      index_of(p, e, index);
      neo_ls_store(l->k, in, p->sums[k], lx_add(l, p->thread, lx_int(l, e * p->threads)),
                   neo_lx_reg(l->k, p->sum[k], index, rank_of(p)), NULL);
    }
}

/* The place of the parts of lane 0 of the thread's point. */
static const neo_lx *base_of(rows_kernel *p) {
  lowering *l = p->l;
  if (p->lanes == 1)
    return p->thread;
  return lx_sub(l, p->thread, lx_mul(l, p->lane, neo_gpu_rows_stride(p)));
}

static neo_block *for_lanes_below(rows_kernel *p, neo_block *in, int64_t n) {
  if (n >= p->lanes)
    return in;
  lowering *l = p->l;
  return &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, p->lane, lx_int(l, n)))->branch.then;
}

/* Parts [lane + n*i] become part [lane], for lanes below n. The last time, if all lanes need the
 * sums, every warp does this. */
static void join_in_memory(rows_kernel *p, neo_block *in, const neo_stage *s, int64_t n,
                           int64_t radix, bool last, bool all) {
  lowering *l = p->l;
  in = neo_gpu_rows_open_threads(p, in);
  if (!last || !all)
    in = for_lanes_below(p, in, n);
  int64_t stride = neo_gpu_rows_stride(p);
  const neo_lx *lane = lx_mul(l, lx_mod(l, p->lane, lx_int(l, n)), stride);
  place x = {last && all ? lx_add(l, base_of(p), lane) : p->thread, n * stride};
  join_parts(p, in, s, radix, part_in_memory, &x);
  if (!last)
    put_in_memory(p, in, s);
}

/* ---- shuffles */

static const neo_lx *part_in_warp(rows_kernel *p, const void *from, uint32_t acc, int64_t e,
                                  int64_t i) {
  const uint32_t *other = from;
  const neo_lx *index[3];
  index_of(p, e, index);
  return neo_lx_reg(p->l->k, i ? other[acc] : p->sum[acc], index, rank_of(p));
}

static void declare_others(rows_kernel *p, neo_block *in, const neo_stage *s, uint32_t *other) {
  lowering *l = p->l;
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++) {
    neo_reg r = l->k->regs.at[p->sum[k]];
    r.name = "other";
    other[k] = neo_kernel_reg(l->k, r);
    neo_ls_reg(l->k, in, other[k]);
  }
}

static void join_in_warps(rows_kernel *p, neo_block *in, const neo_stage *s, int64_t n) {
  lowering *l = p->l;
  uint32_t other[MAX_ACCS];
  int64_t stride = neo_gpu_rows_stride(p), of = n * stride;
  declare_others(p, in, s, other);
  while (n > 1) {
    n /= 2;
    for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
      neo_ls_shuffle(l->k, in, other[k], p->sum[k], NEO_SHUFFLE_DOWN, n * stride, of);
    join_parts(p, neo_gpu_rows_open_threads(p, in), s, 2, part_in_warp, other);
  }
}

static void first_in_warps(rows_kernel *p, neo_block *in, const neo_stage *s, int64_t n) {
  int64_t stride = neo_gpu_rows_stride(p);
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
    neo_ls_shuffle(p->l->k, in, p->sum[k], p->sum[k], NEO_SHUFFLE_FIRST, stride, n * stride);
}

/* ---- both */

static void put_all_in_memory(rows_kernel *p, neo_block *in, const neo_stage *s) {
  put_in_memory(p, neo_gpu_rows_open_threads(p, in), s);
}

void neo_gpu_rows_join(rows_kernel *p, neo_block *in, const neo_stage *s, bool all) {
  int64_t n = p->lanes, inside = neo_gpu_rows_lanes_in_warp(p);
  if (n > inside)
    put_all_in_memory(p, in, s);
  while (n > inside) {
    int64_t radix = n / inside < RADIX ? n / inside : RADIX;
    n /= radix;
    join_in_memory(p, in, s, n, radix, n == inside, all);
  }
  if (n > 1)
    join_in_warps(p, in, s, n);
  if (n > 1 && all)
    first_in_warps(p, in, s, n);
  use_sums(p, s);
}

void neo_gpu_rows_broadcast(rows_kernel *p, neo_block *in, const neo_stage *s) {
  int64_t inside = neo_gpu_rows_lanes_in_warp(p);
  if (p->lanes > 1 && p->lanes == inside) {
    first_in_warps(p, in, s, inside);
  } else if (p->lanes > 1) {
    put_all_in_memory(p, in, s);
    in = neo_gpu_rows_open_threads(p, in);
    place x = {base_of(p), 0};
    const neo_lx *index[3];
    for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
      for (int64_t e = 0; e < elements(p); e++) {
        index_of(p, e, index);
        neo_ls_set(p->l->k, in, p->sum[k], index, rank_of(p), part_in_memory(p, &x, k, e, 0));
      }
  }
  use_sums(p, s);
}
