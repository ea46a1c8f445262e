/* The parts of the stages in compile.c. Private to tools/pipeline. */
#pragma once
#include "tools/pipeline/compile.h"

/* ---- target.c */
bool neo_compile_for_gpu(const neo_compilation *c);
/* Sets the target, its machine, and the host that calls the kernels; errors are in c->why. */
neo_status neo_compile_choose_target(neo_compilation *c) NEO_MUST_CHECK;
/* The facts about the target that passes may use: threads to fill, dots of pairs. Empty for a
 * target that does not exist, which neo_compile_choose_target reports. */
neo_pass_target neo_compile_pass_target(neo_compilation *c);

/* ---- begin.c */
/* Reads the input of the front: the model's text, and the prefix. May be called again. */
neo_status neo_compile_begin(neo_compilation *c, const char **text, size_t *n) NEO_MUST_CHECK;

/* ---- compile.c */

/* ---- pure.c, for compile.c */
void neo_module_make_pure(neo_module *m);

/* ---- passes.c, for compile.c */
/* Runs the table of passes. A failure that is not the input's has a text in c->why that names the
 * pass; after NEO_MEMORY only c->failed_pass is set. */
neo_status neo_compile_run_passes(neo_compilation *c) NEO_MUST_CHECK;
/* Runs the passes up to `cse` on the module of an actor, for neo_network_stash; the rest run with
 * neo_compile_options.derived. Failures are as above. */
neo_status neo_compile_derive(neo_compilation *c, neo_module *m) NEO_MUST_CHECK;
