/* `every N`: gradients are accumulated, and the optimizer runs once N rows have added to them.
 *
 *     train loss over W using optim.sgd(lr = 0.1) every 100          of a step with B rows:
 *
 *     n      = step.rows + B
 *     due    = n >= 100
 *     S[..]  = W.sum[..] + B*W.grad[..]
 *     M[..]  = S[..]/n                          the gradient that the optimizer gets
 *     update W[..] = select(due, U[..], W[..])  where the optimizer has U, and so its states
 *     update W.sum[..] = select(due, 0, S[..]), step.rows = select(due, 0, n),
 *            step.updates = step.updates + i64(due)
 *
 * The loss is a mean over the rows of a step, so that B*W.grad is the sum of their gradients, and M
 * the mean over all rows since the last update. `step` in the optimizer is step.updates. The states
 * are the optimizer's, saved and loaded as such; several statements of an entry have their own. */
#include "frontend/check/check.h"
#include "frontend/sema/train.h"
#include "ir/define.h"

static neo_expr own(trainer *t, neo_tensor x) {
  return neo_load_own(t->fe->m, x, t->span);
}

/* ---- definitions */

/* x[i, ..] = value, with AXIS k the k-th index. A state gets its initial value. */
static void define(trainer *t, neo_tensor x, neo_expr value) {
  neo_module *m = t->fe->m;
  neo_axis_rec axis[NEO_MAX_RANK];
  uint32_t rank = neo_tensor_rank(m, x);
  bool state = neo_tensor_at(m, x)->role == NEO_ROLE_STATE;
  for (uint32_t k = 0; k < rank; k++) {
    const char *name = neo_arena_printf(t->fe->arena, "d%u", k);
    axis[k] = (neo_axis_rec){neo_name_of(t->fe->names, name), neo_const_i64(m, 0),
                             neo_tensor_extent(m, x, k), t->span};
  }
  neo_def_rec r = {.n_out = rank, .reducer = NEO_RED_NONE, .span = t->span};
  r.axes = neo_axes_add(m, axis, rank);
  r.finish = neo_list_one(m, value.i);
  r.out = neo_list_one(m, x.i);
  neo_def d = neo_def_add(m, r, !state);
  if (state)
    neo_tensor_at(m, x)->init = d;
}

/* A tensor of this name with the extents of `like` (0: a scalar), which has no definition yet. */
static neo_tensor tensor(trainer *t, neo_role role, neo_type type, neo_tensor like,
                         const char *name) {
  neo_tensor_rec r = {.role = (uint8_t)role, .type = (uint8_t)type, .span = t->span};
  if (like.i)
    r.extent = neo_tensor_at(t->fe->m, like)->extent;
  r.optimizer = role == NEO_ROLE_STATE;
  r.name = neo_name_of(t->fe->names, neo_fe_unique(t->fe, name));
  return neo_tensor_add(t->fe->m, r);
}

static neo_tensor temp(trainer *t, neo_type type, neo_tensor like, const char *name,
                       neo_expr value) {
  neo_tensor x = tensor(t, NEO_ROLE_TEMP, type, like, name);
  define(t, x, value);
  return x;
}

static neo_tensor state(trainer *t, neo_type type, neo_tensor like, const char *name) {
  neo_tensor x = tensor(t, NEO_ROLE_STATE, type, like, name);
  define(t, x, neo_const_int(t->fe->m, type, 0));
  return x;
}

static const char *name_of(trainer *t, neo_tensor x) {
  return neo_name_text(t->fe->names, neo_tensor_at(t->fe->m, x)->name);
}

/* The new value of a state. */
static void update(trainer *t, neo_tensor x, neo_expr value) {
  const char *name = neo_arena_printf(t->fe->arena, "%s.next", name_of(t, x));
  neo_tensor u = tensor(t, NEO_ROLE_UPDATE, neo_tensor_type(t->fe->m, x), x, name);
  neo_tensor_at(t->fe->m, u)->updates = x;
  define(t, u, value);
  NEO_PUSH(t->fe->arena, &t->fe->updates,
           (neo_update_rec){.updates = x, .update = u, .span = t->span, .pieces = 1});
}

static neo_expr if_due(trainer *t, const trained_part *p, neo_expr then, neo_expr otherwise) {
  return neo_op3(t->fe->m, NEO_OP_SELECT, own(t, p->every.due), then, otherwise);
}

/* ---- what the statement says */

static bool read_number(trainer *t, trained_part *p, int64_t *n) {
  const neo_ast_expr *e = p->s->u.train.every;
  neo_frame *f = NEO_NEW(t->fe->arena, neo_frame);
  neo_frame_init(f, t->in, t->entry);
  f->sizes_only = true;
  neo_val v = neo_val_known(f, neo_check_expr(f, e));
  if (v.kind == NEO_VAL_LIT && v.lit.kind == NEO_LIT_INT && v.lit.i >= 1) {
    *n = v.lit.i;
    return true;
  }
  bool number = v.kind == NEO_VAL_LIT && v.lit.kind == NEO_LIT_INT;
  if (v.kind != NEO_VAL_POISON)
    NEO_ERR(t->in, e->span, EVERY_COUNT,
            number ? neo_arena_printf(t->fe->arena, "%lld", (long long)v.lit.i)
                   : neo_val_text(t->fe, &v));
  return false;
}

/* `of N`: any integer, also one that depends on data. */
static neo_expr read_counted(trainer *t, const neo_ast_expr *of) {
  neo_frame *f = NEO_NEW(t->fe->arena, neo_frame);
  neo_frame_init(f, t->in, t->entry);
  f->literal = NEO_I64_T;
  neo_expr e = neo_val_scalar(f, of->span, neo_check_expr(f, of));
  if (!e.i)
    return e;
  if (neo_type_is_int(neo_expr_type(t->fe->m, e)))
    return neo_cast(t->fe->m, NEO_I64_T, e);
  NEO_ERR(t->in, of->span, EVERY_OF, neo_type_text(neo_expr_type(t->fe->m, e)));
  return (neo_expr){0};
}

static neo_expr cannot_tell(trainer *t, const trained_part *p, neo_tensor a, neo_tensor b) {
  neo_module *m = t->fe->m;
  int h = NEO_ERR(t->in, p->s->u.train.every->span, EVERY_ROWS, t->loss_name);
  if (b.i)
    neo_diag_help(t->fe->diags, h,
                  "'%s' has %s rows, '%s' has %s: say which, as in 'every N of %s'", name_of(t, a),
                  neo_size_text(t->fe, neo_tensor_extent(m, a, 0)), name_of(t, b),
                  neo_size_text(t->fe, neo_tensor_extent(m, b, 0)),
                  neo_size_text(t->fe, neo_tensor_extent(m, a, 0)));
  else
    neo_diag_help(t->fe->diags, h, "say what is counted, as in 'every N of 1', which counts steps");
  return (neo_expr){0};
}

/* The first extent of the inputs that the loss depends on. */
static neo_expr find_rows(trainer *t, const trained_part *p) {
  neo_module *m = t->fe->m;
  const bool *reached = neo_tensor_reach(t->fe, t->loss);
  neo_tensor first = {0};
  for (uint32_t k = 1; k < m->tensors.n; k++) {
    neo_tensor x = {k};
    if (!reached[k] || neo_tensor_at(m, x)->role != NEO_ROLE_INPUT || !neo_tensor_rank(m, x))
      continue;
    if (first.i &&
        !neo_size_equal(t->fe, neo_tensor_extent(m, first, 0), neo_tensor_extent(m, x, 0)))
      return cannot_tell(t, p, first, x);
    first = first.i ? first : x;
  }
  return first.i ? neo_tensor_extent(m, first, 0) : cannot_tell(t, p, first, first);
}

/* ---- the parts of an accumulation */

bool neo_every_open(trainer *t, trained_part *p) {
  neo_fe *fe = t->fe;
  const neo_ast_expr *of = p->s->u.train.of;
  neo_tensor none = {0};
  int64_t n;
  if (!p->s->u.train.every)
    return true;
  neo_expr rows = of ? read_counted(t, of) : find_rows(t, p);
  if (!read_number(t, p, &n) || !rows.i)
    return false;
  p->every.step_rows = rows;
  p->every.seen = state(t, NEO_I64_T, none, neo_fe_join(fe, t->entry, "rows"));
  p->every.count = state(t, NEO_I64_T, none, neo_fe_join(fe, t->entry, "updates"));
  neo_expr all = neo_op2(fe->m, NEO_OP_ADD, own(t, p->every.seen), rows);
  p->every.rows = temp(t, NEO_I64_T, none, neo_fe_join(fe, t->entry, "rows.now"), all);
  neo_expr due = neo_op2(fe->m, NEO_OP_LE, neo_const_i64(fe->m, n), own(t, p->every.rows));
  p->every.due = temp(t, NEO_BOOL_T, none, neo_fe_join(fe, t->entry, "due"), due);
  update(t, p->every.seen, if_due(t, p, neo_const_i64(fe->m, 0), own(t, p->every.rows)));
  neo_expr count = own(t, p->every.count);
  update(t, p->every.count,
         if_due(t, p, neo_op2(fe->m, NEO_OP_ADD, count, neo_const_i64(fe->m, 1)), count));
  return true;
}

neo_tensor neo_every_gradient(trainer *t, const trained_part *p, neo_tensor param,
                              neo_tensor grad) {
  neo_module *m = t->fe->m;
  neo_type type = neo_tensor_type(m, grad), wide = neo_type_wide(type);
  const char *name = name_of(t, param);
  if (!p->every.due.i)
    return grad;
  neo_tensor sum = state(t, wide, param, neo_fe_join(t->fe, name, "sum"));
  neo_expr more = neo_op2(m, NEO_OP_MUL, neo_cast(m, wide, p->every.step_rows),
                          neo_cast(m, wide, own(t, grad)));
  neo_tensor now = temp(t, wide, param, neo_fe_join(t->fe, name, "sum.now"),
                        neo_op2(m, NEO_OP_ADD, own(t, sum), more));
  update(t, sum, if_due(t, p, neo_const_int(m, wide, 0), own(t, now)));
  neo_expr rows = neo_cast(m, wide, neo_load(m, p->every.rows, NULL, 0, t->span));
  return temp(t, type, param, neo_fe_join(t->fe, name, "grad.mean"),
              neo_cast(m, type, neo_op2(m, NEO_OP_DIV, own(t, now), rows)));
}

/* U stays as a temporary tensor, and the new update reads it. */
static void hold(trainer *t, const trained_part *p, neo_update_rec *r) {
  neo_tensor_rec rec = *neo_tensor_at(t->fe->m, r->update);
  neo_tensor from = r->update;
  const char *name =
      neo_arena_printf(t->fe->arena, "%s.due", neo_name_text(t->fe->names, rec.name));
  neo_tensor_at(t->fe->m, from)->role = NEO_ROLE_TEMP;
  neo_tensor_at(t->fe->m, from)->updates = (neo_tensor){0};
  rec.name = neo_name_of(t->fe->names, neo_fe_unique(t->fe, name));
  rec.pieces = (neo_list){0};
  r->update = neo_tensor_add(t->fe->m, rec);
  define(t, r->update, if_due(t, p, own(t, from), own(t, r->updates)));
}

void neo_every_hold(trainer *t, const trained_part *p, size_t first) {
  for (size_t k = first; p->every.due.i && k < t->fe->updates.n; k++)
    hold(t, p, &t->fe->updates.at[k]);
}
