/* Data that stay in their files: --data-memory says from which size on. Rows are read where they are
 * needed, those of the next batch by a thread while a step runs.
 *
 * They are read, and the file is not mapped: a file that gets shorter while it is read, or a disk that
 * fails, is then an error of the read, where a map would end the process with a signal in whatever code
 * touches the page. The kernel keeps the same pages for both. */
#pragma once
#include "runtime/files.h"
#include "tools/neoc/train/data.h"

struct neoc_stream {
  const char *path;
  int fd;
  neo_rti_located at;
  size_t element_bytes; /* in the file, of what the first dimension counts */
  int64_t shift, span;  /* a row is so many of these, so much further on */
  char *raw[2];         /* rows as they lie there; the thread fills raw[1 - front] */
  size_t raw_bytes[2];
  int front;
  int failed; /* errno of the thread's read, -1: the file is too short; 0: it went well */
};

/* Takes the input's file as a stream, if it can be and is larger than d->memory: *is says so. */
neoc_exit neoc_stream_open(neoc_data *d, int32_t tensor, bool *is);
void neoc_stream_close(neoc_stream *s);
/* Elements [from, from + n) of the first dimension as an array of the file's type, which the caller
 * frees. */
neoc_exit neoc_stream_chunk(const neoc_data *d, int32_t tensor, int64_t from, int64_t n,
                            neo_rt_array *out);
/* What a checksum is of still has it; NEOC_FAILED, with a message. */
neoc_exit neoc_stream_check(const neoc_data *d, int32_t tensor);

/* ---- batches */
/* Begins to read rows order[0 .. n) of all streams. The rows are copied. */
void neoc_prefetch_begin(neoc_data *d, const int64_t *order, int64_t n);
/* Has them, whether anybody began to read them or not. */
neoc_exit neoc_prefetch_take(neoc_data *d, const int64_t *order, int64_t n);
/* The present rows of an input as an array of the file's type, which the caller frees. */
neoc_exit neoc_prefetch_rows(const neoc_data *d, int32_t tensor, int64_t n, neo_rt_array *out);
void neoc_prefetch_end(neoc_data *d);
