/* The parts of diagnostics: diag.c collects records, diag_print.c prints them.
 *
 * Memory: texts of the tables are constant; lists are in the arena of the diagnostics. */
#pragma once
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"

typedef struct {
  bool help; /* else a note */
  const char *text;
} neo_diag_remark;

typedef struct {
  neo_span at;
  neo_diag_id id;
  const char *text;
  uint32_t order; /* position in the order of reports; last key of the sort */
  NEO_VEC(neo_span) ranges;
  NEO_VEC(neo_diag_remark) remarks;
} neo_diag_rec;

struct neo_diags {
  neo_arena *arena;
  neo_sources *sources;
  NEO_VEC(neo_diag_rec) recs; /* in the order of reporting: handles are indices */
  neo_map seen;               /* span and id -> handle */
  size_t errors, dropped;
  bool closed; /* nothing more is reported: neo_diags_close */
};

/* A bound on the diagnostics of one run: a broken file of megabytes must not take minutes. */
enum { NEO_DIAGS_KEPT = 1000 };

/* The line on which a span starts, without its end, and the span's bytes in it. */
typedef struct {
  const char *text;
  uint32_t n, number, file;
  uint32_t from, to; /* to may lie beyond the line */
  uint32_t offset;   /* position of the span in the file */
} neo_line;
/* The line of text in which a span begins; span > 0. */
neo_line neo_span_line(const neo_sources *s, neo_span span);

/* The code of a diagnostic as users see it: "E0203". */
const char *neo_diag_code(neo_diag_id id);
/* The severity of a diagnostic, from its row in diag.def. */
neo_severity neo_diag_severity(neo_diag_id id);
/* The word for a severity in messages: "error", "warning", "remark". */
const char *neo_severity_text(neo_severity severity);
/* All diagnostics in the order of printing: by file, offset, code; those without a position
 * last. */
const neo_diag_rec **neo_diags_sorted(neo_diags *d);
