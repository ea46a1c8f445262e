/* See embed.h. A read may be an index of another one, which is another expression once the read has its guard: each is
 * looked for anew. */
#include "transform/embed.h"
#include "ir/verify.h"

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
    exchange x = {read, neo_load_else_zero(m, read)};
    neo_def_rewrite(m, d, exchanged, &x);
    read = neo_unproved_read(p, d, &scratch);
  }
  neo_arena_free(&scratch);
}
