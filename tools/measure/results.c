/* The results of a folder: a line each, on the disk before anything else runs. */
#include "tools/measure/folder_parts.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool append(folder *f, const char *text) {
  size_t n;
  char *line = measure_line_of(text, &n);
  bool good = line && write(f->out, line, n) == (ssize_t)n && fdatasync(f->out) == 0;
  free(line);
  return good;
}

/* result task=0 id=3 mode=try ok=1 ratio=0.8 ... */
static void take_result(folder *f, const char *line) {
  size_t number = (size_t)measure_number(line, "task", -1);
  char mode[16];
  measure_word(line, "mode", mode, sizeof mode);
  if (!measure_is(line, "result") || number >= f->n_tasks)
    return;
  folder_task *t = &f->tasks[number];
  bool ok = measure_number(line, "ok", 0) > 0;
  if (strcmp(mode, "base") == 0)
    t->failed = !ok;
  for (size_t k = 0; k < t->n && strcmp(mode, "base") != 0; k++)
    if (t->at[k].id == (long)measure_number(line, "id", -1)) {
      folder_candidate *c = &t->at[k];
      c->measured = true;
      c->ok = ok;
      c->raced = c->raced || strcmp(mode, "race") == 0;
      c->ratio = measure_number(line, "ratio", 0);
    }
}

static folder_exit check_results(const folder *f, const char *path, const measure_lines *r) {
  unsigned long long of = 0;
  const char *device = measure_lines_find(r, "device");
  sscanf(r->line[0], "neo-results %*d of=%llx", &of);
  if (of != measure_lines_digest(&f->lines))
    return folder_say(FOLDER_DAMAGED, "%s: it has results of other candidates than those of %s",
                      path, f->folder);
  if (device && strcmp(device, f->name) != 0)
    return folder_say(FOLDER_NO_DEVICE,
                      "%s: it has results of %s, and this is %s: use --results=FILE", path, device,
                      f->name);
  return FOLDER_OK;
}

static folder_exit begin_results(folder *f, const char *path) {
  char text[320];
  snprintf(text, sizeof text, "neo-results %d of=%016llx", MEASURE_FORMAT,
           (unsigned long long)measure_lines_digest(&f->lines));
  bool good = append(f, text);
  snprintf(text, sizeof text, "device %s", f->name);
  return good && append(f, text) ? FOLDER_OK
                                 : folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
}

/* Opens the results. An unfinished line at the end is cut off. A lock keeps others from writing
 * meanwhile. A folder may come from a stranger, so its results must not be a link to another
 * file. */
folder_exit folder_results_open(folder *f) {
  char path[4096];
  measure_lines r;
  snprintf(path, sizeof path, "%s/" MEASURE_RESULTS, f->folder);
  if (f->results)
    snprintf(path, sizeof path, "%s", f->results);
  int follow = f->results ? 0 : O_NOFOLLOW;
  f->out = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | follow, 0600);
  if (f->out < 0)
    return folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
  if (flock(f->out, LOCK_EX | LOCK_NB) != 0)
    return folder_say(FOLDER_FILES, "%s: another neo-measure is at work with it", path);
  bool good = measure_lines_read(&r, path, "neo-results", true);
  folder_exit bad = good ? FOLDER_OK : folder_say(FOLDER_DAMAGED, "%s", r.why);
  if (!bad && ftruncate(f->out, (off_t)r.whole_bytes) != 0)
    bad = folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
  if (!bad && r.n)
    bad = check_results(f, path, &r);
  if (!bad && r.n < 2)
    bad = r.n || !begin_results(f, path) ? FOLDER_OK : FOLDER_FILES;
  for (size_t k = 0; k < r.n && !bad; k++)
    take_result(f, r.line[k]);
  measure_lines_free(&r);
  return bad;
}

folder_exit folder_results_add(folder *f, const char *text) {
  if (!append(f, text))
    return folder_say(FOLDER_FILES, "the results cannot be written: %s", strerror(errno));
  take_result(f, text);
  return FOLDER_OK;
}
