/* Paths and folders. */
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool neo_path_exists(const char *path) {
  return access(path, F_OK) == 0;
}

bool neo_path_is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static neo_status make_one(const char *path) {
  if (mkdir(path, 0777) == 0)
    return NEO_OK;
  int why = errno;
  if (neo_path_is_folder(path))
    return NEO_OK;
  errno = why;
  return NEO_IO;
}

neo_status neo_path_make_folder(const char *path) {
  char part[4096];
  size_t n = strlen(path);
  if (n == 0 || n >= sizeof part) {
    errno = n == 0 ? ENOENT : ENAMETOOLONG;
    return NEO_IO;
  }
  memcpy(part, path, n + 1);
  for (size_t i = 1; i < n; i++) {
    if (part[i] != '/')
      continue;
    part[i] = '\0';
    if (make_one(part) != NEO_OK)
      return NEO_IO;
    part[i] = '/';
  }
  return make_one(part);
}

const char *neo_path_plain(neo_arena *a, const char *path) {
  return *path == '-' || *path == '@' ? neo_arena_printf(a, "./%s", path) : path;
}

char *neo_path_join(neo_arena *a, const char *folder, const char *name) {
  size_t n = strlen(folder);
  if (n == 0 || name[0] == '/')
    return neo_arena_strdup(a, name);
  return neo_arena_printf(a, folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

char *neo_path_folder(neo_arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    return neo_arena_strdup(a, ".");
  return neo_arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
}

const char *neo_path_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

char *neo_path_stem(neo_arena *a, const char *path) {
  const char *name = neo_path_name(path);
  const char *dot = strrchr(name, '.');
  return neo_arena_strndup(a, name, dot && dot != name ? (size_t)(dot - name) : strlen(name));
}
