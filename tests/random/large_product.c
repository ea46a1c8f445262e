/* Products of matrices (large.h). */
#include "tests/random/large_parts.h"
#include <string.h>

typedef struct {
  lg_writer *w;
  lg_axis batch, row, column, step[2];
  int n_batches, n_steps; /* axes: 0 or 1; 1 or 2 */
  int64_t reach; /* of a sum that ends earlier in some rows: so far behind the row; 0: all */
  const char *type[2];
  bool plain; /* both factors are multiplied as they lie in memory, rows at multiples of 16 bytes */
} product;

static void draw_axes(product *p) {
  enum { SHORT = 8 };
  lg_writer *w = p->w;
  int64_t steps = lg_extent(w, 192, 280);
  p->n_batches = lg_chance(w, 20);
  p->batch = (lg_axis){"n", 2, NULL};
  p->row = lg_axis_of(w, "i", lg_extent(w, 64, p->n_batches ? 80 : 136), 25);
  p->column = (lg_axis){"j", lg_extent(w, 64, p->n_batches ? 80 : 136), NULL};
  p->n_steps = !p->plain && lg_chance(w, 25) ? 2 : 1;
  if (p->n_steps == 2) {
    int64_t outer = lg_pick(w, 2, SHORT);
    p->step[0] = (lg_axis){"k", outer, NULL};
    p->step[1] = (lg_axis){"l", (steps + outer - 1) / outer, NULL};
  } else {
    p->step[0] = lg_axis_of(w, "k", steps, p->plain ? 0 : 20);
  }
}

/* Reads of an operand whose own axis is `own`. A guarded one looks some steps back. */
static const char *read_of(product *p, const char *name, int k, const lg_axis *own, bool guarded) {
  lg_writer *w = p->w;
  lg_dim dim[LG_RANK];
  int n = 0;
  dim[n++] = lg_dim_of(own, lg_pick(w, 0, 3));
  for (int s = 0; s < p->n_steps; s++)
    dim[n++] = lg_dim_of(&p->step[s], s == p->n_steps - 1 ? lg_pick(w, 0, 9) : 0);
  if (guarded)
    dim[1].at = neo_arena_printf(w->a, "%s - %lld", dim[1].at, (long long)lg_pick(w, 1, 3));
  if (p->n_batches && (k == 0 || lg_chance(w, 70)))
    dim[n++] = lg_dim_of(&p->batch, 0);
  const char *read = lg_input(w, name, p->type[k], dim, n, p->plain ? 100 : 60);
  return guarded ? neo_arena_printf(w->a, "(%s else 0)", read) : read;
}

/* The factor as f32: as it lies in memory, or computed on the way. */
static const char *factor_of(product *p, const char *name, int k, const lg_axis *own) {
  lg_writer *w = p->w;
  bool guarded = !p->plain && lg_chance(w, 15);
  const char *e = lg_f32(w, p->type[k], read_of(p, name, k, own, guarded));
  if (p->plain)
    return e;
  bool rounds = strcmp(p->type[k], "f32") == 0 && lg_chance(w, 35);
  w->rounds = w->rounds || rounds;
  if (rounds)
    e = neo_arena_printf(w->a, "f32(%s(%s))", lg_chance(w, 50) ? "bf16" : "f16", e);
  if (lg_chance(w, 15))
    e = neo_arena_printf(w->a, "max(%s, -0.25)", e);
  if (lg_chance(w, 12)) {
    lg_dim dim = lg_dim_of(&p->step[0], 0);
    const char *scale = neo_arena_printf(w->a, "S%s", name);
    e = neo_arena_printf(w->a, "%s * %s", e, lg_given(w, scale, "f32", &dim, 1));
  }
  return e;
}

static const char *sum_of(product *p, const char *x, const char *y) {
  lg_writer *w = p->w;
  const char *ranges = lg_range(w, &p->step[0]);
  if (p->n_steps == 2)
    ranges = neo_arena_printf(w->a, "%s, %s", ranges, lg_range(w, &p->step[1]));
  else if (p->reach)
    ranges = neo_arena_printf(w->a, "%s where k <= 2*i + %lld", ranges, (long long)p->reach);
  return neo_arena_printf(w->a, "(sum[%s] %s * %s)", ranges, x, y);
}

static const char *left_of(product *p) {
  const char *batch = p->n_batches ? "n < 2, " : "";
  return neo_arena_printf(p->w->a, "%s%s, %s", batch, lg_range(p->w, &p->row),
                          lg_range(p->w, &p->column));
}

/* An input of Y's shape. */
static const char *given_as_result(product *p, const char *name, const char *type) {
  lg_dim dim[LG_RANK];
  int n = 0;
  if (p->n_batches)
    dim[n++] = lg_dim_of(&p->batch, 0);
  dim[n++] = lg_dim_of(&p->row, 0);
  dim[n++] = lg_dim_of(&p->column, 0);
  return lg_given(p->w, name, type, dim, n);
}

/* The epilogue after the sum. */
static const char *finish_of(product *p, const char *sum) {
  static const char *const maps[] = {"max(%s, 0)", "tanh(%s)", "0.5*(%s)", "gelu(%s)"};
  lg_writer *w = p->w;
  const char *e = sum;
  lg_dim columns = lg_dim_of(&p->column, 0);
  if (lg_chance(w, 40)) {
    e = neo_arena_printf(w->a, "%s + %s", e, lg_given(w, "C", "f32", &columns, 1));
  }
  if (lg_chance(w, 40)) {
    const char *map = LG_CHOOSE(w, maps), *hole = strstr(map, "%s");
    e = neo_arena_printf(w->a, "%.*s%s%s", (int)(hole - map), map, e, hole + 2);
  }
  if (lg_chance(w, 25)) {
    const char *type = lg_type(w);
    e = neo_arena_printf(w->a, "%s + %s", e, lg_f32(w, type, given_as_result(p, "R", type)));
  }
  return e;
}

/* Another product of what the first one made. */
static void put_next(product *p, const char *type) {
  lg_writer *w = p->w;
  lg_dim dim[] = {lg_dim_of(&p->column, 0), {"m", lg_extent(w, 16, 72), NULL}};
  const char *batch = p->n_batches ? "n, " : "";
  long long columns = (long long)dim[1].room;
  const char *other = lg_f32(w, p->type[1], lg_input(w, "V", p->type[1], dim, 2, 80));
  const char *y = neo_arena_printf(w->a, "Y[%si, j]", batch);
  neo_str_addf(&w->text, "Z[%si, m < %lld] = sum[%s] %s * %s\noutput Z\n", batch, columns,
               lg_range(w, &p->column), lg_f32(w, type, y), other);
}

static void put_gradients(product *p) {
  given_as_result(p, "G", "f32");
  neo_str_add(&p->w->text, "dX, dW = grad(Y, X, W, seed = G)\noutput dX, dW\n");
}

/* Types, and what products of f32 become: what is to be multiplied as it lies in memory has to have
 * the type that is multiplied. */
static void draw_types(product *p) {
  lg_writer *w = p->w;
  int64_t kind = lg_pick(w, 1, 100);
  p->plain = kind <= 68;
  p->type[0] = p->plain ? (lg_chance(w, 50) ? "bf16" : "f16") : kind <= 84 ? "f32" : lg_type(w);
  p->type[1] = kind <= 92 ? p->type[0] : lg_type(w);
  if (p->plain && strcmp(p->type[0], "f16") == 0 && w->math == NEO_PRECISION_BF16)
    w->math = NEO_PRECISION_TF32;
}

void lg_product(lg_writer *w) {
  product p = {.w = w};
  draw_types(&p);
  draw_axes(&p);
  p.reach = !p.plain && lg_chance(w, 10) ? lg_pick(w, 8, 100) : 0;
  const char *x = factor_of(&p, "X", 0, &p.row), *y = factor_of(&p, "W", 1, &p.column);
  const char *e = finish_of(&p, sum_of(&p, x, y)), *type = "f32";
  bool next = lg_chance(w, 20), gradients = !next && !p.plain && lg_chance(w, 50);
  if (lg_chance(w, 20) && !gradients)
    type = lg_type(w);
  if (next && p.plain)
    type = p.type[0];
  if (strcmp(type, "f32") != 0)
    e = neo_arena_printf(w->a, "%s(%s)", type, e);
  neo_str_addf(&w->text, "Y[%s] = %s\n", left_of(&p), e);
  if (next)
    put_next(&p, type);
  else if (gradients)
    put_gradients(&p);
  else
    neo_str_add(&w->text, "output Y\n");
}
