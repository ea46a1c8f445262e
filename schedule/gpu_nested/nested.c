/* Thread blocks for nested reductions: legality, cost and choice (nested.h). The cost counts the
 * cycles of a multiprocessor's blocks, which run one after the other. Each block of steps has the
 * multiplications of the inner sums and of the product, their reads of shared memory, and the
 * copies into it. */
#include "schedule/gpu_nested/nested.h"
#include "base/whole.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/model.h"
#include "schedule/reject.h"

enum { REGISTERS = 160, MOST_REGISTERS = 240, MOST_THREADS = 256 };
enum { OWN_BYTES = 1 << 10 }; /* shared memory that the system reserves for each block */
enum { WARP = 32, WARP_ROWS = 16, WARP_COLUMNS = 8 };
enum { CELL_BYTES = 4, CELLS = 8 };

/* ---- products by warps */

neo_type neo_warps_type(neo_warps kind) {
  return kind == NEO_WARPS_BF16 ? NEO_BF16_T : kind == NEO_WARPS_F16 ? NEO_F16_T : NEO_F32_T;
}

static neo_warps kind_of(neo_module *m, neo_nested_factors *a, neo_nested_factors *b) {
  if (a->n == 1 && b->n == 1) {
    neo_expr e[] = {a->at[0], b->at[0]};
    neo_warps kind = neo_factor_warps(m, &e[0]);
    if (kind && kind == neo_factor_warps(m, &e[1])) {
      a->at[0] = e[0];
      b->at[0] = e[1];
      return kind;
    }
  }
  return m->math == NEO_PRECISION_3XTF32 ? NEO_WARPS_3XTF32 : NEO_WARPS_NONE;
}

neo_nested_warps neo_nested_warps_of(neo_module *m, const neo_form *f, neo_nested *n) {
  neo_nested_warps x = {.on = true};
  for (uint32_t k = 0; k < n->n_sums; k++) {
    x.sum[k] = kind_of(m, &n->sum[k].rows, &n->sum[k].steps);
    x.on = x.on && x.sum[k] && f->stages.at[n->sum[k].stage].accs.at[0].type == NEO_F32_T;
  }
  if (n->columns) {
    x.product = kind_of(m, &n->of_rows, &n->of_columns);
    x.on = x.on && x.product;
  }
  return x;
}

/* Steps of the sum that eight cells of a fragment hold. */
static int64_t fragment_steps(neo_warps kind) {
  return CELL_BYTES * CELLS / neo_type_bytes(neo_warps_type(kind));
}

int64_t neo_nested_depth(neo_module *m, const neo_form *f, const neo_nested_sum *x, neo_warps kind,
                         bool *whole) {
  enum { MOST_BYTES = 256, PART_BYTES = 128 };
  const neo_stage *s = &f->stages.at[x->stage];
  int64_t n = 1, bytes = neo_type_bytes(neo_warps_type(kind)), each;
  *whole = true;
  for (size_t k = s->over; k < s->axes.n; k++) {
    *whole = *whole && neo_expr_is_int(m, s->axes.at[k].hi, &each) && each > 0 && each < 1 << 20;
    n = *whole && n < 1 << 20 ? n * each : n;
  }
  n = neo_round_up(n, fragment_steps(kind));
  *whole = *whole && n * bytes <= MOST_BYTES;
  return *whole ? n : PART_BYTES / bytes;
}

typedef struct {
  int64_t threads, bm, bn, bk, tm, tn, wide, tk, stages;
  bool product, warps;
} shape;

static shape shape_of(const neo_nested *n, const neo_schedule *s) {
  const neo_nested_params *p = &s->nested;
  shape x = {p->threads, p->block_m, p->block_n, p->block_k,      p->tile_m,       p->tile_n,
             0,          0,          p->stages,  n->columns != 0, p->products != 0};
  if (x.tm > 0 && x.bm >= x.tm)
    x.wide = x.threads / (x.warps ? WARP : 1) / (x.bm / x.tm);
  if (x.wide > 0)
    x.tk = x.bk / x.wide;
  return x;
}

/* ---- legality */

static bool divides(int64_t a, int64_t b) {
  return a > 0 && b > 0 && b % a == 0;
}

static int64_t word_bytes(const neo_form *f) {
  int64_t most = 4;
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].accs.n; i++) {
      int64_t n = neo_type_bytes((neo_type)f->stages.at[k].accs.at[i].type);
      most = n > most ? n : most;
    }
  return most;
}

static uint32_t host_accs(const neo_form *f) {
  uint32_t n = 0;
  for (size_t k = 0; k < f->stages.n; k++)
    n += f->stages.at[k].over ? 0 : (uint32_t)f->stages.at[k].accs.n;
  return n;
}

static int64_t threads_shared(const neo_form *f, const shape *x) {
  int64_t pad = NEO_THREADS_PAD, operands = NEO_NESTED_STEPS * (x->bm + x->bk + 2 * pad);
  if (x->product)
    return word_bytes(f) * (operands + x->bk * (x->bm + pad) + x->bk * (x->bn + pad));
  return word_bytes(f) * (operands + host_accs(f) * x->bm * (x->wide + 1));
}

static uint32_t last_axis(uint64_t axes) {
  return 63 - (uint32_t)__builtin_clzll(axes);
}

bool neo_nested_along_steps(neo_module *m, const neo_form *f, const neo_nested_factors *x,
                            uint64_t points, uint64_t steps) {
  bool along = false;
  for (uint32_t k = 0; k < x->n; k++) {
    if (neo_expr_unit_stride(m, f, x->at[k], last_axis(points)))
      return false;
    along = along || neo_expr_unit_stride(m, f, x->at[k], last_axis(steps));
  }
  return along;
}

/* An upper bound of the shared memory of an operand that warps multiply
 * (lower/gpu_block/fragments.c). */
static int64_t operand_bytes(int64_t points, int64_t steps, neo_warps kind, bool along) {
  int64_t bytes = neo_type_bytes(neo_warps_type(kind)), row = 16 / bytes;
  int64_t pad = bytes == 2 ? row : 32 + 8;
  return bytes * (along ? points * (steps + row) : steps * (points + pad)) + 64;
}

/* Shared memory for both operands of an inner sum: its rows and its steps. */
static int64_t sum_bytes(neo_module *m, const neo_form *f, const neo_nested *n, uint32_t k,
                         neo_warps kind, const shape *x) {
  const neo_nested_sum *sum = &n->sum[k];
  const neo_stage *s = &f->stages.at[sum->stage];
  uint64_t over = ((1ULL << s->over) - 1) << f->axes.n;
  uint64_t own = (((1ULL << s->axes.n) - 1) << f->axes.n) & ~over;
  bool whole;
  int64_t depth = neo_nested_depth(m, f, sum, kind, &whole), stages = x->stages ? x->stages : 1;
  return operand_bytes(x->bm, depth, kind, neo_nested_along_steps(m, f, &sum->rows, n->rows, own)) +
         stages * operand_bytes(x->bk, depth, kind,
                                neo_nested_along_steps(m, f, &sum->steps, over, own));
}

static int64_t warps_shared(neo_module *m, const neo_form *f, const neo_nested *n,
                            const neo_nested_warps *w, const shape *x) {
  int64_t sum = 0, stages = x->stages ? x->stages : 1;
  for (uint32_t k = 0; k < n->n_sums; k++)
    sum += sum_bytes(m, f, n, k, w->sum[k], x);
  if (x->product) {
    uint64_t own = ((1ULL << f->stages.at[n->host].axes.n) - 1) << f->axes.n;
    bool along = neo_nested_along_steps(m, f, &n->of_columns, n->columns, own);
    return sum + operand_bytes(x->bm, x->bk, w->product, true) +
           stages * operand_bytes(x->bn, x->bk, w->product, along);
  }
  return sum + host_accs(f) * x->bm * (4 * x->wide + 1) * 4;
}

/* An upper bound of a block's shared memory. */
static int64_t shared_of(neo_module *m, const neo_form *f, const neo_nested *n, const shape *x) {
  neo_nested copy = *n;
  if (!x->warps)
    return threads_shared(f, x) + OWN_BYTES;
  neo_nested_warps w = neo_nested_warps_of(m, f, &copy);
  return warps_shared(m, f, &copy, &w, x) + OWN_BYTES;
}

/* Is the operand copied asynchronously into shared memory, without passing through registers? */
static bool is_copied(neo_module *m, const neo_nested_factors *f, neo_warps kind) {
  bool rounded;
  return f->n == 1 &&
         neo_stages_plain(m, f->at[0], kind == NEO_WARPS_TF32 ? &rounded : NULL).i != 0;
}

/* Registers that hold a thread's share of n elements that are being copied. */
static int64_t copy_registers(const shape *x, int64_t n, neo_warps kind) {
  int64_t words = (n * neo_type_bytes(neo_warps_type(kind)) + 3) / 4;
  return (words + x->threads - 1) / x->threads;
}

/* Registers of a thread for all operands that are copied through registers at a time. */
static int64_t staging_registers(neo_module *m, const neo_form *f, const neo_nested *n,
                                 const neo_nested_warps *w, const shape *x) {
  int64_t sum = 0;
  bool whole;
  for (uint32_t k = 0; k < n->n_sums; k++) {
    int64_t depth = neo_nested_depth(m, f, &n->sum[k], w->sum[k], &whole);
    if (!is_copied(m, &n->sum[k].steps, w->sum[k]))
      sum += copy_registers(x, depth * x->bk, w->sum[k]);
  }
  if (x->product && !is_copied(m, &n->of_columns, w->product))
    sum += copy_registers(x, x->bn * x->bk, w->product);
  return sum;
}

/* Registers of a thread: accumulators of its warp, fragments of both operands, and elements being
 * copied. */
static int64_t warps_registers(neo_module *m, const neo_form *f, const neo_nested *n,
                               const neo_nested_warps *w, const shape *x) {
  enum { PLACES = 16 };
  const neo_stage *host = &f->stages.at[n->host];
  int64_t inner = x->tm * x->tk / WARP, most = x->tk > x->tn ? x->tk : x->tn, copies = 0;
  int64_t sums = inner * n->n_sums, parts = m->math == NEO_PRECISION_3XTF32 ? 2 : 1;
  bool whole;
  sums += x->product ? x->tm * x->tn / WARP * (host->where.i ? 2 : 1) : inner * host_accs(f);
  for (uint32_t k = 0; k < n->n_sums; k++) {
    int64_t depth = neo_nested_depth(m, f, &n->sum[k], w->sum[k], &whole);
    int64_t c = (depth * (x->bm > x->bk ? x->bm : x->bk) + x->threads - 1) / x->threads;
    copies = c > copies ? c : copies;
  }
  if (x->stages)
    copies = staging_registers(m, f, n, w, x) + PLACES;
  else if (x->product && (x->bk * x->bn + x->threads - 1) / x->threads > copies)
    copies = (x->bk * x->bn + x->threads - 1) / x->threads;
  return sums + parts * (x->tm + most) / 4 + copies;
}

/* Registers of a thread that multiplies by itself: its tiles, the values computed from them, the
 * columns being copied, and addresses. PLACES is about what ptxas allocates for addresses. */
static int64_t threads_registers(const neo_form *f, const neo_nested *n, const shape *x) {
  enum { PLACES = 84 };
  int64_t accs = x->product ? 0 : (int64_t)host_accs(f), copies = x->bk * x->bn / x->threads;
  int64_t tile = x->tm * x->tk * (n->n_sums + accs) + (x->product ? x->tm * x->tn : 0);
  return (tile + tile / 2 + x->tm + x->tk + copies) * word_bytes(f) / 4 + PLACES;
}

static int64_t registers_of(neo_module *m, const neo_form *f, const neo_nested *n, const shape *x) {
  neo_nested copy = *n;
  if (!x->warps)
    return threads_registers(f, n, x);
  neo_nested_warps w = neo_nested_warps_of(m, f, &copy);
  return warps_registers(m, f, &copy, &w, x);
}

static bool on_machine(const neo_nested *n, const neo_nested_warps *w, const neo_machine *machine) {
  bool good = w->on;
  for (uint32_t k = 0; k <= n->n_sums; k++) {
    neo_warps kind = k < n->n_sums ? w->sum[k] : w->product;
    good = good && (!kind || machine->warps >= (kind == NEO_WARPS_F16 ? 75 : 80));
  }
  return good;
}

/* Stages need all steps of the inner sums in shared memory, so that one copy brings a whole block
 * of steps. */
static bool stages_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                         const neo_nested *n, const neo_nested_warps *w, const shape *x,
                         neo_str *why) {
  bool whole = true;
  if (!x->stages)
    return true;
  if (!machine->async)
    return reject(why, "stages need asynchronous copies, from sm_80 on");
  if (x->stages < 2 || x->stages > NEO_STAGES_MOST)
    return reject(why, "stages is 0, or 2 to 6");
  for (uint32_t k = 0; whole && k < n->n_sums; k++)
    neo_nested_depth(m, f, &n->sum[k], w->sum[k], &whole);
  return whole || reject(why, "stages need all steps of inner sums in shared memory");
}

static bool warps_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_nested *n, const neo_schedule *s, const shape *x, neo_str *why) {
  neo_nested copy = *n;
  neo_nested_warps w = neo_nested_warps_of(m, f, &copy);
  if (s->nested.products != NEO_THREADS_WARPS || !on_machine(n, &w, machine))
    return reject(why, "warps multiply factors rounded to the same type, or f32 as 3xtf32");
  int64_t steps = x->product ? fragment_steps(w.product) : WARP_COLUMNS;
  if (x->threads < WARP || x->threads > MOST_THREADS || x->tm < 1 || x->tm % WARP_ROWS ||
      !divides(x->tm, x->bm) || !divides(x->wide, x->bk) || x->tk % WARP_COLUMNS || x->bk % steps ||
      x->threads != WARP * x->wide * (x->bm / x->tm))
    return reject(why, "the warps' tiles do not divide the block");
  if (x->product ? x->tn < 1 || x->tn % WARP_COLUMNS || x->bn != x->tn * x->wide
                 : x->bn || x->tn != 1)
    return reject(why, "the warps' columns do not divide the block");
  if (!stages_legal(m, f, machine, &copy, &w, x, why))
    return false;
  if (warps_registers(m, f, &copy, &w, x) > REGISTERS)
    return reject(why, "a warp's tile needs too many registers");
  if (shared_of(m, f, n, x) > machine->shared_bytes)
    return reject(why, "the blocks exceed shared memory");
  return true;
}

bool neo_nested_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_schedule *s, neo_str *why) {
  neo_nested n;
  if (!neo_nested_of(m, f, &n))
    return reject(
        why, "blocks of rows are for nested reductions whose rows and steps have separate axes");
  shape x = shape_of(&n, s);
  if (x.warps)
    return warps_legal(m, f, machine, &n, s, &x, why);
  if (x.threads > MOST_THREADS || !divides(x.tm, x.bm) || !divides(x.bm / x.tm, x.threads) ||
      !divides(x.wide, x.bk) || x.tm > 16 || x.tk > 16 || x.wide > 32)
    return reject(why, "the threads' tiles do not divide the block");
  if (x.product ? !divides(x.tn, x.bn) || x.bn / x.tn != x.wide || x.tn > 16 : x.bn || x.tn != 1)
    return reject(why, "the threads' columns do not divide the block");
  if (x.stages)
    return reject(why, "stages need products by warps");
  if (threads_registers(f, &n, &x) > MOST_REGISTERS)
    return reject(why, "a thread's tile needs too many registers");
  if (shared_of(m, f, &n, &x) > machine->shared_bytes)
    return reject(why, "the blocks exceed shared memory");
  return true;
}

/* ---- price */

static double product_cost(int64_t rows, int64_t columns, int64_t tile_m, int64_t tile_n,
                           double steps) {
  double area = (double)(rows * columns), loads = (double)(tile_m * tile_n);
  return steps * area * (1 + 1.5 * (double)(tile_m + tile_n) / loads);
}

/* The rate of a warp's products, relative to multiplications by threads; a warp reads a fragment
 * once. */
static double warps_rate(const neo_machine *machine, neo_warps kind) {
  const double parts = 3.2; /* products of tf32 for one of f32, and splitting its operands */
  const neo_profile *p = &machine->profile;
  return kind == NEO_WARPS_TF32 ? p->tf32 : kind == NEO_WARPS_3XTF32 ? p->tf32 / parts : p->halves;
}

static double warps_cost(int64_t rows, int64_t columns, int64_t tile_m, int64_t tile_n,
                         double steps, double rate) {
  double area = (double)(rows * columns), loads = (double)(tile_m * tile_n);
  return steps * area / rate * (1 + 8 * (double)(tile_m + tile_n) / loads);
}

/* Does a multiprocessor have room for two blocks at a time? */
static bool are_two(neo_module *m, const neo_form *f, const neo_machine *machine,
                    const neo_nested *n, const shape *x) {
  return 2 * shared_of(m, f, n, x) <= machine->shared_bytes &&
         (double)(2 * x->threads * registers_of(m, f, n, x)) <= machine->sm.registers;
}

static double cost_of(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_nested *n, const shape *x) {
  enum { READ = 16, WIDE_READ = 4, VALUE = 24, BUSY_THREADS = 512, STALL = 32 << 10 };
  neo_nested copy = *n;
  neo_nested_warps w = {.on = false};
  bool whole = false;
  if (x->warps)
    w = neo_nested_warps_of(m, f, &copy);
  const neo_stage *inner = &f->stages.at[n->sum[0].stage];
  double stalls = (double)STALL / (x->stages ? 8 : 1);
  double blocks = neo_blocks_of(neo_form_points(m, f, n->rows), x->bm) *
                  neo_form_points(m, f, n->batches),
         t = 0;
  if (x->product)
    blocks *= neo_blocks_of(neo_form_points(m, f, n->columns), x->bn);
  for (uint32_t k = 0; k < n->n_sums; k++) {
    const neo_stage *s = &f->stages.at[n->sum[k].stage];
    double depth = neo_stage_steps(m, s, s->over, (uint32_t)s->axes.n);
    int64_t part =
        x->warps ? neo_nested_depth(m, f, &n->sum[k], w.sum[k], &whole) : NEO_NESTED_STEPS;
    depth = neo_blocks_of(depth, part) * (double)part;
    t += x->warps ? warps_cost(x->bm, x->bk, x->tm, x->tk, depth, warps_rate(machine, w.sum[k]))
                  : product_cost(x->bm, x->bk, x->tm, x->tk, depth);
    t += (x->warps ? WIDE_READ : READ) * depth * (double)((whole ? 0 : x->bm) + x->bk);
    t += VALUE * (double)(x->bm * x->bk) + stalls; /* the latency of memory */
  }
  if (x->product && x->warps)
    t += warps_cost(x->bm, x->bn, x->tm, x->tn, (double)x->bk, warps_rate(machine, w.product)) +
         WIDE_READ * (double)(x->bk * x->bn);
  else if (x->product)
    t += product_cost(x->bm, x->bn, x->tm, x->tn, (double)x->bk) + READ * (double)(x->bk * x->bn);
  t += x->product ? stalls : 0;
  int64_t at_once = are_two(m, f, machine, n, x) ? 2 : 1;
  double threads = (double)(at_once * x->threads);
  double busy =
      threads < BUSY_THREADS ? BUSY_THREADS / threads : 1; /* too few threads to hide latency */
  return neo_blocks_of(blocks, machine->profile.workers * at_once) * (double)at_once / 2 *
         neo_blocks_of(neo_stage_steps(m, inner, 0, inner->over), x->bk) * t * (1 + busy) / 2;
}

double neo_nested_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_schedule *s) {
  neo_nested n;
  if (s->strategy != NEO_STRATEGY_GPU_NESTED || !neo_nested_of(m, f, &n))
    return 0;
  shape x = shape_of(&n, s);
  return cost_of(m, f, machine, &n, &x);
}

/* ---- choice */

static neo_schedule schedule_of(const neo_nested *n, bool warps, int64_t tall, int64_t wide,
                                int64_t tm, int64_t tk, int64_t tn) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_NESTED;
  neo_nested_params *p = &s.nested;
  p->threads = tall * wide * (warps ? WARP : 1);
  p->products = warps ? NEO_THREADS_WARPS : 0;
  p->tile_m = tm;
  p->block_m = tall * tm;
  p->block_k = wide * tk;
  if (n->columns) { /* without columns the factor is 1 */
    p->tile_n = tn;
    p->block_n = wide * tn;
  }
  return s;
}

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_machine *machine;
  const neo_nested *n;
  neo_schedule *out;
  double *cost;
  size_t count, most;
} ranking;

/* The shared memory that all devices of a level have (gpu_tile/stages.c). */
static int64_t budget(const neo_machine *machine) {
  enum { ANYWHERE = 99 << 10 };
  bool all = machine->warpgroups || machine->shared_bytes < ANYWHERE;
  return all ? machine->shared_bytes : ANYWHERE;
}

static void offer(ranking *r, const neo_schedule *s) {
  shape x = shape_of(r->n, s);
  if (!neo_nested_legal(r->m, r->f, r->machine, s, NULL) ||
      shared_of(r->m, r->f, r->n, &x) > budget(r->machine))
    return;
  double cost = cost_of(r->m, r->f, r->machine, r->n, &x);
  if (r->count == r->most && cost >= r->cost[r->count - 1])
    return;
  size_t k = r->count < r->most ? r->count++ : r->count - 1;
  for (; k > 0 && r->cost[k - 1] > cost; k--) {
    r->cost[k] = r->cost[k - 1];
    r->out[k] = r->out[k - 1];
  }
  r->cost[k] = cost;
  r->out[k] = *s;
}

size_t neo_nested_ranked(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out, size_t most) {
  neo_nested n;
  if (!machine->gpu || !most || !neo_nested_of(m, f, &n))
    return 0;
  ranking r = {.m = m, .f = f, .machine = machine, .n = &n, .out = out, .most = most};
  r.cost = NEO_NEW_ARRAY(m->arena, double, most);
  for (int64_t tall = 8; tall <= 16; tall *= 2)
    for (int64_t wide = 8; wide <= 32; wide *= 2)
      for (int64_t tm = 1; tm <= 8; tm *= 2)
        for (int64_t tk = 1; tk <= 8; tk *= 2)
          for (int64_t tn = 1; tn <= (n.columns ? 8 : 1); tn *= 2) {
            neo_schedule s = schedule_of(&n, false, tall, wide, tm, tk, tn);
            offer(&r, &s);
          }
  for (int64_t tall = 2; tall <= 8; tall *= 2)
    for (int64_t wide = 1; wide <= 2; wide *= 2)
      for (int64_t tm = WARP_ROWS; tm <= 2 * WARP_ROWS; tm *= 2)
        for (int64_t tk = 16; tk <= 128; tk *= 2)
          for (int64_t tn = 8; tn <= (n.columns ? 128 : 8); tn *= 2) {
            neo_schedule s = schedule_of(&n, true, tall, wide, tm, tk, tn);
            offer(&r, &s);
            for (int64_t stages = 2; machine->async && stages <= 3; stages++) {
              s.nested.stages = stages;
              offer(&r, &s);
            }
          }
  return r.count;
}
