/* Shared by the files of the code cache. Private to tools/cache. */
#pragma once
#include "tools/cache/code.h"
#include <stdatomic.h>
#include <sys/stat.h>

struct neo_code_cache {
  const neo_io *io;
  char *folder;
  int64_t limit_bytes;
  atomic_uint_least64_t hits, misses, number; /* number: of the next temporary */
  atomic_int failed;                          /* errno of the first failure of writing; 0: none */
};

enum { NEO_CODE_HEAD_BYTES = 96, NEO_CODE_NAME_BYTES = 48 };

/* The suffixes of files, by kind. (code_place.c) */
extern const char *const neo_code_suffixes[NEO_CODE_KINDS];
/* Whether the file or folder may be used: it is the user's, and nobody else may write it.
 * (code_place.c) */
bool neo_code_is_own(const struct stat *st);
/* Counts bytes that are about to be written, and makes room for them. False: the limit is too small
 * for such an entry. (code_limit.c) */
bool neo_code_reserve(neo_code_cache *x, int64_t bytes);
/* Adds the hits and misses to those in the folder. (code_limit.c) */
void neo_code_count(neo_code_cache *x);
