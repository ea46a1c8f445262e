/* Private to tools/pipeline: what the stages of compile.c are made of. */
#pragma once
#include "tools/pipeline/compile.h"

/* ---- target.c */
bool neo_compile_for_gpu(const neo_compilation *c);
/* Sets the target, its machine, and the host that calls the kernels; errors are in c->why. */
neo_status neo_compile_choose_target(neo_compilation *c) NEO_MUST_CHECK;
/* What passes are told of the target: threads to fill, dots of pairs. Nothing of a target that does
 * not exist: neo_compile_choose_target reports that. */
neo_pass_target neo_compile_pass_target(neo_compilation *c);

/* ---- begin.c */
/* What the front begins with: the model's text, and the prefix. May be called again. */
neo_status neo_compile_begin(neo_compilation *c, const char **text, size_t *n) NEO_MUST_CHECK;

/* ---- compile.c */
/* The options of fusion, with the machine's prices. */
neo_fuse_options neo_compile_fusion(const neo_compilation *c);

/* ---- pure.c */
void neo_module_make_pure(neo_module *m);

/* ---- passes.c */
/* Runs the table. A failure that is not the input's has a text in c->why, which names the pass; where
 * memory ended, c->failed_pass alone is set. */
neo_status neo_compile_run_passes(neo_compilation *c) NEO_MUST_CHECK;
