/* A set of records: reading files into it. */
#include "tools/cache/set.h"
#include "tools/cache/file.h"
#include <errno.h>
#include <string.h>

enum { LIMIT_BYTES = 256 << 20 };

void neo_records_init(neo_records *s, neo_arena *arena) {
  *s = (neo_records){.arena = arena};
}

void neo_records_add(neo_records *s, const neo_record *r) {
  NEO_PUSH(s->arena, &s->all, *r);
}

const neo_records_file *neo_records_file_of(const neo_records *s, const neo_record *r) {
  size_t at = (size_t)(r - s->all.at);
  for (size_t k = 0; k < s->files.n; k++)
    if (at >= s->files.at[k].first && at - s->files.at[k].first < s->files.at[k].records)
      return &s->files.at[k];
  return NULL;
}

static void note_bad(neo_records *s, neo_records_file *f, size_t line, const char *what) {
  if (!f->bad_lines++)
    f->first_bad = neo_arena_printf(s->arena, "line %zu: %s", line, what);
}

static neo_status read_lines(neo_records *s, neo_records_file *f, neo_records_reader *in) {
  neo_records_line l;
  while (neo_records_next(in, &l)) {
    neo_record r;
    const char *wrong = "length or checksum";
    neo_status bad =
        l.json ? neo_record_parse(s->arena, l.json, l.json_bytes, &r, &wrong) : NEO_FORMAT;
    if (bad == NEO_MEMORY)
      return NEO_MEMORY;
    if (bad) {
      note_bad(s, f, l.line, wrong);
      continue;
    }
    neo_records_add(s, &r);
    f->records++;
  }
  f->torn_bytes = in->torn_bytes;
  if (in->missing_newlines)
    note_bad(s, f, in->line, "a newline is missing");
  return NEO_OK;
}

static neo_status read_text(neo_records *s, neo_records_file *f, const char *text, size_t n,
                            const char **why) {
  size_t head, before = s->all.n;
  int64_t version;
  neo_records_reader in = {.text = text, .n = n};
  neo_head kind = neo_records_head_of(text, n, &head, &version);
  if (kind == NEO_HEAD_NEWER) {
    *why = neo_arena_printf(s->arena, "%s: records of version %lld; this program reads version %d",
                            f->path, (long long)version, NEO_RECORD_VERSION);
    return NEO_FORMAT;
  }
  if (kind == NEO_HEAD_TORN) {
    f->torn_bytes = n;
    return NEO_OK;
  }
  neo_status status = read_lines(s, f, &in);
  if (status)
    *why = "out of memory";
  if (!status && kind == NEO_HEAD_OTHER && s->all.n == before) {
    *why = neo_arena_printf(s->arena, "%s: no file of records", f->path);
    return NEO_FORMAT;
  }
  return status;
}

neo_status neo_records_take(neo_records *s, const char *name, const char *text, size_t n,
                            const char **why) {
  neo_records_file f = {.path = neo_arena_strdup(s->arena, name), .first = s->all.n};
  neo_status status = read_text(s, &f, text, n, why);
  if (!status)
    NEO_PUSH(s->arena, &s->files, f);
  return status;
}

neo_status neo_records_load(neo_records *s, const neo_io *io, const char *path, unsigned flags,
                            const char **why) {
  char *text;
  size_t n;
  if (flags & NEO_RECORDS_PRIVATE && !neo_records_trusted(s->arena, path, why)) {
    errno = EPERM;
    return NEO_IO;
  }
  neo_status status = neo_file_read(io, s->arena, path, LIMIT_BYTES, &text, &n);
  if (!status)
    return neo_records_take(s, path, text, n, why);
  int code = errno;
  *why = status == NEO_MEMORY ? "out of memory"
                              : neo_arena_printf(s->arena, "%s: %s", path, strerror(code));
  errno = code;
  return status;
}
