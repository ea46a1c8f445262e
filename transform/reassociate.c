/* Block-parallel linear recurrences (`--reassociate`): blocks of iterations run side by side.
 *
 *     h[t, d] = a[t, d]*(h[t-1, d] else 0) + x[t, d]                          iterations along t
 *     ->                                                                      t = B*q + r
 *     sums.u[r, q, d]    = a[t, d]*(sums.u[r-1, q, d] else 0) + x[t, d]       from a start of 0
 *     factors.u[r, q, d] = a[t, d]*(factors.u[r-1, q, d] else 1)              of the start
 *     starts.u[q, d]     = sums.u[B-1, q-1, d] + factors.u[B-1, q-1, d]*starts.u[q-1, d]
 *     blocks.u[r, q, d]  = a[t, d]*(blocks.u[r-1, q, d] else starts.u[q, d]) + x[t, d]
 *     h[t, d]            = blocks.u[t%B, t/B, d]
 *
 * The loops have 2*B + T/B iterations in place of T, each with T/B times the elements. Each element
 * is computed twice, but of sums and factors only the last iterations are stored. Results differ
 * from the program's as two orders of a sum do. Recurrences that read K iterations back have K
 * factors and K starts for a block. The last block may be longer than the tensor; nobody reads its
 * end.
 *
 * Factors are products of B coefficients. If they overflow, a start of 0 gives NaN: hence only on
 * request. It pays for many iterations of few elements. (P. Kogge, H. Stone, "A parallel algorithm
 * for the efficient solution of a general class of recurrence equations"; G. Blelloch, "Prefix sums
 * and their applications".) */
#include "base/machine.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/order.h"
#include "transform/transform.h"

enum {
  MOST_REACH = 4,
  RECURRENCE_RANK = NEO_TENSOR_RANK - 1, /* blocks have an axis of their own */
  LEAST_ITERATIONS = 256,
  FULL = 128 /* elements of an iteration that fill the lanes of a core */
};

typedef struct {
  neo_module *m;
  neo_prover *p;
  neo_def id;
  neo_def_rec d;
  neo_tensor whole;
  neo_type type;
  uint32_t axis, reach; /* axis of the iterations; iterations back that are read, at most */
  bool down;
  int64_t block;
  neo_expr iterations, blocks; /* number of each */
  neo_expr iteration, at;      /* iteration and position of an element, over AXIS 0 and AXIS 1 */
  neo_expr value;              /* the definition's value at an element of a block */
} recurrence;

static neo_expr number_of(const recurrence *x, int64_t n) {
  return neo_const_i64(x->m, n);
}

static neo_expr zero(const recurrence *x) {
  return neo_const_float(x->m, x->type, 0);
}

static neo_expr plus(const recurrence *x, neo_expr e, int64_t n) {
  return neo_linear_form(x->m, neo_op2(x->m, NEO_OP_ADD, e, number_of(x, n)));
}

static bool is_read(const neo_node *n, neo_tensor t) {
  return neo_node_is_load(n) && n->attr == t.i;
}

/* ---- finding recurrences */

typedef struct {
  recurrence *x;
  bool good;
  bool found; /* a read of the recurrence */
} look;

/* Looks for a read of an earlier iteration at the same indices otherwise. */
static void look_read(void *ctx, neo_expr e) {
  look *l = ctx;
  recurrence *x = l->x;
  neo_module *m = x->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!is_read(n, x->whole))
    return;
  l->found = true;
  for (uint32_t k = 0; k < x->d.n_out && l->good; k++) {
    neo_linear by;
    neo_expr own = neo_axis_ref(m, k),
             distance = neo_op2(m, NEO_OP_SUB, own, neo_expr_arg(m, e, k));
    l->good = neo_linear_of(m, distance, &by) && !by.n;
    int64_t back = l->good ? (x->down ? -by.constant : by.constant) : 0;
    if (k != x->axis)
      l->good = l->good && back == 0;
    else
      l->good = l->good && back >= 1 && back <= MOST_REACH;
    if (k == x->axis && l->good && back > x->reach)
      x->reach = (uint32_t)back;
  }
}

static bool most_of(const recurrence *x, neo_expr extent, int64_t *hi) {
  int64_t lo;
  return neo_interval(x->p, NULL, extent, &lo, hi);
}

/* Elements of an iteration, at most. */
static int64_t width_of(const recurrence *x) {
  int64_t n = 1, hi;
  for (uint32_t k = 0; k < x->d.n_out; k++)
    if (k != x->axis && (!most_of(x, neo_def_axis(x->m, &x->d, k)->hi, &hi) ||
                         __builtin_mul_overflow(n, hi > 1 ? hi : 1, &n)))
      return INT64_MAX;
  return n;
}

/* Is it one definition of floats along one axis that reads only its own earlier iterations? */
static bool is_plain(recurrence *x, const neo_order_step *loop) {
  neo_module *m = x->m;
  const neo_order_member *own = &loop->member[0];
  if (loop->n_members != 1 || loop->n_steps != 1 || loop->step[0].def.i != own->def.i)
    return false;
  x->id = own->def;
  x->d = *neo_def_at(m, own->def);
  x->axis = own->axis;
  x->down = loop->down;
  if (x->d.reducer != NEO_RED_NONE || x->d.out.n != 1 || x->d.out_map.n ||
      x->d.n_out > RECURRENCE_RANK || x->d.n_out != x->d.axes.n)
    return false;
  x->whole.i = neo_list_at(m, x->d.out, 0);
  const neo_tensor_rec *t = neo_tensor_at(m, x->whole);
  x->type = (neo_type)t->type;
  look l = {x, true, false};
  neo_def_visit(m, x->id, look_read, &l);
  return l.good && t->pieces.n == 1 && (x->type == NEO_F32_T || x->type == NEO_F64_T);
}

/* Iterations of a block, a power of two near the square root of all; 0: it does not pay. */
static int64_t block_of(const recurrence *x, const neo_pass_target *target) {
  int64_t iterations, full = target->gpu_threads ? target->gpu_threads / 8 : FULL;
  if (target->tile_iterations)
    return target->tile_iterations > x->reach ? target->tile_iterations : x->reach;
  if (!most_of(x, neo_def_axis(x->m, &x->d, x->axis)->hi, &iterations) ||
      iterations < LEAST_ITERATIONS || width_of(x) >= full)
    return 0;
  int64_t blocks = full / width_of(x), block = (iterations + blocks - 1) / blocks;
  int64_t line = neo_profile_or_usual(target->profile)->line_bytes / neo_type_bytes(NEO_F32_T);
  return (block / line | 1) * line;
}

/* ---- coefficients */

typedef struct { /* coefficients of the element k + 1 iterations back; 0: not read */
  neo_expr factor[MOST_REACH];
} linear;

/* a + b, or a - b; a missing term is 0. */
static neo_expr added(const recurrence *x, neo_expr a, neo_expr b, bool subtract) {
  if (!b.i)
    return a;
  if (!a.i)
    return subtract ? neo_op1(x->m, NEO_OP_NEG, b) : b;
  return neo_op2(x->m, subtract ? NEO_OP_SUB : NEO_OP_ADD, a, b);
}

static neo_expr chosen(const recurrence *x, neo_expr is, neo_expr a, neo_expr b) {
  if (!a.i && !b.i)
    return a;
  return neo_op3(x->m, NEO_OP_SELECT, is, a.i ? a : zero(x), b.i ? b : zero(x));
}

static bool reads_itself(const recurrence *x, neo_expr e) {
  look l = {.x = &(recurrence){.m = x->m, .whole = x->whole}, .good = false};
  neo_expr_visit(x->m, e, look_read, &l);
  return l.found;
}

/* Iterations back of the read in an element of a block. */
static int64_t iterations_back(const recurrence *x, neo_expr read) {
  neo_linear by;
  neo_expr index = neo_expr_arg(x->m, read, x->axis);
  neo_expr distance = neo_op2(x->m, NEO_OP_SUB, x->at, index);
  return neo_linear_of(x->m, distance, &by) && !by.n ? (x->down ? -by.constant : by.constant) : 0;
}

static bool linear_of(const recurrence *x, neo_expr e, linear *out);

static bool linear_of_both(const recurrence *x, neo_expr e, linear *a, linear *b, uint32_t first) {
  return linear_of(x, neo_expr_arg(x->m, e, first), a) &&
         linear_of(x, neo_expr_arg(x->m, e, first + 1), b);
}

static neo_expr times(const recurrence *x, neo_op op, neo_expr a, neo_expr by) {
  double one;
  bool is_one = a.i && op == NEO_OP_MUL && neo_expr_is_float(x->m, a, &one) && one == 1;
  return !a.i || is_one ? (is_one ? by : a) : neo_op2(x->m, op, a, by);
}

/* Is the product linear? One factor, or the dividend, reads the recurrence. */
static bool linear_of_product(const recurrence *x, neo_expr e, linear *out) {
  neo_module *m = x->m;
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  neo_expr a = neo_expr_arg(m, e, 0), b = neo_expr_arg(m, e, 1);
  bool right = op == NEO_OP_MUL && reads_itself(x, b);
  neo_expr by = right ? a : b;
  if (reads_itself(x, by) || !linear_of(x, right ? b : a, out))
    return false;
  for (uint32_t k = 0; k < x->reach; k++)
    out->factor[k] = times(x, op, out->factor[k], by);
  return true;
}

static bool linear_of(const recurrence *x, neo_expr e, linear *out) {
  neo_module *m = x->m;
  neo_node n = *neo_expr_node(m, e);
  linear a = {0}, b = {0};
  *out = (linear){0};
  if (!reads_itself(x, e))
    return true;
  if (is_read(&n, x->whole)) {
    int64_t back = iterations_back(x, e);
    if (back < 1 || (n.op == NEO_OP_LOAD_ELSE && reads_itself(x, neo_expr_arg(m, e, x->d.n_out))))
      return false;
    out->factor[back - 1] = neo_const_float(m, x->type, 1);
    return true;
  }
  switch (n.op) {
  case NEO_OP_NEG:
    if (!linear_of(x, neo_expr_arg(m, e, 0), &b))
      return false;
    break;
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    if (!linear_of_both(x, e, &a, &b, 0))
      return false;
    break;
  case NEO_OP_MUL:
  case NEO_OP_DIV:
    return linear_of_product(x, e, out);
  case NEO_OP_SELECT:
    if (reads_itself(x, neo_expr_arg(m, e, 0)) || !linear_of_both(x, e, &a, &b, 1))
      return false;
    for (uint32_t k = 0; k < x->reach; k++)
      out->factor[k] = chosen(x, neo_expr_arg(m, e, 0), a.factor[k], b.factor[k]);
    return true;
  default:
    return false;
  }
  for (uint32_t k = 0; k < x->reach; k++)
    out->factor[k] = added(x, a.factor[k], b.factor[k], n.op != NEO_OP_ADD);
  return true;
}

/* ---- elements of blocks */

/* Indices of an element of a tensor [r, q, others], r less `back` iterations. */
static uint32_t index_of(const recurrence *x, int64_t back, neo_expr *at) {
  uint32_t n = x->d.n_out + 1;
  for (uint32_t k = 0; k < n; k++)
    at[k] = neo_axis_ref(x->m, k);
  at[0] = plus(x, at[0], -back);
  return n;
}

/* Sets the value at AXIS 0 of block AXIS 1; other axes keep their order. */
static void place(recurrence *x) {
  neo_module *m = x->m;
  neo_expr by[RECURRENCE_RANK], q = neo_axis_ref(m, 1);
  x->iterations = neo_def_axis(m, &x->d, x->axis)->hi;
  x->blocks = neo_op2(m, NEO_OP_DIV, plus(x, x->iterations, x->block - 1), number_of(x, x->block));
  x->iteration = neo_linear_form(x->m, neo_op2(m, NEO_OP_ADD,
                                               neo_op2(m, NEO_OP_MUL, q, number_of(x, x->block)),
                                               neo_axis_ref(m, 0)));
  x->at =
      x->down
          ? neo_linear_form(x->m, neo_op2(m, NEO_OP_SUB, plus(x, x->iterations, -1), x->iteration))
          : x->iteration;
  for (uint32_t k = 0, next = 2; k < x->d.n_out; k++)
    by[k] = k == x->axis ? x->at : neo_axis_ref(m, next++);
  x->value = neo_expr_subst_axes(m, neo_list_expr(m, x->d.finish, 0), by, x->d.n_out);
}

/* Adds a tensor "prefix.u" with these extents; its value is set later. */
static neo_tensor tensor_of(const recurrence *x, const char *prefix, const neo_expr *hi,
                            uint32_t n) {
  neo_module *m = x->m;
  uint32_t id[RECURRENCE_RANK + 1];
  neo_def_rec r = {.n_out = n, .span = x->d.span, .origin = x->d.origin ? x->d.origin : x->id.i};
  for (uint32_t k = 0; k < n; k++)
    id[k] = neo_axis_add(m, (neo_axis_rec){.lo = number_of(x, 0), .hi = hi[k]}).i;
  r.axes = neo_list_new(m, id, n);
  neo_temp t = {.prefix = prefix, .like = x->whole, .type = x->type};
  return neo_temp_define(m, &t, r);
}

static neo_def_rec *def_of(const recurrence *x, neo_tensor t) {
  return neo_def_at(x->m, neo_tensor_piece(x->m, t, 0));
}

static void define(const recurrence *x, neo_tensor t, neo_expr value) {
  neo_list finish = neo_list_one(x->m, value.i);
  def_of(x, t)->finish = finish;
}

/* The extents of [r, q, others]. */
static uint32_t ends_of(const recurrence *x, neo_expr blocks, neo_expr *hi) {
  uint32_t n = 0;
  hi[n++] = number_of(x, x->block);
  hi[n++] = blocks;
  for (uint32_t k = 0; k < x->d.n_out; k++)
    if (k != x->axis)
      hi[n++] = neo_def_axis(x->m, &x->d, k)->hi;
  return n;
}

typedef struct { /* a recurrence of blocks */
  const recurrence *x;
  neo_tensor own, starts; /* 0: starts of 0 */
} replacement;

static neo_expr read_block(void *ctx, neo_module *m, neo_expr e) {
  const replacement *s = ctx;
  const recurrence *x = s->x;
  neo_node n = *neo_expr_node(m, e);
  neo_expr at[RECURRENCE_RANK + 1], before = zero(x);
  if (!is_read(&n, x->whole))
    return e;
  int64_t back = iterations_back(x, e);
  if (s->starts.i) { /* [q, k, others]: the element k + 1 iterations before the block */
    uint32_t rank = index_of(x, 0, at);
    at[0] = neo_axis_ref(m, 1);
    at[1] =
        neo_linear_form(x->m, neo_op2(m, NEO_OP_SUB, number_of(x, back - 1), neo_axis_ref(m, 0)));
    before = neo_load_else(m, s->starts, at, rank, before, n.span);
  }
  uint32_t rank = index_of(x, back, at);
  if (s->starts.i) {
    neo_expr r = at[0];
    at[0] = at[1];
    at[1] = r;
  }
  neo_expr value = neo_load_else(m, s->own, at, rank, before, n.span);
  if (n.op == NEO_OP_LOAD)
    return value;
  neo_expr is = neo_op2(m, NEO_OP_LE, number_of(x, back), x->iteration);
  return neo_op3(m, NEO_OP_SELECT, is, value, neo_list_expr(m, n.arg, x->d.n_out));
}

static neo_tensor define_sums(const recurrence *x) {
  neo_expr hi[RECURRENCE_RANK + 1];
  uint32_t n = ends_of(x, plus(x, x->blocks, -1), hi);
  replacement s = {.x = x, .own = tensor_of(x, "sums", hi, n)};
  define(x, s.own, neo_expr_rewrite(x->m, x->value, read_block, &s));
  return s.own;
}

typedef struct { /* factors[r, k, those of q and others that the coefficients depend on] */
  neo_tensor tensor;
  uint32_t n, axis[RECURRENCE_RANK + 1]; /* axes of elements of a block, from 1 on */
} factors;

/* The factor of the element k + 1 iterations before the block, `back` iterations ago; before the
 * block it is 1 for the element itself, else 0. */
static neo_expr earlier_factor(const recurrence *x, const factors *f, int64_t back) {
  neo_module *m = x->m;
  neo_expr at[RECURRENCE_RANK + 2], one = neo_const_float(m, x->type, 1), first;
  for (uint32_t k = 0; k < f->n + 2; k++)
    at[k] = neo_axis_ref(m, k);
  at[0] = plus(x, at[0], -back);
  neo_expr is = neo_op2(m, NEO_OP_EQ, neo_op2(m, NEO_OP_ADD, at[0], at[1]), number_of(x, -1));
  first = x->reach == 1 ? one : neo_op3(m, NEO_OP_SELECT, is, one, zero(x));
  return neo_load_else(m, f->tensor, at, f->n + 2, first, x->d.span);
}

static factors define_factors(const recurrence *x, const linear *l) {
  neo_module *m = x->m;
  factors f = {.n = 0};
  neo_expr all[RECURRENCE_RANK + 1], hi[RECURRENCE_RANK + 2], by[RECURRENCE_RANK + 1], value = {0};
  uint32_t rank = ends_of(x, plus(x, x->blocks, -1), all);
  uint64_t used = 0;
  for (uint32_t k = 0; k < x->reach; k++)
    used |= l->factor[k].i ? neo_expr_axes(m, l->factor[k]) : 0;
  by[0] = neo_axis_ref(m, 0);
  hi[0] = all[0];
  hi[1] = number_of(x, x->reach);
  for (uint32_t k = 1; k < rank; k++) {
    by[k] = (neo_expr){0};
    if (!(used >> k & 1))
      continue;
    by[k] = neo_axis_ref(m, f.n + 2);
    hi[f.n + 2] = all[k];
    f.axis[f.n++] = k;
  }
  f.tensor = tensor_of(x, "factors", hi, f.n + 2);
  for (uint32_t k = 0; k < x->reach; k++)
    if (l->factor[k].i) {
      neo_expr by_it = neo_expr_subst_axes(m, l->factor[k], by, rank);
      neo_expr term = neo_op2(m, NEO_OP_MUL, by_it, earlier_factor(x, &f, k + 1));
      value = added(x, value, term, false);
    }
  define(x, f.tensor, value);
  return f;
}

/* The element AXIS 1 + 1 iterations before the end of a block, as definitions that each read one
 * iteration, so that few iterations of t are stored. `at`: its other indices. */
static neo_expr at_end(const recurrence *x, neo_tensor t, neo_expr *at) {
  neo_module *m = x->m;
  uint32_t rank = neo_tensor_rank(m, t);
  neo_expr hi[RECURRENCE_RANK + 2], from[RECURRENCE_RANK + 2], chosen = {0};
  for (uint32_t k = 1; k < rank; k++) {
    hi[k - 1] = neo_tensor_extent(m, t, k);
    from[k] = neo_axis_ref(m, k - 1);
  }
  for (uint32_t k = x->reach; k-- > 0;) {
    from[0] = number_of(x, x->block - 1 - k);
    neo_tensor end = tensor_of(x, "ends", hi, rank - 1);
    define(x, end, neo_load(m, t, from, rank, x->d.span));
    neo_expr value = neo_load(m, end, at + 1, rank - 1, x->d.span);
    neo_expr is = neo_op2(m, NEO_OP_EQ, neo_axis_ref(m, 1), number_of(x, k));
    chosen = chosen.i ? neo_op3(m, NEO_OP_SELECT, is, value, chosen) : value;
  }
  return chosen;
}

/* starts[q, k, others] = sums[B-1-k, q-1, others] + sum[j] factors[B-1-k, j, q-1, ..]*starts[q-1,
 * j, others]; 0 before the first block. */
static neo_tensor define_starts(const recurrence *x, neo_tensor sums, const factors *f) {
  neo_module *m = x->m;
  neo_expr hi[RECURRENCE_RANK + 1], at[RECURRENCE_RANK + 2], own[RECURRENCE_RANK + 1];
  uint32_t rank = ends_of(x, x->blocks, hi), n = rank + 1, id[RECURRENCE_RANK + 2];
  hi[0] = hi[1];
  hi[1] = number_of(x, x->reach);
  neo_tensor starts = tensor_of(x, "starts", hi, rank);
  neo_expr q = neo_axis_ref(m, 0), j = neo_axis_ref(m, rank), before = plus(x, q, -1);
  for (uint32_t k = 2; k < rank; k++)
    own[k] = at[k] = neo_axis_ref(m, k);
  at[1] = before;
  own[0] = before;
  own[1] = j;
  neo_expr sum = at_end(x, sums, at), one = number_of(x, 1);
  neo_expr start = neo_load(m, starts, own, rank, x->d.span);
  at[1] = j;
  for (uint32_t k = 0; k < f->n; k++)
    at[k + 2] = f->axis[k] == 1 ? before : neo_axis_ref(m, f->axis[k]);
  neo_expr factor = at_end(x, f->tensor, at);
  neo_expr body = neo_op2(m, NEO_OP_MUL, factor, start), acc = neo_acc_ref(m, x->type, 0);
  neo_expr value = neo_op2(m, NEO_OP_ADD, sum, acc);
  neo_list axes = def_of(x, starts)->axes;
  for (uint32_t k = 0; k < rank; k++)
    id[k] = neo_list_at(m, axes, k);
  id[rank] = neo_axis_add(m, (neo_axis_rec){.lo = number_of(x, 0), .hi = hi[1]}).i;
  neo_list all = neo_list_new(m, id, n), bodies = neo_list_one(m, body.i);
  neo_def_rec *r = def_of(x, starts);
  r->axes = all;
  r->reducer = NEO_RED_SUM;
  r->body = bodies;
  r->where = neo_op2(m, NEO_OP_LT, one, q);
  define(x, starts, neo_op3(m, NEO_OP_SELECT, neo_op2(m, NEO_OP_LE, one, q), value, zero(x)));
  return starts;
}

/* Defines the elements of all blocks; nobody reads those after the last iteration. */
static neo_tensor define_blocks(const recurrence *x, neo_tensor starts) {
  neo_module *m = x->m;
  neo_expr hi[RECURRENCE_RANK + 1];
  neo_expr by[2] = {neo_axis_ref(m, 1), neo_axis_ref(m, 0)};
  uint32_t n = ends_of(x, x->blocks, hi);
  hi[1] = hi[0];
  hi[0] = x->blocks;
  replacement s = {.x = x, .own = tensor_of(x, "blocks", hi, n), .starts = starts};
  neo_expr value = neo_expr_rewrite(m, x->value, read_block, &s);
  neo_expr is = neo_op2(m, NEO_OP_LT, x->iteration, x->iterations);
  value = neo_op3(m, NEO_OP_SELECT, is, value, zero(x));
  define(x, s.own, neo_expr_subst_axes(m, value, by, 2));
  neo_tensor_at(m, s.own)->partial = true;
  return s.own;
}

/* Makes the definition a copy of its blocks. */
static void define_whole(const recurrence *x, neo_tensor blocks) {
  neo_module *m = x->m;
  neo_expr at[RECURRENCE_RANK + 1], iteration = neo_axis_ref(m, x->axis),
                                    block = number_of(x, x->block);
  uint32_t n = 2;
  if (x->down)
    iteration =
        neo_linear_form(x->m, neo_op2(m, NEO_OP_SUB, plus(x, x->iterations, -1), iteration));
  at[0] = neo_op2(m, NEO_OP_DIV, iteration, block);
  at[1] = neo_op2(m, NEO_OP_MOD, iteration, block);
  for (uint32_t k = 0; k < x->d.n_out; k++)
    if (k != x->axis)
      at[n++] = neo_axis_ref(m, k);
  define(x, x->whole, neo_load(m, blocks, at, n, x->d.span));
}

/* ---- the pass */

static void reassociate(recurrence *x, const neo_pass_target *target, const neo_order_step *loop) {
  linear l;
  if (!is_plain(x, loop))
    return;
  x->block = block_of(x, target);
  if (!x->block)
    return;
  place(x);
  if (!linear_of(x, x->value, &l))
    return;
  neo_tensor sums = define_sums(x);
  factors f = define_factors(x, &l);
  define_whole(x, define_blocks(x, define_starts(x, sums, &f)));
}

neo_status neo_pass_reassociate(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  uint32_t *members = NEO_NEW_ARRAY(pass->a, uint32_t, pass->n_recurrences + 1);
  for (uint32_t k = 1; k < pass->n_defs; k++)
    members[pass->number[k]]++;
  for (uint32_t k = 1; k < pass->n_defs; k++) {
    recurrence x = {.m = m, .p = pass->p};
    neo_order_step loop;
    if (pass->number[k] && members[pass->number[k]] == 1 &&
        neo_order_find(pass->p, &(neo_def){k}, 1, pass->a, &loop, NULL))
      reassociate(&x, pass->target, &loop);
  }
  return NEO_OK;
}
