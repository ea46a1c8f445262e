/* The launches of an entry of a library for a GPU, as JSON: its steps with their kernels,
 * blocks and buffers, persistent grids; and its machine code, to a file. No GPU is needed.
 *
 *   kernels LIB PREFIX ENTRY CUBIN
 *
 * Run-time sizes are the largest. */
#define _GNU_SOURCE
#include "include/neo/neo_rt.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why) {
  fprintf(stderr, "kernels: %s: %s\n", what, why);
  exit(1);
}

static const neo_rt_model *open_model(const char *path, const char *prefix) {
  char symbol[256];
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    die(path, dlerror());
  snprintf(symbol, sizeof symbol, "%s_model", prefix);
  const neo_rt_model *m = dlsym(library, symbol);
  if (!m || !m->device)
    die(path, m ? "is not for a GPU" : "has no such model");
  return m;
}

static const neo_rt_entry *find_entry(const neo_rt_model *m, const char *name) {
  for (int32_t k = 0; k < m->n_entries; k++)
    if (strcmp(m->entries[k].name, name) == 0)
      return &m->entries[k];
  die(name, "there is no such entry");
  return NULL;
}

static void write_cubin(const neo_rt_model *m, const char *path) {
  for (int32_t k = 0; k < m->n_images; k++) {
    if (m->images[k].kind != NEO_RT_IMAGE_CUBIN)
      continue;
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(m->images[k].data, (size_t)m->images[k].size_bytes, 1, out) != 1 ||
        fclose(out))
      die(path, "cannot be written");
    return;
  }
  die(m->name, "has no machine code: is ptxas in PATH?");
}

static int32_t args_of(const neo_rt_step *s) {
  switch (s->op) {
#define STEP(id, text, args, writes, of_kind) \
  case NEO_RT_STEP_##id:                      \
    return args;
#include "base/steps.def"
#undef STEP
  }
  return 0;
}

static int writes(const neo_rt_step *s, int32_t k) {
  switch (s->op) {
#define STEP(id, text, args, writes, of_kind) \
  case NEO_RT_STEP_##id:                      \
    return writes;
#include "base/steps.def"
#undef STEP
  }
  return 1;
}

/* Prints [whole, bytes, is it written] of each buffer. */
static void put_args(const neo_rt_model *m, const neo_rt_step *s) {
  int32_t n = args_of(s);
  for (int32_t i = 0; i < n; i++) {
    const neo_rt_buf *b = &m->bufs[m->args[s->first + i]];
    printf("%s[%d, %lld, %d]", i ? ", " : "", b->whole, (long long)b->size_bytes, writes(s, i));
  }
}

static void put_step(const neo_rt_model *m, const neo_rt_step *s, const int64_t *sizes) {
  if (s->op == NEO_RT_STEP_COPY) {
    printf("{\"bytes\": %lld, \"keep\": %d, \"args\": [", (long long)neo_rt_eval(m, s->arg, sizes),
           s->cached);
  } else {
    const neo_rt_kernel *k = &m->kernels[s->arg];
    printf("{\"symbol\": \"%s\", \"units\": %lld, \"threads\": %d, \"block_units\": %d, ",
           k->device_symbol, (long long)neo_rt_eval(m, k->units, sizes), k->block, k->block_units);
    printf("\"shared\": %lld, \"persistent\": %d, \"keep\": %d, \"args\": [",
           (long long)k->scratch_bytes, k->persistent, s->cached);
  }
  put_args(m, s);
  printf("]}");
}

/* Numbers of steps are the entry's. */
static void put_grids(const neo_rt_model *m, const neo_rt_entry *e) {
  for (int32_t k = 0, n = 0; k < m->n_grids; k++) {
    const neo_rt_grid *g = &m->grids[k];
    int32_t phases = 0;
    if (g->first_step < e->first_step || g->first_step >= e->first_step + e->n_steps)
      continue;
    for (int32_t i = 0; i < g->n_steps; i++)
      if (m->grid_parts[g->part + i].phase >= phases)
        phases = m->grid_parts[g->part + i].phase + 1;
    printf("%s{\"symbol\": \"%s\", \"first\": %d, \"n\": %d, \"threads\": %d, \"phases\": %d}",
           n++ ? ", " : "", g->device_symbol, g->first_step - e->first_step, g->n_steps, g->block,
           phases);
  }
}

int main(int argc, char **argv) {
  int64_t sizes[NEO_RT_MOST_SIZES];
  if (argc != 5)
    die("usage", "kernels LIB PREFIX ENTRY CUBIN");
  const neo_rt_model *m = open_model(argv[1], argv[2]);
  const neo_rt_entry *e = find_entry(m, argv[3]);
  if (m->n_sizes > NEO_RT_MOST_SIZES)
    die(argv[1], "has too many sizes");
  for (int32_t k = 0; k < m->n_sizes; k++)
    sizes[k] = m->sizes[k].hi;
  write_cubin(m, argv[4]);
  printf("{\"level\": \"%s\", \"steps\": [\n", m->device);
  for (int32_t i = 0; i < e->n_steps; i++) {
    put_step(m, &m->steps[e->first_step + i], sizes);
    puts(i + 1 < e->n_steps ? "," : "");
  }
  printf("], \"grids\": [");
  put_grids(m, e);
  printf("]}\n");
  return 0;
}
