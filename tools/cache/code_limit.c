/* The size of the code cache, and its limit.
 *
 * The folder is not read for each entry: the file `counts` has the bytes that writers announced,
 * under its lock. Their sum may be too large, if a writer was killed or an entry replaced; it is
 * corrected by the next walk through the folder, after it has passed the limit. A damaged file
 * counts as 0 bytes, and causes a walk.
 *
 *   neo-code-counts 1 BYTES HITS MISSES */
#include "base/temp.h"
#include "base/vec.h"
#include "tools/cache/code_parts.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096, PATIENCE_MS = 2000, COUNTS_BYTES = 160 };

static int64_t blocks_of(int64_t bytes) {
  return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* ---- the file of counts */

typedef struct {
  int fd;
  bool damaged;
  uint64_t bytes, hits, misses;
} counts;

/* Takes the lock, for a limited time: a process that holds it walks through the folder at most, and
 * one that was stopped is not waited for. */
static bool lock(int fd) {
  struct timespec pause = {0, 1000000};
  for (int k = 0; k < PATIENCE_MS; k++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return true;
    if (errno != EWOULDBLOCK && errno != EINTR)
      return false;
    nanosleep(&pause, NULL);
  }
  return false;
}

static void read_counts(counts *c) {
  char text[COUNTS_BYTES] = "";
  int end = 0;
  ssize_t n = pread(c->fd, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = '\0';
  int found = sscanf(text, "neo-code-counts 1 %20" SCNu64 " %20" SCNu64 " %20" SCNu64 "%n",
                     &c->bytes, &c->hits, &c->misses, &end);
  c->damaged = found != 3 || text[end] != '\n' || c->bytes > INT64_MAX / 2;
  if (c->damaged)
    c->bytes = c->hits = c->misses = 0;
}

static bool open_counts(const char *folder, int flags, counts *c) {
  char path[PATH_MAX];
  struct stat st;
  int n = snprintf(path, sizeof path, "%s/counts", folder);
  if (n < 0 || n >= PATH_MAX)
    return false;
  c->fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (c->fd < 0)
    return false;
  if (fstat(c->fd, &st) == 0 && S_ISREG(st.st_mode) && neo_code_is_own(&st)) {
    if (!(flags & O_RDWR) || lock(c->fd)) {
      read_counts(c);
      return true;
    }
  }
  close(c->fd);
  return false;
}

/* Writes a text of fixed length in one call: a reader without the lock sees an old or a new line,
 * or a damaged one. */
static void close_counts(counts *c) {
  char text[COUNTS_BYTES];
  int n = snprintf(text, sizeof text,
                   "neo-code-counts 1 %020" PRIu64 " %020" PRIu64 " %020" PRIu64 "\n", c->bytes,
                   c->hits, c->misses);
  ssize_t put = pwrite(c->fd, text, (size_t)n, 0);
  (void)put; /* a truncated line is damaged, and counted anew */
  close(c->fd);
}

/* ---- walking through the folder */

typedef struct {
  char name[NEO_CODE_NAME_BYTES];
  neo_code_kind kind;
  int64_t bytes, used_s, used_ns;
} entry;

typedef struct {
  neo_arena *arena;
  int fd;
  NEO_VEC(entry) entries;
  int64_t bytes;
} walk;

/* 32 hexadecimal digits, a dot, a kind. */
static bool is_entry(const char *name, neo_code_kind *kind) {
  enum { DIGITS = 32 };
  if (strspn(name, "0123456789abcdef") != DIGITS || name[DIGITS] != '.')
    return false;
  for (int k = 0; k < NEO_CODE_KINDS; k++)
    if (strcmp(name + DIGITS + 1, neo_code_suffixes[k]) == 0) {
      *kind = (neo_code_kind)k;
      return true;
    }
  return false;
}

static void add_entry(walk *w, const char *name) {
  struct stat st;
  entry e;
  if (!is_entry(name, &e.kind) || fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  memcpy(e.name, name, strlen(name) + 1); /* the name of an entry fits */
  e.bytes = blocks_of(st.st_size);
  e.used_s = st.st_mtim.tv_sec;
  e.used_ns = st.st_mtim.tv_nsec;
  w->bytes += e.bytes;
  NEO_PUSH(w->arena, &w->entries, e);
}

static void close_folder(void *d) {
  closedir(d);
}

/* Runs `work` with the folder open; the arena closes the folder if memory ends. */
static neo_status walk_through(neo_arena *a, const char *folder, walk *w, void work(walk *, void *),
                               void *ctx) {
  *w = (walk){.arena = a};
  neo_arena_cleanup *end = neo_arena_defer(a, close_folder);
  DIR *d = opendir(folder);
  if (!d)
    return NEO_IO;
  end->object = d;
  w->fd = dirfd(d);
  for (struct dirent *e = readdir(d); e; e = readdir(d))
    add_entry(w, e->d_name);
  work(w, ctx);
  end->object = NULL;
  closedir(d);
  return NEO_OK;
}

/* ---- removing */

/* Orders entries by their last use, the earliest first. */
static int by_use(const void *x, const void *y) {
  const entry *a = x, *b = y;
  if (a->used_s != b->used_s)
    return a->used_s < b->used_s ? -1 : 1;
  if (a->used_ns != b->used_ns)
    return a->used_ns < b->used_ns ? -1 : 1;
  return strcmp(a->name, b->name);
}

typedef struct {
  neo_code_bounds bounds;
  size_t removed;
} removing;

static void remove_some(walk *w, void *ctx) {
  removing *r = ctx;
  size_t n = w->entries.n;
  if (n)
    qsort(w->entries.at, n, sizeof *w->entries.at, by_use);
  for (size_t k = 0; k < n; k++) {
    const entry *e = &w->entries.at[k];
    bool old = e->used_s < r->bounds.oldest;
    if (!old && (r->bounds.most_bytes < 0 || w->bytes <= r->bounds.most_bytes))
      break;
    if (!r->bounds.dry && unlinkat(w->fd, e->name, 0) != 0 && errno != ENOENT)
      continue;
    w->bytes -= e->bytes;
    r->removed++;
  }
}

static neo_status remove_from(neo_arena *a, const char *folder, walk *w, removing *r) {
  if (!r->bounds.dry)
    neo_temp_sweep(folder);
  return walk_through(a, folder, w, remove_some, r);
}

neo_status neo_code_prune(neo_arena *a, const char *folder, const neo_code_bounds *bounds,
                          size_t *removed, size_t *kept) {
  counts c;
  walk w;
  removing r = {.bounds = *bounds};
  bool counted = !bounds->dry && open_counts(folder, O_RDWR, &c);
  neo_status s = remove_from(a, folder, &w, &r);
  if (counted) {
    c.bytes = s ? c.bytes : (uint64_t)w.bytes;
    c.hits = bounds->counts ? 0 : c.hits;
    c.misses = bounds->counts ? 0 : c.misses;
    close_counts(&c);
  }
  *removed = r.removed;
  *kept = s ? 0 : w.entries.n - r.removed;
  return s;
}

/* ---- while writing */

/* Makes room for `bytes` and some more; returns the bytes that are left in the folder. */
static int64_t make_room(const neo_code_cache *x, int64_t bytes) {
  neo_arena a;
  jmp_buf out_of_memory;
  walk w = {0};
  int64_t most = x->limit_bytes / 10 * 9 - bytes;
  removing r = {.bounds = {.most_bytes = most > 0 ? most : 0}};
  neo_arena_init(&a, neo_alloc_default, &out_of_memory);
  bool failed = setjmp(out_of_memory) != 0 || remove_from(&a, x->folder, &w, &r) != NEO_OK;
  int64_t left = failed ? x->limit_bytes : w.bytes;
  neo_arena_free(&a);
  return left;
}

bool neo_code_reserve(neo_code_cache *x, int64_t bytes) {
  counts c;
  int why = errno;
  bytes = blocks_of(bytes);
  if (bytes > x->limit_bytes / 2)
    return false;
  if (open_counts(x->folder, O_RDWR | O_CREAT, &c)) {
    bool full = c.damaged || (int64_t)c.bytes + bytes > x->limit_bytes;
    c.bytes = (uint64_t)((full ? make_room(x, bytes) : (int64_t)c.bytes) + bytes);
    close_counts(&c);
  }
  errno = why;
  return true;
}

void neo_code_count(neo_code_cache *x) {
  counts c;
  uint64_t hits = atomic_load(&x->hits), misses = atomic_load(&x->misses);
  if (!(hits | misses) || !open_counts(x->folder, O_RDWR, &c))
    return;
  c.hits += hits;
  c.misses += misses;
  close_counts(&c);
}

/* ---- looking */

static void add_up(walk *w, void *ctx) {
  neo_code_usage *u = ctx;
  for (size_t k = 0; k < w->entries.n; k++) {
    const entry *e = &w->entries.at[k];
    u->entries[e->kind]++;
    u->bytes[e->kind] += e->bytes;
    if (!u->oldest || e->used_s < u->oldest)
      u->oldest = e->used_s;
  }
}

neo_status neo_code_survey(neo_arena *a, const char *folder, neo_code_usage *out) {
  counts c;
  walk w;
  *out = (neo_code_usage){0};
  neo_status s = walk_through(a, folder, &w, add_up, out);
  if (!s && open_counts(folder, O_RDONLY, &c)) {
    out->hits = c.hits;
    out->misses = c.misses;
    close(c.fd);
  }
  return s;
}
