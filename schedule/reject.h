/* Reports of legality: the reason why a schedule is illegal. Private to schedule. */
#pragma once
#include "base/str.h"

/* Always returns false. why may be null. */
static inline bool reject(neo_str *why, const char *what) {
  if (why)
    neo_str_add(why, what);
  return false;
}
