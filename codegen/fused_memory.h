/* Memory of fused loops (fused_loops.h), which are bound by it: what is written where something is that a cache has.
 *
 *     for v in 0..N: place[v] = first[level[v]] + rank[v]      nobody else reads rank
 *     ->
 *     for v in 0..N: place[v] = first[level[v]] + place[v]     place takes over the memory of rank (neo_kbuf.over)
 *
 * Private to codegen/fused_*.c. */
#ifndef NEO_CODEGEN_FUSED_MEMORY_H
#define NEO_CODEGEN_FUSED_MEMORY_H
#include "codegen/counting_sort.h"

/* By tensor: is it read, or returned, where these loops are not? */
bool *neo_fused_read_elsewhere(neo_module *m, const neo_position_loops *loops, neo_arena *a);

typedef struct {
  neo_tensor made, old; /* what is made in the memory of what */
} neo_in_place;
typedef NEO_VEC(neo_in_place) neo_in_places;
/* Finds what each loop can make so: its element at a position is the last that the round reads of the old one, whose
 * others are read by their own rounds. The ends of a sort are made where its counts are. g: the group, one of all. */
void neo_fused_in_place(neo_module *m, const neo_grouping *all, const neo_group *g,
                        const neo_position_loops *loops, const neo_counting_sorts *sorts,
                        neo_arena *a, neo_in_places *out);

/* The sums by keys of loop i, if their table, which has an element for each position, may become 0 as the loop goes on:
 * no round reads or writes one of a later position. 0: there are none. */
neo_tensor neo_fused_zeroed(neo_module *m, const neo_position_loops *loops, size_t i);

#endif
