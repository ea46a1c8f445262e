/* Checks the invariants of ir.h. A broken one is a bug of a pass (or bad IR text): *why gets a
 * message naming the definition or tensor. */
#pragma once
#include "base/status.h"
#include "ir/prove.h"

neo_status neo_module_verify(const neo_module *m,
                             neo_str *why) NEO_MUST_CHECK; /* NEO_OK or NEO_INTERNAL */

/* Is every read of definitions and initialisers inside of its tensor, wherever it is made? Asks the prover, which makes
 * expressions. */
neo_status neo_reads_verify(neo_module *m, neo_str *why) NEO_MUST_CHECK;

/* A LOAD of the definition that nothing shows to be inside of its tensor wherever it is made, be it for the quota; 0: there
 * is none. */
neo_expr neo_unproved_read(neo_prover *p, neo_def d, neo_arena *scratch);
