/* Groups: what becomes one kernel. A group has shared outer axes and ordered members; each member's
 * value is placed inline (recomputed in its reader's expression), in registers (read by later
 * members at the same element), or in memory (root; later members still read it from registers).
 * The lone definition is a group of one. fusion/form.h says what it computes. */
#pragma once
#include "base/status.h"
#include "ir/needed.h"

typedef enum { NEO_PLACE_ROOT, NEO_PLACE_INLINE, NEO_PLACE_REGISTER } neo_placement;
typedef struct {
  neo_def def;
  uint8_t place;
  const int8_t *shared; /* shared axis -> the member's own axis; null: its first ones, in order */
  bool
      row_block; /* a sum of row blocks (ir/row_blocks.h): each point of the shared axes adds a row to it */
} neo_member;

/* The price of a group by the target's profile (base/machine.h), at the largest sizes: to compare groups
 * by, not to predict how long one takes. Seconds are those of one run; all 0: it is not priced. */
typedef struct {
  double read_bytes, written_bytes; /* of memory; what is read again from a cache counts again */
  double work;                      /* element functions of the weight of an addition */
  double products;                  /* multiplications of sums that have a rate of their own */
  double read_s, written_s, work_s, launch_s, total_s;
} neo_group_cost;

typedef struct neo_group neo_group;
struct neo_group {
  NEO_VEC(neo_member) members; /* producers first */
  NEO_VEC(neo_tensor) roots;   /* tensors written to memory */
  NEO_VEC(neo_tensor) reads;   /* tensors read from memory, each once */
  uint32_t entry; /* the entry that it is for, number + 1, if that has groups of its own; else 0 */
  bool
      cached; /* depends on parameters alone, which its entries leave as they are: it runs when they
                have changed, and its results stay between calls */
  NEO_VEC(neo_expr)
  when; /* its results are needed only where these hold (ir/condition.h); it reads their elements */
  neo_tensor
      over; /* a temporary tensor in whose memory its one root may lie, as the kernel reads an
                      element of it where it writes the same one (fusion/in_place.c); 0: none */
  bool
      in_parts; /* nothing runs: what it reads are the parts of its one root, and lies in the root's memory
                    (fusion/concat.h) */
  bool in_order; /* its sums are added up one term after another, in the order of their axes */
  neo_group_cost cost;
  uint64_t key[2];       /* of the canonical IR without names: equal keys share a kernel */
  const char *name;      /* of the first root, made a C identifier */
  struct neo_form *form; /* cache of neo_group_form; null: not made yet */
  /* The members are a recurrence, and the kernel is its loops; it has no form, and a key of 0. Null:
   * the members are put together as a form. */
  struct neo_recurrence *recurrence;
  /* Its one member is of the kind LEVELS, and it has no form, and a key of 0. 0: it is not. */
  neo_rows levels;
};

/* Is the group put together as a form? */
static inline bool neo_group_has_form(const neo_group *g) {
  return !g->recurrence && !g->levels.i && !g->in_parts;
}

typedef struct {
  neo_module *m;
  NEO_VEC(neo_group) groups; /* in an order in which producers come first */
} neo_grouping;

/* Kinds of decisions (kinds.def). */
typedef enum {
#define X(name, text, rules, meaning) NEO_FUSE_##name,
#include "fusion/kinds.def"
#undef X
  NEO_FUSE_KINDS
} neo_fuse_kind;
const char *neo_fuse_kind_text(neo_fuse_kind k);

/* How recurrences become loops; all 0: as pays. */
typedef struct {
  uint32_t
      tile_rounds; /* what can be hoisted into a recurrence's group is, in blocks of so many rounds, for tests;
                           0: where it pays, and as many as pay */
  bool
      blocks_only; /* blocks of one row each run as others do; else the last of them are loops over rows */
  const neo_conditions *
      needed; /* of whoever forms groups: at which points definitions are needed, by id (ir/needed.h) */
  bool
      predicated; /* no loop ends early: kernels ask whether their iteration changes anything, as on GPUs */
} neo_loop_options;

enum { NEO_FUSE_FAST = 0, NEO_FUSE_SMALL = -1 };
typedef struct {
  const struct neo_profile *profile; /* the target's prices; null: those of x86-64-v3 */
  uint32_t off;                      /* bit k: no decisions of kind k */
  int64_t memory; /* bytes that may be saved for the backward pass; NEO_FUSE_FAST:
                     any number; NEO_FUSE_SMALL: as few as possible */
  bool
      consumers_join; /* what can run in the rounds of a recurrence does, for tests; else where it pays */
  neo_loop_options recurrences;
} neo_fuse_options;

/* May results of groups be cached between calls under these options (null: the defaults)? */
bool neo_fuse_caches(const neo_fuse_options *o);
/* Where the first result of member k is: "memory", "inline" (in its readers), "registers", or "slices":
 * memory for a few rounds of a recurrence. */
const char *neo_group_place_text(const neo_module *m, const neo_group *g, size_t k);

/* Training entries have groups of their own, in which nothing is made that only others want (the
 * gradients); so have all but the first, where the module has recurrences: what these keep for a
 * gradient is much. Equal groups have one kernel all the same. */
uint32_t neo_group_entry(const neo_module *m, const neo_entry_rec *e); /* as in neo_group.entry */

struct neo_decisions; /* decision.h */
/* Groups the definitions that the entries and inits need, by the best reward first (search/search.h says
 * which). *decisions (may be null) gets the moves that were made and, at the end, those between
 * neighbours that were refused (fusion/decision.h), in the arena. o: null for the defaults. */
neo_status neo_fuse_with(neo_module *m, neo_arena *a, const neo_fuse_options *o, neo_grouping *out,
                         struct neo_decisions *decisions) NEO_MUST_CHECK;
/* Definitions as a program of their own, whose results are the roots. What it reads of others is there before. */
typedef struct {
  const neo_def *defs;
  size_t n_defs;
  const neo_tensor *roots;
  size_t n_roots;
  const neo_conditions
      *when; /* of each definition: where its results are needed; null: all that reach a root are */
} neo_program;

/* The group of a definition of the kind LEVELS, its one member; `wanted`, by tensor: somebody reads it, or an entry
 * returns it. */
void neo_group_finish_levels(neo_module *m, neo_arena *a, neo_group *g, const bool *wanted);
/* A group of members placed by hand (tests, tools): fills roots, reads, key and name from
 * `members`. */
void neo_group_finish(neo_module *m, neo_arena *a, neo_group *g);
/* The results of a group are needed only where the condition holds, as of g->when. */
void neo_group_needed_where(neo_module *m, neo_arena *a, neo_group *g, neo_expr condition);
/* Finds the operands that results may lie over; keys of such groups change. */
void neo_grouping_find_over(neo_module *m, neo_grouping *all);
/* The kernel of the group reads what the expression does, too. */
void neo_group_read_too(neo_module *m, neo_arena *a, neo_group *g, neo_expr e);
/* The group of a recurrence, whose members are its definitions; the rest as in neo_recurrence_of. */
void neo_group_finish_recurrence(neo_module *m, neo_arena *a, neo_group *g, const bool *leaves,
                                 const neo_loop_options *o);
