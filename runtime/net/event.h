/* An event that threads sleep for. Private to runtime/net.
 *
 * An event count: a sleeper takes a ticket, looks at what it waits for, and sleeps only if nobody
 * has signalled since. Whoever changes something signals after it; without sleepers that is one
 * load. Ticket and signal are sequentially consistent, so that one of the two sees the other. */
#pragma once
#include "base/machine.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct neo_rti_net_event {
  _Alignas(NEO_PADDING_BYTES) _Atomic uint32_t word;
  _Atomic uint32_t sleepers;
} neo_rti_net_event;

/* Begins a wait: neo_rti_net_event_sleep or _cancel ends it. */
uint32_t neo_rti_net_event_ticket(neo_rti_net_event *e);
void neo_rti_net_event_cancel(neo_rti_net_event *e);
/* Sleeps until a signal after the ticket, a signal of the system, or for about timeout_ns; below
 * 0: without limit. */
void neo_rti_net_event_sleep(neo_rti_net_event *e, uint32_t ticket, int64_t timeout_ns);
/* Wakes up to `most` sleepers. A signal handler may call it. */
void neo_rti_net_event_signal(neo_rti_net_event *e, int32_t most);
