/* ctx.h: the context, for the folders of the runtime. Private to runtime.
 *
 * A context owns three blocks: its tables (the struct below and its arrays), its arena (memory that
 * kernels use and that lives as long as the context) and its work (memory of a call at its sizes:
 * the frame, and outputs that the caller does not want). An arena that the caller gives has room
 * for the work at the largest sizes; else the work grows before an entry runs. State that only the
 * device needs is in `state`. */
#pragma once
#include "runtime/files.h"
#include "runtime/model.h"
#include "runtime/watch.h"

enum {
  NEO_RTI_ALIGN = NEO_RT_ALIGN_BYTES,
  NEO_RTI_N_MEM = 8,
  NEO_RTI_PLACE_BYTES = 128,
  NEO_RTI_CHUNK = 1 << 16
};

typedef struct {  /* a tensor that the caller bound */
  void *data;     /* null: not bound */
  bool on_device; /* `data` is the device's memory, on a device with separate memory */
  int64_t extent[NEO_RTI_MAX_RANK];
} neo_rti_bound;

typedef struct { /* the memory of a tensor; empty if from == to */
  uintptr_t from, to;
  int32_t tensor;
} neo_rti_span;

typedef struct { /* the entries of `ptr` that are the caller's tensors, for one entry */
  int32_t first, n;
} neo_rti_patch;

typedef struct { /* an entry's frame */
  bool known;    /* `bytes`, and the offsets of its buffers, are valid for its sizes in
                    frame_sizes */
  bool resolved; /* addresses are valid, too */
  int64_t bytes;
} neo_rti_frame;

typedef struct neo_rti_device neo_rti_device; /* core/device.h */
typedef struct neo_rti_trace neo_rti_trace;   /* core/trace.h */

struct neo_rt_ctx {
  const neo_rt_model *model;
  neo_rti_env env;
  bool alive; /* false: creation failed, only error and destroy work */
  const neo_rti_device *device;
  void *state;     /* the device's state; null: not open */
  int32_t threads; /* workers of the device, at least 1 */
  uint64_t seed, step, calls;

  unsigned char *arena; /* in the device's memory, as are work, base, addr and ptr */
  size_t arena_bytes;
  unsigned char *work; /* null: there is none */
  size_t work_bytes, most_work_bytes;
  bool work_grows;                    /* the work is not in the arena */
  unsigned char *base[NEO_RTI_N_MEM]; /* null for CALLER and FRAME */
  unsigned char *spill; /* where outputs go that the caller does not want; where the device's memory
                           is separate, the places of all of the caller's tensors */
  int64_t scratch_stride;

  neo_rti_frame *frame;  /* [n_entries] */
  int64_t *frame_sizes;  /* [n_entries][n_sizes] */
  neo_rti_place *place;  /* [n_places] */
  int64_t *room;         /* [n_bufs] bytes at the sizes of this call; of CALLER if memory is
                            separate */
  int64_t *caller_bytes; /* [n_tensors] bytes of the caller's tensor in this call, if memory is
                            separate */
  void **addr;           /* [n_bufs] address; null for CALLER */
  void **ptr;            /* [positions in model->args] the addresses that kernels get */
  int32_t *patches;      /* positions in ptr that get the caller's tensors */
  neo_rti_patch *patch;  /* [n_entries] slice of patches */
  void **caller;         /* [n_tensors] the caller's tensor in this call */
  bool *fast;            /* [n_kernels] whether the kernel's faster variant is used */
  unsigned char *places; /* [n_grids] of NEO_RTI_PLACE_BYTES, a cache line of a GPU, where the
                            blocks of a persistent kernel meet */
  int64_t *units;        /* [n_steps] of this call */
  int64_t *sizes;        /* [n_sizes] of this call */
  neo_rti_bound *bound;  /* [n_tensors] */
  neo_rti_span *outside; /* [n_outside] the bound parameters, states and settings, by address */
  int32_t n_outside;
  bool *viewed;     /* [n_tensors] whether the caller has its address */
  int32_t *exposed; /* [n_exposed] what the caller may have written without a check: values
                                 are looked at in each call */
  int32_t n_exposed;
  neo_rti_span *spans;  /* [largest n_args] of this call's arguments */
  unsigned char *chunk; /* NEO_RTI_CHUNK bytes, for copies out of a device's memory */
  bool *stale;          /* [n_cached] whether the cached value is out of date */
  int64_t *strides;     /* [n_tensors][16] row-major strides of tensors that the context owns (for
                           views) */
  void **run_args;      /* [largest n_args] arguments of neo_rt_run */
  int32_t *size_from;   /* [n_sizes] the tensor that gave the size, or -1 */

  uint32_t flags;                 /* flags of the configuration */
  const volatile int32_t *cancel; /* flag of the configuration; null: none */
  neo_rti_trace *trace;           /* null: none */
  const neo_rti_watch *watch;     /* null: none */

  neo_rt_pair *loaded; /* metadata of the file loaded last, one block */
  size_t n_loaded;

  void (*log)(void *user, int level, const char *text);
  void *log_user;
  char error[1024];
};

/* ------------------------------------------------------------ messages (message.c) */

enum { NEO_RTI_LOG_ERROR, NEO_RTI_LOG_WARNING, NEO_RTI_LOG_INFO };
/* Stores the message, logs it and returns `status`. */
neo_rt_status neo_rti_fail(neo_rt_ctx *ctx, neo_rt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void neo_rti_log(neo_rt_ctx *ctx, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* NEO_OK if this context may be used for anything. */
neo_rt_status neo_rti_alive(neo_rt_ctx *ctx) NEO_MUST_CHECK;

/* ------------------------------------------------------------ tensors (model.c, tables.c) */

/* The bytes of a tensor at the largest sizes; INT64_MAX if they overflow. */
int64_t neo_rti_most_bytes(const neo_rt_model *model, const neo_rt_tensor *t);
/* Evaluates with overflow saturated; NEO_INTERNAL if the program is malformed. */
neo_rt_status neo_rti_program_eval(const int64_t *code, const int64_t *sizes, int64_t n_sizes,
                                   int64_t *out) NEO_MUST_CHECK;
const neo_rt_tensor *neo_rti_tensor(const neo_rt_ctx *ctx, int32_t tensor); /* null: bad number */
/* Current address of a tensor that the context owns. */
void *neo_rti_tensor_data(const neo_rt_ctx *ctx, const neo_rt_tensor *t);
/* Recomputes addr and ptr after a binding changed; those of frames are recomputed when their
 * entries run. */
void neo_rti_resolve(neo_rt_ctx *ctx);
/* Whether an argument of an entry is in the device's memory: plain pointers are the host's. */
static inline bool neo_rti_on_device(const neo_rt_ctx *ctx, void *const *args, int32_t tensor) {
  return args == ctx->run_args && ctx->bound[tensor].on_device;
}

static inline int64_t neo_rti_round_up(int64_t n) {
  return (n + NEO_RTI_ALIGN - 1) & ~(int64_t)(NEO_RTI_ALIGN - 1);
}
