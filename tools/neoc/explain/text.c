/* Shared by the parts of `neoc explain`: members of JSON objects, sizes of tensors, the source of a
 * schedule. */
#include "tools/neoc/explain/explain.h"

void neoc_explain_member(neo_str *out, const char *name) {
  neo_str_addf(out, "%s\"%s\": ", out->n ? ", " : "", name);
}

int64_t neoc_tensor_bytes(const neo_module *m, neo_arena *a, neo_tensor t) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    sizes[k] = m->sizes.at[k].hi;
  return neo_tensor_elements_at(m, t, sizes, NULL) * neo_type_bytes(neo_tensor_type(m, t));
}

static const char *origin(const neo_compilation *c, neo_arena *a, const neo_record *r) {
  const neo_records_file *f = r ? neo_records_file_of(&c->records, r) : NULL;
  if (!r)
    return "by the analytic model";
  return neo_arena_printf(a, "by a record of %s: %.3f of the default's time, %lld trials",
                          f ? f->path : "this run", neo_record_ratio(r), (long long)r->trials);
}

const char *neoc_segment_origin(const neo_compilation *c, neo_arena *a, const neo_segment *s) {
  return origin(c, a, s->from);
}

const char *neoc_schedule_origin(const neo_compilation *c, neo_arena *a, size_t group) {
  if (c->grouping.groups.at[group].recurrence)
    return "of the recurrence's loops";
  if (c->grouping.groups.at[group].levels.i)
    return "of the order of a graph";
  if (c->grouping.groups.at[group].in_parts)
    return "no kernel";
  return origin(c, a, c->schedule_from.at[group]);
}
