/* run.h: checks an entry, then runs it. Private to runtime. */
#pragma once
#include "runtime/core/ctx.h"

/* The units of work of a kernel at these sizes (entry.c). */
int64_t neo_rti_kernel_units(const neo_rt_ctx *c, int32_t kernel, const int64_t *sizes);

/* ------------------------------------------------------------ checks (call.c, values.c,
 * sharing.c) */

/* Checks that the elements of an index tensor (or bool) are in range; the message names position
 * and value. sizes null: the largest, for tensors that the context owns. */
neo_rt_status neo_rti_check_values(neo_rt_ctx *ctx, const neo_rt_tensor *t, const void *p,
                                   const int64_t *sizes) NEO_MUST_CHECK;
/* The same for elements in the device's memory, if that is separate. */
neo_rt_status neo_rti_check_device_values(neo_rt_ctx *ctx, const neo_rt_tensor *t, const void *p,
                                          const int64_t *sizes) NEO_MUST_CHECK;
/* Checks the lists of edges among the arguments of an entry (lists.c). */
neo_rt_status neo_rti_check_lists(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                  void *const *args) NEO_MUST_CHECK;
/* Checks the values of all tensors that the caller may have written through a view, or in bound
 * memory (sharing.c). */
neo_rt_status neo_rti_check_exposed(neo_rt_ctx *ctx) NEO_MUST_CHECK;
/* Checks that no argument overlaps other memory that the entry writes (sharing.c). */
neo_rt_status neo_rti_check_overlaps(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                     void *const *args) NEO_MUST_CHECK;
/* Checks that ctx->sizes are within their bounds, for the sizes of this entry. */
neo_rt_status neo_rti_check_sizes(neo_rt_ctx *ctx, const neo_rt_entry *e) NEO_MUST_CHECK;
/* The entry of this number, checked to be one that a caller may run; null after a failure. */
const neo_rt_entry *neo_rti_entry(neo_rt_ctx *ctx, int32_t entry, neo_rt_status *status);
/* Checks the arguments against ctx->sizes (null, alignment, overlap, values), then runs the
 * entry. */
neo_rt_status neo_rti_entry_call(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                 void *const *args) NEO_MUST_CHECK;

/* ------------------------------------------------------------ running (entry.c) */

/* The bytes of a unit of work of a copy step. */
enum { NEO_RTI_COPY_BYTES = 64 * 1024 };
/* The bytes of a copy step in this call. */
int64_t neo_rti_copy_bytes(const neo_rt_ctx *ctx, const neo_rt_step *s);
/* The first empty block from lo on after which all are empty, or hi. Blocks are those of a loop
 * over blocks of rows (neo_rt_loop): there may be as many blocks as rows, most of them empty.
 * rows[hi] is written, and so are the elements up to the first that equals it; no others are. */
int64_t neo_rti_blocks_end(const int32_t *rows, int64_t lo, int64_t hi);
/* The first block from which on all blocks, to `end`, have one row each. */
int64_t neo_rti_blocks_wide_end(const int32_t *rows, int64_t lo, int64_t end);
/* Runs the steps; everything must have been checked: ctx->sizes, args in header order. */
neo_rt_status neo_rti_entry_run(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                void *const *args) NEO_MUST_CHECK;
/* The same with this key; the counts of steps and calls stay. */
neo_rt_status neo_rti_entry_run_keyed(neo_rt_ctx *ctx, const neo_rt_entry *e, void *const *args,
                                      const uint64_t *key) NEO_MUST_CHECK;
/* The entry of initial values. which = 0: of all of them; 1: of states that follow from parameters,
 * which runs after parameters were loaded. Null: there is none. neo_rti_init_run runs it. */
const neo_rt_entry *neo_rti_init_entry(const neo_rt_model *model, int32_t which);
neo_rt_status neo_rti_init_run(neo_rt_ctx *ctx, const neo_rt_entry *e) NEO_MUST_CHECK;
