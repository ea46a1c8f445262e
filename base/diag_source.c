/* Source files and the spans in them.
 *
 * Spans are interned: the number of a (file, offset, length, caller) is found by its hash; spans of
 * equal hash are chained. Line starts are kept per file, so that a place costs a binary search. */
#include "base/diag_rec.h"
#include "base/hash.h"

#include <assert.h>

typedef struct {
  const char *name, *text;
  size_t size_bytes;
  NEO_VEC(uint32_t) lines; /* offset of each line's first byte */
} source;

typedef struct {
  uint32_t file, offset, length;
  neo_span caller; /* see neo_span_called */
  uint32_t next;   /* span of the same hash, 0 at the end */
} span_rec;

struct neo_sources {
  neo_arena *arena;
  NEO_VEC(source) files;
  NEO_VEC(span_rec) spans; /* 0 is nowhere */
  neo_map by_hash;
};

neo_sources *neo_sources_new(neo_arena *a) {
  neo_sources *s = NEO_NEW(a, neo_sources);
  s->arena = a;
  neo_map_init(&s->by_hash, a);
  NEO_PUSH(a, &s->spans, (span_rec){0});
  return s;
}

uint32_t neo_sources_add(neo_sources *s, const char *name, const char *text, size_t size_bytes) {
  assert(size_bytes < UINT32_MAX && "offsets are 32 bits");
  source file = {.name = name, .text = text, .size_bytes = size_bytes};
  NEO_PUSH(s->arena, &file.lines, 0);
  for (uint32_t i = 0; i < size_bytes; i++)
    if (text[i] == '\n')
      NEO_PUSH(s->arena, &file.lines, i + 1);
  NEO_PUSH(s->arena, &s->files, file);
  return (uint32_t)s->files.n - 1;
}

uint32_t neo_sources_count(const neo_sources *s) {
  return (uint32_t)s->files.n;
}

const char *neo_sources_name(const neo_sources *s, uint32_t file) {
  return s->files.at[file].name;
}

const char *neo_sources_text(const neo_sources *s, uint32_t file, size_t *size_bytes) {
  *size_bytes = s->files.at[file].size_bytes;
  return s->files.at[file].text;
}

static neo_span intern(neo_sources *s, span_rec x) {
  uint64_t hash =
      neo_hash_mix((uint64_t)x.caller << 32 | x.file, (uint64_t)x.offset << 32 | x.length);
  uint64_t first = 0;
  neo_map_get(&s->by_hash, hash, &first);
  for (uint32_t i = (uint32_t)first; i; i = s->spans.at[i].next) {
    const span_rec *r = &s->spans.at[i];
    if (r->file == x.file && r->offset == x.offset && r->length == x.length &&
        r->caller == x.caller)
      return i;
  }
  x.next = (uint32_t)first;
  neo_span span = (neo_span)s->spans.n;
  NEO_PUSH(s->arena, &s->spans, x);
  neo_map_set(&s->by_hash, hash, span);
  return span;
}

neo_span neo_span_of(neo_sources *s, uint32_t file, uint32_t offset, uint32_t length) {
  assert(file < s->files.n && "a file of these sources");
  uint32_t size_bytes = (uint32_t)s->files.at[file].size_bytes;
  if (offset > size_bytes)
    offset = size_bytes;
  if (length > size_bytes - offset)
    length = size_bytes - offset;
  return intern(s, (span_rec){.file = file, .offset = offset, .length = length});
}

neo_span neo_span_called(neo_sources *s, neo_span span, neo_span caller) {
  span_rec r = s->spans.at[span];
  r.caller = caller;
  return span ? intern(s, r) : 0;
}

neo_span neo_span_caller(const neo_sources *s, neo_span span) {
  return s->spans.at[span].caller;
}

/* The number, from 0, of the line that holds the byte. */
static size_t line_of(const source *file, uint32_t offset) {
  size_t lo = 0, hi = file->lines.n;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (file->lines.at[mid] <= offset)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

/* Code points in the text: the bytes that do not continue one. Quick, for lines of megabytes. */
static uint32_t count_points(const char *text, size_t n) {
  uint32_t count = 0;
  for (size_t i = 0; i < n; i++)
    count += ((unsigned char)text[i] & 0xc0) != 0x80;
  return count;
}

neo_line neo_span_line(const neo_sources *s, neo_span span) {
  assert(span > 0 && span < s->spans.n && "a span of these sources");
  const span_rec *r = &s->spans.at[span];
  const source *file = &s->files.at[r->file];
  size_t line = line_of(file, r->offset);
  uint32_t start = file->lines.at[line];
  bool last = line + 1 == file->lines.n;
  uint32_t end = last ? (uint32_t)file->size_bytes : file->lines.at[line + 1] - 1;
  if (end > start && file->text[end - 1] == '\r')
    end--;
  return (neo_line){.text = file->text + start,
                    .n = end - start,
                    .number = (uint32_t)line + 1,
                    .file = r->file,
                    .from = r->offset - start,
                    .to = r->offset - start + r->length,
                    .offset = r->offset};
}

neo_place neo_span_place(const neo_sources *s, neo_span span) {
  assert(span < s->spans.n && "a span of these sources");
  if (span == 0)
    return (neo_place){.file = ""};
  const span_rec *r = &s->spans.at[span];
  neo_line line = neo_span_line(s, span);
  return (neo_place){.file = s->files.at[r->file].name,
                     .file_id = r->file,
                     .offset = r->offset,
                     .length = r->length,
                     .line = line.number,
                     .column = count_points(line.text, line.from) + 1};
}

const char *neo_span_text(neo_sources *s, neo_span span) {
  neo_place p = neo_span_place(s, span);
  return span ? neo_arena_printf(s->arena, "%s:%u:%u", p.file, p.line, p.column) : "";
}

const char *neo_span_bytes(const neo_sources *s, neo_span span, size_t *n) {
  assert(span < s->spans.n && "a span of these sources");
  const span_rec *r = &s->spans.at[span];
  *n = r->length;
  return span ? s->files.at[r->file].text + r->offset : "";
}
