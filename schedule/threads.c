/* Blocks of threads: legality, and the model's choice.
 *
 * The model counts what the machine has (132 multiprocessors of 2,048 threads) against what there
 * is to do. A contraction takes the largest tile of its table that still makes a block for each
 * multiprocessor, or the one with most blocks; larger tiles read each operand less often. A
 * reduction takes as many lanes as give the machine enough threads, and no more than there are
 * steps to divide; where what it reads is contiguous along an own axis, at least a warp's worth of
 * them, so that a warp's accesses are neighbours. */
#include "schedule/threads.h"
#include "base/random.h"
#include "fusion/form.h"
#include "schedule/conditions.h"
#include "schedule/keep.h"
#include "schedule/model.h"
#include "schedule/producer.h"
#include "schedule/stages.h"
#include "schedule/wide.h"

enum {
  MOST_THREADS = 1024,
  WARP = 32,
  SHARED_BYTES = 48 << 10, /* of a block, on every generation and without asking for more */
  REGISTERS = 200,         /* of a thread, for its tile and operands */
  MULTIPROCESSORS = 132,
  BUSY_THREADS = 132 * 1024
};

bool neo_schedule_has_threads(const neo_schedule *s) {
  const int64_t *p = s->at;
  return p[NEO_SCHED_THREADS] || p[NEO_SCHED_LANES] || p[NEO_SCHED_ACROSS] ||
         p[NEO_SCHED_ROW_AXES] || p[NEO_SCHED_COLUMN_AXES] || p[NEO_SCHED_STAGES] ||
         p[NEO_SCHED_BULK] || p[NEO_SCHED_PRODUCER];
}

static bool no(neo_str *why, const char *what) {
  if (why)
    neo_str_add(why, what);
  return false;
}

/* ---- legality */

static bool others_plain(const neo_schedule *s, bool tiles) {
  neo_schedule plain = neo_schedule_plain();
  for (int k = 0; k < NEO_SCHED_COUNT; k++) {
    bool of_tiles = k == NEO_SCHED_TILE_M || k == NEO_SCHED_TILE_N || k == NEO_SCHED_BLOCK_M ||
                    k == NEO_SCHED_BLOCK_N || k == NEO_SCHED_BLOCK_K || k == NEO_SCHED_ROW_AXES ||
                    k == NEO_SCHED_COLUMN_AXES || k == NEO_SCHED_MATRIX || k == NEO_SCHED_STAGES ||
                    k == NEO_SCHED_BULK || k == NEO_SCHED_PRODUCER;
    bool of_points = k == NEO_SCHED_LANES || k == NEO_SCHED_ACROSS || k == NEO_SCHED_VECTOR_AXIS ||
                     k == NEO_SCHED_VECTOR_WIDTH || k == NEO_SCHED_UNROLL_K || k == NEO_SCHED_KEEP;
    if (k == NEO_SCHED_THREADS || (tiles ? of_tiles : of_points))
      continue;
    if (s->at[k] != plain.at[k])
      return false;
  }
  return true;
}

static bool is_power(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/* Vectors: none, or along own axes, or of neighbouring points, where there are whole ones. */
static bool wide_legal(neo_module *m, const neo_form *f, const int64_t *p, neo_str *why) {
  int64_t v = p[NEO_SCHED_VECTOR_AXIS], w = p[NEO_SCHED_VECTOR_WIDTH], n = (int64_t)f->axes.n;
  if (!is_power(w) || w > NEO_WIDE_BYTES || (v >= 0) != (w > 1))
    return no(why, "a vector_axis and a vector_width of 2 to 16 go together");
  if (v != -1 && v != n && v != n - 1)
    return no(why, "vector_axis is the last shared axis, or the own ones");
  if (v == n && !neo_form_has_own_axes(f))
    return no(why, "there are no own axes");
  if (v >= 0 && v < n &&
      (!neo_wide_multiple(m, f->axes.at[v].hi, w) || neo_form_bound_axes(m, f) >> v & 1))
    return no(why, "points side by side have the same steps, and no rest");
  return true;
}

/* What a thread has of a row is all written out, and registers hold it. */
static bool keep_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why) {
  enum { REGISTERS_IN_ALL = 64 << 10, OTHERS = 40, MOST = 128 };
  const int64_t *p = s->at;
  int64_t chunk = p[NEO_SCHED_LANES] * p[NEO_SCHED_VECTOR_WIDTH], words = 0;
  if (!p[NEO_SCHED_KEEP])
    return true;
  neo_keeps keeps = neo_keep_find(m, f, s);
  if (p[NEO_SCHED_KEEP] != 1 || !keeps.n || keeps.row > chunk * p[NEO_SCHED_UNROLL_K])
    return no(why, "keep is for values of a row that its threads have as a whole");
  for (uint32_t k = 0; k < keeps.n; k++)
    words += neo_expr_type(m, keeps.at[k].value) == NEO_F64_T ? 2 : 1;
  words *= (keeps.row + chunk - 1) / chunk * p[NEO_SCHED_VECTOR_WIDTH];
  return (words <= MOST && (words + OTHERS) * p[NEO_SCHED_THREADS] <= REGISTERS_IN_ALL) ||
         no(why, "there are fewer registers than what is kept");
}

static bool points_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why) {
  enum { MOST_WRITTEN_OUT = 64 };
  const int64_t *p = s->at;
  int64_t wide = p[NEO_SCHED_VECTOR_AXIS] < (int64_t)f->axes.n ? p[NEO_SCHED_VECTOR_WIDTH] : 1;
  uint32_t accs = 0;
  int64_t bytes = 0;
  if (!is_power(p[NEO_SCHED_LANES]) || p[NEO_SCHED_THREADS] % p[NEO_SCHED_LANES])
    return no(why, "lanes is no power of two that divides threads");
  if (p[NEO_SCHED_ACROSS] < 0 || p[NEO_SCHED_ACROSS] > 1)
    return no(why, "across is 0 or 1");
  if (p[NEO_SCHED_UNROLL_K] < 1 ||
      p[NEO_SCHED_UNROLL_K] * p[NEO_SCHED_VECTOR_WIDTH] > MOST_WRITTEN_OUT)
    return no(why, "unroll_k of points is 1 or more, of vectors at most 64 elements");
  if (!wide_legal(m, f, p, why) || !keep_legal(m, f, s, why))
    return false;
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].accs.n; i++, accs++)
      bytes += 64 + wide * p[NEO_SCHED_THREADS] *
                        neo_type_bytes((neo_type)f->stages.at[k].accs.at[i].type);
  return (accs <= 16 && bytes <= SHARED_BYTES) ||
         no(why, "there are more partial sums than shared memory holds");
}

/* Own axes are walked as one: each range by itself, the same for all rows and columns. */
static bool ranges_fixed(const neo_module *m, const neo_form *f, const neo_stage *s,
                         uint64_t tile) {
  for (size_t k = 0; k < s->axes.n; k++) {
    uint64_t axes = neo_expr_axes(m, s->axes.at[k].lo) | neo_expr_axes(m, s->axes.at[k].hi);
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
    return no(why, "row_axes and column_axes are shared axes, no axis in both");
  for (uint32_t k = 0; k < c->n; k++) {
    neo_side side = neo_factor_side(&c->factor[k], rows, columns);
    if (side == NEO_SIDE_BOTH)
      return no(why, "a factor has rows and columns");
    some[side == NEO_SIDE_ROWS] = true;
  }
  const neo_stage *s = &f->stages.at[c->stage];
  if (!some[0] || !some[1])
    return no(why, "there is no operand for rows, or none for columns");
  if (!one_type(m, c, (neo_type)s->accs.at[0].type))
    return no(why, "the factors are not of the sum's type");
  return ranges_fixed(m, f, s, rows | columns) ||
         no(why, "the range of a step depends on rows, columns or other steps");
}

/* ---- products by warps */

enum { WARP_ROWS = 16, WARP_COLUMNS = 8, WARP_CELLS = 8, ROW_BYTES = 16 };
enum {
  GROUP = 128, /* threads of a warpgroup */
  GROUP_ROWS = 64,
  GROUP_COLUMNS = 8,
  GROUP_BYTES = 128, /* of a row's steps in a half of shared memory */
  GROUP_SHARED = 227 << 10,
  PHASES_BYTES = 64,
  GROUP_SUMS = 128,
  COUNTERS = 40,            /* registers for all else */
  FILE_REGISTERS = 64 << 10 /* of a multiprocessor, for a block's threads */
};

neo_warps neo_factor_warps(neo_module *m, neo_expr *e) {
  const neo_node *n = neo_expr_node(m, *e);
  if (n->type == NEO_F32_T && n->op == NEO_OP_TF32)
    return NEO_WARPS_TF32;
  if (n->type != NEO_F32_T || n->op != NEO_OP_CAST)
    return NEO_WARPS_NONE;
  neo_expr from = neo_list_expr(m, n->arg, 0);
  neo_type t = neo_expr_type(m, from);
  if (t != NEO_BF16_T && t != NEO_F16_T)
    return NEO_WARPS_NONE;
  *e = from;
  return t == NEO_BF16_T ? NEO_WARPS_BF16 : NEO_WARPS_F16;
}

/* Two factors that were rounded, for each step that a row has for each column. */
neo_warps neo_threads_warps(neo_module *m, const neo_form *f, neo_contraction *c) {
  const neo_stage *s = &f->stages.at[c->stage];
  neo_warps other = m->math == NEO_PRECISION_3XTF32 ? NEO_WARPS_3XTF32 : NEO_WARPS_NONE;
  if (s->accs.at[0].type != NEO_F32_T)
    return NEO_WARPS_NONE;
  if (c->n != 2)
    return other;
  neo_expr e[] = {c->factor[0].e, c->factor[1].e};
  neo_warps kind = neo_factor_warps(m, &e[0]);
  if (!kind || kind != neo_factor_warps(m, &e[1]))
    return other;
  for (int k = 0; k < 2; k++)
    c->factor[k].e = e[k];
  return kind;
}

static int64_t cell_steps(neo_warps kind) {
  return kind == NEO_WARPS_BF16 || kind == NEO_WARPS_F16 ? 2 : 1;
}

/* Copies have to make up for all conditions: there is nobody to test them at a product. */
static bool warp_sides_legal(neo_module *m, const neo_form *f, const neo_contraction *c,
                             const int64_t *p, neo_str *why) {
  uint64_t rows = (uint64_t)p[NEO_SCHED_ROW_AXES], columns = (uint64_t)p[NEO_SCHED_COLUMN_AXES];
  return sides_legal(m, f, c, rows, columns, why) &&
         (neo_tile_copies_conditions(m, f, c, rows, columns) ||
          no(why, "warps take no sums with a mask, only windows' edges"));
}

/* None where the machine has no such products. */
static neo_warps kind_on(neo_module *m, const neo_form *f, const neo_machine *machine,
                         const neo_contraction *c) {
  neo_contraction copy = *c;
  neo_warps kind = neo_threads_warps(m, f, &copy);
  return machine->warps >= (kind == NEO_WARPS_F16 ? 75 : 80) ? kind : NEO_WARPS_NONE;
}

/* Bytes of a half of an operand in shared memory, at most. */
static int64_t warp_bytes(const int64_t *p, neo_sched_param block, int64_t bytes) {
  int64_t row = ROW_BYTES / bytes, pad = bytes == 2 ? row : WARP;
  int64_t inside = p[block] * (p[NEO_SCHED_BLOCK_K] + row);
  int64_t outside = p[NEO_SCHED_BLOCK_K] * (p[block] + pad);
  return bytes * (inside > outside ? inside : outside);
}

static bool warps_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_contraction *c, const neo_schedule *s, neo_str *why) {
  const int64_t *p = s->at;
  int64_t tm = p[NEO_SCHED_TILE_M], tn = p[NEO_SCHED_TILE_N], bm = p[NEO_SCHED_BLOCK_M];
  int64_t bn = p[NEO_SCHED_BLOCK_N], bk = p[NEO_SCHED_BLOCK_K], t = p[NEO_SCHED_THREADS];
  neo_warps kind = kind_on(m, f, machine, c);
  int64_t each = cell_steps(kind), bytes = 4 / each;
  if (p[NEO_SCHED_MATRIX] != 1 || !kind)
    return no(why, "warps multiply two factors of tf32 or bf16 from sm_80 on, of f16 from sm_75 "
                   "on, or f32 as 3xtf32");
  if (tm < 1 || tn < 1 || bk < 1 || tm % WARP_ROWS || tn % WARP_COLUMNS ||
      bk % (each * WARP_CELLS) || bk > 64 || bm > 512 || bn > 512 || bm < tm || bn < tn ||
      bm % tm || bn % tn || bm / tm * (bn / tn) * WARP != t)
    return no(why, "the tiles of the warps are not the block's");
  int64_t copies = (bm * bk + t - 1) / t + (bn * bk + t - 1) / t;
  int64_t parts = kind == NEO_WARPS_3XTF32 ? 2 : 1;
  if (tm * tn / WARP + parts * (tm + tn) / 4 + copies > REGISTERS || copies > 64)
    return no(why, "a warp's tile has more registers than there are");
  int64_t block = warp_bytes(p, NEO_SCHED_BLOCK_M, bytes) + warp_bytes(p, NEO_SCHED_BLOCK_N, bytes);
  if (neo_stages_buffers(s) * block + 256 > neo_stages_shared(machine, s))
    return no(why, "the operands' blocks are more than shared memory holds");
  return warp_sides_legal(m, f, c, p, why);
}

/* Are the operands copied several elements at a time, along one axis or the other? Single ones take
 * a thread many registers, so that blocks of steps are better short. */
static bool copies_runs(neo_module *m, const neo_form *f, const neo_contraction *c) {
  enum { RUN = 4 };
  uint32_t n = (uint32_t)f->axes.n, own = n + (uint32_t)f->stages.at[c->stage].axes.n;
  for (uint32_t k = 0; k < c->n; k++) {
    bool runs = false;
    for (uint32_t axis = 0; axis < own && !runs; axis++)
      runs = c->factor[k].axes >> axis & 1 &&
             neo_wide_reads(m, f, c->factor[k].e, axis, RUN, &runs) && runs;
    if (!runs)
      return false;
  }
  return true;
}

static bool warpgroups_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                             const neo_contraction *c, const neo_schedule *s, neo_str *why) {
  const int64_t *p = s->at;
  int64_t tm = p[NEO_SCHED_TILE_M], tn = p[NEO_SCHED_TILE_N], bm = p[NEO_SCHED_BLOCK_M];
  int64_t bn = p[NEO_SCHED_BLOCK_N], bk = p[NEO_SCHED_BLOCK_K], t = p[NEO_SCHED_THREADS];
  neo_warps kind = kind_on(m, f, machine, c);
  if (!machine->warpgroups || !kind || kind == NEO_WARPS_3XTF32)
    return no(why, "warpgroups multiply two factors of tf32, bf16 or f16 on sm_90a");
  if (tm < 1 || tn < 1 || tm % GROUP_ROWS || tn % GROUP_COLUMNS || tn > 256 || bm > 512 ||
      bn > 512 || bm < tm || bn < tn || bm % tm || bn % tn ||
      bk != cell_steps(kind) * GROUP_BYTES / 4 || bm / tm * (bn / tn) * GROUP != t)
    return no(why, "the tiles of the warpgroups are not the block's");
  if (p[NEO_SCHED_STAGES] && !copies_runs(m, f, c))
    return no(why, "stages of warpgroups are of operands that are copied several elements at a "
                   "time");
  int64_t sums = tm / GROUP_ROWS * tn / 2;
  int64_t copies = p[NEO_SCHED_STAGES] ? 0 : (bm + bn) * bk / t;
  if (sums > GROUP_SUMS || sums + copies > REGISTERS ||
      t * (sums + copies + COUNTERS) > FILE_REGISTERS)
    return no(why, "a warpgroup's tile has more registers than there are");
  int64_t most = p[NEO_SCHED_STAGES] ? neo_stages_shared(machine, s) : GROUP_SHARED;
  int64_t phases = PHASES_BYTES * (p[NEO_SCHED_BULK] + p[NEO_SCHED_PRODUCER]);
  if (neo_stages_buffers(s) * GROUP_BYTES * (bm + bn) + phases > most)
    return no(why, "the operands' blocks are more than shared memory holds");
  return neo_producer_legal(s, why) && warp_sides_legal(m, f, c, p, why);
}

static int64_t operand_elements(const int64_t *p, neo_sched_param block) {
  return p[NEO_SCHED_BLOCK_K] * (p[block] + NEO_THREADS_PAD);
}

static bool tiles_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why) {
  const int64_t *p = s->at;
  neo_contraction c;
  if (!neo_contraction_of(m, f, &c))
    return no(why, "tiles of blocks are for sums of products");
  if (!neo_stages_legal(m, f, machine, &c, s, why))
    return false;
  if (p[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    return warpgroups_legal(m, f, machine, &c, s, why);
  if (p[NEO_SCHED_MATRIX])
    return warps_legal(m, f, machine, &c, s, why);
  int64_t tm = p[NEO_SCHED_TILE_M], tn = p[NEO_SCHED_TILE_N], bm = p[NEO_SCHED_BLOCK_M];
  int64_t bn = p[NEO_SCHED_BLOCK_N], bk = p[NEO_SCHED_BLOCK_K], t = p[NEO_SCHED_THREADS];
  int64_t words = neo_type_bytes((neo_type)f->stages.at[c.stage].accs.at[0].type) > 4 ? 2 : 1;
  if (tm < 1 || tm > 16 || tn < 1 || tn > 16 || bk < 1 || bk > 64 || bm < tm || bn < tn ||
      bm > 512 || bn > 512 || bm % tm || bn % tn || bm / tm * (bn / tn) != t)
    return no(why, "the tiles of the threads are not the block's");
  int64_t copies = (bm * bk + t - 1) / t + (bn * bk + t - 1) / t;
  if ((tm * tn + tm + tn + copies) * words > REGISTERS || copies > 64 ||
      (t > 256 && (tm * tn + tm + tn + copies) * words > 40))
    return no(why, "a thread's tile has more registers than there are");
  int64_t elements =
      operand_elements(p, NEO_SCHED_BLOCK_M) + operand_elements(p, NEO_SCHED_BLOCK_N);
  if (neo_stages_buffers(s) * elements * 4 * words + 128 > neo_stages_shared(machine, s))
    return no(why, "the operands' blocks are more than shared memory holds");
  return sides_legal(m, f, &c, (uint64_t)p[NEO_SCHED_ROW_AXES], (uint64_t)p[NEO_SCHED_COLUMN_AXES],
                     why);
}

bool neo_threads_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_schedule *s, neo_str *why) {
  const int64_t *p = s->at;
  if (!machine->gpu)
    return no(why, "threads are for GPUs");
  if (p[NEO_SCHED_THREADS] < 1 || p[NEO_SCHED_THREADS] > MOST_THREADS)
    return no(why, "a block has 1 to 1024 threads");
  if (!others_plain(s, !p[NEO_SCHED_LANES]))
    return no(why, "blocks of threads have no parameters of other kinds of schedules");
  return p[NEO_SCHED_LANES] ? points_legal(m, f, s, why) : tiles_legal(m, f, machine, s, why);
}

/* ---- axes of operands */

bool neo_threads_axes(neo_module *m, const neo_form *f, const neo_contraction *c, uint64_t *rows,
                      uint64_t *columns) {
  uint64_t shared = (1ULL << f->axes.n) - 1, first = 0;
  (void)m;
  for (uint32_t k = 0; k < c->n && !first; k++)
    if (c->factor[k].axes >> f->axes.n)
      first = c->factor[k].axes & shared;
  *rows = first;
  *columns = 0;
  for (uint32_t k = 0; k < c->n; k++) { /* what only some of them have */
    uint64_t axes = c->factor[k].axes & shared;
    if (axes & ~first)
      *rows &= ~axes, *columns |= axes & ~first;
  }
  for (uint32_t k = 0; k < c->n; k++)
    if (neo_factor_side(&c->factor[k], *rows, *columns) == NEO_SIDE_BOTH)
      return false;
  return *rows && *columns;
}

/* ---- the model's choice */

static double points_of(neo_module *m, const neo_form *f, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < f->axes.n; k++)
    if (axes >> k & 1)
      n *= (double)neo_axis_most(m, &f->axes.at[k]);
  return n;
}

static double steps_of(neo_module *m, const neo_stage *s) {
  double n = 1;
  for (size_t k = 0; k < s->axes.n; k++)
    n *= (double)neo_axis_most(m, &s->axes.at[k]);
  return n;
}

typedef struct {
  int64_t block_m, block_n, block_k, tile_m, tile_n;
} tile_shape;

/* Largest first. */
static const tile_shape shapes[] = {{128, 128, 8, 8, 8}, {128, 64, 16, 8, 4}, {64, 128, 16, 4, 8},
                                    {64, 64, 16, 4, 4},  {64, 32, 16, 4, 2},  {32, 64, 16, 2, 4},
                                    {32, 32, 16, 2, 2},  {16, 16, 16, 1, 1}};

/* By warps, whose tiles these are. */
static const tile_shape warp_shapes[] = {
    {128, 128, 16, 64, 32}, {128, 64, 16, 32, 32}, {64, 128, 16, 32, 32}, {64, 64, 16, 32, 32},
    {64, 32, 16, 32, 16},   {32, 64, 16, 16, 32},  {32, 32, 16, 16, 16},  {16, 32, 16, 16, 8}};

/* By warpgroups. */
static const tile_shape group_shapes[] = {{128, 256, 32, 64, 256}, {128, 128, 32, 64, 128},
                                          {128, 64, 32, 64, 64},   {64, 128, 32, 64, 64},
                                          {64, 64, 32, 64, 64},    {64, 32, 32, 64, 32}};

static void set_shape(neo_schedule *s, const tile_shape *x) {
  int64_t *p = s->at;
  p[NEO_SCHED_BLOCK_M] = x->block_m;
  p[NEO_SCHED_BLOCK_N] = x->block_n;
  p[NEO_SCHED_BLOCK_K] = x->block_k;
  p[NEO_SCHED_TILE_M] = x->tile_m;
  p[NEO_SCHED_TILE_N] = x->tile_n;
  p[NEO_SCHED_THREADS] = x->block_m / x->tile_m * (x->block_n / x->tile_n);
}

static void set_warp_shape(neo_schedule *s, const tile_shape *x) {
  set_shape(s, x);
  s->at[NEO_SCHED_MATRIX] = 1;
  s->at[NEO_SCHED_THREADS] *= WARP;
}

static void set_group_shape(neo_schedule *s, const tile_shape *x) {
  set_shape(s, x);
  s->at[NEO_SCHED_MATRIX] = NEO_THREADS_WARPGROUPS;
  s->at[NEO_SCHED_THREADS] *= GROUP;
}

static double ceil_div(double x, int64_t n) {
  int64_t q = (int64_t)x / n;
  return (double)(q + ((double)(q * n) < x));
}

/* Time of a step of the whole product: blocks run in rounds of one a multiprocessor, of which each
 * takes what its tile computes, and what it has to read. */
static double shape_cost(const tile_shape *x, double rows, double columns, double batches) {
  enum { READ = 24 }; /* what an element to be staged costs, in multiplications */
  double blocks = ceil_div(rows, x->block_m) * ceil_div(columns, x->block_n) * batches;
  double rounds = ceil_div(blocks, MULTIPROCESSORS);
  double area = (double)(x->block_m * x->block_n), loads = (double)(x->tile_m * x->tile_n);
  double shared = 1 + 1.5 * (double)(x->tile_m + x->tile_n) / loads;
  return rounds * (area * shared + READ * (double)(x->block_m + x->block_n));
}

typedef struct {
  const tile_shape *at;
  size_t n;
  void (*set)(neo_schedule *s, const tile_shape *x);
} shape_table;
#define TABLE(shapes, set) ((shape_table){shapes, sizeof shapes / sizeof *shapes, set})

/* A warpgroup's least tile is large: where rows, columns or steps are fewer, warps waste less; and
 * its steps are many, if they are of 2 bytes, which is no good where each is copied by itself. */
static shape_table shapes_for(const neo_machine *machine, bool runs, double rows, double columns,
                              double steps) {
  enum { LEAST_ROWS = 48, LEAST_COLUMNS = 24, LEAST_STEPS = 64 };
  if (machine->warpgroups && runs && rows >= LEAST_ROWS && columns >= LEAST_COLUMNS &&
      steps >= LEAST_STEPS)
    return TABLE(group_shapes, set_group_shape);
  return TABLE(warp_shapes, set_warp_shape);
}

/* Where it is legal. */
static void try_value(neo_module *m, const neo_form *f, const neo_machine *machine,
                      neo_sched_param k, int64_t value, neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!neo_threads_legal(m, f, machine, s, NULL))
    s->at[k] = old;
}

static double longest_sum(neo_module *m, const neo_form *f) {
  double most = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    double n = steps_of(m, &f->stages.at[k]);
    most = n > most ? n : most;
  }
  return most;
}

neo_schedule neo_threads_staged(neo_module *m, const neo_form *f, const neo_machine *machine,
                                const neo_schedule *s) {
  neo_machine small = *machine;
  neo_schedule y = *s;
  small.shared_bytes = neo_stages_budget(machine, s);
  for (y.at[NEO_SCHED_STAGES] = neo_stages_wanted(s); machine->async && y.at[NEO_SCHED_STAGES] >= 2;
       y.at[NEO_SCHED_STAGES]--)
    if (neo_threads_legal(m, f, &small, &y, NULL)) {
      try_value(m, f, &small, NEO_SCHED_BULK, 1, &y);
      if (neo_producer_wanted(&y, longest_sum(m, f)))
        try_value(m, f, &small, NEO_SCHED_PRODUCER, 1, &y);
      return y;
    }
  return *s;
}

static bool choose_tiles(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out) {
  enum { LEAST = 16 };
  neo_contraction c;
  uint64_t rows, columns, all = (1ULL << f->axes.n) - 1;
  if (!neo_contraction_of(m, f, &c) || !neo_threads_axes(m, f, &c, &rows, &columns))
    return false;
  double n_rows = points_of(m, f, rows), n_columns = points_of(m, f, columns), best = 0;
  double batches = points_of(m, f, all & ~rows & ~columns);
  double steps = steps_of(m, &f->stages.at[c.stage]);
  if (n_rows < LEAST || n_columns < LEAST || steps < LEAST)
    return false;
  bool found = false;
  neo_warps warps = kind_on(m, f, machine, &c);
  if (!neo_tile_copies_conditions(m, f, &c, rows, columns))
    warps = NEO_WARPS_NONE;
  shape_table table = TABLE(shapes, set_shape);
  int64_t each = warps && copies_runs(m, f, &c) ? cell_steps(warps) : 1;
  if (warps)
    table = shapes_for(machine, each == cell_steps(warps) && warps != NEO_WARPS_3XTF32, n_rows,
                       n_columns, steps);
  for (size_t k = 0; k < table.n; k++) {
    neo_schedule s = neo_schedule_plain();
    double cost = shape_cost(&table.at[k], n_rows, n_columns, batches);
    table.set(&s, &table.at[k]);
    s.at[NEO_SCHED_BLOCK_K] *= each;
    s.at[NEO_SCHED_ROW_AXES] = (int64_t)rows;
    s.at[NEO_SCHED_COLUMN_AXES] = (int64_t)columns;
    if (found && cost >= best)
      continue;
    s = neo_threads_staged(m, f, machine, &s);
    if (!neo_threads_legal(m, f, machine, &s, NULL))
      continue;
    *out = s;
    best = cost;
    found = true;
  }
  return found;
}

/* How much lies contiguous along an axis: loads of the stages. */
typedef struct {
  neo_module *m;
  uint32_t axis;
  int n;
} census;

static void count(void *ctx, neo_expr e) {
  census *c = ctx;
  int64_t stride;
  bool load = neo_expr_node(c->m, e)->op == NEO_OP_LOAD && neo_expr_node(c->m, e)->arg.n;
  c->n += load && neo_flat_stride(c->m, neo_flat_at(c->m, e), c->axis, &stride) && stride == 1;
}

static int contiguous(neo_module *m, const neo_stage *s, uint32_t axis) {
  census c = {m, axis, 0};
  neo_stage_visit(m, s, count, &c);
  return c.n;
}

/* How many elements may be read and written as one, 16 bytes of the narrowest tensor or 8 elements:
 * of rows, or of columns. */
static int64_t widest_of(neo_module *m, const neo_form *f, bool rows) {
  enum { MOST = 8 };
  int64_t n = 2;
  for (size_t k = 0; k < f->windows.n; k++) {
    int64_t bytes = neo_type_bytes((neo_type)neo_tensor_at(m, f->windows.at[k].tensor)->type);
    n = NEO_WIDE_BYTES / bytes > n ? NEO_WIDE_BYTES / bytes : n;
  }
  n = n > MOST ? MOST : n;
  while (n > 1 && !(rows ? neo_wide_rows(m, f, n) : neo_wide_columns(m, f, n)))
    n /= 2;
  return n;
}

static neo_schedule points_schedule(const neo_form *f, int64_t lanes, bool rows, int64_t wide) {
  enum { BLOCK = 256 };
  neo_schedule s = neo_schedule_plain();
  s.at[NEO_SCHED_LANES] = lanes;
  s.at[NEO_SCHED_ACROSS] = !rows;
  s.at[NEO_SCHED_THREADS] = lanes < BLOCK ? BLOCK : lanes;
  s.at[NEO_SCHED_VECTOR_WIDTH] = wide;
  if (wide > 1)
    s.at[NEO_SCHED_VECTOR_AXIS] = (int64_t)f->axes.n - !rows;
  return s;
}

/* A row that is read once: as many lanes as have it in some registers each. */
static bool keep_row(neo_module *m, const neo_form *f, const neo_machine *machine, double points,
                     int64_t wide, neo_schedule *out) {
  enum { ELEMENTS = 32, FEW = 4 }; /* a thread waits for all that it has of a row at once */
  neo_schedule s = points_schedule(f, WARP, true, wide);
  neo_keeps keeps = neo_keep_find(m, f, &s);
  if (!keeps.n)
    return false;
  int64_t lanes = 1, groups = (keeps.row + wide - 1) / wide;
  int64_t most = ELEMENTS / (keeps.n > 2 ? 2 : 1);
  while (lanes < groups && (lanes < WARP || groups * wide > lanes * most))
    lanes *= 2;
  while (lanes * 2 <= groups && lanes < 256 && points * (double)lanes < BUSY_THREADS / FEW)
    lanes *= 2;
  if (lanes > MOST_THREADS)
    return false;
  s = points_schedule(f, lanes, true, wide);
  s.at[NEO_SCHED_UNROLL_K] = (groups + lanes - 1) / lanes;
  s.at[NEO_SCHED_KEEP] = 1;
  *out = s;
  return neo_threads_legal(m, f, machine, &s, NULL);
}

static int64_t written_out(double steps) {
  enum { MOST = 4 };
  return steps >= MOST ? MOST : steps >= 2 ? 2 : 1;
}

static bool choose_rows(neo_module *m, const neo_form *f, const neo_machine *machine,
                        double longest, neo_schedule *out) {
  enum { MOST_LANES = 256, FEW = 4, LEAST = 16 };
  double points = points_of(m, f, ~0ULL);
  int64_t wide = widest_of(m, f, true), lanes = 1;
  if (keep_row(m, f, machine, points, wide, out))
    return true;
  double steps = longest / (double)wide, least = wide > 1 ? 2 : FEW;
  if (longest < LEAST)
    return false;
  while (lanes < MOST_LANES && (double)lanes * least <= steps &&
         (lanes < WARP || points * (double)lanes < BUSY_THREADS))
    lanes *= 2;
  *out = points_schedule(f, lanes, true, wide);
  out->at[NEO_SCHED_UNROLL_K] = written_out(steps / (double)lanes);
  return lanes > 1 && neo_threads_legal(m, f, machine, out, NULL);
}

/* Neighbouring threads have 64 bytes side by side at least, where there are as many columns. */
static bool choose_columns(neo_module *m, const neo_form *f, const neo_machine *machine,
                           double longest, neo_schedule *out) {
  enum { BLOCK = 256, FEW = 4, LINE = 16 };
  double points = points_of(m, f, ~0ULL);
  int64_t wide = widest_of(m, f, false), lanes = 1;
  double side = points < LINE ? points : LINE; /* elements */
  while (lanes < BLOCK && (double)(lanes * FEW) <= longest && points * (double)lanes < BUSY_THREADS)
    lanes *= 2;
  if (lanes == 1 && wide == 1)
    return false;
  *out = points_schedule(f, lanes, false, wide);
  while (out->at[NEO_SCHED_THREADS] < MOST_THREADS &&
         (double)(out->at[NEO_SCHED_THREADS] / lanes * wide) < side)
    out->at[NEO_SCHED_THREADS] *= 2;
  out->at[NEO_SCHED_UNROLL_K] = written_out(longest / (double)lanes);
  return neo_threads_legal(m, f, machine, out, NULL);
}

static bool choose_points(neo_module *m, const neo_form *f, const neo_machine *machine,
                          neo_schedule *out) {
  double longest = 1;
  int along = 0, across = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    double steps = steps_of(m, s);
    longest = steps > longest ? steps : longest;
    if (s->axes.n)
      along += contiguous(m, s, (uint32_t)(f->axes.n + s->axes.n - 1));
    if (s->axes.n && f->axes.n)
      across += contiguous(m, s, (uint32_t)f->axes.n - 1);
  }
  if (longest < 2)
    return false;
  return along > across ? choose_rows(m, f, machine, longest, out)
                        : choose_columns(m, f, machine, longest, out);
}

bool neo_model_threads(neo_module *m, const neo_form *f, const neo_machine *machine,
                       neo_schedule *out) {
  return choose_tiles(m, f, machine, out) || choose_points(m, f, machine, out);
}

/* ---- random ones, for tests: small, since tests interpret them */

static int64_t pick(uint64_t *seed, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(seed) % (uint64_t)(hi - lo + 1));
}

static bool random_tiles(neo_module *m, const neo_form *f, const neo_machine *machine,
                         const neo_contraction *c, uint64_t *seed, neo_schedule *out) {
  uint64_t rows, columns;
  if (!neo_threads_axes(m, f, c, &rows, &columns))
    return false;
  if (pick(seed, 0, 1)) { /* the other way round, and not all of the axes */
    uint64_t swap = rows;
    rows = columns;
    columns = swap;
  }
  if (pick(seed, 0, 3) == 0 && rows & (rows - 1))
    rows &= rows - 1;
  int64_t tm = pick(seed, 1, 5), tn = pick(seed, 1, 5);
  int64_t tall = 1 << pick(seed, 0, 3), wide = 1 << pick(seed, 0, 4);
  tile_shape x = {tm * tall, tn * wide, pick(seed, 1, 9), tm, tn};
  set_shape(out, &x);
  neo_warps warps = kind_on(m, f, machine, c);
  if (warps && pick(seed, 0, 3)) {
    x.tile_m = WARP_ROWS * pick(seed, 1, 2);
    x.tile_n = WARP_COLUMNS * pick(seed, 1, 3);
    x.block_m = x.tile_m * pick(seed, 1, 2);
    x.block_n = x.tile_n * pick(seed, 1, 2);
    x.block_k = WARP_CELLS * cell_steps(warps) * pick(seed, 1, 2);
    set_warp_shape(out, &x);
  }
  if (machine->warpgroups && warps && warps != NEO_WARPS_3XTF32 && pick(seed, 0, 2) == 0) {
    x = (tile_shape){.block_k = cell_steps(warps) * GROUP_BYTES / 4, .tile_m = GROUP_ROWS};
    x.tile_n = pick(seed, 0, 3) ? GROUP_COLUMNS * pick(seed, 1, 4) : 64;
    x.tile_m *= pick(seed, 0, 3) ? 1 : 2;
    x.block_m = x.tile_m * pick(seed, 1, 2);
    x.block_n = x.tile_n * pick(seed, 1, 2);
    set_group_shape(out, &x);
  }
  out->at[NEO_SCHED_ROW_AXES] = (int64_t)rows;
  out->at[NEO_SCHED_COLUMN_AXES] = (int64_t)columns;
  out->at[NEO_SCHED_STAGES] = pick(seed, 0, 1) ? pick(seed, 2, 4) : 0;
  if (!neo_threads_legal(m, f, machine, out, NULL))
    out->at[NEO_SCHED_STAGES] = 0;
  if (out->at[NEO_SCHED_STAGES] && out->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    try_value(m, f, machine, NEO_SCHED_BULK, pick(seed, 0, 2) > 0, out);
  if (out->at[NEO_SCHED_BULK])
    try_value(m, f, machine, NEO_SCHED_PRODUCER, pick(seed, 0, 1), out);
  return true;
}

static void random_vectors(neo_module *m, const neo_form *f, const neo_machine *machine,
                           uint64_t *seed, neo_schedule *s) {
  neo_schedule wide = *s;
  wide.at[NEO_SCHED_VECTOR_AXIS] = (int64_t)f->axes.n - pick(seed, 0, 1);
  wide.at[NEO_SCHED_VECTOR_WIDTH] = 1 << pick(seed, 1, 3);
  if (pick(seed, 0, 2) && neo_threads_legal(m, f, machine, &wide, NULL))
    *s = wide;
  try_value(m, f, machine, NEO_SCHED_UNROLL_K, pick(seed, 1, 6), s);
  try_value(m, f, machine, NEO_SCHED_KEEP, pick(seed, 0, 3) > 0, s);
}

bool neo_threads_random(neo_module *m, const neo_form *f, const neo_machine *machine,
                        uint64_t *seed, neo_schedule *out) {
  neo_contraction c;
  *out = neo_schedule_plain();
  if (pick(seed, 0, 4) == 0)
    return false;
  if (neo_contraction_of(m, f, &c) && pick(seed, 0, 3) &&
      random_tiles(m, f, machine, &c, seed, out))
    return true;
  out->at[NEO_SCHED_LANES] = 1 << pick(seed, 0, 5);
  out->at[NEO_SCHED_THREADS] = out->at[NEO_SCHED_LANES] * pick(seed, 1, 3);
  out->at[NEO_SCHED_ACROSS] = pick(seed, 0, 1);
  random_vectors(m, f, machine, seed, out);
  return true;
}
