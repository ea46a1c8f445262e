/* Reads the undamaged lines of a file of records.
 *
 * A damaged line loses itself alone: reading goes on after the next newline. Where a line is whole
 * but its newline is damaged, the rest is tried at once, so that the next record is not lost with
 * it. */
#include "base/hash.h"
#include "tools/cache/file.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "neo-records ";

static int head_of_version(int64_t version, char text[NEO_RECORDS_HEAD_BYTES]) {
  int n = snprintf(text, NEO_RECORDS_HEAD_BYTES, "%s%lld", magic, (long long)version);
  return n + snprintf(text + n, (size_t)(NEO_RECORDS_HEAD_BYTES - n), " %016llx\n",
                      (unsigned long long)neo_hash(text, (size_t)n, 0));
}

void neo_records_head(char text[NEO_RECORDS_HEAD_BYTES]) {
  head_of_version(NEO_RECORD_VERSION, text);
}

static bool zeros(const char *text, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (text[k])
      return false;
  return true;
}

/* The version of a first line that is whole; 0: it is none. */
static int64_t version_of(const char *text, size_t n) {
  char want[NEO_RECORDS_HEAD_BYTES];
  int64_t version = 0;
  size_t at = sizeof magic - 1;
  if (n <= at || memcmp(text, magic, at) != 0)
    return 0;
  for (; at < n && isdigit((unsigned char)text[at]) && version < 1000000000; at++)
    version = 10 * version + (text[at] - '0');
  size_t length = (size_t)head_of_version(version, want);
  return n >= length && memcmp(text, want, length) == 0 ? version : 0;
}

neo_head neo_records_head_of(const char *text, size_t n, size_t *line_bytes, int64_t *version) {
  char ours[NEO_RECORDS_HEAD_BYTES];
  neo_records_head(ours);
  *line_bytes = strlen(ours);
  *version = version_of(text, n);
  if (*version == NEO_RECORD_VERSION)
    return NEO_HEAD_OURS;
  if (*version > NEO_RECORD_VERSION)
    return NEO_HEAD_NEWER;
  bool part = n < *line_bytes && memcmp(text, ours, n) == 0;
  return part || zeros(text, n) ? NEO_HEAD_TORN : NEO_HEAD_OTHER;
}

static const char *whole_at(const neo_records_reader *r, size_t at, size_t *json_bytes) {
  return at < r->n ? neo_record_unline(r->text + at, r->n - at, json_bytes) : NULL;
}

/* Moves past the newline that ends a whole line, or past the byte that replaced it. */
static void end_line(neo_records_reader *r) {
  size_t ignored;
  if (r->at >= r->n)
    return;
  bool ended = r->text[r->at] == '\n';
  r->missing_newlines += !ended;
  r->at += ended || whole_at(r, r->at + 1, &ignored);
}

static bool pass_head(neo_records_reader *r) {
  char ours[NEO_RECORDS_HEAD_BYTES];
  neo_records_head(ours);
  size_t n = strlen(ours) - 1;
  if (r->n - r->at < n || memcmp(r->text + r->at, ours, n) != 0)
    return false;
  r->at += n;
  r->line++;
  end_line(r);
  return true;
}

static bool pass_damaged(neo_records_reader *r) {
  const char *end = memchr(r->text + r->at, '\n', r->n - r->at);
  if (!end) {
    r->torn_bytes = r->n - r->at;
    return false;
  }
  r->at = (size_t)(end - r->text) + 1;
  return true;
}

bool neo_records_next(neo_records_reader *r, neo_records_line *out) {
  while (r->at < r->n && pass_head(r)) {
  }
  if (r->at >= r->n)
    return false;
  out->line = ++r->line;
  out->json = whole_at(r, r->at, &out->json_bytes);
  if (!out->json)
    return pass_damaged(r);
  r->at = (size_t)(out->json - r->text) + out->json_bytes;
  end_line(r);
  return true;
}
