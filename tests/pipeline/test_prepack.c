/* Weights in layouts, compiled, against the interpreter: random products with weights whose
 * dimensions are in any order, of extents that divide into no tiles, beside conditions and heads,
 * in entries that alternate with updates. */
#include "base/random.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/seeds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\n"

static int64_t between(uint64_t *seed, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(seed) % (uint64_t)(hi - lo + 1));
}

/* Dimensions of the weights: 0 columns, 1 and 2 reduced, 3 heads. */
typedef struct {
  int64_t n[4], rows;
  int order[4], rank;
  bool shifted, masked, trained, scaled;
} product;

static product random_product(uint64_t *seed) {
  product p = {.rank = (int)between(seed, 2, 4)};
  p.n[0] = between(seed, 17, 75);
  p.n[1] = p.rank > 2 ? between(seed, 60, 90) : between(seed, 260, 300);
  p.n[2] = between(seed, 1, 5);
  p.n[3] = between(seed, 1, 3);
  p.rows = between(seed, 1, 14);
  for (int k = 0; k < p.rank; k++) {
    int at = (int)between(seed, 0, k);
    p.order[k] = p.order[at];
    p.order[at] = k;
  }
  p.n[1] = 16384 / 4 / (p.n[0] * (p.rank > 2 ? p.n[2] : 1) * (p.rank > 3 ? p.n[3] : 1)) + 1 +
           between(seed, 0, 9);
  p.shifted = neo_splitmix(seed) & 1;
  p.masked = neo_splitmix(seed) % 4 == 0;
  p.trained = neo_splitmix(seed) & 1;
  p.scaled = neo_splitmix(seed) % 3 == 0;
  return p;
}

static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t size, const char *format, ...) {
  size_t n = strlen(text);
  va_list ap;
  va_start(ap, format);
  vsnprintf(text + n, size - n, format, ap);
  va_end(ap);
}

static void write_index(const product *p, char *t, size_t n, const char *const *axis) {
  for (int k = 0; k < p->rank; k++)
    add(t, n, "%s%s", k ? ", " : "", axis[p->order[k]]);
}

/* name[b, h, j] = the sum of x times the weights. */
static void write_sum(const product *p, char *t, size_t n, const char *name, const char *x) {
  static const char *const axis[] = {"j", "k", "s", "h"}, *const shifted[] = {"j", "k + 1", "s",
                                                                              "h"};
  add(t, n, "temp %s : f32 [%d, %d, %d]\ndef %s[b: %d, h: %d, j: %d] =\n  sum[k: %d, s: %d]", name,
      (int)p->rows, (int)p->n[3], (int)p->n[0], name, (int)p->rows, (int)p->n[3], (int)p->n[0],
      (int)p->n[1], (int)p->n[2]);
  add(t, n, "%s %s * W[", p->masked ? " where s <= h;" : "", x);
  write_index(p, t, n, p->shifted ? shifted : axis);
  add(t, n, "]\n  then acc0%s\n", p->scaled ? " * 0.5" : "");
}

static void write_product(const product *p, char *t, size_t n) {
  static const char *const axis[] = {"j", "k", "s", "h"};
  int64_t m = p->n[1] + p->shifted;
  add(t, n, HEAD "input X : f32 [%d, %d, %d]\nparam W : f32 [", (int)p->rows, (int)p->n[1],
      (int)p->n[2]);
  for (int k = 0; k < p->rank; k++)
    add(t, n, "%s%d", k ? ", " : "", (int)(p->order[k] == 1 ? m : p->n[p->order[k]]));
  add(t, n, "]\ninit W[");
  for (int k = 0; k < p->rank; k++)
    add(t, n, "%s%s: %d", k ? ", " : "", axis[p->order[k]],
        (int)(p->order[k] == 1 ? m : p->n[p->order[k]]));
  add(t, n, "] = f32((j * 7 + k * 3) %% 11) - 5.0\n");
  write_sum(p, t, n, "Y", "X[b, k, s]");
  add(t, n, "entry forward forward: Y = Y\n");
  if (!p->trained)
    return;
  write_sum(p, t, n, "Z", "X[b, k, s] * X[b, k, s]");
  add(t, n, "update u : f32 [");
  for (int k = 0; k < p->rank; k++)
    add(t, n, "%s%d", k ? ", " : "", (int)(p->order[k] == 1 ? m : p->n[p->order[k]]));
  add(t, n, "] of W\ndef u[");
  for (int k = 0; k < p->rank; k++)
    add(t, n, "%s%s: %d", k ? ", " : "", axis[p->order[k]],
        (int)(p->order[k] == 1 ? m : p->n[p->order[k]]));
  add(t, n, "] = W[");
  write_index(p, t, n, axis);
  add(t, n, "] * 0.5 + X[0, 0, 0]\nentry train step: Y = Y, Z = Z; updates u\n");
}

static size_t count_kept(const plan_world *w) {
  size_t n = 0;
  for (size_t k = 0; k < w->c.grouping.groups.n; k++)
    n += w->c.grouping.groups.at[k].cached;
  return n;
}

static void products_equal_the_interpreter(void **state) {
  (void)state;
  neo_seeds s = neo_seeds_of(0, 40);
  for (uint64_t k = s.first; k < s.first + s.n; k++) {
    char text[4096] = "";
    uint64_t seed = k;
    product p = random_product(&seed);
    plan_world w;
    write_product(&p, text, sizeof text);
    world_open(&w);
    world_parse(&w, text);
    w.threads = 1 + (int32_t)(k % 2);
    world_begin(&w, KERNELS_COMPILED, NULL);
    if (count_kept(&w) != 1)
      fail_msg("seed %llu: nothing is laid out in\n%s", (unsigned long long)k, text);
    world_check(&w, 2);
    world_close(&w);
  }
}

/* The same bytes with and without, where sums are exact. */
static void a_layout_changes_no_result(void **state) {
  (void)state;
  static const char *const skip[] = {"prepack", NULL};
  float out[2][5][40];
  for (int k = 0; k < 2; k++) {
    plan_world w;
    void *args[2];
    static float x[5][120];
    for (int i = 0; i < 5 * 120; i++)
      x[i / 120][i % 120] = (float)(i % 13 - 6);
    world_open(&w);
    world_parse(&w, HEAD "input X : f32 [5, 120]\nparam W : f32 [120, 40]\ntemp Y : f32 [5, 40]\n"
                         "init @1 W[i: 120, j: 40] = f32((i * 5 + j * 3) % 17) - 8.0\n"
                         "def @2 Y[b: 5, j: 40] =\n  sum[k: 120] X[b, k] * W[k, j]\n  then acc0\n"
                         "entry forward forward: Y = Y\n");
    w.c.options.passes.skip = k ? skip : NULL;
    world_begin(&w, KERNELS_COMPILED, NULL);
    assert_int_equal(count_kept(&w), k ? 0 : 1);
    args[0] = x;
    args[1] = out[k];
    for (int call = 0; call < 2; call++)
      assert_int_equal(neo_rt_call(w.ctx, neo_rt_find_entry(&w.model, "forward"), NULL, args), 0);
    world_close(&w);
  }
  assert_memory_equal(out[0], out[1], sizeof out[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_equal_the_interpreter),
      cmocka_unit_test(a_layout_changes_no_result),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
