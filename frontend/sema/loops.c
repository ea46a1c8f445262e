/* Loops: the body is checked once, with the iteration as one more ambient axis (state.h), so that
 * each tensor of the body is stacked over the iterations. A carry h is a stack, too, of its values
 * at the start of each iteration, and depends on those that `next` gives it:
 *
 *     h[t, ..] = (h.next[t - 1, ..] else first[..])
 *
 * or h.next[t + 1, ..], if the iterations run from the last to the first. Together they are a
 * recurrence, whose loop ir/order.h finds. */
#include "frontend/sema/loops.h"

/* ---- shared by both kinds */

const neo_ast_region *neo_loop_region(const neo_loop *l) {
  return l->r.s->u.define.region;
}

const neo_ast_bind *neo_loop_carry(const neo_loop *l, uint32_t k) {
  return &neo_loop_region(l)->from.at[k];
}

static bool is_while(const neo_loop *l) {
  return neo_loop_region(l)->kind == NEO_AST_WHILE;
}

const char *neo_loop_name(const neo_loop *l, uint32_t k, const char *what) {
  return neo_arena_printf(l->in->fe->arena, "%s.%s.%s", l->prefix, l->r.name[k], what);
}

static neo_ends declared_ends(const neo_loop *l, uint32_t k) {
  return neo_ends_written(l->in->fe, &neo_loop_carry(l, k)->var.type, &l->r.now[k]);
}

neo_expr neo_loop_bound(const neo_loop *l, uint32_t k) {
  return declared_ends(l, k).bound;
}

neo_ends neo_loop_ends(const neo_loop *l, uint32_t k) {
  neo_expr by[NEO_MAX_RANK];
  neo_module *m = l->in->fe->m;
  neo_ends ends = declared_ends(l, k);
  for (uint32_t d = 0; d < NEO_MAX_RANK; d++) /* a stack has a dimension for the iteration */
    by[d] = neo_axis_ref(m, d + (d >= l->in->n_ambient));
  if (ends.least.i)
    ends.least = neo_expr_subst_axes(m, ends.least, by, NEO_MAX_RANK);
  if (ends.below.i)
    ends.below = neo_expr_subst_axes(m, ends.below, by, NEO_MAX_RANK);
  return ends;
}

/* A stack as a value in the body: its slice at the ambient axes. */
neo_val neo_loop_in_iteration(const neo_loop *l, neo_tensor stack) {
  uint32_t rank = neo_tensor_rank(l->in->fe->m, stack) - l->body->n_ambient;
  return neo_val_view(neo_view_ambient(l->body, stack, rank));
}

void neo_iterations_ends(const struct neo_iterations *r, const char *name, neo_ends *ends) {
  int k = neo_iterations_carry(r, name);
  if (!r->loops || k < 0)
    return;
  neo_ends written =
      neo_loop_ends((const neo_loop *)(const void *)r, (uint32_t)k); /* r is its first member */
  if (written.least.i)
    *ends = written;
}

static const char *word_of(const neo_loop *l) {
  return is_while(l) ? "while" : neo_loop_region(l)->kind == NEO_AST_SCAN ? "scan" : "repeat";
}

neo_loop *neo_loop_new(neo_inst *in, const neo_ast_stmt *s, neo_expr count) {
  neo_loop *l = NEO_NEW(in->fe->arena, neo_loop);
  l->in = in;
  l->count = count;
  l->r.base = l->prefix = neo_iterations_base(in, s);
  neo_iterations_init(in->fe, &l->r, s);
  l->stack = NEO_NEW_ARRAY(in->fe->arena, neo_tensor, l->r.n + 1);
  l->next = NEO_NEW_ARRAY(in->fe->arena, neo_tensor, l->r.n + 1);
  l->r.loops = true;
  return l;
}

/* ---- before the body */

static neo_inst *body_of(neo_loop *l) {
  const neo_ast_region *g = neo_loop_region(l);
  neo_inst *in = l->in, *x = neo_inst_new(in->fe, NULL, l->prefix);
  neo_map prefixes = x->prefixes;
  if (in->n_ambient == NEO_MAX_AXES) {
    NEO_ERR(in, g->word, TOO_MANY_AXES, NEO_MAX_AXES);
    return NULL;
  }
  *x = *in;
  x->prefixes = prefixes;
  x->prefix = l->prefix;
  x->scope = neo_scope_new(in->fe, in->scope);
  x->n_results = 0;
  x->iterations = &l->r;
  x->branch = false;
  x->once = word_of(l);
  x->loop_axes |= (uint64_t)1 << x->n_ambient;
  x->ambient[x->n_ambient++] =
      (neo_axis_rec){neo_name_of(in->fe->names, is_while(l) ? "r" : g->index.text),
                     neo_const_i64(in->fe->m, 0), l->count, g->extent->span};
  return x;
}

/* Adds the iterations of a repeat, which are dimensions of its parameters. */
static void add_iteration(neo_loop *l, const neo_ast_name *name) {
  neo_inst *x = l->body;
  int64_t count = 0;
  bool known = neo_expr_is_int(x->fe->m, l->count, &count);
  uint32_t region = known ? neo_iterations_number(l->in, l->r.s) : 0;
  x->iteration[x->n_iterations++] =
      (neo_iteration){.region = region, .count = count, .axis = x->n_ambient};
  neo_scope_add(x, x->scope,
                (neo_sym){.kind = NEO_SYM_ITERATION,
                          .name = name->text,
                          .span = name->span,
                          .iteration = x->n_iterations - 1});
}

static void add_index(neo_inst *body, const neo_ast_name *name) {
  neo_expr t = neo_axis_ref(body->fe->m, body->n_ambient - 1);
  neo_scope_add(body, body->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = name->text,
                          .span = name->span,
                          .value = neo_val_index(t)});
}

static bool declare_carry(neo_loop *l, uint32_t k) {
  const neo_ast_name *name = &neo_loop_carry(l, k)->var.name;
  neo_expr e;
  neo_frame *f = neo_element_frame(l->body, &l->r.now[k], l->prefix, name->span, &e);
  if (!e.i)
    return false;
  const char *full = neo_fe_join(f->fe, l->prefix, name->text);
  l->stack[k] = neo_define_temp(f, full, neo_expr_type(f->m, e), neo_loop_bound(l, k), name->span);
  if (!l->stack[k].i)
    return false;
  neo_ends ends = neo_loop_ends(l, k);
  neo_ends_set(f->fe, l->stack[k], &ends);
  neo_view v = neo_view_ambient(l->body, l->stack[k], f->n_out - l->body->n_ambient);
  neo_scope_add(l->body, l->body->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = name->text,
                          .value = neo_val_view(v),
                          .span = name->span,
                          .prefix = l->r.prefix[k]});
  return true;
}

bool neo_loop_enter(neo_loop *l) {
  l->body = body_of(l);
  if (!l->body)
    return false;
  if (neo_loop_region(l)->kind == NEO_AST_REPEAT)
    add_iteration(l, &neo_loop_region(l)->index);
  else if (!is_while(l))
    add_index(l->body, &neo_loop_region(l)->index);
  for (uint32_t k = 0; k < l->r.n; k++)
    if (!declare_carry(l, k))
      return false;
  l->body->scope = neo_scope_new(l->in->fe, l->body->scope); /* the block may hide them */
  neo_scope_note_block(l->in->fe, l->body->scope);
  return true;
}

/* ---- next */

static neo_type type_of_carry(const neo_loop *l, uint32_t k) {
  return neo_tensor_type(l->in->fe->m, l->stack[k]);
}

static bool type_agrees(neo_loop *l, uint32_t k, neo_type type) {
  neo_type want = type_of_carry(l, k);
  if (type == want)
    return true;
  int h = NEO_ERR(l->body, l->r.where[k], NEXT_TYPE, l->r.name[k], neo_type_text(want),
                  neo_type_text(type));
  neo_diag_help(l->in->fe->diags, h,
                "convert it, or give the carry its type where it begins: from %s : %s = ...",
                l->r.name[k], neo_type_text(type));
  return false;
}

static bool shape_agrees(neo_loop *l, uint32_t k, const neo_val *v) {
  neo_fe *fe = l->in->fe;
  const neo_val *first = &l->r.now[k];
  if (neo_val_same_shape(fe, first, v))
    return true;
  int h = NEO_ERR(l->body, l->r.where[k], NEXT_SHAPE, l->r.name[k]);
  neo_diag_note(fe->diags, h, "it begins as %s, this is %s", neo_val_shape_text(fe, first),
                neo_val_shape_text(fe, v));
  return false;
}

/* A literal takes the type of the carry. */
static neo_val typed(neo_loop *l, uint32_t k, neo_val v) {
  neo_frame *f = NEO_NEW(l->in->fe->arena, neo_frame);
  neo_frame_init(f, l->body, l->prefix);
  return neo_val_expr(neo_val_as(f, l->r.where[k], v, type_of_carry(l, k)));
}

/* Turns the values of carry k's `next` into a stack: the tensor itself where it is one, else a
 * copy. */
static bool take_next(neo_loop *l, uint32_t k) {
  neo_val v = l->r.next[k];
  neo_module *m = l->in->fe->m;
  if (v.kind == NEO_VAL_LIT)
    v = typed(l, k, v);
  if (v.kind == NEO_VAL_POISON || !shape_agrees(l, k, &v))
    return false;
  if (v.kind != NEO_VAL_VIEW || !neo_view_is_own(l->body, &v.view))
    v = neo_define_copy(l->body, v, neo_loop_name(l, k, "next"), l->r.where[k]);
  if (v.kind != NEO_VAL_VIEW)
    return false;
  l->next[k] = v.view.tensor;
  neo_ends ends = neo_loop_ends(l, k);
  return type_agrees(l, k, neo_tensor_type(m, v.view.tensor)) &&
         neo_ends_check(l->body, neo_loop_in_iteration(l, v.view.tensor), &ends,
                        &neo_loop_carry(l, k)->var, l->r.where[k]);
}

/* The element of a stack at iteration `t` and at the other axes of a frame. */
static neo_expr element_else(neo_loop *l, const neo_frame *f, neo_tensor stack, neo_expr t,
                             neo_expr other) {
  neo_expr index[NEO_MAX_RANK];
  uint32_t at = l->in->n_ambient, rank = neo_tensor_rank(f->m, stack), n = f->n_axes == rank;
  for (uint32_t d = 0; d < rank; d++) /* a frame of the body has an axis for the iterations */
    index[d] = d == at ? t : neo_axis_ref(f->m, d < at || n ? d : d - 1);
  return neo_load_else(f->m, stack, index, rank, other, neo_loop_carry(l, 0)->span);
}

/* Defines a carry's value at the start of an iteration: that at the end of the iteration before. */
static void define_stack(neo_loop *l, uint32_t k) {
  neo_span at = neo_loop_carry(l, k)->span;
  neo_expr e, t = neo_axis_ref(l->in->fe->m, l->in->n_ambient);
  neo_frame *f = neo_element_frame(l->body, &l->r.now[k], l->prefix, at, &e);
  if (l->r.is_next[k])
    e = element_else(l, f, l->next[k], neo_size_add1(f->fe, t, neo_loop_region(l)->down ? 1 : -1),
                     e);
  neo_define_piece(f, l->stack[k], e, at, true, NULL, 0);
}

bool neo_loop_leave(neo_loop *l) {
  bool ok = !l->r.failed;
  for (uint32_t k = 0; k < l->r.n; k++) {
    l->next[k] = l->stack[k]; /* a carry without `next` keeps its value */
    if (l->r.is_next[k])
      ok = take_next(l, k) && (!is_while(l) || neo_loop_select(l, k)) && ok;
  }
  for (uint32_t k = 0; k < l->r.n && ok; k++)
    define_stack(l, k);
  return ok;
}

/* ---- results */

static bool has_iterations(neo_loop *l) {
  neo_fe *fe = l->in->fe;
  neo_facts facts = neo_size_facts(fe);
  neo_expr goal = neo_op2(fe->m, NEO_OP_LE, neo_const_i64(fe->m, 1), l->count);
  return neo_proves(fe->prover, &facts, goal);
}

/* A view of a tensor of the body in the instance around it; its first free dimension is the
 * iteration. */
static neo_view stacked_view(const neo_loop *l, neo_tensor t) {
  neo_view v = neo_view_whole(l->in->fe->m, t);
  for (uint32_t k = 0; k < l->in->n_ambient; k++)
    v.index[k] = neo_axis_ref(l->in->fe->m, k);
  v.rank -= l->in->n_ambient;
  return v;
}

/* The carry after the last iteration: its initial value if there are no iterations. */
static neo_val last_of(neo_loop *l, uint32_t k, const char *full) {
  neo_fe *fe = l->in->fe;
  neo_span at = neo_loop_carry(l, k)->span;
  neo_expr e,
      t = neo_loop_region(l)->down ? neo_const_i64(fe->m, 0) : neo_size_add1(fe, l->count, -1);
  if (has_iterations(l)) {
    neo_view v = stacked_view(l, l->next[k]);
    v.index[l->in->n_ambient] = t;
    v.rank--;
    neo_val last = neo_val_view(v);
    return neo_grad_may_name(fe, &last)
               ? neo_define_copy(l->in, last, neo_fe_join(fe, full, "last"), at)
               : last;
  }
  neo_frame *f = neo_element_frame(l->in, &l->r.now[k], l->prefix, at, &e);
  return neo_define_element(f, element_else(l, f, l->next[k], t, e), full, neo_loop_bound(l, k),
                            at);
}

/* Zeroes a collected stack from the first iteration on that did not run. */
static neo_val loop_zero(neo_loop *l, neo_val v, neo_val trip_count, const char *full,
                         neo_span at) {
  neo_expr e, index[NEO_MAX_RANK];
  neo_frame *f = neo_element_frame(l->body, &v, full, at, &e);
  if (!e.i || trip_count.kind != NEO_VAL_VIEW)
    return neo_val_poison();
  neo_module *m = f->m;
  uint32_t n = l->body->n_ambient;
  for (uint32_t k = 0; k < n; k++)
    index[k] = neo_axis_ref(m, k);
  neo_type type = neo_expr_type(m, e);
  neo_expr zero = neo_const_int(m, type, 0);
  neo_expr ran = neo_load(m, trip_count.view.tensor, index, n - 1, at);
  neo_expr is = neo_op2(m, NEO_OP_LT, index[n - 1], neo_cast(m, NEO_I64_T, ran));
  return neo_define_element(f, neo_op3(m, NEO_OP_SELECT, is, e, zero), full,
                            neo_tensor_at(m, v.view.tensor)->bound, at);
}

static neo_val collected_of(neo_loop *l, const neo_collected *c, neo_val trip_count,
                            const char *full) {
  neo_span at = c->name->span;
  neo_val v = c->carry < 0 ? c->at.at[0] : neo_loop_in_iteration(l, l->next[c->carry]);
  bool own = v.kind == NEO_VAL_VIEW && neo_view_is_own(l->body, &v.view);
  if (v.kind != NEO_VAL_POISON && (!own || neo_grad_may_name(l->in->fe, &v)))
    v = neo_define_copy(l->body, v, full, at);
  if (v.kind == NEO_VAL_VIEW && is_while(l))
    v = loop_zero(l, v, trip_count, full, at);
  return v.kind == NEO_VAL_VIEW ? neo_val_view(stacked_view(l, v.view.tensor)) : v;
}

void neo_loop_bind(neo_loop *l) {
  neo_inst *in = l->in;
  uint32_t n = l->r.s->u.define.more.n + 1;
  neo_val *trip_count = NEO_NEW(in->fe->arena, neo_val);
  if (!neo_iterations_counted(in, &l->r, word_of(l)))
    return;
  if (is_while(l))
    *trip_count = neo_loop_iterations(l);
  for (uint32_t k = 0; k < n; k++) {
    const neo_ast_name *name = neo_define_target(l->r.s, k);
    const char *full = neo_inst_full(in, name->text);
    neo_val v = k < l->r.n ? last_of(l, k, full)
                           : collected_of(l, &l->r.collect.at[k - l->r.n], *trip_count, full);
    neo_define_bind(in, name, v, l->prefix);
    neo_sym *sym = neo_scope_own(in->scope, name->text);
    if (is_while(l) && sym)
      sym->trip_count = trip_count;
  }
}
