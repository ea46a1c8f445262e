/* One run of the frontend. */
#include "frontend/check/check.h"

static void check_defines(neo_fe *fe) {
  for (int k = 0; fe->options && k < fe->options->n_defines; k++)
    if (!fe->define_used[k])
      neo_diag(fe->diags, 0, NEO_D_DEFINE_UNKNOWN, fe->options->defines[k].name);
}

neo_module *neo_frontend(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                         const char *text, size_t n, const neo_frontend_options *options) {
  size_t before = neo_diags_errors(d);
  neo_fe *fe = NEO_NEW(a, neo_fe);
  fe->arena = a;
  fe->names = names;
  fe->diags = d;
  fe->options = options;
  fe->limit = options && options->limit ? options->limit : NEO_FRONTEND_LIMIT;
  fe->m = neo_module_new(a, names, d, neo_path_stem(a, path));
  neo_proofs_limit(fe->m, options ? options->proof_quota : 0);
  fe->prover = neo_prover_new(fe->m);
  neo_map_init(&fe->taken, a);
  neo_map_init(&fe->written, a);
  neo_map_init(&fe->owned, a);
  neo_map_init(&fe->declared, a);
  neo_map_init(&fe->regions, a);
  if (options && options->n_defines)
    fe->define_used = NEO_NEW_ARRAY(a, bool, options->n_defines);
  const neo_scope *scope = neo_module_read(fe, path, text, n, NULL, true);
  if (neo_diags_errors(d) == before) {
    neo_check_sizes_used(fe);
    check_defines(fe);
    neo_check_unused(fe, scope);
  }
  neo_prover_free(fe->prover);
  return neo_diags_errors(d) == before ? fe->m : NULL;
}
