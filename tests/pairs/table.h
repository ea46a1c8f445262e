/* Counts of what kernels had together: feature x kind of fusion x strategy, and feature x feature.
 * The memory is shared by the processes that count. */
#ifndef NEO_TESTS_PAIRS_TABLE_H
#define NEO_TESTS_PAIRS_TABLE_H
#include "tests/pairs/machine.h"

enum { /* ways of compiling, after one for each kind of fusion that is off */
       PAIRS_WAY_DEFAULT = NEO_FUSE_KINDS,
       PAIRS_WAY_ALONE, /* no fusion at all */
       PAIRS_WAY_RANDOM,
       PAIRS_WAY_MATH,
       PAIRS_WAY_STORE,
       PAIRS_WAY_V2,
       PAIRS_WAY_V3,
       PAIRS_WAYS
};

typedef struct {
  uint32_t triple[PAIRS_FEATURES][PAIRS_KINDS][PAIRS_STRATEGIES]; /* kernels */
  uint32_t kind[PAIRS_FEATURES][PAIRS_KINDS];
  uint32_t strategy[PAIRS_FEATURES][PAIRS_STRATEGIES];
  uint32_t both[PAIRS_FEATURES][PAIRS_FEATURES];
  uint32_t recurs_feature[PAIRS_RECURRENCES][PAIRS_FEATURES]; /* kernels */
  uint32_t recurs_strategy[PAIRS_RECURRENCES][PAIRS_STRATEGIES];
  uint32_t recurs_way[PAIRS_RECURRENCES][PAIRS_WAYS]; /* runs */
  uint32_t programs, rejected, failed, runs, kernels;
  uint32_t loops, grid_loops, grid_launches; /* as in pairs_run */
  uint64_t compared, promised;
} pairs_table;

void pairs_table_add(pairs_table *t, const pairs_run *r, const pairs_how *how);
/* The least count of all pairs that can be reached on processors, or on GPUs (unreachable.def says
 * which cannot); the names of the scarcest, up to `most`, go to *scarce (may be null). */
uint32_t pairs_table_least(const pairs_table *t, bool gpu, uint32_t below, neo_str *scarce);
/* The number of pairs in the table, among those that can be reached. */
uint32_t pairs_table_reached(const pairs_table *t, bool gpu, uint32_t *legal);
/* Kinds of recurrences with the features, strategies and ways of compiling that they met. */
void pairs_table_recurrences(const pairs_table *t, neo_str *out);
void pairs_table_print(const pairs_table *t, bool gpu, neo_str *out);

#endif
