/* Builds in the cache: every option that may change what is made is in the key, the rest is not,
 * and what is found is what was made. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "base/file.h"
#include "tools/pipeline/compile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const imports[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};
static const char model[] = "import nn\n"
                            "dim N = 6\n"
                            "input X[8, N]\n"
                            "input never[3]\n"
                            "param W[N, 4] = 0.5\n"
                            "Y[b, j] = relu(sum[i] X[b, i]*W[i, j])\n"
                            "loss = sum[b, j] Y[b, j]\n"
                            "optimizer plain(w[..], g[..]) { update w[..] = w[..] - g[..] }\n"
                            "output Y\n"
                            "train loss using plain()\n";

typedef struct {
  neo_arena arena;
  char folder[64];
  neo_compile_options plain; /* of a build that is in the cache */
} world;

static neo_compile_options options_of(world *w) {
  return (neo_compile_options){.path = neo_path_join(&w->arena, w->folder, "net.expr"),
                               .import_paths = imports,
                               .out_dir = neo_path_join(&w->arena, w->folder, "out"),
                               .emit = NEO_EMIT_A | NEO_EMIT_HEADER | NEO_EMIT_JSON,
                               .mcpu = "x86-64-v3",
                               .target = "x86_64",
                               .runtime = NEO_RUNTIME_NONE,
                               .cache = neo_path_join(&w->arena, w->folder, "cache")};
}

static void write_text(const char *path, const char *text) {
  assert_int_equal(neo_file_write(&neo_io_default, path, text, strlen(text)), NEO_OK);
}

/* Was the build found? */
static bool build(const neo_compile_options *o) {
  neo_compilation c;
  neo_compilation_init(&c, o);
  neo_status s = neo_compile_all(&c);
  if (s)
    fail_msg("%s", c.why ? c.why : "errors in the model");
  bool found = c.found;
  neo_compilation_free(&c);
  return found;
}

static int set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  snprintf(w->folder, sizeof w->folder, "/tmp/neo-code-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  w->plain = options_of(w);
  write_text(w->plain.path, model);
  assert_false(build(&w->plain));
  assert_true(build(&w->plain));
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", w->folder);
  int s = system(command);
  neo_arena_free(&w->arena);
  free(w);
  return s;
}

/* ---- options that are in the key */

static const char *const skip[] = {"cse", NULL};
static const char *const other_imports[] = {"/nowhere", NEO_TEST_SOURCE_DIR "/models/std", NULL};
static const neo_define_option define[] = {{"N", 7}};
static const neo_module_source module[] = {
    {"other", "fn f(x[..]) -> y {\n  y[..] = x[..]\n}\n", 38}};
static const neo_plan_name renamed[] = {{"X", "data"}};
static neo_machine machine;

static const char *second_path; /* of a file with the same text */

#define CHANGES(X)                                                \
  X(path, o->path = second_path)                                  \
  X(path_prefix, o->prefix = "other")                             \
  X(import_paths, o->import_paths = other_imports)                \
  X(defines, (o->defines = define, o->n_defines = 1))             \
  X(modules, (o->modules = module, o->n_modules = 1))             \
  X(names, (o->names = renamed, o->n_names = 1))                  \
  X(no_folder, o->no_folder = true)                               \
  X(unseen, o->unseen = true)                                     \
  X(emit_header, o->emit = NEO_EMIT_A | NEO_EMIT_JSON)            \
  X(emit_assembly, o->emit |= NEO_EMIT_ASM)                       \
  X(emit_object, o->emit |= NEO_EMIT_OBJECT)                      \
  X(emit_text, o->emit |= NEO_EMIT_LL)                            \
  X(no_library, o->emit = NEO_EMIT_HEADER | NEO_EMIT_JSON)        \
  X(target, (o->target = "aarch64", o->mcpu = "generic"))         \
  X(mcpu, o->mcpu = "x86-64-v4")                                  \
  X(machine, o->machine = &machine)                               \
  X(passes_skip, o->passes.skip = skip)                           \
  X(fusion_off, o->fusion.off = 1)                                \
  X(fusion_memory, o->fusion.memory = NEO_FUSE_SMALL)             \
  X(fusion_consumers, o->fusion.consumers_join = true)            \
  X(recurrences_rounds, o->fusion.recurrences.tile_iterations = 4)    \
  X(recurrences_blocks, o->fusion.recurrences.blocks_only = true) \
  X(math, o->math = NEO_PRECISION_BF16)                           \
  X(store, o->store = NEO_PRECISION_BF16)                         \
  X(reassociate, o->reassociate = true)                           \
  X(batch_kinds, o->batch_kinds = true)                           \
  X(network, o->network = true)                                   \
  X(network_nodes, o->network_nodes = 2)                          \
  X(proof_quota, o->proof_quota = 1234567)                        \
  X(unroll, o->unroll = 7)                                        \
  X(every_grid, o->every_grid = true)                             \
  X(loops, o->loops = NEO_LOOPS_EVERY)                            \
  X(tile_iterations, o->tile_iterations = 3)                              \
  X(chunk_iterations, o->chunk_iterations = 3)                            \
  X(records_dir, o->records_dir = NEO_TEST_SOURCE_DIR "/models/records")

static void an_option_that_may_change_what_is_made_is_in_the_key(void **state) {
  world *w = *state;
  machine = *neo_machine_named("x86-64-v3");
  machine.hz *= 2;
  second_path = neo_path_join(&w->arena, w->folder, "second.expr");
  write_text(second_path, model);
#define X(name, change)                                       \
  {                                                           \
    neo_compile_options changed = w->plain, *o = &changed;    \
    change;                                                   \
    if (build(o))                                             \
      fail_msg("a build with another %s is found", #name);    \
    if (!build(o))                                            \
      fail_msg("a build with another %s is not kept", #name); \
  }
  CHANGES(X)
#undef X
  assert_true(build(&w->plain));
}

/* ---- options that are not */

static void told(void *ctx, const char *what, size_t done, size_t of) {
  (void)what, (void)done, (void)of;
  ++*(int *)ctx;
}

static void folders_libraries_and_listeners_are_not_in_the_key(void **state) {
  world *w = *state;
  static const volatile int32_t cancel;
  int count = 0;
  neo_compile_options o = w->plain;
  o.out_dir = neo_path_join(&w->arena, w->folder, "elsewhere");
  o.depfile = neo_path_join(&w->arena, w->folder, "d");
  o.lib_dir = "/nowhere";
  o.progress = told;
  o.progress_ctx = &count;
  o.cancel = &cancel;
  o.cache_named = true;
  assert_true(build(&o));
  assert_true(count > 0);
  assert_true(neo_path_exists(neo_path_join(&w->arena, o.out_dir, "libnet.a")));
  assert_true(neo_path_exists(neo_path_join(&w->arena, o.out_dir, "net.h")));
  assert_true(neo_path_exists(o.depfile));
}

static void a_model_from_memory_and_one_from_a_file_are_one_model(void **state) {
  world *w = *state;
  neo_compile_options o = w->plain;
  o.text = model;
  o.text_bytes = strlen(model);
  assert_true(build(&o));
  o.text_bytes--; /* the last newline */
  assert_false(build(&o));
}

/* ---- options for which nothing is kept */

static neo_status no_change(void *ctx, neo_module *m) {
  (void)ctx, (void)m;
  return NEO_OK;
}

static neo_schedule the_default(void *ctx, neo_compilation *c, const neo_group *g) {
  (void)ctx;
  return neo_schedule_default(c->module, g, &c->machine);
}

static neo_schedule the_segments_default(void *ctx, neo_module *m, const neo_group *g,
                                         const neo_machine *on) {
  (void)ctx;
  return neo_schedule_default(m, g, on);
}

static void dump(void *ctx, const char *pass, const neo_module *m, bool changed) {
  (void)ctx, (void)pass, (void)m, (void)changed;
}

static void a_build_by_functions_or_with_checks_is_neither_found_nor_kept(void **state) {
  world *w = *state;
  neo_compile_options o[7];
  neo_records none;
  neo_records_init(&none, &w->arena);
  for (int k = 0; k < 7; k++)
    o[k] = w->plain;
  o[0].prepare = no_change;
  o[1].schedule = the_default;
  o[2].segment_schedule = the_segments_default;
  o[3].check_facts = true;
  o[4].more_records = &none;
  o[5].passes.dump_after = "all";
  o[5].passes.dump = dump;
  o[6].fusion.profile = &neo_machine_named("x86-64-v3")->profile;
  for (int k = 0; k < 7; k++) {
    assert_false(build(&o[k]));
    assert_false(build(&o[k]));
  }
}

/* ---- files */

static const char *file_in(world *w, const char *name) {
  return neo_path_join(&w->arena, w->folder, name);
}

static void a_changed_model_is_another_build(void **state) {
  world *w = *state;
  char *other = neo_arena_strdup(&w->arena, model);
  strstr(other, "0.5")[0] = '1';
  write_text(w->plain.path, other);
  assert_false(build(&w->plain));
  write_text(w->plain.path, model);
  assert_true(build(&w->plain));
}

static void a_changed_module_is_another_build(void **state) {
  world *w = *state;
  write_text(file_in(w, "own.expr"), "fn twice(x[..]) -> y {\n  y[..] = 2*x[..]\n}\n");
  write_text(w->plain.path, "import own\ninput X[4]\nY = own.twice(X)\noutput Y\n");
  assert_false(build(&w->plain));
  assert_true(build(&w->plain));
  write_text(file_in(w, "own.expr"), "fn twice(x[..]) -> y {\n  y[..] = 3*x[..]\n}\n");
  assert_false(build(&w->plain));
  assert_true(build(&w->plain));
  write_text(file_in(w, "own.expr"), "fn twice(x[..]) -> y {\n  y[..] = 2*x[..]\n}\n");
  assert_true(build(&w->plain));
}

static void a_module_that_appears_earlier_in_the_path_is_another_build(void **state) {
  world *w = *state;
  assert_true(build(&w->plain));
  write_text(file_in(w, "nn.expr"), "fn f(x[..]) -> y {\n  y[..] = x[..]\n}\n");
  assert_false(build(&w->plain));
  assert_true(build(&w->plain));
  assert_int_equal(unlink(file_in(w, "nn.expr")), 0);
  assert_false(build(&w->plain)); /* the list of paths was that of the build in between */
  assert_true(build(&w->plain));
}

static void records_that_change_or_appear_are_another_build(void **state) {
  world *w = *state;
  const neo_records_source from[] = {{.path = file_in(w, "records"), .optional = true}, {0}};
  const char *why = NULL;
  neo_compile_options o = w->plain;
  neo_record r = {.key = {1, 2},
                  .threads = 1,
                  .target = "t",
                  .build = "b",
                  .name = "n",
                  .schedule = "s",
                  .time_ns = 1,
                  .default_ns = 2};
  o.records = from;
  assert_false(build(&o));
  assert_true(build(&o));
  for (int k = 0; k < 2; k++) {
    assert_int_equal(neo_record_append(&neo_io_default, &w->arena, from[0].path, &r, 0, &why), 0);
    assert_false(build(&o));
    assert_true(build(&o));
  }
}

static void with_a_model_that_has_errors_nothing_is_kept(void **state) {
  world *w = *state;
  write_text(w->plain.path, "output Y\n");
  for (int k = 0; k < 2; k++) {
    neo_compilation c;
    neo_compilation_init(&c, &w->plain);
    assert_int_equal(neo_compile_all(&c), NEO_INPUT);
    assert_false(c.found);
    assert_null(c.why);
    assert_int_equal(neo_diags_errors(c.diags), 1);
    neo_compilation_free(&c);
  }
}

/* ---- what is found */

static const char *said(world *w, const neo_compile_options *o, bool found) {
  neo_compilation c;
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_compilation_init(&c, o);
  assert_int_equal(neo_compile_all(&c), NEO_OK);
  assert_int_equal(c.found, found);
  neo_diags_print(c.diags, &s, true);
  neo_diags_print_json(c.diags, &s);
  neo_summary made = neo_compile_summary(&c);
  neo_str_addf(&s, "%zu %zu %s %lld", made.kernels, made.entries.n, made.entries.at[0].name,
               (long long)made.entries.at[0].frame_bytes);
  neo_compilation_free(&c);
  return neo_str_text(&s);
}

static void diagnostics_and_summary_are_those_of_the_first_build(void **state) {
  world *w = *state;
  write_text(file_in(w, "own.expr"),
             "fn part(x[I]) -> y {\n  dim B = 2\n  y[i] = x[i]*f32(I/B)\n}\n");
  write_text(w->plain.path, "import own\ndim A = 7\ndim B = 2\ninput X[A]\nparam unused[3] = 0\n"
                            "Y = own.part(X)\nZ[i] = Y[i]*f32(A/B)\noutput Z\n");
  const char *first = said(w, &w->plain, false);
  assert_non_null(strstr(first, "warning"));
  assert_string_equal(said(w, &w->plain, true), first);
}

static void after_one_kernel_changed_the_others_are_found(void **state) {
  world *w = *state;
  neo_compile_options o = w->plain;
  o.cache = file_in(w, "kernels");
  static const char two[] = "input X[64, 64]\nY[i, j] = sum[k] X[i, k]*X[k, j]\n"
                            "Z[i] = max[j] Y[i, j]*%s\noutput Z\noutput Y\n";
  write_text(o.path, neo_arena_printf(&w->arena, two, "2"));
  assert_false(build(&o));
  char *n,
      *counted = neo_arena_printf(&w->arena, "ls %s | grep -c kernel >%s/n", o.cache, w->folder);
  size_t bytes;
  assert_int_equal(system(counted), 0);
  assert_int_equal(neo_file_read(&neo_io_default, &w->arena, file_in(w, "n"), 0, &n, &bytes), 0);
  int before = atoi(n);
  write_text(o.path, neo_arena_printf(&w->arena, two, "3"));
  assert_false(build(&o));
  assert_int_equal(system(counted), 0);
  assert_int_equal(neo_file_read(&neo_io_default, &w->arena, file_in(w, "n"), 0, &n, &bytes), 0);
  assert_true(before >= 2);
  assert_int_equal(atoi(n), before + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_option_that_may_change_what_is_made_is_in_the_key),
      TEST(folders_libraries_and_listeners_are_not_in_the_key),
      TEST(a_model_from_memory_and_one_from_a_file_are_one_model),
      TEST(a_build_by_functions_or_with_checks_is_neither_found_nor_kept),
      TEST(a_changed_model_is_another_build),
      TEST(a_changed_module_is_another_build),
      TEST(a_module_that_appears_earlier_in_the_path_is_another_build),
      TEST(records_that_change_or_appear_are_another_build),
      TEST(with_a_model_that_has_errors_nothing_is_kept),
      TEST(diagnostics_and_summary_are_those_of_the_first_build),
      TEST(after_one_kernel_changed_the_others_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
