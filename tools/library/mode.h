/* Private to tools/library: the mode in which the compiler works on the caller's thread, and
 * what stands in for it: floats are rounded to nearest, and numbers are read and printed with a
 * point. */
#pragma once
#include <fenv.h>
#include <locale.h>

typedef struct {
  fenv_t floats;
  locale_t locale, own;
} neo_mode;

neo_mode neo_mode_enter(void);
void neo_mode_leave(const neo_mode *before);
