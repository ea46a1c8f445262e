/* Legality of thread blocks at points. */
#include "base/whole.h"
#include "schedule/gpu_rows/gpu_rows.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include "schedule/vector_access.h"

enum { SHARED_BYTES = 48 << 10 /* that a block of any generation has without asking for more */ };

/* Vectors run along own axes or along neighbouring points, where the extent is a multiple of them;
 * or there are none. */
static bool wide_legal(neo_module *m, const neo_form *f, const neo_row_params *p, neo_str *why) {
  int64_t v = p->vector_axis, w = p->vector_width, n = (int64_t)f->axes.n;
  if (!neo_is_power_of_2(w) || w > NEO_VECTOR_BYTES || (v >= 0) != (w > 1))
    return reject(why, "a vector_axis and a vector_width of 2 to 16 go together");
  if (v != -1 && v != n && v != n - 1)
    return reject(why, "vector_axis is the last shared axis, or the own ones");
  if (v == n && !neo_form_has_own_axes(f))
    return reject(why, "there are no own axes");
  if (v >= 0 && v < n &&
      (!neo_vector_multiple(m, f->axes.at[v].hi, w) || neo_form_bound_axes(m, f) >> v & 1))
    return reject(why,
                  "points of a vector need the same steps, and an extent that the width divides");
  return true;
}

neo_stash neo_gpu_rows_stash(neo_module *m, const neo_form *f, const neo_schedule *s) {
  int64_t v = s->rows.vector_axis;
  bool along = v < 0 || v == (int64_t)f->axes.n;
  return along ? neo_stash_find(m, f, true) : (neo_stash){.n = 0};
}

/* A stashed row is unrolled as a whole, and its threads' registers hold it. */
static bool stash_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why) {
  enum { REGISTERS_IN_ALL = 64 << 10, OTHERS = 40, MOST = 128 };
  const neo_row_params *p = &s->rows;
  int64_t chunk = p->lanes * p->vector_width, words = 0;
  if (!p->stash)
    return true;
  neo_stash stash = neo_gpu_rows_stash(m, f, s);
  if (p->stash != 1 || !stash.n || stash.row > chunk * p->unroll_k)
    return reject(why, "stash needs rows that its threads unroll as a whole");
  for (uint32_t k = 0; k < stash.n; k++)
    words += neo_expr_type(m, stash.at[k].value) == NEO_F64_T ? 2 : 1;
  words *= (stash.row + chunk - 1) / chunk * p->vector_width;
  return (words <= MOST && (words + OTHERS) * p->threads <= REGISTERS_IN_ALL) ||
         reject(why, "the stash exceeds the registers");
}

bool neo_gpu_rows_legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  enum { MOST_WRITTEN_OUT = 64 };
  neo_module *m = x->m;
  const neo_form *f = x->f;
  const neo_row_params *p = &s->rows;
  int64_t wide = p->vector_axis < (int64_t)f->axes.n ? p->vector_width : 1;
  uint32_t accs = 0;
  int64_t bytes = 0;
  if (neo_form_row_block(f))
    return reject(why, "row blocks have neither lanes nor tiles");
  if (p->threads < 1 || p->threads > NEO_BLOCK_MOST)
    return reject(why, "a block has 1 to 1024 threads");
  if (!neo_is_power_of_2(p->lanes) || p->threads % p->lanes)
    return reject(why, "lanes is not a power of two that divides threads");
  if (p->across < 0 || p->across > 1)
    return reject(why, "across is 0 or 1");
  if (p->unroll_k < 1 || p->unroll_k * p->vector_width > MOST_WRITTEN_OUT)
    return reject(why, "unroll_k is 1 or more, and at most 64 elements of vectors");
  if (!wide_legal(m, f, p, why) || !stash_legal(m, f, s, why))
    return false;
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].accs.n; i++, accs++)
      bytes += 64 + wide * p->threads * neo_type_bytes((neo_type)f->stages.at[k].accs.at[i].type);
  return (accs <= 16 && bytes <= SHARED_BYTES) ||
         reject(why, "the partial sums exceed shared memory");
}
