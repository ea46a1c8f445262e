/* Definitions and tensors that a cut adds to the modules of actors. */
#include "ir/define.h"
#include "ir/clone.h"
#include "network/parts.h"

void neo_net_define(neo_module *m, neo_tensor out, neo_expr value) {
  neo_axis_rec axis[16];
  uint32_t rank = neo_tensor_rank(m, out);
  neo_span span = neo_tensor_at(m, out)->span;
  for (uint32_t k = 0; k < rank; k++) {
    axis[k] = (neo_axis_rec){.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, out, k)};
    axis[k].span = span;
  }
  neo_def_rec r = {.n_out = rank, .reducer = NEO_RED_NONE, .span = span};
  r.axes = neo_axes_add(m, axis, rank);
  r.finish = neo_list_one(m, value.i);
  r.out = neo_list_one(m, out.i);
  neo_tensor_rec *t = neo_tensor_at(m, out);
  bool kept = t->role == NEO_ROLE_STATE;
  neo_def d = neo_def_add(m, r, !kept);
  if (kept)
    neo_tensor_at(m, out)->init = d;
}

neo_expr neo_net_own(neo_module *m, neo_tensor t) {
  return neo_load_own(m, t, neo_tensor_at(m, t)->span);
}

neo_tensor neo_net_tensor_like(neo_module *m, neo_tensor like, neo_role role, neo_type type,
                               const char *prefix) {
  neo_tensor_rec of = *neo_tensor_at(m, like);
  neo_tensor_rec r = {.role = (uint8_t)role, .type = (uint8_t)type, .span = of.span};
  r.extent = of.extent;
  r.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, of.name));
  return neo_tensor_add(m, r);
}

neo_tensor neo_net_define_update(neo_module *m, neo_tensor state, const char *prefix,
                                 neo_expr value) {
  neo_tensor u = neo_net_tensor_like(m, state, NEO_ROLE_UPDATE, neo_tensor_type(m, state), prefix);
  neo_tensor_at(m, u)->updates = state;
  neo_net_define(m, u, value);
  return u;
}

neo_tensor neo_net_scalar(neo_module *m, neo_role role, neo_type type, const char *name) {
  neo_tensor_rec r = {.role = (uint8_t)role, .type = (uint8_t)type};
  bool taken = neo_tensor_find(m, name).i != 0;
  r.name = taken ? neo_tensor_fresh_name(m, "net", name) : neo_name_of(m->names, name);
  return neo_tensor_add(m, r);
}
