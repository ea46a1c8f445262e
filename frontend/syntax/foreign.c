/* See foreign.h. */
#include "frontend/syntax/foreign.h"
#include "base/str.h"
#include <stddef.h>
#include <string.h>

typedef struct {
  const char *word;
  neo_foreign_kind kind;
  const char *help;
} foreign_word;

static const foreign_word words[] = {
#define X(word, kind, help) {word, NEO_FOREIGN_##kind, help},
#include "frontend/syntax/foreign.def"
#undef X
};
enum { N_WORDS = sizeof words / sizeof *words };

static const foreign_word *find(const char *word) {
  for (size_t k = 0; k < N_WORDS; k++)
    if (neo_streq(words[k].word, word))
      return &words[k];
  return NULL;
}

const char *neo_foreign_help(const char *word) {
  const foreign_word *w = find(word);
  return w ? w->help : NULL;
}

const char *neo_foreign_help_of(const char *word, neo_foreign_kind kind) {
  const foreign_word *w = find(word);
  return w && w->kind == kind ? w->help : NULL;
}

const char *neo_foreign_near(const char *word) {
  const char *best = NULL;
  int least = (int)(strlen(word) / 3); /* any word would be near a short one */
  least = least > 2 ? 2 : least;
  for (size_t k = 0; k < N_WORDS; k++) {
    int d = least > 0 ? neo_str_distance(word, words[k].word, least) : 1;
    if (d <= least) {
      best = words[k].word;
      least = d - 1;
    }
  }
  return best;
}
