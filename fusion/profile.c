#include "fusion/profile.h"

static const neo_profile shipped[] = {
#define X(name, vector_bytes, workers, launch, work, nested, room, ...) \
  {name, vector_bytes, workers, launch, work, nested, room, __VA_ARGS__},
#include "fusion/profile.def"
#undef X
};
enum { N_SHIPPED = sizeof shipped / sizeof *shipped, GPU = 0, FIRST_CPU };

const neo_profile *neo_profile_of(uint32_t vector_bytes) {
  const neo_profile *best = &shipped[FIRST_CPU];
  for (int k = FIRST_CPU; k < N_SHIPPED; k++)
    if (shipped[k].vector_bytes <= vector_bytes)
      best = &shipped[k];
  return best;
}

const neo_profile *neo_profile_gpu(void) {
  return &shipped[GPU];
}

double neo_profile_traffic(const neo_profile *p, double bytes, double whole) {
  int k = 0;
  while (k + 1 < NEO_PROFILE_LEVELS && whole > (double)p->level[k].bytes)
    k++;
  return bytes / p->level[k].bytes_per_s;
}
