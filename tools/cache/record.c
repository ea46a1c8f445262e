/* One record as JSON, and as a checked line.
 *
 * Texts are printable ASCII, so that a record can be shown on any terminal; keys are hexadecimal
 * texts, because JSON's numbers are exact only up to 2^53. */
#include "tools/cache/record.h"
#include "base/hash.h"
#include "base/json.h"
#include <math.h>
#include <string.h>

/* ---- validity */

static bool printable(const char *s) {
  for (; *s; s++)
    if (*s < 0x20 || *s > 0x7e)
      return false;
  return true;
}

static bool duration(double ns) {
  return isfinite(ns) && ns > 0;
}

static bool exact(int64_t x) {
  return x >= 0 && x <= INT64_C(1) << 53;
}

static bool sizes_valid(const neo_record *r) {
  if (r->n_sizes > NEO_RECORD_MAX_SIZES)
    return false;
  for (uint32_t k = 0; k < r->n_sizes; k++)
    if (!exact(r->sizes[k]))
      return false;
  return true;
}

static const char *what_is_wrong(const neo_record *r) {
  const char *const texts[] = {r->target, r->build, r->name, r->schedule,
                               r->against ? r->against : ""};
  size_t bytes = 0;
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    if (!texts[k] || !printable(texts[k]))
      return "a text is missing or not printable";
    bytes += strlen(texts[k]);
  }
  if (!*r->target || !*r->build || !*r->schedule)
    return "target, build or schedule is empty";
  if (bytes > NEO_RECORD_MAX_BYTES / 4) /* escapes and numbers fit into the rest */
    return "the texts are too long";
  if (!sizes_valid(r))
    return "sizes";
  if (!duration(r->time_ns) || !duration(r->default_ns))
    return "a time is not positive";
  if (!r->threads || !exact(r->trials) || !exact(r->when))
    return "threads, trials or when is out of range";
  return NULL;
}

bool neo_record_valid(const neo_record *r, const char **why) {
  const char *wrong = what_is_wrong(r);
  if (wrong && why)
    *why = wrong;
  return !wrong;
}

double neo_record_ratio(const neo_record *r) {
  return r->time_ns / r->default_ns;
}

neo_record neo_record_copy(neo_arena *a, const neo_record *r) {
  neo_record copy = *r;
  copy.sizes = neo_arena_copy(a, r->sizes, r->n_sizes * sizeof *r->sizes);
  copy.target = neo_arena_strdup(a, r->target);
  copy.build = neo_arena_strdup(a, r->build);
  copy.name = neo_arena_strdup(a, r->name);
  copy.schedule = neo_arena_strdup(a, r->schedule);
  copy.against = neo_arena_strdup(a, r->against ? r->against : "");
  return copy;
}

/* ---- keys */

void neo_record_key_text(const uint64_t key[2], char text[33]) {
  static const char digits[] = "0123456789abcdef";
  for (int k = 0; k < 32; k++)
    text[k] = digits[key[k / 16] >> (60 - 4 * (k % 16)) & 15];
  text[32] = 0;
}

/* Reads a number of n lower-case hexadecimal digits. */
static bool read_hex(const char *text, size_t n, uint64_t *x) {
  *x = 0;
  for (size_t k = 0; k < n; k++) {
    char c = text[k];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
      return false;
    *x = *x << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

bool neo_record_key_of(const char *text, uint64_t key[2]) {
  return strlen(text) == 32 && read_hex(text, 16, &key[0]) && read_hex(text + 16, 16, &key[1]);
}

/* ---- printing */

static void put_key(neo_str *out, const char *member, const uint64_t key[2]) {
  char text[33];
  neo_record_key_text(key, text);
  neo_str_addf(out, "\"%s\":\"%s\",", member, text);
}

static void put_text(neo_str *out, const char *member, const char *text) {
  neo_str_addf(out, "\"%s\":", member);
  neo_str_add_json(out, text);
  neo_str_addc(out, ',');
}

/* Writes a number; whole ones as 500, not 5e+02. */
static void put_real(neo_str *out, const char *member, double x) {
  neo_str_addf(out, "\"%s\":", member);
  if (x == floor(x) && x < 1e15)
    neo_str_addf(out, "%.0f", x);
  else
    neo_str_add_f64(out, x);
  neo_str_addc(out, ',');
}

void neo_record_json(const neo_record *r, neo_str *out) {
  neo_str_addc(out, '{');
  put_text(out, "name", r->name);
  put_key(out, "key", r->key);
  put_key(out, "family", r->family);
  neo_str_add(out, "\"sizes\":[");
  for (uint32_t k = 0; k < r->n_sizes; k++)
    neo_str_addf(out, k ? ",%lld" : "%lld", (long long)r->sizes[k]);
  neo_str_add(out, "],");
  put_text(out, "target", r->target);
  put_text(out, "build", r->build);
  neo_str_addf(out, "\"threads\":%u,", r->threads);
  put_real(out, "time_ns", r->time_ns);
  put_real(out, "default_ns", r->default_ns);
  neo_str_addf(out, "\"trials\":%lld,\"when\":%lld,", (long long)r->trials, (long long)r->when);
  if (r->against && *r->against)
    put_text(out, "against", r->against);
  put_text(out, "schedule", r->schedule);
  out->at[out->n - 1] = '}'; /* replaces the last comma */
}

/* ---- parsing */

static bool read_key(const neo_json *j, const char *member, uint64_t key[2]) {
  const char *text = neo_json_text(neo_json_get(j, member));
  return text && neo_record_key_of(text, key);
}

static bool read_sizes(const neo_json *j, int64_t *sizes, uint32_t *n) {
  const neo_json *list = neo_json_get(j, "sizes");
  *n = 0;
  if (!neo_json_is_array(list))
    return false;
  for (const neo_json *k = neo_json_first(list); k; k = neo_json_next(k))
    if (*n == NEO_RECORD_MAX_SIZES || !neo_json_integer(k, &sizes[(*n)++]))
      return false;
  return true;
}

/* A member that may be missing: 0. */
static bool read_count(const neo_json *j, const char *member, int64_t *x) {
  const neo_json *k = neo_json_get(j, member);
  *x = 0;
  return !k || neo_json_integer(k, x);
}

/* Copies a text to `room`, which is as large as the JSON: a text is never longer than its
 * source. */
static const char *read_text(const neo_json *j, const char *member, char **room) {
  const char *text = neo_json_text(neo_json_get(j, member));
  if (!text)
    return NULL;
  char *at = *room;
  size_t n = strlen(text) + 1;
  memcpy(at, text, n);
  *room += n;
  return at;
}

static const char *read_members(const neo_json *j, char *room, int64_t *sizes, neo_record *r) {
  int64_t threads;
  if (!neo_json_is_object(j))
    return "no object";
  if (!read_key(j, "key", r->key) || !read_key(j, "family", r->family))
    return "key or family";
  if (!read_sizes(j, sizes, &r->n_sizes))
    return "sizes";
  r->sizes = sizes;
  r->target = read_text(j, "target", &room);
  r->build = read_text(j, "build", &room);
  r->name = read_text(j, "name", &room);
  r->schedule = read_text(j, "schedule", &room);
  r->against = neo_json_get(j, "against") ? read_text(j, "against", &room) : "";
  if (!r->against)
    return "against";
  if (!neo_json_integer(neo_json_get(j, "threads"), &threads) || threads < 1 || threads > 65536)
    return "threads";
  r->threads = (uint32_t)threads;
  if (!neo_json_number(neo_json_get(j, "time_ns"), &r->time_ns) ||
      !neo_json_number(neo_json_get(j, "default_ns"), &r->default_ns))
    return "times";
  if (!read_count(j, "trials", &r->trials) || !read_count(j, "when", &r->when))
    return "trials or when";
  return what_is_wrong(r);
}

/* Parses a record. The arena is not used while the JSON exists: the JSON would leak if memory
 * ended. */
neo_status neo_record_parse(neo_arena *a, const char *json, size_t n, neo_record *out,
                            const char **why) {
  neo_json *j;
  neo_record r = {0};
  int64_t sizes[NEO_RECORD_MAX_SIZES];
  char *room = neo_arena_alloc(a, n + 1);
  neo_status s = neo_json_parse(json, n, &j);
  if (s) {
    *why = s == NEO_MEMORY ? "out of memory" : "not JSON";
    return s;
  }
  const char *wrong = read_members(j, room, sizes, &r);
  neo_json_free(j);
  if (wrong) {
    *why = wrong;
    return NEO_FORMAT;
  }
  r.sizes = neo_arena_copy(a, sizes, r.n_sizes * sizeof *sizes);
  *out = r;
  return NEO_OK;
}

/* ---- lines */

static uint64_t checksum(const char *json, size_t n) {
  return neo_hash(json, n, NEO_RECORD_VERSION);
}

void neo_record_line(const neo_record *r, neo_str *out) {
  neo_str json = neo_str_in(out->arena);
  neo_record_json(r, &json);
  neo_str_addf(out, "%zu %016llx %s\n", json.n,
               (unsigned long long)checksum(neo_str_text(&json), json.n), neo_str_text(&json));
}

const char *neo_record_unline(const char *text, size_t n, size_t *json_bytes) {
  size_t length = 0, at = 0;
  uint64_t sum;
  for (; at < n && text[at] >= '0' && text[at] <= '9' && length < NEO_RECORD_MAX_BYTES; at++)
    length = 10 * length + (size_t)(text[at] - '0');
  if (!at || text[0] == '0' || n - at < 18 || text[at] != ' ' || text[at + 17] != ' ' ||
      !read_hex(text + at + 1, 16, &sum))
    return NULL;
  at += 18;
  if (length > NEO_RECORD_MAX_BYTES || length > n - at || checksum(text + at, length) != sum)
    return NULL;
  *json_bytes = length;
  return text + at;
}
