/* The cache of compiled code: results of compilations, each under a key, which is a hash of all
 * that the result depends on. An entry is a file of a folder,
 *
 *   neo-code 1 KEY BYTES CHECKSUM
 *   ... BYTES bytes, whose 128-bit hash is CHECKSUM
 *
 * named KEY.KIND. Concurrent use is safe:
 *
 *   writers    make a temporary in the folder and rename it, so that an entry is there whole or not
 *              at all; two that make the same entry at once make the same bytes.
 *   readers    take no lock. An entry counts only if it is a regular file of this user that nobody
 *              else may write, has the right key, and its checksum is right. Damaged entries are
 *              removed.
 *   the limit  is kept by writers: they count what they add in the file `counts`, under its lock,
 *              and, beyond the limit, remove the entries that were not used for longest.
 *              A reader of one of them has it open, or finds that it is gone.
 *   failures   of any kind are a miss. Writing ends for this process with the first one.
 *
 * The user's own cache is the folder $XDG_CACHE_HOME/neo/code, or ~/.cache/neo/code; NEO_CODE_CACHE
 * names another one, or is `none`. Its limit is NEO_CODE_CACHE_BYTES (1073741824; with K, M, G). */
#pragma once
#include "base/file.h"
#include <stdint.h>

typedef struct neo_code_cache neo_code_cache;

/* The kind of an entry, which is the suffix of its file. */
typedef enum {
  NEO_CODE_KERNEL,   /* object code of a kernel */
  NEO_CODE_INPUTS,   /* names of the files that a compilation looked for */
  NEO_CODE_BUILD,    /* all results of a compilation */
  NEO_CODE_SCHEDULE, /* the analytic model's schedule of a group */
  NEO_CODE_KINDS
} neo_code_kind;
typedef struct {
  neo_code_kind kind;
  uint64_t hash[2];
} neo_code_key;

/* The hash of a text as a key. */
neo_code_key neo_code_key_of(neo_code_kind kind, const char *text, size_t n);

/* The folder of the user's cache. Null: the user wants none, or no place for one was found. */
const char *neo_code_place(neo_arena *a);
/* The limit in bytes, by NEO_CODE_CACHE_BYTES; a value that is no number is ignored. */
int64_t neo_code_limit(void);
/* Parses a number of bytes, at least 0: "512", "64K", "3G". False: the text is none, or the number
 * exceeds i64. */
bool neo_code_parse_bytes(const char *text, int64_t *out);

/* Opens the cache in this folder, which is made with the first entry. The cache is in the arena;
 * neo_code_close closes it. Several threads may use it at once, each with an arena of its own.
 * Null, and *why: the folder cannot be trusted, because it is another user's, or others may write
 * it. */
neo_code_cache *neo_code_open(const neo_io *io, neo_arena *a, const char *folder,
                              int64_t limit_bytes, const char **why);
/* Adds the counts of hits and misses to those in the folder, and frees what it holds. Null is
 * fine. */
void neo_code_close(neo_code_cache *x);

/* Reads an entry into the arena, with a NUL after it; false: there is none. */
bool neo_code_get(neo_code_cache *x, neo_code_key key, neo_arena *a, const char **data, size_t *n);
/* Adds or replaces an entry. `synced`: it is on the disk when this returns. */
void neo_code_put(neo_code_cache *x, neo_code_key key, const void *data, size_t n, bool synced);
/* The first failure to write, with the path; null: none. */
const char *neo_code_failure(neo_code_cache *x, neo_arena *a);

/* ---- its size, and a limit for it (code_limit.c) */

typedef struct {
  size_t entries[NEO_CODE_KINDS];
  int64_t bytes[NEO_CODE_KINDS]; /* bytes of files, in blocks of 4096 */
  uint64_t hits, misses;         /* since the folder was made, or cleared */
  int64_t oldest; /* the time of use of the entry that was not used for longest; 0: no entry */
} neo_code_usage;

/* Counts the entries of the folder. NEO_IO: the reason is in errno. */
neo_status neo_code_survey(neo_arena *a, const char *folder, neo_code_usage *out) NEO_MUST_CHECK;

typedef struct {
  int64_t most_bytes; /* the size to keep; -1: any */
  int64_t oldest;     /* seconds since 1970: entries used later are kept; 0: all */
  bool dry;           /* remove nothing */
  bool counts;        /* reset the counts of hits and misses */
} neo_code_bounds;
/* Removes the entries that were used before `oldest`, then those not used for longest until the
 * rest is no larger than `most_bytes`, and temporaries of killed writers. *removed, *kept: numbers
 * of entries. A failure may leave some entries removed. */
neo_status neo_code_prune(neo_arena *a, const char *folder, const neo_code_bounds *bounds,
                          size_t *removed, size_t *kept) NEO_MUST_CHECK;
