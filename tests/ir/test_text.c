/* The text form: what is printed parses to the same text, and what is wrong is reported. */
#include "base/random.h"
#include "ir/element.h"
#include "ir/out_map.h"
#include "ir/print.h"
#include "tests/ir/ir_test.h"
#include <stdio.h>
#include <string.h>

/* Every kind of record and expression; the text is as the printer writes it. */
static const char *const whole =
    "neo-ir 1\n"
    "module \"two words\"\n"
    "sites 2\n"
    "size B 1..256\n"
    "size \"a b\" 0..9\n"
    "size P 0..128 = (B + 1) / 2\n"
    "input X : f32 [B, 784]\n"
    "input Y : i32 [B] < 10\n"
    "input child : i32 [B, 2] in -1..d0 + d1 * 2\n"
    "input back : i32 [B] < 9 in 1..\n"
    "input h.W : bf16 [2 * B, P]\n"
    "setting lr : f32 []\n"
    "param W1 : f32 [784, 128]\n"
    "state \"sum\" : f64 []\n"
    "const K : f32 [7] = {1.0, -2.5, inf, -inf, nan, -0.0, 1e-45}\n"
    "const KB : bool [2] = {true, false}\n"
    "const KI : i8 [3] = {-128, 127, 0}\n"
    "const KU : u8 [1] = {255}\n"
    "const KL : i64 [1] = {-9223372036854775808}\n"
    "const KH : f16 [2] = {6.55e+04, 6e-08}\n"
    "const KN : bf16 [0] = {}\n"
    "temp H : f32 [B, 128]\n"
    "temp V : f64 [B]\n"
    "temp I : i64 [B]\n"
    "temp ph : f32 [10]\n"
    "update ?20 : f32 [784, 128] of W1\n"
    "temp \"grad:W1\" : f32 [784, 128]\n"
    "cotangent \"dy\\\"\\\\\\n\" : f32 [B, 128]\n"
    "temp loss : f32 []\n"
    "temp all_ops : f32 [4]\n"
    "temp flags : bool [4]\n"
    "input kid : i64 [B, 3] in -1..d0\n"
    "temp level : i32 [B]\n"
    "temp first : i32 [B * 2 + 1]\n"
    "temp place : i32 [B]\n"
    "temp kind : i32 [B] < 2\n"
    "temp placed : i32 [B, 3] in -1..d0\n"
    "temp end : i32 [B]\n"
    "temp edge : i32 [B * 3]\n"
    "init @1 lr[] = 0.001\n"
    "init @2 W1[i: 784, j: 128] = rand(0, i * 128 + j) - 0.5\n"
    "init @3 \"sum\"[] = rand_f64(1, 0)\n"
    "def @5 H[b: B, j: 128] =\n"
    "    sum[i: 784] X[b, i] * W1[i, j]\n"
    "    then relu(acc0 + (K[j % 3] - -1.0) / 3.0)\n"
    "def @6 from @4 (V, I)[b: B] =\n"
    "    max[k: b / 2..b + 1]\n"
    "    let $0 = exp(f64(X[b, k]) - 1.0f64) * 2.0f64;\n"
    "    where $0 * $0 < 2e+05f64 and not (b == k or k < 2);\n"
    "    $0 * $0, k\n"
    "    then acc0 * inf_f64, acc1\n"
    "def @7 ph[p: 5] at [2*p] = 0.0\n"
    "def @8 ph[p: 5] at [2*p + 1] = select(p != 2, 1.0, nan)\n"
    "def @9 ?20[i: 784, j: 128] = W1[i, j] - lr[] * \"grad:W1\"[i, j]\n"
    "def @10 loss[] =\n"
    "    mean[b: B, p: P] where Y[b] < 3i32 and b < \"a b\";\n"
    "    (H[b, p + 3] else 0.0) + f32((h.W[b, p] else 1.0bf16))\n"
    "    then acc0 * f32(acc1) - f32(step) + select(training, 1.0, -1.0)\n"
    "def @11 all_ops[i: 4] = -pow(clamp(f32(i) / 2.0, -1.0, 1.0), -(1.0 + 2.0 % 3.0))\n"
    "def @12 flags[i: 4] = not (i <= 2) or KB[i % 2] and -3i8 == KI[0] and 3u8 != KU[0]\n"
    "def @13 levels (level, first, place, -, kind; placed, end, edge) kinds 2 [b: B, k: 3] = "
    "kid[b, k], Y[b]\n"
    "entry forward test: loss = loss, \"x:y\" = H\n"
    "entry train step: loss = loss; updates ?20\n"
    "entry init \"init\":\n"
    "gradient of loss for W1 into \"grad:W1\"\n"
    "gradient of H seed \"dy\\\"\\\\\\n\" for W1, W1 into \"grad:W1\", ?20 done\n"
    "gradient of H seed H batch 1 hold ph, V for X into X\n"
    "custom H, W1 -> loss with - -> -, \"grad:W1\"\n";

static const char *body_of(const char *text) {
  return strchr(text, '\n') + 1;
}

static void every_record_prints_as_it_was_written(void **state) {
  neo_module *m = test_parse(*state, body_of(whole));
  /* A label needs no quotes for being a reserved word. */
  char *want = neo_arena_strdup(m->arena, whole);
  char *quoted = strstr(want, "init \"init\":");
  memmove(quoted, "init init:  ", 12);
  memmove(quoted + 10, quoted + 12, strlen(quoted + 12) + 1);
  assert_string_equal(test_print(m), want);
}

static void records_hold_what_the_text_says(void **state) {
  neo_module *m = test_parse(*state, body_of(whole));
  neo_def_rec d = *neo_def_at(m, (neo_def){6});
  assert_int_equal(d.origin, 4);
  assert_int_equal(d.out.n, 2);
  assert_int_equal(d.reducer, NEO_RED_MAX);
  assert_int_equal(neo_tensor_at(m, neo_tensor_find(m, "Y"))->type, NEO_I32_T);
  neo_tensor_rec child = *neo_tensor_at(m, neo_tensor_find(m, "child"));
  neo_element_end end;
  assert_true(neo_element_end_of(m, child.below, 2, &end));
  assert_int_equal(end.coef[0], 1);
  assert_int_equal(end.coef[1], 2);
  assert_false(neo_tensor_at(m, neo_tensor_find(m, "back"))->below.i);
  assert_int_equal(m->n_sites, 2);
  assert_int_equal(m->entries.n, 3);
  assert_true(m->grads.at[1].done && !m->grads.at[0].done);
  assert_int_equal(neo_list_at(m, m->customs.at[0].dxs, 0), 0);
  assert_int_equal(neo_tensor_at(m, (neo_tensor){20})->updates.i, neo_tensor_find(m, "W1").i);
  assert_int_equal(neo_def_at(m, (neo_def){4})->out.n, 0); /* the gap */
  neo_tensor edge = neo_tensor_find(m, "edge"), first = neo_tensor_find(m, "first");
  assert_int_equal(neo_tensor_slots(m, edge), 3);
  assert_int_equal(neo_tensor_blocks(m, edge).i, first.i);
  assert_int_equal(neo_blocks_kinds(m, first), 2);
  assert_int_equal(neo_out_map_at(m, neo_def_at(m, (neo_def){8})->out_map, 0).offset, 1);
}

static void escapes_in_names_are_code_points(void **state) {
  neo_module *m = test_parse(*state, "input \"a\\u0041\\u00e9\\u20ac\\t\\/\" : f32 []\n");
  assert_true(neo_tensor_find(m, "aA\xc3\xa9\xe2\x82\xac\t/").i != 0);
}

static void statements_may_come_in_any_order_and_be_spaced_freely(void **state) {
  neo_module *m = test_parse(*state, "def y[i:N]= # the head\n"
                                     "\tx [ i ]*2.0   # comment\n"
                                     "  + 1.0\n"
                                     "\n"
                                     "temp y:f32[N]\n"
                                     "input x:f32[N]\n"
                                     "size N 1..4\n");
  assert_string_equal(test_print(m), "neo-ir 1\nsize N 1..4\ntemp y : f32 [N]\ninput x : f32 [N]\n"
                                     "def @1 y[i: N] = x[i] * 2.0 + 1.0\n");
}

/* Precedence and grouping: the text says exactly the tree. */
static void parentheses_appear_where_they_matter(void **state) {
  const char *const same[] = {"a - (b - c)", "a - b - c", "a * (b + c)", "-(a + b)", "-(-a)",
                              "a / (b * c)", "a % b % c", "-a * b",      "a - -2.0", "a + b * c"};
  neo_module *m = *state;
  for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
    char *text = neo_arena_printf(m->arena,
                                  "input a : f32 []\ninput b : f32 []\ninput c : f32 []\n"
                                  "temp y : f32 []\ndef @1 y[] = %s\n",
                                  same[k]);
    char *stripped = neo_arena_printf(m->arena, "%s%64s", text, ""); /* room to grow */
    char *to = strstr(stripped, "y[] = ");
    const char *from = strstr(text, "y[] = ");
    for (; *from; from++) { /* a, b, c are tensors: a[] */
      *to++ = *from;
      if (strchr("abc", *from) && from[1] != '[') {
        *to++ = '[';
        *to++ = ']';
      }
    }
    *to = 0;
    neo_module *p = test_parse(m, stripped);
    assert_string_equal(body_of(test_print(p)), stripped);
  }
}

static void deep_and_shared_expressions_stay_short_in_text(void **state) {
  neo_module *m = *state;
  neo_tensor y = neo_tensor_add(m, (neo_tensor_rec){.role = NEO_ROLE_TEMP,
                                                    .type = NEO_F32_T,
                                                    .name = neo_name_of(m->names, "y")});
  neo_expr e = neo_const_float(m, NEO_F32_T, 1);
  for (int k = 0; k < 300; k++) {
    e = neo_op1(m, NEO_OP_EXP, e);
    e = neo_op2(m, NEO_OP_ADD, e, e);
  }
  (void)neo_def_add(m, (neo_def_rec){.finish = test_list1(m, e), .out = neo_list_new(m, &y.i, 1)},
                    true);
  const char *text = test_print(m);
  assert_true(strlen(text) < 20000);
  neo_module *again = test_parse(m, body_of(text));
  assert_string_equal(test_print(again), text);
}

static void unnamed_and_equal_axes_get_names(void **state) {
  neo_module *m = test_parse(*state, "size i 1..9\ninput x : f32 [i, 3]\ntemp y : f32 [i, 3]\n"
                                     "def @1 y[a: i, b: 3] = x[a, b]\n");
  for (size_t k = 1; k < m->axes.n; k++)
    m->axes.at[k].name = neo_name_of(m->names, k == 1 ? "i" : "");
  const char *text = test_print(m);
  assert_non_null(strstr(text, "y[i_0: i, _1: 3] = x[i_0, _1]"));
  assert_string_equal(test_print(test_parse(m, body_of(text))), text);
}

typedef struct {
  const char *text, *message;
} mistake;

static const mistake mistakes[] = {
    {"input x : f33 []\n", "2:11: error[E0602]: expected a type, found 'f33'"},
    {"input x : f32 [\n", "error[E0602]"},
    {"input x : f32 []\ninput x : f32 []\n", "3:7: error[E0604]: tensor 'x' is declared twice"},
    {"temp y : f32 []\ndef y[] = z[]\n", "3:11: error[E0603]: unknown tensor 'z'"},
    {"temp y : f32 []\ndef y[] = foo(1.0)\n", "unknown function 'foo'"},
    {"temp y : f32 []\ndef y[] = 1.0 + 1\n", "error[E0605]: '+': arguments differ in type"},
    {"temp y : f32 []\ndef y[] = true + false\n", "bool has no arithmetic"},
    {"temp y : f32 []\ndef y[] = exp(1)\n", "arguments must be floats"},
    {"temp y : f32 []\ndef y[] = max(1.0)\n", "wrong number of arguments"},
    {"temp y : u8 []\ndef y[] = 256u8\n", "error[E0606]: number '256' is malformed"},
    {"temp y : f32 []\ndef y[] = 1e99\n", "error[E0606]"},
    {"temp y : f32 []\ndef y[] = 1.5i32\n", "error[E0606]"},
    {"temp y : f32 []\ndef y[] = i\n", "unknown axis or size 'i'"},
    {"temp y : f32 []\ndef y[] = acc0\n", "unknown result of the reduction"},
    {"temp y : f32 []\ndef y[] = $0\n", "unknown name '$0'"},
    {"temp y : f32 []\ndef y[] = rand(0, 1)\n", "unknown site"},
    {"temp y : f32 [2]\ndef y[i: 2, i: 2] = 1.0\n", "axis 'i' is declared twice"},
    {"temp y : f32 [2]\ndef @3 y[i: 2] = 1.0\ndef @2 y[i: 2] = 1.0\n", "error[E0606]"},
    {"temp y : f32 []\ndef y[] = (1.0 else 2.0)\n", "only an element can be absent"},
    {"temp y : f32 []\ndef y[] = \"y\n", "expected an expression, found '\"y'"},
    {"temp y : f32 []\ndef y[] = 1.0 2.0\n", "expected the end of the statement, found '2.0'"},
    {"temp y : f32 [3]\ndef y[i: 2] = 1.0\n", "error[E0608]"},
    {"temp y : f32 [2]\ndef y[i: 2] at [1.5*i] = 1.0\n", "error[E0606]"},
    {"frobnicate\n", "expected a statement, found 'frobnicate'"},
    {"\x01\n", "error[E0602]"},
};

static void mistakes_are_reported_where_they_are(void **state) {
  for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
    const char *errors;
    assert_null(test_try_parse(*state, mistakes[k].text, &errors));
    if (!strstr(errors, mistakes[k].message))
      fail_msg("%s\ngave\n%s\nnot %s", mistakes[k].text, errors, mistakes[k].message);
  }
}

static void the_version_is_asked_for(void **state) {
  neo_module *m = *state;
  assert_null(neo_module_parse(m->arena, m->names, m->diags, "x", "neo-ir 2\n", 9));
  assert_null(neo_module_parse(m->arena, m->names, m->diags, "x", "", 0));
  assert_non_null(neo_module_parse(m->arena, m->names, m->diags, "x", "neo-ir 1", 8));
}

/* One message a statement, and what a wrong declaration causes is not reported again. */
static void all_statements_are_checked_in_one_go(void **state) {
  const char *errors;
  assert_null(test_try_parse(*state,
                             "input x : f33 [2]\ntemp y : f32 [2]\ntemp z : f32 [2]\n"
                             "def y[i: 2] = x[i] + 1.0\ndef z[i: 2] = q[i] + q[i]\n"
                             "def z[i: 2] = 1.0 + + 2.0\n",
                             &errors));
  size_t n = 0;
  for (const char *at = errors; (at = strstr(at, "error[")) != NULL; at++)
    n++;
  assert_int_equal(n, 3);
}

/* Damaged text: any answer, but an answer. */
static void damaged_text_never_crashes(void **state) {
  static const char bits[] = "()[]{}<>=+-*/%,:;.$@?\"\\# \n0123456789abcdefxyz_";
  uint64_t seed = 99;
  (void)state;
  for (int trial = 0; trial < 3000; trial++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    char *text = neo_arena_strdup(&a, whole);
    size_t n = strlen(text);
    for (uint64_t k = neo_splitmix(&seed) % 6 + 1; k > 0; k--) {
      size_t at = 9 + neo_splitmix(&seed) % (n - 9);
      if (neo_splitmix(&seed) % 3)
        text[at] = bits[neo_splitmix(&seed) % (sizeof bits - 1)];
      else
        n = at + 1;
    }
    neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
    neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "x", text, n);
    assert_true(m || neo_diags_errors(d));
    if (m)
      (void)test_print(m);
    neo_arena_free(&a);
  }
}

static void nesting_without_end_is_refused(void **state) {
  neo_module *m = *state;
  const char *errors, *const units[] = {"(", "-", "not ", "1.0 + ", "abs(", "x[] * "};
  for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
    neo_str s;
    neo_str_init(&s, m->arena);
    neo_str_add(&s, "input x : f32 []\ntemp y : f32 []\ndef y[] = ");
    for (int j = 0; j < 20000; j++)
      neo_str_add(&s, units[k]);
    neo_str_add(&s, "1.0\n");
    assert_null(test_try_parse(m, neo_str_text(&s), &errors));
    assert_non_null(strstr(errors, "E0607"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(every_record_prints_as_it_was_written),
      TEST(records_hold_what_the_text_says),
      TEST(escapes_in_names_are_code_points),
      TEST(statements_may_come_in_any_order_and_be_spaced_freely),
      TEST(parentheses_appear_where_they_matter),
      TEST(deep_and_shared_expressions_stay_short_in_text),
      TEST(unnamed_and_equal_axes_get_names),
      TEST(mistakes_are_reported_where_they_are),
      TEST(the_version_is_asked_for),
      TEST(all_statements_are_checked_in_one_go),
      TEST(damaged_text_never_crashes),
      TEST(nesting_without_end_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
