/* Schedules as text; the model's choices for products, sums and maps. */
#include "schedule/tile/prefetch.h"
#include "tests/schedule/choose.h"

static void what_is_printed_parses_to_the_same(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (int strategy = 0; strategy < NEO_STRATEGIES; strategy++) {
    neo_schedule s = neo_schedule_plain(), y;
    neo_str text;
    s.strategy = (neo_strategy)strategy;
    neo_param_range own = neo_strategy_params(s.strategy);
    for (neo_param k = own.first; k < own.first + own.n; k++)
      s.at[k] = 3 * (int64_t)k - 1;
    neo_str_init(&text, &a);
    neo_schedule_print(&s, &text);
    assert_true(neo_schedule_parse(neo_str_text(&text), &y));
    assert_true(neo_schedule_equal(&s, &y));
  }
  neo_arena_free(&a);
}

static void broken_text_is_refused(void **state) {
  (void)state;
  neo_schedule s;
  assert_true(neo_schedule_parse(" loops", &s));
  assert_true(neo_schedule_parse(" tile tile_m=6\n", &s));
  assert_int_equal(s.strategy, NEO_STRATEGY_TILE);
  assert_int_equal(s.loops.tile_m, 6);
  static const char *const broken[] = {"",
                                       "tile_m=6",
                                       "tiles tile_m=6",
                                       "tile tile_m",
                                       "tile tile_m=",
                                       "tile tile_m=6x",
                                       "tile tile_q=6",
                                       "tile tile_m=6 tile_m=6",
                                       "tile threads=32",
                                       "gpu_rows tile_m=6"};
  for (size_t k = 0; k < sizeof broken / sizeof *broken; k++)
    assert_false(neo_schedule_parse(broken[k], &s));
}

static void a_large_product_has_a_register_tile_and_a_packed_operand(void **state) {
  (void)state;
  neo_schedule s =
      choose("input A : f32 [512, 512]\ninput B : f32 [512, 512]\ntemp C : f32 [512, 512]\n"
             "def C[i: 512, j: 512] =\n  sum[k: 512] A[i, k] * B[k, j]\n  then acc0\n"
             "entry forward forward: C = C\n");
  assert_int_equal(s.loops.vector_axis, 1);
  assert_int_equal(s.loops.vector_width, 8);
  assert_int_equal(s.loops.axis_m, 0);
  assert_in_range(s.loops.tile_m * s.loops.tile_n, 8, 14);
  assert_true(s.loops.pack & 2);
}

static neo_schedule product_in_blocks(bool few_rows, int columns) {
  char text[512];
  neo_machine machine = *avx512();
  machine.few_rows = few_rows;
  snprintf(text, sizeof text,
           "size B 1..4096\ninput A : f32 [B, 128]\ninput W : f32 [128, %d]\n"
           "temp C : f32 [B, %d]\n"
           "def C[i: B, j: %d] =\n  sum[k: 128] A[i, k] * W[k, j]\n  then acc0\n"
           "entry forward forward: C = C\n",
           columns, columns, columns);
  return choose_on(&machine, text, NULL);
}

/* A copy of what all rows share is paid back by many rows only, if a cache holds it where it is. */
static void where_most_blocks_have_few_rows_columns_are_read_in_place(void **state) {
  enum { NEAR = 384, FAR = 8192, COLUMNS = 2 };
  (void)state;
  assert_true(product_in_blocks(false, NEAR).loops.pack & COLUMNS);
  neo_schedule s = product_in_blocks(true, NEAR);
  assert_false(s.loops.pack & COLUMNS);
  assert_int_equal(s.loops.vector_axis, 1);
  assert_int_equal(s.loops.tile_n, 4);
  assert_true(product_in_blocks(true, FAR).loops.pack & COLUMNS);
}

static void what_a_short_sum_is_written_to_is_walked_in_long_runs(void **state) {
  (void)state;
  neo_schedule s = choose("input A : f32 [4, 784]\ninput B : f32 [4, 1024]\n"
                          "temp C : f32 [784, 1024]\n"
                          "def C[i: 784, j: 1024] =\n  sum[k: 4] A[k, i] * B[k, j]\n  then acc0\n"
                          "entry forward forward: C = C\n");
  assert_int_equal(s.loops.vector_axis, 1);
  assert_int_equal(s.loops.axis_m, 0);
  assert_int_equal(s.loops.order, 1);
}

static void a_matrix_that_is_read_once_is_read_in_blocks_of_whole_rows(void **state) {
  (void)state;
  neo_schedule s = choose("input x : f32 [1, 900]\ninput W : f32 [900, 1024]\n"
                          "temp y : f32 [1, 1024]\n"
                          "def y[b: 1, j: 1024] =\n  sum[i: 900] x[b, i] * W[i, j]\n  then acc0\n"
                          "entry forward forward: y = y\n");
  assert_int_equal(s.loops.vector_axis, 0); /* b is no axis of the form */
  assert_int_equal(s.loops.pack, 0);
  assert_in_range(s.loops.block_k, 1, 8);
  assert_true(s.loops.block_n == 0 || s.loops.block_n >= 256);
}

/* Sixteen rows against a matrix of 16 MiB. */
static neo_schedule few_rows(void) {
  return choose("input x : f32 [16, 1024]\ninput W : f32 [4, 1024, 1024]\n"
                "temp y : f32 [16, 4, 1024]\n"
                "def y[b: 16, g: 4, j: 1024] =\n  sum[i: 1024] x[b, i] * W[g, i, j]\n  then acc0\n"
                "entry forward forward: y = y\n");
}

/* A block, and the next one that it fetches, take half of the second cache. */
static void few_rows_read_a_matrix_in_place_and_fetch_it_a_block_ahead(void **state) {
  (void)state;
  neo_schedule s = few_rows();
  assert_int_equal(s.loops.pack, 0);
  assert_int_equal(s.loops.tile_m, 6);
  assert_int_equal(s.loops.tile_n, 2); /* whole cache lines */
  assert_int_equal(s.loops.order, 1);
  assert_in_range(s.loops.block_k, 16, 32);
  assert_int_equal(s.loops.prefetch, 1);
}

static neo_schedule update_on(const neo_machine *machine, int batch, int rows) {
  char text[512];
  snprintf(text, sizeof text,
           "input x : f32 [%d, %d]\ninput d : f32 [%d, 1024]\nparam W : f32 [%d, 1024]\n"
           "update u : f32 [%d, 1024] of W\ninit @1 W[i: %d, j: 1024] = 0.5\n"
           "def @2 u[i: %d, j: 1024] =\n  sum[b: %d] x[b, i] * d[b, j]\n"
           "  then W[i, j] - acc0 * 0.01\n"
           "entry train step: loss = d; updates u\n",
           batch, rows, batch, rows, rows, rows, rows, batch);
  return choose_on(machine, text, "u");
}

static neo_schedule update_by(int batch, int rows) {
  return update_on(avx2(), batch, rows);
}

static neo_schedule update_of(int rows) {
  return update_by(16, rows);
}

static void an_update_fetches_a_parameter_beyond_the_caches(void **state) {
  (void)state;
  assert_int_equal(update_of(1024).loops.prefetch, 1);
  assert_int_equal(update_of(64).loops.prefetch, 0);
  assert_int_equal(update_by(2, 1024).loops.prefetch, 0); /* no time for it */
}

/* Pieces of several rows are no stream, and two products an element leave no time for them to come;
 * what a cache holds is another matter. */
static void an_update_of_short_sums_walks_a_row_of_what_no_cache_holds(void **state) {
  (void)state;
  assert_int_equal(update_on(avx512(), 2, 4096).loops.tile_m, 1);
  assert_true(update_on(avx512(), 2, 1024).loops.tile_m > 1);
}

static uint32_t fetches_of(const char *text, const char *schedule, neo_prefetch *out) {
  neo_arena a;
  neo_grouping g;
  neo_schedule s;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = module_of(&a, text, &g);
  assert_true(neo_schedule_parse(schedule, &s));
  size_t k = 0;
  while (k + 1 < g.groups.n && strcmp(g.groups.at[k].name, "y") != 0)
    k++;
  uint32_t n = neo_prefetch_find(m, neo_group_form(m, &g.groups.at[k]),
                                 neo_machine_named("x86-64-v3"), &s, out);
  neo_arena_free(&a);
  return n;
}

static void what_comes_next_is_fetched_along_the_outer_loop(void **state) {
  (void)state;
  const char *text = "input x : f32 [48, 300]\ninput W : f32 [300, 500]\nparam V : f32 [48, 500]\n"
                     "temp y : f32 [48, 500]\ninit @1 V[b: 48, j: 500] = 0.5\n"
                     "def y[b: 48, j: 500] =\n  sum[i: 300] x[b, i] * W[i, j]\n"
                     "  then acc0 + V[b, j]\nentry forward forward: y = y\n";
#define TILE "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 "
  neo_prefetch f[NEO_PREFETCH_MOST];
  assert_int_equal(fetches_of(text, TILE "block_k=8 order=1", f), 1);
  assert_true(f[0].axis == 2 && f[0].by == 8 && !f[0].at_end);
  assert_int_equal(fetches_of(text, TILE "block_k=4 order=1 prefetch=3", f), 1);
  assert_true(f[0].axis == 2 && f[0].by == 12 && !f[0].at_end);
  assert_int_equal(fetches_of(text, TILE "block_k=8", f), 1);
  assert_true(f[0].axis == 1 && f[0].by == 16 && !f[0].at_end);
  assert_int_equal(fetches_of(text, TILE "order=1", f), 1);
  assert_true(f[0].axis == 0 && f[0].by == 6 && f[0].at_end);
  assert_int_equal(fetches_of(text, TILE "order=1 pack=2", f), 1);
  assert_true(f[0].at_end);
#undef TILE
}

/* Before a prefetched line is read, the nearest cache reads the columns of a block, or of a tile,
 * and at the ends of tiles what their rows are written to. */
static void what_is_fetched_long_before_goes_to_the_second_cache(void **state) {
  (void)state;
  const char *text = "input x : f32 [48, 300]\ninput W : f32 [300, 500]\nparam V : f32 [48, 500]\n"
                     "temp y : f32 [48, 500]\ninit @1 V[b: 48, j: 500] = 0.5\n"
                     "def y[b: 48, j: 500] =\n  sum[i: 300] x[b, i] * W[i, j]\n"
                     "  then acc0 + V[b, j]\nentry forward forward: y = y\n";
#define TILE "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 "
  const struct {
    const char *schedule;
    bool far;
  } of[] = {{TILE "block_k=4 order=1", false},
            {TILE "block_k=32 order=1", true},
            {TILE "block_k=4 order=1 prefetch=8", true},
            {TILE "block_n=32 block_k=64 order=1", false},
            {TILE "block_m=6 block_n=64", true},
            {TILE "block_n=16 block_k=8", false},
            {TILE "order=1", true},
            {TILE "pack=2 block_k=8 block_n=64", false},
            {TILE "pack=2 block_k=128 block_n=64", true}};
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    neo_prefetch f[NEO_PREFETCH_MOST];
    assert_int_equal(fetches_of(text, of[k].schedule, f), 1);
    assert_int_equal(f[0].far, of[k].far);
  }
#undef TILE
}

static void what_the_next_copy_of_columns_reads_is_fetched(void **state) {
  (void)state;
  const char *text = "input x : f32 [48, 300]\ninput W : f32 [300, 500]\n"
                     "temp y : f32 [48, 500]\ndef y[b: 48, j: 500] =\n"
                     "  sum[i: 300] x[b, i] * W[i, j]\n  then acc0\nentry forward forward: y = y\n";
#define TILE "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 pack=2 "
  neo_prefetch f[NEO_PREFETCH_MOST];
  assert_int_equal(fetches_of(text, TILE "block_k=32", f), 1);
  assert_true(f[0].axis == 2 && f[0].by == 32 && f[0].shared);
  assert_int_equal(fetches_of(text, TILE "block_k=32 block_n=64", f), 1);
  assert_true(f[0].axis == 2 && f[0].by == 32 && f[0].shared);
  assert_int_equal(fetches_of(text, TILE "block_n=64", f), 1);
  assert_true(f[0].axis == 1 && f[0].by == 64 && f[0].shared);
  assert_int_equal(fetches_of(text, TILE, f), 0);                         /* there is one copy */
  assert_int_equal(fetches_of(text, TILE "block_n=64 block_m=12", f), 0); /* made before */
#undef TILE
}

/* Rows of inputs times the weights of some gates. */
static neo_schedule weights_of(int rows, int inputs, int gates, int units) {
  char text[512];
  snprintf(text, sizeof text,
           "input x : f32 [%d, %d]\ninput W : f32 [%d, %d, %d]\ntemp y : f32 [%d, %d, %d]\n"
           "def y[b: %d, g: %d, j: %d] =\n  sum[i: %d] x[b, i] * W[g, i, j]\n  then acc0\n"
           "entry forward forward: y = y\n",
           rows, inputs, gates, inputs, units, rows, gates, units, rows, gates, units, inputs);
  return choose_of(text, "y");
}

/* Rows of 4096 bytes fall on few sets of the caches: what is fetched must stay there. */
static void large_weights_are_copied_in_blocks_that_are_fetched_ahead(void **state) {
  (void)state;
  neo_schedule s = weights_of(64, 1024, 4, 1024);
  assert_true(s.loops.pack & 2);
  assert_int_equal(s.loops.prefetch, 1);
  assert_in_range(s.loops.block_k, 16, 128);
  assert_int_equal(weights_of(64, 32, 1, 1024).loops.prefetch, 0);
}

/* The weights of one gate fit a cache, those of all gates do not. */
static void weights_of_many_gates_are_fetched_ahead(void **state) {
  (void)state;
  neo_schedule s = weights_of(16, 784, 4, 128);
  assert_int_equal(s.loops.pack, 0);
  assert_int_equal(s.loops.prefetch, 1);
  assert_int_equal(weights_of(64, 784, 4, 128).loops.prefetch, 1);
  assert_int_equal(weights_of(16, 300, 1, 128).loops.prefetch, 0);
}

static void a_product_of_integers_is_tiled_like_any_other(void **state) {
  (void)state;
  neo_schedule s =
      choose("input A : i8 [256, 512]\ninput B : i8 [512, 256]\ntemp C : i32 [256, 256]\n"
             "def C[i: 256, j: 256] =\n  sum[k: 512] i32(A[i, k]) * i32(B[k, j])\n  then acc0\n"
             "entry forward forward: C = C\n");
  assert_int_equal(s.loops.axis_m, 0);
  assert_in_range(s.loops.tile_m * s.loops.tile_n, 8, 14);
  assert_true(s.loops.pack & 2);
}

static void a_sum_over_a_data_equation_runs_over_its_source(void **state) {
  (void)state;
  neo_schedule s = choose(
      "input Y : i32 [90] < 1000\ninput E : f32 [90, 64]\ntemp G : f32 [1000, 64]\n"
      "def G[v: 1000, d: 64] =\n  sum[e: 90]\n  where i64(Y[e]) == v;\n  E[e, d]\n  then acc0\n"
      "entry forward forward: G = G\n");
  assert_int_equal(s.strategy, NEO_STRATEGY_SEGMENT);
  assert_int_equal(s.loops.vector_axis, 1);
}

/* Without, the operand that knows the group alone moves along the channels by jumps. */
/* Distances between rows of two matrices, with a function behind them. */
static neo_schedule distances(const char *after) {
  char text[512];
  snprintf(text, sizeof text,
           "input x : f32 [256, 16]\ninput c : f32 [64, 16]\ntemp y : f32 [256, 64]\n"
           "def y[i: 256, j: 64] =\n"
           "  sum[k: 16] (x[i, k] - c[j, k]) * (x[i, k] - c[j, k])\n  then %s\n"
           "entry forward forward: y = y\n",
           after);
  return choose_on(avx512(), text, NULL);
}

/* Lanes along the sum would add up one sum after the other, and compute one function after the
 * other. */
static void lanes_of_distances_are_results_and_what_lies_across_is_copied(void **state) {
  enum { PART = 8 }; /* operand 3: c */
  (void)state;
  static const char *const after[] = {"acc0", "exp(-acc0)"};
  for (size_t k = 0; k < sizeof after / sizeof *after; k++) {
    neo_schedule s = distances(after[k]);
    assert_int_equal(s.loops.vector_axis, 1);
    assert_int_equal(s.loops.axis_m, 0);
    assert_int_equal(s.loops.pack, PART);
  }
}

/* An axis that seems to be used keeps the copy of the filters inside of the loops over places. */
static void axes_of_one_element_are_no_part_of_a_form(void **state) {
  (void)state;
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  const char *text = "input D : f32 [16, 1152, 8]\ninput F : f32 [32, 256, 9, 9, 1, 8]\n"
                     "temp G : f32 [16, 256, 10, 10, 1, 1]\n"
                     "def G[n: 16, c: 256, h: 10, w: 10, i: 1, k: 1] =\n"
                     "  sum[o: 1, m: 32, p: max(0, 4 - h)..min(5, 10 - h), "
                     "q: max(0, 4 - w)..min(5, 10 - w), t: 8]\n"
                     "  D[n, (m * 6 + (h - 4 + p)) * 6 + (w - 4 + q), t]\n"
                     "  * F[m, c, 0 - p * 2 + 8, 0 - q * 2 + 8, k + o, t]\n"
                     "  then acc0\nentry forward forward: G = G\n";
  neo_module *m = module_of(&a, text, &g);
  const neo_form *f = neo_group_form(m, &g.groups.at[0]);
  assert_int_equal(f->axes.n, 4);
  assert_int_equal(f->stages.at[0].axes.n, 4);
  neo_arena_free(&a);
  neo_schedule s = choose(text);
  assert_true(s.loops.pack & 2);
  assert_int_equal(s.loops.blocks_first, 1);
}

/* Rows of nine walked as one: which element a lane has would be computed at each step. */
static void rows_of_which_no_vector_is_a_whole_number_are_copied(void **state) {
  (void)state;
  neo_schedule s = choose_on(avx512(),
                             "input G : f32 [10, 5]\ninput F : f32 [65536, 9, 9]\n"
                             "temp T : f32 [10, 65536, 9]\n"
                             "def T[t: 10, k: 65536, s: 9] =\n  sum[r: 5] G[t, r] * "
                             "(F[k, r * 2, s] else 0.0)\n  then acc0\n"
                             "entry forward forward: T = T\n",
                             NULL);
  assert_true(s.loops.fused == 1 || s.loops.pack & 2);
}

/* The filters' elements lie together, a vector of them for each step; but all filters are read
 * again at each place of the image, from beyond the caches. */
static void vectors_along_a_sum_cost_their_way_from_memory(void **state) {
  (void)state;
  neo_schedule s = choose(
      "input D : f32 [32, 6, 6, 8]\ninput F : f32 [32, 256, 9, 9, 8]\ntemp G : f32 [256, 10, 10]\n"
      "def G[c: 256, h: 10, w: 10] =\n"
      "  sum[k: 32, p: max(0, 4 - h)..min(5, 10 - h), q: max(0, 4 - w)..min(5, 10 - w), t: 8]\n"
      "  D[k, h - 4 + p, w - 4 + q, t] * F[k, c, 0 - p * 2 + 8, 0 - q * 2 + 8, t]\n"
      "  then acc0\nentry forward forward: G = G\n");
  assert_true(s.loops.vector_axis < 3);
  assert_true(s.loops.pack);
}

static void what_follows_a_long_sum_does_not_narrow_its_tile(void **state) {
  (void)state;
  neo_schedule s = choose("input A : f32 [100, 256]\ninput B : f32 [100, 256]\n"
                          "temp Y : f32 [256]\ndef Y[j: 256] =\n"
                          "  sum[k: 100] A[k, j] - B[k, j]\n  then sigmoid(acc0)*tanh(acc0)\n"
                          "entry forward forward: Y = Y\n");
  assert_int_equal(s.loops.tile_n, 4);
}

static void lanes_keep_to_the_axis_along_which_a_large_result_lies(void **state) {
  (void)state;
  neo_schedule s =
      choose("input D : f32 [256, 10, 10, 8]\ninput A : f32 [64, 28, 28]\n"
             "input F : f32 [256, 64, 9, 9, 8]\ntemp G : f32 [256, 64, 9, 9, 8]\n"
             "def G[m: 256, c: 64, r: 9, s: 9, j: 8] =\n  sum[p: 10, q: 10] "
             "D[m, p, q, j] * A[c, 2 * p + r, 2 * q + s]\n  then F[m, c, r, s, j] - acc0\n"
             "entry forward forward: G = G\n");
  assert_int_equal(s.loops.vector_axis, 4);
  assert_int_equal(s.loops.fused, 1);
  assert_true(s.loops.tile_m * s.loops.tile_n >= 8);
}

static neo_schedule map_of(int rows, const char *more) {
  char text[512];
  snprintf(
      text, sizeof text,
      "input X : f32 [%d, 1024]\n%s : f32 [%d, 1024]\ndef Y[i: %d, j: 1024] = X[i, j] * 2.0f32\n"
      "entry forward forward: Y = Y\n",
      rows, more, rows, rows);
  return choose(text);
}

static void only_results_beyond_the_caches_stream(void **state) {
  (void)state;
  assert_int_equal(map_of(16384, "temp Y").loops.nontemporal, 1);
  assert_int_equal(map_of(512, "temp Y").loops.nontemporal, 0);
}

/* The result has 64 MB at most. A call with few rows has far less. */
static void results_of_any_number_of_rows_do_not(void **state) {
  (void)state;
  static const struct {
    const char *size;
    int64_t nontemporal;
  } rows[] = {{"0..16384", 0}, {"1..16384", 0}, {"16000..16384", 1}, {"1..1000000000", 1}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    char text[512];
    snprintf(text, sizeof text,
             "size N %s\ninput X : f32 [N, 1024]\ntemp Y : f32 [N, 1024]\n"
             "def Y[i: N, j: 1024] = X[i, j] * 2.0f32\nentry forward forward: Y = Y\n",
             rows[k].size);
    assert_int_equal(choose(text).loops.nontemporal, rows[k].nontemporal);
  }
}

/* Rows a power of two apart share few sets of a cache: of many steps of a sum they would be read
 * from beyond it again. */
static void rows_that_share_sets_of_a_cache_are_read_in_short_blocks(void **state) {
  (void)state;
  neo_machine machine = *avx512();
  neo_schedule s =
      choose_on(&machine,
                "input X : f32 [16320, 512]\ninput D : f32 [16320, 512]\ntemp G : f32 [512, 512]\n"
                "def G[i: 512, j: 512] =\n  sum[n: 16320] X[n, i] * D[n, j]\n  then acc0\n"
                "entry forward forward: G = G\n",
                NULL);
  assert_true(s.loops.pack || (s.loops.block_k && s.loops.block_k <= 32));
}

/* An update lies where what it replaces is read; its lines are in the caches. */
static void results_in_an_operands_place_do_not(void **state) {
  (void)state;
  neo_schedule s = choose_of("param X : f32 [16384, 1024]\nupdate Y : f32 [16384, 1024] of X\n"
                             "init @1 X[i: 16384, j: 1024] = 1.0\n"
                             "def Y[i: 16384, j: 1024] = X[i, j] * 2.0f32\n"
                             "entry train step: y = Y; updates Y\n",
                             "Y");
  assert_int_equal(s.loops.nontemporal, 0);
}

static neo_schedule product_of(int steps) {
  char text[512];
  snprintf(text, sizeof text,
           "input X : f32 [%d, 2097152]\ninput G : f32 [9, %d]\ntemp Y : f32 [9, 2097152]\n"
           "def Y[t: 9, i: 2097152] =\n  sum[k: %d] G[t, k] * X[k, i]\n  then acc0\n"
           "entry forward forward: Y = Y\n",
           steps, steps, steps);
  return choose_on(avx512(), text, NULL);
}

/* During a sum of many steps, caches fetch the lines. */
static void results_of_short_sums_beyond_the_caches_stream(void **state) {
  (void)state;
  neo_schedule s = product_of(5);
  assert_true(s.loops.tile_m > 1);
  assert_int_equal(s.loops.nontemporal, 1);
  assert_int_equal(product_of(64).loops.nontemporal, 0);
}

static neo_schedule column_sums_of(int rows) {
  char text[512];
  snprintf(text, sizeof text,
           "input X : f32 [%d, 1024]\ntemp Y : f32 [1024]\ndef Y[j: 1024] =\n  sum[i: %d] X[i, j]\n"
           "  then acc0\nentry forward forward: Y = Y\n",
           rows, rows);
  return choose(text);
}

static void columns_of_a_tensor_beyond_the_caches_are_summed_in_wide_tiles(void **state) {
  (void)state;
  assert_int_equal(column_sums_of(16384).loops.tile_n, 16);
  assert_in_range(column_sums_of(64).loops.tile_n, 1, 4);
}

static neo_schedule map_with(const char *formula) {
  char text[512];
  snprintf(text, sizeof text,
           "input X : f32 [64, 1024]\ntemp Y : f32 [64, 1024]\n"
           "def Y[i: 64, j: 1024] = %s\nentry forward forward: Y = Y\n",
           formula);
  return choose(text);
}

static void long_formulas_have_two_vectors_side_by_side(void **state) {
  (void)state;
  assert_int_equal(map_with("exp(X[i, j]) + 1.0").loops.vector_width, 16);
  assert_int_equal(map_with("X[i, j] + 1.0").loops.vector_width, 8);
}

/* The end that moves with i may be either argument of a min or max. The other may be a min, and a
 * second range inside may end at an element that is read at k. */
static void sums_up_to_the_nearer_of_two_ends_are_scans(void **state) {
  (void)state;
  static const char *const ranges[] = {"min(i + 1, M)", "min(M, i + 1)", "max(i, M - 50)..M",
                                       "max(M - 50, i)..M", "min(min(M, 30 * N), i + 1)"};
  for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
    for (int inner = 0; inner < 2; inner++) {
      char text[512];
      (void)snprintf(text, sizeof text,
                     "size M 50..2000\nsize N 1..9\ninput x : f32 [M]\ninput n : i32 [M] < 5\n"
                     "temp y : f32 [1000]\ndef y[i: 1000] =\n  sum[k: %s%s] x[k]\n  then acc0\n"
                     "entry forward forward: y = y\n",
                     ranges[k], inner ? ", e: i64(n[k])" : "");
      assert_int_equal(choose(text).strategy, NEO_STRATEGY_SCAN);
    }
}

/* Weights of which each element is one of a sum over vertices, of which there are few in a usual
 * call. */
static neo_schedule gradient_over_vertices(int64_t usual) {
  static const char text[] =
      "size V 0..32768\ninput H : f32 [V, 256]\ninput D : f32 [V, 640]\ninput W : f32 [256, 640]\n"
      "input M : f32 [256, 640]\ninput Q : f32 [256, 640]\ntemp G : f32 [256, 640]\n"
      "temp N : f32 [256, 640]\ntemp P : f32 [256, 640]\ntemp R : f32 [256, 640]\n"
      "def G[i: 256, j: 640] =\n  sum[v: V] D[v, j] * H[v, i]\n  then acc0\n"
      "def P[i: 256, j: 640] = M[i, j] + G[i, j]\n"
      "def R[i: 256, j: 640] = Q[i, j] + G[i, j] * G[i, j]\n"
      "def N[i: 256, j: 640] = W[i, j] - P[i, j] / sqrt(R[i, j])\n"
      "entry forward forward: N = N, P = P, R = R\n";
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = module_of(&a, text, &g);
  neo_size_rec *v = neo_size_at(m, (neo_size){1});
  v->has_usual = usual > 0;
  v->usual = usual;
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], avx2());
  neo_arena_free(&a);
  return s;
}

static void blocks_of_a_sum_follow_its_usual_length(void **state) {
  (void)state;
  assert_int_equal(gradient_over_vertices(64).loops.block_k, 0);
  assert_in_range(gradient_over_vertices(0).loops.block_k, 1, 1024);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_printed_parses_to_the_same),
      cmocka_unit_test(broken_text_is_refused),
      cmocka_unit_test(a_large_product_has_a_register_tile_and_a_packed_operand),
      cmocka_unit_test(where_most_blocks_have_few_rows_columns_are_read_in_place),
      cmocka_unit_test(what_a_short_sum_is_written_to_is_walked_in_long_runs),
      cmocka_unit_test(a_matrix_that_is_read_once_is_read_in_blocks_of_whole_rows),
      cmocka_unit_test(few_rows_read_a_matrix_in_place_and_fetch_it_a_block_ahead),
      cmocka_unit_test(an_update_fetches_a_parameter_beyond_the_caches),
      cmocka_unit_test(an_update_of_short_sums_walks_a_row_of_what_no_cache_holds),
      cmocka_unit_test(what_comes_next_is_fetched_along_the_outer_loop),
      cmocka_unit_test(what_is_fetched_long_before_goes_to_the_second_cache),
      cmocka_unit_test(what_the_next_copy_of_columns_reads_is_fetched),
      cmocka_unit_test(large_weights_are_copied_in_blocks_that_are_fetched_ahead),
      cmocka_unit_test(weights_of_many_gates_are_fetched_ahead),
      cmocka_unit_test(a_product_of_integers_is_tiled_like_any_other),
      cmocka_unit_test(a_sum_over_a_data_equation_runs_over_its_source),
      cmocka_unit_test(lanes_of_distances_are_results_and_what_lies_across_is_copied),
      cmocka_unit_test(axes_of_one_element_are_no_part_of_a_form),
      cmocka_unit_test(rows_of_which_no_vector_is_a_whole_number_are_copied),
      cmocka_unit_test(vectors_along_a_sum_cost_their_way_from_memory),
      cmocka_unit_test(what_follows_a_long_sum_does_not_narrow_its_tile),
      cmocka_unit_test(lanes_keep_to_the_axis_along_which_a_large_result_lies),
      cmocka_unit_test(only_results_beyond_the_caches_stream),
      cmocka_unit_test(results_of_any_number_of_rows_do_not),
      cmocka_unit_test(rows_that_share_sets_of_a_cache_are_read_in_short_blocks),
      cmocka_unit_test(results_in_an_operands_place_do_not),
      cmocka_unit_test(results_of_short_sums_beyond_the_caches_stream),
      cmocka_unit_test(columns_of_a_tensor_beyond_the_caches_are_summed_in_wide_tiles),
      cmocka_unit_test(long_formulas_have_two_vectors_side_by_side),
      cmocka_unit_test(sums_up_to_the_nearer_of_two_ends_are_scans),
      cmocka_unit_test(blocks_of_a_sum_follow_its_usual_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
