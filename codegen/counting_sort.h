/* A stable counting sort among loops along the same positions (fused_loops.h): where each element e with a key is
 * among all, ordered by keys.
 *
 *     count[u] = sum[e where key[e] == u] 1
 *     first[u] = sum[k < u] count[k]
 *     at[e]    = (first[key[e]] else 0) + sum[f < e where key[f] == key[e] and 0 <= key[e]] 1
 *     end[u]   = first[u] + count[u]
 *
 * One table is first and end. At each position u it gets first[u], and each element of key u takes what is there and adds
 * 1. Keys are below the positions of their elements, so first[u] is there by then, also if several positions at a time get
 * theirs (fused_runs.c):
 *
 *     for v in 0..N
 *       end[v] = sum;  sum += count[v]
 *       at[v] = end[key[v]];  end[key[v]] += 1                if 0 <= key[v]
 *
 * (D. Knuth, The art of computer programming, volume 3, section 5.2, algorithm D, which counts down instead.) */
#ifndef NEO_CODEGEN_COUNTING_SORT_H
#define NEO_CODEGEN_COUNTING_SORT_H
#include "codegen/fused_loops.h"

typedef struct {
  size_t at;               /* the loop that makes at[e] */
  size_t first_at, end_at; /* those that make first and end, perhaps one, and nothing else */
  neo_tensor count;
  neo_tensor first; /* nobody else reads it */
  neo_tensor end;   /* read behind the loops */
  uint32_t sum;     /* the register of the sum */
} neo_counting_sort;
typedef NEO_VEC(neo_counting_sort) neo_counting_sorts;

/* Is the loop i, which has a table, the one that makes at[e]? It reads first[u] of a loop before it. */
bool neo_counting_sort_of(neo_module *m, const neo_position_loops *loops, size_t i, neo_arena *a,
                          neo_counting_sort *out);
/* Takes first[..] out of what the loop's kernel computes: at[e] is what the table has. */
void neo_counting_sort_start(const neo_counting_sort *x, const neo_position_loops *loops);

#endif
