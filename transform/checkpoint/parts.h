/* Private to the pass checkpoint; its head is in checkpoint.c.
 *
 *   align.c    definitions along the iterations
 *   loops.c    loops over chunks
 *   write.c    a definition in chunks
 *   sums.c     sums over the iterations
 *   slices.c   reads of one iteration */
#pragma once
#include "ir/limits.h"
#include "ir/order.h"

enum {
  CHECKPOINT_MOST_LAG = 8,
  CHECKPOINT_RANK = NEO_TENSOR_RANK - 2, /* two loops of chunks have an axis each */
  CHECKPOINT_AXES = NEO_DEF_AXES - 4     /* and their definitions some more */
};

typedef enum {
  CHECKPOINT_WHOLE, /* left unchanged */
  CHECKPOINT_RUNS,  /* an output axis runs along the iterations */
  CHECKPOINT_SUM    /* a sum, one of whose reduction axes does */
} checkpoint_kind;

typedef struct { /* a definition */
  uint8_t kind;
  uint32_t axis;      /* axis along the iterations */
  uint32_t number;    /* recurrence of the definition; 0: none */
  bool carried;       /* between iterations: its recurrence is a loop over them */
  bool needed;        /* some entry needs it */
  bool wanted;        /* an entry names a result */
  bool reads_aligned; /* reads aligned definitions */
  bool whole;         /* a result, or read as a whole after the loops */
  uint32_t home;      /* loop that computes it; 0: every loop that needs it, or none */
  uint32_t level[2];  /* least level of a loop that can read it: up, down */
} checkpoint_def;

typedef struct { /* definitions that share a loop over chunks */
  bool down;
  uint32_t level;
  uint32_t mark; /* neo_def_rec.chunk_loop */
  neo_map made;  /* tensor -> the one in chunks */
} checkpoint_loop;

typedef struct { /* selected elements of a tensor as a tensor */
  neo_tensor of, part;
  bool first;                        /* first slices of chunks; else the last */
  neo_expr one[CHECKPOINT_RANK + 2]; /* by dimension: its only element; 0: all */
} checkpoint_part;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  neo_expr iterations; /* T, the extent of the aligned axes */
  neo_expr chunks;     /* number of chunks */
  int64_t chunk;       /* iterations of a chunk */
  bool exact;          /* the last chunk is not shorter */
  int64_t lag;         /* iterations between a reader and its producer, at most */
  checkpoint_def *def;
  uint32_t n_defs, n_tensors; /* definitions and tensors before the pass */
  const uint32_t *order;      /* needed definitions, producers first */
  size_t n_order;
  bool *down; /* by recurrence: its iterations run down */
  /* Restricts the pass to definitions of this chunk_loop, whose chunks are of one iteration, along
   * axis 0 of them all; recurrences are those within one. 0: definitions of no chunk_loop. */
  uint32_t within;
  const neo_order_step **step; /* by recurrence within an iteration: its loop */
  NEO_VEC(checkpoint_loop) loops;
  NEO_VEC(checkpoint_part) edges, slices; /* `one` is by dimension of chunks; of the tensor */
} checkpoints;

neo_expr checkpoint_number(const checkpoints *c, int64_t x);
neo_expr checkpoint_sum(const checkpoints *c, neo_expr a, int64_t by); /* in linear form */
/* The only definition of the tensor, if older than the pass; else 0. */
uint32_t checkpoint_maker(const checkpoints *c, uint32_t tensor);
/* Is the index the same element for all readers? */
bool checkpoint_is_over_sizes(const neo_module *m, neo_expr e);
/* Is e AXIS *axis + *offset? */
bool checkpoint_is_offset(const checkpoints *c, neo_expr e, uint32_t *axis, int64_t *offset);
/* Does the read, in a definition whose axis 0 is now q, cross iterations of c->within? */
static inline bool checkpoint_crosses(const checkpoints *c, neo_expr read, neo_expr q) {
  return c->within && neo_expr_arg(c->m, read, 0).i != q.i;
}
/* Axis of chunks: the first, or the second inside of another loop. Other axes and dimensions
 * follow: */
static inline uint32_t checkpoint_chunk_place(const checkpoints *c) {
  return c->within != 0;
}
static inline uint32_t checkpoint_place(const checkpoints *c, uint32_t k) {
  return k + (k >= checkpoint_chunk_place(c));
}
/* Marks a new definition with its loop; `inner` is its loop before. */
static inline void checkpoint_mark(const checkpoints *c, uint32_t loop, uint32_t inner,
                                   neo_def_rec *d) {
  uint32_t mark = c->loops.at[loop - 1].mark;
  d->chunk_loop = c->within ? c->within : mark;
  d->inner_loop = c->within ? mark : inner;
}

/* align.c: aligns recurrences along c->iterations and definitions with them; finds c->lag.
 * False: there are no such recurrences. */
bool checkpoint_align(checkpoints *c);

/* loops.c: finds loops and the home of each definition. */
void checkpoint_find_loops(checkpoints *c);

/* write.c */
typedef struct { /* expressions of a definition in chunks */
  checkpoints *c;
  uint32_t chunk_loop;
  uint32_t n_axes;
  neo_expr by[NEO_DEF_AXES]; /* axis -> its expression in chunks */
  neo_expr q, r, t;          /* chunk, iteration in it, iteration */
} checkpoint_scope;
checkpoint_scope checkpoint_scope_of(checkpoints *c, uint32_t chunk_loop, const neo_def_rec *d,
                                     uint32_t axis);
neo_expr checkpoint_one_element(const checkpoints *c, neo_node read, uint32_t dim);
neo_expr checkpoint_in_chunks(checkpoint_scope *s, neo_expr e);
neo_axis_rec checkpoint_chunk_axis(const checkpoints *c);
/* The tensor in chunks in the loop, defined on demand; 0: the loop reads it as a whole. */
neo_tensor checkpoint_chunked(checkpoints *c, uint32_t chunk_loop, neo_tensor t);
/* Makes definition d, of kind RUNS, a copy of its chunks. */
void checkpoint_define_copy(checkpoints *c, uint32_t d);

/* sums.c: accumulates the sum over chunks in its chunk_loop. */
void checkpoint_run_sum(checkpoints *c, uint32_t d);

/* slices.c: reads of one iteration of a loop. Call it when all definitions are in
 * chunks. */
void checkpoint_read_slices(checkpoints *c);
