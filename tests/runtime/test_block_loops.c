/* Loops of a plan over blocks of rows: which blocks are rounds, and which rows they have. */
#include "include/neo/neo_rt.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE_T, SIZE_BLOCK, SIZE_BEGIN, SIZE_END, N_SIZES };
enum { MOST = 64 };
static int64_t seen[MOST][2]; /* rows of each round */
static int n_seen;

static int32_t note(const neo_rt_args *a) {
  if (n_seen < MOST) {
    seen[n_seen][0] = a->size[SIZE_BEGIN];
    seen[n_seen++][1] = a->size[SIZE_END];
  }
  return 0;
}

enum { P1 = 0, P_T = 3 };
static const int64_t programs[] = {NEO_RT_OP_CONST, 1,      NEO_RT_OP_END,
                                   NEO_RT_OP_SIZE,  SIZE_T, NEO_RT_OP_END};
static const neo_rt_size sizes[] = {{"T", 0, 7}, {"b", 0, 7}, {"begin", 0, 8}, {"end", 0, 8}};
static const neo_rt_kernel kernels[] = {{.name = "note", .fn = note, .units = P1}};
/* Blocks of 3, 1, 2, 1 and 1 rows, and none behind them; and two of several rows. */
static const int32_t first[2][8] = {{0, 3, 4, 6, 7, 8, 8, 8}, {0, 3, 8, 8, 8, 8, 8, 8}};
static const neo_rt_buf bufs[] = {
    {NEO_RT_MEM_CONST, NEO_RT_I32, 0, sizeof first[0], 0, 0, 0},
    {NEO_RT_MEM_CONST, NEO_RT_I32, sizeof first[0], sizeof first[1], 0, 0, 0}};
static const int32_t args[] = {0, 1};
static const neo_rt_loop loops[] = {{SIZE_BLOCK, P1, P_T, 0, SIZE_BEGIN, SIZE_END, 0},
                                    {SIZE_BLOCK, P1, P_T, 1, SIZE_BEGIN, SIZE_END, 0}};
#define BLOCKS(more, loop, table)                                          \
  {NEO_RT_STEP_LOOP, NEO_RT_STEP_BLOCKS | (more), 0, loop, table, 1, 0}, { \
    NEO_RT_STEP_RUN, 0, 0, 0, 0, 0, 0                                      \
  }
static const neo_rt_step steps[] = {
    BLOCKS(0, 0, 0),
    BLOCKS(NEO_RT_STEP_WIDE, 0, 0),
    BLOCKS(NEO_RT_STEP_WIDE, 1, 0),
    BLOCKS(NEO_RT_STEP_SERIAL, 0, 0),
    BLOCKS(NEO_RT_STEP_WIDE, 0, 1),
    BLOCKS(NEO_RT_STEP_SERIAL, 0, 1),
};
static const int32_t entry_sizes[] = {SIZE_T};
enum { INIT, ALL, WIDE, WIDE_DOWN, SERIAL, WIDE_OF_SEVERAL, SERIAL_OF_SEVERAL, N_ENTRIES };
#define ENTRY(text, k)                                                                     \
  {                                                                                        \
    .name = text, .kind = NEO_RT_ENTRY_FORWARD, .first_step = 2 * ((k)-ALL), .n_steps = 2, \
    .n_sizes = 1                                                                           \
  }
static const neo_rt_entry entries[] = {[INIT] = {.name = "init", .kind = NEO_RT_ENTRY_INIT},
                                       [ALL] = ENTRY("all", ALL),
                                       [WIDE] = ENTRY("wide", WIDE),
                                       [WIDE_DOWN] = ENTRY("wide_down", WIDE_DOWN),
                                       [SERIAL] = ENTRY("serial", SERIAL),
                                       [WIDE_OF_SEVERAL] = ENTRY("wide2", WIDE_OF_SEVERAL),
                                       [SERIAL_OF_SEVERAL] = ENTRY("serial2", SERIAL_OF_SEVERAL)};
static const neo_rt_model model = {.abi = NEO_RT_ABI,
                                   .name = "blocks",
                                   .prefix = "blocks",
                                   .source_hash = "0",
                                   .target = "test",
                                   .features = "",
                                   .n_sizes = N_SIZES,
                                   .n_bufs = 2,
                                   .n_kernels = 1,
                                   .n_steps = sizeof steps / sizeof *steps,
                                   .n_entries = N_ENTRIES,
                                   .sizes = sizes,
                                   .bufs = bufs,
                                   .args = args,
                                   .kernels = kernels,
                                   .steps = steps,
                                   .entries = entries,
                                   .entry_sizes = entry_sizes,
                                   .programs = programs,
                                   .n_loops = 2,
                                   .loops = loops,
                                   .const_data = first};

static void expect(int32_t entry, int64_t rounds, const int64_t (*want)[2], int n) {
  for (int32_t threads = 1; threads <= 2; threads++) {
    neo_rt_config config = {.struct_size = sizeof config, .threads = threads};
    neo_rt_ctx *c;
    n_seen = 0;
    assert_int_equal(neo_rt_create(&model, &config, &c), NEO_RT_OK);
    assert_int_equal(neo_rt_call(c, entry, &rounds, NULL), NEO_RT_OK);
    neo_rt_destroy(c);
    assert_int_equal(n_seen, n);
    for (int k = 0; k < n; k++)
      assert_true(seen[k][0] == want[k][0] && seen[k][1] == want[k][1]);
  }
}

static void blocks_with_rows_are_rounds(void **state) {
  (void)state;
  static const int64_t want[][2] = {{3, 4}, {4, 6}, {6, 7}, {7, 8}};
  expect(ALL, 7, want, 4);
}

static void wide_ones_end_before_the_last_run_of_single_rows(void **state) {
  (void)state;
  static const int64_t want[][2] = {{3, 4}, {4, 6}}, down[][2] = {{4, 6}, {3, 4}};
  expect(WIDE, 7, want, 2);
  expect(WIDE_DOWN, 7, down, 2);
}

static void that_run_is_one_round(void **state) {
  (void)state;
  static const int64_t want[][2] = {{6, 8}};
  expect(SERIAL, 7, want, 1);
}

static void where_the_last_block_has_several_rows_there_is_no_such_run(void **state) {
  (void)state;
  static const int64_t want[][2] = {{3, 8}};
  expect(WIDE_OF_SEVERAL, 7, want, 1);
  expect(SERIAL_OF_SEVERAL, 7, NULL, 0);
}

static void a_graph_of_leaves_has_neither(void **state) {
  (void)state;
  expect(WIDE, 1, NULL, 0);
  expect(SERIAL, 1, NULL, 0);
  expect(SERIAL, 0, NULL, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_with_rows_are_rounds),
      cmocka_unit_test(wide_ones_end_before_the_last_run_of_single_rows),
      cmocka_unit_test(that_run_is_one_round),
      cmocka_unit_test(where_the_last_block_has_several_rows_there_is_no_such_run),
      cmocka_unit_test(a_graph_of_leaves_has_neither),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
