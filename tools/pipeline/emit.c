/* Writes the files asked for into the output folder, with names made from the prefix:
 *
 *   lib<prefix>.so  lib<prefix>.a  <prefix>.o  <prefix>.h  <prefix>.ll  <prefix>.s
 *   <prefix>.json
 *
 * A compilation in memory has the same as its outputs, except the libraries. */
#include "tools/pipeline/emit.h"
#include "base/file.h"
#include "tools/pipeline/code.h"
#include "tools/pipeline/merge.h"
#include "tools/pipeline/network.h"
#include <errno.h>
#include <string.h>

/* Makes one LLVM module for the outputs that are one text (assembly, LLVM IR); objects are made in
 * parts. */
static neo_status build_llvm(neo_compilation *c) {
  unsigned here = c->target.sm ? NEO_EMIT_ASM : NEO_EMIT_ASM | NEO_EMIT_LL;
  if (!(c->options.emit & here))
    return NEO_OK;
  neo_status s = neo_llvm_new(&c->arena, &c->host, c->prefix, &c->llvm, &c->why);
  for (size_t k = 0; !s && !c->target.sm && k < c->kernels.n; k++)
    s = neo_cancelled(c) ? NEO_INTERRUPTED : neo_emit_kernel(c->llvm, &c->kernels.at[k], &c->why);
  if (s)
    return s;
  neo_plan_emit(c->plan, &c->target, c->images.at, c->images.n, c->llvm);
  neo_plan_emit_functions(c->plan, &c->target, c->llvm);
  return neo_llvm_finish(c->llvm, &c->why);
}

static neo_status make_header(neo_compilation *c) {
  neo_str s = neo_str_in(&c->arena);
  neo_plan_network *networks = NEO_NEW_ARRAY(&c->arena, neo_plan_network, c->networks.n + 1);
  for (size_t k = 0; k < c->networks.n; k++)
    networks[k] = neo_network_declared(c, c->networks.at[k]);
  neo_plan_header(c->plan, networks, c->networks.n, &s);
  return neo_emit_put(c, NEO_EMIT_HEADER, neo_str_text(&s), s.n);
}

static int32_t no_kernel(const neo_rt_args *args) {
  (void)args;
  return 1;
}

/* The kernel table of a record that only answers questions: the runtime requires kernels, and these
 * fail when they are called. */
static const neo_rt_kernel *kernels_of(neo_compilation *c) {
  size_t n = c->plan->rt_kernels.n;
  neo_rt_kernel *k = NEO_NEW_ARRAY(&c->arena, neo_rt_kernel, n + 1);
  for (size_t i = 0; i < n; i++) {
    k[i] = c->plan->rt_kernels.at[i];
    k[i].fn = no_kernel;
    k[i].device_symbol = c->target.sm ? c->plan->kernels.at[i].symbol : NULL;
    k[i].block = c->plan->kernels.at[i].block;
    k[i].block_units = c->plan->kernels.at[i].block_units;
    k[i].needs = NULL;
  }
  return k;
}

static const neo_rt_grid *grids_of(neo_compilation *c) {
  size_t n = c->plan->grids.n;
  neo_rt_grid *g = NEO_NEW_ARRAY(&c->arena, neo_rt_grid, n + 1);
  for (size_t i = 0; i < n; i++) {
    g[i] = c->plan->grids.at[i].rt;
    g[i].device_symbol = c->plan->grids.at[i].symbol;
  }
  return g;
}

neo_rt_model neo_compile_model(neo_compilation *c) {
  const neo_plan *p = c->plan;
  neo_rt_model m = {.name = neo_name_text(c->names, c->module->name), .prefix = c->prefix};
  m.abi = NEO_RT_ABI;
  m.source_hash = p->source_hash;
  m.target = c->target.triple;
  m.features = c->target.rt_features;
  m.n_sizes = (int32_t)p->sizes.n, m.sizes = p->sizes.at;
  m.n_tensors = (int32_t)p->tensors.n, m.tensors = p->tensors.at;
  m.n_bufs = (int32_t)p->bufs.n, m.bufs = p->bufs.at;
  m.n_kernels = (int32_t)p->rt_kernels.n, m.kernels = kernels_of(c);
  m.n_steps = (int32_t)p->steps.n, m.steps = p->steps.at;
  m.n_entries = (int32_t)p->entries.n, m.entries = p->entries.at;
  m.extents = p->extents.at, m.args = p->args.at;
  m.entry_args = p->entry_args.at, m.entry_sizes = p->entry_sizes.at, m.programs = p->programs.at;
  m.const_data = p->const_data.at;
  m.param_bytes = p->param_bytes, m.state_bytes = p->state_bytes;
  m.frame_bytes = p->frame_bytes, m.scratch_bytes = p->scratch_bytes;
  m.n_cached = (int32_t)p->cached.n, m.cached = p->cached.at;
  m.cached_sources = p->cached_sources.at, m.entry_writes = p->entry_writes.at;
  m.cached_bytes = p->cached_bytes;
  m.device = c->target.sm ? c->target.level : NULL;
  m.maps = p->maps.at;
  m.n_grids = (int32_t)p->grids.n, m.grids = grids_of(c);
  m.grid_parts = p->grid_parts.at;
  m.n_asserts = (int32_t)p->asserts.n, m.asserts = p->asserts.at;
  m.n_loops = (int32_t)p->loops.n, m.loops = p->loops.at;
  m.interface = neo_plan_interface(p);
  m.n_places = (int32_t)p->rt_places.n, m.places = p->rt_places.at;
  m.n_places_below = (int32_t)p->places_below.n, m.places_below = p->places_below.at;
  return m;
}

static neo_status make_json(neo_compilation *c) {
  neo_rt_model m = neo_compile_model(c);
  size_t n = neo_rt_describe(&m, 1, NULL, 0);
  char *text = neo_arena_alloc(&c->arena, n + 1);
  neo_rt_describe(&m, 1, text, n + 1);
  return neo_emit_put(c, NEO_EMIT_JSON, text, n);
}

static neo_status make_ll(neo_compilation *c) {
  const char *text = neo_llvm_take_text(c->llvm, &c->arena);
  return neo_emit_put(c, NEO_EMIT_LL, text, strlen(text));
}

static neo_status make_asm(neo_compilation *c) {
  const char *text;
  size_t n;
  neo_status s = neo_llvm_take_asm(c->llvm, &c->arena, &text, &n, &c->why);
  return s ? s : neo_emit_put(c, NEO_EMIT_ASM, text, n);
}

static neo_status make_texts(neo_compilation *c) {
  unsigned emit = c->options.emit;
  neo_status s = NEO_OK;
  if (emit & NEO_EMIT_HEADER)
    s = make_header(c);
  if (!s && (emit & NEO_EMIT_JSON))
    s = make_json(c);
  if (!s && (emit & NEO_EMIT_LL) && !c->target.sm)
    s = make_ll(c);
  if (!s && (emit & NEO_EMIT_ASM))
    s = make_asm(c);
  return s;
}

/* Merges the objects into one. Without a library nothing else needs them. */
static neo_status make_object(neo_compilation *c) {
  neo_object whole;
  bool code = !(c->options.emit & NEO_EMIT_OBJECT);
  neo_status s = neo_objects_merge(&c->arena, c->objects.at, c->objects.n, &whole, &c->why);
  if (!(c->options.emit & (NEO_EMIT_SO | NEO_EMIT_A)))
    c->objects.n = 0;
  return s ? s
           : neo_emit_put(c, code ? NEO_EMIT_CODE : NEO_EMIT_OBJECT, whole.data, whole.size_bytes);
}

/* Takes the files that a GPU's child process wrote into the temporary folder. */
static neo_status take_staged(neo_compilation *c) {
  neo_status s = c->staging && c->target.sm ? neo_emit_take(c, NEO_EMIT_LL) : NEO_OK;
  return s || !c->staging ? s : neo_emit_take(c, NEO_EMIT_PTX);
}

/* Makes all outputs except the linked libraries. */
static neo_status make(neo_compilation *c) {
  neo_status s = neo_emit_device(c);
  if (!s)
    s = take_staged(c);
  neo_emit_enter(c);
  if (!s)
    s = build_llvm(c);
  if (!s)
    s = make_texts(c);
  neo_emit_leave(c);
  if (!s && (c->options.emit & NEO_EMIT_OBJECTS))
    s = neo_emit_objects(c);
  for (size_t k = 0; k < c->network_objects.n; k++)
    NEO_PUSH(&c->arena, &c->objects, c->network_objects.at[k]);
  if (!s && (c->options.emit & (NEO_EMIT_OBJECT | NEO_EMIT_CODE)))
    s = make_object(c);
  return s;
}

static neo_status begin_files(neo_compilation *c) {
  const char *folder = neo_emit_folder(c);
  neo_status s = neo_path_make_folder(folder);
  if (s)
    c->why = neo_arena_printf(&c->arena, "%s: %s", folder, strerror(errno));
  return s ? s : neo_emit_stage(c);
}

static neo_status rename_all(neo_compilation *c) {
  return neo_plan_rename(c->plan, c->options.names, (size_t)c->options.n_names, &c->why);
}

neo_status neo_emit_files(neo_compilation *c) {
  bool in_memory = c->options.in_memory;
  neo_status s = c->found ? NEO_OK : rename_all(c);
  if (!s && !in_memory)
    s = begin_files(c);
  if (!s)
    s = c->found ? neo_emit_put_all(c) : make(c);
  if (!s)
    s = neo_emit_binaries(c);
  if (s)
    return s;
  neo_code_keep(c);
  return in_memory ? NEO_OK : neo_emit_publish(c);
}
