#include "ir/clone.h"

uint32_t neo_tensor_fresh_name(neo_module *m, const char *prefix, const char *of) {
  char *text = neo_arena_printf(m->arena, "%s.%s", prefix, of);
  uint32_t first = neo_name_of(m->names, text);
  uint64_t k = 1;
  neo_map_get(&m->copies, first, &k);
  while (neo_tensor_find(m, text).i)
    text = neo_arena_printf(m->arena, "%s%d.%s", prefix, (int)++k, of);
  neo_map_set(&m->copies, first, k > 1 ? k - 1 : 1); /* k is given only once a tensor has it */
  return neo_name_of(m->names, text);
}

static neo_expr renamed(void *ctx, neo_module *m, neo_expr e) {
  const neo_map *to = ctx;
  const neo_node *n = neo_expr_node(m, e);
  uint64_t t;
  if (!neo_node_is_load(n) || !neo_map_get(to, n->attr, &t))
    return e;
  neo_node copy = *n;
  neo_expr arg[20];
  for (uint32_t k = 0; k < copy.arg.n; k++)
    arg[k] = neo_list_expr(m, copy.arg, k);
  return neo_expr_make(m, (neo_op)copy.op, (neo_type)copy.type, (uint32_t)t, arg, copy.arg.n,
                       copy.span);
}

void neo_def_rename(neo_module *m, neo_def d, neo_map *to) {
  uint64_t after;
  neo_def_rewrite(m, d, renamed, to);
  if (neo_map_get(to, neo_def_at(m, d)->after.i, &after))
    neo_def_at(m, d)->after.i = (uint32_t)after;
}

neo_expr neo_expr_renamed(neo_module *m, neo_expr e, neo_map *to) {
  return neo_expr_rewrite(m, e, renamed, to);
}

neo_list neo_tensors_renamed(neo_module *m, neo_list tensors, const neo_map *to,
                             neo_arena *scratch) {
  uint32_t *ids = NEO_NEW_ARRAY(scratch, uint32_t, tensors.n + 1);
  for (uint32_t k = 0; k < tensors.n; k++) {
    uint64_t t = neo_list_at(m, tensors, k);
    neo_map_get(to, t, &t);
    ids[k] = (uint32_t)t;
  }
  return neo_list_new(m, ids, tensors.n);
}

static uint32_t out_of(neo_module *m, neo_tensor old, const char *prefix, neo_map *to) {
  uint64_t known;
  if (neo_map_get(to, old.i, &known))
    return (uint32_t)known;
  neo_tensor_rec r = *neo_tensor_at(m, old);
  r.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, r.name));
  r.pieces = (neo_list){0};
  neo_tensor t = neo_tensor_add(m, r);
  neo_map_set(to, old.i, t.i);
  return t.i;
}

neo_def neo_def_clone(neo_module *m, neo_def d, const char *prefix, neo_map *to) {
  neo_def_rec r = *neo_def_at(m, d);
  uint32_t outs[4], axes[NEO_DEF_AXES];
  assert(!neo_def_is_levels(&r) && "the order of a graph is made once");
  for (uint32_t k = 0; k < r.out.n; k++)
    outs[k] = out_of(m, neo_list_tensor(m, r.out, k), prefix, to);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_axis_rec a = *neo_def_axis(m, &r, k);
    axes[k] = neo_axis_add(m, a).i;
  }
  r.out = neo_list_new(m, outs, r.out.n);
  r.axes = neo_list_new(m, axes, r.axes.n);
  if (!r.origin)
    r.origin = d.i;
  neo_def copy = neo_def_add(m, r, true);
  neo_def_rename(m, copy, to);
  return copy;
}

void neo_defs_clone(neo_module *m, neo_def *defs, size_t n, const bool *marked, const char *prefix,
                    neo_map *to) {
  for (size_t k = 0; k < n; k++) {
    neo_list out = neo_def_at(m, defs[k])->out;
    for (uint32_t i = 0; i < out.n && (!marked || marked[k]); i++)
      (void)out_of(m, neo_list_tensor(m, out, i), prefix, to);
  }
  for (size_t k = 0; k < n; k++)
    if (!marked || marked[k])
      defs[k] = neo_def_clone(m, defs[k], prefix, to);
}

/* Whether d reads a tensor that is a key of `set`. */
static bool reads_any(neo_module *m, neo_def d, const neo_map *set, neo_arena *scratch) {
  neo_tensor *reads;
  size_t n = neo_def_reads(m, d, scratch, &reads);
  for (size_t k = 0; k < n; k++)
    if (neo_map_get(set, reads[k].i, NULL))
      return true;
  return false;
}

static bool defines_any(neo_module *m, neo_def d, const neo_map *set) {
  neo_list outs = neo_def_at(m, d)->out;
  for (uint32_t k = 0; k < outs.n; k++)
    if (neo_map_get(set, neo_list_at(m, outs, k), NULL))
      return true;
  return false;
}

/* The search is repeated until nothing changes: a later piece can draw in an earlier one, and with
 * it the other tensors that the earlier one defines. */
bool *neo_defs_affected(neo_module *m, const neo_def *defs, size_t n, const neo_map *set,
                        bool (*is_first)(neo_module *m, neo_def d), neo_arena *scratch) {
  bool *marked = NEO_NEW_ARRAY(scratch, bool, n + 1), again = true;
  neo_map made = neo_map_in(scratch);
  while (again) {
    again = false;
    for (size_t k = 0; k < n; k++) {
      if (marked[k])
        continue;
      marked[k] = (is_first && is_first(m, defs[k])) || reads_any(m, defs[k], set, scratch) ||
                  reads_any(m, defs[k], &made, scratch) || defines_any(m, defs[k], &made);
      neo_list outs = neo_def_at(m, defs[k])->out;
      for (uint32_t i = 0; marked[k] && i < outs.n; i++)
        neo_map_set(&made, neo_list_at(m, outs, i), 1);
      again = again || marked[k];
    }
  }
  return marked;
}
