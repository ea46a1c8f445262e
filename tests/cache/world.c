/* Folders and records for the tests of tools/cache. */
#define _GNU_SOURCE /* nftw */
#include "tests/cache/world.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int world_set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  strcpy(w->folder, "/tmp/neo_cache_XXXXXX");
  if (!mkdtemp(w->folder))
    return 1;
  w->path = neo_path_join(&w->arena, w->folder, "records");
  *state = w;
  return 0;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at) {
  (void)st;
  (void)kind;
  (void)at;
  return remove(path);
}

int world_tear_down(void **state) {
  world *w = *state;
  nftw(w->folder, drop, 8, FTW_DEPTH | FTW_PHYS);
  neo_arena_free(&w->arena);
  free(w);
  return 0;
}

neo_record world_record(neo_arena *a, int64_t k) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, 2);
  sizes[0] = k + 1;
  sizes[1] = 2 * k + 1;
  return (neo_record){.key = {(uint64_t)k + 1, 0xfedcba9876543210u},
                      .family = {(uint64_t)k % 3, 7},
                      .sizes = sizes,
                      .n_sizes = 2,
                      .threads = 1,
                      .target = "x86-64-v3 vector=32x16",
                      .build = "neo 0.1.0 schedules 1",
                      .name = neo_arena_printf(a, "group_%lld", (long long)k),
                      .schedule = neo_arena_printf(a, "vector_axis=1 tile_m=%lld", (long long)k),
                      .against = k % 2 ? "vector_axis=0 tile_m=1" : "",
                      .time_ns = 1000.0 / (double)(k + 1),
                      .default_ns = 1000,
                      .trials = 16 + k,
                      .when = 1700000000 + k};
}

bool world_same(const neo_record *a, const neo_record *b) {
  neo_arena scratch;
  neo_str x, y;
  neo_arena_init(&scratch, neo_alloc_default, NULL);
  neo_str_init(&x, &scratch);
  neo_str_init(&y, &scratch);
  neo_record_json(a, &x);
  neo_record_json(b, &y);
  bool same = neo_streq(neo_str_text(&x), neo_str_text(&y));
  neo_arena_free(&scratch);
  return same;
}

void world_append(world *w, int64_t from, int64_t to) {
  for (int64_t k = from; k < to; k++) {
    const char *why = "";
    neo_record r = world_record(&w->arena, k);
    if (neo_record_append(&neo_io_default, &w->arena, w->path, &r, 0, &why)) {
      fprintf(stderr, "%s\n", why);
      abort();
    }
  }
}

char *world_read(world *w, size_t *n) {
  char *text = NULL;
  if (neo_file_read(&neo_io_default, &w->arena, w->path, 0, &text, n))
    abort();
  return text;
}

void world_write(world *w, const char *text, size_t n) {
  FILE *f = fopen(w->path, "wb");
  if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0)
    abort();
}
