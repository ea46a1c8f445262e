/* Tiles of a GPU's blocks, for tests: lowered by a given schedule, run by the interpreter. */
#ifndef NEO_TESTS_TILE_SUPPORT_H
#define NEO_TESTS_TILE_SUPPORT_H
#include "loop_support.h"

/* The kernel of a module's one group (`text` without its head), on a machine that has all there is;
 * fails where the schedule is not legal. */
neo_kernel *tile_lower(loop_fix *f, const char *text, const char *schedule);

/* Why that schedule is not legal; "": it is. */
const char *tile_refused(loop_fix *f, const char *text, const char *schedule);

/* Runs units 0 to hi on buffers of so many elements (others are scratch), filled with small
 * integers. "", or what the verifier or the interpreter says. *bufs: the buffers. */
const char *tile_run(loop_fix *f, const neo_kernel *k, const int64_t *elements, int64_t hi,
                     uint64_t seed, neo_value ***bufs);

/* The same with a persistent kernel's blocks, so many of them, one after the other. */
const char *tile_run_blocks(loop_fix *f, const neo_kernel *k, const int64_t *elements, int64_t hi,
                            int64_t blocks, uint64_t seed, neo_value ***bufs);

/* The n-th statement of a kind; null: there are not as many. */
neo_ls *tile_find(neo_kernel *k, neo_ls_kind kind, int n);

#endif
