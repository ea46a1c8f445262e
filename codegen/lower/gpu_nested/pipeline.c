/* Software pipelining of a nested kernel (lower/gpu_nested/warp.c): while warps multiply a block of
 * steps, copies bring the operands of the next S - 1 blocks into stages of shared memory.
 *
 *   end = end of the steps that some row needs
 *   for p in 0..S-1 unroll
 *     for t: b, columns [p] <~ steps from + p*BLOCK_K .., if that is before the end
 *     commit
 *   rows of inner sums <- memory
 *   wait S-2
 *   stage = 0
 *   for j in from..end step BLOCK_K
 *     for t: b, columns [the stage before] <~ steps j + (S-1)*BLOCK_K .., if that is before the end
 *     inner sums, of rows * b[stage]; the stage around them; for a product:
 *       for t: block = factors with inner sums
 *       acc += block * columns[stage]
 *     commit
 *     wait S-2                                   the next block has arrived
 *     stage = (stage + 1) % S
 *   wait 0                                       if S > 2: otherwise nothing is left
 *
 * The copies of a block of steps are one group, for all sums. A block of steps costs the barrier
 * after the wait, and one between the block's elements and their product.
 *
 * Operands that are not plain copies (f32 that becomes bf16, or a product of two factors) go
 * through registers: they are loaded where copies start, and stored to shared memory after the
 * products. */
#include "codegen/lower/gpu_nested/nested.h"

/* Does the loop over the host's steps copy operand k, of an inner sum or of the product? */
static bool has_operand(const nested_kernel *x, uint32_t k) {
  return k == x->n.n_sums
             ? x->n.columns != 0
             : neo_lower_uses_stage(x->l, x->host, &x->l->f->stages.at[x->n.sum[k].stage]);
}

/* Operand k for the block of steps from `from` on, in a stage. */
static copied operand_at(nested_kernel *x, uint32_t k, const neo_lx *from, const neo_lx *stage) {
  lowering *l = x->l;
  bool columns = k == x->n.n_sums;
  copied o = columns ? neo_ln_columns(x, from) : neo_ln_inner_operand(x, k, 1, lx_int(l, 0));
  if (!columns) {
    neo_lower_facts(l, l->f, o.s);
    o.total = neo_gpu_points(l, o.s, o.steps);
    x->next_steps = x->steps;
    x->next_steps.lo = from;
    o.points = &x->next_steps;
  }
  o.start = lx_mul(l, stage, x->warp[k].o[1].elements);
  return o;
}

void neo_ln_plan_stages(nested_kernel *x) {
  lowering *l = x->l;
  for (uint32_t k = 0; k < x->n.n_sums + (x->n.columns != 0); k++) {
    neo_products *w = &x->warp[k];
    bool columns = k == x->n.n_sums;
    copied o =
        columns ? neo_ln_columns(x, lx_int(l, 0)) : neo_ln_inner_operand(x, k, 1, lx_int(l, 0));
    neo_ln_plan_source(x, &o, w->warps, &w->o[1]);
  }
}

/* Declares the registers of operands that go through registers. */
static void declare(nested_kernel *x, neo_block *in, bool several) {
  for (uint32_t k = 0; k <= x->n.n_sums; k++)
    if (has_operand(x, k) && !x->warp[k].o[1].from.i) {
      copied o = operand_at(x, k, lx_int(x->l, 0), lx_int(x->l, 0));
      x->next[k] = neo_ln_next(x, in, &o, several);
    }
}

static neo_block *if_taken(nested_kernel *x, neo_block *in, const neo_lx *from) {
  return &neo_ls_if(x->l->k, in, lx_lt(x->l, from, x->end))->branch.then;
}

static void issue_copies(nested_kernel *x, neo_block *in, const neo_lx *from, const neo_lx *stage) {
  in = if_taken(x, in, from);
  for (uint32_t k = 0; k <= x->n.n_sums; k++) {
    if (!has_operand(x, k))
      continue;
    copied o = operand_at(x, k, from, stage);
    if (x->warp[k].o[1].from.i)
      neo_ln_start_copies(x, in, &o, &x->warp[k].o[1]);
    else
      neo_ln_get(x, in, &o, x->next[k]);
  }
}

static bool has_puts(const nested_kernel *x) {
  for (uint32_t k = 0; k <= x->n.n_sums; k++)
    if (has_operand(x, k) && !x->warp[k].o[1].from.i)
      return true;
  return false;
}

static void put(nested_kernel *x, neo_block *in, const neo_lx *from, const neo_lx *stage) {
  in = if_taken(x, in, from);
  for (uint32_t k = 0; k <= x->n.n_sums; k++)
    if (has_operand(x, k) && !x->warp[k].o[1].from.i) {
      copied o = operand_at(x, k, from, stage);
      neo_ln_put(x, in, &o, x->next[k]);
    }
}

static void first_blocks(nested_kernel *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *p;
  neo_block *body = open_loop(l, in, NEO_LOOP_UNROLL, "p", x->stages - 1, &p);
  const neo_lx *from = lx_add(l, x->some.from, lx_mul(l, p, x->steps.block));
  neo_block *threads = neo_ln_open_threads(x, body);
  declare(x, threads, false);
  issue_copies(x, threads, from, p);
  put(x, threads, from, p);
  neo_ls_copy_commit(l->k, body);
}

static uint32_t scalar(nested_kernel *x, neo_block *in, const char *name, const neo_lx *value) {
  neo_kernel *k = x->l->k;
  uint32_t reg = neo_kernel_reg(k, (neo_reg){.name = name, .type = NEO_I64_T});
  neo_ls_reg(k, in, reg);
  neo_ls_set(k, in, reg, NULL, 0, value);
  return reg;
}

/* The first step and the stage of the block that is copied while the current one is multiplied. */
static const neo_lx *next_steps(nested_kernel *x, const neo_lx **stage) {
  lowering *l = x->l;
  *stage = neo_gpu_neighbour(l, x->stages, x->stage, false);
  return lx_add(l, x->steps.lo, lx_int(l, (x->stages - 1) * x->steps.block));
}

neo_block *neo_ln_open_stages(nested_kernel *x, neo_block *in, const neo_stage *host) {
  lowering *l = x->l;
  const neo_lx *then;
  x->host = host;
  x->around = in;
  x->end = neo_lx_reg(l->k, scalar(x, in, "end", x->some.to), NULL, 0);
  first_blocks(x, in);
  neo_ln_copy_rows(x, in, host);
  neo_ls_copy_wait(l->k, in, x->stages - 2);
  x->stage = neo_lx_reg(l->k, scalar(x, in, "stage", lx_int(l, 0)), NULL, 0);
  x->body = neo_lower_open(l, in, "j", x->some.from, x->some.to, x->steps.block, &x->steps.lo);
  declare(x, x->body, true);
  const neo_lx *from = next_steps(x, &then);
  issue_copies(x, neo_ln_open_threads(x, x->body), from, then);
  for (uint32_t k = 0; k <= x->n.n_sums; k++)
    x->warp[k].o[1].begin = lx_mul(l, x->stage, x->warp[k].o[1].elements);
  neo_lower_facts(l, l->f, host);
  return x->body;
}

void neo_ln_close_stages(nested_kernel *x) {
  lowering *l = x->l;
  const neo_lx *then, *from = next_steps(x, &then);
  if (has_puts(x))
    put(x, neo_ln_open_threads(x, x->body), from, then);
  neo_ls_copy_commit(l->k, x->body);
  neo_ls_copy_wait(l->k, x->body, x->stages - 2);
  neo_ls_set(l->k, x->body, x->stage->attr, NULL, 0,
             neo_gpu_neighbour(l, x->stages, x->stage, true));
  neo_lower_close(l);
  if (x->stages > 2)
    neo_ls_copy_wait(l->k, x->around, 0);
}
