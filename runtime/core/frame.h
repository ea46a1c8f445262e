/* frame.h: the memory of a call at its sizes. Private to runtime/core. */
#pragma once
#include "runtime/core/device.h"

/* Makes room for a call of the entry at ctx->sizes, with `spill` bytes after its frame, from
 * ctx->spill on, for the caller's tensors; resolves the addresses of the frame. May allocate.
 * NEO_MEMORY: nothing has run, and later calls still work. */
neo_rt_status neo_rti_frame_take(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                 int64_t spill) NEO_MUST_CHECK;
