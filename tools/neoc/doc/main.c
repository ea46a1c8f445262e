/* `neoc doc`: the reference of modules as Markdown: for each a list of its functions, then
 * these. */
#include "base/file.h"
#include "tools/neoc/doc/doc.h"
#include <string.h>

/* Adds a link to the heading "nn.linear"; the anchors of Markdown omit the point. */
static void add_link(doc_page *p, const char *name) {
  doc_add_word(p, neo_arena_printf(p->cli->arena, "[%s](#%s%s)", name, p->module, name));
}

static void add_contents(doc_page *p) {
  for (size_t k = 0; k < p->entries.n; k++) {
    const doc_entry *e = &p->entries.at[k];
    const doc_block title = doc_title(e->block);
    if (e->fn)
      add_link(p, e->fn->u.fn.sig.name.text);
    else if (e->functions)
      neo_str_addf(&p->out, "\n- %.*s:", title.n ? (int)title.n : (int)strlen(p->module),
                   title.n ? title.at : p->module);
  }
  neo_str_addc(&p->out, '\n');
}

/* Adds a block without its leading blank lines. */
static void add_introduction(doc_page *p, doc_block b) {
  while (b.n && (b.n == 1 || b.at[1] == '\n'))
    doc_line(&b);
  if (b.n)
    neo_str_addc(&p->out, '\n');
  doc_add_block(p, b, false);
}

/* ---- Describes a function from its syntax tree: its signature, its results, its state. */

static void add_span(doc_page *p, neo_span span) {
  size_t n;
  const char *text = neo_span_bytes(p->source->sources, span, &n);
  doc_add_word(p, neo_arena_printf(p->cli->arena, "`%.*s`", (int)n, text));
}

/* Adds the signature as written, from the name to the brace. */
static void add_signature(doc_page *p, const neo_ast_stmt *fn) {
  size_t n, m;
  const char *from = neo_span_bytes(p->source->sources, fn->u.fn.sig.name.span, &n);
  const char *to = neo_span_bytes(p->source->sources, fn->u.fn.block.open, &m);
  while (to > from && strchr(" \n", to[-1]))
    to--;
  neo_str_addf(&p->out, "```text\n%s.%.*s\n```\n", p->module, (int)(to - from), from);
}

/* ---- statements of a block, with those of branches and loops */

typedef void each_stmt(void *ctx, const neo_ast_stmt *stmt);

static void for_each(const neo_ast_stmts *list, each_stmt *each, void *ctx) {
  for (uint32_t k = 0; k < list->n; k++) {
    const neo_ast_stmt *stmt = list->at[k];
    const neo_ast_region *r = stmt->kind == NEO_AST_DEFINE ? stmt->u.define.region : NULL;
    each(ctx, stmt);
    if (!r)
      continue;
    for_each(&r->block.stmts, each, ctx);
    for (uint32_t a = 0; a < r->arms.n; a++)
      for_each(&r->arms.at[a].block.stmts, each, ctx);
  }
}

/* ---- results */

typedef struct {
  const char *name;
  const neo_ast_stmt *found; /* the first definition with indices or a type, else the first */
} definition;

static bool is_full(const neo_ast_stmt *s) {
  return s->u.define.target.indexed || s->u.define.target.type.given;
}

static void look_definition(void *ctx, const neo_ast_stmt *s) {
  definition *d = ctx;
  bool named = s->kind == NEO_AST_DEFINE && s->u.define.target.name.text == d->name;
  if (named && (!d->found || (is_full(s) && !is_full(d->found))))
    d->found = s;
}

/* The other name of a tensor of the block, by `X = x` or `X = real(x)`; *conversion is `real`. */
static const char *other_name(const neo_ast_stmt *s, const char **conversion) {
  const neo_ast_expr *e = s->u.define.value;
  if (is_full(s) || !e || e->kind != NEO_AST_REF || e->u.ref.path.n != 1 || e->u.ref.has_subs)
    return NULL;
  if (!e->u.ref.has_args)
    return e->u.ref.path.at[0].text;
  const neo_ast_args *args = &e->u.ref.args;
  if (args->n != 1 || args->at[0].name.text || !neo_ast_is_bare(args->at[0].value))
    return NULL;
  *conversion = e->u.ref.path.at[0].text;
  return args->at[0].value->u.ref.path.at[0].text;
}

static bool is_variable(const neo_ast_sig *sig, const char *name) {
  bool found = false;
  for (uint32_t k = 0; k < sig->params.n && name; k++)
    found = found || sig->params.at[k].type.variable.text == name;
  return found;
}

/* Adds a result with the indices and type of its definition, or of the tensor that it renames; if
 * neither has any, its name. */
static void add_result(doc_page *p, const neo_ast_stmt *fn, uint32_t k) {
  const char *name = fn->u.fn.results.at[k].text, *conversion = NULL, *other, *text = name;
  definition d = {name, NULL};
  for_each(&fn->u.fn.block.stmts, look_definition, &d);
  const neo_ast_stmt *first = d.found;
  if (first && (other = other_name(first, &conversion)) != NULL &&
      (!conversion || is_variable(&fn->u.fn.sig, conversion))) {
    d = (definition){other, NULL};
    for_each(&fn->u.fn.block.stmts, look_definition, &d);
  }
  if (d.found) {
    size_t n;
    const char *at = neo_span_bytes(p->source->sources, d.found->u.define.target.span, &n);
    const size_t skip = strlen(d.name);
    const bool converted = conversion && d.found != first && !d.found->u.define.target.type.given;
    text = neo_arena_printf(p->cli->arena, "%s%.*s%s%s", name, (int)(n - skip), at + skip,
                            converted ? " : " : "", converted ? conversion : "");
  }
  neo_str_add(&p->out, k ? "," : "- Gives");
  doc_add_word(p, neo_arena_printf(p->cli->arena, "`%s`", text));
}

/* The next line, without its `#` and one space; *rest becomes the lines after it. */
static bool says(doc_block b, const char *words) {
  const size_t n = strlen(words);
  for (size_t k = 0; k + n <= b.n; k++)
    if (memcmp(b.at + k, words, n) == 0)
      return true;
  return false;
}

static void add_results(doc_page *p, const doc_entry *e) {
  const neo_ast_stmt *fn = e->fn;
  if (fn->kind != NEO_AST_FN)
    return;
  for (uint32_t k = 0; k < fn->u.fn.results.n; k++)
    add_result(p, fn, k);
  const bool none = says(e->block, "No gradient.");
  neo_str_addf(&p->out, "\n- Gradient: %s\n",
               fn->u.fn.has_grad ? "its own"
               : none            ? "none"
                                 : "yes");
}

/* ---- its state */

typedef struct {
  doc_page *page;
  neo_ast_stmt_kind kind;
  const char *title; /* heading for the first statement; null afterwards */
} kept;

static void look_kept(void *ctx, const neo_ast_stmt *s) {
  kept *k = ctx;
  if (s->kind != k->kind)
    return;
  neo_str_add(&k->page->out, k->title ? k->title : ",");
  k->title = NULL;
  add_span(k->page, s->u.decl.var.span);
}

static void add_kept(doc_page *p, const neo_ast_stmt *fn, neo_ast_stmt_kind kind,
                     const char *title) {
  kept k = {p, kind, title};
  for_each(&fn->u.fn.block.stmts, look_kept, &k);
  if (!k.title)
    neo_str_addc(&p->out, '\n');
}

/* Adds, for each type variable, the parameter or option whose argument determines it. */
static void add_types(doc_page *p, const neo_ast_sig *sig) {
  const char *seen = NULL;
  for (uint32_t k = 0; k < sig->params.n + sig->options.n; k++) {
    const bool is_param = k < sig->params.n;
    const neo_ast_option *o = is_param ? NULL : &sig->options.at[k - sig->params.n];
    const neo_ast_type *t = is_param ? &sig->params.at[k].type : &o->type;
    if (!t->given || !t->variable.text || t->wide || t->variable.text == seen)
      continue;
    neo_str_addf(&p->out, "- `%s` is the type of `%s`\n", t->variable.text,
                 is_param ? sig->params.at[k].name.text : o->name.text);
    seen = t->variable.text;
  }
}

static void add_function(doc_page *p, const doc_entry *e) {
  const neo_ast_stmt *fn = e->fn;
  neo_str_addf(&p->out, "\n### %s.%s\n\n", p->module, fn->u.fn.sig.name.text);
  add_signature(p, fn);
  neo_str_addc(&p->out, '\n');
  doc_add_block(p, e->block, true);
  neo_str_addc(&p->out, '\n');
  add_results(p, e);
  add_kept(p, fn, NEO_AST_PARAM, "- Parameters");
  add_kept(p, fn, NEO_AST_STATE, "- States");
  add_types(p, &fn->u.fn.sig);
}

static void add_entry(doc_page *p, const doc_entry *e) {
  const doc_block title = doc_title(e->block);
  if (e->fn) {
    add_function(p, e);
  } else if (title.n && e->functions) {
    doc_block b = e->block;
    doc_line(&b);
    neo_str_addf(&p->out, "\n**%s: %.*s**\n", p->module, (int)title.n, title.at);
    add_introduction(p, b);
  }
}

static void make(doc_page *p) {
  doc_entries_find(p);
  neo_str_addf(&p->out, "\n## %s\n", p->module);
  if (p->entries.n && !p->entries.at[0].fn && !doc_title(p->entries.at[0].block).n)
    add_introduction(p, p->entries.at[0].block);
  add_contents(p);
  for (size_t k = 0; k < p->entries.n; k++)
    add_entry(p, &p->entries.at[k]);
}

static const char *stem(neoc_cli *cli, const char *path) {
  const char *name = neo_path_name(path);
  const char *dot = strrchr(name, '.');
  return neo_arena_printf(cli->arena, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

neoc_exit neoc_doc(neoc_cli *cli) {
  neoc_exit worst = NEOC_OK;
  if (!cli->n_args)
    return neoc_usage(cli, "which modules?");
  for (int k = 0; k < cli->n_args; k++) {
    neoc_source source;
    neoc_exit e = neoc_source_read(cli, cli->args[k], &source);
    if (e > worst)
      worst = e;
    if (e)
      continue;
    doc_page p = {.cli = cli, .source = &source, .module = stem(cli, cli->args[k])};
    neo_str_init(&p.out, cli->arena);
    make(&p);
    fputs(neo_str_text(&p.out), stdout);
  }
  return worst;
}
