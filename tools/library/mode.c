#define _GNU_SOURCE 1 /* newlocale */
#include "tools/library/mode.h"

neo_mode neo_mode_enter(void) {
  neo_mode before = {.floats = neo_float_mode_enter()};
  before.own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  before.locale = uselocale(before.own);
  return before;
}

void neo_mode_leave(const neo_mode *before) {
  uselocale(before->locale);
  if (before->own)
    freelocale(before->own);
  neo_float_mode_leave(before->floats);
}
