/* weights_rules.h, for weights.c: maps names of a file to names of a model, and tells which element
 * types convert. Private to runtime/files. */
#pragma once
#include "runtime/weights.h"

typedef struct {                   /* a line "theirs = ours permute 1,0" */
  const char *theirs;              /* a `*` stands for any text without a point */
  const char *ours;                /* its `*` stand for the texts that matched in `theirs`; "-": the
                                      tensor is left out */
  int line;                        /* from 1 */
  bool transpose;                  /* its two dimensions are exchanged */
  bool used, late;                 /* late: all that it matches is matched by an earlier line */
  uint8_t n_order;                 /* 0: none */
  uint8_t order[NEO_RTI_MAX_RANK]; /* dimension d of ours is dimension order[d] of theirs */
} neo_rti_rule;

/* Parses a table of rules; false with a message. */
bool neo_rti_rules_read(neo_arena *a, const char *table, neo_rti_rule **out, size_t *n,
                        neo_str *error) NEO_MUST_CHECK;
/* The first rule that matches a name of the file; *ours is the name that it gives. Null: no rule
 * matches. */
neo_rti_rule *neo_rti_rule_for(neo_arena *a, neo_rti_rule *rules, size_t n, const char *theirs,
                               const char **ours);
/* Whether the name matches a pattern such as a model has after `over`. A component `*` matches any
 * one, a last `*` any number of components; a pattern that ends early matches everything below. */
bool neo_rti_pattern_fits(const char *pattern, size_t n, const char *name);

/* Whether elements of the file's type convert to type `to`. (weights_copy.c) */
bool neo_rti_file_type_converts(uint8_t from, uint8_t to);
