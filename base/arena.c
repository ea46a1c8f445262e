/* Arena: a list of blocks, the newest first; allocation moves a pointer through the newest.
 *
 * Blocks double from 16 KiB to 1 MiB. A larger request gets a block of its own, second in the list,
 * so that the room left in the first is not lost. Under the address sanitizer unused bytes are
 * poisoned and allocations have a gap between them, so that overruns are found here too. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define GAP 16
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define GAP 0
#endif

enum { ALIGN = 16, FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 1 << 20 };

struct neo_arena_block {
  neo_arena_block *next;
  size_t size_bytes; /* size of the block, with this head */
};

void neo_arena_init(neo_arena *a, neo_alloc alloc, jmp_buf *on_fail) {
  *a = (neo_arena){.alloc = alloc, .on_fail = on_fail};
}

neo_arena neo_arena_scratch(const neo_arena *of) {
  return (neo_arena){.alloc = of->alloc, .on_fail = of->on_fail};
}

void neo_arena_free(neo_arena *a) {
  neo_arena_block *next;
  for (neo_arena_cleanup *c = a->cleanups; c; c = c->next)
    if (c->object)
      c->run(c->object);
  for (neo_arena_block *b = a->head; b; b = next) {
    next = b->next;
    ASAN_UNPOISON_MEMORY_REGION(b, b->size_bytes);
    a->alloc.resize(a->alloc.ctx, b, 0);
  }
  neo_arena_init(a, a->alloc, a->on_fail);
}

_Noreturn void neo_arena_fail(neo_arena *a) {
  if (a->on_fail)
    longjmp(*a->on_fail, 1);
  fputs("neo: out of memory\n", stderr);
  abort();
}

/* A block with room for n bytes after its head. */
static neo_arena_block *new_block(neo_arena *a, size_t n) {
  if (n > SIZE_MAX / 2)
    neo_arena_fail(a);
  size_t size_bytes = sizeof(neo_arena_block) + n;
  neo_arena_block *b = a->alloc.resize(a->alloc.ctx, NULL, size_bytes);
  if (!b)
    neo_arena_fail(a);
  b->size_bytes = size_bytes;
  a->total_bytes += size_bytes;
  return b;
}

static void *alloc_alone(neo_arena *a, size_t n) {
  neo_arena_block *b = new_block(a, n);
  neo_arena_block **at = a->head ? &a->head->next : &a->head;
  b->next = *at;
  *at = b;
  return b + 1;
}

static void new_front(neo_arena *a) {
  size_t n = a->total_bytes > FIRST_BLOCK ? a->total_bytes : FIRST_BLOCK;
  if (n > LARGEST_BLOCK)
    n = LARGEST_BLOCK;
  neo_arena_block *b = new_block(a, n & ~(size_t)(ALIGN - 1));
  b->next = a->head;
  a->head = b;
  a->at = (char *)(b + 1);
  a->end = (char *)b + b->size_bytes;
  ASAN_POISON_MEMORY_REGION(a->at, (size_t)(a->end - a->at));
}

_Static_assert(sizeof(neo_arena_block) % ALIGN == 0, "blocks keep the alignment");

void *neo_arena_alloc(neo_arena *a, size_t size_bytes) {
  if (size_bytes > SIZE_MAX / 2)
    neo_arena_fail(a);
  size_t n = (size_bytes + GAP + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (n > (size_t)(a->end - a->at)) {
    if (n > FIRST_BLOCK / 2)
      return memset(alloc_alone(a, n), 0, n);
    new_front(a);
  }
  char *p = a->at;
  a->at += n;
  ASAN_UNPOISON_MEMORY_REGION(p, size_bytes);
  return memset(p, 0, size_bytes);
}

void *neo_arena_array(neo_arena *a, size_t n, size_t size_bytes) {
  size_t total_bytes;
  if (__builtin_mul_overflow(n, size_bytes, &total_bytes))
    neo_arena_fail(a);
  return neo_arena_alloc(a, total_bytes);
}

void *neo_arena_copy(neo_arena *a, const void *p, size_t size_bytes) {
  void *copy = neo_arena_alloc(a, size_bytes);
  if (size_bytes > 0)
    memcpy(copy, p, size_bytes);
  return copy;
}

char *neo_arena_strndup(neo_arena *a, const char *s, size_t n) {
  if (n == SIZE_MAX)
    neo_arena_fail(a);
  char *copy = neo_arena_alloc(a, n + 1);
  if (n > 0)
    memcpy(copy, s, n);
  return copy;
}

char *neo_arena_strdup(neo_arena *a, const char *s) {
  return neo_arena_strndup(a, s, strlen(s));
}

char *neo_arena_vprintf(neo_arena *a, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0)
    neo_arena_fail(a);
  char *text = neo_arena_alloc(a, (size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, fmt, ap);
  return text;
}

char *neo_arena_printf(neo_arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *text = neo_arena_vprintf(a, fmt, ap);
  va_end(ap);
  return text;
}

neo_arena_cleanup *neo_arena_defer(neo_arena *a, void (*run)(void *object)) {
  neo_arena_cleanup *c = NEO_NEW(a, neo_arena_cleanup);
  *c = (neo_arena_cleanup){.next = a->cleanups, .run = run};
  a->cleanups = c;
  return c;
}
