/* Parts of the forward pass that are computed again for the backward pass. */
#include "base/machine.h"
#include "ir/order.h"
#include "tests/transform/world.h"
#include <stdio.h>

/* A training step of so many layers z[k] = f(z[k-1]), back through d[k], and the new value of w. */
typedef struct {
  int layers;
  const char *sizes, *rows; /* declarations of sizes; the extent of an axis */
  const char *step; /* the end of a layer, of the sum acc0; %d and %d are z[k-1] and z[k-3] */
  const char *entries;
} chain;

static void add_layer(neo_str *s, const chain *c, int k) {
  int far = k > 3 ? k - 3 : 0;
  neo_str_addf(s, "def z%d[i: %s, j: 4] =\n  sum[l: 4] z%d[i, l] * w[]\n  then ", k, c->rows,
               k - 1);
  for (const char *p = c->step; *p; p++)
    if (*p == '<')
      neo_str_addf(s, "z%d[i, j]", far);
    else
      neo_str_addc(s, *p);
  neo_str_addc(s, '\n');
}

/* The text stays until the next one is made. */
static const char *text_of_chain(const chain *c) {
  static neo_arena a;
  static bool made;
  neo_str s;
  if (made)
    neo_arena_free(&a);
  made = true;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  neo_str_addf(&s, "neo-ir 1\nmodule t\nsites 1\n%sinput z0 : f64 [%s, 4]\n", c->sizes, c->rows);
  neo_str_add(&s, "param w : f64 []\ntemp L : f64 []\ntemp g : f64 []\nupdate u : f64 [] of w\n");
  for (int k = 1; k <= c->layers; k++)
    neo_str_addf(&s, "temp z%d : f64 [%s, 4]\ntemp d%d : f64 [%s, 4]\n", k, c->rows, k, c->rows);
  neo_str_add(&s, "init w[] = 0.25f64\n");
  for (int k = 1; k <= c->layers; k++)
    add_layer(&s, c, k);
  neo_str_addf(&s, "def L[] = sum[i: %s, j: 4] z%d[i, j] * z%d[i, j]\n", c->rows, c->layers,
               c->layers);
  neo_str_addf(&s, "def d%d[i: %s, j: 4] = 2.0f64 * z%d[i, j]\n", c->layers, c->rows, c->layers);
  for (int k = c->layers - 1; k > 0; k--)
    neo_str_addf(&s,
                 "def d%d[i: %s, j: 4] =\n  sum[l: 4] d%d[i, l] * w[]\n  then acc0 * z%d[i, j]\n",
                 k, c->rows, k + 1, k);
  neo_str_addf(&s, "def g[] = sum[i: %s, j: 4] d1[i, j] * z0[i, j]\n", c->rows);
  neo_str_addf(&s, "def u[] = w[] - 0.01f64 * g[]\n%s", c->entries);
  return neo_str_text(&s);
}

#define STEP "entry train step: L = L; updates u\n"
#define GRAD "entry grad grad: L = L, g = g\n"

static void recompute_it(world *w, int64_t memory) {
  w->target.memory = memory;
  w->target.profile = &neo_machine_named("x86-64-v3")->profile;
  apply(w, neo_pass_recompute);
}

static size_t count(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part))
    n++;
  return n;
}

static void segments_are_computed_again_after_the_backward_pass_reached_them(void **state) {
  (void)state;
  world w, again;
  load(&w, text_of_chain(&(chain){9, "", "50", "acc0 / 4.0f64", STEP}));
  recompute_it(&w, -1);
  const char *text = text_of(&w);
  assert_true(count(text, " after d") >= 3);
  assert_true(count(text, " after ") == count(text, " after d"));
  load(&again, text);
  assert_string_equal(text_of(&again), text);
  neo_arena_free(&again.arena);
  neo_arena_free(&w.arena);
}

/* Layers that the backward pass reads as the forward pass made them. */
static void few_layers_are_kept(void **state) {
  (void)state;
  world w;
  size_t kept = 0;
  load(&w, text_of_chain(&(chain){36, "", "50", "acc0 / 4.0f64", STEP}));
  recompute_it(&w, -1);
  const char *text = text_of(&w);
  for (int k = 1; k <= 36; k++) {
    char read[32];
    (void)snprintf(read, sizeof read, " z%d[i, j]\n", k);
    kept += count(text, read) > 0;
  }
  assert_true(kept >= 4 && kept <= 12);
  neo_arena_free(&w.arena);
}

/* With both, w and the loss have the same bits after a step. */
static void same_bits(const chain *c, int64_t size, int64_t memory) {
  const char *text = text_of_chain(c);
  world a, b;
  load(&a, text);
  load(&b, text);
  recompute_it(&b, memory);
  neo_interp *x = values_of(&a, size), *y = values_of(&b, size);
  double u = neo_interp_output(x, 0)->at[0].f, v = neo_interp_output(y, 0)->at[0].f;
  assert_memory_equal(&u, &v, sizeof u);
  u = neo_interp_tensor(x, neo_tensor_find(a.m, "w"))->at[0].f;
  v = neo_interp_tensor(y, neo_tensor_find(b.m, "w"))->at[0].f;
  assert_memory_equal(&u, &v, sizeof u);
  neo_arena_free(&a.arena);
  neo_arena_free(&b.arena);
}

static void values_are_the_same_bits(void **state) {
  (void)state;
  static const char *const steps[] = {"acc0 / 4.0f64", "sin(acc0) + f64(rand(0, i * 4 + j))",
                                      "acc0 / 2.0f64 - <"};
  static const int64_t limits[] = {-1, 1, 400, 1000, 2000};
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
      for (int layers = 1; layers <= 17; layers += 4) {
        same_bits(&(chain){layers, "", "5", steps[s], STEP GRAD}, 1, limits[k]);
        same_bits(&(chain){layers, "size N 0..9\n", "N", steps[s], STEP}, (int64_t)k, limits[k]);
      }
}

static void what_fits_stays_as_it_is(void **state) {
  (void)state;
  static const int64_t enough[] = {0, 9 * 1600, 1 << 30};
  for (size_t k = 0; k < sizeof enough / sizeof *enough; k++) {
    world w;
    load(&w, text_of_chain(&(chain){9, "", "50", "acc0 / 4.0f64", STEP}));
    const char *before = text_of(&w);
    recompute_it(&w, enough[k]);
    assert_string_equal(text_of(&w), before);
    neo_arena_free(&w.arena);
  }
}

/* Neither inference nor a second entry with the same backward pass asks for more copies. */
static void entries_share_what_is_computed_again(void **state) {
  (void)state;
  world a, b;
  load(&a, text_of_chain(&(chain){16, "", "50", "acc0 / 4.0f64", STEP}));
  load(&b, text_of_chain(&(chain){16, "", "50", "acc0 / 4.0f64", STEP GRAD}));
  recompute_it(&a, -1);
  recompute_it(&b, -1);
  assert_int_equal(count(text_of(&a), " after "), count(text_of(&b), " after "));
  neo_arena_free(&a.arena);
  neo_arena_free(&b.arena);
  load(&a, text_of_chain(&(chain){16, "", "50", "acc0 / 4.0f64", "entry forward f: L = L\n"}));
  recompute_it(&a, -1);
  assert_int_equal(count(text_of(&a), " after "), 0);
  neo_arena_free(&a.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(segments_are_computed_again_after_the_backward_pass_reached_them),
      cmocka_unit_test(few_layers_are_kept),
      cmocka_unit_test(values_are_the_same_bits),
      cmocka_unit_test(what_fits_stays_as_it_is),
      cmocka_unit_test(entries_share_what_is_computed_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
