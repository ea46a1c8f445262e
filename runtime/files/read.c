/* read.c: whole files into memory, inflating with a limit, and messages of failures. */
#include "runtime/files.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#define ZLIB_CONST
#include <zlib.h>

neo_rt_status neo_rti_say(char *error, size_t error_bytes, neo_rt_status status, const char *fmt,
                          ...) {
  if (!error || error_bytes == 0)
    return status;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(error, error_bytes, fmt, ap);
  va_end(ap);
  return status;
}

typedef struct {
  const neo_alloc *alloc;
  unsigned char *at;
  size_t n, cap;
} bytes;

static bool grow(bytes *b, size_t cap) {
  unsigned char *p = b->alloc->resize(b->alloc->ctx, b->at, cap);
  if (!p)
    return false;
  b->at = p;
  b->cap = cap;
  return true;
}

static neo_rt_status give_up(bytes *b, neo_rt_status status) {
  if (b->at)
    NEO_RTI_FREE(b->alloc, b->at);
  return status;
}

/* The size of a regular file, as a first guess only; the reads decide. */
static size_t expected_size(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
    return 0;
  return (size_t)st.st_size;
}

static neo_rt_status read_all(const neo_io *io, int fd, bytes *b) {
  for (;;) {
    if (b->n == b->cap && (b->cap > SIZE_MAX / 2 || !grow(b, b->cap * 2)))
      return NEO_MEMORY;
    ssize_t got = io->read(io->ctx, fd, b->at + b->n, b->cap - b->n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return NEO_IO;
    if (got == 0)
      return NEO_OK;
    b->n += (size_t)got;
  }
}

neo_rt_status neo_rti_file_read(const neo_rti_env *env, const char *path, unsigned char **out,
                                size_t *size_bytes) {
  const neo_io *io = &env->io;
  int fd = io->open(io->ctx, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0)
    return NEO_IO;
  bytes b = {&env->alloc, NULL, 0, 0};
  neo_rt_status status = grow(&b, expected_size(fd) + 1) ? read_all(io, fd, &b) : NEO_MEMORY;
  int saved = errno;
  io->close(io->ctx, fd);
  errno = saved;
  if (status)
    return give_up(&b, status);
  *out = b.at;
  *size_bytes = b.n;
  return NEO_OK;
}

/* zlib counts in unsigned int; larger buffers go in pieces. */
static unsigned piece(size_t n) {
  return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

static neo_rt_status inflate_all(z_stream *z, const unsigned char *p, size_t n, size_t limit_bytes,
                                 bytes *b) {
  size_t used = 0;
  for (;;) {
    if (b->n == b->cap) {
      if (b->cap > limit_bytes)
        return NEO_FORMAT;
      size_t cap = b->cap > limit_bytes / 2 ? limit_bytes + 1 : b->cap * 2;
      if (!grow(b, cap))
        return NEO_MEMORY;
    }
    z->next_in = p + used;
    z->avail_in = piece(n - used);
    z->next_out = b->at + b->n;
    z->avail_out = piece(b->cap - b->n);
    unsigned in = z->avail_in, out = z->avail_out;
    int result = inflate(z, Z_NO_FLUSH);
    used += in - z->avail_in;
    b->n += out - z->avail_out;
    if (b->n > limit_bytes)
      return NEO_FORMAT;
    if (result == Z_STREAM_END)
      return used == n ? NEO_OK : NEO_FORMAT;
    if (result == Z_MEM_ERROR)
      return NEO_MEMORY;
    if (result != Z_OK || (used == n && z->avail_out > 0))
      return NEO_FORMAT;
  }
}

neo_rt_status neo_rti_inflate(const neo_alloc *alloc, int window_bits, const unsigned char *p,
                              size_t n, size_t limit_bytes, bool exact, unsigned char **out,
                              size_t *out_bytes) {
  z_stream z;
  memset(&z, 0, sizeof z);
  bytes b = {alloc, NULL, 0, 0};
  if (!grow(&b, exact ? limit_bytes + 1 : 65536))
    return NEO_MEMORY;
  int opened = inflateInit2(&z, window_bits);
  if (opened != Z_OK)
    return give_up(&b, opened == Z_MEM_ERROR ? NEO_MEMORY : NEO_INTERNAL);
  neo_rt_status status = inflate_all(&z, p, n, limit_bytes, &b);
  inflateEnd(&z);
  if (!status && exact && b.n != limit_bytes)
    status = NEO_FORMAT;
  if (status)
    return give_up(&b, status);
  *out = b.at;
  *out_bytes = b.n;
  return NEO_OK;
}
