/* See drive.h. */
#include "tests/pairs/drive.h"
#include "base/hash.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  MOST_JOBS = 64,
  MOST_SECONDS = 120,
  SHRINK_SECONDS = 20,
  WAITS = 10,
  SHRINK_TRIES = 80,
  EACH = 100
};

typedef struct {
  uint64_t next, end;
  uint64_t at[MOST_JOBS], doing[MOST_JOBS]; /* the seed, and which of its runs */
  uint32_t short_of;                        /* pairs are below `until` */
  pairs_table table;
} shared;

/* ---- ways of compiling */

/* Draws a way of compiling: one kind of fusion off, or all; random schedules; other precision; or
 * several of these. */
static void vary(pairs_how *how, uint64_t h) {
  static const neo_precision math[] = {NEO_PRECISION_BF16, NEO_PRECISION_TF32, NEO_PRECISION_BF16,
                                       NEO_PRECISION_3XTF32};
  uint64_t way = h % 8;
  if (way < 3)
    how->off = h >> 8 & 7 ? 1u << (h >> 16) % NEO_FUSE_KINDS : ~0u;
  if (way >= 2 && way < 6)
    how->schedules = h | 1;
  if (way == 6) {
    how->math = math[(h >> 24) % 4];
    how->schedules = h >> 26 & 1 ? h | 1 : 0;
  }
  if (way == 7)
    how->store = NEO_PRECISION_BF16;
  if (way < 4 && h >> 56 & 1) /* half of the passes, or all but a few */
    how->without =
        neo_hash_mix(h, 1) & (h >> 57 & 1 ? ~(uint64_t)0 : neo_hash_mix(h, 2) & neo_hash_mix(h, 3));
}

bool pairs_way(const pairs_drive *d, uint64_t seed, uint32_t k, pairs_how *out, neo_arena *a) {
  uint64_t h = neo_hash_mix(seed, 0x7a7 + k);
  bool gpu = d->target && strncmp(d->target, "nvptx", 5) == 0;
  *out = (pairs_how){.target = d->target, .mcpu = d->mcpu, .every_grid = gpu && seed % 4 != 0};
  out->compose = pairs_has_vertices(d->draw) && !gpu;
  out->every_loop = (out->compose && seed % 3 == 0) || (pairs_is_nested(d->draw) && seed % 2 == 0);
  if (k == 0)
    return true;
  if (k > 1 || neo_hash_mix(seed, 0x1234) % 100 >= d->variants)
    return false;
  vary(out, h);
  out->compose = out->compose && !out->schedules; /* these cut sums by the numbers of vertices */
  if (pairs_has_recurrences(d->draw) && !gpu && !d->mcpu && h >> 40 & 1)
    out->mcpu = h >> 41 & 1 ? "x86-64-v2" : "x86-64-v3";
  out->every_loop = out->every_loop || (pairs_has_recurrences(d->draw) && h >> 42 & 1);
  out->tile_iterations =
      pairs_has_recurrences(d->draw) && h >> 43 & 1 ? 2 + (uint32_t)(h >> 44) % 3 : 0;
  out->reassociate = out->tile_iterations && h >> 46 & 1;
  out->batch_kinds = pairs_has_vertices(d->draw) && h >> 54 & 1;
  out->chunk_iterations =
      pairs_has_recurrences(d->draw) && h >> 48 & 1 ? 1 + (uint32_t)(h >> 49) % 4 : 0;
  /* chunks in chunks */
  out->chunk_iterations |= out->chunk_iterations && h >> 51 & 1 ? 2u << 16 : 0;
  out->small = h >> 47 & 1;
  /* rounding to few bits depends on the definitions that these passes make */
  out->reassociate = out->reassociate && !out->store && !out->math;
  out->chunk_iterations = out->store ? 0 : out->chunk_iterations;
  out->small = out->small && !out->store;
  if (out->math == NEO_PRECISION_BF16 && !gpu && h >> 32 & 1) /* a matrix unit in plain code */
    out->mcpu = neo_arena_printf(a, "%s+%s", d->mcpu ? d->mcpu : "x86-64-v3",
                                 h >> 33 & 1 ? "tiles" : "dots");
  return true;
}

const char *pairs_way_text(const pairs_how *how, neo_arena *a) {
  static const char *const precision[] = {"f32", "bf16", "tf32", "3xtf32"};
  neo_str s;
  neo_str_init(&s, a);
  if (how->target)
    neo_str_addf(&s, " --target=%s", how->target);
  if (how->mcpu)
    neo_str_addf(&s, " --mcpu=%s", how->mcpu);
  for (uint32_t k = 0; how->off != ~0u && k < NEO_FUSE_KINDS; k++)
    if (how->off >> k & 1)
      neo_str_addf(&s, " --no-fuse=%s", pairs_kind_text(k));
  if (how->off == ~0u)
    neo_str_add(&s, " --no-fuse=all");
  if (how->math)
    neo_str_addf(&s, " --math=%s", precision[how->math]);
  if (how->store)
    neo_str_addf(&s, " --store=%s", precision[how->store]);
  if (how->schedules)
    neo_str_addf(&s, " and random schedules of seed %llu", (unsigned long long)how->schedules);
  if (how->every_loop)
    neo_str_add(&s, " and every loop in the plan");
  if (how->reassociate)
    neo_str_add(&s, " --reassociate");
  if (how->tile_iterations)
    neo_str_addf(&s, " and blocks of %u rounds", how->tile_iterations);
  if (how->without)
    neo_str_addf(&s, " without passes 0x%llx", (unsigned long long)how->without);
  if (how->batch_kinds)
    neo_str_add(&s, " --batches=kind");
  if (how->chunk_iterations)
    neo_str_addf(&s, " and checkpoints every %u rounds", how->chunk_iterations & 0xffff);
  if (how->chunk_iterations >> 16)
    neo_str_addf(&s, ", of which one in %u is kept", how->chunk_iterations >> 16);
  if (how->small)
    neo_str_add(&s, " --memory=small");
  return s.n ? neo_str_text(&s) : " by default";
}

/* ---- one program */

static bool is_good(pairs_verdict v) {
  return v == PAIRS_SAME || v == PAIRS_REJECTED;
}

static pairs_run run_once(const pairs_program *p, const pairs_how *how, neo_arena *a,
                          pairs_reference *r) {
  if (!r->text || how->math || how->store)
    *r = pairs_evaluate(a, p, how);
  return pairs_compile_and_run(a, r, how);
}

/* Ends the process after so many seconds of processor time, which a machine that others use does
 * not shorten; or, if it waits, after WAITS times as many. 0: no limit. */
static void limit_seconds(unsigned seconds) {
  struct itimerval limit = {.it_value.tv_sec = seconds};
  (void)setitimer(ITIMER_PROF, &limit, NULL);
  alarm(WAITS * seconds);
}

/* A child writes what is wrong into the pipe. */
bool pairs_holds(const pairs_program *p, const pairs_how *how, neo_arena *a, const char **why) {
  int fd[2], status = 0;
  char text[4096];
  if (pipe(fd))
    return true;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    pairs_reference r = {.text = NULL};
    limit_seconds(SHRINK_SECONDS);
    if (!freopen("/dev/null", "w", stderr))
      _exit(3);
    pairs_run x = run_once(p, how, a, &r);
    const char *say = x.why ? x.why : "";
    if (write(fd[1], say, strlen(say)) < 0)
      _exit(3);
    _exit(is_good(x.verdict) ? 0 : 1);
  }
  close(fd[1]);
  size_t n = 0;
  for (ssize_t got; n + 1 < sizeof text && (got = read(fd[0], text + n, sizeof text - 1 - n)) > 0;)
    n += (size_t)got;
  text[n] = 0;
  close(fd[0]);
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    snprintf(text, sizeof text, "killed by signal %d", WTERMSIG(status));
  *why = neo_arena_strdup(a, text);
  return !WIFSIGNALED(status) && WEXITSTATUS(status) == 0;
}

typedef struct {
  neo_arena *arena;
  const pairs_how *how;
  const char *why;
} shrinking;

static bool still_fails(void *ctx, const pairs_program *p) {
  shrinking *s = ctx;
  const char *why;
  if (pairs_holds(p, s->how, s->arena, &why))
    return false;
  s->why = why;
  return true;
}

/* ---- telling */

static void keep(const pairs_drive *d, uint64_t seed, const char *text) {
  char path[512];
  if (!d->folder)
    return;
  snprintf(path, sizeof path, "%s/seed-%llu.expr", d->folder, (unsigned long long)seed);
  FILE *f = fopen(path, "w");
  if (!f)
    return;
  fputs(text, f);
  fclose(f);
}

/* In a process that may crash: each attempt has one of its own. */
static void tell(const pairs_drive *d, uint64_t seed, uint32_t k) {
  neo_arena a;
  neo_str text;
  pairs_how how;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&text, &a);
  pairs_program p = d->draw(&a, seed);
  (void)pairs_way(d, seed, k, &how, &a);
  shrinking s = {.arena = &a, .how = &how, .why = "not again"};
  if (still_fails(&s, &p))
    p = pairs_shrink(&a, &p, still_fails, &s, SHRINK_TRIES);
  neo_str_addf(&text, "# seed %llu, compiled%s\n# ", (unsigned long long)seed,
               pairs_way_text(&how, &a));
  for (const char *c = s.why; *c; c++)
    neo_str_add(&text, *c == '\n' ? "\n# " : (char[]){*c, 0});
  neo_str_add(&text, "\n");
  for (size_t i = 0; i < p.sizes.n; i++)
    neo_str_addf(&text, "# %s = %lld\n", p.sizes.at[i].name, (long long)p.sizes.at[i].now);
  pairs_text(&p, &text);
  keep(d, seed, neo_str_text(&text));
  if (!d->quiet)
    fprintf(stderr, "%s\n", neo_str_text(&text));
  neo_arena_free(&a);
}

/* ---- workers */

static void put_json(const pairs_drive *d, const pairs_reference *r, uint64_t seed, neo_arena *a) {
  neo_str line;
  if (!d->json || r->verdict || (d->json_most && seed >= d->first + d->json_most))
    return;
  neo_str_init(&line, a);
  pairs_put_json(r, &line);
  int f = open(d->json, O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (f < 0 || write(f, neo_str_text(&line), line.n) != (ssize_t)line.n) /* one write: one line */
    fprintf(stderr, "%s: cannot be written\n", d->json);
  if (f >= 0)
    close(f);
}

static void count(uint32_t *at) {
  __atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
}

static void do_seed(const pairs_drive *d, shared *m, uint32_t job, uint64_t seed) {
  neo_arena a;
  pairs_how how;
  pairs_reference r = {.text = NULL};
  neo_arena_init(&a, neo_alloc_default, NULL);
  pairs_program p = d->draw(&a, seed);
  count(&m->table.programs);
  for (uint32_t k = 0; pairs_way(d, seed, k, &how, &a); k++) {
    m->doing[job] = k;
    limit_seconds(MOST_SECONDS);
    pairs_run x = run_once(&p, &how, &a, &r);
    limit_seconds(0);
    pairs_table_add(&m->table, &x, &how);
    if (k == 0)
      put_json(d, &r, seed, &a);
    if (x.verdict == PAIRS_REJECTED) {
      count(&m->table.rejected);
      if (getenv("PAIRS_REJECTED"))
        fprintf(stderr, "seed %llu: %s", (unsigned long long)seed, x.why);
      break;
    }
    if (!is_good(x.verdict)) {
      count(&m->table.failed);
      tell(d, seed, k);
      break;
    }
  }
  neo_arena_free(&a);
}

static bool is_wanted(const pairs_drive *d, shared *m, uint64_t seed) {
  if (seed >= m->end)
    return false;
  if (d->until && seed % 64 == 0)
    m->short_of = pairs_table_least(&m->table, d->target != NULL, 0, NULL) < d->until;
  return !d->until || m->short_of;
}

/* Some seeds, then another process goes on: memory that LLVM keeps goes with it. */
static void work(const pairs_drive *d, shared *m, uint32_t job) {
  for (int k = 0; k < EACH; k++) {
    uint64_t seed = __atomic_fetch_add(&m->next, 1, __ATOMIC_RELAXED);
    if (!is_wanted(d, m, seed))
      _exit(0);
    m->at[job] = seed;
    do_seed(d, m, job, seed);
  }
  _exit(1);
}

static pid_t start(const pairs_drive *d, shared *m, uint32_t job) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    work(d, m, job);
  return child;
}

uint32_t pairs_drive_run(const pairs_drive *d, pairs_table *t) {
  shared *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  uint32_t jobs = d->jobs < 1 ? 1 : d->jobs > MOST_JOBS ? MOST_JOBS : d->jobs, alive = 0;
  pid_t child[MOST_JOBS];
  if (m == MAP_FAILED)
    return 1;
  m->next = d->first;
  m->end = d->first + d->n;
  m->short_of = 1;
  for (uint32_t k = 0; k < jobs; k++, alive++)
    child[k] = start(d, m, k);
  while (alive) {
    int status;
    pid_t ended = wait(&status);
    uint32_t k = 0;
    while (k < jobs && child[k] != ended)
      k++;
    if (ended < 0 || k == jobs)
      break;
    if (WIFSIGNALED(status)) {
      count(&m->table.failed);
      tell(d, m->at[k], (uint32_t)m->doing[k]);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      alive--;
    else
      child[k] = start(d, m, k);
  }
  *t = m->table;
  munmap(m, sizeof *m);
  return t->failed;
}
