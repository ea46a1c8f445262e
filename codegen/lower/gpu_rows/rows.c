/* Row reductions: a block of threads for some points of the shared axes (schedule/gpu_rows).
 *
 *   for u in 0..units unit                       points [u*n, u*n + n), n = threads/lanes
 *     reg sum: threads
 *     for t in 0..threads thread                 a stage that sums:
 *       acc = 0; for k in lane..steps step lanes: acc += body
 *       sum = acc
 *     ...                                        reduction over the lanes (lower/gpu_rows/join.c)
 *     for t in 0..threads thread                 a stage that stores:
 *       for k in lane..steps step lanes: Y[...] = finish(sum)
 *
 * The steps of a stage are those of its last own axes, fused, as far as their ranges do not depend
 * on each other; earlier axes are loops in every thread. The schedule alone determines the steps of
 * each thread and the tree's shape: results have the same bits in any order of threads.
 *
 * With vectors along own axes, a step is a vector along the last of them, and the last step is
 * masked. Vectors along the last shared axis are neighbouring points of one thread. UNROLL_K steps
 * of a thread are unrolled, so that their loads overlap. If the unrolled steps cover a row, they
 * are a tile as in lower/loops/stages.c, and values that several stages need are stashed in
 * registers (lower/common/row_stash.c), so that memory is read once.
 *
 * Lane 0 alone computes a stage whose payloads do not tell the order of steps. */
#include "codegen/lower/gpu_rows/rows.h"
#include "codegen/lower/gpu_rows/gpu_rows.h"

static const tile one = {.m_axis = -1, .n_axis = -1, .rows = 1, .cols = 1, .width = 1};

/* The extent of a shared axis; of the last one, the number of groups of `width`. */
static const neo_lx *places(rows_kernel *p, uint32_t axis) {
  lowering *l = p->l;
  const neo_lx *n = neo_lower_extent(l, axis);
  return p->lanes_shared && axis + 1 == l->f->axes.n ? lx_div(l, n, p->width) : n;
}

/* Sets the shared axes to the thread's point; returns the block where the point exists. */
static neo_block *at_point(rows_kernel *p, neo_block *in) {
  lowering *l = p->l;
  const neo_lx *at =
      p->across ? lx_mod(l, p->thread, lx_int(l, p->n)) : lx_div(l, p->thread, p->lanes);
  int64_t total;
  at = lx_add(l, lx_mul(l, p->unit, p->n), at);
  if (!neo_lx_is_int(p->total, &total) || total % p->n)
    in = &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, at, p->total))->branch.then;
  for (uint32_t k = (uint32_t)l->f->axes.n; k-- > 0;) {
    const neo_lx *n = places(p, k), *x = k ? lx_mod(l, at, n) : at;
    if (p->lanes_shared && k + 1 == l->f->axes.n)
      x = lx_mul(l, x, p->width);
    neo_lower_set_axis(l, k, x, l->depth);
    at = k ? neo_lx_op2(l->k, NEO_OP_DIV, at, n) : at;
  }
  return p->needed.i ? &neo_ls_if(l->k, in, neo_lower_expr(l, p->needed))->branch.then : in;
}

/* The condition, if it is the same for all points of a thread; else 0. */
static neo_expr of_points(const rows_kernel *p, neo_expr where) {
  const lowering *l = p->l;
  uint64_t axes = where.i ? neo_form_axes(l->m, l->f, where) : 0, n = l->f->axes.n;
  bool shared = !(axes >> n) && !(p->lanes_shared && axes >> (n - 1) & 1);
  return shared ? where : (neo_expr){0};
}

/* The condition under which results need their sums: all results are selects of it; 0: always. */
static neo_expr summed(const rows_kernel *p) {
  neo_module *m = p->l->m;
  const neo_form *f = p->l->f;
  neo_expr all = {0};
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    for (size_t i = 0; i < s->accs.n; i++)
      if (neo_expr_accs(m, s->accs.at[i].body))
        return (neo_expr){0};
    for (size_t i = 0; i < s->outs.n; i++) {
      const neo_node *n = neo_expr_node(m, s->outs.at[i].value);
      neo_expr c = n->op == NEO_OP_SELECT ? neo_list_expr(m, n->arg, 0) : (neo_expr){0};
      if (!c.i || neo_expr_accs(m, c) || neo_expr_accs(m, neo_list_expr(m, n->arg, 2)) ||
          (all.i && all.i != c.i))
        return (neo_expr){0};
      all = c;
    }
  }
  return of_points(p, all);
}

/* at_point for lane 0 alone. */
static neo_block *at_first(rows_kernel *p, neo_block *in) {
  lowering *l = p->l;
  if (p->lanes == 1)
    return in;
  return &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_EQ, p->lane, lx_int(l, 0)))->branch.then;
}

/* ---- steps of a stage */

typedef struct {
  const neo_stage *s;
  const stage_bounds *b; /* null: it stores */
  const neo_expr *lo, *hi;
  uint32_t first;     /* first of the fused axes */
  int64_t lanes;      /* lanes that divide the steps */
  int64_t width;      /* elements of a step */
  int64_t row;        /* steps of a thread, if these, unrolled, cover the only axis; else 0 */
  const neo_lx *at_n; /* first of the thread's neighbouring points */
  bool stashes;
} steps;

static bool depends_on(const lowering *l, neo_expr e, uint32_t first) {
  return (neo_form_axes(l->m, l->f, e) >> (l->f->axes.n + first)) != 0;
}

static bool constant_range(lowering *l, const steps *x, uint32_t k, int64_t *lo, int64_t *hi) {
  return neo_expr_is_int(l->m, x->lo[k], lo) && neo_expr_is_int(l->m, x->hi[k], hi);
}

/* The width of a step. Several fused axes have vectors only if the last one is a multiple of
 * them. */
static int64_t width_of(rows_kernel *p, const steps *x) {
  uint32_t last = (uint32_t)x->s->axes.n - 1;
  int64_t lo, hi;
  if (p->lanes_shared || !x->s->axes.n)
    return 1;
  bool several = x->first < last;
  bool whole = constant_range(p->l, x, last, &lo, &hi) && hi > lo && (hi - lo) % p->width == 0;
  return several && !whole ? 1 : p->width;
}

static steps steps_of(rows_kernel *p, const neo_stage *s, const stage_bounds *b, const neo_expr *lo,
                      const neo_expr *hi, bool divided) {
  lowering *l = p->l;
  steps x = {.s = s, .b = b, .lo = lo, .hi = hi, .lanes = divided ? p->lanes : 1, .width = 1};
  int64_t from, to;
  for (uint32_t k = 0; k < s->axes.n; k++)
    while (depends_on(l, lo[k], x.first) || depends_on(l, hi[k], x.first))
      x.first++;
  if (!divided)
    return x;
  x.width = width_of(p, &x);
  if (p->lanes_shared || x.first + 1 != s->axes.n || !constant_range(l, &x, x.first, &from, &to))
    return x;
  int64_t chunk = x.lanes * x.width;
  x.row = to > from && to - from <= chunk * p->unroll ? (to - from + chunk - 1) / chunk : 0;
  x.stashes =
      x.row && s->axes.n == 1 && !from && to == l->stash.row && x.width == p->width && !s->where.i;
  return x;
}

static void set_own(lowering *l, uint32_t k, const neo_lx *at) {
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, at, l->depth);
}

/* The tile of a step, and of `cols` steps of a thread. */
static tile tile_of(const rows_kernel *p, const steps *x, int64_t cols) {
  tile t = one;
  t.width = x->width;
  t.cols = cols;
  t.column_stride = x->width * x->lanes;
  if (p->lanes_shared) {
    t.width = p->width;
    t.n_axis = (int32_t)p->l->f->axes.n - 1;
    t.n_at = x->at_n;
    t.n_depth = p->l->depth;
  }
  return t;
}

/* Visits `cols` steps of the thread from `at` on, along the last axis. */
static void visit(rows_kernel *p, neo_block *in, const steps *x, int64_t cols, const neo_lx *at,
                  const neo_lx *end) {
  lowering *l = p->l;
  tile t = tile_of(p, x, cols);
  uint32_t last = (uint32_t)x->s->axes.n - 1;
  l->stash_here = x->stashes;
  if (p->lanes_shared && at)
    set_own(l, last, at);
  if (at && !p->lanes_shared && x->b)
    neo_lower_accumulate_run(l, in, x->s, &t, x->b, at, end);
  else if (at && !p->lanes_shared)
    neo_lower_store_run(l, in, x->s, &t, at, end);
  else if (x->b)
    neo_lower_accumulate(l, in, x->s, &t, x->b);
  else
    neo_lower_store_point(l, in, x->s, &t);
  l->stash_here = false;
}

static const neo_lx *length_of(lowering *l, const steps *x, uint32_t k) {
  const neo_lx *n = lx_sub(l, neo_lower_expr(l, x->hi[k]), neo_lower_expr(l, x->lo[k]));
  return lx_max(l, n, lx_int(l, 0));
}

static bool is_empty(const neo_lx *from, const neo_lx *to) {
  int64_t a, b;
  return from == to || (neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a >= b);
}

/* Opens the loop over the lane's groups of elements in [from, to): every lanes-th one. */
static neo_block *open_part(rows_kernel *p, neo_block *in, const steps *x, const neo_lx *from,
                            const neo_lx *to, int64_t group, int64_t times, const neo_lx **v) {
  lowering *l = p->l;
  const neo_lx *at = x->lanes > 1 ? lx_add(l, from, lx_mul(l, p->lane, group)) : from;
  return neo_lower_open(l, in, "k", at, to, x->lanes * group * times, v);
}

static neo_block *open_copies(rows_kernel *p, neo_block *in, const neo_lx **u) {
  lowering *l = p->l;
  uint32_t var = neo_kernel_var(l->k, "c");
  *u = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, lx_int(l, 0), lx_int(l, p->unroll), 1)
              ->loop.body;
}

/* ---- one axis, from its own bounds */

/* Visits all of a row, unrolled. */
static void walk_row(rows_kernel *p, neo_block *in, const steps *x) {
  lowering *l = p->l;
  const neo_lx *lo = neo_lower_expr(l, x->lo[x->first]), *hi = neo_lower_expr(l, x->hi[x->first]);
  int64_t from = 0, to = 0;
  constant_range(l, x, x->first, &from, &to);
  bool whole = (to - from) % (x->lanes * x->width) == 0;
  const neo_lx *at = x->lanes > 1 ? lx_add(l, lo, lx_mul(l, p->lane, x->width)) : lo;
  visit(p, in, x, x->row, at, whole ? NULL : hi);
}

/* Visits UNROLL_K steps: as columns of a tile, or, with neighbouring points, one by one. */
static void visit_copies(rows_kernel *p, neo_block *in, const steps *x, const neo_lx *at) {
  lowering *l = p->l;
  const neo_lx *u;
  if (!p->lanes_shared) {
    visit(p, in, x, p->unroll, at, NULL);
    return;
  }
  in = open_copies(p, in, &u);
  visit(p, in, x, 1, lx_add(l, at, lx_mul(l, u, x->lanes)), NULL);
}

static void walk_axis(rows_kernel *p, neo_block *in, const steps *x) {
  lowering *l = p->l;
  const neo_lx *lo = neo_lower_expr(l, x->lo[x->first]), *hi = neo_lower_expr(l, x->hi[x->first]);
  const neo_lx *from = lo, *to, *v;
  if (p->unroll > 1) {
    to = neo_lower_floor_to_multiple(l, lo, hi, x->lanes * x->width * p->unroll);
    if (!is_empty(from, to)) {
      neo_block *body = open_part(p, in, x, from, to, x->width, p->unroll, &v);
      visit_copies(p, body, x, v);
      neo_lower_close(l);
    }
    from = to;
  }
  to = x->width > 1 ? neo_lower_floor_to_multiple(l, lo, hi, x->width) : hi;
  if (!is_empty(from, to)) {
    neo_block *body = open_part(p, in, x, from, to, x->width, 1, &v);
    visit(p, body, x, 1, v, NULL);
    neo_lower_close(l);
  }
  if (x->width > 1 && !is_empty(to, hi)) {
    neo_block *body = open_part(p, in, x, to, hi, x->width, 1, &v);
    visit(p, body, x, 1, v, hi);
    neo_lower_close(l);
  }
}

/* ---- several fused axes, by the number of their steps */

typedef struct {
  const neo_lx *length[NEO_FORM_MAX_AXES], *lo[NEO_FORM_MAX_AXES], *total;
} numbers;

static numbers numbers_of(rows_kernel *p, const steps *x) {
  lowering *l = p->l;
  numbers n = {.total = lx_int(l, 1)};
  for (uint32_t k = x->first; k < x->s->axes.n; k++) {
    n.lo[k] = neo_lower_expr(l, x->lo[k]);
    n.length[k] = length_of(l, x, k);
    if (k + 1 == x->s->axes.n && x->width > 1)
      n.length[k] = lx_div(l, n.length[k], x->width);
    n.total = neo_lx_op2(l->k, NEO_OP_MUL, n.total, n.length[k]);
  }
  return n;
}

static void visit_number(rows_kernel *p, neo_block *in, const steps *x, const numbers *n,
                         const neo_lx *v) {
  lowering *l = p->l;
  const neo_lx *last = NULL;
  for (uint32_t k = (uint32_t)x->s->axes.n; k-- > x->first;) {
    const neo_lx *at = k == x->first ? v : lx_mod(l, v, n->length[k]);
    bool is_last = k + 1 == x->s->axes.n;
    at = lx_add(l, n->lo[k], is_last ? lx_mul(l, at, x->width) : at);
    last = is_last ? at : last;
    if (!is_last)
      set_own(l, k, at);
    v = k == x->first ? v : neo_lx_op2(l->k, NEO_OP_DIV, v, n->length[k]);
  }
  visit(p, in, x, 1, last, NULL);
}

static void visit_fused_axes(rows_kernel *p, neo_block *in, const steps *x) {
  lowering *l = p->l;
  numbers n = numbers_of(p, x);
  const neo_lx *from = lx_int(l, 0), *v, *u;
  if (p->unroll > 1) {
    const neo_lx *to = neo_lower_floor_to_multiple(l, from, n.total, x->lanes * p->unroll);
    neo_block *body = open_part(p, in, x, from, to, 1, p->unroll, &v);
    body = open_copies(p, body, &u);
    visit_number(p, body, x, &n, lx_add(l, v, lx_mul(l, u, x->lanes)));
    neo_lower_close(l);
    from = to;
  }
  if (is_empty(from, n.total))
    return;
  neo_block *body = open_part(p, in, x, from, n.total, 1, 1, &v);
  visit_number(p, body, x, &n, v);
  neo_lower_close(l);
}

/* Visits all steps of the thread. */
static void walk(rows_kernel *p, neo_block *in, steps *x) {
  lowering *l = p->l;
  uint32_t n = (uint32_t)x->s->axes.n, depth = l->depth;
  x->at_n = p->lanes_shared ? neo_lower_axis(l, (uint32_t)l->f->axes.n - 1) : NULL;
  for (uint32_t k = 0; k < x->first; k++) {
    const neo_lx *v;
    in =
        neo_lower_open(l, in, "k", neo_lower_expr(l, x->lo[k]), neo_lower_expr(l, x->hi[k]), 1, &v);
    set_own(l, k, v);
  }
  if (x->first == n)
    visit(p, in, x, 1, NULL, NULL);
  else if (x->first + 1 < n)
    visit_fused_axes(p, in, x);
  else if (x->row)
    walk_row(p, in, x);
  else
    walk_axis(p, in, x);
  l->depth = depth;
}

/* ---- stages */

/* Saves the thread's partial sums in its registers for the stages after this one. */
static void save_partial(rows_kernel *p, neo_block *in, const neo_stage *s, const tile *t) {
  lowering *l = p->l;
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  const neo_lx *zero = lx_int(l, 0), *index[] = {zero, zero, l->lane};
  for (uint32_t k = s->first_acc; k < s->first_acc + s->accs.n; k++)
    neo_ls_set(l->k, b, p->sum[k], index, l->lane ? 3 : 2, neo_lower_acc(l, k));
  neo_lower_close_tile(l);
}

/* Do lanes divide the steps of a stage after this one? Then all need the sums. */
static bool all_need(const lowering *l, size_t at) {
  for (size_t k = at + 1; k < l->f->stages.n; k++)
    if (l->f->stages.at[k].axes.n)
      return true;
  return false;
}

static void end_payloads(rows_kernel *p, neo_block *in, const neo_stage *s, const tile *t) {
  if (neo_lower_has_payload(s))
    neo_lower_end_payloads(p->l, neo_gpu_rows_open_threads(p, in), s, t, true);
}

static void sum_stage(rows_kernel *p, neo_block *in, size_t at) {
  lowering *l = p->l;
  const neo_stage *s = &l->f->stages.at[at];
  const stage_bounds *b = &l->bounds[at];
  bool divided = p->lanes > 1 && neo_lower_lanes_fit(l, s);
  bool alone = p->lanes == 1 || divided; /* every lane computes its own steps */
  neo_block *top = neo_gpu_rows_open_threads(p, in);
  neo_lower_facts(l, l->f, s);
  steps x = steps_of(p, s, b, b->lo, b->hi, p->lanes == 1 ? neo_lower_lanes_fit(l, s) : divided);
  tile part = tile_of(p, &x, 1), whole = part;
  if (!p->lanes_shared)
    whole.width = 1;
  part.n_axis = whole.n_axis = -1;
  neo_lower_begin_accs(l, top, s, &part);
  neo_block *body = at_point(p, top);
  if (p->summed.i)
    body = &neo_ls_if(l->k, body, neo_lower_expr(l, p->summed))->branch.then;
  neo_lower_facts(l, l->f, s);
  walk(p, alone ? body : at_first(p, body), &x);
  if (part.width > 1 && !p->lanes_shared)
    neo_lower_join_lanes(l, top, s, &part, &part);
  save_partial(p, top, s, &whole);
  if (divided)
    neo_gpu_rows_join(p, in, s, all_need(l, at));
  else
    neo_gpu_rows_broadcast(p, in, s);
  end_payloads(p, in, s, &whole);
}

static void store_stage(rows_kernel *p, neo_block *in, const neo_stage *s) {
  lowering *l = p->l;
  neo_expr lo[NEO_FORM_MAX_AXES], hi[NEO_FORM_MAX_AXES];
  for (uint32_t k = 0; k < s->axes.n; k++) {
    lo[k] = s->axes.at[k].lo;
    hi[k] = s->axes.at[k].hi;
  }
  in = at_point(p, neo_gpu_rows_open_threads(p, in));
  neo_lower_facts(l, l->f, s);
  steps x = steps_of(p, s, NULL, lo, hi, true);
  walk(p, x.first == s->axes.n ? at_first(p, in) : in, &x);
}

/* ---- the kernel */

static void make_sums(rows_kernel *p, neo_block *in) {
  lowering *l = p->l;
  int64_t elements = p->lanes_shared ? p->width : 1;
  for (size_t i = 0; i < l->f->stages.n; i++) {
    const neo_stage *s = &l->f->stages.at[i];
    for (uint32_t k = 0; k < s->accs.n; k++) {
      neo_reg r = {.name = "sum", .type = s->accs.at[k].type, .extent = {1, 1, elements}};
      r.rank = elements > 1 ? 3 : 2;
      r.threads = p->threads;
      p->sum[s->first_acc + k] = neo_kernel_reg(l->k, r);
      neo_ls_reg(l->k, in, p->sum[s->first_acc + k]);
      if (neo_gpu_rows_lanes_in_warp(p) == p->lanes)
        continue;
      p->sums[s->first_acc + k] =
          neo_kernel_scratch(l->k, "sums", (neo_type)s->accs.at[k].type, p->threads * elements);
    }
  }
}

static bool is_value(const neo_module *m, neo_expr e, const void *value) {
  (void)m;
  return e.i == ((const neo_expr *)value)->i;
}

/* Is the value a part of results of points that need no sums? */
static bool is_outside_sums(const rows_kernel *p, neo_expr value) {
  const lowering *l = p->l;
  bool found = false;
  for (size_t k = 0; k < l->f->stages.n; k++)
    for (size_t i = 0; i < l->f->stages.at[k].outs.n; i++) {
      const neo_node *select = neo_expr_node(l->m, l->f->stages.at[k].outs.at[i].value);
      found = found || neo_expr_any(l->m, neo_list_expr(l->m, select->arg, 2), is_value, &value);
    }
  return found;
}

/* Drops values that only a stage of sums would have stashed: a row without sums skips that
 * stage. */
static void drop_unfilled(rows_kernel *p) {
  neo_stash *s = &p->l->stash;
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->n; k++)
    if (!is_outside_sums(p, s->at[k].value))
      s->at[n++] = s->at[k];
  s->n = n;
}

/* Declares registers for all of a row. */
static void declare_row_stash(rows_kernel *p, neo_block *in) {
  int64_t chunk = p->lanes * p->width;
  if (p->l->stash.n)
    neo_lower_declare_row_stash(p->l, in, (p->l->stash.row + chunk - 1) / chunk, p->width);
}

static void plan(lowering *l, const neo_row_params *s) {
  l->lanes = (lane_axes){s->vector_axis, -1, -1, s->unroll_k, false};
  neo_lower_bounds(l);
  if (s->stash)
    neo_lower_plan_row_stash(l, s->threads);
  neo_lower_facts(l, l->f, NULL);
}

void neo_lower_gpu_rows(lowering *l) {
  const neo_row_params *s = &l->s->rows;
  plan(l, s);
  rows_kernel p = {.l = l, .threads = s->threads, .lanes = s->lanes};
  p.n = p.threads / p.lanes;
  p.across = s->across != 0;
  p.width = s->vector_width;
  p.lanes_shared = neo_lower_lanes_shared(l);
  p.unroll = s->unroll_k;
  p.needed = of_points(&p, neo_form_needed_where(l->m, l->f));
  p.summed = p.needed.i ? (neo_expr){0} : summed(&p);
  if (p.summed.i)
    drop_unfilled(&p);
  p.total = lx_int(l, 1);
  for (uint32_t k = 0; k < l->f->axes.n; k++)
    p.total = neo_lx_op2(l->k, NEO_OP_MUL, p.total, places(&p, k));
  const neo_lx *blocks = neo_lower_ceil_div(l, p.total, p.n);
  neo_block *body = neo_lower_open_units(l, &l->k->body, blocks, &p.unit);
  make_sums(&p, body);
  declare_row_stash(&p, body);
  l->depth++; /* threads */
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *x = &l->f->stages.at[k];
    if (x->accs.n)
      sum_stage(&p, body, k);
    else
      store_stage(&p, body, x);
  }
}
