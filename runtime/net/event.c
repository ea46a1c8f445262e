/* event.c: see event.h. */
#define _GNU_SOURCE 1 /* syscall */
#include "runtime/net/event.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t neo_rti_net_event_ticket(neo_rti_net_event *e) {
  atomic_fetch_add(&e->sleepers, 1);
  return atomic_load(&e->word);
}

void neo_rti_net_event_cancel(neo_rti_net_event *e) {
  atomic_fetch_sub(&e->sleepers, 1);
}

void neo_rti_net_event_sleep(neo_rti_net_event *e, uint32_t ticket, int64_t timeout_ns) {
  enum { NS = 1000000000 };
  struct timespec t = {.tv_sec = (time_t)(timeout_ns / NS), .tv_nsec = (long)(timeout_ns % NS)};
  syscall(SYS_futex, &e->word, FUTEX_WAIT_PRIVATE, ticket, timeout_ns < 0 ? NULL : &t, NULL, 0);
  atomic_fetch_sub(&e->sleepers, 1);
}

void neo_rti_net_event_signal(neo_rti_net_event *e, int32_t most) {
  if (atomic_load(&e->sleepers) == 0)
    return;
  atomic_fetch_add(&e->word, 1);
  syscall(SYS_futex, &e->word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}
