/* Recurrences that are equal under a renaming become one, and nothing else does: the interpreter is
 * asked before and after. */
#include "base/str.h"
#include "tests/transform/world.h"

/* The tensors that the entry needs, as the text of names. */
static const char *needed(world *w) {
  const char *names = "";
  neo_def *defs;
  neo_list out = w->m->entries.at[0].outputs;
  neo_tensor roots[8];
  for (uint32_t k = 0; k < out.n; k++)
    roots[k] = (neo_tensor){neo_list_at(w->m, out, k)};
  size_t n = neo_module_topo(w->m, roots, out.n, &w->arena, &defs, NULL);
  for (size_t k = 0; k < n; k++) {
    neo_tensor t = {neo_list_at(w->m, neo_def_at(w->m, defs[k])->out, 0)};
    names = neo_arena_printf(&w->arena, "%s %s", names,
                             neo_name_text(w->m->names, neo_tensor_at(w->m, t)->name));
  }
  return names;
}

static void same_values(world *before, world *after) {
  uint32_t n = before->m->entries.at[0].outputs.n;
  neo_interp *a = values_of(before, 5), *b = values_of(after, 5);
  for (uint32_t k = 0; k < n; k++) {
    const neo_values *x = neo_interp_output(a, k), *y = neo_interp_output(b, k);
    assert_int_equal(x->n, y->n);
    for (int64_t j = 0; j < x->n; j++)
      assert_true(x->at[j].f == y->at[j].f);
  }
}

static void needs(const char *text, const char *wanted) {
  world before, after;
  load(&before, text);
  load(&after, text);
  apply(&after, neo_pass_cse);
  assert_string_equal(needed(&after), wanted);
  same_values(&before, &after);
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

#define HEAD "neo-ir 1\nmodule t\nsize N 1..9\ninput x : f32 [N]\ninput z : f32 [N]\n"
#define TEMPS5(a, b, c, d, e)                                                 \
  "temp " a " : f32 [N]\ntemp " b " : f32 [N]\ntemp " c " : f32 [N]\ntemp " d \
  " : f32 [N]\ntemp " e " : f32 [N]\n"

static void two_sums_that_run_are_one(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "g", "Y", "Z",
                    "u") "def @1 h[t: N] = (h[t - 1] else 0.5) + x[t]\n"
                         "def @2 g[s: N] = (g[s - 1] else 0.5) + x[s]\n"
                         "def @3 Y[t: N] = h[t] + g[t]\nentry forward forward: Y = Y\n",
        " h Y");
}

static void what_begins_otherwise_stays(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "g", "Y", "Z",
                    "u") "def @1 h[t: N] = (h[t - 1] else 0.5) + x[t]\n"
                         "def @2 g[s: N] = (g[s - 1] else 0.25) + x[s]\n"
                         "def @3 Y[t: N] = h[t] + g[t]\nentry forward forward: Y = Y\n",
        " h g Y");
}

static void what_reads_another_tensor_stays(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "g", "Y", "Z",
                    "u") "def @1 h[t: N] = (h[t - 1] else 0.5) + x[t]\n"
                         "def @2 g[s: N] = (g[s - 1] else 0.5) + z[s]\n"
                         "def @3 Y[t: N] = h[t] + g[t]\nentry forward forward: Y = Y\n",
        " h g Y");
}

#define PAIR(a, b, p, q, x)                                             \
  "def @" p " " a "[t: N] = (" b "[t - 1] else 0.5) * 0.5 + " x "[t]\n" \
  "def @" q " " b "[t: N] = (" a "[t - 1] else 0.25) - (" b "[t - 1] else 1.0)\n"

static void pairs_that_need_each_other_are_one_pair(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "c", "g", "d", "Y") PAIR("h", "c", "1", "2", "x")
            PAIR("g", "d", "3", "4", "x") "def @5 Y[t: N] = h[t] + d[t]\n"
                                          "entry forward forward: Y = Y\n",
        " h c Y");
}

/* The order in which a pair is written says nothing. */
static void pairs_in_another_order_are_one_pair(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "c", "d", "g", "Y") PAIR(
            "h", "c", "1", "2", "x") "def @3 d[t: N] = (g[t - 1] else 0.25) - (d[t - 1] else 1.0)\n"
                                     "def @4 g[t: N] = (d[t - 1] else 0.5) * 0.5 + x[t]\n"
                                     "def @5 Y[t: N] = h[t] * g[t] + d[t]\n"
                                     "entry forward forward: Y = Y\n",
        " h c Y");
}

/* Tensors whose operands' operands differ are distinguished in the second iteration. */
static void pairs_that_differ_in_what_the_other_reads_stay(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "c", "g", "d", "Y") PAIR(
            "h", "c", "1", "2", "x") "def @3 g[t: N] = (d[t - 1] else 0.5) * 0.5 + x[t]\n"
                                     "def @4 d[t: N] = (g[t - 1] else 0.5) - (d[t - 1] else 1.0)\n"
                                     "def @5 Y[t: N] = h[t] + d[t]\nentry forward forward: Y = Y\n",
        " h c g d Y");
}

#define THREE(a, b, c, p, q, r, last)                         \
  "def @" p " " a "[t: N] = (" b "[t - 1] else 0.5) + x[t]\n" \
  "def @" q " " b "[t: N] = (" c "[t - 1] else 0.25) * 0.5\n" \
  "def @" r " " c "[t: N] = (" a "[t - 1] else " last ") - z[t]\n"
#define SIX TEMPS5("a", "b", "c", "d", "e") "temp f : f32 [N]\ntemp Y : f32 [N]\n"

static void circles_of_three_are_one(void **state) {
  (void)state;
  needs(HEAD SIX THREE("a", "b", "c", "1", "2", "3", "1.0")
            THREE("d", "e", "f", "4", "5", "6",
                  "1.0") "def @7 Y[t: N] = a[t] + d[t] * f[t]\nentry forward forward: Y = Y\n",
        " a b c Y");
  needs(HEAD SIX THREE("a", "b", "c", "1", "2", "3", "1.0")
            THREE("d", "e", "f", "4", "5", "6",
                  "2.0") "def @7 Y[t: N] = a[t] + d[t] * f[t]\nentry forward forward: Y = Y\n",
        " a b c d e f Y");
}

/* One behind the other: what lies between becomes one as well. */
static void recurrences_of_recurrences_are_one(void **state) {
  (void)state;
  needs(HEAD SIX
        "temp g : f32 [N]\ntemp h : f32 [N]\ntemp i : f32 [N]\n"
        "def @1 a[t: N] = (a[t - 1] else 0.5) + x[t]\ndef @2 d[t: N] = (d[t - 1] else 0.5) + x[t]\n"
        "def @3 b[t: N] = a[t] * 0.5\ndef @4 e[t: N] = d[t] * 0.5\n"
        "def @5 c[t: N] = (c[t - 1] else 0.5) + b[t]\ndef @6 f[t: N] = (f[t - 1] else 0.5) + e[t]\n"
        "def @7 g[t: N] = (g[t - 1] else 0.5) + c[t]\ndef @8 h[t: N] = (h[t - 1] else 0.5) + f[t]\n"
        "def @9 Y[t: N] = g[t] - h[t]\nentry forward forward: Y = Y\n",
        " a b c g Y");
}

static void what_entries_give_stays(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "c", "g", "d", "Y") PAIR("h", "c", "1", "2", "x")
            PAIR("g", "d", "3", "4", "x") "entry forward forward: h = h, d = d\n",
        " h c d");
}

static void the_two_of_one_recurrence_stay(void **state) {
  (void)state;
  needs(HEAD TEMPS5("h", "c", "g", "d",
                    "Y") "def @1 h[t: N] = (c[t - 1] else 0.5) + x[t]\n"
                         "def @2 c[t: N] = (h[t - 1] else 0.5) + x[t]\n"
                         "def @3 Y[t: N] = h[t] + c[t]\nentry forward forward: Y = Y\n",
        " h c Y");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_sums_that_run_are_one),
      cmocka_unit_test(what_begins_otherwise_stays),
      cmocka_unit_test(what_reads_another_tensor_stays),
      cmocka_unit_test(pairs_that_need_each_other_are_one_pair),
      cmocka_unit_test(pairs_in_another_order_are_one_pair),
      cmocka_unit_test(pairs_that_differ_in_what_the_other_reads_stay),
      cmocka_unit_test(circles_of_three_are_one),
      cmocka_unit_test(recurrences_of_recurrences_are_one),
      cmocka_unit_test(what_entries_give_stays),
      cmocka_unit_test(the_two_of_one_recurrence_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
