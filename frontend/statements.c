/* Statements of a file, a function, a block; functions may be used before they are defined. */
#include "frontend/check.h"

static void declare_function(neo_inst *in, const neo_ast_stmt *s) {
  bool optimizer = s->kind == NEO_AST_OPTIMIZER;
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = optimizer ? NEO_SYM_OPTIMIZER : NEO_SYM_FN,
                          .name = s->u.fn.sig.name.text,
                          .span = s->u.fn.sig.name.span,
                          .fn = s,
                          .scope = in->scope});
}

void neo_check_declare(neo_inst *in, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n; k++) {
    const neo_ast_stmt *s = stmts->at[k];
    if (s->kind == NEO_AST_FN || s->kind == NEO_AST_OPTIMIZER)
      declare_function(in, s);
  }
}

static void unsupported(neo_inst *in, const neo_ast_stmt *s, const char *what) {
  NEO_ERR(in, s->word, UNSUPPORTED, what);
}

static void misplaced(neo_inst *in, const neo_ast_stmt *s, const char *what, const char *where) {
  NEO_ERR(in, s->word, MISPLACED, what, where);
}

static void at_file(neo_inst *in, const neo_ast_stmt *s) {
  neo_fe *fe = in->fe;
  bool file = !in->scope->parent;
  switch (s->kind) {
  case NEO_AST_FN:
    if (!file)
      misplaced(in, s, "fn", "at the top level of a file");
    break;
  case NEO_AST_OPTIMIZER:
    if (!file)
      misplaced(in, s, "optimizer", "at the top level of a file");
    break;
  case NEO_AST_OUTPUT:
    if (!file)
      misplaced(in, s, "output", "at the top level of a file");
    else if (in->is_main)
      NEO_PUSH(fe->arena, &fe->outputs, s);
    break;
  case NEO_AST_TRAIN:
    if (!file)
      misplaced(in, s, "train", "at the top level of a file");
    else if (in->is_main)
      NEO_PUSH(fe->arena, &fe->trains, s);
    break;
  default:
    if (!file)
      misplaced(in, s, "import", "at the top level of a file");
    else
      neo_check_import(in, s);
  }
}

static void poison_names(neo_inst *in, const neo_ast_names *names) {
  for (uint32_t k = 0; k < names->n; k++)
    neo_scope_poison(in, &names->at[k]);
}

static void dynamic(neo_inst *in, const neo_ast_stmt *s) {
  switch (s->kind) {
  case NEO_AST_VERTEX:
    unsupported(in, s, "vertex");
    neo_scope_poison(in, &s->u.fn.sig.name);
    break;
  case NEO_AST_GRAPH:
    unsupported(in, s, "graph");
    neo_scope_poison(in, &s->u.graph.name);
    break;
  case NEO_AST_SCATTER:
    unsupported(in, s, "scatter");
    break;
  case NEO_AST_GATHER:
    unsupported(in, s, "gather");
    break;
  default:
    unsupported(in, s, "push");
  }
}

static void check_stmt(neo_inst *in, const neo_ast_stmt *s) {
  neo_prover_at(in->fe->prover, s->span);
  switch (s->kind) {
  case NEO_AST_DIM:
    neo_check_dim(in, s);
    break;
  case NEO_AST_ASSERT:
    neo_check_assert(in, s);
    break;
  case NEO_AST_INPUT:
    neo_check_input(in, s);
    break;
  case NEO_AST_PARAM:
  case NEO_AST_STATE:
    neo_check_owned(in, s);
    break;
  case NEO_AST_CONST:
    neo_check_const(in, s);
    break;
  case NEO_AST_DEFINE:
    neo_check_define(in, s);
    break;
  case NEO_AST_UPDATE:
    neo_check_update(in, s);
    break;
  case NEO_AST_NEXT:
    neo_check_next(in, s);
    break;
  case NEO_AST_COLLECT:
    neo_check_collect(in, s);
    break;
  case NEO_AST_BROKEN:
    poison_names(in, &s->u.names);
    break;
  case NEO_AST_VERTEX:
  case NEO_AST_GRAPH:
  case NEO_AST_SCATTER:
  case NEO_AST_GATHER:
  case NEO_AST_PUSH:
    dynamic(in, s);
    break;
  default:
    at_file(in, s);
  }
}

void neo_check_stmts(neo_inst *in, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n && !in->fe->exhausted; k++)
    check_stmt(in, stmts->at[k]);
}
