/* Data that stay in their files, from the size of --data-memory on. Rows are read on demand; a
 * thread reads those of the next batch while a step runs.
 *
 * The files are read, not mapped: a file that gets shorter, or a disk that fails, is then an error
 * of the read, while a map would end the process with a signal in whatever code touches the page.
 * The kernel caches the same pages for both. */
#pragma once
#include "runtime/files.h"
#include "tools/neoc/train/data.h"

struct neoc_stream {
  const char *path;
  int fd;
  neo_rti_located at;
  size_t element_bytes; /* bytes in the file of one element along the first dimension */
  int64_t shift, span;  /* a row is `span` of these elements, `shift` elements further on */
  char *raw[2];         /* rows as in the file; the thread fills raw[1 - front] */
  size_t raw_bytes[2];
  int front;
  int failed; /* errno of the thread's read; -1: the file is too short; 0: none */
};

/* Makes the input's file a stream, if it can be one and is larger than d->memory; *is tells. */
neoc_exit neoc_stream_open(neoc_data *d, int32_t tensor, bool *is);
/* Closes the file and frees the buffers. */
void neoc_stream_close(neoc_stream *s);
/* Reads elements [from, from + n) of the first dimension as an array of the file's type, which the
 * caller frees. */
neoc_exit neoc_stream_chunk(const neoc_data *d, int32_t tensor, int64_t from, int64_t n,
                            neo_rt_array *out);
/* Checks that the file still has the checksum that was taken of it; NEOC_FAILED, with a message. */
neoc_exit neoc_stream_check(const neoc_data *d, int32_t tensor);

/* ---- batches */
/* Starts reading rows order[0 .. n) of all streams. `order` is copied. */
void neoc_prefetch_begin(neoc_data *d, const int64_t *order, int64_t n);
/* Makes these the present rows; reads them unless they were read ahead. */
neoc_exit neoc_prefetch_take(neoc_data *d, const int64_t *order, int64_t n);
/* The present rows of an input as an array of the file's type, which the caller frees. */
neoc_exit neoc_prefetch_rows(const neoc_data *d, int32_t tensor, int64_t n, neo_rt_array *out);
/* Ends the thread that reads ahead, if there is one. */
void neoc_prefetch_end(neoc_data *d);
