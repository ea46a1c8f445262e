/* The protocols of copies, phases and products on loop IR: what lowering makes keeps them, and each
 * that is broken by one change is told with its reason. */
#include "codegen/loop/protocol.h"
#include "tile_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#define HEAD                                                                                    \
  "neo-loop 2\nkernel k(x: bf16 read align 16, z: f32 write, b: bf16 scratch 8192 align 1024, " \
  "c: bf16 scratch 8192 align 1024, full: i64 scratch 2, empty: i64 scratch 2) sizes n units 1\n"
#define EXPECT "    expect_tx 12288 on full[stage[]]\n"
#define BOX_B \
  "    tma_copy b[stage[]*4096] = x[k*64 of 640 by 1 box 64, 0 of n by 640 box 64] on full[stage[]]\n"
#define BOX_C \
  "    tma_copy c[stage[]*4096] = x[k*64 of 640 by 1 box 64, 0 of n by 640 box 32] on full[stage[]]\n"
#define PARITY(s, t) "    " t "[] = select(" s "[] == 1, 1 - " t "[], " t "[])\n"
#define STAGE(s) "    " s "[] = select(" s "[] == 1, 0, " s "[] + 1)\n"
#define PRODUCER                                                                         \
  "producer registers 40, 232\n  reg stage[]: i64\n  reg parity[]: i64\n  stage[] = 0\n" \
  "  parity[] = 0\n  for k in 0..10\n    if 2 <= k\n      mbarrier_wait empty[stage[]] parity 1 - parity[]\n"
#define CONSUMERS                                                                                 \
  "consumers\n  reg acc[1, 16]: f32 threads 128\n  reg at[]: i64\n  reg now[]: i64\n  at[] = 0\n" \
  "  now[] = 0\n  for t in 0..128 thread\n    for i in 0..16 unroll\n      acc[0, i] = 0.0\n"     \
  "  for m in 0..10\n"
#define REACH "    mbarrier_wait full[at[]] parity now[]\n"
#define MULTIPLY "    wgmma bf16 acc, b[at[]*4096], c[at[]*4096] across 1\n"
#define AWAIT "    wgmma_wait 0, acc\n"
#define ARRIVE "    mbarrier_arrive empty[at[]]\n"
#define STORES \
  "  for v in 0..128 thread\n    for j in 0..16 unroll\n      z[v*16 + j] = acc[0, j]\n"
#define GOOD_PRODUCER PRODUCER EXPECT BOX_B BOX_C PARITY("stage", "parity") STAGE("stage")
#define ENDS PARITY("at", "now") STAGE("at")
#define GOOD_CONSUMERS CONSUMERS REACH MULTIPLY AWAIT ARRIVE ENDS STORES

static const char *said_of(loop_fix *f, const char *body) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_kernel *k = loop_parse(f, neo_arena_printf(&f->arena, HEAD "%s", body));
  if (neo_kernel_verify(k, &why))
    fail_msg("%s", neo_str_text(&why));
  return neo_kernel_check_protocol(k, &why) ? neo_str_text(&why) : "";
}

static void a_producer_and_consumers_that_agree_are_clean(void **state) {
  assert_string_equal(said_of(*state, GOOD_PRODUCER GOOD_CONSUMERS), "");
}

static void each_broken_protocol_is_told(void **state) {
  static const char *const cases[][2] = {
      {PRODUCER "    expect_tx 8192 on full[stage[]]\n" BOX_B BOX_C PARITY("stage", "parity")
           STAGE("stage") GOOD_CONSUMERS,
       "kernel k: 8192 bytes are announced on full, and the boxes that follow bring 12288"},
      {PRODUCER EXPECT BOX_B PARITY("stage", "parity") STAGE("stage") GOOD_CONSUMERS, "bring 8192"},
      {PRODUCER BOX_B EXPECT BOX_C PARITY("stage", "parity") STAGE("stage") GOOD_CONSUMERS,
       "nothing before it in its block is announced on full"},
      {PRODUCER EXPECT BOX_B BOX_C STAGE("stage") GOOD_CONSUMERS, "its parity stays"},
      {PRODUCER EXPECT BOX_B BOX_C STAGE("stage") PARITY("stage", "parity") GOOD_CONSUMERS,
       "comes parity"},
      {PRODUCER EXPECT BOX_B BOX_C PARITY("stage",
                                          "parity") "    stage[] = stage[] + 1\n" GOOD_CONSUMERS,
       "after stage 1 of 2 of empty comes 2"},
      {GOOD_PRODUCER CONSUMERS
       "    mbarrier_wait full[at[]] parity 1 - now[]\n" MULTIPLY AWAIT ARRIVE ENDS STORES,
       "parity 1 of full is waited for in parity 0"},
      {GOOD_PRODUCER CONSUMERS MULTIPLY AWAIT ARRIVE ENDS STORES,
       "no mbarrier of full was waited for"},
      {GOOD_PRODUCER CONSUMERS REACH
       "    wgmma bf16 acc, b[at[]*4096], c[(1 - now[])*4096] across 1\n" AWAIT ARRIVE ENDS STORES,
       "a product reads c"},
      {GOOD_PRODUCER CONSUMERS REACH MULTIPLY AWAIT ENDS "  mbarrier_arrive empty[0]\n" STORES,
       "the producer waits for ever"},
      {GOOD_PRODUCER CONSUMERS REACH MULTIPLY ARRIVE AWAIT ENDS STORES,
       "arrive at empty before they have waited for"},
      {GOOD_PRODUCER CONSUMERS REACH MULTIPLY "    wgmma_wait 1, acc\n" ARRIVE ENDS STORES,
       "register acc is read before its products have ended"},
      {GOOD_PRODUCER CONSUMERS REACH MULTIPLY "    wgmma_wait 1, acc\n" ARRIVE ENDS,
       "products are under way at the end"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    const char *said = said_of(*state, cases[n][0]);
    if (!strstr(said, cases[n][1]))
      fail_msg("%zu: '%s' is not '%s'", n, said, cases[n][1]);
  }
}

#define COPY "for t in 0..128 thread\n  copy 8 b[t*8] = x[t*8]\n"
#define READ "for u in 0..128 thread\n  z[u] = f32(b[u])\n"

static void copies_are_in_groups_that_are_awaited(void **state) {
  assert_string_equal(said_of(*state, COPY "copy_commit\ncopy_wait 0\n" READ), "");
  assert_non_null(strstr(said_of(*state, COPY "copy_wait 0\n" READ), "before the group of copies"));
  assert_non_null(
      strstr(said_of(*state, COPY "copy_commit\ncopy_wait 1\n" READ), "copies are under way"));
  assert_non_null(strstr(said_of(*state, COPY "copy_commit\n" READ), "copies are under way"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_producer_and_consumers_that_agree_are_clean),
      TEST(each_broken_protocol_is_told),
      TEST(copies_are_in_groups_that_are_awaited),
  };
  return cmocka_run_group_tests_name("loop_protocol", tests, NULL, NULL);
}
