/* model.h: questions about a model record, which need no context.
 *
 * If `sizes` is null, the answer is for the largest run-time sizes. An extent there need not be the
 * largest (10 - B); neo_rti_spill_bytes gives the largest number of bytes. */
#pragma once
#include "base/status.h"
#include "runtime/element.h"

/* Checks everything that the runtime relies on: versions, and that every reference and address is
 * within the model's declarations. The message of a failure goes to `error`, which may be null. */
neo_rt_status neo_rti_model_check(const neo_rt_model *model, char *error,
                                  size_t error_bytes) NEO_MUST_CHECK;

/* The value of a size program; -1 if it is malformed. */
int64_t neo_rti_eval(const neo_rt_model *model, int32_t program, const int64_t *sizes);
/* The number of the size if the program is just a size, else -1. */
int32_t neo_rti_program_size(const neo_rt_model *model, int32_t program);
/* Whether the program has the same value for all run-time sizes. */
bool neo_rti_program_fixed(const neo_rt_model *model, int32_t program);
/* Writes the extents of a tensor to extent[rank]; returns the number of elements, saturated. */
int64_t neo_rti_extents(const neo_rt_model *model, const neo_rt_tensor *t, const int64_t *sizes,
                        int64_t *extent);

/* The bytes that the tensor needs at any sizes. */
int64_t neo_rti_spill_bytes(const neo_rt_model *model, const neo_rt_tensor *t);

typedef struct { /* the range of a buffer in a frame, rounded up */
  int64_t at, end;
} neo_rti_place;
/* Writes the offsets of the entry's buffers in its frame at these sizes to place[e->n_places].
 * Returns the frame's bytes. (frame.c) */
int64_t neo_rti_frame_stack(const neo_rt_model *model, const neo_rt_entry *e, const int64_t *sizes,
                            neo_rti_place *place);

/* The columns of base/steps.def: entries of the model's `args` that a step has; whether it may
 * write the k-th of these; its flags that belong to steps of another kind; the text of its kind,
 * null if there is no such kind. */
int32_t neo_rti_step_args(const neo_rt_step *s);
bool neo_rti_step_writes(const neo_rt_step *s, int32_t k);
uint16_t neo_rti_step_alien_flags(const neo_rt_step *s);
const char *neo_rti_step_kind(const neo_rt_step *s);
/* The number of sizes that calls give, which come first; the others are indices of loops. */
int32_t neo_rti_call_sizes(const neo_rt_model *model);

/* Whether the context owns the tensor from call to call: a parameter, state or setting. */
bool neo_rti_tensor_persists(const neo_rt_tensor *t);
/* The bytes of a tensor that the context owns; its extents go to `extent` (may be null). */
size_t neo_rti_tensor_bytes(const neo_rt_model *model, const neo_rt_tensor *t, int64_t *extent);
const char *neo_rti_role_name(uint8_t role); /* "parameter" */
/* As neo_rt_describe, whose sizes are null; with sizes (by number) also the memory of calls at
 * these. */
size_t neo_rti_describe(const neo_rt_model *model, const int64_t *sizes, int json, char *buf,
                        size_t n);
/* As neo_rt_frame_bytes, with sizes by number. */
int64_t neo_rti_frame_bytes(const neo_rt_model *model, const neo_rt_entry *e, const int64_t *sizes);
/* Bytes of a context with one thread and its own allocations, after all entries have run at these
 * sizes and given all outputs to the caller. (arena.c) */
int64_t neo_rti_ctx_bytes(const neo_rt_model *model, const int64_t *sizes);
