/* See machine.h. */
#include "base/hash.h"
#include "tests/gpu/emulator.h"
#include "tests/pairs/compose.h"
#include "tools/pipeline/emit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The order of threads and blocks, how many blocks are there at a time, and whether kernels are a
 * graph. */
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

/* The arguments of an entry; results go to memory of their own. */
static void **arguments(neo_compilation *c, const neo_rt_model *model, const neo_rt_entry *e,
                        const pairs_reference *r, const pairs_result *results) {
  void **args = NEO_NEW_ARRAY(&c->arena, void *, (size_t)e->n_args + 1);
  for (int32_t k = 0; k < e->n_args; k++)
    args[k] = k < e->n_inputs
                  ? pairs_input_bytes(
                        &c->arena,
                        pairs_input_named(r, model->tensors[model->entry_args[e->args + k]].name))
                  : NEO_NEW_ARRAY(&c->arena, double, results[k - e->n_inputs].n + 1);
  return args;
}

static bool run_entry(neo_compilation *c, neo_rt_ctx *ctx, const neo_rt_model *model,
                      const pairs_reference *r, size_t *at, const int64_t *sizes_at, pairs_run *out,
                      neo_arena *a) {
  int32_t found = neo_rt_find_entry(model, r->results.at[*at].entry);
  const neo_rt_entry *e = &model->entries[found];
  int64_t sizes[64];
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = sizes_at[model->entry_sizes[e->sizes + k] + 1];
  void **args = arguments(c, model, e, r, &r->results.at[*at]);
  if (neo_rt_call(ctx, found, sizes, args)) {
    failed(a, out, neo_rt_error(ctx));
    return false;
  }
  for (int32_t k = e->n_inputs; k < e->n_args; k++)
    if (!pairs_same(&r->results.at[(*at)++], args[k], out, a))
      return false;
  return true;
}

/* Parameters and states after an entry. */
static bool same_kept(neo_compilation *c, neo_rt_ctx *ctx, const neo_rt_model *model,
                      const pairs_reference *r, size_t *at, pairs_run *out, neo_arena *a) {
  for (; *at < r->results.n && r->results.at[*at].kept; ++*at) {
    const pairs_result *want = &r->results.at[*at];
    int32_t k = neo_rt_find(model, want->name);
    size_t bytes = (size_t)want->n * neo_type_bytes(want->type);
    char *got = NEO_NEW_ARRAY(&c->arena, char, bytes + 1);
    if (k < 0) /* nothing needs it */
      continue;
    if (neo_rt_get(ctx, k, got, bytes)) {
      failed(a, out, neo_rt_error(ctx));
      return false;
    }
    if (!pairs_same(want, got, out, a))
      return false;
  }
  return true;
}

static void run_machine(pairs_compilation *x, const pairs_reference *r, bool compose,
                        pairs_run *out, neo_arena *a) {
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
  while (good && at < r->results.n)
    good = run_entry(c, ctx, &model, r, &at, sizes, out, a) &&
           same_kept(c, ctx, &model, r, &at, out, a);
  neo_rt_destroy(ctx);
  if (good && compose)
    pairs_compose(x, &model, r, out, a);
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
    run_machine(&x, r, how->compose, &out, a);
  }
  pairs_close(&x);
  return out;
}
