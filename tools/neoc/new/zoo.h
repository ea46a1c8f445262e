/* The models that come with the compiler, as texts to start from: share/neo/zoo and share/neo/gallery. Private to tools/neoc/new. */
#pragma once
#include "tools/neoc/neoc.h"

typedef struct {
  const char *name, *folder;
  const char *text; /* of the file */
} neoc_zoo_model;
typedef NEO_VEC(neoc_zoo_model) neoc_zoo;

/* All of them by name, in the arena of `cli`; fails with a message if they are not installed or cannot be read. Modules, files
 * without an entry, are left out. */
neoc_exit neoc_zoo_read(neoc_cli *cli, neoc_zoo *zoo);

/* Null: there is none. */
const neoc_zoo_model *neoc_zoo_find(const neoc_zoo *zoo, const char *name);

/* "a, b or c": the names that are like this one, or contain it, at most three; "" if there is none. */
const char *neoc_zoo_near(neo_arena *a, const neoc_zoo *zoo, const char *name);

/* The comment that the text begins with, in one line; "" without one. */
const char *neoc_zoo_comment(neo_arena *a, const char *text);
/* Its first sentence. */
const char *neoc_zoo_summary(neo_arena *a, const char *text);

/* The lines of the text that begin with the word, as "dim" or "input". */
const char *neoc_zoo_lines(neo_arena *a, const char *text, const char *word);

/* Names behind `import` in the text. */
neoc_texts neoc_zoo_imports(neo_arena *a, const char *text);
