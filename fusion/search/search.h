/* Private to fusion and its tests: the state of the search for groups.
 *
 *   set.c    sets of definitions that become one group
 *   concat.c    concatenations that no kernel computes
 *   needs.c    definitions that entries need, and recurrences that are one group
 *   chunks.c    chunk loops, each one group
 *   consumers.c    consumers of recurrences in their loops
 *   hoist.c    producers for blocks of a recurrence's iterations
 *   branches.c    conditions under which definitions are needed
 *   facts.c    facts of single definitions, their readers
 *   parts.c    feasibility of a kernel
 *   cost.c     its cost
 *   order.c    the topological order of the groups
 *   state.c    the groups and their prices
 *   copy.c, join.c, nested.c, columns.c    a move each: rules that change the state
 *   rules.c    the table of moves (kinds.def); pricing and making any of them
 *   greedy.c   the best move first
 *   segments.c   the groups of a recurrence's segments
 *   fuse.c     the search, and the groups of its last state
 *
 * Each file calls those above it alone.
 *
 * State: every needed definition has a home, the group that computes its tensors for all others; a
 * plain one (elementwise, one result) may instead be copied by its readers, each of which computes
 * the value where it uses it. A copy reads the definition's operands. A plain definition needs no
 * home once all readers copy it.
 *
 * The cost of a state is the sum over its groups of
 *
 *   launch + traffic/bandwidth + work/rate + price * bytes saved for the backward pass
 *
 * and the reward of a change is the decrease of the cost. */
#pragma once
#include "base/machine.h"
#include "base/map.h"
#include "fusion/decision.h"
#include "fusion/form.h"
#include "ir/needed.h"

enum {
  FUSE_MOST_SIZE = 160, /* nodes of a definition with its copies */
  FUSE_MOST_PARTS = 96, /* definitions of a kernel, copies included */
  FUSE_MOST_OUTS = 16,
  FUSE_MOST_ACCS = 12,
  FUSE_MOST_SHARED = 16, /* the largest rank of a tensor */
  FUSE_LEAST_POINTS = 8  /* points of the shared axes; with fewer, one worker runs the kernel */
};

typedef struct {
  neo_tensor t;
  uint32_t from;   /* the definition of t; 0: given from outside, or several pieces */
  uint32_t places; /* number of loads of t */
  double evals;    /* evaluations of these loads, by the surrounding axes */
  bool reduced;    /* in a reduction: body, condition or range */
  bool copied;     /* the reader computes the value itself */
  bool ordered;    /* reader ordered after t (neo_def_rec.after), which it does not read */
  uint32_t at;     /* index of the reader among the readers of t */
  uint32_t rank;
  int8_t *axis; /* dimension -> the reader's axis that indexes it in all loads; -1: none */
} fuse_read;

typedef struct {
  uint32_t def, read; /* the reader and the number of its read */
} fuse_edge;

typedef struct {
  bool needed, wanted; /* needed by an entry; its output or update */
  bool backward;       /* not needed for any entry's first output (the loss), and not recomputed */
  bool again;          /* recomputed value of the forward pass (neo_def_rec.after) */
  bool plain;          /* elementwise, one result, one piece: may be copied */
  bool lone;     /* several pieces, strided, a concatenation: alone in its kernel, or in none */
  bool concat;   /* a concatenation that no kernel makes */
  bool product;  /* a sum of products that uses elements of an operand many times */
  bool equation; /* a reduction over a data equation, or an interval from data */
  bool scans;    /* its domain grows with an output axis */
  bool call_invariant; /* depends on parameters alone, which the entries do not change */
  bool ranged;         /* ranges of the reduction are free of axes and loads */
  bool slanted;        /* ranges have no loads, and no axes except output axes */
  double rate;         /* products by matrix units of a GPU in the time of one FMA */
  uint8_t spans;       /* passes over the reduction's domain; 0: none */
  uint32_t n_accs, n_outs, n_out;
  uint32_t at;          /* position in the order of definitions */
  neo_conditions when;  /* needed only where these hold */
  bool choice;          /* selects one of several tensors, whose memory it shares */
  bool flag;            /* computes such a condition: alone in its kernel, before its readers */
  uint32_t recurrence;  /* definitions of one number are one group; 0: no recurrence */
  uint32_t entries;     /* number of the set of its entries */
  uint32_t home;        /* group number + 1; 0: none */
  uint32_t size;        /* nodes */
  double points, steps; /* points of the output axes; of all axes */
  double body_work, end_work; /* work of one step; of one point */
  fuse_read *read;
  uint32_t n_read;
  NEO_VEC(fuse_edge) readers; /* in order */
  uint32_t last_entry;        /* used while sets of entries are made */
} fuse_def;

typedef struct {
  NEO_VEC(uint32_t) members; /* definitions, in order */
  double cost;
  uint32_t version; /* changes with the members */
  uint32_t at;      /* position in the order of groups */
} fuse_group;

typedef struct {
  NEO_VEC(uint32_t) readers;  /* definitions, in order */
  NEO_VEC(uint32_t) updaters; /* definitions of its next version, in different entries */
} fuse_tensor;

typedef NEO_VEC(uint32_t) fuse_list;

typedef struct {  /* the purpose of groups */
  uint32_t entry; /* entries that groups of this number serve (neo_group.entry), or all */
  const neo_program *program; /* instead of entries; may be null */
} fuse_demand;

typedef struct fuser {
  neo_module *m;
  neo_arena *a;
  const neo_profile *profile;
  uint32_t off;                 /* kinds that are switched off, as bits */
  bool consumers_join;          /* as in neo_fuse_options */
  neo_loop_options recurrences; /* options of loops */
  bool caches;                  /* results of call-invariant definitions may be cached */
  double price;                 /* seconds for a byte that is saved for the backward pass */
  uint32_t entry;               /* see fuse_demand */
  const neo_program *program;   /* see fuse_demand */
  neo_decisions *decisions;     /* may be null */
  fuse_def *def;                /* by id */
  bool *wanted;                 /* by tensor */
  bool *always;                 /* by tensor: needed in all calls */
  bool has_branches;            /* some definitions are needed under a condition */
  uint32_t *order;              /* definitions in order */
  size_t n_order;
  NEO_VEC(fuse_group) groups;
  uint32_t *by_place;  /* position -> group number + 1; 0: free */
  neo_map late;        /* (reader of an old version, its writer): the writer comes first */
  neo_map sets;        /* (set of entries, another entry) -> set; 0 is the empty one */
  fuse_tensor *tensor; /* by id */
  /* by definition: its number among the current parts, if part_of is `now` */
  uint32_t *part, *part_of, now;
  uint32_t *seen, walk;                /* by definition: visited in the current walk */
  uint32_t *listed, listing;           /* by group: in the current list */
  uint32_t *found, finding;            /* by group: in the current search */
  neo_grouping *made;                  /* finished groups */
  uint32_t first_made;                 /* number of the current entries' first group in `made` */
  fuse_list next, forth, back, places; /* memory of searches */
  uint64_t n_priced, n_searched;       /* priced groups; groups visited in searches */
} fuser;

/* ---- needs.c, facts.c */
void fuse_hoist(fuser *q);
void fuse_needs(fuser *q);
/* ---- set.c */
/* Makes definitions part of recurrences' groups, of[d] by definition (0: none), after the group's
 * last one. */
void fuse_take_into(fuser *q, const uint32_t *of);
typedef struct { /* by definition: */
  fuser *q;
  bool *member;
  bool *after, *before; /* needs a member, or is one; a member needs it */
} fuse_set;

fuse_set fuse_set_new(fuser *q); /* an empty set */
/* Finds `after`, or `before`. A recurrence is one unit: all of its definitions have equal marks. */
void fuse_set_find_after(fuse_set *s);
void fuse_set_find_before(fuse_set *s);
/* Makes the members the recurrence's group. They become adjacent: definitions that do not need them
 * come before, those that do (`after`) come later. */
void fuse_set_join(const fuse_set *s, uint32_t number);
/* ---- concat.c */
/* Is it a concatenation of tensors that kernels write anyway? Then no kernel computes it
 * (fusion/concat.h). */
bool fuse_is_concat(fuser *q, uint32_t id);
/* ---- chunks.c: definitions of one chunk_loop become a recurrence's group */
void fuse_take_chunks(fuser *q);
/* ---- consumers.c: consumers in the loops of recurrences, which then need not be stacked */
void fuse_take_consumers(fuser *q);
/* ---- branches.c: conditions under which definitions are needed. Flags are found before groups of
 * recurrences are complete, since they decide what may run together. */
/* By definition, conditions under the current recurrences; null: always needed. */
const neo_conditions *fuse_conditions(fuser *q);
void fuse_find_flags(fuser *q);
void fuse_find_branches(fuser *q);
/* Sets the conditions of a group whose results are those of the n definitions. */
void fuse_set_branch(const fuser *q, const uint32_t *defs, size_t n, neo_group *g);
void fuse_facts(fuser *q);
double fuse_bytes(fuser *q, neo_tensor t); /* at the largest sizes */
static inline fuse_read *fuse_read_of(const fuser *q, fuse_edge e) {
  return &q->def[e.def].read[e.read];
}
neo_tensor fuse_out(const fuser *q, uint32_t d, uint32_t k);
neo_expr fuse_out_extent(const fuser *q, uint32_t d, uint32_t axis); /* extent of an output axis */

/* ---- parts.c */
typedef struct {
  uint32_t n;
  uint32_t def[FUSE_MOST_PARTS]; /* in order: members and their copies */
  bool member[FUSE_MOST_PARTS];
  bool late[FUSE_MOST_PARTS];                       /* depends on a reduction of the group */
  int8_t shared[FUSE_MOST_PARTS][FUSE_MOST_SHARED]; /* members: shared axis -> own axis */
  uint32_t n_shared;
} fuse_parts;

/* The parts of a group of these members (in order) under the current copies. False: they have no
 * form together; *why is the reason. */
bool fuse_parts_of(fuser *q, const uint32_t *members, size_t n, fuse_parts *out,
                   const char **why) NEO_MUST_CHECK;
/* The kind of fusion of a group of several definitions. */
neo_fuse_kind fuse_kind_of(const fuser *q, const fuse_parts *p);
/* Is the definition one of the current parts? */
static inline bool fuse_is_part(const fuser *q, uint32_t d) {
  return q->part_of[d] == q->now;
}
static inline bool fuse_is_reduction(const fuse_def *d) {
  return d->spans > 0;
}
/* Is the part a sum that its reader computes (nested.c)? */
static inline bool fuse_is_inner(const fuser *q, const fuse_parts *p, uint32_t part) {
  return !p->member[part] && fuse_is_reduction(&q->def[p->def[part]]);
}

/* ---- cost.c */
/* Are the results of a group of these parts cached between calls (neo_group.cached)? */
bool fuse_is_cached(const fuser *q, const fuse_parts *p);
/* Seconds. Definitions whose home is `home` are in the group. A cached group costs a part of a
 * run. */
double fuse_cost(fuser *q, const fuse_parts *p);
/* The cost of a run, item by item. */
neo_group_cost fuse_cost_of(fuser *q, const fuse_parts *p);
/* The traffic and work of both, in x's launch and total. */
neo_group_cost fuse_cost_sum(neo_group_cost x, neo_group_cost y);
/* Is a result of the part read outside of the parts, or wanted? */
bool fuse_leaves(fuser *q, const fuse_parts *p, uint32_t part);
/* Bytes of d that the forward pass saves for the backward pass. */
double fuse_saved_bytes(fuser *q, uint32_t d);

/* ---- order.c */
/* Gives groups positions, one for each definition at first; writers of new versions come after
 * readers of the old ones if that makes no cycle. */
void fuse_order(fuser *q);
/* Adds the groups that evaluate definition d to the list. */
void fuse_places(fuser *q, uint32_t d, fuse_list *out);
/* The groups that g needs (or that need g), each once. */
void fuse_before(fuser *q, uint32_t g, fuse_list *out);
void fuse_after(fuser *q, uint32_t g, fuse_list *out);
/* May g and h run as one? If `change`, g also takes h's position in the order. */
bool fuse_order_joins(fuser *q, uint32_t g, uint32_t h, bool change, const char **why);
/* May group g read the operands of d at its position? */
bool fuse_order_copies(fuser *q, uint32_t d, uint32_t g);

/* ---- state.c */
/* Sets the price of a saved byte, in seconds, and with it the costs of all groups. */
void fuse_price(fuser *q, double price);
/* Prices group g after a change, and adds it to the list unless it is empty. */
void fuse_renew(fuser *q, uint32_t g, fuse_list *changed);
/* A fuse_move's stamp from the versions of these groups. */
uint64_t fuse_stamp_of(fuser *q, const fuse_list *groups);
/* The cost of all groups. */
double fuse_total(const fuser *q);
/* A list of one tensor, for neo_decision.with. */
const neo_tensor *fuse_with(fuser *q, neo_tensor t);
/* The group in the public form. */
neo_group fuse_group_of(fuser *q, const fuse_group *x);

/* ---- moves */
typedef struct {
  uint8_t kind;  /* the first neo_fuse_kind with the move's rules */
  uint32_t a, b; /* operands of the move, known to its rules */
  double reward; /* decrease of the cost in seconds */
  uint64_t stamp;
} fuse_move;
typedef NEO_VEC(fuse_move) fuse_moves;

typedef enum {
  FUSE_NEVER,
  FUSE_FIRST,      /* on each group in order, before the others */
  FUSE_BEST_FIRST, /* by reward (greedy.c) */
  FUSE_LAST        /* on each finished group (fuser.made), in order */
} fuse_when;

enum { FUSE_GONE = 0 };

/* A row of the table of moves. */
typedef struct fuse_rules {
  fuse_when when;
  /* Adds the moves of group g (FUSE_LAST: a group of `made`); sets a and b alone. */
  void (*match)(fuser *q, uint32_t g, fuse_moves *out);
  /* Sets the reward without changing the state. False: the move is not possible; *why is the
   * reason. */
  bool (*price)(fuser *q, fuse_move *x, const char **why);
  /* Makes a priced move. *changed gets the groups that changed. False: the order of the groups does
   * not allow the move any more. */
  bool (*apply)(fuser *q, const fuse_move *x, fuse_list *changed);
  /* FUSE_BEST_FIRST: stamp of the groups' versions that the reward depends on; FUSE_GONE: the move
   * is not possible any more. */
  uint64_t (*stamp)(fuser *q, const fuse_move *x);
  /* The move as a decision without entry and reward; asked for before it is made. */
  neo_decision (*describe)(fuser *q, const fuse_move *x);
  /* May be null: moves of group g whose refusal is worth reporting, without the reason. */
  void (*refusals)(fuser *q, uint32_t g, fuse_moves *out);
  neo_decision (*describe_refusal)(fuser *q, uint32_t g, const fuse_move *x);
} fuse_rules;

#define X(name, text, rules, meaning) extern const fuse_rules rules;
#include "fusion/kinds.def"
#undef X

/* ---- rules.c */
/* Records a decision on groups of the current entry, if decisions are recorded. */
void fuse_record(fuser *q, const neo_decision *d);
const fuse_rules *fuse_rules_of(const fuse_move *x);
/* Adds the moves of group g of all rules of this time whose kinds are not switched off. */
void fuse_match(fuser *q, fuse_when when, uint32_t g, fuse_moves *out);
void fuse_refusals(fuser *q, uint32_t g, fuse_moves *out);
/* Sets reward and stamp; false: not possible, or no gain; *why is the reason. */
bool fuse_move_price(fuser *q, fuse_move *x, const char **why);
/* Makes a priced move, and records it; as fuse_rules.apply. */
bool fuse_move_make(fuser *q, const fuse_move *x, fuse_list *changed);
/* Makes the first move of group g that has a reward. */
void fuse_in_order(fuser *q, fuse_when when, uint32_t g);

/* ---- greedy.c */
/* Makes moves, the best reward first, until none is left. */
void fuse_greedy(fuser *q);

/* ---- fuse.c */
/* Prepares facts, a group for every definition, and their order, for the entries' needs or for
 * all. */
enum { FUSE_EVERY = UINT32_MAX };
void fuse_begin(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                neo_decisions *decisions);
