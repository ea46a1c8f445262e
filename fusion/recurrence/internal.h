/* Private to fusion/recurrence. A recurrence becomes loops in these steps:
 *
 *   bands.c      builds a schedule tree of bands and instances. Rewrites of a band:
 *     levels.c     level scheduling of rows
 *     hoist.c      producers of the recurrence, for a block of iterations at once
 *     peel.c       index-set splitting of iterations; cut.c finds the cuts
 *     parallel.c   bands without carried dependences
 *     tile.c       blocks of iterations
 *                Rewrites of a definition:
 *     shift.c      its positions, in the current iterations
 *     simplify.c   its expressions there
 *     guard.c      the condition under which it runs
 *     split.c      index-set splitting of its other axes
 *     rows.c       facts about a block of rows
 *     needed.c     conditions under which an iteration needs it
 *     lists.c      positions of lists, such as the edges of a row; list_reads.c finds their reads
 *   fold.c       folds the storage of tensors along loops; cells.c addresses it
 *   early_exit/  ends loops early
 *   segments.c   joins adjacent instances in segments, and decides which tensors are in memory
 *   write.c      writes instances as definitions of an iteration */
#pragma once
#include "fusion/recurrence.h"

enum { OUTLINE_AXES = NEO_DEF_AXES };

/* A level: a block of rows, or in blocks of NEO_BLOCKS_SERIAL one row. */
typedef struct {
  neo_tensor first; /* first rows of levels; 0: rows of no level, or of several */
  bool serial;
  neo_expr number, begin, end; /* over sizes; its rows are begin .. end - 1 */
} outline_level;

/* A loop around the current definition: one iteration, with an index, or a range of iterations at
 * once, without. */
typedef struct {
  const neo_order_step *order;
  neo_expr index, lo, hi;
  neo_tensor blocks; /* the table of blocks (neo_tensor_blocks) that has the range; 0: none has */
  bool first, later; /* the range is the first block, or a later one; neither: unknown */
} outline_around;

/* An instance: a definition, or a part of it, in the current iterations of the loops around. Each
 * axis is at position `base`, or runs over `extent` positions from there. */
typedef struct {
  neo_def def;
  neo_def_rec rec;          /* the definition with these axes, simplified; it reads whole tensors */
  neo_expr when;            /* condition under which it runs; 0: always */
  NEO_VEC(neo_expr) needed; /* conditions, all of which a reader's use implies (needed.c) */
  neo_expr base[OUTLINE_AXES];   /* 0: the first */
  neo_expr extent[OUTLINE_AXES]; /* 0: all positions of the axis; 1: fixed */
  bool fixed[OUTLINE_AXES];
  neo_expr iteration; /* first iteration of the outermost loop */
  /* Most iterations of the outermost loop at once; 0: outside of loops; -1: unknown. */
  int64_t iterations;
  const outline_around *around; /* the loops around, the outermost first */
  uint32_t n_around;
  const neo_expr *assume; /* facts that the loops around imply */
  uint32_t n_assume;
  bool partial; /* elements outside of the selects of `rec` are not read */
  bool decided; /* rows of the block decide a select of its values: the one left is another */
  bool added;   /* made by early_exit, from no definition */
  bool always;  /* runs where the group's conditions fail, too */
  bool leaf;    /* its rows are the first block's, which read no earlier ones */
  outline_level level;         /* level of its rows */
  NEO_VEC(neo_expr) row_facts; /* rows that it reads are before the block, or after it */
  neo_tensor slice[4];         /* slices of its results; write.c */
} outline_instance;

enum { OUTLINE_CUTS = 8, OUTLINE_RANGES = 6 };
typedef struct {     /* iterations of a loop, or positions along an axis */
  neo_expr lo, hi;   /* lo <= x < hi; empty unless lo < hi */
  neo_expr base;     /* origin of the band's index; 0: the index is the iteration */
  neo_expr from, to; /* cuts, not limited to the range; 0: none */
} outline_range;

typedef struct { /* a circular buffer: position p of the axis is in element p % n */
  uint32_t axis;
  int64_t n;                   /* OUTLINE_TWO_LEVELS: rows of two levels are stored (cells.c) */
  const neo_order_step *order; /* the loop that makes a position in each iteration */
  bool joined;                 /* n is 1: the next fold counts positions along both axes */
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
  uint32_t n_tensors;       /* number of tensors when lowering began; later ones are not folded */
  size_t room;              /* capacity of `own`, `stored` and `storage` */
  const neo_def *hoisted;   /* producers of the outermost loop, each before its readers */
  size_t n_hoisted;
  int64_t hoist_block; /* iterations for which producers run at once; 0: all */
  const neo_loop_options *options;
  NEO_VEC(outline_instance *) instances; /* instances of the tree's leaves, by number */
  NEO_VEC(outline_around) around;        /* the loops around the current definition */
  uint32_t kind;             /* kind of the rows of the block around, from 1 on; 0: no kinds */
  neo_expr is_kind;          /* condition that the block has that kind */
  uint8_t *zero;             /* by definition: are its elements 0 for rows of that kind? (rows.c) */
  outline_level level;       /* level of the rows of the band around; of a serial band, the first */
  uint32_t blocks;           /* number of bands over blocks around the current definition */
  neo_expr list_lo, list_hi; /* positions of the current rows' lists; 0: no band of lists */
  NEO_VEC(neo_expr) assume;  /* facts that the loops around imply */
  neo_recurrence *out;
} outliner;

neo_expr outline_number(const outliner *o, int64_t x);
/* reads.c: grows `own`, `stored` and `storage` to the number of the module's tensors. */
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
/* Adds a leaf to the children `to`. */
static inline void outline_push(outliner *o, neo_trees *to, outline_instance *x) {
  neo_tree_leaf leaf = {.number = (uint32_t)o->instances.n};
  NEO_PUSH(o->a, &o->instances, x);
  NEO_PUSH(o->a, to, neo_tree_of_leaf(o->a, leaf));
}
/* Adds a band with children `in`, and names it after its index. */
static inline void outline_push_band(outliner *o, neo_trees *to, neo_tree_band band,
                                     const neo_trees *in) {
  band.name = neo_size_at(o->m, band.index)->name;
  NEO_PUSH(o->a, to, neo_tree_of_band(o->a, band, neo_tree_sequence(o->a, in)));
}
/* Does the goal hold for all positions of the first n_axes axes of the instance? */
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
/* Does the condition hold in all iterations of the loops around, for all positions of axes? */
bool outline_holds(const outliner *o, neo_expr goal);
bool outline_at_most(const outliner *o, neo_expr a, neo_expr b);
/* The larger of a and b: one of them if the loops around decide it, else their maximum. */
neo_expr outline_max(const outliner *o, neo_expr a, neo_expr b);
neo_expr outline_min(const outliner *o, neo_expr a, neo_expr b);
/* The list with f applied to each expression; a definition with f applied to its condition, body
 * and finish; and f called with each node of these. */
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
/* levels.c: a new size whose value in each iteration is an element of a table of blocks, in
 * lo .. hi; `usual`: the value that costs assume. */
neo_size outline_row_size(outliner *o, const char *name, int64_t lo, int64_t hi, uint32_t depth,
                          int64_t usual);
/* A new size for the index of a band over iterations lo .. hi - 1, and the assumption that `at` is
 * in lo .. hi - 1. */
neo_size outline_index_of(outliner *o, const neo_order_step *order, neo_expr lo, neo_expr hi);
void outline_assume_between(outliner *o, neo_expr lo, neo_expr at, neo_expr hi);

/* ---- lists.c: adds a definition that runs by owner (ir/order.h), in a band over the lists of the
 * current rows. False: it does not run by owner, or is in such a band already. */
bool outline_add_lists(outliner *o, neo_trees *to, neo_def d);
/* list_reads.c: is element `at` of member `made` one of the reader's own row, one of that row's
 * list, or one of a list of another block's row (NEO_ROW_LISTED)? The reader or `made` runs by
 * owner. */
bool outline_reads_list(const outliner *o, const neo_order_member *reader,
                        const neo_order_member *made, neo_expr at);

/* ---- rewrites of a band. Each adds the rewritten band to `to`; false: it does not apply, and
 * nothing is added. */
bool outline_add_levels(outliner *o, neo_trees *to, const neo_order_step *order);
bool outline_hoist(outliner *o, neo_trees *to, const neo_order_step *order);
bool outline_tile(outliner *o, neo_trees *to, const neo_order_step *order, const outline_range *r);
/* The ranges of its iterations that become bands. Returns how many. */
uint32_t outline_peel(outliner *o, const neo_order_step *order, outline_range *r);

/* hoist.c: adds the hoisted producers to the loop's members, if each can run in blocks. */
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
/* shift.c: the instance of the definition in the current iterations of the loops around. */
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
/* simplify.c: simplifies x->rec by facts of the loops around. */
void outline_simplify(const outliner *o, outline_instance *x);
/* Are all results of the definition partial (neo_tensor_rec)? */
bool outline_is_partial(const outliner *o, neo_def d);
/* guard.c: the condition under which the definition runs in an iteration of the loops around; 0:
 * always. */
neo_expr outline_guard(const outliner *o, neo_def d);
/* split.c: adds the instance, split along its axes from `axis` on. */
void outline_split(outliner *o, neo_trees *to, outline_instance *x, uint32_t axis);

/* rows.c: the table of blocks of rows in which the loop can run; 0: none. *earlier (may be null):
 * some reads are of rows of earlier blocks. The first block has none and gets its own code. */
neo_tensor outline_blocks_of(const outliner *o, const neo_order_step *order, bool *earlier);
/* Notes in x->row_facts that rows of other blocks are before the block around, or after it. The
 * first block has no rows before it: such a read becomes -1. */
void outline_note_rows(outliner *o, outline_instance *x);
/* Sets x->level to the level of the rows of x. */
void outline_note_level(const outliner *o, outline_instance *x);
/* The table that has row `at`, if it is a row of the level before x's (*before) or after it; 0:
 * `at` is another expression. */
neo_tensor outline_level_table(const outliner *o, const outline_instance *x, neo_expr at,
                               bool *before);

/* The expression simplified by facts of the current kind of rows, for an element of row `own`. */
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
/* The range of the loop's iterations that the instance computes at once; null: it is in one
 * iteration, or in none. */
static inline const outline_around *outline_range_in(const neo_order_step *loop,
                                                     const outline_instance *x) {
  for (uint32_t k = 0; k < x->n_around; k++)
    if (x->around[k].order == loop && !x->around[k].index.i)
      return &x->around[k];
  return NULL;
}
/* The last fold of the joined ones that fold k is in. */
static inline uint32_t outline_run_end(const outline_storage *r, uint32_t k) {
  while (r->fold[k].joined)
    k++;
  return k;
}
/* The number of the tensor's slices along the loop, or along it and the loops joined with it; 0:
 * it is not folded there. */
static inline int64_t outline_slices(const outline_storage *r, const neo_order_step *loop) {
  for (uint32_t k = 0; k < r->n_folds; k++)
    if (r->fold[k].order == loop)
      return r->fold[outline_run_end(r, k)].n;
  return 0;
}
/* Does instance x, which is p or runs after it, overwrite an element that p reads or writes? Then
 * results of p must not be recomputed after x. */
bool outline_overwrites(const outliner *o, const outline_instance *x, const outline_instance *p);

/* cells.c: a new tensor that stores `of`, folded as `r` says. */
neo_tensor outline_cells_new(const outliner *o, neo_tensor of, const outline_storage *r);
/* Gives the tensor n slices along the loop, if it is folded there. */
void outline_set_slices(outliner *o, neo_tensor t, const neo_order_step *loop, int64_t n);
/* The folded tensor of t, or t. */
neo_tensor outline_memory_of(const outliner *o, neo_tensor t);
/* The position along the axis of memory of t's element `at`. */
neo_expr outline_cell(const outliner *o, neo_tensor t, uint32_t axis, const neo_expr *at);
/* The same for the element `at` that instance x reads by `read`. `first`: for rows in level order,
 * the copy of x->level.first. */
neo_expr outline_cell_read(const outliner *o, const outline_instance *x, neo_expr read,
                           uint32_t axis, const neo_expr *at, neo_tensor first);
/* The beginning of the instance's elements in memory. */
neo_slice outline_slice_of(const outliner *o, neo_tensor t, const outline_instance *x);
/* Adds the stores of their tensors to the recurrence's tree. */
void outline_add_stores(outliner *o);

/* early_exit.c: the loops that may end early. */
outline_loops outline_ending_loops(outliner *o, const neo_order_step *order);
/* The tree with early exits and guards that skip iterations which change nothing. Needs o->storage
 * (fold.c). */
const neo_tree *outline_early_exits(outliner *o, const neo_order_step *order, const neo_tree *t);

/* needed.c: notes the conditions under which the instance is needed, from the options. */
void outline_note_needed(const outliner *o, outline_instance *x);
/* Notes for y, which is x at another position along the axis, the conditions of x that hold there,
 * too. */
void outline_note_needed_along(const outliner *o, const outline_instance *x, uint32_t axis,
                               outline_instance *y);
/* Is the instance at several positions along the axis, under a condition on each of them? */
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
/* The index in `open` of the instance that makes the element that x reads; OUTLINE_MEMORY: no
 * instance does, so the element is in memory; OUTLINE_UNKNOWN: an instance may, or may not. */
enum { OUTLINE_MEMORY = -1, OUTLINE_UNKNOWN = -2 };
int outline_producer(const outliner *o, const outline_open *open, const outline_instance *x,
                     uint32_t n_axes, neo_expr read);
/* May instance p make the element that x reads? */
bool outline_may_make(const outliner *o, const outline_instance *p, const outline_instance *x,
                      uint32_t n_axes, neo_expr read);
/* Calls f with each read of the instance and of its conditions, and with the number of axes that
 * the read may use. */
void outline_reads(const outliner *o, const outline_instance *x,
                   void (*f)(void *ctx, neo_expr read, uint32_t n_axes), void *ctx);
/* Divides the tree into segments; marks stored tensors. */
const neo_tree *outline_segments(outliner *o, const neo_tree *from);

/* write.c: the instance as a definition of segment s. */
void outline_write(outliner *o, neo_recurrence_segment *s, const outline_open *open,
                   outline_instance *x, neo_map *copies);
