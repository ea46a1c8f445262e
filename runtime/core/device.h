/* device.h: a device as a table of functions. Private to runtime.
 *
 * core uses a device through this table alone; a device uses ctx.h, run.h and trace.h of core. A
 * context calls the functions in this order:
 *
 *   open, allocate, start | regrow if need be, run or copy, then end, for each call | close
 *
 * It also calls copy and synchronise to read and write the tensors that it owns. */
#pragma once
#include "runtime/core/ctx.h"

typedef enum { NEO_RTI_TO_DEVICE, NEO_RTI_FROM_DEVICE, NEO_RTI_ON_DEVICE } neo_rti_way;

struct neo_rti_device {
  const char *name; /* "cpu" */
  int dlpack;       /* DLPack's number for its memory */
  bool separate;    /* its memory is not the host's: arguments are copied into the arena */
  /* Whether it runs models for this level of GPUs (neo_rt_model.device; null: for processors). */
  bool (*takes)(const char *level);
  /* Whether the kernel has code for this device, and whether the model's fields for it are
   * valid. */
  bool (*has_code)(const neo_rt_kernel *k);
  bool (*model_ok)(const neo_rt_model *m);

  /* Fills in c->state and c->threads. `close` frees what was made, also after a failure. */
  neo_rt_status (*open)(neo_rt_ctx *c, const neo_rt_config *config) NEO_MUST_CHECK;
  void (*close)(neo_rt_ctx *c);
  /* Allocates c->arena, n bytes of the device's memory, the first `zero` of them cleared. */
  neo_rt_status (*allocate)(neo_rt_ctx *c, const neo_rt_config *config, size_t n,
                            size_t zero) NEO_MUST_CHECK;
  /* Replaces c->work, whose contents are no longer needed, by a block of n bytes or, if memory is
   * short, of `least`. After a failure there may be none. */
  neo_rt_status (*regrow)(neo_rt_ctx *c, size_t n, size_t least) NEO_MUST_CHECK;
  /* Prepares everything else that entries need, after `allocate`. */
  neo_rt_status (*start)(neo_rt_ctx *c) NEO_MUST_CHECK;
  /* Loads all kernels. */
  neo_rt_status (*warm)(neo_rt_ctx *c) NEO_MUST_CHECK;
  /* The number of the device among those of its kind, from 0. */
  int (*number)(const neo_rt_ctx *c);

  /* Copies n bytes, in order with other work. The caller may overwrite `from` when this returns;
   * bytes from the device are at `to` after synchronise. */
  neo_rt_status (*copy)(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                        size_t n) NEO_MUST_CHECK;
  /* Waits for all work. `doing` is for the message of a failure; null: no message. */
  neo_rt_status (*synchronise)(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;
  /* Runs the steps of an entry; c->units and c->ptr are filled in. key: seed, step, call. */
  neo_rt_status (*run)(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) NEO_MUST_CHECK;
  /* Ends a call: synchronises, unless the call gave the host nothing and may leave its work
   * running. */
  neo_rt_status (*end)(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;

  /* A trace (trace.h) of entries with at most `most_steps` steps: opens it; begins an entry; writes
   * the entry's events after its end; closes the trace. */
  neo_rt_status (*trace_open)(neo_rt_ctx *c, int32_t most_steps) NEO_MUST_CHECK;
  neo_rt_status (*trace_begin)(neo_rt_ctx *c) NEO_MUST_CHECK;
  void (*trace_put)(neo_rt_ctx *c, const neo_rt_entry *e);
  void (*trace_close)(neo_rt_ctx *c);
};

/* The device that the model was compiled for (devices.c). */
const neo_rti_device *neo_rti_device_of(const neo_rt_model *m);

/* Copy n bytes into the device's memory, and out of it; complete on return (memory.c). */
neo_rt_status neo_rti_put(neo_rt_ctx *c, void *to, const void *from, size_t n) NEO_MUST_CHECK;
neo_rt_status neo_rti_take(neo_rt_ctx *c, void *to, const void *from, size_t n) NEO_MUST_CHECK;
