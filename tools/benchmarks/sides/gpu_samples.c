#include "tools/benchmarks/sides/gpu_samples.h"
#include "tools/benchmarks/sides/arrays.h"
#include <stdlib.h>

enum { MOST_RANK = 16, FEWEST_LINES = 4 };

typedef struct {
  gpu_samples out;
  int64_t room, stride[MOST_RANK], total;
  int rank;
  const int64_t *shape;
  uint32_t drawn;
} sampler;

static int64_t draw(sampler *s, int64_t below) {
  uint64_t r = (uint64_t)bench_random(1, s->drawn) << 24;
  r |= bench_random(2, s->drawn++);
  return (int64_t)(r % (uint64_t)below);
}

static void add(sampler *s, int64_t at) {
  if (s->out.n < s->room)
    s->out.at[s->out.n++] = at;
}

/* Beside a border of a tile of some size, an end, or anywhere. */
static int64_t notable(sampler *s, int64_t extent) {
  int64_t border = (int64_t)8 << draw(s, 6), tiles = extent / border;
  switch (draw(s, 4)) {
  case 0:
    return draw(s, 2) ? extent - 1 : 0;
  case 1:
    return draw(s, extent);
  default:
    return tiles ? border * (1 + draw(s, tiles)) - (border * tiles == extent || draw(s, 2)) : 0;
  }
}

/* Along one axis, through a point. */
static void add_line(sampler *s, int64_t point, int axis, int64_t line) {
  int64_t extent = s->shape[axis], place = point / s->stride[axis] % extent;
  int64_t origin = point - place * s->stride[axis];
  for (int64_t k = 0; k < (extent <= line ? extent : line); k++) {
    int64_t to = extent <= line ? k : notable(s, extent);
    add(s, origin + (to < extent ? to : extent - 1) * s->stride[axis]);
  }
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void sort_unique(gpu_samples *s) {
  int64_t n = 0;
  qsort(s->at, (size_t)s->n, sizeof *s->at, ascending);
  for (int64_t k = 0; k < s->n; k++)
    if (k == 0 || s->at[k] != s->at[k - 1])
      s->at[n++] = s->at[k];
  s->n = n;
}

gpu_samples gpu_samples_of(int rank, const int64_t *shape, int64_t most, int64_t line) {
  sampler s = {.rank = rank, .shape = shape, .total = 1};
  for (int d = rank - 1; d >= 0; d--) {
    s.stride[d] = s.total;
    s.total *= shape[d];
  }
  s.room = s.total < most ? s.total : most;
  s.out.at = malloc((size_t)(s.room + 1) * sizeof *s.out.at);
  if (!s.out.at)
    bench_die("memory", "out of memory");
  if (s.total <= most) {
    for (int64_t k = 0; k < s.total; k++)
      add(&s, k);
    return s.out;
  }
  add(&s, s.total - 1);
  add(&s, 0);
  for (int k = 0; k < FEWEST_LINES || s.out.n < s.room / 2; k++) {
    int64_t point = k == 0 ? 0 : k == 1 ? s.total - 1 : draw(&s, s.total);
    for (int d = 0; d < rank; d++)
      add_line(&s, point, d, line);
    if (s.out.n == s.room)
      break;
  }
  while (s.out.n < s.room)
    add(&s, draw(&s, s.total));
  sort_unique(&s.out);
  return s.out;
}
