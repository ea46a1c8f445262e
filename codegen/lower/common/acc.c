/* The accumulators of a stage: registers, initial values, combination with a body, and payloads.
 *
 * A reducer with a payload, (value, index), has two accumulators: the payload of a body replaces
 * that of the accumulator if its value wins. The payload of an empty accumulator is INT64_MIN. */
#include "codegen/lower/common/acc.h"
#include "ir/limits.h"
#include "ir/product.h"
#include <math.h>

neo_value neo_acc_identity(neo_reducer kind, neo_type t) {
  static const int64_t least[] = {[NEO_I64_T] = INT64_MIN,
                                  [NEO_I32_T] = INT32_MIN,
                                  [NEO_I8_T] = INT8_MIN,
                                  [NEO_U8_T] = 0,
                                  [NEO_BOOL_T] = 0};
  static const int64_t most[] = {[NEO_I64_T] = INT64_MAX,
                                 [NEO_I32_T] = INT32_MAX,
                                 [NEO_I8_T] = INT8_MAX,
                                 [NEO_U8_T] = UINT8_MAX,
                                 [NEO_BOOL_T] = 1};
  bool real = neo_type_is_float(t);
  neo_value v = {.i = 0};
  double x = 0;
  switch (kind) {
  case NEO_RED_PROD:
    x = 1, v.i = 1;
    break;
  case NEO_RED_MAX:
    x = -(double)INFINITY, v.i = real ? 0 : least[t];
    break;
  case NEO_RED_MIN:
    x = (double)INFINITY, v.i = real ? 0 : most[t];
    break;
  case NEO_RED_ALL:
    v.i = 1;
    break;
  case NEO_RED_NONE:
    v.i = INT64_MIN;
    break; /* a payload: nothing was taken yet */
  default:
    break;
  }
  if (real)
    v.f = x;
  return v;
}

void neo_acc_set(lowering *l, neo_block *in, const acc_reg *r, const neo_lx *value) {
  const neo_lx *col = r->columns ? l->col : NULL;
  const neo_lx *index[] = {neo_lower_acc_row(l, r), lx_or_0(l, col), lx_or_0(l, l->lane)};
  neo_ls_set(l->k, in, r->reg, index, r->rank, value);
}

uint32_t neo_lower_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                       int64_t cols, int64_t width) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = width > 1 ? 3 : 2};
  r.extent[0] = rows;
  r.extent[1] = cols;
  r.extent[2] = width;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  return reg;
}

void neo_acc_make(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  for (uint32_t k = 0; k < s->accs.n; k++) {
    acc_reg *r = &l->acc[s->first_acc + k];
    neo_type type = (neo_type)s->accs.at[k].type;
    int64_t width = lanes ? t->width : 1;
    uint32_t reg = neo_lower_reg(l, in, "acc", type, t->rows, t->cols, width);
    *r = (acc_reg){.reg = reg, .rank = width > 1 ? 3 : 2, .columns = t->cols > 1, .live = true};
  }
}

static void clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  neo_block *b = neo_lower_open_tile(l, in, t, lanes);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    const neo_form_acc *x = &s->accs.at[k];
    neo_value v = neo_acc_identity((neo_reducer)x->kind, (neo_type)x->type);
    neo_acc_set(l, b, &l->acc[s->first_acc + k], neo_lx_const(l->k, (neo_type)x->type, v));
  }
  neo_lower_close_tile(l);
}

void neo_acc_begin(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  neo_acc_make(l, in, s, t, lanes);
  clear_accs(l, in, s, t, lanes);
}

void neo_lower_clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  clear_accs(l, in, s, t, true);
}

void neo_lower_begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  neo_acc_begin(l, in, s, t, true);
}

/* ---- combining */

const neo_lx *neo_acc_wins(lowering *l, neo_reducer kind, const neo_lx *x, const neo_lx *best,
                           const neo_lx *payload) {
  const neo_lx *better = kind == NEO_RED_MAX ? lx_lt(l, best, x) : lx_lt(l, x, best);
  if (neo_type_is_float((neo_type)x->type)) {
    const neo_lx *nan = neo_lx_op2(l->k, NEO_OP_NE, x, x);
    nan = neo_lx_op2(l->k, NEO_OP_AND, nan, neo_lx_op2(l->k, NEO_OP_EQ, best, best));
    better = neo_lx_op2(l->k, NEO_OP_OR, better, nan);
  }
  const neo_lx *none = neo_lx_op2(l->k, NEO_OP_EQ, payload, lx_int(l, INT64_MIN));
  return neo_lx_op2(l->k, NEO_OP_OR, better, none);
}

const neo_lx *neo_acc_combined(lowering *l, neo_reducer kind, const neo_lx *a, const neo_lx *x) {
  static const neo_op op[] = {
      [NEO_RED_SUM] = NEO_OP_ADD, [NEO_RED_PROD] = NEO_OP_MUL, [NEO_RED_MAX] = NEO_OP_MAX,
      [NEO_RED_MIN] = NEO_OP_MIN, [NEO_RED_ANY] = NEO_OP_OR,   [NEO_RED_ALL] = NEO_OP_AND};
  return neo_lx_op2(l->k, op[kind], a, x);
}

/* ---- The product that a step adds to an accumulator, in the order with the fewest
 * multiplications.
 *
 * Factors that vary with the same axes of a register tile are multiplied first, once for each row
 * or column of the tile, so that each element needs one FMA:
 *
 *     acc[r, c] += (a[k] * x[k, c] * y[k, r] * z[k, r])
 *     ->
 *     acc[r, c] = fma(y[k, r] * z[k, r], a[k] * x[k, c], acc[r, c])
 *
 * A factor that varies with neither joins the side with fewer factors. Within a side, factors of
 * outer loops come first: their product is the same in all steps of inner loops. The language
 * defines no order of the factors of a product (docs/language.md). The order depends on the
 * schedule alone and not on the tile, so that all elements of a tensor are rounded in the same
 * way. */

enum { NEITHER = 0, ROWS = 1, COLUMNS = 2, BOTH = ROWS | COLUMNS, SIDES };

typedef struct {
  neo_expr e;
  uint32_t side, place; /* place: in the product as it is written */
  uint64_t steps;       /* own axes of the stage with which it varies */
} factor;

typedef struct {
  const neo_lx *of[SIDES]; /* null: no factor is on this side */
  uint32_t first[SIDES];   /* place of a side's first factor */
} products;

static bool varies(uint64_t axes, int64_t axis) {
  return axis >= 0 && axes >> axis & 1;
}

static factor factor_of(const lowering *l, neo_expr e, uint32_t place) {
  int64_t columns = neo_lower_lanes_shared(l) ? l->lanes.vector_axis : l->lanes.columns;
  uint64_t axes = neo_form_axes(l->m, l->f, e);
  uint32_t side = (varies(axes, l->lanes.rows) ? ROWS : 0) | (varies(axes, columns) ? COLUMNS : 0);
  return (factor){e, side, place, axes >> l->f->axes.n};
}

/* A factor that varies with neither rows nor columns joins one of these. */
static void place_neither(const lowering *l, factor *x, uint32_t n) {
  uint32_t sides = 0;
  for (uint32_t k = 0; k < n; k++)
    sides |= 1u << x[k].side;
  bool rows = sides >> ROWS & 1, columns = sides >> COLUMNS & 1;
  uint32_t to = rows && (!columns || l->lanes.flat) ? ROWS : columns ? COLUMNS : NEITHER;
  if ((sides & ~(1u << NEITHER) & ~(1u << to)) == 0)
    return; /* all operands without a side are the FMA's second operand */
  for (uint32_t k = 0; k < n; k++)
    x[k].side = x[k].side == NEITHER ? to : x[k].side;
}

/* Sorts by the innermost loop of the reduction; the order of equal ones stays. */
static void sort_by_loops(factor *x, uint32_t n) {
  for (uint32_t k = 1; k < n; k++) {
    factor y = x[k];
    uint32_t i = k;
    for (; i > 0 && x[i - 1].steps > y.steps; i--)
      x[i] = x[i - 1];
    x[i] = y;
  }
}

static products multiply(lowering *l, const factor *x, uint32_t n) {
  products p = {{0}, {0}};
  for (uint32_t k = 0; k < n; k++) {
    const neo_lx *y = neo_lower_expr(l, x[k].e), **at = &p.of[x[k].side];
    uint32_t *first = &p.first[x[k].side];
    *first = !*at || x[k].place < *first ? x[k].place : *first;
    *at = *at ? neo_lx_op2(l->k, NEO_OP_MUL, *at, y) : y;
  }
  return p;
}

/* Three sides become two: factors that vary with rows alone join those that vary with both. */
static uint32_t join_sides(lowering *l, products *p, uint32_t *side) {
  uint32_t n = 0;
  if (p->of[ROWS] && p->of[COLUMNS] && p->of[BOTH]) {
    p->of[BOTH] = neo_lx_op2(l->k, NEO_OP_MUL, p->of[ROWS], p->of[BOTH]);
    p->of[ROWS] = NULL;
  }
  for (uint32_t k = 0; k < SIDES; k++)
    if (p->of[k])
      side[n++] = k;
  return n;
}

/* The operands of an FMA that adds this product to an accumulator, in the order that multiplies
 * least for a register tile. False: it has less than three factors, too many, or all vary alike;
 * the order is then the written one. */
static bool acc_operands(lowering *l, neo_expr product, const neo_lx *out[2]) {
  neo_expr at[NEO_PRODUCT_FACTORS];
  factor x[NEO_PRODUCT_FACTORS];
  uint32_t n = 0, side[SIDES];
  if (!neo_product_factors(l->m, product, at, &n, NEO_PRODUCT_FACTORS) || n < 3)
    return false;
  for (uint32_t k = 0; k < n; k++)
    x[k] = factor_of(l, at[k], k);
  place_neither(l, x, n);
  sort_by_loops(x, n);
  products p = multiply(l, x, n);
  if (join_sides(l, &p, side) != 2)
    return false;
  bool swapped = p.first[side[1]] < p.first[side[0]];
  out[0] = p.of[side[swapped]];
  out[1] = p.of[side[!swapped]];
  return true;
}

/* The accumulator combined with one more body. A sum of products, negated or not, is an FMA. */
static const neo_lx *step(lowering *l, const neo_form_acc *a, const neo_lx *old) {
  neo_expr body = a->body;
  bool minus = neo_expr_node(l->m, body)->op == NEO_OP_NEG;
  if (minus)
    body = neo_expr_arg(l->m, body, 0);
  bool product = neo_expr_node(l->m, body)->op == NEO_OP_MUL;
  if (a->kind == NEO_RED_SUM && product && neo_type_is_float((neo_type)a->type)) {
    const neo_lx *x[2];
    if (!acc_operands(l, body, x)) {
      x[0] = neo_lower_expr(l, neo_expr_arg(l->m, body, 0));
      x[1] = neo_lower_expr(l, neo_expr_arg(l->m, body, 1));
    }
    return neo_lx_fma(l->k, minus ? neo_lx_op1(l->k, NEO_OP_NEG, x[0]) : x[0], x[1], old);
  }
  return neo_acc_combined(l, (neo_reducer)a->kind, old, neo_lower_expr(l, a->body));
}

const neo_lx *neo_acc_where(lowering *l, const neo_lx *cond, const neo_lx *yes, const neo_lx *no) {
  return cond ? neo_lx_op3(l->k, NEO_OP_SELECT, cond, yes, no) : yes;
}

void neo_lower_combine(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond) {
  for (uint32_t k = 0; k < s->accs.n; k++) {
    const neo_form_acc *a = &s->accs.at[k];
    const acc_reg *r = &l->acc[s->first_acc + k];
    const neo_lx *old = neo_lower_acc(l, s->first_acc + k);
    bool payload = k + 1 < s->accs.n && s->accs.at[k + 1].kind == NEO_RED_NONE;
    if (!payload) {
      neo_acc_set(l, in, r, neo_acc_where(l, cond, step(l, a, old), old));
      continue;
    }
    const neo_lx *old_p = neo_lower_acc(l, s->first_acc + k + 1);
    const neo_lx *x = neo_lower_expr(l, a->body), *p = neo_lower_expr(l, s->accs.at[k + 1].body);
    const neo_lx *take = lx_and(l, cond, neo_acc_wins(l, (neo_reducer)a->kind, x, old, old_p));
    /* the payload is set first, because the choice reads the old best value */
    neo_acc_set(l, in, &l->acc[s->first_acc + k + 1], neo_acc_where(l, take, p, old_p));
    neo_acc_set(l, in, r, neo_acc_where(l, take, x, old));
    k++;
  }
}

/* ---- the payload of an empty reduction becomes 0 */

bool neo_lower_has_payload(const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    if (s->accs.at[k].kind == NEO_RED_NONE)
      return true;
  return false;
}

void neo_lower_end_payloads(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes) {
  if (!neo_lower_has_payload(s))
    return;
  neo_block *b = neo_lower_open_tile(l, in, t, lanes);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    if (s->accs.at[k].kind != NEO_RED_NONE)
      continue;
    const neo_lx *x = neo_lower_acc(l, s->first_acc + k), *zero = lx_int(l, 0);
    const neo_lx *none = neo_lx_op2(l->k, NEO_OP_EQ, x, lx_int(l, INT64_MIN));
    neo_acc_set(l, b, &l->acc[s->first_acc + k], neo_acc_where(l, none, zero, x));
  }
  neo_lower_close_tile(l);
}

void neo_lower_show_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const acc_reg *shown, acc_reg *old) {
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  for (uint32_t k = 0; k < s->accs.n; k++)
    neo_acc_set(l, b, &shown[k], neo_lower_acc(l, s->first_acc + k));
  neo_lower_close_tile(l);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    old[k] = l->acc[s->first_acc + k];
    l->acc[s->first_acc + k] = shown[k];
  }
  neo_lower_end_payloads(l, in, s, t, true);
}

void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b) {
  neo_expr where;
  const neo_lx *outer = l->guard;
  in = neo_lower_open_where(l, in, b, UINT32_MAX, &where);
  neo_block *inner = neo_lower_open_tile(l, in, t, true);
  const neo_lx *cond = neo_lower_cond(l, where);
  if (s->where.i) /* loads may also rely on conditions that became bounds or branches around them */
    l->guard = lx_and(l, outer, cond);
  neo_lower_combine(l, inner, s, cond);
  l->guard = outer;
  neo_lower_close_tile(l);
}
