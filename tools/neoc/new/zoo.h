/* Models that come with the compiler, as texts to start from: share/neo/zoo and share/neo/gallery.
 * Private to tools/neoc/new. */
#pragma once
#include "tools/neoc/neoc.h"

typedef struct {
  const char *name, *folder;
  const char *text; /* the file's text */
} neoc_zoo_model;
typedef NEO_VEC(neoc_zoo_model) neoc_zoo;

/* Reads all models, by name, into the arena of `cli`; fails with a message if they are not
 * installed or cannot be read. Modules, which have no entry, are left out. */
neoc_exit neoc_zoo_read(neoc_cli *cli, neoc_zoo *zoo);

/* The model of this name; null: there is none. */
const neoc_zoo_model *neoc_zoo_find(const neoc_zoo *zoo, const char *name);

/* "a, b or c": at most three names that are similar to this one, or contain it; "" if there is
 * none. */
const char *neoc_zoo_near(neo_arena *a, const neoc_zoo *zoo, const char *name);

/* The comment at the beginning of the text, in one line; "" without one. */
const char *neoc_zoo_comment(neo_arena *a, const char *text);
/* The first sentence of that comment. */
const char *neoc_zoo_summary(neo_arena *a, const char *text);

/* The lines of the text that begin with the word, such as "dim" or "input". */
const char *neoc_zoo_lines(neo_arena *a, const char *text, const char *word);

/* The names after `import` in the text. */
neoc_texts neoc_zoo_imports(neo_arena *a, const char *text);
