/* Reads the list of candidates in a folder, its tasks, and checks that the folder belongs to the
 * user alone and that no line and no file has changed. */
#include "tools/measure/folder_parts.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

folder_exit folder_say(folder_exit code, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "neo-measure: ");
  vfprintf(stderr, fmt, args);
  fprintf(stderr, "\n");
  va_end(args);
  return code;
}

/* Checks that nobody else may write to the folder, as code is run from it. */
static folder_exit check_owner(const folder *f) {
  struct stat s;
  if (stat(f->folder, &s) != 0)
    return folder_say(FOLDER_FILES, "%s: %s", f->folder, strerror(errno));
  if (!S_ISDIR(s.st_mode))
    return folder_say(FOLDER_FILES, "%s: it is no folder", f->folder);
  if (s.st_uid != geteuid() && s.st_uid != 0)
    return folder_say(FOLDER_FILES, "%s: it belongs to somebody else, and code is run from it",
                      f->folder);
  if (s.st_mode & (S_IWGRP | S_IWOTH))
    return folder_say(FOLDER_FILES,
                      "%s: others may write it, and code is run from it: chmod go-w %s", f->folder,
                      f->folder);
  return FOLDER_OK;
}

/* file NAME BYTES DIGEST */
static folder_exit check_file(const folder *f, const char *line) {
  char name[256], path[4096];
  long long want_bytes;
  unsigned long long want;
  int64_t bytes;
  uint64_t digest;
  if (sscanf(line, "file %255s %lld %llx", name, &want_bytes, &want) != 3 || strchr(name, '/'))
    return folder_say(FOLDER_DAMAGED, "%s/" MEASURE_CANDIDATES ": '%s' names no file", f->folder,
                      line);
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  if (!measure_file_digest(path, &bytes, &digest))
    return folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
  if (bytes != want_bytes)
    return folder_say(FOLDER_DAMAGED, "%s: it has %lld bytes of %lld: copy it again", path,
                      (long long)bytes, want_bytes);
  if (digest != want)
    return folder_say(FOLDER_DAMAGED, "%s: its contents have changed: copy it again", path);
  return FOLDER_OK;
}

/* Is the path of a line one of the files that were checked? */
static bool names_file(const folder *f, const char *line) {
  const char *path = measure_after(line, "path");
  size_t n = path ? strlen(path) : 0;
  for (size_t k = 0; n > 2 && strncmp(path, "./", 2) == 0 && k < f->lines.n; k++) {
    const char *file = f->lines.line[k];
    if (strncmp(file, "file ", 5) == 0 && strncmp(file + 5, path + 2, n - 2) == 0 &&
        file[5 + n - 2] == ' ')
      return true;
  }
  return false;
}

static folder_exit check_files(const folder *f) {
  for (size_t k = 0; k < f->lines.n; k++) {
    const char *line = f->lines.line[k];
    measure_mode mode;
    folder_exit bad = strncmp(line, "file ", 5) == 0 ? check_file(f, line) : FOLDER_OK;
    bool has_path = measure_server_mode(line, &mode) || measure_is(line, "expect") ||
                    (measure_is(line, "buffer") && measure_after(line, "path"));
    if (!bad && has_path && !names_file(f, line))
      bad = folder_say(FOLDER_DAMAGED,
                       "%s/" MEASURE_CANDIDATES ": '%s' uses a file that is not in its list",
                       f->folder, line);
    if (bad)
      return bad;
  }
  return FOLDER_OK;
}

static bool add_task(folder *f, size_t first) {
  folder_task *more = realloc(f->tasks, (f->n_tasks + 1) * sizeof *more);
  if (!more)
    return false;
  f->tasks = more;
  f->tasks[f->n_tasks++] = (folder_task){.first = first, .end = first + 1};
  return true;
}

static bool add_candidate(folder_task *t, const char *line, size_t at) {
  folder_candidate *more = realloc(t->at, (t->n + 1) * sizeof *more);
  if (!more)
    return false;
  t->at = more;
  t->at[t->n++] = (folder_candidate){.id = (long)measure_number(line, "id", -1), .line = at};
  return true;
}

static folder_exit find_tasks(folder *f) {
  for (size_t k = 0; k + 1 < f->lines.n; k++) {
    const char *line = f->lines.line[k];
    bool good = true;
    if (measure_is(line, "task"))
      good = add_task(f, k);
    else if (measure_is(line, "try") && f->n_tasks)
      good = add_candidate(&f->tasks[f->n_tasks - 1], line, k);
    if (!good)
      return folder_say(FOLDER_NO_DEVICE, "out of memory");
    if (f->n_tasks)
      f->tasks[f->n_tasks - 1].end = k + 1;
  }
  return FOLDER_OK;
}

folder_exit folder_read(folder *f) {
  folder_exit bad = check_owner(f);
  if (bad)
    return bad;
  if (!measure_candidates_read(&f->lines, f->folder))
    return folder_say(f->lines.text ? FOLDER_DAMAGED : FOLDER_FILES, "%s%s", f->lines.why,
                      f->lines.text ? "" : ": it is written last by `neoc tune --emit`");
  bad = check_files(f);
  return bad ? bad : find_tasks(f);
}
