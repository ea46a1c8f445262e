/* One definition: its table of nodes, and the loops over outputs and reduction. */
#include "base/random.h"
#include "ir/interp/parts.h"
#include "ir/out_map.h"
#include <math.h>

/* ---- the table */

static uint32_t node_of(const neo_interp_frame *f, neo_expr e) {
  uint64_t k = 0;
  (void)neo_map_get(&f->index, e.i, &k);
  return (uint32_t)k;
}

static void fill_fixed(const neo_interp_frame *f, neo_expr e, neo_inode *n) {
  switch ((neo_op)n->op) {
  case NEO_OP_CONST:
    if (!neo_expr_is_float(f->m, e, &n->v.f))
      (void)neo_expr_is_int(f->m, e, &n->v.i);
    break;
  case NEO_OP_SIZE:
    n->v.i = f->size[n->attr];
    break;
  case NEO_OP_TRAINING:
    n->v.i = f->env->training;
    break;
  case NEO_OP_STEP:
    n->v.i = (int64_t)f->env->step;
    break;
  case NEO_OP_AXIS:
    n->level = (uint8_t)(n->attr + 1);
    break;
  case NEO_OP_ACC:
    n->level = (uint8_t)f->d.n_out;
    break;
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    n->from = &f->store[n->attr];
    break;
  default:
    break;
  }
}

static void add_node(void *ctx, neo_expr e) {
  neo_interp_frame *f = ctx;
  neo_node x = *neo_expr_node(f->m, e);
  neo_inode n = {.op = x.op, .type = x.type, .n_arg = x.arg.n, .attr = x.attr};
  if (neo_map_get(&f->index, e.i, NULL))
    return;
  uint32_t *arg = NEO_NEW_ARRAY(f->arena, uint32_t, x.arg.n + 1);
  fill_fixed(f, e, &n);
  for (uint32_t k = 0; k < x.arg.n; k++) {
    arg[k] = node_of(f, neo_list_expr(f->m, x.arg, k));
    uint8_t level = f->node.at[arg[k]].level;
    if (level > n.level)
      n.level = level;
  }
  if (x.arg.n)
    n.arg_type = f->node.at[arg[0]].type;
  n.arg = arg;
  neo_map_set(&f->index, e.i, f->node.n);
  NEO_PUSH(f->arena, &f->node, n);
}

uint32_t neo_interp_frame_add(neo_interp_frame *f, neo_expr e) {
  neo_expr_visit(f->m, e, add_node, f);
  return node_of(f, e);
}

static void begin_table(neo_interp_frame *f) {
  neo_map_init(&f->index, f->arena);
  NEO_PUSH(f->arena, &f->node, (neo_inode){.op = NEO_OP_CONST}); /* [0]: none */
}

static void compile(neo_interp_frame *f) {
  const neo_def_rec *d = &f->d;
  begin_table(f);
  for (uint32_t k = 0; k < d->axes.n; k++) {
    const neo_axis_rec *x = neo_def_axis(f->m, d, k);
    neo_expr lo = x->lo, hi = x->hi;
    f->lo[k] = neo_interp_frame_add(f, lo);
    f->hi[k] = neo_interp_frame_add(f, hi);
  }
  if (d->where.i)
    f->where = neo_interp_frame_add(f, d->where);
  for (uint32_t k = 0; k < d->body.n; k++)
    f->body[k] = neo_interp_frame_add(f, neo_list_expr(f->m, d->body, k));
  for (uint32_t k = 0; k < d->finish.n; k++)
    f->finish[k] = neo_interp_frame_add(f, neo_list_expr(f->m, d->finish, k));
}

/* ---- loops */

/* Counts n elements or terms; fails at the limit. */
static void frame_count(neo_interp_frame *f, uint64_t n) {
  if (!f->env->work)
    return;
  if (n > *f->env->work) {
    neo_interp_frame_fail(f, NEO_INTERRUPTED, "more elements than were allowed");
    return;
  }
  *f->env->work -= n;
}

/* Error of the last evaluation. */
static double frame_error(const neo_interp_frame *f, uint32_t node) {
  return f->node.at[node].error;
}

static int64_t bound(neo_interp_frame *f, uint32_t node) {
  int64_t x = neo_interp_frame_eval(f, node).i;
  if (f->env->track && frame_error(f, node) > 0)
    f->unsure = true;
  return x;
}

static void take(neo_interp_frame *f, neo_accu *a) {
  frame_count(f, 1);
  if (f->where) {
    bool taken = neo_interp_frame_eval(f, f->where).i;
    if (f->env->track && frame_error(f, f->where) > 0)
      f->unsure = true;
    if (!taken)
      return;
  }
  neo_value x = neo_interp_frame_eval(f, f->body[0]);
  double error = f->env->track ? frame_error(f, f->body[0]) : 0;
  if (neo_accu_take(a, x, error) && f->body[1])
    a->picked = neo_interp_frame_eval(f, f->body[1]);
}

static void reduce(neo_interp_frame *f, neo_accu *a, uint32_t k) {
  if (f->status)
    return;
  if (k == f->d.axes.n) {
    take(f, a);
    return;
  }
  int64_t lo = bound(f, f->lo[k]), hi = bound(f, f->hi[k]);
  if (f->n_factors && k + 1 == f->d.axes.n && neo_interp_frame_sum(f, a, k, lo, hi)) {
    frame_count(f, hi > lo ? (uint64_t)(hi - lo) : 0);
    return;
  }
  for (int64_t x = lo; x < hi && !f->status; x++) {
    neo_interp_frame_set_axis(f, k, x);
    reduce(f, a, k + 1);
  }
}

static int64_t out_offset(const neo_interp_frame *f, const neo_values *v) {
  int64_t at = 0;
  for (uint32_t k = 0; k < f->d.n_out; k++) {
    neo_out_dim p = neo_out_map_at(f->m, f->d.out_map, k);
    int64_t x = f->axis[k] * p.stride + p.offset;
    if (x < 0 || x >= v->extent[k])
      return -1;
    at = at * v->extent[k] + x;
  }
  return at;
}

/* Whether the value is an element that is read, or its negation: no order of operations rounds it
 * differently. */
static bool is_copied(const neo_interp_frame *f, uint32_t node) {
  const neo_inode *n = &f->node.at[node];
  bool copied = true;
  switch ((neo_op)n->op) {
  case NEO_OP_CONST:
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    return true;
  case NEO_OP_ACC: /* the sum itself is disturbed elsewhere */
    return f->d.reducer != NEO_RED_LOGSUMEXP && f->d.reducer != NEO_RED_PROD;
  case NEO_OP_NEG:
  case NEO_OP_ABS:
  case NEO_OP_MAX:
  case NEO_OP_MIN:
  case NEO_OP_SELECT:
    for (uint32_t k = n->op == NEO_OP_SELECT; k < n->n_arg; k++)
      copied = copied && is_copied(f, n->arg[k]);
    return copied;
  default:
    return false;
  }
}

/* Moves a computed value up or down by one unit in the last place; a copied value stays. */
static neo_value disturbed(const neo_interp_frame *f, uint32_t node, neo_value y) {
  neo_type t = (neo_type)f->node.at[node].type;
  if (!neo_type_is_float(t) || is_copied(f, node))
    return y;
  double unit = neo_splitmix(f->env->noise) >> 63 ? 1 : -1;
  return (neo_value){.f = neo_value_round(t, y.f + unit * 2 * neo_error_unit(t) * y.f)};
}

static void put_cell(neo_interp_frame *f, const neo_interp_store *s, uint32_t tensor, int64_t at,
                     neo_value y, double error) {
  const neo_interp_cells *c = s->cells;
  int64_t cell = neo_interp_frame_cell(f, c, &s->v, tensor, at, false);
  if (cell < 0)
    return;
  c->v[cell] = y;
  c->holds[cell] = at + 1;
  if (f->env->track)
    c->error[cell] = error;
}

static void put(neo_interp_frame *f, uint32_t k) {
  neo_interp_store *s = &f->store[neo_list_at(f->m, f->d.out, k)];
  int64_t at = out_offset(f, &s->v);
  neo_value y = neo_interp_frame_eval(f, f->finish[k]);
  if (at < 0) {
    neo_interp_frame_fail(f, NEO_RANGE, "a definition writes outside of its tensor");
    return;
  }
  y = f->env->noise ? disturbed(f, f->finish[k], y) : y;
  double error = f->unsure ? (double)INFINITY : frame_error(f, f->finish[k]);
  if (s->cells) {
    put_cell(f, s, neo_list_at(f->m, f->d.out, k), at, y, error);
    return;
  }
  s->v.at[at] = y;
  if (f->env->track)
    s->error[at] = error;
}

static void point(neo_interp_frame *f) {
  neo_reducer r = (neo_reducer)f->d.reducer;
  f->unsure = false;
  frame_count(f, 1);
  if (r != NEO_RED_NONE) {
    neo_accu a;
    neo_accu_begin(&a, r, (neo_type)f->node.at[f->body[0]].type, f->env->track);
    neo_op op = (neo_op)f->node.at[f->body[0]].op;
    a.noise = f->env->noise;
    a.product = op == NEO_OP_MUL || op == NEO_OP_DIV || op == NEO_OP_NEG;
    reduce(f, &a, f->d.n_out);
    neo_accu_end(&a, f->acc, f->acc_error);
  }
  for (uint32_t k = 0; k < f->d.out.n && !f->status; k++)
    put(f, k);
}

static void loop(neo_interp_frame *f, uint32_t k) {
  if (k == f->d.n_out) {
    point(f);
    return;
  }
  int64_t hi = neo_interp_frame_eval(f, f->hi[k]).i;
  int64_t end = f->to[k] < hi ? f->to[k] : hi;
  for (int64_t x = f->from[k] > 0 ? f->from[k] : 0; x < end && !f->status; x++) {
    neo_interp_frame_set_axis(f, k, x);
    loop(f, k + 1);
  }
}

static void begin_ticks(neo_interp_frame *f) {
  f->tick = 1;
  for (uint32_t k = 0; k <= NEO_INTERP_AXES; k++)
    f->since[k] = 1;
}

void neo_interp_frame_prepare(neo_interp_frame *f, neo_def d) {
  f->d = *neo_def_at(f->m, d);
  compile(f);
  neo_interp_frame_find_product(f);
  begin_ticks(f);
  for (uint32_t k = 0; k < f->d.n_out; k++)
    f->to[k] = INT64_MAX;
}

void neo_interp_frame_prepare_exprs(neo_interp_frame *f) {
  f->d = (neo_def_rec){.axes = {.n = NEO_INTERP_AXES}};
  begin_table(f);
  begin_ticks(f);
}

void neo_interp_frame_run_part(neo_interp_frame *f) {
  loop(f, 0);
}

neo_status neo_interp_frame_run(neo_interp_frame *f, neo_def d) {
  neo_interp_frame_prepare(f, d);
  loop(f, 0);
  return f->status;
}
