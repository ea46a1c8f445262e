/* npz.c: reads a member of a .npz: a zip archive of .npy files, stored or deflated (PKWARE's
 * APPNOTE 6.3, with the 64-bit extension that NumPy writes for large members). Offsets and sizes
 * are taken from the central directory alone. All are checked against the file, and the CRC against
 * the bytes. */
#include "runtime/files/zip.h"
#include <stdio.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

enum { RAW_WINDOW = -15, MOST_RATIO = 1032 }; /* deflate's largest expansion */

typedef struct {
  const unsigned char *p;
  size_t n;
} bytes;

typedef struct {
  const unsigned char *name;
  size_t name_bytes, method, flags;
  uint32_t crc;
  uint64_t stored, size, local; /* bytes in the file, inflated, offset of the local header */
} member;

static neo_rt_status bad(const neo_rti_source *s, const char *what) {
  return NEO_RTI_REJECT(s, NEO_FORMAT, "bad .npz (zip): %s", what);
}

static uint64_t little(const unsigned char *p, int n) {
  uint64_t x = 0;
  for (int i = 0; i < n; i++)
    x |= (uint64_t)p[i] << (8 * i);
  return x;
}

static bool has(bytes z, uint64_t at, uint64_t n) {
  return at <= z.n && n <= z.n - at;
}

/* ------------------------------------------------------------ the directory */

/* The end record, searched backwards: its comment reaches exactly to the end of the file. */
static bool find_end(bytes z, uint64_t *at) {
  for (size_t back = ZIP_END_BYTES; back <= z.n && back <= ZIP_END_BYTES + 65535; back++) {
    const unsigned char *p = z.p + z.n - back;
    if (little(p, 4) == ZIP_END && little(p + 20, 2) == back - ZIP_END_BYTES) {
      *at = z.n - back;
      return true;
    }
  }
  return false;
}

static bool find_directory(bytes z, uint64_t *at, uint64_t *entries) {
  uint64_t end, end64;
  if (!find_end(z, &end))
    return false;
  *entries = little(z.p + end + 10, 2);
  *at = little(z.p + end + 16, 4);
  bool wide =
      end >= ZIP_LOCATOR64_BYTES && little(z.p + end - ZIP_LOCATOR64_BYTES, 4) == ZIP_LOCATOR64;
  if (!wide)
    return true;
  end64 = little(z.p + end - ZIP_LOCATOR64_BYTES + 8, 8);
  if (!has(z, end64, ZIP_END64_BYTES) || little(z.p + end64, 4) != ZIP_END64)
    return false;
  *entries = little(z.p + end64 + 32, 8);
  *at = little(z.p + end64 + 48, 8);
  return true;
}

/* Reads the 64-bit extra field. It holds, in this order, those of the three numbers that do not fit
 * in 32 bits. */
static bool read_extra(const unsigned char *p, size_t n, member *m) {
  uint64_t *wide[] = {&m->size, &m->stored, &m->local};
  while (n >= 4) {
    size_t id = little(p, 2), size = little(p + 2, 2);
    if (size > n - 4)
      return false;
    const unsigned char *field = p + 4, *end = field + size;
    for (int i = 0; id == ZIP_EXTRA64 && i < 3; i++) {
      if (*wide[i] != UINT32_MAX)
        continue;
      if (end - field < 8)
        return false;
      *wide[i] = little(field, 8);
      field += 8;
    }
    p += 4 + size;
    n -= 4 + size;
  }
  return true;
}

/* Reads the directory entry at *at, and moves *at after it. */
static bool read_member(bytes z, uint64_t *at, member *m) {
  if (!has(z, *at, ZIP_CENTRAL_BYTES))
    return false;
  const unsigned char *p = z.p + *at;
  if (little(p, 4) != ZIP_CENTRAL)
    return false;
  size_t extra = little(p + 30, 2), comment = little(p + 32, 2);
  m->flags = little(p + 8, 2);
  m->method = little(p + 10, 2);
  m->crc = (uint32_t)little(p + 16, 4);
  m->stored = little(p + 20, 4);
  m->size = little(p + 24, 4);
  m->name_bytes = little(p + 28, 2);
  m->local = little(p + 42, 4);
  m->name = p + ZIP_CENTRAL_BYTES;
  uint64_t tail = m->name_bytes + extra + comment;
  if (!has(z, *at + ZIP_CENTRAL_BYTES, tail))
    return false;
  *at += ZIP_CENTRAL_BYTES + tail;
  return read_extra(m->name + m->name_bytes, extra, m);
}

static bool is_named(const member *m, const char *name) {
  size_t n = strlen(name);
  if (m->name_bytes == n)
    return memcmp(m->name, name, n) == 0;
  return m->name_bytes == n + 4 && memcmp(m->name, name, n) == 0 &&
         memcmp(m->name + n, ".npy", 4) == 0;
}

static void list(char *names, size_t size, const member *m) {
  size_t at = strlen(names), n = m->name_bytes;
  if (n > 4 && memcmp(m->name + n - 4, ".npy", 4) == 0)
    n -= 4;
  if (at + 1 < size)
    snprintf(names + at, size - at, "%s%.*s", at ? ", " : "", (int)n, (const char *)m->name);
}

/* The member of this name; without a name the only one. */
static neo_rt_status find_member(bytes z, const neo_rti_source *s, member *out) {
  const char *name = s->member;
  uint64_t at, entries, found = 0;
  char names[256] = "";
  if (!find_directory(z, &at, &entries))
    return bad(s, "no directory");
  for (uint64_t i = 0; i < entries; i++) {
    member m;
    if (!read_member(z, &at, &m))
      return bad(s, "the directory is damaged");
    list(names, sizeof names, &m);
    if (name && !is_named(&m, name))
      continue;
    *out = m;
    found++;
  }
  if (found == 1)
    return NEO_OK;
  if (name && found == 0)
    return NEO_RTI_REJECT(s, NEO_NAME, ".npz has no array '%s'; it has: %s", name, names);
  if (name)
    return bad(s, "the name occurs twice");
  return NEO_RTI_REJECT(s, NEO_NAME, ".npz has %llu arrays, choose one as FILE.npz:NAME: %s",
                        (unsigned long long)found, names);
}

/* ------------------------------------------------------------ the member's bytes */

static bool find_bytes(bytes z, const member *m, bytes *out) {
  if (!has(z, m->local, ZIP_LOCAL_BYTES))
    return false;
  const unsigned char *p = z.p + m->local;
  if (little(p, 4) != ZIP_LOCAL)
    return false;
  uint64_t at = m->local + ZIP_LOCAL_BYTES + little(p + 26, 2) + little(p + 28, 2);
  if (!has(z, at, m->stored))
    return false;
  *out = (bytes){z.p + at, (size_t)m->stored};
  return true;
}

uint32_t neo_rti_crc(uint32_t crc, const void *p, size_t size_bytes) {
  const unsigned char *at = p;
  for (size_t left = size_bytes; left > 0;) {
    uInt n = left > 1u << 30 ? 1u << 30 : (uInt)left;
    crc = (uint32_t)crc32(crc, at, n);
    at += n;
    left -= n;
  }
  return crc;
}

static bool crc_matches(bytes b, uint32_t want) {
  return neo_rti_crc(0, b.p, b.n) == want;
}

static neo_rt_status read_checked(const neo_rti_source *s, bytes b, uint32_t crc,
                                  neo_rt_array *out) {
  if (!crc_matches(b, crc))
    return bad(s, "the checksum does not match");
  neo_rti_source inner = *s;
  inner.p = b.p;
  inner.n = b.n;
  return neo_rti_format_npy.read_array(&inner, out);
}

static neo_rt_status read_deflated(const neo_rti_source *s, bytes b, const member *m,
                                   neo_rt_array *out) {
  unsigned char *p;
  size_t n;
  if (m->size / MOST_RATIO > m->stored)
    return bad(s, "a size is impossible");
  neo_rt_status status =
      neo_rti_inflate(s->alloc, RAW_WINDOW, b.p, b.n, (size_t)m->size, true, &p, &n);
  if (status == NEO_MEMORY)
    return NEO_RTI_REJECT(s, status, "out of memory");
  if (status)
    return bad(s, "the deflated data is damaged");
  status = read_checked(s, (bytes){p, n}, m->crc, out);
  NEO_RTI_FREE(s->alloc, p);
  return status;
}

enum { ENCRYPTED = 1, STORED = 0, DEFLATED = 8 };

static neo_rt_status find_stored(const neo_rti_source *s, member *m, bytes *b) {
  bytes z = {s->p, s->n};
  neo_rt_status status = find_member(z, s, m);
  if (status)
    return status;
  if (m->flags & ENCRYPTED)
    return bad(s, "the member is encrypted");
  if (!find_bytes(z, m, b))
    return bad(s, "a member lies outside of the file");
  if (m->method != STORED && m->method != DEFLATED)
    return bad(s, "a member is neither stored nor deflated");
  if (m->method == STORED && m->size != m->stored)
    return bad(s, "the sizes of a stored member differ");
  return NEO_OK;
}

static neo_rt_status read_array(const neo_rti_source *s, neo_rt_array *out) {
  bytes b;
  member m = {0};
  memset(out, 0, sizeof *out);
  neo_rt_status status = find_stored(s, &m, &b);
  if (status)
    return status;
  return m.method == DEFLATED ? read_deflated(s, b, &m, out) : read_checked(s, b, m.crc, out);
}

static neo_rt_status locate(const neo_rti_source *s, neo_rti_located *out) {
  bytes b;
  member m = {0};
  neo_rt_status status = find_stored(s, &m, &b);
  if (status || m.method == DEFLATED)
    return status ? status : NEO_UNSUPPORTED;
  neo_rti_source inner = *s;
  inner.p = b.p;
  inner.n = b.n;
  status = neo_rti_format_npy.locate(&inner, out);
  out->whole = (uint64_t)(b.p - s->p);
  out->whole_bytes = b.n;
  out->crc = m.crc;
  out->begin += out->whole;
  return status;
}

static bool detect(const unsigned char *p, size_t n) {
  return n >= 4 && memcmp(p, "PK", 2) == 0;
}

const neo_rti_format neo_rti_format_npz = {.name = "npz",
                                           .title = ".npz",
                                           .member = ".npz:",
                                           .detect = detect,
                                           .read_array = read_array,
                                           .locate = locate,
                                           .write_arrays = neo_rti_npz_write};
