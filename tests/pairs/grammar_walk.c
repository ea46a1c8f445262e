/* Options of statements and blocks; what names mean. */
#include "frontend/syntax/parser.h"
#include "tests/pairs/grammar_walk.h"
#include <string.h>

void pw_note(pw_walk *w, pairs_cross c, pairs_option row, pairs_option column) {
  pairs_grammar_note(w->g, c, row, column);
}

void pw_rule(pw_walk *w, pairs_option rule) {
  pw_note(w, PAIRS_CROSS_RULE, rule, PAIRS_ONE_ONE);
}

void pw_trait(pw_walk *w, pairs_option trait) {
  for (uint32_t k = 0; k < w->n_regions; k++)
    pw_note(w, PAIRS_CROSS_TRAIT, trait, w->region[k]);
}

pw_name *pw_find(pw_walk *w, const char *name) {
  for (size_t k = w->names.n; k-- > 0;)
    if (strcmp(w->names.at[k].name, name) == 0)
      return &w->names.at[k];
  return NULL;
}

pw_name *pw_add(pw_walk *w, const char *name, pw_kind is) {
  NEO_PUSH(w->a, &w->names,
           (pw_name){.name = name, .is = is, .type = NEO_TYPE_COUNT, .low = PAIRS_LOW_NONE});
  return &w->names.at[w->names.n - 1];
}

/* ---- declarations */

static void bound(pw_walk *w, const neo_ast_type *t, pairs_option role) {
  if (t->rel == NEO_AST_REL_NONE && t->lo_rel == NEO_AST_REL_NONE)
    return;
  if (t->lo)
    pw_note(w, PAIRS_CROSS_BOUND, PAIRS_BOUND_LOW, role);
  if (!t->bound)
    return;
  pw_parts p = pw_parts_of(w, t->bound);
  bool up_to = t->rel == NEO_AST_REL_LE;
  if (up_to)
    pw_note(w, PAIRS_CROSS_BOUND, PAIRS_BOUND_UP_TO, role);
  pw_note(w, PAIRS_CROSS_BOUND,
          p.indices ? PAIRS_BOUND_INDEX
          : p.sizes ? PAIRS_BOUND_SIZE
                    : PAIRS_BOUND_CONSTANT,
          role);
}

/* The indices of a declaration or of a left side come into scope. */
static void axes(pw_walk *w, const neo_ast_axes *x, bool left) {
  for (uint32_t k = 0; k < x->n; k++) {
    const neo_ast_axis *a = &x->at[k];
    if (a->kind == NEO_AST_PACK && left)
      pw_rule(w, PAIRS_RULE_PACK_LEFT);
    if (a->kind == NEO_AST_INDEX && left && a->hi_rel == NEO_AST_REL_LE)
      pw_rule(w, PAIRS_RULE_LEFT_UP_TO);
    if (a->kind == NEO_AST_INDEX && left && !a->hi)
      pw_rule(w, PAIRS_RULE_LEFT_NONE);
    if (a->kind == NEO_AST_INDEX)
      pw_axis(w, a, PAIRS_LOW_NONE);
  }
}

static pairs_option position_of(neo_type t) {
  return t == NEO_BOOL_T                                                         ? PAIRS_POSITION_CONDITION
         : t == NEO_I64_T || t == NEO_I32_T || t == NEO_I8_T || t == NEO_U8_T ? PAIRS_POSITION_INTEGER
                                                                                 : PAIRS_POSITION_FLOAT;
}

static pw_name declared(pw_walk *w, const neo_ast_var *v, pairs_option role) {
  pw_name n = {.name = v->name.text,
               .is = PW_TENSOR,
               .role = role,
               .type = v->type.given ? v->type.type : NEO_TYPE_COUNT,
               .scalar = !v->indexed,
               .bounded = v->type.rel != NEO_AST_REL_NONE,
               .low = PAIRS_LOW_NONE};
  if (v->type.given)
    pw_note(w, PAIRS_CROSS_TYPE, PAIRS_OPTION_TYPE + v->type.type, role);
  return n;
}

static bool is_literal(const neo_ast_expr *e) {
  bool converts = e->kind == NEO_AST_REF && e->u.ref.has_args && e->u.ref.args.n == 1;
  if (e->kind == NEO_AST_UNARY)
    return is_literal(e->u.unary.x);
  return e->kind == NEO_AST_NUMBER || (converts && is_literal(e->u.ref.args.at[0].value));
}

/* "y[i] : f32 = value"; null: it has none. */
static void bind(pw_walk *w, const neo_ast_var *v, const neo_ast_expr *value, pairs_option role,
                 bool left) {
  size_t n = w->names.n;
  pw_name t = declared(w, v, role);
  const char *self = w->self;
  uint64_t through = w->through;
  axes(w, &v->axes, left);
  bound(w, &v->type, role);
  w->through = 0;
  w->self = role == PAIRS_ROLE_DEFINITION ? v->name.text : NULL;
  if (value)
    pw_in(w, position_of(t.type), value);
  t.through = w->through;
  t.recurs = w->through >> (PAIRS_THROUGH_SELF - PAIRS_THROUGH_BELOW) & 1 && w->self;
  t.constant = role == PAIRS_ROLE_DEFINITION && v->indexed && value && is_literal(value);
  t.below = value && value->kind == NEO_AST_REDUCE && value->u.reduce.axes.at[0].lo;
  w->through |= through;
  w->self = self;
  w->names.n = n;
  if (t.constant)
    pw_rule(w, PAIRS_RULE_CONSTANT_TENSOR);
  NEO_PUSH(w->a, &w->names, t);
}

static void input(pw_walk *w, const neo_ast_stmt *s) {
  const neo_ast_var *v = &s->u.decl.var;
  bind(w, v, s->u.decl.value, PAIRS_ROLE_INPUT, false);
  if (s->u.decl.value)
    pw_rule(w, v->type.bound ? PAIRS_RULE_BOUNDED_DEFAULT : PAIRS_RULE_SCALAR_DEFAULT);
}

static void constant(pw_walk *w, const neo_ast_stmt *s) {
  const neo_ast_literal *l = s->u.decl.literal;
  bind(w, &s->u.decl.var, s->u.decl.value, PAIRS_ROLE_CONST, false);
  if (!l)
    pw_rule(w, PAIRS_RULE_CONST_VALUE);
  else
    pw_rule(w, l->items.n && !l->items.at[0].number ? PAIRS_RULE_CONST_NESTED
                                                    : PAIRS_RULE_CONST_LIST);
}

static bool is_random(const neo_ast_expr *e) {
  static const char *const of[] = {"uniform", "normal", "glorot", "he"};
  for (uint32_t k = 0; e->kind == NEO_AST_REF && k < sizeof of / sizeof *of; k++)
    if (strcmp(of[k], e->u.ref.path.at[0].text) == 0)
      return true;
  return false;
}

static void kept(pw_walk *w, const neo_ast_stmt *s, pairs_option role) {
  const neo_ast_var *v = &s->u.decl.var;
  bind(w, v, s->u.decl.value, role, false);
  if (s->u.decl.value && is_random(s->u.decl.value))
    pw_rule(w, PAIRS_RULE_INITIAL_RANDOM);
  if (role == PAIRS_ROLE_STATE && v->type.bound)
    pw_rule(w, PAIRS_RULE_STATE_BOUND);
}

static pairs_option extent_of(int64_t n) {
  enum { MANY = 6000 };
  return n <= 0     ? PAIRS_EXTENT_ZERO
         : n == 1   ? PAIRS_EXTENT_ONE
         : n < MANY ? PAIRS_EXTENT_SOME
                    : PAIRS_EXTENT_MANY;
}

static void dim(pw_walk *w, const neo_ast_stmt *s) {
  const char *name = s->u.dim.name.text;
  if (s->u.dim.rel != NEO_AST_REL_NONE) {
    if (s->u.dim.lo)
      pw_rule(w, PAIRS_RULE_DIM_LOW);
    (void)pw_add(w, name, PW_SIZE);
    pw_note(w, PAIRS_CROSS_EXTENT, extent_of(pairs_size_now(w->p, name, 2)), PAIRS_KNOWN_RUNTIME);
    return;
  }
  pw_parts p = pw_parts_of(w, s->u.dim.hi);
  if (s->u.dim.hi->kind != NEO_AST_NUMBER)
    pw_rule(w, PAIRS_RULE_DIM_EXPRESSION);
  if (p.is_number)
    pw_note(w, PAIRS_CROSS_EXTENT, extent_of(p.value), PAIRS_KNOWN_CONSTANT);
  pw_name *n = pw_add(w, name, p.is_number ? PW_CONSTANT : PW_SIZE);
  n->value = p.value;
}

/* ---- regions */

static void statements(pw_walk *w, const neo_ast_block *b, pairs_option place);

static void case_of(pw_walk *w, const neo_ast_region *r) {
  pw_parts p = pw_parts_of(w, r->cond);
  if (p.is_number || (!p.indices && !p.sizes && !p.given && !p.computed))
    pw_rule(w, PAIRS_RULE_CASE_CONSTANT);
  pw_in(w, PAIRS_POSITION_INTEGER, r->cond);
  for (uint32_t k = 0; k < r->arms.n; k++) {
    const neo_ast_arm *arm = &r->arms.at[k];
    if (arm->kind == NEO_AST_LABEL_BOOL)
      pw_rule(w, PAIRS_RULE_LABEL_BOOL);
    if (arm->kind == NEO_AST_LABEL_NUMBER)
      pw_rule(w, arm->label->kind == NEO_AST_UNARY ? PAIRS_RULE_LABEL_NEGATIVE
                                                   : PAIRS_RULE_LABEL_NUMBER);
    statements(w, &arm->block, PAIRS_PLACE_CASE);
  }
}

/* Next values of the block that read with an else. */
static uint32_t guarded_carries(pw_walk *w, const neo_ast_block *b) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < b->stmts.n; k++)
    for (uint32_t i = 0; b->stmts.at[k]->kind == NEO_AST_NEXT && i < b->stmts.at[k]->u.binds.n; i++)
      n += pw_parts_of(w, b->stmts.at[k]->u.binds.at[i].value).guards > 0;
  return n;
}

static uint32_t next_values(const neo_ast_block *b) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < b->stmts.n; k++)
    n += b->stmts.at[k]->kind == NEO_AST_NEXT ? b->stmts.at[k]->u.binds.n : 0;
  return n;
}

static void collected(pw_walk *w, const neo_ast_block *b) {
  for (uint32_t k = 0; k < b->stmts.n; k++)
    for (uint32_t i = 0; b->stmts.at[k]->kind == NEO_AST_COLLECT && i < b->stmts.at[k]->u.names.n;
         i++) {
      const pw_name *n = pw_find(w, b->stmts.at[k]->u.names.at[i].text);
      pw_trait(w, PAIRS_TRAIT_COLLECT);
      if (n && n->bounded)
        pw_rule(w, PAIRS_RULE_COLLECT_BOUNDED);
    }
}

static void rounds(pw_walk *w, const neo_ast_region *r) {
  static const pairs_option place[] = {PAIRS_PLACE_SCAN, PAIRS_PLACE_REPEAT, PAIRS_PLACE_WHILE};
  size_t n = w->names.n;
  pw_parts extent = pw_parts_of(w, r->extent);
  if (extent.sizes)
    pw_trait(w, PAIRS_TRAIT_SIZED);
  if (!r->from.n)
    pw_rule(w, PAIRS_RULE_REPEAT_ALONE);
  for (uint32_t k = 0; k < r->from.n; k++) {
    const neo_ast_bind *b = &r->from.at[k];
    bind(w, &b->var, b->value, PAIRS_ROLE_CARRY, true);
    pw_name *carry = &w->names.at[w->names.n - 1];
    bool reads = b->value && b->value->kind == NEO_AST_REF;
    const pw_name *first = reads ? pw_find(w, b->value->u.ref.path.at[0].text) : NULL;
    carry->bounded = carry->bounded || (first && first->bounded);
    if (carry->bounded)
      pw_trait(w, PAIRS_TRAIT_BOUNDED);
  }
  pw_trait(w, r->from.n > 1 ? PAIRS_TRAIT_SEVERAL : PAIRS_TRAIT_ONE);
  if (r->from.n && next_values(&r->block) < r->from.n)
    pw_trait(w, PAIRS_TRAIT_KEPT);
  if (guarded_carries(w, &r->block) > 1)
    pw_trait(w, PAIRS_TRAIT_TWO_GUARDS);
  if (r->index.text)
    pw_add(w, r->index.text, PW_INDEX)->range = "rounds";
  if (r->cond)
    pw_in(w, PAIRS_POSITION_CONDITION, r->cond);
  collected(w, &r->block);
  statements(w, &r->block, place[r->kind]);
  w->names.n = n;
}

static uint64_t region(pw_walk *w, const neo_ast_region *r) {
  static const pairs_option kinds[] = {PAIRS_REGION_SCAN, PAIRS_REGION_REPEAT, PAIRS_REGION_WHILE,
                                       PAIRS_REGION_CASE};
  static const pairs_option ways[] = {PAIRS_THROUGH_SCAN, PAIRS_THROUGH_REPEAT, PAIRS_THROUGH_WHILE,
                                      PAIRS_THROUGH_CASE};
  pairs_option kind = r->down ? PAIRS_REGION_DOWN : kinds[r->kind];
  uint64_t before = w->through;
  pw_note(w, PAIRS_CROSS_REGION, kind, w->place);
  pw_trait(w, PAIRS_TRAIT_NESTED);
  if (w->n_regions < PW_MOST_REGIONS)
    w->region[w->n_regions++] = kind;
  w->through = (uint64_t)1 << (ways[r->kind] - PAIRS_THROUGH_BELOW);
  if (r->kind == NEO_AST_CASE) {
    pw_trait(w, r->arms.n > 2 ? PAIRS_TRAIT_SEVERAL : PAIRS_TRAIT_ONE);
    case_of(w, r);
  } else {
    rounds(w, r);
  }
  w->n_regions--;
  uint64_t through = w->through;
  w->through |= before;
  return through;
}

/* ---- definitions, functions */

static void define(pw_walk *w, const neo_ast_stmt *s) {
  const neo_ast_var *v = &s->u.define.target;
  const neo_ast_expr *e = s->u.define.value;
  bool whole = e && e->kind == NEO_AST_REF && !v->indexed;
  uint64_t through = 0;
  if (whole && neo_ast_is_bare(e) && pw_find(w, e->u.ref.path.at[0].text))
    pw_rule(w, PAIRS_RULE_WHOLE);
  if (s->u.define.region)
    through = region(w, s->u.define.region);
  if (s->u.define.more.n && e)
    pw_rule(w, PAIRS_RULE_RESULTS);
  bind(w, v, e, PAIRS_ROLE_DEFINITION, true);
  pw_name first = w->names.at[w->names.n - 1];
  bool result = s->u.define.region || (whole && e->u.ref.has_args &&
                                       strcmp(e->u.ref.path.at[0].text, "grad") != 0);
  w->names.at[w->names.n - 1].through |= through;
  w->names.at[w->names.n - 1].result = result;
  for (uint32_t k = 0; k < s->u.define.more.n; k++) {
    if (strcmp(s->u.define.more.at[k].text, "_") == 0)
      pw_rule(w, PAIRS_RULE_UNUSED);
    pw_name *n = pw_add(w, s->u.define.more.at[k].text, PW_TENSOR);
    n->role = PAIRS_ROLE_DEFINITION;
    n->through = first.through | through;
    n->result = result;
  }
}

static void function(pw_walk *w, const neo_ast_stmt *s) {
  size_t n = w->names.n;
  uint64_t through = w->through;
  const neo_ast_sig *sig = &s->u.fn.sig;
  for (uint32_t k = 0; k < sig->params.n; k++)
    bind(w, &sig->params.at[k], NULL, PAIRS_ROLE_ARGUMENT, false);
  if (sig->options.n)
    pw_rule(w, PAIRS_RULE_OPTIONS);
  statements(w, &s->u.fn.block,
             s->kind == NEO_AST_VERTEX      ? PAIRS_PLACE_VERTEX
             : s->kind == NEO_AST_OPTIMIZER ? PAIRS_PLACE_OPTIMIZER
                                            : PAIRS_PLACE_FN);
  if (s->u.fn.has_grad)
    statements(w, &s->u.fn.grad_block, PAIRS_PLACE_GRAD);
  w->names.n = n;
  pw_name *f = pw_add(w, sig->name.text, PW_FUNCTION);
  f->through = w->through;
  w->through = through;
}

static void binds(pw_walk *w, const neo_ast_stmt *s) {
  bool gathers = s->kind == NEO_AST_GATHER;
  if (s->kind == NEO_AST_UPDATE && s->u.binds.n > 1)
    pw_rule(w, PAIRS_RULE_UPDATES);
  for (uint32_t k = 0; k < s->u.binds.n; k++) {
    const neo_ast_bind *b = &s->u.binds.at[k];
    size_t n = w->names.n;
    if (gathers) {
      bind(w, &b->var, b->value, PAIRS_ROLE_GATHER, false);
      continue;
    }
    const pw_name *known = pw_find(w, b->var.name.text);
    neo_type type = known ? known->type : NEO_TYPE_COUNT;
    axes(w, &b->var.axes, true);
    pw_in(w, position_of(type), b->value);
    w->names.n = n;
  }
}

static void train(pw_walk *w, const neo_ast_stmt *s) {
  if (s->u.train.entry.text)
    pw_rule(w, PAIRS_RULE_TRAIN_NAME);
  if (s->u.train.patterns.n)
    pw_rule(w, s->u.train.except ? PAIRS_RULE_TRAIN_EXCEPT : PAIRS_RULE_TRAIN_OVER);
}

static void statement(pw_walk *w, const neo_ast_stmt *s) {
  pw_note(w, PAIRS_CROSS_STATEMENT, PAIRS_OPTION_STATEMENT + s->kind, w->place);
  switch (s->kind) {
  case NEO_AST_DIM:
    dim(w, s);
    break;
  case NEO_AST_ASSERT:
    pw_rule(w, PAIRS_RULE_ASSERT);
    break;
  case NEO_AST_INPUT:
    input(w, s);
    break;
  case NEO_AST_CONST:
    constant(w, s);
    break;
  case NEO_AST_PARAM:
    kept(w, s, PAIRS_ROLE_PARAM);
    break;
  case NEO_AST_STATE:
    kept(w, s, PAIRS_ROLE_STATE);
    break;
  case NEO_AST_DEFINE:
    define(w, s);
    break;
  case NEO_AST_NEXT:
  case NEO_AST_UPDATE:
  case NEO_AST_SCATTER:
  case NEO_AST_GATHER:
    binds(w, s);
    break;
  case NEO_AST_FN:
  case NEO_AST_OPTIMIZER:
  case NEO_AST_VERTEX:
    function(w, s);
    break;
  case NEO_AST_GRAPH:
    (void)pw_add(w, s->u.graph.name.text, PW_GRAPH);
    break;
  case NEO_AST_OUTPUT:
    if (s->u.output.entry.text)
      pw_rule(w, PAIRS_RULE_OUTPUT_NAME);
    if (s->u.output.updates.n)
      pw_rule(w, PAIRS_RULE_OUTPUT_UPDATE);
    break;
  case NEO_AST_TRAIN:
    train(w, s);
    break;
  default:
    break;
  }
}

static void statements(pw_walk *w, const neo_ast_block *b, pairs_option place) {
  pairs_option before = w->place;
  size_t n = w->names.n;
  w->place = place;
  for (uint32_t k = 0; k < b->stmts.n; k++)
    statement(w, b->stmts.at[k]);
  w->place = before;
  w->names.n = n;
}

void pairs_grammar_add(pairs_grammar *g, neo_arena *a, const pairs_program *p) {
  neo_str text;
  pw_walk w = {.g = g,
               .a = a,
               .p = p,
               .place = PAIRS_PLACE_TOP,
               .position = PAIRS_POSITION_FLOAT,
               .low = PAIRS_LOW_NONE,
               .guard = PAIRS_GUARD_PLAIN};
  neo_str_init(&text, a);
  pairs_text(p, &text);
  const char *s = neo_str_text(&text);
  neo_ast_file *f = neo_parse(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)), "drawn",
                              s, strlen(s));
  g->programs++;
  g->broken += f->had_errors;
  neo_ast_block all = {.stmts = f->stmts};
  statements(&w, &all, PAIRS_PLACE_TOP);
}
