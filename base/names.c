/* Interned strings: texts by number, beside a table of numbers found by hash (open addressing,
 * at most half full). */
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"

#include <assert.h>
#include <string.h>

typedef struct {
  const char *text;
  size_t n;
  uint64_t hash;
} entry;

struct neo_names {
  neo_arena *arena;
  NEO_VEC(entry) entries;
  uint32_t *slot; /* entry number + 1 */
  size_t n_slots;
};

static size_t find_slot(const neo_names *names, const char *text, size_t n, uint64_t hash) {
  size_t mask = names->n_slots - 1;
  size_t i = (size_t)hash & mask;
  for (; names->slot[i]; i = (i + 1) & mask) {
    const entry *e = &names->entries.at[names->slot[i] - 1];
    if (e->hash == hash && e->n == n && memcmp(e->text, text, n) == 0)
      break;
  }
  return i;
}

static void widen(neo_names *names) {
  names->n_slots *= 2;
  names->slot = NEO_NEW_ARRAY(names->arena, uint32_t, names->n_slots);
  for (size_t e = 0; e < names->entries.n; e++) {
    const entry *old = &names->entries.at[e];
    names->slot[find_slot(names, old->text, old->n, old->hash)] = (uint32_t)(e + 1);
  }
}

uint32_t neo_name_ofn(neo_names *names, const char *text, size_t n) {
  uint64_t hash = neo_hash(text, n, 0);
  size_t i = find_slot(names, text, n, hash);
  if (names->slot[i])
    return names->slot[i] - 1;
  if (2 * (names->entries.n + 1) > names->n_slots) {
    widen(names);
    i = find_slot(names, text, n, hash);
  }
  entry e = {neo_arena_strndup(names->arena, text, n), n, hash};
  NEO_PUSH(names->arena, &names->entries, e);
  assert(names->entries.n < UINT32_MAX);
  names->slot[i] = (uint32_t)names->entries.n;
  return (uint32_t)names->entries.n - 1;
}

uint32_t neo_name_of(neo_names *names, const char *text) {
  return neo_name_ofn(names, text, strlen(text));
}

neo_names *neo_names_new(neo_arena *arena) {
  neo_names *names = NEO_NEW(arena, neo_names);
  names->arena = arena;
  names->n_slots = 64;
  names->slot = NEO_NEW_ARRAY(arena, uint32_t, names->n_slots);
  neo_name_ofn(names, "", 0);
  return names;
}

const char *neo_name_text(const neo_names *names, uint32_t name) {
  assert(name < names->entries.n && "a name of this table");
  return names->entries.at[name].text;
}
