/* Reducers: sum[i, lo <= k < hi where c] body. The caller decides how far the body extends: a term
 * for most, a comparison for any and all (parse_expr.c). */
#include "frontend/syntax/parse_rec.h"

neo_p_word neo_p_reducer_at(const neo_parser *p, size_t n) {
  const neo_token *t = neo_p_peek(p, n);
  if (t->kind != NEO_TOK_NAME || neo_p_peek_kind(p, n + 1) != NEO_TOK_LBRACKET)
    return NEO_P_NO_REDUCER;
  neo_ast_reducer r = neo_reducer_named(t->text);
  if (r == NEO_AST_RED_COUNT)
    return NEO_P_NO_REDUCER;
  return r == NEO_AST_RED_ANY || r == NEO_AST_RED_ALL ? NEO_P_QUANTIFIER : NEO_P_REDUCER;
}

bool neo_p_is_name(const neo_ast_expr *e) {
  return e->kind == NEO_AST_REF && !e->parens && e->u.ref.path.n == 1 && !e->u.ref.has_args &&
         !e->u.ref.has_subs;
}

/* Reports an expression in the position of the index. */
static void not_a_name(neo_parser *p, const neo_ast_expr *e) {
  int h = NEO_P_COMPLAIN(p, e->span, NEO_D_BOUND_INDEX);
  neo_diag_help(p->diags, h, "for example sum[k], sum[k < K], sum[lo <= k < hi where m[k] > 0]");
}

/* Finds the index in x [rel y [rel z]]: of three parts the middle one; of two the first if it is a
 * plain name, else the second. */
static void place_index(neo_parser *p, neo_ast_axis *a, neo_ast_expr *part[3], neo_ast_rel rel[2]) {
  int index = part[2] || (part[1] && !neo_p_is_name(part[0]) && neo_p_is_name(part[1])) ? 1 : 0;
  if (!neo_p_is_name(part[index])) {
    not_a_name(p, part[index]);
    return;
  }
  a->name = part[index]->u.ref.path.at[0];
  if (index == 1) {
    a->lo = part[0];
    a->lo_rel = rel[0];
  }
  a->hi = part[index + 1];
  a->hi_rel = rel[index];
}

static const char range_form[] = "bounds are written with '<' and '<=': lo <= k < hi";

static neo_ast_axis range(neo_parser *p) {
  size_t from = p->at;
  neo_ast_axis a = {.kind = NEO_AST_INDEX};
  if (neo_p_accept(p, NEO_TOK_PACK)) {
    a.kind = NEO_AST_PACK;
    a.span = neo_p_span_from(p, from);
    return a;
  }
  neo_ast_expr *part[4] = {0}; /* one more than a range can have: always NULL */
  neo_ast_rel rel[3] = {0};
  if (neo_p_kind(p) == NEO_TOK_RBRACKET) {
    neo_p_expected(p, "an index");
    return a;
  }
  part[0] = neo_p_sum(p);
  for (int i = 0; i < 2 && !p->panic; i++) {
    rel[i] = neo_p_accept_rel(p);
    if (rel[i] == NEO_AST_REL_NONE)
      break;
    part[i + 1] = neo_p_sum(p);
  }
  if (p->panic)
    return a;
  if (neo_p_kind(p) == NEO_TOK_GT || neo_p_kind(p) == NEO_TOK_GE) {
    int h = neo_p_expected(p, "',', 'where' or ']'");
    neo_diag_help(p->diags, h, "%s", range_form);
    return a;
  }
  place_index(p, &a, part, rel);
  a.span = neo_p_span_from(p, from);
  return a;
}

static neo_ast_axes ranges(neo_parser *p) {
  NEO_VEC(neo_ast_axis) v = {0};
  bool pack = false;
  do {
    neo_ast_axis a = range(p);
    if (a.kind == NEO_AST_PACK)
      neo_p_check_pack(p, &pack, a.span);
    NEO_PUSH(p->arena, &v, a);
  } while (neo_p_accept(p, NEO_TOK_COMMA));
  neo_ast_axes list;
  NEO_P_LIST(&list, &v);
  return list;
}

static void close_ranges(neo_parser *p) {
  if (neo_p_accept(p, NEO_TOK_RBRACKET))
    return;
  neo_tok k = neo_p_kind(p);
  bool range = k == NEO_TOK_ASSIGN || k == NEO_TOK_COLON || neo_p_at_word(p, "in");
  int h = neo_p_expected(p, "',', 'where' or ']'");
  if (range)
    neo_diag_help(p->diags, h, "%s", range_form);
}

neo_ast_expr *neo_p_reduce(neo_parser *p) {
  size_t from = p->at;
  neo_ast_expr *e = neo_p_new_expr(p, NEO_AST_REDUCE);
  bool quantifier = neo_p_reducer_at(p, 0) == NEO_P_QUANTIFIER;
  const neo_token *word = neo_p_take(p);
  e->u.reduce.reducer = neo_reducer_named(word->text);
  e->u.reduce.word = neo_p_token_span(p, word);
  if (neo_p_enter(p)) {
    neo_p_take(p); /* [ */
    e->u.reduce.axes = ranges(p);
    if (neo_p_accept(p, NEO_TOK_WHERE))
      e->u.reduce.where = neo_p_expr(p);
    close_ranges(p);
    if (!p->panic)
      e->u.reduce.body = quantifier ? neo_p_neg(p) : neo_p_term(p);
  }
  neo_p_leave(p);
  return neo_p_done(p, e, from);
}
