/* Lists of values near the current one of a parameter. Private to schedule. */
#pragma once
#include "schedule/space.h"

typedef struct {
  int64_t now, *at;
  size_t n;
} neo_values;

/* Adds a value unless it is the current one or outside of lo..hi. */
static inline void neo_values_add(neo_values *v, int64_t value, int64_t lo, int64_t hi) {
  if (value != v->now && value >= lo && value <= hi && v->n < NEO_SPACE_VALUES)
    v->at[v->n++] = value;
}

static inline void neo_values_near(neo_values *v, int64_t lo, int64_t hi) {
  neo_values_add(v, v->now / 2, lo, hi);
  neo_values_add(v, v->now * 2, lo, hi);
  neo_values_add(v, v->now / 4, lo, hi);
  neo_values_add(v, v->now * 4, lo, hi);
}
