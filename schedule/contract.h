/* Contractions: sums of products. */
#ifndef NEO_SCHEDULE_CONTRACT_H
#define NEO_SCHEDULE_CONTRACT_H
#include "fusion/form.h"

typedef struct neo_contraction {
  int n;
} neo_contraction;

#endif
