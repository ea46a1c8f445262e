/* Run-time sizes that obey the model's assertions. */
#include "tools/neoc/run/runner.h"

enum { FAR = 4096 };

/* Counts the assertions that hold. */
static size_t holding(const neo_module *m, const int64_t *sizes) {
  size_t n = 0;
  for (size_t k = 0; k < m->asserts.n; k++)
    n += neo_size_value(m, m->asserts.at[k].holds, sizes) != 0;
  return n;
}

/* Moves a size to its nearest value with which more assertions hold; false: there is none. */
static bool move(const neo_module *m, uint32_t size, int64_t *sizes) {
  const neo_size_rec *rec = &m->sizes.at[size];
  int64_t was = sizes[size];
  size_t now = holding(m, sizes);
  for (int64_t d = 1; d < FAR; d++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      sizes[size] = was + sign * d;
      if (sizes[size] >= rec->lo && sizes[size] <= rec->hi && holding(m, sizes) > now)
        return true;
    }
  sizes[size] = was;
  return false;
}

void neoc_sizes_settle(const neo_module *m, const int64_t *fixed, int64_t *sizes) {
  for (bool better = true; better && holding(m, sizes) < m->asserts.n;) {
    better = false;
    for (uint32_t k = 1; k < m->sizes.n && !better; k++)
      better = fixed[k] < 0 && m->sizes.at[k].kind == NEO_SIZE_RUNTIME && move(m, k, sizes);
  }
}
