/* Needs of tensors in level order, as sets of bits, which grow from readers to producers until they
 * are stable: needed positions (needed.c, copies.c), needed kinds of vertices
 * (kinds.c, keys.c). Private to these. */
#pragma once
#include "ir/guarded_read.h"
#include "ir/limits.h"
#include "transform/levels/parts.h"

/* Sets of positions: leaves, level 1, later levels. */
enum { LEVELS_LEAF = 1, LEVELS_FIRST = 2, LEVELS_LATER = 4, LEVELS_OTHER = 6, LEVELS_ALL = 7 };

typedef struct levels_needs levels_needs;
struct levels_needs {
  levels *s;
  const neo_def *defs; /* needed definitions */
  size_t n;
  uint32_t *need; /* by tensor in an order: its needs */
  levels_ordered in;
  /* Needs of the definition's own elements (0: none), and those that read r of definition id
   * has. */
  uint32_t (*own)(const levels_needs *x, const neo_def_rec *d);
  uint32_t (*of)(levels_needs *x, neo_def id, const neo_guarded_read *r);
};

levels_needs levels_needs_begin(levels *s);
void levels_needs_find(levels_needs *x);

typedef struct { /* the first positions of levels 1 and 2 */
  neo_expr leaves, second;
} levels_bounds;

levels_bounds levels_bounds_of(const levels_needs *x, const levels_graph *g, neo_span span);
/* The positions `at` for which the condition may have the value. */
uint32_t levels_by_condition(const levels_needs *x, neo_expr c, bool holds, neo_expr at,
                             const levels_bounds *b);
/* Positions at which the definition's own elements are needed. */
uint32_t levels_own_need(const levels_needs *x, const neo_def_rec *d);
/* Positions that read r of definition id needs. */
uint32_t levels_need_of(levels_needs *x, neo_def id, const neo_guarded_read *r);

/* copies.c: makes readers of copies read the originals. */
void levels_read_originals(levels_needs *x);
