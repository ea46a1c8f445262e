#define _GNU_SOURCE /* memfd_create */
#include "tests/pipeline/plan_world.h"
#include "base/random.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "tests/effort.h"
#include "tests/gpu/emulator.h"
#include "tests/random/gen.h"
#include "tests/random/large.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- kernels in the interpreter of loop IR: a runtime's function has no room for a context */

enum { MAX_KERNELS = 8 * 8 * 8 };
static plan_world *running;

typedef struct {
  neo_value **buf, **was; /* elements, and what they were before the kernel ran */
  int64_t *n;
} kernel_memory;

/* The least number of elements that argument b of the kernel has in a recurrence. */
static int64_t elements_in(const neo_plan_tree *tree, uint32_t number, size_t b, int64_t least) {
  const neo_compilation *c = &running->c;
  for (size_t k = 0; k < tree->marks.n; k++) {
    const neo_plan_mark *x = &tree->marks.at[k];
    int64_t n = least;
    if (x->kernel == number)
      n = neo_tensor_elements_at(c->module, x->tensors.at[b], running->sizes, NULL);
    least = n < least ? n : least;
  }
  return least;
}

/* Elements of argument b that every group with this kernel has. */
static int64_t elements_of(size_t number, size_t b) {
  const neo_compilation *c = &running->c;
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < c->tree_of_group.n; i++)
    least = elements_in(&c->tree_of_group.at[i], (uint32_t)number, b, least);
  for (size_t i = 0; i < c->grouping.groups.n; i++) {
    const neo_group *g = &c->grouping.groups.at[i];
    if (c->kernel_of_group.at[i] != number || !neo_group_has_form(g))
      continue;
    neo_tensor t = b < g->reads.n ? g->reads.at[b] : g->roots.at[b - g->reads.n];
    int64_t n = neo_tensor_elements_at(c->module, t, running->sizes, NULL);
    n -= neo_form_base(neo_group_form(c->module, g), t);
    least = n < least ? n : least;
  }
  return least < 0 ? 0 : least;
}

/* Buffers in one place are one: an update over the old version. */
static kernel_memory take_memory(neo_arena *a, size_t number, const neo_rt_args *args) {
  const neo_kernel *k = running->c.kernels.at[number].kernel;
  kernel_memory y = {NEO_NEW_ARRAY(a, neo_value *, k->bufs.n + 1),
                     NEO_NEW_ARRAY(a, neo_value *, k->bufs.n + 1),
                     NEO_NEW_ARRAY(a, int64_t, k->bufs.n + 1)};
  for (size_t b = 0; b < k->bufs.n; b++) {
    const neo_kbuf *buf = &k->bufs.at[b];
    neo_type t = (neo_type)buf->type;
    bool scratch = buf->use & NEO_BUF_SCRATCH;
    y.n[b] = scratch ? buf->scratch_elems : elements_of(number, b);
    for (size_t j = 0; j < b && !scratch; j++)
      if (args->buf[j] == args->buf[b] && y.n[b] == y.n[j])
        y.buf[b] = y.buf[j], y.was[b] = y.was[j];
    if (y.buf[b])
      continue;
    y.buf[b] = NEO_NEW_ARRAY(a, neo_value, y.n[b] + 1);
    for (int64_t i = 0; i < y.n[b] && !scratch; i++)
      y.buf[b][i] = neo_value_read(t, (char *)args->buf[b] + (size_t)i * neo_type_bytes(t));
    if (!scratch)
      y.was[b] = neo_arena_copy(a, y.buf[b], ((size_t)y.n[b] + 1) * sizeof *y.was[b]);
  }
  return y;
}

typedef struct {
  int64_t *writes, *reads;
} kernel_count;

static neo_memory_state count_read(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds) {
  const kernel_count *n = ctx;
  (void)buf, (void)at, (void)unit, (void)adds;
  *n->reads += 1;
  return NEO_MEMORY_HELD;
}

static bool count_write(void *ctx, uint32_t buf, int64_t at, int64_t unit, bool adds) {
  const kernel_count *n = ctx;
  (void)buf, (void)at, (void)unit, (void)adds;
  *n->writes += 1;
  return true;
}

static int32_t run_kernel(size_t number, const neo_rt_args *args) {
  const neo_kernel *k = running->c.kernels.at[number].kernel;
  neo_arena a;
  neo_str why;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&why, &a);
  kernel_memory mem = take_memory(&a, number, args);
  neo_kernel_run run = {.bufs = mem.buf, .n_elems = mem.n, .sizes = args->size};
  memcpy(run.key, args->key, sizeof run.key);
  run.lo = args->lo;
  run.hi = args->hi;
  int64_t unwanted = 0;
  kernel_count n = {running->writes ? &running->writes[number] : &unwanted,
                    running->reads ? &running->reads[number] : &unwanted};
  neo_kernel_memory counted = {&n, count_read, count_write};
  run.memory = running->writes || running->reads ? &counted : NULL;
  neo_status s = neo_kernel_interp(k, &run, &why);
  if (s)
    print_error("%s\n", neo_str_text(&why));
  for (size_t b = 0; !s && b < k->bufs.n; b++) {
    neo_type t = (neo_type)k->bufs.at[b].type;
    /* parts of one memory are several buffers */
    if (mem.was[b] && k->bufs.at[b].use & NEO_BUF_WRITE)
      for (int64_t i = 0; i < mem.n[b]; i++)
        if (memcmp(&mem.buf[b][i], &mem.was[b][i], sizeof *mem.was[b]))
          neo_value_write(t, mem.buf[b][i], (char *)args->buf[b] + (size_t)i * neo_type_bytes(t));
  }
  neo_arena_free(&a);
  return s ? 1 : 0;
}

#define FOR_EIGHT(X, n) \
  X(n##0)               \
  X(n##1)               \
  X(n##2)               \
  X(n##3)               \
  X(n##4)               \
  X(n##5)               \
  X(n##6)               \
  X(n##7)
#define FOR_SIXTY_FOUR(X, n) \
  FOR_EIGHT(X, n##0)         \
  FOR_EIGHT(X, n##1)         \
  FOR_EIGHT(X, n##2)         \
  FOR_EIGHT(X, n##3)         \
  FOR_EIGHT(X, n##4) FOR_EIGHT(X, n##5) FOR_EIGHT(X, n##6) FOR_EIGHT(X, n##7)
#define ALL_KERNELS(X)  \
  FOR_SIXTY_FOUR(X, 0)  \
  FOR_SIXTY_FOUR(X, 01) \
  FOR_SIXTY_FOUR(X, 02) \
  FOR_SIXTY_FOUR(X, 03) \
  FOR_SIXTY_FOUR(X, 04) FOR_SIXTY_FOUR(X, 05) FOR_SIXTY_FOUR(X, 06) FOR_SIXTY_FOUR(X, 07)
#define X(n)                                           \
  static int32_t kernel_##n(const neo_rt_args *args) { \
    return run_kernel(n, args);                        \
  }
ALL_KERNELS(X)
#undef X
static neo_rt_fn *const interpreted[MAX_KERNELS] = {
#define X(n) kernel_##n,
    ALL_KERNELS(X)
#undef X
};

/* ---- making */

/* The program as it was written, and its sizes. */
static void tell_program(plan_world *w, neo_str *out) {
  const neo_module *m = w->c.module;
  neo_str_addf(out, "seed %llu\n%s", (unsigned long long)w->seed, w->text ? w->text : "");
  for (uint32_t k = 1; m && w->sizes && k < m->sizes.n; k++)
    neo_str_addf(out, "# %s = %lld\n", neo_name_text(m->names, m->sizes.at[k].name),
                 (long long)w->sizes[k]);
}

static void check(plan_world *w, neo_status s, const char *what) {
  if (!s)
    return;
  neo_str text;
  neo_str_init(&text, &w->c.arena);
  neo_diags_print(w->c.diags, &text, false);
  neo_str_addf(&text, "%s\n", w->c.why ? w->c.why : "");
  tell_program(w, &text);
  if (w->c.module)
    neo_module_print(w->c.module, &text);
  fail_msg("%s: %s", what, neo_str_text(&text));
}

void world_open(plan_world *w) {
  neo_compile_options o = {
      .path = "test", .passes = {.verify = true}, .check_facts = neo_test_long()};
  *w = (plan_world){.seed = 1, .threads = 1};
  neo_compilation_init(&w->c, &o);
  w->c.names = neo_names_new(&w->c.arena);
  w->c.sources = neo_sources_new(&w->c.arena);
  w->c.diags = neo_diags_new(&w->c.arena, w->c.sources);
  w->c.prefix = "t";
}

void world_parse(plan_world *w, const char *text) {
  w->c.module = neo_module_parse(&w->c.arena, w->c.names, w->c.diags, "test", text, strlen(text));
  check(w, w->c.module ? NEO_OK : NEO_INPUT, "text");
}

void world_source(plan_world *w, const char *text) {
  size_t n = strlen(text);
  int file = memfd_create("program", 0);
  w->text = text;
  assert_true(file >= 0 && write(file, text, n) == (ssize_t)n);
  w->c.options.path = neo_arena_printf(&w->c.arena, "/proc/self/fd/%d", file);
  w->c.options.prefix = "t";
  neo_status s = neo_compile_front(&w->c);
  close(file);
  check(w, s, "program");
}

static void compile_kernels(plan_world *w, neo_rt_kernel *to) {
  neo_compilation *c = &w->c;
  check(w, neo_llvm_new(&c->arena, &c->target, "t", &c->llvm, &c->why), "llvm");
  for (size_t k = 0; k < c->kernels.n; k++)
    check(w, neo_llvm_kernel(c->llvm, c->kernels.at[k].kernel, c->kernels.at[k].symbol, &c->why),
          "kernel");
  for (size_t k = 0; k < c->plan->grids.n; k++) {
    const neo_plan_grid *g = &c->plan->grids.at[k];
    check(w,
          neo_llvm_grid(c->llvm, neo_plan_grid_parts(c->plan, g, &c->arena), (size_t)g->rt.n_steps,
                        g->rt.block, g->symbol, &c->why),
          "grid");
  }
  check(w, neo_llvm_finish(c->llvm, &c->why), "code");
  for (size_t k = 0; k < c->kernels.n; k++) {
    void *address = neo_llvm_jit(c->llvm, c->kernels.at[k].symbol, &c->why);
    check(w, address ? NEO_OK : NEO_INTERNAL, "code");
    memcpy(&to[k].fn, &address, sizeof address);
  }
}

/* The emulator is asked for modules by libneort, and for places in the grid by the kernels. */
static void use_emulator(void) {
  if (!dlopen(NEO_TEST_EMULATOR, RTLD_NOW | RTLD_GLOBAL))
    fail_msg("%s", dlerror());
  setenv("NEO_CUDA_DRIVER", NEO_TEST_EMULATOR, 1);
}

static void put_image(plan_world *w, const neo_rt_kernel *kernels) {
  size_t n = w->c.kernels.n, n_grids = w->c.plan->grids.n;
  neo_emulator_kernel *at = NEO_NEW_ARRAY(&w->c.arena, neo_emulator_kernel, n + n_grids + 1);
  neo_emulator_code *code = NEO_NEW(&w->c.arena, neo_emulator_code);
  neo_rt_image *image = NEO_NEW(&w->c.arena, neo_rt_image);
  for (size_t k = 0; k < n; k++) {
    at[k].symbol = kernels[k].device_symbol;
    memcpy(&at[k].address, &kernels[k].fn, sizeof at[k].address);
  }
  for (size_t k = 0; k < n_grids; k++) {
    at[n + k].symbol = w->c.plan->grids.at[k].symbol;
    at[n + k].address = neo_llvm_jit(w->c.llvm, at[n + k].symbol, &w->c.why);
    check(w, at[n + k].address ? NEO_OK : NEO_INTERNAL, "code");
  }
  *code = (neo_emulator_code){NEO_EMULATOR_MAGIC, (int)(n + n_grids), at};
  *image = (neo_rt_image){NEO_RT_IMAGE_CUBIN, code, sizeof *code};
  w->model.images = image;
  w->model.n_images = 1;
}

static void make_model(plan_world *w, kernel_kind kind) {
  size_t n = w->c.kernels.n;
  neo_rt_kernel *k = NEO_NEW_ARRAY(&w->c.arena, neo_rt_kernel, n + 1);
  w->model = neo_compile_model(&w->c);
  memcpy(k, w->model.kernels, n * sizeof *k);
  if (kind == KERNELS_EMULATED)
    use_emulator();
  if (kind != KERNELS_INTERPRETED) {
    compile_kernels(w, k);
  } else {
    assert_true(n <= MAX_KERNELS);
    for (size_t i = 0; i < n; i++)
      k[i].fn = interpreted[i];
  }
  for (size_t i = 0; i < n && w->resident; i++)
    if (k[i].persistent > w->resident)
      k[i].persistent = w->resident;
  w->model.kernels = k;
  if (kind == KERNELS_EMULATED)
    put_image(w, k);
}

void world_input(plan_world *w, neo_tensor t, const neo_value *at) {
  neo_type type = (neo_type)neo_tensor_at(w->c.module, t)->type;
  neo_values *v = neo_interp_tensor(w->interp, t);
  char *p = NEO_NEW_ARRAY(&w->c.arena, char, (size_t)(v->n + 1) * neo_type_bytes(type));
  for (int64_t k = 0; k < v->n; k++) {
    v->at[k] = at[k];
    neo_value_write(type, at[k], p + (size_t)k * neo_type_bytes(type));
  }
  w->input[t.i] = p;
}

static neo_value element_of(plan_world *w, neo_tensor t, int64_t k) {
  neo_gen_program g = {.m = w->c.module, .seed = w->seed, .sizes = w->sizes};
  const neo_tensor_rec *r = neo_tensor_at(w->c.module, t);
  neo_type type = (neo_type)r->type;
  if (!w->large || !neo_type_is_float(type))
    return neo_gen_element(&g, t, (uint64_t)k);
  const char *name = neo_name_text(w->c.names, r->name);
  return (neo_value){.f = neo_large_element(w->seed, name, type, w->large->narrow, (uint64_t)k)};
}

static void fill_inputs(plan_world *w) {
  for (uint32_t t = 1; t < w->c.module->tensors.n; t++) {
    if (w->c.module->tensors.at[t].role != NEO_ROLE_INPUT)
      continue;
    int64_t n = neo_interp_tensor(w->interp, (neo_tensor){t})->n;
    neo_value *at = NEO_NEW_ARRAY(&w->c.arena, neo_value, n + 1);
    for (int64_t k = 0; k < n; k++)
      at[k] = element_of(w, (neo_tensor){t}, k);
    world_input(w, (neo_tensor){t}, at);
  }
}

void world_draw(plan_world *w, uint64_t seed) {
  uint64_t before = w->seed;
  w->seed = seed;
  fill_inputs(w);
  w->seed = before;
}

void world_compile(plan_world *w, kernel_kind kind, const int64_t *sizes) {
  check(w, neo_compile_passes(&w->c), "passes");
  neo_module *m = w->c.module;
  const size_t given = m->sizes.n; /* fusion adds the indices of loops */
  check(w, neo_compile_kernels(&w->c), "kernels");
  w->sizes = NEO_NEW_ARRAY(&w->c.arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    w->sizes[k] = sizes && k < given ? sizes[k] : m->sizes.at[k].hi;
  for (uint32_t k = 1; k < m->sizes.n; k++) /* over sizes before it */
    if (m->sizes.at[k].kind == NEO_SIZE_DERIVED)
      w->sizes[k] = neo_size_value(m, m->sizes.at[k].value, w->sizes);
  make_model(w, kind);
}

void world_begin(plan_world *w, kernel_kind kind, const int64_t *sizes) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = w->threads, .seed = w->seed};
  world_compile(w, kind, sizes);
  neo_module *m = w->c.module;
  w->input = NEO_NEW_ARRAY(&w->c.arena, void *, m->tensors.n + 1);
  running = w;
  neo_rt_status s = neo_rt_create(&w->model, &config, &w->ctx);
  if (s)
    fail_msg("%s", w->ctx ? neo_rt_error(w->ctx) : neo_rt_status_text(s));
  w->interp = neo_interp_new(&w->c.arena, m, w->sizes, w->seed);
  neo_interp_track_errors(w->interp, true);
  fill_inputs(w);
}

void world_close(plan_world *w) {
  if (w->ctx)
    neo_rt_destroy(w->ctx);
  neo_compilation_free(&w->c);
}

/* ---- running and comparing */

static bool same_elements(plan_world *w, const char *what, neo_type t, const neo_values *want,
                          const double *error, const void *got, neo_str *why) {
  neo_value *v = NEO_NEW_ARRAY(&w->c.arena, neo_value, want->n + 1);
  for (int64_t k = 0; k < want->n; k++)
    v[k] = neo_value_read(t, (const char *)got + (size_t)k * neo_type_bytes(t));
  if (neo_gen_compare(t, want, error, v, NULL, why))
    return true;
  neo_str_addf(why, " in %s\n", what);
  return false;
}

bool world_same(plan_world *w, neo_str *why) {
  const neo_module *m = w->c.module;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_role role = (neo_role)m->tensors.at[t].role;
    if (role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE && role != NEO_ROLE_SETTING)
      continue;
    const char *name = neo_name_text(m->names, m->tensors.at[t].name);
    neo_values *want = neo_interp_tensor(w->interp, (neo_tensor){t});
    neo_type type = (neo_type)m->tensors.at[t].type;
    size_t bytes = (size_t)want->n * neo_type_bytes(type);
    char *got = NEO_NEW_ARRAY(&w->c.arena, char, bytes + 1);
    if (neo_rt_get(w->ctx, neo_rt_find(&w->model, name), got, bytes))
      fail_msg("%s", neo_rt_error(w->ctx));
    const double *error = neo_interp_errors(w->interp, (neo_tensor){t});
    if (!same_elements(w, name, type, want, error, got, why))
      return false;
  }
  return true;
}

/* The arguments of an entry: what a caller of the C function passes. */
static void **arguments(plan_world *w, const neo_rt_entry *e, const neo_entry_rec *rec,
                        uint64_t nulls) {
  void **args = NEO_NEW_ARRAY(&w->c.arena, void *, (size_t)e->n_args + 1);
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const char *name = w->model.tensors[w->model.entry_args[e->args + k]].name;
    args[k] = w->input[neo_tensor_find(w->c.module, name).i];
  }
  for (uint32_t k = 0; k < rec->outputs.n; k++) {
    neo_tensor t = {neo_list_at(w->c.module, rec->outputs, k)};
    int64_t n = neo_tensor_elements_at(w->c.module, t, w->sizes, NULL);
    args[(uint32_t)e->n_inputs + k] =
        nulls >> k & 1 ? NULL : NEO_NEW_ARRAY(&w->c.arena, double, n + 1);
  }
  return args;
}

/* Error bounds of outputs that are kept: those of the old version, before it is replaced. */
static const double **kept_errors(plan_world *w, const neo_entry_rec *rec) {
  const double **error = NEO_NEW_ARRAY(&w->c.arena, const double *, rec->outputs.n + 1);
  for (uint32_t k = 0; k < rec->outputs.n; k++) {
    neo_tensor t = {neo_list_at(w->c.module, rec->outputs, k)};
    neo_role role = (neo_role)neo_tensor_at(w->c.module, t)->role;
    const double *now = neo_interp_errors(w->interp, t);
    size_t n = (size_t)neo_interp_tensor(w->interp, t)->n;
    if ((role == NEO_ROLE_PARAM || role == NEO_ROLE_STATE) && now)
      error[k] = neo_arena_copy(&w->c.arena, now, (n + 1) * sizeof *now);
  }
  return error;
}

static bool same_outputs(plan_world *w, const neo_entry_rec *rec, const double **kept, void **got,
                         neo_str *why) {
  for (uint32_t k = 0; k < rec->outputs.n; k++) {
    neo_tensor t = {neo_list_at(w->c.module, rec->outputs, k)};
    neo_role role = (neo_role)neo_tensor_at(w->c.module, t)->role;
    bool is_kept = role == NEO_ROLE_PARAM || role == NEO_ROLE_STATE;
    const char *name = neo_name_text(w->c.names, neo_list_at(w->c.module, rec->names, k));
    neo_type type = (neo_type)neo_tensor_at(w->c.module, t)->type;
    const double *error = is_kept ? kept[k] : neo_interp_errors(w->interp, t);
    if (got[k] &&
        !same_elements(w, name, type, neo_interp_output(w->interp, k), error, got[k], why))
      return false;
  }
  return true;
}

bool world_run(plan_world *w, uint32_t entry, uint64_t nulls, neo_str *why) {
  neo_entry_rec rec = w->c.module->entries.at[entry];
  const char *name = neo_name_text(w->c.names, rec.name);
  int32_t number = neo_rt_find_entry(&w->model, name);
  assert_true(number >= 0);
  const neo_rt_entry *e = &w->model.entries[number];
  int64_t sizes[64];
  assert_int_equal((uint32_t)(e->n_args - e->n_inputs), rec.outputs.n);
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = w->sizes[w->model.entry_sizes[e->sizes + k] + 1];
  void **args = arguments(w, e, &rec, nulls);
  const double **kept = kept_errors(w, &rec);
  running = w;
  if (neo_rt_call(w->ctx, number, sizes, args)) {
    neo_str_add(why, neo_rt_error(w->ctx));
    return false;
  }
  if (neo_interp_run(w->interp, entry, why))
    return false;
  return same_outputs(w, &rec, kept, args + e->n_inputs, why) && world_same(w, why);
}

/* Are the persistent tensors finite? Infinity times a number that is 0 up to rounding is anything
 * in the next call. */
static bool is_finite(plan_world *w) {
  const neo_module *m = w->c.module;
  bool good = true;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_role role = (neo_role)m->tensors.at[t].role;
    if ((role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE) ||
        !neo_type_is_float((neo_type)m->tensors.at[t].type))
      continue;
    const neo_values *v = neo_interp_tensor(w->interp, (neo_tensor){t});
    for (int64_t k = 0; good && k < v->n; k++)
      good = isfinite(v->at[k].f);
  }
  return good;
}

void world_check(plan_world *w, int rounds) {
  neo_str why;
  neo_str_init(&why, &w->c.arena);
  bool good = world_same(w, &why);
  for (int r = 0; r < rounds && good && (r == 0 || is_finite(w)); r++)
    for (uint32_t k = 0; k < w->c.module->entries.n && good; k++)
      if (w->c.module->entries.at[k].kind != NEO_ENTRY_INIT)
        good = world_run(w, k, r == 1 ? 0x5 : 0, &why);
  if (good)
    return;
  neo_str_add(&why, "\n");
  tell_program(w, &why);
  neo_module_print(w->c.module, &why);
  for (size_t k = 0; k < w->c.kernels.n; k++)
    neo_kernel_print(w->c.kernels.at[k].kernel, &why);
  fail_msg("%s", neo_str_text(&why));
}
