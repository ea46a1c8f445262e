/* Hash map: entries in insertion order beside a table of entry numbers, open addressing with
 * linear probing, at most 2/3 full. Nothing is ever removed. */
#include "base/map.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

void neo_map_init(neo_map *m, neo_arena *arena) {
  *m = (neo_map){.arena = arena};
}

/* The slot of the key, or the empty one where it belongs. Needs n_slots > n. */
static size_t find_slot(const neo_map *m, uint64_t key) {
  size_t mask = m->n_slots - 1;
  size_t i = (size_t)neo_hash_mix(0, key) & mask;
  while (m->slot[i] && m->key[m->slot[i] - 1] != key)
    i = (i + 1) & mask;
  return i;
}

bool neo_map_get(const neo_map *m, uint64_t key, uint64_t *value) {
  if (m->n == 0)
    return false;
  uint32_t entry = m->slot[find_slot(m, key)];
  if (entry && value)
    *value = m->value[entry - 1];
  return entry != 0;
}

static void widen_slots(neo_map *m) {
  m->n_slots = m->n_slots ? 2 * m->n_slots : 16;
  m->slot = NEO_NEW_ARRAY(m->arena, uint32_t, m->n_slots);
  for (size_t e = 0; e < m->n; e++)
    m->slot[find_slot(m, m->key[e])] = (uint32_t)(e + 1);
}

static void widen_entries(neo_map *m) {
  size_t cap = m->cap ? 2 * m->cap : 8;
  uint64_t *key = NEO_NEW_ARRAY(m->arena, uint64_t, cap);
  uint64_t *value = NEO_NEW_ARRAY(m->arena, uint64_t, cap);
  if (m->n > 0) {
    memcpy(key, m->key, m->n * sizeof *key);
    memcpy(value, m->value, m->n * sizeof *value);
  }
  m->key = key;
  m->value = value;
  m->cap = cap;
}

void neo_map_set(neo_map *m, uint64_t key, uint64_t value) {
  assert(m->arena && "neo_map_init comes first");
  if (3 * (m->n + 1) > 2 * m->n_slots)
    widen_slots(m);
  size_t i = find_slot(m, key);
  if (!m->slot[i]) {
    assert(m->n < UINT32_MAX && "entry numbers fit the slots");
    if (m->n == m->cap)
      widen_entries(m);
    m->key[m->n] = key;
    m->slot[i] = (uint32_t)++m->n;
  }
  m->value[m->slot[i] - 1] = value;
}
