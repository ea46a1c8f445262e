/* model.h: questions about a model record, which need no context.
 *
 * Where `sizes` is null, the answer is for the largest run-time sizes. Extents there need not be the
 * largest (10 - B): neo_rti_spill_bytes knows the most bytes. */
#pragma once
#include "base/status.h"
#include "runtime/element.h"

/* Checks what the runtime relies on: versions, and that every reference and address is inside of
 * what the model declares. A failure's message goes to `error`, which may be null. */
neo_rt_status neo_rti_model_check(const neo_rt_model *model, char *error,
                                  size_t error_bytes) NEO_MUST_CHECK;

/* Value of a size program; -1 if it is malformed. */
int64_t neo_rti_eval(const neo_rt_model *model, int32_t program, const int64_t *sizes);
/* The size's number if the program is just a size, else -1. */
int32_t neo_rti_program_size(const neo_rt_model *model, int32_t program);
/* Is the program's value the same for all run-time sizes? */
bool neo_rti_program_fixed(const neo_rt_model *model, int32_t program);
/* Extents of a tensor go to extent[rank]; returns the number of elements, saturated. */
int64_t neo_rti_extents(const neo_rt_model *model, const neo_rt_tensor *t, const int64_t *sizes,
                        int64_t *extent);

/* Room for the tensor at any sizes, in bytes. */
int64_t neo_rti_spill_bytes(const neo_rt_model *model, const neo_rt_tensor *t);

typedef struct { /* a buffer of a frame, from where to where, rounded up */
  int64_t at, end;
} neo_rti_place;
/* Where the places of the entry's frame are at these sizes: place[e->n_places]. Returns the frame's
 * bytes. (frame.c) */
int64_t neo_rti_frame_stack(const neo_rt_model *model, const neo_rt_entry *e, const int64_t *sizes,
                            neo_rti_place *place);

/* How many of the model's `args` are a step's: a copy has two, a loop that reads data one, a kernel as many as it
 * says. */
static inline int32_t neo_rti_step_args(const neo_rt_step *s) {
  if (s->op == NEO_RT_STEP_LOOP)
    return s->flags & (NEO_RT_STEP_BLOCKS | NEO_RT_STEP_ASKS) ? 1 : 0;
  return s->op == NEO_RT_STEP_COPY ? 2 : s->n;
}
/* How many of its sizes calls give: the first ones. Others are indices of loops. */
int32_t neo_rti_call_sizes(const neo_rt_model *model);
/* Is the step inside of a loop? */
bool neo_rti_in_loop(const neo_rt_model *model, int32_t step);

/* Does the context own its elements, from call to call: parameter, state or setting? */
bool neo_rti_tensor_persists(const neo_rt_tensor *t);
/* Bytes of such a tensor, whose extents go to `extent` (may be null). */
size_t neo_rti_tensor_bytes(const neo_rt_model *model, const neo_rt_tensor *t, int64_t *extent);
const char *neo_rti_role_name(uint8_t role); /* "parameter" */
/* As neo_rt_describe, which has null sizes; else also the memory of calls at these sizes, by number. */
size_t neo_rti_describe(const neo_rt_model *model, const int64_t *sizes, int json, char *buf,
                        size_t n);
/* As neo_rt_frame_bytes, of sizes by number. */
int64_t neo_rti_frame_bytes(const neo_rt_model *model, const neo_rt_entry *e, const int64_t *sizes);
/* Bytes of a context of one thread that allocates itself, once all entries have run at these
 * sizes and given all outputs to the caller. (arena.c) */
int64_t neo_rti_ctx_bytes(const neo_rt_model *model, const int64_t *sizes);
