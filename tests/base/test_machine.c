/* Rows of machines, and machines as text. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "base/gpu.h"
#include "base/machine_text.h"
#include <string.h>

static void every_row_says_all_that_is_asked(void **state) {
  (void)state;
  for (size_t k = 0; neo_machine_at(k); k++) {
    const neo_machine *m = neo_machine_at(k);
    const neo_profile *p = &m->profile;
    assert_ptr_equal(neo_machine_named(m->name), m); /* names are not said twice */
    assert_true(m->hz > 1e9 && m->hz < 6e9);
    assert_true(p->workers > 0 && p->launch_s > 1e-7 && p->launch_s < 1e-5 && p->work_per_s > 1e9);
    for (int i = 0; i < NEO_MACHINE_CACHES; i++) {
      assert_true(p->level[i].bytes_per_s > 1e9);
      assert_true(!i || p->level[i].bytes_per_s <= p->level[i - 1].bytes_per_s);
    }
    assert_int_equal(m->gpu, m->isa == NEO_ISA_PTX);
    assert_true(p->line_bytes >= 32 && !(p->line_bytes & (p->line_bytes - 1)));
    if (m->gpu)
      assert_true(p->threads > 0 && m->sm.lanes > 0 && m->sm.threads >= p->threads);
    else
      assert_true(m->core.units > 0 && m->core.issue > 0 && m->l2_bytes > m->l1_bytes &&
                  p->line_bytes <= NEO_PADDING_BYTES);
  }
}

static void every_gpu_that_code_is_made_for_has_a_row(void **state) {
  (void)state;
  char names[512];
  neo_gpu_names(names, sizeof names);
  for (char *name = strtok(names, ", "); name; name = strtok(NULL, ", "))
    assert_true(neo_machine_named(name) && neo_machine_named(name)->gpu);
}

/* A launch is worth the bytes that are moved meanwhile: some megabytes on a GPU. */
static void a_gpus_launch_and_its_bandwidth_have_one_unit(void **state) {
  (void)state;
  for (size_t k = 0; neo_machine_at(k); k++) {
    const neo_profile *p = &neo_machine_at(k)->profile;
    double bytes = p->launch_s * p->workers * p->level[NEO_MACHINE_CACHES - 1].bytes_per_s;
    if (neo_machine_at(k)->gpu)
      assert_true(bytes > 3e5 && bytes < 2e7);
  }
}

typedef struct {
  neo_arena arena;
  neo_machine m;
  neo_str why;
} parsed;

static bool parse(parsed *x, const char *text) {
  neo_arena_init(&x->arena, neo_alloc_default, NULL);
  neo_str_init(&x->why, &x->arena);
  return neo_machine_parse(text, strlen(text), &x->m, &x->why);
}

static void what_is_printed_parses_to_the_same(void **state) {
  (void)state;
  for (size_t k = 0; neo_machine_at(k); k++) {
    neo_arena a;
    neo_str first, again;
    parsed x;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&first, &a);
    neo_str_init(&again, &a);
    neo_machine_print(neo_machine_at(k), &first);
    if (!parse(&x, neo_str_text(&first)))
      fail_msg("%s", neo_str_text(&x.why));
    neo_machine_print(&x.m, &again);
    assert_string_equal(neo_str_text(&first), neo_str_text(&again));
    neo_arena_free(&x.arena);
    neo_arena_free(&a);
  }
}

static void what_a_profile_does_not_say_is_the_rows(void **state) {
  (void)state;
  parsed x;
  const neo_machine *row = neo_machine_named("znver4");
  assert_true(
      parse(&x, "neo-profile 1\n\n# mine\nmachine = znver4\n l2_bytes = 2097152 # larger\r\n"));
  assert_int_equal(x.m.l2_bytes, 2 << 20);
  assert_int_equal(x.m.l1_bytes, row->l1_bytes);
  assert_true(x.m.core.issue == row->core.issue &&
              x.m.profile.work_per_s == row->profile.work_per_s);
  neo_arena_free(&x.arena);
}

static void a_broken_profile_is_refused_with_its_line(void **state) {
  static const char *const cases[][2] = {
      {"", "names its machine"},
      {"neo-profile 2\n", "line 1: expected neo-profile 1"},
      {"neo-profile 1\n", "names its machine"},
      {"neo-profile 1\nmachine = i486\n", "line 2: no machine has the name 'i486'"},
      {"neo-profile 1\nclock_hz = 3e9\n", "line 2: expected machine"},
      {"neo-profile 1\nmachine = znver4\nmachine = znver5\n", "line 3: the machine is named twice"},
      {"neo-profile 1\nmachine = znver4\nclock\n", "line 3: expected KEY = VALUE"},
      {"neo-profile 1\nmachine = znver4\nclock_hz = fast\n", "line 3: no number: 'fast'"},
      {"neo-profile 1\nmachine = znver4\nclock_hz = 3e9x\n", "line 3: no number"},
      {"neo-profile 1\nmachine = znver4\nclock_hz = nan\n", "line 3: no number"},
      {"neo-profile 1\nmachine = znver4\nl2_bytes = 65536.5\n", "line 3: no integer"},
      {"neo-profile 1\nmachine = znver4\nclock_hz = 3\n", "line 3: clock_hz is from"},
      {"neo-profile 1\nmachine = znver4\nissue = 4\nissue = 4\n", "line 4: said twice"},
      {"neo-profile 1\nmachine = znver4\nlanes = 64\n", "has no 'lanes'"},
      {"neo-profile 1\nmachine = sm_80\nl2_bytes = 65536\n", "has no 'l2_bytes'"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    parsed x;
    assert_false(parse(&x, cases[k][0]));
    if (!strstr(neo_str_text(&x.why), cases[k][1]))
      fail_msg("'%s' is not in: %s", cases[k][1], neo_str_text(&x.why));
    neo_arena_free(&x.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_says_all_that_is_asked),
      cmocka_unit_test(every_gpu_that_code_is_made_for_has_a_row),
      cmocka_unit_test(a_gpus_launch_and_its_bandwidth_have_one_unit),
      cmocka_unit_test(what_is_printed_parses_to_the_same),
      cmocka_unit_test(what_a_profile_does_not_say_is_the_rows),
      cmocka_unit_test(a_broken_profile_is_refused_with_its_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
