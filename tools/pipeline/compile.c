/* The pipeline: front, passes, kernels, emit. Each stage is one function, called in order. */
#include "tools/pipeline/compile.h"
#include "autodiff/autodiff.h"
#include "base/hash.h"
#include "base/machine.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tools/pipeline/emit.h"
#include "tools/pipeline/lower.h"
#include "transform/transform.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SOURCE_LIMIT_BYTES = 4 << 20 };

static const neo_pass passes[] = {
#define X(name, fn, required, when, meaning) {name, fn, meaning, required, NEO_WHEN_##when},
#include "tools/pipeline/passes.def"
#undef X
};

const neo_pass *neo_compile_pass_table(size_t *n) {
  *n = sizeof passes / sizeof *passes;
  return passes;
}

void neo_compilation_init(neo_compilation *c, const neo_compile_options *options) {
  memset(c, 0, sizeof *c);
  c->options = *options;
  neo_alloc from = options->alloc.resize ? options->alloc : neo_alloc_default;
  neo_arena_init(&c->arena, neo_track_begin(&c->track, from), options->on_fail);
  c->clock = neo_cost_now();
}

void neo_compilation_free(neo_compilation *c) {
  neo_parts_end(c);
  if (c->llvm)
    neo_llvm_free(c->llvm);
  neo_arena_free(&c->arena);
  neo_track_end(&c->track);
  memset(c, 0, sizeof *c);
}

/* ---- front */

static bool is_identifier(const char *s) {
  bool good = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
  for (; good && *s; s++)
    good = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
           *s == '_';
  return good;
}

static neo_module *from_expressions(neo_compilation *c, const char *text, size_t n) {
  neo_frontend_options o = {.import_paths = c->options.import_paths,
                            .n_defines = c->options.n_defines,
                            .proof_quota = c->options.proof_quota,
                            .defines = c->options.defines};
  return neo_frontend(&c->arena, c->names, c->diags, c->options.path, text, n, &o);
}

static bool is_ir_text(const char *text, size_t n) {
  return n >= 7 && memcmp(text, "neo-ir ", 7) == 0;
}

static bool for_gpu(const neo_compilation *c) {
  return c->options.target && strncmp(c->options.target, "nvptx", 5) == 0;
}

static neo_status take_target(neo_compilation *c, neo_target *t, const char **why) {
  neo_status s = neo_target_choose(&c->arena, c->options.target, c->options.mcpu, t, why);
  const neo_machine *profile = c->options.machine;
  return s || !profile || neo_target_take(&c->arena, t, profile, why) ? s : NEO_UNSUPPORTED;
}

/* What passes ask of the target: threads to fill, dots of pairs. A target that there is not is told
 * of where kernels are made. */
static neo_pass_target describe_target(neo_compilation *c) {
  neo_target t;
  const char *why;
  if (take_target(c, &t, &why))
    return (neo_pass_target){0};
  return (neo_pass_target){.gpu_threads = t.sm ? (uint32_t)neo_machine_busy_threads(&t.machine) : 0,
                           .bf16_pairs = neo_target_pairs(&t) != 0};
}

static neo_status front(neo_compilation *c) {
  char *text;
  size_t n;
  const char *path = c->options.path;
  c->names = neo_names_new(&c->arena);
  c->sources = neo_sources_new(&c->arena);
  c->diags = neo_diags_new(&c->arena, c->sources);
  neo_status s = neo_file_read(&neo_io_default, &c->arena, path, SOURCE_LIMIT_BYTES + 1, &text, &n);
  if (s == NEO_FORMAT) {
    c->why = neo_arena_printf(&c->arena, "%s: source is larger than 4 MiB", path);
    return NEO_INPUT;
  }
  if (s) {
    c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(errno));
    return s;
  }
  c->prefix = c->options.prefix ? c->options.prefix
                                : neo_plan_ident(&c->arena, neo_path_stem(&c->arena, path));
  if (!is_identifier(c->prefix)) {
    c->why =
        neo_arena_printf(&c->arena, "'%s' is no C identifier: choose one with --prefix", c->prefix);
    return NEO_ARGUMENT;
  }
  c->module = is_ir_text(text, n) ? neo_module_parse(&c->arena, c->names, c->diags, path, text, n)
                                  : from_expressions(c, text, n);
  if (!c->module || neo_diags_errors(c->diags))
    return NEO_INPUT;
  neo_proofs_limit(c->module, c->options.proof_quota);
  c->module->math = (uint8_t)c->options.math;
  c->module->store = (uint8_t)c->options.store;
  return c->options.prepare ? c->options.prepare(c->options.prepare_ctx, c->module) : NEO_OK;
}

/* ---- passes */

static void pass_done(void *ctx, const char *pass) {
  neo_cost_add(ctx, pass);
}

/* Does what the pass waits for hold? */
static bool is_wanted(const neo_compilation *c, const neo_pass *p) {
  switch (p->when) {
  case NEO_WHEN_CPU:
    return !for_gpu(c);
  case NEO_WHEN_CACHES:
    return neo_fuse_caches(&c->options.fusion);
  default:
    return true;
  }
}

static size_t passes_to_run(const neo_compilation *c, neo_pass *out) {
  size_t n = 0;
  for (size_t k = 0; k < sizeof passes / sizeof *passes; k++)
    if (is_wanted(c, &passes[k]))
      out[n++] = passes[k];
  return n;
}

static neo_status run_passes(neo_compilation *c) {
  neo_pass table[sizeof passes / sizeof *passes];
  neo_pass_options o = c->options.passes;
  o.done = pass_done;
  o.done_ctx = c;
  neo_str why;
  neo_str_init(&why, &c->arena);
  if (neo_module_verify(c->module, &why)) {
    c->why = neo_arena_printf(&c->arena, "after the frontend: %s", neo_str_text(&why));
    return NEO_INTERNAL;
  }
  neo_pass_target target = describe_target(c);
  neo_status s = neo_passes_run(c->module, &target, table, passes_to_run(c, table), &o);
  if (s && s != NEO_INPUT)
    c->why = "a pass failed, or broke the IR (use --dump-after=all to see how)";
  return s;
}

/* ---- kernels */

static neo_status choose_target(neo_compilation *c) {
  neo_status s = take_target(c, &c->target, &c->why);
  if (!s && c->target.sm)
    s = neo_target_choose(&c->arena, NULL, NULL, &c->host, &c->why);
  if (s)
    return s;
  c->target.split = c->target.sm && c->options.math == NEO_PRECISION_3XTF32;
  if (!c->target.sm)
    c->host = c->target;
  c->machine = neo_target_machine(&c->target);
  return NEO_OK;
}

/* The records count by what was taken from them: those for other models change nothing. */
static const char *source_hash(neo_compilation *c) {
  neo_str s;
  uint64_t h[2];
  neo_str_init(&s, &c->arena);
  neo_module_print(c->module, &s);
  neo_str_addf(&s, "%s %s %s %s", c->prefix, c->target.triple, c->target.features, NEO_VERSION);
  if (c->target.sm)
    neo_str_addf(&s, " %s", c->target.device);
  if (c->target.profile)
    neo_str_addf(&s, " profile %s", c->target.profile);
  for (size_t g = 0; g < c->schedule_from.n; g++)
    if (c->schedule_from.at[g])
      neo_str_addf(&s, " %zu: %s", g, c->schedule_from.at[g]->schedule);
  neo_hash128(neo_str_text(&s), s.n, h);
  return neo_arena_printf(&c->arena, "%016llx%016llx", (unsigned long long)h[0],
                          (unsigned long long)h[1]);
}

static neo_status fuse(neo_compilation *c) {
  neo_fuse_options o = c->options.fusion;
  if (c->machine.gpu) /* one thread after the other is no way to add up rows there */
    o.off |= 1u << NEO_FUSE_COLUMNS;
  if (!o.profile)
    o.profile = &c->machine.profile;
  return neo_fuse_with(c->module, &c->arena, &o, &c->grouping, &c->decisions);
}

static neo_grids grids_of(const neo_compilation *c) {
  if (c->options.fusion.off >> NEO_FUSE_GRID & 1)
    return NEO_GRIDS_NONE;
  return c->options.every_grid ? NEO_GRIDS_EVERY : NEO_GRIDS_PRICED;
}

bool neo_compile_has_entries(neo_compilation *c, neo_diag_id otherwise) {
  if (c->module->entries.n)
    return true;
  int h = neo_diag(c->diags, neo_span_of(c->sources, 0, 0, 0), otherwise);
  neo_diag_help(c->diags, h, "name what is wanted: output Y, or train loss using optim.adam()");
  return false;
}

static neo_status kernels(neo_compilation *c) {
  if (!c->options.prepare && !neo_compile_has_entries(c, NEO_D_NO_ENTRY))
    return NEO_INPUT; /* who prepares the module knows what is wanted of it */
  neo_status s = choose_target(c);
  if (!s)
    s = neo_compile_read_records(c);
  if (!s)
    s = fuse(c);
  neo_cost_add(c, "fusion");
  if (!s && c->ahead)
    neo_parts_begin(c);
  for (size_t g = 0; !s && g < c->grouping.groups.n; g++) {
    if (!neo_compile_share(c, g))
      s = neo_compile_group(c, &c->grouping.groups.at[g]);
    neo_parts_follow(c);
  }
  neo_compile_report_records(c);
  neo_cost_add(c, "schedules and kernels");
  if (s)
    return s;
  neo_plan_input in = {&c->grouping,
                       c->kernel_of_group.at,
                       c->kernels.at,
                       c->kernels.n,
                       .gpu = c->machine.gpu,
                       .machine = &c->machine,
                       .waits = neo_target_waits(&c->target),
                       .grids = grids_of(c)};
  s = neo_plan_build(c->module, &c->arena, c->prefix, source_hash(c), &in, &c->plan);
  neo_cost_add(c, "plan");
  return s;
}

/* ---- stages with the way out when memory ends */

static neo_status no_memory(neo_compilation *c) {
  size_t defs = c->module ? c->module->defs.n : 0;
  snprintf(
      c->no_memory, sizeof c->no_memory,
      "out of memory with %zu definitions: each round of a `repeat` is definitions of its own, "
      "so fewer rounds need less (-D NAME=N)",
      defs);
  c->why = c->no_memory;
  return NEO_MEMORY;
}

static neo_status stage(neo_compilation *c, neo_status (*run)(neo_compilation *)) {
  c->arena.on_fail = &c->on_fail;
  if (setjmp(c->on_fail)) {
    c->arena.on_fail = c->options.on_fail;
    return no_memory(c);
  }
  neo_status s = run(c);
  c->arena.on_fail = c->options.on_fail;
  return s;
}

neo_status neo_compile_front(neo_compilation *c) {
  neo_status s = stage(c, front);
  neo_cost_add(c, "front");
  return s;
}
neo_status neo_compile_passes(neo_compilation *c) {
  return stage(c, run_passes);
}
neo_status neo_compile_kernels(neo_compilation *c) {
  return stage(c, kernels);
}
neo_status neo_compile_emit(neo_compilation *c) {
  neo_status s = stage(c, neo_emit_files);
  neo_cost_add(c, "machine code and files");
  return s;
}

/* A GPU's kernels are made in a child, which is forked while there is one thread. */
static bool can_go_ahead(const neo_compilation *c) {
  return !for_gpu(c) && (c->options.emit & (NEO_EMIT_SO | NEO_EMIT_A)) != 0;
}

neo_status neo_compile_plan(neo_compilation *c) {
  neo_status s = neo_compile_front(c);
  if (!s)
    s = neo_compile_passes(c);
  if (!s)
    s = neo_compile_kernels(c);
  return s;
}

neo_status neo_compile_all(neo_compilation *c) {
  c->ahead = can_go_ahead(c);
  neo_status s = neo_compile_plan(c);
  if (!s)
    s = neo_compile_emit(c);
  if (s)
    neo_parts_end(c); /* reports fork, where it was a bug */
  return s;
}
