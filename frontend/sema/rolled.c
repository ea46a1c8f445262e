/* Decides which repeats are loops. A `repeat` is checked anew for each iteration, so that an
 * iteration may depend on its number in every way: sizes, options, gradients of earlier values. If
 * this makes a program large, and iterations differ only in the elements that they read, the block
 * is checked once, like that of a scan. Parameters have a dimension for the iterations either
 * way. */
#include "frontend/sema/iterations.h"

enum { MOST_CALLS = 64 }; /* within each other, as far as they are followed */

typedef struct {
  neo_inst *in;
  const char *index; /* the index of the iterations; NULL in functions that are called, which do not
                        see it */
  int64_t n;         /* statements */
  uint32_t depth;
  bool differs; /* each iteration has to be checked by itself */
} look;

static void look_stmts(look *l, const neo_ast_stmts *stmts);

static bool is_index(const look *l, const neo_ast_expr *e) {
  return l->index && e->kind == NEO_AST_REF && e->u.ref.path.n == 1 && !e->u.ref.has_args &&
         !e->u.ref.has_subs && e->u.ref.path.at[0].text == l->index;
}

static void look_index(void *ctx, const neo_ast_expr *e) {
  look *l = ctx;
  l->differs = l->differs || is_index(l, e);
  neo_ast_children(e, look_index, ctx);
}

/* Looks at a size, bound or extent, which must be the same in all iterations. */
static void look_size(look *l, const neo_ast_expr *e) {
  if (e)
    look_index(l, e);
}

static void look_axes(look *l, const neo_ast_axes *axes) {
  for (uint32_t k = 0; k < axes->n; k++) {
    look_size(l, axes->at[k].lo);
    look_size(l, axes->at[k].hi);
  }
}

static void look_called(look *l, const neo_sym *fn) {
  if (l->depth == MOST_CALLS) {
    l->differs = true; /* a call of itself, which is an error */
    return;
  }
  neo_scope *scope = l->in->scope;
  const char *index = l->index;
  l->in->scope = fn->scope;
  l->index = NULL;
  l->depth++;
  look_stmts(l, &fn->fn->u.fn.block.stmts);
  l->depth--;
  l->index = index;
  l->in->scope = scope;
}

static void look_value(void *ctx, const neo_ast_expr *e) {
  look *l = ctx;
  neo_sym *fn = NULL;
  if (neo_call_is(l->in, e, &fn)) {
    if (!fn)
      l->differs = true; /* grad: also through earlier iterations */
    else if (fn->kind != NEO_SYM_POISON)
      look_called(l, fn);
  } else if (e->kind == NEO_AST_REF && e->u.ref.has_args && !fn && e->u.ref.path.n == 1 &&
             neo_streq(e->u.ref.path.at[0].text, "rand")) {
    l->differs = true; /* each iteration would have a site of its own */
  }
  for (uint32_t k = 0; e->kind == NEO_AST_REF && k < e->u.ref.args.n; k++)
    look_size(l, e->u.ref.args.at[k].value);
  if (e->kind == NEO_AST_REDUCE)
    look_axes(l, &e->u.reduce.axes);
  neo_ast_children(e, look_value, ctx);
}

static void look_binds(look *l, const neo_ast_binds *binds) {
  for (uint32_t k = 0; k < binds->n; k++) {
    look_axes(l, &binds->at[k].var.axes);
    look_value(l, binds->at[k].value);
  }
}

static void look_region(look *l, const neo_ast_region *g) {
  look_size(l, g->extent);
  look_size(l, g->cond);
  if (g->cond)
    look_value(l, g->cond);
  look_binds(l, &g->from);
  look_stmts(l, &g->block.stmts);
  for (uint32_t k = 0; k < g->arms.n; k++)
    look_stmts(l, &g->arms.at[k].block.stmts);
}

static void look_stmt(look *l, const neo_ast_stmt *s) {
  l->n++;
  switch (s->kind) {
  case NEO_AST_DEFINE:
    look_axes(l, &s->u.define.target.axes);
    if (s->u.define.region)
      look_region(l, s->u.define.region);
    else
      look_value(l, s->u.define.value);
    break;
  case NEO_AST_NEXT:
    look_binds(l, &s->u.binds);
    break;
  case NEO_AST_PARAM: /* an initial value may use the index */
    look_axes(l, &s->u.decl.var.axes);
    break;
  case NEO_AST_COLLECT:
    break;
  case NEO_AST_CONST:
    look_axes(l, &s->u.decl.var.axes);
    look_size(l, s->u.decl.value);
    break;
  default: /* update, state: each iteration has its own */
    l->differs = true;
  }
}

static void look_stmts(look *l, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n && !l->differs; k++)
    look_stmt(l, stmts->at[k]);
}

/* Whether the carry is a number, which is known in each iteration and may be a size there. */
static bool is_number(neo_inst *in, const neo_ast_bind *b) {
  const neo_ast_expr *e = b->value;
  if (b->var.indexed || b->var.type.given)
    return false;
  if (e->kind != NEO_AST_REF)
    return true;
  neo_sym *s = e->u.ref.has_args ? NULL : neo_path_find(in, &e->u.ref.path, true);
  return s && s->kind == NEO_SYM_VALUE && s->value.kind != NEO_VAL_VIEW;
}

bool neo_repeat_is_loop(neo_inst *in, const neo_ast_stmt *s, int64_t count) {
  const neo_ast_region *g = s->u.define.region;
  const neo_frontend_options *o = in->fe->options;
  look l = {.in = in, .index = g->index.text};
  look_stmts(&l, &g->block.stmts);
  int64_t most = o && o->unroll ? o->unroll : NEO_FRONTEND_UNROLL;
  for (uint32_t k = 0; k < g->from.n; k++)
    l.differs = l.differs || is_number(in, &g->from.at[k]);
  return !l.differs && count > 1 && g->from.n && l.n > most / count;
}
