/* Fuzzes the reader of safetensors, and checks what it promises: tensors lie within the data, one
 * after the other, with sizes that match their shapes. */
#include "runtime/files.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(const neo_rti_file_tensors *st) {
  size_t total = 0;
  for (size_t i = 0; i < st->n_tensors; i++) {
    const neo_rti_file_tensor *t = &st->tensors[i];
    size_t bytes = neo_rti_file_type_bytes(t->type);
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
  neo_rti_file_tensors st;
  char error[256];
  neo_rti_source s = {&neo_alloc_default, p, n, NULL, error, sizeof error};
  if (neo_rti_format_named("safetensors")->read_tensors(&s, &st) == NEO_OK)
    check(&st);
  neo_rti_file_tensors_free(&st);
  return 0;
}
