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
 *     lists.c      positions of lists, as the edges of rows, in the iterations of these
 *   fold.c       of which tensors some slices are enough along a loop; cells.c: where elements then lie
 *   early_exit.c where loops end early (early_exit.h)
 *   segments.c   which instances follow one another as a segment, and what has to be in memory
 *   write.c      instances as definitions of an iteration */
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
  neo_expr iteration; /* of the outermost loop that it is in; */
  /* At most so many of them at once, from there on; 0: it is in none; -1: a number that is not known here. */
  int64_t iterations;
  const neo_expr *assume; /* of the loops around */
  uint32_t n_assume;
  bool partial;            /* nobody reads elements for which the selects of `rec` do not hold */
  bool added;              /* early exits added it: it is none of its definition's own */
  bool leaf;               /* in the first block of rows, which read none of earlier ones */
  outline_level level;     /* that its rows are of */
  NEO_VEC(neo_expr) apart; /* what is known of rows that it reads; over its axes */
  neo_tensor slice[4];     /* of its results; write.c */
} outline_instance;

enum { OUTLINE_CUTS = 8, OUTLINE_RANGES = 6 };
typedef struct {     /* iterations of a loop, or positions along an axis */
  neo_expr lo, hi;   /* lo <= x < hi, and none where not lo < hi */
  neo_expr base;     /* the band's index counts from here; 0: it is the iteration */
  neo_expr from, to; /* cuts, without a limit to the range of all; 0: there is none */
} outline_range;

typedef struct
{ /* a loop around the point at hand, or, without an index, a range of its iterations at once */
  const neo_order_step *order;
  neo_expr index, lo, hi;
  neo_tensor blocks; /* the range is a block of it; 0: of none */
  bool first, later; /* it is the first one, or another; neither: it may be any */
} outline_around;

typedef struct { /* positions along an axis lie at their remainder by n */
  uint32_t axis;
  int64_t n;                   /* OUTLINE_TWO_LEVELS: rows of two levels are there (cells.c) */
  const neo_order_step *order; /* the loop along whose iterations they are */
  bool joined;                 /* one cell: the next fold counts positions along both axes */
} outline_fold;

enum { OUTLINE_FOLDS = 4, OUTLINE_TWO_LEVELS = 0 };
typedef struct {               /* of a tensor: where its elements lie */
  neo_tensor tensor;           /* that is in memory; 0: the tensor is there as a whole */
  const neo_order_step *order; /* the outermost loop */
  uint32_t n_folds;            /* loops along which the storage is folded, the outermost first */
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
  bool *own;                /* by tensor: a definition of the recurrence makes it */
  bool *stored;             /* by tensor: it is in memory */
  outline_storage *storage; /* by tensor */
  uint32_t n_tensors;       /* that may be folded: more are made */
  size_t room;              /* of what is by tensor */
  /* Producers that are hoisted out of the outermost loop at hand, each before its readers: to blocks of so many iterations; 0:
   * of no blocks, and they run before it. */
  const neo_def *hoisted;
  size_t n_hoisted;
  int64_t hoist_block;
  const neo_loop_options *options;
  NEO_VEC(outline_instance *) instances; /* of the leaves, by their numbers */
  NEO_VEC(outline_around) around;
  /* Of the rows in the block around, where blocks have kinds: the kind, from 1 on, or 0, that the block is of it, and by
   * definition what is known of its elements there. */
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
/* reads.c: what is by tensor has room for those of the module. */
void outline_grow(outliner *o);
/* The member of the loop that makes d; null: none does. */
static inline const neo_order_member *outline_member(const neo_order_step *order, neo_def d) {
  for (uint32_t k = 0; k < order->n_members; k++)
    if (order->member[k].def.i == d.i)
      return &order->member[k];
  return NULL;
}
/* The member of the loop that makes the tensor, or a piece of it; null: none does. */
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
/* a - b, if it is a constant. */
bool outline_distance(const outliner *o, neo_expr a, neo_expr b, int64_t *x);
neo_expr outline_sum(const outliner *o, neo_expr a, neo_expr b);
neo_expr outline_difference(const outliner *o, neo_expr a, neo_expr b);
/* Does it hold in the loops around, whatever the axes are at? */
bool outline_holds(const outliner *o, neo_expr goal);
bool outline_at_most(const outliner *o, neo_expr a, neo_expr b);
/* One of both, if it holds there. */
neo_expr outline_max(const outliner *o, neo_expr a, neo_expr b);
neo_expr outline_min(const outliner *o, neo_expr a, neo_expr b);
/* f of each expression: of a list, of a definition's condition, body and finish. */
neo_list outline_map_list(const outliner *o, neo_list from, neo_expr (*f)(void *ctx, neo_expr e),
                          void *ctx);
void outline_map(const outliner *o, neo_def_rec *r, neo_expr (*f)(void *ctx, neo_expr e),
                 void *ctx);
void outline_visit(const outliner *o, const neo_def_rec *r, void (*f)(void *ctx, neo_expr e),
                   void *ctx);

/* ---- bands.c: adds the loop, rewritten, in the loops around. */
void outline_add_loop(outliner *o, neo_trees *to, const neo_order_step *order);
/* Adds what runs in each iteration of the loop, in the loops around. */
void outline_add_steps(outliner *o, neo_trees *to, const neo_order_step *order);
/* Adds a band over iterations of the loop. */
void outline_add_iterations(outliner *o, neo_trees *to, const neo_order_step *order,
                            const outline_range *r);
/* Adds a definition, in the loops around. */
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
/* Is position `at` of what the member makes one of a list of row `own` of the reader, or of a list of a row
 * that is apart? `reader` is by owner, too, or reads along an axis of a reduction. */
bool outline_reads_list(const outliner *o, const neo_order_member *reader,
                        const neo_order_member *made, neo_expr at);

/* ---- rewrites of a band. Each adds what the band becomes; false: it does not apply. */
bool outline_add_levels(outliner *o, neo_trees *to, const neo_order_step *order);
bool outline_hoist(outliner *o, neo_trees *to, const neo_order_step *order);
bool outline_tile(outliner *o, neo_trees *to, const neo_order_step *order, const outline_range *r);
/* The ranges of its iterations that become a band each. Returns how many. */
uint32_t outline_peel(outliner *o, const neo_order_step *order, outline_range *r);

/* hoist.c: adds the producers that are hoisted to the loop's members, if all of them can be. */
void outline_find_hoisted(outliner *o, neo_order_step *order);
/* parallel.c: may the range's iterations be positions of an axis? */
bool outline_is_parallel(outliner *o, const neo_order_step *order, const outline_range *r);
/* tile.c: how many iterations a block of the loop has, 0: it is not tiled; before[k]: step k is a definition that
 * is computed for a block's iterations at once, before them. */
int64_t outline_block_of(outliner *o, const neo_order_step *order, bool *before);
/* cut.c: the positions at which conditions of the expressions of `rec` that depend on its axis `axis`,
 * and on no other one, change: position c is the first one of what follows. `loops`: only those that
 * depend on the index of a loop. At most `most`, each once. */
uint32_t outline_cuts(const outliner *o, const neo_def_rec *rec, uint32_t axis, bool loops,
                      neo_expr *cut, uint32_t most);
/* peel.c: adds a cut to n of them, once. Returns how many there are. */
uint32_t outline_add_cut(neo_expr *cut, uint32_t n, uint32_t most, neo_expr at);
/* Cuts [lo, hi) into ranges that do not overlap, whatever the sizes are. Returns how many. */
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
/* Where axis k of the definition is. */
static inline neo_expr outline_position(const outliner *o, const outline_instance *x, uint32_t k) {
  neo_expr at = neo_axis_ref(o->m, k);
  if (!x->base[k].i)
    return at;
  return x->fixed[k] ? x->base[k] : neo_op2(o->m, NEO_OP_ADD, x->base[k], at);
}
/* simplify.c */
void outline_simplify(const outliner *o, outline_instance *x);
/* Have its tensors elements that nobody reads (partial)? */
bool outline_is_partial(const outliner *o, neo_def d);
/* guard.c: the condition under which the definition runs in an iteration of the loops around; 0: always. */
neo_expr outline_guard(const outliner *o, neo_def d);
/* split.c: adds the instance, cut along its axes from `axis` on. */
void outline_split(outliner *o, neo_trees *to, outline_instance *x, uint32_t axis);

/* rows.c: the tensor that says in which blocks of rows the loop can run; 0: there is none. *earlier (may be
 * null): are there rows that are read from earlier blocks? There are none in the first, which has code of its own then. */
neo_tensor outline_blocks_of(const outliner *o, const neo_order_step *order, bool *earlier);
/* Notes in x->apart that rows read from other blocks lie before the block around, or behind it. In the first block
 * there are none before: such a read becomes -1. */
void outline_read_apart(outliner *o, outline_instance *x);
/* Notes in x->level of which level the rows of x are. */
void outline_note_level(const outliner *o, outline_instance *x);
/* The table that says which row `at` of the level before x's is (*before), or of the one behind it; 0: it is another
 * expression. */
neo_tensor outline_level_table(const outliner *o, const outline_instance *x, neo_expr at,
                               bool *before);

/* The expression of instance x where kinds of rows are known: its own row is `own`. */
neo_expr outline_of_kind(outliner *o, neo_expr own, neo_expr e);
/* The outermost block around; null: there is none. */
const outline_around *outline_block_around(const outliner *o);
/* The row of an element of x in the block around; 0: it is in none. */
neo_expr outline_own_row(const outliner *o, const outline_instance *x);

/* fold.c: folds the storage of the tensors that are not needed outside. */
void outline_fold_storage(outliner *o, const neo_tree *t, const neo_order_step *order);
/* In which iteration of the loop the instance is; false: in none, or in several. */
bool outline_iteration_of(const outliner *o, const neo_order_step *loop, const outline_instance *x,
                          neo_expr *at);
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
/* Does instance x, which runs after p or is p, write where an element lies that p reads, or makes? Then what p computes is
 * not to be computed again where x has run. */
bool outline_overwrites(const outliner *o, const outline_instance *x, const outline_instance *p);

/* cells.c: a tensor for the cells of `of`. */
neo_tensor outline_cells_new(const outliner *o, neo_tensor of, const outline_storage *r);
/* Gives the tensor n slices along the loop, where it is folded along it. */
void outline_set_slices(outliner *o, neo_tensor t, const neo_order_step *loop, int64_t n);
/* The tensor that is in memory for t. */
neo_tensor outline_memory_of(const outliner *o, neo_tensor t);
/* The position along the axis, in memory, of the element at the positions `at`. */
neo_expr outline_cell(const outliner *o, neo_tensor t, uint32_t axis, const neo_expr *at);
/* The same of what instance x reads, written `at`. `first`: of rows in levels, what stands for x->level.first. */
neo_expr outline_cell_read(const outliner *o, const outline_instance *x, neo_expr read,
                           uint32_t axis, const neo_expr *at, neo_tensor first);
/* Where the instance's elements begin in memory. */
neo_slice outline_slice_of(const outliner *o, neo_tensor t, const outline_instance *x);
/* Adds the stores of their tensors to the recurrence's tree. */
void outline_add_stores(outliner *o);

/* early_exit.c: the loops that may end early. */
typedef NEO_VEC(const neo_order_step *) outline_loops;
outline_loops outline_ending_loops(outliner *o, const neo_order_step *order);
/* The tree with early exits, and guards, where iterations change nothing; o->storage is known. */
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

/* write.c: the instance as a definition of segment s. */
void outline_write(outliner *o, neo_recurrence_segment *s, const outline_open *open,
                   outline_instance *x, neo_map *copies);
