/* Fuzzes the reader of safetensors, and checks what it promises: tensors lie within the data, one
 * after the other, with sizes that match their shapes. */
#include "runtime/internal.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(const neo_rti_st *st) {
  size_t total = 0;
  for (size_t i = 0; i < st->n_tensors; i++) {
    const neo_rti_st_tensor *t = &st->tensors[i];
    size_t bytes = neo_rti_st_type_bytes(t->type);
    for (int d = 0; d < t->rank; d++)
      bytes *= (size_t)t->extent[d];
    if (t->begin > t->end || t->end > st->data_bytes || t->end - t->begin != bytes)
      abort();
    total += bytes;
  }
  if (total != st->data_bytes)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
  neo_rti_st st;
  char error[256];
  if (neo_rti_st_parse(&neo_alloc_default, p, n, &st, error, sizeof error) == NEO_OK)
    check(&st);
  neo_rti_st_free(&st);
  return 0;
}
