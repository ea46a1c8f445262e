/* The table of kinds. */
#include "network/network.h"

static const char *const texts[] = {
#define X(kind, text, moves, meaning) text,
#include "network/nodes.def"
#undef X
};

static const bool move[] = {
#define X(kind, text, moves, meaning) moves,
#include "network/nodes.def"
#undef X
};

const char *neo_net_kind_text(neo_net_kind k) {
  return texts[k];
}

bool neo_net_kind_moves(neo_net_kind k) {
  return move[k];
}

bool neo_net_kind_of_text(const char *text, neo_net_kind *k) {
  for (uint32_t i = 0; i < NEO_NET_KINDS; i++) {
    if (neo_streq(text, texts[i])) {
      *k = (neo_net_kind)i;
      return true;
    }
  }
  return false;
}
