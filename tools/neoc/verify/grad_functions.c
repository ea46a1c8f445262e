/* The functions that `neoc grad-check` compares (grad_check.c describes them): adds entries that
 * return them and their gradients. */
#include "tools/neoc/verify/grad_check.h"
#include <string.h>

static bool is_chosen(grad_checker *c, const char *name) {
  neoc_texts words = neoc_words(c->cli, NEOC_O_WRT);
  for (size_t k = 0; k < words.n; k++)
    if (neo_streq(words.at[k], name))
      return true;
  return words.n == 0;
}

/* The gradient that an entry returns itself, under the name "grad:W". */
static neo_tensor known_gradient(const neo_module *m, const neo_entry_rec *e, const char *name) {
  for (uint32_t k = 1; e && k < e->outputs.n; k++) {
    const char *own = neo_name_text(m->names, neo_list_at(m, e->names, k));
    if (strncmp(own, "grad:", 5) == 0 && neo_streq(own + 5, name))
      return neo_list_tensor(m, e->outputs, k);
  }
  return (neo_tensor){0};
}

static neo_tensor like(neo_module *m, neo_tensor t, neo_role role, const char *name) {
  neo_tensor_rec of = *neo_tensor_at(m, t);
  neo_tensor_rec rec = {.role = (uint8_t)role, .type = of.type, .span = of.span};
  rec.name = neo_name_of(m->names, name);
  rec.extent = of.extent;
  return neo_tensor_add(m, rec);
}

static uint32_t add_entry(neo_module *m, const char *name, const uint32_t *out,
                          const uint32_t *names, size_t n) {
  neo_entry_rec e = {.kind = NEO_ENTRY_GRAD, .name = neo_name_of(m->names, name)};
  e.outputs = neo_list_new(m, out, n);
  e.names = neo_list_new(m, names, n);
  NEO_PUSH(m->arena, &m->entries, e);
  return (uint32_t)m->entries.n - 1;
}

static void add_request(neo_module *m, const grad_function *f, const uint32_t *wrt,
                        const uint32_t *out, size_t n) {
  if (!n)
    return;
  neo_grad_rec g = {.y = f->y, .seed = f->seed};
  g.wrt = neo_list_new(m, wrt, n);
  g.out = neo_list_new(m, out, n);
  NEO_PUSH(m->arena, &m->grads, g);
}

/* The gradients of y_held, as separate tensors if its graph is not that of y. */
static uint32_t *held_gradients(grad_checker *c, neo_module *m, const grad_function *f) {
  size_t n = f->wrt.n;
  uint32_t *out = NEO_NEW_ARRAY(c->cli->arena, uint32_t, n + 1);
  uint32_t *wrt = NEO_NEW_ARRAY(c->cli->arena, uint32_t, n + 1);
  grad_function held = *f;
  held.y = f->y_held;
  for (size_t k = 0; k < n; k++) {
    wrt[k] = f->wrt.at[k].i;
    const char *own = neo_tensor_name(m, f->wrt.at[k]);
    out[k] =
        like(m, f->wrt.at[k], NEO_ROLE_TEMP, neo_arena_printf(m->arena, "held.%s.%s", f->name, own))
            .i;
  }
  add_request(m, &held, wrt, out, n);
  return out;
}

static void add_function(grad_checker *c, neo_module *m, grad_function f,
                         const neo_entry_rec *known, int64_t order);

/* Adds the gradients of f as functions, up to the order that is checked. */
static void add_next_order(grad_checker *c, neo_module *m, const grad_function *f,
                           const uint32_t *out, int64_t order) {
  if (order >= c->order)
    return;
  const uint32_t *held = f->y_held.i == f->y.i ? out : held_gradients(c, m, f);
  for (size_t k = 0; k < f->wrt.n; k++) {
    const char *wrt = neo_tensor_name(m, f->wrt.at[k]);
    grad_function next = {.y = {out[k]}, .y_held = {held[k]}, .holds = f->holds, .hold = f->hold};
    next.name = neo_arena_printf(c->cli->arena, "(d %s/d %s)", f->name, wrt);
    add_function(c, m, next, NULL, order + 1);
  }
}

/* Whether t is a float by which differences can be taken. */
static bool is_variable(grad_checker *c, const neo_module *m, uint32_t t, const neoc_holds *holds) {
  const neo_tensor_rec *rec = &m->tensors.at[t];
  bool good = rec->role == NEO_ROLE_INPUT || rec->role == NEO_ROLE_PARAM;
  return good && neo_type_is_float((neo_type)rec->type) &&
         !neoc_holds_input(holds, (neo_tensor){t}) &&
         is_chosen(c, neo_name_text(m->names, rec->name));
}

/* Adds f.y as a function whose derivatives are checked; `order`: order of these derivatives. */
static void add_function(grad_checker *c, neo_module *m, grad_function f,
                         const neo_entry_rec *known, int64_t order) {
  neo_arena *a = c->cli->arena;
  size_t n = m->tensors.n, n_out = 0, n_new = 0;
  uint32_t *out = NEO_NEW_ARRAY(a, uint32_t, n + 2), *names = NEO_NEW_ARRAY(a, uint32_t, n + 2);
  uint32_t *wrt = NEO_NEW_ARRAY(a, uint32_t, n + 2), *made = NEO_NEW_ARRAY(a, uint32_t, n + 2);
  bool *read = neoc_reads(m, a, f.y);
  if (neo_tensor_rank(m, f.y))
    f.seed = like(m, f.y, NEO_ROLE_INPUT, neo_arena_printf(m->arena, "seed of %s", f.name));
  for (uint32_t t = 1; t < n; t++) {
    const char *own = neo_name_text(m->names, m->tensors.at[t].name);
    if (!read[t] || !is_variable(c, m, t, f.holds))
      continue;
    neo_tensor g = known_gradient(m, known, own);
    if (!g.i) {
      g = like(m, (neo_tensor){t}, NEO_ROLE_TEMP,
               neo_arena_printf(m->arena, "check.%s.%s", f.name, own));
      wrt[n_new] = t;
      made[n_new++] = g.i;
    }
    NEO_PUSH(a, &f.wrt, (neo_tensor){t});
    out[n_out] = g.i;
    names[n_out++] = neo_name_of(m->names, neo_arena_printf(m->arena, "grad:%s:%s", f.name, own));
  }
  add_request(m, &f, wrt, made, n_new);
  uint32_t y_name = neo_name_of(m->names, neo_arena_printf(m->arena, "value:%s", f.name));
  f.value =
      add_entry(m, neo_arena_printf(m->arena, "value of %s", f.name), &f.y_held.i, &y_name, 1);
  f.gradient =
      add_entry(m, neo_arena_printf(m->arena, "gradients of %s", f.name), out, names, n_out);
  if (n_out)
    NEO_PUSH(a, &c->functions, f);
  add_next_order(c, m, &f, out, order);
}

/* Adds the entry that computes the values held. */
static uint32_t add_hold_entry(grad_checker *c, neo_module *m, const grad_function *f) {
  size_t n = 0;
  uint32_t *out = NEO_NEW_ARRAY(c->cli->arena, uint32_t, f->holds->at.n + 1);
  uint32_t *names = NEO_NEW_ARRAY(c->cli->arena, uint32_t, f->holds->at.n + 1);
  for (size_t k = 0; k < f->holds->at.n; k++) {
    neo_tensor t = f->holds->at.at[k].of;
    if (neo_tensor_at(m, t)->role != NEO_ROLE_TEMP)
      continue;
    out[n] = t.i;
    names[n++] = neo_tensor_at(m, f->holds->at.at[k].input)->name;
  }
  return add_entry(m, neo_arena_printf(m->arena, "held for %s", f->name), out, names, n);
}

/* Notes the tensors that the model's y depends on through functions with their own gradient
 * alone. */
static void note_own(grad_checker *c, neo_module *m, neo_tensor y, const grad_function *f) {
  bool *read = neoc_reads(m, c->cli->arena, y), *left = neoc_reads(m, c->cli->arena, f->y);
  bool none = neoc_holds_input(f->holds, f->y);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (read[t] && (none || !left[t]) && is_variable(c, m, t, f->holds))
      NEO_PUSH(c->cli->arena, &c->own,
               neo_arena_printf(c->cli->arena, "d %s/d %s", f->name,
                                neo_name_text(m->names, m->tensors.at[t].name)));
}

static bool has_entry(const neo_module *m, const char *name) {
  for (size_t k = 0; k < m->entries.n; k++)
    if (neo_streq(neo_name_text(m->names, m->entries.at[k].name), name))
      return true;
  return false;
}

/* A unique name for the function: two entries may train one loss, each its own parameters. */
static const char *function_name(neo_module *m, const char *name, const neo_entry_rec *known) {
  const char *value = neo_arena_printf(m->arena, "value of %s", name);
  return known && has_entry(m, value)
             ? neo_arena_printf(m->arena, "%s in %s", name, neo_name_text(m->names, known->name))
             : name;
}

static void add_first(grad_checker *c, neo_module *m, neo_tensor y, const char *name,
                      const neo_entry_rec *known) {
  neo_arena *a = c->cli->arena;
  name = function_name(m, name, known);
  grad_function f = {.name = neo_arena_strdup(a, name), .holds = NEO_NEW(a, neoc_holds)};
  neoc_holds_init(f.holds, a, neoc_has(c->cli, NEOC_O_OWN));
  f.y = neoc_hold(m, a, y, false, f.holds);
  if (f.holds->at.n)
    note_own(c, m, y, &f);
  if (neoc_holds_input(f.holds, f.y))
    return;
  f.y_held = neoc_hold(m, a, y, true, f.holds);
  if (f.holds->at.n)
    f.hold = add_hold_entry(c, m, &f);
  add_function(c, m, f, f.y.i == y.i ? known : NULL, 1);
}

static bool is_float(const neo_module *m, neo_tensor t) {
  return neo_type_is_float(neo_tensor_type(m, t));
}

static void add_outputs(grad_checker *c, neo_module *m, const neo_entry_rec *e) {
  for (uint32_t k = 0; k < e->outputs.n; k++) {
    neo_tensor y = {neo_list_at(m, e->outputs, k)};
    uint8_t role = neo_tensor_at(m, y)->role;
    if (is_float(m, y) && (role == NEO_ROLE_TEMP || role == NEO_ROLE_UPDATE))
      add_first(c, m, y, neo_name_text(m->names, neo_list_at(m, e->names, k)), NULL);
  }
}

/* The entries that are checked: the one named; else all with gradients; else all with outputs. */
static bool wanted(grad_checker *c, const neo_module *m, const neo_entry_rec *e, bool any_grad) {
  const char *name = neoc_text(c->cli, NEOC_O_ENTRY, NULL);
  if (name)
    return neo_streq(name, neo_name_text(m->names, e->name));
  return any_grad ? e->kind == NEO_ENTRY_GRAD : e->kind == NEO_ENTRY_FORWARD;
}

neo_status neoc_grad_prepare(void *ctx, neo_module *m) {
  grad_checker *c = ctx;
  size_t n = m->entries.n;
  bool any_grad = false;
  c->empty = n == 0;
  for (size_t k = 0; k < n; k++)
    any_grad = any_grad || m->entries.at[k].kind == NEO_ENTRY_GRAD;
  neo_entry_rec *old = NEO_NEW_ARRAY(m->arena, neo_entry_rec, n + 1);
  for (size_t k = 0; k < n; k++)
    old[k] = m->entries.at[k];
  m->entries.n = 0;
  for (size_t k = 0; k < n; k++) {
    if (!wanted(c, m, &old[k], any_grad))
      continue;
    neo_tensor y = {neo_list_at(m, old[k].outputs, 0)};
    if (old[k].kind == NEO_ENTRY_FORWARD)
      add_outputs(c, m, &old[k]);
    else
      add_first(c, m, y, neo_name_text(m->names, neo_list_at(m, old[k].names, 0)),
                old[k].kind == NEO_ENTRY_GRAD ? &old[k] : NULL);
  }
  neo_module_widen(m);
  return NEO_OK;
}
