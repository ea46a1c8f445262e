/* Fuzzes the readers of .npy and .npz: no input crashes, leaks or allocates beyond its own size. */
#include "runtime/internal.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
  neo_rt_array a;
  char error[256];
  bool zip = n >= 2 && memcmp(p, "PK", 2) == 0;
  if (zip)
    neo_rti_npz_parse(&neo_alloc_default, p, n, NULL, &a, error, sizeof error);
  else
    neo_rt_npy_parse(p, n, &a, error, sizeof error);
  neo_rt_array_free(&a);
  return 0;
}
