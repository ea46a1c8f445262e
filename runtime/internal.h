/* internal.h: what the files of the runtime share. Nothing here is part of the ABI.
 *
 * Names: neo_rti_<noun>_<verb>. A context owns two blocks: its book-keeping (the struct below and
 * its tables) and its arena (everything that kernels touch), so that a caller can give the second.
 * */
#ifndef NEO_RUNTIME_INTERNAL_H
#define NEO_RUNTIME_INTERNAL_H
#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "include/neo/neo_rt.h"
#include <stdbool.h>

enum { NEO_RTI_ALIGN = 64, NEO_RTI_MAX_RANK = 16, NEO_RTI_MAX_THREADS = 1024, NEO_RTI_N_MEM = 8 };

/* ------------------------------------------------------------ the context */

typedef struct {  /* a tensor that the caller bound */
  void *data;     /* null: not bound */
  bool on_device; /* of a GPU's context: data is there */
  int64_t extent[NEO_RTI_MAX_RANK];
} neo_rti_bound;

typedef struct { /* which entries of `ptr` are caller's tensors, for one entry */
  int32_t first, n;
} neo_rti_patch;

typedef struct {
  neo_alloc alloc;
  neo_io io;
} neo_rti_env;

typedef struct neo_rti_cuda neo_rti_cuda; /* private to cuda*.c */
typedef struct neo_rti_trace neo_rti_trace;

struct neo_rt_ctx {
  const neo_rt_model *model;
  neo_rti_env env;
  bool alive; /* false: creation failed, only error and destroy work */
  bool own_pool;
  int32_t threads;
  neo_rt_pool *pool; /* null when threads == 1 */
  uint64_t seed, step, calls;

  void *arena_raw; /* what to free; null if the caller's */
  unsigned char *arena;
  size_t arena_bytes;
  neo_rti_cuda *cuda; /* null: a processor. Else arena, base, addr and ptr are of the device */
  unsigned char *base[NEO_RTI_N_MEM]; /* null for CALLER */
  unsigned char *spill;               /* where outputs go that the caller does not want; on a
                                         device the places of all of the caller's tensors */
  int64_t scratch_stride;

  void **addr;          /* [n_bufs] address; null for CALLER */
  void **ptr;           /* [positions in model->args] what kernels get */
  int32_t *patches;     /* positions in ptr to fill with the caller's tensors */
  neo_rti_patch *patch; /* [n_entries] slice of patches */
  void **caller;        /* [n_tensors] the caller's tensor in this call */
  bool *fast;           /* [n_kernels] the kernel's variant is used */
  unsigned char *places; /* [n_grids] of NEO_RTI_PLACE_BYTES, where blocks of grids meet */
  int64_t *units;       /* [n_steps] of this call */
  int64_t *sizes;       /* [n_sizes] of this call */
  neo_rti_bound *bound; /* [n_tensors] */
  int32_t n_bound_kept; /* parameters and states among them */
  bool *viewed;         /* [n_tensors] the caller has its address */
  bool *stale;          /* [n_keeps] out of date */
  int64_t *strides;     /* [n_tensors][16] row-major, of what the context keeps (for views) */
  void **run_args;      /* [largest n_args] arguments of neo_rt_run */
  int32_t *size_from;   /* [n_sizes] tensor that gave the size, -1 */

  uint32_t flags;       /* of the configuration */
  neo_rti_trace *trace; /* null: none */

  neo_rt_pair *loaded; /* metadata of the file loaded last, one block */
  size_t n_loaded;

  void (*log)(void *user, int level, const char *text);
  void *log_user;
  char error[1024];
};

enum { NEO_RTI_LOG_ERROR, NEO_RTI_LOG_WARNING, NEO_RTI_LOG_INFO };

/* Stores the message, logs it and returns `status`. */
neo_rt_status neo_rti_fail(neo_rt_ctx *ctx, neo_rt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void neo_rti_log(neo_rt_ctx *ctx, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for functions without a context: writes to a buffer that may be null. */
neo_rt_status neo_rti_say(char *error, size_t error_bytes, neo_rt_status status, const char *fmt,
                          ...) __attribute__((format(printf, 4, 5)));
/* NEO_OK if this context may be used for anything. */
neo_rt_status neo_rti_alive(neo_rt_ctx *ctx);
/* As neo_rt_create, with an allocator and an I/O table of the caller's (tests). */
neo_rt_status neo_rti_create(const neo_rt_model *model, const neo_rt_config *config,
                             const neo_rti_env *env, neo_rt_ctx **out);
extern const neo_rti_env neo_rti_env_default;
/* Recomputes addr and ptr after a binding changed. */
void neo_rti_resolve(neo_rt_ctx *ctx);

/* ------------------------------------------------------------ the model */

size_t neo_rti_type_bytes(uint8_t type);     /* 0 for an unknown type */
const char *neo_rti_type_name(uint8_t type); /* "f32" */
bool neo_rti_type_is_int(uint8_t type);      /* i64 i32 i8 u8 */
const char *neo_rti_role_name(uint8_t role); /* "parameter" */
/* Checks what the runtime relies on; writes a message on failure. */
neo_rt_status neo_rti_model_check(const neo_rt_model *model, char *error, size_t error_bytes);
/* Largest number of positions used in model->args. */
int32_t neo_rti_model_positions(const neo_rt_model *model);
const neo_rt_tensor *neo_rti_tensor(const neo_rt_ctx *ctx, int32_t tensor); /* null: bad number */
/* Value of a program for these sizes; null: for the largest. */
int64_t neo_rti_eval(const neo_rt_model *model, int32_t program, const int64_t *sizes);
/* Extents of a tensor for these sizes (null: the largest); returns the number of elements. */
int64_t neo_rti_extents(const neo_rt_model *model, const neo_rt_tensor *t, const int64_t *sizes,
                        int64_t *extent);
/* Bytes of a tensor at the largest sizes. */
int64_t neo_rti_tensor_max_bytes(const neo_rt_model *model, const neo_rt_tensor *t);
/* Room for an output that the caller does not want. */
int64_t neo_rti_spill_bytes(const neo_rt_model *model, const neo_rt_tensor *t);
/* The size number if the program is just a size, else -1. */
int32_t neo_rti_program_size(const neo_rt_model *model, int32_t program);
/* Evaluates with overflow saturated; NEO_INTERNAL if the program is malformed. */
neo_rt_status neo_rti_program_eval(const int64_t *code, const int64_t *sizes, int64_t n_sizes,
                                   int64_t *out);
/* Current address of a tensor that lives in the context. */
void *neo_rti_tensor_data(const neo_rt_ctx *ctx, const neo_rt_tensor *t);
/* Whether it lives in the context: parameter, state or setting. */
bool neo_rti_tensor_kept(const neo_rt_tensor *t);
/* Bytes of a kept tensor; its extents go to `extent` (may be null). */
size_t neo_rti_kept_bytes(const neo_rt_ctx *ctx, const neo_rt_tensor *t, int64_t *extent);

/* ------------------------------------------------------------ checks and execution */

/* First element outside of [0, bound), or -1. Integers of all types; bool with bound 2. */
int64_t neo_rti_scan(uint8_t type, const void *p, int64_t n, int64_t bound);
int64_t neo_rti_int_at(uint8_t type, const void *p, int64_t i);
/* Elements of an index tensor (or bool) are in their range; the message names position and value.
 * sizes null: the largest, for what the context keeps. */
neo_rt_status neo_rti_check_values(neo_rt_ctx *ctx, const neo_rt_tensor *t, const void *p,
                                   const int64_t *sizes);
/* The same of an input on the GPU, at ctx->sizes. */
neo_rt_status neo_rti_check_device_values(neo_rt_ctx *ctx, const neo_rt_tensor *t, const void *p);
/* ctx->sizes are within their bounds, for the sizes of this entry. */
neo_rt_status neo_rti_check_sizes(neo_rt_ctx *ctx, const neo_rt_entry *e);
/* The entry of this number, checked to be one that a caller may run; null after a failure. */
const neo_rt_entry *neo_rti_entry(neo_rt_ctx *ctx, int32_t entry, neo_rt_status *status);
/* Arguments against ctx->sizes: null, alignment, overlap, values; then runs. */
neo_rt_status neo_rti_entry_call(neo_rt_ctx *ctx, const neo_rt_entry *e, void *const *args);
/* Runs the steps with everything checked: ctx->sizes, args in header order. */
neo_rt_status neo_rti_entry_run(neo_rt_ctx *ctx, const neo_rt_entry *e, void *const *args);
/* The entries of initial values: 0: of all; 1: of states that follow from parameters, for when these
 * have been loaded; null if there is none such. And runs one. */
const neo_rt_entry *neo_rti_init_entry(const neo_rt_model *model, int32_t which);
neo_rt_status neo_rti_init_run(neo_rt_ctx *ctx, const neo_rt_entry *e);
/* Missing CPU features of a comma list go to `missing`; true if there is none. */
bool neo_rti_features_check(const char *features, char *missing, size_t missing_bytes);

/* ------------------------------------------------------------ the context's memory (memory.c) */

/* Whether an argument of an entry lies on the GPU: plain pointers are the host's. */
static inline bool neo_rti_on_device(const neo_rt_ctx *ctx, void *const *args, int32_t tensor) {
  return args == ctx->run_args && ctx->bound[tensor].on_device;
}
/* n bytes into it and out of it, wherever it is; done when this returns. */
neo_rt_status neo_rti_put(neo_rt_ctx *ctx, void *to, const void *from, size_t n);
neo_rt_status neo_rti_take(neo_rt_ctx *ctx, void *to, const void *from, size_t n);

/* ------------------------------------------------------------ GPUs (cuda/device.c) */

enum { NEO_RTI_PLACE_BYTES = 128 }; /* a line of the device's cache for each */
/* Is the model's table of grids well formed? (cuda/grid.c) */
bool neo_rti_cuda_grids_check(const neo_rt_model *model);
/* Fills in ctx->cuda; neo_rti_cuda_close frees what is there, also after a failure. stream: the
 * caller's; null: one of its own. */
neo_rt_status neo_rti_cuda_open(neo_rt_ctx *ctx, const char *device, void *stream);
void neo_rti_cuda_close(neo_rt_ctx *ctx);
/* The arena: n bytes on the device, the first `zero` of them cleared. */
neo_rt_status neo_rti_cuda_alloc(neo_rt_ctx *ctx, size_t n, size_t zero, unsigned char **out);
/* n bytes, in the order of the context's stream. `from` may change when this returns; what comes
 * from the device is at `to` after neo_rti_cuda_finish. */
typedef enum { NEO_RTI_TO_DEVICE, NEO_RTI_FROM_DEVICE, NEO_RTI_ON_DEVICE } neo_rti_way;
neo_rt_status neo_rti_cuda_copy(neo_rt_ctx *ctx, neo_rti_way way, void *to, const void *from,
                                size_t n);
/* Waits for all that is in the stream; a failure there is one of `doing`; null: it is not told. */
neo_rt_status neo_rti_cuda_finish(neo_rt_ctx *ctx, const char *doing);
/* At the end of a call: the same, unless it gave the host nothing and may leave its work there. */
neo_rt_status neo_rti_cuda_end(neo_rt_ctx *ctx, const char *doing);
/* Loads all kernels. */
neo_rt_status neo_rti_cuda_warm(neo_rt_ctx *ctx);
/* Of the context's device; 0 without one. */
int neo_rti_cuda_number(const neo_rt_ctx *ctx);
/* The steps of an entry, with ctx->units and ctx->ptr filled in, into the stream. */
neo_rt_status neo_rti_cuda_run(neo_rt_ctx *ctx, const neo_rt_entry *e, const uint64_t *key);

/* ------------------------------------------------------------ traces (trace.c, cuda/trace.c) */

enum { NEO_RTI_DEVICE_ROW = NEO_RTI_MAX_THREADS };
typedef struct {
  const char *name, *kind; /* "entry", "kernel", "copy" */
  int row;                 /* a worker; NEO_RTI_DEVICE_ROW */
  int64_t from, to;        /* ns of neo_rti_now_ns */
  int32_t step;            /* of the entry; -1: none */
  int64_t bytes;           /* -1: not known */
} neo_rti_event;
int64_t neo_rti_now_ns(void);
const char *neo_rti_step_name(const neo_rt_ctx *ctx, int32_t step);
void neo_rti_trace_put(neo_rti_trace *t, const neo_rti_event *e);
/* An entry begins; a worker has done its part of the entry's step i, which it began at `from`; all
 * have, or the entry failed. */
void neo_rti_trace_begin(neo_rti_trace *t);
void neo_rti_trace_step(neo_rti_trace *t, int32_t worker, int32_t i, int64_t from);
void neo_rti_trace_end(neo_rt_ctx *ctx, const neo_rt_entry *e);
/* Writes the file, if there is a trace. */
neo_rt_status neo_rti_trace_close(neo_rt_ctx *ctx);
/* The same of the device: begin before anything is in the stream, put after the wait for it. */
neo_rt_status neo_rti_cuda_trace_open(neo_rt_ctx *ctx, int32_t most_steps);
neo_rt_status neo_rti_cuda_trace_begin(neo_rt_ctx *ctx);
void neo_rti_cuda_trace_put(neo_rt_ctx *ctx, const neo_rt_entry *e);
void neo_rti_cuda_trace_close(neo_rt_ctx *ctx);

/* ------------------------------------------------------------ kept values (core/invariant_cache.c) */

/* A kept tensor has been written; -1: all of them. */
void neo_rti_keep_changed(neo_rt_ctx *ctx, int32_t tensor);
/* Must this step run in the call at hand? */
bool neo_rti_keep_runs(const neo_rt_ctx *ctx, const neo_rt_step *s);
/* The entry has run, or failed on the way. */
void neo_rti_keep_done(neo_rt_ctx *ctx, const neo_rt_entry *e, bool good);
/* Tables of keeps, writes and sources are sound. */
bool neo_rti_keep_check(const neo_rt_model *m);

/* ------------------------------------------------------------ chance */

/* n numbers in [0, below), each by itself, from (seed, epoch). */
void neo_rti_draw(uint64_t seed, uint64_t epoch, int64_t below, int64_t n, int64_t *out);

/* ------------------------------------------------------------ threads */

typedef void neo_rti_job(void *user, int32_t worker, int32_t n);
/* Cores that this process may use, at least 1. */
int32_t neo_rti_cores(void);
neo_rt_status neo_rti_pool_create(int32_t threads, neo_alloc alloc, neo_rt_pool **out);
/* Runs job on all workers, the calling thread being worker 0; regions of one pool take turns. */
void neo_rti_pool_run(neo_rt_pool *pool, neo_rti_job *job, void *user);
/* All workers of the region meet. */
void neo_rti_pool_barrier(neo_rt_pool *pool);

/* ------------------------------------------------------------ files */

enum { NEO_RTI_HEADER_LIMIT = 100 * 1024 * 1024 };

/* Reads a whole file into one allocation (at least one byte, so never null on success). */
neo_rt_status neo_rti_file_read(const neo_rti_env *env, const char *path, unsigned char **out,
                                size_t *size_bytes);
/* Inflates a gzip (window_bits 31), zlib (15) or raw (-15) stream. `limit_bytes` bounds the output;
 * `exact` demands exactly that many. The stream must end with the input. */
neo_rt_status neo_rti_inflate(const neo_alloc *alloc, int window_bits, const unsigned char *p,
                              size_t n, size_t limit_bytes, bool exact, unsigned char **out,
                              size_t *out_bytes);
#define NEO_RTI_FREE(alloc, p) ((void)(alloc)->resize((alloc)->ctx, (p), 0))

/* Types that only files have, behind enum neo_rt_type. */
enum { NEO_RTI_ST_I16 = NEO_RT_BOOL + 1, NEO_RTI_ST_U16, NEO_RTI_ST_U32, NEO_RTI_ST_U64 };
size_t neo_rti_st_type_bytes(uint8_t type);
const char *neo_rti_st_type_name(uint8_t type); /* "BF16" */
typedef struct {
  const char *name; /* NUL-terminated; may not contain NUL */
  uint8_t type, rank;
  int64_t extent[NEO_RTI_MAX_RANK];
  size_t begin, end; /* within data */
} neo_rti_st_tensor;
typedef struct {
  neo_alloc alloc;
  neo_rti_st_tensor *tensors; /* in the file's order */
  size_t n_tensors, cap_tensors;
  neo_rt_pair *meta;
  size_t n_meta, cap_meta;
  char *text;                /* all strings */
  const unsigned char *data; /* within the parsed memory */
  size_t data_bytes;
} neo_rti_st;
/* Parses a safetensors file in memory. Strict: the JSON subset of the format, no duplicate names,
 * sizes that agree, data without holes or overlap up to the last byte. */
neo_rt_status neo_rti_st_parse(const neo_alloc *alloc, const void *p, size_t n, neo_rti_st *out,
                               char *error, size_t error_bytes);
void neo_rti_st_free(neo_rti_st *st);

neo_rt_status neo_rti_npy_parse(const neo_alloc *alloc, const void *p, size_t n, neo_rt_array *out,
                                char *error, size_t error_bytes);
/* The header of a .npy for this array (type as written: bf16 as f32); returns its bytes. */
size_t neo_rti_npy_header(const neo_rt_array *array, char out[640]);
neo_rt_status neo_rti_idx_parse(const neo_alloc *alloc, const void *p, size_t n, neo_rt_array *out,
                                char *error, size_t error_bytes);
/* Member `name` (null: the only one) of a .npz in memory. */
neo_rt_status neo_rti_npz_parse(const neo_alloc *alloc, const void *p, size_t n, const char *name,
                                neo_rt_array *out, char *error, size_t error_bytes);
neo_rt_status neo_rti_npz_save(const neo_rti_env *env, const char *path,
                               const neo_rt_named_array *arrays, int32_t n);
neo_rt_status neo_rti_npy_save(const neo_rti_env *env, const char *path, const neo_rt_array *array);
neo_rt_status neo_rti_array_load(const neo_rti_env *env, const char *path, neo_rt_array *out,
                                 char *error, size_t error_bytes);
/* Allocates data for type, rank and extent as set in *array. NEO_RANGE if the size overflows. */
neo_rt_status neo_rti_array_alloc(const neo_alloc *alloc, neo_rt_array *array);
/* The array as it is written to .npy: itself, or a converted copy (bf16) in *copy. */
neo_rt_status neo_rti_array_writable(const neo_rt_array *array, neo_rt_array *copy,
                                     const neo_rt_array **out);

/* ------------------------------------------------------------ conversions */

/* n elements; round to nearest even; float to integer truncates, saturates, NaN gives 0; integers
 * wrap; to bool is "not zero". */
void neo_rti_convert(uint8_t from, const void *src, uint8_t to, void *dst, int64_t n);
uint16_t neo_rti_f16_of(double x);
double neo_rti_f16_to(uint16_t h);
uint16_t neo_rti_bf16_of(double x);
double neo_rti_bf16_to(uint16_t h);

/* a*b and a+b for non-negative sizes; false if they overflow int64. */
static inline bool neo_rti_mul(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline int64_t neo_rti_round_up(int64_t n) {
  return (n + NEO_RTI_ALIGN - 1) & ~(int64_t)(NEO_RTI_ALIGN - 1);
}

#endif
