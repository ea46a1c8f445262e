/* Numbers and texts as bytes, one after the other, and back, on the machine that wrote them. A text
 * has its length before it and a NUL after it. A reader never leaves its bytes: what is not there
 * is 0, or an empty text, and `bad`. */
#pragma once
#include "base/str.h"
#include <stdint.h>

void neo_pack_number(neo_str *out, uint64_t x);
void neo_pack_bytes(neo_str *out, const char *data, size_t n);
void neo_pack_text(neo_str *out, const char *text);

typedef struct {
  const char *at;
  size_t n;
  bool bad; /* they end too early, or say what cannot be */
} neo_unpack;
uint64_t neo_unpack_number(neo_unpack *r);
/* A number below `end`; 0, and bad, where it is none. */
uint64_t neo_unpack_below(neo_unpack *r, uint64_t end);
/* Within the reader's bytes; a NUL follows. */
const char *neo_unpack_bytes(neo_unpack *r, size_t *n);
/* The same of a text without a NUL in it. */
const char *neo_unpack_text(neo_unpack *r);
