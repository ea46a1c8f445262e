/* A check of plans (codegen/dsa), for the benchmark and the planner's tests. */
#ifndef NEO_TOOLS_BENCHMARKS_ALLOC_VALID_H
#define NEO_TOOLS_BENCHMARKS_ALLOC_VALID_H
#include "codegen/dsa/dsa.h"

typedef enum {
  NEO_DSA_VALID,
  NEO_DSA_OVERLAP,    /* items a and b live at one time and share bytes */
  NEO_DSA_NEGATIVE,   /* item a begins before the memory */
  NEO_DSA_MISALIGNED, /* the offset of item a is no multiple of its alignment */
  NEO_DSA_MOVED       /* item a is not at its fixed offset */
} neo_dsa_fault;
typedef struct {
  neo_dsa_fault fault;
  size_t a, b; /* the numbers of the items; b only for an overlap */
} neo_dsa_verdict;
/* Checks a plan; shares no code with the planner. Time O(n log n) for a valid plan. */
neo_dsa_verdict neo_dsa_valid(const neo_dsa_item *items, size_t n, neo_arena *scratch);

#endif
