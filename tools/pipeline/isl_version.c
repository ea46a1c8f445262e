/* The version of isl that runs. isl's own text ends with a newline. */
#include "tools/pipeline/compile.h"
#include <isl/version.h>

const void *neo_isl_place(void) {
  return (const void *)(uintptr_t)isl_version;
}

const char *neo_isl_version_text(neo_arena *a) {
  const char *text = isl_version();
  size_t n = 0;
  while (text[n] && text[n] != '\n')
    n++;
  return neo_arena_strndup(a, text, n);
}
