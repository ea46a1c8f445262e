/* call_cache.h: the cache of call-invariant values. Private to runtime.
 *
 * A step with a number in `cached` computes values that follow from parameters, states and settings
 * alone. Its results stay in the context between calls: it runs only after one of its sources was
 * written. */
#pragma once
#include "runtime/core/ctx.h"

/* Tells the cache that this tensor has been written; -1: all tensors. */
void neo_rti_call_cache_written(neo_rt_ctx *ctx, int32_t tensor);
/* Whether this step must run in the present call. */
bool neo_rti_call_cache_runs(const neo_rt_ctx *ctx, const neo_rt_step *s);
/* Tells the cache that the entry has run; `good`: without a failure. */
void neo_rti_call_cache_done(neo_rt_ctx *ctx, const neo_rt_entry *e, bool good);
/* Checks the model's tables of cached values, their sources, and the tensors that entries write. */
bool neo_rti_call_cache_check(const neo_rt_model *m);
