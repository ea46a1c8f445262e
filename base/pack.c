/* See pack.h. */
#include "base/pack.h"
#include <string.h>

void neo_pack_number(neo_str *out, uint64_t x) {
  neo_str_addn(out, (const char *)&x, sizeof x);
}

void neo_pack_bytes(neo_str *out, const char *data, size_t n) {
  neo_pack_number(out, n);
  neo_str_addn(out, data, n);
  neo_str_addn(out, "", 1);
}

void neo_pack_text(neo_str *out, const char *text) {
  neo_pack_bytes(out, text, strlen(text));
}

static const char *take(neo_unpack *r, size_t n) {
  const char *at = r->at;
  r->bad = r->bad || r->n < n;
  if (r->bad)
    return NULL;
  r->at += n;
  r->n -= n;
  return at;
}

uint64_t neo_unpack_number(neo_unpack *r) {
  uint64_t x = 0;
  const char *at = take(r, sizeof x);
  if (at)
    memcpy(&x, at, sizeof x);
  return x;
}

uint64_t neo_unpack_below(neo_unpack *r, uint64_t end) {
  uint64_t x = neo_unpack_number(r);
  r->bad = r->bad || x >= end;
  return r->bad ? 0 : x;
}

const char *neo_unpack_bytes(neo_unpack *r, size_t *n) {
  uint64_t length = neo_unpack_number(r);
  r->bad = r->bad || length >= r->n;
  const char *at = r->bad ? NULL : take(r, (size_t)length + 1);
  r->bad = r->bad || at[length];
  *n = r->bad ? 0 : (size_t)length;
  return r->bad ? "" : at;
}

const char *neo_unpack_text(neo_unpack *r) {
  size_t n;
  const char *at = neo_unpack_bytes(r, &n);
  r->bad = r->bad || strlen(at) != n;
  return r->bad ? "" : at;
}
