/* Memory and floating-point modes of the caller's, with the library of shared.expr
 * (tests/test_cli_library.sh): every call gives what the model says, or is refused and changes
 * nothing. */
#define _GNU_SOURCE 1 /* feenableexcept */
#include "shared.h"
#include <fenv.h>
#include <neo/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what, const shared_ctx *c) {
  if (good)
    return;
  printf("%s: %s\n", what, shared_error(c));
  exit(1);
}

static void *view(shared_ctx *c, const char *name) {
  static int64_t shape[16];
  struct neo_dl_tensor dl;
  check(shared_view(c, shared_find(name), &dl, shape) == 0, "view", c);
  return dl.data;
}

int main(void) {
  float x[4] = {1, 2, 3, 4}, d[4] = {0, 2, 0, 8}, w[4], y[4], z[8], q[4];
  shared_ctx *c;
  shared_config config = {.struct_size = sizeof config, .threads = 2};
  check(shared_create(&config, &c) == 0, "create", c);

  /* an input that is the store of the state that is updated */
  float *r = view(c, "r");
  check(shared_ob(c, r, w, y) == NEO_RT_E_ARGUMENT &&
            strstr(shared_error(c), "x: overlaps r, which this entry updates"),
        "x is r", c);
  check(r[0] == 1 && r[3] == 1, "the refused call changed r", c);
  check(shared_look(c, r, d, z, q) == 0 && z[0] == 0.5f && q[1] == 0.5f, "r is read alone", c);
  check(shared_ob(c, x, w, y) == 0 && w[0] == 2 && y[3] == 32 && r[2] == 3, "ob", c);

  /* an index state that a view writes */
  int32_t *pick = view(c, "pick");
  pick[1] = 1 << 28;
  check(shared_look(c, x, d, z, q) == NEO_RT_E_RANGE && strstr(shared_error(c), "pick[1]"),
        "pick[1] is 2^28", c);
  pick[1] = 2;
  check(shared_look(c, x, d, z, q) == 0 && z[7] == 2, "pick[1] is 2", c);

  /* a setting of integers */
  int32_t many = 0;
  check(shared_set_scalar(c, "many", 2.5) == NEO_RT_E_RANGE, "many = 2.5", c);
  check(shared_set_scalar(c, "many", 0x1p32) == NEO_RT_E_RANGE, "many = 2^32", c);
  check(shared_set_scalar(c, "many", 7) == 0, "many = 7", c);
  check(shared_get(c, shared_find("many"), &many, sizeof many) == 0 && many == 7, "many", c);

  /* a division by zero whose quotient is not taken, and another rounding */
  feenableexcept(FE_DIVBYZERO | FE_INVALID);
  fesetround(FE_UPWARD);
  float third[4] = {3, 3, 3, 3}, up[4];
  check(shared_look(c, x, third, z, up) == 0, "traps", c);
  check(shared_look(c, x, d, z, q) == 0 && q[0] == 0 && q[3] == 0.5f, "traps", c);
  check(fegetround() == FE_UPWARD && fegetexcept() == (FE_DIVBYZERO | FE_INVALID), "the mode", c);
  fedisableexcept(FE_ALL_EXCEPT);
  fesetround(FE_TONEAREST);
  check(shared_look(c, x, third, z, q) == 0 && memcmp(up, q, sizeof q) == 0, "rounding", c);
  shared_destroy(c);
  return 0;
}
