/* Blocked algorithms: in a recurrence, sums of products over earlier iterations are split at blocks
 * of iterations.
 *
 *     L[i, j] = ... sum[k: j] L[i, k]*L[j, k]                        iterations along j
 *     ->
 *     tiled.L[i, j] = sum[k: j/32*32] L[i, k]*L[j, k]
 *     L[i, j] = ... tiled.L[i, j] + sum[k: j/32*32 .. j] L[i, k]*L[j, k]
 *
 * In one iteration the sum is a product of a matrix and a vector, which reads all earlier results.
 * In blocks of 32 iterations most of these exist when the block begins: a product of matrices,
 * which fusion/recurrence/tile.c computes for a whole block at once. Its terms read iterations
 * before the block (after it, where iterations run down). The read iteration is a reduction axis,
 * as above, or an output axis, whose rows outside of the block are then in the product.
 *
 * The product's condition may not change within a block, or its loops could not be cut.
 * Conditions on the axis of iterations are widened to hold if they do for some iteration of the
 * block, where all reads stay in range; the sum takes the product under the original condition.
 * (J. Dongarra, S. Hammarling, D. Sorensen, "Block reduction of matrices to condensed forms"; as
 * a loop transformation, S. Carr, R. Lehoucq, "Compiler blockability of dense matrix
 * factorizations".) */
#include "ir/comparison.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/order.h"
#include "ir/product.h"
#include "transform/iterations_outermost.h"
#include "transform/transform.h"

enum { BLOCK_ITERATIONS = 32, LEAST_BLOCKS = 4, MOST_ORDERS = 4, MOST_CONDITIONS = 32 };

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const uint32_t *number;        /* recurrences, by definition */
  int64_t iterations, least;     /* iterations of a block; of a loop worth tiling */
  neo_order_step loop;           /* outermost loop */
  NEO_VEC(neo_order_member) all; /* members, with added definitions */
} tiling;

typedef struct {
  tiling *t;
  neo_def id;
  neo_def_rec d;
  const neo_order_member *own;
  neo_expr iteration; /* iteration that the terms read; 0: not seen yet */
  neo_expr first;     /* first iteration of the block */
  bool good, reads;
} candidate;

static neo_expr number_of(const tiling *t, int64_t x) {
  return neo_const_i64(t->m, x);
}

static neo_expr sum(const tiling *t, neo_expr a, int64_t by) {
  return neo_linear_form(t->m, neo_op2(t->m, NEO_OP_ADD, a, number_of(t, by)));
}

static const neo_order_member *member_of(const tiling *t, uint32_t def) {
  for (uint32_t k = 0; k < t->loop.n_members; k++)
    if (t->loop.member[k].def.i == def)
      return &t->loop.member[k];
  return NULL;
}

/* ---- what a reduction reads */

static void look_read(void *ctx, neo_expr e) {
  candidate *c = ctx;
  tiling *t = c->t;
  neo_node n = *neo_expr_node(t->m, e);
  if (!neo_node_is_load(&n))
    return;
  c->reads = true;
  neo_list pieces = neo_tensor_at(t->m, (neo_tensor){n.attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++) {
    const neo_order_member *made = member_of(t, neo_list_at(t->m, pieces, k));
    if (!made)
      continue;
    neo_expr iteration = sum(t, neo_list_expr(t->m, n.arg, made->axis), made->delay);
    bool whole = pieces.n == 1 && !neo_def_at(t->m, made->def)->out_map.n && n.op == NEO_OP_LOAD;
    c->good = c->good && whole && (!c->iteration.i || c->iteration.i == iteration.i);
    c->iteration = iteration;
  }
}

/* Is it a sum of products of at least two tensors that reads its recurrence at one iteration? */
static bool is_product(candidate *c) {
  neo_module *m = c->t->m;
  neo_expr factor[NEO_PRODUCT_FACTORS];
  uint32_t n = 0, reads = 0;
  if (c->d.reducer != NEO_RED_SUM || c->d.out_map.n || c->d.body.n != 1 ||
      !neo_product_factors(m, neo_list_expr(m, c->d.body, 0), factor, &n, NEO_PRODUCT_FACTORS))
    return false;
  c->good = true;
  for (uint32_t k = 0; k < n; k++) {
    c->reads = false;
    neo_expr_visit(m, factor[k], look_read, c);
    reads += c->reads;
  }
  bool iteration = c->good && c->iteration.i;
  /* ranges and conditions may not read the recurrence */
  for (uint32_t k = c->d.n_out; k < c->d.axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, &c->d, k)->lo, look_read, c);
    neo_expr_visit(m, neo_def_axis(m, &c->d, k)->hi, look_read, c);
  }
  neo_expr read = c->iteration;
  c->iteration = (neo_expr){0};
  if (c->d.where.i)
    neo_expr_visit(m, c->d.where, look_read, c);
  iteration = iteration && !c->iteration.i;
  c->iteration = read;
  return iteration && reads > 1;
}

/* ---- proofs */

static bool is_proved(const candidate *c, const neo_axis_rec *axes, uint32_t n, neo_expr where,
                      neo_expr goal) {
  neo_facts facts = {axes, n, &where, where.i != 0};
  return neo_proves(c->t->p, &facts, goal);
}

/* The minimum or maximum. */
static neo_expr extreme(const candidate *c, uint32_t n_axes, neo_expr a, neo_expr b, bool min) {
  neo_module *m = c->t->m;
  neo_axis_rec axes[NEO_DEF_AXES];
  for (uint32_t k = 0; k < n_axes; k++)
    axes[k] = *neo_def_axis(m, &c->d, k);
  if (is_proved(c, axes, n_axes, (neo_expr){0}, neo_op2(m, NEO_OP_LE, a, b)))
    return min ? a : b;
  if (is_proved(c, axes, n_axes, (neo_expr){0}, neo_op2(m, NEO_OP_LE, b, a)))
    return min ? b : a;
  return neo_op2(m, min ? NEO_OP_MIN : NEO_OP_MAX, a, b);
}

/* ---- conditions */

typedef struct {
  neo_expr at[MOST_CONDITIONS];
  uint32_t n;
} conditions;

static bool uses_axis(const neo_module *m, neo_expr e, uint32_t axis) {
  return neo_expr_axes(m, e) >> axis & 1;
}

static bool uses_own_axes(const candidate *c, neo_expr e) {
  for (uint32_t k = c->d.n_out; k < c->d.axes.n; k++)
    if (uses_axis(c->t->m, e, k))
      return true;
  return false;
}

/* Widens the condition to one that holds if it does for some iteration of the block. 0: no
 * condition; false: not known. */
static bool widen(const candidate *c, neo_expr *e) {
  neo_module *m = c->t->m;
  neo_linear f, axis, rest, first, out;
  neo_expr own = neo_axis_ref(m, c->own->axis);
  if (!uses_axis(m, *e, c->own->axis))
    return true;
  neo_comparison r = uses_own_axes(c, *e) ? NEO_NO_COMPARISON : neo_comparison_of(m, *e, &f);
  int64_t s = r == NEO_NO_COMPARISON ? 0 : neo_linear_coef(&f, own);
  if (r == NEO_DIFFERS_FROM_0) {
    *e = (neo_expr){0};
    return true;
  }
  /* the axis is at iteration - delay, iteration in [first, first + iterations) */
  if (r != NEO_AT_LEAST_0 || !s || !neo_linear_of(m, own, &axis) ||
      !neo_linear_add(&f, -s, &axis, &rest) ||
      uses_axis(m, neo_linear_expr(m, &rest), c->own->axis) ||
      !neo_linear_of(m, sum(c->t, c->first, (s > 0 ? c->t->iterations - 1 : 0) - c->own->delay),
                     &first) ||
      !neo_linear_add(&rest, s, &first, &out) || !neo_linear_is_modest(m, &f))
    return false;
  *e = neo_op2(m, NEO_OP_LE, number_of(c->t, 0), neo_linear_expr(m, &out));
  return true;
}

/* Drops the end of reduction axis k that the condition excludes:
 *     sum[k: 0 .. i + 1] where not (i == k)    ->    sum[k: 0 .. i] */
static void drop_ends(candidate *c, conditions *where, uint32_t k, neo_axis_rec *axis) {
  neo_module *m = c->t->m;
  neo_expr last = sum(c->t, axis->hi, -1), at = neo_axis_ref(m, k);
  for (uint32_t i = 0; i < where->n; i++) {
    neo_linear f, g;
    if (!where->at[i].i || neo_comparison_of(m, where->at[i], &f) != NEO_DIFFERS_FROM_0)
      continue;
    for (int end = 0; end < 2; end++) {
      neo_expr other = end ? last : axis->lo;
      bool same = neo_linear_of(m, neo_op2(m, NEO_OP_SUB, at, other), &g);
      neo_expr x = neo_linear_expr(m, &f);
      same = same && (x.i == neo_linear_expr(m, &g).i ||
                      x.i == sum(c->t, neo_op2(m, NEO_OP_SUB, other, at), 0).i);
      if (!same)
        continue;
      if (end)
        axis->hi = last;
      else
        axis->lo = sum(c->t, axis->lo, 1);
      where->at[i] = (neo_expr){0};
      break;
    }
  }
}

/* ---- the two sums */

typedef struct {
  neo_axis_rec axis[NEO_DEF_AXES];
  conditions where;
} half;

/* Divides terms by whether their iteration is before the block. */
static bool divide(candidate *c, half *before, half *within) {
  tiling *t = c->t;
  neo_module *m = t->m;
  neo_linear l;
  if (!neo_linear_of(m, c->iteration, &l) || l.n != 1 || l.term[0].coef != 1 ||
      neo_expr_node(m, l.term[0].atom)->op != NEO_OP_AXIS)
    return false;
  uint32_t v = neo_expr_node(m, l.term[0].atom)->attr;
  if (v == c->own->axis)
    return false;
  neo_expr end = sum(t, c->first, (t->loop.down ? t->iterations : 0) - l.constant);
  neo_expr at = neo_axis_ref(m, v);
  if (v < c->d.n_out) {
    neo_expr is = t->loop.down ? neo_op2(m, NEO_OP_LE, end, at) : neo_op2(m, NEO_OP_LT, at, end);
    if (before->where.n == MOST_CONDITIONS)
      return false;
    before->where.at[before->where.n++] = is;
    within->where.at[within->where.n++] = neo_op1(m, NEO_OP_NOT, is);
    return true;
  }
  neo_axis_rec *x = &before->axis[v], *y = &within->axis[v];
  if (t->loop.down) {
    y->hi = extreme(c, v, y->hi, end, true);
    x->lo = extreme(c, v, x->lo, end, false);
  } else {
    y->lo = extreme(c, v, y->lo, end, false);
    x->hi = extreme(c, v, x->hi, end, true);
  }
  return true;
}

typedef struct {
  const candidate *c;
  const half *h;
  neo_expr where;
  bool good;
} range_look;

static void look_range(void *ctx, neo_expr e) {
  range_look *r = ctx;
  neo_module *m = r->c->t->m;
  neo_node n = *neo_expr_node(m, e);
  neo_facts facts = {r->h->axis, r->c->d.axes.n, &r->where, r->where.i != 0};
  if (n.op != NEO_OP_LOAD)
    return;
  for (uint32_t k = 0; k < n.arg.n && r->good; k++) {
    neo_expr extent = neo_tensor_extent(m, (neo_tensor){n.attr}, k);
    r->good = neo_proves_index(r->c->t->p, &facts, neo_list_expr(m, n.arg, k), extent);
  }
}

/* Do all reads of the product stay in range under the widened conditions? */
static bool stays_in_range(const candidate *c, const half *h, neo_expr where) {
  neo_module *m = c->t->m;
  range_look r = {c, h, where, true};
  neo_expr_visit(m, neo_list_expr(m, c->d.body, 0), look_range, &r);
  return r.good;
}

/* Has the half terms? One half has none if the sum was divided before. */
static bool has_terms(const candidate *c, const half *h) {
  neo_module *m = c->t->m;
  for (uint32_t k = c->d.n_out; k < c->d.axes.n; k++)
    if (is_proved(c, h->axis, k, (neo_expr){0},
                  neo_op2(m, NEO_OP_LE, h->axis[k].hi, h->axis[k].lo)))
      return false;
  return true;
}

/* `needed`: where the product's value is part of the sum; 0: everywhere. */
static void write(candidate *c, const half *before, neo_expr where, const half *within,
                  neo_expr needed) {
  neo_module *m = c->t->m;
  neo_def_rec d = c->d;
  neo_expr body = neo_list_expr(m, d.body, 0);
  neo_expr acc = neo_acc_ref(m, neo_expr_type(m, body), 0);
  neo_partial p = {.prefix = "tiled", .of = c->id, .reducer = NEO_RED_SUM, .n_out = d.n_out};
  p.axes = neo_axes_add(m, before->axis, d.axes.n);
  p.where = where;
  p.body = body;
  neo_tensor part = neo_partial_define(m, &p);
  neo_def made = neo_tensor_piece(m, part, 0);
  NEO_PUSH(c->t->a, &c->t->all,
           (neo_order_member){.def = made, .axis = c->own->axis, .delay = c->own->delay});
  neo_expr value = neo_load_own(m, part, d.span);
  neo_expr zero = neo_const_int(m, neo_expr_type(m, body), 0);
  if (needed.i)
    value = neo_op3(m, NEO_OP_SELECT, needed, value, zero);
  neo_expr both = neo_op2(m, NEO_OP_ADD, value, acc);
  neo_def_rec *to = neo_def_at(m, c->id);
  to->axes = neo_axes_add(m, within->axis, d.axes.n);
  to->finish = neo_list_replace(m, d.finish, acc, both);
  to->where = neo_conjunction(m, within->where.at, within->where.n);
}

/* Divides the sum of a definition, and writes both halves if `written`. False: it cannot be
 * divided. */
static bool tile(tiling *t, const neo_order_member *own, bool written) {
  neo_module *m = t->m;
  candidate c = {.t = t, .id = own->def, .d = *neo_def_at(m, own->def), .own = own};
  half before, within;
  if (c.d.axes.n > 64 || c.d.axes.n == c.d.n_out || !is_product(&c))
    return false;
  neo_expr iterations = number_of(t, t->iterations);
  neo_expr iteration = sum(t, neo_axis_ref(m, own->axis), own->delay);
  c.first = neo_op2(m, NEO_OP_MUL, neo_op2(m, NEO_OP_DIV, iteration, iterations), iterations);
  within.where.n = 0;
  if (!neo_conjuncts_of(m, c.d.where, within.where.at, &within.where.n, MOST_CONDITIONS))
    return false;
  for (uint32_t k = 0; k < c.d.axes.n; k++) {
    within.axis[k] = *neo_def_axis(m, &c.d, k);
    if (k >= c.d.n_out)
      drop_ends(&c, &within.where, k, &within.axis[k]);
  }
  before = within;
  conditions widened = {.n = 0};
  for (uint32_t k = 0; k < before.where.n; k++) {
    neo_expr was = before.where.at[k];
    if (was.i && !widen(&c, &before.where.at[k]))
      return false;
    if (before.where.at[k].i != was.i)
      widened.at[widened.n++] = was;
  }
  if (!divide(&c, &before, &within))
    return false;
  neo_expr where = neo_conjunction(m, before.where.at, before.where.n);
  bool can = has_terms(&c, &before) && has_terms(&c, &within) && stays_in_range(&c, &before, where);
  if (can && written)
    write(&c, &before, where, &within, neo_conjunction(m, widened.at, widened.n));
  return can;
}

/* ---- recurrences */

static bool is_long(const tiling *t) {
  neo_expr first, end;
  int64_t lo, hi;
  neo_order_iterations(t->m, &t->loop, &first, &end);
  return neo_interval(t->p, NULL, neo_op2(t->m, NEO_OP_SUB, end, first), &lo, &hi) &&
         hi >= t->least;
}

/* Takes the loop order in which most sums can be divided. */
static void tile_recurrence(tiling *t, const neo_def *own, size_t n) {
  neo_order_step orders[MOST_ORDERS];
  uint32_t best = 0, most = 0,
           found = neo_orders_find(t->p, own, n, t->a, orders, MOST_ORDERS, NULL);
  for (uint32_t k = 0; k < found; k++) {
    uint32_t can = 0;
    t->loop = orders[k];
    for (uint32_t i = 0; i < t->loop.n_members && is_long(t); i++)
      can += tile(t, &t->loop.member[i], false);
    best = can > most ? k : best;
    most = can > most ? can : most;
  }
  if (!most)
    return;
  t->loop = orders[best];
  t->all.n = 0;
  for (uint32_t k = 0; k < t->loop.n_members; k++) {
    NEO_PUSH(t->a, &t->all, t->loop.member[k]);
    (void)tile(t, &t->loop.member[k], true);
  }
  neo_iterations_outermost(t->m, t->a, t->all.at, t->all.n);
}

neo_status neo_pass_tile_recurrences(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  tiling t = {.m = m, .a = pass->a, .number = pass->number};
  t.iterations = pass->target->tile_iterations ? pass->target->tile_iterations : BLOCK_ITERATIONS;
  t.least = pass->target->tile_iterations ? 0 : BLOCK_ITERATIONS * LEAST_BLOCKS;
  t.p = pass->p;
  for (uint32_t r = 1; r <= pass->n_recurrences; r++) {
    size_t n;
    const neo_def *own = neo_recurrence_members(pass->number, pass->n_defs, r, pass->a, &n);
    tile_recurrence(&t, own, n);
  }
  return NEO_OK;
}
