/* Virtual time: a clock that jumps from event to event, messages that take time, prices of work.
 * Private to runtime/net; devices.h says how devices use it. */
#pragma once
#include "runtime/net/net.h"

enum { NEO_RTI_PARTS = 3, NEO_RTI_NO_DEVICE = -1 };

typedef struct {
  double at_s;
  uint64_t order;
  int32_t device; /* device that has finished; none: the message arrives */
  neo_rti_net_message message;
} neo_rti_virtual_event;

typedef struct {
  int32_t node, slot;
  bool back;
} neo_rti_work;

typedef struct {
  int32_t n; /* calls that were measured */
  double median_s, *measured_s;
} neo_rti_price;

struct neo_rti_devices {
  neo_rt_net_devices config;
  int32_t n;
  double now_s;
  int32_t *place;                /* by node; none: the controller */
  int32_t *runs;                 /* by device: the node at work; none: idle */
  double *busy_s;                /* by device */
  double *at_barrier_s;          /* by device: updates that no message caused */
  bool *occupied;                /* by actor: a device runs it */
  neo_rti_virtual_event *events; /* a heap */
  int64_t n_events;
  uint64_t order;
  neo_rti_work *ready;
  int32_t n_ready;
  neo_rti_net_message *posted; /* by work at hand that moves rows, which is priced at its end */
  int64_t n_posted;
  int32_t device; /* device of the work at hand; none: the controller has it */
  uint64_t instance;
  bool moves;            /* the work at hand only moves rows */
  double price_s;        /* price of the work at hand, so far */
  neo_rti_price *prices; /* [nodes][NEO_RTI_PARTS] */
};

/* Time of this thread's work: that of the clock, or of the processor, whichever is less, as others
 * may use the processor between. */
typedef struct {
  double clock_s, processor_s;
} neo_rti_stopwatch;
neo_rti_stopwatch neo_rti_stopwatch_start(void);
double neo_rti_stopwatch_s(const neo_rti_stopwatch *w);

void neo_rti_virtual_push(neo_rti_devices *d, neo_rti_virtual_event e);
neo_rti_virtual_event neo_rti_virtual_pop(neo_rti_devices *d);
/* The message leaves at this time, and arrives later. */
void neo_rti_virtual_leave(neo_rt_network *n, neo_rti_net_message m, double at_s);
/* A message of the work at hand, or of the controller. */
void neo_rti_virtual_post(neo_rt_network *n, neo_rti_net_message m);
/* An entry has run, for a slot (null: an update), in so many seconds of this thread. */
void neo_rti_virtual_charge(neo_rt_network *n, int32_t node, int32_t part,
                            const neo_rti_net_slot *s, double measured_s);
