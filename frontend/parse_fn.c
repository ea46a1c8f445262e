/* Statements with a signature: fn, optimizer, vertex. A broken head does not hide its block's
 * errors. */
#include "frontend/parse_rec.h"

/* "grad" "(" NAME,+ ")" "->" NAME,+ block */
static void own_gradient(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.has_grad = true;
  if (neo_p_expect(p, NEO_TOK_LPAREN))
    s->u.fn.seeds = neo_p_names(p, "the name of a result's gradient");
  if (!p->panic)
    neo_p_expect(p, NEO_TOK_RPAREN);
  if (!p->panic && neo_p_expect(p, NEO_TOK_ARROW))
    s->u.fn.grads = neo_p_names(p, "the name of a parameter's gradient");
  neo_p_find_block(p);
  s->u.fn.grad_block = neo_p_block(p);
}

/* sig "->" NAME,+ block [own gradient] */
void neo_p_fn(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.sig = neo_p_sig(p);
  if (!p->panic && !neo_p_accept(p, NEO_TOK_ARROW)) {
    int h = neo_p_expected(p, "'->'");
    neo_diag_help(p->diags, h, "a function names its results: fn f(x[N]) -> y { ... }");
  }
  if (!p->panic)
    s->u.fn.results = neo_p_names(p, "the name of a result");
  neo_p_find_block(p);
  s->u.fn.block = neo_p_block(p);
  if (neo_p_accept_word(p, "grad"))
    own_gradient(p, s);
}

void neo_p_optimizer(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.sig = neo_p_sig(p);
  neo_p_find_block(p);
  s->u.fn.block = neo_p_block(p);
}

/* sig "over" NAME block */
void neo_p_vertex(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.sig = neo_p_sig(p);
  if (!p->panic && neo_p_expect_word(p, "over"))
    s->u.fn.over = neo_p_name(p, "the name of a graph");
  neo_p_find_block(p);
  s->u.fn.block = neo_p_block(p);
}
