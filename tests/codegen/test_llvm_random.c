/* Random kernels: loops, guards, registers, gathers, conditional stores around random expressions
 * of operators that are exact, so that compiled code and interpreter must agree in every bit.
 * NEO_TEST_SEED=n prints the seeds and runs more of them from there. */
#include "base/random.h"
#include "loop_support.h"
#include "tests/random/seeds.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };

typedef struct {
  uint64_t state;
  neo_str *out;
  bool lane, loop, copy, reg; /* l, i, u, r[u, ...] are in scope */
} maker;

static uint64_t roll(maker *m, uint64_t n) {
  return neo_splitmix(&m->state) % n;
}
static void say(maker *m, const char *s) {
  neo_str_add(m->out, s);
}

static void number(maker *m, int depth);
static void index_(maker *m, int depth);
static void truth(maker *m, int depth);

static void offset(maker *m, int depth) {
  switch (roll(m, 5)) {
  case 0:
    say(m, "(i*4 + l) % 40");
    break;
  case 1:
    say(m, "l + 3");
    break;
  case 2:
    say(m, "2*l + 1");
    break;
  default:
    say(m, "(");
    index_(m, depth);
    say(m, ") % 40");
  }
}

static void binary(maker *m, int depth, const char *const *ops, uint64_t n,
                   void (*part)(maker *, int)) {
  say(m, "(");
  part(m, depth - 1);
  neo_str_addf(m->out, " %s ", ops[roll(m, n)]);
  part(m, depth - 1);
  say(m, ")");
}

static void call(maker *m, int depth, const char *name, int n, void (*part)(maker *, int)) {
  neo_str_addf(m->out, "%s(", name);
  for (int i = 0; i < n; i++) {
    if (i)
      say(m, ", ");
    part(m, depth - 1);
  }
  say(m, ")");
}

static void choose(maker *m, int depth, void (*part)(maker *, int)) {
  say(m, "select(");
  truth(m, depth - 1);
  say(m, ", ");
  part(m, depth - 1);
  say(m, ", ");
  part(m, depth - 1);
  say(m, ")");
}

static void load(maker *m, int depth, const char *buf, const char *other) {
  neo_str_addf(m->out, "%s[", buf);
  if (roll(m, 3) == 0) { /* out of range where the condition fails */
    say(m, "i*4 + l + u if 0 <= i*4 + l + u and i*4 + l + u < 40 and ");
    truth(m, depth - 1);
    neo_str_addf(m->out, " else %s", other);
  } else {
    offset(m, depth - 1);
  }
  say(m, "]");
}

static void index_(maker *m, int depth) {
  static const char *const leaves[] = {"i", "l", "u", "S", "3", "-2", "8", "@step", "i*4 + l"};
  static const char *const sums[] = {"+", "-", "*"}, *const quotients[] = {"/", "%"};
  if (depth <= 0) {
    say(m, leaves[roll(m, 9)]);
    return;
  }
  switch (roll(m, 9)) {
  case 0:
    binary(m, depth, quotients, 2, index_);
    break;
  case 1:
    call(m, depth, "min", 2, index_);
    break;
  case 2:
    call(m, depth, "max", 2, index_);
    break;
  case 3:
    choose(m, depth, index_);
    break;
  case 4:
    load(m, depth, "j", "7");
    break;
  case 5:
    call(m, depth, "i64", 1, number);
    break;
  default:
    binary(m, depth, sums, 3, index_);
  }
}

static void truth(maker *m, int depth) {
  static const char *const compare[] = {"<", "<=", "==", "!="}, *const logic[] = {"and", "or"};
  if (depth <= 0) {
    say(m, roll(m, 2) ? "(l < S)" : "(i < 2)");
    return;
  }
  switch (roll(m, 5)) {
  case 0:
    binary(m, depth, logic, 2, truth);
    break;
  case 1:
    say(m, "not ");
    binary(m, depth, compare, 4, number);
    break;
  case 2:
    binary(m, depth, compare, 4, number);
    break;
  default:
    binary(m, depth, compare, 4, index_);
  }
}

static void number(maker *m, int depth) {
  static const char *const leaves[] = {"0.5",      "-3.25",  "x[l]",
                                       "x[i + 2]", "f32(l)", "rand@1(i + l)"};
  static const char *const ops[] = {"+", "-", "*", "/"};
  if (depth <= 0) {
    say(m, m->reg && roll(m, 3) == 0 ? "r[u, l]" : leaves[roll(m, 6)]);
    return;
  }
  switch (roll(m, 11)) {
  case 0:
    call(m, depth, "abs", 1, number);
    break;
  case 1:
    call(m, depth, "relu", 1, number);
    break;
  case 2:
    call(m, depth, "max", 2, number);
    break;
  case 3:
    call(m, depth, "clamp", 3, number);
    break;
  case 4:
    choose(m, depth, number);
    break;
  case 5:
    call(m, depth, "f32", 1, index_);
    break;
  case 6:
  case 7:
    load(m, depth, "x", "-0.25");
    break;
  default:
    binary(m, depth, ops, 4, number);
  }
}

/* for i, then copies u, then lanes l; registers live through the copies. */
static const char *make(loop_fix *f, uint64_t seed) {
  static const int widths[] = {1, 2, 4, 8};
  neo_str text;
  neo_str_init(&text, &f->arena);
  maker m = {.state = seed, .out = &text};
  int w = widths[roll(&m, 4)];
  neo_str_addf(&text,
               "neo-loop 2\nkernel k(x: f32 read, j: i64 read, z: f32 write, v: i64 write, "
               "b: bool write) sizes S units 1\nfor i in 0..5\n  reg r[2, %d]: f32\n"
               "  for u in 0..2 unroll\n    for l in 0..%d vector\n      r[u, l] = ",
               w, w);
  number(&m, 3);
  m.reg = true;
  neo_str_addf(&text, "\n  for u in 0..2 unroll\n    for l in 0..%d vector\n      r[u, l] = ", w);
  number(&m, 3);
  neo_str_addf(&text, "\n      z[i*16 + u*8 + l] = ");
  number(&m, 4);
  say(&m, "\n      v[79 - i*16 - u*8 - l] = ");
  index_(&m, 4);
  say(&m, " if ");
  truth(&m, 2);
  say(&m, "\n      b[i*16 + u*8 + l] = ");
  truth(&m, 3);
  say(&m, "\n");
  return neo_str_text(&text);
}

static void random_kernels_agree_in_every_bit(void **state) {
  static const int64_t n_elems[] = {N, N, 80, 80, 80}, sizes[] = {3};
  neo_seeds s = neo_seeds_of(1, 20);
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    loop_fix *f = *state;
    neo_seeds_tell(&s, seed);
    const char *text = make(f, seed);
    loop_check(f, text,
               &(loop_case){.sizes = sizes,
                            .n_elems = n_elems,
                            .seed = seed,
                            .key = {9, 4, 1},
                            .specials = seed % 3 == 0});
    neo_kernel *k = loop_kernel(f, text);
    assert_string_equal(loop_text(f, loop_kernel(f, loop_text(f, k))), loop_text(f, k));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(random_kernels_agree_in_every_bit, loop_setup, loop_teardown),
  };
  return cmocka_run_group_tests_name("llvm_random", tests, NULL, NULL);
}
