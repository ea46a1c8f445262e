/* Private to fusion and its tests: the state of the search for groups.
 *
 *   search/facts.c   what definitions are like, who reads what
 *   search/parts.c   what a set of definitions is as one kernel: is there a form, what does it cost
 *   search/order.c   an order of the groups in which each comes after those that it needs
 *   search/moves.c   a change of the state and its reward
 *   fuse_nested.c    sums that those who read them compute, first of all
 *   search/greedy.c  the best change first
 *   search/columns.c      sums of columns, into the groups that reduce the rows
 *   search/fuse.c         from the state to groups
 *
 * State: every definition that is needed has a home, the group that computes its tensors for all
 * others; a plain one (elementwise, one result) may instead be copied by its readers, each of which
 * then computes the value where it uses it. A copy reads what the definition reads. A plain
 * definition whose readers all copy it needs no home.
 *
 * The cost of a state is the sum over its groups of
 *
 *   launch + traffic/bandwidth + work/rate + price * bytes kept for the backward pass
 *
 * and the reward of a change is what it takes off the cost. */
#ifndef NEO_FUSION_SEARCH_H
#define NEO_FUSION_SEARCH_H
#include "base/map.h"
#include "fusion/form.h"
#include "fusion/profile.h"

enum {
  FUSE_MOST_SIZE = 160, /* nodes of one definition with what it copies */
  FUSE_MOST_PARTS = 96, /* definitions of a kernel, copies included */
  FUSE_MOST_OUTS = 16,
  FUSE_MOST_ACCS = 12,
  FUSE_MOST_SHARED = 16, /* as many as a tensor has dimensions */
  FUSE_LEAST_POINTS = 8 /* of the shared axes: a kernel of fewer has one worker */
};

typedef struct {
  neo_tensor t;
  uint32_t from;   /* the one definition of t; 0: given from outside, or several pieces */
  uint32_t places; /* loads of t */
  double evals;    /* evaluations of these loads, by the axes that they stand under */
  bool reduced;    /* in a reduction: body, condition or range */
  bool copied;     /* the reader computes the value itself */
  uint32_t at;     /* the reader's place among the readers of t */
  uint32_t rank;
  int8_t *axis; /* dimension -> the reader's axis that is its index at every place; -1: none */
} fuse_read;

typedef struct {
  uint32_t def, read; /* of the reader: read number */
} fuse_edge;

typedef struct {
  bool needed, wanted; /* an entry's output or update */
  bool backward;       /* no entry needs it for its first output (the loss) */
  bool plain;          /* elementwise, one result, one piece: may be copied */
  bool lone;           /* several pieces, strided: has a kernel of its own */
  bool product;        /* a sum of products in which an operand is used again and again */
  bool equation;       /* a sum over a data equation */
  bool scans;          /* its domain grows with an output axis */
  bool call_invariant; /* follows from parameters alone, which the entries leave as they are */
  bool ranged;         /* ranges of the reduction are free of axes and loads */
  bool slanted;        /* of loads, and of all axes but those of the output */
  double rate;         /* its products by the matrix units of a GPU, in the time of one by FMA */
  uint8_t spans;       /* passes over the reduction's domain; 0: none */
  uint32_t n_accs, n_outs, n_out;
  uint32_t at;                /* place in the order of definitions */
  uint32_t entries;           /* number of the set of entries that need it */
  uint32_t home;              /* group number + 1; 0: none */
  uint32_t size;              /* nodes */
  double points, steps;       /* of the output axes; of all axes */
  double body_work, end_work; /* of one step; of one point */
  fuse_read *read;
  uint32_t n_read;
  NEO_VEC(fuse_edge) readers; /* in order */
  uint32_t last_entry;        /* while sets of entries are made */
} fuse_def;

typedef struct {
  NEO_VEC(uint32_t) members; /* definitions, in order */
  double cost;
  uint32_t version; /* changes with it */
  uint32_t at;      /* place in the order of groups */
} fuse_group;

typedef struct {
  NEO_VEC(uint32_t) readers;  /* definitions, in order */
  NEO_VEC(uint32_t) updaters; /* definitions of its next version, in different entries */
} fuse_tensor;

typedef NEO_VEC(uint32_t) fuse_list;

typedef struct fuser {
  neo_module *m;
  neo_arena *a;
  const neo_profile *profile;
  uint32_t off;   /* kinds that are switched off, as bits */
  bool caches;    /* groups of call-invariant definitions may be kept between calls */
  double price;   /* seconds for a byte that is kept for the backward pass */
  uint32_t entry; /* see fuse_begin */
  neo_str *explain;
  fuse_def *def;   /* by id */
  bool *wanted;    /* by tensor */
  uint32_t *order; /* of definitions */
  size_t n_order;
  NEO_VEC(fuse_group) groups;
  uint32_t *by_place;  /* place -> group number + 1; 0: nobody's */
  neo_map late;        /* (reader of an old version, its writer): the writer comes first */
  neo_map sets;        /* (set of entries, one more entry) -> set; 0 is the empty one */
  fuse_tensor *tensor; /* by id */
  uint32_t *part, *part_of, now;       /* by definition: its number among the parts at hand, if
                                       part_of is `now` */
  uint32_t *seen, walk;                /* by definition: met in this walk, if it is `walk` */
  uint32_t *listed, listing;           /* by group: in the list at hand, if it is `listing` */
  uint32_t *found, finding;            /* the same of the search at hand */
  fuse_list next, forth, back, places; /* storage of searches */
  uint64_t n_priced, n_searched;       /* groups that were priced; met in searches of the order */
} fuser;

/* ---- search/facts.c */
void fuse_facts(fuser *q);
double fuse_bytes(fuser *q, neo_tensor t); /* at the largest sizes */
static inline fuse_read *fuse_read_of(const fuser *q, fuse_edge e) {
  return &q->def[e.def].read[e.read];
}
neo_tensor fuse_out(const fuser *q, uint32_t d, uint32_t k);

/* ---- search/parts.c */
typedef struct {
  uint32_t n;
  uint32_t def[FUSE_MOST_PARTS]; /* in order: members and what they copy */
  bool member[FUSE_MOST_PARTS];
  bool late[FUSE_MOST_PARTS];                       /* depends on a reduction of the group */
  int8_t shared[FUSE_MOST_PARTS][FUSE_MOST_SHARED]; /* members: shared axis -> own axis */
  uint32_t n_shared;
} fuse_parts;

/* The parts of a group of these members (in order) under the copies that are marked now. False:
 * they have no form together; *why says the reason. */
bool fuse_parts_of(fuser *q, const uint32_t *members, size_t n, fuse_parts *out, const char **why);
/* The kind of fusion that a group of several definitions is. */
neo_fuse_kind fuse_kind_of(const fuser *q, const fuse_parts *p);
/* Among the parts at hand? */
static inline bool fuse_is_part(const fuser *q, uint32_t d) {
  return q->part_of[d] == q->now;
}
static inline bool fuse_is_reduction(const fuse_def *d) {
  return d->spans > 0;
}
/* A sum that the part that reads it computes? (fuse_nested.c) */
static inline bool fuse_is_inner(const fuser *q, const fuse_parts *p, uint32_t part) {
  return !p->member[part] && fuse_is_reduction(&q->def[p->def[part]]);
}
/* Of an output axis. */
neo_expr fuse_out_extent(const fuser *q, uint32_t d, uint32_t axis);

/* ---- search/cost.c */
/* Is a group of these parts kept between calls (neo_group.cached)? */
bool fuse_is_cached(const fuser *q, const fuse_parts *p);
/* Seconds. `home` tells who is in the group: definitions whose home it is. What is kept between
 * calls costs a part of a run. */
double fuse_cost(fuser *q, const fuse_parts *p);
/* A run, and what it is made of. */
neo_group_cost fuse_cost_of(fuser *q, const fuse_parts *p);
/* Is the k-th result of a part read outside of the parts, or wanted? */
bool fuse_leaves(fuser *q, const fuse_parts *p, uint32_t part);
/* Bytes of d that the forward pass keeps for the backward pass. */
double fuse_saved_bytes(fuser *q, uint32_t d);

/* ---- search/order.c */
/* Places of the groups, one for each definition at first; writers of new versions after readers of
 * the old ones where that makes no cycle. */
void fuse_order(fuser *q);
/* Adds the groups in which definition d is evaluated that the list does not have yet. */
void fuse_places(fuser *q, uint32_t d, fuse_list *out);
/* The groups that g needs (or that need g), each once. */
void fuse_before(fuser *q, uint32_t g, fuse_list *out);
void fuse_after(fuser *q, uint32_t g, fuse_list *out);
/* May g and h run as one? If `change`, g takes h's place in the order too. */
bool fuse_order_joins(fuser *q, uint32_t g, uint32_t h, bool change, const char **why);
/* May group g read what d reads, from where it runs? */
bool fuse_order_copies(fuser *q, uint32_t d, uint32_t g);

/* ---- search/moves.c */
typedef enum { FUSE_COPY, FUSE_JOIN } fuse_move_kind;
typedef enum { FUSE_ALL, FUSE_BACKWARD, FUSE_FORWARD, FUSE_ONE } fuse_readers; /* of a copy */
typedef struct {
  uint8_t kind;
  uint32_t a, b; /* COPY: definition, readers (ONE + k: the k-th); JOIN: two groups, a < b */
  double reward;
  uint64_t stamp; /* of the groups that it was computed for */
} fuse_move;
/* Is the k-th reader one of those that the copy is for, and does not copy yet? */
bool fuse_move_takes(const fuser *q, const fuse_move *x, size_t k);
/* Computes reward and stamp; false: not possible, or of no use, *why says the reason. */
bool fuse_move_price(fuser *q, fuse_move *x, const char **why);
uint64_t fuse_move_stamp(fuser *q, const fuse_move *x);
/* Carries out a move that is possible now; *changed gets the groups that are different. False: the
 * order of the groups does not allow it any more. */
bool fuse_move_make(fuser *q, const fuse_move *x, fuse_list *changed);

/* ---- fuse_nested.c */
void fuse_nested(fuser *q);

/* ---- search/columns.c */
/* Puts the group, sums of runs of rows, into one of the groups from number `first` on that goes
 * over these rows; false: none does. */
bool fuse_columns(fuser *q, neo_grouping *all, size_t first, const neo_group *g);

/* ---- search/fuse.c, search/greedy.c */
/* Facts, a group for every definition, their order: of the entries that groups of this number are
 * for (neo_group.entry), or of all. */
enum { FUSE_EVERY = UINT32_MAX };
void fuse_begin(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                neo_str *explain);
/* Sets the price of a byte that is kept, in seconds, and with it the costs of all groups. */
void fuse_price(fuser *q, double price);
/* The group as others see it. */
neo_group fuse_group_of(fuser *q, const fuse_group *x);
/* Makes moves, the best reward first, until none is left that has any. */
void fuse_greedy(fuser *q);
/* The cost of all groups. */
double fuse_total(const fuser *q);

#endif
