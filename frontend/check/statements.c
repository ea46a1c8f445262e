/* Statements of a file, a function, a block; and regions, which contain statements: repeat,
 * unrolled unless it is large; scan and while, checked once for all iterations; case, with one arm
 * or a selection from all arms. */
#include "frontend/check/check.h"
#include "frontend/sema/branches.h"
#include "frontend/sema/loops.h"
#include "frontend/sema/vertices.h"

/* ---- repeat */

static void next_one(neo_inst *in, const neo_ast_bind *b) {
  struct neo_iterations *r = in->iterations;
  int k = neo_iterations_carry(r, b->var.name.text);
  if (k < 0 || r->is_next[k]) {
    NEO_ERR(in, b->var.name.span, NEXT_TARGET, b->var.name.text,
            k < 0 ? "no carry" : "given twice");
    r->failed = true;
    return;
  }
  const char *full =
      r->last && r->target[k] ? r->target[k] : neo_fe_join(in->fe, in->prefix, r->name[k]);
  if (r->loops)
    full = neo_fe_join(in->fe, full, "next");
  r->is_next[k] = true;
  r->where[k] = b->span;
  r->next[k] = neo_define_any(in, &b->var, b->value, full, NEO_DEFINE_NEXT, &r->prefix[k]);
}

static void check_next(neo_inst *in, const neo_ast_stmt *s) {
  if (!neo_iterations_here(in, s))
    return;
  for (uint32_t k = 0; k < s->u.binds.n; k++)
    next_one(in, &s->u.binds.at[k]);
}

static void start_carries(neo_inst *in, struct neo_iterations *r) {
  const neo_ast_binds *from = &r->s->u.define.region->from;
  for (uint32_t k = 0; k < from->n; k++) {
    const neo_ast_bind *b = &from->at[k];
    const char *full = neo_fe_join(in->fe, r->base, b->var.name.text);
    if (r->loops)
      full = neo_fe_join(in->fe, full, "first");
    r->name[k] = b->var.name.text;
    r->now[k] = neo_define_any(in, &b->var, b->value, full, NEO_DEFINE_FIRST, &r->prefix[k]);
    if (r->now[k].kind == NEO_VAL_POISON)
      r->failed = true;
  }
}

static void run_iterations(neo_inst *in, struct neo_iterations *r, int64_t count) {
  const neo_ast_region *g = r->s->u.define.region;
  uint32_t region = neo_iterations_number(in, r->s);
  for (int64_t l = 0; l < count && !r->failed; l++) {
    if (!neo_fe_spend(in->fe, in, g->word)) {
      r->failed = true;
      return;
    }
    r->last = l + 1 == count;
    neo_inst *x = neo_iteration_enter(in, r, r->base, region, l, count);
    neo_check_stmts(x, &g->block.stmts);
    neo_iteration_leave(in, r, (size_t)l + 1);
  }
}

/* ---- scan, while */

/* A frame without indices, for an expression that is not part of a definition; its reducers become
 * definitions. NULL after a report. */
static neo_frame *alone(neo_inst *in, const neo_ast_expr *e, const char *target) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_wants none = {0};
  neo_frame_init(f, in, target);
  f->must_hoist++;
  if (!neo_ranges_pack(f, NULL, e, e->span))
    return NULL;
  neo_ranges_infer(f, &none, e);
  return f;
}

static bool test_loop(neo_loop *l) {
  const neo_ast_expr *cond = l->r.s->u.define.region->cond;
  if (!cond)
    return true;
  neo_frame *f = neo_loop_test_is_early(l) ? alone(l->body, cond, l->prefix) : NULL;
  neo_expr c = f ? neo_check_condition(f, cond) : (neo_expr){0};
  return c.i && neo_loop_test(l, f, c);
}

static bool run_loop(neo_loop *l) {
  start_carries(l->in, &l->r);
  if (l->r.failed || !neo_loop_enter(l) || !test_loop(l))
    return false;
  neo_check_stmts(l->body, &l->r.s->u.define.region->block.stmts);
  return neo_loop_leave(l) && neo_recur_check(l->in, l->stack, l->r.n);
}

static bool has_carries(neo_inst *in, const neo_ast_region *g) {
  if (g->from.n)
    return true;
  const char *word = g->kind == NEO_AST_SCAN ? "scan" : "while";
  int h = NEO_ERR(in, g->word, CARRY_COUNT, word);
  if (g->index.text)
    neo_diag_help(
        in->fe->diags, h,
        "begin one with 'from h = ...', or write a definition over the index: y[%s < ...] = ...",
        g->index.text);
  return false;
}

static void check_loop(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_region *g = s->u.define.region;
  neo_expr count = neo_size_eval(in, g->extent);
  neo_loop *l = has_carries(in, g) && count.i ? neo_loop_new(in, s, count) : NULL;
  if (l && run_loop(l))
    neo_loop_bind(l);
  else
    neo_iterations_poison(in, s);
}

static void check_repeat(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_region *g = s->u.define.region;
  struct neo_iterations *r = NEO_NEW(in->fe->arena, struct neo_iterations);
  int64_t count;
  neo_iterations_init(in->fe, r, s);
  bool known = neo_size_int(in, g->extent, &count);
  if (known && in->n_iterations < NEO_MAX_ITERATIONS && neo_repeat_is_loop(in, s, count)) {
    check_loop(in, s);
    return;
  }
  r->base = neo_iterations_base(in, s);
  if (!known) {
    r->failed = true;
  } else if (count < 1 || in->n_iterations == NEO_MAX_ITERATIONS) {
    NEO_ERR(in, g->extent->span, REPEAT_COUNT, (long long)count, NEO_MAX_ITERATIONS);
    r->failed = true;
  }
  for (uint32_t k = 0; k < r->n && k <= s->u.define.more.n && !r->failed; k++)
    r->target[k] = neo_inst_full(in, neo_define_target(s, k)->text);
  if (!r->failed)
    start_carries(in, r);
  if (!r->failed)
    run_iterations(in, r, count);
  if (r->failed)
    neo_iterations_poison(in, s);
  else
    neo_iterations_bind(in, r, count);
}

/* ---- case */

/* The value that the case selects by; a literal if it is known at compile time. */
static neo_val case_value(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_expr *e = s->u.define.region->cond;
  const char *target = neo_inst_full(in, s->u.define.target.name.text);
  neo_frame *f = alone(in, e, target);
  return f ? neo_val_known(f, neo_check_expr(f, e)) : neo_val_poison();
}

static void run_arm(neo_inst *in, const neo_ast_stmt *s, const neo_ast_arm *a) {
  neo_scope *outer = in->scope, *own = neo_scope_new(in->fe, outer);
  in->scope = own;
  neo_check_stmts(in, &a->block.stmts);
  in->scope = outer;
  neo_arm_bind(in, s, a, own);
}

static bool run_known(neo_inst *in, const neo_ast_stmt *s, neo_lit x) {
  const neo_ast_region *g = s->u.define.region;
  for (uint32_t k = 0; k < g->arms.n; k++)
    if (neo_arm_matches(&g->arms.at[k], x)) {
      run_arm(in, s, &g->arms.at[k]);
      return true;
    }
  NEO_ERR(in, g->word, CASE_NO_ARM,
          neo_val_text(in->fe, &(neo_val){.kind = NEO_VAL_LIT, .lit = x}));
  return false;
}

/* Names the tensors of a branch `<result>.case<branch>`; the tensor that the case itself defines
 * has the name of the result. */
static void name_branches(neo_inst *in, const neo_ast_stmt *s, uint32_t branch) {
  uint32_t n = s->u.define.more.n + 1;
  const char **name = NEO_NEW_ARRAY(in->fe->arena, const char *, n);
  const char **full = NEO_NEW_ARRAY(in->fe->arena, const char *, n);
  for (uint32_t k = 0; k < n; k++) {
    name[k] = neo_define_target(s, k)->text;
    full[k] = neo_arena_printf(in->fe->arena, "%s.case%d", neo_inst_full(in, name[k]), (int)branch);
  }
  in->n_results = n;
  in->result = name;
  in->result_full = full;
}

/* Checks a branch, which may or may not run, in an instance of its own. Returns the scope with its
 * names. */
static neo_scope *run_branch(neo_inst *in, const neo_ast_stmt *s, uint32_t branch) {
  neo_inst *x = neo_inst_new(in->fe, NULL, in->prefix);
  *x = *in; /* continues the numbering of calls */
  x->scope = neo_scope_new(in->fe, in->scope);
  x->once = "case";
  x->branch = true;
  name_branches(x, s, branch);
  neo_check_stmts(x, &s->u.define.region->arms.at[branch].block.stmts);
  in->prefixes = x->prefixes;
  return x->scope;
}

static bool run_branches(neo_inst *in, const neo_ast_stmt *s, neo_expr value) {
  const neo_ast_region *g = s->u.define.region;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_expr *condition = NEO_NEW_ARRAY(in->fe->arena, neo_expr, g->arms.n + 1);
  neo_scope **scope = NEO_NEW_ARRAY(in->fe->arena, neo_scope *, g->arms.n + 1);
  neo_frame_init(f, in, in->prefix);
  const char *full =
      neo_arena_printf(in->fe->arena, "%s.case", neo_inst_full(in, neo_define_target(s, 0)->text));
  value = neo_branch_value(f, value, full, g->cond->span);
  if (!neo_branch_conditions(f, g, value, condition))
    return false;
  for (uint32_t k = 0; k < g->arms.n; k++)
    scope[k] = run_branch(in, s, k);
  neo_branches_bind(in, s, condition, scope);
  return true;
}

static void check_case(neo_inst *in, const neo_ast_stmt *s) {
  neo_val v = case_value(in, s);
  bool ok = false;
  if (v.kind == NEO_VAL_LIT)
    ok = run_known(in, s, v.lit);
  else if (v.kind == NEO_VAL_EXPR)
    ok = run_branches(in, s, v.e);
  if (!ok)
    neo_iterations_poison(in, s);
}

/* Reports indices or a type written at the target of a loop or a case: its branches, or the values
 * that it starts from and collects, already give extents and type. */
static void check_named_alone(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_var *var = &s->u.define.target;
  if (!var->indexed && !var->type.given)
    return;
  bool arms = s->u.define.region->kind == NEO_AST_CASE;
  int h = NEO_ERR(in, var->span, NEXT_TARGET, var->name.text,
                  "given whole here: its name stands alone");
  neo_diag_help(in->fe->diags, h, "its extents and type are those that it has %s",
                arms ? "in the branches" : "after 'from', or where it is collected");
}

static void check_region(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_region *g = s->u.define.region;
  check_named_alone(in, s);
  if (g->kind != NEO_AST_CASE && !neo_check_carries(in, g)) {
    neo_iterations_poison(in, s);
    return;
  }
  if (!neo_fe_enter(in->fe, in, g->word, NEO_CALL_DEPTH)) {
    neo_iterations_poison(in, s);
    return;
  }
  if (g->kind == NEO_AST_REPEAT)
    check_repeat(in, s);
  else if (g->kind == NEO_AST_CASE)
    check_case(in, s);
  else
    check_loop(in, s);
  neo_fe_leave(in->fe, NEO_CALL_DEPTH);
}

/* ---- statements at the top of a file */

static void misplaced(neo_inst *in, const neo_ast_stmt *s, const char *what, const char *where) {
  NEO_ERR(in, s->word, MISPLACED, what, where);
}

static void at_file(neo_inst *in, const neo_ast_stmt *s) {
  neo_fe *fe = in->fe;
  bool file = !in->scope->parent;
  switch (s->kind) {
  case NEO_AST_FN:
    if (!file)
      misplaced(in, s, "fn", "at the top level of a file");
    break;
  case NEO_AST_OPTIMIZER:
    if (!file)
      misplaced(in, s, "optimizer", "at the top level of a file");
    break;
  case NEO_AST_VERTEX:
    if (!file)
      misplaced(in, s, "vertex", "at the top level of a file");
    break;
  case NEO_AST_OUTPUT:
    if (!file)
      misplaced(in, s, "output", "at the top level of a file");
    else if (in->is_main)
      NEO_PUSH(fe->arena, &fe->outputs, s);
    break;
  case NEO_AST_TRAIN:
    if (!file)
      misplaced(in, s, "train", "at the top level of a file");
    else if (in->is_main)
      NEO_PUSH(fe->arena, &fe->trains, s);
    break;
  default:
    misplaced(in, s, "import", "at the top level of a file"); /* there, modules.c takes it */
  }
}

/* ---- any statement */

static void poison_names(neo_inst *in, const neo_ast_names *names) {
  for (uint32_t k = 0; k < names->n; k++)
    neo_scope_poison(in, &names->at[k]);
}

/* ---- graphs, and statements in vertex functions */

/* The largest numbers of children and edges, and of vertices; false after a report. */
static bool graph_limits(neo_inst *in, const neo_ast_stmt *s, int64_t *most, int64_t *vertices) {
  const neo_ast_edges *edges = &s->u.graph.edges;
  bool ok = neo_size_int(in, s->u.graph.vertices, vertices);
  bool fits = ok && *vertices >= 0 && *vertices <= INT32_MAX;
  for (uint32_t k = 0; k < edges->n; k++) {
    ok = neo_size_int(in, edges->at[k].most, &most[k]) && ok;
    fits = fits && ok && most[k] >= (edges->at[k].lists ? 0 : 1) && most[k] < INT32_MAX;
  }
  if (ok && !fits)
    NEO_ERR(in, s->span, GRAPH_LIMITS, s->u.graph.name.text);
  return ok && fits;
}

static void check_graph(neo_inst *in, const neo_ast_stmt *s) {
  int64_t *most = NEO_NEW_ARRAY(in->fe->arena, int64_t, s->u.graph.edges.n), vertices = 0;
  bool ok = graph_limits(in, s, most, &vertices);
  if (ok && (in->scope->parent || !in->is_main)) {
    NEO_ERR(in, s->span, INPUT_PLACE, s->u.graph.name.text);
    ok = false;
  }
  if (!ok || !neo_graph_declare(in, s, most, vertices))
    neo_scope_poison(in, &s->u.graph.name);
}

/* Whether the gather is along a list of edges. True also after a report. */
static bool gathers_list(neo_inst *in, const neo_ast_bind *b) {
  neo_expr extent[NEO_MAX_AXES];
  const char *name[NEO_MAX_AXES];
  uint32_t n;
  if (!in->vertex->graph->n_lists && b->value)
    return false;
  bool good = neo_extents_eval(in, &b->var.axes, &n, extent, name);
  bool list = good && n && neo_vertex_is_list(in, extent[0]);
  if (good && b->value && !list)
    return false;
  if (good && b->value) {
    NEO_ERR(in, b->span, GATHER_LIST, b->var.name.text,
            "each edge has a child, so there is no value for none");
  } else if (good && !list && in->vertex->graph->child.i) {
    NEO_ERR(in, b->span, GATHER_VALUE, b->var.name.text);
  } else if (good) {
    neo_vertex_gather_list(in, b, extent, n);
    return true;
  }
  in->vertex->failed = true;
  neo_scope_poison(in, &b->var.name);
  return true;
}

static void check_gather(neo_inst *in, const neo_ast_stmt *s) {
  for (uint32_t k = 0; k < s->u.binds.n; k++) {
    const neo_ast_bind *b = &s->u.binds.at[k];
    const char *full =
        neo_fe_join(in->fe, neo_fe_join(in->fe, in->prefix, b->var.name.text), "none");
    if (gathers_list(in, b))
      continue;
    neo_val none = neo_declared_value(in, &b->var, b->value, full);
    neo_vertex_gather(in, b, &none);
  }
}

static void check_scatter(neo_inst *in, const neo_ast_stmt *s) {
  const char *prefix;
  for (uint32_t k = 0; k < s->u.binds.n; k++) {
    const neo_ast_bind *b = &s->u.binds.at[k];
    const char *full =
        neo_fe_join(in->fe, neo_fe_join(in->fe, in->prefix, b->var.name.text), "next");
    neo_vertex_scatter(in, b,
                       neo_define_any(in, &b->var, b->value, full, NEO_DEFINE_STATEMENT, &prefix));
  }
}

static void dynamic(neo_inst *in, const neo_ast_stmt *s) {
  if (s->kind == NEO_AST_GRAPH)
    check_graph(in, s);
  else if (!neo_vertex_here(in, s))
    return;
  else if (s->kind == NEO_AST_GATHER)
    check_gather(in, s);
  else if (s->kind == NEO_AST_SCATTER)
    check_scatter(in, s);
  else
    neo_vertex_push(in, &s->u.names.at[0]);
}

void neo_check_stmt(neo_inst *in, const neo_ast_stmt *s) {
  neo_prover_at(in->fe->prover, s->span);
  switch (s->kind) {
  case NEO_AST_DIM:
  case NEO_AST_ASSERT:
  case NEO_AST_INPUT:
  case NEO_AST_PARAM:
  case NEO_AST_STATE:
  case NEO_AST_CONST:
  case NEO_AST_UPDATE:
    neo_check_declaration(in, s);
    break;
  case NEO_AST_DEFINE:
    if (s->u.define.region)
      check_region(in, s);
    else
      neo_check_define(in, s);
    break;
  case NEO_AST_NEXT:
    check_next(in, s);
    break;
  case NEO_AST_COLLECT:
    neo_check_collect(in, s);
    break;
  case NEO_AST_BROKEN:
    poison_names(in, &s->u.names);
    break;
  case NEO_AST_GRAPH:
  case NEO_AST_SCATTER:
  case NEO_AST_GATHER:
  case NEO_AST_PUSH:
    dynamic(in, s);
    break;
  default:
    at_file(in, s);
  }
}

void neo_check_stmts(neo_inst *in, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n && !in->fe->exhausted; k++)
    neo_check_stmt(in, stmts->at[k]);
}
