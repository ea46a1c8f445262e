/* Files through one table of operations, so that tests can make the n-th call fail. */
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct neo_io {
  void *ctx;
  int (*open)(void *ctx, const char *path, int flags, mode_t mode);
  ssize_t (*read)(void *ctx, int fd, void *p, size_t n);
  ssize_t (*write)(void *ctx, int fd, const void *p, size_t n);
  int (*fsync)(void *ctx, int fd);
  int (*close)(void *ctx, int fd);
  int (*rename)(void *ctx, const char *from, const char *to);
  int (*unlink)(void *ctx, const char *path);
} neo_io;
extern const neo_io neo_io_default;

/* Reads n bytes, or as many as there are; -1: it fails. */
ssize_t neo_io_read(const neo_io *io, int fd, void *p, size_t n);
bool neo_io_write(const neo_io *io, int fd, const void *p, size_t n); /* all of them */
/* A new name is on the disk when its folder is. Some file systems cannot sync a folder: that is no
 * failure. */
bool neo_io_sync_folder(const neo_io *io, const char *folder);

/* Reads a whole file (at most `limit_bytes`, 0 = no limit) into the arena, NUL-terminated.
 * NEO_IO when it cannot be read, NEO_FORMAT when it is larger than the limit, NEO_MEMORY when the
 * arena is out of memory (its on_fail is not called, so that the file can be closed). errno tells
 * why. */
neo_status neo_file_read(const neo_io *io, neo_arena *a, const char *path, size_t limit_bytes,
                         char **text, size_t *size_bytes) NEO_MUST_CHECK;

/* A writer makes a file that appears completely or not at all. It writes a temporary file in the
 * same folder (O_EXCL), calls fsync, renames the temporary over the target, and calls fsync on
 * the folder. A failure removes the temporary and leaves the old file as it was; only a failing
 * fsync of the folder comes after the rename. An old file's mode is kept, and where the path is a
 * symbolic link, what it leads to is replaced. A target that exists and is no regular file, as
 * /dev/stdout, is written in place. The writer allocates nothing. */
typedef struct neo_file_writer {
  const neo_io *io;
  int fd;
  neo_status status; /* first error; later calls do nothing */
  char path[4096], temp[4096];
  char buf[65536];
  size_t n;
} neo_file_writer;
neo_status neo_file_begin(neo_file_writer *w, const neo_io *io, const char *path,
                          mode_t mode) NEO_MUST_CHECK;
/* Appends size_bytes bytes at p; after a failure it does nothing, and neo_file_commit returns the
 * status. */
void neo_file_put(neo_file_writer *w, const void *p, size_t size_bytes);
neo_status neo_file_commit(neo_file_writer *w) NEO_MUST_CHECK;
/* Gives up a file that was begun: closes it and removes its temporary file. Nothing happens after a
 * commit. */
void neo_file_abandon(neo_file_writer *w);
/* Writes a file of size_bytes bytes, whole or not at all; the status of the first call that
 * failed. */
neo_status neo_file_write(const neo_io *io, const char *path, const void *p,
                          size_t size_bytes) NEO_MUST_CHECK;

bool neo_path_exists(const char *path);    /* false also where the caller may not look */
bool neo_path_is_folder(const char *path); /* false also if there is no such path */
/* Creates a folder and its parents (mode 0777 & ~umask). NEO_OK if it is already there. */
neo_status neo_path_make_folder(const char *path) NEO_MUST_CHECK;
/* The path, or "./path" for one that a program would take for an option, as "-x", or for a file of
 * options, as "@x". */
const char *neo_path_plain(neo_arena *a, const char *path);
/* "folder/name"; the name alone if it is absolute or the folder is "". */
char *neo_path_join(neo_arena *a, const char *folder, const char *name);
char *neo_path_folder(neo_arena *a, const char *path); /* "a/b.expr" -> "a", "b.expr" -> "." */
/* "a/b.expr" -> "b.expr". Points into the path. */
const char *neo_path_name(const char *path);
char *neo_path_stem(neo_arena *a, const char *path); /* "a/b.expr" -> "b" */
