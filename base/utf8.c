/* UTF-8 decoding (RFC 3629). */
#include "base/utf8.h"

/* Bytes that the first byte announces; 0 for a byte that cannot be first. */
static size_t length_of(unsigned char first) {
  if (first < 0x80)
    return 1;
  if (first >= 0xc2 && first < 0xe0)
    return 2;
  if (first >= 0xe0 && first < 0xf0)
    return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

size_t neo_utf8_decode(const char *p, size_t n, uint32_t *code) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = n ? length_of((unsigned char)*p) : 0;
  if (length == 0 || length > n)
    return 0;
  uint32_t c = (unsigned char)*p;
  if (length > 1)
    c &= 0x7fu >> length;
  for (size_t i = 1; i < length; i++) {
    unsigned char byte = (unsigned char)p[i];
    if ((byte & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (byte & 0x3fu);
  }
  if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
    return 0;
  if (code)
    *code = c;
  return length;
}
