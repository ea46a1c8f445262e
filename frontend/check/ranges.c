/* Infers the extents of indices that are written without a bound.
 *
 * A statement is visited once before it is lowered. Every index in scope is a want; a subscript
 * that is the bare name of a want gives it the extent of that dimension. The wants of a reducer are
 * stored by its node, for the lowering.
 *
 * The extents of a call's result are known once the call is checked. A call that uses no index is
 * checked on the way; another one is deferred until the extents of its indices are known. So is the
 * number of axes of `..` at the end of the left side, if the rank of a call's result determines it:
 * y[b, ..] = f(x[b, ..])[..]. */
#include "frontend/check/check.h"
#include "frontend/sema/sweep.h"

/* ---- packs: the number of axes of `..` in this statement */

typedef struct {
  neo_frame *f;
  neo_want *names; /* every index of the statement */
  bool found, binds, failed;
  bool reported; /* a value that might determine it has an error, which was reported */
  bool later;    /* a call that uses indices is followed by `..` */
  neo_span place;
  const char *tensor;
} pack_look;

static void look_pack(void *ctx, const neo_ast_expr *e);

/* Looks at arguments and subscripts. The `..` of an argument that is taken as a tensor is no
 * index. */
static void look_pack_parts(pack_look *p, const neo_ast_expr *e) {
  for (uint32_t k = 0; k < e->u.ref.args.n; k++) {
    const neo_ast_expr *arg = e->u.ref.args.at[k].value;
    if (arg->kind == NEO_AST_REF && neo_is_tensor_arg(p->f, e, k))
      look_pack_parts(p, arg);
    else
      look_pack(p, arg);
  }
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (e->u.ref.subs.at[k].expr)
      look_pack(p, e->u.ref.subs.at[k].expr);
}

static void pack_of(pack_look *p, const neo_ast_expr *e, const neo_view *v) {
  uint32_t others = e->u.ref.subs.n - 1;
  const char *name = neo_path_text(p->f->fe, &e->u.ref.path);
  if (v->rank < others)
    return; /* reported when it is lowered */
  uint32_t n = v->rank - others;
  if (p->found && n != p->f->n_pack) {
    p->failed = true;
    if (neo_pack_differs(p->f->in))
      return;
    int h = NEO_ERR(p->f->in, e->u.ref.subs_span, PACK_CONFLICT, (int)p->f->n_pack, p->tensor,
                    (int)n, name);
    neo_diag_range(p->f->fe->diags, h, p->place);
    return;
  }
  p->found = true;
  p->f->n_pack = n;
  p->place = e->u.ref.subs_span;
  p->tensor = name;
}

static void look_pack(void *ctx, const neo_ast_expr *e) {
  pack_look *p = ctx;
  if (e->kind != NEO_AST_REF) {
    neo_ast_children(e, look_pack, ctx);
    return;
  }
  look_pack_parts(p, e);
  if (!e->u.ref.has_subs || !neo_has_pack_sub(e) || neo_recur_reads(p->f, e))
    return;
  neo_sweep s = {.f = p->f, .top = p->names};
  if (e->u.ref.has_args && neo_sweep_mentions(&s, e)) {
    p->later = true;
    return;
  }
  neo_val v = neo_check_base(p->f, e, false);
  if (v.kind == NEO_VAL_VIEW)
    pack_of(p, e, &v.view);
  if (v.kind == NEO_VAL_EXPR || v.kind == NEO_VAL_LIT)
    pack_of(p, e, &(neo_view){.rank = 0});
  neo_sym *fn;
  p->reported = p->reported ||
                (v.kind == NEO_VAL_POISON && (!e->u.ref.has_args || neo_call_is(p->f->in, e, &fn)));
}

static bool gather_names(pack_look *p, const neo_ast_axes *axes) {
  bool pack = false;
  for (uint32_t k = 0; k < axes->n; k++) {
    neo_want *w = NEO_NEW(p->f->fe->arena, neo_want);
    *w = (neo_want){.name = axes->at[k].name.text, .outer = p->names};
    if (axes->at[k].kind == NEO_AST_INDEX)
      p->names = w;
    pack = pack || axes->at[k].kind == NEO_AST_PACK;
  }
  return pack;
}

static void look_names(void *ctx, const neo_ast_expr *e) {
  if (e->kind == NEO_AST_REDUCE)
    gather_names(ctx, &e->u.reduce.axes);
  neo_ast_children(e, look_names, ctx);
}

/* Reports an unknown function: the number of axes of `..` is then not known. */
static void look_unknown(void *ctx, const neo_ast_expr *e) {
  pack_look *p = ctx;
  neo_sym *fn;
  bool call = e->kind == NEO_AST_REF && e->u.ref.has_args && !neo_call_is(p->f->in, e, &fn);
  p->reported = p->reported || (call && neo_builtin_missing(p->f, e));
  neo_ast_children(e, look_unknown, ctx);
}

static void name_pack(neo_frame *f) {
  f->has_pack = true;
  for (uint32_t k = 0; k < f->n_pack; k++)
    f->pack_name[k] = neo_frame_pack_name(f->fe, k);
}

static bool ends_in_pack(const neo_ast_axes *left) {
  return left && left->n && left->at[left->n - 1].kind == NEO_AST_PACK;
}

bool neo_ranges_pack(neo_frame *f, const neo_ast_axes *left, const neo_ast_expr *e, neo_span at) {
  pack_look p = {.f = f, .found = f->has_pack, .tensor = f->target};
  p.binds = left && gather_names(&p, left);
  p.binds = p.binds || neo_ast_binds_pack(e);
  if (!p.binds)
    return true;
  look_names(&p, e);
  look_pack(&p, e);
  if (p.failed)
    return false;
  if (!p.found && p.later && ends_in_pack(left))
    return f->pack_is_open = true;
  if (!p.found && f->in->has_pack) {
    f->n_pack = f->in->n_pack;
    p.found = true;
  }
  if (!p.found) {
    if (!p.reported)
      look_unknown(&p, e);
    if (!p.reported && !neo_pack_differs(f->in))
      NEO_ERR(f->in, at, PACK_UNKNOWN, "..");
    return false;
  }
  name_pack(f);
  return true;
}

/* ---- the sweep */

static void sweep_expr(neo_sweep *s, const neo_ast_expr *e);

/* Visits arguments. The arms of select(), and operands after a condition, are guarded. */
static void sweep_args(neo_sweep *s, const neo_ast_expr *e) {
  neo_sym *fn;
  bool select = e->u.ref.path.n == 1 && neo_streq(e->u.ref.path.at[0].text, "select") &&
                !neo_call_is(s->f->in, e, &fn);
  bool outer = s->guarded;
  for (uint32_t k = 0; k < e->u.ref.args.n; k++) {
    const neo_ast_expr *arg = e->u.ref.args.at[k].value;
    s->guarded = outer || (select && k > 0);
    s->is_slice = arg->kind == NEO_AST_REF && neo_is_tensor_arg(s->f, e, k);
    if (!s->is_slice || arg->u.ref.has_subs)
      sweep_expr(s, arg);
    s->is_slice = false;
  }
  s->guarded = outer;
}

/* A name without subscripts: an index, a scalar, or a tensor where an element is asked for. */
static void sweep_bare(neo_sweep *s, const neo_ast_expr *e) {
  if (neo_ast_is_bare(e) && (neo_sweep_find(s, e->u.ref.path.at[0].text) ||
                             neo_frame_axis(s->f, e->u.ref.path.at[0].text) >= 0))
    return;
  neo_sym *sym = neo_path_find(s->f->in, &e->u.ref.path, true);
  if (!sym || sym->kind != NEO_SYM_VALUE || sym->value.kind != NEO_VAL_VIEW)
    return;
  if (sym->value.view.rank == 0 || s->f->sizes_only)
    return;
  (void)neo_bare_report(s->f, e, &sym->value.view);
  s->hushed = true;
}

static void sweep_ref(neo_sweep *s, const neo_ast_expr *e) {
  neo_sym *fn;
  bool call = e->u.ref.has_args && neo_call_is(s->f->in, e, &fn);
  bool depends = e->u.ref.has_args && neo_sweep_mentions(s, e);
  bool is_slice = s->is_slice;
  s->is_slice = false;
  if (e->u.ref.has_args && !call && neo_builtin_missing(s->f, e)) {
    s->hushed = true;
    return;
  }
  if (e->u.ref.has_args && (!call || depends))
    sweep_args(s, e);
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (e->u.ref.subs.at[k].expr)
      sweep_expr(s, e->u.ref.subs.at[k].expr);
  if (neo_recur_reads(s->f, e)) /* decides no extent */
    return;
  if (!e->u.ref.has_args && !e->u.ref.has_subs)
    sweep_bare(s, e);
  if (!e->u.ref.has_subs)
    return;
  if (call && depends) {
    if (!s->reducers)
      NEO_PUSH(s->f->fe->arena, &s->later, (neo_sweep_call){e, is_slice});
    return;
  }
  if (e->u.ref.has_args && !call)
    return;
  neo_val v = neo_check_base(s->f, e, false);
  if (v.kind == NEO_VAL_POISON)
    s->hushed = true;
  if (v.kind == NEO_VAL_VIEW)
    neo_sweep_subs(s, e, &v.view, is_slice);
}

static neo_want *want_push(neo_sweep *s, neo_want *w, const char *name, neo_span span,
                           bool bounded) {
  *w = (neo_want){.name = name, .span = span, .bounded = bounded, .outer = s->top};
  s->top = w;
  return w;
}

static uint32_t count_axes(const neo_frame *f, const neo_ast_axes *axes) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < axes->n; k++)
    n += axes->at[k].kind == NEO_AST_PACK ? f->n_pack : 1;
  return n;
}

static neo_wants *reducer_wants(neo_sweep *s, const neo_ast_expr *e) {
  neo_wants *wants = NEO_NEW(s->f->fe->arena, neo_wants);
  wants->at = NEO_NEW_ARRAY(s->f->fe->arena, neo_want, count_axes(s->f, &e->u.reduce.axes));
  neo_map_set(&s->f->inferred, (uint64_t)(uintptr_t)e, (uint64_t)(uintptr_t)wants);
  for (uint32_t k = 0; k < e->u.reduce.axes.n; k++) {
    const neo_ast_axis *a = &e->u.reduce.axes.at[k];
    if (a->lo)
      sweep_expr(s, a->lo);
    if (a->hi)
      sweep_expr(s, a->hi);
    for (uint32_t j = 0; a->kind == NEO_AST_PACK && j < s->f->n_pack; j++)
      want_push(s, &wants->at[wants->n++], neo_frame_pack_name(s->f->fe, j), a->span, false);
    if (a->kind == NEO_AST_INDEX)
      want_push(s, &wants->at[wants->n++], a->name.text, a->name.span, a->hi != NULL);
  }
  return wants;
}

static void sweep_reduce(neo_sweep *s, const neo_ast_expr *e) {
  neo_want *outer = s->top;
  bool guarded = s->guarded, hushed = s->hushed;
  s->hushed = false;
  neo_wants *wants = reducer_wants(s, e);
  s->reducers++;
  if (e->u.reduce.where) {
    sweep_expr(s, e->u.reduce.where);
    s->guarded = true;
  }
  sweep_expr(s, e->u.reduce.body);
  s->guarded = guarded;
  s->reducers--;
  for (uint32_t k = 0; k < wants->n; k++) {
    wants->at[k].hushed = s->hushed && !wants->at[k].extent.i;
    neo_sweep_conflict(s, &wants->at[k]);
  }
  s->hushed = s->hushed || hushed;
  s->top = outer;
}

static void sweep_binary(neo_sweep *s, const neo_ast_expr *e) {
  bool guarded = s->guarded;
  neo_ast_op op = e->u.binary.op;
  sweep_expr(s, e->u.binary.x);
  s->guarded = guarded || op == NEO_AST_AND || op == NEO_AST_OR;
  sweep_expr(s, e->u.binary.y);
  s->guarded = guarded;
}

static void sweep_expr(neo_sweep *s, const neo_ast_expr *e) {
  bool guarded = s->guarded;
  switch (e->kind) {
  case NEO_AST_REF:
    sweep_ref(s, e);
    break;
  case NEO_AST_UNARY:
    sweep_expr(s, e->u.unary.x);
    break;
  case NEO_AST_BINARY:
    sweep_binary(s, e);
    break;
  case NEO_AST_GUARD:
    sweep_expr(s, e->u.guard.fallback);
    s->guarded = true;
    sweep_expr(s, e->u.guard.value);
    s->guarded = guarded;
    break;
  case NEO_AST_REDUCE:
    sweep_reduce(s, e);
    break;
  default:
    break;
  }
}

/* Determines `..`, whose axes are the last ones, from the rank of a call's result. */
static void open_pack(neo_sweep *s, neo_wants *left, const neo_ast_expr *e, uint32_t rank) {
  neo_frame *f = s->f;
  uint32_t others = e->u.ref.subs.n - 1;
  if (!f->pack_is_open || f->has_pack || !neo_has_pack_sub(e) || rank < others)
    return;
  f->n_pack = rank - others;
  name_pack(f);
  for (uint32_t k = 0; k < f->n_pack; k++) {
    if (!neo_output_push(f, left, f->pack_name[k], e->u.ref.subs_span, (neo_expr){0}, false))
      return;
    left->at[left->n - 1].outer = s->top;
    s->top = &left->at[left->n - 1];
  }
  f->n_out = f->n_axes;
}

static void sweep_later(neo_sweep *s, neo_wants *left) {
  neo_sweep_set_axes(s);
  for (size_t k = 0; k < s->later.n; k++) {
    const neo_ast_expr *e = s->later.at[k].e;
    bool is_slice = s->later.at[k].is_slice;
    if (!neo_sweep_ready(s, e))
      continue;
    neo_val v = neo_check_base(s->f, e, false);
    if (v.kind == NEO_VAL_POISON)
      s->hushed = true;
    else if (!is_slice)
      open_pack(s, left, e, v.kind == NEO_VAL_VIEW ? v.view.rank : 0);
    if (v.kind == NEO_VAL_VIEW)
      neo_sweep_subs(s, e, &v.view, is_slice);
  }
}

void neo_ranges_infer(neo_frame *f, neo_wants *left, const neo_ast_expr *e) {
  neo_sweep s = {.f = f};
  for (uint32_t k = 0; k < left->n; k++) {
    left->at[k].outer = s.top;
    s.top = &left->at[k];
  }
  sweep_expr(&s, e);
  bool open = f->pack_is_open;
  for (uint32_t k = 0; k < left->n; k++)
    open = open || (!left->at[k].bounded && !left->at[k].extent.i);
  if (open && s.later.n)
    sweep_later(&s, left);
  for (uint32_t k = 0; k < left->n; k++) {
    neo_sweep_conflict(&s, &left->at[k]);
    if (s.hushed && !left->at[k].extent.i)
      left->at[k].hushed = true;
  }
  if (f->pack_is_open && !f->has_pack && !s.hushed)
    NEO_ERR(f->in, e->span, PACK_UNKNOWN, "..");
}
