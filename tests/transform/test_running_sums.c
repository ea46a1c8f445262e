/* Sums over the rounds of a recurrence, which grow with them. */
#include "tests/transform/world.h"
#include <math.h>
#include <stdio.h>

#define MODEL                                                                    \
  "neo-ir 1\nmodule t\nsize T 1..9\ninput x : f32 [T, 3]\ntemp h : f32 [T, 3]\n" \
  "temp g : f32 [T, 3]\ntemp s : f32 []\ntemp u : f32 [3]\n"                     \
  "def @1 h[t: T, j: 3] = 0.5 * x[t, j] + (h[t - 1, j] else 0.0)\n"              \
  "def @2 g[t: T, j: 3] = 0.5 * x[t, j] + (g[t + 1, j] else 0.0)\n"              \
  "def @3 s[] =\n  sum[t: %s, j: 3] where t != 1;\n  (h[t + %d, j] else 10.0)\n" \
  "def @4 u[j: 3] =\n  sum[t: %s] (g[t + %d, j] else 10.0)\nentry forward forward: s = s, u = u\n"

static void terms_of_points_below_zero_are_added(void **state) {
  (void)state;
  static const char *const range[] = {"T",     "2..T",   "-1..T - 1", "-3..T",
                                      "-3..1", "-4..-2", "T - 2..T"};
  for (size_t k = 0; k < sizeof range / sizeof *range; k++)
    for (int offset = 0; offset < 3; offset++)
      for (int size = 1; size < 7; size++) {
        char text[2048];
        world w, before;
        snprintf(text, sizeof text, MODEL, range[k], offset, range[k], offset);
        load(&before, text);
        load(&w, text);
        apply(&w, neo_pass_running_sums);
        /* the start T - 2 may be below zero, and is no number */
        assert_true(!strstr(text_of(&w), "running.s") == !strcmp(range[k], "T - 2..T"));
        neo_interp *a = values_of(&before, size), *b = values_of(&w, size);
        neo_tensor out[] = {neo_tensor_find(w.m, "s"), neo_tensor_find(w.m, "u")};
        for (int o = 0; o < 2; o++) {
          const neo_values *p = neo_interp_tensor(a, out[o]), *q = neo_interp_tensor(b, out[o]);
          for (int64_t i = 0; i < p->n; i++)
            if (fabs(p->at[i].f - q->at[i].f) > 1e-4)
              fail_msg("%s, size %d: %g and %g\n%s", range[k], size, p->at[i].f, q->at[i].f,
                       text_of(&w));
        }
        neo_arena_free(&w.arena);
        neo_arena_free(&before.arena);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(terms_of_points_below_zero_are_added)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
