/* context.h: what tools and tests do with contexts beyond <neo/neo_rt.h>. */
#pragma once
#include "runtime/files.h"
#include "runtime/weights.h"

/* As neo_rt_create, with an allocator and files of the caller's: tests make these fail. */
neo_rt_status neo_rti_create(const neo_rt_model *model, const neo_rt_config *config,
                             const neo_rti_env *env, neo_rt_ctx **out) NEO_MUST_CHECK;
/* Seed, and numbers of steps and calls, of one context become another's. */
void neo_rti_copy_position(const neo_rt_ctx *from, neo_rt_ctx *to);
/* Where rand() begins: as if so many steps, and no calls, had been made. */
void neo_rti_set_position(neo_rt_ctx *ctx, uint64_t seed, uint64_t step);
/* Memory of calls, in which nothing is needed between two of them; null: there is none. (frame.c) */
void *neo_rti_work(const neo_rt_ctx *ctx, size_t *bytes);
/* As neo_rt_load_weights, and says what was done; null: it is not wanted. */
neo_rt_status neo_rti_load_weights(neo_rt_ctx *ctx, const char *path, const neo_rt_weights *options,
                                   neo_rti_summary *summary) NEO_MUST_CHECK;
