/* Loops that are tiled: rounds in blocks of so many, and definitions that are computed for all rounds of a
 * block before it begins. What they read of the recurrence was made before the block, by what they say
 * themselves:
 *
 *   p[i, j] = sum[k: j/32*32] L[i, k]*L[j, k]            blocks of 32
 *
 * (transform/tile_recurrences.c writes such definitions; strip-mining and distribution of M. Wolfe, "More
 * iteration space tiling".) */
#include "fusion/recurrence/internal.h"

typedef struct {
  outliner *o;
  const neo_order_step *order;
  const neo_order_member *own;
  const outline_instance *x;
  neo_expr first; /* round of the block */
  int64_t rounds;
  bool hoisted;
} block_look;

static neo_expr round_of(const block_look *l, neo_expr at, const neo_order_member *x) {
  return neo_op2(l->o->m, NEO_OP_ADD, at, outline_number(l->o, x->delay));
}

/* round / n for the definition's own round says that it goes by blocks of n. */
static void look_division(void *ctx, neo_expr e) {
  block_look *l = ctx;
  neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, e);
  int64_t rounds, d;
  if (n->op != NEO_OP_DIV || n->type != NEO_I64_T ||
      !neo_expr_is_int(m, neo_list_expr(m, n->arg, 1), &rounds) || rounds < 2)
    return;
  neo_expr own = round_of(l, neo_axis_ref(m, l->own->axis), l->own);
  if (outline_distance(l->o, neo_expr_arg(m, e, 0), own, &d) && d == 0 && !l->rounds)
    l->rounds = rounds;
}

static int64_t rounds_of(block_look *l) {
  neo_module *m = l->o->m;
  const neo_def_rec *d = &l->x->rec;
  l->rounds = 0;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, d, k)->lo, look_division, l);
    neo_expr_visit(m, neo_def_axis(m, d, k)->hi, look_division, l);
  }
  if (d->where.i)
    neo_expr_visit(m, d->where, look_division, l);
  return l->rounds;
}

/* Everything that is read of the recurrence was made before the block. */
static void look_made(void *ctx, neo_expr read, uint32_t n_axes) {
  block_look *l = ctx;
  neo_module *m = l->o->m;
  uint32_t t = neo_expr_node(m, read)->attr;
  for (uint32_t k = 0; k < l->order->n_members && l->hoisted; k++) {
    const neo_order_member *from = &l->order->member[k];
    neo_list out = neo_def_at(m, from->def)->out;
    for (uint32_t i = 0; i < out.n; i++) {
      if (neo_list_at(m, out, i) != t)
        continue;
      neo_expr made = round_of(l, neo_expr_arg(m, read, from->axis), from);
      neo_expr end = neo_op2(m, NEO_OP_ADD, l->first, outline_number(l->o, l->rounds));
      neo_expr goal =
          l->order->down ? neo_op2(m, NEO_OP_LE, end, made) : neo_op2(m, NEO_OP_LT, made, l->first);
      bool whole = !neo_def_at(m, from->def)->out_map.n;
      l->hoisted = whole && outline_proved(l->o, l->x, n_axes, goal);
    }
  }
}

int64_t outline_block_of(outliner *o, const neo_order_step *order, bool *hoisted) {
  neo_module *m = o->m;
  int64_t rounds = 0;
  for (uint32_t k = 0; k < order->n_steps; k++) {
    neo_def d = order->step[k].def;
    hoisted[k] = false;
    if (!d.i || neo_def_at(m, d)->out_map.n)
      continue;
    block_look l = {.o = o, .order = order, .own = outline_member(order, d), .hoisted = true};
    l.x = outline_instance_of(o, d);
    if (!rounds_of(&l) || (rounds && l.rounds != rounds))
      continue;
    neo_expr n = outline_number(o, l.rounds), own = neo_axis_ref(m, l.own->axis);
    l.first = neo_op2(m, NEO_OP_DIV, round_of(&l, own, l.own), n);
    l.first = neo_op2(m, NEO_OP_MUL, l.first, n);
    outline_reads(o, l.x, look_made, &l);
    hoisted[k] = l.hoisted;
    rounds = l.hoisted ? l.rounds : rounds;
  }
  return rounds;
}
