/* Groups: what becomes one kernel. A group has shared outer axes and ordered members; each member's value is placed inline
 * (recomputed in its reader's expression), in registers (read by later members at the same element), or in memory (root;
 * later members still read it from registers). The lone definition is a group of one. fusion/form.h says what it computes. */
#ifndef NEO_FUSION_GROUP_H
#define NEO_FUSION_GROUP_H
#include "base/status.h"
#include "ir/ir.h"

typedef enum { NEO_PLACE_ROOT, NEO_PLACE_INLINE, NEO_PLACE_REGISTER } neo_placement;
typedef struct {
  neo_def def;
  uint8_t place;
} neo_member;

typedef struct {
  NEO_VEC(neo_member) members; /* producers first */
  NEO_VEC(neo_tensor) roots;   /* tensors written to memory */
  NEO_VEC(neo_tensor) reads;   /* tensors read from memory, each once */
  uint64_t key[2];             /* of the canonical IR without names: equal keys share a kernel */
  const char *name;            /* of the first root, made a C identifier */
  struct neo_form *form;       /* cache of neo_group_form; null: not made yet */
} neo_group;

typedef struct {
  neo_module *m;
  NEO_VEC(neo_group) groups; /* in an order in which producers come first */
} neo_grouping;

/* Groups the definitions that the entries and inits need. Members that share axes and whose reads of each other are at
 * identical indices are joined when that saves memory traffic (sibling roots with equal domains: the three updates of
 * Adam are one kernel); `explain` gets a line a decision. */
neo_status neo_fuse(neo_module *m, neo_arena *a, neo_grouping *out, neo_str *explain) NEO_MUST_CHECK;

/* A group of members placed by hand (tests, tools): fills roots, reads, key and name from `members`. */
void neo_group_finish(neo_module *m, neo_arena *a, neo_group *g);

#endif
