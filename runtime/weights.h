/* weights.h: parameters and states from a safetensors file of another program, or of another model.
 *
 *   file's tensors --rules--> names of the model --> moves: a tensor, or a part of one, is filled
 *                             from one of the file, its dimensions permuted, its elements converted
 *
 * Nothing here knows of contexts: what is filled are slots, which a context (load.c) or an
 * interpreter makes of its model. All memory is an arena's. */
#ifndef NEO_RUNTIME_WEIGHTS_H
#define NEO_RUNTIME_WEIGHTS_H
#include "base/str.h"
#include "runtime/internal.h"

/* ------------------------------------------------------------ rules (files/weights_rules.c) */

typedef struct {                   /* a line "theirs = ours permute 1,0" */
  const char *theirs;              /* a `*` stands for any text without a point */
  const char *ours;                /* its `*` are what theirs' were; "-": the tensor is left out */
  int line;                        /* from 1 */
  bool transpose, used;            /* transpose: its two dimensions are exchanged */
  uint8_t n_order;                 /* 0: none */
  uint8_t order[NEO_RTI_MAX_RANK]; /* dimension d of ours is dimension order[d] of theirs */
} neo_rti_rule;

/* The rules of a table; false with a message. */
bool neo_rti_rules_read(neo_arena *a, const char *table, neo_rti_rule **out, size_t *n,
                        neo_str *error);
/* The first rule for a name of the file, and what it makes of the name; null if there is none. */
neo_rti_rule *neo_rti_rule_for(neo_arena *a, neo_rti_rule *rules, size_t n, const char *theirs,
                               const char **ours);
/* Does a pattern, as behind `over` in a model, fit the name? A component `*` is any one, a last one
 * any that follow; a pattern that ends early names all that is below. */
bool neo_rti_pattern_fits(const char *pattern, size_t n, const char *name);

/* ------------------------------------------------------------ slots and moves (weights.c) */

typedef enum { NEO_RTI_WEIGHT, NEO_RTI_OPTIMIZER, NEO_RTI_SETTING } neo_rti_slot_kind;
typedef struct {
  const char *name, *place;
  uint8_t role, type, rank, kind; /* neo_rt_role; neo_rt_type; neo_rti_slot_kind */
  bool follows; /* a state whose first value follows from parameters: need not be in the file */
  bool wanted;  /* it must be there, unless it follows */
  int64_t extent[NEO_RTI_MAX_RANK];
  int64_t count, found; /* elements; those that moves fill */
} neo_rti_slot;

typedef struct {
  const neo_rti_st_tensor *from;
  size_t slot;
  int64_t first, count;            /* elements of the slot */
  uint8_t order[NEO_RTI_MAX_RANK]; /* as in a rule */
} neo_rti_move;

typedef struct {
  neo_arena *arena;
  const neo_rti_st *st;
  neo_rti_slot *slots;
  size_t n_slots, n_moves;
  neo_rti_move *moves;
  neo_str strange; /* names of the file's tensors that the model lacks */
  size_t n_strange;
  neo_str error; /* after a failure, without the file's name */
} neo_rti_weights;

/* Kinds of slots, by their names: an optimizer's state follows its parameter's ("W.adam.m"), an
 * entry's count of steps the entry's ("d.step"). */
void neo_rti_slots_classify(neo_rti_slot *slots, size_t n, const char *const *entries,
                            size_t n_entries);
/* Finds the moves: `arena`, `st` and slots are given. Everything but values is checked. */
neo_rt_status neo_rti_weights_match(neo_rti_weights *w, const neo_rt_weights *options);
/* The result. */
typedef struct {
  bool partly; /* weights of the model were not asked for, or tensors of the file are not its own */
  char text[1024]; /* "3 parameters are loaded; the optimizer's state starts afresh" */
} neo_rti_summary;
void neo_rti_weights_summary(const neo_rti_weights *w, neo_rti_summary *out);

/* As neo_rt_load_weights, and says what was done; null: it is not wanted (load.c). */
neo_rt_status neo_rti_load_weights(neo_rt_ctx *ctx, const char *path, const neo_rt_weights *options,
                                   neo_rti_summary *summary);

/* ------------------------------------------------------------ elements (weights_copy.c) */

/* The slot's elements from all of its moves, of the slot's type, to `to`. */
neo_rt_status neo_rti_weights_fill(neo_rti_weights *w, size_t slot, void *to);
/* Can elements of the file's type become such ones? */
bool neo_rti_st_converts(uint8_t from, uint8_t to);

#endif
