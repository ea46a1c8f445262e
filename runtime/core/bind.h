/* bind.h: what binding, and calls on memory of the caller's, share. Private to runtime/core. */
#pragma once
#include "runtime/core/ctx.h"

/* Reports that dimension d of t is `given` and not `want`; returns the failure. */
neo_rt_status neo_rti_wrong_dim(neo_rt_ctx *c, const neo_rt_tensor *t, int d, int64_t given,
                                int64_t want);

/* ------------------------------------------------------------ sharing.c */

/* This memory, for a tensor that the context owns, is that of nothing else in the context. */
neo_rt_status neo_rti_check_store(neo_rt_ctx *c, const neo_rt_tensor *t,
                                  const void *data) NEO_MUST_CHECK;
/* Notes that the tensor's store moved to c->bound[tensor].data, or, null, back into the context. */
void neo_rti_note_store(neo_rt_ctx *c, int32_t tensor);
/* Its values are looked at in each call from now on, if something says what they may be; or no
 * more. */
void neo_rti_expose(neo_rt_ctx *c, int32_t tensor, bool exposed);
