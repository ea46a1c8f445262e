/* Diagnostics: collected, sorted by place, printed once as text with carets or as JSON.
 *
 *   mlp.expr:13:28: error[E0203]: index 'i' has two extents: 784 (X, dimension 1) and ...
 *      13 | H[b, j] = relu(sum[i] X[b, i] * W1[i, j] + b1[j])
 *         |                            ^       ~
 *   note: W1 is declared at mlp.expr:8:7
 *
 * A span is an interned (file, byte offset, length); spans survive from token to machine code. The
 * same code at the same span is reported once (functions are checked once per call).
 *
 * Memory: texts and lists that these functions return live as long as the sources or the
 * diagnostics that they are read from. */
#pragma once
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdio.h>

typedef enum { NEO_SEV_ERROR, NEO_SEV_WARNING, NEO_SEV_REMARK } neo_severity;
typedef enum {
#define X(id, code, severity, format) NEO_D_##id,
#include "base/diag.def"
#undef X
  NEO_D_COUNT
} neo_diag_id;

typedef uint32_t neo_span; /* 0 = nowhere; else index into neo_sources */
typedef struct neo_sources neo_sources;
typedef struct neo_diags neo_diags;

/* Sources: files by name and text (both kept by reference, in the arena), and the spans in them. */
neo_sources *neo_sources_new(neo_arena *a);
/* Adds a file; returns its number. Name and text are kept by reference. */
uint32_t neo_sources_add(neo_sources *s, const char *name, const char *text, size_t size_bytes);
/* All files, in the order in which they were added. */
uint32_t neo_sources_count(const neo_sources *s);
const char *neo_sources_name(const neo_sources *s, uint32_t file);
const char *neo_sources_text(const neo_sources *s, uint32_t file, size_t *size_bytes);
/* The span of `length` bytes from `offset` on, cut at the file's end. */
neo_span neo_span_of(neo_sources *s, uint32_t file, uint32_t offset, uint32_t length);
/* The position `span` inside of a function that is called at `caller`, which may itself be inside
 * of another call. A function's definitions exist once for each call, and so do their spans. A
 * diagnostic is reported once for all of them. */
neo_span neo_span_called(neo_sources *s, neo_span span, neo_span caller);
neo_span neo_span_caller(const neo_sources *s, neo_span span); /* 0: there is none */
typedef struct {
  const char *file;
  uint32_t file_id, offset, length;
  uint32_t line, column; /* from 1; column counts code points */
} neo_place;
/* The file, line and column of a span; span 0 (none) has the file name "". */
neo_place neo_span_place(const neo_sources *s, neo_span span);
/* "mlp.expr:7:9", in the arena; "" for span 0. */
const char *neo_span_text(neo_sources *s, neo_span span);
/* The source text that the span covers; not NUL-terminated. */
const char *neo_span_bytes(const neo_sources *s, neo_span span, size_t *n);

/* An empty collection in arena `a`; the sources are the caller's and must outlive it. */
neo_diags *neo_diags_new(neo_arena *a, neo_sources *sources);
/* The sources that the collection was made with; never null. */
neo_sources *neo_diags_sources(neo_diags *d);

/* Reports a diagnostic and returns a handle for the calls below. The handle is -1, which these
 * accept, for a repetition, after the first thousand (further errors are counted and not
 * printed), and when the list is closed. */
int neo_diag(neo_diags *d, neo_span at, neo_diag_id id, ...);
void neo_diag_range(neo_diags *d, int handle, neo_span range); /* a `~~~` range, same line or not */
/* Adds a note to a diagnostic, by its handle, formatted as by printf. */
void neo_diag_note(neo_diags *d, int handle, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds advice on how to mend it, printed as "help: ...". */
void neo_diag_help(neo_diags *d, int handle, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Suppresses all further reports: work was given up, the reason was reported, and other errors
 * would follow from it. */
void neo_diags_close(neo_diags *d);

/* The number of diagnostics that are errors. */
size_t neo_diags_errors(const neo_diags *d);
/* The number of all diagnostics: errors, warnings and remarks. */
size_t neo_diags_count(const neo_diags *d);
/* Appends all of them, sorted by file, offset, code. */
void neo_diags_print(neo_diags *d, neo_str *out, bool colour);
/* The same as data, in the arena of the diagnostics. */
typedef struct {
  const char *severity, *code, *text;
  neo_span at;
  const char *line; /* on which it begins, not NUL-terminated; null: nowhere */
  size_t line_bytes;
  const neo_span *ranges;
  size_t n_ranges;
  const char *const *notes, *const *helps;
  size_t n_notes, n_helps;
} neo_diag_item;
/* All diagnostics in the order of printing; *n is their number. In the collection's arena. */
const neo_diag_item *neo_diags_items(neo_diags *d, size_t *n);
/* {"diagnostics": [{code, severity, message, file, line, column, ranges, notes, help, ...}]} */
void neo_diags_print_json(neo_diags *d, neo_str *out);

/* All of them as bytes, for an equal list of sources. (diag_pack.c) */
void neo_diags_pack(const neo_diags *d, neo_str *out);
/* Reports the packed diagnostics again, in an empty list whose sources equal those of the packed
 * one. False: the bytes are no such list, and `d` may have a part of it. */
bool neo_diags_unpack(neo_diags *d, const char *data, size_t n);
