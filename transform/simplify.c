#include "ir/prove.h"
#include "transform/transform.h"

typedef struct {
  neo_prover *prover;
  neo_facts facts;
} under;

static neo_expr simpler(under *u, neo_module *m, neo_expr e) {
  (void)m;
  return e.i ? neo_simplify_under(u->prover, &u->facts, e) : e;
}

static neo_list simpler_list(under *u, neo_module *m, neo_list l) {
  uint32_t ids[8];
  for (uint32_t k = 0; k < l.n; k++)
    ids[k] = simpler(u, m, neo_list_expr(m, l, k)).i;
  return neo_list_new(m, ids, l.n);
}

static void definition(neo_prover *p, neo_module *m, neo_def d) {
  neo_def_rec r = *neo_def_at(m, d);
  neo_axis_rec axis[64];
  for (uint32_t k = 0; k < r.axes.n; k++)
    axis[k] = *neo_def_axis(m, &r, k);
  neo_prover_at(p, r.span);
  under u = {p, {.axes = axis, .n_axes = r.axes.n}};
  neo_expr where = simpler(&u, m, r.where);
  int64_t always;
  if (where.i && neo_expr_is_int(m, where, &always) && always)
    where.i = 0;
  u.facts.assume = &where;
  u.facts.n_assume = where.i != 0;
  neo_list body = simpler_list(&u, m, r.body);
  u.facts.n_axes = r.n_out;
  u.facts.n_assume = 0;
  neo_list finish = simpler_list(&u, m, r.finish);
  neo_def_rec *to = neo_def_at(m, d);
  to->where = where;
  to->body = body;
  to->finish = finish;
}

neo_status neo_pass_simplify(neo_module *m, const neo_pass_target *target) {
  (void)target;
  neo_prover *p = neo_prover_new(m);
  for (uint32_t k = 1; k < m->defs.n; k++)
    definition(p, m, (neo_def){k});
  neo_prover_free(p);
  return NEO_OK;
}
