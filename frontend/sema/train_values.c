/* Scalars of a training entry that its optimizers ask for: the norm of all gradients, and the
 * number of the entry's own updates.
 *
 * `step` outside of a training entry is the runtime's count of finished steps of all entries. A
 * model with one training entry needs no other. With several, the entries' steps alternate, and a
 * correction such as Adam's 1 - beta^t must not count the others': the entry then has a state
 * `<entry>.step`, which its own step raises by one, and which is saved and loaded as states are. A
 * statement with `every` counts the runs of its own optimizers (every.c). */
#include "frontend/sema/train.h"

static const char *entry_of(const neo_ast_stmt *s) {
  return s->u.train.entry.text ? s->u.train.entry.text : "step";
}

/* ---- the norm of all gradients, in f64 if some gradient is */

static neo_type norm_type(const trainer *t) {
  neo_type type = NEO_F32_T;
  for (size_t k = 0; k < t->params.n; k++)
    if (neo_tensor_at(t->fe->m, t->given[k])->type == NEO_F64_T)
      type = NEO_F64_T;
  return type;
}

static neo_tensor scalar_temp(trainer *t, const char *name, neo_def_rec rec, neo_expr finish) {
  neo_module *m = t->fe->m;
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = norm_type(t), .span = t->span};
  const char *full = neo_fe_unique(t->fe, neo_fe_join(t->fe, t->entry, name));
  neo_tensor y = neo_tensor_make(t->in, r, NULL, 0, full);
  rec.finish = neo_list_one(m, finish.i);
  rec.out = neo_list_one(m, y.i);
  rec.span = t->span;
  neo_def_add(m, rec, true);
  return y;
}

/* sum[..] g[..]^2 */
static neo_tensor square_sum(trainer *t, neo_tensor g) {
  neo_module *m = t->fe->m;
  uint32_t axes[NEO_MAX_RANK], rank = neo_tensor_rank(m, g);
  neo_expr index[NEO_MAX_RANK], zero = neo_const_i64(m, 0);
  for (uint32_t k = 0; k < rank; k++) {
    const char *name = neo_arena_printf(t->fe->arena, "d%d", (int)k);
    neo_axis_rec rec = {neo_name_of(t->fe->names, name), zero, neo_tensor_extent(m, g, k), t->span};
    axes[k] = neo_axis_add(m, rec).i;
    index[k] = neo_axis_ref(m, k);
  }
  neo_expr x = neo_cast(m, norm_type(t), neo_load(m, g, index, rank, t->span));
  neo_expr body = neo_op2(m, NEO_OP_MUL, x, x);
  if (rank == 0)
    return scalar_temp(t, "square", (neo_def_rec){.reducer = NEO_RED_NONE}, body);
  neo_def_rec rec = {.reducer = NEO_RED_SUM};
  rec.axes = neo_list_new(m, axes, rank);
  rec.body = neo_list_one(m, body.i);
  return scalar_temp(t, "square", rec, neo_acc_ref(m, norm_type(t), 0));
}

neo_val neo_train_norm(neo_frame *f) {
  neo_inst *in = f->in;
  trainer *t = in->trainee->trainer;
  neo_module *m = in->fe->m;
  if (!t->norm.i) {
    neo_expr sum = {0};
    for (size_t k = 0; k < t->params.n; k++) {
      neo_expr x = neo_load(m, square_sum(t, t->given[k]), NULL, 0, t->span);
      sum = sum.i ? neo_op2(m, NEO_OP_ADD, sum, x) : x;
    }
    t->norm = scalar_temp(t, "global_norm", (neo_def_rec){.reducer = NEO_RED_NONE},
                          neo_op1(m, NEO_OP_SQRT, sum));
  }
  neo_type type = neo_tensor_type(m, in->trainee->param);
  neo_expr norm = neo_load(m, t->norm, NULL, 0, t->span), e = neo_cast(m, type, norm);
  if (neo_type_wide(type) != type) /* wide(global_norm) does not round */
    neo_map_set(&f->unrounded, e.i, neo_cast(m, neo_type_wide(type), norm).i);
  return neo_val_expr(e);
}

/* ---- the number of the entry's updates */

static bool only_entry(const trainer *t) {
  for (size_t k = 0; k < t->fe->trains.n; k++)
    if (!neo_streq(entry_of(t->fe->trains.at[k]), t->entry))
      return false;
  return true;
}

static neo_def_rec scalar_def(neo_module *m, neo_tensor out, neo_expr value, neo_span span) {
  neo_def_rec d = {.reducer = NEO_RED_NONE, .span = span};
  d.finish = neo_list_one(m, value.i);
  d.out = neo_list_one(m, out.i);
  return d;
}

/* A state that begins with 0, and its update by this entry. */
static neo_tensor make_count(trainer *t) {
  neo_fe *fe = t->fe;
  neo_module *m = fe->m;
  neo_tensor_rec rec = {
      .role = NEO_ROLE_STATE, .type = NEO_I64_T, .span = t->span, .optimizer = true};
  const char *full = neo_fe_unique(fe, neo_fe_join(fe, t->entry, "step"));
  neo_tensor count = neo_tensor_make(t->in, rec, NULL, 0, full);
  neo_def init = neo_def_add(m, scalar_def(m, count, neo_const_i64(m, 0), t->span), false);
  neo_tensor_at(m, count)->init = init;
  rec.role = NEO_ROLE_UPDATE;
  rec.optimizer = false;
  rec.updates = count;
  neo_tensor next = neo_tensor_make(
      t->in, rec, NULL, 0, neo_fe_unique(fe, neo_arena_printf(fe->arena, "%s.next", full)));
  neo_expr now = neo_load(m, count, NULL, 0, t->span);
  neo_expr more = neo_op2(m, NEO_OP_ADD, now, neo_const_i64(m, 1));
  neo_def_add(m, scalar_def(m, next, more, t->span), true);
  NEO_PUSH(fe->arena, &fe->updates,
           (neo_update_rec){.updates = count, .update = next, .span = t->span, .pieces = 1});
  return count;
}

neo_val neo_train_step(neo_inst *in) {
  neo_module *m = in->fe->m;
  const neo_inst *at = in;
  while (at && !at->trainer)
    at = at->caller;
  if (at && at->trainer->part && at->trainer->part->every.count.i)
    return neo_val_expr(neo_load(m, at->trainer->part->every.count, NULL, 0, at->trainer->span));
  if (!at || only_entry(at->trainer))
    return neo_val_expr(neo_expr_make(m, NEO_OP_STEP, NEO_I64_T, 0, NULL, 0, 0));
  trainer *t = at->trainer;
  if (!t->count.i)
    t->count = make_count(t);
  return neo_val_expr(neo_load(m, t->count, NULL, 0, t->span));
}
