#include "tools/neoc/cli/renamed.h"
#include "base/str.h"
#include <stddef.h>

static const struct {
  neoc_renamed what;
  const char *old, *now;
} names[] = {
#define X(what, old, now) {NEOC_RENAMED_##what, old, now},
#include "tools/neoc/cli/renamed.def"
#undef X
};

const char *neoc_renamed_to(neoc_renamed what, const char *name) {
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (names[k].what == what && neo_streq(names[k].old, name))
      return names[k].now;
  return NULL;
}
