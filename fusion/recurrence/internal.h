/* Private to fusion/recurrence. How a recurrence becomes loops, in steps:
 *
 *   place.c      the order's loops, cut where conditions change (cut.c), and the definitions in them: a
 *                schedule tree of bands and instances
 *   lead.c       what is made for blocks of rounds though no part of the recurrence
 *   levels.c     which loops run in blocks of rows that do not need each other
 *   kinds.c      what a block of rows of one kind runs
 *   sums.c       sums over rows that grow block by block, where lazy batching is off
 *   tile.c       which loops are tiled, and what is computed for a block of rounds at once
 *   ring.c       of which tensors some slices are enough
 *   inner_fold.c of which some are along loops in loops, too
 *   level_ring.c of which the rows of two levels are
 *   early_exit.c where loops end early (early_exit.h)
 *   needed.c     in which iterations somebody needs an instance
 *   segments.c   which instances follow one another as a segment, and what has to be in memory
 *   write.c      instances as definitions of a round */
#pragma once
#include "fusion/recurrence.h"

enum { OUTLINE_AXES = 64 };

/* The level that rows are of: a block of rows, or one row of NEO_BLOCKS_SERIAL, which is a level of its own. */
typedef struct {
  neo_tensor first; /* where levels begin; 0: rows are of no level, or of several */
  bool serial;
  neo_expr number, begin, end; /* over sizes; its rows are begin .. end - 1 */
} outline_level;

/* A definition, or a part of it, at the point of the loops around: an axis is at `base`, or runs over
 * `extent` positions from there. */
typedef struct {
  neo_def def;
  neo_def_rec rec; /* with these axes, simplified by what holds here; it reads whole tensors */
  neo_expr when;   /* it runs where this holds; 0: always */
  NEO_VEC(neo_expr) needed;    /* its results are needed only where all of these hold (needed.c) */
  neo_expr base[OUTLINE_AXES]; /* 0: the first */
  neo_expr extent[OUTLINE_AXES]; /* 0: the axis has all of its positions; 1 where it is fixed */
  bool fixed[OUTLINE_AXES];
  neo_expr round; /* of the outermost loop that it is in; */
  /* At most so many of them at once, from there on; 0: it is in none; -1: a number that is not known here. */
  int64_t rounds;
  const neo_expr *assume; /* of the loops around */
  uint32_t n_assume;
  bool partial;            /* nobody reads elements for which the selects of `rec` do not hold */
  bool of_sum;             /* a part of a sum that grows block by block */
  bool leaf;               /* in the first block of rows, which read none of earlier ones */
  outline_level level;     /* that its rows are of */
  NEO_VEC(neo_expr) apart; /* what is known of rows that it reads; over its axes */
  neo_tensor slice[4];     /* of its results; write.c */
} outline_instance;

typedef struct
{ /* a loop around the point at hand, or, without an index, a range of its rounds at once */
  const neo_order_step *order;
  neo_expr index, lo, hi;
  neo_tensor blocks; /* the range is a block of it; 0: of none */
  bool first, later; /* it is the first one, or another; neither: it may be any */
} outline_around;

typedef struct { /* positions along an axis lie at their remainder by n */
  uint32_t axis;
  int64_t n;
  const neo_order_step *order; /* the loop along whose iterations they are */
} outline_fold;

enum { OUTLINE_FOLDS = 4 };
typedef struct {               /* of a tensor: where its elements lie */
  neo_tensor tensor;           /* that is in memory; 0: the tensor is there as a whole */
  const neo_order_step *order; /* the outermost loop */
  bool levels;                 /* as level_ring.c says, along the axis of fold[0] */
  uint32_t n_folds;            /* loops along which the storage is folded, the outermost first */
  outline_fold fold[OUTLINE_FOLDS];
} outline_ring;

typedef struct { /* a sum over rows */
  neo_def def;
  neo_tensor
      sum; /* what is added up so far: its result, or what the end of the sum is computed of */
  uint32_t axis; /* its rows */
} outline_sum;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const neo_def *defs;
  size_t n;
  bool *own;          /* by tensor: a definition of the recurrence makes it */
  bool *stored;       /* by tensor: it is in memory */
  outline_ring *ring; /* by tensor */
  uint32_t n_tensors; /* that may have a ring: more are made */
  size_t room;        /* of what is by tensor */
  /* What leads the outermost loop at hand, producers first, which is in blocks of so many rounds; 0: of
   * no blocks, and the definitions run before it. */
  const neo_def *lead;
  size_t n_lead;
  int64_t lead_rounds;
  bool lead_in_blocks; /* of rows: they are among what runs in the loop */
  const neo_loop_options *options;
  NEO_VEC(outline_sum) sums;             /* that grow block by block */
  NEO_VEC(outline_instance *) instances; /* of the leaves, by their numbers */
  NEO_VEC(outline_around) around;
  /* Of the rows in the block around, where blocks have kinds: the kind, from 1 on, or 0, that the block is of it, and by
   * definition what is known of its elements there. */
  uint32_t kind;
  neo_expr is_kind;
  uint8_t *zero;
  outline_level
      level; /* of which the loop around runs all rows, or, if it is serial, first of which its rows are */
  uint32_t blocks;          /* loops over blocks of rounds around the point at hand */
  NEO_VEC(neo_expr) assume; /* of the loops around */
  neo_recurrence *out;
} outliner;

neo_expr outline_number(const outliner *o, int64_t x);
/* reads.c: what is by tensor has room for those of the module. */
void outline_grow(outliner *o);
/* The member of the loop that makes d; null: none does. */
static inline const neo_order_member *outline_member(const neo_order_step *order, neo_def d) {
  for (uint32_t k = 0; k < order->n_members; k++)
    if (order->member[k].def.i == d.i)
      return &order->member[k];
  return NULL;
}
/* Is the tensor a result of the instance? */
static inline bool outline_makes(const outliner *o, const outline_instance *x, uint32_t tensor) {
  for (uint32_t k = 0; k < x->rec.out.n; k++)
    if (neo_list_at(o->m, x->rec.out, k) == tensor)
      return true;
  return false;
}
/* What runs at a leaf. */
static inline outline_instance *outline_at(const outliner *o, const neo_tree *leaf) {
  return o->instances.at[leaf->leaf.number];
}
/* Adds a leaf, or a band around what is in it. */
static inline void outline_push(outliner *o, neo_trees *to, outline_instance *x) {
  neo_tree_leaf leaf = {.number = (uint32_t)o->instances.n};
  NEO_PUSH(o->a, &o->instances, x);
  NEO_PUSH(o->a, to, neo_tree_of_leaf(o->a, leaf));
}
static inline void outline_push_band(outliner *o, neo_trees *to, neo_tree_band band,
                                     const neo_trees *in) {
  band.name = neo_size_at(o->m, band.index)->name;
  NEO_PUSH(o->a, to, neo_tree_of_band(o->a, band, neo_tree_sequence(o->a, in)));
}
bool outline_proved(const outliner *o, const outline_instance *x, uint32_t n_axes, neo_expr goal);
static inline bool outline_is_read(const neo_node *n) {
  return n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
}

/* cut.c: the positions at which conditions of the expressions of `rec` that depend on its axis `axis`,
 * and on no other one, change: position c is the first one of what follows. `loops`: only those that
 * depend on the index of a loop. At most `most`, each once. */
uint32_t outline_cuts(const outliner *o, const neo_def_rec *rec, uint32_t axis, bool loops,
                      neo_expr *cut, uint32_t most);
/* a - b, if it is a constant. */
bool outline_distance(const outliner *o, neo_expr a, neo_expr b, int64_t *x);

/* place.c: the order's loop, cut into loops and instances. */
neo_trees outline_place(outliner *o, const neo_order_step *order);
/* The definition as an instance in the loops around. */
outline_instance *outline_instance_of(outliner *o, neo_def d);
/* Adds what runs in each round of the loop, in the loops around. */
void outline_add_steps(outliner *o, neo_trees *steps, const neo_order_step *order);
/* A size for the loop's index, in [lo, hi), and that it is there. */
neo_size outline_index_of(outliner *o, const neo_order_step *order, neo_expr lo, neo_expr hi);
/* Adds the loop over its rounds lo .. hi - 1. */
void outline_add_rounds(outliner *o, neo_trees *steps, const neo_order_step *order, neo_expr lo,
                        neo_expr hi);
void outline_assume_between(outliner *o, neo_expr lo, neo_expr at, neo_expr hi);
/* Is a <= b, by what holds in the loops around? */
bool outline_at_most(const outliner *o, neo_expr a, neo_expr b);
/* Adds a definition behind the loops. */
void outline_place_behind(outliner *o, neo_trees *steps, neo_def d);

/* lead.c: adds the definitions that lead the loop to its members, if all of them can. Without streaming what leads blocks of
 * rows is made in them. */
void outline_lead(outliner *o, neo_order_step *order);

/* levels.c: the tensor that says in which blocks of rows the loop can run; 0: there is none. *leads: are there
 * rows that are read from earlier blocks? There are none in the first. */
neo_tensor outline_blocks_of(const outliner *o, const neo_order_step *order, bool *leads);
/* Adds the loop over blocks. Nothing in the first one reads rows of earlier ones: it has code of its own where others
 * do (`leads`). */
void outline_add_blocks(outliner *o, neo_trees *steps, const neo_order_step *order,
                        neo_tensor blocks, bool leads);
/* Notes in x->apart that rows read from other blocks lie before the block around, or behind it. In the first block
 * there are none before: such a read becomes -1. */
void outline_read_apart(outliner *o, outline_instance *x);
/* Notes in x->level of which level the rows of x are. */
void outline_note_level(const outliner *o, outline_instance *x);
/* The table that says which row `at` of the level before x's is (*before), or of the one behind it; 0: it is another
 * expression. */
neo_tensor outline_level_table(const outliner *o, const outline_instance *x, neo_expr at,
                               bool *before);

/* kinds.c */
/* Adds the steps of a block, for each kind those that it runs. */
void outline_add_kinds(outliner *o, neo_trees *steps, const neo_order_step *order,
                       const outline_around *block, neo_size index);
/* The expression of instance x where kinds of rows are known: its own row is `own`. */
neo_expr outline_of_kind(outliner *o, neo_expr own, neo_expr e);
/* The outermost block around; null: there is none. */
const outline_around *outline_block_around(const outliner *o);
/* The row of an element of x in the block around; 0: it is in none. */
neo_expr outline_own_row(const outliner *o, const outline_instance *x);

/* sums.c: finds the sums of the loop's rows among definitions that run behind it, and makes o->sums. */
void outline_find_sums(outliner *o, const neo_order_step *order, const neo_def *behind, size_t n);
/* Before the loops all of them are 0. In a block its rows are added. Behind the loops follows the end of sum d, if it
 * has one; false: d is none of the sums. */
void outline_begin_sums(outliner *o, neo_trees *steps);
void outline_grow_sums(outliner *o, neo_trees *steps, neo_expr begin, neo_expr end);
bool outline_end_sum(outliner *o, neo_trees *steps, neo_def d);

/* tile.c: how many rounds a block of the loop has, 0: it is not tiled; hoisted[k]: step k is a definition that
 * is computed for a block's rounds at once, before them. */
int64_t outline_block_of(outliner *o, const neo_order_step *order, bool *hoisted);

/* ring.c: finds o->ring, for the tensors that are not needed outside. */
void outline_rings(outliner *o, const neo_tree *t, const neo_order_step *order);
/* Gives the tensor n slices along the loop, where it is folded along it. */
void outline_set_slices(outliner *o, neo_tensor t, const neo_order_step *loop, int64_t n);
/* Adds the stores of their tensors to the recurrence's tree. */
void outline_add_stores(outliner *o);

/* inner_fold.c: adds the folds along loops in the outermost one to a tensor's; *ring has that of the outermost, if any. */
void outline_fold_inner(const outliner *o, const neo_tree *tree, const neo_order_step *order,
                        neo_tensor t, outline_ring *ring);
/* In which iteration of the loop the instance is; false: in none, or in several. */
bool outline_iteration_of(const outliner *o, const neo_order_step *loop, const outline_instance *x,
                          neo_expr *at);
/* Does x write where an element lies that p reads, or makes, by such a fold? Both are in one iteration of the outermost
 * loop. */
bool outline_overwrites_inner(const outliner *o, const outline_ring *r, uint32_t tensor,
                              const outline_instance *x, const outline_instance *p);
/* How many slices of the tensor there are along the loop; 0: all. */
static inline int64_t outline_slices(const outline_ring *r, const neo_order_step *loop) {
  for (uint32_t k = 0; k < r->n_folds; k++)
    if (r->fold[k].order == loop)
      return r->fold[k].n;
  return 0;
}

/* Does instance x, which runs after p or is p, write where an element lies that p reads, or makes? Then what p computes is
 * not to be computed again where x has run. */
bool outline_overwrites(const outliner *o, const outline_instance *x, const outline_instance *p);

/* level_ring.c: are the rows of two levels of the tensor enough, which the member makes? */
bool outline_has_level_ring(const outliner *o, const neo_tree *tree, const neo_order_step *order,
                            neo_tensor t, const neo_order_member *member);

/* early_exit.c: the tree with early exits, and guards, where iterations change nothing; o->ring is known. */
const neo_tree *outline_early_exits(outliner *o, const neo_order_step *order, const neo_tree *t);

/* needed.c: notes what the instance is needed under, of what the options say of its definition. */
void outline_note_needed(const outliner *o, outline_instance *x);
/* Drops conditions on elements that are not made before the instance that asks for them. */
void outline_drop_unmade(const outliner *o, const neo_tree *t);

/* The recurrence reads t. */
static inline void outline_add_read(outliner *o, neo_tensor t) {
  for (size_t k = 0; k < o->out->reads.n; k++)
    if (o->out->reads.at[k].i == t.i)
      return;
  NEO_PUSH(o->a, &o->out->reads, t);
}

/* segments.c: instances that follow one another in an iteration. */
typedef NEO_VEC(outline_instance *) outline_open;
/* The instance of the open segment that makes what instance x reads there, an index into `open`;
 * OUTLINE_MEMORY: none does, and what is read is in memory; OUTLINE_UNKNOWN: one may make it. */
enum { OUTLINE_MEMORY = -1, OUTLINE_UNKNOWN = -2 };
int outline_producer(const outliner *o, const outline_open *open, const outline_instance *x,
                     uint32_t n_axes, neo_expr read);
/* May instance p make the element that x reads? */
bool outline_may_make(const outliner *o, const outline_instance *p, const outline_instance *x,
                      uint32_t n_axes, neo_expr read);
/* Calls f with each read of the instance, also of what it is needed under, and the number of axes that it may use. */
void outline_reads(const outliner *o, const outline_instance *x,
                   void (*f)(void *ctx, neo_expr read, uint32_t n_axes), void *ctx);
/* Writes the tree as one of segments; marks what is stored. */
const neo_tree *outline_segments(outliner *o, const neo_tree *from);

/* write.c: position `at` of the axis where it lies in memory. */
neo_expr outline_cell(const outliner *o, neo_tensor t, uint32_t axis, neo_expr at);
/* The instance as a definition of segment s. */
void outline_write(outliner *o, neo_recurrence_segment *s, const outline_open *open,
                   outline_instance *x, neo_map *copies);
