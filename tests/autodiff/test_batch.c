/* Requests for each point of a batch: what their gradients read, and what has dimensions for the points.
 * That their values are right is tested with JAX and by differences (tests/recurrences). */
#include "ir/print.h"
#include "tests/autodiff/grad_world.h"
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\ninput x : f64 [4, 3]\ninput w0 : f64 [3]\n"
/* w -= 0.1*d loss/d w, loss = sum[j] sin(w*x)^2, in 4 rounds */
#define ROUNDS                                                        \
  "temp w : f64 [4, 3]\ntemp next : f64 [4, 3]\ntemp g : f64 [4, 3]\n" \
  "temp loss : f64 [4]\n"                                             \
  "def w[t: 4, j: 3] = (next[t - 1, j] else w0[j])\n"                 \
  "def loss[t: 4] =\n  sum[j: 3] w[t, j] * x[t, j]\n  then sin(acc0)\n" \
  "def next[t: 4, j: 3] = w[t, j] - 0.1f64 * g[t, j]\n"

/* The module after the pass, as text; in the arena of w, which the caller frees. */
static const char *differentiated(grad_world *w, const char *text) {
  neo_str got;
  grad_begin(w);
  w->m = neo_module_parse(&w->arena, w->names, w->diags, "t", text, strlen(text));
  if (!w->m)
    fail_msg("%s", grad_messages(w));
  grad_pass(w);
  neo_str_init(&got, &w->arena);
  neo_module_print(w->m, &got);
  return neo_str_text(&got);
}

static void has(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("no '%s' in:\n%s", part, text);
}

static void the_gradient_of_a_round_ends_at_its_carries(void **state) {
  (void)state;
  grad_world w;
  const char *text =
      differentiated(&w, HEAD ROUNDS "gradient of loss batch 1 hold w for w into g\n");
  has(text, " g[z0: 4, z1: 3] = ");
  assert_null(strstr(text, "d.next"));
  neo_arena_free(&w.arena);
}

static void gradients_of_rounds_read_what_the_program_made_and_kept(void **state) {
  (void)state;
  grad_world w;
  const char *text =
      differentiated(&w, HEAD ROUNDS "gradient of loss batch 1 hold w for w into g\n");
  has(text, "(loss, acc.loss)[t: 4] ="); /* the accumulator is the definition's own, not a copy's */
  has(text, "cos(acc.loss[");
  assert_null(strstr(text, "(acc.at.loss["));
  neo_arena_free(&w.arena);
}

static void what_all_points_share_has_a_gradient_for_each(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(&w, HEAD
                                    "temp v : f64 [3]\ntemp y : f64 [4]\ntemp g : f64 [4, 3]\n"
                                    "def v[i: 3] = sin(w0[i])\n"
                                    "def y[t: 4] =\n  sum[i: 3] v[i] * x[t, i]\n  then acc0\n"
                                    "gradient of y batch 1 for w0 into g\n");
  has(text, "g[z0: 4, z1: 3] = x[z0, z1] * cos(w0[z1])");
  neo_arena_free(&w.arena);
}

static void a_slice_is_the_leaf_where_it_is_read(void **state) {
  (void)state;
  grad_world w;
  const char *text =
      differentiated(&w, HEAD "temp y : f64 [4]\ntemp g : f64 [4, 3]\n"
                              "def y[t: 4] =\n  sum[i: 3] x[t, i] * (x[t - 1, i] else w0[i])\n"
                              "  then acc0\ngradient of y batch 1 for x into g\n");
  has(text, "g[z0: 4, z1: 3] = (x[z0 - 1, z1] else w0[z1])");
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_gradient_of_a_round_ends_at_its_carries),
      cmocka_unit_test(gradients_of_rounds_read_what_the_program_made_and_kept),
      cmocka_unit_test(what_all_points_share_has_a_gradient_for_each),
      cmocka_unit_test(a_slice_is_the_leaf_where_it_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
