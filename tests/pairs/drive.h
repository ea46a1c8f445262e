/* Many programs, by processes of their own: one that crashes, or hangs, is a failure like others. */
#ifndef NEO_TESTS_PAIRS_DRIVE_H
#define NEO_TESTS_PAIRS_DRIVE_H
#include "tests/pairs/table.h"

typedef struct {
  pairs_drawer *draw;
  uint64_t first, n; /* seeds */
  uint32_t until;    /* above 0: go on until each pair that can be reached has so many */
  uint32_t jobs;     /* processes at a time; 0: one */
  uint32_t variants; /* percent of the seeds that are compiled in another way as well */
  const char *target, *mcpu;
  const char *json;   /* a file that gets a line for each program; null: none */
  uint64_t json_most; /* only of so many seeds; 0: of all */
  const char *folder; /* of failing programs; null: none are kept */
  bool quiet;         /* failures are not told while it runs */
} pairs_drive;

/* The ways in which the k-th run of a seed compiles it; false: there is no such run. */
bool pairs_way(const pairs_drive *d, uint64_t seed, uint32_t k, pairs_how *out, neo_arena *a);
/* "--no-fuse=rows --mcpu=x86-64-v3", for a message. */
const char *pairs_way_text(const pairs_how *how, neo_arena *a);
/* Runs them all; *t has the counts. Returns the number of seeds that failed. */
uint32_t pairs_drive_run(const pairs_drive *d, pairs_table *t);
/* One seed in a process of its own; false: it fails. *why says how. */
bool pairs_holds(const pairs_program *p, const pairs_how *how, neo_arena *a, const char **why);

#endif
