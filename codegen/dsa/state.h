/* For search.c: the state of the search (state.c). Private to codegen/dsa. */
#pragma once
#include "base/vec.h"
#include "codegen/dsa/internal.h"

typedef enum { DSA_WAS_FLOOR, DSA_WAS_LOW, DSA_WAS_WATCH, DSA_WAS_FREE } dsa_change_kind;
typedef struct {
  dsa_change_kind kind;
  int32_t at;
  int64_t old;
} dsa_change;

typedef struct {
  const dsa_instance *in;
  int64_t capacity;
  /* by column */
  int64_t *floor;           /* no free buffer begins below */
  int64_t *left;            /* sum of the sizes of free buffers */
  int32_t *crossing;        /* free buffers that are in this column and in the one before */
  int32_t *watch;           /* a free buffer with low == floor; -1: none is free */
  int32_t *next, *previous; /* columns with the same watch; -1: none */
  /* by buffer */
  int64_t *low;    /* the lowest offset that it can have, if it is free */
  int64_t *offset; /* if it is not */
  bool *placed;
  int32_t *watched; /* a column that it watches; -1: none */
  /* changes that an undo takes back; the range of columns whose floors must be computed again */
  NEO_VEC(dsa_change) trail;
  int32_t dirty_begin, dirty_end;
  bool *is_dirty;
  int32_t *heap, n_heap; /* scratch: free buffers of a column */
} dsa_state;

/* The state without placed buffers; floors are not settled yet. Memory is the instance's arena. */
void dsa_state_init(dsa_state *s, const dsa_instance *in);
/* Settles the floors of all columns; false: there is no plan. */
bool dsa_state_settle(dsa_state *s);
/* Puts a free buffer at its lowest offset; false: the rest does not fit. */
bool dsa_state_place(dsa_state *s, int32_t buffer);
/* Raises the floor of a column: no free buffer of it begins below `floor`. False: the rest does not
 * fit. */
bool dsa_state_raise(dsa_state *s, int32_t column, int64_t floor);
/* Takes changes back until the trail is as long as it was. */
void dsa_state_undo(dsa_state *s, size_t mark);
