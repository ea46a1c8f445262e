/* A processor by its name: code keeps to the instructions of its level, which are those that the
 * model's record asks a machine for. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Adds vectors of f16, for which newer processors have instructions. */
static const char *assembly(loop_fix *f, const char *arch, const char *mcpu) {
  neo_target t;
  neo_llvm *l;
  const char *why;
  char path[] = "/tmp/neo_level_XXXXXX";
  neo_kernel *k = loop_kernel(f, "neo-loop 2\nkernel k(x: f16 read, z: f16 write) units 1\n"
                                 "for i in 0..10\n  for l in 0..8 vector\n"
                                 "    z[i*8 + l] = x[i*8 + l] + x[i*8 + l]*x[l]\n");
  assert_int_equal(neo_target_choose(&f->arena, arch, mcpu, &t, &why), NEO_OK);
  assert_int_equal(neo_llvm_new(&f->arena, &t, "level", &l, &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, k, "k", &why), NEO_OK);
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

static void code_for_a_processor_runs_on_all_of_its_level(void **state) {
  const char *x86 = assembly(*state, "x86_64", "sapphirerapids");
  assert_non_null(strstr(x86, "vaddps"));
  assert_null(strstr(x86, "vaddph"));
  const char *arm = assembly(*state, "aarch64", "neoverse-v1");
  assert_non_null(strstr(arm, "fcvtl"));
  assert_non_null(strstr(arm, "fcvtn"));
}

static void a_processor_is_tuned_for(void **state) {
  loop_fix *f = *state;
  neo_target t;
  const char *why;
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", "znver4", &t, &why), NEO_OK);
  assert_string_equal(t.cpu, "x86-64-v4");
  assert_string_equal(t.tune, "znver4");
  assert_int_equal(neo_target_choose(&f->arena, "x86_64", "x86-64-v3", &t, &why), NEO_OK);
  assert_null(t.tune);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(code_for_a_processor_runs_on_all_of_its_level, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(a_processor_is_tuned_for, loop_setup, loop_teardown),
  };
  return cmocka_run_group_tests_name("level", tests, NULL, NULL);
}
