/* Reads with what holds where they are made. */
#include "base/str.h"
#include "ir/guarded_read.h"
#include "tests/ir/ir_test.h"

enum { MOST = 60 };

static neo_module *selects(neo_module *m, int n) {
  neo_str text;
  neo_str_init(&text, m->arena);
  neo_str_add(&text,
              "input n : i32 [4]\ninput a : f32 [4]\ninput b : f32 [4]\ninput c : f32 [4]\n");
  for (int k = 0; k < n; k++)
    neo_str_addf(&text, "temp y%d : f32 [4]\n", k);
  for (int k = 0; k < n; k++)
    neo_str_addf(&text,
                 "def y%d[i: 4] = select(n[i] < %di32, a[i] + %d.5, select(n[i] == %di32, b[i] * "
                 "%d.5, c[i] - %d.5))\n",
                 k, k, k, 3 * k, k, k);
  return test_parse(m, neo_str_text(&text));
}

/* Sets of conditions are told apart, whatever the numbers of their expressions are: of many definitions alike, each
 * has the reads of all of its branches. */
static void no_branch_is_taken_for_another(void **state) {
  for (int n = 1; n <= MOST; n++) {
    neo_module *m = selects(*state, n);
    bool *wanted = NEO_NEW_ARRAY(m->arena, bool, m->tensors.n);
    for (uint32_t t = 1; t < m->tensors.n; t++)
      wanted[t] = neo_tensor_at(m, (neo_tensor){t})->role == NEO_ROLE_INPUT &&
                  neo_tensor_at(m, (neo_tensor){t})->type == NEO_F32_T;
    for (uint32_t d = 1; d < m->defs.n; d++) {
      neo_guarded_reads reads = {0};
      neo_guarded_reads_of(m, (neo_def){d}, wanted, m->arena, &reads);
      assert_int_equal(reads.n, 3);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(no_branch_is_taken_for_another)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
