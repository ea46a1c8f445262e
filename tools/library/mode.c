#define _GNU_SOURCE 1 /* newlocale */
#include "tools/library/mode.h"

/* Saves and sets the whole floating-point environment, not only the mode of arithmetic
 * (base/float_mode.h): on x86 the C library takes its rounding of decimals from the x87 unit, which
 * nothing else here uses. */
neo_mode neo_mode_enter(void) {
  neo_mode before;
  fegetenv(&before.floats);
  fesetenv(FE_DFL_ENV);
  before.own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  before.locale = uselocale(before.own);
  return before;
}

void neo_mode_leave(const neo_mode *before) {
  uselocale(before->locale);
  if (before->own)
    freelocale(before->own);
  fesetenv(&before->floats);
}
