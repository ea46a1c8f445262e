/* The cache of compiled code: what compilations made, each under a key, a hash of all that it
 * depends on. An entry is a file of a folder,
 *
 *   neo-code 1 KEY BYTES CHECKSUM
 *   ... BYTES bytes, whose 128-bit hash is CHECKSUM
 *
 * named KEY.KIND. What is safe, and why:
 *
 *   writers    make a temporary in the folder and rename it, so that an entry is there whole or not
 *              at all; two that make the same entry at once make the same bytes.
 *   readers    take no lock. An entry counts only if it is a regular file of this user that nobody
 *              else may write, has the key that was asked for, and its checksum is right. What is
 *              damaged is removed.
 *   the limit  is kept by writers: they count what they add in the file `counts`, under its lock,
 *              and where that is more than the limit, entries that were not used for longest go.
 *              Whoever reads one of them has it open, or finds that it is gone.
 *   failures   of any kind are a miss. Writing ends for this process with the first one.
 *
 * The user's own cache is the folder $XDG_CACHE_HOME/neo/code, or ~/.cache/neo/code; NEO_CODE_CACHE
 * names another one, or is `none`. It may have NEO_CODE_CACHE_BYTES (1073741824; with K, M, G). */
#pragma once
#include "base/file.h"
#include <stdint.h>

typedef struct neo_code_cache neo_code_cache;

/* What an entry is: a suffix of its file. */
typedef enum {
  NEO_CODE_KERNEL,   /* object code of a kernel */
  NEO_CODE_INPUTS,   /* names of the files that a compilation looked for */
  NEO_CODE_BUILD,    /* all that it made */
  NEO_CODE_SCHEDULE, /* the analytic model's schedule of a group */
  NEO_CODE_KINDS
} neo_code_kind;
typedef struct {
  neo_code_kind kind;
  uint64_t hash[2];
} neo_code_key;

/* The hash of a text as a key. */
neo_code_key neo_code_key_of(neo_code_kind kind, const char *text, size_t n);

/* The folder of the user's cache: null where there is to be none, or no place for one. */
const char *neo_code_place(neo_arena *a);
/* Bytes, by NEO_CODE_CACHE_BYTES; what is no number is passed over. */
int64_t neo_code_limit(void);
/* "512", "64K", "3G": a number of bytes, at least 0. */
bool neo_code_parse_bytes(const char *text, int64_t *out);

/* The cache in this folder, which is made when the first entry is. It lives in the arena, and is
 * closed by neo_code_close. Several threads may use it at once, each with an arena of its own.
 * Null, and *why, if the folder cannot be trusted: it is another user's, or others may write it. */
neo_code_cache *neo_code_open(const neo_io *io, neo_arena *a, const char *folder,
                              int64_t limit_bytes, const char **why);
/* Counts hits and misses, and frees what it holds. Null is fine. */
void neo_code_close(neo_code_cache *x);

/* The entry in the arena, a NUL after it; false: there is none. */
bool neo_code_get(neo_code_cache *x, neo_code_key key, neo_arena *a, const char **data, size_t *n);
/* Adds or replaces an entry. `synced`: it is on the disk when this returns. */
void neo_code_put(neo_code_cache *x, neo_code_key key, const void *data, size_t n, bool synced);
/* Why nothing could be written, with the path; null: nothing failed. */
const char *neo_code_failure(neo_code_cache *x, neo_arena *a);

/* ---- looking at it, and making it smaller (code_limit.c) */

typedef struct {
  size_t entries[NEO_CODE_KINDS];
  int64_t bytes[NEO_CODE_KINDS]; /* of files, in blocks of 4096 */
  uint64_t hits, misses;         /* since the folder was made, or cleared */
  int64_t oldest; /* when that was used which was not used for longest; 0: there is nothing */
} neo_code_usage;

/* What the folder has. NEO_IO: errno tells why. */
neo_status neo_code_survey(neo_arena *a, const char *folder, neo_code_usage *out) NEO_MUST_CHECK;

typedef struct {
  int64_t most_bytes; /* what may stay; -1: all */
  int64_t oldest;     /* what was used later may stay, in seconds since 1970; 0: all */
  bool dry;           /* remove nothing */
  bool counts;        /* hits and misses are counted anew */
} neo_code_bounds;
/* Removes the entries that were used before `oldest`, then those not used for longest until the
 * rest is no larger than `most_bytes`; and what killed writers left. *removed, *kept: entries. */
neo_status neo_code_prune(neo_arena *a, const char *folder, const neo_code_bounds *bounds,
                          size_t *removed, size_t *kept) NEO_MUST_CHECK;
