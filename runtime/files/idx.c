/* idx.c: IDX, the format of MNIST: two zero bytes, a type, a rank, big-endian extents, then
 * elements, big-endian. The file is plain, or compressed with gzip. i16 has no type here and
 * becomes i32. */
#include "runtime/files/format.h"
#include <string.h>

enum { GZIP_WINDOW = 31 };
static const size_t inflated_limit = (size_t)1 << 33; /* 8 GiB, far above any data set in IDX */

typedef struct {
  uint8_t code, type, bytes; /* bytes: of an element in the file */
} kind;
static const kind kinds[] = {{0x08, NEO_RT_U8, 1},  {0x09, NEO_RT_I8, 1},  {0x0b, NEO_RT_I32, 2},
                             {0x0c, NEO_RT_I32, 4}, {0x0d, NEO_RT_F32, 4}, {0x0e, NEO_RT_F64, 8}};

static const kind *find_kind(uint8_t code) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (kinds[i].code == code)
      return &kinds[i];
  return NULL;
}

static uint64_t big_endian(const unsigned char *p, int n) {
  uint64_t x = 0;
  for (int i = 0; i < n; i++)
    x = x << 8 | p[i];
  return x;
}

static void decode(const kind *k, const unsigned char *p, size_t n, void *out) {
  for (size_t i = 0; i < n; i++) {
    uint64_t x = big_endian(p + i * k->bytes, k->bytes);
    if (k->bytes == 1)
      ((uint8_t *)out)[i] = (uint8_t)x;
    else if (k->bytes == 2)
      ((int32_t *)out)[i] = (int16_t)(uint16_t)x;
    else if (k->bytes == 4)
      ((uint32_t *)out)[i] = (uint32_t)x;
    else
      ((uint64_t *)out)[i] = x;
  }
}

static neo_rt_status read_plain(const neo_rti_source *s, neo_rt_array *out) {
  const unsigned char *p = s->p;
  size_t n = s->n;
  if (n < 4 || p[0] || p[1])
    return NEO_RTI_REJECT(s, NEO_FORMAT, "no IDX header");
  const kind *k = find_kind(p[2]);
  if (!k)
    return NEO_RTI_REJECT(s, NEO_FORMAT, "IDX type 0x%02x is not known", p[2]);
  size_t rank = p[3], head = 4 + 4 * rank;
  if (rank > NEO_RTI_MAX_RANK || n < head)
    return NEO_RTI_REJECT(s, NEO_FORMAT, "IDX rank %zu: %s", rank,
                          rank > NEO_RTI_MAX_RANK ? "more than 16" : "the header is cut short");
  neo_rt_array a = {.type = k->type, .rank = (uint8_t)rank};
  int64_t count = 1;
  bool fits = true;
  for (size_t d = 0; d < rank; d++) {
    a.extent[d] = (int64_t)big_endian(p + 4 + 4 * d, 4);
    fits = fits && neo_rti_mul(count, a.extent[d], &count);
  }
  if (!fits || (uint64_t)count != (n - head) / k->bytes || (n - head) % k->bytes)
    return NEO_RTI_REJECT(s, NEO_FORMAT,
                          "IDX has %zu bytes of elements, its header asks for %lld elements of %d",
                          n - head, fits ? (long long)count : -1, k->bytes);
  neo_rt_status status = neo_rti_array_alloc(s->alloc, &a);
  if (status)
    return NEO_RTI_REJECT(s, status, "out of memory");
  decode(k, p + head, (size_t)count, a.data);
  *out = a;
  return NEO_OK;
}

static bool is_gzip(const unsigned char *p, size_t n) {
  return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

static bool detect(const unsigned char *p, size_t n) {
  return is_gzip(p, n) || (n >= 2 && p[0] == 0 && p[1] == 0);
}

static neo_rt_status read_array(const neo_rti_source *s, neo_rt_array *out) {
  memset(out, 0, sizeof *out);
  if (!is_gzip(s->p, s->n))
    return read_plain(s, out);
  neo_rti_source plain = *s;
  unsigned char *p;
  neo_rt_status status =
      neo_rti_inflate(s->alloc, GZIP_WINDOW, s->p, s->n, inflated_limit, false, &p, &plain.n);
  if (status)
    return NEO_RTI_REJECT(s, status, "%s",
                          status == NEO_MEMORY ? "out of memory" : "the gzip stream is damaged");
  plain.p = p;
  status = read_plain(&plain, out);
  NEO_RTI_FREE(s->alloc, p);
  return status;
}

const neo_rti_format neo_rti_format_idx = {
    .name = "idx", .title = "IDX (plain or .gz)", .detect = detect, .read_array = read_array};

neo_rt_status neo_rt_idx_parse(const void *p, size_t n, neo_rt_array *out, char *error,
                               size_t error_bytes) {
  if (!p || !out)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  return read_array(&(neo_rti_source){&neo_alloc_default, p, n, NULL, error, error_bytes}, out);
}
