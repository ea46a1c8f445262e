/* A `case` on a run-time value: all branches are checked, and each result is a definition
 *
 *     y[..] = select(k == 0, y of the first branch, select(k == 1, y of the second, ...)) */
#include "frontend/sema/branches.h"
#include "ir/condition.h"

/* ---- labels */

static bool bad_label(neo_frame *f, const neo_ast_arm *a, const char *what) {
  NEO_ERR(f->in, a->label->span, CASE_LABEL, what);
  return false;
}

/* The number of a label, which is an integer of the value's type. */
static bool label_number(neo_frame *f, const neo_ast_arm *a, neo_type type, int64_t *x) {
  const neo_ast_expr *e = a->label;
  bool minus = e->kind == NEO_AST_UNARY;
  if ((a->kind == NEO_AST_LABEL_BOOL) != (type == NEO_BOOL_T))
    return bad_label(f, a,
                     type == NEO_BOOL_T ? "is no bool, as the value of this case is"
                                        : "is no integer, as the value of this case is");
  if (a->kind == NEO_AST_LABEL_BOOL) {
    *x = e->u.boolean;
    return true;
  }
  if (minus)
    e = e->u.unary.x;
  double y = minus ? -e->u.number.value : e->u.number.value;
  if (y < -0x1p31 || y >= 0x1p31 || y != (double)(int64_t)y)
    return bad_label(f, a, "is no integer of 32 bits");
  *x = (int64_t)y;
  return true;
}

static bool is_taken(const int64_t *label, uint32_t n, int64_t x) {
  for (uint32_t k = 0; k < n; k++)
    if (label[k] == x)
      return true;
  return false;
}

/* Whether the labels cover all possible values. */
static bool covers(neo_frame *f, neo_expr value, const int64_t *label, uint32_t n) {
  int64_t most = 2;
  neo_expr bound = neo_expr_bound(f, value);
  if (neo_expr_type(f->m, value) != NEO_BOOL_T &&
      (!bound.i || !neo_size_max(f->fe, bound, &most) || most > n))
    return false;
  for (int64_t x = 0; x < most; x++)
    if (!is_taken(label, n, x))
      return false;
  return true;
}

static neo_expr equals(neo_frame *f, neo_expr value, neo_type type, int64_t x) {
  if (type == NEO_BOOL_T)
    return x ? value : neo_op1(f->m, NEO_OP_NOT, value);
  return neo_op2(f->m, NEO_OP_EQ, value, neo_const_int(f->m, type, x));
}

static bool has_else(const neo_ast_region *g) {
  return g->arms.n && g->arms.at[g->arms.n - 1].kind == NEO_AST_LABEL_ELSE;
}

static bool is_choice(neo_frame *f, const neo_ast_region *g, neo_type type) {
  if (type == NEO_BOOL_T || neo_type_is_int(type))
    return true;
  NEO_ERR(f->in, g->cond->span, CASE_VALUE, neo_type_text(type));
  return false;
}

bool neo_branch_conditions(neo_frame *f, const neo_ast_region *g, neo_expr value,
                           neo_expr *condition) {
  neo_type type = neo_expr_type(f->m, value);
  int64_t *label = NEO_NEW_ARRAY(f->fe->arena, int64_t, g->arms.n + 1);
  uint32_t n = g->arms.n - has_else(g);
  bool ok = is_choice(f, g, type);
  for (uint32_t k = 0; k < n && ok; k++) {
    ok = label_number(f, &g->arms.at[k], type, &label[k]);
    if (ok && is_taken(label, k, label[k]))
      ok = bad_label(f, &g->arms.at[k], "stands twice");
    if (ok)
      condition[k] = equals(f, value, type, label[k]);
  }
  if (ok && !has_else(g) && (!n || !covers(f, value, label, n))) {
    int h = NEO_ERR(f->in, g->word, CASE_ELSE, neo_type_text(type));
    if (type != NEO_BOOL_T)
      neo_diag_help(f->fe->diags, h,
                    "the values of an integer with a bound, ': i32 < 3', are 0, 1 and 2");
    ok = false;
  }
  if (ok)
    condition[g->arms.n - 1] = (neo_expr){0};
  return ok;
}

/* Whether a kernel can evaluate the condition before its loops, or in an iteration of the loops
 * around the case. */
static bool may_be_asked(const neo_frame *f, neo_expr value) {
  neo_module *m = f->m;
  neo_type type = neo_expr_type(m, value);
  if (type != NEO_BOOL_T)
    value = neo_op2(m, NEO_OP_EQ, value, neo_const_int(m, type, 0));
  return neo_expr_node(m, value)->op == NEO_OP_CONST ||
         (f->in->n_ambient ? neo_is_point_condition(m, value) : neo_is_condition(m, value));
}

/* Whether the value is the same for all elements, and depends on the loops around. A function that
 * is called for elements has their axes around it as well. */
static bool is_scalar(const neo_frame *f, neo_expr value) {
  bool reads = neo_expr_has_loads(f->m, value);
  uint64_t around = ((uint64_t)1 << f->in->n_ambient) - 1;
  if (!f->in->n_ambient)
    return neo_is_uniform(f->m, value);
  return reads && f->in->loop_axes == around && !(neo_expr_axes(f->m, value) & ~around);
}

neo_expr neo_branch_value(neo_frame *f, neo_expr value, const char *full, neo_span span) {
  neo_type type = neo_expr_type(f->m, value);
  bool integer = type == NEO_BOOL_T || neo_type_is_int(type);
  neo_expr index[NEO_MAX_AXES];
  if (!integer || !is_scalar(f, value) || may_be_asked(f, value))
    return value;
  neo_val v = neo_define_element(f, value, full, neo_expr_bound(f, value), span);
  for (uint32_t k = 0; k < f->in->n_ambient; k++)
    index[k] = neo_axis_ref(f->m, k);
  return v.kind == NEO_VAL_VIEW ? neo_load(f->m, v.view.tensor, index, f->in->n_ambient, span)
                                : value;
}

/* ---- results */

typedef struct {
  neo_inst *in;
  const neo_ast_stmt *s;
  const neo_ast_name *name;
  uint32_t n;
  neo_val *at; /* the result in each branch */
  neo_type type;
} result;

static const neo_ast_arm *arm_of(const result *r, uint32_t k) {
  return &r->s->u.define.region->arms.at[k];
}

static bool find_values(result *r, neo_scope *const *scope, const char **prefix) {
  bool ok = true;
  for (uint32_t k = 0; k < r->n; k++) {
    neo_sym *s = neo_scope_own(scope[k], r->name->text);
    if (!s)
      NEO_ERR(r->in, arm_of(r, k)->span, RESULT_UNDEFINED, r->name->text);
    ok = ok && s && s->kind == NEO_SYM_VALUE;
    if (!ok)
      continue;
    r->at[k] = s->value;
    *prefix = *prefix ? *prefix : s->prefix;
  }
  return ok;
}

/* The first branch whose value has a type; the first one if all are literals. */
static uint32_t typed_branch(const result *r) {
  for (uint32_t k = 0; k < r->n; k++)
    if (r->at[k].kind != NEO_VAL_LIT)
      return k;
  return 0;
}

static neo_type type_of(const result *r, uint32_t k) {
  const neo_module *m = r->in->fe->m;
  const neo_val *v = &r->at[k];
  if (v->kind == NEO_VAL_VIEW)
    return neo_tensor_type(m, v->view.tensor);
  return v->kind == NEO_VAL_EXPR ? neo_expr_type(m, v->e) : r->type;
}

static bool agrees(const result *r, uint32_t k, uint32_t like) {
  neo_fe *fe = r->in->fe;
  neo_type type = type_of(r, k);
  if (type == r->type && neo_val_same_shape(fe, &r->at[k], &r->at[like]))
    return true;
  int h = NEO_ERR(r->in, arm_of(r, k)->span, CASE_DIFFERS, r->name->text,
                  neo_val_shape_text(fe, &r->at[k]), neo_type_text(type),
                  neo_val_shape_text(fe, &r->at[like]), neo_type_text(r->type));
  neo_diag_range(fe->diags, h, arm_of(r, like)->span);
  return false;
}

/* The value of a branch at the axes of the frame. */
static neo_expr value_at(neo_frame *f, const result *r, uint32_t k) {
  neo_span at = arm_of(r, k)->span;
  neo_view v = r->at[k].view;
  uint32_t axis = r->in->n_ambient;
  if (r->at[k].kind != NEO_VAL_VIEW)
    return neo_val_as(f, at, r->at[k], r->type);
  for (uint32_t d = 0; d < v.n; d++)
    if (!v.index[d].i)
      v.index[d] = neo_axis_ref(f->m, axis++);
  return neo_load(f->m, v.tensor, v.index, v.n, at);
}

static neo_val choose(result *r, const neo_expr *condition) {
  neo_expr e;
  uint32_t like = typed_branch(r);
  neo_span at = r->name->span;
  neo_frame *f = neo_element_frame(r->in, &r->at[like], r->in->prefix, at, &e);
  if (!e.i)
    return neo_val_poison();
  r->type = neo_expr_type(f->m, e);
  for (uint32_t k = 0; k < r->n; k++)
    if (!agrees(r, k, like))
      return neo_val_poison();
  e = value_at(f, r, r->n - 1);
  for (uint32_t k = r->n - 1; k > 0 && e.i; k--) {
    neo_expr x = value_at(f, r, k - 1);
    e = x.i ? neo_op3(f->m, NEO_OP_SELECT, condition[k - 1], x, e) : x;
  }
  if (!e.i)
    return neo_val_poison();
  return neo_define_element(f, e, neo_inst_full(r->in, r->name->text), neo_expr_bound(f, e), at);
}

void neo_branches_bind(neo_inst *in, const neo_ast_stmt *s, const neo_expr *condition,
                       neo_scope *const *scope) {
  result r = {.in = in, .s = s, .n = s->u.define.region->arms.n};
  r.at = NEO_NEW_ARRAY(in->fe->arena, neo_val, r.n);
  for (uint32_t k = 0; k <= s->u.define.more.n; k++) {
    const char *prefix = NULL;
    r.name = neo_define_target(s, k);
    bool found = find_values(&r, scope, &prefix);
    neo_define_bind(in, r.name, found ? choose(&r, condition) : neo_val_poison(), prefix);
  }
}
