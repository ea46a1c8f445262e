#include "fusion/group.h"

static const struct {
  const char *text, *meaning;
} kinds[] = {
#define X(name, text, rules, meaning) {text, meaning},
#include "fusion/kinds.def"
#undef X
};

const char *neo_fuse_kind_text(neo_fuse_kind k) {
  return kinds[k].text;
}

const char *neo_fuse_kind_meaning(neo_fuse_kind k) {
  return kinds[k].meaning;
}
