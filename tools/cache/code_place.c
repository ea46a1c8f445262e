/* The folder of the user's code cache, its limit (both from variables of the environment), and
 * whether its files may be used. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "base/str.h"
#include "tools/cache/code_parts.h"
#include "tools/cache/set.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_BYTES = 1 << 30 };

const char *const neo_code_suffixes[NEO_CODE_KINDS] = {"kernel", "inputs", "build", "schedule"};

bool neo_code_is_own(const struct stat *st) {
  return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

const char *neo_code_place(neo_arena *a) {
  const char *named = secure_getenv("NEO_CODE_CACHE");
  if (named && *named)
    return neo_streq(named, "none") ? NULL : neo_arena_strdup(a, named);
  const char *records = neo_records_place(a);
  return records ? neo_path_join(a, neo_path_folder(a, records), "code") : NULL;
}

bool neo_code_parse_bytes(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (errno || end == text || n < 0 || end[shift != 0] || n > INT64_MAX >> shift)
    return false;
  *out = (int64_t)n << shift;
  return true;
}

int64_t neo_code_limit(void) {
  const char *text = secure_getenv("NEO_CODE_CACHE_BYTES");
  int64_t n;
  return text && neo_code_parse_bytes(text, &n) ? n : DEFAULT_BYTES;
}
