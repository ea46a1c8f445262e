/* Private to the pass checkpoint (checkpoint.c says what it does).
 *
 *   checkpoint_align.c    which definitions go along the rounds
 *   checkpoint_loops.c    which of them share a loop over chunks
 *   checkpoint_write.c    a definition in chunks
 *   checkpoint_sums.c     sums over the rounds
 *   checkpoint_slices.c   what is read at one round */
#pragma once
#include "ir/limits.h"
#include "ir/order.h"

enum {
  CHECKPOINT_MOST_LAG = 8,
  CHECKPOINT_RANK = NEO_TENSOR_RANK - 2, /* two loops of chunks have an axis each */
  CHECKPOINT_AXES = NEO_DEF_AXES - 4     /* and their definitions some more */
};

typedef enum {
  CHECKPOINT_WHOLE, /* it is left as it is */
  CHECKPOINT_RUNS,  /* one of its output axes goes along the rounds */
  CHECKPOINT_SUM    /* a sum, of which one axis of the reduction does */
} checkpoint_kind;

typedef struct { /* of a definition */
  uint8_t kind;
  uint32_t axis;      /* that goes along the rounds */
  uint32_t number;    /* of its recurrence; 0: none */
  bool carried;       /* from round to round: its recurrence is a loop over them */
  bool needed;        /* by some entry */
  bool wanted;        /* a result is an entry's */
  bool reads_aligned; /* it reads what goes along the rounds */
  bool whole;         /* all of it is read behind the loops, or a result */
  uint32_t home; /* number of the loop in which it is made; 0: in those that need it, or in none */
  uint32_t level[2]; /* the least level of a loop that can read what it makes: up, down */
} checkpoint_def;

typedef struct { /* definitions that share a loop over chunks */
  bool down;
  uint32_t level;
  uint32_t mark; /* neo_def_rec.chunk_loop */
  neo_map made;  /* tensor -> the one in chunks */
} checkpoint_loop;

typedef struct { /* a tensor of some elements of another one */
  neo_tensor of, part;
  bool first;                        /* of edges: the first slices of chunks; else the last ones */
  neo_expr one[CHECKPOINT_RANK + 2]; /* by dimension: the element that it has alone; 0: all */
} checkpoint_part;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  neo_expr rounds; /* T, the extent of all axes along them */
  neo_expr chunks; /* so many chunks */
  int64_t chunk;   /* of so many rounds each, */
  bool exact;      /* and the last one is not shorter */
  int64_t lag;     /* rounds between a reader and what it reads, at most */
  checkpoint_def *def;
  uint32_t n_defs, n_tensors; /* those that were there before */
  const uint32_t *order;      /* definitions that entries need, producers first */
  size_t n_order;
  bool *down; /* by recurrence: the direction of its rounds */
  /* What is looked at are the definitions of this chunk_loop, whose chunks are of one round, along axis 0 of them all;
   * recurrences are those within one. 0: definitions of no chunk_loop. */
  uint32_t within;
  const neo_order_step **step; /* by recurrence within a round: its loop */
  NEO_VEC(checkpoint_loop) loops;
  NEO_VEC(checkpoint_part) edges, slices; /* `one` is by dimension of chunks; of the tensor */
} checkpoints;

neo_expr checkpoint_number(const checkpoints *c, int64_t x);
neo_expr checkpoint_sum(const checkpoints *c, neo_expr a, int64_t by); /* in linear form */
/* The one definition of the tensor, if it was there before; else 0. */
uint32_t checkpoint_maker(const checkpoints *c, uint32_t tensor);
/* Is the index one element for all readers? */
bool checkpoint_is_over_sizes(const neo_module *m, neo_expr e);
/* e is AXIS *axis + *offset */
bool checkpoint_is_offset(const checkpoints *c, neo_expr e, uint32_t *axis, int64_t *offset);
/* Is the read, in a definition whose axis 0 is now q, of another round of c->within? */
static inline bool checkpoint_crosses(const checkpoints *c, neo_expr read, neo_expr q) {
  return c->within && neo_expr_arg(c->m, read, 0).i != q.i;
}
/* The axis of chunks comes first, but for that of the loop around. Where axis k, or dimension k, is beside it: */
static inline uint32_t checkpoint_chunk_place(const checkpoints *c) {
  return c->within != 0;
}
static inline uint32_t checkpoint_place(const checkpoints *c, uint32_t k) {
  return k + (k >= checkpoint_chunk_place(c));
}
/* Marks what is written for the loop; `inner` is the loop in it that it had. */
static inline void checkpoint_mark(const checkpoints *c, uint32_t loop, uint32_t inner,
                                   neo_def_rec *d) {
  uint32_t mark = c->loops.at[loop - 1].mark;
  d->chunk_loop = c->within ? c->within : mark;
  d->inner_loop = c->within ? mark : inner;
}

/* checkpoint_align.c: recurrences along c->rounds, and with them other definitions; finds c->lag. False: there are no
 * such recurrences. */
bool checkpoint_align(checkpoints *c);

/* checkpoint_loops.c: finds loops, and the home of each definition. */
void checkpoint_find_loops(checkpoints *c);

/* checkpoint_write.c */
typedef struct { /* expressions of a definition in chunks */
  checkpoints *c;
  uint32_t chunk_loop;
  uint32_t n_axes;
  neo_expr by[64];  /* axis -> what it is in chunks */
  neo_expr q, r, t; /* chunk, round in it, round */
} checkpoint_scope;
checkpoint_scope checkpoint_scope_of(checkpoints *c, uint32_t chunk_loop, const neo_def_rec *d,
                                     uint32_t axis);
neo_expr checkpoint_one_element(const checkpoints *c, neo_node read, uint32_t dim);
neo_expr checkpoint_in_chunks(checkpoint_scope *s, neo_expr e);
neo_axis_rec checkpoint_chunk_axis(const checkpoints *c);
/* The tensor in chunks, in the loop, which is made if need be; 0: it is read as a whole there. */
neo_tensor checkpoint_chunked(checkpoints *c, uint32_t chunk_loop, neo_tensor t);
/* Definition d, of kind RUNS, is a copy of its chunks. */
void checkpoint_define_copy(checkpoints *c, uint32_t d);

/* checkpoint_sums.c: the sum is one over chunks in its chunk_loop. */
void checkpoint_run_sum(checkpoints *c, uint32_t d);

/* checkpoint_slices.c: reads of one round of what loops make. Call it when all definitions are in chunks. */
void checkpoint_read_slices(checkpoints *c);
