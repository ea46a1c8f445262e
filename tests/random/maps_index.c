/* Indices of access maps. An index is kept with its largest value, so that the extents of what it
 * reads follow from it. */
#include "tests/random/maps_parts.h"

static map_index of(neo_expr e, neo_expr hi) {
  return (map_index){e, hi};
}

static neo_expr last(map_gen *g, neo_expr end) {
  return map_op(g, NEO_OP_SUB, end, map_int(g, 1));
}

map_index map_axis(map_gen *g, uint32_t k) {
  return of(neo_axis_ref(g->m, k), last(g, g->end[k]));
}

static map_index some_axis(map_gen *g) {
  if (!g->usable)
    return of(map_int(g, 0), map_int(g, 0));
  return map_axis(g, (uint32_t)map_pick(g, 0, g->usable - 1));
}

static map_index scaled(map_gen *g, map_index x, int64_t c) {
  return of(map_op(g, NEO_OP_MUL, x.e, map_int(g, c)), map_op(g, NEO_OP_MUL, x.hi, map_int(g, c)));
}

static map_index sum(map_gen *g, map_index x, map_index y) {
  return of(map_op(g, NEO_OP_ADD, x.e, y.e), map_op(g, NEO_OP_ADD, x.hi, y.hi));
}

static map_index plus(map_gen *g, map_index x, int64_t c) {
  return sum(g, x, of(map_int(g, c), map_int(g, c)));
}

static map_index reversed(map_gen *g, map_index x) {
  return of(map_op(g, NEO_OP_SUB, x.hi, x.e), x.hi);
}

/* Any coefficients; mirrored terms keep it above 0. */
map_index map_linear(map_gen *g) {
  static const int64_t coefs[] = {0, 0, 1, 1, 1, 2, 2, 3, 4, 6, -1, -1, -2, -3};
  map_index y = of(map_int(g, 0), map_int(g, 0));
  for (uint32_t k = 0; k < g->usable; k++) {
    int64_t c = coefs[map_pick(g, 0, 13)];
    map_index x = map_axis(g, k);
    if (c)
      y = sum(g, y, c < 0 ? scaled(g, reversed(g, x), -c) : scaled(g, x, c));
  }
  return y;
}

static map_index divided(map_gen *g, map_index x, neo_expr by) {
  return of(map_op(g, NEO_OP_DIV, x.e, by), map_op(g, NEO_OP_DIV, x.hi, by));
}

static map_index remainder_of(map_gen *g, map_index x, neo_expr by) {
  return of(map_op(g, NEO_OP_MOD, x.e, by), map_op(g, NEO_OP_MIN, x.hi, last(g, by)));
}

/* A positive divisor. */
static neo_expr divisor(map_gen *g) {
  if (g->n_sizes && map_chance(g, 25)) {
    uint32_t k = (uint32_t)map_pick(g, 0, g->n_sizes - 1);
    neo_expr n = g->size[k];
    return g->positive[k] ? n : map_op(g, NEO_OP_ADD, n, map_int(g, map_pick(g, 1, 2)));
  }
  return map_int(g, map_pick(g, 2, 5));
}

/* Window: stride*p + dilation*r, perhaps two of r, perhaps mirrored. */
static map_index window(map_gen *g) {
  map_index y = scaled(g, some_axis(g), map_pick(g, 1, 4));
  for (int64_t n = map_pick(g, 0, 5); n < 8; n += 4) {
    map_index r = scaled(g, some_axis(g), map_pick(g, 1, 6));
    y = sum(g, y, map_chance(g, 15) ? reversed(g, r) : r);
  }
  return y;
}

/* a*extent(b) + b */
static map_index flattened(map_gen *g) {
  if (g->usable < 2)
    return some_axis(g);
  uint32_t a = (uint32_t)map_pick(g, 0, g->usable - 1), b = (uint32_t)map_pick(g, 0, g->usable - 1);
  map_index x = map_axis(g, a), y = map_axis(g, b);
  neo_expr n = g->end[b];
  map_index high = of(map_op(g, NEO_OP_MUL, x.e, n), map_op(g, NEO_OP_MUL, x.hi, n));
  return sum(g, high, y);
}

/* T[x], an integer below 1 to 6. */
static map_index looked_up(map_gen *g, map_index x) {
  neo_expr extent = map_extent_of(g, x), bound = map_int(g, map_pick(g, 1, 6));
  if (map_now(g, extent) > 60)
    return x;
  if (g->guard) /* x may be outside */
    x.e = neo_op3(g->m, NEO_OP_CLAMP, x.e, map_int(g, 0), x.hi);
  neo_tensor t = map_tensor(g, "T", NEO_ROLE_INPUT, NEO_I32_T, bound, &extent, 1);
  neo_expr at = neo_cast(g->m, NEO_I64_T, neo_load(g->m, t, &x.e, 1, 0));
  return of(at, last(g, bound));
}

/* Reflected or clamped: pads of x moved by `pad`. */
static map_index edge(map_gen *g, map_index x) {
  int64_t pad = map_pick(g, 0, 3);
  neo_expr j = map_op(g, NEO_OP_SUB, x.e, map_int(g, pad));
  neo_expr inner = map_op(g, NEO_OP_SUB, x.hi, map_int(g, 2 * pad - map_pick(g, 0, 1)));
  neo_expr end = map_op(g, NEO_OP_MAX, inner, map_int(g, map_pick(g, 0, 2))); /* last element */
  if (map_chance(g, 40)) {
    if (map_chance(g, 50))
      return of(neo_op3(g->m, NEO_OP_CLAMP, j, map_int(g, 0), end), end);
    return of(map_op(g, NEO_OP_MAX, map_op(g, NEO_OP_MIN, j, end), map_int(g, 0)), end);
  }
  g->guard = true; /* twice reflected is outside */
  if (map_chance(g, 50)) {
    neo_expr up = neo_op1(g->m, NEO_OP_ABS, j), down = map_op(g, NEO_OP_SUB, end, up);
    return of(map_op(g, NEO_OP_SUB, end, neo_op1(g->m, NEO_OP_ABS, down)), end);
  }
  neo_expr twice = map_op(g, NEO_OP_MUL, end, map_int(g, 2));
  neo_expr low = map_op(g, NEO_OP_LT, j, map_int(g, 0)), high = map_op(g, NEO_OP_LT, end, j);
  neo_expr down = neo_op3(g->m, NEO_OP_SELECT, high, map_op(g, NEO_OP_SUB, twice, j), j);
  neo_expr up = map_op(g, NEO_OP_SUB, map_int(g, 0), j);
  return of(neo_op3(g->m, NEO_OP_SELECT, low, up, down), end);
}

/* Shuffle of x in groups: (x % k)*rest + x / k. */
static map_index shuffled(map_gen *g, map_index x) {
  neo_expr k = divisor(g), n = map_op(g, NEO_OP_ADD, x.hi, k); /* ceil((hi + 1)/k) */
  map_index low = remainder_of(g, x, k), high = divided(g, x, k);
  neo_expr rest = map_op(g, NEO_OP_DIV, n, k);
  low = of(map_op(g, NEO_OP_MUL, low.e, rest), map_op(g, NEO_OP_MUL, low.hi, rest));
  return sum(g, low, high);
}

/* (z + c - d*r)/s where it divides: the read of a transposed convolution. */
static map_index transposed(map_gen *g) {
  int64_t s = map_pick(g, 2, 4);
  map_index z = some_axis(g), r = scaled(g, some_axis(g), map_pick(g, 1, 2));
  z = map_chance(g, 60) ? plus(g, z, map_pick(g, 0, 2)) : sum(g, z, r);
  neo_expr x = map_op(g, NEO_OP_SUB, z.e, r.e), by = map_int(g, s);
  neo_expr divides =
      map_op(g, NEO_OP_EQ, map_op(g, NEO_OP_MOD, x, by), map_int(g, map_pick(g, 0, 5) / 5));
  g->where = g->where.i ? map_op(g, NEO_OP_AND, g->where, divides) : divides;
  g->guard = true;
  return of(map_op(g, NEO_OP_DIV, x, by), map_op(g, NEO_OP_DIV, z.hi, by));
}

map_index map_any(map_gen *g, int depth) {
  if (g->windows && map_chance(g, 80))
    return map_chance(g, 70) ? window(g) : some_axis(g);
  map_index x = depth > 0 && map_chance(g, 45) ? map_any(g, depth - 1) : some_axis(g);
  switch (map_pick(g, 0, 15)) {
  case 0:
    return map_linear(g);
  case 1:
    return window(g);
  case 2:
    return divided(g, x, divisor(g));
  case 3:
    return remainder_of(g, x, divisor(g));
  case 4:
    return reversed(g, x);
  case 5:
    return looked_up(g, x);
  case 6:
    return edge(g, x);
  case 7:
    return shuffled(g, x);
  case 8:
    return transposed(g);
  case 9:
    return flattened(g);
  case 10:
    return plus(g, x, map_pick(g, 1, 2));
  case 11:
    return sum(g, x, map_linear(g));
  case 12:
    return scaled(g, x, map_pick(g, 2, 3));
  default:
    return x;
  }
}

/* e/(K*L), e/K % L, e % K */
static uint32_t reshaped(map_gen *g, map_index *out, uint32_t room) {
  map_index x = map_chance(g, 60) ? map_linear(g) : map_any(g, 1);
  neo_expr k = divisor(g), l = divisor(g);
  if (room < 3 || map_chance(g, 50)) {
    out[0] = divided(g, x, k);
    out[1] = remainder_of(g, x, k);
    return 2;
  }
  out[0] = divided(g, divided(g, x, k), l);
  if (map_chance(g, 50))
    out[0] = divided(g, x, map_op(g, NEO_OP_MUL, k, l));
  out[1] = remainder_of(g, divided(g, x, k), l);
  out[2] = remainder_of(g, x, k);
  return 3;
}

static uint32_t depth_to_space(map_gen *g, map_index *out) {
  int64_t b = map_pick(g, 2, 3);
  map_index h = some_axis(g), w = some_axis(g);
  neo_expr by = map_int(g, b);
  out[0] = divided(g, h, by);
  out[1] = divided(g, w, by);
  out[2] = sum(g, scaled(g, remainder_of(g, h, by), b), remainder_of(g, w, by));
  return 3;
}

uint32_t map_dims(map_gen *g, map_index *out, uint32_t room) {
  int64_t form = map_pick(g, 0, 9);
  if (room >= 2 && form < 2)
    return reshaped(g, out, room);
  if (room >= 3 && form == 2)
    return depth_to_space(g, out);
  if (room >= 2 && form == 3) { /* a diagonal, or a skew one */
    out[0] = out[1] = some_axis(g);
    if (map_chance(g, 50))
      out[1] = sum(g, out[0], some_axis(g));
    return 2;
  }
  out[0] = map_any(g, 2);
  return 1;
}
