/* Rows of opened data: their order in an epoch, and their values. */
#include "runtime/shuffle.h"
#include "tools/neoc/train/stream.h"
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

/* Reads rows from a file. They are checked as they were when the file was opened, since it may have
 * changed. */
static neoc_exit gather_stream(neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                               void *out) {
  neo_rt_array x;
  neoc_exit e = neoc_prefetch_take(d, order, n);
  if (!e)
    e = neoc_prefetch_rows(d, tensor, n, &x);
  if (e)
    return e;
  e = neoc_data_convert_part(d, tensor, 0, &x);
  if (!e)
    memcpy(out, x.data, x.size_bytes);
  neo_rt_array_free(&x);
  return e;
}

neoc_exit neoc_data_gather(neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                           void *out) {
  const neoc_source *s = &d->source[tensor];
  if (s->stream)
    return gather_stream(d, tensor, order, n, out);
  if (!s->window) {
    neo_rt_gather(&s->array, order, n, out);
    return NEOC_OK;
  }
  size_t element = s->array.size_bytes / (size_t)s->array.extent[0];
  size_t bytes = element * (size_t)s->window;
  for (int64_t k = 0; k < n; k++)
    memcpy((char *)out + (size_t)k * bytes,
           (const char *)s->array.data + (size_t)(order[k] + s->shift) * element, bytes);
  return NEOC_OK;
}
