/* Roles in the loop IR: what they mean, which rules they keep, and that the interpreter finds a
 * producer and consumers that wait for each other, or do not. */
#include "base/random.h"
#include "codegen/guard.h"
#include "codegen/lower/lower.h"
#include "fusion/search/search.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include "tile_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#define BOX "tma_copy b[0] = x[0 of 70 by 1 box 64, 0 of n by 72 box 8] on full[0]\n"
#define STORES "  for s in 0..128 thread\n    z[s] = b[s]\n"
#define STORES_IN "    for s in 0..128 thread\n      z[s] = b[s]\n"
#define ROLES "producer registers 0, 0\n"
#define GOOD_PRODUCER "  expect_tx 1024 on full[0]\n  " BOX

static neo_kernel *parse_of(loop_fix *f, const char *units, const char *body) {
  const char *text =
      neo_arena_printf(&f->arena,
                       "neo-loop 2\nkernel k(x: bf16 read align 16, z: bf16 write, "
                       "b: bf16 scratch 512 align 1024, full: i64 scratch 2, empty: i64 scratch 2) "
                       "sizes n units %s\n%s",
                       units, body);
  return loop_parse(f, text);
}

static neo_kernel *parse(loop_fix *f, const char *body) {
  return parse_of(f, "1", body);
}

static void roles_print_as_they_were_written(void **state) {
  static const char text[] =
      "neo-loop 2\n"
      "kernel k(x: bf16 read, z: bf16 write, b: bf16 scratch 512 align 1024, full: i64 scratch 2, "
      "empty: i64 scratch 2) sizes n units n\n"
      "for u in 0..n unit\n"
      "  producer registers 40, 232\n"
      "    for k in 0..3\n"
      "      if 1 <= k\n"
      "        mbarrier_wait empty[0] parity (k - 1)%2\n"
      "      expect_tx 1024 on full[0]\n"
      "      tma_copy b[0] = x[k*64 of 70 by 1 box 64, u of n by 72 box 8] on full[0]\n"
      "  consumers\n"
      "    for k_1 in 0..3\n"
      "      mbarrier_wait full[0] parity k_1%2\n"
      "      for t in 0..128 thread\n"
      "        z[t] = b[t]\n"
      "      mbarrier_arrive empty[0]\n";
  loop_fix *f = *state;
  assert_string_equal(loop_text(f, loop_kernel(f, text)), text);
}

static void persistent_roles_print_as_they_were_written(void **state) {
  static const char text[] =
      "neo-loop 2\n"
      "kernel k(x: bf16 read, z: bf16 write, b: bf16 scratch 512 align 1024, full: i64 scratch 2, "
      "empty: i64 scratch 2) sizes n units n persistent 2\n"
      "producer registers 0, 0\n"
      "  reg parity[]: i64\n"
      "  parity[] = 0\n"
      "  for u in 0..n unit\n"
      "    mbarrier_wait empty[0] parity parity[]\n"
      "    expect_tx 1024 on full[0]\n"
      "    tma_copy b[0] = x[0 of 70 by 1 box 64, u of n by 72 box 8] on full[0]\n"
      "    parity[] = 1 - parity[]\n"
      "consumers\n"
      "  mbarrier_arrive empty[0]\n"
      "  for u_1 in 0..n unit\n"
      "    mbarrier_wait full[0] parity u_1%2\n"
      "    for t in 0..128 thread\n"
      "      z[t] = b[t]\n"
      "    mbarrier_arrive empty[0]\n";
  loop_fix *f = *state;
  assert_string_equal(loop_text(f, loop_kernel(f, text)), text);
}

/* Roles count stages from tile to tile: what says at which one they are is there under any
 * condition. */
static void a_condition_is_asked_for_each_tile_of_a_role(void **state) {
  static const char text[] =
      "neo-loop 2\n"
      "kernel k(x: bf16 read, z: bf16 write, b: bf16 scratch 512 align 1024, full: i64 scratch 2, "
      "empty: i64 scratch 2) sizes n units n persistent 2\n"
      "producer registers 0, 0\n"
      "  reg parity[]: i64\n"
      "  parity[] = 0\n"
      "  for u in 0..n unit\n"
      "%s    mbarrier_wait empty[0] parity parity[]\n"
      "%s    expect_tx 1024 on full[0]\n"
      "%s    tma_copy b[0] = x[0 of 70 by 1 box 64, u of n by 72 box 8] on full[0]\n"
      "%s    parity[] = 1 - parity[]\n"
      "consumers\n"
      "  mbarrier_arrive empty[0]\n"
      "  for u_1 in 0..n unit\n"
      "%s    mbarrier_wait full[0] parity u_1%%2\n"
      "%s    for t in 0..128 thread\n"
      "%s      z[t] = b[t]\n"
      "%s    mbarrier_arrive empty[0]\n";
  loop_fix *f = *state;
  neo_arena *a = &f->arena;
  const char *asks = "    if 8 < n\n  ", *in = "  ";
  neo_kernel *k = loop_kernel(f, neo_arena_printf(a, text, "", "", "", "", "", "", "", ""));
  neo_kernel_put_under(k, neo_lx_op2(k, NEO_OP_LT, neo_lx_int(k, 8), neo_lx_size(k, 0)));
  assert_string_equal(loop_text(f, k),
                      neo_arena_printf(a, text, asks, in, in, in, asks, in, in, in));
}

static void each_broken_rule_is_found(void **state) {
  static const char *const cases[][2] = {
      {"for s in 0..128 thread\n  z[s] = 0.0:bf16\n" ROLES
       "  expect_tx 1024 on full[0]\nconsumers\n"
       "  mbarrier_wait full[0] parity 0\n",
       "all that a unit does"},
      {ROLES GOOD_PRODUCER "consumers\n  for s in 0..64 thread\n    z[s] = b[s]\n",
       "no warpgroups of a block"},
      {ROLES GOOD_PRODUCER "consumers\n  for s in 0..1024 thread\n    z[s] = b[s]\n",
       "no warpgroups of a block"},
      {"producer registers 20, 232\n" GOOD_PRODUCER "consumers\n" STORES, "20 and 232 registers"},
      {"producer registers 40, 260\n" GOOD_PRODUCER "consumers\n" STORES, "40 and 260 registers"},
      {"producer registers 0, 232\n" GOOD_PRODUCER "consumers\n" STORES, "0 and 232 registers"},
      {ROLES STORES "consumers\n" STORES, "what only consumers do"},
      {ROLES "  reg r[1]: f32 threads 128\nconsumers\n" STORES, "register r of threads"},
      {ROLES "  reg r[1]: bf16\n  r[0] = x[0]\nconsumers\n" STORES, "the producer reads x"},
      {ROLES "  mbarrier_arrive empty[0]\nconsumers\n" STORES, "what only consumers do"},
      {ROLES GOOD_PRODUCER "consumers\n  " BOX STORES, "consumers ask for boxes"},
      {ROLES GOOD_PRODUCER "consumers\n  expect_tx 1024 on full[0]\n" STORES,
       "consumers begin phases"},
      {ROLES GOOD_PRODUCER "  mbarrier_wait full[0] parity 0\nconsumers\n" STORES,
       "who waits for full"},
      {ROLES GOOD_PRODUCER
       "consumers\n  mbarrier_arrive empty[0]\n  mbarrier_wait empty[0] parity 0\n" STORES,
       "who waits for empty"},
      {ROLES GOOD_PRODUCER "consumers\n  mbarrier_arrive full[0]\n" STORES, "are arrived at"},
      {"mbarrier_arrive empty[0]\nfor s in 0..128 thread\n  z[s] = 0.0:bf16\n",
       "nobody but consumers"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_str why;
    neo_str_init(&why, &((loop_fix *)*state)->arena);
    assert_int_equal(neo_kernel_verify(parse(*state, cases[n][0]), &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][1]))
      fail_msg("%zu: '%s' is not '%s'", n, neo_str_text(&why), cases[n][1]);
  }
}

static void each_broken_rule_of_persistent_kernels_is_found(void **state) {
  static const char *const cases[][3] = {
      {"0", ROLES "  for u in 0..n unit\n    expect_tx 1024 on full[0]\nconsumers\n" STORES,
       "ends a persistent role"},
      {"1", "for u in 0..n unit\n  for s in 0..128 thread\n    z[s] = b[s]\n",
       "is a producer and consumers"},
      {"1", ROLES GOOD_PRODUCER "consumers\n" STORES, "is a producer and consumers"},
      {"1",
       ROLES "  for u in 0..n unit\n    expect_tx 1024 on full[0]\nconsumers\n" STORES
             "  for v in 0..n unit\n    mbarrier_wait full[0] parity 0\n",
       "is a producer and consumers"},
      {"1",
       ROLES
       "  for u in 0..n unit\n    expect_tx 1024 on full[0]\nconsumers\n"
       "  for v in 0..n unit\n    for w in 0..n unit\n      mbarrier_wait full[0] parity 0\n" STORES_IN,
       "ends a persistent role"},
      {"1",
       ROLES "  for u in 0..3 unit\n    expect_tx 1024 on full[0]\nconsumers\n"
             "  for v in 0..n unit\n" STORES_IN,
       "to the kernel's units"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    loop_fix *f = *state;
    neo_str why;
    neo_str_init(&why, &f->arena);
    neo_kernel *k =
        parse_of(f, neo_arena_printf(&f->arena, "n persistent %s", cases[n][0]), cases[n][1]);
    assert_int_equal(neo_kernel_verify(k, &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][2]))
      fail_msg("%zu: '%s' is not '%s'", n, neo_str_text(&why), cases[n][2]);
  }
}

/* ---- tiles */

enum { TALL = 72, STEPS = 584, WIDE = 136, SEEDS = 12 };

/* Rows are transposed, columns are not; of two batches. */
static neo_kernel *tile_of(loop_fix *f, int stages, int persistent) {
  static const char text[] = "input x : bf16 [2, 584, 72]\n"
                             "input w : bf16 [2, 136, 584]\ntemp z : f32 [2, 72, 136]\n"
                             "def z[n: 2, b: 72, j: 136] =\n"
                             "  sum[i: 584] f32(x[n, i, b]) * f32(w[n, j, i])\n"
                             "  then acc0\nentry forward forward: z = z\n";
  return tile_lower(
      f, text,
      neo_arena_printf(
          &f->arena,
          "gpu_tile row_axes=2 column_axes=4 stages=%d tma=1 producer=1 persistent=%d "
          "block_m=64 block_n=32 block_k=64 tile_m=64 tile_n=16 products=2 threads=256",
          stages, persistent));
}

static neo_kernel *tile_by_producer(loop_fix *f, int stages) {
  return tile_of(f, stages, 0);
}

static const char *result(loop_fix *f, const neo_kernel *k, uint64_t seed) {
  static const int64_t elements[] = {2 * TALL * STEPS, 2 * STEPS * WIDE, 2 * TALL * WIDE};
  neo_value **buf;
  const char *said = tile_run(f, k, elements, 2, seed, &buf);
  if (*said)
    return said;
  for (int64_t row = 0; row < 64; row++)
    for (int64_t column = 0; column < 64; column++) {
      double sum = 0;
      for (int64_t s = 0; s < STEPS; s++)
        sum += buf[0][s * TALL + row].f * buf[1][column * STEPS + s].f;
      if (buf[2][row * WIDE + column].f != sum)
        return "wrong";
    }
  return "";
}

/* In some order of a producer's deeds among the consumers'. */
static void expect_said(loop_fix *f, const neo_kernel *k, const char *text) {
  for (uint64_t seed = 0; seed < SEEDS; seed++)
    if (strstr(result(f, k, seed), text))
      return;
  fail_msg("'%s' is not '%s'", result(f, k, SEEDS), text);
}

static void tiles_are_right_however_far_the_producer_is_ahead(void **state) {
  loop_fix *f = *state;
  for (int stages = 3; stages <= 5; stages++) {
    neo_kernel *k = tile_by_producer(f, stages);
    for (uint64_t seed = 0; seed < SEEDS / 3; seed++)
      assert_string_equal(result(f, k, seed), "");
  }
}

static void a_broken_protocol_is_found(void **state) {
  loop_fix *f = *state;
  for (int stages = 3; stages <= 4; stages++) {
    neo_kernel *k = tile_by_producer(f, stages);
    neo_ls *empty = tile_find(k, NEO_LS_MBARRIER_WAIT, 0),
           *full = tile_find(k, NEO_LS_MBARRIER_WAIT, 1);
    neo_ls *arrive = tile_find(k, NEO_LS_MBARRIER_ARRIVE, 0),
           *await = tile_find(k, NEO_LS_WGMMA_WAIT, 0);
    neo_ls *expect = tile_find(k, NEO_LS_EXPECT_TX, 0);
    neo_ls was = *full;
    full->mbarrier_wait.parity = neo_lx_int(k, 0);
    expect_said(f, k, "other parity of full");
    *full = was, was = *empty;
    empty->mbarrier_wait.parity = neo_lx_int(k, 0);
    expect_said(f, k, "other parity of empty");
    *empty = was, was = *arrive;
    arrive->mbarrier_arrive.mbarrier.offset =
        neo_lx_int(k, 0); /* one stage is free again and again, others never */
    expect_said(f, k, "arrival before the last phase was waited for of empty");
    *arrive = was;
    expect->expect_tx.bytes += 1024;
    expect_said(f, k, "deadlock: consumers wait of full");
    expect->expect_tx.bytes -= 1024 + 4096; /* what the first of its boxes has */
    expect_said(f, k, "box of no phase");
    expect->expect_tx.bytes += 4096;
    await->wgmma_wait.pending = 2;
    expect_said(f, k, "store before the end of a product");
    await->wgmma_wait.pending = 1;
    neo_ls *later = tile_find(k, NEO_LS_IF, 1); /* around the arrival */
    neo_block arm = later->branch.then;
    later->branch.then = (neo_block){0};
    assert_non_null(strstr(result(f, k, 1), "who waits for empty"));
    later->branch.then = arm;
    const neo_lx *cond = later->branch.cond;
    later->branch.cond = neo_lx_const(k, NEO_BOOL_T, (neo_value){.i = 0});
    expect_said(f, k, "deadlock: consumers wait of full");
    later->branch.cond = cond;
    neo_ls *first = tile_find(k, NEO_LS_IF, 0); /* around the wait for a free stage */
    first->branch.cond = neo_lx_const(k, NEO_BOOL_T, (neo_value){.i = 0});
    expect_said(f, k, "phase before the last one was waited for of full");
  }
}

/* ---- persistent blocks */

static int64_t units_of(const neo_kernel *k) {
  return neo_kernel_units(k, NULL);
}

/* All elements. */
static const char *whole_result(loop_fix *f, const neo_kernel *k, int64_t blocks, uint64_t seed) {
  static const int64_t elements[] = {2 * TALL * STEPS, 2 * STEPS * WIDE, 2 * TALL * WIDE};
  neo_value **buf;
  const char *said = tile_run_blocks(f, k, elements, units_of(k), blocks, seed, &buf);
  for (int64_t e = 0; e < 2 * TALL * WIDE && !*said; e++) {
    int64_t n = e / (TALL * WIDE), row = e / WIDE % TALL, column = e % WIDE;
    double sum = 0;
    for (int64_t s = 0; s < STEPS; s++)
      sum += buf[0][(n * STEPS + s) * TALL + row].f * buf[1][(n * WIDE + column) * STEPS + s].f;
    if (buf[2][e].f != sum)
      return "wrong";
  }
  return said;
}

static void persistent_blocks_of_any_number_make_all_tiles(void **state) {
  loop_fix *f = *state;
  for (int stages = 3; stages <= 4; stages++) {
    neo_kernel *k = tile_of(f, stages, 1);
    const int64_t blocks[] = {1, 3, units_of(k) + 2};
    assert_int_equal(units_of(k), 2 * 2 * 5);
    assert_int_equal(k->persistent, 2);
    for (uint64_t seed = 0; seed < 3; seed++)
      assert_string_equal(whole_result(f, k, blocks[seed], seed), "");
  }
}

/* The statement of an arm that is of the block: `before` its units. */
static neo_ls *before_units(neo_block *arm, neo_ls_kind kind) {
  for (size_t i = 0; i + 1 < arm->n; i++)
    if (arm->at[i]->kind == kind)
      return arm->at[i];
  return NULL;
}

static void expect_persistent_says(loop_fix *f, neo_kernel *k, const char *text) {
  const char *said = "";
  for (uint64_t seed = 0; seed < SEEDS / 3; seed++) {
    said = whole_result(f, k, 3, seed);
    if (strstr(said, text))
      return;
  }
  fail_msg("'%s' is not '%s'", said, text);
}

/* A protocol that would be right if each tile began anew. */
static void a_broken_protocol_between_tiles_is_found(void **state) {
  loop_fix *f = *state;
  for (int stages = 3; stages <= 4; stages++) {
    neo_kernel *k = tile_of(f, stages, 1);
    neo_ls *roles = k->body.at[0];
    neo_block *consumers = &roles->specialize.arm[NEO_CONSUMER];
    neo_block *tile = &consumers->at[consumers->n - 1]->loop.body;
    neo_ls *arrive = before_units(consumers, NEO_LS_MBARRIER_ARRIVE), was = *arrive;
    arrive->mbarrier_arrive.mbarrier.offset = neo_lx_int(k, 1);
    expect_persistent_says(f, k, "arrival before the last phase was waited for of empty");
    *arrive = was;
    neo_ls *last = NULL; /* behind the loop over steps */
    for (size_t i = 0; i < tile->n; i++)
      last = tile->at[i]->kind == NEO_LS_MBARRIER_ARRIVE ? tile->at[i] : last;
    assert_non_null(last);
    was = *last;
    last->kind = NEO_LS_WGMMA_WAIT;
    last->wgmma_wait = tile_find(k, NEO_LS_WGMMA_WAIT, 0)->wgmma_wait;
    last->wgmma_wait.pending = 0;
    expect_persistent_says(f, k, "deadlock: consumers wait of full");
    *last = was;
    for (int arm = 0; arm < 2; arm++) { /* stages or turns from the first on again */
      neo_block *of = &roles->specialize.arm[arm];
      neo_ls *unit = of->at[of->n - 1], *set = before_units(of, NEO_LS_SET), *first;
      neo_block body = unit->loop.body;
      unit->loop.body = (neo_block){0};
      NEO_PUSH(&f->arena, &unit->loop.body, set);
      for (size_t i = 0; i < body.n; i++)
        NEO_PUSH(&f->arena, &unit->loop.body, body.at[i]);
      first = unit->loop.body.at[0];
      assert_int_equal(first->kind, NEO_LS_SET);
      expect_persistent_says(f, k, arm ? "of full" : "of empty");
      unit->loop.body = body;
    }
    assert_string_equal(whole_result(f, k, 3, 1), "");
  }
}

/* ---- random ones */

static int64_t pick(uint64_t *seed, const int64_t *of, int64_t n) {
  return of[neo_splitmix(seed) % (uint64_t)n];
}

typedef struct {
  int64_t rows, columns, steps, block_m, block_n, tile_n, stages, persistent, blocks;
} picked;

static picked pick_product(uint64_t seed) {
  static const int64_t rows[] = {72, 130, 520, 1030}, columns[] = {40, 72, 136, 300};
  static const int64_t steps[] = {64, 136, 264}, stages[] = {3, 4, 5}, is[] = {0, 1, 1, 1};
  static const int64_t shape[][3] = {{64, 32, 16}, {128, 32, 32}, {64, 128, 64}};
  static const int64_t blocks[] = {1, 2, 3, 5, 8};
  const int64_t *tile = shape[neo_splitmix(&seed) % 3];
  picked x = {.block_m = tile[0], .block_n = tile[1], .tile_n = tile[2]};
  x.rows = pick(&seed, rows, 4);
  x.columns = pick(&seed, columns, 4);
  x.steps = pick(&seed, steps, 3);
  x.stages = pick(&seed, stages, 3);
  x.persistent = pick(&seed, is, 4);
  x.blocks = pick(&seed, blocks, 5);
  return x;
}

static void check_picked(loop_fix *f, const picked *x, uint64_t seed) {
  long long rows = x->rows, columns = x->columns, steps = x->steps;
  const int64_t elements[] = {rows * steps, columns * steps, rows * columns};
  const char *text = neo_arena_printf(
      &f->arena,
      "input x : bf16 [%lld, %lld]\ninput w : bf16 [%lld, %lld]\ntemp z : f32 [%lld, %lld]\n"
      "def z[b: %lld, j: %lld] =\n  sum[i: %lld] f32(x[b, i]) * f32(w[j, i])\n  then acc0\n"
      "entry forward forward: z = z\n",
      rows, steps, columns, steps, rows, columns, rows, columns, steps);
  const char *schedule = neo_arena_printf(
      &f->arena,
      "gpu_tile row_axes=1 column_axes=2 stages=%lld tma=1 producer=1 persistent=%lld block_m=%lld "
      "block_n=%lld block_k=64 tile_m=64 tile_n=%lld products=2 threads=%lld",
      (long long)x->stages, (long long)x->persistent, (long long)x->block_m, (long long)x->block_n,
      (long long)x->tile_n, (long long)(x->block_m / 64 * (x->block_n / x->tile_n) * 128));
  neo_value **buf;
  neo_kernel *k = tile_lower(f, text, schedule);
  int64_t blocks = x->persistent ? x->blocks : 1;
  const char *said = tile_run_blocks(f, k, elements, units_of(k), blocks, seed, &buf);
  for (int64_t e = 0; e < rows * columns && !*said; e++) {
    double sum = 0;
    for (int64_t i = 0; i < steps; i++)
      sum += buf[0][e / columns * steps + i].f * buf[1][e % columns * steps + i].f;
    if (buf[2][e].f != sum)
      said = "wrong";
  }
  if (*said)
    fail_msg("seed %llu: %lld by %lld by %lld, %s, %lld blocks: %s", (unsigned long long)seed, rows,
             columns, steps, schedule, (long long)blocks, said);
}

static void random_products_are_right_with_blocks_of_any_number(void **state) {
  enum { CASES = 8 };
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    picked x = pick_product(seed * 7919);
    check_picked(*state, &x, seed % 3);
  }
}

/* ---- what is no schedule */

/* reason: "": it is legal. */
static void expect_refused(loop_fix *f, int64_t rows, const char *schedule, const char *reason) {
  const char *text = neo_arena_printf(
      &f->arena,
      "input x : bf16 [%lld, 264]\ninput w : bf16 [64, 264]\ntemp z : f32 [%lld, 64]\n"
      "def z[b: %lld, j: 64] =\n  sum[i: 264] f32(x[b, i]) * f32(w[j, i])\n  then acc0\n"
      "entry forward forward: z = z\n",
      (long long)rows, (long long)rows, (long long)rows);
  const char *said = tile_refused(
      f, text,
      neo_arena_printf(&f->arena,
                       "gpu_tile row_axes=1 column_axes=2 block_n=64 block_k=64 tile_n=64 %s",
                       schedule));
  if (*reason ? !strstr(said, reason) : *said)
    fail_msg("%s: '%s' is not '%s'", schedule, said, reason);
}

static void persistent_blocks_have_a_producer_and_several_tiles(void **state) {
#define GROUPS "block_m=64 tile_m=64 threads=128 products=2 "
  expect_refused(*state, 128, GROUPS "stages=3 tma=1 persistent=1", "need a producer");
  expect_refused(*state, 128, GROUPS "stages=3 persistent=1", "need a producer");
  expect_refused(*state, 128, GROUPS "persistent=1", "need a producer");
  expect_refused(*state, 64, GROUPS "stages=3 tma=1 producer=1 persistent=1", "more than one tile");
  expect_refused(*state, 128, GROUPS "stages=3 tma=1 producer=1 persistent=2", "is 0 or 1");
  expect_refused(*state, 128, GROUPS "stages=3 tma=1 producer=1 persistent=1", "");
#undef GROUPS
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(roles_print_as_they_were_written),
      TEST(a_condition_is_asked_for_each_tile_of_a_role),
      TEST(each_broken_rule_is_found),
      TEST(tiles_are_right_however_far_the_producer_is_ahead),
      TEST(a_broken_protocol_is_found),
      TEST(persistent_roles_print_as_they_were_written),
      TEST(each_broken_rule_of_persistent_kernels_is_found),
      TEST(persistent_blocks_of_any_number_make_all_tiles),
      TEST(a_broken_protocol_between_tiles_is_found),
      TEST(random_products_are_right_with_blocks_of_any_number),
      TEST(persistent_blocks_have_a_producer_and_several_tiles),
  };
  return cmocka_run_group_tests_name("producer", tests, NULL, NULL);
}
