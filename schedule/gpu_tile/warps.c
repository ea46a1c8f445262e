/* Finds the types that the warps of a contraction multiply. */
#include "schedule/gpu_tile/shape.h"

neo_warps neo_factor_warps(neo_module *m, neo_expr *e) {
  const neo_node *n = neo_expr_node(m, *e);
  if (n->type == NEO_F32_T && n->op == NEO_OP_TF32)
    return NEO_WARPS_TF32;
  if (n->type != NEO_F32_T || n->op != NEO_OP_CAST)
    return NEO_WARPS_NONE;
  neo_expr from = neo_list_expr(m, n->arg, 0);
  neo_type t = neo_expr_type(m, from);
  if (t != NEO_BF16_T && t != NEO_F16_T)
    return NEO_WARPS_NONE;
  *e = from;
  return t == NEO_BF16_T ? NEO_WARPS_BF16 : NEO_WARPS_F16;
}

/* Warps take two factors that were rounded to the same type; f32 factors where the module permits
 * 3XTF32. */
neo_warps neo_threads_warps(neo_module *m, const neo_form *f, neo_contraction *c) {
  const neo_stage *s = &f->stages.at[c->stage];
  neo_warps other = m->math == NEO_PRECISION_3XTF32 ? NEO_WARPS_3XTF32 : NEO_WARPS_NONE;
  if (s->accs.at[0].type != NEO_F32_T)
    return NEO_WARPS_NONE;
  if (c->n != 2)
    return other;
  neo_expr e[] = {c->factor[0].e, c->factor[1].e};
  neo_warps kind = neo_factor_warps(m, &e[0]);
  if (!kind || kind != neo_factor_warps(m, &e[1]))
    return other;
  for (int k = 0; k < 2; k++)
    c->factor[k].e = e[k];
  return kind;
}

int64_t neo_warps_steps(neo_warps kind) {
  return kind == NEO_WARPS_BF16 || kind == NEO_WARPS_F16 ? 2 : 1;
}

neo_warps neo_warps_on(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_contraction *c) {
  neo_contraction copy = *c;
  neo_warps kind = neo_threads_warps(m, f, &copy);
  return machine->warps >= (kind == NEO_WARPS_F16 ? 75 : 80) ? kind : NEO_WARPS_NONE;
}
