/* context.h: functions on contexts for tools and tests, beyond <neo/neo_rt.h>. */
#pragma once
#include "runtime/files.h"
#include "runtime/weights.h"

/* As neo_rt_create, with the caller's allocator and file operations: tests make these fail. The
 * caller frees it by neo_rt_destroy. */
neo_rt_status neo_rti_create(const neo_rt_model *model, const neo_rt_config *config,
                             const neo_rti_env *env, neo_rt_ctx **out) NEO_MUST_CHECK;
/* Copies the seed, and the numbers of steps and calls, from one context to another. */
void neo_rti_copy_position(const neo_rt_ctx *from, neo_rt_ctx *to);
/* Sets the position of rand(): as if `step` steps, and no calls, had been made with this seed. */
void neo_rti_set_position(neo_rt_ctx *ctx, uint64_t seed, uint64_t step);
/* The work memory of calls, which holds nothing between two calls; null: there is none.
 * (frame.c) */
void *neo_rti_work(const neo_rt_ctx *ctx, size_t *bytes);
/* As neo_rt_load_weights, with its status; also fills *summary, which may be null. */
neo_rt_status neo_rti_load_weights(neo_rt_ctx *ctx, const char *path, const neo_rt_weights *options,
                                   neo_rti_summary *summary) NEO_MUST_CHECK;
