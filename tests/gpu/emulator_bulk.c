/* Boxes of tensors on an emulated device: where they go is poisoned when they are started, and they
 * are copied when a thread first waits for their bytes (emulator_phase.c), from what the source then
 * holds. A map is checked for what the driver and the hardware ask of one. */
#include "tests/gpu/emulator_bulk.h"
#include "tests/gpu/emulator_driver.h"
#include <string.h>

enum { RANK = EMU_MAP_RANK, LINE = 128, PIECE = 16, MOST_SIDE = 256 };
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
              exchanged == CUDA_MAP_SWIZZLE_128 && lines >= 0 && lines <= 3;
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

static uint64_t elements(const map *m) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < m->rank; d++)
    n *= m->box[d];
  return n;
}

uint64_t emu_box_bytes(const void *of) {
  const map *m = of;
  return elements(m) * m->bytes;
}

/* Element e of the box; null: outside. */
static const char *source(const emu_box *x, uint64_t e) {
  const map *m = x->map;
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

void emu_box_copy(const emu_box *x) {
  const map *m = x->map;
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
