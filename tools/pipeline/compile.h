/* The whole way from a model's text to a generated library, stage by stage. The one place that
 * sees every folder.
 *
 *   neo_compilation c;
 *   neo_compilation_init(&c, &options);
 *   s = neo_compile_front(&c);
 *   if (!s) s = neo_compile_passes(&c);
 *   if (!s) s = neo_compile_kernels(&c);
 *   if (!s) s = neo_compile_emit(&c);
 *   print c.diags; neo_compilation_free(&c);
 *
 * Errors in the input are in c.diags (NEO_INPUT); failures of the environment have their text in
 * c.why. Running out of memory in any stage returns NEO_MEMORY from it. */
#pragma once
#include "codegen/plan/plan.h"
#include "codegen/recurrence.h"
#include "frontend/frontend.h"
#include "fusion/decision.h"
#include "ir/pass.h"
#include "ir/prove.h"
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
  /* All that is made of objects (parts.c). */
  NEO_EMIT_OBJECTS = NEO_EMIT_SO | NEO_EMIT_A | NEO_EMIT_OBJECT | NEO_EMIT_CODE
} neo_emit;

typedef enum {
  NEO_RUNTIME_SHARED,
  NEO_RUNTIME_STATIC,
  NEO_RUNTIME_NONE /* resolved by whoever loads it */
} neo_runtime_kind;

typedef struct {
  const char *path;                /* of the model; with a text: its name in messages */
  const char *text;                /* of the model; null: it is read from the file */
  size_t text_bytes;
  const neo_module_source *modules; /* that are found before files */
  int n_modules;
  bool no_folder; /* imports are not looked for beside `path` */
  bool in_memory; /* what is made goes to neo_compilation.outputs, and not into files */
  const char *const *import_paths; /* null-terminated, the shipped library last */
  const neo_define_option *defines;
  int n_defines;
  const neo_plan_name *names; /* for programs, see neo_plan_rename */
  int n_names;
  const char *prefix;         /* null: the file's stem */
  bool unseen;                /* nobody sees the library: a stem that is no identifier will do */
  const char *out_dir;        /* null: the current folder */
  unsigned emit;              /* neo_emit bits */
  const char *target, *mcpu;  /* see neo_target_choose */
  const neo_machine *machine; /* a profile in place of the target's row; null: none */
  neo_runtime_kind runtime;
  const char *lib_dir; /* where libneort is, for linking */
  const char *depfile; /* null: none */
  neo_pass_options passes;
  bool check_facts;        /* what is derived is held against what interpreters compute (facts.h) */
  neo_fuse_options fusion; /* profile null: that of the target */
  neo_precision math, store; /* of operands of contractions; of intermediate tensors in memory */
  bool reassociate;          /* linear recurrences may be computed in blocks */
  bool batch_kinds;          /* as in neo_pass_target */
  bool pure;                 /* entries keep nothing (pure.c) */
  uint64_t proof_quota;      /* see neo_proofs_limit */
  int64_t unroll;            /* see neo_frontend_options */
  const char *records_dir;   /* of the shipped records; null: they are not read */
  const neo_records_source *records; /* further ones, in order; null: none */
  const neo_records *more_records;   /* after these; null: none */
  /* Called between frontend and passes, to change the module; may be null. */
  neo_status (*prepare)(void *ctx, neo_module *m);
  void *prepare_ctx;
  /* Chooses a group's schedule in place of records and model, for tests; may be null. */
  neo_schedule (*schedule)(void *ctx, struct neo_compilation *c, const neo_group *g);
  neo_segment_schedule *segment_schedule; /* inside of recurrences; null: the model's */
  void *schedule_ctx;                     /* of both */
  bool
      every_grid; /* every grid that can be one persistent kernel is, whatever that saves: for tests */
  neo_loops loops; /* of recurrences, in the plan */
  uint32_t
      tile_rounds; /* rounds of a block where recurrences are treated as if they were long and large, for
                           tests; 0: what pays */
  uint32_t
      chunk_rounds; /* recurrences are checkpointed every so many rounds, for tests; 0: as `fusion.memory`
                            asks */
  const char *cache; /* folder of the cache of compiled code; null: none */
  bool cache_named;  /* by the user, who is told if it cannot be written */
  /* Called when something is done, on the thread that compiles: "12 of 340" if `of` is not 0; may be null. */
  void (*progress)(void *ctx, const char *what, size_t done, size_t of);
  void *progress_ctx;
  const volatile int32_t *cancel; /* not 0: it ends soon, with NEO_INTERRUPTED; may be null */
  neo_alloc alloc;  /* all zero: the default */
  jmp_buf *on_fail; /* where to go when memory ends between stages; null: abort */
} neo_compile_options;

typedef struct { /* what a stage or pass took */
  const char *stage;
  double seconds; /* of this process, all its threads */
  neo_prover_stats proofs;
} neo_cost;

typedef struct { /* what was made in memory, one of a kind */
  neo_emit kind;
  const char *data;
  size_t size_bytes;
} neo_output;

typedef struct { /* code, to be linked with others */
  const char *data;
  size_t size_bytes;
} neo_object;

typedef struct {
  const char *name;
  int64_t frame_bytes, lower_bound_bytes;
} neo_entry_memory;

typedef struct { /* of a library, for whoever made it */
  size_t kernels;
  NEO_VEC(neo_entry_memory) entries; /* without those of initial values */
  int64_t param_bytes, state_bytes, cached_bytes, scratch_bytes;
} neo_summary;

typedef struct { /* a kernel of a recurrence, by what it does */
  uint64_t key[2];
  uint32_t number;
} neo_loop_kernel;

/* A group inside of a recurrence's loops, which has a schedule. Its kernel may be a part of a larger one. */
typedef struct {
  const neo_group *of; /* the recurrence */
  uint32_t number;     /* of the schedule, among those of the recurrence */
  const neo_group *g;
  const neo_machine *machine; /* as the group may use it */
  neo_schedule schedule;
  const neo_record *from; /* the record that it is of; null: the model's */
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
  const char *why;         /* of the last failure that is not a diagnostic */
  char no_memory[200];     /* `why` where memory ended: text that needs none */
  const char *failed_pass; /* null: none did */
  const char *prefix;
  neo_module *module;
  neo_target target;
  neo_target host; /* of the record and the thin entries: the target, or a GPU's host */
  NEO_VEC(neo_plan_image) images;
  neo_machine machine;
  neo_grouping grouping;
  neo_records records;
  size_t shipped_records, foreign_groups, foreign_record; /* see records.c */
  int records_remark;
  NEO_VEC(neo_schedule) schedules;           /* one a group */
  NEO_VEC(const neo_record *) schedule_from; /* the record that it is of; null: the model's */
  NEO_VEC(uint32_t) kernel_of_group;         /* of a recurrence its first one */
  NEO_VEC(neo_plan_tree) tree_of_group;      /* of loops, in place of the kernel */
  NEO_VEC(neo_plan_kernel) kernels;
  neo_map kernel_names;                  /* hash of a name -> kernels that have it */
  NEO_VEC(neo_loop_kernel) loop_kernels; /* those of recurrences */
  NEO_VEC(neo_segment) segments;         /* in them */
  struct neo_searched *searched; /* schedules that were searched for; null: none (searched.h) */
  neo_decisions decisions;       /* of fusion */
  neo_plan *plan;
  struct neo_fact_check *facts; /* null: they are not checked */
  neo_llvm *llvm;
  bool in_llvm; /* this thread has entered it (emit.h) */
  NEO_VEC(neo_output) outputs; /* what was asked for, but for libraries */
  NEO_VEC(neo_object) objects; /* of which libraries are linked, in this order */
  struct neo_code_use *code;   /* the cache; null: none (code.h) */
  const char *code_refused;    /* why there is none; null: nobody asked for one */
  bool found; /* what follows the front is in outputs, objects and summary alone */
  neo_summary summary;
  const char *staging; /* the temporary folder of the files; null: none yet (publish.c) */
  neo_parts *parts;    /* machine code that threads make; null: none do */
  bool overlaps;       /* they begin while kernels are lowered */
  neo_cost costs[64];  /* in order: of passes and stages */
  uint32_t n_costs;
  double clock; /* when the last one was added */
} neo_compilation;

/* The compilation may not move afterwards. */
void neo_compilation_init(neo_compilation *c, const neo_compile_options *options);
void neo_compilation_free(neo_compilation *c);
/* Text -> module. A file named *.ir, or that begins with "neo-ir", is IR text. */
neo_status neo_compile_front(neo_compilation *c) NEO_MUST_CHECK;
/* After the front: whether the model has an entry; if not, that is reported as `otherwise`. */
bool neo_compile_has_entries(neo_compilation *c, neo_diag_id otherwise);
neo_status
neo_compile_passes(neo_compilation *c) NEO_MUST_CHECK; /* gradients and transformations */
neo_status
neo_compile_kernels(neo_compilation *c) NEO_MUST_CHECK; /* groups, schedules, loop IR, plan */
neo_status neo_compile_emit(neo_compilation *c) NEO_MUST_CHECK; /* LLVM, files */
/* The kernel of a group by a schedule, verified; in the compilation's arena. After a failure *why
 * has a text. (lower.c) */
neo_status neo_compile_lower(neo_compilation *c, const neo_group *g, const neo_schedule *s,
                             neo_kernel **out, const char **why) NEO_MUST_CHECK;
/* The kernel that has the segment, which gets another schedule; all else is as in the compilation. Loops
 * are divided into kernels as there; fails if a loop over single rows would go, but for a `reference`, whose sums may have any order. (lower.c) */
neo_status neo_compile_segment(neo_compilation *c, const neo_segment *x, const neo_schedule *s,
                               bool reference, neo_kernel **out, const char **why) NEO_MUST_CHECK;
/* Adds what passed since the last call, or since the compilation began, as the cost of `stage`.
 * (cost.c) */
void neo_cost_add(neo_compilation *c, const char *stage);
double neo_cost_now(void);
/* Tells who asked for it how far the compilation is. (cost.c) */
void neo_progress(const neo_compilation *c, const char *what, size_t done, size_t of);
/* Does who asked for it want no more of it? Stages look between passes, groups and parts, and end with
 * NEO_INTERRUPTED then. Any thread may ask. (cost.c) */
bool neo_cancelled(const neo_compilation *c);
/* Threads make machine code of kernels while others are still lowered, for a library that is linked
 * in the end. After them: hands over the kernels that there are by now. At last: what they made is
 * given up, and they end; nothing, where neo_emit_objects has been. (parts.c) */
void neo_parts_begin(neo_compilation *c);
void neo_parts_follow(neo_compilation *c);
void neo_parts_end(neo_compilation *c);
/* The first three: all that is known without files. */
neo_status neo_compile_plan(neo_compilation *c) NEO_MUST_CHECK;
/* All four, or what the cache has of them: then c->found is set, and there is no module, grouping or
 * plan. */
neo_status neo_compile_all(neo_compilation *c) NEO_MUST_CHECK;
/* After a build, in the compilation's arena. (summary.c) */
neo_summary neo_compile_summary(neo_compilation *c);
/* The bit of a kind of output by its name ("so", "ll"), n bytes; 0: there is none. (emit.c) */
unsigned neo_emit_of(const char *name, size_t n);
/* The table of passes. */
const neo_pass *neo_compile_pass_table(size_t *n);

/* The model's record as the generated library will have it, but with kernels that only fail: for
 * describing it. Valid as long as the compilation. (emit.c) */
neo_rt_model neo_compile_model(neo_compilation *c);

/* A compiled model in this process: linked into a temporary folder, opened, and the folder
 * removed. Its kernels are driven by the runtime that this program is linked with. (load.c) */
typedef struct {
  void *handle;
  const neo_rt_model *model;
} neo_library;
/* After neo_compile_kernels. Errors are in c->why. */
neo_status neo_library_make(neo_compilation *c, neo_library *out) NEO_MUST_CHECK;
/* Opens a library that exists. `prefix` null: from the file's name, "libmlp.so". *why gets a
 * message. */
neo_status neo_library_open(neo_arena *a, const char *path, const char *prefix, neo_library *out,
                            const char **why) NEO_MUST_CHECK;
void neo_library_close(neo_library *l);

/* All floats of the module become f64, bits of constants as they were. Before the passes.
 * (f64.c) */
void neo_module_widen(neo_module *m);
/* Value of an expression over constants and sizes; sizes[id]. (sizes.c) */
int64_t neo_size_value(const neo_module *m, neo_expr e, const int64_t *sizes);
/* Sizes as kernels read them (neo_size_number), in the arena; indices of loops are in the middle of what
 * they may be. (sizes.c) */
int64_t *neo_sizes_by_number(const neo_module *m, neo_arena *a, const int64_t *sizes);
/* The ends between which an element of an integer tensor lies (ir/element.h) at these sizes. */
typedef struct {
  bool given;
  uint32_t rank;
  int64_t extent[16], least, below, by_least[16], by_below[16];
  /* Offsets, or what they cut into lists (neo_tensor_rec.offsets): ends are such that they are lists. */
  bool offsets, listed;
  int64_t lists, edges;
} neo_ends_at;
neo_ends_at neo_tensor_ends_at(neo_module *m, neo_tensor t, const int64_t *sizes);
/* Those of one element, by its number in row-major order. */
void neo_ends_of_element(const neo_ends_at *e, int64_t element, int64_t *least, int64_t *below);
/* Those that all elements keep. */
void neo_ends_of_all(const neo_ends_at *e, int64_t *least, int64_t *below);
/* Where the elements of a tensor lie at these sizes, in the memory that holds it. */
typedef struct {
  uint32_t rank;
  int64_t first, extent[16], stride[16];
} neo_cells_at;
neo_cells_at neo_tensor_cells_at(const neo_module *m, neo_tensor t, const int64_t *sizes);
/* The place of one element, which there is, by its number in row-major order. */
int64_t neo_cell_of_element(const neo_cells_at *c, int64_t element);
/* Elements of the memory that holds a tensor at these sizes; the extents of the tensor that has that memory go to
 * `extent` (may be null). */
int64_t neo_tensor_elements_at(const neo_module *m, neo_tensor t, const int64_t *sizes,
                               int64_t extent[16]);

/* Versions of the libraries that do the work. (llvm_version.c, isl_version.c) */
const char *neo_llvm_version_text(neo_arena *a);
const char *neo_isl_version_text(neo_arena *a);
/* Addresses in these libraries. */
const void *neo_llvm_place(void);
const void *neo_isl_place(void);

/* Runs a program (looked up in PATH) and waits; *output gets what it wrote to stderr. NEO_IO if
 * it fails. (spawn.c) */
neo_status neo_spawn(neo_arena *a, const char *const *argv, char **output) NEO_MUST_CHECK;

/* Is there a program of this name in PATH? (spawn.c) */
bool neo_on_path(const char *name);
/* Where; null: there is none. (spawn.c) */
const char *neo_program_path(neo_arena *a, const char *name);

/* The folder of the running program, then ../share/neo/std and so on beside it: where the shipped
 * library and libneort are. Null if they cannot be found. (place.c) */
const char *neo_place_std(neo_arena *a);
const char *neo_place_records(neo_arena *a);
const char *neo_place_zoo(neo_arena *a);     /* known networks, to start from */
const char *neo_place_agents(neo_arena *a);  /* AGENTS.md */
const char *neo_place_gallery(neo_arena *a); /* operators of the gallery, to start from */
const char *neo_place_lib(neo_arena *a);
const char *neo_place_measurer(neo_arena *a); /* the program itself */
const char *neo_place_include(neo_arena *a);

/* Why a library must not have this name; null: it may (names.c). */
const char *neo_library_name_taken(neo_arena *a, const char *name);
