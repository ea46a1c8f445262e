/* See text_names.h. The file's own names are collected first, since a text may read a name that it
 * defines later. Then each statement is visited once; the names that are bound around an expression
 * (indices, carries, definitions of a block) are on a stack. */
#include "frontend/text_names.h"
#include "base/map.h"
#include "frontend/sema/parts.h"

enum { KNOWN = UINT32_MAX }; /* number for a declared name */

typedef struct {
  neo_arena *arena;
  neo_text_names *out;
  neo_map top;     /* name -> number of its definition + 1, or KNOWN */
  neo_map read_at; /* name -> number of its read + 1 */
  NEO_VEC(const char *) bound;
  const char *defines; /* the name that the present statement defines; NULL: none */
  bool elements;       /* bare names are scalars here */
  bool size;           /* the expression is an extent or a bound, whose names are sizes */
  bool subscript;      /* the expression is a whole subscript */
} walker;

static void walk(void *ctx, const neo_ast_expr *e);
static void walk_stmts(walker *w, const neo_ast_stmts *stmts);

static uint64_t key_of(const char *name) {
  return (uint64_t)(uintptr_t)name;
}

/* ---- the file's own names */

static void declare(walker *w, const char *word, const char *name) {
  NEO_PUSH(w->arena, &w->out->declares, neo_arena_printf(w->arena, "%s %s", word, name));
}

static void declare_name(walker *w, const char *word, const neo_ast_name *name) {
  if (!name->text)
    return;
  declare(w, word, name->text);
  neo_map_set(&w->top, key_of(name->text), KNOWN);
}

static int rank_of(const neo_ast_var *v) {
  for (uint32_t k = 0; k < v->axes.n; k++)
    if (v->axes.at[k].kind == NEO_AST_PACK)
      return NEO_RANK_UNKNOWN;
  return v->indexed ? (int)v->axes.n : NEO_RANK_UNKNOWN;
}

/* The function of the language that is called; null: one of the text or of a module. */
static const neo_builtin *builtin_of(const walker *w, const neo_ast_path *path) {
  const char *name = path->n == 1 ? path->at[0].text : NULL;
  return name && !neo_map_get(&w->top, key_of(name), NULL) ? neo_builtin_find(name) : NULL;
}

/* Conversions take whole tensors as well: y = bf16(X). */
static bool takes_elements(const walker *w, const neo_ast_expr *call) {
  const neo_builtin *row = builtin_of(w, &call->u.ref.path);
  return row && row->op != NEO_OP_CAST;
}

/* Whether the expression is an element: anything but a name, a call or a slice by itself. Operators
 * apply to elements. */
static bool is_element(const walker *w, const neo_ast_expr *e) {
  if (!e || e->kind != NEO_AST_REF)
    return e != NULL;
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (!e->u.ref.subs.at[k].expr)
      return false;
  return e->u.ref.has_subs || (e->u.ref.has_args && takes_elements(w, e));
}

/* A name without brackets is a scalar where its value is an element. */
static int defined_rank(const walker *w, const neo_ast_stmt *s) {
  const neo_ast_var *target = &s->u.define.target;
  bool scalar = !target->indexed && !s->u.define.region && is_element(w, s->u.define.value);
  return scalar && !s->u.define.more.n ? 0 : rank_of(target);
}

/* A definition of pieces is one. */
static void define(walker *w, const neo_ast_name *name, int rank) {
  if (!name->text || neo_map_get(&w->top, key_of(name->text), NULL))
    return;
  NEO_PUSH(w->arena, &w->out->definitions, (neo_name_definition){name->text, rank, false});
  neo_map_set(&w->top, key_of(name->text), w->out->definitions.n);
}

static void note_imports(walker *w, const neo_ast_stmt *s) {
  for (uint32_t k = 0; k < s->u.import.aliases.n; k++) {
    const neo_ast_alias *a = &s->u.import.aliases.at[k];
    declare_name(w, "import", a->alias.text ? &a->alias : &a->module);
  }
}

static void note_declared(walker *w, const neo_ast_stmt *s) {
  const char *word = neo_ast_stmt_word(s->kind);
  switch (s->kind) {
  case NEO_AST_IMPORT:
    note_imports(w, s);
    break;
  case NEO_AST_DIM:
    declare_name(w, word, &s->u.dim.name);
    break;
  case NEO_AST_INPUT:
  case NEO_AST_PARAM:
  case NEO_AST_STATE:
  case NEO_AST_CONST:
    declare_name(w, word, &s->u.decl.var.name);
    break;
  case NEO_AST_FN:
  case NEO_AST_OPTIMIZER:
  case NEO_AST_VERTEX:
    declare_name(w, word, &s->u.fn.sig.name);
    break;
  case NEO_AST_GRAPH:
    declare_name(w, word, &s->u.graph.name);
    break;
  case NEO_AST_OUTPUT:
    declare(w, word, s->u.output.entry.text ? s->u.output.entry.text : "forward");
    break;
  case NEO_AST_TRAIN:
    declare(w, word, s->u.train.entry.text ? s->u.train.entry.text : "step");
    break;
  default:
    break;
  }
}

static void note_defined(walker *w, const neo_ast_stmt *s) {
  if (s->kind != NEO_AST_DEFINE)
    return;
  define(w, &s->u.define.target.name, defined_rank(w, s));
  for (uint32_t k = 0; k < s->u.define.more.n; k++)
    define(w, &s->u.define.more.at[k], NEO_RANK_UNKNOWN);
}

/* ---- reading */

static bool is_bound(const walker *w, const char *name) {
  for (size_t k = w->bound.n; k-- > 0;)
    if (w->bound.at[k] == name)
      return true;
  return false;
}

static bool is_builtin(const char *name) {
  const char *known;
  for (uint32_t k = 0; (known = neo_builtin_name(k)) != NULL; k++)
    if (neo_streq(known, name))
      return true;
  return false;
}

static const char *path_text(walker *w, const neo_ast_path *p) {
  neo_str s = neo_str_in(w->arena);
  for (uint32_t k = 0; k < p->n; k++)
    neo_str_addf(&s, "%s%s", k ? "." : "", p->at[k].text);
  return neo_str_text(&s);
}

static int read_rank(const walker *w, const neo_ast_expr *e) {
  if (!e->u.ref.has_subs)
    return w->elements && !e->u.ref.has_args ? 0 : NEO_RANK_UNKNOWN;
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (!e->u.ref.subs.at[k].expr)
      return NEO_RANK_UNKNOWN;
  return e->u.ref.has_args ? NEO_RANK_UNKNOWN : (int)e->u.ref.subs.n;
}

/* Adds a read of a name that the text neither defines nor declares; its properties come from all of
 * its reads. */
static void add_read(walker *w, const char *name, neo_name_read r) {
  uint64_t at = 0;
  if (!neo_map_get(&w->read_at, key_of(name), &at)) {
    NEO_PUSH(w->arena, &w->out->reads, r);
    neo_map_set(&w->read_at, key_of(name), w->out->reads.n);
    return;
  }
  neo_name_read *known = &w->out->reads.at[at - 1];
  known->rank = known->rank == NEO_RANK_UNKNOWN ? r.rank : known->rank;
  known->callable |= r.callable;
  known->size |= r.size;
  known->subscript &= r.subscript;
}

/* The stored text of an equal name: reads of modules that are not imported are identified by their
 * whole names, which are made here. */
static const char *same_text(walker *w, const char *text) {
  for (size_t k = 0; k < w->out->reads.n; k++)
    if (neo_streq(w->out->reads.at[k].name, text))
      return w->out->reads.at[k].name;
  return text;
}

static void read_path(walker *w, const neo_ast_path *p, neo_name_read r) {
  const char *first = p->at[0].text;
  uint64_t known = 0;
  if (!first || is_bound(w, first))
    return;
  if (neo_map_get(&w->top, key_of(first), &known)) {
    if (known != KNOWN && first != w->defines)
      w->out->definitions.at[known - 1].read = true;
    return;
  }
  if (p->n == 1 && is_builtin(first))
    return;
  r.name = p->n == 1 ? first : same_text(w, path_text(w, p));
  add_read(w, r.name, r);
}

static bool is_bare(const neo_ast_expr *e) {
  return e->kind == NEO_AST_REF && !e->u.ref.has_subs && !e->u.ref.has_args;
}

static void walk_subscript(walker *w, const neo_ast_expr *e) {
  w->subscript = e && is_bare(e);
  if (e)
    walk(w, e);
  w->subscript = false;
}

/* The arguments of a function of elements are elements; others may be whole tensors. */
static void walk_ref(walker *w, const neo_ast_expr *e) {
  bool elements = w->elements;
  neo_name_read r = {.rank = read_rank(w, e), .at = e->span, .callable = e->u.ref.has_args};
  r.size = w->size;
  r.subscript = w->subscript;
  w->subscript = false;
  read_path(w, &e->u.ref.path, r);
  w->elements = elements && builtin_of(w, &e->u.ref.path);
  for (uint32_t k = 0; k < e->u.ref.args.n; k++)
    walk(w, e->u.ref.args.at[k].value);
  w->elements = true;
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    walk_subscript(w, e->u.ref.subs.at[k].expr);
  w->elements = elements;
}

static void walk_size(walker *w, const neo_ast_expr *e) {
  bool size = w->size, elements = w->elements;
  w->size = w->elements = true;
  if (e)
    walk(w, e);
  w->size = size;
  w->elements = elements;
}

static void bind(walker *w, const neo_ast_name *name) {
  if (name->text)
    NEO_PUSH(w->arena, &w->bound, name->text);
}

static void bind_axes(walker *w, const neo_ast_axes *axes) {
  for (uint32_t k = 0; k < axes->n; k++) {
    walk_size(w, axes->at[k].lo);
    walk_size(w, axes->at[k].hi);
  }
  for (uint32_t k = 0; k < axes->n; k++)
    bind(w, &axes->at[k].name);
}

static void walk_reduce(walker *w, const neo_ast_expr *e) {
  size_t before = w->bound.n;
  bool elements = w->elements;
  bind_axes(w, &e->u.reduce.axes);
  w->elements = true;
  if (e->u.reduce.where)
    walk(w, e->u.reduce.where);
  walk(w, e->u.reduce.body);
  w->elements = elements;
  w->bound.n = before;
}

static void walk(void *ctx, const neo_ast_expr *e) {
  walker *w = ctx;
  if (e->kind == NEO_AST_REF)
    walk_ref(w, e);
  else if (e->kind == NEO_AST_REDUCE)
    walk_reduce(w, e);
  else
    neo_ast_children(e, walk, w);
}

/* ---- statements */

static void walk_type(walker *w, const neo_ast_type *t) {
  walk_size(w, t->lo);
  walk_size(w, t->bound);
}

/* r[c] = value, where c is bound in the value. */
static void walk_bind(walker *w, const neo_ast_var *v, const neo_ast_expr *value) {
  size_t before = w->bound.n;
  bool elements = w->elements;
  walk_type(w, &v->type);
  bind_axes(w, &v->axes);
  w->elements = v->indexed || is_element(w, value);
  if (value)
    walk(w, value);
  w->elements = elements;
  w->bound.n = before;
}

static void bind_block(walker *w, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n; k++) {
    const neo_ast_stmt *s = stmts->at[k];
    if (s->kind == NEO_AST_DIM)
      bind(w, &s->u.dim.name);
    else if (s->kind == NEO_AST_PARAM || s->kind == NEO_AST_STATE || s->kind == NEO_AST_CONST)
      bind(w, &s->u.decl.var.name);
    else if (s->kind == NEO_AST_DEFINE) {
      bind(w, &s->u.define.target.name);
      for (uint32_t i = 0; i < s->u.define.more.n; i++)
        bind(w, &s->u.define.more.at[i]);
    }
  }
}

static void walk_block(walker *w, const neo_ast_block *b) {
  size_t before = w->bound.n;
  bind_block(w, &b->stmts);
  walk_stmts(w, &b->stmts);
  w->bound.n = before;
}

static void walk_region(walker *w, const neo_ast_region *g) {
  size_t before = w->bound.n;
  walk_size(w, g->extent);
  for (uint32_t k = 0; k < g->from.n; k++)
    walk_bind(w, &g->from.at[k].var, g->from.at[k].value);
  bind(w, &g->index);
  for (uint32_t k = 0; k < g->from.n; k++)
    bind(w, &g->from.at[k].var.name);
  if (g->cond)
    walk(w, g->cond);
  walk_block(w, &g->block);
  for (uint32_t k = 0; k < g->arms.n; k++)
    walk_block(w, &g->arms.at[k].block);
  w->bound.n = before;
}

static void walk_define(walker *w, const neo_ast_stmt *s) {
  const neo_ast_var *target = &s->u.define.target;
  size_t before = w->bound.n;
  if (!s->u.define.region) {
    walk_bind(w, target, s->u.define.value);
    return;
  }
  walk_type(w, &target->type);
  bind_axes(w, &target->axes);
  walk_region(w, s->u.define.region);
  w->bound.n = before;
}

static void walk_paths(walker *w, const neo_ast_paths *paths) {
  for (uint32_t k = 0; k < paths->n; k++)
    read_path(w, &paths->at[k], (neo_name_read){.rank = NEO_RANK_UNKNOWN, .at = paths->at[k].span});
}

static void walk_names(walker *w, neo_ast_names *names) {
  for (uint32_t k = 0; k < names->n; k++) {
    neo_ast_path p = {&names->at[k], 1, names->at[k].span};
    read_path(w, &p, (neo_name_read){.rank = NEO_RANK_UNKNOWN, .at = p.span});
  }
}

static void walk_train(walker *w, const neo_ast_stmt *s) {
  neo_ast_paths loss = {(neo_ast_path *)(uintptr_t)&s->u.train.loss, 1};
  walk_paths(w, &loss);
  for (uint32_t k = 0; k < s->u.train.args.n; k++)
    walk(w, s->u.train.args.at[k].value);
  if (s->u.train.every)
    walk(w, s->u.train.every);
  if (s->u.train.of)
    walk(w, s->u.train.of);
}

static void walk_stmt(walker *w, neo_ast_stmt *s) {
  switch (s->kind) {
  case NEO_AST_DIM:
    walk_size(w, s->u.dim.lo);
    walk_size(w, s->u.dim.hi);
    break;
  case NEO_AST_ASSERT:
    walk_size(w, s->u.expr);
    break;
  case NEO_AST_INPUT:
  case NEO_AST_PARAM:
  case NEO_AST_STATE:
  case NEO_AST_CONST:
    walk_bind(w, &s->u.decl.var, s->u.decl.value);
    break;
  case NEO_AST_DEFINE:
    walk_define(w, s);
    break;
  case NEO_AST_NEXT:
  case NEO_AST_UPDATE:
  case NEO_AST_SCATTER:
  case NEO_AST_GATHER:
    for (uint32_t k = 0; k < s->u.binds.n; k++)
      walk_bind(w, &s->u.binds.at[k].var, s->u.binds.at[k].value);
    break;
  case NEO_AST_COLLECT:
  case NEO_AST_PUSH:
    walk_names(w, &s->u.names);
    break;
  case NEO_AST_OUTPUT:
    walk_paths(w, &s->u.output.tensors);
    walk_paths(w, &s->u.output.updates);
    break;
  case NEO_AST_TRAIN:
    walk_train(w, s);
    break;
  default: /* functions see no names of the text around them */
    break;
  }
}

static void walk_stmts(walker *w, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n; k++)
    walk_stmt(w, stmts->at[k]);
}

static void walk_top(walker *w, neo_ast_stmt *s) {
  bool one = s->kind == NEO_AST_DEFINE && !s->u.define.more.n;
  w->defines = one ? s->u.define.target.name.text : NULL;
  walk_stmt(w, s);
}

neo_text_names *neo_text_names_of(neo_arena *a, const neo_ast_file *file) {
  walker w = {.arena = a, .out = NEO_NEW(a, neo_text_names), .top = neo_map_in(a)};
  neo_map_init(&w.read_at, a);
  for (uint32_t k = 0; k < file->stmts.n; k++)
    note_declared(&w, file->stmts.at[k]);
  for (uint32_t k = 0; k < file->stmts.n; k++)
    note_defined(&w, file->stmts.at[k]);
  for (uint32_t k = 0; k < file->stmts.n; k++)
    walk_top(&w, file->stmts.at[k]);
  return w.out;
}
