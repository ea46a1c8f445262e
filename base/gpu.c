/* gpu.c: levels and devices, by gpu.def. */
#include "base/gpu.h"
#include <stdio.h>
#include <string.h>

static const neo_gpu_level levels[] = {
#define GPU_LEVEL(name, capability, own, ptx, kib, has) \
  {name, capability, own, ptx, (kib)*1024LL, has},
#include "base/gpu.def"
#undef GPU_LEVEL
};
static const struct {
  int capability;
  int64_t shared_bytes;
} devices[] = {
#define GPU_DEVICE(capability, kib, example) {capability, (kib)*1024LL},
#include "base/gpu.def"
#undef GPU_DEVICE
};
enum { N_LEVELS = sizeof levels / sizeof *levels, N_DEVICES = sizeof devices / sizeof *devices };

static bool runs(int capability, const neo_gpu_level *v) {
  return v->own ? capability == v->capability : capability >= v->capability;
}

static const neo_gpu_level *level_named(const char *name) {
  for (size_t k = 0; k < N_LEVELS; k++)
    if (strcmp(levels[k].name, name) == 0)
      return &levels[k];
  return NULL;
}

/* The newest level that runs there; the table is sorted from the oldest to the newest. */
static const neo_gpu_level *newest_for(int capability) {
  for (size_t k = N_LEVELS; k-- > 0;)
    if (runs(capability, &levels[k]))
      return &levels[k];
  return NULL;
}

static void device_name(int capability, char name[NEO_GPU_NAME]) {
  snprintf(name, NEO_GPU_NAME, "sm_%d", capability);
}

bool neo_gpu_choose(const char *name, neo_gpu_choice *out) {
  const neo_gpu_level *v = level_named(name);
  if (v) {
    *out = (neo_gpu_choice){.level = v, .shared_bytes = v->shared_bytes};
    snprintf(out->device, sizeof out->device, "%s", v->name);
    return true;
  }
  for (size_t k = 0; k < N_DEVICES; k++) {
    out->level = newest_for(devices[k].capability);
    out->shared_bytes = devices[k].shared_bytes;
    device_name(devices[k].capability, out->device);
    if (strcmp(out->device, name) == 0)
      return true;
  }
  return false;
}

static void add_name(char *text, size_t n, const char *name) {
  size_t at = strlen(text);
  snprintf(text + at, n - at, "%s%s", at ? ", " : "", name);
}

void neo_gpu_names(char *text, size_t n) {
  char name[NEO_GPU_NAME];
  text[0] = 0;
  for (size_t k = 0; k < N_LEVELS; k++)
    add_name(text, n, levels[k].name);
  for (size_t k = 0; k < N_DEVICES; k++) {
    device_name(devices[k].capability, name);
    if (!level_named(name))
      add_name(text, n, name);
  }
}

bool neo_gpu_runs(int capability, const char *level) {
  const neo_gpu_level *v = level_named(level);
  return v && runs(capability, v);
}

const char *neo_gpu_name(int capability, char name[NEO_GPU_NAME]) {
  const neo_gpu_level *v = newest_for(capability);
  neo_gpu_choice known;
  device_name(capability, name);
  if (v && (v->own || !neo_gpu_choose(name, &known)))
    snprintf(name, NEO_GPU_NAME, "%s", v->name);
  return v ? name : NULL;
}
