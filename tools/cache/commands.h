/* Shared by the commands of neo-cache. cli.c has the table of commands, and parses the command line
 * by it; each command is a function of show.c or edit.c; these read files through files.c, and
 * messages.c prints errors. */
#pragma once
#include "tools/cache/set.h"
#include "tools/cache/usage.h"

typedef enum {
  CACHE_OK = 0,
  CACHE_FAILED = 1,
  CACHE_USAGE = 2,
  CACHE_IO = 3,
  CACHE_MEMORY = 4
} cache_exit;

typedef enum {
#define X(id, name, letter, value, commands, meaning) CACHE_O_##id,
#include "tools/cache/options.def"
#undef X
  CACHE_O_COUNT
} cache_option;

typedef struct {
  const char *program, *version;
  neo_arena *arena;
  const neo_usage_command *command;
  const char *value[CACHE_O_COUNT]; /* null: not given; "" for options without a value */
  char **args;
  int n_args;
  bool json;
  double most_ratio; /* most ratio of a record's time to the default's, by --gain; infinite without
                        it */
} cache_cli;

#define X(id, name, args, function, meaning) cache_exit function(cache_cli *cli);
#include "tools/cache/commands.def"
#undef X

/* ---- messages.c */
/* Prints a message to stderr; returns `code`. */
cache_exit cache_fail(const cache_cli *cli, cache_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints a message about the command line and a hint at --help to stderr; returns the exit code for
 * that. */
cache_exit cache_usage(const cache_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A whole number of at least 0; reports a value that is none. */
cache_exit cache_number(const cache_cli *cli, cache_option o, int64_t *x);

/* ---- files.c */
/* The user's own file; null after a report. */
const char *cache_own_file(const cache_cli *cli);
/* Flags for a file: the user's own is private. */
unsigned cache_flags(const cache_cli *cli, const char *path);
/* Reads the files named from argument `first` on; none: the user's own, which may be missing.
 * Damage is reported on stderr. */
cache_exit cache_load(cache_cli *cli, int first, neo_records *out);
/* Reads one file, which may be JSON. */
cache_exit cache_load_any(cache_cli *cli, const char *path, neo_records *out);
/* Whether the record matches --name, --target, --build and --gain. */
bool cache_wanted(const cache_cli *cli, const neo_record *r);
/* Marks the best record for each such question; in the set's arena. */
bool *cache_best(const neo_records *s);
