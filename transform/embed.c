/* Guards of reads; see embed.h. A read that is an index of another read changes with its guard, so
 * each is looked up anew. */
#include "transform/embed.h"
#include "ir/verify/verify.h"

void neo_embed_def(neo_prover *p, neo_def d) {
  neo_module *m = neo_prover_module(p);
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_expr read = neo_unproved_read(p, d, &scratch);
  while (read.i) {
    neo_def_replace(m, d, read, neo_load_else_zero(m, read));
    read = neo_unproved_read(p, d, &scratch);
  }
  neo_arena_free(&scratch);
}
