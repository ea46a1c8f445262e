/* Private to fusion/recurrence. How a recurrence becomes loops, in steps:
 *
 *   bands.c      the order as a schedule tree of bands and instances, by rewrites of bands
 *     levels.c     over rows: blocks of rows that do not need each other
 *     hoist.c      what is made for blocks of iterations though no part of the recurrence
 *     peel.c       bands whose conditions are decided; cut.c: where they change
 *     parallel.c   bands that carry no dependence
 *     tile.c       blocks of iterations, and what is computed for one at once
 *   and of definitions
 *     shift.c      where they are
 *     simplify.c   what they are there
 *     guard.c      whether they run
 *     split.c      parts of them
 *     rows.c       what is known of them in a block of rows
 *     needed.c     in which iterations somebody needs them
 *     lists.c      positions of lists, as the edges of rows, in the iterations of these;
 *                  list_reads.c: which of them are read
 *   fold.c       of which tensors some slices are enough along a loop; cells.c: where elements then lie
 *   early_exit.c where loops end early (early_exit.h)
 *   segments.c   which instances follow one another as a segment, and what has to be in memory
 *   write.c      instances as definitions of an iteration */
#pragma once
#include "fusion/recurrence.h"

enum { OUTLINE_AXES = 64 };

/* The level of rows: a block of rows, or one row of NEO_BLOCKS_SERIAL, which is a level. */
typedef struct {
  neo_tensor first; /* first rows of levels; 0: rows of no level, or of several */
  bool serial;
  neo_expr number, begin, end; /* over sizes; its rows are begin .. end - 1 */
} outline_level;

typedef struct
{ /* a loop around the point at hand, or, without an index, a range of its iterations at once */
  const neo_order_step *order;
  neo_expr index, lo, hi;
  neo_tensor blocks; /* the range is a block of it; 0: of none */
  bool first, later; /* it is the first one, or another; neither: it may be any */
} outline_around;

/* A definition, or a part of it, at the point of the loops around: an axis is at `base`, or runs over
 * `extent` positions from there. */
typedef struct {
  neo_def def;
  neo_def_rec rec; /* with these axes, simplified by facts of this point; reads whole tensors */
  neo_expr when;   /* condition under which it runs; 0: always */
  NEO_VEC(neo_expr) needed;    /* its results are needed only where all of these hold (needed.c) */
  neo_expr base[OUTLINE_AXES]; /* 0: the first */
  neo_expr extent[OUTLINE_AXES]; /* 0: all positions of the axis; 1: fixed */
  bool fixed[OUTLINE_AXES];
  neo_expr iteration; /* iteration of its outermost loop; */
  /* At most so many of them at once, from there on; 0: it is in none; -1: a number that is not known here. */
  int64_t iterations;
  const outline_around *around; /* the loops around, the outermost first */
  uint32_t n_around;
  const neo_expr *assume; /* of the loops around */
  uint32_t n_assume;
  bool partial;            /* elements outside of the selects of `rec` are not read */
  bool added;              /* added by early exits: no instance of its definition */
  bool leaf;               /* in the first block of rows, which read no earlier ones */
  outline_level level;     /* level of its rows */
  NEO_VEC(neo_expr) apart; /* facts of rows that it reads; over its axes */
  neo_tensor slice[4];     /* slices of its results; write.c */
} outline_instance;

enum { OUTLINE_CUTS = 8, OUTLINE_RANGES = 6 };
typedef struct {     /* iterations of a loop, or positions along an axis */
  neo_expr lo, hi;   /* lo <= x < hi; empty unless lo < hi */
  neo_expr base;     /* origin of the band's index; 0: the index is the iteration */
  neo_expr from, to; /* cuts, not limited to the range; 0: none */
} outline_range;

typedef struct { /* positions along an axis lie at their remainder by n */
  uint32_t axis;
  int64_t n;                   /* OUTLINE_TWO_LEVELS: rows of two levels are stored (cells.c) */
  const neo_order_step *order; /* the loop of these iterations */
  bool joined;                 /* one cell: the next fold counts positions along both axes */
} outline_fold;

enum { OUTLINE_FOLDS = 4, OUTLINE_TWO_LEVELS = 0 };
typedef struct {               /* storage of a tensor */
  neo_tensor tensor;           /* the tensor in memory; 0: the whole one */
  const neo_order_step *order; /* outermost loop */
  uint32_t n_folds;            /* loops along which it is folded, outermost first */
  outline_fold fold[OUTLINE_FOLDS];
} outline_storage;
static inline bool outline_is_by_level(const outline_storage *r) {
  return r->n_folds && r->fold[0].n == OUTLINE_TWO_LEVELS;
}

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const neo_def *defs;
  size_t n;
  bool *own;                /* by tensor: result of the recurrence */
  bool *stored;             /* by tensor: in memory */
  outline_storage *storage; /* by tensor */
  uint32_t n_tensors;       /* tensors that may be folded, without new ones */
  size_t room;              /* capacity of what is by tensor */
  /* Producers hoisted out of the current outermost loop, each before its readers: to blocks of this
   * many iterations; 0: before the loop. */
  const neo_def *hoisted;
  size_t n_hoisted;
  int64_t hoist_block;
  const neo_loop_options *options;
  NEO_VEC(outline_instance *) instances; /* the leaves', by number */
  NEO_VEC(outline_around) around;
  /* Facts of rows in the block around, if blocks have kinds: its kind, from 1 on, or 0, and by
   * definition the value of its elements there. */
  uint32_t kind;
  neo_expr is_kind;
  uint8_t *zero;
  outline_level
      level; /* of which the loop around runs all rows, or, if it is serial, first of which its rows are */
  uint32_t blocks;           /* loops over blocks of iterations around the point at hand */
  neo_expr list_lo, list_hi; /* positions of lists at the point at hand; 0: it is in no such band */
  NEO_VEC(neo_expr) assume;  /* of the loops around */
  neo_recurrence *out;
} outliner;

neo_expr outline_number(const outliner *o, int64_t x);
/* reads.c: makes room by tensor for all tensors of the module. */
void outline_grow(outliner *o);
/* The member of the loop for d; null: none. */
static inline const neo_order_member *outline_member(const neo_order_step *order, neo_def d) {
  for (uint32_t k = 0; k < order->n_members; k++)
    if (order->member[k].def.i == d.i)
      return &order->member[k];
  return NULL;
}
/* The member of the loop that makes the tensor, or a piece of it; null: none. */
static inline const neo_order_member *outline_maker(const neo_module *m,
                                                    const neo_order_step *order, neo_tensor t) {
  const neo_order_member *made = NULL;
  for (uint32_t k = 0; k < neo_tensor_at(m, t)->pieces.n && !made; k++)
    made = outline_member(order, (neo_def){neo_list_at(m, neo_tensor_at(m, t)->pieces, k)});
  return made;
}
/* Is the tensor a result of the definition, or of the instance? */
static inline bool outline_is_result(const neo_module *m, const neo_def_rec *d, uint32_t tensor) {
  for (uint32_t k = 0; k < d->out.n; k++)
    if (neo_list_at(m, d->out, k) == tensor)
      return true;
  return false;
}
static inline bool outline_makes(const outliner *o, const outline_instance *x, uint32_t tensor) {
  return outline_is_result(o->m, &x->rec, tensor);
}
/* The instance of a leaf. */
static inline outline_instance *outline_at(const outliner *o, const neo_tree *leaf) {
  return o->instances.at[leaf->leaf.number];
}
/* Adds a leaf, or a band with its children. */
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
/* Is the instance at one position of the axis? A range of one position is no loop. */
static inline bool outline_has_one_position(const outliner *o, const outline_instance *x,
                                            uint32_t axis) {
  int64_t n;
  return x->fixed[axis] ||
         (x->extent[axis].i && neo_expr_is_int(o->m, x->extent[axis], &n) && n == 1);
}
static inline bool outline_is_read(const neo_node *n) {
  return n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
}

/* ---- reads.c: positions and expressions */
/* Is a - b a constant? Sets *x. */
bool outline_distance(const outliner *o, neo_expr a, neo_expr b, int64_t *x);
neo_expr outline_sum(const outliner *o, neo_expr a, neo_expr b);
neo_expr outline_difference(const outliner *o, neo_expr a, neo_expr b);
/* Does it hold in the loops around, for all positions of axes? */
bool outline_holds(const outliner *o, neo_expr goal);
bool outline_at_most(const outliner *o, neo_expr a, neo_expr b);
/* The larger of both, if known there. */
neo_expr outline_max(const outliner *o, neo_expr a, neo_expr b);
neo_expr outline_min(const outliner *o, neo_expr a, neo_expr b);
/* f of each expression of a list, or of a definition's condition, body and finish. */
neo_list outline_map_list(const outliner *o, neo_list from, neo_expr (*f)(void *ctx, neo_expr e),
                          void *ctx);
void outline_map(const outliner *o, neo_def_rec *r, neo_expr (*f)(void *ctx, neo_expr e),
                 void *ctx);
void outline_visit(const outliner *o, const neo_def_rec *r, void (*f)(void *ctx, neo_expr e),
                   void *ctx);

/* ---- bands.c: adds the rewritten loop to the loops around */
void outline_add_loop(outliner *o, neo_trees *to, const neo_order_step *order);
/* Adds the steps of each iteration of the loop. */
void outline_add_steps(outliner *o, neo_trees *to, const neo_order_step *order);
/* Adds a band over iterations of the loop. */
void outline_add_iterations(outliner *o, neo_trees *to, const neo_order_step *order,
                            const outline_range *r);
/* Adds a definition to the loops around. */
void outline_add_def(outliner *o, neo_trees *to, neo_def d);
/* A size for the loop's index, in [lo, hi), and that it is there. */
/* A size that is an element of the table of blocks in each iteration. */
neo_size outline_row_size(outliner *o, const char *name, int64_t lo, int64_t hi, uint32_t depth,
                          int64_t usual);
neo_size outline_index_of(outliner *o, const neo_order_step *order, neo_expr lo, neo_expr hi);
void outline_assume_between(outliner *o, neo_expr lo, neo_expr at, neo_expr hi);

/* ---- lists.c: the same of a definition that runs by owner: in a band of the lists of the iteration
 * at hand, or of those of a block. False: it does not run by owner, or is in such a band. */
bool outline_add_lists(outliner *o, neo_trees *to, neo_def d);
/* list_reads.c: is position `at` of what the member makes one of a list of row `own` of the reader, or of a list of a row
 * that is apart? `reader` is by owner, too, or reads along an axis of a reduction. */
bool outline_reads_list(const outliner *o, const neo_order_member *reader,
                        const neo_order_member *made, neo_expr at);

/* ---- rewrites of a band. Each adds what the band becomes; false: it does not apply. */
bool outline_add_levels(outliner *o, neo_trees *to, const neo_order_step *order);
bool outline_hoist(outliner *o, neo_trees *to, const neo_order_step *order);
bool outline_tile(outliner *o, neo_trees *to, const neo_order_step *order, const outline_range *r);
/* The ranges of its iterations that become bands. Returns how many. */
uint32_t outline_peel(outliner *o, const neo_order_step *order, outline_range *r);

/* hoist.c: adds hoisted producers to the loop's members, if all of them can be. */
void outline_find_hoisted(outliner *o, neo_order_step *order);
/* parallel.c: may the range's iterations be positions of an axis? */
bool outline_is_parallel(outliner *o, const neo_order_step *order, const outline_range *r);
/* tile.c: the iterations of a block, 0: the loop is not tiled; before[k]: step k is a definition
 * that is computed for a block's iterations at once, before them. */
int64_t outline_block_of(outliner *o, const neo_order_step *order, bool *before);
/* cut.c: the positions at which conditions of `rec` on its axis `axis` alone change: position c is
 * the first one after the change. `loops`: only those that depend on the index of a loop. At most
 * `most`, without duplicates. */
uint32_t outline_cuts(const outliner *o, const neo_def_rec *rec, uint32_t axis, bool loops,
                      neo_expr *cut, uint32_t most);
/* peel.c: adds a cut to n of them, unless it is there. Returns the new n. */
uint32_t outline_add_cut(neo_expr *cut, uint32_t n, uint32_t most, neo_expr at);
/* Cuts [lo, hi) into ranges that do not overlap for any sizes. Returns how many. */
uint32_t outline_ranges_of(const outliner *o, neo_expr lo, neo_expr hi, const neo_expr *cut,
                           uint32_t n_cuts, outline_range *out);
bool outline_is_empty(const outliner *o, const outline_range *r);

/* ---- rewrites of a definition */
/* shift.c: the definition as an instance in the loops around. */
outline_instance *outline_instance_of(outliner *o, neo_def d);
/* Writes the definition with the instance's axes. */
void outline_shift(outliner *o, outline_instance *x);
/* An expression over the definition's output axes, over the instance's. */
neo_expr outline_shifted(const outliner *o, const outline_instance *x, neo_expr e);
/* The position of axis k of the definition. */
static inline neo_expr outline_position(const outliner *o, const outline_instance *x, uint32_t k) {
  neo_expr at = neo_axis_ref(o->m, k);
  if (!x->base[k].i)
    return at;
  return x->fixed[k] ? x->base[k] : neo_op2(o->m, NEO_OP_ADD, x->base[k], at);
}
/* simplify.c */
void outline_simplify(const outliner *o, outline_instance *x);
/* Has it results with elements that nobody reads (partial)? */
bool outline_is_partial(const outliner *o, neo_def d);
/* guard.c: the condition under which the definition runs in an iteration of the loops around; 0: always. */
neo_expr outline_guard(const outliner *o, neo_def d);
/* split.c: adds the instance, split along its axes from `axis` on. */
void outline_split(outliner *o, neo_trees *to, outline_instance *x, uint32_t axis);

/* rows.c: the table of blocks of rows in which the loop can run; 0: none. *earlier (may be null):
 * some reads are of rows of earlier blocks. The first block has none and gets its own code. */
neo_tensor outline_blocks_of(const outliner *o, const neo_order_step *order, bool *earlier);
/* Notes in x->apart that rows of other blocks are before the block around, or after it. The first
 * block has no rows before it: such a read becomes -1. */
void outline_read_apart(outliner *o, outline_instance *x);
/* Sets x->level to the level of the rows of x. */
void outline_note_level(const outliner *o, outline_instance *x);
/* The table with the first row of the level before x's (*before), or after it, at `at`; 0: another
 * expression. */
neo_tensor outline_level_table(const outliner *o, const outline_instance *x, neo_expr at,
                               bool *before);

/* The expression of instance x by facts of kinds of rows; its own row is `own`. */
neo_expr outline_of_kind(outliner *o, neo_expr own, neo_expr e);
/* The row of an element of x in the block around; 0: not in a block. */
neo_expr outline_own_row(const outliner *o, const outline_instance *x);

typedef NEO_VEC(const neo_order_step *) outline_loops;
/* fold.c: folds the storage of tensors that are not needed outside. */
void outline_fold_storage(outliner *o, const neo_tree *t, const neo_order_step *order,
                          const outline_loops *ending);
/* The iteration of the loop that the instance is in; false: none, or several. */
bool outline_iteration_of(const outliner *o, const neo_order_step *loop, const outline_instance *x,
                          neo_expr *at);
/* The iterations of the loop that the instance has at once; null: it is in one, or in none. */
static inline const outline_around *outline_range_in(const neo_order_step *loop,
                                                     const outline_instance *x) {
  for (uint32_t k = 0; k < x->n_around; k++)
    if (x->around[k].order == loop && !x->around[k].index.i)
      return &x->around[k];
  return NULL;
}
/* The last of the folds that count positions together with fold k. */
static inline uint32_t outline_run_end(const outline_storage *r, uint32_t k) {
  while (r->fold[k].joined)
    k++;
  return k;
}
/* How many slices of the tensor there are along the loop, or along it and loops in it together; 0: all. */
static inline int64_t outline_slices(const outline_storage *r, const neo_order_step *loop) {
  for (uint32_t k = 0; k < r->n_folds; k++)
    if (r->fold[k].order == loop)
      return r->fold[outline_run_end(r, k)].n;
  return 0;
}
/* Does instance x, which is p or runs after it, overwrite an element that p reads or writes? Then
 * results of p must not be recomputed after x. */
bool outline_overwrites(const outliner *o, const outline_instance *x, const outline_instance *p);

/* cells.c: a tensor for the circular buffer of `of`. */
neo_tensor outline_cells_new(const outliner *o, neo_tensor of, const outline_storage *r);
/* Gives the tensor n slices along the loop, if it is folded there. */
void outline_set_slices(outliner *o, neo_tensor t, const neo_order_step *loop, int64_t n);
/* The tensor that has t's memory. */
neo_tensor outline_memory_of(const outliner *o, neo_tensor t);
/* The position along the axis, in memory, of the element at the positions `at`. */
neo_expr outline_cell(const outliner *o, neo_tensor t, uint32_t axis, const neo_expr *at);
/* The same for a read of instance x, written `at`. `first`: for rows in level order, the copy of
 * x->level.first. */
neo_expr outline_cell_read(const outliner *o, const outline_instance *x, neo_expr read,
                           uint32_t axis, const neo_expr *at, neo_tensor first);
/* The beginning of the instance's elements in memory. */
neo_slice outline_slice_of(const outliner *o, neo_tensor t, const outline_instance *x);
/* Adds the stores of their tensors to the recurrence's tree. */
void outline_add_stores(outliner *o);

/* early_exit.c: the loops that may end early. */
outline_loops outline_ending_loops(outliner *o, const neo_order_step *order);
/* The tree with early exits, and guards, where iterations change nothing; o->storage is known. */
const neo_tree *outline_early_exits(outliner *o, const neo_order_step *order, const neo_tree *t);

/* needed.c: notes the conditions under which the instance is needed, from the options. */
void outline_note_needed(const outliner *o, outline_instance *x);
/* Notes for y, which is x at another position along the axis, the conditions of x that hold there, too. */
void outline_note_needed_along(const outliner *o, const outline_instance *x, uint32_t axis,
                               outline_instance *y);
/* Is the instance needed at some of its positions along the axis alone, as a condition on each says? */
bool outline_is_needed_by_iteration(const outliner *o, const outline_instance *x, uint32_t axis);
/* Drops conditions on elements that are not computed before the instance that tests them. */
void outline_drop_unmade(const outliner *o, const neo_tree *t);

/* Notes that the recurrence reads t. */
static inline void outline_add_read(outliner *o, neo_tensor t) {
  for (size_t k = 0; k < o->out->reads.n; k++)
    if (o->out->reads.at[k].i == t.i)
      return;
  NEO_PUSH(o->a, &o->out->reads, t);
}

/* segments.c: adjacent instances of an iteration. */
typedef NEO_VEC(outline_instance *) outline_open;
/* The instance of the open segment that makes the element that x reads, an index into `open`;
 * OUTLINE_MEMORY: none, so the element is in memory; OUTLINE_UNKNOWN: one may. */
enum { OUTLINE_MEMORY = -1, OUTLINE_UNKNOWN = -2 };
int outline_producer(const outliner *o, const outline_open *open, const outline_instance *x,
                     uint32_t n_axes, neo_expr read);
/* May instance p make the element that x reads? */
bool outline_may_make(const outliner *o, const outline_instance *p, const outline_instance *x,
                      uint32_t n_axes, neo_expr read);
/* Calls f with each read of the instance, its conditions included, and the number of axes in
 * scope. */
void outline_reads(const outliner *o, const outline_instance *x,
                   void (*f)(void *ctx, neo_expr read, uint32_t n_axes), void *ctx);
/* Divides the tree into segments; marks stored tensors. */
const neo_tree *outline_segments(outliner *o, const neo_tree *from);

/* write.c: the instance as a definition of segment s. */
void outline_write(outliner *o, neo_recurrence_segment *s, const outline_open *open,
                   outline_instance *x, neo_map *copies);
