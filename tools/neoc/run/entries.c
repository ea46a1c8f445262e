/* The inputs and sizes that entries of a model need, found in the module. */
#include "tools/neoc/run/runner.h"

int64_t *neoc_runner_sizes(const neoc_runner *r) {
  neo_module *m = r->c.module;
  int64_t *s = NEO_NEW_ARRAY(r->cli->arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    s[k] = r->sizes[k] < 0 ? m->sizes.at[k].hi : r->sizes[k];
  return s;
}

const char *neoc_entry_name(const neoc_runner *r, int entry) {
  return neo_name_text(r->c.names, r->c.module->entries.at[entry].name);
}

const char *neoc_tensor_name(const neoc_runner *r, neo_tensor t) {
  return neo_name_text(r->c.names, neo_tensor_at(r->c.module, t)->name);
}

int neoc_entry_find(neoc_runner *r, const char *name) {
  const neo_module *m = r->c.module;
  neo_str known = neo_str_in(r->cli->arena);
  for (size_t k = 0; k < m->entries.n; k++) {
    const char *own = neoc_entry_name(r, (int)k);
    if (name ? neo_streq(own, name) : m->entries.at[k].kind == NEO_ENTRY_FORWARD)
      return (int)k;
    neo_str_addf(&known, "%s%s", known.n ? ", " : "", own);
  }
  if (name)
    neoc_fail(r->cli, NEOC_FAILED, "the model has no entry '%s' (it has: %s)", name,
              known.n ? neo_str_text(&known) : "none");
  else
    neoc_fail(r->cli, NEOC_FAILED, "the model has no `output` statement");
  return -1;
}

/* read[id]: the entry reads or returns the tensor. */
static bool *entry_reads(neoc_runner *r, int entry) {
  neo_module *m = r->c.module;
  neo_arena *a = r->cli->arena;
  bool *read = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  neo_tensors roots = {0};
  neo_tensor *reads;
  neo_def *defs;
  neo_entry_roots(m, a, &roots, &m->entries.at[entry]);
  size_t n_defs = neo_module_topo(m, roots.at, roots.n, a, &defs, NULL);
  for (size_t k = 0; k < roots.n; k++)
    read[roots.at[k].i] = true;
  for (size_t d = 0; d < n_defs; d++) {
    size_t n_reads = neo_def_reads(m, defs[d], a, &reads);
    for (size_t k = 0; k < n_reads; k++)
      read[reads[k].i] = true;
  }
  return read;
}

neoc_tensors neoc_entry_inputs(neoc_runner *r, int entry) {
  neo_module *m = r->c.module;
  bool *read = entry_reads(r, entry);
  neoc_tensors out = {NEO_NEW_ARRAY(r->cli->arena, neo_tensor, m->tensors.n), 0};
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (read[t] && m->tensors.at[t].role == NEO_ROLE_INPUT)
      out.at[out.n++].i = t;
  return out;
}

typedef struct {
  const neo_module *m;
  bool *used;
} size_uses;

static void use_size(void *ctx, neo_expr e) {
  size_uses *u = ctx;
  const neo_node *n = neo_expr_node(u->m, e);
  if (n->op == NEO_OP_SIZE)
    u->used[n->attr] = true;
}

bool *neoc_entry_sizes(neoc_runner *r, int entry) {
  neo_module *m = r->c.module;
  size_uses u = {m, NEO_NEW_ARRAY(r->cli->arena, bool, m->sizes.n + 1)};
  bool *read = entry_reads(r, entry);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    for (uint32_t d = 0; read[t] && d < neo_tensor_rank(m, (neo_tensor){t}); d++)
      neo_expr_visit(m, neo_tensor_extent(m, (neo_tensor){t}, d), use_size, &u);
  return u.used;
}

neoc_exit neoc_runner_failed(const neoc_runner *r, neo_rt_status s) {
  const char *why = r->ctx ? neo_rt_error(r->ctx) : "";
  return neoc_fail(r->cli, neoc_exit_of((neo_status)s), "%s", *why ? why : neo_rt_status_text(s));
}
