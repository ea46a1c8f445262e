/* An entry's frame at the sizes of a call: the bytes of each buffer as a size program, and the
 * buffers that it rests on in the plan for the largest sizes (codegen/dsa/stack.c).
 *
 * The bytes of a buffer are at most those of the plan, whose extents are the upper ends of
 * intervals. So no call needs more memory than the plan, even if an extent decreases with growing
 * sizes. */
#include "codegen/plan/internal.h"
#include "ir/store.h"

static bool is_index(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  (void)x;
  return n->op == NEO_OP_SIZE && neo_size_at(m, (neo_size){n->attr})->loop_index;
}

/* The extent that counts: 0 for a negative extent, the largest value for one that depends on a
 * loop's index. */
static neo_expr length(plan_store *s, neo_expr extent) {
  neo_module *m = s->p->m;
  int64_t lo, hi;
  bool bounded = neo_interval(s->prover, NULL, extent, &lo, &hi);
  if (bounded && (lo == hi || neo_expr_any(m, extent, is_index, NULL)))
    return neo_const_i64(m, hi > 0 ? hi : 0);
  return bounded && lo >= 0 ? extent : neo_op2(m, NEO_OP_MAX, extent, neo_const_i64(m, 0));
}

neo_expr plan_places_bytes(plan_store *s, neo_tensor t) {
  neo_module *m = s->p->m;
  neo_type type = neo_tensor_type(m, t);
  neo_expr n = neo_const_i64(m, neo_type_bytes(type));
  t = neo_tensor_store(m, t);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    n = neo_op2(m, NEO_OP_MUL, n, length(s, neo_tensor_extent(m, t, k)));
  return n;
}

/* Its value is that of all sizes. */
static bool plan_fixed(const neo_plan *p, int32_t program) {
  size_t k = (size_t)program;
  while (p->programs.at[k] != NEO_RT_OP_END && p->programs.at[k] != NEO_RT_OP_SIZE)
    k += p->programs.at[k] == NEO_RT_OP_CONST ? 2 : 1;
  return p->programs.at[k] == NEO_RT_OP_END;
}

void plan_places_add(neo_plan *p, neo_arena *scratch, const plan_frame_items *f, neo_rt_entry *e) {
  int32_t *program = NEO_NEW_ARRAY(scratch, int32_t, f->n + 1);
  bool fixed = true;
  for (size_t k = 0; k < f->n; k++) {
    program[k] = neo_plan_program(p, f->bytes[k]);
    fixed = fixed && plan_fixed(p, program[k]);
  }
  e->places = (int32_t)p->rt_places.n;
  if (fixed)
    return;
  neo_dsa_stack s = neo_dsa_stack_of(f->items, f->n, f->always, scratch);
  int32_t none = neo_plan_program(p, neo_const_i64(p->m, 0));
  for (size_t k = 0; k < s.n; k++) {
    neo_dsa_place x = s.place[k];
    bool height = x.item == NEO_DSA_NO_ITEM;
    neo_rt_place y = {.offset = x.offset,
                      .buf = height ? -1 : f->buf[x.item],
                      .bytes = height ? none : program[x.item],
                      .below = (int32_t)(p->places_below.n),
                      .n_below = (int32_t)x.n_below};
    for (uint32_t i = 0; i < x.n_below; i++)
      NEO_PUSH(p->arena, &p->places_below, (int32_t)s.below[x.below + i]);
    NEO_PUSH(p->arena, &p->rt_places, y);
    if (!height)
      p->bufs.at[y.buf].place = (int32_t)p->rt_places.n;
  }
  e->n_places = (int32_t)s.n;
}
