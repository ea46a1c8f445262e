/* Fuzzes the readers of .npy and .npz: no input crashes, leaks or allocates beyond its own size. */
#include "runtime/files.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
  neo_rt_array a;
  char error[256];
  neo_rti_source s = {&neo_alloc_default, p, n, NULL, error, sizeof error};
  bool zip = n >= 2 && memcmp(p, "PK", 2) == 0;
  if (neo_rti_format_named(zip ? "npz" : "npy")->read_array(&s, &a) == NEO_OK)
    neo_rt_array_free(&a);
  return 0;
}
