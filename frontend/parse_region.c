/* Regions: scan, repeat, while, case, on the right of a definition. */
#include "frontend/parse_rec.h"

bool neo_p_at_region(const neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  return k == NEO_TOK_SCAN || k == NEO_TOK_REPEAT || k == NEO_TOK_WHILE || k == NEO_TOK_CASE;
}

/* The carries are names of the inside. */
static neo_ast_binds carries(neo_parser *p) {
  size_t mark = p->defined.n;
  neo_ast_binds from = neo_p_binds(p, false);
  p->defined.n = mark;
  return from;
}

/* NAME "<" sum ["from" bind,+] block */
static void rounds(neo_parser *p, neo_ast_region *r) {
  r->index = neo_p_name(p, "the index of the rounds");
  if (!p->panic && neo_p_expect(p, NEO_TOK_LT))
    r->extent = neo_p_sum(p);
  if (neo_p_accept_word(p, "from"))
    r->from = carries(p);
  neo_p_find_block(p);
  r->block = neo_p_block(p);
}

/* expr "limit" sum "from" bind,+ block */
static void while_rounds(neo_parser *p, neo_ast_region *r) {
  r->cond = neo_p_expr(p);
  if (!p->panic && neo_p_expect_word(p, "limit"))
    r->extent = neo_p_sum(p);
  if (!p->panic && neo_p_expect_word(p, "from"))
    r->from = carries(p);
  neo_p_find_block(p);
  r->block = neo_p_block(p);
}

static neo_ast_arm arm(neo_parser *p) {
  size_t from = p->at;
  neo_ast_arm a = {.kind = NEO_AST_LABEL_NUMBER};
  neo_tok k = neo_p_kind(p);
  if (neo_p_accept(p, NEO_TOK_ELSE)) {
    a.kind = NEO_AST_LABEL_ELSE;
  } else if (k == NEO_TOK_TRUE || k == NEO_TOK_FALSE) {
    a.kind = NEO_AST_LABEL_BOOL;
    a.label = neo_p_bool(p);
  } else {
    a.label = neo_p_signed_number(p, "a number, true, false or 'else'");
  }
  neo_p_find_block(p);
  a.block = neo_p_block(p);
  a.span = neo_p_span_from(p, from);
  return a;
}

static void skip_ends(neo_parser *p) {
  while (neo_p_accept(p, NEO_TOK_END))
    ;
}

/* expr "{" {END} {label block {END}} ["else" block {END}] "}" */
static void branches(neo_parser *p, neo_ast_region *r) {
  NEO_VEC(neo_ast_arm) v = {0};
  bool had_else = false;
  r->cond = neo_p_expr(p);
  if (p->panic || !neo_p_expect(p, NEO_TOK_LBRACE))
    return;
  skip_ends(p);
  while (!p->panic && neo_p_kind(p) != NEO_TOK_RBRACE) {
    if (had_else)
      NEO_P_COMPLAIN(p, neo_p_span_here(p), NEO_D_ELSE_LAST);
    NEO_PUSH(p->arena, &v, arm(p));
    had_else = v.at[v.n - 1].kind == NEO_AST_LABEL_ELSE;
    skip_ends(p);
  }
  if (!p->panic)
    neo_p_expect(p, NEO_TOK_RBRACE);
  NEO_P_LIST(&r->arms, &v);
}

neo_ast_region *neo_p_region(neo_parser *p) {
  size_t from = p->at;
  neo_ast_region *r = NEO_NEW(p->arena, neo_ast_region);
  const neo_token *word = neo_p_take(p);
  r->word = neo_p_token_span(p, word);
  switch (word->kind) {
  case NEO_TOK_SCAN:
  case NEO_TOK_REPEAT:
    r->kind = word->kind == NEO_TOK_SCAN ? NEO_AST_SCAN : NEO_AST_REPEAT;
    rounds(p, r);
    break;
  case NEO_TOK_WHILE:
    r->kind = NEO_AST_WHILE;
    while_rounds(p, r);
    break;
  default:
    r->kind = NEO_AST_CASE;
    branches(p, r);
  }
  r->span = neo_p_span_from(p, from);
  return r;
}
