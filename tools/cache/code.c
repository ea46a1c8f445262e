/* Entries of the code cache: reading and writing them. code.h says why this is safe. */
#include "base/hash.h"
#include "base/temp.h"
#include "tools/cache/code_parts.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

neo_code_key neo_code_key_of(neo_code_kind kind, const char *text, size_t n) {
  neo_code_key key = {.kind = kind};
  neo_hash128(text, n, key.hash);
  return key;
}

/* ---- the folder */

/* Whether the folder belongs to this user alone. A missing folder passes, as it will be made; so
 * does a path that is no folder, which the writer reports. */
static bool is_trusted(neo_arena *a, const char *folder, const char **why) {
  struct stat st;
  if (stat(folder, &st) != 0 || neo_code_is_own(&st))
    return true;
  *why = st.st_uid != geteuid() ? neo_arena_printf(a, "%s: belongs to another user", folder)
                                : neo_arena_printf(a, "%s: others may write it", folder);
  return false;
}

neo_code_cache *neo_code_open(const neo_io *io, neo_arena *a, const char *folder,
                              int64_t limit_bytes, const char **why) {
  if (!is_trusted(a, folder, why))
    return NULL;
  neo_code_cache *x = NEO_NEW(a, neo_code_cache);
  x->io = io;
  x->folder = neo_arena_strdup(a, folder);
  x->limit_bytes = limit_bytes;
  return x;
}

void neo_code_close(neo_code_cache *x) {
  if (x)
    neo_code_count(x);
}

/* Makes the folder and missing parent folders, accessible to the user alone. */
static bool make_folder(const char *folder) {
  char above[PATH_MAX];
  const char *slash = strrchr(folder, '/');
  size_t n = slash ? (size_t)(slash - folder) : 0;
  if (mkdir(folder, 0700) == 0 || errno == EEXIST)
    return true;
  if (errno != ENOENT || !n || n >= sizeof above)
    return false;
  memcpy(above, folder, n);
  above[n] = '\0';
  return make_folder(above) && (mkdir(folder, 0700) == 0 || errno == EEXIST);
}

/* "FOLDER/KEY.KIND"; false: it is too long. */
static bool path_of(const neo_code_cache *x, neo_code_key key, char path[PATH_MAX]) {
  int n = snprintf(path, PATH_MAX, "%s/%016" PRIx64 "%016" PRIx64 ".%s", x->folder, key.hash[0],
                   key.hash[1], neo_code_suffixes[key.kind]);
  return n > 0 && n < PATH_MAX;
}

/* ---- the first line */

static size_t head_of(neo_code_key key, const void *data, size_t n,
                      char head[NEO_CODE_HEAD_BYTES]) {
  uint64_t sum[2];
  neo_hash128(data, n, sum);
  int bytes =
      snprintf(head, NEO_CODE_HEAD_BYTES,
               "neo-code 1 %016" PRIx64 "%016" PRIx64 " %010zu %016" PRIx64 "%016" PRIx64 "\n",
               key.hash[0], key.hash[1], n, sum[0], sum[1]);
  return (size_t)bytes;
}

/* The first line of any entry is as long as this. */
static size_t head_bytes(void) {
  char head[NEO_CODE_HEAD_BYTES];
  return head_of((neo_code_key){0}, "", 0, head);
}

static bool is_whole(neo_code_key key, const char *text, size_t n) {
  char head[NEO_CODE_HEAD_BYTES];
  size_t begin = head_bytes();
  return n >= begin && head_of(key, text + begin, n - begin, head) == begin &&
         memcmp(text, head, begin) == 0;
}

/* ---- reading */

/* Allocates n bytes; null if memory ends. A file is open here, so the arena's jump must not leave
 * this function. */
static char *room(neo_arena *a, size_t n) {
  jmp_buf here;
  jmp_buf *volatile outer = a->on_fail;
  char *at = NULL;
  a->on_fail = &here;
  if (setjmp(here) == 0)
    at = neo_arena_alloc(a, n);
  a->on_fail = outer;
  return at;
}

static bool usable(int fd, struct stat *st) {
  return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && neo_code_is_own(st) &&
         (size_t)st->st_size >= head_bytes();
}

/* Reads a whole file, and marks it as used now. */
static char *read_file(neo_code_cache *x, const char *path, neo_arena *a, size_t *n) {
  struct stat st;
  int fd = x->io->open(x->io->ctx, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (fd < 0)
    return NULL;
  char *text = usable(fd, &st) ? room(a, (size_t)st.st_size + 1) : NULL;
  if (text && neo_io_read(x->io, fd, text, (size_t)st.st_size) != st.st_size)
    text = NULL;
  if (text)
    (void)futimens(fd, NULL);
  x->io->close(x->io->ctx, fd);
  *n = text ? (size_t)st.st_size : 0;
  return text;
}

bool neo_code_get(neo_code_cache *x, neo_code_key key, neo_arena *a, const char **data, size_t *n) {
  char path[PATH_MAX];
  char *text = path_of(x, key, path) ? read_file(x, path, a, n) : NULL;
  bool whole = text && is_whole(key, text, *n);
  if (text && !whole)
    x->io->unlink(x->io->ctx, path);
  atomic_fetch_add(whole ? &x->hits : &x->misses, 1);
  if (!whole)
    return false;
  *data = text + head_bytes();
  *n -= head_bytes();
  return true;
}

/* ---- writing */

static int open_temporary(neo_code_cache *x, char path[PATH_MAX]) {
  enum { ATTEMPTS = 1000 };
  char folder[PATH_MAX];
  int n = snprintf(folder, sizeof folder, "%s/", x->folder);
  for (int k = 0; n > 0 && n < PATH_MAX && k < ATTEMPTS; k++) {
    uint64_t number = atomic_fetch_add(&x->number, 1);
    if (!neo_temp_name(path, PATH_MAX, folder, (size_t)n, number))
      break;
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = x->io->open(x->io->ctx, path, flags, 0600);
    if (fd >= 0 || errno != EEXIST)
      return fd;
  }
  errno = ENAMETOOLONG;
  return -1;
}

static bool write_entry(const neo_code_cache *x, int fd, neo_code_key key, const void *data,
                        size_t n, bool synced) {
  char head[NEO_CODE_HEAD_BYTES];
  size_t begin = head_of(key, data, n, head);
  return neo_io_write(x->io, fd, head, begin) && neo_io_write(x->io, fd, data, n) &&
         (!synced || x->io->fsync(x->io->ctx, fd) == 0);
}

static bool put(neo_code_cache *x, neo_code_key key, const void *data, size_t n, bool synced) {
  char path[PATH_MAX], temp[PATH_MAX];
  if (!path_of(x, key, path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  int fd = open_temporary(x, temp);
  if (fd < 0)
    return false;
  bool good = write_entry(x, fd, key, data, n, synced);
  int why = errno;
  if (x->io->close(x->io->ctx, fd) != 0 && good) {
    good = false;
    why = errno;
  }
  if (good && x->io->rename(x->io->ctx, temp, path) == 0)
    return !synced || neo_io_sync_folder(x->io, x->folder);
  if (!good)
    errno = why;
  why = errno;
  x->io->unlink(x->io->ctx, temp);
  errno = why;
  return false;
}

/* Whether the folder belongs to this user: another user may have created it. */
static bool is_own_folder(const char *folder) {
  struct stat st;
  if (stat(folder, &st) != 0)
    return false;
  errno = S_ISDIR(st.st_mode) ? EACCES : ENOTDIR;
  return S_ISDIR(st.st_mode) && neo_code_is_own(&st);
}

void neo_code_put(neo_code_cache *x, neo_code_key key, const void *data, size_t n, bool synced) {
  int none = 0;
  if (atomic_load(&x->failed))
    return;
  bool ready = make_folder(x->folder) && is_own_folder(x->folder);
  if (ready && !neo_code_reserve(x, (int64_t)(n + head_bytes())))
    return;
  if (!ready || !put(x, key, data, n, synced))
    atomic_compare_exchange_strong(&x->failed, &none, errno ? errno : EIO);
}

const char *neo_code_failure(neo_code_cache *x, neo_arena *a) {
  int why = x ? atomic_load(&x->failed) : 0;
  return why ? neo_arena_printf(a, "%s: %s", x->folder, strerror(why)) : NULL;
}
