/* Files: the main one, and the modules that it imports, from files or from memory. A module is read
 * once, however often it is imported. Functions may be used before they are defined. */
#include "frontend/check/check.h"
#include "frontend/syntax/foreign.h"
#include "frontend/syntax/parser.h"
#include <errno.h>
#include <string.h>

/* ---- finding */

static void looked(neo_fe *fe, const char *path, const char *text, size_t n) {
  if (fe->options && fe->options->looked)
    fe->options->looked(fe->options->looked_ctx, path, text, n);
}

static const char *try_folder(neo_fe *fe, const char *folder, const char *module) {
  char *name = neo_arena_printf(fe->arena, "%s.expr", module);
  char *path = neo_streq(folder, ".") ? name : neo_path_join(fe->arena, folder, name);
  if (neo_path_exists(path))
    return path;
  looked(fe, path, NULL, 0);
  return NULL;
}

/* The module of this name in memory; NULL: none. */
static const neo_module_source *find_source(const neo_fe *fe, const char *module) {
  for (int k = 0; fe->options && k < fe->options->n_modules; k++)
    if (neo_streq(fe->options->modules[k].name, module))
      return &fe->options->modules[k];
  return NULL;
}

/* The folder of the importing file; NULL: its text was in memory. */
static const char *own_folder(const neo_inst *in, const neo_ast_name *module) {
  neo_fe *fe = in->fe;
  neo_place place = neo_span_place(neo_diags_sources(fe->diags), module->span);
  for (size_t k = 0; k < fe->files.n; k++) {
    const neo_file_rec *f = &fe->files.at[k];
    bool in_memory = f->source || (k == 0 && fe->options && fe->options->no_folder);
    if (f->file == place.file_id && f->read && in_memory)
      return NULL;
  }
  return neo_path_folder(fe->arena, place.file);
}

/* Looks for the module in the importing file's folder, then in the given folders. */
static const char *find_module(neo_inst *in, const neo_ast_name *module) {
  neo_fe *fe = in->fe;
  const char *own = own_folder(in, module);
  const char *path = own ? try_folder(fe, own, module->text) : NULL;
  const char *const *p = fe->options ? fe->options->import_paths : NULL;
  for (; !path && p && *p; p++)
    path = try_folder(fe, *p, module->text);
  return path;
}

/* "looked for nn.expr in ., /usr/share/neo/std" */
static const char *places_text(neo_inst *in, const neo_ast_name *module) {
  neo_fe *fe = in->fe;
  const char *own = own_folder(in, module);
  const char *const *p = fe->options ? fe->options->import_paths : NULL;
  neo_str s = neo_str_in(fe->arena);
  if (fe->options && fe->options->n_modules)
    neo_str_add(&s, "the modules that were given");
  if (own)
    neo_str_addf(&s, "%s%s", s.n ? ", " : "", own);
  for (; p && *p; p++)
    neo_str_addf(&s, "%s%s", s.n ? ", " : "", *p);
  return s.n ? neo_str_text(&s) : "no folder";
}

static void not_found(neo_inst *in, const neo_ast_name *module) {
  neo_fe *fe = in->fe;
  int h = NEO_ERR(in, module->span, MODULE_MISSING, module->text);
  neo_diag_note(fe->diags, h, "looked for %s.expr in %s", module->text, places_text(in, module));
  const char *help = neo_foreign_help_of(module->text, NEO_FOREIGN_MODULE);
  if (help)
    neo_diag_help(fe->diags, h, "%s", help);
}

/* Finds a file that has been read, by path and source: a module in memory never is a file on disk,
 * whatever its name in messages is. */
static neo_file_rec *known_file(neo_fe *fe, const char *path, const neo_module_source *source) {
  for (size_t k = 0; k < fe->files.n; k++)
    if (fe->files.at[k].source == source && neo_streq(fe->files.at[k].path, path))
      return &fe->files.at[k];
  return NULL;
}

/* ---- import */

static neo_scope *load_file(neo_inst *in, const neo_ast_name *module, const char *path) {
  neo_fe *fe = in->fe;
  char *text;
  size_t n;
  const neo_io *io = fe->options && fe->options->io ? fe->options->io : &neo_io_default;
  if (neo_file_read(io, fe->arena, path, 0, &text, &n) != NEO_OK) {
    NEO_ERR(in, module->span, MODULE_UNREADABLE, path, strerror(errno));
    return NULL;
  }
  looked(fe, path, text, n);
  return neo_module_read(fe, path, text, n, NULL, false);
}

static neo_scope *load_module(neo_inst *in, const neo_ast_name *module) {
  neo_fe *fe = in->fe;
  const neo_module_source *source = find_source(fe, module->text);
  const char *path =
      source ? neo_arena_printf(fe->arena, "%s.expr", source->name) : find_module(in, module);
  if (!path) {
    not_found(in, module);
    return NULL;
  }
  neo_file_rec *known = known_file(fe, path, source);
  if (known && !known->scope)
    NEO_ERR(in, module->span, IMPORT_CYCLE, module->text);
  if (known)
    return known->scope;
  return source ? neo_module_read(fe, path, source->text, source->text_bytes, source, false)
                : load_file(in, module, path);
}

static void import(neo_inst *in, const neo_ast_stmt *s) {
  for (uint32_t k = 0; k < s->u.import.aliases.n; k++) {
    const neo_ast_alias *a = &s->u.import.aliases.at[k];
    const neo_ast_name *name = a->alias.text ? &a->alias : &a->module;
    neo_scope *scope = load_module(in, &a->module);
    if (!scope) {
      neo_scope_poison(in, name);
      continue;
    }
    neo_scope_add(
        in, in->scope,
        (neo_sym){.kind = NEO_SYM_MODULE, .name = name->text, .span = name->span, .scope = scope});
  }
}

/* ---- one file */

static void declare_function(neo_inst *in, const neo_ast_stmt *s) {
  neo_sym_kind kind = s->kind == NEO_AST_OPTIMIZER ? NEO_SYM_OPTIMIZER
                      : s->kind == NEO_AST_VERTEX  ? NEO_SYM_VERTEX
                                                   : NEO_SYM_FN;
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = kind,
                          .name = s->u.fn.sig.name.text,
                          .span = s->u.fn.sig.name.span,
                          .fn = s,
                          .scope = in->scope});
}

static void declare_functions(neo_inst *in, const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n; k++) {
    const neo_ast_stmt *s = stmts->at[k];
    if (s->kind == NEO_AST_FN || s->kind == NEO_AST_OPTIMIZER || s->kind == NEO_AST_VERTEX)
      declare_function(in, s);
  }
}

static void top_statement(neo_inst *in, const neo_ast_stmt *s) {
  if (s->kind != NEO_AST_IMPORT) {
    neo_check_stmt(in, s);
    return;
  }
  neo_prover_at(in->fe->prover, s->span);
  import(in, s);
}

/* Whether grad(…) may ask for a tensor that statements of this file define: a statement here does,
 * or a module that is imported after other statements may. */
static bool asks_gradients(const neo_ast_file *file) {
  bool others = false, asks = file->asks_gradients;
  for (uint32_t k = 0; k < file->stmts.n; k++) {
    bool import = file->stmts.at[k]->kind == NEO_AST_IMPORT;
    asks |= import && others;
    others |= !import;
  }
  return asks;
}

neo_scope *neo_module_read(neo_fe *fe, const char *path, const char *text, size_t n,
                           const neo_module_source *source, bool is_main) {
  size_t at = fe->files.n;
  NEO_PUSH(fe->arena, &fe->files, (neo_file_rec){.path = path, .source = source});
  neo_ast_file *file = neo_parse(fe->arena, fe->names, fe->diags, path, text, n);
  fe->files.at[at].file = file->file_id;
  fe->files.at[at].read = true;
  neo_scope *scope = neo_scope_new(fe, NULL);
  char *stem = neo_path_stem(fe->arena, path);
  neo_inst *in = neo_inst_new(fe, scope, is_main ? "" : neo_inst_prefix(fe->main, stem));
  in->is_main = is_main;
  fe->main = is_main ? in : fe->main;
  fe->asks_gradients |= asks_gradients(file);
  declare_functions(in, &file->stmts);
  neo_fe_note_written(fe, &file->stmts, is_main);
  for (uint32_t k = 0; k < file->stmts.n && !fe->exhausted; k++)
    top_statement(in, file->stmts.at[k]);
  if (is_main && !fe->exhausted) {
    neo_check_outputs(fe, in);
    neo_check_trains(fe, in);
  }
  fe->files.at[at].scope = scope;
  return scope;
}
