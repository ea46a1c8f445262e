/* Finds the values that stages share: the largest equal expressions over the same row that are
 * worth a store and a load (row_stash.h). Expressions are hash-consed and axes have the same
 * positions in all stages, so that equal values are equal ids. */
#include "schedule/row_stash.h"
#include "base/map.h"
#include "schedule/model.h"

enum { MOST_ROW = 32 << 10, LEAST_COST = 8 };

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis, stage; /* the own axis of rows; the current stage */
  neo_map first;        /* expression -> first stage that computes it */
  neo_map seen;         /* expressions that the current stage has */
  double spared;        /* operations of stashed values in the current one */
  bool threads, loads;  /* stashed in registers; the value reads elements of its row alone */
  neo_stash *out;
} search;

/* Is the stage a loop over one row of constant length, without a condition? */
static bool is_row(const neo_module *m, const neo_stage *s, int64_t *n) {
  int64_t lo;
  if (s->axes.n != 1 || s->where.i)
    return false;
  for (size_t k = 0; k < s->accs.n; k++)
    if (s->accs.at[k].kind == NEO_RED_NONE)
      return false;
  const neo_axis_rec *x = &s->axes.at[0];
  return neo_expr_is_int(m, x->lo, &lo) && lo == 0 && neo_expr_is_int(m, x->hi, n) &&
         *n <= MOST_ROW;
}

static void spare(void *ctx, neo_expr e) {
  search *x = ctx;
  for (uint32_t k = 0; k < x->out->n; k++)
    if (x->out->at[k].value.i == e.i)
      x->spared += neo_model_lane_ops(x->m, e, x->axis);
}

static void see_load(void *ctx, neo_expr e) {
  search *x = ctx;
  uint64_t axes = neo_form_axes(x->m, x->f, e);
  bool of_row = axes >> x->axis & 1 && axes & ((1ULL << x->axis) - 1);
  x->loads = x->loads || (of_row && neo_expr_node(x->m, e)->op == NEO_OP_LOAD);
}

/* Does a register save an access to memory? Data that all rows read is cached anyway. */
static bool spares_memory(search *x, neo_expr e) {
  x->loads = false;
  neo_expr_visit(x->m, e, see_load, x);
  return x->loads && neo_type_is_float(neo_expr_type(x->m, e));
}

/* Does the value cost enough, beyond its parts that are stashed already? */
static bool is_worth_it(search *x, neo_expr e) {
  neo_type t = neo_expr_type(x->m, e);
  if (x->threads && spares_memory(x, e))
    return true;
  x->spared = 0;
  neo_expr_visit(x->m, e, spare, x);
  double ops = neo_model_lane_ops(x->m, e, x->axis) - x->spared;
  return (t == NEO_F32_T || t == NEO_F64_T) && ops >= LEAST_COST;
}

static void add(search *x, neo_expr e, uint32_t first) {
  for (uint32_t k = 0; k < x->out->n; k++)
    if (x->out->at[k].value.i == e.i)
      return;
  if (x->out->n == NEO_STASH_MOST)
    return;
  x->out->at[x->out->n].value = e;
  x->out->at[x->out->n++].first = first;
}

/* Adds the largest values in e that an earlier stage computes. */
static void look(search *x, neo_expr e) {
  uint64_t first;
  if (!(neo_form_axes(x->m, x->f, e) >> x->axis & 1) || neo_map_get(&x->seen, e.i, &first))
    return;
  neo_map_set(&x->seen, e.i, 1);
  if (neo_map_get(&x->first, e.i, &first) && is_worth_it(x, e)) {
    add(x, e, (uint32_t)first);
    return;
  }
  neo_node n = *neo_expr_node(x->m, e);
  for (uint32_t k = 0; k < n.arg.n; k++)
    look(x, neo_list_expr(x->m, n.arg, k));
}

static void note(void *ctx, neo_expr e) {
  search *x = ctx;
  uint64_t first;
  if (!neo_map_get(&x->first, e.i, &first))
    neo_map_set(&x->first, e.i, x->stage);
}

static void each_value(search *x, const neo_stage *s, void (*f)(search *x, neo_expr e)) {
  for (size_t k = 0; k < s->accs.n; k++)
    f(x, s->accs.at[k].body);
  for (size_t k = 0; k < s->outs.n; k++)
    f(x, s->outs.at[k].value);
}

static void note_all(search *x, neo_expr e) {
  neo_expr_visit(x->m, e, note, x);
}

neo_stash neo_stash_find(neo_module *m, const neo_form *f, bool threads) {
  neo_stash out = {.n = 0};
  search x = {.m = m, .f = f, .axis = (uint32_t)f->axes.n, .out = &out, .threads = threads};
  if (f->stages.n < 2)
    return out;
  neo_map_init(&x.first, m->arena);
  for (uint32_t k = 0; k < f->stages.n; k++) {
    const neo_stage *stage = &f->stages.at[k];
    int64_t n;
    if (!is_row(m, stage, &n) || (out.row && n != out.row))
      continue;
    out.row = n;
    x.stage = k;
    neo_map_init(&x.seen, m->arena);
    each_value(&x, stage, look);
    each_value(&x, stage, note_all);
  }
  return out;
}

bool neo_stash_has_all(neo_module *m, neo_prover *p, const neo_stash *stash, const neo_stage *s,
                       const neo_facts *facts) {
  if (!s->axes.n)
    return false;
  const neo_axis_rec *x = &s->axes.at[0];
  neo_facts shared = *facts;
  neo_expr first = neo_const_i64(m, 0), end = neo_const_i64(m, stash->row);
  shared.n_axes -= (uint32_t)s->axes.n; /* a bound of the first own axis uses these alone */
  return neo_proves(p, &shared, neo_op2(m, NEO_OP_LE, first, x->lo)) &&
         neo_proves(p, &shared, neo_op2(m, NEO_OP_LE, x->hi, end));
}
