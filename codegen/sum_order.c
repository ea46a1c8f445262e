/* See sum_order.h. */
#include "codegen/sum_order.h"
#include "base/hash.h"
#include "fusion/form.h"
#include <stdlib.h>

/* Axes are known by their names and lengths: of a list, whose length is data, it is 0. */
static uint64_t hash_of(neo_module *m, const neo_stage *s) {
  uint64_t h = 0;
  for (size_t k = 0; k < s->axes.n; k++) {
    int64_t n = 0;
    (void)neo_expr_is_int(m, s->axes.at[k].hi, &n);
    uint64_t axis[] = {h, s->axes.at[k].name, (uint64_t)n};
    h = neo_hash(axis, sizeof axis, 0);
  }
  return h;
}

/* Do the bits of its results depend on the order? Bools and integers are the same in any. */
static bool rounds(const neo_stage *s) {
  bool is = false;
  for (size_t k = 0; k < s->accs.n; k++)
    is = is || neo_type_is_float((neo_type)s->accs.at[k].type);
  return is;
}

void neo_sum_order_add(neo_module *m, neo_arena *a, const neo_group *g, const neo_schedule *s,
                       neo_sum_order *o) {
  const neo_form *f = neo_group_form(m, g);
  bool any = false;
  for (size_t k = 0; k < f->stages.n; k++)
    if (rounds(&f->stages.at[k])) {
      NEO_PUSH(a, &o->sums, hash_of(m, &f->stages.at[k]));
      any = true;
    }
  o->other = o->other || (any && !neo_schedule_is_in_order(m, g, s));
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

bool neo_sum_orders_equal(neo_sum_order *a, neo_sum_order *b) {
  bool equal = !a->other && !b->other && a->sums.n == b->sums.n;
  neo_sum_order *both[] = {a, b};
  for (int k = 0; k < 2 && equal; k++)
    if (both[k]->sums.n)
      qsort(both[k]->sums.at, both[k]->sums.n, sizeof *both[k]->sums.at, by_value);
  for (size_t k = 0; k < a->sums.n && equal; k++)
    equal = a->sums.at[k] == b->sums.at[k];
  return equal;
}
