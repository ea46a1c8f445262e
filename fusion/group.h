/* Groups: definitions that become one kernel. A group has shared outer axes and ordered members;
 * each member's value is inline (recomputed in its reader's expression), in registers (read by
 * later members at the same element), or in memory (root; later members still read it from
 * registers). A single definition is a group of one. fusion/form.h has its computation. */
#pragma once
#include "base/status.h"
#include "ir/needed.h"

typedef enum { NEO_PLACE_ROOT, NEO_PLACE_INLINE, NEO_PLACE_REGISTER } neo_placement;
typedef struct {
  neo_def def;
  uint8_t place;
  const int8_t *shared; /* shared axis -> the member's own axis; null: its first ones, in order */
  bool row_block;       /* a sum of row blocks (ir/row_blocks.h), a row at each shared point */
} neo_member;

/* The price of a group by the target's profile (base/machine.h), at the largest sizes: for
 * comparisons, not to predict times. Seconds are those of one run; all 0: not priced. */
typedef struct {
  double read_bytes, written_bytes; /* memory traffic; repeated reads from a cache count again */
  double work;                      /* element functions in units of an addition */
  double products;                  /* multiplications of sums, which have their own rate */
  double read_s, written_s, work_s, launch_s, total_s;
} neo_group_cost;

typedef struct neo_group neo_group;
struct neo_group {
  NEO_VEC(neo_member) members; /* producers first */
  NEO_VEC(neo_tensor) roots;   /* tensors written to memory */
  NEO_VEC(neo_tensor) reads;   /* tensors read from memory, each once */
  uint32_t entry;              /* number + 1 of its entry, if that has its own groups; else 0 */
  /* depends on parameters alone, which its entries do not change: it runs when they have
   * changed, and its results are cached between calls */
  bool cached;
  NEO_VEC(neo_expr)
  when; /* its results are needed only where these hold (ir/condition.h); it reads their elements */
  /* a temporary tensor whose memory the one root may overwrite: the kernel reads an element of
   * it where it writes the same one (fusion/in_place.c); 0: none */
  neo_tensor over;
  bool in_parts; /* nothing runs: its reads are the parts of its root, in place (concat.h) */
  bool in_order; /* its sums add one term after another, in the order of their axes */
  neo_group_cost cost;
  uint64_t key[2];       /* hash of the form without names: equal keys share a kernel */
  const char *name;      /* the first root's, as a C identifier */
  struct neo_form *form; /* cache of neo_group_form; null: not made yet */
  /* The members are a recurrence, and the kernel is its loops; it has no form, and a key of 0.
   * Null: the members have a form. */
  struct neo_recurrence *recurrence;
  /* Its one member is of the kind LEVELS, and it has no form, and a key of 0. 0: any other
   * group. */
  neo_rows levels;
};

/* Has the group a form? */
static inline bool neo_group_has_form(const neo_group *g) {
  return !g->recurrence && !g->levels.i && !g->in_parts;
}

typedef struct {
  neo_module *m;
  NEO_VEC(neo_group) groups; /* producers first */
} neo_grouping;

/* Kinds of decisions (kinds.def). */
typedef enum {
#define X(name, text, rules, meaning) NEO_FUSE_##name,
#include "fusion/kinds.def"
#undef X
  NEO_FUSE_KINDS
} neo_fuse_kind;
/* The name of a kind of fusion, as in kinds.def. Constant text. */
const char *neo_fuse_kind_text(neo_fuse_kind k);

/* Options of loops of recurrences; all 0: by cost. */
typedef struct {
  /* iterations of a block of hoisted definitions, for tests; 0: by cost */
  uint32_t tile_iterations;
  bool blocks_only; /* blocks of one row run as others; else the last of them are loops over rows */
  const neo_conditions *needed; /* by definition: the points at which it is needed (ir/needed.h) */
  neo_conditions when; /* results of the recurrence are needed only in calls where these hold */
  bool predicated; /* no early exits: kernels test whether their iteration runs, as on GPUs */
} neo_loop_options;

enum { NEO_FUSE_FAST = 0, NEO_FUSE_SMALL = -1 };
typedef struct {
  const struct neo_profile *profile; /* the target's prices; null: those of x86-64-v3 */
  uint32_t off;                      /* bit k: no decisions of kind k */
  /* bytes that may be saved for the backward pass; NEO_FUSE_FAST: any number; NEO_FUSE_SMALL: as
   * few as possible */
  int64_t memory;
  bool consumers_join; /* consumers run in a recurrence's iterations, for tests; else by cost */
  neo_loop_options recurrences;
} neo_fuse_options;

/* May results of groups be cached between calls under these options (null: the defaults)? */
bool neo_fuse_caches(const neo_fuse_options *o);
/* The place of the first result of member k: "memory", "inline" (in its readers), "registers", or
 * "slices" (memory for a few iterations of a recurrence). Constant text. */
const char *neo_group_place_text(const neo_module *m, const neo_group *g, size_t k);

/* Training entries have their own groups, which compute nothing for others alone (the gradients);
 * so do all but the first if the module has recurrences, which store much for a gradient. Equal
 * groups still share a kernel. */
uint32_t neo_group_entry(const neo_module *m, const neo_entry_rec *e); /* as in neo_group.entry */

struct neo_decisions; /* decision.h */
/* Groups the definitions that the entries and inits need, by a greedy search (search/search.h).
 * *decisions (may be null) gets the moves that were made and, at the end, refused moves between
 * neighbours (fusion/decision.h), in the arena. o: null for the defaults. */
neo_status neo_fuse_with(neo_module *m, neo_arena *a, const neo_fuse_options *o, neo_grouping *out,
                         struct neo_decisions *decisions) NEO_MUST_CHECK;
/* Definitions as a program, whose results are the roots. All other reads are computed before. */
typedef struct {
  const neo_def *defs;
  size_t n_defs;
  const neo_tensor *roots;
  size_t n_roots;
  const neo_conditions
      *when; /* by definition: its results are needed there; null: all that reach a root */
} neo_program;

/* The group of a definition of the kind LEVELS, its one member; `wanted`, by tensor: read, or
 * returned by an entry. */
void neo_group_finish_levels(neo_module *m, neo_arena *a, neo_group *g, const bool *wanted);
/* Completes a group of hand-placed members (tests, tools): fills roots, reads, key and name from
 * `members`. */
void neo_group_finish(neo_module *m, neo_arena *a, neo_group *g);
/* Makes the results of a group needed only where the condition holds, as in g->when. */
void neo_group_needed_where(neo_module *m, neo_arena *a, neo_group *g, neo_expr condition);
/* Finds operands whose memory results may overwrite; keys of such groups change. */
void neo_grouping_find_over(neo_module *m, neo_grouping *all);
/* Adds the expression's reads to those of the group's kernel. */
void neo_group_read_too(neo_module *m, neo_arena *a, neo_group *g, neo_expr e);
/* Completes the group of a recurrence, whose members are its definitions; as neo_recurrence_of. */
void neo_group_finish_recurrence(neo_module *m, neo_arena *a, neo_group *g, const bool *leaves,
                                 const neo_loop_options *o);
