/* Reads of definitions. */
#include "ir/ir.h"

typedef struct {
  const neo_module *m;
  neo_arena *arena;
  NEO_VEC(neo_tensor) found;
} reads;

static void collect_read(void *ctx, neo_expr e) {
  reads *r = ctx;
  const neo_node *n = neo_expr_node(r->m, e);
  if (!neo_node_is_load(n))
    return;
  for (size_t k = 0; k < r->found.n; k++)
    if (r->found.at[k].i == n->attr)
      return;
  NEO_PUSH(r->arena, &r->found, (neo_tensor){n->attr});
}

/* Adds the tables of the first rows of blocks: a reader of rows in other blocks, or of their kinds,
 * depends on them. */
static void collect_blocks(reads *r) {
  for (size_t k = 0; k < r->found.n; k++) {
    neo_tensor t = neo_tensor_blocks(r->m, r->found.at[k]);
    bool listed = !t.i;
    for (size_t i = 0; i < r->found.n && !listed; i++)
      listed = r->found.at[i].i == t.i;
    if (!listed)
      NEO_PUSH(r->arena, &r->found, t);
  }
}

/* A definition that is computed after a tensor depends on it. */
static void collect_after(reads *r, neo_tensor t) {
  bool listed = !t.i;
  for (size_t k = 0; k < r->found.n && !listed; k++)
    listed = r->found.at[k].i == t.i;
  if (!listed)
    NEO_PUSH(r->arena, &r->found, t);
}

size_t neo_def_reads(const neo_module *m, neo_def d, neo_arena *a, neo_tensor **out) {
  reads r = {.m = m, .arena = a};
  neo_def_visit(m, d, collect_read, &r);
  collect_blocks(&r);
  collect_after(&r, neo_def_at(m, d)->after);
  *out = r.found.at;
  return r.found.n;
}
