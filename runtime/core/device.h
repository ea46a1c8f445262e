/* device.h: a device as a table of functions. Private to runtime.
 *
 * core knows of a device what is here; a device knows of core what ctx.h, run.h and trace.h say. A
 * context calls, in this order:
 *
 *   open, allocate, start | run or copy, then end, for each call | close
 *
 * and copy, synchronise where it reads or writes what it owns. */
#ifndef NEO_RUNTIME_CORE_DEVICE_H
#define NEO_RUNTIME_CORE_DEVICE_H
#include "runtime/core/ctx.h"

typedef enum { NEO_RTI_TO_DEVICE, NEO_RTI_FROM_DEVICE, NEO_RTI_ON_DEVICE } neo_rti_way;

struct neo_rti_device {
  const char *name; /* "cpu" */
  int dlpack;       /* DLPack's number of its memory */
  bool separate;    /* its memory is not the host's: arguments have places in the arena */
  /* Does it run models for this level of GPUs (neo_rt_model.device; null: for processors)? */
  bool (*takes)(const char *level);
  /* Has the kernel code for it? Is what else the model says of it sound? */
  bool (*has_code)(const neo_rt_kernel *k);
  bool (*model_ok)(const neo_rt_model *m);

  /* Fills in c->state and c->threads. `close` frees what is there, also after a failure. */
  neo_rt_status (*open)(neo_rt_ctx *c, const neo_rt_config *config) NEO_MUST_CHECK;
  void (*close)(neo_rt_ctx *c);
  /* n bytes of its memory, the first `zero` of them cleared: c->arena. */
  neo_rt_status (*allocate)(neo_rt_ctx *c, const neo_rt_config *config, size_t n,
                            size_t zero) NEO_MUST_CHECK;
  /* After that: what else entries need. */
  neo_rt_status (*start)(neo_rt_ctx *c) NEO_MUST_CHECK;
  /* Loads all kernels. */
  neo_rt_status (*warm)(neo_rt_ctx *c) NEO_MUST_CHECK;
  /* Which one of its kind it is, from 0. */
  int (*number)(const neo_rt_ctx *c);

  /* n bytes, in the order of other work. `from` may change when this returns; what comes from the
   * device is at `to` after synchronise. */
  neo_rt_status (*copy)(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                        size_t n) NEO_MUST_CHECK;
  /* Waits for all work; a failure there is one of `doing`; null: there is no message. */
  neo_rt_status (*synchronise)(neo_rt_ctx *c, const char *doing) NEO_MUST_CHECK;
  /* The steps of an entry, with c->units and c->ptr filled in. key: seed, step, call. */
  neo_rt_status (*run)(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) NEO_MUST_CHECK;
  /* At the end of a call: synchronise, unless it gave the host nothing and may leave its work. */
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

#endif
