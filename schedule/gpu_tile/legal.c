/* Legality of tiles of thread blocks, and the axes of their operands. */
#include "fusion/form.h"
#include "schedule/gpu_tile/conditions.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/producer.h"
#include "schedule/gpu_tile/shape.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include "schedule/vector_access.h"

enum { REGISTERS = 200 /* a thread's, for its tile and operands */ };

/* ---- legality */

/* Fused own axes need ranges that do not depend on one another, on rows or on columns. */
static bool ranges_fixed(const neo_module *m, const neo_form *f, const neo_stage *s,
                         uint64_t tile) {
  for (size_t k = 0; k < s->axes.n; k++) {
    uint64_t axes = neo_form_axes(m, f, s->axes.at[k].lo) | neo_form_axes(m, f, s->axes.at[k].hi);
    if (axes >> f->axes.n || axes & tile)
      return false;
  }
  return true;
}

static bool one_type(neo_module *m, const neo_contraction *c, neo_type t) {
  for (uint32_t k = 0; k < c->n; k++)
    if (neo_expr_type(m, c->factor[k].e) != t)
      return false;
  return true;
}

static bool sides_legal(neo_module *m, const neo_form *f, const neo_contraction *c, uint64_t rows,
                        uint64_t columns, neo_str *why) {
  bool some[2] = {false, false};
  if (!rows || !columns || rows & columns || (rows | columns) >> f->axes.n)
    return reject(why, "row_axes and column_axes are shared axes, no axis in both");
  for (uint32_t k = 0; k < c->n; k++) {
    neo_side side = neo_factor_side(&c->factor[k], rows, columns);
    if (side == NEO_SIDE_BOTH)
      return reject(why, "a factor uses both rows and columns");
    some[side == NEO_SIDE_ROWS] = true;
  }
  const neo_stage *s = &f->stages.at[c->stage];
  if (!some[0] || !some[1])
    return reject(why, "rows or columns have no operand");
  if (!one_type(m, c, (neo_type)s->accs.at[0].type))
    return reject(why, "the factors are not of the sum's type");
  return ranges_fixed(m, f, s, rows | columns) ||
         reject(why, "the range of a step depends on rows, columns or other steps");
}

/* ---- products by warps */

enum { ROW_BYTES = 16 };
enum {
  GROUP_SHARED = 227 << 10,
  PHASES_BYTES = 64,
  GROUP_SUMS = 128,
  COUNTERS = 40,            /* registers of a thread for everything but sums and copies */
  FILE_REGISTERS = 64 << 10 /* a multiprocessor's, for a block's threads */
};

/* Copies have to replace all conditions, since warps cannot test one at a product. */
static bool warp_sides_legal(neo_module *m, const neo_form *f, const neo_contraction *c,
                             const neo_block_params *p, neo_str *why) {
  uint64_t rows = (uint64_t)p->row_axes, columns = (uint64_t)p->column_axes;
  return sides_legal(m, f, c, rows, columns, why) &&
         (neo_tile_copies_conditions(m, f, c, rows, columns) ||
          reject(why, "warps cannot multiply sums with a mask, only with edges of windows"));
}

/* An upper bound of the bytes of one buffer of an operand in shared memory. */
static int64_t warp_bytes(const neo_block_params *p, int64_t block, int64_t bytes) {
  int64_t row = ROW_BYTES / bytes, pad = bytes == 2 ? row : NEO_BLOCK_WARP;
  int64_t inside = block * (p->block_k + row);
  int64_t outside = p->block_k * (block + pad);
  return bytes * (inside > outside ? inside : outside);
}

enum { PLAIN_SHARED = 48 << 10 };

static bool tma_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_contraction *c, const neo_schedule *s) {
  neo_stages_box b;
  return s->block.tma == 1 && s->block.stages && machine->warpgroups &&
         s->block.products == NEO_THREADS_WARPGROUPS &&
         neo_stages_boxed(m, f, c, s, NEO_SIDE_ROWS, &b) &&
         neo_stages_boxed(m, f, c, s, NEO_SIDE_COLUMNS, &b);
}

static int64_t stages_shared(const neo_machine *machine, const neo_schedule *s) {
  return s->block.stages ? machine->shared_bytes : PLAIN_SHARED;
}

/* Whether the schedule's copies, stages and shared memory are legal; if not, *why (may be null)
 * gets the reason. */
static bool stages_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                         const neo_contraction *c, const neo_schedule *s, neo_str *why) {
  int64_t stages = s->block.stages;
  bool warps = s->block.products, rounded;
  bool groups = s->block.products == NEO_THREADS_WARPGROUPS;
  neo_contraction taken = *c;
  if (s->block.producer && !s->block.tma)
    return reject(why, "a producer needs tma");
  if (s->block.persistent && !s->block.producer)
    return reject(why, "persistent blocks need a producer, which prefetches the next tile");
  if (!stages)
    return !s->block.tma || reject(why, "tma needs stages");
  if (!machine->async)
    return reject(why, "stages need asynchronous copies, from sm_80 on");
  if (stages < 2 + groups || stages > NEO_STAGES_MOST)
    return reject(why, groups ? "stages of warpgroups are 0, or 3 to 6: two are multiplied"
                              : "stages is 0, or 2 to 6");
  int n = 0;
  if (warps)
    neo_threads_warps(m, f, &taken);
  for (int k = 0; k < 2; k++) {
    neo_side side = k ? NEO_SIDE_COLUMNS : NEO_SIDE_ROWS;
    n += neo_stages_source(m, &taken, s, side, warps && !groups ? &rounded : NULL).i != 0;
  }
  if (n < (warps ? 2 : 1))
    return reject(why, "stages are for operands that are copied without computing");
  return !s->block.tma || tma_legal(m, f, machine, &taken, s) ||
         reject(why, "tma is for warpgroups whose operands are boxes of tensors");
}

static bool warps_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_contraction *c, const neo_schedule *s, neo_str *why) {
  const neo_block_params *p = &s->block;
  int64_t tm = p->tile_m, tn = p->tile_n, bm = p->block_m;
  int64_t bn = p->block_n, bk = p->block_k, t = p->threads;
  neo_warps kind = neo_warps_on(m, f, machine, c);
  int64_t each = neo_warps_steps(kind), bytes = 4 / each;
  if (p->products != 1 || !kind)
    return reject(why,
                  "warps multiply two factors of tf32 or bf16 from sm_80 on, of f16 from sm_75 "
                  "on, or f32 as 3xtf32");
  if (tm < 1 || tn < 1 || bk < 1 || tm % NEO_WARP_ROWS || tn % NEO_WARP_COLUMNS ||
      bk % (each * NEO_WARP_CELLS) || bk > 64 || bm > 512 || bn > 512 || bm < tm || bn < tn ||
      bm % tm || bn % tn || bm / tm * (bn / tn) * NEO_BLOCK_WARP != t)
    return reject(why, "the warps' tiles do not divide the block");
  int64_t copies = (bm * bk + t - 1) / t + (bn * bk + t - 1) / t;
  int64_t parts = kind == NEO_WARPS_3XTF32 ? 2 : 1;
  if (tm * tn / NEO_BLOCK_WARP + parts * (tm + tn) / 4 + copies > REGISTERS || copies > 64)
    return reject(why, "a warp's tile needs too many registers");
  int64_t block = warp_bytes(p, bm, bytes) + warp_bytes(p, bn, bytes);
  if (neo_stages_buffers(s) * block + 256 > stages_shared(machine, s))
    return reject(why, "the operands' blocks exceed shared memory");
  return warp_sides_legal(m, f, c, p, why);
}

bool neo_block_copies_runs(neo_module *m, const neo_form *f, const neo_contraction *c) {
  enum { RUN = 4 };
  uint32_t n = (uint32_t)f->axes.n, own = n + (uint32_t)f->stages.at[c->stage].axes.n;
  for (uint32_t k = 0; k < c->n; k++) {
    bool runs = false;
    for (uint32_t axis = 0; axis < own && !runs; axis++)
      runs = c->factor[k].axes >> axis & 1 &&
             neo_vector_reads(m, f, c->factor[k].e, axis, RUN, &runs) && runs;
    if (!runs)
      return false;
  }
  return true;
}

static bool warpgroups_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                             const neo_contraction *c, const neo_schedule *s, neo_str *why) {
  const neo_block_params *p = &s->block;
  int64_t tm = p->tile_m, tn = p->tile_n, bm = p->block_m;
  int64_t bn = p->block_n, bk = p->block_k, t = p->threads;
  neo_warps kind = neo_warps_on(m, f, machine, c);
  if (!machine->warpgroups || !kind || kind == NEO_WARPS_3XTF32)
    return reject(why,
                  "warpgroups multiply two factors of tf32, bf16 or f16, on a GPU that has them");
  if (tm < 1 || tn < 1 || tm % NEO_BLOCK_GROUP_ROWS || tn % NEO_BLOCK_GROUP_COLUMNS || tn > 256 ||
      bm > 512 || bn > 512 || bm < tm || bn < tn || bm % tm || bn % tn ||
      bk != neo_warps_steps(kind) * NEO_BLOCK_GROUP_BYTES / 4 ||
      bm / tm * (bn / tn) * NEO_BLOCK_GROUP != t)
    return reject(why, "the warpgroups' tiles do not divide the block");
  if (p->stages && !neo_block_copies_runs(m, f, c))
    return reject(why, "stages of warpgroups are of operands that are copied several elements at a "
                       "time");
  int64_t sums = tm / NEO_BLOCK_GROUP_ROWS * tn / 2;
  int64_t copies = p->stages ? 0 : (bm + bn) * bk / t;
  if (sums > GROUP_SUMS || sums + copies > REGISTERS ||
      t * (sums + copies + COUNTERS) > FILE_REGISTERS)
    return reject(why, "a warpgroup's tile needs too many registers");
  int64_t most = p->stages ? stages_shared(machine, s) : GROUP_SHARED;
  int64_t phases = PHASES_BYTES * (p->tma + p->producer);
  if (neo_stages_buffers(s) * NEO_BLOCK_GROUP_BYTES * (bm + bn) + phases > most)
    return reject(why, "the operands' blocks exceed shared memory");
  return neo_producer_legal(machine, s, why) && neo_persistent_legal(m, f, s, why) &&
         warp_sides_legal(m, f, c, p, why);
}

bool neo_gpu_tile_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why) {
  const neo_block_params *p = &s->block;
  neo_contraction c;
  if (neo_form_row_block(f))
    return reject(why, "row blocks have neither lanes nor tiles");
  if (p->threads < 1 || p->threads > NEO_BLOCK_MOST)
    return reject(why, "a block has 1 to 1024 threads");
  if (!neo_contraction_of(m, f, &c))
    return reject(why, "tiles of thread blocks are for contractions");
  if (!stages_legal(m, f, machine, &c, s, why))
    return false;
  if (p->products == NEO_THREADS_WARPGROUPS)
    return warpgroups_legal(m, f, machine, &c, s, why);
  if (p->products)
    return warps_legal(m, f, machine, &c, s, why);
  int64_t tm = p->tile_m, tn = p->tile_n, bm = p->block_m;
  int64_t bn = p->block_n, bk = p->block_k, t = p->threads;
  int64_t words = neo_type_bytes((neo_type)f->stages.at[c.stage].accs.at[0].type) > 4 ? 2 : 1;
  if (tm < 1 || tm > 16 || tn < 1 || tn > 16 || bk < 1 || bk > 64 || bm < tm || bn < tn ||
      bm > 512 || bn > 512 || bm % tm || bn % tn || bm / tm * (bn / tn) != t)
    return reject(why, "the threads' tiles do not divide the block");
  int64_t copies = (bm * bk + t - 1) / t + (bn * bk + t - 1) / t;
  if ((tm * tn + tm + tn + copies) * words > REGISTERS || copies > 64 ||
      (t > 256 && (tm * tn + tm + tn + copies) * words > 40))
    return reject(why, "a thread's tile needs too many registers");
  int64_t elements = bk * (bm + bn + 2 * NEO_THREADS_PAD);
  if (neo_stages_buffers(s) * elements * 4 * words + 128 > stages_shared(machine, s))
    return reject(why, "the operands' blocks exceed shared memory");
  return sides_legal(m, f, &c, (uint64_t)p->row_axes, (uint64_t)p->column_axes, why);
}

/* ---- axes of operands, threads of tiles */

bool neo_threads_axes(neo_module *m, const neo_form *f, const neo_contraction *c, uint64_t *rows,
                      uint64_t *columns) {
  uint64_t shared = (1ULL << f->axes.n) - 1, first = 0;
  (void)m;
  for (uint32_t k = 0; k < c->n && !first; k++)
    if (c->factor[k].axes >> f->axes.n)
      first = c->factor[k].axes & shared;
  *rows = first;
  *columns = 0;
  for (uint32_t k = 0; k < c->n; k++) { /* axes that only some factors have */
    uint64_t axes = c->factor[k].axes & shared;
    if (axes & ~first)
      *rows &= ~axes, *columns |= axes & ~first;
  }
  for (uint32_t k = 0; k < c->n; k++)
    if (neo_factor_side(&c->factor[k], *rows, *columns) == NEO_SIDE_BOTH)
      return false;
  return *rows && *columns;
}

int64_t neo_gpu_tile_sharers(const neo_block_params *p) {
  return p->products == NEO_THREADS_WARPGROUPS ? NEO_BLOCK_GROUP : p->products ? NEO_BLOCK_WARP : 1;
}
