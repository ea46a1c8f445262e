/* The verifier of kernels: each rule of loop.h has a kernel that breaks it alone. The interpreter:
 * what it refuses at run time. Building: what folds. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

static neo_kernel *parse(loop_fix *f, const char *body) {
  const char *text = neo_arena_printf(
      &f->arena, "neo-loop 2\nkernel k(x: f32 read, z: f32 write, i: i64 read) sizes N units N\n%s",
      body);
  return loop_parse(f, text);
}

static void refused(loop_fix *f, const neo_kernel *k, const char *part) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  assert_int_equal(neo_kernel_verify(k, &why), NEO_INTERNAL);
  if (!strstr(neo_str_text(&why), part))
    fail_msg("'%s' is not '%s'", neo_str_text(&why), part);
}

static void each_broken_rule_is_found(void **state) {
  static const char *const cases[][2] = {
      {"for u in 0..N unit\n  z[0] = 1.0\nz[0] = 1.0\n", "outermost"},
      {"for j in 0..2\n  for u in 0..N unit\n    z[0] = 1.0\n", "outermost"},
      {"for u in 1..N unit\n  z[0] = 1.0\n", "from 0 to the kernel's units"},
      {"for u in 0..N + 1 unit\n  z[0] = 1.0\n", "from 0 to the kernel's units"},
      {"for u in 0..N step 2 unit\n  z[0] = 1.0\n", "from 0 to the kernel's units"},
      {"for j in 0..N unroll\n  z[0] = 1.0\n", "not constant"},
      {"for j in 0..5000 unroll\n  z[0] = 1.0\n", "copies"},
      {"for l in 0..N vector\n  z[0] = 1.0\n", "not constant"},
      {"for l in 0..8 vector while z[0] < 1.0\n  z[l] = 1.0\n", "is serial"},
      {"for l in 0..8 unroll while z[0] < 1.0\n  z[l] = 1.0\n", "is serial"},
      {"for l in 1..8 vector\n  z[0] = 1.0\n", "from 0 to at most"},
      {"for l in 0..65 vector\n  z[0] = 1.0\n", "from 0 to at most"},
      {"for l in 0..8 step 2 vector\n  z[0] = 1.0\n", "from 0 to at most"},
      {"for l in 0..8 vector\n  for j in 0..2\n    z[0] = 1.0\n", "only assignments"},
      {"for l in 0..8 vector\n  if l < 3\n    z[0] = 1.0\n", "only assignments"},
      {"for l in 0..8 vector\n  reg r[8]: f32\n", "only assignments"},
      {"for l in 0..8 vector\n  prefetch x[l]\n", "only assignments"},
      {"reg r[8]: f32\nfor l in 0..8 vector\n  r[0] = 1.0\n", "the lane"},
      {"reg r[2]: f32\nr[2] = 1.0\n", "is 2, of 2"},
      {"reg r[2]: f32\nfor j in 0..3 unroll\n  r[j] = 1.0\n", "is 2, of 2"},
      {"reg r[2]: f32\nfor j in 0..2 unroll\n  r[j - 1] = 1.0\n", "is -1, of 2"},
      {"reg r[2]: f32\nfor j in 0..2\n  r[j] = 1.0\n", "neither constant nor unrolled"},
      {"reg r[4, 2]: f32\nfor l in 0..4 vector\n  r[l, 0] = 1.0\n", "the lane"},
      {"reg r[2]: f32\nfor l in 0..4 vector\n  r[l] = 1.0\n", "is 2, of 2"},
      {"reg r[2]: f32\nr[N] = 1.0\n", "not constant"},
      {"reg r[2]: f32\nr[i[0]] = 1.0\n", "not constant"},
      {"for j in 0..2\n  reg r[2]: f32\nr[0] = 1.0\n", "outside its block"},
      {"reg r[2]: f32\nreg r[2]: f32\n", "declared twice"},
      {"reg r[0]: f32\n", "bad extent"},
      {"reg r[100000]: f32\n", "bad extent"},
      {"x[0] = 1.0\n", "x is not written"},
      {"z[0] = z[1]\n", "z is not read"},
      {"for j in 0..2 step 0\n  z[0] = 1.0\n", "step is positive"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++)
    refused(*state, parse(*state, cases[n][0]), cases[n][1]);
}

/* Mistakes that no text can have. */
static void broken_graphs_are_found(void **state) {
  loop_fix *f = *state;
  neo_kernel *k = parse(f, "for u in 0..N unit\n  for j in 0..3\n    z[u] = x[j]\n");
  neo_kernel *other = parse(f, "");
  neo_ls *loop = k->body.at[0]->loop.body.at[0], *store = loop->loop.body.at[0];
  const neo_lx *value = store->store.value, *offset = store->store.to.offset;
  store->store.value = neo_lx_const(other, NEO_F32_T, (neo_value){.f = 1});
  for (int i = 0; i < 9; i++)
    store->store.value = neo_lx_op1(other, NEO_OP_EXP, store->store.value);
  refused(f, k, "another kernel");
  store->store.value = neo_lx_int(k, 3);
  refused(f, k, "is i64, not f32");
  store->store.value = value;
  store->store.to.offset = neo_lx_const(k, NEO_I32_T, (neo_value){.i = 3});
  refused(f, k, "is i32, not i64");
  store->store.to.offset = neo_lx_var(k, neo_kernel_var(k, "free"));
  refused(f, k, "outside its loop");
  store->store.to.offset = neo_lx_size(k, 7);
  refused(f, k, "no size 7");
  store->store.to.offset = offset;
  store->store.cond = value;
  refused(f, k, "is f32, not bool");
  store->store.cond = NULL;
  loop->loop.var = k->body.at[0]->loop.var;
  refused(f, k, "already in use");
  neo_kernel *fetch = parse(f, "prefetch x[0]\n");
  fetch->body.at[0]->prefetch.of.buf = 99;
  refused(f, fetch, "no buffer 99");
  fetch->body.at[0]->prefetch.of.buf = 0;
  fetch->body.at[0]->prefetch.of.offset = neo_lx_const(fetch, NEO_I32_T, (neo_value){.i = 3});
  refused(f, fetch, "is i32, not i64");
  neo_kernel *order = parse(f, "");
  neo_kernel_buf(order, (neo_kbuf){.name = "s", .type = NEO_F32_T, .use = NEO_BUF_SCRATCH});
  neo_kernel_buf(order, (neo_kbuf){.name = "late", .type = NEO_F32_T, .use = NEO_BUF_READ});
  refused(f, order, "after a scratch buffer");
}

static void the_interpreter_refuses(void **state) {
  static const char *const cases[][2] = {
      {"z[0] = x[3]\n", "load of x at 3, of 3"},
      {"z[0] = x[-1]\n", "load of x at -1, of 3"},
      {"z[3] = 1.0\n", "store of z at 3, of 3"},
      {"reg r[2]: f32\nr[0] = 1.0\nz[0] = r[1]\n", "undefined element of r at 1, of 2"},
      {"for j in 0..2\n  reg r[]: f32\n  if j == 0\n    r[] = 1.0\n  z[j] = r[]\n", "undefined"},
      {"z[0] = select(N == 0, x[5], x[0])\nz[0] = x[N]\n", "load of x at 3"},
  };
  loop_fix *f = *state;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_value x[3] = {{0}}, z[3], i[3];
    neo_str why;
    neo_str_init(&why, &f->arena);
    neo_kernel_run run = {.bufs = (neo_value *[]){x, z, i},
                          .n_elems = (const int64_t[]){3, 3, 3},
                          .sizes = (const int64_t[]){3},
                          .hi = 1};
    assert_int_equal(neo_kernel_interp(parse(f, cases[n][0]), &run, &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][1]))
      fail_msg("%s", neo_str_text(&why));
  }
}

/* The interpreter's message about a kernel with scratch, of which two units run; empty: it refuses
 * nothing. */
static const char *said(loop_fix *f, const char *body) {
  neo_value x[3] = {{0}}, z[3], i[3] = {{.i = 1}, {.i = 1}, {.i = 1}}, s[4], q[4];
  neo_str why;
  neo_kernel *k = loop_parse(
      f, neo_arena_printf(&f->arena,
                          "neo-loop 2\nkernel k(x: f32 read, z: f32 write, i: i64 read, s: f32 "
                          "scratch 4, q: i64 scratch 4) sizes N units N\n%s",
                          body));
  neo_kernel_run run = {.bufs = (neo_value *[]){x, z, i, s, q},
                        .n_elems = (const int64_t[]){3, 3, 3, 4, 4},
                        .sizes = (const int64_t[]){3},
                        .hi = 2};
  neo_str_init(&why, &f->arena);
  return neo_kernel_interp(k, &run, &why) ? neo_str_text(&why) : "";
}

static void expect_said(loop_fix *f, const char *body, const char *part) {
  const char *text = said(f, body);
  if (part ? !strstr(text, part) : *text)
    fail_msg("not \"%s\" but \"%s\" of\n%s", part ? part : "", text, body);
}

static void scratch_is_not_used_before_it_is_written(void **state) {
  static const char *const bodies[] = {
      "s[0] = 1.0\nz[0] = s[0] + s[1]\n",
      "for u in 0..N unit\n  if u == 0\n    s[1] = 1.0\n  z[u] = s[1]\n",
      "reg r[]: f32\nr[] = s[1]\nz[0] = r[]\n",
      "reg r[2]: f32\nr[1] = s[1]\nz[0] = 0.5 * r[1]\n",
      "z[0] = 1.0 if s[1] < 2.0\n",
      "if s[1] < 2.0\n  z[0] = 1.0\n",
      "z[0] = select(s[1] < 2.0, 1.0, 2.0)\n",
      "z[0] = x[0 if s[1] < 2.0 else 1.0]\n",
      "z[0] = 1.0 if x[0] < 1.0 and s[1] < 2.0\n",
  };
  for (size_t n = 0; n < sizeof bodies / sizeof bodies[0]; n++)
    expect_said(*state, bodies[n], "use of undefined content of s at 1, of 4");
  expect_said(*state, "s[0] = s[1]\nz[0] = s[0]\n", "use of undefined content of s at 0, of 4");
  expect_said(*state, "z[0] = x[q[1]]\n", "use of undefined content of q at 1, of 4");
}

/* Lanes after the end are computed and thrown away. */
static void what_nothing_wrote_may_be_read_where_it_is_not_used(void **state) {
  static const char *const bodies[] = {
      "reg r[]: f32\nr[] = s[1]\nz[0] = select(N == 3, x[0], r[])\n",
      "z[0] = s[1] if N == 4\n",
      "s[0] = s[1]\ns[0] = 1.0\nz[0] = s[0]\n",
      "z[0] = 1.0 if N == 4 and s[1] < 2.0\n",
      "z[0] = 1.0 if N == 3 or s[1] < 2.0\n",
  };
  for (size_t n = 0; n < sizeof bodies / sizeof bodies[0]; n++)
    expect_said(*state, bodies[n], NULL);
}

static void indices_do_not_leave_i64(void **state) {
  static const char *const bodies[] = {
      "z[0] = x[(i[0]*4611686018427387904)*(i[1]*4)]\n",
      "z[(i[0]*4611686018427387904)*(i[1]*4)] = 1.0\n",
      "for j in 0..(i[0] + 9223372036854775807)\n  z[0] = 1.0\n",
      "z[0] = x[(i[0] + 9223372036854775807) % 3]\n",
      "z[0] = x[select(N == 3, (i[0]*4611686018427387904)*(i[1]*4), 0)]\n",
  };
  for (size_t n = 0; n < sizeof bodies / sizeof bodies[0]; n++)
    expect_said(*state, bodies[n], "the arithmetic of an index leaves i64");
  expect_said(*state, "z[0] = x[stop((i[0]*4611686018427387904)*(i[1]*4)) % 3]\n", NULL);
  expect_said(*state, "z[0] = x[select(N == 3, 0, (i[0]*4611686018427387904)*(i[1]*4))]\n", NULL);
}

static void integer_arithmetic_folds(void **state) {
  static const char *const pairs[][2] = {
      {"2 + 3*4", "14"},
      {"N + 0", "N"},
      {"3 + N", "N + 3"},
      {"N + 3 + 4", "N + 7"},
      {"(N + 3) + N", "N + N + 3"},
      {"N - 3", "N - 3"},
      {"N*0", "0"},
      {"N*1", "N"},
      {"N*2*3", "N*6"},
      {"N/1", "N"},
      {"N % 1", "0"},
      {"0/N", "0"},
      {"7/-2", "-4"},
      {"7 % -2", "-1"},
      {"N - N", "0"},
      {"min(N, N)", "N"},
      {"5/0", "0"},
      {"select(N == N, N, 3)", "N"},
      {"N - 3 + 3", "N"},
      {"-(-N)", "N"},
      {"select(not (N < N), 1, N)", "1"},
  };
  loop_fix *f = *state;
  for (size_t n = 0; n < sizeof pairs / sizeof pairs[0]; n++) {
    neo_kernel *k = parse(f, neo_arena_printf(&f->arena, "z[%s] = 1.0\n", pairs[n][0]));
    const char *want = neo_arena_printf(&f->arena, "z[%s] = 1.0\n", pairs[n][1]);
    if (!strstr(loop_text(f, k), want))
      fail_msg("%s is\n%s", pairs[n][0], loop_text(f, k));
  }
}

static void units_are_computed_from_sizes(void **state) {
  neo_kernel *k = parse(*state, "");
  k->units = neo_lx_op2(k, NEO_OP_MUL, neo_lx_size(k, 0), neo_lx_int(k, 3));
  assert_int_equal(neo_kernel_units(k, (const int64_t[]){7}), 21);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(each_broken_rule_is_found),
      TEST(broken_graphs_are_found),
      TEST(the_interpreter_refuses),
      TEST(scratch_is_not_used_before_it_is_written),
      TEST(what_nothing_wrote_may_be_read_where_it_is_not_used),
      TEST(indices_do_not_leave_i64),
      TEST(integer_arithmetic_folds),
      TEST(units_are_computed_from_sizes),
  };
  return cmocka_run_group_tests_name("loop_verify", tests, NULL, NULL);
}
