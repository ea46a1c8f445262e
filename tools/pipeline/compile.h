/* A compilation, from a model's text to a generated library, stage by stage. The one place that
 * sees every folder.
 *
 *   neo_compilation c;
 *   neo_compilation_init(&c, &options);
 *   s = neo_compile_front(&c);
 *   if (!s) s = neo_compile_passes(&c);
 *   if (!s) s = neo_compile_kernels(&c);
 *   if (!s) s = neo_compile_networks(&c);     // if the options ask for networks
 *   if (!s) s = neo_compile_emit(&c);
 *   print c.diags; neo_compilation_free(&c);
 *
 * Errors in the input are in c.diags (NEO_INPUT); failures of the environment have their text in
 * c.why. A stage that runs out of memory returns NEO_MEMORY. */
#pragma once
#include "codegen/plan/plan.h"
#include "codegen/recurrence.h"
#include "frontend/frontend.h"
#include "fusion/decision.h"
#include "include/neo/neo_net.h"
#include "ir/pass.h"
#include "ir/prove/prove.h"
#include "network/network.h"
#include "tools/pipeline/records.h"
#include "tools/pipeline/track.h"

typedef enum {
  NEO_EMIT_SO = 1,
  NEO_EMIT_A = 2,
  NEO_EMIT_OBJECT = 4,
  NEO_EMIT_HEADER = 8,
  NEO_EMIT_LL = 16,
  NEO_EMIT_JSON = 32,
  NEO_EMIT_ASM = 64,
  NEO_EMIT_PTX = 128,
  NEO_EMIT_CODE = 256, /* an object without the header's functions; in memory */
  /* Outputs that are made of objects (parts.c). */
  NEO_EMIT_OBJECTS = NEO_EMIT_SO | NEO_EMIT_A | NEO_EMIT_OBJECT | NEO_EMIT_CODE
} neo_emit;

typedef enum {
  NEO_RUNTIME_SHARED,
  NEO_RUNTIME_STATIC,
  NEO_RUNTIME_NONE /* symbols are resolved by the program that loads it */
} neo_runtime_kind;

typedef struct {
  const char *path; /* file of the model; for a model given as text, its name in
                                      messages */
  const char *text; /* text of the model; null: read it from the file */
  size_t text_bytes;
  const neo_module_source *modules; /* modules that are found before files */
  int n_modules;
  bool no_folder;                  /* imports are not looked for in the folder of `path` */
  bool in_memory;                  /* outputs go to neo_compilation.outputs, not into files */
  const char *const *import_paths; /* null-terminated, the shipped library last */
  const neo_define_option *defines;
  int n_defines;
  const neo_plan_name *names; /* for programs, see neo_plan_rename */
  int n_names;
  const char *prefix;         /* null: the file's stem */
  bool unseen;                /* the library is not visible to others: the stem need not be an
                                 identifier */
  const char *out_dir;        /* null: the current folder */
  unsigned emit;              /* neo_emit bits */
  const char *target, *mcpu;  /* see neo_target_choose */
  const neo_machine *machine; /* a profile instead of the target's row; null: none */
  neo_runtime_kind runtime;
  const char *lib_dir; /* where libneort is, for linking */
  const char *depfile; /* null: none */
  neo_pass_options passes;
  bool check_facts;          /* compare the results of passes and kernels with interpreters
                              (facts.h) */
  neo_fuse_options fusion;   /* profile null: that of the target */
  neo_precision math, store; /* precision of contractions' operands; of intermediate tensors in
                                memory */
  bool reassociate;          /* linear recurrences may be computed in blocks */
  bool batch_kinds;          /* as in neo_pass_target */
  bool pure;                 /* entries have no state (pure.c) */
  bool network;              /* the library also has the networks of training entries */
  uint32_t network_nodes;    /* see neo_net_options.nodes */
  bool derived;              /* the text is a module after neo_compile_derive */
  uint64_t proof_quota;      /* see neo_proofs_limit */
  int64_t unroll;            /* see neo_frontend_options */
  const char *records_dir;   /* folder of the shipped records; null: do not read them */
  const neo_records_source *records; /* further ones, in order; null: none */
  const neo_records *more_records;   /* after these; null: none */
  /* Called between frontend and passes, to change the module; may be null. */
  neo_status (*prepare)(void *ctx, neo_module *m);
  void *prepare_ctx;
  /* Chooses a group's schedule instead of records and model, for tests; may be null. */
  neo_schedule (*schedule)(void *ctx, struct neo_compilation *c, const neo_group *g);
  neo_segment_schedule *segment_schedule; /* inside of recurrences; null: the model's */
  void *schedule_ctx;                     /* for both functions */
  bool
      every_grid; /* for tests: each grid that can be one persistent kernel is, whatever the gain */
  neo_loops loops; /* kind of loops for recurrences in the plan */
  /* Iterations per block, for tests: recurrences are treated as if they were long and large. 0: as
   * the costs say. */
  uint32_t tile_iterations;
  /* Iterations between checkpoints of recurrences, for tests; 0: as `fusion.memory` requires. */
  uint32_t chunk_iterations;
  const char *cache; /* folder of the cache of compiled code; null: none */
  bool cache_named;  /* the user named it, and is told if it cannot be written */
  /* Called on the compiling thread as work gets done: "12 of 340" if `of` is not 0; may be null. */
  void (*progress)(void *ctx, const char *what, size_t done, size_t of);
  void *progress_ctx;
  const volatile int32_t *cancel; /* not 0: the compilation ends soon, with NEO_INTERRUPTED; may be
                                     null */
  neo_alloc alloc;                /* all zero: the default */
  jmp_buf *on_fail; /* target of longjmp when memory ends between stages; null: abort */
} neo_compile_options;

enum { NEO_MOST_COSTS = 64 };
typedef struct { /* the cost of a stage or pass */
  const char *stage;
  double seconds; /* CPU time of this process, all its threads */
  neo_prover_stats proofs;
} neo_cost;

typedef struct { /* an output in memory, one of a kind */
  neo_emit kind;
  const char *data;
  size_t size_bytes;
} neo_output;

typedef struct { /* object code, to be linked with others */
  const char *data;
  size_t size_bytes;
} neo_object;

typedef struct {
  const char *name;
  int64_t frame_bytes, lower_bound_bytes;
} neo_entry_memory;

typedef struct { /* sizes of a library, for reports */
  size_t kernels;
  NEO_VEC(neo_entry_memory) entries; /* without those of initial values */
  int64_t param_bytes, state_bytes, cached_bytes, scratch_bytes;
} neo_summary;

typedef struct { /* a kernel of a recurrence, by what it does */
  uint64_t key[2];
  uint32_t number;
} neo_loop_kernel;

/* A group inside of a recurrence's loops, which has a schedule. Its kernel may be a part of a
 * larger one. */
typedef struct {
  const neo_group *of; /* the recurrence */
  uint32_t number;     /* number among the schedules of the recurrence */
  const neo_group *g;
  const neo_machine *machine; /* as the group may use it */
  neo_schedule schedule;
  const neo_record *from; /* the record of the schedule; null: the schedule is the model's */
  double saved_s;         /* neo_recurrence_options.price */
  uint32_t kernel;        /* the compilation's; UINT32_MAX: none */
} neo_segment;

typedef struct neo_parts neo_parts;

typedef struct neo_compilation {
  neo_compile_options options;
  neo_track track; /* everything below is allocated through it */
  neo_arena arena;
  jmp_buf on_fail;
  neo_names *names;
  neo_sources *sources;
  neo_diags *diags;
  const char *why;         /* the last failure that is not a diagnostic */
  char no_memory[200];     /* `why` if memory ended: a text that needs no allocation */
  const char *failed_pass; /* null: none failed */
  const char *prefix;
  neo_module *module;
  NEO_VEC(neo_network *) networks; /* one for each training entry, if asked for */
  NEO_VEC(neo_object) network_objects;
  neo_target target;
  neo_target host; /* target of the record and the thin entries: the target, or a GPU's host */
  NEO_VEC(neo_plan_image) images;
  neo_machine machine;
  neo_grouping grouping;
  neo_records records;
  size_t shipped_records, foreign_groups, foreign_record; /* see records.c */
  int records_remark;
  NEO_VEC(neo_schedule) schedules; /* one per group */
  NEO_VEC(const neo_record *)
  schedule_from;                        /* the record of the schedule; null: the schedule is
                                                the model's */
  NEO_VEC(uint32_t) kernel_of_group;    /* a recurrence has its first kernel here */
  NEO_VEC(neo_plan_tree) tree_of_group; /* loops instead of a kernel */
  NEO_VEC(neo_plan_kernel) kernels;
  neo_map kernel_names;                  /* hash of a name -> kernels that have it */
  NEO_VEC(neo_loop_kernel) loop_kernels; /* kernels of recurrences */
  NEO_VEC(neo_segment) segments;         /* groups in recurrences */
  struct neo_searched *searched; /* results of the model's search; null: none (searched.h) */
  neo_decisions decisions;       /* decisions of fusion */
  neo_plan *plan;
  struct neo_fact_check *facts; /* null: facts are not checked */
  neo_llvm *llvm;
  bool in_llvm;                /* this thread has entered LLVM (emit.h) */
  NEO_VEC(neo_output) outputs; /* the outputs asked for, except libraries */
  NEO_VEC(neo_object) objects; /* the objects that libraries are linked of, in this order */
  struct neo_code_use *code;   /* the cache; null: none (code.h) */
  const char *code_refused;    /* why there is none; null: it was not asked for */
  bool found;                  /* only outputs, objects and summary hold the result */
  neo_summary summary;
  const char *staging; /* the temporary folder of the files; null: none yet (publish.c) */
  neo_parts *parts;    /* machine code being made by threads; null: none */
  bool overlaps;       /* threads begin while kernels are being lowered */
  neo_cost costs[NEO_MOST_COSTS]; /* in order: of passes and stages */
  uint32_t n_costs;
  double clock; /* time of the last entry */
} neo_compilation;

/* The compilation must not move afterwards. */
void neo_compilation_init(neo_compilation *c, const neo_compile_options *options);
/* Ends the compilation: its threads, its files that were not published, and its arena. */
void neo_compilation_free(neo_compilation *c);
/* Text -> module. A file named *.ir, or that begins with "neo-ir", is IR text. */
neo_status neo_compile_front(neo_compilation *c) NEO_MUST_CHECK;
/* Whether the model has an entry, after the front; if not, reports `otherwise`. */
bool neo_compile_has_entries(neo_compilation *c, neo_diag_id otherwise);
neo_status
neo_compile_passes(neo_compilation *c) NEO_MUST_CHECK; /* gradients and transformations */
neo_status
neo_compile_kernels(neo_compilation *c) NEO_MUST_CHECK; /* groups, schedules, loop IR, plan */
neo_status neo_compile_emit(neo_compilation *c) NEO_MUST_CHECK; /* LLVM, files */
/* The verified kernel of a group with a schedule, in the compilation's arena. After a failure *why
 * has a text. (lower.c) */
neo_status neo_compile_lower(neo_compilation *c, const neo_group *g, const neo_schedule *s,
                             neo_kernel **out, const char **why) NEO_MUST_CHECK;
/* The kernel that contains the segment, with another schedule for it, all else as in the
 * compilation. Loops are divided into kernels as there. Fails if a loop over single rows would be
 * lost, except for a `reference`, whose sums may have any order. A failure has its text in *why.
 * The kernel is in the compilation's arena. (lower.c) */
neo_status neo_compile_segment(neo_compilation *c, const neo_segment *x, const neo_schedule *s,
                               bool reference, neo_kernel **out, const char **why) NEO_MUST_CHECK;
/* Adds the time since the last call, or since the compilation began, as the cost of `stage`.
 * (cost.c) */
void neo_cost_add(neo_compilation *c, const char *stage);
/* Reports the progress of the compilation to its caller. (cost.c) */
void neo_progress(const neo_compilation *c, const char *what, size_t done, size_t of);
/* Whether the caller has cancelled the compilation. Stages check between passes, groups and parts,
 * and then end with NEO_INTERRUPTED. Any thread may call this. (cost.c) */
bool neo_cancelled(const neo_compilation *c);
/* Threads that make machine code of kernels while others are still being lowered, for a library
 * that is linked in the end. neo_parts_begin starts them; neo_parts_follow hands over the kernels
 * that exist by now; neo_parts_end gives up their work and ends them, and does nothing after
 * neo_emit_objects. (parts.c) */
void neo_parts_begin(neo_compilation *c);
void neo_parts_follow(neo_compilation *c);
void neo_parts_end(neo_compilation *c);
/* The first three stages: everything that can be known without writing files. */
neo_status neo_compile_plan(neo_compilation *c) NEO_MUST_CHECK;
/* Looks for the results in the cache, if there is one: c->found. */
neo_status neo_compile_find(neo_compilation *c) NEO_MUST_CHECK;
/* After neo_compile_kernels: compiles the actors of the networks, for neo_compile_emit to link.
 * (build.c) */
neo_status neo_compile_networks(neo_compilation *c) NEO_MUST_CHECK;
/* All stages, or their results from the cache: then c->found is set, and there is no module,
 * grouping or plan. (build.c) */
neo_status neo_compile_all(neo_compilation *c) NEO_MUST_CHECK;
/* The summary of a build, in the compilation's arena. (summary.c) */
neo_summary neo_compile_summary(neo_compilation *c);
/* The bit of a kind of output, by its name ("so", "ll") of n bytes; 0: there is no such kind.
 * (emit.c) */
unsigned neo_emit_of(const char *name, size_t n);
/* The table of passes, *n rows in their order; it lives as long as the program. */
const neo_pass *neo_compile_pass_table(size_t *n);

/* The model's record as the generated library will have it, except that its kernels only fail. For
 * describing it; valid as long as the compilation. (emit.c) */
neo_rt_model neo_compile_model(neo_compilation *c);

/* A compiled model in this process: it is linked in a temporary folder and opened, and the folder
 * is removed. The runtime that this program is linked with runs its kernels. (load.c) */
typedef struct {
  void *handle;
  const neo_rt_model *model;
} neo_library;
/* After neo_compile_kernels. Errors are in c->why. */
neo_status neo_library_make(neo_compilation *c, neo_library *out) NEO_MUST_CHECK;
/* Opens an existing library. `prefix` null: take it from the file's name, "libmlp.so". *why gets a
 * message. */
neo_status neo_library_open(neo_arena *a, const char *path, const char *prefix, neo_library *out,
                            const char **why) NEO_MUST_CHECK;
/* The network of a training entry, by the entry's name, in a library that this compilation made;
 * null: the entry has none. Owned by the library. (load.c) */
const neo_rt_net *neo_library_net(neo_compilation *c, const neo_library *l, const char *entry);
/* Closes a library; an empty one is allowed. */
void neo_library_close(neo_library *l);

/* Turns all floats of the module into f64; constants keep their values. Call it before the passes.
 * (f64.c) */
void neo_module_widen(neo_module *m);
/* The value of an expression over constants and sizes; sizes[id]. (sizes.c) */
int64_t neo_size_value(const neo_module *m, neo_expr e, const int64_t *sizes);
/* Sizes in the order of kernels (neo_size_number), in the arena; an index of a loop is in the
 * middle of its range. (sizes.c) */
int64_t *neo_sizes_by_number(const neo_module *m, neo_arena *a, const int64_t *sizes);
/* The bounds of the elements of an integer tensor (ir/element.h) at these sizes. */
typedef struct {
  bool given;
  uint32_t rank;
  int64_t extent[16], least, below, by_least[16], by_below[16];
  /* The tensor has offsets, or is cut into lists by offsets (neo_tensor_rec.offsets): its ends make
   * valid lists. */
  bool offsets, listed;
  int64_t lists, edges;
} neo_ends_at;
neo_ends_at neo_tensor_ends_at(neo_module *m, neo_tensor t, const int64_t *sizes);
/* The bounds of one element, by its number in row-major order. */
void neo_ends_of_element(const neo_ends_at *e, int64_t element, int64_t *least, int64_t *below);
/* The bounds that hold for all elements. */
void neo_ends_of_all(const neo_ends_at *e, int64_t *least, int64_t *below);
/* The positions of a tensor's elements at these sizes, in the memory that holds it. */
typedef struct {
  uint32_t rank;
  int64_t first, extent[16], stride[16];
} neo_cells_at;
/* The number of elements in the memory that holds a tensor, at these sizes; the extents of the
 * tensor with that memory go to `extent` (may be null). */
int64_t neo_tensor_elements_at(const neo_module *m, neo_tensor t, const int64_t *sizes,
                               int64_t extent[16]);

/* Versions of LLVM and isl. (llvm_version.c, isl_version.c) */
const char *neo_llvm_version_text(neo_arena *a);
const char *neo_isl_version_text(neo_arena *a);
/* An address inside of each of these libraries, never null. */
const void *neo_llvm_place(void);
const void *neo_isl_place(void);

/* Runs a program (looked up in PATH) and waits for it; *output is its stderr. NEO_IO if it fails.
 * (spawn.c) */
neo_status neo_spawn(neo_arena *a, const char *const *argv, char **output) NEO_MUST_CHECK;

/* Whether PATH has a program of this name. (spawn.c) */
bool neo_on_path(const char *name);
/* The program's path; null: there is none. (spawn.c) */
const char *neo_program_path(neo_arena *a, const char *name);

/* Paths of the shipped library, libneort and so on: in the folder of the running program, or
 * ../share/neo/std etc. beside it. Null: not found. (place.c) */
const char *neo_place_std(neo_arena *a);
const char *neo_place_records(neo_arena *a);
const char *neo_place_zoo(neo_arena *a);     /* known networks, to start from */
const char *neo_place_agents(neo_arena *a);  /* AGENTS.md */
const char *neo_place_gallery(neo_arena *a); /* operators of the gallery, to start from */
const char *neo_place_lib(neo_arena *a);
const char *neo_place_measurer(neo_arena *a); /* the program itself */
const char *neo_place_include(neo_arena *a);

/* The reason why a library must not have this name; null: it may (names.c). */
const char *neo_library_name_taken(neo_arena *a, const char *name);
