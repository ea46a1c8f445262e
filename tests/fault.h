/* An allocator, and file operations, that fail on demand. */
#pragma once
#include "base/alloc.h"
#include "base/file.h"
#include <errno.h>

/* Fails the request numbered `fail_at` (from 1) and, if `forever`, every later one. */
typedef struct {
  size_t count, fail_at;
  int forever;
} neo_alloc_fault;

/* Freeing never fails and is not counted. */
static inline void *resize_with_fault(void *ctx, void *p, size_t size_bytes) {
  neo_alloc_fault *fault = ctx;
  if (size_bytes > 0) {
    fault->count++;
    if (fault->count == fault->fail_at || (fault->forever && fault->count > fault->fail_at))
      return NULL;
  }
  return neo_alloc_default.resize(neo_alloc_default.ctx, p, size_bytes);
}

static inline neo_alloc neo_alloc_with_fault(neo_alloc_fault *fault) {
  return (neo_alloc){fault, resize_with_fault};
}

/* Fails the n-th call (from 1) of any operation, and all later ones if `forever`. */
typedef struct {
  size_t count, fail_at;
  int forever;
} neo_io_fault;

static inline bool is_due(void *ctx) {
  neo_io_fault *fault = ctx;
  fault->count++;
  bool now = fault->count == fault->fail_at ||
             (fault->forever && fault->fail_at > 0 && fault->count > fault->fail_at);
  if (now)
    errno = EIO;
  return now;
}

static inline int fault_open(void *ctx, const char *path, int flags, mode_t mode) {
  return is_due(ctx) ? -1 : neo_io_default.open(NULL, path, flags, mode);
}

static inline ssize_t fault_read(void *ctx, int fd, void *p, size_t n) {
  return is_due(ctx) ? -1 : neo_io_default.read(NULL, fd, p, n);
}

/* Half of it arrives, as on a full disk. */
static inline ssize_t fault_write(void *ctx, int fd, const void *p, size_t n) {
  if (!is_due(ctx))
    return neo_io_default.write(NULL, fd, p, n);
  ssize_t half = neo_io_default.write(NULL, fd, p, n / 2);
  (void)half;
  errno = ENOSPC;
  return -1;
}

static inline int fault_fsync(void *ctx, int fd) {
  return is_due(ctx) ? -1 : neo_io_default.fsync(NULL, fd);
}

/* The descriptor is gone even when close reports an error, as on Linux. */
static inline int fault_close(void *ctx, int fd) {
  bool failed = is_due(ctx);
  int result = neo_io_default.close(NULL, fd);
  if (failed)
    errno = EIO;
  return failed ? -1 : result;
}

static inline int fault_rename(void *ctx, const char *from, const char *to) {
  return is_due(ctx) ? -1 : neo_io_default.rename(NULL, from, to);
}

static inline int fault_unlink(void *ctx, const char *path) {
  return is_due(ctx) ? -1 : neo_io_default.unlink(NULL, path);
}

static inline neo_io neo_io_with_fault(neo_io_fault *fault) {
  return (neo_io){fault,       fault_open,  fault_read,   fault_write,
                  fault_fsync, fault_close, fault_rename, fault_unlink};
}
