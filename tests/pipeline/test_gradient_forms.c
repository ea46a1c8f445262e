/* One test for each form that an index may take, written as a user writes it: its gradient (and
 * that gradient's) equals a scatter at several sizes, its loops do not go through more points than
 * a small multiple of what the forward pass does, and machine code agrees. */
#include "ir/print.h"
#include "tests/pipeline/gradient_oracle.h"
#include "tests/pipeline/plan_world.h"
#include <stdio.h>
#include <string.h>

static neo_gen_program parsed(neo_arena *a, const char *text) {
  static const char *const folders[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};
  neo_frontend_options o = {.import_paths = folders};
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_gen_program g = {.seed = 5};
  bool is_ir = strncmp(text, "neo-ir", 6) == 0;
  g.m = is_ir ? neo_module_parse(a, neo_names_new(a), d, "form.ir", text, strlen(text))
              : neo_frontend(a, neo_names_new(a), d, "form.expr", text, strlen(text), &o);
  if (!g.m || neo_diags_errors(d)) {
    neo_str why;
    neo_str_init(&why, a);
    neo_diags_print(d, &why, false);
    fail_msg("%s\n%s", neo_str_text(&why), text);
  }
  g.sizes = NEO_NEW_ARRAY(a, int64_t, g.m->sizes.n + 1);
  for (uint32_t k = 1; k < g.m->sizes.n; k++)
    g.sizes[k] = g.m->sizes.at[k].hi;
  for (uint32_t k = 1; k < g.m->sizes.n; k++)
    if (g.m->sizes.at[k].kind == NEO_SIZE_DERIVED)
      g.sizes[k] = neo_size_value(g.m, g.m->sizes.at[k].value, g.sizes);
  return g;
}

static void in_machine_code(neo_arena *a, const char *text, uint64_t seed) {
  neo_str ir, why;
  plan_world w;
  neo_gen_program g = parsed(a, text);
  neo_str_init(&ir, a);
  neo_str_init(&why, a);
  neo_module_print(g.m, &ir);
  world_open(&w);
  w.seed = seed;
  world_parse(&w, neo_str_text(&ir));
  (void)gradient_oracle_request(w.c.module);
  world_begin(&w, KERNELS_COMPILED, g.sizes);
  if (!world_run(&w, (uint32_t)w.c.module->entries.n - 1, 0, &why)) {
    neo_module_print(w.c.module, &why);
    fail_msg("machine code: %s\n%s", neo_str_text(&why), text);
  }
  world_close(&w);
}

typedef enum { SMOOTH, KINKED } smoothness; /* has it a second derivative that is exact? */

/* Loops of the gradient over those of the forward pass and the elements: at most `most`. */
static void form(smoothness s, double most, const char *text) {
  for (int second = 0; second < (s == SMOOTH ? 2 : 1); second++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = parsed(&a, text);
    neo_module_widen(g.m);
    gradient_oracle o = {.second = second};
    if (!gradient_oracle_check(&o, &g, &why)) {
      fprintf(stderr, "%s\n", neo_str_text(&why)); /* cmocka cuts */
      fail_msg("%s gradient of\n%s", second ? "second" : "first", text);
    }
    if (!second && o.worst > most)
      fail_msg("%g times the points of\n%s", o.worst, text);
    neo_arena_free(&a);
  }
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  in_machine_code(&a, text, 1);
  neo_arena_free(&a);
}

/* ---- windows */

#define CONV1(n, window, stride, dilation, pad, out)                                               \
  "input x[2, " #n "]\ninput f[" #window "]\n"                                                     \
  "y[b, p < " #out "] = sum[r] f[r] * (x[b, " #stride "*p + " #dilation "*r - " #pad "] else 0)\n" \
  "output y\n"

static void strides_that_do_not_divide(void **state) {
  (void)state;
  form(SMOOTH, 3, CONV1(11, 3, 2, 1, 0, 5));
  form(SMOOTH, 3, CONV1(10, 3, 2, 1, 1, 5));
  form(SMOOTH, 3, CONV1(13, 2, 3, 1, 0, 4));
  form(SMOOTH, 3, CONV1(14, 4, 3, 1, 1, 5));
  form(SMOOTH, 3, CONV1(17, 3, 4, 1, 0, 4));
  form(SMOOTH, 3, CONV1(16, 5, 4, 1, 2, 4));
  form(SMOOTH, 3, CONV1(9, 1, 2, 1, 0, 5));
}

static void dilations_and_both(void **state) {
  (void)state;
  form(SMOOTH, 3, CONV1(11, 3, 1, 2, 2, 11));
  form(SMOOTH, 3, CONV1(14, 3, 2, 2, 1, 6));
  form(SMOOTH, 3, CONV1(15, 3, 2, 3, 0, 5));
  form(SMOOTH, 3, CONV1(19, 3, 3, 2, 2, 6));
  form(SMOOTH, 3, CONV1(21, 3, 4, 6, 3, 4));
}

static void images_strided_in_two_dimensions(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "import nn\ninput x[2, 3, 7, 8]\ninput f[4, 3, 3, 3]\n"
       "y = nn.conv2d(x, f, stride = 2, pad = 1)\noutput y\n");
  form(SMOOTH, 3,
       "import nn\ninput x[1, 2, 9, 10]\ninput f[2, 2, 3, 2]\n"
       "y = nn.conv2d(x, f, stride = 3, pad = 1, dilation = 2)\noutput y\n");
}

static void images_of_sizes_known_when_they_run(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "import nn\ndim N <= 3\ndim H <= 9\ndim W <= 8\n"
       "input x[N, 2, H, W]\ninput f[2, 2, 3, 3]\n"
       "y = nn.conv2d(x, f, stride = 2, pad = 1)\noutput y\n");
  form(SMOOTH, 3,
       "dim N <= 17\ninput x[N]\ninput f[4]\n"
       "y[p < (N + 2)/3] = sum[r] f[r] * (x[3*p + r - 2] else 0)\noutput y\n");
}

static void groups_and_depthwise_windows(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "input x[2, 6, 7]\ninput f[4, 3, 3]\n"
       "y[n, k < 4, p < 4] = sum[c, r] f[k, c, r] * (x[n, (k/2)*3 + c, 2*p + r - 1] else 0)\n"
       "output y\n");
  form(SMOOTH, 3,
       "input x[2, 5, 7, 6]\ninput f[5, 3, 3]\n"
       "y[n, c, p < 4, q < 3] = sum[r, s] f[c, r, s] * (x[n, c, 2*p + r - 1, 2*q + s - 1] else 0)\n"
       "output y\n");
}

static void transposed_windows(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "input x[2, 5]\ninput f[3]\n"
       "y[b, z < 11] = sum[p, r where 2*p + r == z] x[b, p] * f[r]\noutput y\n");
  form(SMOOTH, 3,
       "input x[2, 5]\ninput f[4]\n"
       "y[b, z < 14] = sum[r where (z - r) % 3 == 0] (x[b, (z - r)/3] else 0) * f[r]\noutput y\n");
  form(SMOOTH, 3,
       "input x[2, 4, 3]\ninput f[3, 3]\n"
       "y[b, z < 9, w < 7] = sum[p, q, r, s where 2*p + r == z and 2*q + s == w] x[b, p, q] *"
       " f[r, s]\n"
       "output y\n");
}

static void pooling_with_overlap(void **state) {
  (void)state;
  form(KINKED, 3,
       "import nn\ninput x[2, 2, 7, 9]\ny = nn.max_pool2d(x, size = 3, stride = 2, pad = 1)\n"
       "output y\n");
  form(KINKED, 3, "import nn\ninput x[2, 2, 7, 7]\ny = nn.max_pool2d(x, size = 2)\noutput y\n");
  form(SMOOTH, 3,
       "import nn\ninput x[2, 2, 8, 8]\ny = nn.avg_pool2d(x, size = 2, stride = 2)\noutput y\n");
  form(KINKED, 3, "input x[17]\ny[p < 5] = min[r < 4] x[3*p + r]\noutput y\n");
}

/* ---- moving */

static void slices_and_reversal(void **state) {
  (void)state;
  form(SMOOTH, 2, "dim N <= 9\ninput x[N + 5]\ninput w[N]\ny[i < N] = x[i + 3] * w[i]\noutput y\n");
  form(SMOOTH, 2, "dim N <= 9\ninput x[N, 3]\ny[i < N, j < 3] = x[N - 1 - i, 2 - j]^2\noutput y\n");
  form(SMOOTH, 2, "input x[12]\ny[i < 4] = x[3*i + 1] * x[11 - 2*i]\noutput y\n");
}

static void concatenation_by_select(void **state) {
  (void)state;
  form(SMOOTH, 2,
       "dim N <= 5\ninput a[N, 3]\ninput b[4, 3]\n"
       "y[i < N + 4, j] = select(i < N, a[i, j], b[i - N, j])^2\noutput y\n");
}

static void reshapes(void **state) {
  (void)state;
  form(SMOOTH, 2, "input x[4, 6]\ny[i < 3, j < 8] = x[(i*8 + j)/6, (i*8 + j)%6]^2\noutput y\n");
  form(SMOOTH, 2, "input x[3, 4, 5]\ny[i < 60] = x[i/20, i/5%4, i%5]^2\noutput y\n");
  form(SMOOTH, 2,
       "dim B <= 4\ndim T <= 5\ninput x[B, T, 3]\n"
       "y[i < B*T, j] = x[i/T, i%T, j]^2\noutput y\n");
  form(SMOOTH, 2,
       "dim B <= 4\ninput x[B*6]\ninput w[B]\n"
       "y[b < B, t < 6] = x[b*6 + t]^2 * w[b]\noutput y\n");
}

static void channel_shuffles_and_depth_to_space(void **state) {
  (void)state;
  form(SMOOTH, 2, "input x[2, 6, 3]\ny[n, c < 6, p] = x[n, (c%2)*3 + c/2, p]^2\noutput y\n");
  form(SMOOTH, 2,
       "input x[2, 8, 3, 2]\ny[n, c < 2, h < 6, w < 4] = x[n, c*4 + (h%2)*2 + w%2, h/2, w/2]^2\n"
       "output y\n");
  form(SMOOTH, 2,
       "input x[2, 2, 6, 4]\n"
       "y[n, k < 8, h < 3, w < 2] = x[n, k/4, 2*h + k/2%2, 2*w + k%2]^2\noutput y\n");
}

static void diagonals(void **state) {
  (void)state;
  form(SMOOTH, 2, "dim N <= 6\ninput x[N, N]\ny[i < N] = x[i, i]^2\noutput y\n");
  form(SMOOTH, 2, "input x[5, 7]\ny[i < 5] = x[i, i + 2] * x[4 - i, i]\noutput y\n");
  form(SMOOTH, 2, "input x[5, 5]\ny = sum[i] x[i, i] * x[0, i]\noutput y\n");
}

static void upsampling(void **state) {
  (void)state;
  form(SMOOTH, 2, "input x[2, 4, 3]\ny[n, i < 8, j < 9] = x[n, i/2, j/3]^2\noutput y\n");
  form(SMOOTH, 2, "dim N <= 7\ninput x[N]\ny[i < 3*N - 1] = x[i/3]^2\noutput y\n");
}

static void edges_that_reflect_and_clamp(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "input x[40]\ninput f[3]\ny[i < 40] = sum[r] f[r] * x[clamp(i + r - 1, 0, 39)]\noutput y\n");
  form(SMOOTH, 3, "input x[40]\ny[i < 44] = x[abs(39 - abs(i - 2))]^2\noutput y\n");
  form(SMOOTH, 3, "input x[40]\ny[i < 44] = x[39 - abs(39 - abs(i - 2))]^2\noutput y\n");
  form(SMOOTH, 3,
       "dim N <= 40\ninput x[N + 2]\ninput w[N]\n"
       "y[i < N + 6] =\n"
       "    x[select(i < 2, 2 - i, select(i < N + 4, i - 2, 2*N + 4 - i))]^2 + (w[i] else 0)\n"
       "output y\n");
  form(SMOOTH, 3,
       "dim N <= 40\ninput x[N]\ny[i < N + 4] = x[min(max(i - 2, 0), N - 1)]^2\noutput y\n");
}

static void wrapped_indices(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "input x[40]\ninput f[3]\ny[i < 40] = sum[r] f[r] * x[(i + r + 39)%40]\noutput y\n");
  form(SMOOTH, 3, "dim N <= 40\ninput x[N]\ny[i < 2*N + 1] = x[i%N]^2\noutput y\n");
}

static void wrapped_windows(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "input x[30]\ninput f[4]\ny[p < 15] = sum[r] f[r] * x[(2*p + 3*r)%30]\noutput y\n");
  form(SMOOTH, 3,
       "input x[7, 3]\ninput w[40]\ny[i < 40, r < 3] = x[(3*i + 2*r)%7, r] * w[i]\noutput y\n");
  form(SMOOTH, 3,
       "dim N <= 20\ndim M <= 9\ninput x[N]\ninput f[M]\n"
       "y[i < N] = sum[j] f[j] * x[(i + j)%N]\noutput y\n");
  form(SMOOTH, 3, "input x[6, 20]\ny[i < 20, j < 6] = x[(i + j)%3*2 + j%2, i]^2\noutput y\n");
}

static void triangles_and_bands(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "dim N <= 8\ninput x[N]\ninput w[N, N]\n"
       "y[i < N] = sum[j <= i] x[j] * w[i, j]\noutput y\n");
  form(SMOOTH, 3,
       "input x[9]\ninput w[9]\ny[i < 9] = sum[i - 2 <= j < i + 3 where 0 <= j and j < 9] "
       "x[j] * w[i]\noutput y\n");
  form(SMOOTH, 3,
       "dim N <= 8\ninput x[N, N]\ny[i < N] = sum[j, k where j <= i and k <= j] x[j, k]^2\n"
       "output y\n");
}

static void several_reads_of_one_tensor(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "dim N <= 9\ninput x[N]\n"
       "y[i < N] = x[i] * (x[i - 1] else 0) + (x[2*i + 1] else 1) * x[N - 1 - i] * x[i/2]\n"
       "output y\n");
}

/* ---- what data decide */

static void conditions_on_data(void **state) {
  (void)state;
  form(SMOOTH, 3,
       "dim N <= 6\ninput x[N, 4]\ninput m[N, 4] : bool\ninput n[N] : i32 <= 4\n"
       "y[i < N] = sum[j where m[i, j] and j < n[i]] x[i, j]^2\noutput y\n");
  form(SMOOTH, 3,
       "input x[6]\ninput c[6]\ny[i < 6] = select(c[i] > 0, x[i], x[5 - i])^2\noutput y\n");
  form(SMOOTH, 3,
       "dim N <= 6\ninput x[N, 4]\ninput n[N] : i32 <= 4\n"
       "y[i < N] = sum[j < n[i]] x[i, j]^2\noutput y\n");
}

static void lookups_and_lookups_of_lookups(void **state) {
  (void)state;
  form(SMOOTH, 20,
       "dim N <= 7\ninput x[5, 3]\ninput t[N] : i32 < 5\ny[i < N, j] = x[t[i], j]^2\noutput y\n");
  form(SMOOTH, 20,
       "input x[5, 3]\ninput t[7] : i32 < 5\ninput u[6] : i32 < 7\n"
       "y[i < 6, j] = x[t[u[i]], j]^2\noutput y\n");
  form(SMOOTH, 20,
       "input x[5, 3]\ninput w[4, 3, 2]\ninput t[6, 4] : i32 < 5\n"
       "y[b, j < 2] = sum[s < 4, e < 3] x[t[b, s], e] * w[s, e, j]\noutput y\n");
}

/* ---- reducers */

static void products_with_zeros(void **state) {
  (void)state;
  form(SMOOTH, 12, "input x[9]\ny[p < 4] = prod[r < 3] x[2*p + r]\noutput y\n");
  form(SMOOTH, 12, "input x[3, 4]\ny[i] = prod[j < 5] (x[i, j - 1] else 0)\noutput y\n");
}

/* ---- corners that were wrong once */

/* The window of z0 moves; the later range, which hangs on it, must not decide its end meanwhile. */
static void a_window_is_cut_where_a_later_range_would_be_empty(void **state) {
  (void)state;
  form(SMOOTH, 10,
       "neo-ir 1\nmodule t\ninput A : f32 [7]\ntemp Y : f32 [3, 1]\n"
       "def Y[x: 3, y: 1] =\n  sum[r: x] (A[x * 6] else 2.0)\n  then acc0\n"
       "entry forward forward: Y = Y\n");
}

/* Equations among conditions are solved; the reads that stood behind them, or they behind reads,
 * must not come to be out of range. */
static void equations_that_move_do_not_uncover_reads(void **state) {
  (void)state;
  form(SMOOTH, 10,
       "neo-ir 1\nmodule t\ninput A : f32 [4, 2]\ninput B : f32 [4, 1, 3]\ntemp Y : f32 [4]\n"
       "def Y[x: 4] =\n  sum[r: 1, k: 3] where 0.0 < B[x, r, k];\n"
       "  (A[x, x - r * 2] else 0.0)\n  then acc0\nentry forward forward: Y = Y\n");
  form(SMOOTH, 10,
       "neo-ir 1\nmodule t\ninput A : f32 [9]\ninput T : i32 [4] < 5\ntemp Y : f32 [6]\n"
       "def Y[x: 6] =\n  sum[r: 5] where x < 4 and i64(T[x]) == r and r % 2 == 0;\n"
       "  A[x + r / 2] * A[r]\n  then acc0\nentry forward forward: Y = Y\n");
}

/* Reads that a loop's range proved to be inside are guarded by the condition that replaces the
 * range. */
static void conditions_stand_before_what_was_proved_with_them(void **state) {
  (void)state;
  form(SMOOTH, 10,
       "neo-ir 1\nmodule t\nsize N 1..5\ninput A : f32 [(N - 1) * 5 / 4 + 1]\n"
       "input T : i32 [N] < 4\ntemp Y : f32 []\n"
       "def Y[] =\n  sum[r: N] where (r + 2) % 2 == 0;\n"
       "  (A[i64(T[r]) + r * 3] else 0.0) * (A[(r + 2) / 2 % N] else 0.0)\n  then acc0\n"
       "entry forward forward: Y = Y\n");
}

static void ranges_with_quotients_by_sizes_are_loosened(void **state) {
  (void)state;
  form(SMOOTH, 10,
       "neo-ir 1\nmodule t\nsize N 0..5\nsize M 0..5\n"
       "input A : f32 [max(min(N * 4 + M - 3, 4) + 1, 0), max((N - 1) / (2 * (M + 1)) + 1, 0), "
       "max(min((N - 1) / 2, M) + 1, 0), max(min(N - 1, 1) + 1, 0)]\ntemp Y : f32 [2, N]\n"
       "def Y[x: 2, y: N] =\n"
       "  sum[r: N] (A[(x + r) % 5, 0, r / 2 % (M + 1), r % 2] else 0.0)\n  then acc0\n"
       "entry forward forward: Y = Y\n");
}

static void reads_stay_guarded_until_all_conditions_are_known(void **state) {
  (void)state;
  form(SMOOTH, 10,
       "neo-ir 1\nmodule t\ninput T : i32 [1] < 1\ninput A : f32 [3, 3, 1, 2]\n"
       "temp Y : f32 [1, 3]\n"
       "def Y[x: 1, y: 3] = A[x * 3 + y, i64(T[x]) + y, 0, y % 2]\n"
       "entry forward forward: Y = Y\n");
}

/* The mean of no elements, 0/0, must not reach elements that a kernel masks. */
static void means_of_nothing_give_no_gradient(void **state) {
  (void)state;
  static const char text[] =
      "neo-ir 1\nmodule t\nsize N 1..3\ninput L : i32 [N + 1] < 2\ninput A : f32 [N + 30, 1]\n"
      "input B : f32 [N + 1, N]\ntemp Y : f32 [N + 1, 6]\n"
      "def Y[x: N + 1, y: 6] =\n"
      "  mean[r: N, k: i64(L[x])..1] where x + y + (N - 1 - r) * 2 + k != 1;\n"
      "  A[k * 4 + r + 30 - y * 6, k * 9] * B[x, r]\n  then acc0\n"
      "entry forward forward: Y = Y\n";
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (uint64_t seed = 1; seed < 9; seed++)
    in_machine_code(&a, text, seed);
  neo_arena_free(&a);
}

/* The ends of a moved window come before the conditions that read by it. */
static void edges_of_windows_stand_before_conditions(void **state) {
  (void)state;
  form(KINKED, 40,
       "neo-ir 1\nmodule t\nsize N 1..5\ninput T : i32 [N] < 2\n"
       "input A : f32 [2, (N * 7 - 7) / (N * N) + 1, min((N * 7 - 7) / N, N - 1) + 1, "
       "min(N * 7 - 7, N - 1) + 1]\ntemp Y : f32 [N, N]\n"
       "def Y[x: N, y: N] =\n  max[r: N]\n"
       "  let $0 = x * 3 + (N - 1 - y) * 3 + (N - 1 - r);\n"
       "  A[i64(T[r]), $0 / (N * N), $0 / N % N, $0 % N]\n  then acc0\n"
       "entry forward forward: Y = Y\n");
}

static void ranges_with_remainders_are_loosened(void **state) {
  (void)state;
  form(SMOOTH, 20,
       "neo-ir 1\nmodule t\nsize N 0..2\n"
       "input A : f32 [1, 1, max((N * 4 + 10) / (N + 2) + 1, 1), 2]\ntemp Y : f32 [3, N]\n"
       "def Y[x: 3, y: N] =\n"
       "  sum[r: 6] (A[(y + 2) % 2, x + y + r, r % 3 * 2 + r / 3, x % 2] else 0.0)\n  then acc0\n"
       "entry forward forward: Y = Y\n");
}

/* Eleven steps that each read slices: the gradient has a piece for each, zeros in between. */
static void slices_at_constants(void **state) {
  (void)state;
  form(SMOOTH, 20,
       "input x[2, 15, 3]\n"
       "y[b, j] = 1*x[b, 1, j]*x[b, 4, j] + 2*x[b, 2, j]*x[b, 5, j] + 3*x[b, 3, j]*x[b, 8, j] +\n"
       "    4*x[b, 4, j]*x[b, 9, j] + 5*x[b, 5, j]*x[b, 10, j] + 6*x[b, 8, j]*x[b, 11, j] +\n"
       "    7*x[b, 9, j]*x[b, 12, j] + 8*x[b, 10, j]*x[b, 2, j] +\n"
       "    9*x[b, 11, j]*x[b, 1, j] + 10*x[b, 12, j]*x[b, 2, j] + 11*x[b, 2, j]*x[b, 3, j]\n"
       "output y\n");
}

/* Layers whose weights lie in one tensor, one of them used twice, one not at all. */
static void sums_into_slices(void **state) {
  (void)state;
  form(SMOOTH, 20,
       "dim N <= 7\ninput x[N, 5]\ninput w[4, 5, 5]\n"
       "a[n, j] = sum[i] x[n, i] * w[0, i, j]\nb[n, j] = sum[i] a[n, i] * w[3, i, j]\n"
       "c[n, j] = sum[i] b[n, i] * w[1, j, i]\ny[n, j] = sum[i] c[n, i] * w[3, i, j] + w[2, j, j]\n"
       "output y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strides_that_do_not_divide),
      cmocka_unit_test(dilations_and_both),
      cmocka_unit_test(images_strided_in_two_dimensions),
      cmocka_unit_test(images_of_sizes_known_when_they_run),
      cmocka_unit_test(groups_and_depthwise_windows),
      cmocka_unit_test(transposed_windows),
      cmocka_unit_test(pooling_with_overlap),
      cmocka_unit_test(slices_and_reversal),
      cmocka_unit_test(concatenation_by_select),
      cmocka_unit_test(reshapes),
      cmocka_unit_test(channel_shuffles_and_depth_to_space),
      cmocka_unit_test(diagonals),
      cmocka_unit_test(upsampling),
      cmocka_unit_test(edges_that_reflect_and_clamp),
      cmocka_unit_test(wrapped_indices),
      cmocka_unit_test(wrapped_windows),
      cmocka_unit_test(triangles_and_bands),
      cmocka_unit_test(several_reads_of_one_tensor),
      cmocka_unit_test(conditions_on_data),
      cmocka_unit_test(lookups_and_lookups_of_lookups),
      cmocka_unit_test(products_with_zeros),
      cmocka_unit_test(a_window_is_cut_where_a_later_range_would_be_empty),
      cmocka_unit_test(equations_that_move_do_not_uncover_reads),
      cmocka_unit_test(reads_stay_guarded_until_all_conditions_are_known),
      cmocka_unit_test(means_of_nothing_give_no_gradient),
      cmocka_unit_test(edges_of_windows_stand_before_conditions),
      cmocka_unit_test(ranges_with_remainders_are_loosened),
      cmocka_unit_test(conditions_stand_before_what_was_proved_with_them),
      cmocka_unit_test(ranges_with_quotients_by_sizes_are_loosened),
      cmocka_unit_test(slices_at_constants),
      cmocka_unit_test(sums_into_slices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
