/* The tree as text, for golden tests and for comparing trees: `(+ a (* b c))`, `X[i, ..]`,
 * `(sum [k < K, where c] body)`; a statement a line, what is in blocks indented. */
#include "tests/syntax/ast_dump.h"

typedef struct {
  neo_str *out;
  int indent;
} dump;

static void add(dump *d, const char *text) {
  neo_str_add(d->out, text);
}

static void name(dump *d, neo_ast_name n) {
  add(d, n.text ? n.text : "*");
}

static void path(dump *d, const neo_ast_name *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    add(d, i ? "." : "");
    name(d, at[i]);
  }
}

static void names(dump *d, neo_ast_names list) {
  add(d, "(");
  for (uint32_t i = 0; i < list.n; i++) {
    add(d, i ? " " : "");
    name(d, list.at[i]);
  }
  add(d, ")");
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void expr(dump *d, const neo_ast_expr *e);

static const char *rel_text(neo_ast_rel r) {
  return r == NEO_AST_REL_LT ? " < " : " <= ";
}

static void axis(dump *d, const neo_ast_axis *a) {
  if (a->kind == NEO_AST_PACK) {
    add(d, "..");
    return;
  }
  if (a->lo) {
    expr(d, a->lo);
    add(d, rel_text(a->lo_rel));
  }
  if (a->kind == NEO_AST_INDEX)
    name(d, a->name);
  if (a->hi_rel)
    add(d, rel_text(a->hi_rel));
  if (a->hi)
    expr(d, a->hi);
}

static void axes(dump *d, neo_ast_axes list) {
  for (uint32_t i = 0; i < list.n; i++) {
    add(d, i ? ", " : "");
    axis(d, &list.at[i]);
  }
}

static void args(dump *d, neo_ast_args list) {
  for (uint32_t i = 0; i < list.n; i++) {
    add(d, " ");
    if (list.at[i].name.text)
      neo_str_addf(d->out, "%s=", list.at[i].name.text);
    expr(d, list.at[i].value);
  }
}

static void subs(dump *d, neo_ast_subs list) {
  add(d, "[");
  for (uint32_t i = 0; i < list.n; i++) {
    add(d, i ? ", " : "");
    if (list.at[i].expr)
      expr(d, list.at[i].expr);
    else
      add(d, "..");
  }
  add(d, "]");
}

static void ref(dump *d, const neo_ast_expr *e) {
  add(d, e->u.ref.has_args ? "(" : "");
  path(d, e->u.ref.path.at, e->u.ref.path.n);
  if (e->u.ref.has_args) {
    args(d, e->u.ref.args);
    add(d, ")");
  }
  if (e->u.ref.has_subs)
    subs(d, e->u.ref.subs);
}

/* (op x) or (op x y) */
static void list(dump *d, const char *op, const neo_ast_expr *x, const neo_ast_expr *y) {
  neo_str_addf(d->out, "(%s ", op);
  expr(d, x);
  if (y) {
    add(d, " ");
    expr(d, y);
  }
  add(d, ")");
}

static void reduce(dump *d, const neo_ast_expr *e) {
  neo_str_addf(d->out, "(%s [", neo_ast_reducer_text(e->u.reduce.reducer));
  axes(d, e->u.reduce.axes);
  if (e->u.reduce.where) {
    add(d, ", where ");
    expr(d, e->u.reduce.where);
  }
  add(d, "] ");
  expr(d, e->u.reduce.body);
  add(d, ")");
}

static void expr(dump *d, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    add(d, e->u.number.text);
    break;
  case NEO_AST_BOOL:
    add(d, e->u.boolean ? "true" : "false");
    break;
  case NEO_AST_REF:
    ref(d, e);
    break;
  case NEO_AST_UNARY:
    list(d, neo_ast_op_text(e->u.unary.op), e->u.unary.x, NULL);
    break;
  case NEO_AST_BINARY:
    list(d, neo_ast_op_text(e->u.binary.op), e->u.binary.x, e->u.binary.y);
    break;
  case NEO_AST_GUARD:
    list(d, "else", e->u.guard.value, e->u.guard.fallback);
    break;
  default:
    reduce(d, e);
  }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static const char *type_text(neo_type t) {
  static const char *const texts[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  return texts[t];
}

static void type(dump *d, const neo_ast_type *t) {
  if (!t->given)
    return;
  add(d, ":");
  if (t->lo) {
    expr(d, t->lo);
    add(d, rel_text(t->lo_rel));
  }
  add(d, t->wide ? "wide " : "");
  add(d, t->variable.text ? t->variable.text : type_text(t->type));
  if (t->rel) {
    add(d, rel_text(t->rel));
    expr(d, t->bound);
  }
}

static void var(dump *d, const neo_ast_var *v) {
  name(d, v->name);
  if (v->indexed) {
    add(d, "[");
    axes(d, v->axes);
    add(d, "]");
  }
  type(d, &v->type);
}

static void binds(dump *d, neo_ast_binds list) {
  for (uint32_t i = 0; i < list.n; i++) {
    add(d, " (= ");
    var(d, &list.at[i].var);
    add(d, list.at[i].value ? " " : "");
    if (list.at[i].value)
      expr(d, list.at[i].value);
    add(d, ")");
  }
}

static void literal(dump *d, const neo_ast_literal *l) {
  if (l->number) {
    expr(d, l->number);
    return;
  }
  add(d, "[");
  for (uint32_t i = 0; i < l->items.n; i++) {
    add(d, i ? " " : "");
    literal(d, &l->items.at[i]);
  }
  add(d, "]");
}

static void signature(dump *d, const neo_ast_sig *s) {
  name(d, s->name);
  add(d, " (");
  for (uint32_t i = 0; i < s->params.n; i++) {
    add(d, i ? " " : "");
    var(d, &s->params.at[i]);
  }
  add(d, ")");
  for (uint32_t i = 0; i < s->options.n; i++) {
    const neo_ast_option *o = &s->options.at[i];
    neo_str_addf(d->out, " (%s %s", o->input ? "input" : "option", o->name.text);
    type(d, &o->type);
    if (o->value) {
      add(d, " ");
      expr(d, o->value);
    }
    add(d, ")");
  }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void stmt(dump *d, const neo_ast_stmt *s);

static void line(dump *d) {
  neo_str_addf(d->out, "\n%*s", 2 * d->indent, "");
}

static void block(dump *d, const neo_ast_block *b) {
  d->indent++;
  for (uint32_t i = 0; i < b->stmts.n; i++) {
    line(d);
    stmt(d, b->stmts.at[i]);
  }
  d->indent--;
}

static void arms(dump *d, const neo_ast_region *r) {
  d->indent++;
  for (uint32_t i = 0; i < r->arms.n; i++) {
    const neo_ast_arm *a = &r->arms.at[i];
    line(d);
    add(d, "(");
    if (a->label)
      expr(d, a->label);
    else
      add(d, "else");
    block(d, &a->block);
    add(d, ")");
  }
  d->indent--;
}

static void region(dump *d, const neo_ast_region *r) {
  static const char *const words[] = {"scan", "repeat", "while", "case"};
  neo_str_addf(d->out, "(%s", words[r->kind]);
  if (r->index.text)
    neo_str_addf(d->out, " %s", r->index.text);
  if (r->cond) {
    add(d, " ");
    expr(d, r->cond);
  }
  if (r->extent) {
    add(d, " ");
    expr(d, r->extent);
  }
  add(d, r->down ? " down" : "");
  binds(d, r->from);
  if (r->kind == NEO_AST_CASE)
    arms(d, r);
  else
    block(d, &r->block);
  add(d, ")");
}

static void define(dump *d, const neo_ast_stmt *s) {
  add(d, " ");
  var(d, &s->u.define.target);
  for (uint32_t i = 0; i < s->u.define.more.n; i++)
    neo_str_addf(d->out, " %s", s->u.define.more.at[i].text);
  add(d, " ");
  if (s->u.define.value)
    expr(d, s->u.define.value);
  else
    region(d, s->u.define.region);
}

static void decl(dump *d, const neo_ast_stmt *s) {
  add(d, " ");
  var(d, &s->u.decl.var);
  if (s->u.decl.value) {
    add(d, " ");
    expr(d, s->u.decl.value);
  }
  if (s->u.decl.literal) {
    add(d, " ");
    literal(d, s->u.decl.literal);
  }
}

static void function(dump *d, const neo_ast_stmt *s) {
  add(d, " ");
  signature(d, &s->u.fn.sig);
  if (s->u.fn.results.n) {
    add(d, " -> ");
    names(d, s->u.fn.results);
  }
  if (s->u.fn.over.text)
    neo_str_addf(d->out, " over %s%s", s->u.fn.over.text, s->u.fn.down ? " down" : "");
  block(d, &s->u.fn.block);
  if (!s->u.fn.has_grad)
    return;
  line(d);
  add(d, " grad ");
  names(d, s->u.fn.seeds);
  add(d, " -> ");
  names(d, s->u.fn.grads);
  block(d, &s->u.fn.grad_block);
}

static void import(dump *d, const neo_ast_stmt *s) {
  for (uint32_t i = 0; i < s->u.import.aliases.n; i++) {
    const neo_ast_alias *a = &s->u.import.aliases.at[i];
    if (a->alias.text)
      neo_str_addf(d->out, " (%s as %s)", a->module.text, a->alias.text);
    else
      neo_str_addf(d->out, " %s", a->module.text);
  }
}

static void dim(dump *d, const neo_ast_stmt *s) {
  neo_str_addf(d->out, " %s ", s->u.dim.name.text);
  if (s->u.dim.lo) {
    expr(d, s->u.dim.lo);
    add(d, " ");
  }
  add(d, s->u.dim.rel ? "<= " : "");
  expr(d, s->u.dim.hi);
}

static void paths(dump *d, neo_ast_paths list) {
  for (uint32_t i = 0; i < list.n; i++) {
    add(d, " ");
    path(d, list.at[i].at, list.at[i].n);
  }
}

static void output(dump *d, const neo_ast_stmt *s) {
  if (s->u.output.entry.text)
    neo_str_addf(d->out, " %s:", s->u.output.entry.text);
  paths(d, s->u.output.tensors);
  if (s->u.output.updates.n)
    add(d, " update");
  paths(d, s->u.output.updates);
}

static void train(dump *d, const neo_ast_stmt *s) {
  add(d, " ");
  if (s->u.train.entry.text)
    neo_str_addf(d->out, "%s: ", s->u.train.entry.text);
  path(d, s->u.train.loss.at, s->u.train.loss.n);
  if (s->u.train.patterns.n)
    add(d, s->u.train.except ? " except" : " over");
  for (uint32_t i = 0; i < s->u.train.patterns.n; i++) {
    add(d, " ");
    path(d, s->u.train.patterns.at[i].parts.at, s->u.train.patterns.at[i].parts.n);
  }
  add(d, " (");
  path(d, s->u.train.optimizer.at, s->u.train.optimizer.n);
  args(d, s->u.train.args);
  add(d, ")");
}

static void graph(dump *d, const neo_ast_stmt *s) {
  neo_str_addf(d->out, " %s ", s->u.graph.name.text);
  for (uint32_t i = 0; i < s->u.graph.edges.n; i++) {
    const neo_ast_edge *e = &s->u.graph.edges.at[i];
    if (e->lists)
      neo_str_addf(d->out, "(edges %s", e->type.text ? e->type.text : "-");
    if (e->lists)
      add(d, " ");
    expr(d, e->most);
    add(d, e->lists ? ") " : " ");
  }
  expr(d, s->u.graph.vertices);
}

static void stmt(dump *d, const neo_ast_stmt *s) {
  const char *word = neo_ast_stmt_word(s->kind);
  neo_str_addf(d->out, "(%s", s->kind == NEO_AST_DEFINE ? "=" : word ? word : "broken");
  switch (s->kind) {
  case NEO_AST_IMPORT:
    import(d, s);
    break;
  case NEO_AST_DIM:
    dim(d, s);
    break;
  case NEO_AST_ASSERT:
    add(d, " ");
    expr(d, s->u.expr);
    break;
  case NEO_AST_INPUT:
  case NEO_AST_PARAM:
  case NEO_AST_STATE:
  case NEO_AST_CONST:
    decl(d, s);
    break;
  case NEO_AST_DEFINE:
    define(d, s);
    break;
  case NEO_AST_NEXT:
  case NEO_AST_UPDATE:
  case NEO_AST_SCATTER:
  case NEO_AST_GATHER:
    binds(d, s->u.binds);
    break;
  case NEO_AST_FN:
  case NEO_AST_OPTIMIZER:
  case NEO_AST_VERTEX:
    function(d, s);
    break;
  case NEO_AST_GRAPH:
    graph(d, s);
    break;
  case NEO_AST_OUTPUT:
    output(d, s);
    break;
  case NEO_AST_TRAIN:
    train(d, s);
    break;
  default:
    add(d, " ");
    names(d, s->u.names);
  }
  add(d, ")");
}

void neo_ast_dump(const neo_ast_file *file, neo_str *out) {
  dump d = {.out = out};
  for (uint32_t i = 0; i < file->stmts.n; i++) {
    stmt(&d, file->stmts.at[i]);
    add(&d, "\n");
  }
}

void neo_ast_dump_expr(const neo_ast_expr *e, neo_str *out) {
  dump d = {.out = out};
  expr(&d, e);
}
