/* See machine.h. */
#include "tests/oracle/machine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

/* ---- making */

static void check(machine *m, neo_status s) {
  if (!s)
    return;
  neo_str text;
  neo_str_init(&text, &m->c.arena);
  neo_diags_print(m->c.diags, &text, false);
  fail_msg("%s: %s %s", m->c.options.path, neo_str_text(&text), m->c.why ? m->c.why : "");
}

static void check_run(machine *m, neo_rt_status s) {
  if (s)
    fail_msg("%s: %s", m->c.options.path, m->ctx ? neo_rt_error(m->ctx) : neo_rt_status_text(s));
}

static neo_status widen(void *ctx, neo_module *m) {
  (void)ctx;
  neo_module_widen(m);
  return NEO_OK;
}

static void largest(machine *m) {
  const neo_module *mod = m->c.module;
  for (uint32_t k = 1; k < mod->sizes.n; k++)
    m->sizes[k] = mod->sizes.at[k].hi;
}

static bool is_compiled(machine_kind kind) {
  return kind == MACHINE_COMPILED || kind == MACHINE_COMPILED_WIDE;
}

static void begin(machine *m) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = 1, .seed = SEED};
  if (!is_compiled(m->kind)) {
    m->interp = neo_interp_new(&m->c.arena, m->c.module, m->sizes, SEED);
    return;
  }
  check(m, neo_compile_kernels(&m->c));
  check(m, neo_library_make(&m->c, &m->lib));
  check_run(m, neo_rt_create(m->lib.model, &config, &m->ctx));
}

void machine_open_with(machine *m, const char *root, const char *path, machine_kind kind,
                       const neo_define_option *defines, int n_defines) {
  char file[4096], library[4096];
  snprintf(file, sizeof file, "%s/%s", root, path);
  snprintf(library, sizeof library, "%s/models/std", root);
  const char *const imports[] = {library, NULL};
  neo_compile_options o = {.path = file,
                           .target = getenv("NEO_TEST_TARGET"),
                           .every_grid = getenv("NEO_TEST_GRIDS") != NULL,
                           .import_paths = imports,
                           .defines = defines,
                           .n_defines = n_defines,
                           .passes = {.verify = true}};
  if (kind == MACHINE_WIDE || kind == MACHINE_COMPILED_WIDE)
    o.prepare = widen;
  *m = (machine){.kind = kind};
  neo_compilation_init(&m->c, &o);
  m->c.options.path = neo_arena_strdup(&m->c.arena, file);
  check(m, neo_compile_front(&m->c));
  check(m, neo_compile_passes(&m->c));
  const neo_module *mod = m->c.module;
  m->sizes = NEO_NEW_ARRAY(&m->c.arena, int64_t, mod->sizes.n + 1);
  m->memory = NEO_NEW_ARRAY(&m->c.arena, void *, mod->tensors.n + 1);
  largest(m);
  begin(m);
}

void machine_open(machine *m, const char *root, const char *path, machine_kind kind) {
  machine_open_with(m, root, path, kind, NULL, 0);
}

void machine_reset(machine *m) {
  largest(m);
  if (m->ctx)
    check_run(m, neo_rt_reset(m->ctx, SEED));
  else
    m->interp = neo_interp_new(&m->c.arena, m->c.module, m->sizes, SEED);
}

void machine_close(machine *m) {
  if (m->ctx)
    neo_rt_destroy(m->ctx);
  neo_library_close(&m->lib);
  neo_compilation_free(&m->c);
}

/* ---- sizes */

static uint32_t find_size(const machine *m, const char *name) {
  const neo_module *mod = m->c.module;
  for (uint32_t k = 1; k < mod->sizes.n; k++)
    if (mod->sizes.at[k].kind == NEO_SIZE_RUNTIME &&
        neo_streq(neo_name_text(mod->names, mod->sizes.at[k].name), name))
      return k;
  return 0;
}

bool machine_size(machine *m, const char *name, int64_t value) {
  uint32_t k = find_size(m, name);
  if (!k)
    return false;
  m->sizes[k] = value;
  if (m->interp)
    neo_interp_resize(m->interp, m->sizes);
  return true;
}

int64_t machine_size_range(const machine *m, const char *name, int64_t *lo) {
  uint32_t k = find_size(m, name);
  *lo = k ? m->c.module->sizes.at[k].lo : 0;
  return k ? m->c.module->sizes.at[k].hi : 0;
}

int64_t machine_elements(const machine *m, neo_tensor t) {
  return neo_tensor_elements_at(m->c.module, t, m->sizes, NULL);
}

const char *machine_name(const machine *m, neo_tensor t) {
  return neo_name_text(m->c.names, neo_tensor_at(m->c.module, t)->name);
}

/* ---- values */

static double as_double(neo_type t, neo_value v) {
  return neo_type_is_float(t) ? v.f : (double)v.i;
}

static neo_value of_double(neo_type t, double x) {
  return neo_value_cast(t, NEO_F64_T, (neo_value){.f = x});
}

static neo_type type_of(const machine *m, neo_tensor t) {
  return (neo_type)neo_tensor_at(m->c.module, t)->type;
}

static double *from_memory(machine *m, neo_type t, const char *p, int64_t n) {
  double *x = NEO_NEW_ARRAY(&m->c.arena, double, (size_t)n + 1);
  for (int64_t k = 0; k < n; k++)
    x[k] = as_double(t, neo_value_read(t, p + (size_t)k * neo_type_bytes(t)));
  return x;
}

static double *from_values(machine *m, neo_type t, const neo_values *v) {
  double *x = NEO_NEW_ARRAY(&m->c.arena, double, (size_t)v->n + 1);
  for (int64_t k = 0; k < v->n; k++)
    x[k] = as_double(t, v->at[k]);
  return x;
}

double *machine_get(machine *m, neo_tensor t, int64_t *n) {
  neo_type type = type_of(m, t);
  *n = machine_elements(m, t);
  if (m->interp)
    return from_values(m, type, neo_interp_tensor(m->interp, t));
  size_t bytes = (size_t)*n * neo_type_bytes(type);
  char *p = NEO_NEW_ARRAY(&m->c.arena, char, bytes + 1);
  int32_t number = neo_rt_find(m->lib.model, machine_name(m, t));
  check_run(m, neo_rt_get(m->ctx, number, p, bytes));
  return from_memory(m, type, p, *n);
}

void machine_put(machine *m, neo_tensor t, const double *x, int64_t n) {
  neo_type type = type_of(m, t);
  assert_int_equal(n, machine_elements(m, t));
  if (m->interp) {
    neo_values *v = neo_interp_tensor(m->interp, t);
    for (int64_t k = 0; k < n; k++)
      v->at[k] = of_double(type, x[k]);
    return;
  }
  size_t bytes = (size_t)n * neo_type_bytes(type);
  char *p = NEO_NEW_ARRAY(&m->c.arena, char, bytes + 1);
  for (int64_t k = 0; k < n; k++)
    neo_value_write(type, of_double(type, x[k]), p + (size_t)k * neo_type_bytes(type));
  if (neo_tensor_at(m->c.module, t)->role == NEO_ROLE_INPUT)
    m->memory[t.i] = p;
  else
    check_run(m, neo_rt_set(m->ctx, neo_rt_find(m->lib.model, machine_name(m, t)), p, bytes));
}

/* ---- the formula */

static int phase(const char *name) {
  int64_t s = 0;
  for (int64_t k = 0; name[k]; k++)
    s += (k + 1) * name[k];
  return (int)(s % 97);
}

static double formula(double k, int ph, double steps) {
  return floor(0.9 * steps * sin(1.7 * k + ph) + 0.5) / steps;
}

static void fill(machine *m, neo_tensor t, bool param) {
  neo_tensor_rec rec = *neo_tensor_at(m->c.module, t);
  int64_t n = machine_elements(m, t), low = 0, count = 256;
  int ph = phase(machine_name(m, t));
  double *x = NEO_NEW_ARRAY(&m->c.arena, double, (size_t)n + 1);
  if (rec.bound.i)
    count = neo_size_value(m->c.module, rec.bound, m->sizes);
  else if (rec.type != NEO_U8_T)
    low = -128;
  neo_ends_at ends = neo_tensor_ends_at(m->c.module, t, m->sizes);
  for (int64_t k = 0; k < n && ends.given; k++) {
    neo_ends_of_element(&ends, k, &low, &count);
    x[k] = (double)((37 * k + k / 3 + ph) % (count - low) + low);
  }
  for (int64_t k = 0; k < n && !ends.given; k++)
    x[k] = neo_type_is_float((neo_type)rec.type) ? formula((double)k, ph, param ? 32 : 4)
                                                 : (double)((37 * k + k / 3 + ph) % count + low);
  machine_put(m, t, x, n);
}

void machine_fill(machine *m) {
  for (uint32_t t = 1; t < m->c.module->tensors.n; t++) {
    uint8_t role = m->c.module->tensors.at[t].role;
    if (role == NEO_ROLE_INPUT || role == NEO_ROLE_PARAM)
      fill(m, (neo_tensor){t}, role == NEO_ROLE_PARAM);
  }
}

/* ---- running */

static bool find_entry(const machine *m, const char *name, uint32_t *out) {
  for (uint32_t k = 0; k < m->c.module->entries.n; k++) {
    *out = k;
    if (neo_streq(neo_name_text(m->c.names, m->c.module->entries.at[k].name), name))
      return true;
  }
  return false;
}

bool machine_has(const machine *m, const char *entry, neo_entry_kind kind) {
  uint32_t k;
  return find_entry(m, entry, &k) && m->c.module->entries.at[k].kind == kind;
}

static neo_tensor output_tensor(const machine *m, uint32_t k) {
  return (neo_tensor){neo_list_at(m->c.module, m->c.module->entries.at[m->entry].outputs, k)};
}

static void interpret(machine *m) {
  neo_str why;
  neo_str_init(&why, &m->c.arena);
  if (neo_interp_run(m->interp, m->entry, &why))
    fail_msg("%s: %s", m->c.options.path, neo_str_text(&why));
  for (uint32_t k = 0; k < machine_outputs(m); k++) {
    const neo_values *v = neo_interp_output(m->interp, k);
    m->out[k] = from_values(m, type_of(m, output_tensor(m, k)), v);
  }
}

static void call(machine *m, const char *name) {
  const neo_rt_model *rt = m->lib.model;
  int32_t number = neo_rt_find_entry(rt, name);
  assert_true(number >= 0);
  const neo_rt_entry *e = &rt->entries[number];
  void *args[256];
  int64_t sizes[16];
  assert_true(e->n_args <= 256 && e->n_sizes <= 16);
  assert_int_equal(e->n_args - e->n_inputs, machine_outputs(m));
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = m->sizes[rt->entry_sizes[e->sizes + k] + 1];
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const char *input = rt->tensors[rt->entry_args[e->args + k]].name;
    args[k] = m->memory[neo_tensor_find(m->c.module, input).i];
  }
  for (uint32_t k = 0; k < machine_outputs(m); k++)
    args[e->n_inputs + (int32_t)k] = NEO_NEW_ARRAY(&m->c.arena, double, (size_t)m->n_out[k] + 1);
  check_run(m, neo_rt_call(m->ctx, number, sizes, args));
  for (uint32_t k = 0; k < machine_outputs(m); k++)
    m->out[k] = from_memory(m, type_of(m, output_tensor(m, k)), args[e->n_inputs + (int32_t)k],
                            m->n_out[k]);
}

void machine_run(machine *m, const char *entry) {
  if (!find_entry(m, entry, &m->entry))
    fail_msg("%s: no entry %s", m->c.options.path, entry);
  uint32_t n = machine_outputs(m);
  m->out = NEO_NEW_ARRAY(&m->c.arena, double *, n + 1);
  m->n_out = NEO_NEW_ARRAY(&m->c.arena, int64_t, n + 1);
  for (uint32_t k = 0; k < n; k++)
    m->n_out[k] = machine_elements(m, output_tensor(m, k));
  if (m->interp)
    interpret(m);
  else
    call(m, entry);
}

uint32_t machine_outputs(const machine *m) {
  return m->c.module->entries.at[m->entry].outputs.n;
}

const char *machine_output_name(const machine *m, uint32_t k) {
  neo_list names = m->c.module->entries.at[m->entry].names;
  return neo_name_text(m->c.names, neo_list_at(m->c.module, names, k));
}

const double *machine_output(const machine *m, const char *name, int64_t *n) {
  for (uint32_t k = 0; k < machine_outputs(m); k++)
    if (neo_streq(machine_output_name(m, k), name)) {
      *n = m->n_out[k];
      return m->out[k];
    }
  return NULL;
}
