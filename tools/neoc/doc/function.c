/* What the syntax tree says of a function: its signature, what it gives, what it keeps. */
#include "tools/neoc/doc/doc.h"
#include <string.h>

static void add_span(doc_page *p, neo_span span) {
  size_t n;
  const char *text = neo_span_bytes(p->source->sources, span, &n);
  doc_add_word(p, neo_arena_printf(p->cli->arena, "`%.*s`", (int)n, text));
}

/* From the name to the brace, as it is written. */
static void add_signature(doc_page *p, const neo_ast_stmt *fn) {
  size_t n, m;
  const char *from = neo_span_bytes(p->source->sources, fn->u.fn.sig.name.span, &n);
  const char *to = neo_span_bytes(p->source->sources, fn->u.fn.block.open, &m);
  while (to > from && strchr(" \n", to[-1]))
    to--;
  neo_str_addf(&p->out, "```text\n%s.%.*s\n```\n", p->module, (int)(to - from), from);
}

/* ---- statements of a block, those of branches and rounds too */

typedef struct {
  doc_page *page;
  neo_ast_stmt_kind kind; /* what is looked for */
  const char *name;       /* of a definition */
  const char *title;      /* before the first that is found */
  bool found;
} search;

static void look(search *s, const neo_ast_stmts *list);

static void look_region(search *s, const neo_ast_region *r) {
  look(s, &r->block.stmts);
  for (uint32_t k = 0; k < r->arms.n; k++)
    look(s, &r->arms.at[k].block.stmts);
}

static void add_found(search *s, const neo_ast_var *var) {
  neo_str_add(&s->page->out, s->found ? "," : s->title);
  s->found = true;
  add_span(s->page, var->span);
}

static void look(search *s, const neo_ast_stmts *list) {
  for (uint32_t k = 0; k < list->n; k++) {
    const neo_ast_stmt *stmt = list->at[k];
    bool wanted = stmt->kind == s->kind;
    if (wanted && stmt->kind == NEO_AST_DEFINE) {
      const neo_ast_var *var = &stmt->u.define.target;
      if (!s->found && var->name.text == s->name && (var->indexed || var->type.given))
        add_found(s, var);
    } else if (wanted) {
      add_found(s, &stmt->u.decl.var);
    }
    if (stmt->kind == NEO_AST_DEFINE && stmt->u.define.region)
      look_region(s, stmt->u.define.region);
  }
}

/* The result with the indices and the type that its definition has, else by its name. */
static void add_result(doc_page *p, const neo_ast_stmt *fn, uint32_t k) {
  const neo_ast_name *name = &fn->u.fn.results.at[k];
  const char *title = k ? "," : "- Gives";
  search s = {p, NEO_AST_DEFINE, name->text, title, false};
  look(&s, &fn->u.fn.block.stmts);
  if (!s.found) {
    neo_str_add(&p->out, title);
    add_span(p, name->span);
  }
}

static void add_kept(doc_page *p, const neo_ast_stmt *fn, neo_ast_stmt_kind kind,
                     const char *title) {
  search s = {p, kind, NULL, title, false};
  look(&s, &fn->u.fn.block.stmts);
  if (s.found)
    neo_str_addc(&p->out, '\n');
}

static void add_results(doc_page *p, const doc_entry *e) {
  const neo_ast_stmt *fn = e->fn;
  if (fn->kind != NEO_AST_FN)
    return;
  for (uint32_t k = 0; k < fn->u.fn.results.n; k++)
    add_result(p, fn, k);
  const bool none = doc_says(e->block, "No gradient.");
  neo_str_addf(&p->out, "\n- Gradient: %s\n",
               fn->u.fn.has_grad ? "its own"
               : none            ? "none"
                                 : "yes");
}

/* For each type variable the parameter, or option, whose argument decides it. */
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

void doc_add_function(doc_page *p, const doc_entry *e) {
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
