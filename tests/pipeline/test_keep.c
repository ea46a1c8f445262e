/* Values that follow from parameters alone are cached between calls: where it may be, and that
 * entries in any order give what the interpreter gives, which keeps nothing. */
#include "base/random.h"
#include "tests/pipeline/plan_world.h"
#include <stdio.h>
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\n"

/* Names of the groups that are kept, in order. */
static void expect_kept(plan_world *w, const char *names) {
  neo_str s;
  neo_str_init(&s, &w->c.arena);
  for (size_t k = 0; k < w->c.grouping.groups.n; k++)
    if (w->c.grouping.groups.at[k].cached)
      neo_str_addf(&s, "%s ", w->c.grouping.groups.at[k].name);
  assert_string_equal(neo_str_text(&s), names);
}

/* Entries in a random order. */
static void run_at_random(plan_world *w, uint64_t seed) {
  neo_str why;
  neo_str_init(&why, &w->c.arena);
  for (int k = 0; k < 24; k++) {
    uint32_t e = (uint32_t)(neo_splitmix(&seed) % w->c.module->entries.n);
    if (w->c.module->entries.at[e].kind == NEO_ENTRY_INIT)
      continue;
    if (!world_run(w, e, 0, &why))
      fail_msg("call %d, entry %u: %s", k, e, neo_str_text(&why));
  }
}

static void check(const char *text, const char *kept) {
  for (int kind = 0; kind < 2; kind++)
    for (uint64_t seed = 0; seed < 3; seed++) {
      plan_world w;
      world_open(&w);
      world_parse(&w, text);
      world_begin(&w, (kernel_kind)kind, NULL);
      expect_kept(&w, kept);
      assert_int_equal(w.c.plan->cached_bytes > 0, kept[0] != 0);
      run_at_random(&w, seed);
      world_close(&w);
    }
}

#define PARAMS                                                                                 \
  "input X : f32 [50]\nparam w : f32 [50, 70]\nparam v : f32 [70]\ninit @1 w[i: 50, j: 70] = " \
  "f32(i) + f32(j) * 0.25\ninit @2 v[j: 70] = f32(j) - 2.0\ntemp n : f32 [70]\ntemp p : f32 "  \
  "[50]\ntemp Y : f32 [50]\ndef @3 n[j: 70] =\n  sum[i: 50] w[i, j] * w[i, j]\n  then acc0\n"  \
  "def @4 p[i: 50] =\n  sum[j: 70] w[i, j] * v[j] * n[j]\n  then acc0\n"                       \
  "def @5 Y[i: 50] = X[i] * p[i]\n"

static void what_parameters_determine_is_kept(void **state) {
  (void)state;
  check(HEAD PARAMS "entry forward forward: Y = Y\n", "n p ");
}

static void an_update_makes_it_anew(void **state) {
  (void)state;
  check(HEAD PARAMS "update u : f32 [70] of v\ndef @6 u[j: 70] = v[j] * 0.5 + X[0]\n"
                    "entry forward forward: Y = Y\nentry train step: ; updates u\n",
        "n p ");
}

/* In the entry that updates v, p changes in each call, but n does not. */
static void an_entry_keeps_what_it_leaves_alone(void **state) {
  (void)state;
  check(HEAD PARAMS "update u : f32 [70] of v\ndef @6 u[j: 70] = v[j] * 0.5 + p[0]\n"
                    "entry train step: Y = Y; updates u\n",
        "n ");
}

static void it_is_returned_and_used(void **state) {
  (void)state;
  check(HEAD PARAMS "entry forward forward: Y = Y, n = n\nentry forward other: p = p\n", "n p ");
}

static void a_state_that_the_entry_updates_is_no_source(void **state) {
  (void)state;
  check(HEAD "state s : f32 [6]\ninit @1 s[i: 6] = f32(i)\nupdate t : f32 [6] of s\n"
             "temp a : f32 []\ntemp b : f32 []\ndef @2 a[] =\n  sum[i: 6] s[i]\n  then acc0\n"
             "def @3 t[i: 6] = s[i] * 0.5 + a[]\ndef @4 b[] =\n  sum[i: 6] s[i] * s[i] * a[]\n"
             "  then acc0\nentry forward forward: b = b; updates t\n",
        "");
}

static void what_is_new_in_each_call_is_not_kept(void **state) {
  (void)state;
  check(HEAD "sites 1\nsize B 1..6\nparam w : f32 [6]\ninit @1 w[i: 6] = f32(i)\n"
             "temp a : f32 []\ntemp b : f32 []\ntemp c : f32 [6]\ndef @2 a[] =\n  sum[i: 6] w[i] "
             "* rand(0, i)\n  then acc0\ndef @3 b[] =\n  sum[i: B] w[i]\n  then acc0\n"
             "def @4 c[i: 6] = w[i] * a[] + b[]\nentry forward forward: c = c\n",
        "");
  check(HEAD "param w : f32 [6, 300]\nparam v : f32 [6]\ninit @1 w[i: 6, j: 300] = f32(i)\n"
             "init @2 v[i: 6] = 1.0\ntemp a : f32 [6]\nupdate u : f32 [6] of v\n"
             "def @3 a[i: 6] =\n  sum[j: 300] w[i, j]\n  then acc0 * f32(step)\n"
             "def @4 u[i: 6] = v[i] + a[i]\nentry train step: a = a; updates u\n",
        "");
}

/* One piece of T follows from w, the other from X; a and b are results of one definition. */
static void all_pieces_are_kept_or_none(void **state) {
  (void)state;
  check(HEAD "input X : f32 [4]\nparam w : f32 [4, 3]\ninit @1 w[i: 4, j: 3] = f32(i + j)\n"
             "temp T : f32 [8]\ntemp Y : f32 [8]\ndef @2 T[i: 4] at [2*i] =\n  sum[j: 3] w[i, j]\n"
             "  then acc0\ndef @3 T[i: 4] at [2*i + 1] = X[i]\n"
             "def @4 Y[i: 8] = T[7 - i] + T[i]\nentry forward forward: Y = Y\n",
        "");
  check(HEAD "input X : f32 [8]\nparam w : f32 [4, 3]\ninit @1 w[i: 4, j: 3] = f32(i + j)\n"
             "temp T : f32 [8]\ntemp Y : f32 [8]\ndef @2 T[i: 4] at [2*i] =\n  sum[j: 3] w[i, j]\n"
             "  then acc0\ndef @3 T[i: 4] at [2*i + 1] =\n  sum[j: 3] w[i, j] * w[i, j]\n"
             "  then acc0\ndef @4 Y[i: 8] = T[7 - i] + X[i]\nentry forward forward: Y = Y\n",
        "T T ");
}

static void settings_and_constants_are_sources(void **state) {
  (void)state;
  check(HEAD "input X : f32 [4]\nsetting lr : f32 []\nparam w : f32 [4, 300]\n"
             "init @1 lr[] = 0.5\ninit @2 w[i: 4, j: 300] = f32(i + j)\n"
             "temp a : f32 [4]\ntemp Y : f32 [4]\ndef @3 a[i: 4] =\n  sum[j: 300] w[i, j] * lr[]\n"
             "  then acc0\ndef @4 Y[i: 4] = a[i] * X[i]\nentry forward forward: Y = Y\n",
        "a ");
}

static void nothing_is_kept_where_it_is_switched_off(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    plan_world w;
    world_open(&w);
    world_parse(&w, HEAD PARAMS "entry forward forward: Y = Y\n");
    if (k)
      w.c.options.fusion.memory = NEO_FUSE_SMALL;
    else
      w.c.options.fusion.off = 1u << NEO_FUSE_CACHE;
    world_begin(&w, KERNELS_COMPILED, NULL);
    expect_kept(&w, "");
    run_at_random(&w, 1);
    world_close(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_parameters_determine_is_kept),
      cmocka_unit_test(an_update_makes_it_anew),
      cmocka_unit_test(an_entry_keeps_what_it_leaves_alone),
      cmocka_unit_test(it_is_returned_and_used),
      cmocka_unit_test(a_state_that_the_entry_updates_is_no_source),
      cmocka_unit_test(what_is_new_in_each_call_is_not_kept),
      cmocka_unit_test(all_pieces_are_kept_or_none),
      cmocka_unit_test(settings_and_constants_are_sources),
      cmocka_unit_test(nothing_is_kept_where_it_is_switched_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
