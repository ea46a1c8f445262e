/* weights.h: parameters and states from a file of another program, or of another model.
 *
 *   file's tensors --rules--> names of the model --> moves: a tensor, or a part of one, is filled
 *                             from a tensor of the file, with dimensions permuted and elements
 *                             converted
 *
 * A move fills slots, which a context (load.c) or an interpreter makes from its model; nothing here
 * knows of contexts. All memory is in an arena. */
#pragma once
#include "base/str.h"
#include "runtime/files.h"

/* ------------------------------------------------------------ slots and moves (weights.c) */

typedef enum { NEO_RTI_WEIGHT, NEO_RTI_OPTIMIZER, NEO_RTI_SETTING } neo_rti_slot_kind;
typedef struct {
  const char *name, *place;
  uint8_t role, type, rank, kind; /* neo_rt_role; neo_rt_type; neo_rti_slot_kind */
  bool follows; /* a state whose initial value follows from parameters: may be missing in the
                   file */
  bool wanted;  /* required, unless it follows */
  int64_t extent[NEO_RTI_MAX_RANK];
  int64_t count, found; /* number of elements; number of elements that moves fill */
} neo_rti_slot;

typedef struct {
  const neo_rti_file_tensor *from;
  size_t slot;
  int64_t first, count;            /* elements of the slot */
  uint8_t order[NEO_RTI_MAX_RANK]; /* as in a rule */
} neo_rti_move;

typedef struct {
  neo_arena *arena;
  const neo_rti_file_tensors *file;
  neo_rti_slot *slots;
  size_t n_slots, n_moves;
  neo_rti_move *moves;
  neo_str strange; /* names of the file's tensors that the model lacks */
  size_t n_strange;
  neo_str error; /* after a failure, without the file's name */
} neo_rti_weights;

/* `optimizer`: the tensor is a state of an optimizer, or an entry's own count of steps. */
neo_rti_slot_kind neo_rti_slot_kind_of(uint8_t role, bool optimizer);
/* Finds the moves, and checks everything but values. The caller sets `arena`, `file` and slots. A
 * status that is no NEO_OK has its message in w->error. */
neo_rt_status neo_rti_weights_match(neo_rti_weights *w,
                                    const neo_rt_weights *options) NEO_MUST_CHECK;
/* Whether the slot, a state whose initial value follows from parameters, is computed again from the
 * loaded ones: if it is wanted and the file lacks it; an optimizer's state, if the file has its
 * parameter. */
bool neo_rti_weights_remakes(const neo_rti_weights *w, const neo_rti_slot *s);
/* The result of a load. */
typedef struct {
  bool partly; /* not all weights of the model were wanted, or the file has tensors that the model
                  lacks */
  char text[1024]; /* "3 parameters are loaded; the optimizer's state starts afresh" */
} neo_rti_summary;
/* The summary of a load: numbers of parameters and states that were loaded or are unchanged, and
 * its text, in the arena of `w`. */
void neo_rti_weights_summary(const neo_rti_weights *w, neo_rti_summary *out);

/* ------------------------------------------------------------ elements (weights_copy.c) */

/* Writes the slot's elements, of the slot's type, from all its moves to `to`. A value that the type
 * lacks is a failure, with its message in w->error. */
neo_rt_status neo_rti_weights_fill(neo_rti_weights *w, size_t slot, void *to) NEO_MUST_CHECK;
