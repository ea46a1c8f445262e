/* The table of file operations: the system's, and the one that fails on demand. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int sys_open(void *ctx, const char *path, int flags, mode_t mode) {
  (void)ctx;
  return open(path, flags | O_CLOEXEC, mode);
}

static ssize_t sys_read(void *ctx, int fd, void *p, size_t n) {
  (void)ctx;
  return read(fd, p, n);
}

static ssize_t sys_write(void *ctx, int fd, const void *p, size_t n) {
  (void)ctx;
  return write(fd, p, n);
}

static int sys_fsync(void *ctx, int fd) {
  (void)ctx;
  return fsync(fd);
}

static int sys_close(void *ctx, int fd) {
  (void)ctx;
  return close(fd);
}

static int sys_rename(void *ctx, const char *from, const char *to) {
  (void)ctx;
  return rename(from, to);
}

static int sys_unlink(void *ctx, const char *path) {
  (void)ctx;
  return unlink(path);
}

const neo_io neo_io_default = {NULL,      sys_open,  sys_read,   sys_write,
                               sys_fsync, sys_close, sys_rename, sys_unlink};

static bool fails(void *ctx) {
  neo_io_fault *fault = ctx;
  fault->count++;
  bool now = fault->count == fault->fail_at ||
             (fault->forever && fault->fail_at > 0 && fault->count > fault->fail_at);
  if (now)
    errno = EIO;
  return now;
}

static int fault_open(void *ctx, const char *path, int flags, mode_t mode) {
  return fails(ctx) ? -1 : sys_open(NULL, path, flags, mode);
}

static ssize_t fault_read(void *ctx, int fd, void *p, size_t n) {
  return fails(ctx) ? -1 : sys_read(NULL, fd, p, n);
}

/* Half of it arrives, as on a full disk. */
static ssize_t fault_write(void *ctx, int fd, const void *p, size_t n) {
  if (!fails(ctx))
    return sys_write(NULL, fd, p, n);
  ssize_t half = sys_write(NULL, fd, p, n / 2);
  (void)half;
  errno = ENOSPC;
  return -1;
}

static int fault_fsync(void *ctx, int fd) {
  return fails(ctx) ? -1 : sys_fsync(NULL, fd);
}

/* The descriptor is gone even when close reports an error, as on Linux. */
static int fault_close(void *ctx, int fd) {
  bool failed = fails(ctx);
  int result = sys_close(NULL, fd);
  if (failed)
    errno = EIO;
  return failed ? -1 : result;
}

static int fault_rename(void *ctx, const char *from, const char *to) {
  return fails(ctx) ? -1 : sys_rename(NULL, from, to);
}

static int fault_unlink(void *ctx, const char *path) {
  return fails(ctx) ? -1 : sys_unlink(NULL, path);
}

neo_io neo_io_with_fault(neo_io_fault *fault) {
  return (neo_io){fault,       fault_open,  fault_read,   fault_write,
                  fault_fsync, fault_close, fault_rename, fault_unlink};
}
