/* Helpers of the tests of tools/cache: a folder of their own, records made from numbers. */
#ifndef NEO_TESTS_CACHE_WORLD_H
#define NEO_TESTS_CACHE_WORLD_H
#include "tools/cache/set.h"

typedef struct {
  neo_arena arena;
  char folder[64];
  const char *path; /* of a file of records in the folder; not there yet */
} world;

int world_set_up(void **state);
int world_tear_down(void **state); /* removes the folder with what is in it */

/* Record number k; all differ in key, family k % 3, sizes (k+1, 2k+1), time 1000/(k+1) of default
 * 1000. */
neo_record world_record(neo_arena *a, int64_t k);
bool world_same(const neo_record *a, const neo_record *b); /* every field */
/* Appends records from..to-1 of world_record to the file. */
void world_append(world *w, int64_t from, int64_t to);
/* The file's bytes, and back. */
char *world_read(world *w, size_t *n);
void world_write(world *w, const char *text, size_t n);

#endif
