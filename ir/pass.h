/* Passes: a pass is a function over the module; the runner verifies after each, prints what
 * changed, and can switch each off. The table of passes (passes.def) belongs to the driver, which
 * alone sees every folder. */
#pragma once
#include "base/status.h"
#include "ir/ir.h"

/* When a pass runs; the driver knows what holds (tools/pipeline/passes.def says why). */
typedef enum {
  NEO_WHEN_ALL,        /* always */
  NEO_WHEN_CPU,        /* for processors */
  NEO_WHEN_CACHES,     /* where results are cached between calls */
  NEO_WHEN_REASSOCIATE /* where the user allows it */
} neo_pass_when;

/* What a pass may know of the machine that the program is compiled for. The module itself says
 * nothing of it. */
typedef struct {
  uint32_t gpu_threads; /* that run at once; 0: the target is a processor */
  bool bf16_pairs;      /* the target multiplies pairs of bf16 along a reduction */
  int64_t l2_bytes;     /* of a core's second cache; 0: not known, or the target is no processor */
  uint32_t
      tile_rounds; /* rounds of a block where recurrences are treated as if they were long and large;
                           0: what pays */
  int64_t
      memory; /* bytes that may be kept for the backward pass; 0: any number; -1: as few as possible */
  const struct neo_profile *profile; /* prices (base/machine.h); null: not known */
  bool batch_kinds; /* vertices of a level that take other branches are batches of their own */
  uint32_t
      chunk_rounds; /* recurrences are checkpointed every so many rounds, for tests; from bit 16 on: so many of these
                       chunks are an outer one; 0: as `memory` asks */
} neo_pass_target;

/* What a pass can meet:
 *
 *   - the program is wrong: a diagnostic at its place, and NEO_INPUT
 *   - something cannot be proved, or a limit of the IR is near: a pass that may be switched off leaves
 *     the definition as it is; a required one reports it as above
 *   - what the pass itself made is not as it must be: NEO_INTERNAL, through neo_pass_broken
 *   - memory ends: nothing to do, the runner returns NEO_MEMORY */
typedef neo_status neo_pass_fn(neo_module *m, const neo_pass_target *target);
typedef struct {
  const char *name;
  neo_pass_fn *run;
  const char *meaning;
  bool required; /* cannot be switched off */
  neo_pass_when when;
} neo_pass;

typedef struct {
  bool verify;             /* after every pass */
  const char *const *skip; /* names, null-terminated; may be null */
  const char *dump_after;  /* name or "all"; may be null */
  void (*dump)(void *ctx, const char *pass, const neo_module *m, bool changed);
  void *dump_ctx;
  void (*done)(void *ctx, const char *pass); /* after each that ran; may be null */
  void *done_ctx;
  /* After each pass that changed something: holds what the module computes against what it computed before, and
   * reports a difference; a failure ends the run. May be null. */
  neo_status (*check)(void *ctx, neo_module *m, const char *pass);
  void *check_ctx;
  /* Before each pass; true: the run ends with NEO_INTERRUPTED. May be null. */
  bool (*cancelled)(const void *ctx);
  const void *cancelled_ctx;
  const char **failed; /* gets the name of a pass that fails; may be null */
} neo_pass_options;

/* Runs the passes in order, each with `target`; stops at the first failure, or when a pass has
 * reported errors (NEO_INPUT). A failure has a diagnostic, but for the end of memory (NEO_MEMORY):
 * after that the module may only be given up. */
neo_status neo_passes_run(neo_module *m, const neo_pass_target *target, const neo_pass *passes,
                          size_t n, const neo_pass_options *o) NEO_MUST_CHECK;

/* A bug in a pass: reports at the definition what is not as it must be. Returns NEO_INTERNAL. */
neo_status neo_pass_broken(neo_module *m, neo_def d, const char *what) NEO_MUST_CHECK;
