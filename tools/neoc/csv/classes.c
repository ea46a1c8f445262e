/* Names of classes as integers: the different names of a table in the order of their bytes, so that
 * the numbers do not depend on the order of rows. */
#include "tools/neoc/csv/parts.h"
#include <stdlib.h>
#include <string.h>

static int compare(const char *a, size_t n, const char *b, size_t m) {
  int c = memcmp(a, b, n < m ? n : m);
  return c ? c : (n > m) - (n < m);
}

static int by_text(const void *a, const void *b) {
  const neoc_csv_field *x = a, *y = b;
  return compare(x->at, x->n, y->at, y->n);
}

neoc_texts neoc_csv_classes(neo_arena *a, const neoc_csv_cells *cells) {
  neoc_texts out = {0};
  neoc_csv_field *all = NEO_NEW_ARRAY(a, neoc_csv_field, cells->n + 1);
  for (size_t k = 0; k < cells->n; k++)
    all[k] = cells->at[k].field;
  qsort(all, cells->n, sizeof *all, by_text);
  for (size_t k = 0; k < cells->n; k++)
    if (k == 0 || by_text(&all[k - 1], &all[k]) != 0)
      NEO_PUSH(a, &out, neo_arena_strndup(a, all[k].at, all[k].n));
  return out;
}

int64_t neoc_csv_class_of(const neoc_texts *classes, neoc_csv_field f) {
  size_t lo = 0, hi = classes->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    int c = compare(f.at, f.n, classes->at[mid], strlen(classes->at[mid]));
    if (c == 0)
      return (int64_t)mid;
    if (c < 0)
      hi = mid;
    else
      lo = mid + 1;
  }
  return -1;
}
