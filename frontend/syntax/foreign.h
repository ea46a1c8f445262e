/* How other libraries' words are written in this language (foreign.def). */
#pragma once
#include <stdbool.h>

typedef enum {
  NEO_FOREIGN_FUNCTION,
  NEO_FOREIGN_REDUCER,
  NEO_FOREIGN_ATTRIBUTE,
  NEO_FOREIGN_MODULE
} neo_foreign_kind;

/* How what the word stands for is written here; NULL for a word that is not in the table. */
const char *neo_foreign_help(const char *word);
/* The same for words of one kind only. */
const char *neo_foreign_help_of(const char *word, neo_foreign_kind kind);
/* The word of the table that is nearest to one which it does not have; null: none is near. */
const char *neo_foreign_near(const char *word);
