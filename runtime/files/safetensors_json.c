/* safetensors_json.c: a reader of little JSON, which does not recurse and accepts nothing that the
 * standard does not. */
#include "runtime/files/safetensors_json.h"
#include "base/utf8.h"
#include <string.h>

bool neo_rti_json_bad(neo_rti_json *r, const char *what) {
  if (!r->status)
    r->status = NEO_RTI_REJECT(r->s, NEO_FORMAT, "bad safetensors header: %s", what);
  return false;
}

void neo_rti_json_skip_space(neo_rti_json *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
    r->p++;
}

bool neo_rti_json_take(neo_rti_json *r, char c) {
  neo_rti_json_skip_space(r);
  if (r->p >= r->end || *r->p != c)
    return false;
  r->p++;
  return true;
}

bool neo_rti_json_need(neo_rti_json *r, char c) {
  if (neo_rti_json_take(r, c))
    return true;
  char what[] = "expected ' '";
  what[10] = c;
  return neo_rti_json_bad(r, what);
}

static bool read_hex4(neo_rti_json *r, uint32_t *out) {
  *out = 0;
  if (r->end - r->p < 4)
    return neo_rti_json_bad(r, "a string is not closed");
  for (int i = 0; i < 4; i++) {
    char c = *r->p++;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return neo_rti_json_bad(r, "bad \\u escape");
    *out = *out << 4 | (uint32_t)digit;
  }
  return true;
}

static void put_utf8(neo_rti_json *r, uint32_t c) {
  if (c < 0x80) {
    *r->text++ = (char)c;
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t first_byte[] = {0, 0xc0, 0xe0, 0xf0};
  *r->text++ = (char)(uint8_t)(first_byte[more] | c >> (6 * more));
  while (more-- > 0)
    *r->text++ = (char)(uint8_t)(0x80 | (c >> (6 * more) & 0x3f));
}

/* After "\u": one code point, perhaps of two surrogates. */
static bool read_unicode(neo_rti_json *r) {
  uint32_t c, low;
  if (!read_hex4(r, &c))
    return false;
  if (c >= 0xdc00 && c < 0xe000)
    return neo_rti_json_bad(r, "half of a surrogate pair");
  if (c >= 0xd800 && c < 0xdc00) {
    if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
      return neo_rti_json_bad(r, "half of a surrogate pair");
    r->p += 2;
    if (!read_hex4(r, &low))
      return false;
    if (low < 0xdc00 || low >= 0xe000)
      return neo_rti_json_bad(r, "half of a surrogate pair");
    c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
  }
  if (c == 0)
    return neo_rti_json_bad(r, "NUL in a string");
  put_utf8(r, c);
  return true;
}

static bool read_escape(neo_rti_json *r) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (r->p >= r->end)
    return neo_rti_json_bad(r, "a string is not closed");
  char c = *r->p++;
  if (c == 'u')
    return read_unicode(r);
  const char *at = c ? strchr(from, c) : NULL;
  if (!at)
    return neo_rti_json_bad(r, "unknown escape");
  *r->text++ = to[at - from];
  return true;
}

/* The string's text is never longer than its source, so `text` cannot run out. */
bool neo_rti_json_string(neo_rti_json *r, const char **out) {
  if (!neo_rti_json_need(r, '"'))
    return false;
  *out = r->text;
  while (r->p < r->end && *r->p != '"') {
    if ((unsigned char)*r->p < 0x20)
      return neo_rti_json_bad(r, "control character in a string");
    if (*r->p == '\\') {
      r->p++;
      if (!read_escape(r))
        return false;
      continue;
    }
    size_t n = neo_utf8_decode(r->p, (size_t)(r->end - r->p), NULL);
    if (n == 0)
      return neo_rti_json_bad(r, "text is not valid UTF-8");
    memcpy(r->text, r->p, n);
    r->text += n;
    r->p += n;
  }
  if (r->p >= r->end)
    return neo_rti_json_bad(r, "a string is not closed");
  r->p++;
  *r->text++ = 0;
  return true;
}

static bool read_number(neo_rti_json *r, int64_t *out) {
  neo_rti_json_skip_space(r);
  const char *from = r->p;
  int64_t x = 0;
  for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
    if (!neo_rti_mul(x, 10, &x) || __builtin_add_overflow(x, *r->p - '0', &x))
      return neo_rti_json_bad(r, "a number is too large");
  if (r->p == from)
    return neo_rti_json_bad(r, "expected a whole number");
  if (*from == '0' && r->p - from > 1)
    return neo_rti_json_bad(r, "a number starts with 0");
  *out = x;
  return true;
}

bool neo_rti_json_numbers(neo_rti_json *r, int64_t *out, int most, int *n) {
  *n = 0;
  if (!neo_rti_json_need(r, '['))
    return false;
  if (neo_rti_json_take(r, ']'))
    return true;
  do {
    if (*n == most)
      return neo_rti_json_bad(r, "an array is too long");
    if (!read_number(r, &out[(*n)++]))
      return false;
  } while (neo_rti_json_take(r, ','));
  return neo_rti_json_need(r, ']');
}
