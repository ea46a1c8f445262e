/* Names of other libraries, and how to write them in this language (foreign.def). */
#pragma once

typedef enum {
  NEO_FOREIGN_FUNCTION,
  NEO_FOREIGN_REDUCER,
  NEO_FOREIGN_ATTRIBUTE,
  NEO_FOREIGN_MODULE
} neo_foreign_kind;

/* The text that replaces the word here; NULL: the word is not in the table. */
const char *neo_foreign_help(const char *word);
/* The same for words of one kind. Null: the word has no row of this kind. Constant text. */
const char *neo_foreign_help_of(const char *word, neo_foreign_kind kind);
/* The word of the table that is nearest to an unknown word; null: none is near. */
const char *neo_foreign_near(const char *word);
