/* The plan as a whole: fixed storage, then the entries. */
#include "codegen/plan/internal.h"

enum { MAX_ELEMENTS_LOG2 = 40 };

static void add_maps(neo_plan *p, const neo_kernel *k, neo_rt_kernel *rt) {
  neo_kernel_map map[NEO_KERNEL_MAPS];
  rt->first_map = (int32_t)p->maps.n;
  rt->n_maps = (int32_t)neo_kernel_maps(k, map);
  for (int32_t i = 0; i < rt->n_maps; i++) {
    const neo_box *b = map[i].box;
    neo_rt_map m = {
        .arg = (int32_t)map[i].buf, .type = k->bufs.at[map[i].buf].type, .rank = (uint8_t)b->rank};
    for (uint32_t d = 0; d < b->rank; d++) {
      m.extent[d] = neo_plan_units(p, b->extent[d]);
      m.box[d] = (int32_t)b->count[d];
      m.stride_bytes[d] = b->stride[d] * neo_type_bytes((neo_type)m.type);
    }
    NEO_PUSH(p->arena, &p->maps, m);
  }
}

static void add_kernels(neo_plan *p, const neo_plan_input *in) {
  for (size_t k = 0; k < in->n_kernels; k++) {
    NEO_PUSH(p->arena, &p->kernels, in->kernels[k]);
    const neo_kernel *kernel = in->kernels[k].kernel, *fast = in->kernels[k].fast;
    neo_rt_kernel rt = {.name = kernel->name, .units = neo_plan_units(p, kernel->units)};
    rt.scratch_bytes = neo_kernel_scratch_bytes(kernel);
    rt.persistent = (int32_t)kernel->persistent;
    add_maps(p, kernel, &rt);
    if (fast) {
      int64_t bytes = neo_kernel_scratch_bytes(fast);
      rt.needs = in->kernels[k].needs;
      rt.fast_units = neo_plan_units(p, fast->units);
      rt.scratch_bytes = bytes > rt.scratch_bytes ? bytes : rt.scratch_bytes;
    }
    if (rt.scratch_bytes > p->scratch_bytes)
      p->scratch_bytes = rt.scratch_bytes;
    NEO_PUSH(p->arena, &p->rt_kernels, rt);
  }
}

/* Sums of sizes must not overflow. */
static bool all_fit(plan_store *s) {
  neo_module *m = s->p->m;
  bool good = true;
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (plan_store_max_bytes(s, (neo_tensor){t}) > (int64_t)1 << (MAX_ELEMENTS_LOG2 + 3)) {
      neo_diag(m->diags, m->tensors.at[t].span, NEO_D_TENSOR_TOO_LARGE, MAX_ELEMENTS_LOG2);
      good = false;
    }
  return good;
}

/* A call keeps its sizes on the stack. */
static bool few_sizes(neo_module *m) {
  if (neo_size_numbers(m) <= NEO_RT_MOST_SIZES)
    return true;
  neo_diag(m->diags, m->sizes.at[m->sizes.n - 1].span, NEO_D_TOO_MANY, NEO_RT_MOST_SIZES,
           "run-time sizes, sizes made of them and indices of loops");
  return false;
}

static void add_entries(plan_store *store, const neo_plan_input *in) {
  neo_module *m = store->p->m;
  plan_entry_env env = {store, in, false};
  plan_store_fixed(store);
  add_kernels(store->p, in);
  for (size_t k = 0; k < m->entries.n; k++) {
    const neo_entry_rec *e = &m->entries.at[k];
    if (e->kind != NEO_ENTRY_INIT)
      plan_entry_add(&env, e);
  }
  for (size_t k = 0; in->gpu && k < store->p->entries.n; k++)
    plan_grid_add(&env, k);
  plan_entry_init(&env);
  plan_name_entries(store->p);
}

neo_status neo_plan_build(neo_module *m, neo_arena *a, const char *prefix, const char *source_hash,
                          const neo_plan_input *in, neo_plan **out) {
  neo_arena scratch = neo_arena_scratch(a);
  neo_plan *p = NEO_NEW(a, neo_plan);
  *out = p;
  p->m = m;
  p->arena = a;
  p->prefix = prefix;
  p->source_hash = source_hash;
  neo_map_init(&p->program_of, a);
  plan_store store = {.p = p, .prover = neo_prover_new(m), .scratch = &scratch};
  neo_map_init(&store.named, &scratch);
  neo_map_init(&store.buf_of, &scratch);
  neo_map_init(&store.parts, &scratch);
  neo_map_init(&store.cached, &scratch);
  neo_map_init(&store.cached_bufs, &scratch);
  bool good = few_sizes(m) && all_fit(&store);
  if (good)
    add_entries(&store, in);
  neo_prover_free(store.prover);
  neo_arena_free(&scratch);
  return good ? NEO_OK : NEO_INPUT;
}
