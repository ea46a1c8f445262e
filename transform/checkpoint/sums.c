/* Sums over iterations become sums over chunks, in the loop of the chunks:
 *
 *     G[i, j] = sum[t: T, b] d[t, b, i]*h[t, b, j]
 *     ->
 *     running.G[q, i, j] = (running.G[q+1, i, j] else 0)
 *                          + sum[r: K, b] chunk.d[q, r, b, i]*again.u[q, r, b, j]
 *     G[i, j] = (running.G[0, i, j] else 0) */
#include "ir/define.h"
#include "transform/checkpoint/parts.h"

typedef struct {
  checkpoints *c;
  uint32_t id, axis;
  neo_def_rec d;
  checkpoint_scope s;
  bool down;
} chunk_sum;

/* Iterations of the chunk: the last one may have fewer. */
static neo_expr iterations_of(const chunk_sum *x) {
  const checkpoints *c = x->c;
  neo_module *m = c->m;
  neo_expr n = checkpoint_number(c, c->chunk);
  if (c->exact)
    return n;
  neo_expr rest = neo_op2(m, NEO_OP_SUB, c->iterations, neo_op2(m, NEO_OP_MUL, x->s.q, n));
  return neo_op2(m, NEO_OP_MIN, n, rest);
}

/* The condition that the iteration is a term of the sum; 0: always. */
static neo_expr is_term(chunk_sum *x) {
  neo_module *m = x->c->m;
  const neo_axis_rec *axis = neo_def_axis(m, &x->d, x->axis);
  neo_expr first = axis->lo, end = axis->hi, is = {0};
  int64_t lo;
  if (!neo_expr_is_int(m, first, &lo) || lo != 0)
    is = neo_op2(m, NEO_OP_LE, checkpoint_in_chunks(&x->s, first), x->s.t);
  if (end.i != x->c->iterations.i)
    is = neo_both(m, is, neo_op2(m, NEO_OP_LT, x->s.t, checkpoint_in_chunks(&x->s, end)));
  return is;
}

static neo_list axes_of(chunk_sum *x) {
  neo_module *m = x->c->m;
  uint32_t id[NEO_DEF_AXES];
  id[checkpoint_chunk_place(x->c)] = neo_axis_add(m, checkpoint_chunk_axis(x->c)).i;
  for (uint32_t k = 0; k < x->d.axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(m, &x->d, k);
    bool iterations = k == x->axis;
    axis.lo = iterations ? checkpoint_number(x->c, 0) : checkpoint_in_chunks(&x->s, axis.lo);
    axis.hi = iterations ? iterations_of(x) : checkpoint_in_chunks(&x->s, axis.hi);
    id[checkpoint_place(x->c, k)] = neo_axis_add(m, axis).i;
  }
  return neo_list_new(m, id, x->d.axes.n + 1);
}

static neo_tensor define_running(chunk_sum *x) {
  checkpoints *c = x->c;
  neo_module *m = c->m;
  neo_expr at[NEO_DEF_AXES], body = checkpoint_in_chunks(&x->s, neo_list_expr(m, x->d.body, 0));
  neo_type type = neo_expr_type(m, body);
  neo_def_rec r = {.n_out = x->d.n_out + 1, .reducer = NEO_RED_SUM, .span = x->d.span};
  neo_temp t = {.prefix = "running", .like = {neo_list_at(m, x->d.out, 0)}, .type = type};
  r.origin = x->d.origin ? x->d.origin : x->id;
  checkpoint_mark(c, c->def[x->id].home, 0, &r);
  r.axes = axes_of(x);
  r.where = neo_both(m, is_term(x), checkpoint_in_chunks(&x->s, x->d.where));
  r.body = neo_list_one(m, body.i);
  r.finish = neo_list_one(m, neo_acc_ref(m, type, 0).i);
  neo_tensor sum = neo_temp_define(m, &t, r);
  for (uint32_t k = 0; k < r.n_out; k++)
    at[k] = neo_axis_ref(m, k);
  uint32_t chunk = checkpoint_chunk_place(c);
  at[chunk] = checkpoint_sum(c, at[chunk], x->down ? 1 : -1);
  neo_expr before = neo_load_else(m, sum, at, r.n_out, neo_const_float(m, type, 0), r.span);
  neo_expr value = neo_op2(m, NEO_OP_ADD, before, neo_acc_ref(m, type, 0));
  neo_list finish = neo_list_one(m, value.i);
  neo_def made = neo_tensor_piece(m, sum, 0);
  neo_def_at(m, made)->finish = finish;
  return sum;
}

/* The number of a mean's terms. */
static neo_expr count_of(const chunk_sum *x, neo_type type) {
  neo_module *m = x->c->m;
  neo_expr n = checkpoint_number(x->c, 1);
  for (uint32_t k = x->d.n_out; k < x->d.axes.n; k++)
    n = neo_op2(m, NEO_OP_MUL, n, neo_axis_points(m, neo_def_axis(m, &x->d, k)));
  return neo_cast(m, type, n);
}

static void take_last(const chunk_sum *x, neo_tensor sum) {
  checkpoints *c = x->c;
  neo_module *m = c->m;
  neo_expr at[NEO_DEF_AXES], zero, value;
  neo_type type = neo_tensor_type(m, sum);
  at[checkpoint_chunk_place(c)] =
      x->down ? checkpoint_number(c, 0) : checkpoint_sum(c, c->chunks, -1);
  for (uint32_t k = 0; k < x->d.n_out; k++)
    at[checkpoint_place(c, k)] = neo_axis_ref(m, k);
  zero = neo_const_float(m, type, 0);
  value = neo_load_else(m, sum, at, x->d.n_out + 1, zero, x->d.span);
  if (x->d.reducer == NEO_RED_MEAN)
    value = neo_op2(m, NEO_OP_DIV, value, count_of(x, type));
  neo_reduction_replace(m, (neo_def){x->id}, value);
}

void checkpoint_run_sum(checkpoints *c, uint32_t d) {
  chunk_sum x = {.c = c, .id = d, .axis = c->def[d].axis, .d = *neo_def_at(c->m, (neo_def){d})};
  x.down = c->loops.at[c->def[d].home - 1].down;
  x.s = checkpoint_scope_of(c, c->def[d].home, &x.d, x.axis);
  take_last(&x, define_running(&x));
}
