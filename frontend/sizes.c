/* Sizes: `dim`, `assert`, extents; i64 expressions over constants and run-time sizes. */
#include "frontend/check.h"
#include "ir/print.h"

/* ---- evaluation */

neo_expr neo_size_eval(neo_inst *in, const neo_ast_expr *e) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, in->prefix);
  f->n_axes = f->n_out = 0;
  f->sizes_only = true;
  f->subscript = 1;
  neo_expr x = neo_check_index(f, e);
  if (x.i && !neo_size_is_pure(f->m, x)) {
    NEO_ERR(in, e->span, NOT_A_SIZE, "depends on the values of tensors");
    return (neo_expr){0};
  }
  return x;
}

bool neo_size_int(neo_inst *in, const neo_ast_expr *e, int64_t *x) {
  neo_expr y = neo_size_eval(in, e);
  if (!y.i)
    return false;
  if (neo_expr_is_int(in->fe->m, y, x))
    return true;
  NEO_ERR(in, e->span, NOT_CONSTANT, neo_size_text(in->fe, y));
  return false;
}

typedef struct {
  const neo_module *m;
  bool pure;
} purity;

static void look_pure(void *ctx, neo_expr e) {
  purity *p = ctx;
  switch ((neo_op)neo_expr_node(p->m, e)->op) {
  case NEO_OP_AXIS:
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
  case NEO_OP_ACC:
  case NEO_OP_RAND:
  case NEO_OP_STEP:
  case NEO_OP_TRAINING:
    p->pure = false;
    break;
  default:
    break;
  }
}

bool neo_size_is_pure(const neo_module *m, neo_expr e) {
  purity p = {m, true};
  neo_expr_visit(m, e, look_pure, &p);
  return p.pure;
}

neo_expr neo_size_add1(neo_fe *fe, neo_expr e, int64_t k) {
  return neo_op2(fe->m, NEO_OP_ADD, e, neo_const_int(fe->m, NEO_I64_T, k));
}

static neo_facts size_facts(neo_fe *fe) {
  return (neo_facts){NULL, 0, fe->asserts.at, (uint32_t)fe->asserts.n};
}

bool neo_size_equal(neo_fe *fe, neo_expr a, neo_expr b) {
  neo_linear x, y;
  if (a.i == b.i)
    return true;
  if (neo_linear_of(fe->m, a, &x) && neo_linear_of(fe->m, b, &y) &&
      neo_linear_add(&x, -1, &y, &x) && x.n == 0)
    return x.constant == 0;
  neo_facts facts = size_facts(fe);
  return neo_prove(fe->prover, &facts, neo_op2(fe->m, NEO_OP_EQ, a, b), NULL) == NEO_PROVED;
}

bool neo_size_max(neo_fe *fe, neo_expr e, int64_t *x) {
  int64_t lo;
  neo_facts facts = size_facts(fe);
  return neo_interval(fe->prover, &facts, e, &lo, x);
}

const char *neo_size_text(neo_fe *fe, neo_expr e) {
  neo_str s;
  int64_t x;
  if (neo_expr_is_int(fe->m, e, &x))
    return neo_arena_printf(fe->arena, "%lld", (long long)x);
  neo_str_init(&s, fe->arena);
  neo_expr_print(fe->m, NULL, e, &s);
  return neo_str_text(&s);
}

/* ---- solving for the unknown size of a parameter */

static neo_expr eval_with(neo_inst *in, const neo_ast_expr *e, const neo_ast_name *unknown,
                          neo_expr value) {
  neo_scope *outer = in->scope;
  in->scope = neo_scope_new(in->fe, outer);
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = unknown->text,
                          .span = unknown->span,
                          .value = neo_val_index(value)});
  neo_expr y = neo_size_eval(in, e);
  in->scope = outer;
  return y;
}

/* x / a where every coefficient divides, else the division. */
static neo_expr exact_quotient(neo_fe *fe, neo_expr x, neo_expr a) {
  neo_linear l;
  int64_t k;
  if (!neo_expr_is_int(fe->m, a, &k) || k == 0 || k == -1 || !neo_linear_of(fe->m, x, &l))
    return neo_op2(fe->m, NEO_OP_DIV, x, a);
  bool divides = l.constant % k == 0;
  for (uint32_t j = 0; j < l.n; j++)
    divides = divides && l.term[j].coef % k == 0;
  if (!divides)
    return neo_op2(fe->m, NEO_OP_DIV, x, a);
  l.constant /= k;
  for (uint32_t j = 0; j < l.n; j++)
    l.term[j].coef /= k;
  return neo_linear_expr(fe->m, &l);
}

/* e is taken as a*u + b: b = e(0), a = e(1) - b. The solution is checked by putting it in. */
bool neo_size_solve(neo_inst *in, const neo_ast_expr *e, const neo_ast_name *unknown,
                    neo_expr extent, neo_expr *value) {
  neo_fe *fe = in->fe;
  neo_expr b = eval_with(in, e, unknown, neo_const_int(fe->m, NEO_I64_T, 0));
  neo_expr e1 = eval_with(in, e, unknown, neo_const_int(fe->m, NEO_I64_T, 1));
  if (!b.i || !e1.i)
    return false;
  neo_expr a = neo_op2(fe->m, NEO_OP_SUB, e1, b);
  *value = exact_quotient(fe, neo_op2(fe->m, NEO_OP_SUB, extent, b), a);
  neo_expr again = eval_with(in, e, unknown, *value);
  if (again.i && neo_size_equal(fe, again, extent))
    return true;
  if (again.i)
    NEO_ERR(in, e->span, SIZE_UNSOLVED, unknown->text, neo_size_text(fe, extent));
  return false;
}

/* ---- statements */

static bool replaced(neo_inst *in, const neo_ast_stmt *s, int64_t *x) {
  const neo_frontend_options *o = in->fe->options;
  if (!in->is_main || in->scope->parent)
    return false;
  for (int k = 0; o && k < o->n_defines; k++)
    if (neo_streq(o->defines[k].name, s->u.dim.name.text)) {
      in->fe->define_used[k] = true;
      *x = o->defines[k].value;
      return true;
    }
  return false;
}

/* dim lo <= N <= hi */
static neo_expr runtime_size(neo_inst *in, const neo_ast_stmt *s) {
  int64_t lo = 1, hi;
  neo_expr none = {0};
  if (s->u.dim.lo && !neo_size_int(in, s->u.dim.lo, &lo))
    return none;
  if (!neo_size_int(in, s->u.dim.hi, &hi))
    return none;
  if (in->scope->parent || !in->is_main) {
    NEO_ERR(in, s->span, RUNTIME_DIM_PLACE, s->u.dim.name.text);
    return none;
  }
  if (lo < 0 || hi < lo || hi > ((int64_t)1 << 40)) {
    NEO_ERR(in, s->span, DIM_BOUNDS, s->u.dim.name.text, (long long)lo, (long long)hi);
    return none;
  }
  int64_t x; /* compiled for one size alone */
  if (replaced(in, s, &x)) {
    if (x >= lo && x <= hi)
      return neo_const_int(in->fe->m, NEO_I64_T, x);
    NEO_ERR(in, s->span, DEFINE_BOUNDS, s->u.dim.name.text, (long long)x, (long long)lo,
            (long long)hi);
    return none;
  }
  neo_size size =
      neo_size_add(in->fe->m, (neo_size_rec){.kind = NEO_SIZE_RUNTIME,
                                             .name = neo_name_of(in->fe->names, s->u.dim.name.text),
                                             .lo = lo,
                                             .hi = hi,
                                             .span = s->u.dim.name.span});
  return neo_size_ref(in->fe->m, size);
}

void neo_check_dim(neo_inst *in, const neo_ast_stmt *s) {
  neo_expr e;
  int64_t x;
  if (s->u.dim.rel != NEO_AST_REL_NONE)
    e = runtime_size(in, s);
  else if (replaced(in, s, &x))
    e = neo_const_int(in->fe->m, NEO_I64_T, x);
  else
    e = neo_size_eval(in, s->u.dim.hi);
  if (!e.i) {
    neo_scope_poison(in, &s->u.dim.name);
    return;
  }
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = s->u.dim.name.text,
                          .span = s->u.dim.name.span,
                          .value = neo_val_index(e)});
}

/* The bounds of N where N % k == 0 is asserted are multiples of k. */
static void tighten(neo_fe *fe, neo_expr c) {
  const neo_node *eq = neo_expr_node(fe->m, c);
  int64_t zero, k;
  if (eq->op != NEO_OP_EQ || !neo_expr_is_int(fe->m, neo_list_expr(fe->m, eq->arg, 1), &zero) ||
      zero)
    return;
  const neo_node *mod = neo_expr_node(fe->m, neo_list_expr(fe->m, eq->arg, 0));
  if (mod->op != NEO_OP_MOD || !neo_expr_is_int(fe->m, neo_list_expr(fe->m, mod->arg, 1), &k))
    return;
  const neo_node *size = neo_expr_node(fe->m, neo_list_expr(fe->m, mod->arg, 0));
  if (size->op != NEO_OP_SIZE || k <= 0)
    return;
  neo_size_rec *rec = neo_size_at(fe->m, (neo_size){size->attr});
  int64_t lo = (rec->lo + k - 1) / k * k, hi = rec->hi / k * k;
  if (rec->kind == NEO_SIZE_RUNTIME && lo <= hi)
    rec->lo = lo, rec->hi = hi;
}

void neo_check_assert(neo_inst *in, const neo_ast_stmt *s) {
  int64_t x;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, in->prefix);
  f->n_axes = f->n_out = 0;
  f->sizes_only = true;
  f->subscript = 1;
  neo_expr c = neo_check_condition(f, s->u.expr);
  if (!c.i)
    return;
  if (!neo_size_is_pure(f->m, c)) {
    NEO_ERR(in, s->u.expr->span, NOT_A_SIZE, "depends on the values of tensors");
    return;
  }
  neo_facts facts = size_facts(in->fe);
  bool known = neo_expr_is_int(f->m, c, &x);
  neo_witness w;
  neo_proof proof =
      known ? (x ? NEO_PROVED : NEO_REFUTED) : neo_prove(in->fe->prover, &facts, c, &w);
  if (known && proof == NEO_REFUTED) {
    size_t n = 0;
    const char *text = neo_span_bytes(neo_diags_sources(in->fe->diags), s->u.expr->span, &n);
    NEO_ERR(in, s->u.expr->span, ASSERT_FAILS, (int)n, text);
  } else if (proof != NEO_PROVED) {
    NEO_PUSH(in->fe->arena, &in->fe->asserts, c);
    NEO_PUSH(in->fe->arena, &in->fe->m->asserts, (neo_assert_rec){c, s->u.expr->span});
    tighten(in->fe, c);
  }
}

/* A run-time size is found from the extent of an input. */
void neo_check_sizes_used(neo_fe *fe) {
  for (uint32_t k = 1; k < fe->m->sizes.n; k++) {
    bool used = false;
    neo_expr e = neo_size_ref(fe->m, (neo_size){k});
    for (uint32_t t = 1; t < fe->m->tensors.n; t++) {
      const neo_tensor_rec *r = &fe->m->tensors.at[t];
      for (uint32_t d = 0; r->role == NEO_ROLE_INPUT && d < r->extent.n; d++)
        used = used || neo_list_at(fe->m, r->extent, d) == e.i;
    }
    if (used)
      continue;
    int h = neo_diag(fe->diags, fe->m->sizes.at[k].span, NEO_D_SIZE_UNKNOWN_AT_RUN_TIME,
                     neo_name_text(fe->names, fe->m->sizes.at[k].name));
    neo_diag_help(fe->diags, h, "declare an input with a dimension of this size");
  }
}
