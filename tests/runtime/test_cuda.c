/* Contexts on a GPU that tests/gpu emulates: the hand-written model of toy.h, whose kernels in C
 * run there as blocks of one thread, does what it does on a processor, to the bit; entries become
 * graphs when they should; pinned memory is not used before its copy is done, which the emulator
 * ends the process for. */
#include "include/neo/dlpack.h"
#include "runtime/element.h"
#include "tests/gpu/emulator.h"
#include "tests/runtime/toy.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_KERNELS = 16, MOST_STEPS = 64, STEPS = 7, MOST_N = 3000000 };

/* ---- kernels of the toy as kernels of the device */

static void *(*shared_memory)(void);
static void (*wait_for_others)(void);

static int32_t buffers_of(int32_t kernel) {
  for (int32_t i = 0; i < toy_model.n_steps; i++)
    if (toy_model.steps[i].op == NEO_RT_STEP_RUN && toy_model.steps[i].arg == kernel)
      return toy_model.steps[i].n;
  return 0;
}

static void run_kernel(int32_t kernel, void **param) {
  void *buf[8];
  int64_t sizes[4], units;
  uint64_t key[3];
  int32_t n = buffers_of(kernel), at = 0;
  wait_for_others();
  for (int32_t i = 0; i < n; i++)
    memcpy(&buf[i], param[at++], sizeof buf[i]);
  for (int32_t i = 0; i < toy_model.n_sizes; i++)
    memcpy(&sizes[i], param[at++], sizeof sizes[i]);
  for (int32_t i = 0; i < 3; i++)
    memcpy(&key[i], param[at++], sizeof key[i]);
  memcpy(&units, param[at], sizeof units);
  neo_rt_args args = {buf, sizes, key, 0, units, shared_memory()};
  toy_model.kernels[kernel].fn(&args);
}

#define FOR_KERNELS(X) \
  X(0)                 \
  X(1)                 \
  X(2)                 \
  X(3)                 \
  X(4)                 \
  X(5)                 \
  X(6)                 \
  X(7)                 \
  X(8)                 \
  X(9)
#define KERNEL(n)                         \
  static void kernel_##n(void **params) { \
    run_kernel(n, params);                \
  }
FOR_KERNELS(KERNEL)
#undef KERNEL
#define KERNEL(n) {"kernel" #n, (void *)(uintptr_t)kernel_##n},
static const neo_emulator_kernel code_at[] = {FOR_KERNELS(KERNEL)};
#undef KERNEL
static const neo_emulator_code code = {NEO_EMULATOR_MAGIC, 10, code_at};

typedef struct {
  neo_rt_model model;
  neo_rt_kernel kernel[MOST_KERNELS];
  neo_rt_step step[MOST_STEPS];
  neo_rt_size size[2];
  neo_rt_image image;
} device_model;

static void make_model(device_model *d) {
  d->model = toy_model;
  d->image = (neo_rt_image){NEO_RT_IMAGE_CUBIN, &code, sizeof code};
  assert_true(toy_model.n_kernels <= code.n);
  for (int32_t k = 0; k < toy_model.n_kernels; k++) {
    d->kernel[k] = toy_model.kernels[k];
    d->kernel[k].fn = d->kernel[k].fast = NULL;
    d->kernel[k].device_symbol = code_at[k].symbol;
    d->kernel[k].block = 1;
    d->kernel[k].block_units = 1 << 30;
  }
  assert_true(toy_model.n_steps <= MOST_STEPS);
  for (int32_t k = 0; k < toy_model.n_steps; k++) {
    d->step[k] = toy_model.steps[k];
    d->step[k].flags |= d->step[k].op == NEO_RT_STEP_RUN ? NEO_RT_STEP_WAITS : 0;
  }
  d->model.steps = d->step;
  memcpy(d->size, toy_model.sizes, sizeof d->size);
  d->size[1].hi = MOST_N;
  d->model.sizes = d->size;
  d->model.kernels = d->kernel;
  d->model.device = "sm_90";
  d->model.images = &d->image;
  d->model.n_images = 1;
}

static void must(neo_rt_ctx *c, neo_rt_status s) {
  if (s)
    fail_msg("%s", neo_rt_error(c));
}

static const neo_emulator_counts *counts;

static int open_emulator(void **state) {
  (void)state;
  void *driver = dlopen(NEO_TEST_EMULATOR, RTLD_NOW | RTLD_GLOBAL);
  if (!driver)
    return -1;
  const neo_emulator_counts *(*count)(void);
  *(void **)&count = dlsym(driver, "neo_emulator_count");
  *(void **)&shared_memory = dlsym(driver, "neo_gpu_shared");
  *(void **)&wait_for_others = dlsym(driver, "neo_gpu_wait");
  counts = count();
  return setenv("NEO_CUDA_DRIVER", NEO_TEST_EMULATOR, 1);
}

static neo_rt_ctx *create(device_model *d, uint64_t seed) {
  neo_rt_ctx *c;
  neo_rt_config config = {.struct_size = sizeof config, .seed = seed};
  make_model(d);
  if (neo_rt_create(&d->model, &config, &c))
    fail_msg("%s", neo_rt_error(c));
  return c;
}

/* ---- the same bits */

static uint64_t trained_on_the_processor(void) {
  neo_rt_ctx *c = toy_create(1, 5);
  toy_train(c, 0, STEPS);
  uint64_t digest = toy_digest(c);
  neo_rt_destroy(c);
  return digest;
}

static void expect_same_training(const char *what) {
  device_model d;
  neo_rt_ctx *c = create(&d, 5);
  toy_train(c, 0, STEPS);
  if (toy_digest(c) != trained_on_the_processor())
    fail_msg("%s: other parameters than on the processor", what);
  neo_rt_destroy(c);
}

static void training_gives_the_processors_bits_whatever_the_driver_has(void **state) {
  static const char *const lacks[] = {"NEO_CUDA_GRAPHS",     "NEO_CUDA_EARLY",
                                      "NEO_EMULATOR_GRAPHS", "NEO_EMULATOR_EDGES",
                                      "NEO_EMULATOR_POOLS",  "NEO_EMULATOR_PINNED_KIB"};
  (void)state;
  expect_same_training("all");
  for (size_t k = 0; k < sizeof lacks / sizeof *lacks; k++) {
    setenv(lacks[k], "0", 1);
    expect_same_training(lacks[k]);
    unsetenv(lacks[k]);
  }
}

static void any_order_that_a_graph_allows_gives_the_same_bits(void **state) {
  (void)state;
  for (int seed = 1; seed <= 6; seed++) {
    char text[8] = {(char)('0' + seed), 0};
    setenv("NEO_EMULATOR_SEED", text, 1);
    expect_same_training("another order");
  }
  unsetenv("NEO_EMULATOR_SEED");
}

/* ---- graphs */

static void test_on(neo_rt_ctx *c, int64_t n, float *loss) {
  float x[64 * 4];
  int32_t y[64];
  toy_data(n, x, y);
  if (neo_rt_call(c, TEST, &n, (void *[]){x, y, NULL, loss}))
    fail_msg("%s", neo_rt_error(c));
}

static void an_entry_is_a_graph_from_its_second_call_on(void **state) {
  (void)state;
  device_model d;
  neo_rt_ctx *c = create(&d, 5);
  float first, loss;
  neo_emulator_counts before = *counts;
  test_on(c, 7, &first);
  assert_int_equal(counts->launches - before.launches, 3);
  assert_int_equal(counts->graphs, before.graphs);
  for (unsigned k = 1; k < 5; k++) {
    test_on(c, 7, &loss);
    assert_true(loss == first);
    assert_int_equal(counts->graphs - before.graphs, 1);
    assert_int_equal(counts->graph_launches - before.graph_launches, k);
    assert_int_equal(counts->launches - before.launches, 3);
  }
  neo_rt_destroy(c);
}

/* Edges of graphs made while two calls test. */
static unsigned early_edges(uint16_t flags, unsigned *graphs) {
  device_model d;
  neo_rt_ctx *c;
  neo_rt_config config = {.struct_size = sizeof config, .seed = 5};
  neo_emulator_counts before = *counts;
  float loss;
  make_model(&d);
  for (int32_t k = 0; k < toy_model.n_steps; k++)
    d.step[k].flags = (uint8_t)(toy_model.steps[k].flags |
                                (toy_model.steps[k].op == NEO_RT_STEP_RUN ? flags : 0));
  must(NULL, neo_rt_create(&d.model, &config, &c));
  for (int k = 0; k < 2; k++)
    test_on(c, 7, &loss);
  neo_rt_destroy(c);
  *graphs = counts->graphs - before.graphs;
  return counts->early - before.early;
}

static void kernels_that_wait_may_come_early_where_the_driver_can(void **state) {
  unsigned graphs;
  (void)state;
  assert_true(early_edges(NEO_RT_STEP_WAITS, &graphs) >= 2);
  assert_int_equal(early_edges(0, &graphs), 0);
  static const char *const off[] = {"NEO_CUDA_EARLY", "NEO_EMULATOR_EDGES"};
  for (int k = 0; k < 2; k++) {
    setenv(off[k], "0", 1);
    assert_int_equal(early_edges(NEO_RT_STEP_WAITS, &graphs), 0);
    assert_int_equal(graphs, 1);
    unsetenv(off[k]);
  }
}

static void sizes_have_graphs_of_their_own_and_come_back_to_them(void **state) {
  (void)state;
  device_model d;
  neo_rt_ctx *c = create(&d, 5);
  float want[8], loss;
  unsigned graphs = counts->graphs;
  for (int round = 0; round < 4; round++)
    for (int64_t n = 1; n <= 8; n++) {
      test_on(c, n, &loss);
      want[n - 1] = round ? want[n - 1] : loss;
      assert_true(loss == want[n - 1]);
    }
  assert_int_equal(counts->graphs - graphs, 8);
  for (int64_t n = 1; n <= 40; n++) /* none comes twice in a row of eight: nothing is built */
    test_on(c, n, &loss);
  assert_int_equal(counts->graphs - graphs, 8);
  neo_rt_destroy(c);
}

/* ---- tensors of the caller's */

static neo_dl_tensor tensor(void *p, int rank, int64_t *shape, neo_dl_type type, bool device) {
  return (neo_dl_tensor){.data = p,
                         .device = {device ? NEO_DL_CUDA : NEO_DL_CPU, 0},
                         .ndim = rank,
                         .dtype = type,
                         .shape = shape};
}

/* The same rows at several places of the device, and of the host, in turn; then at a parameter's,
 * whose step waits for more than the graph's node does. */
static void graphs_follow_the_callers_tensors(void **state) {
  (void)state;
  device_model d, other;
  neo_rt_ctx *c = create(&d, 5), *store = create(&other, 5);
  int64_t shape[] = {2, 4}, rows[] = {2}, n = 2, own[NEO_RTI_MAX_RANK];
  float x[8], loss, want;
  int32_t y[2];
  neo_dl_tensor view, dy = tensor(y, 1, rows, (neo_dl_type){NEO_DL_INT, 32, 1}, false);
  neo_dl_tensor dl = tensor(&loss, 0, NULL, (neo_dl_type){NEO_DL_FLOAT, 32, 1}, false);
  toy_data(n, x, y);
  must(c, neo_rt_call(c, TEST, &n, (void *[]){x, y, NULL, &want}));
  must(store, neo_rt_view(store, M, &view, own));
  must(c, neo_rt_bind(c, Y, &dy));
  must(c, neo_rt_bind(c, LOSS, &dl));
  float padded[40] = {0};
  memcpy(padded + 8, x, sizeof x);
  memcpy(padded + 24, x, sizeof x);
  must(store, neo_rt_set(store, M, padded, sizeof padded));
  unsigned graphs = counts->graphs, changes = counts->changes;
  float *places[] = {x, (float *)view.data + 8,  (float *)view.data + 24,
                     x, (float *)view.data + 24, (float *)view.data + 8};
  for (int k = 0; k < 6; k++) {
    neo_dl_tensor dx =
        tensor(places[k], 2, shape, (neo_dl_type){NEO_DL_FLOAT, 32, 1}, places[k] != x);
    must(c, neo_rt_bind(c, X, &dx));
    loss = 0;
    must(c, neo_rt_run(c, TEST));
    assert_true(loss == want);
  }
  assert_int_equal(counts->graphs - graphs, 1);
  assert_true(counts->changes > changes);
  must(c, neo_rt_set(c, M, padded, sizeof padded));
  must(c, neo_rt_view(c, M, &view, own));
  neo_dl_tensor dx =
      tensor((float *)view.data + 8, 2, shape, (neo_dl_type){NEO_DL_FLOAT, 32, 1}, true);
  must(c, neo_rt_bind(c, X, &dx));
  unsigned launches = counts->launches;
  must(c, neo_rt_run(c, TEST));
  assert_true(loss == want);
  assert_int_equal(counts->launches - launches, 3);
  neo_rt_destroy(c);
  neo_rt_destroy(store);
}

/* ---- copies */

/* More than the ring holds, in both directions. */
static void large_tensors_go_through_pinned_memory_in_pieces(void **state) {
  (void)state;
  device_model d;
  neo_rt_ctx *c = create(&d, 5);
  float *v = malloc(MOST_N * sizeof *v), *z = malloc(MOST_N * sizeof *z);
  for (int64_t n = MOST_N; n > 0; n /= 3)
    for (int round = 0; round < 3; round++) {
      for (int64_t i = 0; i < n; i++)
        v[i] = (float)(i * 7 + round);
      memset(z, 0, MOST_N * sizeof *z);
      must(c, neo_rt_call(c, COPY, &n, (void *[]){v, z}));
      assert_memory_equal(v, z, (size_t)n * sizeof *v);
    }
  free(v);
  free(z);
  neo_rt_destroy(c);
}

static void a_call_waits_for_the_device_once(void **state) {
  (void)state;
  device_model d;
  neo_rt_ctx *c = create(&d, 5);
  float loss;
  test_on(c, 7, &loss);
  neo_emulator_counts before = *counts;
  test_on(c, 7, &loss);
  assert_int_equal(counts->waits - before.waits, 1);
  assert_int_equal(counts->copies - before.copies, 3);
  neo_rt_destroy(c);
}

/* The emulator does nothing before somebody waits, and copies no memory that is used again. */
static void calls_that_give_nothing_may_be_left_in_the_stream(void **state) {
  (void)state;
  device_model d;
  neo_rt_ctx *c;
  neo_rt_config config = {.struct_size = sizeof config, .seed = 5, .flags = NEO_RT_ASYNC};
  make_model(&d);
  if (neo_rt_create(&d.model, &config, &c))
    fail_msg("%s", neo_rt_error(c));
  unsigned waits = counts->waits;
  for (int k = 0; k < STEPS; k++) {
    float x[7 * 4];
    int32_t y[7];
    int64_t n = 7;
    toy_data(n, x, y);
    must(c, neo_rt_call(c, STEP, &n, (void *[]){x, y, NULL, NULL}));
    memset(x, 0, sizeof x);
  }
  assert_int_equal(counts->waits, waits);
  must(c, neo_rt_wait(c));
  assert_int_equal(counts->waits, waits + 1);
  neo_rt_ctx *like = create(&d, 5);
  for (int k = 0; k < STEPS; k++) {
    float x[7 * 4], loss;
    int32_t y[7];
    int64_t n = 7;
    toy_data(n, x, y);
    must(like, neo_rt_call(like, STEP, &n, (void *[]){x, y, &loss, NULL}));
  }
  assert_true(toy_digest(c) == toy_digest(like));
  neo_rt_destroy(c);
  neo_rt_destroy(like);
}

/* ---- modules */

static void kernels_are_loaded_when_they_run_or_all_at_once(void **state) {
  (void)state;
  device_model d;
  unsigned before = counts->functions;
  neo_rt_ctx *c = create(&d, 5);
  assert_int_equal(counts->functions - before, 1); /* of the initial values */
  must(c, neo_rt_warm(c));
  assert_int_equal(counts->functions - before, toy_model.n_kernels);
  toy_train(c, 0, STEPS);
  assert_int_equal(counts->functions - before, toy_model.n_kernels);
  neo_rt_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_gives_the_processors_bits_whatever_the_driver_has),
      cmocka_unit_test(any_order_that_a_graph_allows_gives_the_same_bits),
      cmocka_unit_test(an_entry_is_a_graph_from_its_second_call_on),
      cmocka_unit_test(kernels_that_wait_may_come_early_where_the_driver_can),
      cmocka_unit_test(sizes_have_graphs_of_their_own_and_come_back_to_them),
      cmocka_unit_test(graphs_follow_the_callers_tensors),
      cmocka_unit_test(large_tensors_go_through_pinned_memory_in_pieces),
      cmocka_unit_test(calls_that_give_nothing_may_be_left_in_the_stream),
      cmocka_unit_test(kernels_are_loaded_when_they_run_or_all_at_once),
      cmocka_unit_test(a_call_waits_for_the_device_once),
  };
  return cmocka_run_group_tests(tests, open_emulator, NULL);
}
