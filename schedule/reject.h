/* Private to schedule: how legality says what is wrong. */
#ifndef NEO_SCHEDULE_REJECT_H
#define NEO_SCHEDULE_REJECT_H
#include "base/str.h"

/* False; why may be null. */
static inline bool reject(neo_str *why, const char *what) {
  if (why)
    neo_str_add(why, what);
  return false;
}

#endif
