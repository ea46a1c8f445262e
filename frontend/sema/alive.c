/* A while has the iterations r < n, and a bool for each that tells whether it runs. With c, its
 * condition:
 *
 *     alive[r] = (alive[r - 1] else true) and c        at the values of iteration r; in place of
 *                                                      true the same of another while around
 *     h.kept[r, ..] = select(alive[r], h.next[r, ..], h[r, ..])
 *     h[r, ..] = (h.kept[r - 1, ..] else first[..])
 *     ran[r] = select(alive[r], ran[r - 1] + 1, ran[r - 1])       x.rounds is ran[n - 1]
 *
 * The schedule makes the loop end early (fusion/recurrence/early_exit/early_exit.h). */
#include "frontend/sema/loops.h"

typedef struct {
  const neo_loop *l;
  const neo_ast_name *found;
} late_look;

static bool defines(const neo_ast_stmt *s, const char *name) {
  bool found = false;
  for (uint32_t k = 0; s->kind == NEO_AST_DEFINE && k <= s->u.define.more.n; k++)
    found = found || neo_define_target(s, k)->text == name;
  return found;
}

static void look_late(void *ctx, const neo_ast_expr *e) {
  late_look *look = ctx;
  const neo_ast_stmts *stmts = &neo_loop_region(look->l)->block.stmts;
  const neo_ast_name *name = e->kind == NEO_AST_REF ? &e->u.ref.path.at[0] : NULL;
  if (name && !neo_scope_find(look->l->body->scope, name->text))
    for (uint32_t k = 0; k < stmts->n && !look->found; k++)
      look->found = defines(stmts->at[k], name->text) ? name : NULL;
  neo_ast_children(e, look_late, ctx);
}

bool neo_loop_test_is_early(neo_loop *l) {
  late_look look = {l, NULL};
  look_late(&look, neo_loop_region(l)->cond);
  if (!look.found)
    return true;
  const char *name = look.found->text;
  int h = NEO_ERR(l->in, look.found->span, LOOP_CONDITION, name);
  neo_diag_help(l->in->fe->diags, h, "carry it: begin with 'from %s = ...', and give it a 'next'",
                name);
  return false;
}

/* Whether the iteration of the while around runs. Where others run at the same time, as those of
 * other vertices do, one that does not has no iterations in it. */
static neo_expr is_around_alive(const neo_loop *l, neo_module *m, neo_span at) {
  neo_expr index[NEO_MAX_RANK];
  const neo_inst *in = l->in;
  while (in && !in->alive.i)
    in = in->caller;
  uint32_t rank = in ? neo_tensor_rank(m, in->alive) : 0;
  if (!in || rank > l->in->n_ambient) /* an initial value is the same in all iterations */
    return neo_const_bool(m, true);
  for (uint32_t k = 0; k < rank; k++)
    index[k] = neo_axis_ref(m, k);
  return neo_load(m, in->alive, index, rank, at);
}

bool neo_loop_test(neo_loop *l, neo_frame *f, neo_expr condition) {
  neo_module *m = f->m;
  neo_expr none = {0}, index[NEO_MAX_RANK];
  neo_span at = neo_loop_region(l)->cond->span;
  uint32_t n = l->body->n_ambient;
  l->alive = neo_define_temp(f, neo_fe_join(f->fe, l->prefix, "alive"), NEO_BOOL_T, none, at);
  if (!l->alive.i)
    return false;
  for (uint32_t k = 0; k < n; k++)
    index[k] = neo_axis_ref(m, k);
  index[n - 1] = neo_size_add1(f->fe, index[n - 1], -1);
  neo_expr before = neo_load_else(m, l->alive, index, n, is_around_alive(l, m, at), at);
  l->body->alive = l->alive;
  neo_define_piece(f, l->alive, neo_op2(m, NEO_OP_AND, before, condition), at, true, NULL, 0);
  return true;
}

/* The element of a stack at the frame's own axes. */
static neo_expr element(const neo_frame *f, neo_tensor stack, neo_span at) {
  neo_expr index[NEO_MAX_RANK];
  uint32_t rank = neo_tensor_rank(f->m, stack);
  for (uint32_t k = 0; k < rank; k++)
    index[k] = neo_axis_ref(f->m, k);
  return neo_load(f->m, stack, index, rank, at);
}

/* x if the iteration runs, else y. */
static neo_expr if_alive(const neo_loop *l, const neo_frame *f, neo_expr x, neo_expr y) {
  return neo_op3(f->m, NEO_OP_SELECT, element(f, l->alive, neo_loop_region(l)->cond->span), x, y);
}

/* Makes the carry's new value its next value if the iteration runs, else the old one. */
bool neo_loop_select(neo_loop *l, uint32_t k) {
  neo_span at = neo_loop_carry(l, k)->span;
  neo_expr old;
  neo_val v = neo_loop_in_iteration(l, l->stack[k]);
  neo_frame *f = neo_element_frame(l->body, &v, l->prefix, at, &old);
  neo_expr e = old.i ? if_alive(l, f, element(f, l->next[k], at), old) : old;
  v = neo_define_element(f, e, neo_loop_name(l, k, "kept"), neo_loop_bound(l, k), at);
  if (v.kind == NEO_VAL_VIEW) {
    neo_ends ends = neo_loop_ends(l, k);
    l->next[k] = v.view.tensor;
    if (ends.least.i)
      neo_ends_set(f->fe, l->next[k], &ends);
  }
  return v.kind == NEO_VAL_VIEW;
}

/* Adds the carry that counts iterations: count[r] = select(alive[r], count[r-1] + 1,
 * count[r-1]). */
static bool count_iterations(neo_loop *l, neo_expr bound, neo_span at) {
  neo_fe *fe = l->in->fe;
  neo_module *m = fe->m;
  neo_frame *f = NEO_NEW(fe->arena, neo_frame);
  neo_expr index[NEO_MAX_RANK], zero = neo_const_int(m, NEO_I32_T, 0);
  uint32_t n = l->body->n_ambient;
  neo_frame_init(f, l->body, l->prefix);
  l->ran = neo_define_temp(f, neo_fe_join(fe, l->prefix, "ran"), NEO_I32_T, bound, at);
  if (!l->ran.i)
    return false;
  for (uint32_t k = 0; k < n; k++)
    index[k] = neo_axis_ref(m, k);
  index[n - 1] = neo_size_add1(fe, index[n - 1], -1);
  neo_expr before = neo_load_else(m, l->ran, index, n, zero, at);
  neo_expr more = neo_op2(m, NEO_OP_ADD, before, neo_const_int(m, NEO_I32_T, 1));
  neo_define_piece(f, l->ran, if_alive(l, f, more, before), at, true, NULL, 0);
  return true;
}

/* The number of iterations that ran: 0 if there are none. */
neo_val neo_loop_iterations(neo_loop *l) {
  neo_fe *fe = l->in->fe;
  neo_module *m = fe->m;
  neo_span at = neo_loop_region(l)->word;
  neo_frame *f = NEO_NEW(fe->arena, neo_frame);
  neo_expr index[NEO_MAX_RANK], bound = neo_size_add1(fe, l->count, 1);
  uint32_t n = l->body->n_ambient;
  int64_t most;
  if (!neo_size_max(fe, l->count, &most) || most >= INT32_MAX) {
    NEO_ERR(l->in, neo_loop_region(l)->extent->span, ARGMAX_LARGE, "while");
    return neo_val_poison();
  }
  if (!count_iterations(l, bound, at))
    return neo_val_poison();
  neo_frame_init(f, l->in, l->prefix);
  for (uint32_t k = 0; k + 1 < n; k++)
    index[k] = neo_axis_ref(m, k);
  index[n - 1] = neo_size_add1(fe, l->count, -1);
  neo_expr ran = neo_load_else(m, l->ran, index, n, neo_const_int(m, NEO_I32_T, 0), at);
  return neo_define_element(f, ran, neo_fe_join(fe, l->prefix, "rounds"), bound, at);
}
