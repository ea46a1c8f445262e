/* npz_write.c: writes arrays as a .npz: a zip archive of stored .npy members, 64-bit records only
 * where a size needs them, dates at zip's epoch, so that the same arrays give the same bytes. */
#include "runtime/files/npy.h"
#include "runtime/files/zip.h"
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

typedef struct {
  neo_rti_npy npy;
  uint32_t crc;
  uint64_t size, local;
} member;

typedef struct {
  neo_file_writer w;
  uint64_t at; /* bytes written */
} writer;

static void put(writer *w, const void *p, size_t n) {
  neo_file_put(&w->w, p, n);
  w->at += n;
}

static void put_number(writer *w, uint64_t x, int n_bytes) {
  unsigned char p[8];
  for (int i = 0; i < n_bytes; i++)
    p[i] = (unsigned char)(x >> (8 * i));
  put(w, p, (size_t)n_bytes);
}

static uint64_t small(uint64_t x) {
  return x >= UINT32_MAX ? UINT32_MAX : x;
}

/* Writes the fields from the version to the sizes, which local and central records share. */
static void put_common(writer *w, const member *m, size_t name_bytes, size_t extra_bytes) {
  enum { VERSION64 = 45, VERSION = 20, UTF8_NAMES = 0x800, DATE_1980 = 0x21 };
  put_number(w, extra_bytes ? VERSION64 : VERSION, 2);
  put_number(w, UTF8_NAMES, 2);
  put_number(w, 0, 4); /* stored; time 0 */
  put_number(w, DATE_1980, 2);
  put_number(w, m->crc, 4);
  put_number(w, extra_bytes ? UINT32_MAX : m->size, 4);
  put_number(w, extra_bytes ? UINT32_MAX : m->size, 4);
  put_number(w, name_bytes, 2);
  put_number(w, extra_bytes, 2);
}

static void put_name(writer *w, const char *name) {
  put(w, name, strlen(name));
  put(w, ".npy", 4);
}

static bool is_large(const member *m) {
  return m->size >= UINT32_MAX || m->local >= UINT32_MAX;
}

static void put_local(writer *w, const char *name, const member *m) {
  size_t extra = is_large(m) ? 4 + 16 : 0;
  put_number(w, ZIP_LOCAL, 4);
  put_common(w, m, strlen(name) + 4, extra);
  put_name(w, name);
  if (extra) {
    put_number(w, ZIP_EXTRA64, 2);
    put_number(w, 16, 2);
    put_number(w, m->size, 8);
    put_number(w, m->size, 8);
  }
  put(w, m->npy.head, m->npy.head_bytes);
  put(w, m->npy.array->data, m->npy.array->size_bytes);
}

static void put_central(writer *w, const char *name, const member *m) {
  size_t extra = is_large(m) ? 4 + 24 : 0;
  put_number(w, ZIP_CENTRAL, 4);
  put_number(w, extra ? 45 : 20, 2);
  put_common(w, m, strlen(name) + 4, extra);
  put_number(w, 0, 8); /* comment, disk, internal attributes, first half of the external ones */
  put_number(w, 0, 2);
  put_number(w, extra ? UINT32_MAX : m->local, 4);
  put_name(w, name);
  if (extra) {
    put_number(w, ZIP_EXTRA64, 2);
    put_number(w, 24, 2);
    put_number(w, m->size, 8);
    put_number(w, m->size, 8);
    put_number(w, m->local, 8);
  }
}

static void put_end64(writer *w, uint64_t directory, uint64_t n) {
  uint64_t end = w->at;
  put_number(w, ZIP_END64, 4);
  put_number(w, ZIP_END64_BYTES - 12, 8);
  put_number(w, 45, 2);
  put_number(w, 45, 2);
  put_number(w, 0, 8); /* disks */
  put_number(w, n, 8);
  put_number(w, n, 8);
  put_number(w, end - directory, 8);
  put_number(w, directory, 8);
  put_number(w, ZIP_LOCATOR64, 4);
  put_number(w, 0, 4);
  put_number(w, end, 8);
  put_number(w, 1, 4);
}

static void put_end(writer *w, uint64_t directory, uint64_t n) {
  uint64_t size = w->at - directory;
  if (n >= UINT16_MAX || directory >= UINT32_MAX)
    put_end64(w, directory, n);
  put_number(w, ZIP_END, 4);
  put_number(w, 0, 4);
  put_number(w, n < UINT16_MAX ? n : UINT16_MAX, 2);
  put_number(w, n < UINT16_MAX ? n : UINT16_MAX, 2);
  put_number(w, small(size), 4);
  put_number(w, small(directory), 4);
  put_number(w, 0, 2);
}

static uint32_t checksum(uint32_t crc, const void *data, size_t n) {
  for (const unsigned char *p = data; n > 0;) {
    uInt k = n > 1u << 30 ? 1u << 30 : (uInt)n;
    crc = (uint32_t)crc32(crc, p, k);
    p += k;
    n -= k;
  }
  return crc;
}

static neo_rt_status prepare(const neo_rt_named_array *named, member *m) {
  const neo_rt_array *a = named->array;
  if (!named->name || !a)
    return NEO_NULL;
  if (named->name[0] == 0 || strlen(named->name) > 60000)
    return NEO_NAME;
  neo_rt_status status = neo_rti_npy_open(a, &m->npy);
  if (status)
    return status;
  const neo_rti_npy *n = &m->npy;
  m->crc = checksum(checksum(0, n->head, n->head_bytes), n->array->data, n->array->size_bytes);
  m->size = n->head_bytes + n->array->size_bytes;
  return NEO_OK;
}

static neo_rt_status write_all(writer *w, const neo_rti_env *env, const char *path,
                               const neo_rt_named_array *arrays, member *m, int32_t n) {
  neo_rt_status status = (neo_rt_status)neo_file_begin(&w->w, &env->io, path, 0666);
  if (status)
    return status;
  w->at = 0;
  for (int32_t i = 0; i < n; i++) {
    m[i].local = w->at;
    put_local(w, arrays[i].name, &m[i]);
  }
  uint64_t directory = w->at;
  for (int32_t i = 0; i < n; i++)
    put_central(w, arrays[i].name, &m[i]);
  put_end(w, directory, (uint64_t)n);
  return (neo_rt_status)neo_file_commit(&w->w);
}

neo_rt_status neo_rti_npz_write(const neo_rti_env *env, const char *path,
                                const neo_rt_named_array *arrays, int32_t n) {
  if (!path || n < 0 || (n > 0 && !arrays))
    return NEO_NULL;
  const neo_alloc *alloc = &env->alloc;
  size_t bytes = (size_t)n * sizeof(member) + 1;
  member *m = alloc->resize(alloc->ctx, NULL, bytes);
  writer *w = alloc->resize(alloc->ctx, NULL, sizeof *w);
  neo_rt_status status = m && w ? NEO_OK : NEO_MEMORY;
  if (m)
    memset(m, 0, bytes);
  for (int32_t i = 0; !status && i < n; i++)
    status = prepare(&arrays[i], &m[i]);
  if (!status)
    status = write_all(w, env, path, arrays, m, n);
  for (int32_t i = 0; m && i < n; i++)
    neo_rti_npy_close(&m[i].npy);
  if (w)
    NEO_RTI_FREE(alloc, w);
  if (m)
    NEO_RTI_FREE(alloc, m);
  return status;
}

neo_rt_status neo_rt_array_save_npz(const char *path, const neo_rt_named_array *arrays, int32_t n) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return neo_rti_npz_write(&env, path, arrays, n);
}
