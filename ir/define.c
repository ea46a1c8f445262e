/* See define.h. */
#include "ir/define.h"
#include "ir/clone.h"
#include "ir/limits.h"
#include <assert.h>

static neo_tensor temporary(neo_module *m, const neo_temp *x, const neo_def_rec *r) {
  uint32_t extent[NEO_DEF_AXES];
  const neo_tensor_rec *like = neo_tensor_at(m, x->like);
  neo_tensor_rec t = {.role = NEO_ROLE_TEMP,
                      .type = (uint8_t)x->type,
                      .bound = x->bound,
                      .least = x->least,
                      .below = x->below,
                      .span = r->span,
                      .in = like->in};
  assert(r->n_out <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < r->n_out; k++)
    extent[k] = neo_def_axis(m, r, k)->hi.i;
  t.name = neo_tensor_fresh_name(m, x->prefix, neo_name_text(m->names, like->name));
  t.extent = neo_list_new(m, extent, r->n_out);
  return neo_tensor_add(m, t);
}

neo_tensor neo_temp_define(neo_module *m, const neo_temp *x, neo_def_rec r) {
  neo_tensor t = temporary(m, x, &r);
  r.out = neo_list_one(m, t.i);
  neo_def_add(m, r, true);
  return t;
}

neo_def_rec neo_def_derived(const neo_module *m, neo_def of) {
  const neo_def_rec *d = neo_def_at(m, of);
  return (neo_def_rec){.span = d->span, .origin = d->origin ? d->origin : of.i};
}

void neo_equation_define(neo_module *m, neo_def of, neo_tensor t, neo_list axes, neo_expr value) {
  neo_def_rec r = neo_def_derived(m, of);
  neo_tensor_at(m, t)->pieces = (neo_list){0};
  r.n_out = axes.n;
  r.axes = axes;
  r.out = neo_list_one(m, t.i);
  r.finish = neo_list_one(m, value.i);
  neo_def_add(m, r, true);
}

neo_tensor neo_partial_define(neo_module *m, const neo_partial *x) {
  neo_def_rec of = *neo_def_at(m, x->of), r = neo_def_derived(m, x->of);
  r.reducer = (uint8_t)x->reducer;
  r.n_out = x->n_out;
  r.as_written = of.as_written;
  neo_type type = neo_expr_type(m, x->body);
  neo_temp t = {.prefix = x->prefix, .like = {neo_list_at(m, of.out, 0)}, .type = type};
  r.axes = x->axes;
  r.where = x->where;
  r.body = neo_list_one(m, x->body.i);
  r.finish = neo_list_one(m, neo_acc_ref(m, type, 0).i);
  return neo_temp_define(m, &t, r);
}

neo_expr neo_load_own(neo_module *m, neo_tensor t, neo_span span) {
  neo_expr at[NEO_DEF_AXES];
  uint32_t rank = neo_tensor_rank(m, t);
  assert(rank <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < rank; k++)
    at[k] = neo_axis_ref(m, k);
  return neo_load(m, t, at, rank, span);
}

static neo_expr replace_acc(void *ctx, neo_module *m, neo_expr e) {
  const neo_expr *value = ctx;
  return neo_expr_node(m, e)->op == NEO_OP_ACC ? *value : e;
}

void neo_reduction_replace(neo_module *m, neo_def d, neo_expr value) {
  neo_def_rec r = *neo_def_at(m, d);
  r.finish = neo_list_rewrite(m, r.finish, replace_acc, &value);
  r.axes = neo_list_first(r.axes, r.n_out);
  r.reducer = NEO_RED_NONE;
  r.where = (neo_expr){0};
  r.body = (neo_list){0};
  *neo_def_at(m, d) = r;
}
