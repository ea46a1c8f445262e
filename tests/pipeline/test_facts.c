/* Checked facts: a pass that changes a result, or breaks what holds, is found and named. */
#include "autodiff/autodiff.h"
#include "tests/pipeline/plan_world.h"
#include "tools/pipeline/facts.h"
#include "transform/transform.h"
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\n"
#define SUM                                                                                \
  HEAD "input x : f32 [4]\ntemp s : f32 []\ndef @1 s[] =\n  sum[i: 4] x[i]\n  then acc0\n" \
       "entry forward forward: s = s\n"
#define SQUARE                                                               \
  HEAD "input x : f32 [8]\ntemp y : f32 [8]\ndef @1 y[i: 8] = x[i] * x[i]\n" \
       "entry forward forward: y = y\n"

static neo_status drops_a_term(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def_axis(m, &m->defs.at[1], 0)->hi = neo_const_int(m, NEO_I64_T, 3);
  return NEO_OK;
}

static neo_status reads_too_far(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def_axis(m, &m->defs.at[1], 0)->hi = neo_const_int(m, NEO_I64_T, 5);
  return NEO_OK;
}

static neo_expr next_element(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  bool axis = neo_expr_node(m, e)->op == NEO_OP_AXIS;
  return axis ? neo_op2(m, NEO_OP_MOD, neo_op2(m, NEO_OP_ADD, e, neo_const_int(m, NEO_I64_T, 1)),
                        neo_const_int(m, NEO_I64_T, 8))
              : e;
}

static neo_status rotates(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def_rewrite(m, (neo_def){1}, next_element, NULL);
  return NEO_OK;
}

static neo_status rotates_before_autodiff(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def_rewrite(m, (neo_def){1}, next_element, NULL);
  return neo_pass_autodiff(pass);
}

static neo_expr swapped_products(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  if (neo_expr_node(m, e)->op != NEO_OP_MUL)
    return e;
  neo_expr x = neo_expr_arg(m, e, 0), one = neo_const_float(m, NEO_F32_T, 1);
  return neo_op2(m, NEO_OP_MUL, neo_op2(m, NEO_OP_MUL, one, x), x);
}

static neo_status rewrites_well(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def_rewrite(m, (neo_def){1}, swapped_products, NULL);
  return NEO_OK;
}

static void bounds_too_low(neo_module *m, int64_t bound) {
  neo_tensor_at(m, neo_tensor_find(m, "h"))->bound = neo_const_int(m, NEO_I64_T, bound);
}

static neo_status derives_a_false_bound(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  bounds_too_low(m, 5);
  return NEO_OK;
}

static neo_status derives_a_bound(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  bounds_too_low(m, 11);
  return NEO_OK;
}

/* The diagnostics of the checked run of one pass. */
static const char *told(plan_world *w, const char *text, neo_pass_fn *run) {
  neo_str out;
  world_open(w);
  world_parse(w, text);
  neo_module *m = w->c.module;
  neo_pass pass = {"guilty", run, "a pass of a test", false, NEO_WHEN_ALL, 0, 0};
  neo_pass_target target = {0};
  neo_pass_options o = {.check = neo_fact_check_run, .check_ctx = neo_fact_check_new(m->arena)};
  neo_status s = neo_fact_check_run(o.check_ctx, m, NULL);
  if (!s)
    s = neo_passes_run(m, &target, &pass, 1, &o);
  neo_str_init(&out, m->arena);
  neo_diags_print(m->diags, &out, false);
  assert_int_equal(s != NEO_OK, neo_diags_errors(m->diags) > 0);
  return neo_str_text(&out);
}

static void expect(const char *text, neo_pass_fn *run, const char *part) {
  plan_world w;
  const char *out = told(&w, text, run);
  if (part ? !strstr(out, part) : *out)
    fail_msg("not \"%s\" but \"%s\"", part ? part : "", out);
  world_close(&w);
}

static void a_pass_that_changes_a_result_is_named(void **state) {
  (void)state;
  expect(SUM, drops_a_term, "pass 'guilty' changes s: ");
  expect(SQUARE, rotates, "pass 'guilty' changes y[");
}

static void a_pass_that_reads_outside_of_a_tensor_is_named(void **state) {
  (void)state;
  expect(SUM, reads_too_far, "pass 'guilty' breaks a fact: s reads x at index 4");
}

static void a_pass_that_derives_a_false_bound_is_named(void **state) {
  static const char text[] = HEAD "temp h : i32 [6]\ndef @1 h[i: 6] = i32(i * 2)\n"
                                  "entry forward forward: h = h\n";
  (void)state;
  expect(text, derives_a_false_bound, "pass 'guilty' breaks a fact: h: element 3 is 6");
  expect(text, derives_a_bound, NULL);
}

static void a_pass_that_changes_what_autodiff_makes_is_found(void **state) {
  static const char text[] =
      HEAD "input x : f32 [8]\ntemp y : f32 [8]\ntemp l : f32 []\ntemp g : f32 [8]\n"
           "def @1 y[i: 8] = x[i]\n"
           "def @2 l[] =\n  sum[i: 8] y[i] * y[i]\n  then acc0\n"
           "entry forward forward: g = g\ngradient of l for y into g\n";
  (void)state;
  expect(text, rotates_before_autodiff, "pass 'guilty' changes g[0]: ");
  expect(text, neo_pass_autodiff, NULL);
}

static neo_status makes_gradients(const neo_pass_context *pass) {
  neo_status s = neo_pass_wrapping(pass);
  return s ? s : neo_pass_autodiff(pass);
}

static void gradients_at_subscripts_that_wrap_are_known(void **state) {
  static const char text[] =
      HEAD "input x : f32 [8]\ntemp y : f32 [8]\ntemp l : f32 []\ntemp g : f32 [8]\n"
           "def @1 y[i: 8] = (x[i * 4611686018427387904] else 0.5)\n"
           "def @2 l[] =\n  sum[i: 8] y[i]\n  then acc0\n"
           "entry forward forward: g = g\ngradient of l for x into g\n";
  (void)state;
  expect(text, makes_gradients, NULL);
}

static void a_pass_that_rounds_otherwise_changes_nothing(void **state) {
  (void)state;
  expect(SQUARE, rewrites_well, NULL);
}

static void a_false_bound_of_the_program_is_the_frontends(void **state) {
  (void)state;
  expect(HEAD "temp h : i32 [6] < 5\ndef @1 h[i: 6] = i32(i)\nentry forward forward: h = h\n",
         rewrites_well, "the frontend breaks a fact: h: element 5 is 5");
}

static neo_status starts_later(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_def_axis(m, &m->defs.at[1], 0)->lo = neo_const_int(m, NEO_I64_T, 1);
  return NEO_OK;
}

static void parameters_of_floats_have_values_of_all_kinds(void **state) {
  static const char text[] =
      HEAD "param w : f32 [4]\ntemp s : f32 []\n"
           "def @1 s[] =\n  sum[i: 4] w[i]\n  then acc0\nentry forward forward: s = s\n";
  (void)state;
  expect(text, drops_a_term, "pass 'guilty' changes s: ");
}

static void large_programs_are_not_evaluated(void **state) {
  (void)state;
  for (int large = 0; large < 2; large++) {
    plan_world w;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    const char *text = neo_arena_printf(
        &a,
        HEAD "input x : f32 [%s]\ntemp s : f32 []\ndef @1 s[] =\n  sum[i: 9] x[i]\n  then acc0\n"
             "entry forward forward: s = s\n",
        large ? "900000" : "9");
    assert_int_equal(!*told(&w, text, starts_later), large);
    world_close(&w);
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pass_that_changes_a_result_is_named),
      cmocka_unit_test(a_pass_that_reads_outside_of_a_tensor_is_named),
      cmocka_unit_test(a_pass_that_derives_a_false_bound_is_named),
      cmocka_unit_test(a_pass_that_changes_what_autodiff_makes_is_found),
      cmocka_unit_test(gradients_at_subscripts_that_wrap_are_known),
      cmocka_unit_test(a_pass_that_rounds_otherwise_changes_nothing),
      cmocka_unit_test(parameters_of_floats_have_values_of_all_kinds),
      cmocka_unit_test(large_programs_are_not_evaluated),
      cmocka_unit_test(a_false_bound_of_the_program_is_the_frontends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
