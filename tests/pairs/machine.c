/* See machine.h. */
#define _GNU_SOURCE /* memfd_create */
#include "tests/pairs/machine.h"
#include "tests/gpu/emulator.h"
#include "tests/random/gen.h"
#include "tools/pipeline/compile.h"
#include "tools/pipeline/emit.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TRIES = 20, ROUNDS = 2 };

/* ---- a compilation of a text */

typedef struct {
  neo_compilation c;
  int file;
  char path[40];
  uint64_t draw;
} compilation;

/* A thread of a GPU has no scratch: of the schedules those that ask for none, or have a block. */
static bool fits(neo_compilation *c, const neo_group *g, const neo_schedule *s) {
  neo_kernel *k;
  const char *why;
  return !neo_compile_lower(c, g, s, &k, &why) && !neo_kernel_has_tiles(k) &&
         (neo_kernel_scratch_bytes(k) == 0 || neo_kernel_threads(k));
}

static neo_schedule any_schedule(void *ctx, neo_compilation *c, const neo_group *g) {
  for (int i = 0; i < TRIES; i++) {
    neo_schedule s = neo_schedule_random(c->module, g, &c->machine, ctx);
    if (!c->machine.gpu || fits(c, g, &s))
      return s;
  }
  return neo_schedule_default(c->module, g, &c->machine);
}

static const char *const not_required[] = {
    "simplify", "parallel", "filter", "simplify-gradients", "factor",  "cse",    "fold",
    "phases",   "windows",  "split",  "activations",        "columns", "layout", NULL};

static bool open_text(compilation *x, const char *text, const pairs_how *how, bool reference) {
  size_t n = strlen(text);
  x->file = memfd_create("pairs", 0);
  if (x->file < 0 || write(x->file, text, n) != (ssize_t)n)
    return false;
  snprintf(x->path, sizeof x->path, "/proc/self/fd/%d", x->file);
  neo_compile_options o = {.path = x->path,
                           .prefix = "t",
                           .target = how->target,
                           .mcpu = how->mcpu,
                           .math = how->math,
                           .store = how->store,
                           .fusion = {.off = how->off},
                           .every_grid = how->every_grid,
                           .passes = {.verify = true, .skip = reference ? not_required : NULL},
                           .schedule = how->schedules ? any_schedule : NULL,
                           .schedule_ctx = &x->draw};
  x->draw = how->schedules;
  neo_compilation_init(&x->c, &o);
  return true;
}

static void close_text(compilation *x) {
  neo_compilation_free(&x->c);
  close(x->file);
}

/* In the arena, for it outlives the compilation. */
static const char *reason(compilation *x, neo_arena *a, const char *what) {
  neo_str s;
  neo_str_init(&s, a);
  neo_str_addf(&s, "%s: %s\n", what, x->c.why ? x->c.why : "");
  if (x->c.diags)
    neo_diags_print(x->c.diags, &s, false);
  return neo_str_text(&s);
}

/* ---- the reference */

static int64_t *sizes_of(compilation *x, const pairs_program *p) {
  neo_module *m = x->c.module;
  int64_t *sizes = NEO_NEW_ARRAY(&x->c.arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *s = &m->sizes.at[k];
    sizes[k] = s->kind == NEO_SIZE_DERIVED
                   ? neo_size_value(m, s->value, sizes)
                   : pairs_size_now(p, neo_name_text(m->names, s->name), s->hi);
  }
  return sizes;
}

static pairs_result result_of(compilation *x, neo_arena *a, neo_tensor t, uint32_t name,
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

static void fill(compilation *x, neo_interp *p, neo_tensor t, const int64_t *sizes, uint64_t seed) {
  const neo_tensor_rec *r = neo_tensor_at(x->c.module, t);
  neo_values *v = neo_interp_tensor(p, t);
  const char *name = neo_name_text(x->c.names, r->name);
  int64_t bound = r->bound.i ? neo_size_value(x->c.module, r->bound, sizes) : 0;
  for (int64_t k = 0; k < v->n; k++)
    v->at[k] = pairs_element(seed, name, (neo_type)r->type, bound, (uint64_t)k);
}

static bool is_kept(const neo_module *m, uint32_t t) {
  neo_role role = (neo_role)m->tensors.at[t].role;
  return role == NEO_ROLE_PARAM || role == NEO_ROLE_STATE;
}

/* The entry of outputs. */
static uint32_t entry_of(const neo_module *m) {
  uint32_t k = 0;
  while (m->entries.at[k].kind != NEO_ENTRY_FORWARD)
    k++;
  return k;
}

static void run_reference(compilation *x, neo_arena *a, pairs_reference *r) {
  neo_module *m = x->c.module;
  int64_t *sizes = sizes_of(x, r->program);
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
  uint32_t entry = entry_of(m);
  const neo_entry_rec e = m->entries.at[entry];
  r->rounds = e.updates.n ? ROUNDS : 1;
  for (int round = 0; round < r->rounds; round++) {
    size_t first = r->results.n;
    /* What a state was before is what an output of it says. */
    for (uint32_t k = 0; k < e.outputs.n; k++) {
      neo_tensor t = {neo_list_at(m, e.outputs, k)};
      pairs_result before = {.name = NULL};
      if (is_kept(m, t.i))
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
      if (is_kept(m, t))
        NEO_PUSH(a, &r->results,
                 result_of(x, a, (neo_tensor){t}, m->tensors.at[t].name,
                           neo_interp_tensor(p, (neo_tensor){t}),
                           neo_interp_errors(p, (neo_tensor){t})));
  }
}

pairs_reference pairs_evaluate(neo_arena *a, const pairs_program *p, const pairs_how *how) {
  pairs_reference r = {.program = p};
  compilation x;
  neo_str text;
  neo_str_init(&text, a);
  pairs_text(p, &text);
  r.text = neo_str_text(&text);
  pairs_how plain = {.math = how->math, .store = how->store};
  if (!open_text(&x, r.text, &plain, true)) {
    r.verdict = PAIRS_FAILED;
    r.why = "no memory file";
    return r;
  }
  if (neo_compile_front(&x.c)) {
    r.verdict = PAIRS_REJECTED;
    r.why = reason(&x, a, "frontend");
  } else if (neo_compile_passes(&x.c)) {
    r.verdict = x.c.diags && neo_diags_errors(x.c.diags) ? PAIRS_REJECTED : PAIRS_FAILED;
    r.why = reason(&x, a, "passes of the reference");
  } else {
    run_reference(&x, a, &r);
  }
  close_text(&x);
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

/* ---- comparing */

/* What passes do to sums is reassociation and more: products are taken out, neighbours of a window
 * share differences. A few roundings more than the interpreter's bound counts; where it is 0, all
 * is exact, and stays so. */
enum { SLACK = 4 };

static bool same(const pairs_result *want, const void *got, pairs_run *out, neo_arena *a) {
  for (int64_t k = 0; k < want->n; k++) {
    neo_value y =
        neo_value_read(want->type, (const char *)got + (size_t)k * neo_type_bytes(want->type));
    double e = want->error ? SLACK * want->error[k] : 0;
    out->compared++;
    out->promised += e < (double)1e300;
    if (neo_gen_same(want->type, want->at[k], e, y))
      continue;
    bool f = neo_type_is_float(want->type);
    out->verdict = PAIRS_DIFFERS;
    out->why =
        neo_arena_printf(a, "%s[%lld] is %.9g, not %.9g within %.3g", want->name, (long long)k,
                         f ? y.f : (double)y.i, f ? want->at[k].f : (double)want->at[k].i, e);
    return false;
  }
  return true;
}

static const pairs_result *input_named(const pairs_reference *r, const char *name) {
  for (size_t k = 0; k < r->inputs.n; k++)
    if (strcmp(r->inputs.at[k].name, name) == 0)
      return &r->inputs.at[k];
  return NULL;
}

static void *input_bytes(neo_arena *a, const pairs_result *x) {
  size_t size = neo_type_bytes(x->type);
  char *p = NEO_NEW_ARRAY(a, char, (size_t)(x->n + 1) * size);
  for (int64_t k = 0; k < x->n; k++)
    neo_value_write(x->type, x->at[k], p + (size_t)k * size);
  return p;
}

static const char *failed(neo_arena *a, pairs_run *out, const char *why) {
  out->verdict = PAIRS_FAILED;
  out->why = neo_arena_strdup(a, why);
  return out->why;
}

static bool run_round(neo_compilation *c, neo_rt_ctx *ctx, const neo_rt_model *model,
                      const pairs_reference *r, size_t *at, const int64_t *sizes_at, pairs_run *out,
                      neo_arena *a) {
  int32_t number = (int32_t)entry_of(c->module),
          found =
              neo_rt_find_entry(model, neo_name_text(c->names, c->module->entries.at[number].name));
  const neo_rt_entry *e = &model->entries[found];
  void **args = NEO_NEW_ARRAY(&c->arena, void *, (size_t)e->n_args + 1);
  int64_t sizes[64];
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = sizes_at[model->entry_sizes[e->sizes + k] + 1];
  for (int32_t k = 0; k < e->n_args; k++)
    if (k < e->n_inputs)
      args[k] = input_bytes(&c->arena,
                            input_named(r, model->tensors[model->entry_args[e->args + k]].name));
    else
      args[k] =
          NEO_NEW_ARRAY(&c->arena, double, r->results.at[*at + (size_t)(k - e->n_inputs)].n + 1);
  if (neo_rt_call(ctx, found, sizes, args)) {
    failed(a, out, neo_rt_error(ctx));
    return false;
  }
  for (int32_t k = e->n_inputs; k < e->n_args; k++)
    if (!same(&r->results.at[(*at)++], args[k], out, a))
      return false;
  return true;
}

static bool same_kept(neo_compilation *c, neo_rt_ctx *ctx, const neo_rt_model *model,
                      const pairs_reference *r, size_t *at, pairs_run *out, neo_arena *a) {
  for (uint32_t t = 1; t < c->module->tensors.n; t++) {
    if (!is_kept(c->module, t) || *at >= r->results.n)
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
    if (!same(want, got, out, a))
      return false;
  }
  return true;
}

static void run_machine(compilation *x, const pairs_reference *r, pairs_run *out, neo_arena *a) {
  neo_compilation *c = &x->c;
  neo_rt_model model;
  neo_rt_ctx *ctx = NULL;
  neo_rt_config config = {.struct_size = sizeof config, .threads = 1, .seed = r->program->seed};
  if (make_model(c, &model)) {
    failed(a, out, c->why);
    return;
  }
  if (neo_rt_create(&model, &config, &ctx)) {
    failed(a, out, ctx ? neo_rt_error(ctx) : "no context");
    return;
  }
  int64_t *sizes = sizes_of(x, r->program);
  size_t at = 0;
  bool good = true;
  for (int round = 0; good && round < r->rounds; round++)
    good = run_round(c, ctx, &model, r, &at, sizes, out, a) &&
           same_kept(c, ctx, &model, r, &at, out, a);
  neo_rt_destroy(ctx);
}

pairs_run pairs_compile_and_run(neo_arena *a, const pairs_reference *r, const pairs_how *how) {
  pairs_run out = {.verdict = r->verdict, .why = r->why};
  compilation x;
  if (r->verdict)
    return out;
  if (!open_text(&x, r->text, how, false)) {
    failed(a, &out, "no memory file");
    return out;
  }
  neo_status s = neo_compile_plan(&x.c);
  if (s)
    failed(a, &out, reason(&x, a, "compiling"));
  else {
    pairs_observe(&x.c, r->program, a, &out);
    run_machine(&x, r, &out, a);
  }
  close_text(&x);
  return out;
}
