/* Boxes of tensors on an emulated device: where they go is poisoned when they are started, and they
 * are copied when a thread first waits for the turn of their phase, from what the source then
 * holds. A wait for the other turn goes on at once, as the hardware's does, and what is read is
 * poison. A map is checked for what the driver and the hardware ask of one. */
#include "tests/gpu/emulator_bulk.h"
#include "tests/gpu/emulator_driver.h"
#include <stdlib.h>
#include <string.h>

enum { RANK = 5, LINE = 128, PIECE = 16, MOST_SIDE = 256, MOST_PHASES = 16, MOST_BOXES = 64 };
static const char MAGIC[8] = {'e', 'm', 'u', '-', 'm', 'a', 'p', 1};

typedef struct {
  char magic[8];
  char *from;
  uint32_t rank, bytes;
  uint64_t extent[RANK], stride[RANK - 1];
  uint32_t box[RANK];
} map;
_Static_assert(sizeof(map) <= EMU_MAP_BYTES, "a map is 128 bytes");

bool emu_is_map(const void *parameter) {
  return memcmp(parameter, MAGIC, sizeof MAGIC) == 0;
}

DRIVER(cuTensorMapEncodeTiled)
(cuda_map *out, int type, unsigned rank, void *from, const uint64_t *extent,
 const uint64_t *stride_bytes, const unsigned *box, const unsigned *step, int interleaved,
 int exchanged, int lines, int fill) {
  bool good = (type == CUDA_MAP_F16 || type == CUDA_MAP_BF16) && rank >= 1 && rank <= RANK &&
              (uintptr_t)from % PIECE == 0 && (uintptr_t)out % 64 == 0 && !interleaved && !fill &&
              exchanged == CUDA_MAP_EXCHANGED_128 && lines >= 0 && lines <= 3;
  map m = {.from = from, .rank = rank, .bytes = 2};
  memcpy(m.magic, MAGIC, sizeof MAGIC);
  for (unsigned d = 0; good && d < rank; d++) {
    good = extent[d] >= 1 && extent[d] <= 1ULL << 32 && box[d] >= 1 && box[d] <= MOST_SIDE &&
           step[d] == 1;
    good = good && (!d || (stride_bytes[d - 1] % PIECE == 0 && stride_bytes[d - 1] < 1ULL << 40));
    m.extent[d] = extent[d];
    m.box[d] = box[d];
    if (d)
      m.stride[d - 1] = stride_bytes[d - 1];
  }
  if (!good || box[0] * m.bytes > LINE)
    return INVALID_VALUE;
  memcpy(out->bits, &m, sizeof m);
  return 0;
}

typedef struct {
  char *to;
  const map *of;
  int first[RANK];
} box;

typedef struct {
  const void *at;
  unsigned turns;             /* that are over */
  bool begun;                 /* bytes are announced */
  unsigned arrivals, arrived; /* of threads; of one that counts bytes: 1, who announces them */
  uint64_t expected, started; /* bytes */
  box boxes[MOST_BOXES];
  unsigned n;
} phase;

struct emu_phases {
  phase at[MOST_PHASES];
  unsigned n;
};

bool emu_phases_make(emu_phases **all, const void *at, unsigned n, unsigned arrivals) {
  if (!*all && !(*all = calloc(1, sizeof **all)))
    return false;
  if ((*all)->n + n > MOST_PHASES)
    return false;
  for (unsigned i = 0; i < n; i++)
    (*all)->at[(*all)->n++] = (phase){.at = (const char *)at + 8 * i, .arrivals = arrivals};
  return true;
}

static phase *find(emu_phases *all, const void *at) {
  for (unsigned i = 0; all && i < all->n; i++)
    if (all->at[i].at == at)
      return &all->at[i];
  return NULL;
}

bool emu_phase_expect(emu_phases *all, const void *at, unsigned bytes) {
  phase *p = find(all, at);
  if (!p || p->begun)
    return false;
  p->begun = true;
  p->expected = bytes;
  p->started = p->n = 0;
  return true;
}

/* The last of a turn's ends it. */
bool emu_phase_arrive(emu_phases *all, const void *at) {
  phase *p = find(all, at);
  if (!p || p->begun)
    return false;
  if (++p->arrived == p->arrivals) {
    p->arrived = 0;
    p->turns++;
  }
  return true;
}

static uint64_t elements(const map *m) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < m->rank; d++)
    n *= m->box[d];
  return n;
}

bool emu_box_start(emu_phases *all, const void *at, void *to, const void *of, const int *first) {
  phase *p = find(all, at);
  const map *m = of;
  if (!p || !p->begun || p->n == MOST_BOXES || !emu_is_map(of) || (uintptr_t)to % (8 * LINE))
    return false;
  box *x = &p->boxes[p->n++];
  *x = (box){.to = to, .of = m};
  memcpy(x->first, first, sizeof x->first);
  p->started += elements(m) * m->bytes;
  memset(to, POISON, elements(m) * m->bytes);
  return true;
}

/* Element e of the box; null: outside. */
static const char *source(const box *x, uint64_t e) {
  const map *m = x->of;
  const char *from = m->from;
  for (uint32_t d = 0; d < m->rank; d++) {
    int64_t at = x->first[d] + (int64_t)(e % m->box[d]);
    if (at < 0 || at >= (int64_t)m->extent[d])
      return NULL;
    from += at * (int64_t)(d ? m->stride[d - 1] : m->bytes);
    e /= m->box[d];
  }
  return from;
}

static void copy(const box *x) {
  const map *m = x->of;
  uint64_t line = m->box[0], n = elements(m);
  for (uint64_t e = 0; e < n; e++) {
    uint64_t to = e / line * LINE + e % line * m->bytes;
    const char *from = source(x, e);
    to ^= (to >> 7 & 7) * PIECE;
    memset(x->to + to, 0, m->bytes);
    if (from)
      memcpy(x->to + to, from, m->bytes);
  }
}

bool emu_phase_reached(emu_phases *all, const void *at, unsigned turn) {
  phase *p = find(all, at);
  if (!p)
    return false;
  if (p->turns % 2 != turn)
    return true;
  if (!p->begun || p->started != p->expected)
    return false;
  for (unsigned i = 0; i < p->n; i++)
    copy(&p->boxes[i]);
  p->begun = false;
  p->turns++;
  return true;
}

bool emu_phases_end(emu_phases *all) {
  bool good = true;
  for (unsigned i = 0; all && i < all->n; i++)
    good = good && !all->at[i].begun && !all->at[i].arrived;
  if (all)
    all->n = 0;
  return good;
}

void emu_phases_free(emu_phases *all) {
  free(all);
}
