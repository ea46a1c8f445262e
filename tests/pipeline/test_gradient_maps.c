/* Gradients of random access maps equal a scatter, to the last bit, and stay equal while passes
 * split and shift them. NEO_TEST_SLOW=n prints those whose gradients go through more than n times
 * the points of what they differentiate. */
#include "ir/print.h"
#include "tests/pipeline/gradient_oracle.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/maps.h"
#include "tests/random/seeds.h"
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, BUDGET = 4000 }; /* BUDGET: attempts of the shrinker */

typedef struct {
  gradient_oracle o;
  neo_map_options maps;
} kind;

static bool fails(void *ctx, const neo_gen_program *g) {
  kind k = *(const kind *)ctx;
  neo_str why;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&why, &a);
  bool good = gradient_oracle_check(&k.o, g, &why);
  neo_arena_free(&a);
  return !good && !k.o.broken;
}

static void report(kind *k, neo_arena *a, const neo_gen_program *g) {
  neo_str text;
  neo_str_init(&text, a);
  neo_gen_program small = neo_gen_shrink(a, g, fails, k, BUDGET);
  neo_gen_print(&small, &text);
  neo_str_add(&text, "\n");
  (void)gradient_oracle_check(&k->o, &small, &text);
  fprintf(stderr, "%s\n", neo_str_text(&text)); /* cmocka cuts */
}

/* Takes the oracle's measure of the last program. */
static void show_slow(gradient_oracle *o, const neo_gen_program *g, double *worst) {
  const char *limit = getenv("NEO_TEST_SLOW");
  if (limit && o->worst > strtod(limit, NULL)) {
    neo_str text;
    neo_str_init(&text, g->m->arena);
    neo_gen_print(g, &text);
    fprintf(stderr, "%g times the points of\n%s\n", o->worst, neo_str_text(&text));
  }
  if (o->worst > *worst)
    *worst = o->worst;
  o->worst = 0;
}

/* Tries one in `every` seeds, for programs that take longer. */
static void try_seeds(kind *k, uint64_t every) {
  neo_seeds s = neo_seeds_of(1, COUNT);
  int wrong = 0;
  double worst = 0;
  for (uint64_t seed = s.first; seed < s.first + s.n / every; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_map_make(&a, seed, &k->maps);
    if (!gradient_oracle_check(&k->o, &g, &why)) {
      fprintf(stderr, "seed %llu:\n", (unsigned long long)seed);
      report(k, &a, &g);
      wrong++;
    }
    show_slow(&k->o, &g, &worst);
    neo_arena_free(&a);
  }
  if (s.given)
    fprintf(stderr, "%llu modules, %llu elements, %llu in pieces, %llu remarks, worst %g\n",
            (unsigned long long)k->o.modules, (unsigned long long)k->o.compared,
            (unsigned long long)k->o.split, (unsigned long long)k->o.remarks, worst);
  assert_int_equal(wrong, 0);
}

static void gradients_of_random_maps_equal_a_scatter(void **state) {
  (void)state;
  kind k = {.maps = {.type = NEO_F64_T}};
  try_seeds(&k, 1);
  assert_true(k.o.split * 50 > k.o.modules || k.o.modules < 500);
}

static void second_gradients_of_random_maps_equal_a_scatter(void **state) {
  (void)state;
  kind k = {.o = {.second = true}, .maps = {.type = NEO_F64_T, .smooth = true}};
  try_seeds(&k, 10);
}

/* Gradients in pieces reach fusion, the plan and the kernels. */
static void try_compiled(uint64_t seed, kernel_kind kernels) {
  plan_world w;
  neo_map_options o = {.type = seed % 4 ? NEO_F32_T : NEO_F64_T};
  neo_str ir, why;
  world_open(&w);
  neo_str_init(&ir, &w.c.arena);
  neo_str_init(&why, &w.c.arena);
  neo_gen_program g = neo_map_make(&w.c.arena, seed, &o);
  neo_module_print(g.m, &ir);
  world_parse(&w, neo_str_text(&ir));
  (void)gradient_oracle_request(w.c.module);
  w.seed = seed;
  world_begin(&w, kernels, g.sizes);
  if (!world_run(&w, (uint32_t)w.c.module->entries.n - 1, 0, &why)) {
    neo_module_print(w.c.module, &why);
    for (size_t k = 0; k < w.c.kernels.n; k++)
      neo_kernel_print(w.c.kernels.at[k].kernel, &why);
    fprintf(stderr, "seed %llu\n%s\n%s\n", (unsigned long long)seed, neo_str_text(&ir),
            neo_str_text(&why));
    fail_msg("seed %llu", (unsigned long long)seed);
  }
  world_close(&w);
}

static void random_maps_in_machine_code_have_the_same_gradients(void **state) {
  (void)state;
  neo_seeds s = neo_seeds_of(1, COUNT);
  for (uint64_t seed = s.first; seed < s.first + s.n / 20; seed++)
    try_compiled(seed, KERNELS_COMPILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_random_maps_equal_a_scatter),
      cmocka_unit_test(second_gradients_of_random_maps_equal_a_scatter),
      cmocka_unit_test(random_maps_in_machine_code_have_the_same_gradients),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
