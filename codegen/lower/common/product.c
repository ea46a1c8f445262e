/* The product that a step adds to an accumulator, in the order with the fewest multiplications.
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
#include "ir/product.h"
#include "codegen/lower/common/acc.h"
#include "ir/limits.h"

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

bool neo_acc_operands(lowering *l, neo_expr product, const neo_lx *out[2]) {
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
