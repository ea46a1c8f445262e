/* weights_rules.h: how names of a file become names of a model, and when elements of a file's
 * tensor can become the model's. Private to runtime/files. */
#pragma once
#include "runtime/weights.h"

typedef struct {                   /* a line "theirs = ours permute 1,0" */
  const char *theirs;              /* a `*` stands for any text without a point */
  const char *ours;                /* its `*` are what theirs' were; "-": the tensor is left out */
  int line;                        /* from 1 */
  bool transpose;                  /* its two dimensions are exchanged */
  bool used, late;                 /* late: it fits what an earlier line takes */
  uint8_t n_order;                 /* 0: none */
  uint8_t order[NEO_RTI_MAX_RANK]; /* dimension d of ours is dimension order[d] of theirs */
} neo_rti_rule;

/* The rules of a table; false with a message. */
bool neo_rti_rules_read(neo_arena *a, const char *table, neo_rti_rule **out, size_t *n,
                        neo_str *error) NEO_MUST_CHECK;
/* The first rule for a name of the file, and what it makes of the name; null if there is none. */
neo_rti_rule *neo_rti_rule_for(neo_arena *a, neo_rti_rule *rules, size_t n, const char *theirs,
                               const char **ours);
/* Does a pattern, as behind `over` in a model, fit the name? A component `*` is any one, a last one
 * any that follow; a pattern that ends early names all that is below. */
bool neo_rti_pattern_fits(const char *pattern, size_t n, const char *name);

/* Can elements of the file's type become such ones? (weights_copy.c) */
bool neo_rti_file_type_converts(uint8_t from, uint8_t to);
