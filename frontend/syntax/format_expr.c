/* Expressions to items. A chain of operators of equal precedence is one group, with breaks after
 * its operators; brackets are groups with breaks after their commas. */
#include "frontend/syntax/format_rec.h"

uint32_t neo_f_from(const neo_f *f, neo_span span) {
  size_t n;
  return (uint32_t)(neo_span_bytes(f->sources, span, &n) - f->file->text);
}

uint32_t neo_f_to(const neo_f *f, neo_span span) {
  size_t n;
  const char *text = neo_span_bytes(f->sources, span, &n);
  return (uint32_t)(text - f->file->text) + (uint32_t)n;
}

/* ---- names
 * -------------------------------------------------------------------------------------- */

void neo_f_name(neo_f *f, neo_ast_name name) {
  neo_f_comments_before(f, neo_f_from(f, name.span));
  neo_f_text(f, name.text ? name.text : "*");
}

void neo_f_path(neo_f *f, const neo_ast_name *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    neo_f_text(f, i ? "." : "");
    neo_f_name(f, at[i]);
  }
}

/* ---- brackets
 * ------------------------------------------------------------------------------------ */

static void open_bracket(neo_f *f, const char *text) {
  neo_f_text(f, text);
  neo_f_open(f, NEO_F_CONTINUE);
  neo_f_break_reluctant(f, "");
}

static void close_bracket(neo_f *f, const char *text) {
  neo_f_close(f);
  neo_f_text(f, text);
}

void neo_f_comma(neo_f *f, uint32_t i) {
  if (i == 0)
    return;
  neo_f_text(f, ",");
  neo_f_break(f, " ");
}

void neo_f_args(neo_f *f, neo_ast_args args, uint32_t close) {
  open_bracket(f, "(");
  for (uint32_t i = 0; i < args.n; i++) {
    neo_f_comma(f, i);
    if (args.at[i].name.text) {
      neo_f_name(f, args.at[i].name);
      neo_f_text(f, " = ");
    }
    neo_f_expr(f, args.at[i].value);
  }
  neo_f_comments_before(f, close);
  close_bracket(f, ")");
}

static void subscripts(neo_f *f, neo_ast_subs subs, neo_span bracket) {
  open_bracket(f, "[");
  for (uint32_t i = 0; i < subs.n; i++) {
    neo_f_comma(f, i);
    if (subs.at[i].expr) {
      neo_f_expr(f, subs.at[i].expr);
    } else {
      neo_f_comments_before(f, neo_f_from(f, subs.at[i].span));
      neo_f_text(f, "..");
    }
  }
  neo_f_comments_before(f, neo_f_to(f, bracket));
  close_bracket(f, "]");
}

void neo_f_rel(neo_f *f, neo_ast_rel rel) {
  if (rel != NEO_AST_REL_NONE)
    neo_f_text(f, rel == NEO_AST_REL_LT ? " < " : " <= ");
}

static void axis(neo_f *f, const neo_ast_axis *a) {
  neo_f_comments_before(f, neo_f_from(f, a->span));
  if (a->kind == NEO_AST_PACK)
    neo_f_text(f, "..");
  if (a->lo)
    neo_f_expr(f, a->lo);
  neo_f_rel(f, a->lo_rel);
  if (a->name.text)
    neo_f_name(f, a->name);
  neo_f_rel(f, a->hi_rel);
  if (a->hi)
    neo_f_expr(f, a->hi);
}

void neo_f_axes(neo_f *f, neo_ast_axes axes) {
  for (uint32_t i = 0; i < axes.n; i++) {
    neo_f_comma(f, i);
    axis(f, &axes.at[i]);
  }
}

/* ---- operators
 * ------------------------------------------------------------------------------------ */

/* How tight an operator binds; equal levels make a chain. */
static int level_of(neo_ast_op op) {
  switch (op) {
  case NEO_AST_OR:
    return 0;
  case NEO_AST_AND:
    return 1;
  case NEO_AST_ADD:
  case NEO_AST_SUB:
    return 3;
  case NEO_AST_MUL:
  case NEO_AST_DIV:
  case NEO_AST_MOD:
    return 4;
  case NEO_AST_POW:
    return 5;
  default:
    return 2;
  }
}
enum { PRODUCT = 4, POWER = 5 };

typedef NEO_VEC(const neo_ast_expr *) chain;

/* The binary nodes of the chain that leans to the left under `e`, outermost first. */
static chain chain_of(neo_f *f, const neo_ast_expr *e) {
  chain c = {0};
  int level = level_of(e->u.binary.op);
  do {
    NEO_PUSH(f->arena, &c, e);
    e = e->u.binary.x;
  } while (!e->parens && e->kind == NEO_AST_BINARY && level_of(e->u.binary.op) == level);
  return c;
}

static bool is_wide(const neo_ast_expr *e) {
  while (e->kind == NEO_AST_UNARY && !e->parens)
    e = e->u.unary.x;
  if (e->parens)
    return false;
  return e->kind == NEO_AST_REDUCE || (e->kind == NEO_AST_REF && e->u.ref.subs.n > 1);
}

static bool is_spaced(const chain *c) {
  for (size_t i = 0; i < c->n; i++)
    if (is_wide(c->at[i]->u.binary.y) || c->at[i]->u.binary.op == NEO_AST_MOD)
      return true;
  return is_wide(c->at[c->n - 1]->u.binary.x);
}

static void binary(neo_f *f, const neo_ast_expr *e) {
  chain c = chain_of(f, e);
  int level = level_of(e->u.binary.op);
  bool tight = level == PRODUCT && !is_spaced(&c);
  neo_f_open(f, 0);
  neo_f_expr(f, c.at[c.n - 1]->u.binary.x);
  for (size_t i = c.n; i-- > 0;) {
    const char *op = neo_ast_op_text(c.at[i]->u.binary.op);
    if (tight) {
      neo_f_tight(f, op);
    } else {
      neo_f_text(f, " ");
      neo_f_text(f, op);
    }
    neo_f_break(f, tight ? "" : " ");
    neo_f_expr(f, c.at[i]->u.binary.y);
  }
  neo_f_close(f);
}

static void power(neo_f *f, const neo_ast_expr *e) {
  neo_f_expr(f, e->u.binary.x);
  neo_f_text(f, "^");
  neo_f_expr(f, e->u.binary.y);
}

static void unary(neo_f *f, const neo_ast_expr *e) {
  neo_f_comments_before(f, neo_f_from(f, e->u.unary.op_span));
  neo_f_text(f, e->u.unary.op == NEO_AST_NOT ? "not " : "-");
  neo_f_expr(f, e->u.unary.x);
}

/* ---- the rest
 * -------------------------------------------------------------------------------------- */

static void reference(neo_f *f, const neo_ast_expr *e) {
  neo_f_path(f, e->u.ref.path.at, e->u.ref.path.n);
  if (e->u.ref.has_args)
    neo_f_args(f, e->u.ref.args,
               e->u.ref.has_subs ? neo_f_from(f, e->u.ref.subs_span) : neo_f_to(f, e->span));
  if (e->u.ref.has_subs)
    subscripts(f, e->u.ref.subs, e->u.ref.subs_span);
}

static void reduce(neo_f *f, const neo_ast_expr *e) {
  neo_f_comments_before(f, neo_f_from(f, e->u.reduce.word));
  neo_f_open(f, 0);
  neo_f_text(f, neo_ast_reducer_text(e->u.reduce.reducer));
  open_bracket(f, "[");
  neo_f_axes(f, e->u.reduce.axes);
  if (e->u.reduce.where) {
    neo_f_break(f, " ");
    neo_f_text(f, "where ");
    neo_f_expr(f, e->u.reduce.where);
  }
  close_bracket(f, "]");
  neo_f_break_reluctant(f, " ");
  neo_f_expr(f, e->u.reduce.body);
  neo_f_close(f);
}

static void guard(neo_f *f, const neo_ast_expr *e) {
  open_bracket(f, "(");
  neo_f_expr(f, e->u.guard.value);
  neo_f_break(f, " ");
  neo_f_text(f, "else ");
  neo_f_expr(f, e->u.guard.fallback);
  neo_f_comments_before(f, neo_f_to(f, e->span));
  close_bracket(f, ")");
}

static void inside(neo_f *f, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    neo_f_text(f, e->u.number.text);
    break;
  case NEO_AST_BOOL:
    neo_f_text(f, e->u.boolean ? "true" : "false");
    break;
  case NEO_AST_REF:
    reference(f, e);
    break;
  case NEO_AST_UNARY:
    unary(f, e);
    break;
  case NEO_AST_BINARY:
    if (level_of(e->u.binary.op) == POWER)
      power(f, e);
    else
      binary(f, e);
    break;
  case NEO_AST_GUARD:
    guard(f, e);
    break;
  default:
    reduce(f, e);
  }
}

void neo_f_expr(neo_f *f, const neo_ast_expr *e) {
  neo_f_comments_before(f, neo_f_from(f, e->span));
  if (!e->parens) {
    inside(f, e);
    return;
  }
  open_bracket(f, "(");
  inside(f, e);
  neo_f_comments_before(f, neo_f_to(f, e->span));
  close_bracket(f, ")");
}
