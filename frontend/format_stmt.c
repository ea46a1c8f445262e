/* Statements to items. Where a block begins, what stands before it is printed (format.c). */
#include "frontend/format_rec.h"

/* ---- parts
 * ------------------------------------------------------------------------------------------ */

static void comma(neo_f *f, uint32_t i) {
  if (i == 0)
    return;
  neo_f_text(f, ",");
  neo_f_break(f, " ");
}

static const char *type_text(neo_type t) {
  static const char *const texts[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  return texts[t];
}

static void var(neo_f *f, const neo_ast_var *v) {
  neo_f_name(f, v->name);
  if (v->indexed) {
    neo_f_text(f, "[");
    neo_f_open(f, NEO_F_CONTINUE);
    neo_f_axes(f, v->axes);
    neo_f_close(f);
    neo_f_text(f, "]");
  }
  if (!v->type.given)
    return;
  neo_f_text(f, " : ");
  neo_f_text(f, type_text(v->type.type));
  neo_f_rel(f, v->type.rel);
  if (v->type.bound)
    neo_f_expr(f, v->type.bound);
}

static void assigned(neo_f *f, const neo_ast_expr *value) {
  neo_f_text(f, " =");
  neo_f_break(f, " ");
  neo_f_expr(f, value);
}

static void binds(neo_f *f, neo_ast_binds list) {
  for (uint32_t i = 0; i < list.n; i++) {
    comma(f, i);
    neo_f_open(f, 0);
    var(f, &list.at[i].var);
    assigned(f, list.at[i].value);
    neo_f_close(f);
  }
}

static void literal(neo_f *f, const neo_ast_literal *l) {
  if (l->number) {
    neo_f_expr(f, l->number);
    return;
  }
  neo_f_comments_before(f, neo_f_from(f, l->span));
  neo_f_text(f, "[");
  neo_f_open(f, 1);
  for (uint32_t i = 0; i < l->items.n; i++) {
    comma(f, i);
    literal(f, &l->items.at[i]);
  }
  neo_f_comments_before(f, neo_f_to(f, l->span));
  neo_f_close(f);
  neo_f_text(f, "]");
}

static void option(neo_f *f, const neo_ast_option *o) {
  neo_f_comments_before(f, neo_f_from(f, o->name.span));
  neo_f_text(f, o->input ? "input " : "");
  neo_f_name(f, o->name);
  if (o->value) {
    neo_f_text(f, " = ");
    neo_f_expr(f, o->value);
  }
}

static void signature(neo_f *f, const neo_ast_sig *s) {
  neo_f_name(f, s->name);
  neo_f_text(f, "(");
  neo_f_open(f, NEO_F_CONTINUE);
  for (uint32_t i = 0; i < s->params.n; i++) {
    comma(f, i);
    var(f, &s->params.at[i]);
  }
  if (s->options.n) {
    neo_f_text(f, ";");
    neo_f_break(f, " ");
  }
  for (uint32_t i = 0; i < s->options.n; i++) {
    comma(f, i);
    option(f, &s->options.at[i]);
  }
  neo_f_comments_before(f, neo_f_to(f, s->span));
  neo_f_close(f);
  neo_f_text(f, ")");
}

static void paths(neo_f *f, neo_ast_paths list) {
  for (uint32_t i = 0; i < list.n; i++) {
    comma(f, i);
    neo_f_path(f, list.at[i].at, list.at[i].n);
  }
}

/* ---- regions
 * ---------------------------------------------------------------------------------------- */

static void label(neo_f *f, const neo_ast_arm *a) {
  if (a->label)
    neo_f_expr(f, a->label);
  else
    neo_f_text(f, "else");
}

/* The branches of a case, in its braces. */
static void arms(neo_f *f, const void *what) {
  const neo_ast_region *r = what;
  for (uint32_t i = 0; i < r->arms.n; i++) {
    const neo_ast_arm *a = &r->arms.at[i];
    if (f->flat)
      neo_f_text(f, i ? " " : "");
    else
      neo_f_lead(f, neo_f_from(f, a->span));
    label(f, a);
    neo_f_block(f, &a->block);
    if (!f->flat)
      neo_f_tail(f, neo_f_to(f, a->span));
  }
}

static void carries(neo_f *f, neo_ast_binds from) {
  if (!from.n)
    return;
  neo_f_text(f, " from "); /* a line cannot end before it */
  binds(f, from);
}

static void region(neo_f *f, const neo_ast_region *r) {
  static const char *const words[] = {"scan ", "repeat ", "while ", "case "};
  neo_f_comments_before(f, neo_f_from(f, r->word));
  neo_f_text(f, words[r->kind]);
  if (r->index.text) {
    neo_f_name(f, r->index);
    neo_f_text(f, " < ");
  }
  if (r->cond)
    neo_f_expr(f, r->cond);
  neo_f_text(f, r->kind == NEO_AST_WHILE ? " limit " : "");
  if (r->extent)
    neo_f_expr(f, r->extent);
  carries(f, r->from);
  if (r->kind != NEO_AST_CASE) {
    neo_f_block(f, &r->block);
    return;
  }
  uint32_t open = neo_f_to(f, r->cond->span);
  while (f->file->text[open] != '{')
    open++;
  neo_f_braces(f, (neo_f_braced){open, neo_f_to(f, r->span) - 1, arms, r, r->arms.n == 0});
}

/* ---- statements
 * ------------------------------------------------------------------------------------- */

static void import(neo_f *f, const neo_ast_stmt *s) {
  for (uint32_t i = 0; i < s->u.import.aliases.n; i++) {
    const neo_ast_alias *a = &s->u.import.aliases.at[i];
    comma(f, i);
    neo_f_name(f, a->module);
    if (a->alias.text) {
      neo_f_text(f, " as ");
      neo_f_name(f, a->alias);
    }
  }
}

static void dim(neo_f *f, const neo_ast_stmt *s) {
  if (s->u.dim.lo) {
    neo_f_expr(f, s->u.dim.lo);
    neo_f_text(f, " <= ");
  }
  neo_f_name(f, s->u.dim.name);
  neo_f_text(f, s->u.dim.rel ? " <=" : " =");
  neo_f_break(f, " ");
  neo_f_expr(f, s->u.dim.hi);
}

static void decl(neo_f *f, const neo_ast_stmt *s) {
  var(f, &s->u.decl.var);
  if (s->u.decl.value)
    assigned(f, s->u.decl.value);
  if (s->u.decl.literal) {
    neo_f_text(f, " =");
    neo_f_break(f, " ");
    literal(f, s->u.decl.literal);
  }
}

static void define(neo_f *f, const neo_ast_stmt *s) {
  var(f, &s->u.define.target);
  if (s->u.define.more.n) {
    comma(f, 1);
    neo_f_names(f, s->u.define.more);
  }
  if (s->u.define.value) {
    assigned(f, s->u.define.value);
    return;
  }
  neo_f_text(f, " =");
  neo_f_break_reluctant(f, " ");
  region(f, s->u.define.region);
}

static void function(neo_f *f, const neo_ast_stmt *s) {
  signature(f, &s->u.fn.sig);
  if (s->u.fn.results.n) {
    neo_f_text(f, " -> ");
    neo_f_names(f, s->u.fn.results);
  }
  if (s->u.fn.over.text) {
    neo_f_text(f, " over ");
    neo_f_name(f, s->u.fn.over);
  }
  neo_f_block(f, &s->u.fn.block);
  if (!s->u.fn.has_grad)
    return;
  neo_f_text(f, " grad(");
  neo_f_names(f, s->u.fn.seeds);
  neo_f_text(f, ") -> ");
  neo_f_names(f, s->u.fn.grads);
  neo_f_block(f, &s->u.fn.grad_block);
}

static void graph(neo_f *f, const neo_ast_stmt *s) {
  neo_f_name(f, s->u.graph.name);
  neo_f_text(f, "(children <= ");
  neo_f_expr(f, s->u.graph.children);
  neo_f_text(f, ",");
  neo_f_break(f, " ");
  neo_f_text(f, "vertices <= ");
  neo_f_expr(f, s->u.graph.vertices);
  neo_f_text(f, ")");
}

static void entry(neo_f *f, neo_ast_name name) {
  if (!name.text)
    return;
  neo_f_name(f, name);
  neo_f_text(f, ":");
  neo_f_break(f, " ");
}

static void output(neo_f *f, const neo_ast_stmt *s) {
  entry(f, s->u.output.entry);
  paths(f, s->u.output.tensors);
  if (s->u.output.updates.n)
    neo_f_text(f, " update ");
  paths(f, s->u.output.updates);
}

static void train(neo_f *f, const neo_ast_stmt *s) {
  entry(f, s->u.train.entry);
  neo_f_path(f, s->u.train.loss.at, s->u.train.loss.n);
  if (s->u.train.patterns.n)
    neo_f_text(f, s->u.train.except ? " except " : " over ");
  for (uint32_t i = 0; i < s->u.train.patterns.n; i++) {
    comma(f, i);
    neo_f_path(f, s->u.train.patterns.at[i].parts.at, s->u.train.patterns.at[i].parts.n);
  }
  neo_f_text(f, " using ");
  neo_f_path(f, s->u.train.optimizer.at, s->u.train.optimizer.n);
  neo_f_args(f, s->u.train.args, neo_f_to(f, s->span));
}

static void behind_word(neo_f *f, const neo_ast_stmt *s) {
  switch (s->kind) {
  case NEO_AST_IMPORT:
    import(f, s);
    break;
  case NEO_AST_DIM:
    dim(f, s);
    break;
  case NEO_AST_ASSERT:
    neo_f_expr(f, s->u.expr);
    break;
  case NEO_AST_INPUT:
  case NEO_AST_PARAM:
  case NEO_AST_STATE:
  case NEO_AST_CONST:
    decl(f, s);
    break;
  case NEO_AST_DEFINE:
    define(f, s);
    break;
  case NEO_AST_NEXT:
  case NEO_AST_UPDATE:
  case NEO_AST_SCATTER:
  case NEO_AST_GATHER:
    binds(f, s->u.binds);
    break;
  case NEO_AST_FN:
  case NEO_AST_OPTIMIZER:
  case NEO_AST_VERTEX:
    function(f, s);
    break;
  case NEO_AST_GRAPH:
    graph(f, s);
    break;
  case NEO_AST_OUTPUT:
    output(f, s);
    break;
  case NEO_AST_TRAIN:
    train(f, s);
    break;
  default:
    neo_f_names(f, s->u.names);
  }
}

void neo_f_stmt(neo_f *f, const neo_ast_stmt *s) {
  const char *word = neo_ast_stmt_word(s->kind);
  neo_f_open(f, NEO_F_CONTINUE);
  if (word) {
    neo_f_text(f, word);
    neo_f_text(f, " ");
  }
  behind_word(f, s);
  neo_f_close(f);
}
