/* The folder of the user's records, and whether it can be trusted: it belongs to the user, and
 * nobody else may write there. Records are data (a schedule from them is checked before it is
 * used), but whoever writes them decides how fast the user's models are. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "tools/cache/file.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *absolute(const char *variable) {
  const char *text = secure_getenv(variable);
  return text && text[0] == '/' ? text : NULL;
}

char *neo_records_place(neo_arena *a) {
  const char *cache = absolute("XDG_CACHE_HOME"), *home = absolute("HOME");
  if (cache)
    return neo_path_join(a, cache, "neo/records");
  return home ? neo_path_join(a, home, ".cache/neo/records") : NULL;
}

neo_status neo_records_make_folder(neo_arena *a, const char *path, unsigned flags) {
  const char *folder = neo_path_folder(a, path);
  if (neo_path_exists(folder))
    return NEO_OK;
  if (!(flags & NEO_RECORDS_PRIVATE))
    return neo_path_make_folder(folder);
  neo_status s = neo_path_make_folder(neo_path_folder(a, folder));
  return s || mkdir(folder, 0700) == 0 || errno == EEXIST ? s : NEO_IO;
}

static bool owned(neo_arena *a, const char *path, const struct stat *st, const char **why) {
  if (st->st_uid != geteuid())
    *why = neo_arena_printf(a, "%s: belongs to another user", path);
  else if (st->st_mode & (S_IWGRP | S_IWOTH))
    *why = neo_arena_printf(a, "%s: others may write it", path);
  else
    return true;
  return false;
}

bool neo_records_trusted(neo_arena *a, const char *path, const char **why) {
  struct stat st;
  const char *folder = neo_path_folder(a, path);
  if (stat(folder, &st) == 0 && !owned(a, folder, &st, why))
    return false;
  if (lstat(path, &st) != 0)
    return true; /* opening it tells why */
  if (!S_ISREG(st.st_mode)) {
    *why = neo_arena_printf(a, "%s: no regular file", path);
    return false;
  }
  return owned(a, path, &st, why);
}
