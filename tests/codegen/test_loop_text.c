/* Text of kernels: what is printed parses back to a kernel that prints the same. */
#include "loop_parse.h"
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void prints_as_written(loop_fix *f, const char *text) {
  assert_string_equal(loop_text(f, loop_kernel(f, text)), text);
}

static void the_kernel_of_the_header_prints_as_it_was_written(void **state) {
  prints_as_written(*state,
                    "neo-loop 2\n"
                    "kernel H(X: f32 read, W1: f32 read noalias align 64, b1: f32 read, "
                    "Y: f32 write tensor 3 from 64) sizes B units B\n"
                    "for b in 0..B unit\n"
                    "  for j0 in 0..128 step 16\n"
                    "    reg acc[2, 8]: f32\n"
                    "    for v in 0..2 unroll\n"
                    "      for l in 0..8 vector\n"
                    "        acc[v, l] = 0.0\n"
                    "    for i in 0..784\n"
                    "      for v in 0..2 unroll\n"
                    "        for l in 0..8 vector\n"
                    "          acc[v, l] = fma(X[b*784 + i], W1[i*128 + j0 + v*8 + l], acc[v, l])\n"
                    "    for v in 0..2 unroll\n"
                    "      for l in 0..8 vector\n"
                    "        Y[b*128 + j0 + v*8 + l] = relu(acc[v, l] + b1[j0 + v*8 + l])\n");
}

static void origins_print_as_they_were_written(void **state) {
  prints_as_written(*state, "neo-loop 2\n"
                            "kernel k(X: f32 read, Y: f32 write) sizes N, t units N "
                            "origin X t*N + 3 origin Y t*N\n"
                            "for n in 0..N unit\n"
                            "  Y[n] = X[n]\n");
}

static void every_form_prints_as_it_was_written(void **state) {
  prints_as_written(
      *state,
      "neo-loop 2\n"
      "kernel k(a: f64 read write, h.W: f16 read, m: bool write, s: i32 scratch 16 align 64) "
      "sizes N, M units max(N, 1)\n"
      "for u in 0..max(N, 1) unit\n"
      "  reg r[]: f64\n"
      "  r[] = 0.5:f64\n"
      "  for i in N..M*2 + 1 step 3\n"
      "    if i < 3 and not (u == 2 or i <= u)\n"
      "      a[i - 1] = f64(h.W[u%7 if i < 5 else -1.5:f16]) * (r[] + 1e-05:f64) if i != 4\n"
      "    else\n"
      "      a[i] = select(M < i, rand@3:f64(u), -(a[i] - inf:f64))\n"
      "      s[0] = i32(a[i]) / -3:i32 % (7:i32 - s[u])\n"
      "      m[0] = a[i] == a[0]\n"
      "      if @step < 3 - i*(i - 2)\n"
      "        m[1] = f32(u) < nan + -0.0 - (1e+30 - pow(f32(@seed), f32(@call)))\n"
      "  for i in 0..M step 2 while i < 3 or a[i] < 1.0:f64\n"
      "    m[i] = true\n"
      "  prefetch a[u*8 + 64]\n"
      "  for i in 0..1\n"
      "    a[u/2*3 - 9223372036854775807] = -inf:f64\n"
      "    prefetch l2 h.W[u*64 + i]\n");
}

/* x, 2 x, 4 x, ... as a graph of 60 sums has 2^60 leaves written out. */
static void shared_parts_are_printed_once(void **state) {
  loop_fix *f = *state;
  neo_kernel *k = neo_kernel_new(&f->arena, "sums");
  uint32_t y = neo_kernel_buf(k, (neo_kbuf){.name = "y", .type = NEO_F32_T, .use = 3});
  const neo_lx *x = neo_lx_load(k, y, neo_lx_int(k, 0));
  for (int i = 0; i < 60; i++)
    x = neo_lx_op2(k, NEO_OP_ADD, x, x);
  neo_ls_store(k, &k->body, y, neo_lx_int(k, 0), x, NULL);
  const char *text = loop_text(f, k);
  assert_true(strlen(text) < 4000);
  prints_as_written(f, text);
}

static void deep_expressions_print_and_parse(void **state) {
  loop_fix *f = *state;
  neo_kernel *k = neo_kernel_new(&f->arena, "deep");
  uint32_t y = neo_kernel_buf(k, (neo_kbuf){.name = "y", .type = NEO_F32_T, .use = 3});
  const neo_lx *x = neo_lx_load(k, y, neo_lx_int(k, 0));
  for (int i = 0; i < 5000; i++)
    x = neo_lx_op1(k, NEO_OP_EXP, x);
  neo_ls_store(k, &k->body, y, neo_lx_int(k, 0), x, NULL);
  prints_as_written(f, loop_text(f, k));
}

static void equal_and_strange_names_become_distinct_words(void **state) {
  loop_fix *f = *state;
  neo_kernel *k = neo_kernel_new(&f->arena, "two words");
  const char *names[] = {"x", "x", "exp", "3 y", "", "a.b", "a.", "prefetch"};
  for (int i = 0; i < 8; i++)
    neo_kernel_buf(k, (neo_kbuf){.name = names[i], .type = NEO_F32_T, .use = NEO_BUF_WRITE});
  const neo_lx *lo = neo_lx_int(k, 0), *hi = neo_lx_int(k, 3);
  uint32_t v = neo_kernel_var(k, "x"), w = neo_kernel_var(k, "x");
  neo_ls *outer = neo_ls_for(k, &k->body, NEO_LOOP_SERIAL, v, lo, hi, 1);
  neo_ls *inner = neo_ls_for(k, &outer->loop.body, NEO_LOOP_SERIAL, w, lo, hi, 1);
  neo_ls_store(k, &inner->loop.body, 1, neo_lx_var(k, w),
               neo_lx_const(k, NEO_F32_T, (neo_value){0}), NULL);
  const char *text = loop_text(f, k);
  prints_as_written(f, text);
  assert_non_null(strstr(text, "kernel two_words(x: f32 write, x_2: f32 write, exp_2: f32 write, "
                               "_3_y: f32 write, _: f32 write, a.b: f32 write, a_: f32 write, "
                               "prefetch_2: f32 write)"));
  assert_non_null(strstr(text, "for x_3 in 0..3\n  for x_4 in 0..3\n    x_2[x_4] = 0.0\n"));
}

static void broken_text_is_a_diagnostic(void **state) {
  static const char *const lines[] = {
      "Y[0] = 1",
      "Y[0] = 1.0 +",
      "Z[0] = 1.0",
      "Y[0] = Q[0]",
      "Y[0.0] = 1.0",
      "Y[0] = sin(1)",
      "Y[0] = pow(1.0)",
      "for l in 0..",
      "for exp in 0..3",
      "if 3",
      "reg r[2: f32",
      "reg Y[2]: f32",
      "Y[0] = 1.0 1.0",
      "Y[0] = %0",
      "Y[0] = f32(1, 2)",
      "Y[0] = rand@1:i32(0)",
      "Y[0] = 1.0:i32",
      "Y[0] = ((((1.0",
      "let %1 = 3",
      "Y[0] = @time",
      "Y[0] = 1.0 if 3",
      "Y[0 if true] = 1.0",
      "Y[0] = 1:bool",
      "else",
      "Y[0] = fma(1.0, 2)",
      "\xff",
      "Y[99999999999999999999] = 0.0",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    loop_fix *f = *state;
    f->diags = neo_diags_new(&f->arena, neo_sources_new(&f->arena));
    const char *text = neo_arena_printf(
        &f->arena, "neo-loop 2\nkernel k(Y: f32 read write) units 1\n%s\n", lines[i]);
    assert_null(neo_kernel_parse(&f->arena, f->diags, "test", text, strlen(text)));
    assert_int_equal(neo_diags_errors(f->diags), 1);
  }
}

/* Whatever bytes come, the parser ends and says so. */
static void text_cut_anywhere_does_no_harm(void **state) {
  loop_fix *f = *state;
  const char text[] = "neo-loop 2\nkernel k(Y: f32 read write align 64) sizes N units N\n"
                      "for i in 0..N unit\n  reg r[2]: f32\n  r[1] = fma(1.0, Y[i], -2e3)\n"
                      "  if i < 3\n    Y[i] = Y[i if true else 0.0] if not i == 4\n";
  for (size_t n = 0; n < sizeof text; n++) {
    char *copy = neo_arena_strndup(&f->arena, text, n);
    f->diags = neo_diags_new(&f->arena, neo_sources_new(&f->arena));
    neo_kernel *k = neo_kernel_parse(&f->arena, f->diags, "test", copy, n);
    assert_int_equal(neo_diags_errors(f->diags), k ? 0 : 1);
    if (!n)
      continue;
    copy[n / 2] = (char)(copy[n / 2] ^ 0x15);
    f->diags = neo_diags_new(&f->arena, neo_sources_new(&f->arena));
    k = neo_kernel_parse(&f->arena, f->diags, "test", copy, n);
    if (k)
      prints_as_written(f, loop_text(f, k));
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(the_kernel_of_the_header_prints_as_it_was_written),
      TEST(origins_print_as_they_were_written),
      TEST(every_form_prints_as_it_was_written),
      TEST(shared_parts_are_printed_once),
      TEST(deep_expressions_print_and_parse),
      TEST(equal_and_strange_names_become_distinct_words),
      TEST(broken_text_is_a_diagnostic),
      TEST(text_cut_anywhere_does_no_harm),
  };
  return cmocka_run_group_tests_name("loop_text", tests, NULL, NULL);
}
