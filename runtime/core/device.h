/* device.h: a device as a table of functions. Private to runtime.
 *
 * core uses a device through this table alone; a device uses ctx.h, run.h and trace.h of core. A
 * context calls its functions in this order:
 *
 *   open, allocate, start | regrow if need be, run or copy, then end, for each call | close
 *
 * It calls copy and synchronise also to read and write the tensors that it owns. */
#pragma once
#include "runtime/core/ctx.h"

typedef enum { NEO_RTI_TO_DEVICE, NEO_RTI_FROM_DEVICE, NEO_RTI_ON_DEVICE } neo_rti_way;

struct neo_rti_device {
  const char *name; /* "cpu" */
  int dlpack;       /* DLPack's number of its memory */
  bool separate;    /* its memory is not the host's: arguments have places in the arena */
  /* Does it run models for this level of GPUs (neo_rt_model.device; null: for processors)? */
  bool (*takes)(const char *level);
  /* Does the kernel have code for this device, and are its other fields valid? */
  bool (*has_code)(const neo_rt_kernel *k);
  bool (*model_ok)(const neo_rt_model *m);

  /* Fills in c->state and c->threads. `close` frees what is there, also after a failure. */
  neo_rt_status (*open)(neo_rt_ctx *c, const neo_rt_config *config) NEO_MUST_CHECK;
  void (*close)(neo_rt_ctx *c);
  /* Allocates c->arena, n bytes of the device's memory, the first `zero` of them cleared. */
  neo_rt_status (*allocate)(neo_rt_ctx *c, const neo_rt_config *config, size_t n,
                            size_t zero) NEO_MUST_CHECK;
  /* Replaces c->work, in which nothing is needed any more, by one of n bytes, or, where there is no
   * memory for these, of `least`. After a failure there may be none. */
  neo_rt_status (*regrow)(neo_rt_ctx *c, size_t n, size_t least) NEO_MUST_CHECK;
  /* Prepares after `allocate` what else entries need. */
  neo_rt_status (*start)(neo_rt_ctx *c) NEO_MUST_CHECK;
  /* Loads all kernels. */
  neo_rt_status (*warm)(neo_rt_ctx *c) NEO_MUST_CHECK;
  /* Which one of its kind it is, from 0. */
  int (*number)(const neo_rt_ctx *c);

  /* Copies n bytes, in order with other work. The caller may overwrite `from` when this returns;
   * bytes that come from the device are at `to` after synchronise. */
  neo_rt_status (*copy)(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                        size_t n) NEO_MUST_CHECK;
  /* Waits for all work; a failure there is one of `doing`; null: there is no message. */
  neo_rt_status (*synchronise)(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;
  /* Runs the steps of an entry; c->units and c->ptr are filled in. key: seed, step, call. */
  neo_rt_status (*run)(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) NEO_MUST_CHECK;
  /* Ends a call: synchronises, unless the call gave the host nothing and may leave its work
   * running. */
  neo_rt_status (*end)(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;

  /* A trace (trace.h) of entries of `most_steps` steps: it begins, an entry begins, its events are
   * put when all has ended; it ends. */
  neo_rt_status (*trace_open)(neo_rt_ctx *c, int32_t most_steps) NEO_MUST_CHECK;
  neo_rt_status (*trace_begin)(neo_rt_ctx *c) NEO_MUST_CHECK;
  void (*trace_put)(neo_rt_ctx *c, const neo_rt_entry *e);
  void (*trace_close)(neo_rt_ctx *c);
};

/* The device that the model was compiled for (devices.c). */
const neo_rti_device *neo_rti_device_of(const neo_rt_model *m);

/* n bytes into the device's memory and out of it; done when this returns (memory.c). */
neo_rt_status neo_rti_put(neo_rt_ctx *c, void *to, const void *from, size_t n) NEO_MUST_CHECK;
neo_rt_status neo_rti_take(neo_rt_ctx *c, void *to, const void *from, size_t n) NEO_MUST_CHECK;
