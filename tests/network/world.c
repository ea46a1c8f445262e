/* See world.h. */
#include "tests/network/world.h"
#include "autodiff/autodiff.h"
#include "tests/oracle/expected.h"
#include "transform/transform.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static neo_status widen(void *ctx, neo_module *m) {
  (void)ctx;
  neo_module_widen(m);
  return NEO_OK;
}

static void check_compiled(world *w, neo_status s) {
  if (!s)
    return;
  neo_str text = neo_str_in(&w->c.arena);
  neo_diags_print(w->c.diags, &text, false);
  fail_msg("%s: %s %s", w->c.options.path, neo_str_text(&text), w->c.why ? w->c.why : "");
}

void world_check(world *w, neo_status s, const neo_str *why) {
  if (s)
    fail_msg("%s: %s: %s", w->c.options.path, neo_status_text(s), neo_str_text(why));
}

static uint32_t find_entry(const world *w, const char *name) {
  for (uint32_t k = 0; k < w->m->entries.n; k++) {
    const neo_entry_rec *e = &w->m->entries.at[k];
    if (e->kind == NEO_ENTRY_TRAIN &&
        (!name || neo_streq(name, neo_name_text(w->m->names, e->name))))
      return k;
  }
  fail_msg("%s: nothing trains", w->c.options.path);
  return 0;
}

static void derive(world *w, neo_module *m) {
  neo_pass_target none = {0};
  neo_str why = neo_str_in(&w->c.arena);
  check_compiled(w, neo_pass_call(m, &none, neo_pass_autodiff));
  check_compiled(w, neo_pass_call(m, &none, neo_pass_specialize));
  check_compiled(w, neo_pass_call(m, &none, neo_pass_cse));
  world_check(w, neo_module_check(m, &why), &why);
}

void world_open(world *w, const char *root, const world_model *x) {
  char library[4096];
  *w = (world){0};
  snprintf(library, sizeof library, "%s/models/std", root);
  const char *const imports[] = {library, NULL};
  neo_compile_options o = {.path = x->path ? x->path : "model.expr",
                           .text = x->text,
                           .text_bytes = x->text ? strlen(x->text) : 0,
                           .import_paths = imports,
                           .defines = x->defines,
                           .n_defines = x->n_defines,
                           .prepare = x->wide ? widen : NULL};
  neo_compilation_init(&w->c, &o);
  if (!x->text)
    w->c.options.path = neo_arena_printf(&w->c.arena, "%s/%s", root, x->path);
  check_compiled(w, neo_compile_front(&w->c));
  w->m = w->c.module;
  w->entry = find_entry(w, x->entry);
  neo_net_options net = {.nodes = x->nodes};
  neo_str why = neo_str_in(&w->c.arena);
  w->n = neo_network_cut(w->m, w->entry, &net, &w->c.arena);
  world_check(w, neo_network_verify(w->n, &why), &why);
  w->sizes = NEO_NEW_ARRAY(&w->c.arena, int64_t, w->m->sizes.n + 1);
  w->inputs = NEO_NEW_ARRAY(&w->c.arena, neo_values *, w->m->tensors.n + 1);
  for (uint32_t k = 1; k < w->m->sizes.n; k++)
    w->sizes[k] = w->m->sizes.at[k].hi;
}

void world_close(world *w) {
  neo_compilation_free(&w->c);
}

void world_size(world *w, const char *name, int64_t value) {
  for (uint32_t k = 1; k < w->m->sizes.n; k++)
    if (neo_streq(neo_name_text(w->m->names, w->m->sizes.at[k].name), name))
      w->sizes[k] = value;
  if (w->whole)
    neo_interp_resize(w->whole, w->sizes);
}

void world_derive(world *w) {
  neo_str why = neo_str_in(&w->c.arena);
  w->derived = true;
  derive(w, w->m);
  for (size_t k = 0; k < w->n->actors.n; k++)
    derive(w, w->n->actors.at[k].module);
  neo_network_stash(w->n);
  world_check(w, neo_network_verify(w->n, &why), &why);
}

void world_begin(world *w, uint64_t seed) {
  if (!w->derived)
    world_derive(w);
  w->whole = neo_interp_new(&w->c.arena, w->m, w->sizes, seed);
  w->net = neo_net_interp_new(&w->c.arena, w->n, w->sizes, seed);
  w->steps = w->tests = 0;
}

/* ---- inputs */

static void fill(world *w, neo_tensor t, uint64_t seed) {
  neo_type type = neo_tensor_type(w->m, t);
  neo_values *v = neo_interp_tensor(w->whole, t);
  uint64_t key = seed;
  int64_t low = 0, high = 2;
  for (const char *c = neo_tensor_name(w->m, t); *c; c++)
    key = expected_hash(key, (uint64_t)(unsigned char)*c);
  if (neo_tensor_at(w->m, t)->bound.i)
    high = neo_size_value(w->m, neo_tensor_at(w->m, t)->bound, w->sizes);
  neo_ends_at ends = neo_tensor_ends_at(w->m, t, w->sizes);
  for (int64_t k = 0; k < v->n; k++) {
    uint64_t h = expected_hash((uint64_t)k, key);
    if (ends.given)
      neo_ends_of_element(&ends, k, &low, &high);
    if (neo_type_is_float(type))
      v->at[k].f = ((double)(h % 63) - 31) / 32;
    else
      v->at[k].i = low + (int64_t)(h % (uint64_t)(high - low));
  }
  w->inputs[t.i] = v;
}

void world_fill(world *w, uint64_t seed) {
  for (uint32_t t = 1; t < w->m->tensors.n; t++)
    if (w->m->tensors.at[t].role == NEO_ROLE_INPUT)
      fill(w, (neo_tensor){t}, seed);
}

static void put(world *w, neo_values *v, neo_type type, const double *x, int64_t n) {
  if (!v || v->n != n)
    fail_msg("%s: wrong number of values", w->c.options.path);
  for (int64_t k = 0; k < n; k++)
    v->at[k] = neo_value_cast(type, NEO_F64_T, (neo_value){.f = x[k]});
}

void world_give(world *w, const char *name, const double *x, int64_t n) {
  neo_tensor t = neo_tensor_find(w->m, name);
  neo_type type = neo_tensor_type(w->m, t);
  put(w, neo_interp_tensor(w->whole, t), type, x, n);
  if (neo_tensor_at(w->m, t)->role == NEO_ROLE_INPUT)
    return;
  neo_net_interp_give(w->net, name, neo_interp_tensor(w->whole, t)->at);
}

/* ---- steps */

static const neo_values *input_of(void *ctx, uint32_t name) {
  world *w = ctx;
  return w->inputs[neo_tensor_find(w->m, neo_name_text(w->m->names, name)).i];
}

neo_net_instance world_instance(world *w, double weight) {
  return (neo_net_instance){
      .number = w->steps++, .weight = weight, .sizes = w->sizes, .input = input_of, .ctx = w};
}

static void compare(world *w, const char *what, neo_type type, const neo_values *want,
                    const neo_values *got, double tolerance) {
  double size = 0, off = 0;
  bool is_float = neo_type_is_float(type);
  assert_int_equal(want->n, got->n);
  for (int64_t k = 0; k < want->n; k++) {
    double x = is_float ? want->at[k].f : (double)want->at[k].i;
    double y = is_float ? got->at[k].f : (double)got->at[k].i;
    bool same = x == y || (isnan(x) && isnan(y));
    size = isfinite(x) ? fmax(size, fabs(x)) : size;
    off = same ? off : fmax(off, isnan(x - y) ? INFINITY : fabs(x - y));
  }
  if (off > tolerance * fmax(size, 1e-3))
    fail_msg("%s, step %u: %s differs by %.3g of %.3g", w->c.options.path, (unsigned)w->steps, what,
             off, size);
}

static bool is_updated(const world *w, uint32_t t) {
  neo_list updates = w->m->entries.at[w->entry].updates;
  for (uint32_t k = 0; k < updates.n; k++)
    if (neo_tensor_at(w->m, neo_list_tensor(w->m, updates, k))->updates.i == t)
      return true;
  return false;
}

static void compare_kept(world *w, double tolerance) {
  for (uint32_t t = 1; t < w->m->tensors.n; t++) {
    uint8_t role = w->m->tensors.at[t].role;
    neo_tensor id = {t};
    if (role != NEO_ROLE_PARAM && role != NEO_ROLE_STATE)
      continue;
    const neo_values *got = neo_net_interp_kept(w->net, neo_tensor_name(w->m, id));
    if (!got && is_updated(w, t))
      fail_msg("%s: no actor has %s", w->c.options.path, neo_tensor_name(w->m, id));
    if (got)
      compare(w, neo_tensor_name(w->m, id), neo_tensor_type(w->m, id),
              neo_interp_tensor(w->whole, id), got, tolerance);
  }
}

void world_step(world *w, double tolerance) {
  neo_str why = neo_str_in(&w->c.arena);
  neo_net_instance x = world_instance(w, 1);
  world_check(w, neo_interp_run(w->whole, w->entry, &why), &why);
  neo_net_interp_send(w->net, &x);
  world_check(w, neo_net_interp_drain(w->net, &why), &why);
  neo_tensor loss = neo_list_tensor(w->m, w->m->entries.at[w->entry].outputs, 0);
  compare(w, "the loss", neo_tensor_type(w->m, loss), neo_interp_output(w->whole, 0),
          neo_net_interp_loss(w->net, x.number + w->tests), tolerance);
  compare_kept(w, tolerance);
}

/* The entry that evaluates the loss, and the number of the loss among its outputs. */
static uint32_t find_test(const world *w, uint32_t *output) {
  for (uint32_t k = 0; k < w->m->entries.n; k++) {
    const neo_entry_rec *e = &w->m->entries.at[k];
    for (*output = 0; *output < e->names.n; ++*output)
      if (e->kind == NEO_ENTRY_FORWARD &&
          neo_streq(neo_name_text(w->m->names, neo_list_at(w->m, e->names, *output)), "loss"))
        return k;
  }
  fail_msg("%s: nothing evaluates the loss", w->c.options.path);
  return 0;
}

void world_test(world *w, double tolerance) {
  neo_str why = neo_str_in(&w->c.arena);
  uint32_t output = 0, entry = find_test(w, &output);
  neo_net_instance x = world_instance(w, 1);
  x.test = true;
  w->steps--;
  world_check(w, neo_interp_run(w->whole, entry, &why), &why);
  neo_net_interp_send(w->net, &x);
  world_check(w, neo_net_interp_drain(w->net, &why), &why);
  neo_tensor loss = neo_list_tensor(w->m, w->m->entries.at[entry].outputs, output);
  compare(w, "the loss", neo_tensor_type(w->m, loss), neo_interp_output(w->whole, output),
          neo_net_interp_loss(w->net, x.number + w->tests++), tolerance);
  compare_kept(w, tolerance);
}

uint32_t world_count(const world *w, neo_net_kind kind) {
  uint32_t n = 0;
  for (size_t k = 0; k < w->n->nodes.n; k++)
    n += w->n->nodes.at[k].kind == kind;
  return n;
}
