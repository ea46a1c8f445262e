/* Runs a generated library and prints its numbers: answers LIBRARY PREFIX STEPS. Every entry is
 * called with inputs that are the same everywhere (run-time sizes are 13, or the nearest that is
 * allowed); the training and gradient entries STEPS times, after which all parameters and states
 * follow. Lines are "name index value". */
#include "include/neo/neo_rt.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, WANTED_SIZE = 13 };

static const neo_rt_model *model;
static int64_t sizes[MOST];

static int64_t elements(const neo_rt_tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->rank; d++)
    n *= neo_rt_eval(model, model->extents[t->extent + d], sizes);
  return n;
}

static size_t bytes_of(uint8_t type) {
  static const size_t bytes[] = {8, 4, 2, 2, 8, 4, 1, 1, 1};
  return bytes[type];
}

static uint64_t next(uint64_t *seed) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void fill(const neo_rt_tensor *t, void *p, uint64_t seed) {
  int64_t bound = t->bound >= 0 ? neo_rt_eval(model, t->bound, sizes) : 2, n = elements(t);
  for (int64_t i = 0; i < n; i++) {
    uint64_t x = next(&seed);
    int64_t whole = (int64_t)(x % (uint64_t)(bound < 1 ? 1 : bound));
    switch (t->type) {
    case NEO_RT_F64:
      ((double *)p)[i] = (double)(x % 2001) / 1000 - 1;
      break;
    case NEO_RT_F32:
      ((float *)p)[i] = (float)(x % 2001) / 1000 - 1;
      break;
    case NEO_RT_I64:
      ((int64_t *)p)[i] = whole;
      break;
    case NEO_RT_I32:
      ((int32_t *)p)[i] = (int32_t)whole;
      break;
    default:
      memset((char *)p + (size_t)i * bytes_of(t->type), (int)whole, 1);
    }
  }
}

static void show(const char *entry, const neo_rt_tensor *t, const void *p) {
  int64_t n = elements(t), step = n / 50 + 1;
  for (int64_t i = 0; i < n; i += step)
    switch (t->type) {
    case NEO_RT_F64:
      printf("%s.%s %" PRId64 " %.9g\n", entry, t->name, i, ((const double *)p)[i]);
      break;
    case NEO_RT_F32:
      printf("%s.%s %" PRId64 " %.9g\n", entry, t->name, i, (double)((const float *)p)[i]);
      break;
    case NEO_RT_I64:
      printf("%s.%s %" PRId64 " %" PRId64 "\n", entry, t->name, i, ((const int64_t *)p)[i]);
      break;
    case NEO_RT_I32:
      printf("%s.%s %" PRId64 " %d\n", entry, t->name, i, ((const int32_t *)p)[i]);
      break;
    default:
      break;
    }
}

static void run(neo_rt_ctx *ctx, int32_t number, int times) {
  const neo_rt_entry *e = &model->entries[number];
  void *args[MOST];
  int64_t given[MOST];
  for (int32_t k = 0; k < e->n_sizes; k++)
    given[k] = sizes[model->entry_sizes[e->sizes + k]];
  for (int32_t k = 0; k < e->n_args; k++) {
    const neo_rt_tensor *t = &model->tensors[model->entry_args[e->args + k]];
    args[k] = calloc((size_t)elements(t) + 1, bytes_of(t->type));
    if (k < e->n_inputs)
      fill(t, args[k], (uint64_t)k + 1);
  }
  for (int k = 0; k < times; k++)
    if (neo_rt_call(ctx, number, given, args)) {
      fprintf(stderr, "%s: %s\n", e->name, neo_rt_error(ctx));
      exit(1);
    }
  for (int32_t k = 0; k < e->n_args; k++) {
    if (k >= e->n_inputs)
      show(e->name, &model->tensors[model->entry_args[e->args + k]], args[k]);
    free(args[k]);
  }
}

static void say(void *user, int level, const char *text) {
  (void)user;
  (void)level;
  fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv) {
  char symbol[256];
  neo_rt_config config = {.struct_size = sizeof config, .threads = 1, .seed = 5, .log = say};
  neo_rt_ctx *ctx = NULL;
  if (argc != 4)
    return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  snprintf(symbol, sizeof symbol, "%s_model", argv[2]);
  model = library ? dlsym(library, symbol) : NULL;
  if (!model || model->n_sizes > MOST) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  for (int32_t k = 0; k < model->n_sizes; k++) {
    int64_t n = WANTED_SIZE;
    n = n < model->sizes[k].lo ? model->sizes[k].lo : n;
    sizes[k] = n > model->sizes[k].hi ? model->sizes[k].hi : n;
  }
  if (neo_rt_create(model, &config, &ctx)) {
    fprintf(stderr, "%s\n", ctx ? neo_rt_error(ctx) : "no context");
    return 1;
  }
  for (int32_t k = 0; k < model->n_entries; k++)
    if (model->entries[k].kind != NEO_RT_ENTRY_INIT)
      run(ctx, k, model->entries[k].kind == NEO_RT_ENTRY_FORWARD ? 1 : atoi(argv[3]));
  for (int32_t k = 0; k < model->n_tensors; k++) {
    const neo_rt_tensor *t = &model->tensors[k];
    if (!t->in_safetensors)
      continue;
    size_t n = (size_t)elements(t) * bytes_of(t->type);
    void *p = malloc(n + 1);
    if (neo_rt_get(ctx, k, p, n) == 0)
      show("kept", t, p);
    free(p);
  }
  neo_rt_destroy(ctx);
  return 0;
}
