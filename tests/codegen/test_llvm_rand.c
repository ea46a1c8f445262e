/* Random numbers of compiled kernels: the same as neo_rand_uniform, for every width and level. */
#include "base/random.h"
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

/* Elements beyond 2^32 and negative ones mix all words of the counter. */
static void numbers_are_those_of_the_interpreter(void **state) {
  static const uint64_t keys[][3] = {
      {0, 0, 0}, {1, 2, 3}, {0x123456789abcdef0, 0xffffffff00000001, 0xff}, {~0ULL, ~0ULL, ~0ULL}};
  static const int widths[] = {1, 4, 8, 16};
  loop_fix *f = *state;
  for (int w = 0; w < 4; w++) {
    const char *text =
        neo_arena_printf(&f->arena,
                         "neo-loop 2\nkernel k(z: f32 write, d: f64 write) units 1\nfor i in 0..4\n"
                         "  for l in 0..%d vector\n"
                         "    z[i*%d + l] = rand@7(i*%d + l)\n"
                         "    d[i*%d + l] = rand@4294967295:f64(i*4294967290 + l*3 - 5)\n",
                         widths[w], widths[w], widths[w], widths[w]);
    for (int k = 0; k < 4; k++)
      loop_check(f, text,
                 &(loop_case){.n_elems = (const int64_t[]){4 * widths[w], 4 * widths[w]},
                              .key = {keys[k][0], keys[k][1], keys[k][2]}});
  }
}

/* Half of a long run lies below 1/2, and every sixteenth is hit alike. */
static void numbers_are_uniform(void **state) {
  enum { N = 1 << 16 };
  static _Thread_local float z[N];
  loop_fix *f = *state;
  neo_llvm *l;
  const uint64_t key[3] = {42, 1, 0};
  neo_kernel *k = loop_kernel(f, "neo-loop 2\nkernel k(z: f32 write) units 8192\n"
                                 "for i in 0..8192 unit\n  for l in 0..8 vector\n"
                                 "    z[i*8 + l] = rand@1(i*8 + l)\n");
  neo_rt_fn *fn = loop_compile(f, k, loop_levels()[0], &l);
  void *bufs[] = {z};
  neo_rt_args args = {.buf = bufs, .key = key, .hi = N / 8};
  assert_int_equal(fn(&args), 0);
  int bins[16] = {0};
  for (int i = 0; i < N; i++) {
    assert_true(z[i] >= 0 && z[i] < 1);
    bins[(int)(z[i] * 16)]++;
  }
  for (int i = 0; i < 16; i++)
    assert_in_range(bins[i], N / 16 - 350, N / 16 + 350);
  neo_llvm_free(l);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(numbers_are_those_of_the_interpreter),
      TEST(numbers_are_uniform),
  };
  return cmocka_run_group_tests_name("llvm_rand", tests, NULL, NULL);
}
