/* The strategy of register tiles of contractions. */
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include "schedule/tile/prefetch.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  neo_ranked best;
  neo_machine machine = neo_space_machine(x);
  if (x->machine->gpu || !neo_model_contractions(x->m, x->f, &machine, &best, 1))
    return false;
  *out = best.schedule;
  neo_loops_add_row_parts(x, out);
  return true;
}

static double cost(const neo_space *x, const neo_schedule *s) {
  neo_machine machine = neo_space_machine(x);
  double cycles = neo_model_contraction_cost(x->m, x->f, &machine, s);
  return cycles >= 0 ? cycles : neo_loops_cost(x, s);
}

static void rank(const neo_space *x, neo_ranking *r) {
  neo_machine machine = neo_space_machine(x);
  neo_ranked *top = NEO_NEW_ARRAY(x->m->arena, neo_ranked, r->most);
  size_t n = x->machine->gpu ? 0 : neo_model_contractions(x->m, x->f, &machine, top, r->most);
  for (size_t k = 0; k < n; k++)
    neo_ranking_add(r, &top[k].schedule, top[k].cost);
}

/* ---- Legality of a contraction's tiles: packed operands, blocks of the reduction, prefetches. */

static bool packs_legal(neo_module *m, const neo_form *f, const neo_contraction *c,
                        const neo_schedule *s, neo_str *why) {
  const neo_stage *stage = &f->stages.at[c->stage];
  int64_t v = s->loops.vector_axis, total = 0;
  if (s->loops.pack >> c->n_operands)
    return reject(why, "pack names an operand that does not exist");
  if (s->loops.pack && (v < 0 || v >= (int64_t)f->axes.n))
    return reject(why, "pack is for lanes over a shared axis");
  for (uint32_t k = 0; k < c->n_operands; k++) {
    if (!(s->loops.pack >> k & 1))
      continue;
    if (!neo_schedule_reads(f, s, c, k))
      return reject(why, "pack names an operand that tiles do not read");
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
    return reject(why, "a block has too many partial sums");
  return !neo_schedule_steps_first(s) || neo_stage_steps_uniform(m, f, stage) ||
         reject(why, "the range of the first reduction axis varies between points");
}

static bool prefetch_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, neo_str *why) {
  neo_prefetch any[NEO_PREFETCH_MOST];
  int64_t n = s->loops.prefetch;
  if (n && machine->gpu)
    return reject(why, "prefetch is for the caches of a processor");
  return !n || (n >= 1 && n <= NEO_PREFETCH_DISTANCE && neo_prefetch_find(m, f, machine, s, any)) ||
         reject(why, "prefetch is for tiles of a contraction that read rows from memory");
}

/* Checks columns, packs and blocks of the reduction. f, s: of neo_collapsed_of. */
static bool contraction_legal(neo_module *m, const neo_form *f, const neo_schedule *s,
                              neo_str *why) {
  neo_contraction c;
  if (!s->loops.pack && !s->loops.block_k)
    return true;
  if (!neo_contraction_of(m, f, &c))
    return reject(why, "pack and block_k are for contractions");
  if (s->loops.block_k && !partial_legal(m, f, &f->stages.at[c.stage], s, why))
    return false;
  return packs_legal(m, f, &c, s, why);
}

/* Members of the strategy's row (strategy.h); they include the common parts of all strategies of
 * loops. */
static bool tile_legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  if (s->loops.pairs)
    return reject(why, "pairs are multiplied by the strategy of that name");
  if (!neo_loops_legal(x, s, why) || !neo_loops_bounds_legal(x, s, why))
    return false;
  neo_collapsed y = neo_collapsed_of(x->m, x->f, s);
  return neo_loops_fused_legal(x->m, y.f, &y.s, why) && contraction_legal(x->m, y.f, &y.s, why) &&
         prefetch_legal(x->m, y.f, x->machine, &y.s, why);
}

const neo_strategy_row neo_strategy_tile = {.choose = choose,
                                            .legal = tile_legal,
                                            .cost = cost,
                                            .rank = rank,
                                            .update_units = neo_loops_update_units,
                                            NEO_LOOPS_STEPS};
