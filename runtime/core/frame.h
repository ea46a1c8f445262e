/* frame.h: the memory of a call at its sizes. Private to runtime/core. */
#pragma once
#include "runtime/core/device.h"

/* Makes room for a call of the entry at ctx->sizes, with `spill` bytes behind its frame, from
 * ctx->spill on, for tensors of the caller's; resolves the addresses of the frame. It may allocate;
 * where there is no memory (NEO_MEMORY), nothing has run, and later calls find what they need. */
neo_rt_status neo_rti_frame_take(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                 int64_t spill) NEO_MUST_CHECK;
/* Are the entry's table of places, and the addresses in it, sound? */
bool neo_rti_frame_check(const neo_rt_model *model, const neo_rt_entry *e);
