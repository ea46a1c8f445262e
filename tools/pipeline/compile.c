/* The pipeline: front, passes, kernels, emit. Each stage is one function, called in order. */
#include "tools/pipeline/compile.h"
#include "base/clock.h"
#include "base/deep.h"
#include "base/hash.h"
#include "fusion/concat.h"
#include "fusion/overlay.h"
#include "ir/print.h"
#include "tools/pipeline/code.h"
#include "tools/pipeline/emit.h"
#include "tools/pipeline/facts.h"
#include "tools/pipeline/lower.h"
#include "tools/pipeline/network.h"
#include "tools/pipeline/stages.h"
#include <stdio.h>
#include <string.h>

enum { SMALL_BYTES = 64 << 10 };

void neo_compilation_init(neo_compilation *c, const neo_compile_options *options) {
  memset(c, 0, sizeof *c);
  c->options = *options;
  neo_alloc from = options->alloc.resize ? options->alloc : neo_alloc_default;
  neo_arena_init(&c->arena, neo_track_begin(&c->track, from), options->on_fail);
  neo_map_init(&c->kernel_names, &c->arena);
  c->clock = neo_clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

void neo_compilation_free(neo_compilation *c) {
  neo_parts_end(c);
  neo_code_end(c);
  neo_emit_discard(c);
  if (c->llvm) {
    neo_emit_enter(c);
    neo_llvm_free(c->llvm);
    neo_emit_leave(c);
  }
  neo_arena_free(&c->arena);
  neo_track_end(&c->track);
  memset(c, 0, sizeof *c);
}

/* ---- front */

static neo_module *from_expressions(neo_compilation *c, const char *text, size_t n) {
  neo_frontend_options o = {.import_paths = c->options.import_paths,
                            .modules = c->options.modules,
                            .n_modules = c->options.n_modules,
                            .no_folder = c->options.no_folder,
                            .n_defines = c->options.n_defines,
                            .proof_quota = c->options.proof_quota,
                            .unroll = c->options.unroll,
                            .looked = neo_code_looked,
                            .looked_ctx = c,
                            .defines = c->options.defines};
  return neo_frontend(&c->arena, c->names, c->diags, c->options.path, text, n, &o);
}

static bool is_ir_text(const char *text, size_t n) {
  return n >= 7 && memcmp(text, "neo-ir ", 7) == 0;
}

static neo_status parse_source(neo_compilation *c, const char *text, size_t n) {
  c->module = is_ir_text(text, n)
                  ? neo_module_parse(&c->arena, c->names, c->diags, c->options.path, text, n)
                  : from_expressions(c, text, n);
  return !c->module || neo_diags_errors(c->diags) ? NEO_INPUT : NEO_OK;
}

/* Applies the options to the module. */
static neo_status prepare(neo_compilation *c) {
  neo_proofs_limit(c->module, c->options.proof_quota);
  c->module->math = (uint8_t)c->options.math;
  c->module->store = (uint8_t)c->options.store;
  if (c->options.pure)
    neo_module_make_pure(c->module);
  return c->options.prepare ? c->options.prepare(c->options.prepare_ctx, c->module) : NEO_OK;
}

static neo_status front(neo_compilation *c) {
  const char *text;
  size_t n;
  neo_status s = neo_compile_begin(c, &text, &n);
  if (!s)
    s = parse_source(c, text, n);
  if (!s)
    s = prepare(c);
  return s ? s : neo_compile_cut(c);
}

/* ---- kernels */

/* The hash of the source. Records count only with the schedules that were used: records for other
 * models change nothing. */
static const char *source_hash(neo_compilation *c) {
  uint64_t h[2];
  neo_str s = neo_str_in(&c->arena);
  neo_module_print(c->module, &s);
  neo_str_addf(&s, "%s %s %s %s", c->prefix, c->target.triple, c->target.features, NEO_VERSION);
  if (c->target.sm)
    neo_str_addf(&s, " %s", c->target.device);
  if (c->target.profile)
    neo_str_addf(&s, " profile %s", c->target.profile);
  for (size_t g = 0; g < c->schedule_from.n; g++)
    if (c->schedule_from.at[g])
      neo_str_addf(&s, " %zu: %s", g, c->schedule_from.at[g]->schedule);
  for (size_t k = 0; k < c->segments.n; k++)
    if (c->segments.at[k].from)
      neo_str_addf(&s, " segment %zu: %s", k, c->segments.at[k].from->schedule);
  neo_hash128(neo_str_text(&s), s.n, h);
  return neo_arena_printf(&c->arena, "%016llx%016llx", (unsigned long long)h[0],
                          (unsigned long long)h[1]);
}

/* The options of fusion, with the machine's prices. */
static neo_fuse_options fusion_options(const neo_compilation *c) {
  neo_fuse_options o = c->options.fusion;
  o.consumers_join = o.consumers_join || c->options.tile_iterations;
  o.recurrences.tile_iterations = c->options.tile_iterations;
  o.recurrences.blocks_only = o.recurrences.predicated = c->machine.gpu;
  if (c->machine.gpu) /* a GPU cannot add up rows one after the other in a thread */
    o.off |= 1u << NEO_FUSE_COLUMNS;
  if (!o.profile)
    o.profile = &c->machine.profile;
  return o;
}

static bool has_recurrences(neo_compilation *c) {
  neo_module *m = c->module;
  neo_def *defs;
  bool has = false;
  neo_tensor *all = NEO_NEW_ARRAY(&c->arena, neo_tensor, m->tensors.n);
  for (uint32_t k = 1; k < m->tensors.n; k++)
    all[k - 1].i = k;
  (void)neo_module_topo(m, all, m->tensors.n - 1, &c->arena, &defs, &has);
  return has;
}

static neo_status fuse(neo_compilation *c) {
  /* transformations that save memory of a backward pass apply only if there is one */
  c->module->recurrent = has_recurrences(c) || c->options.fusion.memory != NEO_FUSE_FAST;
  neo_fuse_options o = fusion_options(c);
  neo_status status = neo_fuse_with(c->module, &c->arena, &o, &c->grouping, &c->decisions);
  if (!status && !(o.off >> NEO_FUSE_CONCAT & 1))
    neo_grouping_coalesce(c->module, &c->arena, o.profile, &c->grouping);
  if (!status) /* a GPU runs kernels that share no memory at the same time */
    neo_grouping_overlay(c->module, &c->arena, c->machine.gpu ? SMALL_BYTES : 0, &c->grouping);
  if (!status && !c->machine.gpu)
    neo_grouping_find_over(c->module, &c->grouping);
  return status;
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

/* Makes schedules and loop IR of all groups; meanwhile other threads may begin to generate machine
 * code. */
static neo_status make_kernels(neo_compilation *c) {
  neo_status s = NEO_OK;
  neo_code_begin(c);
  if (c->overlaps)
    neo_parts_begin(c);
  for (size_t g = 0; !s && g < c->grouping.groups.n; g++) {
    if (neo_cancelled(c))
      return NEO_INTERRUPTED;
    if (!neo_compile_share(c, g))
      s = neo_compile_group(c, &c->grouping.groups.at[g]);
    if (!s)
      neo_compile_price(c, g);
    if (!s)
      neo_compile_report_keyed(c, g);
    neo_parts_follow(c);
    neo_progress(c, "schedules and kernels", g + 1, c->grouping.groups.n);
  }
  neo_compile_report_records(c);
  neo_cost_add(c, "schedules and kernels");
  return s;
}

static neo_status make_plan(neo_compilation *c) {
  neo_plan_input in = {&c->grouping,           c->kernel_of_group.at,
                       c->tree_of_group.at,    c->kernels.at,
                       c->kernels.n,           .gpu = c->machine.gpu,
                       .machine = &c->machine, .waits = neo_target_waits(&c->target),
                       .grids = grids_of(c),   .frugal = c->options.fusion.memory != NEO_FUSE_FAST};
  neo_status s = neo_plan_build(c->module, &c->arena, c->prefix, source_hash(c), &in, &c->plan);
  neo_cost_add(c, "plan");
  return s;
}

/* Reports the entries whose planned memory exceeds the limit. The tensors saved for a backward pass
 * are chosen before memory is planned, so the plan may need more than was asked for. */
static void report_memory(neo_compilation *c) {
  int64_t most = c->options.fusion.memory;
  size_t at = 0;
  for (size_t k = 0; k < c->module->entries.n && most > 0; k++) {
    const neo_entry_rec *e = &c->module->entries.at[k];
    if (e->kind == NEO_ENTRY_INIT)
      continue;
    int64_t bytes = c->plan->entries.at[at++].frame_bytes;
    if (e->kind != NEO_ENTRY_FORWARD && bytes > most)
      (void)neo_diag(c->diags, e->span, NEO_D_PLANNED_MEMORY,
                     neo_name_text(c->module->names, e->name), (long long)bytes, (long long)most);
  }
}

static neo_status kernels(neo_compilation *c) {
  if (!c->options.prepare && !neo_compile_has_entries(c, NEO_D_NO_ENTRY))
    return NEO_INPUT; /* the caller that prepares the module knows the reason */
  neo_status s = neo_compile_choose_target(c);
  if (!s)
    s = neo_compile_read_records(c);
  if (!s)
    s = fuse(c);
  neo_cost_add(c, "fusion");
  if (!s)
    s = make_kernels(c);
  if (!s)
    s = make_plan(c);
  if (!s)
    report_memory(c);
  return !s && c->facts ? neo_fact_check_plan(c) : s;
}

/* ---- stages that return when memory ends */

static neo_status no_memory(neo_compilation *c) {
  size_t defs = c->module ? c->module->defs.n : 0;
  snprintf(c->no_memory, sizeof c->no_memory,
           "out of memory%s%s with %zu definitions: each iteration of a `repeat` has its own "
           "definitions, so fewer iterations need less (-D NAME=N)",
           c->failed_pass ? " in the pass " : "", c->failed_pass ? c->failed_pass : "", defs);
  c->why = c->no_memory;
  return NEO_MEMORY;
}

typedef struct {
  neo_compilation *c;
  neo_status (*run)(neo_compilation *);
  neo_status status;
} stage_call;

static void run_stage(void *ctx) {
  stage_call *x = ctx;
  neo_compilation *c = x->c;
  c->arena.on_fail = &c->on_fail;
  if (neo_cancelled(c))
    x->status = NEO_INTERRUPTED;
  else
    x->status = setjmp(c->on_fail) ? no_memory(c) : x->run(c);
  neo_emit_leave(c);
  if (x->status == NEO_INTERRUPTED)
    c->why = "cancelled";
  c->arena.on_fail = c->options.on_fail;
}

static neo_status stage(neo_compilation *c, neo_status (*run)(neo_compilation *)) {
  stage_call x = {c, run, NEO_OK};
  neo_deep_run(run_stage, &x);
  return x.status == NEO_MEMORY && !c->why ? no_memory(c) : x.status;
}

neo_status neo_compile_front(neo_compilation *c) {
  neo_status s = stage(c, front);
  neo_cost_add(c, "front");
  return s;
}
neo_status neo_compile_passes(neo_compilation *c) {
  return stage(c, neo_compile_run_passes);
}
neo_status neo_compile_kernels(neo_compilation *c) {
  return stage(c, kernels);
}
neo_status neo_compile_emit(neo_compilation *c) {
  neo_status s = stage(c, neo_emit_files);
  neo_emit_discard(c);
  neo_cost_add(c, "machine code and files");
  return s;
}

/* A GPU's kernels are made in a child, which is forked while there is one thread. */
static bool can_overlap(const neo_compilation *c) {
  return !neo_compile_for_gpu(c) && (c->options.emit & NEO_EMIT_OBJECTS) != 0;
}

neo_status neo_compile_plan(neo_compilation *c) {
  neo_status s = neo_compile_front(c);
  if (!s)
    s = neo_compile_passes(c);
  if (!s)
    s = neo_compile_kernels(c);
  return s;
}

static neo_status look_up(neo_compilation *c) {
  neo_code_begin(c);
  neo_code_find(c);
  return NEO_OK;
}

neo_status neo_compile_find(neo_compilation *c) {
  c->overlaps = can_overlap(c);
  neo_status s = c->options.cache ? stage(c, look_up) : NEO_OK;
  if (c->code)
    neo_cost_add(c, "cache");
  return s;
}
