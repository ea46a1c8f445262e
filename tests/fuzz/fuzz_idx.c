/* Fuzzes the reader of IDX, plain and gzipped. */
#include "runtime/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
  neo_rt_array a;
  char error[256];
  neo_rti_idx_parse(&neo_alloc_default, p, n, &a, error, sizeof error);
  neo_rt_array_free(&a);
  return 0;
}
