/* In which order kernels add up, and that a group may ask for that of its axes. */
#include "codegen/sum_order.h"
#include "ir/print.h"
#include "tests/draw/draw.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_group group;
} world;

static void open_world(world *w, const char *axes, bool in_order) {
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  neo_arena *a = &w->arena;
  char *text = neo_arena_printf(a,
                                "neo-ir 1\nmodule t\nsize N 1..64\ninput X : f32 [N, 8, 256]\n"
                                "input W : f32 [8, 256, 32]\ntemp Y : f32 [N, 32]\n"
                                "def Y[i: N, j: 32] =\n  sum[%s] X[i, k, l] * W[k, l, j]\n",
                                axes);
  w->m = neo_module_parse(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)), "test", text,
                          strlen(text));
  assert_non_null(w->m);
  w->group = (neo_group){.in_order = in_order};
  neo_member member = {{(uint32_t)w->m->defs.n - 1}, NEO_PLACE_ROOT, NULL, false};
  NEO_PUSH(a, &w->group.members, member);
  neo_group_finish(w->m, a, &w->group);
}

static const neo_machine *machine(void) {
  return neo_machine_named("x86-64-v3");
}

static neo_schedule rows(void) {
  neo_schedule s = neo_schedule_plain();
  s.loops.vector_axis = 1;
  s.loops.vector_width = 8;
  return s;
}

static void schedules_with_sums_of_parts_are_in_another_order(void **state) {
  (void)state;
  world w;
  open_world(&w, "k: 8, l: 256", false);
  neo_schedule s = rows(), parts = s, lanes = s;
  parts.loops.partial = 2;
  lanes.loops.vector_axis = 2;
  assert_true(neo_schedule_is_in_order(w.m, &w.group, &s));
  assert_false(neo_schedule_is_in_order(w.m, &w.group, &parts));
  assert_false(neo_schedule_is_in_order(w.m, &w.group, &lanes));
  assert_true(neo_schedule_legal(w.m, &w.group, machine(), &parts, NULL));
  neo_arena_free(&w.arena);
}

static void a_group_in_order_refuses_them_and_the_model_chooses_others(void **state) {
  (void)state;
  world w;
  open_world(&w, "k: 8, l: 256", true);
  neo_schedule s = rows(), chosen = neo_schedule_default(w.m, &w.group, machine());
  assert_true(neo_schedule_legal(w.m, &w.group, machine(), &s, NULL));
  s.loops.partial = 2;
  assert_false(neo_schedule_legal(w.m, &w.group, machine(), &s, NULL));
  assert_true(neo_schedule_is_in_order(w.m, &w.group, &chosen));
  assert_true(chosen.loops.vector_width > 1);
  for (uint64_t seed = 1; seed <= 50; seed++) {
    uint64_t draw = seed;
    neo_schedule any = neo_schedule_random(w.m, &w.group, machine(), &draw);
    assert_true(neo_schedule_is_in_order(w.m, &w.group, &any));
  }
  neo_arena_free(&w.arena);
}

static void add(world *w, const char *axes, int64_t partial, neo_sum_order *o) {
  neo_schedule s = rows();
  s.loops.partial = partial;
  open_world(w, axes, false);
  neo_sum_order_add(w->m, &w->arena, &w->group, &s, o);
}

static void orders_are_equal_where_axes_follow_each_other_alike(void **state) {
  (void)state;
  static const struct {
    const char *axes;
    int64_t partial;
    bool equal;
  } other[] = {{"k: 8, l: 256", 1, true},
               {"l: 256, k: 8", 1, false},
               {"k: 8, l: 128", 1, false},
               {"k: 8, l: 256", 2, false}};
  for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
    world a, b;
    neo_sum_order x = {0}, y = {0};
    add(&a, "k: 8, l: 256", 1, &x);
    add(&b, other[k].axes, other[k].partial, &y);
    assert_int_equal(neo_sum_orders_equal(&x, &y), other[k].equal);
    neo_arena_free(&a.arena);
    neo_arena_free(&b.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_with_sums_of_parts_are_in_another_order),
      cmocka_unit_test(a_group_in_order_refuses_them_and_the_model_chooses_others),
      cmocka_unit_test(orders_are_equal_where_axes_follow_each_other_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
