/* formats.c: the table of file formats, and loading of a file of any format. The first bytes tell
 * the format, not the name. */
#include "runtime/files/format.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const neo_rti_format *const formats[] = {
#define X(name) &neo_rti_format_##name,
#include "runtime/files/formats.def"
#undef X
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

const neo_rti_format *neo_rti_format_at(size_t k) {
  return k < N_FORMATS ? formats[k] : NULL;
}

const neo_rti_format *neo_rti_format_named(const char *name) {
  for (int k = 0; k < N_FORMATS; k++)
    if (strcmp(formats[k]->name, name) == 0)
      return formats[k];
  return NULL;
}

const neo_rti_format *neo_rti_checkpoint_format(void) {
  int k = 0;
  while (!formats[k]->write_head)
    k++;
  return formats[k];
}

/* The first format that reads such contents (one array, or all tensors) and recognizes the file;
 * null: none. */
static const neo_rti_format *detect(const neo_rti_source *s, bool all_tensors) {
  for (int k = 0; k < N_FORMATS; k++) {
    bool reads = all_tensors ? formats[k]->read_tensors != NULL : formats[k]->read_array != NULL;
    if (reads && formats[k]->detect(s->p, s->n))
      return formats[k];
  }
  return NULL;
}

/* ------------------------------------------------------------ one array */

static int last_of_arrays(void) {
  int last = N_FORMATS - 1;
  while (!formats[last]->read_array)
    last--;
  return last;
}

/* "is neither A, B nor C". */
static neo_rt_status reject_unknown(const neo_rti_source *s) {
  char list[256] = "is neither ";
  const int last = last_of_arrays();
  const char *before = "";
  for (int k = 0; k <= last; k++) {
    if (!formats[k]->read_array)
      continue;
    size_t at = strlen(list);
    neo_rti_say(list + at, sizeof list - at, NEO_OK, "%s%s", before, formats[k]->title);
    before = k + 1 < last ? ", " : " nor ";
  }
  return NEO_RTI_REJECT(s, NEO_FORMAT, "%s", list);
}

/* `of`: the format that the path's member belongs to, if it names one. */
static neo_rt_status read_array(const neo_rti_source *s, const neo_rti_format *of,
                                neo_rt_array *out) {
  const neo_rti_format *f = detect(s, false);
  if (of && f != of)
    return NEO_RTI_REJECT(s, NEO_FORMAT, "is not a %s file", of->title);
  return f ? f->read_array(s, out) : reject_unknown(s);
}

typedef struct {
  const neo_rti_format *of; /* null: the path names no member */
  size_t path_bytes;
  const char *member;
} place;

/* Splits "file.npz:name" into the file and the member. */
static place place_of(const char *path) {
  for (int k = 0; k < N_FORMATS; k++) {
    const char *mark = formats[k]->member;
    for (const char *p = path; mark && (p = strstr(p, mark)) != NULL; p++) {
      const char *member = p + strlen(mark);
      if (*member)
        return (place){formats[k], (size_t)(member - path) - 1, member};
    }
  }
  return (place){NULL, strlen(path), NULL};
}

static neo_rt_status read_file(const neo_rti_env *env, const char *path, unsigned char **p,
                               size_t *n, char *error, size_t error_bytes) {
  errno = 0;
  neo_rt_status status = neo_rti_file_read(env, path, p, n);
  if (status == NEO_MEMORY)
    return neo_rti_say(error, error_bytes, status, "%s: out of memory", path);
  if (status)
    return neo_rti_say(error, error_bytes, status, "%s: %s", path,
                       errno ? strerror(errno) : "cannot be read");
  return NEO_OK;
}

neo_rt_status neo_rti_array_load(const neo_rti_env *env, const char *path, neo_rt_array *out,
                                 char *error, size_t error_bytes) {
  if (!path || !out)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  memset(out, 0, sizeof *out);
  char file[4096], what[512] = "";
  place at = place_of(path);
  if (at.path_bytes >= sizeof file)
    return neo_rti_say(error, error_bytes, NEO_ARGUMENT, "the path is too long");
  memcpy(file, path, at.path_bytes);
  file[at.path_bytes] = 0;
  unsigned char *p;
  size_t n;
  neo_rt_status status = read_file(env, file, &p, &n, error, error_bytes);
  if (status)
    return status;
  status =
      read_array(&(neo_rti_source){&env->alloc, p, n, at.member, what, sizeof what}, at.of, out);
  NEO_RTI_FREE(&env->alloc, p);
  return status ? neo_rti_say(error, error_bytes, status, "%s: %s", path, what) : NEO_OK;
}

/* Finds the array in the mapped file. Only the parts that determine the elements' position are
 * touched. */
static neo_rt_status locate_in(const char *file, const place *at, neo_rti_located *out) {
  struct stat st;
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  void *p = MAP_FAILED;
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (fd >= 0)
    close(fd);
  if (p == MAP_FAILED)
    return NEO_UNSUPPORTED;
  neo_rti_source s = {&neo_alloc_default, p, (size_t)st.st_size, at->member, NULL, 0};
  const neo_rti_format *f = detect(&s, false);
  neo_rt_status status =
      !f || !f->locate || (at->of && f != at->of) ? NEO_UNSUPPORTED : f->locate(&s, out);
  munmap(p, (size_t)st.st_size);
  return status;
}

neo_rt_status neo_rti_array_locate(const char *path, char *file, size_t file_bytes,
                                   neo_rti_located *out) {
  place at = place_of(path);
  if (at.path_bytes >= file_bytes)
    return NEO_ARGUMENT;
  memcpy(file, path, at.path_bytes);
  file[at.path_bytes] = 0;
  return locate_in(file, &at, out);
}

neo_rt_status neo_rt_array_load(const char *path, neo_rt_array *out, char *error,
                                size_t error_bytes) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return neo_rti_array_load(&env, path, out, error, error_bytes);
}

bool neo_rti_is_array(const char *path) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  unsigned char *p;
  size_t n;
  if (place_of(path).of)
    return true;
  if (neo_rti_file_read(&env, path, &p, &n))
    return false;
  bool known = detect(&(neo_rti_source){.p = p, .n = n}, false) != NULL;
  NEO_RTI_FREE(&env.alloc, p);
  return known;
}

/* ------------------------------------------------------------ all tensors */

/* Reads a file of tensors. If no format recognizes it, that of checkpoints reports what is
 * wrong. */
neo_rt_status neo_rti_tensors_read(const neo_rti_source *s, neo_rti_file_tensors *out) {
  const neo_rti_format *f = detect(s, true);
  return (f ? f : neo_rti_checkpoint_format())->read_tensors(s, out);
}
