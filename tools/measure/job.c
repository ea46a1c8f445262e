/* The buffers of a job. Each ends within 64 bytes of a page without access and starts after one, so
 * that accesses beyond its end, or far before its start, crash. Inputs are write-protected. Long
 * buffers use large pages if the system has them, aligned at their end, as the runtime's arena does
 * (runtime/core/ctx.c): with small pages kernels would have TLB misses that they do not have in a
 * library, some many more than others. */
#define _DEFAULT_SOURCE 1 /* madvise */
#include "runtime/element.h"
#include "tools/measure/measure.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LARGE_PAGE = 2 << 20 };

static size_t round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

static size_t mapped_bytes(const measure_buf *b) {
  return round_up(b->bytes ? b->bytes : 1, PAGE);
}

static char *map_shared(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* This is a hint, so that failure changes nothing. */
static void ask_large_pages(char *p, size_t n) {
#ifdef MADV_HUGEPAGE
  if (n >= LARGE_PAGE)
    (void)madvise(p, n, MADV_HUGEPAGE);
#else
  (void)p;
  (void)n;
#endif
}

/* Maps memory between guard pages. It ends at the end of a large page if it is as long as one. */
static char *map_between_guards(size_t bytes) {
  size_t more = bytes >= LARGE_PAGE ? LARGE_PAGE : 0, all = bytes + 2 * PAGE + more;
  char *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  size_t before = more ? (LARGE_PAGE - ((uintptr_t)p + PAGE + bytes) % LARGE_PAGE) % LARGE_PAGE : 0;
  if (before)
    munmap(p, before);
  if (before < more)
    munmap(p + before + bytes + 2 * PAGE, more - before);
  p += before + PAGE;
  if (mprotect(p, bytes, PROT_READ | PROT_WRITE))
    return NULL;
  ask_large_pages(p, bytes);
  return p;
}

void measure_job_own(const measure_job *j) {
  for (int k = 0; k < j->n_bufs; k++) {
    const measure_buf *b = &j->buf[k];
    size_t bytes = mapped_bytes(b);
    char *p = b->data - (bytes - round_up(b->bytes, NEO_RT_ALIGN_BYTES));
    if (!b->write || bytes < LARGE_PAGE)
      continue;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(p, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
      continue; /* the old pages serve as well */
    ask_large_pages(p, bytes);
    memset(p, MEASURE_UNWRITTEN, bytes);
    measure_forget(b, b->data);
  }
}

/* A copy of the buffer, from which it is restored before each run that is checked. */
static char *copy_of(const measure_buf *b) {
  char *p = malloc(b->bytes + 1);
  if (p)
    memcpy(p, b->data, b->bytes);
  return p;
}

static bool make(measure_job *j, int k) {
  measure_buf *b = &j->buf[k];
  size_t size = neo_rti_type_bytes(b->type), bytes;
  if (b->n < 0 || !size || __builtin_mul_overflow((size_t)b->n, size, &b->bytes))
    return false;
  bytes = mapped_bytes(b);
  char *p = map_between_guards(bytes);
  if (!p)
    return false;
  b->data = p + (bytes - round_up(b->bytes, NEO_RT_ALIGN_BYTES));
  if (b->write)
    memset(p, MEASURE_UNWRITTEN, bytes);
  if (b->write && !(b->answer = map_shared(bytes)))
    return false;
  if (b->write && !b->reads)
    return true;
  if (!measure_fill(j, k))
    return false;
  return b->write ? (b->start = copy_of(b)) != NULL : mprotect(p, bytes, PROT_READ) == 0;
}

/* ---- memory that other kernels of the step touch */

static size_t cache_bytes(void) {
  long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  size_t unknown = 32u << 20,
         most = 64u << 20; /* a cache of many cores serves more than one step */
  return bytes <= 0 ? unknown : (size_t)bytes < most ? (size_t)bytes : most;
}

static bool make_between(measure_job *j) {
  size_t most = cache_bytes();
  j->between_bytes = j->between_bytes < most ? j->between_bytes : most;
  if (!j->between_bytes || j->gpu)
    return true;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void *p = mmap(NULL, j->between_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (p == MAP_FAILED)
    return false;
  ask_large_pages(p, j->between_bytes);
  memset(p, 1, j->between_bytes); /* pages that were never written share one physical page */
  j->between = p;
  return true;
}

bool measure_job_ready(measure_job *j) {
  for (int k = 0; k < j->n_bufs; k++)
    if (!make(j, k))
      return false;
  return j->ready = make_between(j);
}

static void drop(measure_buf *b) {
  size_t bytes = mapped_bytes(b);
  if (b->data)
    munmap(b->data - (bytes - round_up(b->bytes, NEO_RT_ALIGN_BYTES)) - PAGE, bytes + 2 * PAGE);
  if (b->answer)
    munmap(b->answer, bytes);
  free(b->plain);
  free(b->expected);
  free(b->start);
  free(b->path);
}

void measure_job_clear(measure_job *j) {
  measure_job old = *j;
  measure_process_end(&j->process);
  for (int k = 0; k < j->n_bufs; k++)
    drop(&j->buf[k]);
  if (j->between)
    munmap(j->between, j->between_bytes);
  memset(j, 0, sizeof *j);
  j->sandbox = old.sandbox;
  j->gpu = old.gpu;
  memcpy(j->level, old.level, sizeof j->level);
  j->device = old.device;
  j->threads = 1;
  j->wall_ms = j->cpu_ms = 2000;
  j->memory_bytes = 256LL << 20;
  j->run_ns = 2e6, j->total_ns = 60e6;
  j->least_runs = 7;
}
