/* Rows of opened data: their order in an epoch, and their values. */
#include "runtime/shuffle.h"
#include "tools/neoc/train/data.h"
#include <string.h>

void neoc_data_shuffle(const neoc_data *d, uint64_t seed, int64_t epoch, int64_t *order) {
  if (d->places)
    neo_rti_draw(seed, (uint64_t)epoch, d->places, d->rows, order);
  else
    neo_rt_shuffle(seed, (uint64_t)epoch, d->rows, order);
}

void neoc_data_in_order(const neoc_data *d, int64_t *order) {
  for (int64_t k = 0; k < d->rows; k++)
    order[k] = d->places ? k * d->crop_step : k;
}

void neoc_data_gather(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                      void *out) {
  const neoc_source *s = &d->source[tensor];
  if (!s->window) {
    neo_rt_gather(&s->array, order, n, out);
    return;
  }
  size_t element = s->array.size_bytes / (size_t)s->array.extent[0];
  size_t bytes = element * (size_t)s->window;
  for (int64_t k = 0; k < n; k++)
    memcpy((char *)out + (size_t)k * bytes,
           (const char *)s->array.data + (size_t)(order[k] + s->shift) * element, bytes);
}

const char *neoc_data_place(const neoc_data *d, int32_t tensor, int64_t row, int64_t element) {
  const neoc_source *s = &d->source[tensor];
  if (!s->window)
    return neo_arena_printf(d->r->cli->arena, "row %lld of %s", (long long)row, s->path);
  int64_t of = neoc_array_count(&s->array) / s->array.extent[0];
  return neo_arena_printf(d->r->cli->arena, "element %lld of %s",
                          (long long)(row + s->shift + element / of), s->path);
}
