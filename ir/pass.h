/* Passes: a pass is a function over the module; the runner verifies after each, prints what
 * changed, and can switch each off. The table of passes (passes.def) belongs to the driver, which
 * alone sees every folder. */
#pragma once
#include "base/status.h"
#include "ir/ir.h"
#include "ir/prove/prove.h"

/* When a pass runs. The driver knows whether the condition holds (tools/pipeline/passes.def says
 * why). */
typedef enum {
  NEO_WHEN_ALL,        /* always */
  NEO_WHEN_CPU,        /* for processors */
  NEO_WHEN_CACHES,     /* where results are cached between calls */
  NEO_WHEN_REASSOCIATE /* where the user allows it */
} neo_pass_when;

/* The facts about the target that a pass may use. The module itself says nothing of the machine. */
typedef struct {
  uint32_t gpu_threads; /* threads that run at once; 0: the target is a processor */
  bool bf16_pairs;      /* the target multiplies pairs of bf16 along a reduction */
  int64_t l2_bytes;     /* size of a core's second-level cache; 0: not known, or the target is no
                           processor */
  /* Iterations per block, for tests: recurrences are treated as if they were long and large. 0: as
   * the costs say. */
  uint32_t tile_iterations;
  /* Bytes that may be saved for the backward pass; 0: any number; -1: as few as possible. */
  int64_t memory;
  const struct neo_profile *profile; /* the machine's numbers (base/machine.h); null: not known */
  bool batch_kinds; /* vertices of a level that take different branches are separate batches */
  /* Checkpoints of recurrences, for tests: bits 0 .. 15 are the iterations of a chunk, the others
   * the chunks of an outer one; 0: as `memory` requires. */
  uint32_t chunk_iterations;
} neo_pass_target;

/* A pass and what the runner hands to it. */
typedef struct {
  neo_module *m;
  const neo_pass_target *target;
  neo_arena *a; /* scratch, which ends with the pass */
  neo_prover *p;
  uint32_t n_defs;        /* definitions when the pass begins */
  const uint32_t *number; /* numbers of their recurrences, from 1 on; 0: none */
  uint32_t n_recurrences;
} neo_pass_context;

/* A pass, and how it reports trouble:
 *
 * - The program is wrong: a diagnostic with the source position, and NEO_INPUT.
 * - Something cannot be proved, or a limit of the IR is near: an optional pass leaves the
 *   definition as it is; a required one reports it as above.
 * - The pass itself made something wrong: NEO_INTERNAL, through neo_pass_broken.
 * - Memory ends: nothing to do, the runner returns NEO_MEMORY. */
typedef neo_status neo_pass_fn(const neo_pass_context *pass);

/* Properties of a module (properties.def). A module of the frontend has all of them but DERIVED. */
enum {
#define X(id, text, holds) NEO_HAS_##id##_BIT,
#include "ir/properties.def"
#undef X
  NEO_PROPERTIES,
#define X(id, text, holds) NEO_HAS_##id = 1 << NEO_HAS_##id##_BIT,
#include "ir/properties.def"
#undef X
};

typedef struct {
  const char *name;
  neo_pass_fn *run;
  const char *meaning;
  bool required; /* cannot be switched off */
  neo_pass_when when;
  /* Properties that the module has when the pass begins, and those that it need not have afterwards
   * although it had them. The runner checks both where it verifies. */
  uint32_t needs, breaks;
} neo_pass;

typedef struct {
  bool verify;             /* after every pass */
  const char *const *skip; /* names, null-terminated; may be null */
  const char *dump_after;  /* name or "all"; may be null */
  void (*dump)(void *ctx, const char *pass, const neo_module *m, bool changed);
  void *dump_ctx;
  void (*done)(void *ctx, const char *pass); /* after each pass that ran; may be null */
  void *done_ctx;
  /* Called after each pass that changed the module: compares what the module computes with what it
   * computed before, and reports a difference; a failure ends the run. May be null. */
  neo_status (*check)(void *ctx, neo_module *m, const char *pass);
  void *check_ctx;
  /* Called before each pass; true ends the run with NEO_INTERRUPTED. May be null. */
  bool (*cancelled)(const void *ctx);
  const void *cancelled_ctx;
  const char **failed; /* is set to the name of a pass that fails; may be null */
} neo_pass_options;

/* Calls one pass, with what belongs to it. NEO_MEMORY: the arena could not grow. */
neo_status neo_pass_call(neo_module *m, const neo_pass_target *target,
                         neo_pass_fn *run) NEO_MUST_CHECK;

/* Runs the passes in order, each with `target`; stops at the first failure, or when a pass has
 * reported errors (NEO_INPUT). A failure has a diagnostic, except NEO_MEMORY, after which the
 * module must not be used. */
neo_status neo_passes_run(neo_module *m, const neo_pass_target *target, const neo_pass *passes,
                          size_t n, const neo_pass_options *o) NEO_MUST_CHECK;

/* Reports a bug in a pass: `what` is wrong in definition d. Returns NEO_INTERNAL. */
neo_status neo_pass_broken(neo_module *m, neo_def d, const char *what) NEO_MUST_CHECK;
