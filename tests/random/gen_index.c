/* Extents, and indices that are in range whatever the sizes are. */
#include "tests/random/gen_parts.h"

static const int64_t nice[] = {1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64};

neo_expr gen_int(gen *g, int64_t x) {
  return neo_const_int(g->m, NEO_I64_T, x);
}

extent gen_constant_extent(gen *g, int64_t x) {
  return (extent){.e = gen_int(g, x), .now = x, .least = x, .constant = true};
}

extent gen_extent(gen *g, int64_t limit) {
  if (gen_chance(g, 3))
    return gen_constant_extent(g, 0);
  for (int attempt = 0; attempt < 4; attempt++) {
    extent e = g->extents.n && gen_chance(g, 65) ? g->extents.at[gen_below(g, g->extents.n)]
                                                 : gen_constant_extent(g, GEN_PICK(g, nice));
    if (e.now > limit)
      continue;
    NEO_PUSH(g->arena, &g->extents, e);
    return e;
  }
  return gen_constant_extent(g, limit < 1 ? limit : 1 + (int64_t)gen_below(g, (uint64_t)limit) % 3);
}

static neo_expr axis_plus(gen *g, uint32_t k, int64_t stride, int64_t offset) {
  neo_expr e = neo_op2(g->m, NEO_OP_MUL, neo_axis_ref(g->m, k), gen_int(g, stride));
  return neo_op2(g->m, NEO_OP_ADD, e, gen_int(g, offset));
}

static neo_expr last(gen *g, const extent *end) {
  return neo_op2(g->m, NEO_OP_SUB, end->e, gen_int(g, 1));
}

/* An axis whose range is that of the dimension, perhaps mirrored. */
static neo_expr same_range(gen *g, const extent *end) {
  if (!g->n_axes)
    return (neo_expr){0};
  uint32_t from = (uint32_t)gen_below(g, g->n_axes);
  for (uint32_t j = 0; j < g->n_axes; j++) {
    uint32_t k = (from + j) % g->n_axes;
    if (g->axis[k].end.e.i != end->e.i)
      continue;
    if (gen_chance(g, 12))
      return neo_op2(g->m, NEO_OP_SUB, last(g, end), neo_axis_ref(g->m, k));
    return neo_axis_ref(g->m, k);
  }
  return (neo_expr){0};
}

/* stride*axis + offset, for constant ranges. */
static neo_expr affine(gen *g, const extent *end) {
  if (!g->n_axes || !end->constant)
    return (neo_expr){0};
  uint32_t k = (uint32_t)gen_below(g, g->n_axes);
  const extent *range = &g->axis[k].end;
  if (!range->constant || range->now == 0)
    return (neo_expr){0};
  int64_t stride = range->now == 1 ? 1 : (end->now - 1) / (range->now - 1);
  if (stride < 1)
    return (neo_expr){0};
  stride = 1 + (int64_t)gen_below(g, (uint64_t)(stride < 3 ? stride : 3));
  int64_t room = end->now - 1 - stride * (range->now - 1);
  if (room < 0)
    return (neo_expr){0};
  return axis_plus(g, k, stride, (int64_t)gen_below(g, (uint64_t)room + 1));
}

/* Two axes of one dimension: window + offset. */
static neo_expr window(gen *g, const extent *end) {
  if (g->n_axes < 2 || !end->constant)
    return (neo_expr){0};
  uint32_t a = (uint32_t)gen_below(g, g->n_axes), b = (uint32_t)gen_below(g, g->n_axes);
  const extent *x = &g->axis[a].end, *y = &g->axis[b].end;
  if (a == b || !x->constant || !y->constant || !x->now || !y->now)
    return (neo_expr){0};
  int64_t stride = 1 + (int64_t)gen_below(g, 2), dilation = 1 + (int64_t)gen_below(g, 2);
  if (stride * (x->now - 1) + dilation * (y->now - 1) >= end->now)
    return (neo_expr){0};
  return neo_op2(g->m, NEO_OP_ADD, axis_plus(g, a, stride, 0), axis_plus(g, b, dilation, 0));
}

static neo_expr wrapped(gen *g, const extent *end) {
  if (end->least < 1)
    return (neo_expr){0};
  neo_expr any = gen_any_index(g);
  if (gen_chance(g, 50))
    return neo_op2(g->m, NEO_OP_MOD, any, end->e);
  return neo_op3(g->m, NEO_OP_CLAMP, any, gen_int(g, 0), last(g, end));
}

static neo_expr quotient(gen *g, const extent *end) {
  if (!g->n_axes || !end->constant)
    return (neo_expr){0};
  uint32_t k = (uint32_t)gen_below(g, g->n_axes);
  int64_t by = 2 + (int64_t)gen_below(g, 3);
  const extent *range = &g->axis[k].end;
  if (!range->constant || (range->now + by - 1) / by > end->now)
    return (neo_expr){0};
  return neo_op2(g->m, NEO_OP_DIV, neo_axis_ref(g->m, k), gen_int(g, by));
}

static neo_expr lookup(gen *g, const extent *end) {
  if (!gen_has(g, NEO_GEN_LOOKUPS) || !g->sources.n || g->lookups >= 2)
    return (neo_expr){0};
  size_t from = gen_below(g, g->sources.n);
  for (size_t j = 0; j < g->sources.n; j++) {
    source s = g->sources.at[(from + j) % g->sources.n];
    if (!s.has_bound)
      continue;
    bool fits =
        s.bound.e.i == end->e.i || (s.bound.constant && end->constant && s.bound.now <= end->now);
    if (!fits)
      continue;
    g->lookups++;
    neo_expr e = gen_read(g, &s);
    g->lookups--;
    if (e.i)
      return neo_cast(g->m, NEO_I64_T, e);
  }
  return (neo_expr){0};
}

neo_expr gen_any_index(gen *g) {
  neo_expr e = gen_int(g, (int64_t)gen_below(g, 9) - 4);
  uint32_t n = g->n_axes ? 1 + (uint32_t)gen_below(g, 2) : 0;
  for (uint32_t k = 0; k < n; k++) {
    int64_t stride = (int64_t)gen_below(g, 6) - 2;
    neo_expr x = axis_plus(g, (uint32_t)gen_below(g, g->n_axes), stride, 0);
    e = neo_op2(g->m, NEO_OP_ADD, x, e);
  }
  return e;
}

neo_expr gen_index(gen *g, const extent *end) {
  neo_expr e = gen_chance(g, 70) ? same_range(g, end) : (neo_expr){0};
  for (int attempt = 0; !e.i && attempt < 6; attempt++)
    switch (gen_below(g, 8)) {
    case 0:
    case 1:
      e = affine(g, end);
      break;
    case 2:
      e = window(g, end);
      break;
    case 3:
      e = wrapped(g, end);
      break;
    case 4:
      e = quotient(g, end);
      break;
    case 5:
      e = lookup(g, end);
      break;
    default:
      e = same_range(g, end);
      break;
    }
  if (!e.i && end->least > 0)
    e = gen_int(g, (int64_t)gen_below(g, (uint64_t)end->least));
  return e;
}

static neo_expr guarded_read(gen *g, const source *s) {
  neo_expr index[5], other = neo_const_int(g->m, s->type, (int64_t)gen_below(g, 3));
  if (s->type == NEO_BOOL_T)
    other = neo_const_bool(g->m, gen_chance(g, 50));
  for (uint32_t k = 0; k < s->rank; k++) {
    index[k] = gen_chance(g, 50) ? gen_any_index(g) : gen_index(g, &s->dim[k]);
    if (!index[k].i)
      index[k] = gen_any_index(g);
  }
  return neo_load_else(g->m, s->t, index, s->rank, other, 0);
}

neo_expr gen_read(gen *g, const source *s) {
  neo_expr index[5];
  if (gen_has(g, NEO_GEN_GUARDS) && s->rank && !s->has_bound && gen_chance(g, 15))
    return guarded_read(g, s);
  for (uint32_t k = 0; k < s->rank; k++) {
    index[k] = gen_index(g, &s->dim[k]);
    if (!index[k].i)
      return index[k];
  }
  return neo_load(g->m, s->t, index, s->rank, 0);
}
