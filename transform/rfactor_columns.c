/* Reduction factoring of column sums: they become sums over blocks of rows (ir/row_blocks.h) if the
 * rows are reduced as well.
 *
 *     m[r] = mean[c] X[r, c]                  b[c] = sum[r: 16384] D[r, c] * (X[r, c] - m[r])
 *     ->
 *     partial.b[s: 64, c] = sum[i: 256] D[256*s + i, c] * (X[256*s + i, c] - m[256*s + i])
 *     b[c] = sum[s: 64] partial.b[s, c]
 *
 * The kernel that reduces a row then adds it to partial.b while it is cached
 * (fusion/search/columns.c); otherwise another kernel would read the matrix again, by columns. The
 * number of blocks does not depend on the number of workers, so that results are bit-identical for
 * any. A matrix that fits into caches is cheap to read again: its sums stay. */
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/row_blocks.h"
#include "transform/transform.h"

enum {
  LEAST_ELEMENTS = 1 << 20, /* elements of the matrix */
  RUNS = 64,
  LEAST_LENGTH = 16,
};

typedef struct {
  neo_module *m;
  neo_def def;
  neo_def_rec r;
  neo_axis_rec axis[NEO_PATTERN_AXES]; /* the column, then axes of the sum */
  int64_t rows, columns; /* extent of the sum's last axis; of the column, as far as known */
  int64_t length;
} columns;

static bool extent_of(const neo_module *m, const neo_axis_rec *a, int64_t *n) {
  int64_t lo;
  return neo_expr_is_int(m, a->lo, &lo) && lo == 0 && neo_expr_is_int(m, a->hi, n);
}

/* Does the axis run from 0 to a constant or a size? */
static bool is_plain(const neo_module *m, const neo_axis_rec *a) {
  int64_t lo;
  return neo_expr_is_int(m, a->lo, &lo) && lo == 0 && !neo_expr_axes(m, a->hi) &&
         !neo_expr_uses_op(m, a->hi, NEO_OP_LOAD);
}

static bool match(columns *x, neo_def d) {
  neo_module *m = x->m;
  int64_t n, elements;
  x->def = d;
  x->r = *neo_def_at(m, d);
  uint32_t n_axes = x->r.axes.n;
  if (x->r.reducer != NEO_RED_SUM || x->r.out.n != 1 || x->r.out_map.n || x->r.n_out != 1 ||
      x->r.where.i || n_axes < 2 || n_axes > NEO_PATTERN_AXES ||
      neo_expr_type(m, neo_list_expr(m, x->r.body, 0)) != NEO_F32_T)
    return false;
  for (uint32_t k = 0; k < n_axes; k++) {
    x->axis[k] = *neo_def_axis(m, &x->r, k);
    if (!is_plain(m, &x->axis[k]))
      return false;
  }
  if (!extent_of(m, &x->axis[0], &x->columns) || !extent_of(m, &x->axis[n_axes - 1], &x->rows))
    return false;
  elements = x->rows * x->columns;
  for (uint32_t k = 1; k + 1 < n_axes; k++)
    elements *= extent_of(m, &x->axis[k], &n) ? n : 1;
  x->length = (x->rows + RUNS - 1) / RUNS;
  if (x->length < LEAST_LENGTH)
    x->length = LEAST_LENGTH;
  /* no block crosses the ends of rows */
  while (n_axes > 2 && x->length < x->rows && x->rows % x->length)
    x->length++;
  return elements >= LEAST_ELEMENTS && 2 * x->length <= x->rows;
}

/* ---- finding a reduction of the rows */

typedef struct {
  const neo_module *m;
  const neo_def_rec *reader; /* null: the column sum itself */
  uint32_t n;                /* axes of rows */
  neo_tensor at[32];         /* tensors that are read at [row, column] */
  uint32_t found;
  bool plain; /* reads are at the row, the column, or both alone */
} reads;

/* The reader's axis for the row's axis k, and for the column. */
static uint32_t row_axis(const reads *x, uint32_t k) {
  return x->reader ? k : k + 1;
}
static uint32_t column_axis(const reads *x) {
  return x->reader ? x->n : 0;
}

static void find_read(void *ctx, neo_expr e) {
  reads *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (n->op != NEO_OP_LOAD || n->arg.n != x->n + 1)
    return;
  for (uint32_t k = 0; k <= x->n; k++) {
    const neo_node *i = neo_expr_node(x->m, neo_list_expr(x->m, n->arg, k));
    if (i->op != NEO_OP_AXIS || i->attr != (k < x->n ? row_axis(x, k) : column_axis(x)))
      return;
  }
  if (x->found < 32)
    x->at[x->found++] = (neo_tensor){n->attr};
}

/* Does d reduce rows of these extents along the column alone, and read one of these tensors? */
static bool reduces_rows(const columns *x, neo_def d, const reads *wanted) {
  neo_module *m = x->m;
  neo_def_rec r = *neo_def_at(m, d);
  reads own = {.m = m, .reader = &r, .n = wanted->n};
  if (r.reducer == NEO_RED_NONE || r.n_out != wanted->n || r.axes.n != r.n_out + 1)
    return false;
  for (uint32_t k = 0; k < r.axes.n; k++)
    if (neo_def_axis(m, &r, k)->hi.i != x->axis[k < wanted->n ? k + 1 : 0].hi.i)
      return false;
  for (uint32_t k = 0; k < r.body.n; k++)
    neo_expr_visit(m, neo_list_expr(m, r.body, k), find_read, &own);
  for (uint32_t i = 0; i < own.found; i++)
    for (uint32_t j = 0; j < wanted->found; j++)
      if (own.at[i].i == wanted->at[j].i)
        return true;
  return false;
}

static bool rows_are_reduced(const columns *x, uint32_t n_defs) {
  reads w = {.m = x->m, .n = x->r.axes.n - 1};
  neo_expr_visit(x->m, neo_list_expr(x->m, x->r.body, 0), find_read, &w);
  for (uint32_t k = 1; w.found && k < n_defs; k++)
    if (reduces_rows(x, (neo_def){k}, &w))
      return true;
  return false;
}

/* ---- writing the definitions */

static neo_axis_rec run_axis(const columns *x) {
  neo_axis_rec a = x->axis[x->r.axes.n - 1];
  a.name = neo_name_of(x->m->names, "run");
  a.hi = neo_const_i64(x->m, (x->rows + x->length - 1) / x->length);
  return a;
}

/* part[outer rows, s, c] = sum[i] ... */
static neo_tensor define_parts(const columns *x) {
  neo_module *m = x->m;
  uint32_t n = x->r.axes.n - 1, ids[NEO_PATTERN_AXES + 1];
  neo_expr by[NEO_PATTERN_AXES] = {{0}}, s = neo_axis_ref(m, n - 1);
  neo_axis_rec points = x->axis[n], all[NEO_PATTERN_AXES + 1];
  points.hi = neo_row_block_points(m, x->length, x->rows, s);
  for (uint32_t k = 1; k < n; k++) {
    all[k - 1] = x->axis[k];
    by[k] = neo_axis_ref(m, k - 1);
  }
  all[n - 1] = run_axis(x);
  all[n] = x->axis[0];
  all[n + 1] = points;
  by[0] = neo_axis_ref(m, n);
  by[n] = neo_row_block_point(m, x->length, s, neo_axis_ref(m, n + 1));
  for (uint32_t k = 0; k < n + 2; k++)
    ids[k] = neo_axis_add(m, all[k]).i;
  neo_partial p = {.prefix = "partial", .of = x->def, .reducer = NEO_RED_SUM, .n_out = n + 1};
  p.axes = neo_list_new(m, ids, n + 2);
  p.body = neo_expr_subst_axes(m, neo_list_expr(m, x->r.body, 0), by, n + 1);
  return neo_partial_define(m, &p);
}

/* Makes the definition the sum of its parts. */
static void sum_parts(const columns *x, neo_tensor part) {
  neo_module *m = x->m;
  uint32_t n = x->r.axes.n - 1, ids[NEO_PATTERN_AXES];
  neo_expr index[NEO_PATTERN_AXES];
  neo_def_rec r = x->r;
  for (uint32_t k = 0; k < n; k++) {
    ids[k] = neo_list_at(m, x->r.axes, k);
    index[k] = neo_axis_ref(m, k + 1);
  }
  ids[n] = neo_axis_add(m, run_axis(x)).i;
  index[n] = neo_axis_ref(m, 0);
  neo_expr body = neo_load(m, part, index, n + 1, x->r.span);
  r.axes = neo_list_new(m, ids, n + 1);
  r.body = neo_list_one(m, body.i);
  *neo_def_at(m, x->def) = r;
}

neo_status neo_pass_rfactor_columns(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < pass->n_defs; k++) {
    columns x = {.m = m};
    if (match(&x, (neo_def){k}) && rows_are_reduced(&x, pass->n_defs))
      sum_parts(&x, define_parts(&x));
  }
  return NEO_OK;
}
