/* The pass runner. */
#include "ir/pass.h"
#include "tests/fault.h"
#include "tests/ir/ir_test.h"
#include <string.h>

static void add_tensor(neo_module *m, const char *name) {
  (void)neo_tensor_add(m, (neo_tensor_rec){.role = NEO_ROLE_INPUT,
                                           .type = NEO_F32_T,
                                           .name = neo_name_of(m->names, name)});
}

static neo_status adds_one(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  add_tensor(m, "one");
  return NEO_OK;
}

static neo_status adds_two(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  add_tensor(m, "two");
  return NEO_OK;
}

static neo_status does_nothing(const neo_pass_context *pass) {
  (void)pass;
  return NEO_OK;
}

static neo_status breaks(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  m->tensors.at[1].role = 99;
  return NEO_OK;
}

static neo_status complains(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_diag(m->diags, 0, NEO_D_INTERNAL, "the program is wrong");
  return NEO_OK;
}

static neo_status fails(const neo_pass_context *pass) {
  (void)pass;
  return NEO_UNSUPPORTED;
}

/* Takes more memory than there is. */
static neo_status eats(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (int k = 0; k < 100; k++)
    (void)neo_arena_printf(m->arena, "%*s", 1 << 20, "");
  return NEO_OK;
}

/* As a pass that finds something of its own that is not as it must be. */
static neo_status is_broken(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  return neo_pass_broken(m, (neo_def){0}, "a sum of products has no products");
}

/* Writes what it is told of the machine into the module's name. */
static neo_status tells(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  m->name =
      neo_name_of(m->names, neo_arena_printf(m->arena, "%u %d", (unsigned)pass->target->gpu_threads,
                                             pass->target->bf16_pairs));
  return NEO_OK;
}

static neo_status runs_in_chunks(const neo_pass_context *pass) {
  neo_def_rec r = {.chunk_loop = 1};
  NEO_PUSH(pass->m->arena, &pass->m->defs, r);
  return NEO_OK;
}

typedef struct {
  char seen[128];
} dumps;

static void note(void *ctx, const char *pass, const neo_module *m, bool changed) {
  dumps *d = ctx;
  (void)m;
  strcat(d->seen, pass);
  strcat(d->seen, changed ? "+ " : "- ");
}

static const neo_pass_target processor = {0};

static const neo_pass passes[] = {{"one", adds_one, "adds a tensor", false, NEO_WHEN_ALL, 0, 0},
                                  {"idle", does_nothing, "does nothing", false, NEO_WHEN_ALL, 0, 0},
                                  {"two", adds_two, "adds another", true, NEO_WHEN_ALL, 0, 0}};

static void passes_run_in_order_and_say_what_changed(void **state) {
  neo_module *m = *state;
  dumps d = {""};
  neo_pass_options o = {.verify = true, .dump_after = "all", .dump = note, .dump_ctx = &d};
  assert_int_equal(neo_passes_run(m, &processor, passes, 3, &o), NEO_OK);
  assert_string_equal(d.seen, "one+ idle- two+ ");
  assert_true(neo_tensor_find(m, "one").i < neo_tensor_find(m, "two").i);
}

static void a_pass_is_switched_off_unless_required(void **state) {
  neo_module *m = *state;
  dumps d = {""};
  const char *const skip[] = {"one", "two", NULL};
  neo_pass_options o = {.skip = skip, .dump_after = "two", .dump = note, .dump_ctx = &d};
  assert_int_equal(neo_passes_run(m, &processor, passes, 3, &o), NEO_OK);
  assert_string_equal(d.seen, "two+ ");
  assert_int_equal(neo_tensor_find(m, "one").i, 0);
}

static void says(neo_module *m, const char *part) {
  neo_str s = neo_str_in(m->arena);
  neo_diags_print(m->diags, &s, false);
  assert_non_null(strstr(neo_str_text(&s), part));
}

static void a_pass_may_break_only_the_properties_of_its_row(void **state) {
  neo_module *m = *state;
  neo_pass chunks = {"chunks", runs_in_chunks, "", false, NEO_WHEN_ALL, 0, 0};
  neo_pass_options o = {.verify = true};
  assert_int_equal(neo_passes_run(m, &processor, &chunks, 1, &o), NEO_INTERNAL);
  says(m, "pass chunks breaks: no definition runs in chunks of a loop");
}

static void a_pass_does_not_run_without_the_properties_that_it_needs(void **state) {
  neo_module *m = *state;
  neo_pass late[] = {{"chunks", runs_in_chunks, "", false, NEO_WHEN_ALL, 0, NEO_HAS_UNCHUNKED},
                     {"late", adds_one, "", false, NEO_WHEN_ALL, NEO_HAS_UNCHUNKED, 0}};
  neo_pass_options o = {0};
  assert_int_equal(neo_passes_run(m, &processor, late, 2, &o), NEO_INTERNAL);
  assert_int_equal(neo_tensor_find(m, "one").i, 0);
  says(m, "pass late needs: no definition runs in chunks of a loop");
}

static void a_broken_module_is_found_after_the_pass_that_broke_it(void **state) {
  neo_module *m = *state;
  neo_pass bad[] = {passes[0], {"bad", breaks, "", false, NEO_WHEN_ALL, 0, 0}, passes[2]};
  neo_pass_options o = {.verify = true};
  assert_int_equal(neo_passes_run(m, &processor, bad, 3, &o), NEO_INTERNAL);
  assert_int_equal(neo_tensor_find(m, "two").i, 0);
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_diags_print(m->diags, &s, false);
  assert_non_null(strstr(neo_str_text(&s), "after bad: tensor 'one': the role is unknown"));
}

static void errors_and_failures_stop_the_run(void **state) {
  neo_module *m = *state;
  neo_pass_options o = {.verify = true};
  neo_pass failing[] = {{"fails", fails, "", false, NEO_WHEN_ALL, 0, 0}, passes[0]};
  assert_int_equal(neo_passes_run(m, &processor, failing, 2, &o), NEO_UNSUPPORTED);
  neo_pass complaining[] = {{"complains", complains, "", false, NEO_WHEN_ALL, 0, 0}, passes[0]};
  assert_int_equal(neo_passes_run(m, &processor, complaining, 2, &o), NEO_INPUT);
  assert_int_equal(neo_tensor_find(m, "one").i, 0);
}

static void a_pass_that_fails_without_a_word_is_named(void **state) {
  neo_module *m = *state;
  neo_pass_options o = {0};
  neo_pass failing[] = {{"fails", fails, "", false, NEO_WHEN_ALL, 0, 0}};
  assert_int_equal(neo_passes_run(m, &processor, failing, 1, &o), NEO_UNSUPPORTED);
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_diags_print(m->diags, &s, false);
  assert_non_null(strstr(neo_str_text(&s), "pass fails: not supported on this machine"));
}

static void what_a_pass_finds_broken_is_told_as_an_internal_error(void **state) {
  neo_module *m = *state;
  const char *failed = NULL;
  neo_pass_options o = {.verify = true, .failed = &failed};
  neo_pass broken[] = {passes[0], {"broken", is_broken, "", false, NEO_WHEN_ALL, 0, 0}, passes[2]};
  assert_int_equal(neo_passes_run(m, &processor, broken, 3, &o), NEO_INTERNAL);
  assert_string_equal(failed, "broken");
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_diags_print(m->diags, &s, false);
  assert_non_null(strstr(neo_str_text(&s), "internal error: a sum of products has no products"));
  assert_null(strstr(neo_str_text(&s), "pass broken"));
}

static void the_end_of_memory_in_a_pass_is_its_failure(void **state) {
  (void)state;
  neo_alloc_fault fault = {.fail_at = 20, .forever = true};
  neo_arena a;
  neo_arena_init(&a, neo_alloc_with_fault(&fault), NULL);
  neo_names *names = neo_names_new(&a);
  neo_module *m = neo_module_new(&a, names, neo_diags_new(&a, neo_sources_new(&a)), "test");
  const char *failed = NULL;
  neo_pass_options o = {.verify = true, .failed = &failed};
  neo_pass eating[] = {passes[0], {"eats", eats, "", false, NEO_WHEN_ALL, 0, 0}, passes[2]};
  assert_int_equal(neo_passes_run(m, &processor, eating, 3, &o), NEO_MEMORY);
  assert_string_equal(failed, "eats");
  assert_null(a.on_fail);
  assert_int_equal(neo_tensor_find(m, "two").i, 0);
  neo_arena_free(&a);
}

static void each_pass_is_told_the_target(void **state) {
  neo_module *m = *state;
  neo_pass one[] = {{"tells", tells, "", false, NEO_WHEN_ALL, 0, 0}};
  neo_pass_options o = {.verify = true};
  neo_pass_target gpu = {.gpu_threads = 1024, .bf16_pairs = true};
  assert_int_equal(neo_passes_run(m, &gpu, one, 1, &o), NEO_OK);
  assert_string_equal(neo_name_text(m->names, m->name), "1024 1");
  assert_int_equal(neo_passes_run(m, &processor, one, 1, &o), NEO_OK);
  assert_string_equal(neo_name_text(m->names, m->name), "0 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(passes_run_in_order_and_say_what_changed),
      TEST(a_pass_is_switched_off_unless_required),
      TEST(a_pass_may_break_only_the_properties_of_its_row),
      TEST(a_pass_does_not_run_without_the_properties_that_it_needs),
      TEST(a_broken_module_is_found_after_the_pass_that_broke_it),
      TEST(errors_and_failures_stop_the_run),
      TEST(a_pass_that_fails_without_a_word_is_named),
      TEST(what_a_pass_finds_broken_is_told_as_an_internal_error),
      TEST(the_end_of_memory_in_a_pass_is_its_failure),
      TEST(each_pass_is_told_the_target),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
