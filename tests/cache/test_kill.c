/* Four writers and two readers of one file, killed a thousand times at random moments, some in the
 * middle of a write: what was acknowledged is there for every later reader, and nothing is read
 * that was not written.
 *
 * Each record's contents follow from its number. A writer notes in shared memory which numbers
 * were acknowledged; a reader takes these notes before it reads. One writer also rewrites the file
 * now and then. */
#include "base/random.h"
#include "tests/cache/world.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
  WRITERS = 4,
  READERS = 2,
  CHILDREN = WRITERS + READERS,
  PHASES = 40,
  KILLS = 25,
  MOST = 1000
};

typedef struct {
  volatile uint32_t started[WRITERS];
  volatile uint8_t acknowledged[WRITERS][MOST];
  volatile uint32_t reads, torn, rewritten;
  char wrong[256]; /* what a child found; empty: nothing */
} notes;

static void __attribute__((format(printf, 2, 3))) wrong(notes *n, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(n->wrong, sizeof n->wrong, format, ap);
  va_end(ap);
}

/* Some lines are longer than a page, so that a kill can fall into a write. */
static neo_record numbered(neo_arena *a, uint32_t writer, uint32_t k) {
  neo_record r = world_record(a, (int64_t)writer * MOST + k);
  if (k % 16 == 0) {
    char *text = neo_arena_alloc(a, 5001);
    memset(text, 'a' + (char)(k % 26), 5000);
    r.schedule = text;
  }
  return r;
}

/* ---- writers */

typedef struct {
  uint64_t seed;
  notes *n;
} chance;

/* Now and then the process dies with a part of the bytes written. */
static ssize_t write_or_die(void *ctx, int fd, const void *p, size_t n) {
  chance *c = ctx;
  if (neo_splitmix(&c->seed) % 64)
    return write(fd, p, n);
  c->n->torn++;
  ssize_t put = write(fd, p, neo_splitmix(&c->seed) % n);
  kill(getpid(), SIGKILL);
  return put;
}

static bool keep_all(void *ctx, neo_records *s) {
  (void)ctx;
  (void)s;
  return true;
}

static void write_for_ever(const char *path, notes *n, uint32_t writer, uint64_t seed) {
  neo_arena a;
  chance c = {seed, n};
  neo_io io = neo_io_default;
  io.ctx = &c;
  io.write = write_or_die;
  while (n->started[writer] < MOST) {
    uint32_t k = n->started[writer]++;
    const char *why = NULL;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_record r = numbered(&a, writer, k);
    if (neo_record_append(&io, &a, path, &r, 0, &why) == NEO_OK)
      n->acknowledged[writer][k] = 1;
    else
      wrong(n, "%s", why);
    if (writer == 0 && k % 64 == 63) {
      if (neo_records_rewrite(&io, &a, path, 0, keep_all, NULL, &why) != NEO_OK)
        wrong(n, "%s", why);
      n->rewritten++;
    }
    neo_arena_free(&a);
  }
  pause();
}

/* ---- readers */

static void check_record(notes *n, neo_arena *a, const neo_record *r, uint8_t seen[WRITERS][MOST]) {
  int64_t number = r->trials - 16;
  if (number < 0 || number >= WRITERS * MOST) {
    wrong(n, "a record has number %lld", (long long)number);
    return;
  }
  uint32_t writer = (uint32_t)(number / MOST), k = (uint32_t)(number % MOST);
  neo_record want = numbered(a, writer, k);
  if (!world_same(r, &want) || k >= n->started[writer])
    wrong(n, "record %u of writer %u was never written like this", k, writer);
  if (seen[writer][k])
    wrong(n, "record %u of writer %u is there twice", k, writer);
  seen[writer][k] = 1;
}

static neo_records_file read_once(const char *path, notes *n) {
  static const neo_records_file none = {0};
  neo_arena a;
  neo_records s;
  const char *why = NULL;
  neo_arena_init(&a, neo_alloc_default, NULL);
  uint8_t(*before)[MOST] = neo_arena_alloc(&a, sizeof n->acknowledged);
  uint8_t(*seen)[MOST] = neo_arena_alloc(&a, sizeof n->acknowledged);
  for (uint32_t w = 0; w < WRITERS; w++)
    for (uint32_t k = 0; k < MOST; k++)
      before[w][k] = n->acknowledged[w][k];
  neo_records_init(&s, &a);
  neo_status status = neo_records_load(&s, &neo_io_default, path, 0, &why);
  for (size_t k = 0; k < s.all.n; k++)
    check_record(n, &a, &s.all.at[k], seen);
  for (uint32_t w = 0; w < WRITERS; w++)
    for (uint32_t k = 0; k < MOST; k++)
      if (before[w][k] && !seen[w][k])
        wrong(n, "record %u of writer %u was acknowledged and is lost (%s)", k, w,
              status ? why : "read");
  n->reads++;
  neo_records_file f = s.files.n ? s.files.at[0] : none;
  neo_arena_free(&a);
  return f;
}

/* ---- the killer */

static pid_t start(const char *path, notes *n, uint32_t child, uint64_t seed) {
  pid_t pid = fork();
  if (pid)
    return pid;
  if (child < WRITERS)
    write_for_ever(path, n, child, seed);
  for (;;)
    read_once(path, n);
}

/* Kills one of them at a time, or waits for one that killed itself, and starts it again. */
static void kill_many(world *w, notes *n, uint64_t *seed) {
  pid_t pid[CHILDREN];
  for (uint32_t k = 0; k < CHILDREN; k++)
    pid[k] = start(w->path, n, k, neo_splitmix(seed));
  for (int kills = 0; kills < KILLS;) {
    uint32_t at = (uint32_t)(neo_splitmix(seed) % CHILDREN);
    nanosleep(&(struct timespec){0, (long)(neo_splitmix(seed) % 1000000)}, NULL);
    kill(pid[at], SIGKILL);
    for (uint32_t k = 0; k < CHILDREN; k++)
      if (waitpid(pid[k], NULL, k == at ? 0 : WNOHANG) == pid[k]) {
        pid[k] = start(w->path, n, k, neo_splitmix(seed));
        kills++;
      }
  }
  for (uint32_t k = 0; k < CHILDREN; k++) {
    kill(pid[k], SIGKILL);
    waitpid(pid[k], NULL, 0);
  }
}

static void nothing_acknowledged_is_lost_and_nothing_else_is_read(void **state) {
  world *w = *state;
  uint64_t seed = (uint64_t)time(NULL);
  uint32_t reads = 0, torn = 0, records = 0;
  print_message("seed %llu\n", (unsigned long long)seed);
  for (int phase = 0; phase < PHASES; phase++) {
    notes *n = mmap(NULL, sizeof *n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(n, MAP_FAILED);
    unlink(w->path);
    kill_many(w, n, &seed);
    /* the last writer cuts what the killed ones left */
    const char *why;
    uint32_t k = n->started[1] < MOST ? n->started[1]++ : MOST - 1;
    neo_record r = numbered(&w->arena, 1, k);
    if (!n->acknowledged[1][k])
      assert_int_equal(neo_record_append(&neo_io_default, &w->arena, w->path, &r, 0, &why), NEO_OK);
    neo_records_file f = read_once(w->path, n);
    if (n->wrong[0])
      fail_msg("%s", n->wrong);
    assert_int_equal(f.bad_lines, 0);
    assert_int_equal(f.torn_bytes, 0);
    reads += n->reads;
    torn += n->torn;
    records += (uint32_t)f.records;
    munmap(n, sizeof *n);
  }
  print_message("%u records, %u reads, %u writes cut in the middle\n", records, reads, torn);
  assert_true(torn > 0 && records > PHASES && reads > PHASES);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
      nothing_acknowledged_is_lost_and_nothing_else_is_read, world_set_up, world_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
