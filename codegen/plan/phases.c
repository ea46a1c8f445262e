/* See phases.h. */
#include "codegen/plan/phases.h"
#include <assert.h>

/* ---- dependences */

static int32_t args_of(const neo_rt_step *s) {
  switch (s->op) {
#define STEP(id, text, args, writes, of_kind) \
  case NEO_RT_STEP_##id:                      \
    return args;
#include "base/steps.def"
#undef STEP
  }
  return 0;
}

static bool writes(const neo_rt_step *s, int32_t k) {
  switch (s->op) {
#define STEP(id, text, args, writes, of_kind) \
  case NEO_RT_STEP_##id:                      \
    return writes;
#include "base/steps.def"
#undef STEP
  }
  return true;
}

static bool meet(const neo_plan *p, int32_t a, int32_t b) {
  const neo_rt_buf *x = &p->bufs.at[p->args.at[a]], *y = &p->bufs.at[p->args.at[b]];
  if (x->mem != y->mem)
    return false;
  if (x->mem ==
      NEO_RT_MEM_CALLER) /* the caller's tensors overlap only if they are the same tensor */
    return x->offset == y->offset;
  return x->offset < y->offset + y->size_bytes && y->offset < x->offset + x->size_bytes;
}

static bool are_pieces(const neo_plan *p, int32_t a, int32_t b) {
  return p->bufs.at[p->args.at[a]].whole == p->bufs.at[p->args.at[b]].whole;
}

static bool step_needs(const neo_plan *p, const neo_rt_step *a, const neo_rt_step *b,
                       bool other_iteration) {
  bool run = a->op == NEO_RT_STEP_RUN && b->op == NEO_RT_STEP_RUN && a->n_written && b->n_written;
  for (int32_t x = 0; x < args_of(a); x++)
    for (int32_t y = 0; y < args_of(b); y++) {
      bool both = run && writes(a, x) && writes(b, y) && !other_iteration;
      if ((writes(a, x) || writes(b, y)) && meet(p, a->first + x, b->first + y) &&
          !(both && are_pieces(p, a->first + x, b->first + y)))
        return true;
    }
  return false;
}

bool plan_needs(const plan_steps *s, int32_t i, int32_t k, bool other_iteration) {
  for (int32_t a = i; a < plan_item_end(s, i); a++)
    for (int32_t b = k; b < plan_item_end(s, k); b++)
      if (step_needs(s->p, plan_step(s, a), plan_step(s, b), other_iteration))
        return true;
  return false;
}

/* ---- how many blocks */

typedef struct {
  int64_t lo, hi;
} interval;

static const interval anything = {INT64_MIN, INT64_MAX};

static interval product(interval a, interval b) {
  int64_t x[4];
  if (__builtin_mul_overflow(a.lo, b.lo, &x[0]) || __builtin_mul_overflow(a.lo, b.hi, &x[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &x[2]) || __builtin_mul_overflow(a.hi, b.hi, &x[3]))
    return anything;
  interval r = {x[0], x[0]};
  for (int k = 1; k < 4; k++) {
    r.lo = x[k] < r.lo ? x[k] : r.lo;
    r.hi = x[k] > r.hi ? x[k] : r.hi;
  }
  return r;
}

static interval sum(interval a, interval b) {
  interval r;
  return __builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi)
             ? anything
             : r;
}

static interval difference(interval a, interval b) {
  interval r;
  return __builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi)
             ? anything
             : r;
}

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && a < 0);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t greatest(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static interval value_of(const neo_plan *p, const neo_lx *e) {
  int64_t x;
  if (neo_lx_is_int(e, &x))
    return (interval){x, x};
  if (e->kind == NEO_LX_SIZE)
    return (interval){p->sizes.at[e->attr].lo, p->sizes.at[e->attr].hi};
  if (e->kind != NEO_LX_OP || e->n != 2)
    return anything;
  interval a = value_of(p, e->arg[0]), b = value_of(p, e->arg[1]);
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
    return sum(a, b);
  case NEO_OP_SUB:
    return difference(a, b);
  case NEO_OP_MUL:
    return product(a, b);
  case NEO_OP_DIV:
    return b.lo == b.hi && b.lo > 0 ? (interval){floor_of(a.lo, b.lo), floor_of(a.hi, b.lo)}
                                    : anything;
  case NEO_OP_MOD:
    return b.lo > 0 ? (interval){0, b.hi - 1} : anything;
  case NEO_OP_MIN:
    return (interval){least(a.lo, b.lo), least(a.hi, b.hi)};
  case NEO_OP_MAX:
    return (interval){greatest(a.lo, b.lo), greatest(a.hi, b.hi)};
  default:
    return anything;
  }
}

/* The most blocks of a kernel's step, for any sizes and any iteration. */
static int64_t most_blocks(const plan_steps *s, int32_t i) {
  const neo_plan_kernel *k = &s->p->kernels.at[plan_step(s, i)->arg];
  int64_t units = value_of(s->p, k->kernel->units).hi;
  return units == INT64_MAX ? units : (units + k->block_units - 1) / k->block_units;
}

/* ---- phases */

static bool is_alone(const plan_steps *s, const plan_run *r, int32_t k) {
  return plan_is_loop(s, r->item[k]) && !r->lone[k];
}

static void place_item(const plan_steps *s, plan_run *r, int32_t k) {
  for (int32_t j = 0; j < k; j++) {
    bool sequential = is_alone(s, r, k) || is_alone(s, r, j);
    if (!sequential && !plan_needs(s, r->item[k], r->item[j], false))
      continue;
    int32_t after = r->phase[j] + !(r->lone[k] && r->lone[j]);
    r->level[k] = r->level[j] >= r->level[k] ? r->level[j] + 1 : r->level[k];
    r->phase[k] = after > r->phase[k] ? after : r->phase[k];
  }
}

void plan_run_add(const plan_steps *s, plan_run *r, int32_t item, const plan_run *inner) {
  int32_t k = r->n++;
  assert(k < PLAN_MOST_ITEMS && "a run has few items");
  r->item[k] = item;
  r->lone[k] = inner ? plan_run_is_lone(inner) : most_blocks(s, item) <= 1;
  r->level[k] = r->phase[k] = 0;
  place_item(s, r, k);
  r->levels = r->level[k] >= r->levels ? r->level[k] + 1 : r->levels;
  r->phases = r->phase[k] >= r->phases ? r->phase[k] + 1 : r->phases;
  r->n_lone += r->lone[k];
  r->n_loops += inner != NULL;
  r->steps += 1 + (inner ? inner->steps : 0);
  r->words += 1 + args_of(plan_step(s, item)) + (inner ? inner->words : 0);
}
