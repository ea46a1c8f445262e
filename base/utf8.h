/* UTF-8, one code point at a time. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The length in bytes (1 to 4) of the code point at p, of which n bytes may be read; 0 where the
 * bytes are no valid UTF-8 (overlong, surrogate, above U+10FFFF, cut short) or n is 0. `code` may
 * be null. */
size_t neo_utf8_decode(const char *p, size_t n, uint32_t *code);
