/* See machine.h. */
#include "base/hash.h"
#include "tests/gpu/emulator.h"
#include "tests/pairs/compilation.h"
#include "tools/pipeline/emit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2 };

/* ---- the reference */

static pairs_result result_of(pairs_compilation *x, neo_arena *a, neo_tensor t, uint32_t name,
                              const neo_values *v, const double *error) {
  pairs_result r = {.name = neo_arena_strdup(a, neo_name_text(x->c.names, name)),
                    .type = (neo_type)neo_tensor_at(x->c.module, t)->type,
                    .rank = v->rank,
                    .n = v->n};
  size_t n = (size_t)v->n;
  memcpy(r.extent, v->extent, sizeof r.extent);
  r.at = neo_arena_copy(a, v->at, (n + 1) * sizeof *v->at);
  r.error = error ? neo_arena_copy(a, error, (n + 1) * sizeof *error) : NULL;
  return r;
}

static void fill(pairs_compilation *x, neo_interp *p, neo_tensor t, const int64_t *sizes,
                 uint64_t seed) {
  const neo_tensor_rec *r = neo_tensor_at(x->c.module, t);
  neo_values *v = neo_interp_tensor(p, t);
  const char *name = neo_name_text(x->c.names, r->name);
  int64_t bound = r->bound.i ? neo_size_value(x->c.module, r->bound, sizes) : 0, least, below;
  neo_ends_at ends = neo_tensor_ends_at(x->c.module, t, sizes);
  for (int64_t k = 0; k < v->n && ends.given; k++) {
    neo_ends_of_element(&ends, k, &least, &below);
    v->at[k] = pairs_element(seed, name, (neo_type)r->type, below - least, (uint64_t)k);
    v->at[k].i += least;
  }
  for (int64_t k = 0; k < v->n && !ends.given; k++)
    v->at[k] = pairs_element(seed, name, (neo_type)r->type, bound, (uint64_t)k);
}

static void run_reference(pairs_compilation *x, neo_arena *a, pairs_reference *r) {
  neo_module *m = x->c.module;
  int64_t *sizes = pairs_sizes(x, r->program);
  neo_str why;
  neo_str_init(&why, a);
  neo_interp *p = neo_interp_new(&x->c.arena, m, sizes, r->program->seed);
  neo_interp_track_errors(p, true);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (m->tensors.at[t].role == NEO_ROLE_INPUT) {
      fill(x, p, (neo_tensor){t}, sizes, r->program->seed);
      NEO_PUSH(a, &r->inputs,
               result_of(x, a, (neo_tensor){t}, m->tensors.at[t].name,
                         neo_interp_tensor(p, (neo_tensor){t}), NULL));
    }
  uint32_t entry = pairs_entry(m);
  const neo_entry_rec e = m->entries.at[entry];
  r->rounds = e.updates.n ? ROUNDS : 1;
  for (int round = 0; round < r->rounds; round++) {
    size_t first = r->results.n;
    /* What a state was before is what an output of it says. */
    for (uint32_t k = 0; k < e.outputs.n; k++) {
      neo_tensor t = {neo_list_at(m, e.outputs, k)};
      pairs_result before = {.name = NULL};
      if (pairs_is_kept(m, t.i))
        before = result_of(x, a, t, neo_list_at(m, e.names, k), neo_interp_tensor(p, t),
                           neo_interp_errors(p, t));
      NEO_PUSH(a, &r->results, before);
    }
    if (neo_interp_run(p, entry, &why)) {
      r->verdict = PAIRS_FAILED;
      r->why = neo_str_text(&why);
      return;
    }
    for (uint32_t k = 0; k < e.outputs.n; k++) {
      neo_tensor t = {neo_list_at(m, e.outputs, k)};
      if (!r->results.at[first + k].name)
        r->results.at[first + k] = result_of(x, a, t, neo_list_at(m, e.names, k),
                                             neo_interp_output(p, k), neo_interp_errors(p, t));
    }
    for (uint32_t t = 1; t < m->tensors.n; t++)
      if (pairs_is_kept(m, t))
        NEO_PUSH(a, &r->results,
                 result_of(x, a, (neo_tensor){t}, m->tensors.at[t].name,
                           neo_interp_tensor(p, (neo_tensor){t}),
                           neo_interp_errors(p, (neo_tensor){t})));
  }
}

pairs_reference pairs_evaluate(neo_arena *a, const pairs_program *p, const pairs_how *how) {
  pairs_reference r = {.program = p};
  pairs_compilation x;
  neo_str text;
  neo_str_init(&text, a);
  pairs_text(p, &text);
  r.text = neo_str_text(&text);
  pairs_how plain = {.math = how->math, .store = how->store};
  if (!pairs_open(&x, p, r.text, &plain, true)) {
    r.verdict = PAIRS_FAILED;
    r.why = "no memory file";
    return r;
  }
  if (neo_compile_front(&x.c)) {
    r.verdict = PAIRS_REJECTED;
    r.why = pairs_reason(&x, a, "frontend");
  } else if (neo_compile_passes(&x.c)) {
    r.verdict = x.c.diags && neo_diags_errors(x.c.diags) ? PAIRS_REJECTED : PAIRS_FAILED;
    r.why = pairs_reason(&x, a, "passes of the reference");
  } else {
    run_reference(&x, a, &r);
  }
  pairs_close(&x);
  return r;
}

/* ---- machine code */

static neo_status link_kernels(neo_compilation *c, neo_rt_kernel *to) {
  neo_status s =
      neo_llvm_new(&c->arena, c->target.sm ? &c->target : &c->host, "t", &c->llvm, &c->why);
  for (size_t k = 0; !s && k < c->kernels.n; k++)
    s = neo_emit_kernel(c->llvm, &c->kernels.at[k], &c->why);
  for (size_t k = 0; !s && k < c->plan->grids.n; k++) {
    const neo_plan_grid *g = &c->plan->grids.at[k];
    s = neo_llvm_grid(c->llvm, neo_plan_grid_parts(c->plan, g, &c->arena), (size_t)g->rt.n_steps,
                      g->rt.block, g->symbol, &c->why);
  }
  if (!s)
    s = neo_llvm_finish(c->llvm, &c->why);
  for (size_t k = 0; !s && k < c->kernels.n; k++) {
    const neo_plan_kernel *from = &c->kernels.at[k];
    void *address = neo_llvm_jit(c->llvm, from->symbol, &c->why), *fast = NULL;
    if (address && from->fast)
      fast = neo_llvm_jit(c->llvm, from->fast_symbol, &c->why);
    if (!address || (from->fast && !fast))
      return NEO_INTERNAL;
    memcpy(&to[k].fn, &address, sizeof address);
    memcpy(&to[k].fast, &fast, sizeof fast);
    to[k].needs = from->fast ? from->needs : NULL;
  }
  return s;
}

/* The kernels as an image of the emulated device. */
static neo_status put_image(neo_compilation *c, neo_rt_model *model, const neo_rt_kernel *kernels) {
  size_t n = c->kernels.n, n_grids = c->plan->grids.n;
  neo_emulator_kernel *at = NEO_NEW_ARRAY(&c->arena, neo_emulator_kernel, n + n_grids + 1);
  neo_emulator_code *code = NEO_NEW(&c->arena, neo_emulator_code);
  neo_rt_image *image = NEO_NEW(&c->arena, neo_rt_image);
  for (size_t k = 0; k < n; k++) {
    at[k].symbol = kernels[k].device_symbol;
    memcpy(&at[k].address, &kernels[k].fn, sizeof at[k].address);
  }
  for (size_t k = 0; k < n_grids; k++) {
    at[n + k].symbol = c->plan->grids.at[k].symbol;
    at[n + k].address = neo_llvm_jit(c->llvm, at[n + k].symbol, &c->why);
    if (!at[n + k].address)
      return NEO_INTERNAL;
  }
  *code = (neo_emulator_code){NEO_EMULATOR_MAGIC, (int)(n + n_grids), at};
  *image = (neo_rt_image){NEO_RT_IMAGE_CUBIN, code, sizeof *code};
  model->images = image;
  model->n_images = 1;
  return NEO_OK;
}

static bool use_emulator(void) {
  return dlopen(NEO_TEST_EMULATOR, RTLD_NOW | RTLD_GLOBAL) &&
         setenv("NEO_CUDA_DRIVER", NEO_TEST_EMULATOR, 1) == 0;
}

/* Launches of persistent kernels so far, by themselves or as nodes of graphs. */
static uint32_t grid_launches(void) {
  const neo_emulator_counts *(*count)(void) = NULL;
  void *driver = dlopen(NEO_TEST_EMULATOR, RTLD_NOW | RTLD_GLOBAL);
  if (driver)
    *(void **)&count = dlsym(driver, "neo_emulator_count");
  return count ? count()->resident + count()->cooperative : 0;
}

/* The order of threads and blocks, how many blocks are there at a time, and whether kernels are a graph. */
static void vary_device(uint64_t seed) {
  char text[32];
  uint64_t h = neo_hash_mix(seed, 0xde7);
  snprintf(text, sizeof text, "%d", (int)(h % 4));
  setenv("NEO_EMULATOR_SEED", text, 1);
  snprintf(text, sizeof text, "%d", 1 + (int)(h / 4 % 4));
  setenv("NEO_EMULATOR_PROCESSORS", text, 1);
  setenv("NEO_CUDA_GRAPHS", h / 16 % 2 ? "2" : "1", 1);
}

static neo_status make_model(neo_compilation *c, neo_rt_model *model) {
  neo_rt_kernel *k = NEO_NEW_ARRAY(&c->arena, neo_rt_kernel, c->kernels.n + 1);
  *model = neo_compile_model(c);
  memcpy(k, model->kernels, c->kernels.n * sizeof *k);
  model->kernels = k;
  if (c->target.sm && !use_emulator()) {
    c->why = "no emulator";
    return NEO_IO;
  }
  neo_status s = link_kernels(c, k);
  return s || !c->target.sm ? s : put_image(c, model, k);
}

static const char *failed(neo_arena *a, pairs_run *out, const char *why) {
  out->verdict = PAIRS_FAILED;
  out->why = neo_arena_strdup(a, why);
  return out->why;
}

static bool run_round(neo_compilation *c, neo_rt_ctx *ctx, const neo_rt_model *model,
                      const pairs_reference *r, size_t *at, const int64_t *sizes_at, pairs_run *out,
                      neo_arena *a) {
  int32_t number = (int32_t)pairs_entry(c->module),
          found =
              neo_rt_find_entry(model, neo_name_text(c->names, c->module->entries.at[number].name));
  const neo_rt_entry *e = &model->entries[found];
  void **args = NEO_NEW_ARRAY(&c->arena, void *, (size_t)e->n_args + 1);
  int64_t sizes[64];
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = sizes_at[model->entry_sizes[e->sizes + k] + 1];
  for (int32_t k = 0; k < e->n_args; k++)
    if (k < e->n_inputs)
      args[k] = pairs_input_bytes(
          &c->arena, pairs_input_named(r, model->tensors[model->entry_args[e->args + k]].name));
    else
      args[k] =
          NEO_NEW_ARRAY(&c->arena, double, r->results.at[*at + (size_t)(k - e->n_inputs)].n + 1);
  if (neo_rt_call(ctx, found, sizes, args)) {
    failed(a, out, neo_rt_error(ctx));
    return false;
  }
  for (int32_t k = e->n_inputs; k < e->n_args; k++)
    if (!pairs_same(&r->results.at[(*at)++], args[k], out, a))
      return false;
  return true;
}

static bool same_kept(neo_compilation *c, neo_rt_ctx *ctx, const neo_rt_model *model,
                      const pairs_reference *r, size_t *at, pairs_run *out, neo_arena *a) {
  for (uint32_t t = 1; t < c->module->tensors.n; t++) {
    if (!pairs_is_kept(c->module, t) || *at >= r->results.n)
      continue;
    const pairs_result *want = &r->results.at[*at];
    int32_t k = neo_rt_find(model, want->name);
    size_t bytes = (size_t)want->n * neo_type_bytes(want->type);
    char *got = NEO_NEW_ARRAY(&c->arena, char, bytes + 1);
    if (strcmp(neo_name_text(c->names, c->module->tensors.at[t].name), want->name) != 0)
      continue;
    ++*at;
    if (neo_rt_get(ctx, k, got, bytes)) {
      failed(a, out, neo_rt_error(ctx));
      return false;
    }
    if (!pairs_same(want, got, out, a))
      return false;
  }
  return true;
}

static void run_machine(pairs_compilation *x, const pairs_reference *r, pairs_run *out,
                        neo_arena *a) {
  neo_compilation *c = &x->c;
  neo_rt_model model;
  neo_rt_ctx *ctx = NULL;
  neo_rt_config config = {.struct_size = sizeof config,
                          .threads = c->options.loops == NEO_LOOPS_EVERY ? 2 : 1,
                          .seed = r->program->seed};
  if (make_model(c, &model)) {
    failed(a, out, c->why);
    return;
  }
  uint32_t before = 0;
  if (c->target.sm) {
    vary_device(r->program->seed);
    before = grid_launches();
  }
  if (neo_rt_create(&model, &config, &ctx)) {
    failed(a, out, ctx ? neo_rt_error(ctx) : "no context");
    return;
  }
  int64_t *sizes = pairs_sizes(x, r->program);
  size_t at = 0;
  bool good = true;
  for (int round = 0; good && round < r->rounds; round++)
    good = run_round(c, ctx, &model, r, &at, sizes, out, a) &&
           same_kept(c, ctx, &model, r, &at, out, a);
  neo_rt_destroy(ctx);
  if (c->target.sm)
    out->grid_launches = grid_launches() - before;
}

pairs_run pairs_compile_and_run(neo_arena *a, const pairs_reference *r, const pairs_how *how) {
  pairs_run out = {.verdict = r->verdict, .why = r->why};
  pairs_compilation x;
  if (r->verdict)
    return out;
  if (!pairs_open(&x, r->program, r->text, how, false)) {
    failed(a, &out, "no memory file");
    return out;
  }
  neo_status s = neo_compile_plan(&x.c);
  if (s)
    failed(a, &out, pairs_reason(&x, a, "compiling"));
  else {
    pairs_observe(&x.c, r->program, a, &out);
    for (size_t k = 0; k < x.segments.n; k++)
      NEO_PUSH(a, &out.kernels, x.segments.at[k]);
    run_machine(&x, r, &out, a);
  }
  pairs_close(&x);
  return out;
}
