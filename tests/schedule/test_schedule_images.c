/* The model's choices for convolutions, capsules and images. */
#include "tests/schedule/choose.h"

/* Eight convolutions of one image, stride 2, filters of 9: a quarter of the gradient to the image.
 * */
static const char *const sticking_out =
    "input D : f32 [16, 1152, 8]\ninput F : f32 [8, 32, 256, 9, 9]\n"
    "temp G : f32 [16, 256, 10, 10]\n"
    "def G[n: 16, c: 256, h: 10, w: 10] =\n"
    "  sum[t: 8, k: 32, p: max(0, 4 - h)..min(5, 10 - h), q: max(0, 4 - w)..min(5, 10 - w)]\n"
    "  D[n, (k * 6 + (h - 4 + p)) * 6 + (w - 4 + q), t]\n"
    "  * F[t, k, c, 0 - p * 2 + 8, 0 - q * 2 + 8]\n"
    "  then acc0\nentry forward forward: G = G\n";

static void axes_of_an_image_that_windows_stick_out_of_are_no_part_of_the_tile(void **state) {
  (void)state;
  neo_schedule s = choose(sticking_out);
  assert_int_equal(s.loops.vector_axis, 1);
  assert_int_equal(s.loops.fused, 1);
  assert_int_equal(s.loops.axis_m, 0);
}

static void filters_are_copied_once_for_all_places_of_the_image(void **state) {
  (void)state;
  neo_schedule s = choose(sticking_out);
  assert_true(s.loops.pack & 2);
  assert_true(s.loops.block_n > 0);
  assert_int_equal(s.loops.blocks_first, 1);
  assert_int_equal(s.loops.unit_axes, 1);
}

static void an_axis_of_groups_is_two(void **state) {
  (void)state;
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  const char *text = "input X : f32 [64, 3, 40]\ninput F : f32 [3, 40, 160]\n"
                     "temp Y : f32 [64, 480]\n"
                     "def Y[x: 64, i: 480] =\n"
                     "  sum[c: 40] X[x, i / 160, c] * F[i / 160, c, i % 160]\n"
                     "  then acc0\nentry forward forward: Y = Y\n";
  neo_module *m = module_of(&a, text, &g);
  assert_int_equal(neo_group_form(m, &g.groups.at[0])->axes.n, 3);
  neo_arena_free(&a);
  neo_schedule s = choose(text);
  assert_int_equal(s.loops.axis_m, 0);
  assert_int_equal(s.loops.vector_axis, 2);
  assert_true(s.loops.tile_m * s.loops.tile_n >= 8);
}

static const char *const capsules =
    "input A : f32 [16, 256, 20, 20]\ninput F : f32 [32, 256, 9, 9, 8]\n"
    "temp u : f32 [16, 32, 6, 6, 8]\n"
    "def u[n: 16, m: 32, p: 6, q: 6, j: 8] =\n  sum[c: 256, r: 9, s: 9]\n"
    "  A[n, c, 2 * p + r, 2 * q + s] * F[m, c, r, s, j]\n  then acc0\n"
    "entry forward forward: u = u\n";

static void the_elements_of_capsules_are_columns_with_those_of_other_channels(void **state) {
  (void)state;
  neo_schedule s = choose(capsules);
  assert_int_equal(s.loops.vector_axis, 4);
  assert_int_equal(s.loops.axis_n, 1);
  assert_true(s.loops.tile_n >= 2);
}

/* Vectors of 16 lanes cross from one channel to the next. */
static void vectors_longer_than_a_capsule_have_two(void **state) {
  (void)state;
  neo_schedule s = choose_on(avx512(), capsules, NULL);
  assert_int_equal(s.loops.vector_axis, 4);
  assert_int_equal(s.loops.axis_n, 1);
  assert_true(s.loops.tile_n * s.loops.vector_width >= 16);
}

static const char *const many_filters =
    "input A : f32 [16, 64, 28, 28]\ninput F : f32 [256, 64, 9, 9, 8]\n"
    "temp O : f32 [16, 256, 10, 10, 8]\n"
    "def O[b: 16, m: 256, p: 10, q: 10, j: 8] =\n"
    "  sum[c: 64, r: 9, s: 9] F[m, c, r, s, j] * A[b, c, 2 * p + r, 2 * q + s]\n"
    "  then acc0\nentry forward forward: O = O\n";

/* Runs of eight are vectors or halves of them: nothing is gained by a copy. */
static void filters_of_capsules_are_read_in_blocks_that_stay_near(void **state) {
  (void)state;
  neo_schedule s = choose_on(avx512(), many_filters, NULL);
  assert_int_equal(s.loops.axis_n, 1);
  assert_false(s.loops.pack & 2);
  assert_int_equal(s.loops.blocks_first, 1);
  assert_true(s.loops.block_n * 64 * 9 * 9 * 4 <= avx512()->l2_bytes);
}

/* Half of 16 lanes would be dead. */
static void few_columns_have_short_vectors(void **state) {
  (void)state;
  static const int64_t extent[] = {4, 8, 12, 16, 24, 40}, width[] = {4, 8, 16, 16, 8, 8};
  char text[512];
  for (size_t k = 0; k < sizeof extent / sizeof *extent; k++) {
    long long n = extent[k];
    snprintf(text, sizeof text,
             "input x : f32 [480, 64]\ninput W : f32 [64, %lld]\ntemp y : f32 [480, %lld]\n"
             "def y[b: 480, j: %lld] =\n  sum[i: 64] x[b, i] * W[i, j]\n  then acc0\n"
             "entry forward forward: y = y\n",
             n, n, n);
    neo_schedule s = choose_on(avx512(), text, NULL);
    assert_int_equal(s.loops.vector_axis, 1);
    assert_int_equal(s.loops.vector_width, width[k]);
  }
}

/* A gradient to data: whichever operand the filter is, its steps lie 18 KB apart. */
static void a_filter_whose_steps_are_pages_apart_is_copied(void **state) {
  (void)state;
  neo_schedule s = choose_on(
      avx512(),
      "input D : f32 [512, 9, 9]\ninput F : f32 [512, 512, 3, 3]\ntemp Y : f32 [512, 7, 7]\n"
      "def Y[c: 512, p: 7, q: 7] =\n"
      "  sum[k: 512, r: 3, s: 3] D[k, p + r, q + s] * F[k, c, r, s]\n  then acc0\n"
      "entry forward forward: Y = Y\n",
      NULL);
  assert_true(s.loops.pack & 2);
}

/* The elements that a window excludes at the edges of an image are a constant of the first and the
 * last vector where tiles begin at known places; at others each product is tested, or the image is
 * copied. */
static void images_of_few_vectors_are_read_where_they_lie(void **state) {
  (void)state;
  static const int64_t width[] = {112, 250};
  char text[768];
  for (size_t k = 0; k < sizeof width / sizeof *width; k++) {
    long long n = width[k];
    snprintf(text, sizeof text,
             "input D : f32 [64, 112, %lld]\ninput F : f32 [64, 3, 3, 3]\n"
             "temp G : f32 [3, 112, %lld]\ndef G[c: 3, y: 112, x: %lld] =\n"
             "  sum[k: 64, p: max(0, 1 - y)..min(3, 113 - y), q: max(0, 1 - x)..min(3, %lld - x)]\n"
             "  D[k, y - 1 + p, x - 1 + q] * F[k, c, p, q]\n"
             "  then acc0\nentry forward forward: G = G\n",
             n, n, n, n + 1);
    neo_schedule s = choose_on(avx512(), text, NULL);
    assert_int_equal(s.loops.vector_axis, 2);
    assert_int_equal(s.loops.pack & 1, k);
  }
}

/* Rows of 8 results are runs of 17 elements, pages apart, two cache lines for each. */
static void images_beyond_the_caches_are_not_copied_in_short_runs(void **state) {
  (void)state;
  neo_schedule s =
      choose_on(avx512(),
                "input X : f32 [16, 128, 56, 56]\ninput F : f32 [128, 128, 3, 3]\n"
                "temp Y : f32 [16, 128, 28, 28]\ndef Y[n: 16, k: 128, p: 28, q: 28] =\n"
                "  sum[c: 128, r: 3, s: 3]\n"
                "  (X[n, c, 2 * p + r - 1, 2 * q + s - 1] else 0.0) * F[k, c, r, s]\n"
                "  then acc0\nentry forward forward: Y = Y\n",
                NULL);
  assert_true(s.loops.axis_m != 3 || s.loops.block_m == 0);
}

/* A gradient to weights: of eight images the columns of a tap are 1.6 MB. */
static void long_steps_are_copied_a_few_at_a_time(void **state) {
  (void)state;
  neo_schedule s = choose_on(avx512(),
                             "input X : f32 [16, 128, 56, 56]\ninput D : f32 [16, 128, 28, 28]\n"
                             "temp G : f32 [128, 128, 3, 3]\ndef G[k: 128, c: 128, r: 3, s: 3] =\n"
                             "  sum[n: 16, p: 28, q: 28] D[n, k, p, q]\n"
                             "  * (X[n, c, 2 * p + r - 1, 2 * q + s - 1] else 0.0)\n"
                             "  then acc0\nentry forward forward: G = G\n",
                             NULL);
  assert_true(s.loops.block_k >= 1 && s.loops.block_k <= 4);
}

/* The gradient of a convolution of stride 2 to its weights: each of nine taps walks 26 MB. */
#define TAPS(X)                                                          \
  "input D : f32 [16, 128, 28, 28]\ninput X : f32 [16, 128, 57, 57]\n"   \
  "temp G : f32 [128, 128, 3, 3]\ndef G[k: 128, c: 128, r: 3, s: 3] =\n" \
  "  sum[" X                                                             \
  "] D[n, k, p, q] * X[n, c, 2 * p + r, 2 * q + s]\n  then acc0\n"       \
  "entry forward forward: G = G\n"

static void images_that_all_taps_walk_are_walked_a_few_at_a_time(void **state) {
  (void)state;
  neo_schedule s = choose_on(avx512(), TAPS("n: 16, p: 28, q: 28"), NULL);
  assert_true(s.loops.blocks_first & 4);
  assert_in_range(s.loops.block_k, 1, 4);
  assert_int_equal(s.loops.unit_axes, 1);
  int64_t block = s.loops.block_m + s.loops.block_n; /* one of them is */
  assert_true(block > 0 && block * 3 < 128);         /* four workers have a unit each, or more */
}

static bool is_legal(const char *text, const char *schedule, const char *why) {
  neo_arena a;
  neo_grouping g;
  neo_schedule s;
  neo_str told;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&told, &a);
  neo_module *m = module_of(&a, text, &g);
  assert_true(neo_schedule_parse(schedule, &s));
  bool legal = neo_schedule_legal(m, &g.groups.at[0], avx512(), &s, &told);
  if (!legal)
    assert_non_null(strstr(neo_str_text(&told), why));
  neo_arena_free(&a);
  return legal;
}

static void blocks_around_taps_are_the_same_for_all_of_them(void **state) {
  (void)state;
  const char *text = TAPS("n: 16, p: 28, q: 28"), *moving = TAPS("n: 0..16 - r, p: 28, q: 28");
  const char *tile = "tile vector_axis=1 vector_width=16 axis_m=0 tile_m=6 tile_n=4 pack=2 "
                     "block_k=1 blocks_first=4";
  assert_true(is_legal(text, tile, ""));
  assert_false(is_legal(moving, tile, "varies between points"));
  assert_false(is_legal(text, "loops vector_axis=1 vector_width=16 blocks_first=4", "only with"));
  assert_false(
      is_legal(text, "tile vector_axis=3 vector_width=2 block_k=1 blocks_first=8", "0..7"));
}

static neo_schedule gradient_to_taps(int channels) {
  char text[512];
  snprintf(text, sizeof text,
           "input X : f32 [16, 56, 56, %d]\ninput D : f32 [16, 56, 56, %d]\n"
           "temp G : f32 [3, 3, %d]\ndef G[r: 3, s: 3, c: %d] =\n"
           "  sum[n: 16, p: 56, q: 56] D[n, p, q, c] * (X[n, p + r - 1, q + s - 1, c] else 0.0)\n"
           "  then acc0\nentry forward forward: G = G\n",
           channels, channels, channels, channels);
  return choose_on(avx512(), text, NULL);
}

/* Filters of one channel each: three taps of an image find in the next step what two of them
 * have read, and whole rows of channels are streams from memory. Of many channels no tile is as
 * wide as a row. */
static void taps_share_the_rows_that_they_slide_over(void **state) {
  (void)state;
  static const int64_t channels[] = {32, 64, 128};
  for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
    neo_schedule s = gradient_to_taps((int)channels[k]);
    assert_in_range(s.loops.axis_m, 0, 1);
    assert_int_equal(s.loops.tile_m, 3);
    assert_int_equal(s.loops.tile_n * s.loops.vector_width, channels[k]);
  }
  assert_in_range(gradient_to_taps(512).loops.tile_n, 1, 4);
}

static void columns_that_lie_apart_are_apart_from_all_else(void **state) {
  (void)state;
  static const struct {
    int axis, rows, merge;
    bool legal;
  } at[] = {{1, 0, 1, true},  {0, 2, 1, true},  {0, 1, 3, true},  {3, 0, 1, false},
            {4, 0, 1, false}, {1, 1, 1, false}, {2, 0, 2, false}, {0, 1, 5, false}};
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = module_of(&a, capsules, &g);
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    neo_schedule s = neo_schedule_plain();
    s.loops.vector_axis = 4;
    s.loops.vector_width = 8;
    s.loops.axis_n = at[k].axis;
    s.loops.axis_m = at[k].rows;
    s.loops.fused = at[k].merge;
    assert_int_equal(neo_schedule_legal(m, &g.groups.at[0], avx2(), &s, NULL), at[k].legal);
  }
  neo_arena_free(&a);
}

/* There they would be moved in short pieces, which the model does not price. */
static void sums_in_columns_that_lie_apart_are_not_kept(void **state) {
  (void)state;
  neo_schedule s = choose(many_filters);
  assert_true(s.loops.axis_n < 0 || s.loops.block_k == 0);
  assert_true(s.loops.tile_m * s.loops.tile_n >= 8);
}

static void the_innermost_axis_of_a_sum_is_one_along_which_an_operand_lies(void **state) {
  (void)state;
  neo_arena a;
  neo_grouping g;
  int64_t n;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = module_of(&a, sticking_out, &g);
  const neo_stage *s = &neo_group_form(m, &g.groups.at[0])->stages.at[0];
  assert_int_equal(s->axes.n, 4);
  assert_true(neo_expr_is_int(m, s->axes.at[0].hi, &n) && n == 32);
  assert_true(neo_expr_is_int(m, s->axes.at[3].hi, &n) && n == 8);
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(axes_of_an_image_that_windows_stick_out_of_are_no_part_of_the_tile),
      cmocka_unit_test(filters_are_copied_once_for_all_places_of_the_image),
      cmocka_unit_test(an_axis_of_groups_is_two),
      cmocka_unit_test(the_elements_of_capsules_are_columns_with_those_of_other_channels),
      cmocka_unit_test(vectors_longer_than_a_capsule_have_two),
      cmocka_unit_test(filters_of_capsules_are_read_in_blocks_that_stay_near),
      cmocka_unit_test(few_columns_have_short_vectors),
      cmocka_unit_test(a_filter_whose_steps_are_pages_apart_is_copied),
      cmocka_unit_test(images_of_few_vectors_are_read_where_they_lie),
      cmocka_unit_test(images_beyond_the_caches_are_not_copied_in_short_runs),
      cmocka_unit_test(long_steps_are_copied_a_few_at_a_time),
      cmocka_unit_test(images_that_all_taps_walk_are_walked_a_few_at_a_time),
      cmocka_unit_test(blocks_around_taps_are_the_same_for_all_of_them),
      cmocka_unit_test(taps_share_the_rows_that_they_slide_over),
      cmocka_unit_test(columns_that_lie_apart_are_apart_from_all_else),
      cmocka_unit_test(sums_in_columns_that_lie_apart_are_not_kept),
      cmocka_unit_test(the_innermost_axis_of_a_sum_is_one_along_which_an_operand_lies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
