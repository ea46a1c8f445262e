/* Decisions of the search for groups, as data: moves that were made and their gain, moves that were
 * refused and why. The search records them (search/rules.c, greedy.c); readers use the fields, and
 * one function prints.
 *
 *   NEO_DECISION_COPY     inline H into Y, Z: saves 1.2 us      the kind, the value, its readers
 *   NEO_DECISION_JOIN     join Y to S: epilogue, saves 3 us     the joining group, the other one
 *   NEO_DECISION_CACHE    cache W2 between calls                the group whose results are cached
 *   NEO_DECISION_REJECT   reject Y, S: too large                two groups that read each other
 *
 * Groups are named by a tensor that they make. */
#pragma once
#include "fusion/group.h"

typedef enum {
  NEO_DECISION_COPY,
  NEO_DECISION_JOIN,
  NEO_DECISION_CACHE,
  NEO_DECISION_REJECT
} neo_decision_verb;

/* Readers that compute a copied value. */
typedef enum {
  NEO_COPY_ALL,
  NEO_COPY_BACKWARD, /* readers in the backward pass */
  NEO_COPY_FORWARD,
  NEO_COPY_NAMED /* copies into the kernels in `with` */
} neo_copy_readers;

typedef struct {
  neo_decision_verb verb;
  neo_fuse_kind kind; /* for COPY and JOIN */
  neo_copy_readers readers;
  uint32_t entry; /* neo_group.entry of the groups */
  neo_tensor of;
  const neo_tensor *with;
  uint32_t n_with;
  double saves_s;  /* by the target's profile; negative: a loss, hence refused */
  double byte_s;   /* part of saves_s for each byte that backward no longer reads; 0: none */
  const char *why; /* reason of a REJECT, a constant text */
} neo_decision;

typedef struct neo_decisions {
  NEO_VEC(neo_decision) list; /* in the order of an entry's decisions */
} neo_decisions;

/* One line, without its end. */
void neo_decision_print(const neo_module *m, const neo_decision *d, neo_str *out);
/* Prints all, those of each training entry after a line "in step:". */
void neo_decisions_print(const neo_module *m, const neo_decisions *all, neo_str *out);
