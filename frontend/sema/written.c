/* Names in the program's text: of functions and their options, and of everything that the model's
 * own file defines and declares. A name that the compiler makes with a number (a second call of f
 * within y is y.f2) differs from all of them, wherever they are written:
 *
 *     y = f(x) + f(2*x) + f2(x)        calls  y.f, y.f3, y.f2 */
#include "frontend/sema/parts.h"
#include <string.h>

static void note_stmts(neo_fe *fe, const neo_ast_stmts *stmts, bool own);

static void note(neo_fe *fe, const neo_ast_name *name) {
  if (name->text)
    neo_map_set(&fe->written, (uint64_t)(uintptr_t)name->text, 1);
}

static void note_names(neo_fe *fe, const neo_ast_names *names) {
  for (uint32_t k = 0; k < names->n; k++)
    note(fe, &names->at[k]);
}

static void note_region(neo_fe *fe, const neo_ast_region *r) {
  for (uint32_t k = 0; k < r->from.n; k++)
    note(fe, &r->from.at[k].var.name);
  note_stmts(fe, &r->block.stmts, true);
  for (uint32_t k = 0; k < r->arms.n; k++)
    note_stmts(fe, &r->arms.at[k].block.stmts, true);
}

static void note_function(neo_fe *fe, const neo_ast_stmt *s, bool own) {
  const neo_ast_sig *sig = &s->u.fn.sig;
  note(fe, &sig->name);
  for (uint32_t k = 0; k < sig->options.n; k++)
    note(fe, &sig->options.at[k].name);
  if (!own)
    return;
  note_names(fe, &s->u.fn.results);
  note_stmts(fe, &s->u.fn.block.stmts, own);
  note_stmts(fe, &s->u.fn.grad_block.stmts, own);
}

static void note_own(neo_fe *fe, const neo_ast_stmt *s) {
  if (s->kind == NEO_AST_DEFINE) {
    note(fe, &s->u.define.target.name);
    note_names(fe, &s->u.define.more);
    if (s->u.define.region)
      note_region(fe, s->u.define.region);
  } else if (s->kind == NEO_AST_INPUT || s->kind == NEO_AST_PARAM || s->kind == NEO_AST_STATE ||
             s->kind == NEO_AST_CONST) {
    note(fe, &s->u.decl.var.name);
  }
}

static void note_stmts(neo_fe *fe, const neo_ast_stmts *stmts, bool own) {
  for (uint32_t k = 0; k < stmts->n; k++) {
    const neo_ast_stmt *s = stmts->at[k];
    if (s->kind == NEO_AST_FN || s->kind == NEO_AST_OPTIMIZER || s->kind == NEO_AST_VERTEX)
      note_function(fe, s, own);
    else if (own)
      note_own(fe, s);
  }
}

const char *neo_fe_intern(neo_fe *fe, const char *text) {
  return neo_name_text(fe->names, neo_name_of(fe->names, text));
}

void neo_fe_note_written(neo_fe *fe, const neo_ast_stmts *stmts, bool is_main) {
  note_stmts(fe, stmts, is_main);
}

bool neo_fe_is_written(neo_fe *fe, const char *full) {
  const char *dot = strrchr(full, '.'), *last = neo_fe_intern(fe, dot ? dot + 1 : full);
  return neo_map_get(&fe->written, (uint64_t)(uintptr_t)last, NULL);
}
