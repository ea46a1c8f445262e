/* Contexts: creation and its failures, arenas, several at once. */
#include "runtime/context.h"
#include "runtime/model.h"
#include "runtime/processor.h"
#include "tests/fault.h"
#include "tests/runtime/toy.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_message(const neo_rt_model *model, const neo_rt_config *config,
                           neo_rt_status want, const char *message) {
  neo_rt_ctx *ctx = NULL;
  neo_rt_status got = neo_rt_create(model, config, &ctx);
  assert_non_null(ctx);
  assert_string_equal(neo_rt_error(ctx), message);
  assert_int_equal(got, want);
  assert_int_equal(neo_rt_call(ctx, FORWARD, NULL, NULL), NEO_STATE); /* nothing else works */
  assert_int_equal(neo_rt_reset(ctx, 1), NEO_STATE);
  assert_int_equal(neo_rt_save(ctx, "x", NULL, 0), NEO_STATE);
  assert_int_equal(neo_rt_run(ctx, FORWARD), NEO_STATE);
  assert_int_equal(neo_rt_get(ctx, W, NULL, 0), NEO_STATE);
  neo_rt_destroy(ctx);
}

static void a_library_of_another_abi_is_refused(void **state) {
  (void)state;
  neo_rt_model model = toy_model;
  char message[80];
  model.abi = 2;
  snprintf(message, sizeof message, "the model was generated for ABI 2, this libneort has ABI %d",
           NEO_RT_ABI);
  expect_message(&model, NULL, NEO_ABI, message);
  assert_int_equal(neo_rt_arena_size(&model, 1), -1);
}

static void a_library_of_another_header_is_refused(void **state) {
  (void)state;
  neo_rt_ctx *ctx;
  neo_rt_model model = toy_model;
  model.interface = UINT64_C(1) << 63 | 5;
  assert_int_equal(neo_rt_create_for(&model, model.interface, NULL, &ctx), NEO_OK);
  neo_rt_destroy(ctx);
  assert_int_equal(neo_rt_create_for(&model, 5, NULL, &ctx), NEO_HEADER);
  assert_non_null(strstr(neo_rt_error(ctx), "the header of toy "));
  assert_int_equal(neo_rt_reset(ctx, 1), NEO_STATE);
  neo_rt_destroy(ctx);
  assert_int_equal(neo_rt_create(&model, NULL, &ctx), NEO_OK); /* who has no header */
  neo_rt_destroy(ctx);
  assert_int_equal(neo_rt_create_for(NULL, 5, NULL, &ctx), NEO_NULL);
}

static void missing_cpu_features_are_listed(void **state) {
  (void)state;
  neo_rt_model model = toy_model;
  model.features = "+warp,-avx9,sse9000";
  expect_message(&model, NULL, NEO_UNSUPPORTED,
                 "toy was compiled for CPU features that this machine lacks: warp, sse9000");
#ifdef __x86_64__
  neo_rt_ctx *ctx;
  model.features = "+sse2,64bit,cmov";
  assert_int_equal(neo_rt_create(&model, NULL, &ctx), NEO_OK);
  neo_rt_destroy(ctx);
  const char *const names[] = {"avx2", "fma", "f16c", "avx512f", "avx512vl", "sse4.2"};
  const int have[] = {__builtin_cpu_supports("avx2"),     __builtin_cpu_supports("fma"),
                      __builtin_cpu_supports("avx"),      __builtin_cpu_supports("avx512f"),
                      __builtin_cpu_supports("avx512vl"), __builtin_cpu_supports("sse4.2")};
  for (int i = 0; i < 6; i++) {
    char missing[64];
    assert_int_equal(neo_rti_features_check(names[i], missing, sizeof missing), have[i] != 0);
  }
#endif
}

static void malformed_models_are_refused(void **state) {
  (void)state;
  char error[256];
  neo_rt_buf bufs[TOY_TENSORS + 2];
  neo_rt_model model = toy_model;
  memcpy(bufs, toy_model.bufs, sizeof bufs);
  model.bufs = bufs;
  assert_int_equal(neo_rti_model_check(&model, error, sizeof error), NEO_OK);
  bufs[LAST].size_bytes = 400;
  expect_message(&model, NULL, NEO_INTERNAL, "toy: buffer 9 is outside of its memory");
  bufs[LAST] = toy_model.bufs[LAST];
  bufs[W].size_bytes = 156;
  expect_message(&model, NULL, NEO_INTERNAL, "toy: the buffer of W is too small");
  bufs[W] = toy_model.bufs[W];
  bufs[W].shift = 4;
  expect_message(&model, NULL, NEO_INTERNAL, "toy: buffer 6 is outside of its memory");
  bufs[W] = toy_model.bufs[W];
  bufs[X].shift = 4;
  expect_message(&model, NULL, NEO_INTERNAL, "toy: the buffer of X is a part");
  bufs[X] = toy_model.bufs[X];
  neo_rt_entry entries[TOY_ENTRIES];
  memcpy(entries, toy_model.entries, sizeof entries);
  model.entries = entries;
  entries[FORWARD].args = toy_model.entries[COPY].args;
  expect_message(&model, NULL, NEO_INTERNAL,
                 "toy: entry forward uses L, which is not its argument");
}

static void bad_configurations_are_named(void **state) {
  (void)state;
  neo_rt_config config = {.struct_size = sizeof config, .device = "cuda"};
  expect_message(&toy_model, &config, NEO_UNSUPPORTED,
                 "device 'cuda' is not known; this library runs on 'cpu'");
  config = (neo_rt_config){.threads = -2};
  expect_message(&toy_model, &config, NEO_ARGUMENT, "threads: -2 is not in [0, 1024]");
  neo_rt_ctx *ctx;
  assert_int_equal(neo_rt_create(NULL, NULL, &ctx), NEO_NULL);
  assert_null(ctx);
  assert_int_equal(neo_rt_create(&toy_model, NULL, NULL), NEO_NULL);
  assert_string_equal(neo_rt_error(NULL), "");
  neo_rt_destroy(NULL);
}

static void an_older_shorter_configuration_is_understood(void **state) {
  (void)state;
  neo_rt_config config;
  memset(&config, 0xee, sizeof config);
  config.struct_size = offsetof(neo_rt_config, arena);
  config.device = "cpu";
  config.threads = 1;
  config.seed = 9;
  neo_rt_ctx *ctx;
  assert_int_equal(neo_rt_create(&toy_model, &config, &ctx), NEO_OK);
  neo_rt_destroy(ctx);
}

static void the_callers_arena_is_enough_at_its_stated_size_and_never_exceeded(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 3; threads++) {
    size_t n = (size_t)neo_rt_arena_size(&toy_model, threads);
    unsigned char *memory = aligned_alloc(64, (n + 191) / 64 * 64);
    memset(memory, 0xab, n + 64);
    neo_rt_config config = {.threads = threads, .seed = 3, .arena = memory, .arena_bytes = n};
    neo_rt_ctx *ctx, *other = toy_create(1, 3);
    assert_int_equal(neo_rt_create(&toy_model, &config, &ctx), NEO_OK);
    toy_train(ctx, 0, 20);
    toy_train(other, 0, 20);
    assert_int_equal(toy_digest(ctx), toy_digest(other));
    for (int i = 0; i < 64; i++)
      assert_int_equal(memory[n + (size_t)i], 0xab);
    neo_rt_destroy(ctx);
    neo_rt_destroy(other);
    free(memory);
  }
}

static void an_exhausted_arena_says_need_and_given(void **state) {
  (void)state;
  static _Alignas(64) unsigned char memory[64];
  neo_rt_config config = {.threads = 1, .arena = memory, .arena_bytes = sizeof memory};
  char message[128];
  snprintf(message, sizeof message, "toy needs an arena of %lld bytes (1 threads), given 64",
           (long long)neo_rt_arena_size(&toy_model, 1));
  expect_message(&toy_model, &config, NEO_MEMORY, message);
  config.arena = memory + 4;
  expect_message(&toy_model, &config, NEO_ARGUMENT, "the arena is not aligned to 64 bytes");
}

static void every_failed_allocation_gives_a_status(void **state) {
  (void)state;
  neo_rt_config config = {.threads = 2};
  for (int forever = 0; forever < 2; forever++)
    for (size_t n = 1;; n++) {
      neo_alloc_fault fault = {.fail_at = n, .forever = forever};
      neo_rti_env env = {neo_alloc_with_fault(&fault), neo_io_default};
      neo_rt_ctx *ctx;
      neo_rt_status status = neo_rti_create(&toy_model, &config, &env, &ctx);
      neo_rt_destroy(ctx);
      if (status == NEO_OK)
        break;
      assert_int_equal(status, NEO_MEMORY);
      assert_true(n < 10);
    }
}

static void the_same_seed_gives_the_same_parameters_and_reset_starts_again(void **state) {
  (void)state;
  neo_rt_ctx *a = toy_create(1, 11), *b = toy_create(2, 11), *c = toy_create(1, 12);
  uint64_t start = toy_digest(a);
  assert_int_equal(start, toy_digest(b));
  assert_true(start != toy_digest(c));
  toy_train(a, 0, 5);
  assert_true(start != toy_digest(a));
  assert_int_equal(neo_rt_reset(a, 11), NEO_OK);
  assert_int_equal(start, toy_digest(a));
  assert_int_equal(neo_rt_step_count(a), 0);
  neo_rt_destroy(a);
  neo_rt_destroy(b);
  neo_rt_destroy(c);
}

static void take_text(void *user, int level, const char *text) {
  snprintf(user, 256, "%d %s", level, text);
}

static void failures_are_logged(void **state) {
  (void)state;
  char text[256] = "";
  neo_rt_config config = {.threads = 1, .log = take_text, .log_user = text};
  neo_rt_ctx *ctx;
  assert_int_equal(neo_rt_create(&toy_model, &config, &ctx), NEO_OK);
  assert_true(strncmp(text, "2 toy: 1 threads, ", 18) == 0);
  neo_rt_call(ctx, 99, NULL, NULL);
  assert_string_equal(text, "0 toy has no entry 99");
  neo_rt_destroy(ctx);
}

static void the_public_codes_are_those_of_the_compiler(void **state) {
  (void)state;
  static const int32_t public[] = {
      NEO_RT_OK,      NEO_RT_E_ARGUMENT, NEO_RT_E_SHAPE,    NEO_RT_E_TYPE,        NEO_RT_E_NULL,
      NEO_RT_E_RANGE, NEO_RT_E_MEMORY,   NEO_RT_E_IO,       NEO_RT_E_FORMAT,      NEO_RT_E_ABI,
      NEO_RT_E_NAME,  NEO_RT_E_STATE,    NEO_RT_E_INTERNAL, NEO_RT_E_UNSUPPORTED, NEO_RT_E_HEADER};
  static const int32_t own[] = {NEO_OK,    NEO_ARGUMENT, NEO_SHAPE,    NEO_TYPE,        NEO_NULL,
                                NEO_RANGE, NEO_MEMORY,   NEO_IO,       NEO_FORMAT,      NEO_ABI,
                                NEO_NAME,  NEO_STATE,    NEO_INTERNAL, NEO_UNSUPPORTED, NEO_HEADER};
  assert_memory_equal(public, own, sizeof own);
  assert_string_equal(neo_rt_status_text(NEO_RT_E_SHAPE), "shape mismatch");
}

/* ------------------------------------------------------------ several at once */

typedef struct {
  const neo_rt_model *model;
  neo_rt_pool *pool;
  uint64_t digest;
  int errors;
} job;

static void *train(void *arg) {
  job *j = arg;
  neo_rt_config config = {.threads = 2, .seed = 5, .pool = j->pool};
  neo_rt_ctx *ctx;
  if (neo_rt_create(&toy_model, &config, &ctx)) {
    j->errors++;
    return NULL;
  }
  toy_train(ctx, 0, 60);
  j->digest = toy_digest(ctx);
  neo_rt_destroy(ctx);
  return NULL;
}

static void *run_twice(void *arg) {
  job *j = arg;
  neo_rt_config config = {.threads = 2, .pool = j->pool};
  neo_rt_ctx *ctx;
  enum { MOST = 1000 };
  float v[MOST], z[MOST];
  j->errors += neo_rt_create(&twice_model, &config, &ctx) != 0;
  for (int64_t n = 1; n < MOST; n += 9) {
    for (int64_t i = 0; i < n; i++)
      v[i] = (float)(i + n);
    void *args[] = {v, z};
    j->errors += neo_rt_call(ctx, 0, &n, args) != 0;
    for (int64_t i = 0; i < n; i++)
      j->errors += z[i] != (float)(2 * (i + n));
  }
  neo_rt_destroy(ctx);
  return NULL;
}

static void a_kernel_gets_a_part_of_the_callers_tensor(void **state) {
  (void)state;
  neo_rt_model model = twice_model;
  neo_rt_buf bufs[3] = {twice_model.bufs[0], twice_model.bufs[1], twice_model.bufs[0]};
  const int32_t args[] = {1, 2};
  bufs[2].shift = 3 * sizeof(float);
  model.bufs = bufs;
  model.n_bufs = 3;
  model.args = args;
  neo_rt_ctx *ctx;
  assert_int_equal(neo_rt_create(&model, NULL, &ctx), NEO_OK);
  float v[] = {1, 2, 3, 4, 5, 6, 7}, z[4];
  int64_t n = 4;
  assert_int_equal(neo_rt_call(ctx, 0, &n, (void *[]){v, z}), NEO_OK);
  for (int64_t i = 0; i < n; i++)
    assert_true(z[i] == 2 * v[i + 3]);
  neo_rt_destroy(ctx);
}

static void a_malformed_grid_of_steps_is_refused(void **state) {
  (void)state;
  neo_rt_model model = twice_model;
  const neo_rt_grid_part part[] = {{0, 0, 0}};
  neo_rt_grid grid = {.name = "g", .device_symbol = "g", .n_steps = 1, .block = 32};
  model.n_grids = 1;
  model.grids = &grid;
  model.grid_parts = part;
  expect_message(&model, NULL, NEO_INTERNAL, "twice: a grid of steps is malformed"); /* no GPU */
}

static void run_four(neo_rt_pool *pool, uint64_t want) {
  job jobs[4] = {{.pool = pool}, {.pool = pool}, {.pool = pool}, {.pool = pool}};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? train : run_twice, &jobs[i]), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++)
    assert_int_equal(jobs[i].errors, 0);
  assert_int_equal(jobs[0].digest, want);
  assert_int_equal(jobs[1].digest, want);
}

static void two_models_and_two_contexts_of_one_run_from_four_threads(void **state) {
  (void)state;
  neo_rt_ctx *alone = toy_create(1, 5);
  toy_train(alone, 0, 60);
  uint64_t want = toy_digest(alone);
  neo_rt_destroy(alone);
  run_four(NULL, want);
  neo_rt_pool *pool;
  assert_int_equal(neo_rt_pool_create(3, &pool), NEO_OK);
  run_four(pool, want);
  neo_rt_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_library_of_another_abi_is_refused),
      cmocka_unit_test(a_library_of_another_header_is_refused),
      cmocka_unit_test(a_kernel_gets_a_part_of_the_callers_tensor),
      cmocka_unit_test(a_malformed_grid_of_steps_is_refused),
      cmocka_unit_test(missing_cpu_features_are_listed),
      cmocka_unit_test(malformed_models_are_refused),
      cmocka_unit_test(bad_configurations_are_named),
      cmocka_unit_test(an_older_shorter_configuration_is_understood),
      cmocka_unit_test(the_callers_arena_is_enough_at_its_stated_size_and_never_exceeded),
      cmocka_unit_test(an_exhausted_arena_says_need_and_given),
      cmocka_unit_test(every_failed_allocation_gives_a_status),
      cmocka_unit_test(the_same_seed_gives_the_same_parameters_and_reset_starts_again),
      cmocka_unit_test(failures_are_logged),
      cmocka_unit_test(the_public_codes_are_those_of_the_compiler),
      cmocka_unit_test(two_models_and_two_contexts_of_one_run_from_four_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
