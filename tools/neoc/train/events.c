/* --tensorboard: rows as an event file, a sequence of records (TensorFlow's TFRecord):
 *
 *   u64 n | u32 masked CRC-32C of these 8 bytes | n bytes | u32 masked CRC-32C of the n bytes
 *
 * The bytes are an Event in the wire format of protocol buffers (tensorflow/core/util/event.proto
 * and framework/summary.proto):
 *
 *   Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;
 *             SessionLog session_log = 7 }
 *   Summary { repeated Value value = 1 }   Value { string tag = 1; float simple_value = 2 }
 *
 * A training that continues begins a new file with the events that are kept: a TensorBoard that
 * watches the folder reads files to their end, and starts again at a session log with START. */
#include "base/file.h"
#include "tools/neoc/train/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char file_begin[] = "events.out.tfevents.", file_end[] = ".neoc";

/* ---- checksums */

/* Castagnoli's polynomial, reflected. */
static uint32_t crc32c(const void *p, size_t n) {
  const unsigned char *at = p;
  uint32_t crc = ~UINT32_C(0);
  for (size_t k = 0; k < n; k++) {
    crc ^= at[k];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
  }
  return ~crc;
}

static uint32_t masked_crc(const void *p, size_t n) {
  uint32_t crc = crc32c(p, n);
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* ---- the wire format */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(neo_str *s, uint64_t x) {
  for (; x >= 0x80; x >>= 7)
    neo_str_addc(s, (char)((x & 0x7f) | 0x80));
  neo_str_addc(s, (char)x);
}

static void put_key(neo_str *s, unsigned field, unsigned type) {
  put_varint(s, field << 3 | type);
}

static void put_little(neo_str *s, uint64_t x, int bytes) {
  for (int k = 0; k < bytes; k++)
    neo_str_addc(s, (char)(x >> (8 * k)));
}

static void put_double(neo_str *s, unsigned field, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  put_key(s, field, FIXED64);
  put_little(s, bits, 8);
}

static void put_float(neo_str *s, unsigned field, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  put_key(s, field, FIXED32);
  put_little(s, bits, 4);
}

static void put_bytes(neo_str *s, unsigned field, const char *p, size_t n) {
  put_key(s, field, BYTES);
  put_varint(s, n);
  neo_str_addn(s, p, n);
}

static void put_record(neo_str *out, const neo_str *event) {
  neo_str head = neo_str_in(out->arena);
  put_little(&head, event->n, 8);
  neo_str_addn(out, head.at, 8);
  put_little(out, masked_crc(head.at, 8), 4);
  neo_str_addn(out, event->at, event->n);
  put_little(out, masked_crc(event->at, event->n), 4);
}

/* ---- events */

static void begin_event(neo_arena *a, uint64_t step, neo_str *e) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  neo_str_init(e, a);
  put_double(e, 1, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
  if (step) {
    put_key(e, 2, VARINT);
    put_varint(e, step);
  }
}

/* "test.accuracy" is shown as accuracy in the group test. */
static void put_value(neo_str *summary, const char *column, double x) {
  neo_str value = neo_str_in(summary->arena);
  neo_str tag = neo_str_in(summary->arena);
  neo_str_add(&tag, column);
  char *point = strchr(tag.at, '.');
  if (point)
    *point = '/';
  put_bytes(&value, 1, tag.at, tag.n);
  put_float(&value, 2, (float)x);
  put_bytes(summary, 1, value.at, value.n);
}

/* Writes the first two events of a file: its version, and the start of the session. */
static void put_begin(neo_arena *a, neo_str *out) {
  static const char version[] = "brain.Event:2", start[] = {1 << 3 | VARINT, 1};
  neo_str e;
  begin_event(a, 0, &e);
  put_bytes(&e, 3, version, sizeof version - 1);
  put_record(out, &e);
  begin_event(a, 0, &e);
  put_bytes(&e, 7, start, sizeof start);
  put_record(out, &e);
}

neoc_exit neoc_events_add(neoc_log *l, const neoc_log_row *row) {
  neo_arena a;
  neo_str event;
  neo_arena_init(&a, neo_alloc_default, l->cli->arena->on_fail);
  neo_str summary = neo_str_in(&a);
  neo_str record = neo_str_in(&a);
  begin_event(&a, row->step, &event);
  for (size_t k = 0; k < l->columns.n; k++)
    if (row->value[k].has)
      put_value(&summary, l->columns.at[k], row->value[k].x);
  put_bytes(&event, 5, neo_str_text(&summary), summary.n);
  put_record(&record, &event);
  neoc_exit e = neoc_log_append(l, l->events, l->events_folder, record.at, record.n);
  neo_arena_free(&a);
  return e;
}

/* ---- an existing file */

static uint64_t little(const char *p, int n) {
  uint64_t x = 0;
  for (int k = 0; k < n; k++)
    x |= (uint64_t)(unsigned char)p[k] << (8 * k);
  return x;
}

/* Checks the record that begins n bytes. *event_bytes: size of its event. False: no whole
 * record. */
static bool read_record(const char *p, size_t n, size_t *event_bytes) {
  if (n < 16 || little(p + 8, 4) != masked_crc(p, 8))
    return false;
  uint64_t bytes = little(p, 8);
  if (bytes > n - 16 || little(p + 12 + bytes, 4) != masked_crc(p + 12, bytes))
    return false;
  *event_bytes = (size_t)bytes;
  return true;
}

/* Reads the step of an event as this file writes it, with wall_time and step first; false: it has
 * no step. */
static bool read_step(const char *p, size_t n, uint64_t *step) {
  size_t at = 9; /* wall_time */
  *step = 0;
  if (n <= at || p[at++] != (2 << 3 | VARINT))
    return false;
  for (int shift = 0; at < n && shift < 64; shift += 7) {
    *step |= (uint64_t)(p[at] & 0x7f) << shift;
    if (!(p[at++] & 0x80))
      return true;
  }
  return false;
}

/* Copies the records up to the step that is kept. */
static void put_kept(const neoc_log *l, const char *p, size_t n, neo_str *out) {
  size_t bytes;
  uint64_t step;
  for (; read_record(p, n, &bytes); p += bytes + 16, n -= bytes + 16)
    if (read_step(p + 12, bytes, &step) && step <= l->kept_step)
      neo_str_addn(out, p, bytes + 16);
}

/* ---- the folder */

static bool is_own(const char *name) {
  return strncmp(name, file_begin, sizeof file_begin - 1) == 0 && neoc_ends_with(name, file_end);
}

/* The folder's files that neoc wrote; the latest is the one with most seconds in its name. */
typedef struct {
  neoc_texts all;
  const char *latest; /* null: none */
  long long seconds;
} own_files;

static own_files find_own(const neoc_log *l) {
  own_files out = {0};
  DIR *d = opendir(l->events_folder);
  for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
    if (!is_own(f->d_name))
      continue;
    const char *path = neo_path_join(l->cli->arena, l->events_folder, f->d_name);
    long long at = strtoll(f->d_name + sizeof file_begin - 1, NULL, 10);
    NEO_PUSH(l->cli->arena, &out.all, path);
    if (!out.latest || at > out.seconds)
      out.latest = path, out.seconds = at;
  }
  if (d)
    closedir(d);
  return out;
}

static const char *new_path(const neoc_log *l, long long latest) {
  char host[256] = "";
  long long now = (long long)time(NULL);
  if (gethostname(host, sizeof host - 1) != 0 || !*host)
    strcpy(host, "localhost");
  return neo_arena_printf(l->cli->arena, "%s/%s%010lld.%s%s", l->events_folder, file_begin,
                          now > latest ? now : latest + 1, host, file_end);
}

/* Begins a file with the kept part of the latest one. Any other files were left by a process that
 * ended before it removed them; the latest has all that is kept. */
static neoc_exit begin_file(neoc_log *l, const char *path, const own_files *old) {
  char *p;
  size_t n;
  neo_str text = neo_str_in(l->cli->arena);
  put_begin(l->cli->arena, &text);
  if (old->latest && l->goes_on) {
    if (neo_file_read(&neo_io_default, l->cli->arena, old->latest, 0, &p, &n))
      return neoc_log_failed(l, old->latest);
    put_kept(l, p, n, &text);
  }
  if (neo_file_write(&neo_io_default, path, text.at, text.n))
    return neoc_log_failed(l, path);
  for (size_t k = 0; k < old->all.n; k++)
    unlink(old->all.at[k]);
  return NEOC_OK;
}

neoc_exit neoc_events_open(neoc_log *l) {
  errno = 0;
  if (neo_path_make_folder(l->events_folder))
    return neoc_log_failed(l, l->events_folder);
  own_files old = find_own(l);
  const char *path = new_path(l, old.seconds);
  neoc_exit e = begin_file(l, path, &old);
  if (e)
    return e;
  l->events = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  return l->events < 0 ? neoc_log_failed(l, path) : NEOC_OK;
}
