/* What the search for groups decided, as data: which moves it made, what they save, and which it
 * refused and why. The search records decisions (search/rules.c, greedy.c); readers use the fields,
 * and one function prints them.
 *
 *   NEO_DECISION_COPY     inline H into Y, Z: saves 1.2 us      the kind, what is copied, by whom
 *   NEO_DECISION_JOIN     join Y to S: epilogue, saves 3 us     the group that joins, and to which
 *   NEO_DECISION_CACHE    cache W2 between calls                the group whose results stay
 *   NEO_DECISION_REJECT   reject Y, S: too large                two groups that read one another
 *
 * Groups go by the name of a tensor that they make. */
#pragma once
#include "fusion/group.h"

typedef enum {
  NEO_DECISION_COPY,
  NEO_DECISION_JOIN,
  NEO_DECISION_CACHE,
  NEO_DECISION_REJECT
} neo_decision_verb;

/* Who computes a copied value itself. */
typedef enum {
  NEO_COPY_ALL,
  NEO_COPY_BACKWARD, /* readers in the backward pass */
  NEO_COPY_FORWARD,
  NEO_COPY_NAMED /* those in `with` */
} neo_copy_readers;

typedef struct {
  neo_decision_verb verb;
  neo_fuse_kind kind; /* of COPY and JOIN */
  neo_copy_readers readers;
  uint32_t entry; /* of the groups that it is about: neo_group.entry */
  neo_tensor of;
  const neo_tensor *with;
  uint32_t n_with;
  double saves_s;  /* by the target's profile; negative: it costs, and was refused for that */
  const char *why; /* of REJECT: the reason, a constant text */
} neo_decision;

typedef struct neo_decisions {
  NEO_VEC(neo_decision) list; /* those of an entry in the order in which they were taken */
} neo_decisions;

/* One line, without its end. */
void neo_decision_print(const neo_module *m, const neo_decision *d, neo_str *out);
/* All of them, those of each training entry after a line "in step:". */
void neo_decisions_print(const neo_module *m, const neo_decisions *all, neo_str *out);
