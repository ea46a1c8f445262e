/* A block of threads for some points of the shared axes (schedule/threads.h).
 *
 *   for u in 0..units unit                       points [u*n, u*n + n), n = threads/lanes
 *     for t in 0..threads thread                 a stage that sums:
 *       acc = 0; for k in lane..steps step lanes: acc += body
 *       sums[t] = acc
 *     for t in 0..threads thread                 the tree: of RADIX parts one, until one is left
 *       if lane < ..: sums[t] = sums[t] + sums[t + ..] + ...
 *     for t in 0..threads thread                 a stage that stores:
 *       acc = sums[of lane 0]; for k in lane..steps step lanes: Y[...] = finish(acc)
 *
 * The steps of a stage are those of its last own axes, as far as their ranges do not depend on each
 * other, walked as one; axes before these are loops in every thread. Which thread takes which step,
 * and the tree's shape, follow from the schedule alone: the same bits in any order of threads.
 *
 * A stage whose winners' payloads say no order of steps is summed by lane 0. */
#include "codegen/lower_scope.h"
#include <assert.h>

enum { RADIX = 8 };

typedef struct {
  lowering *l;
  int64_t threads, lanes, n; /* n: points of a block */
  bool across;
  const neo_lx *unit, *total;    /* points in all */
  uint32_t sums[MAX_ACCS];       /* buffer of an accumulator's parts, one for each thread */
  const neo_stage *of[MAX_ACCS]; /* the stage that it is of, if it has run */
  /* in the loop of threads at hand */
  const neo_lx *thread, *lane;
} points;

static const tile one = {.m_axis = -1, .n_axis = -1, .rows = 1, .cols = 1, .width = 1};

/* Threads between two lanes of a point. */
static int64_t lane_stride(const points *p) {
  return p->across ? p->n : 1;
}

static neo_block *open_threads(points *p, neo_block *in) {
  lowering *l = p->l;
  uint32_t var = neo_kernel_var(l->k, "t");
  neo_ls *s = neo_ls_for(l->k, in, NEO_LOOP_THREAD, var, lx_int(l, 0), lx_int(l, p->threads), 1);
  p->thread = neo_lx_var(l->k, var);
  p->lane = p->across ? lx_div(l, p->thread, p->n)
                      : neo_lx_op2(l->k, NEO_OP_MOD, p->thread, lx_int(l, p->lanes));
  return &s->body;
}

/* Shared axes at the point that the thread works on; returns where it exists. */
static neo_block *at_point(points *p, neo_block *in) {
  lowering *l = p->l;
  const neo_lx *at = p->across ? neo_lx_op2(l->k, NEO_OP_MOD, p->thread, lx_int(l, p->n))
                               : lx_div(l, p->thread, p->lanes);
  int64_t total;
  at = lx_add(l, lx_mul(l, p->unit, p->n), at);
  if (!neo_lx_is_int(p->total, &total) || total % p->n)
    in = &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, at, p->total))->body;
  for (uint32_t k = (uint32_t)l->f->axes.n; k-- > 0;) {
    const neo_lx *n = neo_lower_extent(l, k);
    neo_lower_set_axis(l, k, k ? neo_lx_op2(l->k, NEO_OP_MOD, at, n) : at, l->depth);
    at = k ? neo_lx_op2(l->k, NEO_OP_DIV, at, n) : at;
  }
  return in;
}

/* The same for lane 0 alone. */
static neo_block *at_first(points *p, neo_block *in) {
  lowering *l = p->l;
  if (p->lanes == 1)
    return in;
  return &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_EQ, p->lane, lx_int(l, 0)))->body;
}

/* ---- steps of a stage */

typedef struct {
  const neo_stage *s;
  const neo_expr *lo, *hi;
  uint32_t first; /* of the axes that are walked as one */
} steps;

static bool depends_on(const lowering *l, neo_expr e, uint32_t first) {
  return (neo_expr_axes(l->m, e) >> (l->f->axes.n + first)) != 0;
}

static steps steps_of(const lowering *l, const neo_stage *s, const neo_expr *lo,
                      const neo_expr *hi) {
  steps x = {s, lo, hi, 0};
  for (uint32_t k = 0; k < s->axes.n; k++)
    while (depends_on(l, lo[k], x.first) || depends_on(l, hi[k], x.first))
      x.first++;
  return x;
}

static void set_own(lowering *l, uint32_t k, const neo_lx *at) {
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, at, l->depth);
}

static const neo_lx *length_of(lowering *l, const steps *x, uint32_t k) {
  const neo_lx *n = lx_sub(l, neo_lower_expr(l, x->hi[k]), neo_lower_expr(l, x->lo[k]));
  return lx_max(l, n, lx_int(l, 0));
}

/* One axis: from its own bounds. */
static neo_block *open_last(points *p, neo_block *in, const steps *x, int64_t lanes) {
  lowering *l = p->l;
  uint32_t k = x->first;
  const neo_lx *lo = neo_lower_expr(l, x->lo[k]), *hi = neo_lower_expr(l, x->hi[k]), *v;
  in = neo_lower_open(l, in, "k", lanes > 1 ? lx_add(l, lo, p->lane) : lo, hi, lanes, &v);
  set_own(l, k, v);
  return in;
}

/* Several: from their number. */
static neo_block *open_several(points *p, neo_block *in, const steps *x, int64_t lanes) {
  lowering *l = p->l;
  const neo_lx *length[NEO_FORM_MAX_AXES], *lo[NEO_FORM_MAX_AXES], *total = lx_int(l, 1), *v;
  for (uint32_t k = x->first; k < x->s->axes.n; k++) {
    lo[k] = neo_lower_expr(l, x->lo[k]);
    length[k] = length_of(l, x, k);
    total = neo_lx_op2(l->k, NEO_OP_MUL, total, length[k]);
  }
  in = neo_lower_open(l, in, "k", lanes > 1 ? p->lane : lx_int(l, 0), total, lanes, &v);
  for (uint32_t k = (uint32_t)x->s->axes.n; k-- > x->first;) {
    bool last = k == x->first;
    set_own(l, k, lx_add(l, lo[k], last ? v : neo_lx_op2(l->k, NEO_OP_MOD, v, length[k])));
    v = last ? v : neo_lx_op2(l->k, NEO_OP_DIV, v, length[k]);
  }
  return in;
}

/* All loops, of which this thread takes its part; the caller resets the depth. */
static neo_block *open_steps(points *p, neo_block *in, const steps *x, bool divided) {
  lowering *l = p->l;
  uint32_t n = (uint32_t)x->s->axes.n;
  int64_t lanes = divided ? p->lanes : 1;
  for (uint32_t k = 0; k < x->first; k++) {
    const neo_lx *v;
    in =
        neo_lower_open(l, in, "k", neo_lower_expr(l, x->lo[k]), neo_lower_expr(l, x->hi[k]), 1, &v);
    set_own(l, k, v);
  }
  if (x->first == n)
    return in;
  return x->first + 1 == n ? open_last(p, in, x, lanes) : open_several(p, in, x, lanes);
}

/* ---- sums */

static const neo_lx *part(points *p, uint32_t acc, int64_t away) {
  lowering *l = p->l;
  return neo_lx_load(l->k, p->sums[acc], lx_add(l, p->thread, lx_int(l, away * lane_stride(p))));
}

static void keep_part(points *p, neo_block *in, const neo_stage *s) {
  lowering *l = p->l;
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
    neo_ls_store(l->k, in, p->sums[k], p->thread, neo_lower_acc(l, k), NULL);
}

/* Parts [lane + n*i] become part [lane], for lanes below n. */
static void join(points *p, neo_block *in, const neo_stage *s, int64_t n, int64_t radix) {
  lowering *l = p->l;
  tile parts = one;
  parts.width = radix;
  in = open_threads(p, in);
  in = &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, p->lane, lx_int(l, n)))->body;
  const neo_lx *zero = lx_int(l, 0);
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++) {
    neo_type type = (neo_type)s->accs.at[k - s->first_acc].type;
    uint32_t reg = neo_lower_reg(l, in, "part", type, 1, 1, radix);
    for (int64_t i = 0; i < radix; i++)
      neo_ls_set(l->k, in, reg, (const neo_lx *[]){zero, zero, lx_int(l, i)}, 3, part(p, k, i * n));
    l->acc[k] = (acc_reg){reg, 3, false, true};
  }
  neo_lower_join_lanes(l, in, s, &parts, &parts);
  keep_part(p, in, s);
}

/* Sums of stages before this one, as accumulators. */
static void get_sums(points *p, neo_block *in) {
  lowering *l = p->l;
  const neo_lx *zero = lx_int(l, 0), *index[] = {zero, zero};
  const neo_lx *back = lx_mul(l, p->lane, lane_stride(p));
  const neo_lx *at = p->lanes > 1 ? lx_sub(l, p->thread, back) : p->thread;
  for (uint32_t k = 0; k < l->f->n_accs; k++) {
    const neo_stage *s = p->of[k];
    if (!s)
      continue;
    uint32_t reg =
        neo_lower_reg(l, in, "acc", (neo_type)s->accs.at[k - s->first_acc].type, 1, 1, 1);
    neo_ls_set(l->k, in, reg, index, 2, neo_lx_load(l->k, p->sums[k], at));
    l->acc[k] = (acc_reg){reg, 2, false, true};
  }
  for (uint32_t k = 0; k < l->f->n_accs; k++)
    if (p->of[k] && p->of[k]->first_acc == k)
      neo_lower_end_payloads(l, in, p->of[k], &one, false);
}

static void sum_stage(points *p, neo_block *in, size_t at) {
  lowering *l = p->l;
  const neo_stage *s = &l->f->stages.at[at];
  const stage_bounds *b = &l->bounds[at];
  uint32_t depth = l->depth;
  bool divided = p->lanes > 1 && neo_lower_lanes_fit(l, s);
  steps x = steps_of(l, s, b->lo, b->hi);
  neo_block *body = at_point(p, open_threads(p, in));
  neo_lower_facts(l, l->f, s);
  if (!divided)
    body = at_first(p, body);
  get_sums(p, body);
  neo_lower_begin_accs(l, body, s, &one);
  neo_lower_accumulate(l, open_steps(p, body, &x, divided), s, &one, b);
  l->depth = depth;
  keep_part(p, body, s);
  for (int64_t n = p->lanes; divided && n > 1;) {
    int64_t radix = n < RADIX ? n : RADIX;
    n /= radix;
    join(p, in, s, n, radix);
  }
  for (uint32_t k = 0; k < s->accs.n; k++)
    p->of[s->first_acc + k] = s;
}

static void store_stage(points *p, neo_block *in, const neo_stage *s) {
  lowering *l = p->l;
  neo_expr lo[NEO_FORM_MAX_AXES], hi[NEO_FORM_MAX_AXES];
  uint32_t depth = l->depth;
  for (uint32_t k = 0; k < s->axes.n; k++) {
    lo[k] = s->axes.at[k].lo;
    hi[k] = s->axes.at[k].hi;
  }
  steps x = steps_of(l, s, lo, hi);
  in = at_point(p, open_threads(p, in));
  neo_lower_facts(l, l->f, s);
  if (x.first == s->axes.n)
    in = at_first(p, in);
  get_sums(p, in);
  neo_lower_store_point(l, open_steps(p, in, &x, true), s);
  l->depth = depth;
}

/* ---- the kernel */

static void make_buffers(points *p) {
  lowering *l = p->l;
  for (size_t i = 0; i < l->f->stages.n; i++) {
    const neo_stage *s = &l->f->stages.at[i];
    for (uint32_t k = 0; k < s->accs.n; k++) {
      neo_kbuf b = {.name = "sums", .type = s->accs.at[k].type, .use = NEO_BUF_SCRATCH};
      b.scratch_elems = p->threads;
      b.no_alias = true;
      b.align = 64;
      p->sums[s->first_acc + k] = neo_kernel_buf(l->k, b);
    }
  }
}

void neo_lower_points(lowering *l) {
  const int64_t *s = l->s->at;
  points p = {.l = l, .threads = s[NEO_SCHED_THREADS], .lanes = s[NEO_SCHED_LANES]};
  p.n = p.threads / p.lanes;
  p.across = s[NEO_SCHED_ACROSS] != 0;
  p.total = lx_int(l, 1);
  for (uint32_t k = 0; k < l->f->axes.n; k++)
    p.total = neo_lx_op2(l->k, NEO_OP_MUL, p.total, neo_lower_extent(l, k));
  make_buffers(&p);
  neo_block *body = neo_lower_open_units(l, neo_lower_ceil_div(l, p.total, p.n), &p.unit);
  l->depth++; /* threads */
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *x = &l->f->stages.at[k];
    if (x->accs.n)
      sum_stage(&p, body, k);
    else
      store_stage(&p, body, x);
  }
}
