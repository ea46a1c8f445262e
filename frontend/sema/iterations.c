/* Iterations of a `repeat` and arms of a `case`: carries, collected values, and the results that
 * are bound.
 *
 * An iteration is checked as a copy of the instance with a scope and names of its own. A param or
 * state that it declares is one tensor for all iterations, with the iteration as its first
 * dimension. */
#include "frontend/sema/iterations.h"
#include "base/hash.h"

void neo_iterations_poison(neo_inst *in, const neo_ast_stmt *s) {
  for (uint32_t k = 0; k <= s->u.define.more.n; k++)
    neo_scope_poison(in, neo_define_target(s, k));
}

void neo_iterations_init(neo_fe *fe, struct neo_iterations *r, const neo_ast_stmt *s) {
  const size_t n = s->u.define.region->from.n + 1;
  r->s = s;
  r->n = s->u.define.region->from.n;
  r->name = NEO_NEW_ARRAY(fe->arena, const char *, n);
  r->target = NEO_NEW_ARRAY(fe->arena, const char *, n);
  r->prefix = NEO_NEW_ARRAY(fe->arena, const char *, n);
  r->now = NEO_NEW_ARRAY(fe->arena, neo_val, n);
  r->next = NEO_NEW_ARRAY(fe->arena, neo_val, n);
  r->where = NEO_NEW_ARRAY(fe->arena, neo_span, n);
  r->is_next = NEO_NEW_ARRAY(fe->arena, bool, n);
}

/* ---- carries, collect */

int neo_iterations_carry(const struct neo_iterations *r, const char *name) {
  for (uint32_t k = 0; k < r->n; k++)
    if (r->name[k] == name)
      return (int)k;
  return -1;
}

const neo_view *neo_iterations_view(const struct neo_iterations *r, const char *name) {
  int k = neo_iterations_carry(r, name);
  return k >= 0 && r->now[k].kind == NEO_VAL_VIEW ? &r->now[k].view : NULL;
}

/* The index of the carry that the symbol is; -1: none. A definition of the block may hide a
 * carry. */
static int carry_at(const struct neo_iterations *r, const neo_sym *s) {
  int k = neo_iterations_carry(r, s->name);
  return k >= 0 && s->span == r->s->u.define.region->from.at[k].var.name.span ? k : -1;
}

static neo_collected *collected_of(neo_inst *in, const neo_ast_name *name) {
  struct neo_iterations *r = in->iterations;
  size_t k = 0;
  while (k < r->collect.n && r->collect.at[k].name->text != name->text)
    k++;
  if (k == r->collect.n)
    NEO_PUSH(in->fe->arena, &r->collect, (neo_collected){.name = name, .carry = -1});
  return &r->collect.at[k];
}

static void collect_one(neo_inst *in, const neo_ast_name *name) {
  struct neo_iterations *r = in->iterations;
  neo_collected *c = collected_of(in, name);
  if (c->now) {
    NEO_ERR(in, name->span, NEXT_TARGET, name->text, "collected twice");
    r->failed = true;
    return;
  }
  neo_ast_path path = {(neo_ast_name *)name, 1, name->span};
  neo_sym *s = neo_path_find(in, &path, false);
  bool value = s && s->kind == NEO_SYM_VALUE;
  c->now = true;
  c->carry = value ? carry_at(r, s) : -1;
  NEO_PUSH(in->fe->arena, &c->at, value ? s->value : neo_val_poison());
}

bool neo_iterations_here(neo_inst *in, const neo_ast_stmt *s) {
  const char *word = neo_ast_stmt_word(s->kind);
  if (in->iterations && !in->branch)
    return true;
  int h = NEO_ERR(in, s->word, MISPLACED, word, "in the block of a repeat, scan or while");
  if (in->iterations)
    neo_diag_help(in->fe->diags, h,
                  "let the case give a value in every branch, and write '%s' after it", word);
  return false;
}

void neo_check_collect(neo_inst *in, const neo_ast_stmt *s) {
  if (!neo_iterations_here(in, s))
    return;
  for (uint32_t k = 0; k < s->u.names.n; k++)
    collect_one(in, &s->u.names.at[k]);
}

/* ---- one iteration */

bool neo_val_same_shape(neo_fe *fe, const neo_val *a, const neo_val *b) {
  bool scalar = (a->kind != NEO_VAL_VIEW || a->view.rank == 0) &&
                (b->kind != NEO_VAL_VIEW || b->view.rank == 0);
  if (a->kind != NEO_VAL_VIEW || b->kind != NEO_VAL_VIEW)
    return scalar;
  bool same = a->view.rank == b->view.rank;
  for (uint32_t k = 0; same && k < a->view.rank; k++)
    same = neo_size_equal(fe, neo_view_extent(fe, &a->view, k), neo_view_extent(fe, &b->view, k));
  return same;
}

neo_inst *neo_iteration_enter(neo_inst *in, struct neo_iterations *r, const char *prefix,
                              uint32_t region, int64_t at, int64_t count) {
  const neo_ast_region *g = r->s->u.define.region;
  neo_inst *x = neo_inst_new(in->fe, NULL, prefix);
  neo_map prefixes = x->prefixes;
  *x = *in;
  x->prefixes = prefixes;
  x->prefix = prefix;
  x->scope = neo_scope_new(in->fe, in->scope);
  x->n_results = 0;
  x->iterations = r;
  x->branch = false;
  x->iteration[x->n_iterations++] = (neo_iteration){region, at, count, 0};
  neo_scope_add(x, x->scope,
                (neo_sym){.kind = NEO_SYM_ITERATION,
                          .name = g->index.text,
                          .span = g->index.span,
                          .iteration = x->n_iterations - 1});
  for (uint32_t k = 0; k < r->n; k++)
    neo_scope_add(x, x->scope,
                  (neo_sym){.kind = NEO_SYM_VALUE,
                            .name = r->name[k],
                            .value = r->now[k],
                            .span = g->from.at[k].var.name.span,
                            .prefix = r->prefix[k]});
  x->scope = neo_scope_new(in->fe, x->scope); /* the block may hide them */
  neo_scope_note_block(in->fe, x->scope);
  return x;
}

/* Ends an iteration for `collect`. A carry is collected with its value for the next iteration,
 * wherever in the block the `collect` stands. */
static void finish_collected(neo_inst *in, struct neo_iterations *r, size_t iterations) {
  for (size_t k = 0; k < r->collect.n; k++) {
    neo_collected *c = &r->collect.at[k];
    if (c->at.n != iterations && !r->failed) {
      NEO_ERR(in, c->name->span, NEXT_TARGET, c->name->text, "collected in some iterations only");
      r->failed = true;
    }
    if (c->now && c->carry >= 0)
      c->at.at[c->at.n - 1] = r->now[c->carry];
    c->now = false;
  }
}

static void finish_iteration(neo_inst *in, struct neo_iterations *r) {
  for (uint32_t k = 0; k < r->n; k++) {
    if (!r->is_next[k])
      continue;
    r->is_next[k] = false;
    if (r->next[k].kind == NEO_VAL_POISON) {
      r->failed = true;
    } else if (!neo_val_same_shape(in->fe, &r->now[k], &r->next[k])) {
      NEO_ERR(in, r->where[k], NEXT_SHAPE, r->name[k]);
      r->failed = true;
    }
    r->now[k] = r->next[k];
  }
}

void neo_iteration_leave(neo_inst *in, struct neo_iterations *r, size_t iterations) {
  finish_iteration(in, r);
  finish_collected(in, r, iterations);
}

uint32_t neo_iterations_number(neo_inst *in, const neo_ast_stmt *s) {
  uint64_t known, outer = in->n_iterations ? in->iteration[in->n_iterations - 1].region : 0;
  uint64_t key = neo_hash_mix((uint64_t)s->span << 32 | outer, neo_hash_mix(1, outer));
  if (neo_map_get(&in->fe->regions, key, &known))
    return (uint32_t)known;
  neo_map_set(&in->fe->regions, key, in->fe->regions.n + 1);
  return (uint32_t)in->fe->regions.n;
}

/* ---- collected values: one tensor, with a piece per iteration */

/* Makes the tensor of all iterations, from the frame of the first. */
static neo_tensor stacked(neo_inst *in, const neo_frame *f, const neo_view *v, int64_t count,
                          const char *full, neo_span at) {
  neo_expr extent[NEO_MAX_AXES + 1];
  neo_tensor_rec like = *neo_tensor_at(f->m, v->tensor);
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP, .type = like.type, .span = at};
  extent[0] = neo_const_i64(f->m, count);
  for (uint32_t k = 0; k < f->n_out; k++)
    extent[k + 1] = f->axis[k].hi;
  return neo_tensor_make(in, rec, extent, f->n_out + 1, neo_fe_unique(f->fe, full));
}

/* Raises the bound of the tensor's elements to the largest of the pieces', if each piece has
 * one. */
static void raise_bound(neo_module *m, neo_tensor t, neo_tensor piece, int64_t iteration) {
  neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_expr own = neo_tensor_at(m, piece)->bound, none = {0};
  if (iteration == 0)
    r->bound = own;
  else
    r->bound = r->bound.i && own.i ? neo_op2(m, NEO_OP_MAX, r->bound, own) : none;
}

/* A view with the ambient axes as the dimensions after that of the iteration. */
static neo_view stacked_view(const neo_inst *in, neo_tensor t) {
  neo_view y = neo_view_whole(in->fe->m, t);
  for (uint32_t k = 0; k < in->n_ambient; k++)
    y.index[k + 1] = neo_axis_ref(in->fe->m, k);
  y.rank -= in->n_ambient;
  return y;
}

static neo_val stack(neo_inst *in, const neo_collected *c, int64_t count, const char *full) {
  neo_span at = c->name->span;
  neo_fe *fe = in->fe;
  neo_tensor t = {0};
  neo_expr e;
  for (int64_t l = 0; l < count; l++) {
    neo_val v = (size_t)l < c->at.n ? c->at.at[l] : neo_val_poison();
    if (v.kind == NEO_VAL_LIT || v.kind == NEO_VAL_EXPR)
      v = neo_define_copy(in, v, full, at);
    if (v.kind != NEO_VAL_VIEW)
      return neo_val_poison();
    if (l > 0 && !neo_val_same_shape(fe, &c->at.at[0], &v)) {
      NEO_ERR(in, at, NEXT_SHAPE, c->name->text);
      return neo_val_poison();
    }
    neo_frame *f = neo_element_frame(in, &v, in->prefix, at, &e);
    if (l == 0)
      t = stacked(in, f, &v.view, count, full, at);
    if (!t.i || !e.i || !neo_fe_spend(fe, in, at))
      return neo_val_poison();
    raise_bound(fe->m, t, v.view.tensor, l);
    neo_define_piece(f, t, e, at, true, &l, 1);
  }
  return t.i ? neo_val_view(stacked_view(in, t)) : neo_val_poison();
}

bool neo_iterations_counted(neo_inst *in, const struct neo_iterations *r, const char *word) {
  uint32_t n = r->s->u.define.more.n + 1, has = r->n + (uint32_t)r->collect.n;
  if (n == has)
    return true;
  int h = NEO_ERR(in, r->s->u.define.region->word, RESULT_COUNT, word, (int)has, (int)n);
  neo_diag_help(in->fe->diags, h, "the results are the carries, then what is collected");
  neo_iterations_poison(in, r->s);
  return false;
}

static neo_val last_of(neo_inst *in, const struct neo_iterations *r, uint32_t k, const char *full) {
  neo_val v = r->now[k];
  if (neo_grad_may_name(in->fe, &v))
    v = neo_define_copy(in, v, neo_fe_join(in->fe, full, "last"),
                        r->s->u.define.region->from.at[k].var.name.span);
  return v;
}

const char *neo_iterations_base(neo_inst *in, const neo_ast_stmt *s) {
  return neo_inst_prefix(in, neo_fe_join(in->fe, in->prefix, s->u.define.target.name.text));
}

void neo_iterations_bind(neo_inst *in, struct neo_iterations *r, int64_t count) {
  uint32_t n = r->s->u.define.more.n + 1;
  if (!neo_iterations_counted(in, r, "repeat"))
    return;
  for (uint32_t k = 0; k < n; k++) {
    const neo_ast_name *name = neo_define_target(r->s, k);
    const char *full = neo_inst_full(in, name->text);
    neo_val v =
        k < r->n ? last_of(in, r, k, full) : stack(in, &r->collect.at[k - r->n], count, full);
    neo_define_bind(in, name, v, r->base);
  }
}

/* ---- arms */

bool neo_arm_matches(const neo_ast_arm *a, neo_lit x) {
  const neo_ast_expr *e = a->label;
  if (a->kind == NEO_AST_LABEL_ELSE)
    return true;
  if (a->kind == NEO_AST_LABEL_BOOL)
    return x.kind == NEO_LIT_BOOL && (x.i != 0) == e->u.boolean;
  bool minus = e->kind == NEO_AST_UNARY;
  if (minus)
    e = e->u.unary.x;
  double y = minus ? -e->u.number.value : e->u.number.value;
  return x.kind != NEO_LIT_BOOL && x.f == y;
}

void neo_arm_bind(neo_inst *in, const neo_ast_stmt *s, const neo_ast_arm *a, const neo_scope *own) {
  for (uint32_t k = 0; k <= s->u.define.more.n; k++) {
    const neo_ast_name *name = neo_define_target(s, k);
    neo_sym *found = neo_scope_own(own, name->text);
    if (!found)
      NEO_ERR(in, a->span, RESULT_UNDEFINED, name->text);
    bool value = found && found->kind == NEO_SYM_VALUE;
    neo_define_bind(in, name, value ? found->value : neo_val_poison(),
                    value ? found->prefix : NULL);
  }
}
