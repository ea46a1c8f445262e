/* Random products and sums inside of sums on the emulated device, by random schedules of those that
 * only they have: boxes, a producer that asks for them, persistent blocks, stages. They are what
 * the reference interpreter says, in any order of threads; and so many of the seeds have each of
 * them, since a draw that seldom comes tests nothing. */
#include "fusion/form.h"
#include "fusion/nest.h"
#include "fusion/profile.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/products.h"
#include "tests/random/seeds.h"
#include <stdio.h>
#include <stdlib.h>

enum { N_PRODUCTS = 48, N_ATTENTIONS = 36, DRAWS = 150 };

typedef struct {
  uint64_t draw;
  int want; /* of what a schedule may have: so much */
  int boxes, producers, persistent, staged, nests;
} wanted;

/* A nest's stages count for all; else each needs the one before it. */
static int has(const neo_schedule *s, bool nests) {
  const int64_t *p = s->at;
  if (nests)
    return p[NEO_SCHED_STAGES] ? 3 : p[NEO_SCHED_MATRIX] ? 1 : 0;
  return (p[NEO_SCHED_BULK] != 0) + (p[NEO_SCHED_PRODUCER] != 0) + (p[NEO_SCHED_PERSISTENT] != 0);
}

static bool fits(neo_compilation *c, const neo_group *g, const neo_schedule *s) {
  neo_kernel *k;
  const char *why;
  return !neo_compile_lower(c, g, s, &k, &why) &&
         (neo_kernel_scratch_bytes(k) == 0 || neo_kernel_threads(k));
}

/* What a random one lacks of what is wanted, where it may have it. */
static void add_wanted(neo_compilation *c, const neo_group *g, int want, neo_schedule *s) {
  static const neo_sched_param row[] = {NEO_SCHED_BULK, NEO_SCHED_PRODUCER, NEO_SCHED_PERSISTENT};
  for (int k = 0; k < want; k++) {
    neo_schedule y = *s;
    y.at[row[k]] = 1;
    if (neo_schedule_legal(c->module, g, &c->machine, &y, NULL))
      *s = y;
  }
}

/* Of some random ones the first that has what is wanted, else one that has most of it. */
static neo_schedule draw(void *ctx, neo_compilation *c, const neo_group *g) {
  wanted *w = ctx;
  bool nests = neo_form_nests(neo_group_form(c->module, g));
  neo_schedule best = neo_schedule_default(c->module, g, &c->machine);
  int most = -1;
  for (int k = 0; k < DRAWS && most < w->want; k++) {
    neo_schedule s = neo_schedule_random(c->module, g, &c->machine, &w->draw);
    if (!nests)
      add_wanted(c, g, w->want, &s);
    if (has(&s, nests) <= most || !fits(c, g, &s))
      continue;
    best = s;
    most = has(&s, nests);
  }
  w->boxes += best.at[NEO_SCHED_BULK] != 0;
  w->producers += best.at[NEO_SCHED_PRODUCER] != 0;
  w->persistent += best.at[NEO_SCHED_PERSISTENT] != 0;
  w->staged += nests && best.at[NEO_SCHED_STAGES];
  w->nests += nests;
  return best;
}

/* Nests whatever can be. */
static neo_profile eager(void) {
  neo_profile p = *neo_profile_gpu();
  p.products_per_s = 1e30;
  p.room_s = 1;
  return p;
}

static void check_seed(uint64_t seed, const char *(*make)(neo_arena *, uint64_t), wanted *ctx) {
  static const neo_precision math[] = {NEO_PRECISION_TF32, NEO_PRECISION_BF16, NEO_PRECISION_TF32,
                                       NEO_PRECISION_3XTF32};
  static const int wants[] = {3, 2, 3, 0};
  plan_world w;
  neo_profile p = eager();
  char number[32];
  snprintf(number, sizeof number, "%d", (int)(seed % 3));
  setenv("NEO_EMULATOR_SEED", number, 1);
  snprintf(number, sizeof number, "%d", (int)(seed % 2 ? 1 + seed % 5 : 1000));
  setenv("NEO_EMULATOR_PROCESSORS", number, 1);
  ctx->draw = seed;
  ctx->want = wants[seed % 4];
  world_open(&w);
  world_parse(&w, make(&w.c.arena, seed));
  w.c.module->math = (uint8_t)math[seed / 4 % 4];
  w.c.options.target = "nvptx:sm_90a+host";
  w.c.options.fusion.profile = &p;
  w.c.options.schedule = draw;
  w.c.options.schedule_ctx = ctx;
  w.seed = seed;
  world_begin(&w, KERNELS_EMULATED, NULL);
  world_check(&w, 1);
  world_close(&w);
  unsetenv("NEO_EMULATOR_PROCESSORS");
}

/* *other: not as many as usual, or other ones, of which nothing is known. */
static wanted check_seeds(uint64_t n, const char *(*make)(neo_arena *, uint64_t), bool *other) {
  neo_seeds s = neo_seeds_of(1, n);
  wanted all = {0};
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    check_seed(seed, make, &all);
  }
  *other = s.given || s.n < s.usual;
  return all;
}

static void random_products_with_boxes_and_producers_equal_the_interpreter(void **state) {
  bool other;
  wanted all = check_seeds(N_PRODUCTS, neo_gen_product, &other);
  (void)state;
  print_message("%d of %d by boxes, %d by a producer, %d persistent\n", all.boxes, N_PRODUCTS,
                all.producers, all.persistent);
  assert_true(other || (all.boxes >= 12 && all.producers >= 10 && all.persistent >= 3));
}

static void random_sums_in_sums_with_stages_equal_the_interpreter(void **state) {
  bool other;
  wanted all = check_seeds(N_ATTENTIONS, neo_gen_attention, &other);
  (void)state;
  print_message("%d kernels with sums in sums, %d in stages\n", all.nests, all.staged);
  assert_true(other || (all.nests >= N_ATTENTIONS && all.staged >= 12));
}

int main(void) {
#if defined(__SANITIZE_THREAD__)
  return 77; /* the stacks of emulated threads are not the thread sanitizer's */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_products_with_boxes_and_producers_equal_the_interpreter),
      cmocka_unit_test(random_sums_in_sums_with_stages_equal_the_interpreter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
