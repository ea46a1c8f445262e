/* Statements and blocks, which contain each other, to items. At the beginning of a block, the items
 * before it are printed. */
#include "frontend/syntax/format_rec.h"
#include <string.h>

/* `{`, the output of `inside`, `}`: for blocks and the branches of a case. */
typedef struct {
  uint32_t open, close; /* offsets of the braces */
  void (*inside)(neo_f *f, const void *what);
  const void *what;
  bool empty;
} braced;

static void statement(neo_f *f, const neo_ast_stmt *s);

/* ---- blocks
 * ------------------------------------------------------------------------------------- */

/* Whether the file has a line end between two offsets (bytes). */
static bool has_line_end(const neo_f *f, uint32_t from, uint32_t to) {
  return memchr(f->file->text + from, '\n', to - from) != NULL;
}

/* Prints the comment on the line of a statement that ends at `to`; ends the line. */
static void tail(neo_f *f, uint32_t to) {
  neo_f_print(f);
  neo_f_finish_line(f, to);
}

void neo_f_stmts(neo_f *f, neo_ast_stmts list) {
  for (uint32_t i = 0; i < list.n; i++) {
    const neo_ast_stmt *s = list.at[i];
    if (f->flat) {
      neo_f_text(f, i ? "; " : "");
      statement(f, s);
      continue;
    }
    neo_f_gap_before(f, neo_f_from(f, s->span));
    statement(f, s);
    tail(f, neo_f_to(f, s->span));
  }
}

static void block_inside(neo_f *f, const void *block) {
  neo_f_stmts(f, ((const neo_ast_block *)block)->stmts);
}

/* Adds the braces to the line if they were written on one line and fit; the items before them are
 * printed. */
static bool fits_flat(neo_f *f, const braced *b) {
  bool short_line = b->close - b->open <= 4 * NEO_F_COLUMNS && !has_line_end(f, b->open, b->close);
  if (!short_line || neo_f_next_comment(f, b->close))
    return false;
  bool outer = f->flat;
  f->flat = true;
  neo_f_text(f, " { ");
  b->inside(f, b->what);
  neo_f_text(f, " }");
  f->flat = outer;
  if (outer)
    return true;
  bool fits = f->column + neo_f_width(f) <= NEO_F_COLUMNS;
  if (fits)
    neo_f_print(f);
  f->items.n = 0;
  return fits;
}

static void put_lines(neo_f *f, const braced *b) {
  neo_f_text(f, " {");
  neo_f_print(f);
  neo_f_finish_line(f, b->open + 1);
  neo_f outer = *f; /* the statement goes on after the braces, with its groups */
  f->indents.at = NULL;
  f->indents.n = f->indents.cap = 0;
  f->indent += NEO_F_BLOCK;
  f->block_start = true;
  b->inside(f, b->what);
  neo_f_comment_lines(f, b->close);
  f->indent = outer.indent;
  f->indents.at = outer.indents.at;
  f->indents.n = outer.indents.n;
  f->indents.cap = outer.indents.cap;
  f->block_start = false;
  neo_f_text(f, "}");
}

static void braces(neo_f *f, braced b) {
  if (!f->flat)
    neo_f_print(f);
  if (b.empty && !neo_f_next_comment(f, b.close))
    neo_f_text(f, " { }");
  else if (!fits_flat(f, &b))
    put_lines(f, &b);
}

static void block(neo_f *f, const neo_ast_block *b) {
  braces(f, (braced){neo_f_from(f, b->open), neo_f_from(f, b->close), block_inside, b,
                     b->stmts.n == 0});
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
      neo_f_gap_before(f, neo_f_from(f, a->span));
    label(f, a);
    block(f, &a->block);
    if (!f->flat)
      tail(f, neo_f_to(f, a->span));
  }
}

/* ---- parts of statements: targets, values, lists, signatures */

static const char *type_text(neo_type t) {
  static const char *const texts[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  return texts[t];
}

static void type(neo_f *f, const neo_ast_type *t) {
  if (!t->given)
    return;
  neo_f_text(f, " : ");
  if (t->lo) {
    neo_f_expr(f, t->lo);
    neo_f_rel(f, t->lo_rel);
  }
  neo_f_text(f, t->wide ? "wide(" : "");
  neo_f_text(f, t->variable.text ? t->variable.text : type_text(t->type));
  neo_f_text(f, t->wide ? ")" : "");
  neo_f_rel(f, t->rel);
  if (t->bound)
    neo_f_expr(f, t->bound);
}

/* Adds the items of a variable with indices and type. */
static void f_var(neo_f *f, const neo_ast_var *v) {
  neo_f_name(f, v->name);
  if (v->indexed) {
    neo_f_text(f, "[");
    neo_f_open(f, NEO_F_CONTINUE);
    neo_f_axes(f, v->axes);
    neo_f_close(f);
    neo_f_text(f, "]");
  }
  type(f, &v->type);
}

static void assigned(neo_f *f, const neo_ast_expr *value) {
  neo_f_text(f, " =");
  neo_f_break(f, " ");
  neo_f_expr(f, value);
}

static void f_binds(neo_f *f, neo_ast_binds list) {
  for (uint32_t i = 0; i < list.n; i++) {
    neo_f_comma(f, i);
    neo_f_open(f, 0);
    f_var(f, &list.at[i].var);
    if (list.at[i].value)
      assigned(f, list.at[i].value);
    neo_f_close(f);
  }
}

static void f_literal(neo_f *f, const neo_ast_literal *l) {
  if (l->number) {
    neo_f_expr(f, l->number);
    return;
  }
  neo_f_comments_before(f, neo_f_from(f, l->span));
  neo_f_text(f, "[");
  neo_f_open(f, 1);
  for (uint32_t i = 0; i < l->items.n; i++) {
    neo_f_comma(f, i);
    f_literal(f, &l->items.at[i]);
  }
  neo_f_comments_before(f, neo_f_to(f, l->span));
  neo_f_close(f);
  neo_f_text(f, "]");
}

static void option(neo_f *f, const neo_ast_option *o) {
  neo_f_comments_before(f, neo_f_from(f, o->name.span));
  neo_f_text(f, o->input ? "input " : "");
  neo_f_name(f, o->name);
  type(f, &o->type);
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
    neo_f_comma(f, i);
    f_var(f, &s->params.at[i]);
  }
  if (s->options.n) {
    neo_f_text(f, ";");
    neo_f_break(f, " ");
  }
  for (uint32_t i = 0; i < s->options.n; i++) {
    neo_f_comma(f, i);
    option(f, &s->options.at[i]);
  }
  neo_f_comments_before(f, neo_f_to(f, s->span));
  neo_f_close(f);
  neo_f_text(f, ")");
}

static void paths(neo_f *f, neo_ast_paths list) {
  for (uint32_t i = 0; i < list.n; i++) {
    neo_f_comma(f, i);
    neo_f_path(f, list.at[i].at, list.at[i].n);
  }
}

static void carries(neo_f *f, neo_ast_binds from) {
  if (!from.n)
    return;
  neo_f_text(f, " from "); /* a line cannot end before it */
  f_binds(f, from);
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
  neo_f_text(f, r->down ? " down" : "");
  carries(f, r->from);
  if (r->kind != NEO_AST_CASE) {
    block(f, &r->block);
    return;
  }
  uint32_t open = neo_f_to(f, r->cond->span);
  while (f->file->text[open] != '{')
    open++;
  braces(f, (braced){open, neo_f_to(f, r->span) - 1, arms, r, r->arms.n == 0});
}

/* ---- statements
 * ------------------------------------------------------------------------------------- */

static void import(neo_f *f, const neo_ast_stmt *s) {
  for (uint32_t i = 0; i < s->u.import.aliases.n; i++) {
    const neo_ast_alias *a = &s->u.import.aliases.at[i];
    neo_f_comma(f, i);
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
  f_var(f, &s->u.decl.var);
  if (s->u.decl.value)
    assigned(f, s->u.decl.value);
  if (s->u.decl.literal) {
    neo_f_text(f, " =");
    neo_f_break(f, " ");
    f_literal(f, s->u.decl.literal);
  }
}

/* Adds the items of names, with commas between them. */
static void f_names(neo_f *f, neo_ast_names names) {
  for (uint32_t i = 0; i < names.n; i++) {
    neo_f_comma(f, i);
    neo_f_name(f, names.at[i]);
  }
}

static void define(neo_f *f, const neo_ast_stmt *s) {
  f_var(f, &s->u.define.target);
  if (s->u.define.more.n) {
    neo_f_comma(f, 1);
    f_names(f, s->u.define.more);
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
    f_names(f, s->u.fn.results);
  }
  if (s->u.fn.over.text) {
    neo_f_text(f, " over ");
    neo_f_name(f, s->u.fn.over);
    if (s->u.fn.down)
      neo_f_text(f, " down");
  }
  block(f, &s->u.fn.block);
  if (!s->u.fn.has_grad)
    return;
  neo_f_text(f, " grad(");
  f_names(f, s->u.fn.seeds);
  neo_f_text(f, ") -> ");
  f_names(f, s->u.fn.grads);
  block(f, &s->u.fn.grad_block);
}

static void graph(neo_f *f, const neo_ast_stmt *s) {
  neo_f_name(f, s->u.graph.name);
  neo_f_text(f, "(");
  for (uint32_t i = 0; i < s->u.graph.edges.n; i++) {
    const neo_ast_edge *e = &s->u.graph.edges.at[i];
    if (e->type.text) {
      neo_f_name(f, e->type);
      neo_f_text(f, ".");
    }
    neo_f_text(f, e->lists ? "edges <= " : "children <= ");
    neo_f_expr(f, e->most);
    neo_f_text(f, ",");
    neo_f_break(f, " ");
  }
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
    neo_f_comma(f, i);
    neo_f_path(f, s->u.train.patterns.at[i].parts.at, s->u.train.patterns.at[i].parts.n);
  }
  neo_f_text(f, " using ");
  neo_f_path(f, s->u.train.optimizer.at, s->u.train.optimizer.n);
  if (!s->u.train.every) {
    neo_f_args(f, s->u.train.args, neo_f_to(f, s->span));
    return;
  }
  neo_f_args(f, s->u.train.args, neo_f_from(f, s->u.train.every->span));
  neo_f_text(f, " every ");
  neo_f_expr(f, s->u.train.every);
  if (s->u.train.of) {
    neo_f_text(f, " of ");
    neo_f_expr(f, s->u.train.of);
  }
}

static void after_word(neo_f *f, const neo_ast_stmt *s) {
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
    f_binds(f, s->u.binds);
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
    f_names(f, s->u.names);
  }
}

static void statement(neo_f *f, const neo_ast_stmt *s) {
  const char *word = neo_ast_stmt_word(s->kind);
  neo_f_open(f, NEO_F_CONTINUE);
  if (word) {
    neo_f_text(f, word);
    neo_f_text(f, " ");
  }
  after_word(f, s);
  neo_f_close(f);
}
