/* Asynchronous copies of an emulated thread: where they write is poisoned when they start, and they
 * are made as late as may be, when the thread waits for their group. So what is read before, what
 * is waited for too late, and a source that changes meanwhile all show. */
#include "tests/gpu/emulator_copy.h"
#include "tests/gpu/emulator_driver.h"
#include "tests/gpu/emulator_proxy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emu_copy {
  void *to;
  const void *from;
  unsigned bytes, taken, group;
};

void emu_copy_start(emu_copies *c, void *to, const void *from, unsigned bytes, unsigned taken) {
  if (c->n == c->cap) {
    c->cap = c->cap ? 2 * c->cap : 64;
    c->at = realloc(c->at, c->cap * sizeof *c->at);
    if (!c->at) {
      fprintf(stderr, "emulator: out of memory for copies\n");
      abort();
    }
  }
  memset(to, POISON, bytes);
  c->at[c->n++] = (struct emu_copy){to, from, bytes, taken, c->groups};
}

void emu_copy_wait(emu_copies *c, unsigned left) {
  unsigned kept = 0;
  for (unsigned k = 0; k < c->n; k++) {
    const struct emu_copy *x = &c->at[k];
    if (x->group + left >= c->groups) {
      c->at[kept++] = *x;
      continue;
    }
    memset(x->to, 0, x->bytes);
    if (x->taken)
      memcpy(x->to, x->from, x->taken);
    emu_proxy_wrote(x->to, x->bytes);
  }
  c->n = kept;
}

bool emu_copy_end(emu_copies *c) {
  bool good = c->n == 0;
  c->n = c->groups = 0;
  return good;
}

void emu_copy_free(emu_copies *c) {
  free(c->at);
  *c = (emu_copies){0};
}
