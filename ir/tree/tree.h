/* Schedule trees: the order in which the elements of definitions are computed, as a tree of loops
 * around definitions (S. Verdoolaege and others, "Schedule Trees", IMPACT 2014).
 *
 *   def h[t: T, j: N] = tanh(x[t, j] + (h[t - 1, j] else 0.0))
 *   def y[j: N] = h[T - 1, j]
 *   ->
 *   seq
 *     band t in 0..T
 *       leaf h[t]
 *     leaf y
 *
 * A leaf is a run of instances: definitions, or parts of them, at the point of the bands around. An
 * instance has one position or a range of positions for each output axis of its definition;
 * positions that the axis does not have are skipped. In the expressions of a tree AXIS k is the
 * index of the k-th band around, the outermost first. A band whose index the definitions of an
 * iteration use has a size that stands for the index.
 *
 * A store is memory for the elements of a tensor, with a map from elements to cells. A map that
 * sends several elements to one cell, as AXIS 0 % 2 does, folds the storage (as Halide's circular
 * buffers do). A tensor without a store has a cell for each element.
 *
 * Nodes are immutable: a rewrite makes new nodes, and shares the others. Everything is in an
 * arena.
 *
 * Nodes are in the arena that they were made in. */
#pragma once
#include "ir/order.h"

typedef enum {
  NEO_TREE_SEQUENCE, /* its children, in order */
  NEO_TREE_BAND,     /* its child, in each iteration of a loop */
  NEO_TREE_GUARD,    /* its child, where a condition holds */
  NEO_TREE_EXIT,     /* an early exit: leaves the innermost band unless a condition holds */
  NEO_TREE_LEAF,     /* instances, producers first */
  NEO_TREE_MARK      /* its child, which is one kernel */
} neo_tree_kind;

/* The blocks of rows that a band runs. The last blocks may have one row each, as all blocks of a
 * chain have, and those of a tree near its root: they have no rows to run at once. */
typedef enum {
  NEO_BLOCKS_ALL,
  NEO_BLOCKS_WIDE,   /* the blocks before the last run of blocks with one row each */
  NEO_BLOCKS_SERIAL, /* these last blocks as one, whose rows run one after another in an inner
                        loop */
  NEO_BLOCKS_WHOLE,  /* all blocks as one: lists of a row, or of the rows of a block around */
  NEO_BLOCKS_RANGES
} neo_block_range;

/* Blocks of rows that do not depend on each other, as the iterations of a band: iteration b has the
 * rows first[b] .. first[b+1] - 1, which are the sizes `begin` and `end`; an iteration without rows
 * does nothing. */
typedef struct {
  neo_tensor first; /* 0: iterations have no rows */
  neo_size begin, end;
  neo_block_range range;
} neo_tree_rows;

typedef struct {  /* lo <= index < hi; from the last iteration on if `down` */
  uint32_t name;  /* name id of the index in texts */
  neo_size index; /* the size that stands for the index; 0: none */
  neo_expr lo, hi;
  /* An element, over sizes: iterations from this one on do nothing, and need not run; 0: none. */
  neo_expr bound;
  bool down;
  neo_tree_rows rows;
} neo_tree_band;

typedef struct { /* a definition at the point of the bands around */
  neo_def def;
  /* By output axis: the first position and the exclusive end. hi 0: lo is the only position; both
   * 0: all positions. */
  const neo_expr *lo, *hi;
} neo_instance;

typedef struct {
  NEO_VEC(neo_instance) instances;
  uint32_t number; /* number of the kernel or step in a table of the tree's owner */
} neo_tree_leaf;

typedef struct neo_tree neo_tree;
typedef NEO_VEC(const neo_tree *) neo_trees;
struct neo_tree {
  uint8_t kind;
  neo_trees children; /* any number for a sequence; one for a band, a guard and a mark */
  union {
    neo_tree_band band;
    neo_expr condition; /* for guards and exits; over indices, sizes, and elements */
    neo_tree_leaf leaf;
    uint32_t mark; /* number of the kernel, in a table of the tree's owner */
  };
};

typedef struct { /* memory for elements of a tensor */
  neo_tensor tensor;
  const neo_tree *scope; /* the memory lives while this node runs */
  uint32_t rank;         /* rank of the cells */
  const neo_expr *at; /* coordinates of the cell of an element, over its indices AXIS k and sizes */
  const neo_expr *extent;
} neo_store;
typedef NEO_VEC(neo_store) neo_stores;

typedef struct neo_schedule_tree {
  const neo_tree *root;
  neo_stores stores;
} neo_schedule_tree;

/* ---- nodes (tree.c). A sequence of one child is that child; children that are sequences are
 * flattened. */
/* Children one after the other; a single child is returned as it is. */
const neo_tree *neo_tree_sequence(neo_arena *a, const neo_trees *children);
/* A loop around a child. */
const neo_tree *neo_tree_of_band(neo_arena *a, neo_tree_band band, const neo_tree *child);
/* A child that runs only where the condition holds. */
const neo_tree *neo_tree_guard(neo_arena *a, neo_expr condition, const neo_tree *child);
/* An early exit from the innermost band, taken unless the condition holds. */
const neo_tree *neo_tree_exit(neo_arena *a, neo_expr unless);
/* Elements of definitions, to be computed at this place. */
const neo_tree *neo_tree_of_leaf(neo_arena *a, neo_tree_leaf leaf);
/* A child which is one kernel, with its number. */
const neo_tree *neo_tree_mark(neo_arena *a, uint32_t mark, const neo_tree *child);

/* The definitions of the leaves, each once. */
size_t neo_tree_defs(const neo_module *m, const neo_tree *t, neo_arena *a, neo_def **out);

/* ---- trees as frontend and passes give them (order.c) */
/* The tree of the definitions, which are one recurrence, in an order that is found for them. Null,
 * with a reason in *why: they have no order. */
const neo_tree *neo_tree_of_recurrence(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                       neo_str *why) NEO_MUST_CHECK;
/* The tree of all definitions that the roots need, producers first, each recurrence in an order
 * that is found for it. Null, with a reason in *why: a recurrence has no order. */
const neo_tree *neo_tree_of_roots(neo_module *m, neo_arena *a, const neo_tensor *roots, size_t n,
                                  neo_str *why) NEO_MUST_CHECK;

/* ---- text (print.c). A leaf is printed as its instances; its number is not. Tests parse the text,
 * and check the invariants of trees (tests/tree/tree_text.h). */
/* Appends the tree as text, a node a line. */
void neo_tree_print(neo_module *m, const neo_schedule_tree *t, neo_str *out);
