/* safetensors_write.c: the head of a safetensors file: the header's length and the header, padded
 * with spaces to a multiple of 8 bytes. */
#include "runtime/files/safetensors.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const neo_rti_safetensors_types[NEO_RTI_N_FILE_TYPES] = {
    [NEO_RT_F64] = "F64",       [NEO_RT_F32] = "F32",       [NEO_RT_F16] = "F16",
    [NEO_RT_BF16] = "BF16",     [NEO_RT_I64] = "I64",       [NEO_RT_I32] = "I32",
    [NEO_RT_I8] = "I8",         [NEO_RT_U8] = "U8",         [NEO_RT_BOOL] = "BOOL",
    [NEO_RTI_FILE_I16] = "I16", [NEO_RTI_FILE_U16] = "U16", [NEO_RTI_FILE_U32] = "U32",
    [NEO_RTI_FILE_U64] = "U64"};

/* A sink of the header's text. The same code runs twice: first it counts the bytes, because their
 * number comes first in the file, then it writes them. */
typedef struct {
  neo_file_writer *w; /* null: count bytes only */
  size_t n;
} sink;

static void put(sink *s, const char *text, size_t n) {
  if (s->w)
    neo_file_put(s->w, text, n);
  s->n += n;
}

static void put_text(sink *s, const char *text) {
  put(s, text, strlen(text));
}

static void put_string(sink *s, const char *text) {
  put(s, "\"", 1);
  for (; *text; text++) {
    char escaped[8];
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      put(s, (char[]){'\\', (char)c}, 2);
    else if (c < 0x20)
      put(s, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c));
    else
      put(s, text, 1);
  }
  put(s, "\"", 1);
}

static void put_pair(sink *s, const char *key, const char *value, bool first) {
  if (!first)
    put_text(s, ",");
  put_string(s, key);
  put_text(s, ":");
  put_string(s, value);
}

static void put_tensor(sink *s, const neo_rti_file_tensor *t) {
  char text[64];
  put_text(s, ",");
  put_string(s, t->name);
  put_text(s, ":{\"dtype\":\"");
  put_text(s, neo_rti_safetensors_types[t->type]);
  put_text(s, "\",\"shape\":[");
  for (int d = 0; d < t->rank; d++) {
    snprintf(text, sizeof text, d ? ",%" PRId64 : "%" PRId64, t->extent[d]);
    put_text(s, text);
  }
  snprintf(text, sizeof text, "],\"data_offsets\":[%zu,%zu]}", t->begin, t->end);
  put_text(s, text);
}

static void put_header(sink *s, const neo_rti_file_tensors *t) {
  put_text(s, "{\"__metadata__\":{");
  for (size_t i = 0; i < t->n_meta; i++)
    put_pair(s, t->meta[i].key, t->meta[i].value, i == 0);
  put_text(s, "}");
  for (size_t i = 0; i < t->n_tensors; i++)
    put_tensor(s, &t->tensors[i]);
  put_text(s, "}");
  while (s->n % 8)
    put(s, " ", 1);
}

void neo_rti_safetensors_write_head(neo_file_writer *w, const neo_rti_file_tensors *t) {
  sink count = {NULL, 0}, real = {w, 0};
  unsigned char length[8];
  put_header(&count, t);
  for (int i = 0; i < 8; i++)
    length[i] = (unsigned char)((uint64_t)count.n >> (8 * i));
  neo_file_put(w, length, sizeof length);
  put_header(&real, t);
}
