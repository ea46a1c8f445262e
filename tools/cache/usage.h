/* A program of commands with options, as tables: its help, its man page, the completion of shells,
 * and what getopt_long needs. neo-cache and neoc are such programs. */
#ifndef NEO_TOOLS_CACHE_USAGE_H
#define NEO_TOOLS_CACHE_USAGE_H
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  const char *name, *value; /* value: what stands for it, or null: there is none */
  const char *commands;     /* words, or "*": all */
  const char *meaning;
  char letter; /* or 0 */
} neo_usage_option;

typedef struct {
  const char *name, *args, *meaning;
} neo_usage_command;

typedef struct { /* a line above the options of a command from this one on */
  size_t first;
  const char *heading;
} neo_usage_section;

typedef struct { /* lines behind the options of a command: what its arguments may be */
  const char *command, *text;
} neo_usage_note;

typedef struct {
  const char *program;             /* as it is called: "neoc", "neoc cache" */
  const char *page, *version;      /* name and version on the man page */
  const char *what;                /* it is, in a few words */
  const char *about, *exits;       /* a sentence; lines */
  const neo_usage_option *options; /* numbered as in the program's own table */
  const neo_usage_command *commands;
  const neo_usage_note *notes;       /* may be null */
  const neo_usage_section *sections; /* by `first`; may be null */
  size_t n_options, n_commands, n_notes, n_sections;
} neo_usage;

enum { NEO_USAGE_LONG = 256 }; /* getopt_long's answer for option k is this + k */

bool neo_usage_applies(const neo_usage_option *o, const char *command);

/* Help on a command; null: on the program. */
void neo_usage_print(const neo_usage *u, const neo_usage_command *command, FILE *out);
/* To stdout: the page for man. */
void neo_usage_man(const neo_usage *u);
/* The script that completes the command line in bash, zsh or fish; false: another shell.
 * (completion.c) */
bool neo_usage_completion(const neo_usage *u, const char *shell, FILE *out);

/* The name that is nearest to this one, or null: none is near. */
const char *neo_usage_nearest_command(const neo_usage *u, const char *name);
const char *neo_usage_nearest_option(const neo_usage *u, const char *command, const char *name);

/* For getopt_long: the options of a command. `longs` has room for n_options + 1, `letters` for 2 *
 * n_options + 2. A missing value is ':' then. */
void neo_usage_getopt(const neo_usage *u, const char *command, struct option *longs, char *letters);
/* The option that getopt_long found. */
size_t neo_usage_found(const neo_usage *u, const char *command, int found);

#endif
