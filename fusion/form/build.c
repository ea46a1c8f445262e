/* Building the form of a group: members in order, loads of members replaced by their values,
 * reducers as accumulators. */
#include "fusion/form.h"
#include "ir/prove.h"
#include "ir/row_blocks.h"
#include <assert.h>
#include <math.h>

typedef struct {
  neo_module *m;
  neo_prover *p;
  const neo_group *g;
  neo_form *f;
  neo_map value;     /* tensor of a member -> its value over its output axes and ACCs */
  neo_map nested;    /* tensor of an inner sum -> its definition */
  neo_map inner;     /* load of one, in the stage at hand -> its value there */
  neo_expr acc[2];   /* what ACC k of the definition at hand is in the form */
  neo_expr axis[64]; /* what AXIS k of the definition at hand is in the form; 0: itself */
  uint32_t own[64];  /* the definition's axes that are not shared */
  uint32_t n_own;
} builder;

uint32_t neo_stage_axes(const neo_form *f, const neo_stage *s, neo_axis_rec *out) {
  uint32_t n = 0;
  assert(f->axes.n + s->axes.n <= NEO_FORM_MAX_AXES);
  for (size_t k = 0; k < f->axes.n; k++)
    out[n++] = f->axes.at[k];
  for (size_t k = 0; k < s->axes.n; k++)
    out[n++] = s->axes.at[k];
  return n;
}

void neo_stage_visit(const neo_module *m, const neo_stage *s, void (*f)(void *ctx, neo_expr e),
                     void *ctx) {
  for (size_t k = 0; k < s->axes.n; k++) {
    neo_expr_visit(m, s->axes.at[k].lo, f, ctx);
    neo_expr_visit(m, s->axes.at[k].hi, f, ctx);
  }
  neo_expr_visit(m, s->where, f, ctx);
  for (size_t k = 0; k < s->accs.n; k++)
    neo_expr_visit(m, s->accs.at[k].body, f, ctx);
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_expr_visit(m, s->outs.at[k].offset, f, ctx);
    neo_expr_visit(m, s->outs.at[k].value, f, ctx);
  }
}

int64_t neo_form_row_block(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++)
      if (f->stages.at[k].outs.at[i].row_block)
        return f->stages.at[k].outs.at[i].row_block;
  return 0;
}

bool neo_form_is_nested(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].over)
      return true;
  return false;
}

static void rewrite(neo_module *m, neo_expr *e, neo_form_rewriter *f, void *ctx) {
  if (e->i)
    *e = f(ctx, m, *e);
}

void neo_stage_rewrite(neo_module *m, neo_stage *s, neo_form_rewriter *value,
                       neo_form_rewriter *offset, void *ctx) {
  for (size_t k = 0; k < s->axes.n; k++) {
    rewrite(m, &s->axes.at[k].lo, value, ctx);
    rewrite(m, &s->axes.at[k].hi, value, ctx);
  }
  rewrite(m, &s->where, value, ctx);
  for (size_t k = 0; k < s->accs.n; k++)
    rewrite(m, &s->accs.at[k].body, value, ctx);
  for (size_t k = 0; k < s->outs.n; k++) {
    rewrite(m, &s->outs.at[k].value, value, ctx);
    rewrite(m, &s->outs.at[k].offset, offset, ctx);
  }
}

/* ---- loads of members */

static neo_expr in_range(neo_module *m, neo_tensor t, const neo_expr *index) {
  neo_expr cond = neo_const_bool(m, true), zero = neo_const_int(m, NEO_I64_T, 0);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    cond = neo_op2(m, NEO_OP_AND, cond, neo_op2(m, NEO_OP_LE, zero, index[k]));
    cond =
        neo_op2(m, NEO_OP_AND, cond, neo_op2(m, NEO_OP_LT, index[k], neo_tensor_extent(m, t, k)));
  }
  return cond;
}

static neo_expr put_in_node(void *ctx, neo_module *m, neo_expr e) {
  builder *b = ctx;
  neo_node n = *neo_expr_node(m, e);
  uint64_t value;
  neo_expr index[64];
  if (n.op == NEO_OP_ACC)
    return b->acc[n.attr];
  if (n.op != NEO_OP_LOAD && n.op != NEO_OP_LOAD_ELSE)
    return e;
  if (!neo_map_get(&b->value, n.attr, &value))
    return e;
  neo_tensor t = {n.attr};
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  neo_expr y = neo_expr_subst_axes(m, (neo_expr){(uint32_t)value}, index, neo_tensor_rank(m, t));
  if (n.op == NEO_OP_LOAD)
    return y;
  return neo_op3(m, NEO_OP_SELECT, in_range(m, t, index), y, index[n.arg.n - 1]);
}

/* The expression with members' values in the place of their loads. */
static neo_expr put_in(builder *b, neo_expr e) {
  return e.i ? neo_expr_rewrite(b->m, e, put_in_node, b) : e;
}

static neo_expr flat(builder *b, const neo_stage *s, neo_expr e) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  uint32_t n = neo_stage_axes(b->f, s, axes);
  return neo_flat_expr(b->m, b->p, axes, n, s->where, e);
}

/* ---- reducers */

static neo_expr wide(neo_module *m, neo_expr e) {
  neo_type t = neo_expr_type(m, e);
  return t == NEO_F16_T || t == NEO_BF16_T ? neo_cast(m, NEO_F32_T, e) : e;
}

/* Adds an accumulator and returns its ACC. */
static neo_expr add_acc(builder *b, neo_stage *s, neo_reducer kind, neo_expr body) {
  neo_type t = neo_expr_type(b->m, body);
  neo_form_acc acc = {(uint8_t)kind, (uint8_t)t, flat(b, s, body)};
  NEO_PUSH(b->m->arena, &s->accs, acc);
  return neo_acc_ref(b->m, t, b->f->n_accs++);
}

/* cond and each bound <= AXIS (below), or AXIS < each bound, of a maximum (minimum) of bounds. */
static neo_expr and_bounds(neo_module *m, neo_expr cond, neo_expr bound, neo_expr axis,
                           bool below) {
  neo_op op = (neo_op)neo_expr_node(m, bound)->op;
  if (op == (below ? NEO_OP_MAX : NEO_OP_MIN)) {
    neo_expr first = neo_expr_arg(m, bound, 0), second = neo_expr_arg(m, bound, 1);
    return and_bounds(m, and_bounds(m, cond, first, axis, below), second, axis, below);
  }
  if (neo_expr_is_int(m, bound, &(int64_t){0}))
    return cond; /* in the constant range */
  neo_expr c = below ? neo_op2(m, NEO_OP_LE, bound, axis) : neo_op2(m, NEO_OP_LT, axis, bound);
  return cond.i ? neo_op2(m, NEO_OP_AND, cond, c) : c;
}

/* Bounds over shared axes become a condition on a constant range, so that those axes are free to be
 * lanes; the lowering turns conditions into bounds again where they are not:
 *
 *     r in max(0, h - 13)..min(3, h + 2)   ->   r in 0..3 where h - 13 <= r and r < h + 2 */
static neo_expr relax(builder *b, const neo_stage *s, neo_axis_rec *x, uint32_t position,
                      neo_expr cond) {
  neo_module *m = b->m;
  uint64_t axes = neo_form_axes(m, b->f, x->lo) | neo_form_axes(m, b->f, x->hi);
  uint64_t shared = (1ULL << b->f->axes.n) - 1;
  int64_t lo, hi, unused;
  neo_axis_rec all[NEO_FORM_MAX_AXES];
  neo_facts facts = {all, neo_stage_axes(b->f, s, all), NULL, 0};
  bool reads = neo_form_reads(m, x->lo) || neo_form_reads(m, x->hi);
  if (!(axes & shared) || axes & ~shared || reads)
    return cond;
  if (!neo_interval(b->p, &facts, x->lo, &lo, &unused) ||
      !neo_interval(b->p, &facts, x->hi, &unused, &hi) || hi - lo > 1 << 20)
    return cond;
  neo_expr axis = neo_axis_ref(m, position);
  cond = and_bounds(m, cond, x->lo, axis, true);
  cond = and_bounds(m, cond, x->hi, axis, false);
  x->lo = neo_const_int(m, NEO_I64_T, lo);
  x->hi = neo_const_int(m, NEO_I64_T, hi);
  return cond;
}

/* Does a range further in than axis k read memory? What it reads is only in range where the ranges
 * around it hold. */
static bool protects(const builder *b, const neo_def_rec *d, uint32_t k) {
  for (uint32_t i = k + 1; i < d->axes.n; i++) {
    const neo_axis_rec *x = neo_def_axis(b->m, d, i);
    if (neo_expr_uses_op(b->m, x->lo, NEO_OP_LOAD) || neo_expr_uses_op(b->m, x->hi, NEO_OP_LOAD))
      return true;
  }
  return false;
}

/* A stage over the definition's reduction axes. */
static neo_stage begin_stage(builder *b, const neo_def_rec *d) {
  neo_stage s = {.first_acc = b->f->n_accs};
  neo_expr cond = {0};
  int64_t c;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(b->m, d, k);
    x.lo = flat(b, &s, put_in(b, x.lo));
    x.hi = flat(b, &s, put_in(b, x.hi));
    if (!protects(b, d, k))
      cond = relax(b, &s, &x, k, cond);
    NEO_PUSH(b->m->arena, &s.axes, x);
  }
  s.where = cond; /* the condition is only read where the bounds hold */
  neo_expr where = flat(b, &s, put_in(b, d->where));
  if (where.i && !(neo_expr_is_int(b->m, where, &c) && c))
    s.where = cond.i ? neo_op2(b->m, NEO_OP_AND, cond, where) : where;
  return s;
}

static void end_stage(builder *b, neo_stage s) {
  NEO_PUSH(b->m->arena, &b->f->stages, s);
}

/* m where it is finite, else 0 (NaN stays): what is subtracted before exponentials are taken. */
static neo_expr finite_or_zero(neo_module *m, neo_expr x) {
  neo_type t = neo_expr_type(m, x);
  neo_expr inf = neo_const_float(m, t, (double)INFINITY);
  neo_expr is_inf = neo_op2(m, NEO_OP_EQ, neo_op1(m, NEO_OP_ABS, x), inf);
  return neo_op3(m, NEO_OP_SELECT, is_inf, neo_const_float(m, t, 0), x);
}

bool neo_form_is_logsumexp(neo_module *m, const neo_stage *top, const neo_stage *sum) {
  bool alike = top->accs.n == 1 && sum->accs.n == 1 && top->accs.at[0].kind == NEO_RED_MAX &&
               sum->accs.at[0].kind == NEO_RED_SUM &&
               neo_type_is_float((neo_type)top->accs.at[0].type) && top->where.i == sum->where.i &&
               top->axes.n == sum->axes.n;
  for (size_t k = 0; alike && k < top->axes.n; k++)
    alike = top->axes.at[k].lo.i == sum->axes.at[k].lo.i &&
            top->axes.at[k].hi.i == sum->axes.at[k].hi.i;
  if (!alike)
    return false;
  neo_expr x = top->accs.at[0].body, acc = neo_acc_ref(m, neo_expr_type(m, x), top->first_acc);
  neo_expr y = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, x, finite_or_zero(m, acc)));
  return y.i == sum->accs.at[0].body.i;
}

/* logsumexp x = m + log(sum exp(x - m)), m = max x */
static void add_logsumexp(builder *b, const neo_def_rec *d, neo_expr body) {
  neo_module *m = b->m;
  neo_stage s = begin_stage(b, d);
  neo_expr x = wide(m, body), top = add_acc(b, &s, NEO_RED_MAX, x);
  end_stage(b, s);
  s = begin_stage(b, d);
  neo_expr base = finite_or_zero(m, top);
  neo_expr y = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, x, base));
  neo_expr sum = add_acc(b, &s, NEO_RED_SUM, y);
  end_stage(b, s);
  y = neo_op2(m, NEO_OP_ADD, base, neo_op1(m, NEO_OP_LOG, sum));
  b->acc[0] = neo_cast(m, neo_expr_type(m, body), y);
}

/* Points of the definition's reduction where its axes have independent bounds and no condition; 0
 * otherwise. */
static neo_expr plain_count(builder *b, const neo_def_rec *d) {
  neo_module *m = b->m;
  neo_expr n = neo_const_int(m, NEO_I64_T, 1), zero = neo_const_int(m, NEO_I64_T, 0);
  if (d->where.i)
    return (neo_expr){0};
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, d, k);
    neo_expr extent = neo_op2(m, NEO_OP_SUB, put_in(b, x.hi), put_in(b, x.lo));
    if (neo_expr_axes(m, extent) >> d->n_out)
      return (neo_expr){0};
    n = neo_op2(m, NEO_OP_MUL, n, neo_op2(m, NEO_OP_MAX, extent, zero));
  }
  return n;
}

static void add_mean(builder *b, const neo_def_rec *d, neo_expr body) {
  neo_module *m = b->m;
  neo_stage s = begin_stage(b, d);
  neo_expr sum = add_acc(b, &s, NEO_RED_SUM, wide(m, body)), n = plain_count(b, d);
  if (!n.i)
    n = add_acc(b, &s, NEO_RED_SUM, neo_const_int(m, NEO_I64_T, 1));
  end_stage(b, s);
  neo_expr mean = neo_op2(m, NEO_OP_DIV, sum, neo_cast(m, neo_expr_type(m, sum), n));
  b->acc[0] = neo_cast(m, neo_expr_type(m, body), mean);
  b->acc[1] = n;
}

typedef struct {
  const neo_module *m;
  bool found;
} payload_use;

static void find_payload(void *ctx, neo_expr e) {
  payload_use *u = ctx;
  const neo_node *n = neo_expr_node(u->m, e);
  u->found = u->found || (n->op == NEO_OP_ACC && n->attr == 1);
}

/* Does a result say which point won? If not, the winner's value is all that is kept. */
static bool wants_payload(const builder *b, const neo_def_rec *d) {
  payload_use u = {b->m, false};
  for (uint32_t k = 0; k < d->finish.n; k++)
    neo_expr_visit(b->m, neo_list_expr(b->m, d->finish, k), find_payload, &u);
  return u.found;
}

static void add_simple(builder *b, const neo_def_rec *d, const neo_expr *body) {
  neo_stage s = begin_stage(b, d);
  neo_expr acc = add_acc(b, &s, (neo_reducer)d->reducer, wide(b->m, body[0]));
  b->acc[0] = neo_cast(b->m, neo_expr_type(b->m, body[0]), acc);
  if (d->body.n > 1 && wants_payload(b, d))
    b->acc[1] = add_acc(b, &s, NEO_RED_NONE, body[1]);
  end_stage(b, s);
}

/* ---- inner sums */

/* The stage of an inner sum at this place in the body of the definition at hand: over the axes of
 * that reduction, then its own. Returns its value. */
static neo_expr inner_sum(builder *b, const neo_def_rec *host, const neo_def_rec *d,
                          const neo_expr *index) {
  neo_module *m = b->m;
  neo_expr by[64];
  neo_stage s = {.first_acc = b->f->n_accs, .over = host->axes.n - host->n_out};
  assert(d->axes.n <= 64 && host->n_out == b->f->axes.n);
  for (uint32_t k = 0; k < d->axes.n; k++)
    by[k] = k < d->n_out ? index[k] : neo_axis_ref(m, host->axes.n + k - d->n_out);
  for (uint32_t k = host->n_out; k < host->axes.n + d->axes.n - d->n_out; k++) {
    bool own = k < host->axes.n;
    neo_axis_rec x =
        own ? *neo_def_axis(m, host, k) : *neo_def_axis(m, d, d->n_out + k - host->axes.n);
    neo_expr lo = put_in(b, x.lo), hi = put_in(b, x.hi);
    x.lo = flat(b, &s, own ? lo : neo_expr_subst_axes(m, lo, by, d->axes.n));
    x.hi = flat(b, &s, own ? hi : neo_expr_subst_axes(m, hi, by, d->axes.n));
    if (own && !protects(b, host, k))
      relax(b, &s, &x, k, (neo_expr){0}); /* as around it, where the condition is */
    NEO_PUSH(m->arena, &s.axes, x);
  }
  neo_expr body = wide(m, put_in(b, neo_list_expr(m, d->body, 0)));
  neo_expr acc = add_acc(b, &s, NEO_RED_SUM, neo_expr_subst_axes(m, body, by, d->axes.n));
  end_stage(b, s);
  b->acc[0] = neo_cast(m, neo_expr_type(m, neo_list_expr(m, d->body, 0)), acc);
  neo_expr y = put_in(b, neo_list_expr(m, d->finish, 0));
  b->acc[0] = (neo_expr){0};
  return neo_expr_subst_axes(m, y, by, d->axes.n);
}

typedef struct {
  builder *b;
  const neo_def_rec *host;
} nester;

static neo_expr nest_node(void *ctx, neo_module *m, neo_expr e) {
  const nester *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  uint64_t def, known;
  neo_expr index[64];
  if (n.op != NEO_OP_LOAD || !neo_map_get(&c->b->nested, n.attr, &def))
    return e;
  if (neo_map_get(&c->b->inner, e.i, &known))
    return (neo_expr){(uint32_t)known};
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  neo_def_rec d = *neo_def_at(m, (neo_def){(uint32_t)def});
  neo_expr y = inner_sum(c->b, c->host, &d, index);
  neo_map_set(&c->b->inner, e.i, y.i);
  return y;
}

/* A body with stages for the inner sums in it. */
static neo_expr nest(builder *b, const neo_def_rec *host, neo_expr body) {
  nester c = {b, host};
  return b->nested.n ? neo_expr_rewrite(b->m, body, nest_node, &c) : body;
}

static void add_reduction(builder *b, const neo_def_rec *d) {
  neo_expr body[2] = {{0}, {0}};
  assert(d->body.n <= 2);
  neo_map_init(&b->inner, b->m->arena);
  for (uint32_t k = 0; k < d->body.n; k++)
    body[k] = nest(b, d, put_in(b, neo_list_expr(b->m, d->body, k)));
  switch (d->reducer) {
  case NEO_RED_NONE:
    break;
  case NEO_RED_LOGSUMEXP:
    add_logsumexp(b, d, body[0]);
    break;
  case NEO_RED_MEAN:
    add_mean(b, d, body[0]);
    break;
  default:
    add_simple(b, d, body);
  }
}

/* ---- members */

static neo_expr store_offset(neo_module *m, const neo_def_rec *d, neo_tensor t) {
  neo_expr index[64];
  assert(d->n_out < 64);
  for (uint32_t k = 0; k < d->n_out; k++) {
    index[k] = neo_axis_ref(m, k);
    if (!d->out_map.n)
      continue;
    int64_t stride = (int32_t)neo_list_at(m, d->out_map, 2 * k);
    int64_t offset = (int32_t)neo_list_at(m, d->out_map, 2 * k + 1);
    index[k] = neo_op2(m, NEO_OP_MUL, index[k], neo_const_int(m, NEO_I64_T, stride));
    index[k] = neo_op2(m, NEO_OP_ADD, index[k], neo_const_int(m, NEO_I64_T, offset));
  }
  return neo_flat_offset(m, t, index);
}

static uint32_t shared_axes(const builder *b) {
  uint32_t n = UINT32_MAX;
  for (size_t k = 0; k < b->g->members.n; k++) {
    const neo_member *x = &b->g->members.at[k];
    uint32_t n_out = neo_def_at(b->m, x->def)->n_out;
    if (x->place != NEO_PLACE_INLINE && n_out < n)
      n = n_out;
  }
  return n == UINT32_MAX ? 0 : n;
}

/* Where the member's output axes are in the form: shared ones first, then its own. */
static void place_axes(builder *b, const neo_member *x, const neo_def_rec *d) {
  uint32_t n = (uint32_t)b->f->axes.n;
  uint64_t shared = 0;
  b->n_own = 0;
  assert(d->n_out < 64);
  for (uint32_t k = 0; k < d->n_out; k++)
    b->axis[k] = (neo_expr){0};
  for (uint32_t s = 0; s < n; s++) {
    uint32_t k = x->shared ? (uint32_t)x->shared[s] : s;
    shared |= 1ULL << k;
    b->axis[k] = neo_axis_ref(b->m, s);
  }
  for (uint32_t k = 0; k < d->n_out; k++)
    if (!(shared >> k & 1)) {
      b->axis[k] = neo_axis_ref(b->m, n + b->n_own);
      b->own[b->n_own++] = k;
    }
}

static neo_expr in_form(builder *b, const neo_def_rec *d, neo_expr e) {
  return neo_expr_subst_axes(b->m, e, b->axis, d->n_out);
}

/* Stores of one member: with those of the member before if both are at every point of the same
 * axes. */
static neo_stage *store_stage(builder *b, const neo_def_rec *d) {
  neo_form *f = b->f;
  neo_stage s = {.first_acc = f->n_accs};
  for (uint32_t k = 0; k < b->n_own; k++)
    NEO_PUSH(b->m->arena, &s.axes, *neo_def_axis(b->m, d, b->own[k]));
  end_stage(b, s);
  return &f->stages.at[f->stages.n - 1];
}

static void add_outs(builder *b, const neo_member *x, const neo_def_rec *d, const neo_expr *value) {
  place_axes(b, x, d);
  neo_stage *s = store_stage(b, d);
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor t = {neo_list_at(b->m, d->out, k)};
    neo_expr at = in_form(b, d, store_offset(b->m, d, t));
    neo_form_out out = {t, at, flat(b, s, in_form(b, d, value[k])), 0};
    NEO_PUSH(b->m->arena, &s->outs, out);
  }
}

/* A sum of runs of the last shared axis: the row at hand is added. Its output axes are the shared
 * ones, runs in the place of the last, and one more. */
static void add_run(builder *b, const neo_member *x) {
  neo_module *m = b->m;
  neo_def_rec d = *neo_def_at(m, x->def);
  neo_row_block run;
  neo_expr index[64];
  bool is_run = neo_row_block_of(m, x->def, &run);
  assert(is_run && run.at + 1 == b->f->axes.n && "found by fusion/search/columns.c");
  (void)is_run;
  for (uint32_t k = 0; k < d.n_out; k++)
    index[k] = neo_axis_ref(m, k);
  index[run.at] = neo_op2(m, NEO_OP_DIV, index[run.at], neo_const_int(m, NEO_I64_T, run.length));
  neo_stage s = {.first_acc = b->f->n_accs};
  NEO_PUSH(m->arena, &s.axes, *neo_def_axis(m, &d, d.n_out - 1));
  neo_tensor t = {neo_list_at(m, d.out, 0)};
  neo_expr value = flat(b, &s, put_in(b, run.body));
  NEO_PUSH(m->arena, &s.outs, (neo_form_out){t, neo_flat_offset(m, t, index), value, run.length});
  end_stage(b, s);
}

static void add_member(builder *b, const neo_member *x) {
  neo_def_rec d = *neo_def_at(b->m, x->def);
  neo_expr value[16];
  if (x->row_block) {
    add_run(b, x);
    return;
  }
  if (x->place == NEO_PLACE_INLINE && d.reducer != NEO_RED_NONE) {
    neo_map_set(&b->nested, neo_list_at(b->m, d.out, 0), x->def.i);
    return;
  }
  b->acc[0] = b->acc[1] = (neo_expr){0};
  assert(d.finish.n <= 16);
  add_reduction(b, &d);
  for (uint32_t k = 0; k < d.finish.n; k++)
    value[k] = put_in(b, neo_list_expr(b->m, d.finish, k));
  if (x->place == NEO_PLACE_ROOT)
    add_outs(b, x, &d, value);
  if (!d.out_map.n)
    for (uint32_t k = 0; k < d.out.n; k++)
      neo_map_set(&b->value, neo_list_at(b->m, d.out, k), value[k].i);
}

/* The shared axes are those of a member that has no others. */
static void add_shared(builder *b) {
  uint32_t n = shared_axes(b);
  for (size_t k = 0; k < b->g->members.n && b->f->axes.n < n; k++) {
    const neo_member *x = &b->g->members.at[k];
    const neo_def_rec *d = neo_def_at(b->m, x->def);
    if (x->place == NEO_PLACE_INLINE || d->n_out != n)
      continue;
    for (uint32_t i = 0; i < n; i++)
      NEO_PUSH(b->m->arena, &b->f->axes, *neo_def_axis(b->m, d, i));
  }
}

static neo_form *build(neo_module *m, const neo_group *g) {
  builder b = {.m = m, .p = neo_prover_new(m), .g = g, .f = NEO_NEW(m->arena, neo_form)};
  neo_map_init(&b.value, m->arena);
  neo_map_init(&b.nested, m->arena);
  neo_prover_at(b.p, g->members.n ? neo_def_at(m, g->members.at[0].def)->span : 0);
  add_shared(&b);
  for (size_t k = 0; k < g->members.n; k++)
    add_member(&b, &g->members.at[k]);
  if (!neo_form_is_nested(b.f)) { /* stages have axes in common, which stay where they are */
    neo_form_fuse_stages(m, b.f);
    neo_form_terms(m, b.f);
    neo_form_drop_unit_axes(m, b.f);
    neo_form_strip_mine(m, b.f);
    neo_form_fuse_axes(m, b.f);
    neo_form_interchange(m, b.f);
  }
  neo_form_rebase(m, b.p, b.f);
  neo_prover_free(b.p);
  return b.f;
}

const neo_form *neo_group_form(neo_module *m, const neo_group *g) {
  neo_group *own = (neo_group *)g; /* a cache is no part of what the group says */
  if (!g->form)
    own->form = build(m, g);
  return g->form;
}
