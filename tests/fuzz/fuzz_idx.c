/* Fuzzes the reader of IDX, plain and gzipped. */
#include "runtime/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
  neo_rt_array a;
  char error[256];
  if (neo_rt_idx_parse(p, n, &a, error, sizeof error) == NEO_OK)
    neo_rt_array_free(&a);
  return 0;
}
