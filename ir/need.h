/* For needed.c and conditions.c: the need of a definition: a disjunction of a few conjunctions of
 * conditions. Private to ir. */
#pragma once
#include "ir/condition.h"

enum { NEO_MOST_TERMS = 8, NEO_MOST_CONDITIONS = 96 };

typedef struct { /* a conjunction */
  uint32_t n;
  neo_expr at[NEO_MOST_CONDITIONS];
} neo_term;

typedef struct { /* a disjunction; n == 0: the definition is not needed */
  uint32_t n;
  const neo_term *at[NEO_MOST_TERMS];
} neo_need;

typedef struct {
  neo_module *m;
  neo_arena *a;
  const uint32_t *place; /* by definition: its position in their order, from 1 on; 0: it is not
                            among them */
} neo_need_world;

void neo_term_drop(neo_term *x, uint32_t k);
/* Drops the conditions that follow from the others. */
void neo_term_reduce(neo_module *m, neo_term *x);
/* Adds a condition. False: the conjunction never holds. */
bool neo_term_add(neo_module *m, neo_term *x, neo_expr e);
/* The conditions that all terms share. */
neo_term neo_need_common(neo_module *m, const neo_need *x);
/* Adds a term to the need of the definition at `place` of the order. Many terms are replaced by the
 * conditions that they share. So are terms with conditions on elements that are computed after the
 * definition, as computing these might need it. False: nothing changed. */
bool neo_need_add(const neo_need_world *w, neo_need *of, const neo_term *more, uint32_t place);
