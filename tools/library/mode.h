/* The mode in which the compiler works on the caller's thread, and restoring the caller's: floats
 * are rounded to nearest, and numbers are read and printed with a point. Private to
 * tools/library. */
#pragma once
#include <fenv.h>
#include <locale.h>

typedef struct {
  fenv_t floats;
  locale_t locale, own;
} neo_mode;

neo_mode neo_mode_enter(void);
void neo_mode_leave(const neo_mode *before);
