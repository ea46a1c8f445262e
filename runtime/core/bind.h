/* bind.h: shared by binding and by calls on the caller's memory. Private to runtime/core. */
#pragma once
#include "runtime/core/ctx.h"

/* Reports that dimension d of t is `given` and not `want`; returns the failure. */
neo_rt_status neo_rti_wrong_dim(neo_rt_ctx *c, const neo_rt_tensor *t, int d, int64_t given,
                                int64_t want);

/* ------------------------------------------------------------ sharing.c */

/* Checks that no other tensor of the context has this memory, which a tensor that the context owns
 * is to get. */
neo_rt_status neo_rti_check_store(neo_rt_ctx *c, const neo_rt_tensor *t,
                                  const void *data) NEO_MUST_CHECK;
/* Notes that the tensor's store moved to c->bound[tensor].data or, if that is null, back into the
 * context. */
void neo_rti_note_store(neo_rt_ctx *c, int32_t tensor);
