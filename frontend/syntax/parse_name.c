/* Names, lists of names, and paths. */
#include "frontend/syntax/parse_rec.h"

#include <string.h>

neo_ast_name neo_p_name(neo_parser *p, const char *what) {
  const neo_token *t = neo_p_peek(p, 0);
  neo_ast_name name = {0};
  bool word = t->kind == NEO_TOK_NUMBER ? strpbrk(t->text, "inp") == t->text
                                        : t->kind >= NEO_TOK_TRUE && t->kind < NEO_TOK_NAME;
  word |= t->kind == NEO_TOK_AND || t->kind == NEO_TOK_OR || t->kind == NEO_TOK_NOT;
  if (p->panic)
    return name;
  if (t->kind == NEO_TOK_NAME) {
    name = (neo_ast_name){t->text, neo_p_token_span(p, t)};
    neo_p_take(p);
  } else if (word) {
    const char *text = t->kind == NEO_TOK_NUMBER ? t->text : neo_tok_text((neo_tok)t->kind);
    NEO_P_ERROR(p, neo_p_token_span(p, t), NEO_D_RESERVED, text);
  } else {
    neo_p_expected(p, what);
  }
  return name;
}

neo_ast_name neo_p_new_name(neo_parser *p, const char *what) {
  neo_ast_name name = neo_p_name(p, what);
  if (name.text)
    NEO_PUSH(p->arena, &p->defined, name);
  return name;
}

static neo_ast_names names(neo_parser *p, neo_ast_name one(neo_parser *, const char *),
                           const char *what) {
  NEO_VEC(neo_ast_name) v = {0};
  do
    NEO_PUSH(p->arena, &v, one(p, what));
  while (neo_p_accept(p, NEO_TOK_COMMA));
  neo_ast_names list;
  NEO_P_LIST(&list, &v);
  return list;
}

neo_ast_names neo_p_names(neo_parser *p, const char *what) {
  return names(p, neo_p_name, what);
}

neo_ast_names neo_p_new_names(neo_parser *p, const char *what) {
  return names(p, neo_p_new_name, what);
}

neo_ast_path neo_p_path(neo_parser *p, const char *what) {
  size_t from = p->at;
  NEO_VEC(neo_ast_name) v = {0};
  NEO_PUSH(p->arena, &v, neo_p_name(p, what));
  while (neo_p_accept(p, NEO_TOK_DOT))
    NEO_PUSH(p->arena, &v, neo_p_name(p, "a name"));
  neo_ast_path path;
  NEO_P_LIST(&path, &v);
  path.span = neo_p_span_from(p, from);
  return path;
}

void neo_p_check_pack(neo_parser *p, bool *seen, neo_span span) {
  if (*seen)
    NEO_P_COMPLAIN(p, span, NEO_D_TWO_PACKS);
  *seen = true;
}
