/* Reducers: one stays with its statement, the others become definitions of their own.
 *
 *     Y[i] = x[i] / sum[j] x[j]      ->   Y.sum1 = sum[j] x[j];  Y[i] = x[i] / Y.sum1
 *     Y[i] = relu(sum[k] W[i,k] x[k]) ->  Y[i] = finish relu(ACC), sum[k] W[i,k]*x[k]
 *
 * A reducer is kept when it is outermost, the first, and uses every output axis (else it would be
 * computed again for each element that does not tell it apart). A hoisted one is defined over the
 * outer axes that it uses, at the hull of their extents. Its place may be guarded (select, and,
 * or, where): if its reads cannot be shown in range without those conditions, they are conjoined
 * to its `where`. */
#include "frontend/check.h"
#include <string.h>

typedef struct {
  const neo_ast_expr *e;
  uint32_t base, n_own;     /* axes before, and bound here */
  size_t n_assume, n_reads; /* before */
  neo_reducer reducer;
  neo_expr body[2], where, finish, bound;
  uint32_t n_body;
  uint64_t uses; /* outer axes, a bit each */
} reduction;

/* ---- axes */

static neo_expr bound_of(neo_frame *f, const neo_ast_expr *e, int64_t more) {
  neo_expr x = neo_check_index(f, e);
  return x.i ? neo_size_add1(f->fe, x, more) : x;
}

static bool push_own(neo_frame *f, reduction *r, const char *name, neo_span span, neo_expr lo,
                     neo_expr hi) {
  const char *shown = name[0] == '.' ? neo_arena_printf(f->fe->arena, "d%s", name + 2) : name;
  if (!lo.i || !hi.i)
    return false;
  neo_axis_rec rec = {neo_name_of(f->fe->names, shown), lo, hi, span};
  if (neo_frame_push(f, name, rec) < 0)
    return false;
  r->n_own++;
  return true;
}

static bool rebinds(neo_frame *f, const char *name, neo_span at) {
  int p = neo_frame_axis(f, name);
  if (p < 0)
    return false;
  int h = NEO_ERR(f->in, at, INDEX_REBOUND, name[0] == '.' ? ".." : name);
  neo_diag_range(f->fe->diags, h, f->axis[p].span);
  neo_diag_help(f->fe->diags, h, "use another name for the index of the inner one");
  return true;
}

static bool push_pack(neo_frame *f, reduction *r, const neo_want *w, neo_span span) {
  bool ok = true;
  for (uint32_t k = 0; k < f->n_pack; k++) {
    if (rebinds(f, f->pack_name[k], span))
      return false;
    if (neo_ranges_missing(f, &w[k]))
      return false;
  }
  for (uint32_t k = 0; k < f->n_pack; k++)
    ok =
        push_own(f, r, f->pack_name[k], span, neo_const_int(f->m, NEO_I64_T, 0), w[k].extent) && ok;
  return ok;
}

static bool push_index(neo_frame *f, reduction *r, const neo_ast_axis *a, const neo_want *w) {
  neo_expr lo = neo_const_int(f->m, NEO_I64_T, 0), hi = w->extent;
  if (rebinds(f, a->name.text, a->name.span) || neo_ranges_missing(f, w))
    return false;
  if (a->lo)
    lo = bound_of(f, a->lo, a->lo_rel == NEO_AST_REL_LT);
  if (a->hi)
    hi = bound_of(f, a->hi, a->hi_rel == NEO_AST_REL_LE);
  bool ok = push_own(f, r, a->name.text, a->name.span, lo, hi);
  if (ok)
    neo_frame_set_guarded(f, f->n_axes - 1, w->guarded && !w->bounded);
  return ok;
}

static neo_wants *wants_of(neo_frame *f, const neo_ast_expr *e) {
  uint64_t at;
  neo_wants none = {0};
  if (!neo_map_get(&f->inferred, (uint64_t)(uintptr_t)e, &at))
    neo_ranges_infer(f, &none, e);
  neo_map_get(&f->inferred, (uint64_t)(uintptr_t)e, &at);
  return (neo_wants *)(uintptr_t)at;
}

static bool push_axes(neo_frame *f, reduction *r) {
  neo_wants *wants = wants_of(f, r->e);
  uint32_t k = 0;
  bool ok = true;
  for (uint32_t j = 0; j < r->e->u.reduce.axes.n; j++) {
    const neo_ast_axis *a = &r->e->u.reduce.axes.at[j];
    if (a->kind == NEO_AST_PACK && !f->has_pack)
      return false; /* reported with the statement */
    if (a->kind == NEO_AST_PACK) {
      ok = push_pack(f, r, wants->at + k, a->span) && ok;
      k += f->n_pack;
    } else {
      ok = push_index(f, r, a, &wants->at[k++]) && ok;
    }
  }
  return ok;
}

/* ---- what is reduced */

static bool needs_float(neo_frame *f, const reduction *r, neo_type t) {
  if (neo_type_is_float(t))
    return true;
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  int h = NEO_ERR(f->in, r->e->u.reduce.body->span, NEEDS_FLOAT, word, neo_type_text(t));
  neo_diag_help(f->fe->diags, h, "convert it with f32(...)");
  return false;
}

static bool needs_number(neo_frame *f, const reduction *r, neo_type t) {
  if (t != NEO_BOOL_T)
    return true;
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  int h = NEO_ERR(f->in, r->e->u.reduce.body->span, BOOL_ARITHMETIC, word);
  neo_diag_help(f->fe->diags, h, "count with i32(...), or use any or all");
  return false;
}

/* Row-major position among the axes bound here; its bound in r->bound. */
static neo_expr position(neo_frame *f, reduction *r) {
  neo_expr at = neo_const_int(f->m, NEO_I64_T, 0);
  r->bound = neo_const_int(f->m, NEO_I64_T, 1);
  for (uint32_t k = r->base; k < r->base + r->n_own; k++) {
    neo_expr hull = neo_frame_hull(f, k);
    if (!hull.i)
      return hull;
    at = neo_op2(f->m, NEO_OP_ADD, neo_op2(f->m, NEO_OP_MUL, at, hull), neo_axis_ref(f->m, k));
    r->bound = neo_op2(f->m, NEO_OP_MUL, r->bound, hull);
  }
  return at;
}

static neo_expr less(neo_frame *f, neo_expr a, neo_expr b) {
  return neo_op2(f->m, NEO_OP_LT, a, b);
}

/* Is something taken at all points? Each range is asked about under the axes before it alone: an
 * axis that has a value says that its own range is not empty. */
static bool never_empty(neo_frame *f, const reduction *r) {
  neo_facts facts = neo_frame_facts(f);
  bool taken = !r->where.i;
  for (uint32_t k = r->base; taken && k < r->base + r->n_own; k++) {
    facts.n_axes = k;
    taken =
        neo_prove(f->fe->prover, &facts, less(f, f->axis[k].lo, f->axis[k].hi), NULL) == NEO_PROVED;
  }
  return taken;
}

/* The position in nothing is 0, which is below no extent of 0. */
static neo_expr above_zero(neo_frame *f, neo_expr bound) {
  neo_facts nothing = {0};
  neo_expr zero = neo_const_int(f->m, NEO_I64_T, 0), one = neo_const_int(f->m, NEO_I64_T, 1);
  if (neo_prove(f->fe->prover, &nothing, less(f, zero, bound), NULL) == NEO_PROVED)
    return bound;
  return neo_op2(f->m, NEO_OP_MAX, bound, one);
}

static bool extremum(neo_frame *f, reduction *r, neo_reducer reducer, bool arg) {
  neo_type t = neo_expr_type(f->m, r->body[0]);
  if (!needs_number(f, r, t))
    return false;
  r->reducer = reducer;
  r->n_body = 2;
  r->body[1] = position(f, r);
  if (!r->body[1].i)
    return false;
  r->finish =
      arg ? neo_cast(f->m, NEO_I32_T, neo_acc_ref(f->m, NEO_I64_T, 1)) : neo_acc_ref(f->m, t, 0);
  int64_t largest = INT64_MAX;
  if (arg && (!neo_size_max(f->fe, r->bound, &largest) || largest > INT32_MAX)) {
    NEO_ERR(f->in, r->e->span, ARGMAX_LARGE, neo_ast_reducer_text(r->e->u.reduce.reducer));
    return false;
  }
  if (arg)
    r->bound = above_zero(f, r->bound);
  else /* the extremum of nothing is the end of its type */
    r->bound = never_empty(f, r) ? neo_expr_bound(f, r->body[0]) : (neo_expr){0};
  return true;
}

static bool accumulation(neo_frame *f, reduction *r, neo_reducer reducer) {
  neo_type t = neo_expr_type(f->m, r->body[0]);
  if (!needs_number(f, r, t))
    return false;
  bool real = reducer == NEO_RED_MEAN || reducer == NEO_RED_LOGSUMEXP;
  if (real && !needs_float(f, r, t))
    return false;
  r->reducer = reducer;
  r->body[0] = neo_expr_widen(f, r->body[0]);
  neo_type wide = neo_expr_type(f->m, r->body[0]);
  r->finish = neo_acc_ref(f->m, wide, 0);
  if (neo_type_is_float(t))
    r->finish = neo_cast(f->m, t, r->finish);
  return true;
}

static bool logical(neo_frame *f, reduction *r, neo_reducer reducer) {
  neo_type t = neo_expr_type(f->m, r->body[0]);
  r->reducer = reducer;
  r->finish = neo_acc_ref(f->m, NEO_BOOL_T, 0);
  if (t == NEO_BOOL_T)
    return true;
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  NEO_ERR(f->in, r->e->u.reduce.body->span, NEEDS_BOOL, word, neo_type_text(t));
  return false;
}

static bool choose(neo_frame *f, reduction *r) {
  r->n_body = 1;
  switch (r->e->u.reduce.reducer) {
  case NEO_AST_RED_SUM:
    return accumulation(f, r, NEO_RED_SUM);
  case NEO_AST_RED_PROD:
    return accumulation(f, r, NEO_RED_PROD);
  case NEO_AST_RED_MEAN:
    return accumulation(f, r, NEO_RED_MEAN);
  case NEO_AST_RED_LOGSUMEXP:
    return accumulation(f, r, NEO_RED_LOGSUMEXP);
  case NEO_AST_RED_MAX:
    return extremum(f, r, NEO_RED_MAX, false);
  case NEO_AST_RED_MIN:
    return extremum(f, r, NEO_RED_MIN, false);
  case NEO_AST_RED_ARGMAX:
    return extremum(f, r, NEO_RED_MAX, true);
  case NEO_AST_RED_ARGMIN:
    return extremum(f, r, NEO_RED_MIN, true);
  case NEO_AST_RED_ANY:
    return logical(f, r, NEO_RED_ANY);
  default:
    return logical(f, r, NEO_RED_ALL);
  }
}

/* The condition and the body, under the axes bound here; in them integers are values again. */
static bool lower_inside(neo_frame *f, reduction *r) {
  uint32_t subscript = f->subscript;
  bool ok = true;
  f->subscript = 0;
  f->depth++;
  if (r->e->u.reduce.where) {
    r->where = neo_check_condition(f, r->e->u.reduce.where);
    ok = r->where.i != 0;
    if (ok)
      neo_frame_assume(f, r->where);
  }
  neo_val v = neo_check_expr(f, r->e->u.reduce.body);
  r->body[0] = neo_val_scalar(f, r->e->u.reduce.body->span, v);
  ok = ok && r->body[0].i && choose(f, r);
  f->depth--;
  f->subscript = subscript;
  return ok;
}

/* ---- outer axes and guards */

static uint64_t outer_axes(neo_frame *f, const reduction *r) {
  uint64_t bits = 0;
  for (uint32_t k = 0; k < r->n_body; k++)
    bits |= neo_expr_axes(f->m, r->body[k]);
  if (r->where.i)
    bits |= neo_expr_axes(f->m, r->where);
  for (uint32_t k = r->base; k < r->base + r->n_own; k++)
    bits |= neo_expr_axes(f->m, f->axis[k].lo) | neo_expr_axes(f->m, f->axis[k].hi);
  return bits & (((uint64_t)1 << r->base) - 1);
}

static bool all_rect(const neo_frame *f, uint32_t n) {
  for (uint32_t p = 0; p < n; p++)
    if (!neo_frame_is_rect(f, p))
      return false;
  return true;
}

/* Are the reads inside in range with the outer axes at their hull and without outer conditions? */
static bool reads_hold(neo_frame *f, const reduction *r) {
  neo_axis_rec axis[NEO_MAX_AXES];
  memcpy(axis, f->axis, sizeof axis);
  for (uint32_t p = 0; p < r->base; p++) {
    if (neo_frame_is_rect(f, p))
      continue;
    axis[p].hi = neo_frame_hull(f, p);
    axis[p].lo = neo_const_int(f->m, NEO_I64_T, 0);
    if (!axis[p].hi.i)
      return true; /* reported */
  }
  for (size_t k = r->n_reads; k < f->reads.n; k++) {
    const neo_read *x = &f->reads.at[k];
    neo_facts facts = {axis, f->n_axes, f->proofs.at + x->first_assume, x->n_assume};
    uint32_t outer = (uint32_t)r->n_assume < x->n_assume ? (uint32_t)r->n_assume : x->n_assume;
    facts.assume += outer;
    facts.n_assume -= outer;
    if (neo_prove_index(f->fe->prover, &facts, x->index, x->extent, NULL) != NEO_PROVED)
      return false;
  }
  return true;
}

static neo_expr conjoin(neo_frame *f, neo_expr a, neo_expr b) {
  if (!a.i)
    return b;
  return b.i ? neo_op2(f->m, NEO_OP_AND, a, b) : a;
}

/* The parts of a condition that may stand outside of finish. */
static neo_expr without_acc(neo_frame *f, neo_expr c) {
  neo_node n = *neo_expr_node(f->m, c);
  if (!neo_expr_uses_op(f->m, c, NEO_OP_ACC))
    return c;
  if (n.op != NEO_OP_AND)
    return (neo_expr){0};
  return conjoin(f, without_acc(f, neo_list_expr(f->m, n.arg, 0)),
                 without_acc(f, neo_list_expr(f->m, n.arg, 1)));
}

static neo_expr in_range(neo_frame *f, uint32_t p) {
  neo_expr x = neo_axis_ref(f->m, p);
  return neo_op2(f->m, NEO_OP_AND, neo_op2(f->m, NEO_OP_LE, f->axis[p].lo, x),
                 neo_op2(f->m, NEO_OP_LT, x, f->axis[p].hi));
}

static neo_expr outer_guard(neo_frame *f, const reduction *r) {
  neo_expr guard = {0};
  uint64_t done = 0;
  for (size_t k = f->fe->asserts.n; k < r->n_assume; k++)
    guard = conjoin(f, guard, without_acc(f, f->assume.at[k]));
  for (bool more = true; more;) {
    uint64_t bits = r->uses | (guard.i ? neo_expr_axes(f->m, guard) : 0);
    more = false;
    for (uint32_t p = 0; p < r->base; p++) {
      if (!(bits >> p & 1) || done >> p & 1 || neo_frame_is_rect(f, p))
        continue;
      done |= (uint64_t)1 << p;
      guard = conjoin(f, guard, in_range(f, p));
      more = true;
    }
  }
  return guard;
}

static neo_expr read_else_zero(void *ctx, neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_MAX_RANK];
  (void)ctx;
  if (n.op != NEO_OP_LOAD || n.type == NEO_BOOL_T || n.arg.n > NEO_MAX_RANK)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  return neo_load_else(m, (neo_tensor){n.attr}, index, n.arg.n,
                       neo_const_int(m, (neo_type)n.type, 0), n.span);
}

static void guard_reads(neo_frame *f, reduction *r) {
  bool outside = r->n_assume > f->fe->asserts.n || !all_rect(f, r->base);
  r->uses = outer_axes(f, r);
  if (!outside || f->reads.n == r->n_reads || reads_hold(f, r))
    return;
  neo_expr guard = outer_guard(f, r);
  r->where = conjoin(f, guard, r->where);
  for (uint32_t k = r->base; k < r->base + r->n_own; k++) { /* evaluated before the guard */
    f->axis[k].lo = neo_expr_rewrite(f->m, f->axis[k].lo, read_else_zero, NULL);
    f->axis[k].hi = neo_expr_rewrite(f->m, f->axis[k].hi, read_else_zero, NULL);
  }
  r->uses = outer_axes(f, r);
}

/* ---- keeping and hoisting */

/* A pack of rank 0 leaves one point: the value itself, at position 0. */
static bool is_single(const reduction *r) {
  return r->n_own == 0 && !r->where.i;
}

static neo_val single(neo_frame *f, const reduction *r) {
  bool arg =
      r->e->u.reduce.reducer == NEO_AST_RED_ARGMAX || r->e->u.reduce.reducer == NEO_AST_RED_ARGMIN;
  if (arg)
    return neo_val_expr(neo_const_int(f->m, NEO_I32_T, 0));
  return neo_val_expr(neo_cast(f->m, neo_expr_type(f->m, r->finish), r->body[0]));
}

static bool may_keep(const neo_frame *f, const reduction *r) {
  bool outermost = f->depth == 0 && f->no_keep == 0 && r->base == f->n_out;
  return outermost && !f->kept.set && r->uses == ((uint64_t)1 << f->n_out) - 1 &&
         r->n_own <= NEO_MAX_RANK;
}

static neo_val keep(neo_frame *f, const reduction *r) {
  neo_kept *k = &f->kept;
  *k = (neo_kept){.set = true,
                  .reducer = r->reducer,
                  .where = r->where,
                  .bound = r->bound,
                  .n_body = r->n_body,
                  .n_axes = r->n_own};
  memcpy(k->body, r->body, sizeof k->body);
  memcpy(k->axis, f->axis + r->base, r->n_own * sizeof *k->axis);
  return neo_val_expr(r->finish);
}

typedef struct {
  uint32_t n_outer, outer[NEO_MAX_AXES];
  neo_expr by[NEO_MAX_AXES];
  neo_expr extent[NEO_MAX_AXES];
} hoisting;

static bool hoist_axes(neo_frame *f, const reduction *r, hoisting *h) {
  memset(h, 0, sizeof *h);
  for (uint32_t p = 0; p < r->base; p++) {
    if (!(r->uses >> p & 1))
      continue;
    h->by[p] = neo_axis_ref(f->m, h->n_outer);
    h->extent[h->n_outer] = neo_frame_hull(f, p);
    if (!h->extent[h->n_outer].i)
      return false;
    h->outer[h->n_outer++] = p;
  }
  for (uint32_t k = 0; k < r->n_own; k++)
    h->by[r->base + k] = neo_axis_ref(f->m, h->n_outer + k);
  return true;
}

static neo_expr moved(neo_frame *f, const hoisting *h, neo_expr e) {
  return e.i ? neo_expr_subst_axes(f->m, e, h->by, NEO_MAX_AXES) : e;
}

static neo_def_rec hoisted_rec(neo_frame *f, const reduction *r, const hoisting *h, neo_tensor t) {
  uint32_t axes[NEO_MAX_AXES], n = 0, body[2];
  for (uint32_t k = 0; k < h->n_outer; k++) {
    neo_axis_rec rec = f->axis[h->outer[k]];
    rec.lo = neo_const_int(f->m, NEO_I64_T, 0);
    rec.hi = h->extent[k];
    axes[n++] = neo_axis_add(f->m, rec).i;
  }
  for (uint32_t k = 0; k < r->n_own; k++) {
    neo_axis_rec rec = f->axis[r->base + k];
    rec.lo = moved(f, h, rec.lo);
    rec.hi = moved(f, h, rec.hi);
    axes[n++] = neo_axis_add(f->m, rec).i;
  }
  for (uint32_t k = 0; k < r->n_body; k++)
    body[k] = moved(f, h, r->body[k]).i;
  return (neo_def_rec){.axes = neo_list_new(f->m, axes, n),
                       .n_out = h->n_outer,
                       .where = moved(f, h, r->where),
                       .reducer = (uint8_t)r->reducer,
                       .body = neo_list_new(f->m, body, r->n_body),
                       .finish = neo_list_new(f->m, &r->finish.i, 1),
                       .out = neo_list_new(f->m, &t.i, 1),
                       .span = neo_inst_span(f->in, r->e->span)};
}

static neo_val hoist(neo_frame *f, const reduction *r) {
  hoisting h;
  neo_expr index[NEO_MAX_AXES];
  if (!neo_fe_spend(f->fe, f->in, r->e->span) || !hoist_axes(f, r, &h))
    return neo_val_poison();
  const char *word = neo_ast_reducer_text(r->e->u.reduce.reducer);
  const char *full =
      neo_arena_printf(f->fe->arena, "%s.%s%d", f->target, word, (int)++f->n_hoisted);
  neo_tensor_rec rec = {
      .role = NEO_ROLE_TEMP, .type = (uint8_t)neo_expr_type(f->m, r->finish), .span = r->e->span};
  if (r->bound.i && neo_type_is_int((neo_type)rec.type))
    rec.bound = r->bound;
  neo_tensor t = neo_tensor_make(f->in, rec, h.extent, h.n_outer, neo_fe_unique(f->fe, full));
  if (!t.i)
    return neo_val_poison();
  neo_def_add(f->m, hoisted_rec(f, r, &h, t), true);
  for (uint32_t k = 0; k < h.n_outer; k++)
    index[k] = neo_axis_ref(f->m, h.outer[k]);
  return neo_val_expr(neo_load(f->m, t, index, h.n_outer, r->e->span));
}

static void close_axes(neo_frame *f, const reduction *r) {
  for (uint32_t k = r->base; k < r->base + r->n_own; k++)
    NEO_PUSH(f->fe->arena, &f->closed,
             (neo_closed){f->axis_name[k], neo_ast_reducer_text(r->e->u.reduce.reducer),
                          r->e->u.reduce.word});
  f->n_axes = r->base;
  f->assume.n = r->n_assume;
  f->reads.n = r->n_reads;
}

neo_val neo_check_reduce(neo_frame *f, const neo_ast_expr *e) {
  reduction r = {.e = e, .base = f->n_axes, .n_assume = f->assume.n, .n_reads = f->reads.n};
  neo_val v = neo_val_poison();
  f->depth++; /* bounds stand inside, too */
  bool ok = push_axes(f, &r);
  f->depth--;
  if (ok && lower_inside(f, &r)) {
    guard_reads(f, &r);
    v = is_single(&r) ? single(f, &r) : may_keep(f, &r) ? keep(f, &r) : hoist(f, &r);
  }
  close_axes(f, &r);
  if (v.kind == NEO_VAL_EXPR && f->subscript && neo_type_is_int(neo_expr_type(f->m, v.e)))
    v.e = neo_cast(f->m, NEO_I64_T, v.e);
  return v;
}
