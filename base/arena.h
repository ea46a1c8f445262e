/* Arena: bump allocation with one lifetime (a compilation, or a pass's scratch). Nothing in it is
 * freed alone.
 *
 * Out of memory in the compiler: the arena calls its `on_fail` handler, which must not return (the
 * compile entry points install a longjmp to a clean NEO_MEMORY status). So code that allocates from
 * an arena needs no null checks. */
#pragma once
#include "base/alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

typedef struct neo_arena_block neo_arena_block;
typedef struct neo_arena_cleanup neo_arena_cleanup;
typedef struct neo_arena {
  neo_alloc alloc;
  neo_arena_block *head;
  char *at, *end;
  neo_arena_cleanup *cleanups; /* the last added first */
  size_t total_bytes;
  jmp_buf *on_fail; /* null: abort with a message (tests and tools that need no recovery) */
} neo_arena;

/* Makes an empty arena in memory of the caller, which ends it with neo_arena_free. on_fail (may be
 * null) must outlive the arena. */
void neo_arena_init(neo_arena *a, neo_alloc alloc, jmp_buf *on_fail);
/* An empty arena for what ends before `of` does: it allocates, and fails, as that one. */
neo_arena neo_arena_scratch(const neo_arena *of);
void neo_arena_free(neo_arena *a); /* cleanups, then all blocks; the arena may be used again */

/* A cleanup that runs when the arena ends, for an object whose memory is elsewhere (isl's contexts,
 * locales), also after a longjmp over its owner. neo_arena_free calls `run` with the object unless
 * that is null. The owner sets `object` once it has made the object, and resets it to null if it
 * frees the object itself. */
struct neo_arena_cleanup {
  neo_arena_cleanup *next;
  void (*run)(void *object);
  void *object;
};
/* Adds a cleanup, without an object (null), to the arena, which owns it. */
neo_arena_cleanup *neo_arena_defer(neo_arena *a, void (*run)(void *object));

/* Does what a failed allocation of the arena does, for callers whose other memory ran out. */
_Noreturn void neo_arena_fail(neo_arena *a);

/* Zeroed memory, aligned to 16. Never null. */
void *neo_arena_alloc(neo_arena *a, size_t size_bytes);
/* n*size zeroed, checked multiplication. */
void *neo_arena_array(neo_arena *a, size_t n, size_t size_bytes);
/* Copies in the arena: size_bytes bytes; a text; n bytes as a text, NUL added; a text formatted as
 * by printf. Never null. */
void *neo_arena_copy(neo_arena *a, const void *p, size_t size_bytes);
char *neo_arena_strdup(neo_arena *a, const char *s);
char *neo_arena_strndup(neo_arena *a, const char *s, size_t n);
char *neo_arena_printf(neo_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *neo_arena_vprintf(neo_arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#define NEO_NEW(arena, T) ((T *)neo_arena_alloc((arena), sizeof(T)))
#define NEO_NEW_ARRAY(arena, T, n) ((T *)neo_arena_array((arena), (size_t)(n), sizeof(T)))
