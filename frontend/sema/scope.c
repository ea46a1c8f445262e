/* Names: scopes, paths, full names, and the notes and guesses that go with messages about them. */
#include "frontend/sema/parts.h"
#include "frontend/syntax/foreign.h"
#include "frontend/syntax/lexer.h"
#include <ctype.h>
#include <string.h>

/* ---- messages */

int neo_fe_note_calls(const neo_inst *in, int handle) {
  neo_sources *src = neo_diags_sources(in->fe->diags);
  for (uint32_t k = 0; in && in->fn && k < 4; in = in->caller, k++)
    neo_diag_note(in->fe->diags, handle, "in the call of '%s' at %s", in->fn->u.fn.sig.name.text,
                  neo_span_text(src, in->call));
  return handle;
}

void neo_fe_note_place(neo_fe *fe, int handle, const char *what, neo_span at) {
  if (at)
    neo_diag_note(fe->diags, handle, "%s at %s", what,
                  neo_span_text(neo_diags_sources(fe->diags), at));
}

/* ---- scopes */

neo_scope *neo_scope_new(neo_fe *fe, neo_scope *parent) {
  neo_scope *s = NEO_NEW(fe->arena, neo_scope);
  s->parent = parent;
  neo_map_init(&s->map, fe->arena);
  return s;
}

static uint64_t key_of(const char *name) {
  return (uint64_t)(uintptr_t)name;
}

neo_sym *neo_scope_own(const neo_scope *s, const char *name) {
  uint64_t k;
  return neo_map_get(&s->map, key_of(name), &k) ? s->syms.at[k] : NULL;
}

neo_sym *neo_scope_find(const neo_scope *s, const char *name) {
  for (; s; s = s->parent) {
    neo_sym *found = neo_scope_own(s, name);
    if (found)
      return found;
  }
  return NULL;
}

/* The type variable of the function around that a definition would hide; NULL. */
static neo_sym *type_hidden(const neo_scope *s, const neo_sym *sym) {
  neo_sym *outer = sym->kind == NEO_SYM_POISON ? NULL : neo_scope_find(s->parent, sym->name);
  return outer && outer->kind == NEO_SYM_TYPE ? outer : NULL;
}

neo_sym *neo_scope_add(const neo_inst *in, neo_scope *s, neo_sym sym) {
  neo_sym *old = neo_scope_own(s, sym.name);
  old = old ? old : type_hidden(s, &sym);
  bool replaced = old && (old->kind == NEO_SYM_POISON || neo_streq(sym.name, "_"));
  if (replaced) {
    *old = sym;
    return old;
  }
  if (old) {
    int h = NEO_ERR(in, sym.span, NAME_REDEFINED, sym.name);
    neo_fe_note_place(in->fe, h, "it is first defined", old->span);
    return old;
  }
  neo_sym *made = NEO_NEW(in->fe->arena, neo_sym);
  *made = sym;
  neo_map_set(&s->map, key_of(sym.name), s->syms.n);
  NEO_PUSH(in->fe->arena, &s->syms, made);
  return made;
}

void neo_scope_poison(const neo_inst *in, const neo_ast_name *name) {
  if (!name->text || neo_scope_own(in->scope, name->text))
    return;
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_POISON, .name = name->text, .span = name->span});
}

/* ---- full names */

const char *neo_fe_join(neo_fe *fe, const char *prefix, const char *name) {
  if (!prefix[0])
    return neo_fe_intern(fe, name);
  return neo_fe_intern(fe, neo_arena_printf(fe->arena, "%s.%s", prefix, name));
}

/* A unique name: `name` itself, or name2, name3 … if the map contains it, but none that the program
 * writes. The map stores the last number used. */
static const char *unique_in(neo_fe *fe, neo_map *taken, const char *name) {
  const char *full = neo_fe_intern(fe, name);
  uint64_t count = 1;
  if (!neo_map_get(taken, key_of(full), &count)) {
    neo_map_set(taken, key_of(full), 1);
    return full;
  }
  for (uint64_t k = count + 1;; k++) {
    const char *next = neo_fe_intern(fe, neo_arena_printf(fe->arena, "%s%d", name, (int)k));
    if (neo_map_get(taken, key_of(next), NULL) || neo_fe_is_written(fe, next))
      continue;
    neo_map_set(taken, key_of(full), k);
    neo_map_set(taken, key_of(next), 1);
    return next;
  }
}

const char *neo_fe_unique(neo_fe *fe, const char *name) {
  return unique_in(fe, &fe->taken, name);
}

const char *neo_inst_prefix(neo_inst *in, const char *name) {
  return unique_in(in->fe, &in->prefixes, name);
}

neo_inst *neo_inst_new(neo_fe *fe, neo_scope *scope, const char *prefix) {
  neo_inst *in = NEO_NEW(fe->arena, neo_inst);
  in->fe = fe;
  in->scope = scope;
  in->prefix = prefix;
  neo_map_init(&in->prefixes, fe->arena);
  return in;
}

const char *neo_inst_full(const neo_inst *in, const char *name) {
  for (uint32_t k = 0; k < in->n_results; k++)
    if (in->result[k] == name && in->result_full[k])
      return in->result_full[k];
  return neo_fe_join(in->fe, in->prefix, name);
}

/* ---- guesses */

typedef struct {
  const char *name, *best;
  int distance;
} guess;

/* Whether two names differ only in capitals and underscores: LayerNorm, layer_norm. */
static bool same_letters(const char *a, const char *b) {
  for (;; a++, b++) {
    a += strspn(a, "_");
    b += strspn(b, "_");
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
      return false;
    if (!*a)
      return true;
  }
}

static void guess_name(guess *g, const char *candidate) {
  int limit = g->distance - 1;
  if (limit < 1 || candidate[0] == '.')
    return;
  int d = same_letters(g->name, candidate) ? 1 : neo_str_distance(g->name, candidate, limit);
  if (d > limit || (d > 1 && (size_t)d * 2 >= strlen(g->name)) || (size_t)d >= strlen(g->name))
    return;
  g->best = candidate;
  g->distance = d;
}

static void guess_scope(guess *g, const neo_scope *s) {
  for (; s; s = s->parent)
    for (size_t k = 0; k < s->syms.n; k++)
      if (s->syms.at[k]->kind != NEO_SYM_POISON)
        guess_name(g, s->syms.at[k]->name);
}

/* The first imported module that defines the name; null: none. */
static const char *module_with(const neo_inst *in, const char *name) {
  for (const neo_scope *s = in->scope; s; s = s->parent)
    for (size_t k = 0; k < s->syms.n; k++)
      if (s->syms.at[k]->kind == NEO_SYM_MODULE && neo_scope_own(s->syms.at[k]->scope, name))
        return s->syms.at[k]->name;
  return NULL;
}

/* Help for a name of other libraries, or of one of the model's modules. */
static bool help_known(neo_inst *in, int h, const char *name) {
  const char *module = module_with(in, name), *help = neo_foreign_help(name);
  if (module)
    neo_diag_help(in->fe->diags, h, "did you mean '%s.%s'?", module, name);
  else if (help)
    neo_diag_help(in->fe->diags, h, "%s", help);
  return module || help;
}

void neo_scope_note_block(neo_fe *fe, const neo_scope *block) {
  NEO_PUSH(fe->arena, &fe->blocks, block);
}

static bool is_within(const neo_scope *block, const neo_scope *s) {
  while (block && block != s)
    block = block->parent;
  return block;
}

/* Help for a name that ended with the block of a loop. */
static bool help_block(neo_inst *in, int h, const char *name) {
  for (size_t k = in->fe->blocks.n; k-- > 0;) {
    const neo_scope *block = in->fe->blocks.at[k];
    const neo_sym *s = neo_scope_own(block, name);
    if (!s || s->kind != NEO_SYM_VALUE || !is_within(block, in->scope))
      continue;
    neo_fe_note_place(
        in->fe, h, neo_arena_printf(in->fe->arena, "a loop has '%s' in its block", name), s->span);
    neo_diag_help(in->fe->diags, h,
                  "names of a block end with it: 'collect %s' makes the values of all iterations "
                  "a result, 'next' carries one on",
                  name);
    return true;
  }
  return false;
}

int neo_name_unknown(neo_inst *in, neo_span at, const char *name, const neo_frame *f) {
  guess g = {name, NULL, 3};
  int h = NEO_ERR(in, at, NAME_UNKNOWN, name);
  if (help_known(in, h, name) || help_block(in, h, name))
    return h;
  for (uint32_t k = 0; f && k < f->n_axes; k++)
    if (f->axis_name[k])
      guess_name(&g, f->axis_name[k]);
  guess_scope(&g, in->scope);
  for (uint32_t k = 0; neo_builtin_name(k); k++)
    guess_name(&g, neo_builtin_name(k));
  const char *foreign = g.best ? NULL : neo_foreign_near(name);
  if (g.best)
    neo_diag_help(in->fe->diags, h, "did you mean '%s'?", g.best);
  else if (foreign)
    neo_diag_help(in->fe->diags, h, "did you mean '%s'? %s", foreign, neo_foreign_help(foreign));
  return h;
}

/* The names of the scope, separated by commas, as many as fit into a line. */
static const char *names_text(neo_fe *fe, const neo_scope *s) {
  neo_str text = neo_str_in(fe->arena);
  for (size_t k = 0; k < s->syms.n; k++) {
    const neo_sym *sym = s->syms.at[k];
    if (sym->kind != NEO_SYM_POISON && sym->kind != NEO_SYM_MODULE)
      neo_str_addf(&text, "%s%s", text.n ? ", " : "", sym->name);
  }
  return neo_str_text(&text);
}

/* Reports that the scope lacks name k of the path. */
static void member_unknown(neo_inst *in, const neo_ast_path *path, uint32_t k, const neo_scope *s) {
  const char *name = path->at[k].text;
  guess g = {name, NULL, 3};
  int h = NEO_ERR(in, path->at[k].span, NAME_UNKNOWN, name);
  guess_scope(&g, s);
  if (g.best)
    neo_diag_help(in->fe->diags, h, "did you mean '%s'?", g.best);
  else
    neo_diag_help(in->fe->diags, h, "'%s' has %s", path->at[k - 1].text, names_text(in->fe, s));
}

/* ---- paths */

const char *neo_path_text(neo_fe *fe, const neo_ast_path *path) {
  const char *text = path->at[0].text;
  for (uint32_t k = 1; k < path->n; k++)
    text = neo_fe_join(fe, text, path->at[k].text);
  return neo_fe_intern(fe, text);
}

/* The symbol of a param or state by its full name, at the iterations that the reader is in. */
static neo_sym *owned_symbol(neo_inst *in, const char *full) {
  uint64_t at;
  neo_fe *fe = in->fe;
  if (!neo_map_get(&fe->owned, key_of(full), &at))
    return NULL;
  const neo_owned *o = &fe->owned_at.at[at - 1];
  neo_view v = neo_view_whole(fe->m, o->tensor);
  for (uint32_t k = 0; k < o->n_iterations && k < in->n_iterations; k++) {
    if (o->region[k] != in->iteration[k].region)
      break;
    v.index[k] = neo_iteration_index(in, k);
    v.rank--;
  }
  neo_sym *s = NEO_NEW(fe->arena, neo_sym);
  *s = (neo_sym){.kind = NEO_SYM_VALUE, .name = full, .span = o->span, .value = neo_val_view(v)};
  return s;
}

/* X.T, X.sum(): a tensor has no attributes and no methods. */
static bool help_attribute(neo_inst *in, int h, const char *full) {
  const char *dot = strrchr(full, '.'), *last = dot ? dot + 1 : full;
  const char *help = neo_foreign_help(last);
  if (neo_reducer_named(last) != NEO_AST_RED_COUNT)
    neo_diag_help(in->fe->diags, h, "a reducer names its indices: %s[i] X[i]", last);
  else if (neo_builtin_is(last))
    neo_diag_help(in->fe->diags, h, "a function stands before its argument: %s(X[i])", last);
  else if (help)
    neo_diag_help(in->fe->diags, h, "%s", help);
  else
    return false;
  return true;
}

static void guess_owned(neo_inst *in, neo_span at, const char *full) {
  guess g = {full, NULL, 4};
  int h = NEO_ERR(in, at, NAME_UNKNOWN, full);
  if (help_attribute(in, h, full))
    return;
  for (size_t k = 0; k < in->fe->owned_at.n; k++)
    guess_name(&g, neo_name_text(in->fe->names,
                                 neo_tensor_at(in->fe->m, in->fe->owned_at.at[k].tensor)->name));
  if (g.best)
    neo_diag_help(in->fe->diags, h, "did you mean '%s'?", g.best);
}

/* A param or state of the call that defines h: h.W, h.dense.W. */
static neo_sym *owned_find(neo_inst *in, const neo_sym *first, const neo_ast_path *path,
                           bool quiet) {
  const char *full = first->prefix;
  for (uint32_t k = 1; k < path->n; k++)
    full = neo_fe_join(in->fe, full, path->at[k].text);
  neo_sym *s = owned_symbol(in, full);
  if (!s && !quiet)
    guess_owned(in, path->span, full);
  return s;
}

/* x.rounds of a `while`. */
static neo_sym *iterations_symbol(neo_inst *in, const neo_sym *s) {
  neo_sym *made = NEO_NEW(in->fe->arena, neo_sym);
  *made =
      (neo_sym){.kind = NEO_SYM_VALUE, .name = "rounds", .span = s->span, .value = *s->trip_count};
  return made;
}

/* The member of a module or a graph; edges of a type have names of their own: G.mod.child. */
static neo_sym *member_find(neo_inst *in, const neo_ast_path *path, neo_scope *scope, bool quiet) {
  neo_sym *member = neo_scope_own(scope, path->at[1].text);
  bool nested = member && member->kind == NEO_SYM_GRAPH && path->n == 3;
  if (nested) {
    scope = member->scope;
    member = neo_scope_own(scope, path->at[2].text);
  }
  if (!member && !quiet)
    member_unknown(in, path, nested ? 2 : 1, scope);
  if (member && path->n > 2 && !nested && !quiet)
    guess_owned(in, path->span, neo_path_text(in->fe, path));
  return path->n > 2 && !nested ? NULL : member;
}

neo_sym *neo_path_find(neo_inst *in, const neo_ast_path *path, bool quiet) {
  neo_sym *s = neo_scope_find(in->scope, path->at[0].text);
  if (!s && path->n > 1) {
    neo_sym *o = owned_symbol(in, neo_fe_join(in->fe, in->prefix, neo_path_text(in->fe, path)));
    if (o)
      return o;
  }
  if (!s && !quiet)
    neo_name_unknown(in, path->at[0].span, path->at[0].text, NULL);
  if (!s || path->n == 1 || s->kind == NEO_SYM_POISON)
    return s;
  if (s->kind == NEO_SYM_MODULE || s->kind == NEO_SYM_GRAPH)
    return member_find(in, path, s->scope, quiet);
  if (s->trip_count && path->n == 2 && neo_streq(path->at[1].text, "rounds"))
    return iterations_symbol(in, s);
  if (s->prefix)
    return owned_find(in, s, path, quiet);
  neo_sym *within = owned_symbol(in, neo_fe_join(in->fe, in->prefix, neo_path_text(in->fe, path)));
  if (within) /* a call within the name's own expression */
    return within;
  if (!quiet)
    guess_owned(in, path->span, neo_path_text(in->fe, path));
  return NULL;
}

/* ---- the limits */

/* Stops checking and closes the diagnostics: later statements are skipped, so names that they
 * define are missing, which is no fault of the program. */
static void give_up(neo_fe *fe) {
  fe->exhausted = true;
  neo_diags_close(fe->diags);
}

bool neo_fe_enter(neo_fe *fe, const neo_inst *in, neo_span at, uint32_t cost) {
  if (fe->depth + cost <= NEO_MAX_DEPTH) {
    fe->depth += cost;
    return true;
  }
  if (!fe->exhausted)
    NEO_ERR(in, at, CALLS_TOO_DEEP, NEO_MAX_DEPTH / NEO_CALL_DEPTH);
  give_up(fe);
  return false;
}

void neo_fe_leave(neo_fe *fe, uint32_t cost) {
  fe->depth -= cost;
}

bool neo_fe_spend(neo_fe *fe, const neo_inst *in, neo_span at) {
  if (fe->exhausted)
    return false;
  bool nodes = fe->m->nodes.n > (size_t)fe->limit * 100;
  if (++fe->spent <= fe->limit && !nodes)
    return true;
  int h = NEO_ERR(in, at, PROGRAM_TOO_LARGE, fe->limit);
  neo_diag_help(fe->diags, h, "a call or an iteration of repeat is checked anew each time");
  give_up(fe);
  return false;
}
