/* Declarations: input, param, state; what a tensor must be. */
#include "base/hash.h"
#include "frontend/check.h"

static const int64_t max_elements = (int64_t)1 << 40;

/* ---- making tensors */

static bool negative(neo_inst *in, neo_expr e, neo_span at) {
  int64_t x;
  neo_fe *fe = in->fe;
  neo_facts facts = {NULL, 0, fe->asserts.at, (uint32_t)fe->asserts.n};
  neo_witness w = {0};
  neo_expr goal = neo_op2(fe->m, NEO_OP_LE, neo_const_int(fe->m, NEO_I64_T, 0), e);
  if (neo_expr_is_int(fe->m, e, &x) ? x >= 0
                                    : neo_prove(fe->prover, &facts, goal, &w) == NEO_PROVED)
    return false;
  int h = NEO_ERR(in, at, NEGATIVE_SIZE, neo_size_text(fe, e));
  for (uint32_t k = 0; k < w.n_sizes && k < 1; k++)
    neo_diag_note(fe->diags, h, "for example when %s = %lld",
                  neo_name_text(fe->names, neo_size_at(fe->m, w.size[k].size)->name),
                  (long long)w.size[k].value);
  return true;
}

static bool too_large(neo_inst *in, const neo_expr *extent, uint32_t n, neo_span at) {
  int64_t elements = 1;
  for (uint32_t k = 0; k < n; k++) {
    int64_t x;
    if (negative(in, extent[k], at))
      return true;
    bool known = neo_size_max(in->fe, extent[k], &x);
    bool large = !known || x > max_elements ||
                 __builtin_mul_overflow(elements, x > 0 ? x : 1, &elements) ||
                 elements > max_elements;
    if (!large)
      continue;
    NEO_ERR(in, at, TENSOR_TOO_LARGE, 40);
    return true;
  }
  return false;
}

neo_tensor neo_tensor_make(neo_inst *in, neo_tensor_rec rec, const neo_expr *extent, uint32_t n,
                           const char *full) {
  uint32_t list[NEO_MAX_AXES];
  neo_tensor none = {0};
  if (n > NEO_MAX_RANK) {
    NEO_ERR(in, rec.span, RANK_TOO_LARGE, (int)n, NEO_MAX_RANK);
    return none;
  }
  if (too_large(in, extent, n, rec.span))
    return none;
  for (uint32_t k = 0; k < n; k++)
    list[k] = extent[k].i;
  rec.extent = neo_list_new(in->fe->m, list, n);
  rec.name = neo_name_of(in->fe->names, full);
  rec.span = neo_inst_span(in, rec.span);
  return neo_tensor_add(in->fe->m, rec);
}

/* ---- extents of declarations */

static bool pack_extents(neo_inst *in, const neo_ast_axis *a, uint32_t *n, neo_expr *extent,
                         const char **name) {
  if (!in->has_pack) {
    NEO_ERR(in, a->span, PACK_UNKNOWN, "..");
    return false;
  }
  for (uint32_t k = 0; k < in->n_pack && *n < NEO_MAX_AXES; k++) {
    name[*n] = neo_frame_pack_name(in->fe, k);
    extent[(*n)++] = in->pack[k];
  }
  return true;
}

bool neo_extents_eval(neo_inst *in, const neo_ast_axes *axes, uint32_t *n, neo_expr *extent,
                      const char **name) {
  bool ok = true;
  *n = 0;
  if (axes->n > NEO_MAX_RANK) {
    NEO_ERR(in, axes->at[NEO_MAX_RANK].span, RANK_TOO_LARGE, (int)axes->n, NEO_MAX_RANK);
    return false;
  }
  for (uint32_t k = 0; k < axes->n; k++) {
    const neo_ast_axis *a = &axes->at[k];
    if (a->kind == NEO_AST_PACK) {
      ok = pack_extents(in, a, n, extent, name) && ok;
      continue;
    }
    if (!a->hi) {
      NEO_ERR(in, a->span, NO_EXTENT, a->name.text);
      return false;
    }
    neo_expr e = neo_size_eval(in, a->hi);
    ok = ok && e.i;
    if (e.i && a->kind == NEO_AST_INDEX)
      e = neo_size_add1(in->fe, e, a->hi_rel == NEO_AST_REL_LE);
    name[*n] = a->kind == NEO_AST_INDEX ? a->name.text : NULL;
    extent[(*n)++] = e;
  }
  return ok;
}

/* ---- initial values */

typedef struct {
  neo_fe *fe;
  const neo_module *m;
  uint32_t first_hoisted; /* tensors from here on were made for the value; 0: none may be */
  neo_tensor bad;
} init_reads;

/* Constants and parameters have values before anything runs. */
static bool is_given(const neo_module *m, uint32_t t) {
  uint8_t role = neo_tensor_at(m, (neo_tensor){t})->role;
  return role == NEO_ROLE_CONST || role == NEO_ROLE_PARAM;
}

/* A reducer within the value, of what is given. */
static bool is_hoisted(const init_reads *r, uint32_t t) {
  bool good = r->first_hoisted && t >= r->first_hoisted;
  const bool *reached = good ? neo_tensor_reach(r->fe, (neo_tensor){t}) : NULL;
  for (uint32_t k = 1; k < r->m->tensors.n && good; k++)
    good = !reached[k] || k >= r->first_hoisted || is_given(r->m, k);
  return good;
}

static void look_read(void *ctx, neo_expr e) {
  init_reads *r = ctx;
  const neo_node *n = neo_expr_node(r->m, e);
  if (n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE)
    return;
  if (!is_given(r->m, n->attr) && !is_hoisted(r, n->attr))
    r->bad = (neo_tensor){n->attr};
}

static bool init_is_closed(neo_frame *f, neo_expr e, neo_span at, uint32_t first_hoisted) {
  init_reads r = {f->fe, f->m, f->in->n_rounds ? 0 : first_hoisted, {0}};
  neo_expr_visit(f->m, e, look_read, &r);
  for (uint32_t k = 0; k < f->kept.n_body; k++)
    neo_expr_visit(f->m, f->kept.body[k], look_read, &r);
  bool ambient =
      f->in->n_ambient &&
      (f->kept.set || (neo_expr_axes(f->m, e) & (((uint64_t)1 << f->in->n_ambient) - 1)) != 0);
  if (!r.bad.i && !ambient)
    return true;
  if (r.bad.i)
    NEO_ERR(f->in, at, INIT_READS, neo_name_text(f->fe->names, neo_tensor_at(f->m, r.bad)->name));
  else
    NEO_ERR(f->in, at, INIT_READS, "an index of the call");
  return false;
}

static bool is_pack_name(neo_fe *fe, const char *name, uint32_t k) {
  return k < NEO_MAX_RANK && name == neo_frame_pack_name(fe, k);
}

/* The pack of a declaration is that of its initial value. */
static void take_pack(neo_frame *f, const char *const *name, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (!name[k] || !is_pack_name(f->fe, name[k], f->n_pack))
      continue;
    f->has_pack = true;
    f->pack_name[f->n_pack++] = name[k];
  }
}

/* Axes of a declaration in a frame of its own: ambient (unused), rounds, dimensions. */
static void push_declared(neo_frame *f, const neo_expr *extent, const char *const *name, uint32_t n,
                          neo_span span) {
  uint32_t packed = 0;
  for (uint32_t k = 0; k < n; k++) {
    bool named = name[k] && !is_pack_name(f->fe, name[k], packed);
    packed += name[k] && !named;
    const char *shown = named ? name[k] : neo_arena_printf(f->fe->arena, "d%d", (int)k);
    neo_frame_push(f, name[k],
                   (neo_axis_rec){neo_name_of(f->fe->names, shown),
                                  neo_const_int(f->m, NEO_I64_T, 0), extent[k], span});
  }
  f->n_out = f->n_axes;
}

/* Drops the ambient axes, which nothing uses. */
static neo_expr drop_ambient(neo_frame *f, neo_expr e) {
  neo_expr by[NEO_MAX_AXES] = {{0}};
  uint32_t n = f->in->n_ambient;
  if (!n)
    return e;
  for (uint32_t k = n; k < f->n_out; k++) {
    by[k] = neo_axis_ref(f->m, k - n);
    f->axis[k - n] = f->axis[k];
  }
  f->n_out -= n;
  f->n_axes = f->n_out;
  return neo_expr_subst_axes(f->m, e, by, NEO_MAX_AXES);
}

/* A parameter of the same rounds, which the first round reads at 0: each round reads its own. */
static neo_expr of_each_round(void *ctx, neo_module *m, neo_expr e) {
  const neo_inst *in = ctx;
  const neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_MAX_RANK];
  uint64_t at;
  if (n.op != NEO_OP_LOAD)
    return e;
  const char *name = neo_name_text(in->fe->names, neo_tensor_at(m, (neo_tensor){n.attr})->name);
  if (!neo_map_get(&in->fe->owned, (uint64_t)(uintptr_t)neo_fe_intern(in->fe, name), &at))
    return e;
  const neo_owned *o = &in->fe->owned_at.at[at - 1];
  for (uint32_t k = 0; k < n.arg.n; k++) {
    bool same = k < o->n_rounds && k < in->n_rounds && o->region[k] == in->round[k].region;
    index[k] = same ? neo_axis_ref(m, k) : neo_list_expr(m, n.arg, k);
  }
  return neo_load(m, (neo_tensor){n.attr}, index, n.arg.n, n.span);
}

static void initialise(neo_inst *in, neo_tensor t, const neo_ast_expr *value,
                       const neo_expr *extent, const char *const *name, uint32_t n) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_wants none = {0};
  neo_type type = (neo_type)neo_tensor_at(in->fe->m, t)->type;
  neo_frame_init(f, in, neo_name_text(in->fe->names, neo_tensor_at(in->fe->m, t)->name));
  f->init = true;
  push_declared(f, extent, name, n, value->span);
  take_pack(f, name, n);
  if (!neo_ranges_pack(f, NULL, value, value->span))
    return;
  uint32_t first_hoisted = (uint32_t)in->fe->m->tensors.n;
  neo_ranges_infer(f, &none, value);
  neo_val v = neo_check_expr(f, value);
  if (v.kind == NEO_VAL_POISON)
    return;
  neo_expr e = v.kind == NEO_VAL_LIT ? neo_val_as(f, value->span, v, type)
                                     : neo_val_scalar(f, value->span, v);
  if (!e.i || !init_is_closed(f, e, value->span, first_hoisted))
    return;
  if (v.kind == NEO_VAL_EXPR && neo_expr_type(f->m, e) != type && !v.index) {
    neo_val_as(f, value->span, v, type);
    return;
  }
  e = drop_ambient(f, neo_cast(f->m, type, e));
  neo_def d = neo_define_piece(f, t, e, value->span, false, NULL, 0);
  if (in->n_rounds)
    neo_def_rewrite(f->m, d, of_each_round, in);
  neo_tensor_at(f->m, t)->init = d;
}

/* ---- statements */

static void bind_view(neo_inst *in, const neo_ast_name *name, neo_view v) {
  neo_scope_add(
      in, in->scope,
      (neo_sym){
          .kind = NEO_SYM_VALUE, .name = name->text, .span = name->span, .value = neo_val_view(v)});
}

static neo_type declared_type(const neo_ast_type *t) {
  return t->given ? t->type : NEO_F32_T;
}

void neo_check_input(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_var *var = &s->u.decl.var;
  neo_expr extent[NEO_MAX_AXES], bound;
  const char *name[NEO_MAX_AXES];
  uint32_t n;
  bool ok = neo_extents_eval(in, &var->axes, &n, extent, name);
  ok = neo_type_eval(in, &var->type, &bound) && ok;
  if (ok && (in->scope->parent || !in->is_main)) {
    NEO_ERR(in, s->span, INPUT_PLACE, var->name.text);
    ok = false;
  }
  if (ok && s->u.decl.value && n > 0) {
    NEO_ERR(in, s->u.decl.value->span, INPUT_DEFAULT, var->name.text);
    ok = false;
  }
  if (!ok) {
    neo_scope_poison(in, &var->name);
    return;
  }
  neo_tensor_rec rec = {.role = (uint8_t)(s->u.decl.value ? NEO_ROLE_SETTING : NEO_ROLE_INPUT),
                        .type = (uint8_t)declared_type(&var->type),
                        .span = var->name.span,
                        .bound = bound};
  neo_tensor t = neo_tensor_make(in, rec, extent, n, neo_fe_unique(in->fe, var->name.text));
  if (t.i && s->u.decl.value)
    initialise(in, t, s->u.decl.value, extent, name, n);
  if (t.i)
    bind_view(in, &var->name, neo_view_whole(in->fe->m, t));
  else
    neo_scope_poison(in, &var->name);
}

static neo_view owned_view(const neo_inst *in, neo_tensor t) {
  neo_view v = neo_view_whole(in->fe->m, t);
  for (uint32_t k = 0; k < in->n_rounds; k++) {
    v.index[k] = neo_const_int(in->fe->m, NEO_I64_T, in->round[k].at);
    v.rank--;
  }
  return v;
}

static bool same_rounds(const neo_inst *in, const neo_owned *o) {
  bool later = false;
  for (uint32_t k = 0; k < in->n_rounds; k++)
    later = later || in->round[k].at > 0;
  bool same = later && o->n_rounds == in->n_rounds;
  for (uint32_t k = 0; same && k < in->n_rounds; k++)
    same = o->region[k] == in->round[k].region;
  return same;
}

/* Blocks may hide names, so that two statements want the same full name. */
static uint64_t declared_key(const neo_ast_stmt *s, const char *full) {
  return neo_hash_mix((uint64_t)(uintptr_t)full, s->span);
}

/* The tensor that an earlier round declared; its extents must be the same now. */
static neo_tensor of_earlier_round(neo_inst *in, const neo_ast_stmt *s, const char *full,
                                   const neo_expr *extent, uint32_t n, bool *known) {
  const neo_ast_var *var = &s->u.decl.var;
  uint64_t at;
  neo_tensor none = {0};
  *known = neo_map_get(&in->fe->declared, declared_key(s, full), &at);
  if (!*known)
    return none;
  const neo_owned *o = &in->fe->owned_at.at[at - 1];
  *known = same_rounds(in, o);
  if (!*known)
    return none;
  bool same = neo_tensor_rank(in->fe->m, o->tensor) == n;
  for (uint32_t k = 0; same && k < n; k++)
    same = neo_size_equal(in->fe, extent[k], neo_tensor_extent(in->fe->m, o->tensor, k));
  if (same)
    return o->tensor;
  NEO_ERR(in, var->span, ROUND_EXTENT, var->name.text);
  return none;
}

static neo_tensor declare_owned(neo_inst *in, const neo_ast_stmt *s, const char *full,
                                const neo_expr *extent, const char *const *name, uint32_t n,
                                neo_expr bound) {
  const neo_ast_var *var = &s->u.decl.var;
  bool param = s->kind == NEO_AST_PARAM;
  neo_type type = declared_type(&var->type);
  if (param && !neo_type_is_float(type)) {
    NEO_ERR(in, var->type.span, PARAM_TYPE, var->name.text, neo_type_text(type));
    return (neo_tensor){0};
  }
  for (uint32_t k = 0; k < n; k++)
    if (neo_expr_uses_op(in->fe->m, extent[k], NEO_OP_SIZE)) {
      const char *size = neo_size_text(in->fe, extent[k]);
      NEO_ERR(in, var->name.span, KEPT_EXTENT, var->name.text, size);
      return (neo_tensor){0};
    }
  neo_tensor_rec rec = {.role = (uint8_t)(param ? NEO_ROLE_PARAM : NEO_ROLE_STATE),
                        .type = (uint8_t)type,
                        .span = var->name.span,
                        .bound = bound};
  uint64_t key = declared_key(s, full);
  full = neo_fe_unique(in->fe, full);
  neo_tensor t = neo_tensor_make(in, rec, extent, n, full);
  if (!t.i)
    return t;
  neo_owned o = {.tensor = t, .span = var->name.span, .n_rounds = in->n_rounds};
  for (uint32_t k = 0; k < in->n_rounds; k++)
    o.region[k] = in->round[k].region;
  NEO_PUSH(in->fe->arena, &in->fe->owned_at, o);
  neo_map_set(&in->fe->owned, (uint64_t)(uintptr_t)full, in->fe->owned_at.n);
  neo_map_set(&in->fe->declared, key, in->fe->owned_at.n);
  initialise(in, t, s->u.decl.value, extent, name, n);
  return t;
}

void neo_check_owned(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_var *var = &s->u.decl.var;
  neo_expr extent[2 * NEO_MAX_AXES], bound;
  const char *name[2 * NEO_MAX_AXES];
  uint32_t n, r = in->n_rounds;
  bool known, ok = neo_extents_eval(in, &var->axes, &n, extent + r, name + r);
  ok = neo_type_eval(in, &var->type, &bound) && ok;
  for (uint32_t k = 0; k < r; k++) {
    extent[k] = neo_const_int(in->fe->m, NEO_I64_T, in->round[k].count);
    name[k] = NULL;
  }
  const char *full = neo_fe_join(in->fe, in->prefix, var->name.text);
  if (ok && n + r > NEO_MAX_RANK) {
    NEO_ERR(in, var->span, RANK_TOO_LARGE, (int)(n + r), NEO_MAX_RANK);
    ok = false;
  }
  neo_tensor t = {0};
  if (ok) {
    t = of_earlier_round(in, s, full, extent, n + r, &known);
    if (!known)
      t = declare_owned(in, s, full, extent, name, n + r, bound);
  }
  if (t.i)
    bind_view(in, &var->name, owned_view(in, t));
  else
    neo_scope_poison(in, &var->name);
}

/* A constant given by an expression over its indices: a definition that reads no input. */
neo_val neo_const_define(neo_inst *in, const neo_ast_stmt *s, const char *full) {
  const neo_ast_var *var = &s->u.decl.var;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_expr extent[NEO_MAX_AXES], bound, e;
  const char *name[NEO_MAX_AXES];
  neo_wants none = {0};
  uint32_t n;
  if (!neo_extents_eval(in, &var->axes, &n, extent, name))
    return neo_val_poison();
  neo_frame_init(f, in, full);
  push_declared(f, extent, name, n, var->span);
  neo_ranges_infer(f, &none, s->u.decl.value);
  neo_val v = neo_check_expr(f, s->u.decl.value);
  if (v.kind == NEO_VAL_POISON)
    return v;
  if (!neo_define_finish(f, var, s->u.decl.value->span, v, &e, &bound))
    return neo_val_poison();
  neo_tensor t = neo_define_temp(f, full, neo_expr_type(f->m, e), bound, var->name.span);
  if (!t.i)
    return neo_val_poison();
  neo_define_piece(f, t, e, s->u.decl.value->span, true, NULL, 0);
  return neo_val_view(neo_view_ambient(in, t, n));
}
