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
 * Tables of sums that rounds add to at their own position, or at earlier ones, become 0 a run at a time, too. */
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

static void zero_run(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *b,
                     const neo_lx *hi) {
  const neo_lx *n = neo_lx_int(k, RUN), *first = neo_lx_int(k, 0);
  const neo_lx *zero = neo_lx_const(k, (neo_type)k->bufs.at[buf].type, (neo_value){.i = 0});
  neo_ls *s = neo_ls_if(k, in, neo_lx_op2(k, NEO_OP_LE, neo_lx_op2(k, NEO_OP_ADD, b, n), hi));
  uint32_t lane = neo_kernel_var(k, "l"), last = neo_kernel_var(k, "u");
  const neo_lx *at = neo_lx_op2(k, NEO_OP_ADD, b, neo_lx_var(k, lane));
  neo_ls *all = neo_ls_for(k, &s->branch.then, NEO_LOOP_VECTOR, lane, first, n, 1);
  neo_ls *rest = neo_ls_for(k, &s->branch.otherwise, NEO_LOOP_SERIAL, last, b, hi, 1);
  neo_ls_store(k, &all->loop.body, buf, at, zero, NULL);
  neo_ls_store(k, &rest->loop.body, buf, neo_lx_var(k, last), zero, NULL);
}

void neo_fused_runs(neo_kernel *k, neo_ls *loop, const bool *zero) {
  finder f = {k, loop->loop.var, NEO_NEW_ARRAY(k->arena, int64_t, k->bufs.n + 1)};
  uint32_t n_bufs = (uint32_t)k->bufs.n, run = neo_kernel_var(k, "b");
  const neo_lx *b = neo_lx_var(k, run);
  neo_block body = {0};
  neo_block_visit(&loop->loop.body, look, &f);
  for (uint32_t buf = 0; buf < n_bufs; buf++)
    f.step[buf] = zero[buf] ? 1 : f.step[buf];
  for (uint32_t buf = 0; buf < n_bufs; buf++) {
    int64_t line = LINE_BYTES / neo_type_bytes((neo_type)k->bufs.at[buf].type);
    for (int64_t x = 0; x < f.step[buf] * RUN; x += line) {
      const neo_lx *at = neo_lx_op2(k, NEO_OP_MUL, b, neo_lx_int(k, f.step[buf]));
      at = neo_lx_op2(k, NEO_OP_ADD, at, neo_lx_int(k, f.step[buf] * AHEAD + x));
      neo_ls_prefetch(k, &body, buf, at, false);
    }
  }
  for (uint32_t buf = 0; buf < n_bufs; buf++)
    if (zero[buf])
      zero_run(k, &body, buf, b, loop->loop.hi);
  const neo_lx *end = neo_lx_op2(k, NEO_OP_ADD, b, neo_lx_int(k, RUN));
  end = neo_lx_op2(k, NEO_OP_MIN, end, loop->loop.hi);
  neo_ls_for(k, &body, NEO_LOOP_SERIAL, loop->loop.var, b, end, 1)->loop.body = loop->loop.body;
  loop->loop.var = run;
  loop->loop.step = RUN;
  loop->loop.body = body;
}
