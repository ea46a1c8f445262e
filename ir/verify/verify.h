/* Checks of the invariants in ir.h. A violation is a bug of a pass (or bad IR text): *why gets a
 * message that names the definition or tensor.
 *
 * A violation has the status NEO_INTERNAL. */
#pragma once
#include "base/status.h"
#include "ir/prove/prove.h"

neo_status neo_module_verify(const neo_module *m,
                             neo_str *why) NEO_MUST_CHECK; /* NEO_OK or NEO_INTERNAL */

/* Checks that every read of definitions and initialisers is inside of its tensor wherever it is
 * evaluated. The prover adds expressions to the module. */
neo_status neo_reads_verify(neo_module *m, neo_str *why) NEO_MUST_CHECK;

/* A LOAD of the definition that is not proved to be inside of its tensor wherever it is evaluated
 * (the quota may be the reason); 0: there is none. */
neo_expr neo_unproved_read(neo_prover *p, neo_def d, neo_arena *scratch);
