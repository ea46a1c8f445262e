#include "fusion/group.h"

static const char *const kinds[] = {
#define X(name, text, rules, meaning) text,
#include "fusion/kinds.def"
#undef X
};

const char *neo_fuse_kind_text(neo_fuse_kind k) {
  return kinds[k];
}
