/* Texts of the tables in ast.h. */
#include "frontend/syntax/ast.h"

#include <assert.h>

const char *neo_ast_op_text(neo_ast_op op) {
  static const char *const texts[] = {
#define X(name, text) text,
    NEO_AST_OPS(X)
#undef X
  };
  assert(op < NEO_AST_OP_COUNT);
  return texts[op];
}

const char *neo_ast_stmt_word(neo_ast_stmt_kind kind) {
  static const char *const words[NEO_AST_STMT_KINDS] = {
      [NEO_AST_IMPORT] = "import",       [NEO_AST_DIM] = "dim",       [NEO_AST_ASSERT] = "assert",
      [NEO_AST_INPUT] = "input",         [NEO_AST_PARAM] = "param",   [NEO_AST_STATE] = "state",
      [NEO_AST_CONST] = "const",         [NEO_AST_NEXT] = "next",     [NEO_AST_UPDATE] = "update",
      [NEO_AST_SCATTER] = "scatter",     [NEO_AST_GATHER] = "gather", [NEO_AST_COLLECT] = "collect",
      [NEO_AST_PUSH] = "push",           [NEO_AST_FN] = "fn",         [NEO_AST_VERTEX] = "vertex",
      [NEO_AST_GRAPH] = "graph",         [NEO_AST_OUTPUT] = "output", [NEO_AST_TRAIN] = "train",
      [NEO_AST_OPTIMIZER] = "optimizer",
  };
  assert(kind < NEO_AST_STMT_KINDS);
  return words[kind];
}

const char *neo_ast_reducer_text(neo_ast_reducer r) {
  static const char *const texts[] = {
#define X(name, text) text,
    NEO_AST_REDUCERS(X)
#undef X
  };
  assert(r < NEO_AST_RED_COUNT);
  return texts[r];
}

/* ---- walking */

/* The arguments and subscripts of a reference. */
static void ref_children(const neo_ast_expr *e, void (*each)(void *, const neo_ast_expr *),
                         void *ctx) {
  for (uint32_t k = 0; k < e->u.ref.args.n; k++)
    each(ctx, e->u.ref.args.at[k].value);
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (e->u.ref.subs.at[k].expr)
      each(ctx, e->u.ref.subs.at[k].expr);
}

void neo_ast_children(const neo_ast_expr *e, void (*each)(void *, const neo_ast_expr *),
                      void *ctx) {
  switch (e->kind) {
  case NEO_AST_REF:
    ref_children(e, each, ctx);
    break;
  case NEO_AST_UNARY:
    each(ctx, e->u.unary.x);
    break;
  case NEO_AST_BINARY:
    each(ctx, e->u.binary.x);
    each(ctx, e->u.binary.y);
    break;
  case NEO_AST_GUARD:
    each(ctx, e->u.guard.value);
    each(ctx, e->u.guard.fallback);
    break;
  case NEO_AST_REDUCE:
    for (uint32_t k = 0; k < e->u.reduce.axes.n; k++) {
      if (e->u.reduce.axes.at[k].lo)
        each(ctx, e->u.reduce.axes.at[k].lo);
      if (e->u.reduce.axes.at[k].hi)
        each(ctx, e->u.reduce.axes.at[k].hi);
    }
    if (e->u.reduce.where)
      each(ctx, e->u.reduce.where);
    each(ctx, e->u.reduce.body);
    break;
  default:
    break;
  }
}

typedef void each_expr(void *ctx, const neo_ast_expr *e);

static void bind_exprs(const neo_ast_binds *binds, each_expr *each, void *ctx) {
  for (uint32_t k = 0; k < binds->n; k++)
    each(ctx, binds->at[k].value);
}

static void region_exprs(const neo_ast_region *g, each_expr *each, void *ctx) {
  if (g->cond)
    each(ctx, g->cond);
  bind_exprs(&g->from, each, ctx);
  neo_ast_exprs(&g->block.stmts, each, ctx);
  for (uint32_t k = 0; k < g->arms.n; k++)
    neo_ast_exprs(&g->arms.at[k].block.stmts, each, ctx);
}

void neo_ast_exprs(const neo_ast_stmts *stmts, each_expr *each, void *ctx) {
  for (uint32_t k = 0; k < stmts->n; k++) {
    const neo_ast_stmt *s = stmts->at[k];
    if (s->kind == NEO_AST_DEFINE && s->u.define.value)
      each(ctx, s->u.define.value);
    if (s->kind == NEO_AST_DEFINE && s->u.define.region)
      region_exprs(s->u.define.region, each, ctx);
    if (s->kind == NEO_AST_NEXT || s->kind == NEO_AST_UPDATE)
      bind_exprs(&s->u.binds, each, ctx);
  }
}

static void look_binds(void *ctx, const neo_ast_expr *e) {
  bool *binds = ctx;
  if (e->kind == NEO_AST_REDUCE)
    for (uint32_t k = 0; k < e->u.reduce.axes.n; k++)
      *binds = *binds || e->u.reduce.axes.at[k].kind == NEO_AST_PACK;
  neo_ast_children(e, look_binds, ctx);
}

bool neo_ast_binds_pack(const neo_ast_expr *e) {
  bool binds = false;
  look_binds(&binds, e);
  return binds;
}

bool neo_ast_is_bare(const neo_ast_expr *e) {
  return e && e->kind == NEO_AST_REF && e->u.ref.path.n == 1 && !e->u.ref.has_args &&
         !e->u.ref.has_subs;
}
