/* The definitions of training: products of matrices in every order of their indices, with batches
 * and masks; convolutions with stride, dilation and padding; segment sums. */
#include "tests/random/gen_parts.h"

static neo_type gen_float(gen *g) {
  static const neo_type types[] = {NEO_F32_T, NEO_F32_T,  NEO_F32_T,
                                   NEO_F64_T, NEO_BF16_T, NEO_F16_T};
  return gen_has(g, NEO_GEN_TYPES) ? GEN_PICK(g, types) : NEO_F32_T;
}

static source result(gen *g, neo_type t, const extent *dim, uint32_t rank) {
  source s = {.type = t, .exact = true, .rank = rank};
  for (uint32_t k = 0; k < rank; k++)
    s.dim[k] = dim[k];
  gen_add_tensor(g, &s, NEO_ROLE_TEMP, "y");
  return s;
}

/* A new input whose dimensions are those of the given axes, in a random order; its read. */
static neo_expr operand(gen *g, neo_type t, const uint32_t *axis, uint32_t n) {
  uint32_t order[5];
  neo_expr index[5];
  source s = {.type = t, .exact = true, .rank = n};
  for (uint32_t k = 0; k < n; k++) {
    uint32_t j = (uint32_t)gen_below(g, k + 1);
    order[k] = order[j];
    order[j] = axis[k];
  }
  for (uint32_t k = 0; k < n; k++) {
    s.dim[k] = g->axis[order[k]].end;
    index[k] = neo_axis_ref(g->m, order[k]);
  }
  gen_add_tensor(g, &s, NEO_ROLE_INPUT, "x");
  NEO_PUSH(g->arena, &g->sources, s);
  return neo_load(g->m, s.t, index, n, 0);
}

static void begin(gen *g) {
  g->n_axes = g->n_accs = 0;
}

static uint32_t axis_of(gen *g, const extent *end, bool reduced) {
  return gen_push_axis(g, gen_int(g, 0), end->e, end, reduced);
}

/* Adds the definition: sum over the axes from n_out on of x*y, then something. */
static void add_sum(gen *g, source out, const uint32_t *axes, neo_expr where, neo_expr body) {
  uint32_t n_axes = g->n_axes;
  neo_def_rec d = {.n_out = out.rank, .reducer = NEO_RED_SUM, .where = where};
  d.axes = neo_list_new(g->m, axes, n_axes);
  d.body = neo_list_new(g->m, &body.i, 1);
  g->n_axes = out.rank;
  g->acc[0] = neo_acc_ref(g->m, neo_expr_type(g->m, body), 0);
  g->n_accs = 1;
  neo_expr finish =
      gen_chance(g, 50) ? neo_cast(g->m, out.type, g->acc[0]) : gen_finish(g, out.type, false);
  d.finish = neo_list_new(g->m, &finish.i, 1);
  d.out = neo_list_new(g->m, &out.t.i, 1);
  (void)neo_def_add(g->m, d, true);
  out.exact = false;
  NEO_PUSH(g->arena, &g->sources, out);
}

/* y[b, m, n] = sum[k] x[b, m, k] * w[b, k, n], the indices in any order, b perhaps absent. */
static void matrix_product(gen *g) {
  bool batch = gen_chance(g, 30);
  int64_t limit = g->o->max_work;
  extent end[4];
  uint32_t axes[12], n = 0, n_out = batch ? 3 : 2;
  for (uint32_t k = 0; k < n_out + 1; k++) {
    end[k] = gen_extent(g, limit < 70 ? limit : 70);
    if (end[k].now > 1)
      limit /= end[k].now;
  }
  neo_type type = gen_float(g);
  source out = result(g, gen_chance(g, 80) ? type : NEO_F32_T, end, n_out);
  begin(g);
  for (; n < n_out + 1; n++)
    axes[n] = axis_of(g, &end[n], n == n_out);
  uint32_t m = n_out - 2, c = n_out - 1, k = n_out;
  uint32_t left[3] = {m, k, 0}, right[3] = {k, c, 0}; /* 0 is the batch */
  neo_expr x = operand(g, type, left, batch ? 3 : 2), y = operand(g, type, right, batch ? 3 : 2);
  neo_expr where = {0};
  if (gen_chance(g, 20))
    where = neo_op2(g->m, NEO_OP_LE, neo_axis_ref(g->m, k), neo_axis_ref(g->m, m));
  add_sum(g, out, axes, where, neo_op2(g->m, NEO_OP_MUL, x, y));
}

typedef struct {
  int64_t n, window, stride, dilation, pad, out;
} spatial;

static spatial choose_spatial(gen *g) {
  static const int64_t extents[] = {1, 3, 5, 7, 8, 9, 14};
  spatial s = {.stride = 1 + (int64_t)gen_below(g, 2), .dilation = 1 + (int64_t)gen_below(g, 2)};
  s.n = GEN_PICK(g, extents);
  s.window = 1 + (int64_t)gen_below(g, 3);
  s.pad = (int64_t)gen_below(g, 3);
  int64_t room = s.n + 2 * s.pad - s.dilation * (s.window - 1) - 1;
  s.out = room < 0 ? 0 : room / s.stride + 1;
  return s;
}

static neo_expr spatial_index(gen *g, const spatial *s, uint32_t out, uint32_t window) {
  neo_expr i = neo_axis_ref(g->m, out), r = neo_axis_ref(g->m, window);
  i = neo_op2(g->m, NEO_OP_MUL, i, gen_int(g, s->stride));
  r = neo_op2(g->m, NEO_OP_MUL, r, gen_int(g, s->dilation));
  return neo_op2(g->m, NEO_OP_SUB, neo_op2(g->m, NEO_OP_ADD, i, r), gen_int(g, s->pad));
}

/* y[n, k, p, q] = sum[c, r, s] f[k, c, r, s] * (x[n, c, stride*p + dilation*r - pad, ...] else 0)
 */
static void convolution(gen *g) {
  static const int64_t channels[] = {1, 2, 3, 4, 8};
  spatial h = choose_spatial(g), w = choose_spatial(g);
  extent dim[7]; /* n k p q c r s */
  dim[0] = gen_extent(g, 3);
  dim[1] = gen_constant_extent(g, GEN_PICK(g, channels));
  dim[2] = gen_constant_extent(g, h.out);
  dim[3] = gen_constant_extent(g, w.out);
  dim[4] = gen_constant_extent(g, GEN_PICK(g, channels));
  dim[5] = gen_constant_extent(g, h.window);
  dim[6] = gen_constant_extent(g, w.window);
  neo_type type = gen_chance(g, 80) ? NEO_F32_T : gen_float(g);
  source out = result(g, type, dim, 4);
  source x = {.type = type, .exact = true, .rank = 4, .dim = {dim[0], dim[4]}};
  x.dim[2] = gen_constant_extent(g, h.n);
  x.dim[3] = gen_constant_extent(g, w.n);
  gen_add_tensor(g, &x, NEO_ROLE_INPUT, "x");
  NEO_PUSH(g->arena, &g->sources, x);
  uint32_t axes[12];
  begin(g);
  for (uint32_t k = 0; k < 7; k++)
    axes[k] = axis_of(g, &dim[k], k >= 4);
  neo_expr index[4] = {neo_axis_ref(g->m, 0), neo_axis_ref(g->m, 4), spatial_index(g, &h, 2, 5),
                       spatial_index(g, &w, 3, 6)};
  neo_expr read = h.pad || w.pad
                      ? neo_load_else(g->m, x.t, index, 4, neo_const_float(g->m, type, 0), 0)
                      : neo_load(g->m, x.t, index, 4, 0);
  neo_expr f = operand(g, type, (uint32_t[]){1, 4, 5, 6}, 4);
  add_sum(g, out, axes, (neo_expr){0}, neo_op2(g->m, NEO_OP_MUL, f, read));
}

/* z[v, d] = sum[e where to[e] == v] x[e, d]: the gradient of a lookup. */
static void segment_sum(gen *g) {
  extent dim[3] = {gen_extent(g, 17), gen_extent(g, 17), gen_extent(g, 33)}; /* v d e */
  source out = result(g, NEO_F32_T, dim, 2);
  source to = {.type = NEO_I32_T, .exact = true, .rank = 1, .dim = {dim[2]}, .bound = dim[0]};
  to.has_bound = dim[0].least > 0;
  gen_add_tensor(g, &to, NEO_ROLE_INPUT, "x");
  NEO_PUSH(g->arena, &g->sources, to);
  uint32_t axes[12];
  begin(g);
  for (uint32_t k = 0; k < 3; k++)
    axes[k] = axis_of(g, &dim[k], k == 2);
  neo_expr e = neo_axis_ref(g->m, 2), at = neo_load(g->m, to.t, &e, 1, 0);
  neo_expr where = neo_op2(g->m, NEO_OP_EQ, neo_cast(g->m, NEO_I64_T, at), neo_axis_ref(g->m, 0));
  add_sum(g, out, axes, where, operand(g, NEO_F32_T, (uint32_t[]){2, 1}, 2));
}

void gen_contraction(gen *g) {
  uint64_t kind = gen_below(g, 10);
  if (kind < 6)
    matrix_product(g);
  else if (kind < 9)
    convolution(g);
  else
    segment_sum(g);
}
