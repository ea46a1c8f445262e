/* Checked facts: the reference interpreter evaluates the module before the passes and after each
 * pass that changed it, on random small inputs, and compares the results of its entries. A pass
 * that changes a result by more than rounding, or after which a read leaves its tensor or an
 * element its bound, has a bug, and is reported by name:
 *
 *   internal error: pass 'running-sums' changes s: 4.5 before, 5 after
 *
 * Integers agree exactly, floats within the sum of both error bounds (neo_interp_track_errors).
 *
 * After lowering, the loop IR's interpreter runs the steps of each entry on the same inputs
 * (plan_run.h), and the results of each kernel are compared with those of the reference
 * interpreter:
 *
 *   internal error: entry forward, kernel y: it reads Y[2], which nothing has written
 *   internal error: entry forward, kernel y: y[3] is 2, and should be 1.5
 *
 * Evaluations that would take long are left out and counted: results of large fixed sizes are not
 * compared. */
#pragma once
#include "ir/ir.h"

struct neo_compilation;

typedef struct neo_fact_check neo_fact_check;
/* A check for one module, in its arena. */
neo_fact_check *neo_fact_check_new(neo_arena *a);
/* A neo_pass_options.check; `ctx` is the neo_fact_check. `pass` null: the module is the frontend's.
 * NEO_INTERNAL after a report. */
neo_status neo_fact_check_run(void *ctx, neo_module *m, const char *pass) NEO_MUST_CHECK;
/* Whether evaluations were left out, so that the check compared less than it could. */
bool neo_fact_check_has_left_out(const neo_fact_check *f);
/* "facts: 96 evaluations before and after passes, 4 of plans; left out: 4 (tensors are large)" */
void neo_fact_check_add_counts(const neo_fact_check *f, neo_str *out);
/* Checks the plan of a compilation whose module has a fact check. NEO_INTERNAL after a report. */
neo_status neo_fact_check_plan(struct neo_compilation *c) NEO_MUST_CHECK;
