/* A program with commands and options, as tables, from which come its help, its man page, the
 * completion of shells, and the parsing of options. neo-cache and neoc are such programs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  const char *name, *value; /* value: the word for it in help; null: the option takes none */
  const char *commands;     /* words, or "*": all */
  const char *meaning;
  char letter; /* or 0 */
} neo_usage_option;

typedef struct {
  const char *name, *args, *meaning;
} neo_usage_command;

typedef struct { /* a heading above the options of a command, from this one on */
  size_t first;
  const char *heading;
} neo_usage_section;

typedef struct { /* lines after the options of a command, on its arguments */
  const char *command, *text;
} neo_usage_note;

typedef struct {
  const char *program;             /* as typed: "neoc", "neoc cache" */
  const char *page, *version;      /* name and version on the man page */
  const char *what;                /* the program in a few words */
  const char *about, *exits;       /* a sentence; lines */
  const neo_usage_option *options; /* numbered as in the program's own table */
  const neo_usage_command *commands;
  const neo_usage_note *notes;       /* may be null */
  const neo_usage_section *sections; /* by `first`; may be null */
  size_t n_options, n_commands, n_notes, n_sections;
} neo_usage;

/* Whether a command has the option. */
bool neo_usage_applies(const neo_usage_option *o, const char *command);

/* Prints help on a command; null: on the program. */
void neo_usage_print(const neo_usage *u, const neo_usage_command *command, FILE *out);
/* Prints the man page to stdout. */
void neo_usage_man(const neo_usage *u);
/* Prints the script for completion in bash, zsh or fish; false: another shell. (completion.c) */
bool neo_usage_completion(const neo_usage *u, const char *shell, FILE *out);

/* The nearest name; null: none is near. */
const char *neo_usage_nearest_command(const neo_usage *u, const char *name);
const char *neo_usage_nearest_option(const neo_usage *u, const char *command, const char *name);

/* Parsing the options of one command, word by word (usage_read.c). */
typedef enum {
  NEO_USAGE_END,     /* no more: the first n_args of argv are the arguments that are no options */
  NEO_USAGE_OPTION,  /* `option`, with `value` ("" if it takes none) */
  NEO_USAGE_UNKNOWN, /* `word` is no option, or the beginning of several */
  NEO_USAGE_LACKS_VALUE,
  NEO_USAGE_TAKES_NONE
} neo_usage_found;

typedef struct {
  const neo_usage *usage;
  const char *command;
  char **argv; /* its words are reordered */
  int argc, at, n_args;
  bool plain;       /* after "--", where all words are arguments */
  const char *rest; /* letters that follow in a word of several; null: none */
  char letter[3];
  size_t option;
  const char *value, *word; /* word: the present one */
} neo_usage_reader;

/* Begins with argv[0] as the first word; r keeps pointers to its arguments, which the caller
 * owns. */
void neo_usage_begin(neo_usage_reader *r, const neo_usage *u, const char *command, int argc,
                     char **argv);
/* Reads the next option; the kind of what was found, with its parts in r. */
neo_usage_found neo_usage_next(neo_usage_reader *r);
