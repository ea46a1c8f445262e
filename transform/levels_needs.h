/* What is read of tensors that lie in the order of levels, as sets by bits, which grow from the readers on until none
 * changes: of which places (levels_needed.c, levels_copies.c), of which kinds of vertices (levels_kinds.c, levels_keys.c).
 * Private to these. */
#pragma once
#include "ir/guarded_read.h"
#include "ir/limits.h"
#include "transform/levels_parts.h"

/* Sets of places: those of leaves, of level 1, of levels behind. */
enum { LEVELS_LEAF = 1, LEVELS_FIRST = 2, LEVELS_LATER = 4, LEVELS_OTHER = 6, LEVELS_ALL = 7 };

typedef struct levels_needs levels_needs;
struct levels_needs {
  levels *s;
  const neo_def *defs; /* that entries need */
  size_t n;
  uint32_t *need; /* by tensor in an order: what is read */
  levels_ordered in;
  /* What the definition's own elements are needed for; 0: for nothing. What the read r of definition id needs. */
  uint32_t (*own)(const levels_needs *x, const neo_def_rec *d);
  uint32_t (*of)(levels_needs *x, neo_def id, const neo_guarded_read *r);
};

levels_needs levels_needs_begin(levels *s);
void levels_needs_find(levels_needs *x);

typedef struct { /* the places where levels 1 and 2 begin */
  neo_expr leaves, second;
} levels_bounds;

levels_bounds levels_bounds_of(const levels_needs *x, const levels_graph *g, neo_span span);
/* The places `at` for which the condition may have the value. */
uint32_t levels_by_condition(const levels_needs *x, neo_expr c, bool holds, neo_expr at,
                             const levels_bounds *b);
/* Places that the definition's own elements are needed at. */
uint32_t levels_own_need(const levels_needs *x, const neo_def_rec *d);
/* Places that read r of definition id needs. */
uint32_t levels_need_of(levels_needs *x, neo_def id, const neo_guarded_read *r);

/* levels_copies.c: reads of copies become reads of what they copy. */
void levels_read_originals(levels_needs *x);
