/* `dim` and `assert`, given their values: run-time sizes, sizes that the caller sets, and
 * conditions on them. */
#include "frontend/sema/parts.h"

bool neo_dim_replaced(neo_inst *in, const neo_ast_stmt *s, int64_t *x) {
  const neo_frontend_options *o = in->fe->options;
  if (!in->is_main || in->scope->parent)
    return false;
  for (int k = 0; o && k < o->n_defines; k++)
    if (neo_streq(o->defines[k].name, s->u.dim.name.text)) {
      in->fe->define_used[k] = true;
      *x = o->defines[k].value;
      return true;
    }
  return false;
}

/* dim lo <= N <= hi */
neo_expr neo_dim_runtime(neo_inst *in, const neo_ast_stmt *s, int64_t lo, int64_t hi) {
  neo_expr none = {0};
  if (in->scope->parent || !in->is_main) {
    NEO_ERR(in, s->span, RUNTIME_DIM_PLACE, s->u.dim.name.text);
    return none;
  }
  if (lo < 0 || hi < lo || hi > ((int64_t)1 << 40)) {
    NEO_ERR(in, s->span, DIM_BOUNDS, s->u.dim.name.text, (long long)lo, (long long)hi);
    return none;
  }
  int64_t x; /* compiled for one size alone */
  if (neo_dim_replaced(in, s, &x)) {
    if (x >= lo && x <= hi)
      return neo_const_i64(in->fe->m, x);
    NEO_ERR(in, s->span, DEFINE_BOUNDS, s->u.dim.name.text, (long long)x, (long long)lo,
            (long long)hi);
    return none;
  }
  neo_size size =
      neo_size_add(in->fe->m, (neo_size_rec){.kind = NEO_SIZE_RUNTIME,
                                             .name = neo_name_of(in->fe->names, s->u.dim.name.text),
                                             .lo = lo,
                                             .hi = hi,
                                             .span = s->u.dim.name.span});
  return neo_size_ref(in->fe->m, size);
}

/* Rounds the bounds of N inward to multiples of k, where N % k == 0 is asserted. */
static void tighten(neo_fe *fe, neo_expr c) {
  const neo_node *eq = neo_expr_node(fe->m, c);
  int64_t zero, k;
  if (eq->op != NEO_OP_EQ || !neo_expr_is_int(fe->m, neo_list_expr(fe->m, eq->arg, 1), &zero) ||
      zero)
    return;
  const neo_node *mod = neo_expr_node(fe->m, neo_list_expr(fe->m, eq->arg, 0));
  if (mod->op != NEO_OP_MOD || !neo_expr_is_int(fe->m, neo_list_expr(fe->m, mod->arg, 1), &k))
    return;
  const neo_node *size = neo_expr_node(fe->m, neo_list_expr(fe->m, mod->arg, 0));
  if (size->op != NEO_OP_SIZE || k <= 0)
    return;
  neo_size_rec *rec = neo_size_at(fe->m, (neo_size){size->attr});
  int64_t lo = (rec->lo + k - 1) / k * k, hi = rec->hi / k * k;
  if (rec->kind == NEO_SIZE_RUNTIME && lo <= hi)
    rec->lo = lo, rec->hi = hi;
}

void neo_assert_add(neo_inst *in, neo_span at, neo_expr c) {
  neo_module *m = in->fe->m;
  int64_t x;
  if (!neo_size_is_pure(m, c)) {
    NEO_ERR(in, at, NOT_A_SIZE, "depends on the values of tensors");
    return;
  }
  neo_facts facts = neo_size_facts(in->fe);
  bool known = neo_expr_is_int(m, c, &x);
  neo_witness w;
  neo_proof proof =
      known ? (x ? NEO_PROVED : NEO_REFUTED) : neo_prove(in->fe->prover, &facts, c, &w);
  if (known && proof == NEO_REFUTED) {
    size_t n = 0;
    const char *text = neo_span_bytes(neo_diags_sources(in->fe->diags), at, &n);
    NEO_ERR(in, at, ASSERT_FAILS, (int)n, text);
  } else if (proof != NEO_PROVED) {
    NEO_PUSH(in->fe->arena, &in->fe->asserts, c);
    NEO_PUSH(in->fe->arena, &in->fe->m->asserts, (neo_assert_rec){c, at});
    tighten(in->fe, c);
  }
}
