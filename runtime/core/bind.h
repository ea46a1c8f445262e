/* bind.h: what binding and running on bound tensors share. Private to runtime/core. */
#ifndef NEO_RUNTIME_CORE_BIND_H
#define NEO_RUNTIME_CORE_BIND_H
#include "runtime/core/ctx.h"

/* Reports that dimension d of t is `given` and not `want`; returns the failure. */
neo_rt_status neo_rti_wrong_dim(neo_rt_ctx *c, const neo_rt_tensor *t, int d, int64_t given,
                                int64_t want);

#endif
