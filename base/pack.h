/* Numbers and texts as bytes, one after the other, and back, on the machine that wrote them. A text
 * has its length before it and a NUL after it. A reader never leaves its bytes: a missing item is
 * 0, or an empty text, and sets `bad`. */
#pragma once
#include "base/str.h"
#include <stdint.h>

/* Appends the 8 bytes of a number. */
void neo_pack_number(neo_str *out, uint64_t x);
/* Appends the length n, then n bytes, then a NUL. */
void neo_pack_bytes(neo_str *out, const char *data, size_t n);
/* Appends the length of a text, then the text with its NUL. */
void neo_pack_text(neo_str *out, const char *text);

typedef struct {
  const char *at;
  size_t n;
  bool bad; /* the bytes end too early, or hold an impossible value */
} neo_unpack;
/* The next number; 0, and `bad` is set, if fewer than 8 bytes are left. */
uint64_t neo_unpack_number(neo_unpack *r);
/* A number below `end`; 0, and `bad`, if it is not. */
uint64_t neo_unpack_below(neo_unpack *r, uint64_t end);
/* A pointer into the reader's bytes; a NUL follows. Valid as long as these are; never null. */
const char *neo_unpack_bytes(neo_unpack *r, size_t *n);
/* The same for a text without a NUL in it. Valid as long as the reader's bytes. */
const char *neo_unpack_text(neo_unpack *r);
