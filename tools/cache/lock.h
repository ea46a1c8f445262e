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
  const char *why; /* a failure, with the path */
} neo_records_lock;

typedef neo_status neo_records_work(neo_records_lock *w, void *ctx);

/* Opens the file (and makes it, with its folder, if it is missing), locks it, and checks that the
 * path still names the locked file; if not, tries once more. Then does the work, and closes the
 * file. Catches the end of memory, which would else leave the file open and locked. The status of
 * the work, or of the first call that failed, with a text in *why. */
neo_status neo_records_locked(const neo_io *io, neo_arena *a, const char *path, unsigned flags,
                              neo_records_work *work, void *ctx, const char **why) NEO_MUST_CHECK;

/* A failure of the work: a text that begins with the path. */
neo_status neo_records_fail(neo_records_lock *w, neo_status s, const char *text) NEO_MUST_CHECK;
neo_status neo_records_fail_errno(neo_records_lock *w) NEO_MUST_CHECK;
