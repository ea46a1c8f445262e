/* Private to fusion and its tests: the state of the search for groups.
 *
 *   set.c    sets of definitions that become one group
 *   needs.c    which definitions the entries need, and which recurrences are one group
 *   chunks.c    which recurrences and others are one group because a pass wrote them so
 *   consumers.c    what runs along the rounds of a recurrence
 *   hoist.c    what is made for blocks of a recurrence's iterations
 *   branches.c    under which conditions they are needed
 *   facts.c    what each of them is like, and who reads what
 *   parts.c    whether a set of definitions has a form as one kernel
 *   cost.c     what that kernel costs
 *   order.c    an order of the groups in which each comes after those that it needs
 *   state.c    the groups and their prices
 *   copy.c, join.c, nested.c, columns.c    a move each: rules that change the state
 *   rules.c    the table of moves (kinds.def); pricing and making any of them
 *   greedy.c   the best move first
 *   segments.c   the groups of a recurrence's segments
 *   fuse.c     the search, and from the last state to groups
 *
 * Each file calls those above it alone.
 *
 * State: every definition that is needed has a home, the group that computes its tensors for all
 * others; a plain one (elementwise, one result) may instead be copied by its readers, each of which
 * then computes the value where it uses it. A copy reads what the definition reads. A plain
 * definition whose readers all copy it needs no home.
 *
 * The cost of a state is the sum over its groups of
 *
 *   launch + traffic/bandwidth + work/rate + price * bytes saved for the backward pass
 *
 * and the reward of a change is what it takes off the cost. */
#ifndef NEO_FUSION_SEARCH_H
#define NEO_FUSION_SEARCH_H
#include "base/machine.h"
#include "base/map.h"
#include "fusion/decision.h"
#include "fusion/form.h"
#include "ir/needed.h"

enum {
  FUSE_MOST_SIZE = 160, /* nodes of one definition with what it copies */
  FUSE_MOST_PARTS = 96, /* definitions of a kernel, copies included */
  FUSE_MOST_OUTS = 16,
  FUSE_MOST_ACCS = 12,
  FUSE_MOST_SHARED = 16, /* as many as a tensor has dimensions */
  FUSE_LEAST_POINTS = 8  /* of the shared axes: a kernel of fewer has one worker */
};

typedef struct {
  neo_tensor t;
  uint32_t from;   /* the one definition of t; 0: given from outside, or several pieces */
  uint32_t places; /* loads of t */
  double evals;    /* evaluations of these loads, by the axes that they stand under */
  bool reduced;    /* in a reduction: body, condition or range */
  bool copied;     /* the reader computes the value itself */
  bool ordered;    /* the reader is only computed after t (neo_def_rec.after) */
  uint32_t at;     /* the reader's place among the readers of t */
  uint32_t rank;
  int8_t *axis; /* dimension -> the reader's axis that is its index at every place; -1: none */
} fuse_read;

typedef struct {
  uint32_t def, read; /* of the reader: read number */
} fuse_edge;

typedef struct {
  bool needed, wanted; /* an entry's output or update */
  bool backward;       /* no entry needs it for its first output (the loss), and it is not computed again */
  bool again;          /* a value of the forward pass that is computed again (neo_def_rec.after) */
  bool plain;          /* elementwise, one result, one piece: may be copied */
  bool lone;           /* several pieces, strided, a concatenation: has a kernel of its own, or none */
  bool concat;         /* a concatenation that no kernel makes */
  bool product;        /* a sum of products in which an operand is used again and again */
  bool equation;       /* a reduction over a data equation, or an interval that data say */
  bool scans;          /* its domain grows with an output axis */
  bool call_invariant; /* follows from parameters alone, which the entries leave as they are */
  bool ranged;         /* ranges of the reduction are free of axes and loads */
  bool slanted;        /* of loads, and of all axes but those of the output */
  double rate;         /* its products by the matrix units of a GPU, in the time of one by FMA */
  uint8_t spans;       /* passes over the reduction's domain; 0: none */
  uint32_t n_accs, n_outs, n_out;
  uint32_t at;          /* place in the order of definitions */
  neo_conditions when;  /* it is needed only where these hold */
  bool choice;          /* it takes one of several tensors, in whose place it is */
  bool flag;            /* it makes such a condition: a kernel of its own, before those that ask */
  uint32_t recurrence;  /* definitions of the same number are one group; 0: no part of any */
  uint32_t entries;     /* number of the set of entries that need it */
  uint32_t home;        /* group number + 1; 0: none */
  uint32_t size;        /* nodes */
  double points, steps; /* of the output axes; of all axes */
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

typedef struct {  /* what groups are made for */
  uint32_t entry; /* entries that groups of this number are for (neo_group.entry), or all */
  const neo_program *program; /* in place of entries; may be null */
} fuse_demand;

typedef struct fuser {
  neo_module *m;
  neo_arena *a;
  const neo_profile *profile;
  uint32_t off;                 /* kinds that are switched off, as bits */
  bool consumers_join;          /* as in neo_fuse_options */
  neo_loop_options recurrences; /* the same */
  bool caches;                  /* groups of call-invariant definitions may be kept between calls */
  double price;                 /* seconds for a byte that is saved for the backward pass */
  uint32_t entry;               /* see fuse_demand */
  const neo_program *program;   /* the same */
  neo_decisions *decisions;     /* may be null */
  fuse_def *def;                /* by id */
  bool *wanted;                 /* by tensor */
  bool *always;                 /* by tensor: needed whatever holds */
  bool has_branches;            /* some definitions are needed only where a condition holds */
  uint32_t *order;              /* of definitions */
  size_t n_order;
  NEO_VEC(fuse_group) groups;
  uint32_t *by_place;  /* place -> group number + 1; 0: nobody's */
  neo_map late;        /* (reader of an old version, its writer): the writer comes first */
  neo_map sets;        /* (set of entries, one more entry) -> set; 0 is the empty one */
  fuse_tensor *tensor; /* by id */
  uint32_t *part, *part_of, now;       /* by definition: its number among the current parts, if
                                       part_of is `now` */
  uint32_t *seen, walk;                /* by definition: met in this walk, if it is `walk` */
  uint32_t *listed, listing;           /* by group: in the current list, if it is `listing` */
  uint32_t *found, finding;            /* the same of the current search */
  neo_grouping *made;                  /* groups that are finished */
  uint32_t first_made;                 /* of these entries */
  fuse_list next, forth, back, places; /* storage of searches */
  uint64_t n_priced, n_searched;       /* groups that were priced; met in searches of the order */
} fuser;

/* ---- needs.c, facts.c */
void fuse_hoist(fuser *q);
void fuse_needs(fuser *q);
/* ---- set.c */
/* Definitions become parts of recurrences' groups, of[d] by definition (0: it does not), and come after the last
 * definition of it. */
void fuse_take_into(fuser *q, const uint32_t *of);
typedef struct { /* by definition: */
  fuser *q;
  bool *member;
  bool *after, *before; /* it needs a member, or is one; a member needs it */
} fuse_set;

fuse_set fuse_set_new(fuser *q); /* without members */
/* Finds `after`, or `before`. Recurrences are one: what holds for a definition holds for all of its group. */
void fuse_set_find_after(fuse_set *s);
void fuse_set_find_before(fuse_set *s);
/* The members become the recurrence's group. They stand together: before them comes what does not need them, behind them
 * what does, by `after`. */
void fuse_set_join(const fuse_set *s, uint32_t number);
/* ---- concat.c */
/* Is it a concatenation of tensors that kernels write in any case? Then none makes it (fusion/concat.h). */
bool fuse_is_concat(fuser *q, uint32_t id);
/* ---- chunks.c: definitions of one chunk_loop become a recurrence's group */
void fuse_take_chunks(fuser *q);
/* ---- consumers.c: definitions along the rounds of a recurrence, where these need not be stacked for them then
 */
void fuse_take_consumers(fuser *q);
/* ---- branches.c: conditions under which definitions are needed. Flags are found before groups of
 * recurrences are complete, which then say what runs together. */
/* By definition, where it is needed as recurrences are now; null: always. */
const neo_conditions *fuse_conditions(fuser *q);
void fuse_find_flags(fuser *q);
void fuse_find_branches(fuser *q);
/* May a kernel that is needed where `host` is compute d as well? */
bool fuse_runs_in(const fuser *q, uint32_t d, uint32_t host);
/* Are both needed under the same conditions? */
bool fuse_same_branch(const fuser *q, uint32_t a, uint32_t b);
/* Sets the conditions of a group whose results are those of the n definitions. */
void fuse_set_branch(const fuser *q, const uint32_t *defs, size_t n, neo_group *g);
void fuse_facts(fuser *q);
double fuse_bytes(fuser *q, neo_tensor t); /* at the largest sizes */
static inline fuse_read *fuse_read_of(const fuser *q, fuse_edge e) {
  return &q->def[e.def].read[e.read];
}
neo_tensor fuse_out(const fuser *q, uint32_t d, uint32_t k);
neo_expr fuse_out_extent(const fuser *q, uint32_t d, uint32_t axis); /* of an output axis */
/* What decisions call a group by: the first result of its first member. */
neo_tensor fuse_group_tensor(const fuser *q, uint32_t g);

/* ---- parts.c */
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
bool fuse_parts_of(fuser *q, const uint32_t *members, size_t n, fuse_parts *out,
                   const char **why) NEO_MUST_CHECK;
/* The kind of fusion that a group of several definitions is. */
neo_fuse_kind fuse_kind_of(const fuser *q, const fuse_parts *p);
/* Is the definition one of the parts that were last asked for? */
static inline bool fuse_is_part(const fuser *q, uint32_t d) {
  return q->part_of[d] == q->now;
}
static inline bool fuse_is_reduction(const fuse_def *d) {
  return d->spans > 0;
}
/* Is the part a sum that the part that reads it computes (nested.c)? */
static inline bool fuse_is_inner(const fuser *q, const fuse_parts *p, uint32_t part) {
  return !p->member[part] && fuse_is_reduction(&q->def[p->def[part]]);
}

/* ---- cost.c */
/* Are the results of a group of these parts cached between calls (neo_group.cached)? */
bool fuse_is_cached(const fuser *q, const fuse_parts *p);
/* Seconds. `home` tells who is in the group: definitions whose home it is. A group that is cached
 * between calls costs a part of a run. */
double fuse_cost(fuser *q, const fuse_parts *p);
/* A run, and what it is made of. */
neo_group_cost fuse_cost_of(fuser *q, const fuse_parts *p);
/* What both move and compute, in x's launch and total. */
neo_group_cost fuse_cost_sum(neo_group_cost x, neo_group_cost y);
/* Is a result of the part read outside of the parts, or wanted? */
bool fuse_leaves(fuser *q, const fuse_parts *p, uint32_t part);
/* Bytes of d that the forward pass saves for the backward pass. */
double fuse_saved_bytes(fuser *q, uint32_t d);

/* ---- order.c */
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

/* ---- state.c */
void fuse_make_groups(fuser *q); /* one for each definition */
/* Sets the price of a saved byte, in seconds, and with it the costs of all groups. */
void fuse_price(fuser *q, double price);
/* Group g has changed: prices it, and adds it to the list unless it is empty. */
void fuse_renew(fuser *q, uint32_t g, fuse_list *changed);
/* A fuse_move's stamp from the versions of these groups. */
uint64_t fuse_stamp_of(fuser *q, const fuse_list *groups);
/* The cost of all groups. */
double fuse_total(const fuser *q);
/* A list of one tensor, for neo_decision.with. */
const neo_tensor *fuse_with(fuser *q, neo_tensor t);
/* The group as others see it. */
neo_group fuse_group_of(fuser *q, const fuse_group *x);

/* ---- moves */
typedef struct {
  uint8_t kind;  /* the first neo_fuse_kind with the move's rules */
  uint32_t a, b; /* what the move is of: its rules know */
  double reward; /* seconds that it takes off the cost */
  uint64_t stamp;
} fuse_move;
typedef NEO_VEC(fuse_move) fuse_moves;

typedef enum {
  FUSE_NEVER,
  FUSE_FIRST,      /* on each group in order, before the others */
  FUSE_BEST_FIRST, /* by reward (greedy.c) */
  FUSE_LAST        /* on each group that is finished (fuser.made), in order */
} fuse_when;

enum { FUSE_GONE = 0 };

/* A row of the table of moves. */
typedef struct fuse_rules {
  fuse_when when;
  /* Adds the moves that concern group g (FUSE_LAST: a group of `made`); a and b alone are set. */
  void (*match)(fuser *q, uint32_t g, fuse_moves *out);
  /* Sets the reward; the state stays as it is. False: the move is not possible, and *why says the
   * reason. */
  bool (*price)(fuser *q, fuse_move *x, const char **why);
  /* Makes a move that has been priced. *changed gets the groups that are different now. False: the
   * order of the groups does not allow the move any more. */
  bool (*apply)(fuser *q, const fuse_move *x, fuse_list *changed);
  /* FUSE_BEST_FIRST: versions of the groups that the reward follows from; FUSE_GONE: there is no
   * such move any more. */
  uint64_t (*stamp)(fuser *q, const fuse_move *x);
  /* The move as a decision, but for its entry and reward; asked for before it is made. */
  neo_decision (*describe)(fuser *q, const fuse_move *x);
  /* May be null: moves of group g whose refusal is worth telling, and what is refused, but for the
   * reason. */
  void (*refusals)(fuser *q, uint32_t g, fuse_moves *out);
  neo_decision (*describe_refusal)(fuser *q, uint32_t g, const fuse_move *x);
} fuse_rules;

#define X(name, text, rules, meaning) extern const fuse_rules rules;
#include "fusion/kinds.def"
#undef X

/* ---- rules.c */
/* Adds a decision about groups of the current entry, if somebody wants to know. */
void fuse_record(fuser *q, const neo_decision *d);
const fuse_rules *fuse_rules_of(const fuse_move *x);
/* The moves that concern group g, of all rules of this time whose kinds are not switched off. */
void fuse_match(fuser *q, fuse_when when, uint32_t g, fuse_moves *out);
void fuse_refusals(fuser *q, uint32_t g, fuse_moves *out);
/* Sets reward and stamp; false: not possible, or of no use, and *why says the reason. */
bool fuse_move_price(fuser *q, fuse_move *x, const char **why);
/* Makes a move that has been priced, and records it; as fuse_rules.apply. */
bool fuse_move_make(fuser *q, const fuse_move *x, fuse_list *changed);
/* Makes the first move on group g that has a reward. */
void fuse_in_order(fuser *q, fuse_when when, uint32_t g);

/* ---- greedy.c */
/* Makes moves, the best reward first, until none is left that has any. */
void fuse_greedy(fuser *q);

/* ---- fuse.c */
/* Facts, a group for every definition, their order: of what the entries need, or of all. */
enum { FUSE_EVERY = UINT32_MAX };
void fuse_begin(fuser *q, neo_module *m, neo_arena *a, const neo_fuse_options *o, uint32_t entry,
                neo_decisions *decisions);

#endif
