/* Private to ir: what is needed, as a disjunction of a few conjunctions of conditions. */
#pragma once
#include "ir/condition.h"

enum { NEO_MOST_TERMS = 8, NEO_MOST_CONDITIONS = 96 };

typedef struct { /* a conjunction */
  uint32_t n;
  neo_expr at[NEO_MOST_CONDITIONS];
} neo_term;

typedef struct { /* a disjunction; n == 0: it is needed nowhere */
  uint32_t n;
  const neo_term *at[NEO_MOST_TERMS];
} neo_need;

typedef struct {
  neo_module *m;
  neo_arena *a;
  const uint32_t *place; /* of definitions in their order, from 1 on; 0: it is not of them */
} neo_need_world;

void neo_term_drop(neo_term *x, uint32_t k);
/* Without what follows from the others. */
void neo_term_reduce(neo_module *m, neo_term *x);
/* A condition more; false: it never holds with the others. */
bool neo_term_add(neo_module *m, neo_term *x, neo_expr e);
/* What all terms have in common. */
neo_term neo_need_common(neo_module *m, const neo_need *x);
/* Adds a term to what is needed of the definition at `place`. Where terms become many, what they
 * have in common stands for them; so it does where elements that not all of them ask for are
 * made behind it, as what makes them might need it. False: it was there already. */
bool neo_need_add(const neo_need_world *w, neo_need *of, const neo_term *more, uint32_t place);
