/* Hash map from a u64 key to a u64 value, in an arena, insertion-ordered iteration (so that output
 * never depends on addresses or hash order). */
#pragma once
#include "base/arena.h"
#include <stdbool.h>

typedef struct neo_map {
  neo_arena *arena;
  uint64_t *key, *value; /* entries in insertion order */
  uint32_t *slot;        /* open addressing, entry number + 1 */
  size_t n, cap, n_slots;
} neo_map;

/* Makes an empty map whose tables are in the arena. */
void neo_map_init(neo_map *m, neo_arena *arena);
static inline neo_map neo_map_in(neo_arena *arena) {
  return (neo_map){.arena = arena};
}
/* Finds a key; *value (may be null) gets its value. False: the key is absent, *value is
 * unchanged. */
bool neo_map_get(const neo_map *m, uint64_t key, uint64_t *value);
void neo_map_set(neo_map *m, uint64_t key, uint64_t value); /* inserts or replaces */
