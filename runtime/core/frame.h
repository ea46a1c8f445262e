/* frame.h: the memory of a call at its sizes. Private to runtime/core. */
#ifndef NEO_RUNTIME_CORE_FRAME_H
#define NEO_RUNTIME_CORE_FRAME_H
#include "runtime/core/device.h"

/* Makes room for a call of the entry at ctx->sizes, and resolves the addresses of its frame. It
 * may allocate; where there is no memory (NEO_MEMORY), nothing has run, and later calls find
 * what they need. The caller's arguments are placed afterwards: c->spill is where those lie that
 * have no memory. */
neo_rt_status neo_rti_frame_take(neo_rt_ctx *ctx, const neo_rt_entry *e,
                                 void *const *args) NEO_MUST_CHECK;
/* Room in the work for the caller's tensor, at ctx->sizes. */
int64_t neo_rti_spill_room(const neo_rt_ctx *ctx, int32_t tensor);
/* Do kernels write this output straight to where the caller's tensor is? */
bool neo_rti_is_direct(const neo_rt_model *model, int32_t tensor);
/* Are the entry's table of places, and the addresses in it, sound? */
bool neo_rti_frame_check(const neo_rt_model *model, const neo_rt_entry *e);

#endif
