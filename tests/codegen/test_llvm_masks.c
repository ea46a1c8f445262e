/* Masks of short vectors that LLVM drops are found in the machine code, and the function is compiled
 * without them (codegen/llvm/core/object.c). */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A condition that all lanes share guards a load, and is part of one that has lanes. */
static const char dropping[] =
    "neo-loop 2\nkernel drops(h: u8 read noalias, b: i32 read noalias, y: f32 write noalias) units 1\n"
    "reg acc[1, 1, 4]: i32\nfor l in 0..4 vector\n  acc[0, 0, l] = 2147483647:i32\n"
    "for k in 0..6 unroll\n  for l in 0..4 vector\n"
    "    acc[0, 0, l] = select(k < l + 3 and 9:u8 < -h[k*7 if k < l + 3 and k*7 < 5 else 0:u8], "
    "min(acc[0, 0, l], b[0]), acc[0, 0, l])\n"
    "for l in 0..4 vector\n  y[l] = select(acc[0, 0, l] <= i32(l), 1.0, 2.0)\n"
    "reg acc_2[1, 1, 4]: i32\nfor l in 0..4 vector\n  acc_2[0, 0, l] = 2147483647:i32\n"
    "for k in 0..7 unroll\n  for l in 0..4 vector\n"
    "    acc_2[0, 0, l] = select(k < l + 7 and 9:u8 < -h[k*7 if l + 4 < 5 and (k < l + 7 and k*7 < 5) "
    "else 0:u8], min(acc_2[0, 0, l], b[0]), acc_2[0, 0, l])\n"
    "for l in 0..4 vector\n  y[l + 4] = select(acc_2[0, 0, l] <= i32(l + 4), 1.0, 2.0) if l + 4 < 5\n";
static const char keeping[] =
    "neo-loop 2\nkernel keeps(x: f32 read, y: f32 write) units 1\n"
    "for l in 0..4 vector\n  y[l] = select(x[l] < 0.0, x[l + 4], 2.0*x[l])\n";

static const char *assembly(loop_fix *f, const char *mcpu) {
  neo_target t;
  neo_llvm *l;
  const char *why;
  char path[] = "/tmp/neo_masks_XXXXXX";
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", mcpu, &t, &why), NEO_OK);
  assert_int_equal(neo_llvm_new(&f->arena, &t, "masks", &l, &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, loop_kernel(f, dropping), "drops", &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, loop_kernel(f, keeping), "keeps", &why), NEO_OK);
  assert_int_equal(neo_llvm_finish(l, &why), NEO_OK);
  close(mkstemp(path));
  assert_int_equal(neo_llvm_emit_asm(l, path, &why), NEO_OK);
  neo_llvm_free(l);
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  enum { MOST = 1 << 16 };
  char *text = NEO_NEW_ARRAY(&f->arena, char, MOST);
  text[fread(text, 1, MOST - 1, in)] = 0;
  fclose(in);
  remove(path);
  return text;
}

static void no_mask_is_dropped_where_masks_have_registers(void **state) {
  const char *text = assembly(*state, "x86-64-v4");
  assert_null(strstr(text, "movmsk"));
}

static void other_functions_keep_masks_of_short_vectors(void **state) {
  const char *keeps = strstr(assembly(*state, "x86-64-v4"), "\nkeeps:");
  assert_non_null(keeps);
  assert_non_null(strstr(keeps, "{%k"));
  assert_null(strstr(keeps, "%zmm"));
}

static void kernels_of_this_machine_keep_their_masks(void **state) {
  static const int64_t elems[] = {43, 1, 5};
  for (uint64_t seed = 0; seed < 20; seed++)
    loop_check(*state, dropping, &(loop_case){.n_elems = elems, .seed = seed});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(no_mask_is_dropped_where_masks_have_registers, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(other_functions_keep_masks_of_short_vectors, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(kernels_of_this_machine_keep_their_masks, loop_setup,
                                      loop_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
