/* setup.h, for ctx.c: the steps of creating a context. Private to runtime/core. */
#pragma once
#include "runtime/core/device.h"

/* Lays out the tables of `c` in the memory from `at`; returns its end. */
char *neo_rti_tables_carve(neo_rt_ctx *c, const neo_rt_model *m, char *at);
/* Fills in the tables. The arena has to be allocated before. */
void neo_rti_tables_fill(neo_rt_ctx *c);
/* Gets the arena from the device, which has to be open. */
neo_rt_status neo_rti_arena_take(neo_rt_ctx *c, const neo_rt_config *config) NEO_MUST_CHECK;
