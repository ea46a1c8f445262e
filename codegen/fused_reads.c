/* Which loops along positions may share one (fused_loops.h): what a loop reads of those before it has to be made at its
 * own position or at an earlier one. */
#include "codegen/fused_loops.h"

enum { MOST_RANGES = 8, UNKNOWN_ROW = -1 };

typedef struct { /* of a variable of a loop inside */
  uint32_t var;
  int64_t lo, hi;
} range;

typedef struct {
  neo_module *m;
  const neo_position_loop *x;
  range range[MOST_RANGES];
  uint32_t n_ranges;
  /* The tensor that is looked for, and what is found of it: */
  neo_tensor t;
  int64_t row; /* elements that are stored at each position; 0: none; UNKNOWN_ROW: elsewhere */
  bool fits;   /* reads are of rows that are there */
} look;

/* ---- ranges */

static bool interval(const look *l, const neo_lx *e, int64_t *lo, int64_t *hi) {
  int64_t a, b, c, d;
  if (neo_lx_is_int(e, lo)) {
    *hi = *lo;
    return true;
  }
  for (uint32_t k = 0; e->kind == NEO_LX_VAR && k < l->n_ranges; k++)
    if (l->range[k].var == e->attr) {
      *lo = l->range[k].lo;
      *hi = l->range[k].hi;
      return true;
    }
  if (e->kind != NEO_LX_OP || e->n != 2)
    return false;
  bool first = interval(l, e->arg[0], &a, &b), second = interval(l, e->arg[1], &c, &d);
  if (e->attr == NEO_OP_MIN && (first || second)) {
    *hi = !first ? d : !second ? b : b < d ? b : d;
    *lo = !first || !second ? INT64_MIN / 4 : a < c ? a : c;
    return true;
  }
  if (!first || !second)
    return false;
  *lo = e->attr == NEO_OP_ADD ? a + c : e->attr == NEO_OP_SUB ? a - d : a * c;
  *hi = e->attr == NEO_OP_ADD ? b + d : e->attr == NEO_OP_SUB ? b - c : b * c;
  return e->attr == NEO_OP_ADD || e->attr == NEO_OP_SUB ||
         (e->attr == NEO_OP_MUL && c == d && c >= 0);
}

static void add_range(look *l, const neo_ls *loop) {
  int64_t lo, hi, ignored;
  int64_t step = loop->loop.step;
  if (l->n_ranges < MOST_RANGES && interval(l, loop->loop.lo, &lo, &ignored) &&
      interval(l, loop->loop.hi, &ignored, &hi))
    l->range[l->n_ranges++] =
        (range){loop->loop.var, lo, hi > lo ? lo + (hi - 1 - lo) / step * step : lo};
}

/* ---- rows */

/* Elements of a row, if the offset is in the row of the loop's position (or before it, if `before`); 0: it is not. */
static int64_t own_row(const look *l, const neo_lx *offset, bool before) {
  uint32_t var = l->x->loop->loop.var;
  int64_t step, lo, hi;
  if (!neo_lx_step(offset, var, &step) || step <= 0 || !neo_lx_uses(offset, var))
    return 0;
  const neo_lx *rest = neo_lx_subst(l->x->k, offset, var, neo_lx_int(l->x->k, 0));
  bool is = interval(l, rest, &lo, &hi) && hi < step && (before || lo >= 0);
  return is ? step * l->x->factor : 0;
}

/* Elements of a position in a tensor of that extent; 0: not known. */
static int64_t row_of(neo_module *m, neo_tensor t) {
  int64_t all = 1, n;
  for (uint32_t k = 1; k < neo_tensor_rank(m, t); k++)
    all *= neo_expr_is_int(m, neo_tensor_extent(m, t, k), &n) && n > 0 ? n : 0;
  return all;
}

/* Is it the loaded number of a position before the loop's own, or 0? Or of its own one, if `own`. */
static bool is_earlier(const look *l, const neo_lx *e, bool own) {
  neo_module *m = l->m;
  int64_t other = 0;
  if (e->kind == NEO_LX_OP && e->attr == NEO_OP_CAST)
    e = e->arg[0];
  if (e->kind != NEO_LX_LOAD && e->kind != NEO_LX_LOADIF)
    return false;
  const neo_kbuf *b = &l->x->k->bufs.at[e->attr];
  neo_expr below = b->tensor.i && !b->shift ? neo_tensor_at(m, b->tensor)->below : (neo_expr){0};
  neo_expr here = neo_axis_ref(m, 0),
           next = neo_op2(m, NEO_OP_ADD, here, neo_const_int(m, NEO_I64_T, 1));
  if (!below.i || (below.i != here.i && (!own || below.i != next.i)))
    return false;
  if (e->kind == NEO_LX_LOADIF && (!neo_lx_is_int(e->arg[2], &other) || other > 0))
    return false;
  int64_t row = row_of(m, b->tensor);
  return row && own_row(l, e->arg[0], false) == row;
}

/* Elements of a row, if the offset is in that of an earlier position, which data say; 0: it is not. */
static int64_t earlier_row(const look *l, const neo_lx *offset) {
  int64_t row = 1, lo = 0, hi = 0;
  if (offset->kind == NEO_LX_OP && offset->attr == NEO_OP_ADD) {
    if (!interval(l, offset->arg[1], &lo, &hi))
      return 0;
    offset = offset->arg[0];
  }
  if (offset->kind == NEO_LX_OP && offset->attr == NEO_OP_MUL &&
      neo_lx_is_int(offset->arg[1], &row))
    offset = offset->arg[0];
  return row > hi && lo >= 0 && is_earlier(l, offset, false) ? row : 0;
}

/* ---- statements */

static bool is_of(const look *l, uint32_t buf) {
  const neo_kbuf *b = &l->x->k->bufs.at[buf];
  return !(b->use & NEO_BUF_SCRATCH) && b->tensor.i == l->t.i;
}

static void look_store(look *l, const neo_ls *s) {
  if (s->kind != NEO_LS_STORE || !is_of(l, s->store.to.buf))
    return;
  int64_t row = l->x->k->bufs.at[s->store.to.buf].shift ? 0 : own_row(l, s->store.to.offset, false);
  l->row = row && (!l->row || l->row == row) ? row : UNKNOWN_ROW;
}

static void look_loads(look *l, const neo_lx *e) {
  bool loads = e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF;
  if (loads && is_of(l, e->attr)) {
    bool there = l->row > 0 && !l->x->k->bufs.at[e->attr].shift &&
                 (own_row(l, e->arg[0], true) == l->row || earlier_row(l, e->arg[0]) == l->row);
    l->fits = l->fits && there;
  }
  for (uint32_t k = 0; k < e->n; k++)
    look_loads(l, e->arg[k]);
}

static void look_block(look *l, const neo_block *b, bool stores) {
  for (size_t i = 0; i < b->n; i++) {
    const neo_lx *expr[NEO_LS_EXPRS];
    uint32_t n = neo_ls_exprs(b->at[i], expr), ranges = l->n_ranges;
    for (uint32_t k = 0; k < n && !stores; k++)
      look_loads(l, expr[k]);
    if (stores)
      look_store(l, b->at[i]);
    if (b->at[i]->kind == NEO_LS_FOR)
      add_range(l, b->at[i]);
    for (uint32_t k = 0; neo_ls_block(b->at[i], k); k++)
      look_block(l, neo_ls_block(b->at[i], k), stores);
    l->n_ranges = ranges;
  }
}

/* ---- loops */

/* The rows of t that the loop stores. */
static int64_t stored_row(neo_module *m, const neo_position_loop *x, neo_tensor t) {
  look l = {.m = m, .x = x, .t = t};
  look_block(&l, &x->loop->loop.body, true);
  return l.row;
}

/* Are the rows of t there that the loop reads? What stands before the loop reads none. */
static bool reads_rows(neo_module *m, const neo_position_loop *x, neo_tensor t, int64_t row) {
  look l = {.m = m, .x = x, .t = t, .fits = true};
  neo_block head = x->k->body;
  head.n--;
  look_block(&l, &head, false);
  l.row = row;
  look_block(&l, &x->loop->loop.body, false);
  return l.fits;
}

static bool reads(const neo_lx *e, const look *l) {
  bool any = (e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF) && is_of(l, e->attr);
  for (uint32_t k = 0; k < e->n && !any; k++)
    any = reads(e->arg[k], l);
  return any;
}

typedef struct {
  look l;
  bool own;     /* what is read is at the loop's own position */
  size_t reads; /* statements */
  size_t stores;
} uses;

static bool is_own(const look *l, const neo_lx *e) {
  bool is = true;
  if ((e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF) && is_of(l, e->attr))
    is = e->kind == NEO_LX_LOAD && !l->x->k->bufs.at[e->attr].shift &&
         e->arg[0]->kind == NEO_LX_VAR && e->arg[0]->attr == l->x->loop->loop.var;
  for (uint32_t k = 0; k < e->n && is; k++)
    is = is_own(l, e->arg[k]);
  return is;
}

static void note_uses(void *ctx, neo_ls *s) {
  uses *x = ctx;
  const neo_lx *expr[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, expr);
  for (uint32_t k = 0; k < n; k++) {
    x->reads += reads(expr[k], &x->l);
    x->own = x->own && is_own(&x->l, expr[k]);
  }
  x->stores += s->kind == NEO_LS_STORE && is_of(&x->l, s->store.to.buf);
}

bool neo_position_loop_reads_own(neo_module *m, const neo_position_loop *x, neo_tensor t) {
  uses head = {.l = {.m = m, .x = x, .t = t}, .own = true}, body = head;
  neo_block before = x->k->body;
  before.n--;
  neo_block_visit(&before, note_uses, &head);
  neo_block_visit(&x->loop->loop.body, note_uses, &body);
  return !head.reads && body.own && (x->factor == 1 || !body.reads);
}

bool neo_position_loop_writes_own(neo_module *m, const neo_position_loop *x, neo_tensor t) {
  uses all = {.l = {.m = m, .x = x, .t = t}}, top = all;
  const neo_block *b = &x->loop->loop.body;
  const neo_ls *store = NULL;
  neo_block_visit(&x->k->body, note_uses, &all);
  for (size_t k = 0; k < b->n; k++)
    if (b->at[k]->kind == NEO_LS_STORE && is_of(&top.l, b->at[k]->store.to.buf))
      store = b->at[k];
  return all.stores == 1 && store && !store->store.cond && x->factor == 1 &&
         !x->k->bufs.at[store->store.to.buf].shift && store->store.to.offset->kind == NEO_LX_VAR &&
         store->store.to.offset->attr == x->loop->loop.var;
}

typedef struct {
  look l;
  bool is;
} behind;

static void look_behind(behind *x, uint32_t buf, const neo_lx *offset) {
  if (is_of(&x->l, buf))
    x->is = x->is && !x->l.x->k->bufs.at[buf].shift &&
            (own_row(&x->l, offset, true) == 1 || is_earlier(&x->l, offset, true));
}

static void loads_behind(behind *x, const neo_lx *e) {
  if (e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF)
    look_behind(x, e->attr, e->arg[0]);
  for (uint32_t k = 0; k < e->n; k++)
    loads_behind(x, e->arg[k]);
}

static void statement_behind(void *ctx, neo_ls *s) {
  const neo_lx *expr[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, expr);
  for (uint32_t k = 0; k < n; k++)
    loads_behind(ctx, expr[k]);
  if (s->kind == NEO_LS_STORE)
    look_behind(ctx, s->store.to.buf, s->store.to.offset);
}

bool neo_position_loop_is_behind(neo_module *m, const neo_position_loop *x, neo_tensor t) {
  behind y = {{.m = m, .x = x, .t = t}, true};
  neo_block_visit(&x->loop->loop.body, statement_behind, &y);
  return y.is;
}

static bool same(const neo_lx *a, const neo_lx *b) {
  bool is = a->kind == b->kind && a->type == b->type && a->n == b->n && a->attr == b->attr &&
            a->bits == b->bits && a->kind != NEO_LX_VAR && a->kind != NEO_LX_LOAD;
  for (uint32_t k = 0; k < a->n && is; k++)
    is = same(a->arg[k], b->arg[k]);
  return is;
}

bool neo_position_loop_joins(neo_module *m, const neo_position_loop *before, size_t n,
                             const neo_position_loop *x) {
  bool joins = x->loop != NULL;
  for (size_t k = 0; k < n && joins; k++) {
    const neo_position_loop *y = &before[k];
    joins = y->loop && same(y->n, x->n);
    for (size_t r = 0; r < y->g->roots.n && joins; r++)
      joins = reads_rows(m, x, y->g->roots.at[r], stored_row(m, y, y->g->roots.at[r]));
  }
  return joins;
}

/* n*K rounds: K of each position. */
static void take_positions(neo_position_loop *x, const neo_lx *rounds) {
  int64_t c;
  if (rounds->kind == NEO_LX_OP && rounds->attr == NEO_OP_MAX &&
      neo_lx_is_int(rounds->arg[1], &c) && c == 0)
    rounds = rounds->arg[0];
  x->n = rounds;
  x->factor = 1;
  if (rounds->kind == NEO_LX_OP && rounds->attr == NEO_OP_MUL &&
      neo_lx_is_int(rounds->arg[1], &c) && c > 0) {
    x->n = rounds->arg[0];
    x->factor = c;
  }
}

neo_position_loop neo_position_loop_of(const neo_group *g, neo_kernel *k) {
  neo_position_loop x = {.g = g, .k = k};
  int64_t lo, units;
  const neo_ls *last = k->body.n ? k->body.at[k->body.n - 1] : NULL;
  if (last && last->kind == NEO_LS_FOR && last->loop.kind == NEO_LOOP_SERIAL &&
      last->loop.step == 1 && !last->loop.more && neo_lx_is_int(last->loop.lo, &lo) && lo == 0 &&
      neo_lx_is_int(k->units, &units) && units == 1) {
    x.loop = last;
    take_positions(&x, last->loop.hi);
  }
  return x;
}
