/* Files of records, and sets of records read from them.
 *
 * A file is text: a first line "neo-records VERSION CHECKSUM", then a line for each record
 * (record.h), only ever appended to. Concurrent use is safe:
 *
 *   writers    append under flock, a whole line (with the first line, if the file is new) in one
 *              write. A killed writer leaves at most a part of a line, without its newline,
 *              at the end; the next writer cuts that off.
 *   readers    take no lock: each line is checked. Damaged lines are skipped and counted; text
 *              after the last newline that is no whole record is by a writer at work, or by one
 *              that was killed.
 *   rewriting  (prune, merge) makes a new file beside the old one and renames it over that, under
 *              the lock; a writer that waited for the lock sees that its file has gone, and opens
 *              the new one.
 *   versions   a file of a newer version is neither read nor written: that is an error with a
 *              message. A damaged first line is skipped like any other; a file without a record
 *              and without a first line is not written to.
 *
 * The user's own file is $XDG_CACHE_HOME/neo/records, or ~/.cache/neo/records. It is opened only if
 * it and its folder are the user's, and nobody else may write them.
 *
 * Records, and the texts in *why, are in the arena of the set or constant. */
#pragma once
#include "base/file.h"
#include "base/vec.h"
#include "tools/cache/record.h"

enum {
  NEO_RECORDS_PRIVATE = 1, /* the user's own: no link, and nobody else may write it */
  NEO_RECORDS_SYNC = 2     /* append: on the disk when it returns */
};

/* ---- files (append.c, place.c) */

/* The path of the user's file; null: neither XDG_CACHE_HOME nor HOME is an absolute path. */
char *neo_records_place(neo_arena *a);
/* Makes the folder of a file, and those above it; for the user alone, whatever the umask, if the
 * file is the user's own (NEO_RECORDS_PRIVATE). NEO_IO: the reason is in errno. */
neo_status neo_records_make_folder(neo_arena *a, const char *path, unsigned flags) NEO_MUST_CHECK;

/* Appends one record: it is in the file, whole, when this returns NEO_OK; folders are made. Any
 * number of processes may call this at once. After a failure *why has a text with the path: NEO_IO
 * (a read-only place, a full disk), NEO_FORMAT (a newer version, or no file of records: nothing was
 * changed), NEO_ARGUMENT (the record is not valid). Memory is taken from `scratch`. */
neo_status neo_record_append(const neo_io *io, neo_arena *scratch, const char *path,
                             const neo_record *r, unsigned flags, const char **why) NEO_MUST_CHECK;

/* ---- sets (set.c, find.c) */

typedef struct {
  const char *path;
  size_t first, records; /* range in the set's `all` */
  size_t bad_lines;      /* lines with a wrong checksum, or with a right one but invalid contents */
  size_t torn_bytes;     /* after the last line */
  const char *first_bad; /* "line 7: checksum"; null if there is none */
} neo_records_file;

typedef struct neo_records {
  neo_arena *arena;
  NEO_VEC(neo_record) all; /* in the order in which they were read */
  NEO_VEC(neo_records_file) files;
} neo_records;

/* An empty set whose records will be in the arena. */
void neo_records_init(neo_records *s, neo_arena *arena);
/* Reads a file's records into the set, after those that are there. NEO_IO (the reason is in errno;
 * ENOENT: there is no file), NEO_FORMAT: a newer version, or no file of records; *why has a text
 * with the path. Damaged lines are no failure: see `files`. */
neo_status neo_records_load(neo_records *s, const neo_io *io, const char *path, unsigned flags,
                            const char **why) NEO_MUST_CHECK;
/* The same for a file's text in memory; `name` stands for its path in messages. NEO_FORMAT as
 * there. */
neo_status neo_records_take(neo_records *s, const char *name, const char *text, size_t n,
                            const char **why) NEO_MUST_CHECK;
/* The file that a record of `all` was read from; null: none. */
const neo_records_file *neo_records_file_of(const neo_records *s, const neo_record *r);
/* Adds a record, by reference to its texts and sizes. */
void neo_records_add(neo_records *s, const neo_record *r);

/* Is b the better of two records for the same (key, target, build), in any order of reading: the
 * one of lower time relative to its own default, then the later one? */
bool neo_record_better(const neo_record *a, const neo_record *b);
/* The best record for exactly this group, target and build; null: none. A record with as many
 * threads comes before all others; threads 0: any number. */
const neo_record *neo_records_find(const neo_records *s, const uint64_t key[2], const char *target,
                                   const char *build, uint32_t threads);
/* Writes the best record of each of the `most` nearest shapes of a family to out[], nearest first;
 * returns their number. The distance is the sum of |log(a/b)| over sizes; equal distances are
 * ordered by sizes, then key. The shape itself (distance 0) is among them. */
size_t neo_records_nearest(const neo_records *s, const uint64_t family[2], const int64_t *sizes,
                           uint32_t n_sizes, const char *target, const char *build,
                           const neo_record **out, size_t most);

/* ---- rewriting (replace.c) */

/* Writes the text of a file with these records. */
void neo_records_print(const neo_records *s, neo_str *out);
/* Changes the set; false: leave the file as it is. */
typedef bool neo_records_edit(void *ctx, neo_records *s);
/* Replaces a file by one with the records that `edit` leaves: whole or not at all, and without
 * losing a writer's record. A missing file is made; damaged lines go. Statuses as
 * neo_record_append. */
neo_status neo_records_rewrite(const neo_io *io, neo_arena *scratch, const char *path,
                               unsigned flags, neo_records_edit *edit, void *ctx,
                               const char **why) NEO_MUST_CHECK;
