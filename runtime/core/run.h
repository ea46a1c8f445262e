/* run.h: an entry is checked, then run. Private to runtime. */
#pragma once
#include "runtime/core/ctx.h"

/* Units of work of a kernel at these sizes (entry.c). */
int64_t neo_rti_kernel_units(const neo_rt_ctx *c, int32_t kernel, const int64_t *sizes);

/* ------------------------------------------------------------ checks (call.c, values.c, sharing.c) */

/* Elements of an index tensor (or bool) are in their range; the message names position and value.
 * sizes null: the largest, for what the context owns. */
neo_rt_status neo_rti_check_values(neo_rt_ctx *ctx, const neo_rt_tensor *t, const void *p,
                                   const int64_t *sizes) NEO_MUST_CHECK;
/* The same check in the device's memory, where it is separate. */
neo_rt_status neo_rti_check_device_values(neo_rt_ctx *ctx, const neo_rt_tensor *t, const void *p,
                                          const int64_t *sizes) NEO_MUST_CHECK;
/* Lists of edges among the arguments of an entry (lists.c). */
neo_rt_status neo_rti_check_lists(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                  void *const *args) NEO_MUST_CHECK;
/* The same check of all that the caller may have written by way of a view, or to memory that is bound
 * (sharing.c). */
neo_rt_status neo_rti_check_exposed(neo_rt_ctx *ctx) NEO_MUST_CHECK;
/* No argument of the entry lies in memory that something else has which the entry writes
 * (sharing.c). */
neo_rt_status neo_rti_check_overlaps(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                     void *const *args) NEO_MUST_CHECK;
/* ctx->sizes are within their bounds, for the sizes of this entry. */
neo_rt_status neo_rti_check_sizes(neo_rt_ctx *ctx, const neo_rt_entry *e) NEO_MUST_CHECK;
/* The entry of this number, checked to be one that a caller may run; null after a failure. */
const neo_rt_entry *neo_rti_entry(neo_rt_ctx *ctx, int32_t entry, neo_rt_status *status);
/* Checks the arguments against ctx->sizes (null, alignment, overlap, values), then runs the
 * entry. */
neo_rt_status neo_rti_entry_call(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                 void *const *args) NEO_MUST_CHECK;

/* ------------------------------------------------------------ running (entry.c) */

/* A copy step's units of work are pieces of so many bytes. */
enum { NEO_RTI_COPY_BYTES = 64 * 1024 };
/* Bytes of a copy step in this call. */
int64_t neo_rti_copy_bytes(const neo_rt_ctx *ctx, const neo_rt_step *s);
/* Of a loop over blocks of rows (neo_rt_loop): the first block from lo on, or hi, with no row in it and behind it. There
 * may be as many blocks as rows, of which most are empty; rows[hi] is there, and others up to the first that equals it. */
int64_t neo_rti_blocks_end(const int32_t *rows, int64_t lo, int64_t hi);
/* The first block from which on all that follow, to `end`, have one row each. */
int64_t neo_rti_blocks_wide_end(const int32_t *rows, int64_t lo, int64_t end);
/* Runs the steps with everything checked: ctx->sizes, args in header order. */
neo_rt_status neo_rti_entry_run(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                void *const *args) NEO_MUST_CHECK;
/* The entry of initial values: which = 0 for all of them, 1 for those of states that follow from
 * parameters, which is run when parameters have been loaded. Null: there is none. The second
 * function runs one. */
const neo_rt_entry *neo_rti_init_entry(const neo_rt_model *model, int32_t which);
neo_rt_status neo_rti_init_run(neo_rt_ctx *ctx, const neo_rt_entry *e) NEO_MUST_CHECK;
