/* Warnings about useless parts of a model: a definition or parameter that no entry needs, a state
 * that nothing updates, a carry without a next value. Such programs are legal, but usually
 * mistakes: a misspelt name, or a forgotten `next`, leaves such a part. Names that begin with `_`,
 * and names within calls of functions, are exempt. */
#include "frontend/check/check.h"

/* ---- definitions, parameters and states */

typedef struct {
  neo_fe *fe;
  neo_arena *scratch;
  NEO_VEC(neo_tensor) roots;
  bool *needed; /* by tensor */
} needs;

static void add_root(needs *n, neo_tensor t) {
  if (t.i && !n->needed[t.i]) {
    n->needed[t.i] = true;
    NEO_PUSH(n->scratch, &n->roots, t);
  }
}

static void add_roots(needs *n, neo_list tensors) {
  for (uint32_t k = 0; k < tensors.n; k++)
    add_root(n, neo_list_tensor(n->fe->m, tensors, k));
}

static void add_entries(needs *n) {
  neo_module *m = n->fe->m;
  for (size_t k = 0; k < m->entries.n; k++) {
    add_roots(n, m->entries.at[k].outputs);
    add_roots(n, m->entries.at[k].updates);
  }
}

/* Adds what gradients need: the tensors that a needed gradient reads, and the results of gradients
 * that functions define. */
static void add_gradients(needs *n) {
  neo_module *m = n->fe->m;
  for (size_t k = 0; k < m->grads.n; k++) {
    const neo_grad_rec *g = &m->grads.at[k];
    bool wanted = false;
    for (uint32_t i = 0; i < g->out.n; i++)
      wanted = wanted || n->needed[neo_list_at(m, g->out, i)];
    if (!wanted)
      continue;
    add_root(n, g->y);
    add_root(n, g->seed);
    add_roots(n, g->wrt);
  }
  for (size_t k = 0; k < m->customs.n; k++)
    add_roots(n, m->customs.at[k].dxs);
}

/* Marks the tensors that the roots read. True: one is new. */
static bool follow(needs *n) {
  neo_module *m = n->fe->m;
  neo_def *defs;
  neo_tensor *read;
  size_t before = n->roots.n;
  size_t n_defs = neo_module_topo(m, n->roots.at, n->roots.n, n->scratch, &defs, NULL);
  for (size_t k = 0; k < n_defs; k++) {
    size_t n_read = neo_def_reads(m, defs[k], n->scratch, &read);
    for (size_t i = 0; i < n_read; i++)
      add_root(n, read[i]);
    add_roots(n, neo_def_at(m, defs[k])->out);
  }
  add_gradients(n);
  return n->roots.n > before;
}

static bool is_updated(const neo_module *m, neo_tensor t) {
  for (size_t k = 1; k < m->tensors.n; k++)
    if (m->tensors.at[k].role == NEO_ROLE_UPDATE && m->tensors.at[k].updates.i == t.i)
      return true;
  return false;
}

static void look_at(needs *n, const neo_sym *s) {
  const neo_module *m = n->fe->m;
  if (s->kind != NEO_SYM_VALUE || s->value.kind != NEO_VAL_VIEW || s->name[0] == '_')
    return;
  neo_tensor t = s->value.view.tensor;
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  if (!neo_streq(neo_name_text(n->fe->names, r->name), s->name))
    return; /* an alias of the tensor */
  if (r->role == NEO_ROLE_STATE && !is_updated(m, t)) {
    int h = neo_diag(n->fe->diags, s->span, NEO_D_STATE_CONSTANT, s->name);
    neo_diag_help(n->fe->diags, h, "write 'update %s = ...', or declare it as 'const'", s->name);
  }
  if (n->needed[t.i])
    return;
  if (r->role == NEO_ROLE_PARAM)
    neo_diag(n->fe->diags, s->span, NEO_D_PARAM_UNUSED, s->name);
  else if (r->role == NEO_ROLE_TEMP)
    neo_diag(n->fe->diags, s->span, NEO_D_DEFINITION_UNUSED, s->name);
}

void neo_check_unused(neo_fe *fe, const neo_scope *scope) {
  if (!fe->m->entries.n)
    return;
  needs n = {.fe = fe, .scratch = fe->arena};
  n.needed = NEO_NEW_ARRAY(n.scratch, bool, fe->m->tensors.n);
  add_entries(&n);
  while (follow(&n))
    ;
  for (size_t k = 0; k < scope->syms.n; k++)
    look_at(&n, scope->syms.at[k]);
}

/* ---- carries */

static bool binds(const neo_ast_stmt *s, const char *name) {
  for (uint32_t k = 0; s->kind == NEO_AST_NEXT && k < s->u.binds.n; k++)
    if (s->u.binds.at[k].var.name.text == name)
      return true;
  return false;
}

static const neo_ast_name *defines(const neo_ast_stmt *s, const char *name) {
  if (s->kind != NEO_AST_DEFINE)
    return NULL;
  if (s->u.define.target.name.text == name)
    return &s->u.define.target.name;
  for (uint32_t k = 0; k < s->u.define.more.n; k++)
    if (s->u.define.more.at[k].text == name)
      return &s->u.define.more.at[k];
  return NULL;
}

/* A carry without `next`: a definition of its name in the block is an error, since it hides the
 * carry for the rest of the iteration, and the next one begins with the old value. */
static bool check_carry(neo_inst *in, const neo_ast_stmts *block, const neo_ast_name *carry) {
  const neo_ast_name *hidden = NULL;
  for (uint32_t k = 0; k < block->n; k++) {
    if (binds(block->at[k], carry->text) || block->at[k]->kind == NEO_AST_BROKEN)
      return true;
    if (!hidden)
      hidden = defines(block->at[k], carry->text);
  }
  if (hidden) {
    int h = NEO_ERR(in, hidden->span, NEXT_FORGOTTEN, carry->text);
    neo_diag_help(in->fe->diags, h, "write 'next %s = ...'", carry->text);
  } else if (carry->text[0] != '_') {
    NEO_ERR(in, carry->span, CARRY_CONSTANT, carry->text);
  }
  return !hidden;
}

bool neo_check_carries(neo_inst *in, const neo_ast_region *g) {
  bool ok = true;
  for (uint32_t k = 0; k < g->from.n; k++)
    ok = check_carry(in, &g->block.stmts, &g->from.at[k].var.name) && ok;
  return ok;
}
