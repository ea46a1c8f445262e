/* array.c: arrays in memory (creation, conversion, rows), and creation of tables of tensors. */
#include "runtime/files.h"
#include <string.h>

neo_rt_status neo_rti_array_alloc(const neo_alloc *alloc, neo_rt_array *a) {
  int64_t n = (int64_t)neo_rti_type_bytes(a->type);
  if (n == 0)
    return NEO_TYPE;
  if (a->rank > NEO_RTI_MAX_RANK)
    return NEO_SHAPE;
  bool empty = false;
  for (int d = 0; d < a->rank; d++) {
    if (a->extent[d] < 0)
      return NEO_SHAPE;
    empty |= a->extent[d] == 0;
  }
  for (int d = 0; !empty && d < a->rank; d++)
    if (!neo_rti_mul(n, a->extent[d], &n))
      return NEO_SHAPE;
  a->size_bytes = empty ? 0 : (size_t)n;
  a->data = alloc->resize(alloc->ctx, NULL, a->size_bytes ? a->size_bytes : 1);
  return a->data ? NEO_OK : NEO_MEMORY;
}

void neo_rt_array_free(neo_rt_array *a) {
  if (!a)
    return;
  if (a->data)
    NEO_RTI_FREE(&neo_alloc_default, a->data);
  memset(a, 0, sizeof *a);
}

neo_rt_status neo_rt_array_convert(const neo_rt_array *from, uint8_t type, neo_rt_array *out) {
  if (!from || !out)
    return NEO_NULL;
  size_t bytes = neo_rti_type_bytes(type), from_bytes = neo_rti_type_bytes(from->type);
  if (bytes == 0 || from_bytes == 0)
    return NEO_TYPE;
  neo_rt_array made = *from;
  made.type = type;
  neo_rt_status status = neo_rti_array_alloc(&neo_alloc_default, &made);
  if (status)
    return status;
  neo_rti_convert(from->type, from->data, type, made.data,
                  (int64_t)(from->size_bytes / from_bytes));
  *out = made;
  return NEO_OK;
}

void neo_rt_gather(const neo_rt_array *array, const int64_t *rows, int64_t n, void *out) {
  size_t row = neo_rti_type_bytes(array->type);
  for (int d = 1; d < array->rank; d++)
    row *= (size_t)array->extent[d];
  for (int64_t i = 0; i < n && row > 0; i++)
    memcpy((char *)out + (size_t)i * row, (const char *)array->data + (size_t)rows[i] * row, row);
}

void neo_rti_file_tensors_free(neo_rti_file_tensors *t) {
  if (t->tensors)
    NEO_RTI_FREE(&t->alloc, t->tensors);
  if (t->meta)
    NEO_RTI_FREE(&t->alloc, t->meta);
  if (t->text)
    NEO_RTI_FREE(&t->alloc, t->text);
  memset(t, 0, sizeof *t);
}
