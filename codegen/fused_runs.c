/* Runs of rounds in fused loops (fused_loops.h). They go through more tables at once than a processor's own prefetchers
 * follow, and compute so little at a position that they wait for memory. A run of positions at a time asks for the lines
 * that come so many positions later:
 *
 *     for v in 0..N: level[v] = ..
 *     ->
 *     for b in 0..N step 16
 *       prefetch level[b + 128]
 *       for v in b..min(b + 16, N): level[v] = ..
 *
 * Tables of sums that rounds add to at their own position, or at earlier ones, become 0 a run at a time, too. So do running
 * sums of a table get their values, in vectors (W. Hillis, G. Steele, Data parallel algorithms, CACM 1986):
 *
 *     for l in 0..16 vector: s[l] = count[b + l]
 *     for d in 1, 2, 4, 8
 *       for k in d..16 unroll: t[k] = s[k - d]       (t[k] = 0 for the others)
 *       for l in 0..16 vector: s[l] = s[l] + t[l]
 *     for l in 0..16 vector: end[b + l] = s[l] - count[b + l] + sum
 *     sum = sum + s[15] */
#include "codegen/fused_rounds.h"

enum { LINE_BYTES = 64, RUN = 16, AHEAD = 128, MOST_LINES = 4 };

typedef struct {
  const neo_kernel *k;
  uint32_t var;
  int64_t *step; /* by buffer: elements of a position; 0: it is not gone through */
} finder;

static void note(finder *f, uint32_t buf, const neo_lx *offset) {
  const neo_kbuf *b = &f->k->bufs.at[buf];
  int64_t step, bytes = neo_type_bytes((neo_type)b->type);
  if (b->use & NEO_BUF_SCRATCH || f->step[buf] || !neo_lx_uses(offset, f->var) ||
      !neo_lx_step(offset, f->var, &step))
    return;
  if (step > 0 && step * RUN * bytes <= MOST_LINES * LINE_BYTES)
    f->step[buf] = step;
}

/* Of a table that the loop only writes, where data say: all of them together go through it, most of them in order. */
static void note_scattered(finder *f, uint32_t buf, const neo_lx *offset) {
  const neo_kbuf *b = &f->k->bufs.at[buf];
  int64_t n = 0, step = 1;
  while (offset->kind == NEO_LX_OP && offset->attr == NEO_OP_ADD &&
         neo_lx_is_int(offset->arg[1], &n))
    offset = offset->arg[0];
  if (offset->kind == NEO_LX_OP && offset->attr == NEO_OP_MUL && neo_lx_is_int(offset->arg[1], &n))
    step = n;
  if (b->use != NEO_BUF_WRITE || f->step[buf] || neo_lx_is_int(offset, &n))
    return;
  if (step > 0 && step * RUN * neo_type_bytes((neo_type)b->type) <= MOST_LINES * LINE_BYTES)
    f->step[buf] = step;
}

static void look_loads(finder *f, const neo_lx *e) {
  if (e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF)
    note(f, e->attr, e->arg[0]);
  for (uint32_t k = 0; k < e->n; k++)
    look_loads(f, e->arg[k]);
}

static void look(void *ctx, neo_ls *s) {
  const neo_lx *expr[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, expr);
  for (uint32_t k = 0; k < n; k++)
    look_loads(ctx, expr[k]);
  if (s->kind == NEO_LS_STORE)
    note(ctx, s->store.to.buf, s->store.to.offset);
}

static void look_scattered(void *ctx, neo_ls *s) {
  if (s->kind == NEO_LS_STORE)
    note_scattered(ctx, s->store.to.buf, s->store.to.offset);
}

/* A branch on whether the run from b on is whole. */
static neo_ls *whole_run(neo_kernel *k, neo_block *in, const neo_lx *b, const neo_lx *hi) {
  const neo_lx *end = neo_lx_op2(k, NEO_OP_ADD, b, neo_lx_int(k, RUN));
  return neo_ls_if(k, in, neo_lx_op2(k, NEO_OP_LE, end, hi));
}

/* A loop over a run's positions b + *lane. */
static neo_block *open_lanes(neo_kernel *k, neo_block *in, const neo_lx **lane) {
  uint32_t var = neo_kernel_var(k, "l");
  *lane = neo_lx_var(k, var);
  return &neo_ls_for(k, in, NEO_LOOP_VECTOR, var, neo_lx_int(k, 0), neo_lx_int(k, RUN), 1)
              ->loop.body;
}

static void zero_run(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *b,
                     const neo_lx *hi) {
  const neo_lx *zero = neo_lx_const(k, (neo_type)k->bufs.at[buf].type, (neo_value){.i = 0}), *lane;
  neo_ls *s = whole_run(k, in, b, hi);
  uint32_t last = neo_kernel_var(k, "u");
  neo_block *all = open_lanes(k, &s->branch.then, &lane);
  const neo_lx *at = neo_lx_op2(k, NEO_OP_ADD, b, lane);
  neo_ls *rest = neo_ls_for(k, &s->branch.otherwise, NEO_LOOP_SERIAL, last, b, hi, 1);
  neo_ls_store(k, all, buf, at, zero, NULL);
  neo_ls_store(k, &rest->loop.body, buf, neo_lx_var(k, last), zero, NULL);
}

/* ---- running sums */

static uint32_t add_register(neo_kernel *k, neo_block *in, const char *name, neo_type t,
                             int64_t n) {
  uint32_t reg =
      neo_kernel_reg(k, (neo_reg){.name = name, .type = (uint8_t)t, .rank = 1, .extent = {n}});
  neo_ls_reg(k, in, reg);
  return reg;
}

/* s[l] = the sum of s[0] .. s[l] */
static void prefix_sums(neo_kernel *k, neo_block *in, uint32_t s, neo_type type) {
  uint32_t t = add_register(k, in, "t", type, RUN);
  const neo_lx *lane, *zero = neo_lx_const(k, type, (neo_value){.i = 0});
  for (int64_t d = 1; d < RUN; d *= 2) {
    neo_block *clear = open_lanes(k, in, &lane);
    neo_ls_set(k, clear, t, &lane, 1, zero);
    uint32_t var = neo_kernel_var(k, "k");
    const neo_lx *at = neo_lx_var(k, var);
    const neo_lx *from = neo_lx_op2(k, NEO_OP_SUB, at, neo_lx_int(k, d));
    neo_ls *shift =
        neo_ls_for(k, in, NEO_LOOP_UNROLL, var, neo_lx_int(k, d), neo_lx_int(k, RUN), 1);
    neo_ls_set(k, &shift->loop.body, t, &at, 1, neo_lx_reg(k, s, &from, 1));
    neo_block *add = open_lanes(k, in, &lane);
    neo_ls_set(k, add, s, &lane, 1,
               neo_lx_op2(k, NEO_OP_ADD, neo_lx_reg(k, s, &lane, 1), neo_lx_reg(k, t, &lane, 1)));
  }
}

/* The starts of the positions [b, hi), one after the other. */
static void start_each(neo_kernel *k, neo_block *in, const neo_running_start *x, const neo_lx *b,
                       const neo_lx *hi) {
  neo_type type = (neo_type)k->regs.at[x->sum].type;
  uint32_t var = neo_kernel_var(k, "u");
  in = &neo_ls_for(k, in, NEO_LOOP_SERIAL, var, b, hi, 1)->loop.body;
  const neo_lx *zero = neo_lx_int(k, 0), *at = neo_lx_var(k, var);
  const neo_lx *sum = neo_lx_reg(k, x->sum, &zero, 1);
  uint32_t next = add_register(k, in, "next", type, 1);
  neo_ls_set(k, in, next, &zero, 1, neo_lx_op2(k, NEO_OP_ADD, sum, neo_lx_load(k, x->count, at)));
  neo_ls_store(k, in, x->end, at, sum, NULL);
  neo_ls_set(k, in, x->sum, &zero, 1, neo_lx_reg(k, next, &zero, 1));
}

static void start_run(neo_kernel *k, neo_block *in, const neo_running_start *x, const neo_lx *b,
                      const neo_lx *hi) {
  neo_type type = (neo_type)k->regs.at[x->sum].type;
  neo_ls *branch = whole_run(k, in, b, hi);
  const neo_lx *lane, *zero = neo_lx_int(k, 0), *last = neo_lx_int(k, RUN - 1);
  const neo_lx *sum = neo_lx_reg(k, x->sum, &zero, 1);
  start_each(k, &branch->branch.otherwise, x, b, hi);
  in = &branch->branch.then;
  uint32_t s = add_register(k, in, "s", type, RUN);
  neo_block *load = open_lanes(k, in, &lane);
  neo_ls_set(k, load, s, &lane, 1, neo_lx_load(k, x->count, neo_lx_op2(k, NEO_OP_ADD, b, lane)));
  prefix_sums(k, in, s, type);
  neo_block *store = open_lanes(k, in, &lane);
  const neo_lx *at = neo_lx_op2(k, NEO_OP_ADD, b, lane);
  const neo_lx *before =
      neo_lx_op2(k, NEO_OP_SUB, neo_lx_reg(k, s, &lane, 1), neo_lx_load(k, x->count, at));
  neo_ls_store(k, store, x->end, at, neo_lx_op2(k, NEO_OP_ADD, before, sum), NULL);
  neo_ls_set(k, in, x->sum, &zero, 1, neo_lx_op2(k, NEO_OP_ADD, sum, neo_lx_reg(k, s, &last, 1)));
}

/* ---- runs */

void neo_fused_runs(neo_kernel *k, neo_ls *loop, const neo_before_rounds *before) {
  finder f = {k, loop->loop.var, NEO_NEW_ARRAY(k->arena, int64_t, k->bufs.n + 1)};
  uint32_t n_bufs = (uint32_t)k->bufs.n, run = neo_kernel_var(k, "b");
  const neo_lx *b = neo_lx_var(k, run);
  neo_block body = {0};
  neo_block_visit(&loop->loop.body, look, &f);
  neo_block_visit(&loop->loop.body, look_scattered, &f);
  for (uint32_t buf = 0; buf < n_bufs; buf++)
    f.step[buf] = before->zero[buf] ? 1 : f.step[buf];
  for (size_t i = 0; i < before->starts.n; i++)
    f.step[before->starts.at[i].count] = f.step[before->starts.at[i].end] = 1;
  for (uint32_t buf = 0; buf < n_bufs; buf++) {
    int64_t line = LINE_BYTES / neo_type_bytes((neo_type)k->bufs.at[buf].type);
    for (int64_t x = 0; x < f.step[buf] * RUN; x += line) {
      const neo_lx *at = neo_lx_op2(k, NEO_OP_MUL, b, neo_lx_int(k, f.step[buf]));
      at = neo_lx_op2(k, NEO_OP_ADD, at, neo_lx_int(k, f.step[buf] * AHEAD + x));
      neo_ls_prefetch(k, &body, buf, at, false);
    }
  }
  for (uint32_t buf = 0; buf < n_bufs; buf++)
    if (before->zero[buf])
      zero_run(k, &body, buf, b, loop->loop.hi);
  for (size_t i = 0; i < before->starts.n; i++)
    start_run(k, &body, &before->starts.at[i], b, loop->loop.hi);
  const neo_lx *end = neo_lx_op2(k, NEO_OP_ADD, b, neo_lx_int(k, RUN));
  end = neo_lx_op2(k, NEO_OP_MIN, end, loop->loop.hi);
  neo_ls_for(k, &body, NEO_LOOP_SERIAL, loop->loop.var, b, end, 1)->loop.body = loop->loop.body;
  loop->loop.var = run;
  loop->loop.step = RUN;
  loop->loop.body = body;
}
