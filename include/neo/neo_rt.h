/* neo_rt.h: the runtime ABI of generated libraries, and the generic API over it (libneort).
 *
 * A generated library has kernels, one constant neo_rt_model, and thin entries under the model's
 * prefix which call the functions below. It has no mutable data: everything that changes is in a
 * neo_rt_ctx. libneort needs libc, libm and threads, nothing else.
 *
 * Threads: a context is used by one thread at a time; different contexts (of one model or of
 * several) may run in different threads. No function allocates while an entry runs: a call whose
 * sizes need more memory than any before gets it first, and changes nothing if there is none
 * (NEO_RT_E_MEMORY). A context with an arena of the caller's never allocates for a call. Entries
 * compute with rounding to nearest and without traps, whatever the caller's floating-point
 * environment is, and leave that unchanged.
 *
 * Errors: a function that returns neo_rt_status returns NEO_RT_OK, or the code of the failure;
 * for functions of a context, neo_rt_error then has the message. */
#ifndef NEO_RT_H
#define NEO_RT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NEO_RT_ABI 19 /* add-only within a version */
#ifndef NEO_RT_API
#define NEO_RT_API __attribute__((visibility("default")))
#endif

/* Status codes; the same values as base/status.def. 0 is success. */
enum neo_rt_code {
  NEO_RT_OK,
  NEO_RT_E_ARGUMENT,
  NEO_RT_E_SHAPE,
  NEO_RT_E_TYPE,
  NEO_RT_E_NULL,
  NEO_RT_E_RANGE, /* an index value outside of its bound */
  NEO_RT_E_MEMORY,
  NEO_RT_E_IO,
  NEO_RT_E_FORMAT, /* malformed file */
  NEO_RT_E_ABI,
  NEO_RT_E_NAME,
  NEO_RT_E_STATE, /* not allowed now */
  NEO_RT_E_INTERNAL = 13,
  NEO_RT_E_INTERRUPTED = 14, /* by neo_rt_config.cancel */
  NEO_RT_E_UNSUPPORTED = 15,
  NEO_RT_E_HEADER = 16 /* the header is not the library's */
};
typedef int32_t neo_rt_status;

/* Element types, in the order of the compiler's type table. f16/bf16 are stored as 16 bits, bool as
 * one byte 0 or 1. */
enum neo_rt_type {
  NEO_RT_F64,
  NEO_RT_F32,
  NEO_RT_F16,
  NEO_RT_BF16,
  NEO_RT_I64,
  NEO_RT_I32,
  NEO_RT_I8,
  NEO_RT_U8,
  NEO_RT_BOOL
};

/* Memory classes. An address is base[class] + offset; in the frame, the offset is that at the
 * call's sizes (neo_rt_place). */
enum neo_rt_mem {
  NEO_RT_MEM_CALLER,  /* a caller's tensor of this call: `offset` is the tensor's number */
  NEO_RT_MEM_PARAM,   /* parameters; lives as long as the context */
  NEO_RT_MEM_STATE,   /* state, optimizer state, settable inputs; lives as long as the context */
  NEO_RT_MEM_FRAME,   /* intermediate values of one call; planned, buffers share addresses over
                         time */
  NEO_RT_MEM_TAPE,    /* versions that loops save for their gradient */
  NEO_RT_MEM_SCRATCH, /* per worker */
  NEO_RT_MEM_CONST,   /* constant data in the library: `offset` into the model's const_data */
  NEO_RT_MEM_CACHED   /* call-invariant values; lives as long as the context */
};

enum neo_rt_role {
  NEO_RT_ROLE_INPUT,   /* given by the caller on each call that needs it */
  NEO_RT_ROLE_SETTING, /* an input with a default: the context keeps it until it is set */
  NEO_RT_ROLE_PARAM,
  NEO_RT_ROLE_STATE, /* declared state, and optimizer state */
  NEO_RT_ROLE_OUTPUT /* returned to the caller by an entry */
};

/* Alignment of planned memory, of a worker's scratch memory, and of a caller's arena. Kernels rely
 * on it. */
enum { NEO_RT_ALIGN_BYTES = 64 };

/* A kernel's arguments. `buf[k]` is the address of its k-th buffer (NEO_RT_ALIGN_BYTES for planned
 * memory, element-aligned for a caller's). `size` are the run-time sizes in the model's order.
 * `key` = {seed, step, call}. A kernel computes its units of work lo <= u < hi. Units are
 * independent and their boundaries do not depend on the number of threads, so any number of threads
 * gives the same bits. `scratch` is this worker's own memory. Returns 0. */
typedef struct {
  void *const *buf;
  const int64_t *size;
  const uint64_t *key;
  int64_t lo, hi;
  void *scratch;
} neo_rt_args;
typedef int32_t neo_rt_fn(const neo_rt_args *args);

/* Size programs: reverse Polish code over int64 in neo_rt_model.programs; a program is named by its
 * start. */
enum neo_rt_op {
  NEO_RT_OP_END,   /* the result is on the stack */
  NEO_RT_OP_CONST, /* followed by the value */
  NEO_RT_OP_SIZE,  /* followed by the number of a run-time size */
  NEO_RT_OP_ADD,
  NEO_RT_OP_SUB,
  NEO_RT_OP_MUL,
  NEO_RT_OP_DIV, /* floor; by 0 gives 0 */
  NEO_RT_OP_MOD, /* floor modulo; by 0 gives 0 */
  NEO_RT_OP_MIN,
  NEO_RT_OP_MAX
};

typedef struct { /* a run-time size: `dim B <= 256` */
  const char *name;
  int64_t lo, hi;
} neo_rt_size;

typedef struct { /* a condition on the sizes of a call: `assert T % P == 0` */
  const char *text, *place;
  int32_t program; /* not 0 if the condition holds */
} neo_rt_assert;

typedef struct {            /* a tensor that the caller can name */
  const char *name, *place; /* place: "mlp.expr:7:9" */
  uint8_t role, type, rank;
  uint8_t in_safetensors; /* saved and loaded: parameters and states */
  uint8_t optimizer;      /* a state of an optimizer, or an entry's own count of steps */
  int32_t extent;         /* first of `rank` entries in neo_rt_model.extents, each a program */
  int32_t bound;          /* program: elements must be in [0, bound); -1: no bound */
  /* 0: none; else 1 + the first of 2 + 2*rank entries in neo_rt_model.extents, each a program: the
   * inclusive lower and the exclusive upper end of the first element (-1: no such end), then the
   * constants that each index adds to these. */
  int32_t ends;
  int32_t buf; /* the buffer of its elements */
  /* 0: none; else 1 + the number of a tensor of rank 1. If it is this tensor, its elements begin
   * with 0, are nondecreasing, and end with bound - 1. If it is another one, that cuts the elements
   * of this tensor into lists, and each element is below the number of its list. */
  int32_t offsets;
} neo_rt_tensor;

typedef struct { /* a tensor, or the part of it, from some element to its end, that a kernel uses */
  uint8_t mem;
  uint8_t type;
  int64_t offset;     /* bytes in its class, at the largest sizes; see neo_rt_mem */
  int64_t size_bytes; /* at the largest sizes */
  int64_t shift;      /* CALLER: bytes from the tensor's address on; else 0 */
  int32_t whole;      /* number + 1 of the buffer that it is a part of, or its own; 0: not known.
                         Steps that write parts of one write different elements */
  int32_t place;      /* FRAME: a whole buffer's number in places + 1; 0: it has none */
} neo_rt_buf;

typedef struct {
  const char *name;
  neo_rt_fn *fn;
  int32_t units;         /* program: number of units of work; may be 0 */
  int64_t scratch_bytes; /* per worker; of fn and fast */
  /* The same computation for machines that have more, up to the rounding of sums: a context uses
   * `fast`, on its own units, if the machine has all features that it needs when the context is
   * created, and the system lets the process use them. The choice is one for the context. */
  const char *needs; /* "amx-tile,amx-bf16"; null: there is no such variant */
  neo_rt_fn *fast;
  int32_t fast_units;
  /* On a GPU fn is null: the kernel is this function of the model's images, launched with `block`
   * threads in a block, which run `block_units` units, and scratch_bytes of shared memory. Its
   * parameters: buffers, then as i64 the model's sizes, seed, step, call and number of units, then
   * the maps neo_rt_model.maps[first_map ..], of 128 bytes each. A persistent one's blocks take
   * unit after unit, as many as there are blocks apart: at most `persistent` are launched for each
   * multiprocessor of the device. */
  const char *device_symbol;
  int32_t block, block_units;
  int32_t first_map, n_maps;
  int32_t persistent; /* 0: a block for each block_units */
} neo_rt_kernel;

/* A tensor as a GPU's copy engine (TMA) sees it: CUtensorMap, of tiles, with a swizzle of 128
 * bytes, zero outside. The first axis' elements lie side by side. */
enum { NEO_RT_MAP_RANK = 5, NEO_RT_MOST_MAPS = 4, NEO_RT_MOST_SIZES = 64 };
typedef struct {
  int32_t arg; /* number among the kernel's buffers */
  uint8_t type, rank;
  int32_t extent[NEO_RT_MAP_RANK];       /* programs */
  int32_t box[NEO_RT_MAP_RANK];          /* elements that are copied at once */
  int64_t stride_bytes[NEO_RT_MAP_RANK]; /* multiples of 16; of the first axis not used */
} neo_rt_map;

/* Code of all kernels for a GPU, as the driver loads it. */
enum neo_rt_image_kind {
  NEO_RT_IMAGE_PTX,  /* text, NUL-terminated; compiled by the driver */
  NEO_RT_IMAGE_CUBIN /* machine code of one generation */
};
typedef struct {
  uint8_t kind;
  const void *data;
  int64_t size_bytes;
} neo_rt_image;

enum neo_rt_step_op {
  NEO_RT_STEP_RUN,  /* run kernel `arg` on buffers args[first .. first+n) */
  NEO_RT_STEP_COPY, /* args[first] = args[first+1], `arg` = program of the number of bytes */
  NEO_RT_STEP_LOOP  /* run the next n steps in each iteration of loops[arg]; `first` is 0 except for
                      BLOCKS, ASKS and ENDS */
};
/* flags */
enum {
  NEO_RT_STEP_KEYLESS = 1, /* the kernel does not read seed, step and call */
  /* On a GPU: its kernel accesses memory only after the kernels launched before it have ended
   * (griddepcontrol.wait), so it may be launched while they are running. */
  NEO_RT_STEP_WAITS = 2,
  NEO_RT_STEP_BLOCKS = 4, /* a loop over blocks of rows, which are in args[first] */
  NEO_RT_STEP_UNEVEN = 8, /* the work of a unit of its kernel depends on data */
  /* Loops over blocks of rows, on processors. The last blocks may have one row each. WIDE: the
   * iterations are the blocks before these. SERIAL: one iteration, with the rows of all of
   * these. */
  NEO_RT_STEP_WIDE = 16,
  NEO_RT_STEP_SERIAL = 32,
  /* The loop ends if an element of args[first], a tensor of bools, is false. */
  NEO_RT_STEP_ASKS = 64,
  /* Iterations from an element of args[first] on, a tensor of i32 or i64, do not run. */
  NEO_RT_STEP_ENDS = 128,
  NEO_RT_STEP_WHOLE = 256 /* a loop over blocks of rows, all of them in one iteration */
};
typedef struct {
  uint8_t op;
  uint16_t flags;
  /* RUN: it writes its last n_written buffers, which it does not read, and only reads the others;
   * 0: it may read and write them all. */
  uint16_t n_written;
  int32_t arg, first, n;
  int32_t cached; /* 0: runs in every call; k + 1: only if cached[k] is out of date */
} neo_rt_step;

/* The iterations of a loop: lo <= index < hi, with programs lo and hi that are evaluated before the
 * first one. The index is a size that the caller does not give: kernels, and programs of steps
 * inside of the loop, read its value in the present iteration. A loop without an index is a
 * condition: lo is 0, hi 0 or 1. A loop that ASKS reads an element before each iteration, and ends
 * if it is false. One that ENDS reads an element before the first iteration. Only processors run
 * such loops. */
typedef struct {
  int32_t index; /* number of a size; -1: none */
  int32_t lo, hi;
  int32_t down; /* not 0: from the last iteration to the first */
  /* Numbers of sizes; -1: the iterations are no blocks. Otherwise iteration b has the rows t[b] ..
   * t[b + 1] - 1 of a tensor t of i32, which become the sizes begin and end; an iteration without
   * rows is skipped. */
  int32_t begin, end;
  int32_t element; /* for a loop that ASKS or ENDS: program of the element's number; if it is
                      negative, the iteration runs */
} neo_rt_loop;

/* A call-invariant value, which a step writes to CACHED memory: it follows from parameters, states
 * and settings alone. It is out of date when the context is new, and after one of these was
 * written: by set, load or reset, or by an entry that updates it. If the caller can write to one at
 * any time (bound, or after neo_rt_view), it is always out of date. */
typedef struct {
  int32_t sources, n_sources; /* cached_sources[sources ..]: numbers of tensors */
} neo_rt_cached;

/* Consecutive steps that a GPU may run as one cooperative kernel, including loops. Its blocks, all
 * resident at the same time, run the blocks of the steps' kernels phase by phase, those of a loop
 * iteration by iteration, and wait for one another in between. The kernel is the function
 * device_symbol, with `block` threads and scratch_bytes of shared memory. Its parameters: each
 * step's buffers (for a loop over blocks of rows, the tensor of their first rows), then as i64 the
 * model's sizes, seed, step, call, each step's number of units (the kernel counts those of steps in
 * its loops itself), and the address of 4 bytes that are 0 before its first launch. A kernel whose
 * threads run units (block_units > 1) has a unit for each of the `block` threads here. */
typedef struct {
  const char *name, *device_symbol;
  int32_t first_step, n_steps;
  int32_t part; /* grid_parts[part .. part+n_steps) */
  int32_t block;
  int64_t scratch_bytes;
} neo_rt_grid;
typedef struct {
  int32_t phase; /* from 0, among the steps of the loop around it. A step depends only on steps of
                    earlier phases or, if both are lone, of its own. A loop that is not lone is
                    alone in its phase */
  /* It has at most one block, or is a loop of such steps. The lone steps of a phase run in turn. */
  int32_t lone;
  int32_t meets; /* a loop only: all blocks meet between two iterations */
} neo_rt_grid_part;

enum neo_rt_entry_kind {
  NEO_RT_ENTRY_FORWARD,
  NEO_RT_ENTRY_TRAIN,
  NEO_RT_ENTRY_GRAD,
  NEO_RT_ENTRY_INIT
};
typedef struct {
  const char *name; /* "forward", "test", "step", "grad", "init" */
  uint8_t kind;
  /* Not 0: a loop may end before its last iteration, and its tensors' elements for iterations that
   * do not run stay untouched. */
  uint8_t ends_early;
  int32_t first_step, n_steps;
  int32_t args, n_args;   /* entry_args[args ..]: the caller's tensors in header order */
  int32_t n_inputs;       /* the first ones are inputs, the others outputs */
  int32_t sizes, n_sizes; /* entry_sizes[sizes ..]: sizes that the call gives, in header order */
  int64_t frame_bytes, lower_bound_bytes; /* planned peak, and the largest sum live at one time */
  int32_t writes, n_writes; /* entry_writes[writes ..]: parameters and states that it updates */
  int32_t places, n_places; /* places[places ..]: the buffers of its frame at the sizes of a call;
                               n_places 0: their offsets hold at all sizes */
} neo_rt_entry;

/* A buffer of an entry's frame, or a height in it. At the sizes of a call it begins at the highest
 * end of the places below it, which are earlier ones: end = offset + bytes, rounded up to 64. So
 * buffers that are live at the same time do not overlap at any sizes, and no buffer is above its
 * offset at the largest sizes. Parts of a buffer (neo_rt_buf.whole) move with it. */
typedef struct {
  int64_t offset;         /* at the largest sizes */
  int32_t buf;            /* a whole buffer; -1: a height, of no bytes */
  int32_t bytes;          /* program; at most the size_bytes of the buffer */
  int32_t below, n_below; /* places_below[below ..]: places, counted from the entry's first */
} neo_rt_place;

typedef struct neo_rt_model {
  uint32_t abi;
  const char *name, *prefix;
  const char *source_hash; /* hash of (source, options, target, compiler build) */
  const char *target;      /* e.g. "x86_64-linux-gnu" */
  const char *features;    /* CPU features needed, "avx2,fma,f16c"; checked at create */
  int32_t n_sizes, n_tensors, n_bufs, n_kernels, n_steps, n_entries;
  const neo_rt_size *sizes;
  const neo_rt_tensor *tensors;
  const neo_rt_buf *bufs;
  const neo_rt_kernel *kernels;
  const neo_rt_step *steps;
  const neo_rt_entry *entries;
  const int32_t *extents, *args, *entry_args, *entry_sizes;
  const int64_t *programs;
  const void *const_data;
  int64_t param_bytes, state_bytes, frame_bytes,
      scratch_bytes; /* scratch: largest over kernels, per worker */
  int32_t n_cached;
  const neo_rt_cached *cached;
  const int32_t *cached_sources, *entry_writes;
  int64_t cached_bytes;
  const char *device; /* null: a processor; else the GPU's level, "sm_90a" */
  int32_t n_images;
  const neo_rt_image *images; /* the best first */
  const neo_rt_map *maps;
  int32_t n_grids;
  const neo_rt_grid *grids; /* in the order of their steps; a step is in at most one */
  const neo_rt_grid_part *grid_parts;
  int32_t n_asserts;
  const neo_rt_assert *asserts;
  int32_t n_loops;
  const neo_rt_loop *loops;
  uint64_t interface; /* a hash of the contents of the header, which has the same number */
  int32_t n_places, n_places_below;
  const neo_rt_place *places;
  const int32_t *places_below;
} neo_rt_model;

/* ------------------------------------------------------------------ contexts */

typedef struct neo_rt_ctx neo_rt_ctx;
typedef struct neo_rt_pool neo_rt_pool;
struct neo_dl_tensor; /* <neo/dlpack.h> */

typedef struct {
  size_t struct_size; /* sizeof(neo_rt_config); 0 is taken as that */
  const char *device; /* null, "cpu"; for a model for GPUs null, "cuda" or "cuda:<number>" */
  int32_t threads;    /* 0: one per core this process may use; ignored with `pool` */
  uint64_t seed;      /* seed for initial values and rand() */
  void *arena; /* for all memory: 64-byte aligned, neo_rt_arena_size() bytes; null: allocated, as
                  calls need it at their sizes */
  size_t arena_bytes;
  neo_rt_pool *pool; /* shared with other contexts; null: the context's own */
  void (*log)(void *user, int level, const char *text);
  void *log_user;
  void *stream;   /* for a GPU model: a CUstream of the primary context; null: the context's own */
  uint32_t flags; /* enum neo_rt_flags */
  /* Another thread, or a signal handler, writes 1: on a processor the running call ends soon,
   * between two steps, with NEO_RT_E_INTERRUPTED, if its entry updates nothing; an entry with
   * updates runs to its end. null: none. It must outlive the context. */
  const volatile int32_t *cancel;
} neo_rt_config;

/* Flags for models for GPUs. */
enum neo_rt_flags {
  /* A call without outputs for the host returns when its work is in the stream; a later call, or
   * neo_rt_wait, reports a failure there. */
  NEO_RT_ASYNC = 1,
  /* Index values in the GPU's memory are not checked: the caller promises that they are in their
   * bounds. */
  NEO_RT_TRUST_INDICES = 2
};

/* Bytes that a context needs at the largest sizes (all classes, `threads` as in the config), known
 * before anything is allocated. -1: the model is malformed. */
NEO_RT_API int64_t neo_rt_arena_size(const neo_rt_model *model, int32_t threads);
/* Bytes of an entry's frame, its intermediate values, in a call with these sizes (in header
 * order; null: the largest). -1: there is no such entry, or no memory to find out. */
NEO_RT_API int64_t neo_rt_frame_bytes(const neo_rt_model *model, int32_t entry,
                                      const int64_t *sizes);
/* Creates a context and runs the model's init entry. config may be null. On failure *out is null,
 * unless there is a message: then *out is a context on which only neo_rt_error and neo_rt_destroy
 * work. */
NEO_RT_API neo_rt_status neo_rt_create(const neo_rt_model *model, const neo_rt_config *config,
                                       neo_rt_ctx **out);
/* The same for a caller that was compiled with the model's header, or has its JSON: `interface` is
 * the number in it. A model with another number is refused with a message (NEO_RT_E_HEADER): the
 * numbers of its tensors, their shapes or their order may differ. */
NEO_RT_API neo_rt_status neo_rt_create_for(const neo_rt_model *model, uint64_t interface,
                                           const neo_rt_config *config, neo_rt_ctx **out);
/* Ends a context and frees its memory; null is allowed. */
NEO_RT_API void neo_rt_destroy(neo_rt_ctx *ctx);
/* Bytes that the context has now for the model's data. Without an arena of the caller's that is
 * enough for the largest call so far, up to a quarter more, and at most neo_rt_arena_size(). */
NEO_RT_API int64_t neo_rt_bytes(const neo_rt_ctx *ctx);
/* The last failure's message, with tensor and source position: "X: dim 1 is 783, expected 784
 * (mlp.expr:7:9)"; "" if none. */
NEO_RT_API const char *neo_rt_error(const neo_rt_ctx *ctx);
/* A status in words. Constant text. */
NEO_RT_API const char *neo_rt_status_text(neo_rt_status status);
/* Runs the init entry again with this seed; step = 0. */
NEO_RT_API neo_rt_status neo_rt_reset(neo_rt_ctx *ctx, uint64_t seed);
/* Sets the seed of rand() and the number of finished steps, and nothing else; calls are counted
 * from 0 again. Two calls of an entry after equal calls of neo_rt_seek draw the same numbers. For
 * programs that keep the count of steps and all parameters elsewhere (the option --pure of the
 * compiler). */
NEO_RT_API neo_rt_status neo_rt_seek(neo_rt_ctx *ctx, uint64_t seed, uint64_t step);

/* Runs an entry on plain pointers: `sizes` and `args` in the entry's header order. Checks null
 * pointers, size bounds, index values, and that memory which the entry writes does not overlap
 * other memory: an output may overlap no other argument, no bound store and nothing of the context;
 * an input no parameter or state that the entry updates. A pointer of an output may be null: it is
 * then not returned. A TRAIN entry that succeeds adds one to the step counter; one that fails
 * changes nothing. */
NEO_RT_API neo_rt_status neo_rt_call(neo_rt_ctx *ctx, int32_t entry, const int64_t *sizes,
                                     void *const *args);
/* The same with this key (see neo_rt_args) for rand() and the count of steps, and without any
 * check: sizes, pointers and values are those of checked calls, or computed by entries. The counts
 * of steps and calls stay as they are. For networks (neo_net.h): their messages come from
 * entries. */
NEO_RT_API neo_rt_status neo_rt_call_keyed(neo_rt_ctx *ctx, int32_t entry, const int64_t *sizes,
                                           void *const *args, const uint64_t key[3]);
/* The same as neo_rt_call on tensors bound before; sizes come from their shapes, which are checked
 * against each other and the model. */
NEO_RT_API neo_rt_status neo_rt_run(neo_rt_ctx *ctx, int32_t entry);
/* Binds a DLPack tensor (contiguous row-major, matching type and shape; on the CPU, or, for inputs
 * and outputs of a model for GPUs, on the context's GPU). Inputs and outputs: later neo_rt_run
 * calls use it. Parameters and states: the caller's memory becomes their store, with its present
 * values; it may overlap no other store; not on a GPU. The memory stays the caller's and must
 * outlive its use. Null unbinds: a parameter's values are copied back; if they are outside of their
 * bound, this is reported, and calls are refused until they are replaced. Index values in bound
 * memory are checked now and in each call. */
NEO_RT_API neo_rt_status neo_rt_bind(neo_rt_ctx *ctx, int32_t tensor, struct neo_dl_tensor *dl);
/* A DLPack view of a parameter, state or setting; valid until the context ends. shape has room for
 * 16. Since the caller can write through it, from now on each call checks the tensor's index
 * values, and computes values again that the context has cached from it: to read or write once, get
 * and set are faster. */
NEO_RT_API neo_rt_status neo_rt_view(neo_rt_ctx *ctx, int32_t tensor, struct neo_dl_tensor *dl,
                                     int64_t *shape);
/* Copies a parameter, state or setting out of or into the context; size_bytes must be exact. */
NEO_RT_API neo_rt_status neo_rt_get(neo_rt_ctx *ctx, int32_t tensor, void *p, size_t size_bytes);
NEO_RT_API neo_rt_status neo_rt_set(neo_rt_ctx *ctx, int32_t tensor, const void *p,
                                    size_t size_bytes);
/* Sets a scalar setting by name, converted to its type: neo_rt_set_scalar(ctx, "lr", 1e-4). A value
 * that is no integer of the type, or too large for the type of floats, is refused (NEO_RT_E_RANGE);
 * floats are rounded to the nearest. */
NEO_RT_API neo_rt_status neo_rt_set_scalar(neo_rt_ctx *ctx, const char *name, double value);
/* The number of the tensor or entry with this name; -1: none. */
NEO_RT_API int32_t neo_rt_find(const neo_rt_model *model, const char *name);
NEO_RT_API int32_t neo_rt_find_entry(const neo_rt_model *model, const char *name);
/* The model of a context, which outlives it; null for a null context. */
NEO_RT_API const neo_rt_model *neo_rt_model_of(const neo_rt_ctx *ctx);
/* The number of finished steps; 0 for a null context. */
NEO_RT_API uint64_t neo_rt_step_count(const neo_rt_ctx *ctx);
/* The value of a size program for the given run-time sizes. */
NEO_RT_API int64_t neo_rt_eval(const neo_rt_model *model, int32_t program, const int64_t *sizes);

/* Loads all kernels of a model for a GPU now; otherwise each is loaded when it runs first. No
 * effect on a processor. */
NEO_RT_API neo_rt_status neo_rt_warm(neo_rt_ctx *ctx);
/* Waits for all work that calls have put into the stream of a GPU. */
NEO_RT_API neo_rt_status neo_rt_wait(neo_rt_ctx *ctx);
/* Starts a trace: the times of each step of an entry, on each worker or on the GPU, and of each
 * copy between host and GPU. A null path, or neo_rt_destroy, ends it and writes the file: JSON in
 * the form of Chrome's trace viewer. On a GPU kernels are launched one by one during a trace.
 * Without a trace there is no cost. */
NEO_RT_API neo_rt_status neo_rt_trace(neo_rt_ctx *ctx, const char *path);

/* Saves parameters and states as safetensors, whole or not at all. `extra` (may be null) are
 * n_extra key/value pairs for the file's metadata, such as the data position; step and seed are
 * always there. Loading checks every name, type and shape before anything changes; a file with
 * tensors that the model lacks, or lacking some, is an error that names them. */
typedef struct {
  const char *key, *value;
} neo_rt_pair;
NEO_RT_API neo_rt_status neo_rt_save(neo_rt_ctx *ctx, const char *path, const neo_rt_pair *extra,
                                     int32_t n_extra);
/* Restores what neo_rt_save wrote; a failure of the checks changes nothing. */
NEO_RT_API neo_rt_status neo_rt_load(neo_rt_ctx *ctx, const char *path);
/* Loads parameters, and states that are not an optimizer's, from a safetensors file of another
 * program or model: elements are converted to the model's types (floats to the nearest, integers if
 * they fit). Settings, optimizers' states, seed and step are not changed, and tensors that the
 * model lacks are skipped. options may be null. A failure changes nothing. */
typedef struct {
  size_t struct_size; /* sizeof(neo_rt_weights); 0 is taken as that */
  /* Patterns of the model's names, separated by commas: "enc.*,W1" loads only these; a last *
   * matches everything after it, another * one name. null: all. The file must have the tensors that
   * match. */
  const char *only;
  /* A table of lines "THEIRS = OURS", followed by `transpose` or `permute 1,0` (dimension 0 of ours
   * is 1 of theirs) if dimensions are in another order. A `*` in THEIRS matches any text without a
   * point, which replaces a `*` in OURS; OURS may be a part, "W[3]", and "-" leaves a tensor out;
   * `#` begins a comment. Other names are not changed. null: no table. */
  const char *rename;
  uint32_t flags;
} neo_rt_weights;
enum neo_rt_weights_flags {
  /* Also settings, optimizers' states, seed and step, as far as the file has them. */
  NEO_RT_WEIGHTS_ALL = 1
};
NEO_RT_API neo_rt_status neo_rt_load_weights(neo_rt_ctx *ctx, const char *path,
                                             const neo_rt_weights *options);
/* Value of a metadata key of the file loaded last; null if absent. */
NEO_RT_API const char *neo_rt_loaded(const neo_rt_ctx *ctx, const char *key);
/* Writes a description (tensors with shapes and types, entries, memory: peak against the lower
 * bound) as text, or as JSON if json is not 0, into buf (NUL-terminated, cut at n); returns the
 * length of the whole text without the NUL. */
NEO_RT_API size_t neo_rt_describe(const neo_rt_model *model, int json, char *buf, size_t n);

/* ------------------------------------------------------------------ thread pools */

/* threads: number of workers including the calling thread; 0: one per core this process may use. */
NEO_RT_API neo_rt_status neo_rt_pool_create(int32_t threads, neo_rt_pool **out);
/* Stops the workers and frees the pool, which no context may use any more; null is allowed. */
NEO_RT_API void neo_rt_pool_destroy(neo_rt_pool *pool);
/* The number of workers including the calling thread; 0 for a null pool. */
NEO_RT_API int32_t neo_rt_pool_threads(const neo_rt_pool *pool);
/* Restarts the pool's workers in a child process after fork, where they do not exist. Contexts that
 * share the pool may then be used there, except those that were running when the process forked. If
 * no threads can be made, the calling one does all of the work. */
NEO_RT_API void neo_rt_pool_restart(neo_rt_pool *pool);

/* ------------------------------------------------------------------ data files */

/* An array read from a file: .npy, .npz member ("file.npz:name"), tensor ("file.safetensors:name"),
 * IDX (plain or .gz; u8, i8, i16 as i32, i32, f32, f64). The caller owns it: neo_rt_array_free. On
 * failure `error` (may be null) gets a message. */
typedef struct {
  uint8_t type, rank;
  int64_t extent[16];
  void *data;
  size_t size_bytes;
} neo_rt_array;
/* Reads an array; its data are freed by neo_rt_array_free. */
NEO_RT_API neo_rt_status neo_rt_array_load(const char *path, neo_rt_array *out, char *error,
                                           size_t error_bytes);
/* Write one array as .npy, or n named ones as .npz. */
NEO_RT_API neo_rt_status neo_rt_array_save_npy(const char *path, const neo_rt_array *array);
typedef struct {
  const char *name;
  const neo_rt_array *array;
} neo_rt_named_array;
NEO_RT_API neo_rt_status neo_rt_array_save_npz(const char *path, const neo_rt_named_array *arrays,
                                               int32_t n);
/* Frees the data of an array, which is then empty; null is allowed. */
NEO_RT_API void neo_rt_array_free(neo_rt_array *array);
/* Converts elements to another type (u8 images to f32 are NOT scaled; saturating, as the language's
 * conversions). */
NEO_RT_API neo_rt_status neo_rt_array_convert(const neo_rt_array *from, uint8_t type,
                                              neo_rt_array *out);
/* Parses from memory, like the loader; for tests and embedded data. */
NEO_RT_API neo_rt_status neo_rt_npy_parse(const void *p, size_t n, neo_rt_array *out, char *error,
                                          size_t error_bytes);
NEO_RT_API neo_rt_status neo_rt_idx_parse(const void *p, size_t n, neo_rt_array *out, char *error,
                                          size_t error_bytes);

/* Text as classes (i32): reads a file, maps each byte to a class by the `vocab` table (256 entries,
 * -1 = not in it). A table of -1 only is filled from the file: the bytes that occur, in order;
 * null: the same without giving it to the caller. */
NEO_RT_API neo_rt_status neo_rt_text_load(const char *path, int16_t vocab[256], int *n_classes,
                                          neo_rt_array *out, char *error, size_t error_bytes);

/* The order of an epoch: a permutation of n rows from (seed, epoch), the same on every machine. out
 * has n entries. */
NEO_RT_API void neo_rt_shuffle(uint64_t seed, uint64_t epoch, int64_t n, int64_t *out);
/* Copies rows rows[i] of the array to `out`, contiguously; `out` has room for n rows. */
NEO_RT_API void neo_rt_gather(const neo_rt_array *array, const int64_t *rows, int64_t n, void *out);

#ifdef __cplusplus
}
#endif
#endif
