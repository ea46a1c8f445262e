/* text.c: a file's bytes as classes, for character models. */
#include "runtime/files.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The bytes that occur, in order, numbered. */
static void make_vocab(const unsigned char *p, size_t n, int16_t vocab[256]) {
  bool occurs[256] = {false};
  int16_t classes = 0;
  for (size_t i = 0; i < n; i++)
    occurs[p[i]] = true;
  for (int b = 0; b < 256; b++)
    vocab[b] = occurs[b] ? classes++ : -1;
}

static int count_classes(const int16_t vocab[256]) {
  int most = -1;
  for (int b = 0; b < 256; b++)
    if (vocab[b] > most)
      most = vocab[b];
  return most + 1;
}

static neo_rt_status unknown_byte(const unsigned char *p, size_t at, const char *path, char *error,
                                  size_t error_bytes) {
  size_t line = 1;
  for (size_t i = 0; i < at; i++)
    line += p[i] == '\n';
  char shown[16] = "";
  if (isprint(p[at]))
    neo_rti_say(shown, sizeof shown, NEO_OK, " ('%c')", p[at]);
  return neo_rti_say(error, error_bytes, NEO_RANGE,
                     "%s:%zu: byte 0x%02x%s at offset %zu is not in the vocabulary", path, line,
                     p[at], shown, at);
}

static neo_rt_status to_classes(const unsigned char *p, size_t n, const char *path,
                                const int16_t vocab[256], neo_rt_array *out, char *error,
                                size_t error_bytes) {
  for (size_t i = 0; i < n; i++)
    if (vocab[p[i]] < 0)
      return unknown_byte(p, i, path, error, error_bytes);
  neo_rt_array a = {.type = NEO_RT_I32, .rank = 1, .extent = {(int64_t)n}};
  neo_rt_status status = neo_rti_array_alloc(&neo_alloc_default, &a);
  if (status)
    return neo_rti_say(error, error_bytes, status, "%s: out of memory", path);
  for (size_t i = 0; i < n; i++)
    ((int32_t *)a.data)[i] = vocab[p[i]];
  *out = a;
  return NEO_OK;
}

static bool is_empty(const int16_t vocab[256]) {
  for (int b = 0; b < 256; b++)
    if (vocab[b] >= 0)
      return false;
  return true;
}

neo_rt_status neo_rt_text_load(const char *path, int16_t vocab[256], int *n_classes,
                               neo_rt_array *out, char *error, size_t error_bytes) {
  if (!path || !out)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  memset(out, 0, sizeof *out);
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  unsigned char *p;
  size_t n;
  errno = 0;
  neo_rt_status status = neo_rti_file_read(&env, path, &p, &n);
  if (status)
    return neo_rti_say(error, error_bytes, status, "%s: %s", path,
                       errno ? strerror(errno) : "cannot be read");
  int16_t own[256];
  int16_t *use = vocab ? vocab : own;
  if (!vocab || is_empty(vocab))
    make_vocab(p, n, use);
  status = n > 0 ? to_classes(p, n, path, use, out, error, error_bytes)
                 : neo_rti_say(error, error_bytes, NEO_FORMAT, "%s: the file is empty", path);
  if (!status && n_classes)
    *n_classes = count_classes(use);
  NEO_RTI_FREE(&env.alloc, p);
  return status;
}
