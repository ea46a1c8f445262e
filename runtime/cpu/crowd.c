/* See crowd.h. */
#include "runtime/cpu/crowd.h"

enum { IN_A_ROW = 4, FIRST_STAY = 64, LONGEST_STAY = 4096, NO_PROBE = 1024 };

bool neo_rti_crowd_alone(const neo_rti_crowd *c) {
  return c->state != NEO_RTI_SHARED;
}

/* Whether the caller mostly waited, and its own work times the number of threads is about what one
 * thread would take. */
static bool waits(int32_t threads, int64_t ns, int64_t waited) {
  return waited > ns / 2 && (ns - waited) * threads < 2 * ns;
}

static void note_shared(neo_rti_crowd *c, int32_t threads, int64_t ns, int64_t waited) {
  if (c->waiting < 0) {
    c->waiting++;
    return;
  }
  if (!waits(threads, ns, waited)) {
    c->waiting = c->stay = 0;
    c->waiting_ns = 0;
    return;
  }
  c->waiting++;
  c->waiting_ns += ns;
  if (c->waiting >= (c->stay ? IN_A_ROW / 2 : IN_A_ROW))
    c->state = NEO_RTI_PROBE;
}

static void note_probe(neo_rti_crowd *c, int64_t ns) {
  bool quicker = ns < c->waiting_ns / c->waiting * 4 / 5;
  int32_t stay = c->stay ? 2 * c->stay : FIRST_STAY;
  c->state = quicker ? NEO_RTI_ALONE : NEO_RTI_SHARED;
  c->stay = !quicker ? 0 : stay < LONGEST_STAY ? stay : LONGEST_STAY;
  c->left = c->stay;
  c->waiting = quicker ? 0 : -NO_PROBE;
  c->waiting_ns = 0;
}

void neo_rti_crowd_note(neo_rti_crowd *c, int32_t threads, int64_t ns, int64_t waited) {
  switch ((neo_rti_crowd_state)c->state) {
  case NEO_RTI_SHARED:
    note_shared(c, threads, ns, waited);
    return;
  case NEO_RTI_PROBE:
    note_probe(c, ns);
    return;
  case NEO_RTI_ALONE:
    if (--c->left <= 0)
      c->state = NEO_RTI_SHARED;
    return;
  }
}
