/* A recurrence's rounds by a block's threads (codegen/windows.h): the same values as round after round, whatever the
 * graphs are and in whatever order the threads run. Votes. */
#include "base/random.h"
#include "codegen/windows.h"
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

enum { MOST = 1200, CHILDREN = 2 };

#define HEAD \
  "neo-loop 2\nkernel k(child: i32 read noalias, level: i32 read write noalias) sizes N units 1\n"
#define LEVEL(c) "select(0 <= i64(" c "), level[i64(" c ") if 0 <= i64(" c ") else 0:i32], -1:i32)"

static const char levels[] =
    HEAD "for p in 0..N\n"
         "  for u in 0..1\n"
         "    reg acc[1]: i32\n"
         "    acc[0] = -1:i32\n"
         "    for k in 0..2 unroll\n"
         "      acc[0] = max(acc[0], " LEVEL("child[p*2 + k]") " + 1:i32)\n"
                                                               "    level[u + p] = acc[0]\n";

/* ---- values */

typedef neo_value children[CHILDREN * MOST];

static void run(loop_fix *f, const neo_kernel *k, int64_t n, children child, neo_value *level,
                uint64_t seed) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_value now[MOST];
  const int64_t n_elems[] = {CHILDREN * n, n, MOST};
  neo_kernel_run r = {.bufs = (neo_value *[]){child, level, now},
                      .n_elems = n_elems,
                      .sizes = &n,
                      .hi = 1,
                      .seed = seed};
  if (neo_kernel_verify(k, &why) || neo_kernel_interp(k, &r, &why))
    fail_msg("%s", neo_str_text(&why));
}

static void check(loop_fix *f, int64_t n, children child, uint64_t seed) {
  static neo_value level[2][MOST];
  neo_kernel *k = loop_kernel(f, levels), *windows = neo_kernel_by_windows(k);
  assert_non_null(windows);
  for (int64_t i = 0; i < n; i++)
    level[0][i].i = level[1][i].i = 1000 - i; /* what is there before does not matter */
  run(f, k, n, child, level[0], 0);
  run(f, windows, n, child, level[1], seed);
  for (int64_t i = 0; i < n; i++)
    if (level[0][i].i != level[1][i].i)
      fail_msg("of %lld, %lld: %lld, not %lld", (long long)n, (long long)i,
               (long long)level[1][i].i, (long long)level[0][i].i);
}

static void graphs_of_all_sizes_have_the_same_levels(void **state) {
  static const int64_t sizes[] = {0, 1, 2, 511, 512, 513, 1025, 1200};
  static children child;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    uint64_t seed = s + 1;
    for (int64_t i = 0; i < CHILDREN * sizes[s]; i++)
      child[i].i = neo_pick(&seed, -1 - i / 8, i / CHILDREN - 1) < 0
                       ? -1
                       : neo_pick(&seed, 0, i / CHILDREN - 1);
    check(*state, sizes[s], child, s);
  }
}

/* Every pass settles one round. */
static void a_chain_is_longer_than_a_window(void **state) {
  static children child;
  for (int64_t i = 0; i < 600; i++) {
    child[CHILDREN * i].i = i - 1;
    child[CHILDREN * i + 1].i = i < 5 ? -1 : i - 5;
  }
  check(*state, 600, child, 3);
}

/* ---- what has no windows */

static void other_loops_stay_as_they_are(void **state) {
#define LOOP HEAD "for p in 0..N\n  "
  static const char *const cases[] = {
      LOOP "level[p] = level[p - 1] + 1:i32\n",                     /* not where data say */
      LOOP "level[p] = level[i64(level[i64(child[p])])]\n",         /* a value says where */
      LOOP "level[p] = 7:i32 / level[i64(child[p])]\n",             /* or divides */
      LOOP "level[p + 1] = level[i64(child[p])]\n",                 /* another round's place */
      LOOP "level[p] = level[i64(child[p])] if p < 3\n",            /* not always */
      LOOP "if p < 3\n    level[p] = level[i64(child[p])]\n",       /* not always */
      LOOP "for k in 0..2\n    level[p] = level[i64(child[p])]\n",  /* twice */
      LOOP "level[p] = level[i64(child[p])]\n  level[p] = 0:i32\n", /* twice */
      LOOP "for k in 0..i64(level[i64(child[p])])\n    level[p] = 1:i32\n",
      LOOP "level[p] = i32(child[p])\n", /* no recurrence */
      HEAD "for p in 1..N\n  level[p] = level[i64(child[p])]\n",
      HEAD "for p in 0..N\n  level[p] = level[i64(child[p])]\nlevel[0] = 0:i32\n",
      "neo-loop 2\nkernel k(child: i32 read, level: i32 read write) sizes N units 1\n"
      "for p in 0..N\n  level[p] = level[i64(child[p])]\n", /* they may be the same memory */
      "neo-loop 2\nkernel k(child: i32 read noalias, level: f32 read write noalias) sizes N units 1\n"
      "for p in 0..N\n  level[p] = level[i64(child[p])]\n",
  };
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
    if (neo_kernel_by_windows(loop_kernel(*state, cases[n])))
      fail_msg("%zu has windows", n);
  assert_non_null(neo_kernel_by_windows(
      loop_kernel(*state, HEAD "for p in 0..N\n  level[p] = level[i64(child[p])] + 1:i32\n")));
}

/* ---- votes */

#define VOTE                                                                    \
  "neo-loop 2\nkernel k(x: i32 read, z: i32 write) units 1\nreg any[1]: bool\n" \
  "reg own[1]: bool threads 32\nfor t in 0..32 thread\n  own[0] = x[t] == 7:i32\n"

static void a_vote_is_won_by_one_thread(void **state) {
  loop_fix *f = *state;
  neo_kernel *k = loop_kernel(f, VOTE "vote any, own\nif any[0]\n"
                                      "  for t in 0..32 thread\n    z[t] = 1:i32\n");
  for (int64_t who = 0; who <= 32; who++) {
    neo_value x[33] = {{.i = 0}}, z[32] = {{.i = 0}};
    neo_str why;
    neo_str_init(&why, &f->arena);
    x[who].i = 7;
    neo_kernel_run r = {
        .bufs = (neo_value *[]){x, z}, .n_elems = (const int64_t[]){32, 32}, .hi = 1};
    assert_int_equal(neo_kernel_interp(k, &r, &why), NEO_OK);
    assert_int_equal(z[5].i, who < 32);
  }
}

static void votes_are_of_bools_of_whole_warps(void **state) {
  static const char *const cases[][2] = {
      {VOTE "vote own, own\n", "no bool of all threads"},
      {VOTE "vote any, any\n", "none of each"},
      {VOTE "for t in 0..32 thread\n  vote any, own\n", "outside of loops of threads"},
      {VOTE "reg more[2]: bool threads 32\nvote any, more\n", "none of each"},
      {VOTE "if true\n  reg late[1]: bool\nvote late, own\n", "outside its block"},
      {"neo-loop 2\nkernel k(z: i32 write) units 1\nreg any[1]: bool\nreg own[1]: bool threads 40\n"
       "for t in 0..40 thread\n  own[0] = true\nvote any, own\n",
       "warps"},
  };
  loop_fix *f = *state;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_str why;
    neo_str_init(&why, &f->arena);
    neo_kernel *k = loop_parse(f, cases[n][0]);
    assert_int_equal(neo_kernel_verify(k, &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][1]))
      fail_msg("%zu: '%s' is not '%s'", n, neo_str_text(&why), cases[n][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(graphs_of_all_sizes_have_the_same_levels, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(a_chain_is_longer_than_a_window, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(other_loops_stay_as_they_are, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(a_vote_is_won_by_one_thread, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(votes_are_of_bools_of_whole_warps, loop_setup, loop_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
