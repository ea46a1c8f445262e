/* Values of a row that several stages need (schedule/keep.h): the first stage stores them to
 * scratch, vector by vector, beside what it does with them; later ones load them from there.
 *
 * A value is computed at every point of the row for this, so what it loads must be inside of its
 * buffers without any of the conditions around it. */
#include "codegen/lower_scope.h"

typedef struct {
  lowering *l;
  bool safe;
} check;

static void look(void *ctx, neo_expr e) {
  check *c = ctx;
  neo_op op = (neo_op)neo_expr_node(c->l->m, e)->op;
  if (op == NEO_OP_LOAD)
    c->safe = c->safe && neo_form_inside(c->l->m, c->l->p, c->l->f, &c->l->facts, e);
}

static bool is_safe(lowering *l, neo_expr value, uint32_t stage) {
  check c = {l, true};
  neo_lower_facts(l, l->f, &l->f->stages.at[stage]);
  neo_expr_visit(l->m, value, look, &c);
  return c.safe;
}

void neo_lower_plan_keeps(lowering *l) {
  enum { LANES = 64 }; /* dead ones of the last vectors */
  if (!l->s->at[NEO_SCHED_KEEP])
    return;
  neo_keeps all = neo_keep_find(l->m, l->f, l->s);
  l->kept.row = all.row;
  for (uint32_t k = 0; k < all.n; k++) {
    if (!is_safe(l, all.at[k].value, all.at[k].first))
      continue;
    neo_kbuf b = {.name = "row", .use = NEO_BUF_SCRATCH, .scratch_elems = all.row + LANES};
    b.type = (uint8_t)neo_expr_type(l->m, all.at[k].value);
    l->kept_buf[l->kept.n] = neo_kernel_buf(l->k, b);
    l->kept.at[l->kept.n++] = all.at[k];
  }
}

static const neo_lx *position(lowering *l) {
  return neo_lower_axis(l, (uint32_t)l->f->axes.n);
}

void neo_lower_keep(lowering *l, neo_block *in, const neo_stage *s) {
  for (uint32_t k = 0; k < l->kept.n; k++)
    if (s == &l->f->stages.at[l->kept.at[k].first])
      neo_ls_store(l->k, in, l->kept_buf[k], position(l), neo_lower_expr(l, l->kept.at[k].value),
                   l->mask);
}

const neo_lx *neo_lower_kept(lowering *l, neo_expr e) {
  for (uint32_t k = 0; k < l->kept.n; k++)
    if (l->kept.at[k].value.i == e.i && l->tile && l->stage > &l->f->stages.at[l->kept.at[k].first])
      return neo_lx_load(l->k, l->kept_buf[k], position(l));
  return NULL;
}
