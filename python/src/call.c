/* call.c: neo_rt_call from Python. */
#include "python/src/core.h"

int32_t neo_py_call(neo_rt_ctx *c, int32_t entry, const int64_t *sizes, void *const *args,
                    int64_t *last_ns) {
  (void)last_ns;
  int32_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = neo_rt_call(c, entry, sizes, args);
  Py_END_ALLOW_THREADS;
  return status;
}
