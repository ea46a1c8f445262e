/* For tools/pipeline: the plan of a library, from groups to buffers with planned offsets, steps and
 * entries; then the constant neo_rt_model, the thin entries of the generated library, and its
 * header.
 *
 * Storage of tensors: inputs and outputs are in the caller's memory; parameters, states and
 * settings in the context; constants in the library; roots of groups that fusion marked as cached
 * in the context, too (plan/call_cache.c). Everything else is in the frame, whose offsets are
 * planned for each entry at the largest sizes (codegen/dsa); offsets at smaller sizes follow from
 * the order of buffers in that plan (plan/places.c). The new version of a parameter or state is
 * written in place if every reader of the old one has run, or is the writing kernel itself at the
 * same element; otherwise it is in the frame, and is copied at the end. */
#pragma once
#include "base/machine.h"
#include "codegen/llvm/emit.h"
#include "codegen/lower/lower.h"
#include "fusion/recurrence.h"
#include "include/neo/neo_rt.h"
#include "ir/prove/prove.h"

typedef struct { /* a kernel of the library: one for all groups with equal keys */
  neo_kernel *kernel;
  const char *symbol; /* "<prefix>_k3_H" */
  neo_kernel *fast;   /* its variant for machines that also have the features `needs`; null: none */
  const char *fast_symbol, *needs;
  int32_t block; /* threads of a block on a GPU; 0: code of a processor */
  int32_t block_units;
  bool keyless;    /* the kernel reads none of seed, step and call */
  bool uneven;     /* the work of its units depends on data */
  bool ends_early; /* a loop in it may end before its last iteration */
} neo_plan_kernel;

typedef struct {  /* C view of an entry's argument */
  int32_t tensor; /* number in `tensors` */
} neo_plan_arg;

typedef struct { /* a persistent kernel, of consecutive steps (plan/cooperative.c) */
  const char *symbol;
  neo_rt_grid rt;              /* device_symbol is null: the record names the symbol */
  int32_t levels, phases;      /* levels: the length of the longest chain of dependent kernels */
  double separate_s, joined_s; /* launches and barriers, by grid.def */
} neo_plan_grid;

typedef struct
{ /* the number of steps of an entry for a GPU, and the length of its longest chain */
  const char *entry;
  int32_t steps, levels;
} neo_plan_chain;

typedef struct { /* a tensor in the frame of an entry */
  int32_t entry;
  neo_tensor tensor;
  int32_t buf;
  int64_t offset, size_bytes; /* at the largest sizes */
  int32_t first, last;        /* the steps of the entry, from 0, during which it is alive */
} neo_plan_place;

typedef struct neo_plan {
  neo_module *m;
  neo_arena *arena;
  const char *prefix, *source_hash;
  NEO_VEC(neo_plan_kernel) kernels;
  NEO_VEC(neo_rt_size) sizes;
  NEO_VEC(neo_rt_assert) asserts;
  NEO_VEC(neo_rt_tensor) tensors;
  NEO_VEC(neo_rt_buf) bufs;
  NEO_VEC(neo_rt_map) maps;
  NEO_VEC(neo_rt_kernel) rt_kernels; /* fn is null: the record names the symbol */
  NEO_VEC(neo_rt_step) steps;
  NEO_VEC(neo_rt_loop) loops;
  NEO_VEC(neo_rt_entry) entries;
  NEO_VEC(neo_plan_grid) grids;
  NEO_VEC(neo_rt_grid_part) grid_parts;
  NEO_VEC(neo_plan_chain) chains;  /* none for a processor */
  NEO_VEC(int32_t) step_group;     /* [step] its group; -1: a copy */
  NEO_VEC(uint8_t) step_depth;     /* [step] the number of loops around it */
  NEO_VEC(neo_plan_place) places;  /* entry after entry */
  NEO_VEC(neo_rt_place) rt_places; /* entry after entry */
  NEO_VEC(int32_t) places_below;
  NEO_VEC(const char *) entry_symbols; /* the C function of each entry */
  /* Identifiers of tensors, sizes and entries in the model's text, if neo_plan_rename has run; else
   * empty. */
  NEO_VEC(const char *) tensor_idents, size_idents, entry_idents;
  NEO_VEC(int32_t) extents;
  NEO_VEC(int32_t) args;
  NEO_VEC(neo_tensor) arg_tensors; /* [args] their tensors */
  NEO_VEC(int32_t) entry_args;
  NEO_VEC(int32_t) entry_sizes;
  NEO_VEC(neo_rt_cached) cached;
  NEO_VEC(int32_t) cached_sources;
  NEO_VEC(int32_t) entry_writes;
  NEO_VEC(int64_t) programs;
  NEO_VEC(char) const_data;
  int64_t param_bytes, state_bytes, cached_bytes, frame_bytes, scratch_bytes;
  neo_map program_of; /* expression -> program */
} neo_plan;

/* The runs of steps that become persistent kernels: those that pay by their prices, none, or, for
 * tests, every one that can. */
typedef enum { NEO_GRIDS_PRICED, NEO_GRIDS_NONE, NEO_GRIDS_EVERY } neo_grids;

typedef struct { /* a launch of a kernel in the tree of a recurrence */
  uint32_t kernel;
  NEO_VEC(neo_tensor) tensors; /* the kernel's buffers, without scratch */
} neo_plan_mark;

/* The tree of a recurrence (codegen/recurrence.h): mark k stands for marks.at[k]. */
typedef struct {
  const neo_tree *root; /* null: the group is one kernel */
  NEO_VEC(neo_plan_mark) marks;
} neo_plan_tree;

/* The kernel number of a group without a kernel (neo_group.in_parts), whose tree is an empty
 * sequence. */
#define NEO_NO_KERNEL UINT32_MAX

/* Groups with their kernels, as the caller lowered them; groups with equal keys share a kernel. */
typedef struct {
  const neo_grouping *grouping;
  const uint32_t *kernel_of_group;
  const neo_plan_tree *tree_of_group; /* by recurrence's group: the tree in place of a kernel */
  const neo_plan_kernel *kernels;
  size_t n_kernels;
  const neo_machine *machine; /* the machine of the kernels */
  bool gpu,
      waits; /* kernels are for a GPU; they wait for earlier ones themselves (neo_target_waits) */
  neo_grids grids;
  bool
      /* groups that free memory run as early as possible, if that makes the frame smaller */
      frugal;
} neo_plan_input;

/* Builds the plan of all entries of m; memory is the arena's. prefix: of the library's functions;
 * source_hash: of the model's text, for the record. NEO_INPUT: a diagnostic says what the plan
 * cannot have. */
neo_status neo_plan_build(neo_module *m, neo_arena *a, const char *prefix, const char *source_hash,
                          const neo_plan_input *in, neo_plan **out) NEO_MUST_CHECK;

typedef struct {
  const char *ident, *name; /* in the model's text; for programs */
} neo_plan_name;
/* Gives tensors, sizes and entries other names in the record (outside.c); the header's identifiers
 * stay. NEO_ARGUMENT: *why has the fault of the table. It is in the plan's arena. */
neo_status neo_plan_rename(neo_plan *p, const neo_plan_name *name, size_t n,
                           const char **why) NEO_MUST_CHECK;

/* The kernels of a persistent grid in the order of its steps; memory is the arena's.
 * (plan/cooperative.c) */
neo_grid_part *neo_plan_grid_parts(const neo_plan *p, const neo_plan_grid *g, neo_arena *a);

typedef struct { /* code of the kernels for a GPU, embedded in the record */
  enum neo_rt_image_kind kind;
  const void *data;
  size_t n;
} neo_plan_image;
/* Adds the model record, `<prefix>_model`, to the LLVM module (record.c). t is the target of the
 * kernels; if it is a GPU, the module is still for a processor. */
void neo_plan_emit(const neo_plan *p, const neo_target *t, const neo_plan_image *image,
                   size_t n_images, neo_llvm *l);
/* Adds the functions of the header: thin entries that call the runtime. Programs that call the
 * runtime themselves need the record alone. (record.c) */
void neo_plan_emit_functions(const neo_plan *p, const neo_target *t, neo_llvm *l);
/* The k-th function that every library has, without the prefix: "create"; null: there are no more.
 * (record.c) */
const char *neo_plan_function(size_t k);
/* A hash of the header: names, numbers, types and shapes, in their order. Programs for one library
 * cannot use another one with a different hash. (header.c) */
uint64_t neo_plan_interface(const neo_plan *p);
/* A network of the library (neo/neo_net.h), as its header declares it. */
typedef struct {
  const char *symbol, *entry; /* "mlp_net"; the training entry */
  const char *const *inputs;  /* in the order in which an instance gives them */
  size_t n_inputs, n_sizes;   /* run-time sizes: the first ones of the plan */
} neo_plan_network;
/* The C header of the generated library, with its n networks (header.c). */
void neo_plan_header(const neo_plan *p, const neo_plan_network *networks, size_t n, neo_str *out);
/* C identifier of a tensor's or entry's name: "h.W" -> "h_W". */
char *neo_plan_ident(neo_arena *a, const char *name);
