/* Reports of legality: the reason why a schedule is illegal. Private to schedule. */
#ifndef NEO_SCHEDULE_REJECT_H
#define NEO_SCHEDULE_REJECT_H
#include "base/str.h"

/* Always returns false. why may be null. */
static inline bool reject(neo_str *why, const char *what) {
  if (why)
    neo_str_add(why, what);
  return false;
}

#endif
