/* A file of records, open and locked for writing. */
#pragma once
#include "tools/cache/file.h"

typedef struct {
  const neo_io *io;
  neo_arena *a;
  const char *path;
  unsigned flags;
  int fd;        /* -1: not open */
  uint32_t mode; /* permissions of the file */
  int64_t size;
  const char *why; /* of a failure, with the path */
} neo_records_lock;

typedef neo_status neo_records_work(neo_records_lock *w, void *ctx);

/* Opens the file (made with its folder where it is missing), locks it, looks whether the path still
 * names the file that was locked, if not once more; then does the work, and closes the file. Memory
 * that ends on the way is caught, or the file would stay open and locked. */
neo_status neo_records_locked(const neo_io *io, neo_arena *a, const char *path, unsigned flags,
                              neo_records_work *work, void *ctx, const char **why) NEO_MUST_CHECK;

/* Failures of the work: a text that begins with the path. */
neo_status neo_records_fail(neo_records_lock *w, neo_status s, const char *text) NEO_MUST_CHECK;
neo_status neo_records_fail_errno(neo_records_lock *w) NEO_MUST_CHECK;
