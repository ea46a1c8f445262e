/* See temp.h. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "base/temp.h"
#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- names */

static uint32_t add_hash(uint32_t h, const char *text, size_t n) {
  for (size_t k = 0; k < n; k++)
    h = (h ^ (unsigned char)text[k]) * UINT32_C(16777619); /* FNV-1a */
  return h;
}

/* Containers may share a folder and the host's name, but not the numbers of processes. */
static uint32_t place(void) {
  char host[256] = "", space[64];
  uint32_t h = UINT32_C(2166136261);
  if (gethostname(host, sizeof host - 1) == 0)
    h = add_hash(h, host, strlen(host));
  ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space);
  return n > 0 ? add_hash(h, space, (size_t)n) : h;
}

bool neo_temp_name(char *out, size_t room, const char *folder, size_t folder_bytes, uint64_t n) {
  int bytes = snprintf(out, room, "%.*s.neo-%08" PRIx32 "-%ld-%" PRIu64 ".tmp", (int)folder_bytes,
                       folder, place(), (long)getpid(), n);
  return bytes >= 0 && (size_t)bytes < room;
}

/* A process that ended is there until its parent asks for its status, which some never do. */
static bool is_gone(long pid) {
  char path[64], text[512];
  if (kill((pid_t)pid, 0) != 0)
    return errno == ESRCH;
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *name_end = strrchr(text, ')');
  return name_end && (name_end[1] == ' ') && (name_end[2] == 'Z' || name_end[2] == 'X');
}

/* Whether this is the name of a temporary of this place, whose process is gone. */
static bool is_left(const char *name) {
  char *end;
  if (strncmp(name, ".neo-", 5) != 0 || strlen(name) < 14 || name[13] != '-')
    return false;
  if (strtoul(name + 5, &end, 16) != place() || end != name + 13)
    return false;
  long pid = strtol(name + 14, &end, 10);
  if (pid <= 0 || end == name + 14 || *end != '-')
    return false;
  const char *number = end + 1;
  (void)strtoull(number, &end, 10);
  if (end == number || strcmp(end, ".tmp") != 0)
    return false;
  return is_gone(pid);
}

/* ---- removing */

static bool is_own(const struct stat *st) {
  return st->st_uid == geteuid();
}

static void remove_in(int folder, const char *name, int depth);

static void remove_folder(int parent, const char *name, int depth) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat st;
  DIR *d = fd >= 0 && fstat(fd, &st) == 0 && is_own(&st) ? fdopendir(fd) : NULL;
  if (!d) {
    if (fd >= 0)
      close(fd);
    return;
  }
  for (struct dirent *e = readdir(d); e; e = readdir(d))
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
      remove_in(dirfd(d), e->d_name, depth - 1);
  closedir(d);
  unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_in(int folder, const char *name, int depth) {
  struct stat st;
  if (depth == 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !is_own(&st))
    return;
  if (S_ISDIR(st.st_mode))
    remove_folder(folder, name, depth);
  else
    unlinkat(folder, name, 0);
}

enum { DEPTH = 4 };

void neo_temp_remove(const char *folder) {
  int why = errno;
  remove_in(AT_FDCWD, folder, DEPTH);
  errno = why;
}

static const char *usual_folder(void) {
  const char *folder = secure_getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

void neo_temp_sweep(const char *folder) {
  int why = errno;
  DIR *d = opendir(folder ? folder : usual_folder());
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
    if (is_left(e->d_name))
      remove_in(dirfd(d), e->d_name, DEPTH);
  if (d)
    closedir(d);
  errno = why;
}

/* ---- folders */

/* A process never has the same folder twice: dlopen takes a library of the same path for the one
 * that it has opened before. */
static uint64_t fresh_number(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

neo_status neo_temp_folder(neo_arena *a, const char *parent, const char **out) {
  enum { ATTEMPTS = 1000 };
  char name[80];
  parent = neo_path_plain(a, parent ? parent : usual_folder());
  neo_temp_sweep(parent);
  for (int k = 0; k < ATTEMPTS; k++) {
    if (!neo_temp_name(name, sizeof name, "", 0, fresh_number()))
      break;
    *out = neo_path_join(a, parent, name);
    if (mkdir(*out, 0700) == 0)
      return NEO_OK;
    if (errno != EEXIST)
      break;
  }
  return NEO_IO;
}
