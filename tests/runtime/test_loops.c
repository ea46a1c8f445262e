/* Loops of a plan: which rounds run in which order, with which indices, on how many workers. The kernels
 * write down what they are given. */
#include "include/neo/neo_rt.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 256, WIDE = 8 };
typedef struct {
  int kernel;
  int64_t outer, inner;
} event;
static event events[MOST];
static int n_events;
static _Atomic int64_t units_done;
static int64_t
    seen_before_wide; /* of units_done, by the small kernel: -1: another number than it must be */

enum { SIZE_T, SIZE_OUTER, SIZE_INNER, N_SIZES };

static void note(int kernel, const neo_rt_args *a) {
  if (n_events < MOST)
    events[n_events++] = (event){kernel, a->size[SIZE_OUTER], a->size[SIZE_INNER]};
}

static int32_t small(const neo_rt_args *a) {
  note(0, a);
  return 0;
}

static int32_t other(const neo_rt_args *a) {
  note(1, a);
  return 0;
}

/* All units of a round are done before the next step, and none before the one before it. */
static int32_t wide(const neo_rt_args *a) {
  atomic_fetch_add(&units_done, a->hi - a->lo);
  return 0;
}

static int32_t after_wide(const neo_rt_args *a) {
  if (atomic_load(&units_done) != WIDE * (a->size[SIZE_OUTER] + 1))
    seen_before_wide = -1;
  return 0;
}

/* Says whether there is a next iteration: after the third one there is none. */
static int32_t tells(const neo_rt_args *a) {
  note(4, a);
  ((bool *)a->buf[0])[a->size[SIZE_INNER]] = a->size[SIZE_INNER] < 2;
  return 0;
}

/* Says that the loop of an iteration has as many as came before it. */
static int32_t counts(const neo_rt_args *a) {
  note(5, a);
  *(int32_t *)a->buf[0] = (int32_t)a->size[SIZE_OUTER];
  return 0;
}

enum { P1 = 0, P_T = 3, P_OUTER = 6, P0 = 9, P_WIDE = 12, P_IS_2 = 15, P_BEFORE = 27 };
static const int64_t programs[] = {
    NEO_RT_OP_CONST, 1, NEO_RT_OP_END, NEO_RT_OP_SIZE, SIZE_T, NEO_RT_OP_END, NEO_RT_OP_SIZE,
    SIZE_OUTER, NEO_RT_OP_END, NEO_RT_OP_CONST, 0, NEO_RT_OP_END, NEO_RT_OP_CONST, WIDE,
    NEO_RT_OP_END,
    /* outer >= 2, of 0 .. 3: min(max(outer - 1, 0), 1) */
    NEO_RT_OP_SIZE, SIZE_OUTER, NEO_RT_OP_CONST, 1, NEO_RT_OP_SUB, NEO_RT_OP_CONST, 0,
    NEO_RT_OP_MAX, NEO_RT_OP_CONST, 1, NEO_RT_OP_MIN, NEO_RT_OP_END,
    /* inner - 1 */
    NEO_RT_OP_SIZE, SIZE_INNER, NEO_RT_OP_CONST, 1, NEO_RT_OP_SUB, NEO_RT_OP_END};
static const neo_rt_size sizes[] = {{"T", 0, 4}, {"iteration:0", 0, 3}, {"iteration:1", 0, 3}};
static const neo_rt_kernel kernels[] = {
    {.name = "small", .fn = small, .units = P1},   {.name = "other", .fn = other, .units = P1},
    {.name = "wide", .fn = wide, .units = P_WIDE}, {.name = "after", .fn = after_wide, .units = P1},
    {.name = "tells", .fn = tells, .units = P1},   {.name = "counts", .fn = counts, .units = P1}};
static const neo_rt_buf bufs[] = {{NEO_RT_MEM_FRAME, NEO_RT_BOOL, 0, 64, 0, 0, 0},
                                  {NEO_RT_MEM_FRAME, NEO_RT_I32, 64, 64, 0, 0, 0}};
static const int32_t args[] = {0, 1};
static const neo_rt_loop loops[] = {{SIZE_OUTER, P0, P_T, 0, -1, -1, 0},
                                    {SIZE_INNER, P0, P_OUTER, 1, -1, -1, 0},
                                    {-1, P0, P_IS_2, 0, -1, -1, 0},
                                    {SIZE_INNER, P0, P_T, 0, -1, -1, P_BEFORE},
                                    {SIZE_INNER, P0, P_T, 1, -1, -1, P0}};
#define RUN(kernel) \
  { NEO_RT_STEP_RUN, 0, 0, kernel, 0, 0, 0 }
#define LOOP(loop, n) \
  { NEO_RT_STEP_LOOP, 0, 0, loop, 0, n, 0 }
#define ASKS(loop, n) \
  { NEO_RT_STEP_LOOP, NEO_RT_STEP_ASKS, 0, loop, 0, n, 0 }
#define ENDS(loop, n) \
  { NEO_RT_STEP_LOOP, NEO_RT_STEP_ENDS, 0, loop, 1, n, 0 }
#define COUNTS \
  { NEO_RT_STEP_RUN, 0, 1, 5, 1, 1, 0 }
#define TELLS \
  { NEO_RT_STEP_RUN, 0, 1, 4, 0, 1, 0 }
static const neo_rt_step steps[] = {
    LOOP(0, 3), RUN(0),     LOOP(1, 1), RUN(1),  /* 0: nested: the inner one runs down */
    LOOP(0, 2), LOOP(2, 1), RUN(0),     RUN(1),  /* 4: a condition, and a step behind the loop */
    LOOP(0, 2), RUN(2),     RUN(3),              /* 8: workers meet */
    LOOP(0, 3), ASKS(3, 1), TELLS,      RUN(0),  /* 11: an inner loop that ends early */
    LOOP(0, 3), COUNTS,     ENDS(4, 1), RUN(0)}; /* 15: one that begins late */
enum { INIT, NESTED, CONDITION, MEET, EARLY, LATE, N_ENTRIES };
static const int32_t entry_sizes[] = {SIZE_T};
#define ENTRY(text, first, n) \
  { .name = text, .kind = NEO_RT_ENTRY_FORWARD, .first_step = first, .n_steps = n, .n_sizes = 1 }
static const neo_rt_entry entries[] = {[INIT] = {.name = "init", .kind = NEO_RT_ENTRY_INIT},
                                       [NESTED] = ENTRY("nested", 0, 4),
                                       [CONDITION] = ENTRY("condition", 4, 4),
                                       [MEET] = ENTRY("meet", 8, 3),
                                       [EARLY] = {.name = "early",
                                                  .kind = NEO_RT_ENTRY_FORWARD,
                                                  .first_step = 11,
                                                  .n_steps = 4,
                                                  .n_sizes = 1,
                                                  .frame_bytes = 64,
                                                  .lower_bound_bytes = 64},
                                       [LATE] = {.name = "late",
                                                 .kind = NEO_RT_ENTRY_FORWARD,
                                                 .first_step = 15,
                                                 .n_steps = 4,
                                                 .n_sizes = 1,
                                                 .frame_bytes = 128,
                                                 .lower_bound_bytes = 128}};
static const neo_rt_model model = {.abi = NEO_RT_ABI,
                                   .name = "loops",
                                   .prefix = "loops",
                                   .source_hash = "0",
                                   .target = "test",
                                   .features = "",
                                   .n_sizes = N_SIZES,
                                   .n_bufs = 2,
                                   .n_kernels = 6,
                                   .n_steps = sizeof steps / sizeof *steps,
                                   .n_entries = N_ENTRIES,
                                   .sizes = sizes,
                                   .bufs = bufs,
                                   .args = args,
                                   .frame_bytes = 128,
                                   .kernels = kernels,
                                   .steps = steps,
                                   .entries = entries,
                                   .entry_sizes = entry_sizes,
                                   .programs = programs,
                                   .n_loops = 5,
                                   .loops = loops};

static void call(int32_t entry, int64_t rounds, int32_t threads) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = threads};
  neo_rt_ctx *c;
  n_events = 0;
  seen_before_wide = 0;
  atomic_store(&units_done, 0);
  assert_int_equal(neo_rt_create(&model, &config, &c), NEO_RT_OK);
  assert_int_equal(neo_rt_call(c, entry, &rounds, NULL), NEO_RT_OK);
  neo_rt_destroy(c);
}

static void expect(const event *want, int n) {
  assert_int_equal(n_events, n);
  for (int k = 0; k < n; k++) {
    assert_int_equal(events[k].kernel, want[k].kernel);
    if (want[k].outer >= 0)
      assert_int_equal(events[k].outer, want[k].outer);
    if (want[k].inner >= 0)
      assert_int_equal(events[k].inner, want[k].inner);
  }
}

static void rounds_run_in_order_and_an_inner_loop_ends_where_the_index_around_says(void **state) {
  (void)state;
  static const event want[] = {{0, 0, -1}, {0, 1, -1}, {1, 1, 0}, {0, 2, -1}, {1, 2, 1}, {1, 2, 0}};
  for (int32_t threads = 1; threads <= 2; threads++) {
    call(NESTED, 3, threads);
    expect(want, 6);
  }
}

static void a_loop_of_no_rounds_runs_nothing(void **state) {
  (void)state;
  call(NESTED, 0, 2);
  expect(NULL, 0);
}

static void steps_under_a_condition_run_where_it_holds(void **state) {
  (void)state;
  static const event want[] = {{0, 2, -1}, {0, 3, -1}, {1, -1, -1}};
  call(CONDITION, 4, 2);
  expect(want, 3);
}

static void workers_meet_between_the_steps_of_a_round(void **state) {
  (void)state;
  for (int k = 0; k < 50; k++) {
    call(MEET, 4, 2);
    assert_int_equal(seen_before_wide, 0);
    assert_int_equal(atomic_load(&units_done), 4 * WIDE);
  }
}

static void a_loop_that_asks_ends_where_the_element_is_false(void **state) {
  (void)state;
  event want[16];
  for (int k = 0; k < 16; k++) /* of four iterations the last one does not run */
    want[k] = k % 4 < 3 ? (event){4, k / 4, k % 4} : (event){0, k / 4, -1};
  for (int32_t threads = 1; threads <= 2; threads++) {
    call(EARLY, 4, threads);
    expect(want, 16);
  }
}

static void a_loop_that_ends_at_an_element_runs_the_iterations_before_it(void **state) {
  (void)state;
  static const event want[] = {{5, 0, -1}, {5, 1, -1}, {0, 1, 0}, {5, 2, -1}, {0, 2, 1},
                               {0, 2, 0},  {5, 3, -1}, {0, 3, 2}, {0, 3, 1},  {0, 3, 0}};
  for (int32_t threads = 1; threads <= 2; threads++) {
    call(LATE, 4, threads);
    expect(want, 10);
  }
}

/* Copies the model with one step, or one loop, replaced: it must be refused. */
static void refused(int step, neo_rt_step s, int loop, neo_rt_loop l) {
  neo_rt_step other_steps[sizeof steps / sizeof *steps];
  neo_rt_loop other_loops[sizeof loops / sizeof *loops];
  neo_rt_model m = model;
  neo_rt_ctx *c = NULL;
  memcpy(other_steps, steps, sizeof steps);
  memcpy(other_loops, loops, sizeof loops);
  if (step >= 0)
    other_steps[step] = s;
  if (loop >= 0)
    other_loops[loop] = l;
  m.steps = other_steps;
  m.loops = other_loops;
  assert_int_not_equal(neo_rt_create(&m, NULL, &c), NEO_RT_OK);
  neo_rt_destroy(c);
}

static void a_model_with_a_malformed_loop_is_refused(void **state) {
  (void)state;
  static const neo_rt_step too_long = LOOP(0, 40), beyond_entry = LOOP(0, 4),
                           beyond_outer = LOOP(1, 2), no_loop = LOOP(5, 1);
  static const neo_rt_loop no_size = {N_SIZES, P0, P_T, 0, -1, -1, 0},
                           no_program = {SIZE_OUTER, -1, P_T, 0, -1, -1, 0},
                           no_element = {SIZE_INNER, P0, P_T, 0, -1, -1, -1};
  refused(0, too_long, -1, no_size);
  refused(0, beyond_entry, -1, no_size);
  refused(2, beyond_outer, -1, no_size);
  refused(0, no_loop, -1, no_size);
  refused(-1, no_loop, 0, no_size);
  refused(-1, no_loop, 0, no_program);
  refused(-1, no_loop, 3, no_element);
  refused(-1, no_loop, 4, no_element);
}

static void indices_of_loops_are_not_described_as_sizes(void **state) {
  (void)state;
  char text[4096];
  neo_rt_describe(&model, 0, text, sizeof text);
  assert_non_null(strstr(text, "<= T <="));
  assert_null(strstr(text, "iteration:0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_run_in_order_and_an_inner_loop_ends_where_the_index_around_says),
      cmocka_unit_test(a_loop_of_no_rounds_runs_nothing),
      cmocka_unit_test(steps_under_a_condition_run_where_it_holds),
      cmocka_unit_test(a_loop_that_asks_ends_where_the_element_is_false),
      cmocka_unit_test(a_loop_that_ends_at_an_element_runs_the_iterations_before_it),
      cmocka_unit_test(workers_meet_between_the_steps_of_a_round),
      cmocka_unit_test(a_model_with_a_malformed_loop_is_refused),
      cmocka_unit_test(indices_of_loops_are_not_described_as_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
