/* The checker by golden files: programs and the IR that they become (tests/golden/check), broken
 * programs and their messages (tests/golden/errors), and what must hold for every valid program. */
#include "frontend/frontend.h"
#include "ir/order.h"
#include "ir/print.h"
#include "parse_test.h"
#include <string.h>

static const char *const folders[] = {NEO_TEST_SOURCE_DIR "/models/std",
                                      NEO_TEST_SOURCE_DIR "/tests/golden/modules", NULL};

typedef struct {
  neo_arena *arena;
  neo_names *names;
  neo_diags *diags;
  neo_module *module;
} checked;

static checked check_with(neo_arena *a, const char *path, const char *text, size_t n,
                          neo_frontend_options o) {
  checked c = {.arena = a, .names = neo_names_new(a)};
  c.diags = neo_diags_new(a, neo_sources_new(a));
  o.import_paths = folders;
  c.module = neo_frontend(a, c.names, c.diags, path, text, n, &o);
  return c;
}

static checked check_text(neo_arena *a, const char *text) {
  return check_with(a, "m.expr", text, strlen(text), (neo_frontend_options){0});
}

static const char *messages(const checked *c) {
  neo_str s;
  neo_str_init(&s, c->arena);
  neo_diags_print(c->diags, &s, false);
  return neo_str_text(&s);
}

/* Without the folder of the sources, which differs from machine to machine. */
static const char *without_folder(neo_arena *a, const char *text) {
  static const char folder[] = NEO_TEST_SOURCE_DIR "/";
  neo_str s;
  neo_str_init(&s, a);
  for (const char *at; (at = strstr(text, folder)) != NULL; text = at + strlen(folder))
    neo_str_addn(&s, text, (size_t)(at - text));
  neo_str_add(&s, text);
  return neo_str_text(&s);
}

static const char *printed(const neo_module *m) {
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_module_print(m, &s);
  return neo_str_text(&s);
}

/* The IR verifies, and its text parses back to the same text. */
static void check_module(const checked *c) {
  neo_str why;
  neo_str_init(&why, c->arena);
  if (neo_module_check(c->module, &why) != NEO_OK)
    fail_msg("%s", neo_str_text(&why));
  const char *text = printed(c->module);
  neo_module *again = neo_module_parse(c->arena, c->names, c->diags, "m.ir", text, strlen(text));
  if (!again)
    fail_msg("%s\n%s", messages(c), text);
  assert_string_equal(printed(again), text);
}

static const char *valid_result(neo_arena *a, const char *name, const char *text, size_t n) {
  checked c = check_with(a, name, text, n, (neo_frontend_options){0});
  if (!c.module)
    fail_msg("%s:\n%s", name, messages(&c));
  check_module(&c);
  return printed(c.module);
}

static const char *message_result(neo_arena *a, const char *name, const char *text, size_t n) {
  checked c = check_with(a, name, text, n, (neo_frontend_options){0});
  if (c.module && !*messages(&c)) /* warnings come with a module */
    fail_msg("%s: no message", name);
  return without_folder(a, messages(&c));
}

static void test_valid_programs_become_this_ir(void **state) {
  (void)state;
  check_golden_folder(NEO_TEST_SOURCE_DIR "/tests/golden/check", valid_result);
}

static void test_programs_get_these_messages(void **state) {
  (void)state;
  check_golden_folder(NEO_TEST_SOURCE_DIR "/tests/golden/errors", message_result);
}

/* ---- every message has an example */

/* The rows of diag.def that this part reports; the file of MODULE_UNREADABLE cannot be committed,
 * NO_ENTRY is reported where kernels are made, TOO_MANY where a library is planned.
 * */
static const char *const codes_of_checker[] = {
#define X(id, code, severity, format) code,
#include "base/diag.def"
#undef X
};

static bool is_checked(const char *code) {
  bool syntax = strncmp(code, "E00", 3) == 0, later = strcmp(code, "E0600") >= 0;
  bool elsewhere = strcmp(code, "E0500") >= 0 && strcmp(code, "E0510") < 0;
  bool limit = strcmp(code, "E0910") >= 0 && strcmp(code, "E0920") < 0;
  bool other = neo_streq(code, "E0104") || neo_streq(code, "E0108") || neo_streq(code, "E0230") ||
               neo_streq(code, "E0439") || neo_streq(code, "E0913") ||
               neo_streq(code, "E0918");
  return !syntax && (!later || limit) && !elsewhere && !other;
}

static neo_str all_messages;

static const char *gather_messages(neo_arena *a, const char *name, const char *text, size_t n) {
  const char *own = message_result(a, name, text, n);
  neo_str_add(&all_messages, own);
  return own;
}

static void test_every_message_has_a_golden_file(void **state) {
  neo_arena a;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&all_messages, &a);
  check_golden_folder(NEO_TEST_SOURCE_DIR "/tests/golden/errors", gather_messages);
  for (size_t k = 0; k < sizeof codes_of_checker / sizeof codes_of_checker[0]; k++)
    if (is_checked(codes_of_checker[k]) &&
        !strstr(neo_str_text(&all_messages), codes_of_checker[k]))
      fail_msg("no golden file for %s", codes_of_checker[k]);
  neo_arena_free(&a);
}

/* ---- what has no golden form */

static void in_arena(void (*f)(neo_arena *a)) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  f(&a);
  neo_arena_free(&a);
}

static void define_replaces(neo_arena *a) {
  const neo_define_option one = {"B", 7}, other = {"C", 7};
  const char *text = "dim B = 4\ninput X[B]\ny[i] = X[i]\noutput y\n";
  checked c = check_with(a, "m.expr", text, strlen(text),
                         (neo_frontend_options){.n_defines = 1, .defines = &one});
  assert_non_null(c.module);
  assert_non_null(strstr(printed(c.module), "input X : f32 [7]"));
  c = check_with(a, "m.expr", text, strlen(text),
                 (neo_frontend_options){.n_defines = 1, .defines = &other});
  assert_null(c.module);
  assert_non_null(strstr(messages(&c), "error[E0108]: -D C"));
}

static void test_define_replaces_a_constant_dim(void **state) {
  (void)state;
  in_arena(define_replaces);
}

static void define_fixes(neo_arena *a) {
  const neo_define_option one = {"B", 7}, many = {"B", 9};
  const char *text = "dim 2 <= B <= 8\ninput X[B]\ny[i] = X[i]\noutput y\n";
  checked c = check_with(a, "m.expr", text, strlen(text),
                         (neo_frontend_options){.n_defines = 1, .defines = &one});
  assert_non_null(c.module);
  assert_non_null(strstr(printed(c.module), "input X : f32 [7]"));
  c = check_with(a, "m.expr", text, strlen(text),
                 (neo_frontend_options){.n_defines = 1, .defines = &many});
  assert_null(c.module);
  assert_non_null(strstr(messages(&c), "error[E0230]: -D B=9: the size lies between 2 and 8"));
}

static void test_define_fixes_a_run_time_size_within_its_bounds(void **state) {
  (void)state;
  in_arena(define_fixes);
}

static void limit_holds(neo_arena *a) {
  const char *text = "fn f(x) -> y {\n a = x + 1\n y = a + 1\n}\n"
                     "fn g(x) -> y { y = f(x) + f(x) + f(x) + f(x) }\n"
                     "fn h(x) -> y { y = g(x) + g(x) + g(x) + g(x) }\n"
                     "fn k(x) -> y { y = h(x) + h(x) + h(x) + h(x) }\n"
                     "input x\nz = k(x)\noutput z\n";
  checked c = check_with(a, "m.expr", text, strlen(text), (neo_frontend_options){.limit = 100});
  assert_null(c.module);
  assert_int_equal(neo_diags_errors(c.diags), 1);
  assert_non_null(strstr(messages(&c), "E0913"));
  /* what is not defined any more, since statements were left out, is no second fault */
  const char *blocks = "fn f(x) -> y {\n a = x + 1\n y = a + 1\n}\n"
                       "fn g(x) -> y, z {\n y = f(x) + f(x) + f(x)\n z = f(y)\n}\n"
                       "fn h(x) -> y, z {\n a, z = g(x)\n b, y = g(a)\n}\n"
                       "input x\np, q = h(x)\nr, s = h(p)\n"
                       "t = repeat k < 3 from u = q {\n next u = f(f(u))\n}\n"
                       "output r, s, t\n";
  for (uint32_t limit = 1; limit < 60; limit++) {
    c = check_with(a, "m.expr", blocks, strlen(blocks), (neo_frontend_options){.limit = limit});
    assert_int_equal(neo_diags_errors(c.diags), c.module ? 0 : 1);
  }
}

static void broken_push(neo_arena *a) {
  checked c =
      check_text(a, "graph G(children <= 2, vertices <= 9)\ninput x[G.vertices]\n"
                    "vertex f(x) over G {\n  gather h = 0\n  scatter h = x\n  push x, h\n}\n"
                    "y = f(x)\noutput y\n");
  assert_null(strstr(messages(&c), "E0416"));
  assert_non_null(strstr(messages(&c), "E0006"));
}

static void test_a_broken_push_is_not_a_missing_one(void **state) {
  (void)state;
  in_arena(broken_push);
}

static void test_a_small_program_cannot_grow_without_end(void **state) {
  (void)state;
  in_arena(limit_holds);
}

static void all_at_once(neo_arena *a) {
  checked c = check_text(a, "input X[4]\ny[i] = X[i + 1]\nz = Q\nw[i] = y[i] + z\n"
                            "v[i] = X[i] + true\n");
  assert_null(c.module);
  assert_int_equal(neo_diags_errors(c.diags), 3); /* y, z, v: w only uses what is broken */
}

static void test_all_errors_are_reported_and_none_follows_from_another(void **state) {
  (void)state;
  in_arena(all_at_once);
}

static void modules_are_read_once(neo_arena *a) {
  checked c = check_text(a, "import nn, nn as layers, optim\ninput X[4, 3]\n"
                            "y = nn.softmax(X)\nz = layers.softmax(X)\noutput y, z\n");
  if (!c.module)
    fail_msg("%s", messages(&c));
  check_module(&c);
}

static void test_a_module_may_have_several_names(void **state) {
  (void)state;
  in_arena(modules_are_read_once);
}

static void same_bytes(neo_arena *a) {
  const char *text = "import nn, optim\ndim B <= 8\ninput X[B, 4]\nh = nn.linear(X, out = 3)\n"
                     "l = mean[b, j] h[b, j]^2\ntrain l using optim.adam()\noutput h\n";
  checked c = check_text(a, text), d = check_text(a, text);
  assert_non_null(c.module);
  assert_string_equal(printed(c.module), printed(d.module));
}

static void test_the_same_text_gives_the_same_ir(void **state) {
  (void)state;
  in_arena(same_bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_valid_programs_become_this_ir),
      cmocka_unit_test(test_programs_get_these_messages),
      cmocka_unit_test(test_every_message_has_a_golden_file),
      cmocka_unit_test(test_define_replaces_a_constant_dim),
      cmocka_unit_test(test_define_fixes_a_run_time_size_within_its_bounds),
      cmocka_unit_test(test_a_small_program_cannot_grow_without_end),
      cmocka_unit_test(test_a_broken_push_is_not_a_missing_one),
      cmocka_unit_test(test_all_errors_are_reported_and_none_follows_from_another),
      cmocka_unit_test(test_a_module_may_have_several_names),
      cmocka_unit_test(test_the_same_text_gives_the_same_ir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
