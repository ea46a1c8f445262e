/* array.c: arrays from files of any known kind. The kind is told by the first bytes, not by the
 * name. */
#include "runtime/internal.h"
#include <errno.h>
#include <string.h>

neo_rt_status neo_rti_array_alloc(const neo_alloc *alloc, neo_rt_array *a) {
  int64_t n = (int64_t)neo_rti_type_bytes(a->type);
  if (n == 0)
    return NEO_TYPE;
  if (a->rank > NEO_RTI_MAX_RANK)
    return NEO_SHAPE;
  bool empty = false;
  for (int d = 0; d < a->rank; d++) {
    if (a->extent[d] < 0)
      return NEO_SHAPE;
    empty |= a->extent[d] == 0;
  }
  for (int d = 0; !empty && d < a->rank; d++)
    if (!neo_rti_mul(n, a->extent[d], &n))
      return NEO_SHAPE;
  a->size_bytes = empty ? 0 : (size_t)n;
  a->data = alloc->resize(alloc->ctx, NULL, a->size_bytes ? a->size_bytes : 1);
  return a->data ? NEO_OK : NEO_MEMORY;
}

void neo_rt_array_free(neo_rt_array *a) {
  if (!a)
    return;
  if (a->data)
    NEO_RTI_FREE(&neo_alloc_default, a->data);
  memset(a, 0, sizeof *a);
}

/* "file.npz:name" -> 8, the place of the colon; 0 if there is no member name. */
static size_t member_colon(const char *path) {
  for (const char *p = path; (p = strstr(p, ".npz:")) != NULL; p++)
    if (p[5])
      return (size_t)(p - path) + 4;
  return 0;
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

static neo_rt_status parse(const neo_rti_env *env, const unsigned char *p, size_t n,
                           const char *member, neo_rt_array *out, char *error, size_t error_bytes) {
  bool zip = n >= 4 && memcmp(p, "PK", 2) == 0;
  if (member && !zip)
    return neo_rti_say(error, error_bytes, NEO_FORMAT, "is not a .npz (zip) file");
  if (zip)
    return neo_rti_npz_parse(&env->alloc, p, n, member, out, error, error_bytes);
  if (n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0)
    return neo_rti_npy_parse(&env->alloc, p, n, out, error, error_bytes);
  if (n >= 2 && ((p[0] == 0 && p[1] == 0) || (p[0] == 0x1f && p[1] == 0x8b)))
    return neo_rti_idx_parse(&env->alloc, p, n, out, error, error_bytes);
  return neo_rti_say(error, error_bytes, NEO_FORMAT,
                     "is neither .npy, .npz nor IDX (plain or .gz)");
}

neo_rt_status neo_rti_array_load(const neo_rti_env *env, const char *path, neo_rt_array *out,
                                 char *error, size_t error_bytes) {
  if (!path || !out)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  memset(out, 0, sizeof *out);
  char file[4096], what[512] = "";
  size_t colon = member_colon(path), length = colon ? colon : strlen(path);
  if (length >= sizeof file)
    return neo_rti_say(error, error_bytes, NEO_ARGUMENT, "the path is too long");
  memcpy(file, path, length);
  file[length] = 0;
  unsigned char *p;
  size_t n;
  neo_rt_status status = read_file(env, file, &p, &n, error, error_bytes);
  if (status)
    return status;
  status = parse(env, p, n, colon ? path + colon + 1 : NULL, out, what, sizeof what);
  NEO_RTI_FREE(&env->alloc, p);
  return status ? neo_rti_say(error, error_bytes, status, "%s: %s", path, what) : NEO_OK;
}

neo_rt_status neo_rt_array_load(const char *path, neo_rt_array *out, char *error,
                                size_t error_bytes) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return neo_rti_array_load(&env, path, out, error, error_bytes);
}

void neo_rt_gather(const neo_rt_array *array, const int64_t *rows, int64_t n, void *out) {
  size_t row = neo_rti_type_bytes(array->type);
  for (int d = 1; d < array->rank; d++)
    row *= (size_t)array->extent[d];
  for (int64_t i = 0; i < n && row > 0; i++)
    memcpy((char *)out + (size_t)i * row, (const char *)array->data + (size_t)rows[i] * row, row);
}
