/* Gradients of random access maps equal a scatter, to the last bit, and stay equal while passes
 * split and shift them. NEO_TEST_SEED and NEO_TEST_COUNT run others; NEO_TEST_SHOW prints each. */
#include "ir/print.h"
#include "tests/pipeline/gradient_oracle.h"
#include "tests/random/maps.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* The sanitizers make each program some ten times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT "100"
#else
#define COUNT "1000"
#endif
enum { BUDGET = 4000 }; /* attempts of the shrinker */

static uint64_t setting(const char *name, const char *otherwise) {
  const char *x = getenv(name);
  return strtoull(x ? x : otherwise, NULL, 10);
}

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
  return !good;
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

static void try_seeds(kind *k, uint64_t first, uint64_t n) {
  int wrong = 0;
  for (uint64_t seed = first; seed < first + n; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_map_make(&a, seed, &k->maps);
    if (getenv("NEO_TEST_SHOW")) {
      neo_str text;
      neo_str_init(&text, &a);
      neo_gen_print(&g, &text);
      fprintf(stderr, "%s\n", neo_str_text(&text));
    }
    if (!gradient_oracle_check(&k->o, &g, &why)) {
      fprintf(stderr, "seed %llu:\n", (unsigned long long)seed);
      report(k, &a, &g);
      wrong++;
    }
    neo_arena_free(&a);
  }
  if (getenv("NEO_TEST_SEED"))
    fprintf(stderr, "%llu modules, %llu elements, %llu in pieces, %llu remarks, worst %g\n",
            (unsigned long long)k->o.modules, (unsigned long long)k->o.compared,
            (unsigned long long)k->o.split, (unsigned long long)k->o.remarks, k->o.worst);
  assert_int_equal(wrong, 0);
}

static void gradients_of_random_maps_equal_a_scatter(void **state) {
  (void)state;
  kind k = {.maps = {.type = NEO_F64_T}};
  try_seeds(&k, setting("NEO_TEST_SEED", "1"), setting("NEO_TEST_COUNT", COUNT));
  assert_true(k.o.split * 50 > k.o.modules || k.o.modules < 500);
}

static void second_gradients_of_random_maps_equal_a_scatter(void **state) {
  (void)state;
  kind k = {.o = {.second = true}, .maps = {.type = NEO_F64_T, .smooth = true}};
  try_seeds(&k, setting("NEO_TEST_SEED", "1"), setting("NEO_TEST_COUNT", COUNT) / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_random_maps_equal_a_scatter),
      cmocka_unit_test(second_gradients_of_random_maps_equal_a_scatter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
