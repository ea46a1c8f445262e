/* See embed.h. A read may be an index of another one, which is another expression once the read has its guard: each is
 * looked for anew. */
#include "transform/embed.h"
#include "ir/verify.h"

static neo_expr guarded(neo_module *m, neo_expr read) {
  neo_node n = *neo_expr_node(m, read);
  neo_expr at[64];
  for (uint32_t k = 0; k < n.arg.n; k++)
    at[k] = neo_list_expr(m, n.arg, k);
  neo_type t = (neo_type)n.type;
  neo_expr none = t == NEO_BOOL_T ? neo_const_bool(m, false) : neo_const_int(m, t, 0);
  return neo_load_else(m, (neo_tensor){n.attr}, at, n.arg.n, none, n.span);
}

typedef struct {
  neo_expr from, to;
} exchange;

static neo_expr exchanged(void *ctx, neo_module *m, neo_expr e) {
  const exchange *x = ctx;
  (void)m;
  return e.i == x->from.i ? x->to : e;
}

void neo_embed_def(neo_prover *p, neo_def d) {
  neo_module *m = neo_prover_module(p);
  neo_arena scratch;
  neo_arena_init(&scratch, m->arena->alloc, m->arena->on_fail);
  neo_expr read = neo_unproved_read(p, d, &scratch);
  while (read.i) {
    exchange x = {read, guarded(m, read)};
    neo_def_rewrite(m, d, exchanged, &x);
    read = neo_unproved_read(p, d, &scratch);
  }
  neo_arena_free(&scratch);
}
