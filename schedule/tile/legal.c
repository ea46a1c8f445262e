/* Which schedules of a contraction are legal: fused columns, packed operands, blocks of its sum. */
#include "schedule/pairs/pairs.h"
#include "schedule/model.h"
#include "schedule/reject.h"

static bool fuse_legal(const neo_module *m, const neo_form *f, const neo_loop_params *s,
                       neo_str *why) {
  int64_t n = s->fused, v = s->vector_axis, am = s->axis_m;
  if (n == 1)
    return true;
  if (n < 1 || v < 0 || v >= (int64_t)f->axes.n || !neo_form_walks(m, f, (uint32_t)v, (uint32_t)n))
    return reject(why, "these axes cannot be fused");
  if (am >= 0 && am <= v && am > v - n)
    return reject(why, "axis_m is one of the fused axes");
  int64_t inner = 1, extent;
  for (int64_t k = v - n + 2; k <= v; k++)
    inner *= neo_expr_is_int(m, f->axes.at[k].hi, &extent) ? extent : 1;
  if (s->block_n % inner)
    return reject(why, "block_n is not a multiple of the inner fused axes");
  uint64_t fused = ((1ULL << n) - 1) << (v - n + 1);
  return !(neo_form_bound_axes(m, f) & fused) || reject(why, "a fused axis bounds a loop");
}

static bool packs_legal(neo_module *m, const neo_form *f, const neo_contraction *c,
                        const neo_schedule *s, neo_str *why) {
  const neo_stage *stage = &f->stages.at[c->stage];
  int64_t v = s->loops.vector_axis, total = 0;
  if (s->loops.pack >> c->n)
    return reject(why, "pack names an operand that there is not");
  if (s->loops.pack && (v < 0 || v >= (int64_t)f->axes.n))
    return reject(why, "pack is for lanes over a shared axis");
  for (uint32_t k = 0; k < c->n; k++) {
    if (!(s->loops.pack >> k & 1))
      continue;
    neo_side side = neo_schedule_side(f, s, &c->factor[k]);
    neo_pack_shape shape = neo_pack_shape_of(m, f, stage, &c->factor[k], side, s);
    if (!shape.ok || (total += shape.elements + shape.temp_elements) > 1 << 24)
      return reject(why, "an operand cannot be packed");
    for (uint32_t i = 0; i < k; i++)
      if (s->loops.pack >> i & 1 && c->factor[i].e.i == c->factor[k].e.i)
        return reject(why, "an operand is packed twice");
  }
  return true;
}

static bool partial_legal(neo_module *m, const neo_form *f, const neo_stage *stage,
                          const neo_schedule *s, neo_str *why) {
  neo_partial_shape shape = neo_partial_shape_of(m, f, s);
  int64_t elements;
  if (shape.blocks < 0 || __builtin_mul_overflow(shape.rows, shape.pitch, &elements) ||
      __builtin_mul_overflow(elements, shape.blocks, &elements) || elements > 1 << 22)
    return reject(why, "the sums of a block are too many");
  return !neo_schedule_steps_first(s) || neo_stage_steps_alike(m, f, stage) ||
         reject(why, "the first reduction axis has another range at each point");
}

bool neo_contraction_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, neo_str *why) {
  neo_contraction c;
  if (!fuse_legal(m, f, &s->loops, why))
    return false;
  if (s->loops.pairs)
    return neo_matrix_legal(m, f, machine, s, why);
  if (!s->loops.pack && !s->loops.block_k)
    return true;
  if (!neo_contraction_of(m, f, &c))
    return reject(why, "pack and block_k are for contractions");
  if (s->loops.block_k && !partial_legal(m, f, &f->stages.at[c.stage], s, why))
    return false;
  return packs_legal(m, f, &c, s, why);
}
