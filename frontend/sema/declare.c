/* Declarations, given their extents: the tensors that an initial value may read, and params and
 * states that the iterations of a repeat share. */
#include "base/hash.h"
#include "frontend/sema/parts.h"

bool neo_pack_extents(neo_inst *in, const neo_ast_axis *a, uint32_t *n, neo_expr *extent,
                      const char **name) {
  if (!in->has_pack) {
    if (!neo_pack_differs(in))
      NEO_ERR(in, a->span, PACK_UNKNOWN, "..");
    return false;
  }
  for (uint32_t k = 0; k < in->n_pack && *n < NEO_MAX_AXES; k++) {
    name[*n] = neo_frame_pack_name(in->fe, k);
    extent[(*n)++] = in->pack[k];
  }
  return true;
}

/* ---- initial values */

typedef struct {
  neo_fe *fe;
  const neo_module *m;
  uint32_t first_hoisted; /* first tensor that was made for the initial value; 0: none may be
                             made */
  neo_tensor bad;
} init_reads;

/* Whether t has a value before anything runs: a constant or a parameter. */
static bool is_given(const neo_module *m, uint32_t t) {
  uint8_t role = neo_tensor_at(m, (neo_tensor){t})->role;
  return role == NEO_ROLE_CONST || role == NEO_ROLE_PARAM;
}

/* Whether t is a hoisted reducer of the initial value that reads only given tensors. */
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
  if (!neo_node_is_load(n))
    return;
  if (!is_given(r->m, n->attr) && !is_hoisted(r, n->attr))
    r->bad = (neo_tensor){n->attr};
}

/* Looks at the reads of the value's own reduction: in its bodies, its condition and its ranges. */
static void look_own(neo_frame *f, init_reads *r) {
  const neo_own_reduction *own = &f->own;
  for (uint32_t k = 0; k < own->n_body; k++)
    neo_expr_visit(f->m, own->body[k], look_read, r);
  if (own->where.i)
    neo_expr_visit(f->m, own->where, look_read, r);
  for (uint32_t k = 0; k < own->n_axes; k++) {
    neo_expr_visit(f->m, own->axis[k].lo, look_read, r);
    neo_expr_visit(f->m, own->axis[k].hi, look_read, r);
  }
}

static bool init_is_closed(neo_frame *f, neo_expr e, neo_span at, uint32_t first_hoisted) {
  init_reads r = {f->fe, f->m, f->in->n_iterations ? 0 : first_hoisted, {0}};
  neo_expr_visit(f->m, e, look_read, &r);
  look_own(f, &r);
  uint64_t others = ((uint64_t)1 << f->in->n_ambient) - 1;
  for (uint32_t k = 0; k < f->in->n_iterations; k++) /* iterations are dimensions of the tensor */
    if (f->in->iteration[k].axis)
      others &= ~((uint64_t)1 << (f->in->iteration[k].axis - 1));
  bool ambient = others && (f->own.set || (neo_expr_axes(f->m, e) & others) != 0);
  if (!r.bad.i && !ambient)
    return true;
  if (r.bad.i)
    NEO_ERR(f->in, at, INIT_READS, neo_name_text(f->fe->names, neo_tensor_at(f->m, r.bad)->name));
  else
    NEO_ERR(f->in, at, INIT_READS, "an index of the call or loop");
  return false;
}

static bool is_pack_name(neo_fe *fe, const char *name, uint32_t k) {
  return k < NEO_MAX_RANK && name == neo_frame_pack_name(fe, k);
}

/* Gives a declaration the pack of its initial value. The pack of a scalar has no names. */
void neo_declared_pack(neo_frame *f, const char *const *name, uint32_t n) {
  f->has_pack = f->in->has_pack && f->in->n_pack == 0;
  for (uint32_t k = 0; k < n; k++) {
    if (!name[k] || !is_pack_name(f->fe, name[k], f->n_pack))
      continue;
    f->has_pack = true;
    f->pack_name[f->n_pack++] = name[k];
  }
}

/* Makes the axes of a declaration in a frame of its own: ambient (unused), iterations,
 * dimensions. */
void neo_declared_axes(neo_frame *f, const neo_expr *extent, const char *const *name, uint32_t n,
                       neo_span span) {
  uint32_t packed = 0;
  for (uint32_t k = 0; k < n; k++) {
    bool named = name[k] && !is_pack_name(f->fe, name[k], packed);
    packed += name[k] && !named;
    const char *shown = named ? name[k] : neo_arena_printf(f->fe->arena, "d%d", (int)k);
    neo_frame_push(
        f, name[k],
        (neo_axis_rec){neo_name_of(f->fe->names, shown), neo_const_i64(f->m, 0), extent[k], span});
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

/* In an initial value, reads W[0, ..] of a parameter of the same iterations become W[r, ..], where
 * r is the iteration that gets the value. */
static neo_expr of_each_iteration(void *ctx, neo_module *m, neo_expr e) {
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
    bool same =
        k < o->n_iterations && k < in->n_iterations && o->region[k] == in->iteration[k].region;
    index[k] = same ? neo_axis_ref(m, k) : neo_list_expr(m, n.arg, k);
  }
  return neo_load(m, (neo_tensor){n.attr}, index, n.arg.n, n.span);
}

void neo_init_define(neo_frame *f, neo_tensor t, const neo_ast_var *var, neo_val v, neo_span at,
                     uint32_t first_hoisted) {
  neo_inst *in = f->in;
  neo_type type = neo_tensor_type(f->m, t);
  neo_expr e = v.kind == NEO_VAL_LIT ? neo_val_as(f, at, v, type) : neo_val_scalar(f, at, v);
  if (!e.i || !init_is_closed(f, e, at, first_hoisted))
    return;
  if (v.kind == NEO_VAL_EXPR && neo_expr_type(f->m, e) != type && !v.index) {
    neo_val_as(f, at, v, type);
    return;
  }
  neo_ends ends = neo_ends_of(f->fe, t);
  e = drop_ambient(f, neo_cast(f->m, type, e));
  if (!neo_bounds_of_value(f, var, at, e, &ends))
    return;
  neo_def d = neo_define_piece(f, t, e, at, false, NULL, 0);
  if (in->n_iterations)
    neo_def_rewrite(f->m, d, of_each_iteration, in);
  neo_tensor_at(f->m, t)->init = d;
}

/* ---- params and states */

neo_view neo_owned_view(const neo_inst *in, neo_tensor t) {
  neo_view v = neo_view_whole(in->fe->m, t);
  for (uint32_t k = 0; k < in->n_iterations; k++) {
    v.index[k] = neo_iteration_index(in, k);
    v.rank--;
  }
  return v;
}

static bool same_iterations(const neo_inst *in, const neo_owned *o) {
  bool later = false;
  for (uint32_t k = 0; k < in->n_iterations; k++)
    later = later || in->iteration[k].at > 0;
  bool same = later && o->n_iterations == in->n_iterations;
  for (uint32_t k = 0; same && k < in->n_iterations; k++)
    same = o->region[k] == in->iteration[k].region;
  return same;
}

/* The key of a declaration. The span is part of it: blocks may hide names, so that two statements
 * want the same full name. */
static uint64_t declared_key(const neo_ast_stmt *s, const char *full) {
  return neo_hash_mix(neo_hash_mix(0, (uint64_t)(uintptr_t)full), s->span);
}

/* The tensor that an earlier iteration declared; its extents must be the same now. */
neo_tensor neo_owned_earlier(neo_inst *in, const neo_ast_stmt *s, const char *full,
                             const neo_expr *extent, uint32_t n, bool *known) {
  const neo_ast_var *var = &s->u.decl.var;
  uint64_t at;
  neo_tensor none = {0};
  *known = neo_map_get(&in->fe->declared, declared_key(s, full), &at);
  if (!*known)
    return none;
  const neo_owned *o = &in->fe->owned_at.at[at - 1];
  *known = same_iterations(in, o);
  if (!*known)
    return none;
  bool same = neo_tensor_rank(in->fe->m, o->tensor) == n;
  for (uint32_t k = 0; same && k < n; k++)
    same = neo_size_equal(in->fe, extent[k], neo_tensor_extent(in->fe->m, o->tensor, k));
  if (same)
    return o->tensor;
  NEO_ERR(in, var->span, ITERATION_EXTENT, var->name.text);
  return none;
}

static bool in_optimizer(const neo_inst *in) {
  while (in && !in->trainee)
    in = in->caller;
  return in;
}

neo_tensor neo_owned_declare(neo_inst *in, const neo_ast_stmt *s, const char *full,
                             const neo_expr *extent, uint32_t n, const neo_ends *ends) {
  const neo_ast_var *var = &s->u.decl.var;
  bool param = s->kind == NEO_AST_PARAM;
  neo_type type = neo_declared_type(in, &var->type);
  if (param && !neo_type_is_float(type)) {
    NEO_ERR(in, var->type.span, PARAM_TYPE, var->name.text, neo_type_text(type));
    return (neo_tensor){0};
  }
  for (uint32_t k = 0; k < n; k++)
    if (neo_expr_uses_op(in->fe->m, extent[k], NEO_OP_SIZE)) {
      const char *size = neo_size_text(in->fe, extent[k]);
      int h = NEO_ERR(in, var->name.span, KEPT_EXTENT, var->name.text, size);
      neo_diag_help(
          in->fe->diags, h,
          "give the size one value, as dim N = 10, or declare as many elements as there may be");
      return (neo_tensor){0};
    }
  neo_tensor_rec rec = {.role = (uint8_t)(param ? NEO_ROLE_PARAM : NEO_ROLE_STATE),
                        .type = (uint8_t)type,
                        .span = var->name.span,
                        .optimizer = !param && in_optimizer(in)};
  if (neo_streq(full, "__metadata__")) { /* reserved for the metadata of a checkpoint */
    NEO_ERR(in, var->name.span, RESERVED, full);
    return (neo_tensor){0};
  }
  uint64_t key = declared_key(s, full);
  full = neo_fe_unique(in->fe, full);
  neo_tensor t = neo_tensor_make(in, rec, extent, n, full);
  if (!t.i)
    return t;
  neo_ends_set(in->fe, t, ends);
  neo_owned o = {.tensor = t, .span = var->name.span, .n_iterations = in->n_iterations};
  for (uint32_t k = 0; k < in->n_iterations; k++)
    o.region[k] = in->iteration[k].region;
  NEO_PUSH(in->fe->arena, &in->fe->owned_at, o);
  neo_map_set(&in->fe->owned, (uint64_t)(uintptr_t)full, in->fe->owned_at.n);
  neo_map_set(&in->fe->declared, key, in->fe->owned_at.n);
  return t;
}
