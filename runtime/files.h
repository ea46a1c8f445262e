/* files.h: arrays and tensors from files, and into files.
 *
 *   path -> neo_rti_file_read -> bytes -> the format that knows them (files/formats.def) -> arrays
 *
 * A format is a row of a table with functions, of which it has some: reading one array of a file by
 * itself (data of training), reading all tensors of a file with names and metadata (weights), and
 * writing. Readers work on a whole file in memory and trust nothing in it: every size is
 * checked. */
#pragma once
#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "runtime/element.h"

typedef struct { /* memory and file operations, which tests make fail */
  neo_alloc alloc;
  neo_io io;
} neo_rti_env;

#define NEO_RTI_FREE(alloc, p) ((void)(alloc)->resize((alloc)->ctx, (p), 0))

/* Writes a message to a buffer that may be null; returns `status`. */
neo_rt_status neo_rti_say(char *error, size_t error_bytes, neo_rt_status status, const char *fmt,
                          ...) __attribute__((format(printf, 4, 5)));

/* Reads a whole file into one allocation, which the caller frees (at least one byte, so never null
 * on success). NEO_IO with errno, NEO_MEMORY. */
neo_rt_status neo_rti_file_read(const neo_rti_env *env, const char *path, unsigned char **out,
                                size_t *size_bytes) NEO_MUST_CHECK;
/* Inflates a gzip (window_bits 31), zlib (15) or raw (-15) stream into an allocation that the
 * caller frees. `limit_bytes` bounds the output; `exact` demands exactly that many. The stream must
 * end with the input. NEO_FORMAT, NEO_MEMORY. */
neo_rt_status neo_rti_inflate(const neo_alloc *alloc, int window_bits, const unsigned char *p,
                              size_t n, size_t limit_bytes, bool exact, unsigned char **out,
                              size_t *out_bytes) NEO_MUST_CHECK;

/* ------------------------------------------------------------ contents of files */

/* Allocates data for the type, rank and extent in *array. NEO_TYPE, NEO_SHAPE if the size
 * overflows, NEO_MEMORY. */
neo_rt_status neo_rti_array_alloc(const neo_alloc *alloc, neo_rt_array *array) NEO_MUST_CHECK;

typedef struct {
  const char *name;   /* NUL-terminated; may not contain NUL */
  uint8_t type, rank; /* type: enum neo_rt_type or neo_rti_file_type */
  int64_t extent[NEO_RTI_MAX_RANK];
  size_t begin, end; /* range in the file's data: row-major, little endian, not aligned */
} neo_rti_file_tensor;

typedef struct { /* a file's tensors; text and tables are owned, data are the file's own bytes */
  neo_alloc alloc;
  neo_rti_file_tensor *tensors; /* in the file's order */
  size_t n_tensors, cap_tensors;
  neo_rt_pair *meta;
  size_t n_meta, cap_meta;
  char *text; /* all strings */
  const unsigned char *data;
  size_t data_bytes;
} neo_rti_file_tensors;
/* Frees the list of a file's tensors, with its metadata and text. */
void neo_rti_file_tensors_free(neo_rti_file_tensors *t);

/* ------------------------------------------------------------ formats */

typedef struct { /* a file in memory, and a buffer for the message of a failure (may be null) */
  const neo_alloc *alloc;
  const unsigned char *p;
  size_t n;
  const char *member; /* the array of this name; null: the only one */
  char *error;
  size_t error_bytes;
} neo_rti_source;

typedef struct {      /* the position of an array's elements in a file; they are contiguous */
  neo_rt_array array; /* its `data` is null */
  uint64_t begin;     /* bytes before the first element */
  uint8_t bytes;      /* bytes of an element in the file */
  char kind;          /* NumPy's letter; 0: elements are as in memory */
  bool swap;
  uint64_t whole, whole_bytes; /* the bytes that `crc` covers; 0 bytes: none */
  uint32_t crc;
} neo_rti_located;

typedef struct {      /* a null function: the format does not support it */
  const char *name;   /* the row's: "npz" */
  const char *title;  /* name in messages: ".npz" */
  const char *member; /* the separator of a path and a member's name: ".npz:" in x.npz:W */
  /* Whether these are the first bytes of a file of this format. */
  bool (*detect)(const unsigned char *p, size_t n);
  /* Reads one array, whose data the caller frees. */
  neo_rt_status (*read_array)(const neo_rti_source *s, neo_rt_array *out) NEO_MUST_CHECK;
  /* Finds the array in the file; NEO_UNSUPPORTED if it cannot be read in parts. */
  neo_rt_status (*locate)(const neo_rti_source *s, neo_rti_located *out) NEO_MUST_CHECK;
  /* Writes n arrays to a file that appears whole or not at all. */
  neo_rt_status (*write_arrays)(const neo_rti_env *env, const char *path,
                                const neo_rt_named_array *arrays, int32_t n) NEO_MUST_CHECK;
  /* Reads all tensors; on success the caller frees *out. */
  neo_rt_status (*read_tensors)(const neo_rti_source *s, neo_rti_file_tensors *out) NEO_MUST_CHECK;
  /* Writes the part of the file before the tensors' bytes. The caller writes these after it, in
   * order, at the offsets `begin` .. `end`. */
  void (*write_head)(neo_file_writer *w, const neo_rti_file_tensors *t);
} neo_rti_format;

/* Row k of the table; null after the last. */
const neo_rti_format *neo_rti_format_at(size_t k);
/* The row of this name; null if there is none. */
const neo_rti_format *neo_rti_format_named(const char *name);
/* The format that checkpoints are written in. Never null; it lives as long as the program. */
const neo_rti_format *neo_rti_checkpoint_format(void);

/* As neo_rt_array_load, with its status. The first bytes determine the format, not the name. */
neo_rt_status neo_rti_array_load(const neo_rti_env *env, const char *path, neo_rt_array *out,
                                 char *error, size_t error_bytes) NEO_MUST_CHECK;
/* Finds the array that neo_rti_array_load would read, and writes the path of its file to `file`
 * (room for `file_bytes`). NEO_UNSUPPORTED if it has to be read as a whole, as a compressed or
 * column-major array has. Damage may be reported by this function or by the later read. */
neo_rt_status neo_rti_array_locate(const char *path, char *file, size_t file_bytes,
                                   neo_rti_located *out) NEO_MUST_CHECK;
/* Converts n elements from their form in the file to that in memory. */
void neo_rti_decode(const neo_rti_located *l, const void *from, void *out, size_t n);
/* The CRC-32 of zip; `crc` is that of the bytes before (0: none). */
uint32_t neo_rti_crc(uint32_t crc, const void *p, size_t n);
/* Whether the file begins like an array of a known format, whole or damaged. */
bool neo_rti_is_array(const char *path);
/* Reads the tensors of a file in memory. The caller sets `alloc`, `p`, `n` and the buffer for
 * messages. The status of the format's reader; its message is in the source's buffer. */
neo_rt_status neo_rti_tensors_read(const neo_rti_source *s,
                                   neo_rti_file_tensors *out) NEO_MUST_CHECK;
