/* A module as text (ir/text.h). Every record is written in the order of its table, so that reading
 * the text gives the same numbers again. */
#include "ir/print.h"
#include "ir/interp/interp.h"
#include "ir/out_map.h"
#include "ir/text.h"
#include <stdlib.h>

/* ---- sharing inside of a definition: subexpressions that get names */

enum { LET_WEIGHT = 6, LET_DEPTH = 24 };

typedef struct {
  neo_expr e;
  uint32_t uses, weight, depth, let; /* let: number + 1, 0 for none */
} shared;

typedef struct {
  const neo_module *m;
  neo_arena *arena;
  neo_map index;
  NEO_VEC(shared) at; /* arguments before their users */
  size_t n_body;      /* the first ones, of condition and body; the others belong to finish */
  uint32_t hidden;    /* the expression being printed as the definition of a name */
} sharing;

static shared *find(const sharing *s, neo_expr e) {
  uint64_t k;
  return neo_map_get(&s->index, e.i, &k) ? &s->at.at[k] : NULL;
}

static void add_shared(void *ctx, neo_expr e) {
  sharing *s = ctx;
  const neo_node *n = neo_expr_node(s->m, e);
  if (find(s, e))
    return;
  for (uint32_t k = 0; k < n->arg.n; k++)
    find(s, neo_list_expr(s->m, n->arg, k))->uses++;
  neo_map_set(&s->index, e.i, s->at.n);
  NEO_PUSH(s->arena, &s->at, (shared){.e = e});
}

static void add_root(sharing *s, neo_expr e) {
  if (!e.i)
    return;
  neo_expr_visit(s->m, e, add_shared, s);
  find(s, e)->uses++;
}

static void measure(const sharing *s, shared *x) {
  const neo_node *n = neo_expr_node(s->m, x->e);
  x->weight = 1;
  for (uint32_t k = 0; k < n->arg.n; k++) {
    const shared *a = find(s, neo_list_expr(s->m, n->arg, k));
    x->weight += a->let ? 1 : a->weight;
    if (!a->let && a->depth >= x->depth)
      x->depth = a->depth + 1;
  }
}

static void choose_lets(sharing *s) {
  uint32_t n = 0;
  for (size_t k = 0; k < s->at.n; k++) {
    shared *x = &s->at.at[k];
    measure(s, x);
    if ((x->uses > 1 && x->weight >= LET_WEIGHT) || x->depth >= LET_DEPTH)
      x->let = ++n;
  }
}

static void sharing_of(sharing *s, const neo_module *m, const neo_def_rec *d, neo_arena *a) {
  *s = (sharing){.m = m, .arena = a};
  neo_map_init(&s->index, a);
  add_root(s, d->where);
  for (uint32_t k = 0; k < d->body.n; k++)
    add_root(s, neo_list_expr(m, d->body, k));
  s->n_body = s->at.n;
  for (uint32_t k = 0; k < d->finish.n; k++)
    add_root(s, neo_list_expr(m, d->finish, k));
  choose_lets(s);
}

static uint32_t let_of(void *ctx, neo_expr e) {
  const sharing *s = ctx;
  const shared *x = e.i == s->hidden ? NULL : find(s, e);
  return x ? x->let : 0;
}

/* ---- definitions */

static const char *const indent = "\n    ";

static void add_lets(const neo_text_expr *t, sharing *s, size_t from, size_t to) {
  for (size_t k = from; k < to; k++) {
    const shared *x = &s->at.at[k];
    if (!x->let)
      continue;
    neo_str_addf(t->out, "%slet $%u = ", indent, x->let - 1);
    s->hidden = x->e.i;
    neo_text_add_expr(t, x->e, LEVEL_OR);
    s->hidden = 0;
    neo_str_addc(t->out, ';');
  }
}

static void add_exprs(const neo_text_expr *t, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++) {
    if (k)
      neo_str_add(t->out, ", ");
    neo_text_add_expr(t, neo_list_expr(t->m, l, k), LEVEL_OR);
  }
}

static void add_axis(const neo_text_expr *t, const neo_def_rec *d, uint32_t k) {
  const neo_axis_rec *x = neo_def_axis(t->m, d, k);
  int64_t lo;
  neo_text_add_name(t->out, t->axis[k]);
  neo_str_add(t->out, ": ");
  if (!neo_expr_is_int(t->m, x->lo, &lo) || lo != 0) {
    neo_text_add_expr(t, x->lo, LEVEL_SUM);
    neo_str_add(t->out, "..");
  }
  neo_text_add_expr(t, x->hi, LEVEL_SUM);
}

static void add_axes(const neo_text_expr *t, const neo_def_rec *d, uint32_t from, uint32_t to) {
  neo_text_expr bounds = *t;
  bounds.let_of = NULL; /* names come after the axes */
  neo_str_addc(t->out, '[');
  for (uint32_t k = from; k < to; k++) {
    if (k > from)
      neo_str_add(t->out, ", ");
    add_axis(&bounds, d, k);
  }
  neo_str_addc(t->out, ']');
}

static void add_tensors(const neo_module *m, neo_str *out, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++) {
    neo_tensor t = {neo_list_at(m, l, k)};
    if (k)
      neo_str_add(out, ", ");
    if (t.i)
      neo_text_add_tensor(m, out, t);
    else
      neo_str_addc(out, '-');
  }
}

static void add_map(const neo_text_expr *t, const neo_def_rec *d) {
  neo_str_add(t->out, " at [");
  for (uint32_t k = 0; k < neo_out_map_rank(d->out_map); k++) {
    neo_out_dim p = neo_out_map_at(t->m, d->out_map, k);
    if (k)
      neo_str_add(t->out, ", ");
    if (p.stride != 1)
      neo_str_addf(t->out, "%d*", p.stride);
    neo_text_add_name(t->out, t->axis[k]);
    if (p.offset)
      neo_str_addf(t->out, " %c %lld", p.offset < 0 ? '-' : '+', llabs((long long)p.offset));
  }
  neo_str_addc(t->out, ']');
}

static void add_header(const neo_text_expr *t, const neo_def_rec *d, neo_def id, bool init) {
  neo_str_addf(t->out, "%s @%u ", init ? "init" : "def", id.i);
  if (d->origin)
    neo_str_addf(t->out, "from @%u ", d->origin);
  if (d->chunk_loop)
    neo_str_addf(t->out, "chunk_loop %u ", d->chunk_loop);
  if (d->inner_loop)
    neo_str_addf(t->out, "inner_loop %u ", d->inner_loop);
  if (d->after.i) {
    neo_str_add(t->out, "after ");
    neo_text_add_name(t->out, neo_tensor_name(t->m, d->after));
    neo_str_addc(t->out, ' ');
  }
  if (d->out.n != 1)
    neo_str_addc(t->out, '(');
  add_tensors(t->m, t->out, d->out);
  if (d->out.n != 1)
    neo_str_addc(t->out, ')');
  add_axes(t, d, 0, d->n_out);
  if (d->out_map.n)
    add_map(t, d);
  neo_str_add(t->out, " =");
}

static bool finish_is_acc(const neo_module *m, const neo_def_rec *d) {
  if (d->finish.n != 1)
    return false;
  const neo_node *n = neo_expr_node(m, neo_list_expr(m, d->finish, 0));
  return n->op == NEO_OP_ACC && n->attr == 0;
}

static void add_reduction(const neo_text_expr *t, sharing *s, const neo_def_rec *d) {
  neo_str_addf(t->out, "%s%s", indent, neo_reducer_text((neo_reducer)d->reducer));
  add_axes(t, d, d->n_out, d->axes.n);
  bool broken = false;
  for (size_t k = 0; k < s->n_body; k++)
    broken = broken || s->at.at[k].let;
  add_lets(t, s, 0, s->n_body);
  if (d->where.i) {
    neo_str_add(t->out, broken ? indent : " ");
    neo_str_add(t->out, "where ");
    neo_text_add_expr(t, d->where, LEVEL_OR);
    neo_str_addc(t->out, ';');
  }
  neo_str_add(t->out, broken || d->where.i ? indent : " ");
  add_exprs(t, d->body);
  if (finish_is_acc(t->m, d))
    return;
  neo_str_addf(t->out, "%sthen", indent);
}

/* levels (level, first, place, vertex, kind; placed, end, edge) kinds 2 [p: n, k: 2] = child[p, k],
 * kind[p] */
static void add_levels(const neo_text_expr *t, const neo_def_rec *d, neo_def id) {
  const neo_rows_rec *r = neo_rows_at(t->m, d->rows);
  uint32_t own[] = {r->level.i, r->first.i, r->place.i, r->vertex.i, r->kind.i};
  neo_str_addf(t->out, "def @%u levels (", id.i);
  for (uint32_t k = 0; k <= r->n_lists; k++) {
    const neo_row_list *l = &r->list[k ? k - 1 : 0];
    uint32_t list[] = {l->placed.i, l->end.i, l->edge.i, l->parent.i, l->begin.i};
    for (uint32_t i = 0; i < (k && !l->begin.i ? 3 : 5); i++) {
      uint32_t id_of = k ? list[i] : own[i];
      neo_str_add(t->out, i ? ", " : k ? "; " : "");
      if (id_of)
        neo_text_add_tensor(t->m, t->out, (neo_tensor){id_of});
      else
        neo_str_addc(t->out, '-');
    }
  }
  neo_str_addf(t->out, ") kinds %lld ", (long long)r->kinds);
  add_axes(t, d, 0, d->axes.n);
  neo_str_add(t->out, " = ");
  add_exprs(t, d->body);
  neo_str_addc(t->out, '\n');
}

static bool has_lets(const sharing *s) {
  for (size_t k = s->n_body; k < s->at.n; k++)
    if (s->at.at[k].let)
      return true;
  return false;
}

static void add_def(const neo_module *m, neo_def id, neo_str *out, bool init, neo_arena *scratch) {
  neo_def_rec d = *neo_def_at(m, id);
  sharing s;
  sharing_of(&s, m, &d, scratch);
  neo_text_expr t = {.m = m,
                     .out = out,
                     .axis = neo_text_axes(m, &d, scratch),
                     .n_axes = d.axes.n,
                     .let_of = let_of,
                     .ctx = &s};
  if (neo_def_is_levels(&d)) {
    t.let_of = NULL;
    add_levels(&t, &d, id);
    return;
  }
  add_header(&t, &d, id, init);
  if (d.reducer != NEO_RED_NONE)
    add_reduction(&t, &s, &d);
  if (d.reducer == NEO_RED_NONE || !finish_is_acc(m, &d)) {
    add_lets(&t, &s, s.n_body, s.at.n);
    neo_str_add(out, has_lets(&s) ? indent : " ");
    add_exprs(&t, d.finish);
  }
  neo_str_addc(out, '\n');
}

static bool is_init(const neo_module *m, neo_def id) {
  const neo_def_rec *d = neo_def_at(m, id);
  return d->out.n == 1 && neo_tensor_at(m, neo_list_tensor(m, d->out, 0))->init.i == id.i;
}

void neo_def_print(const neo_module *m, neo_def d, neo_str *out) {
  neo_arena scratch = neo_arena_scratch(m->arena);
  add_def(m, d, out, is_init(m, d), &scratch);
  neo_arena_free(&scratch);
}

/* Is the definition an initialiser or a piece? Others were replaced by a pass. */
static bool in_use(const neo_module *m, neo_def id) {
  const neo_def_rec *d = neo_def_at(m, id);
  if (d->out.n == 0)
    return false;
  neo_list pieces = neo_tensor_at(m, neo_list_tensor(m, d->out, 0))->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (neo_list_at(m, pieces, k) == id.i)
      return true;
  return is_init(m, id);
}

/* ---- declarations */

static void add_size(const neo_text_expr *t, neo_size id) {
  const neo_size_rec *s = neo_size_at(t->m, id);
  neo_str_add(t->out, "size ");
  neo_text_add_size(t->m, t->out, id);
  neo_str_addf(t->out, " %lld..%lld", (long long)s->lo, (long long)s->hi);
  if (s->kind == NEO_SIZE_DERIVED) {
    neo_str_add(t->out, " = ");
    neo_text_add_expr(t, s->value, LEVEL_OR);
  }
  neo_str_addc(t->out, '\n');
}

static void add_assert(const neo_text_expr *t, neo_expr holds) {
  neo_str_add(t->out, "assert ");
  neo_text_add_expr(t, holds, LEVEL_OR);
  neo_str_addc(t->out, '\n');
}

static void add_data(neo_str *out, const neo_tensor_rec *r) {
  neo_type t = (neo_type)r->type;
  uint32_t size = neo_type_bytes(t);
  neo_str_add(out, " = {");
  for (size_t k = 0; k + size <= r->n_data_bytes; k += size) {
    const unsigned char *p = (const unsigned char *)r->data + k;
    if (k)
      neo_str_add(out, ", ");
    neo_value v = neo_value_read(t, p);
    bool is_float = neo_type_is_float(t);
    neo_text_add_number(out, t, is_float ? v.f : 0, is_float ? 0 : v.i);
  }
  neo_str_addc(out, '}');
}

/* Ends that may use the indices of an element, which are d0, d1 …: in -1..d0 */
static void add_ends(const neo_text_expr *t, const neo_tensor_rec *r) {
  static const char *const index[] = {"d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                      "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
  neo_text_expr own = *t;
  own.axis = index;
  own.n_axes = r->extent.n;
  neo_str_add(t->out, " in ");
  if (r->least.i)
    neo_text_add_expr(&own, r->least, LEVEL_SUM);
  neo_str_add(t->out, "..");
  if (r->below.i)
    neo_text_add_expr(&own, r->below, LEVEL_SUM);
}

static void add_tensor(const neo_text_expr *t, neo_tensor id) {
  const neo_tensor_rec *r = neo_tensor_at(t->m, id);
  neo_str_addf(t->out, "%s ", neo_role_text((neo_role)r->role));
  neo_text_add_tensor(t->m, t->out, id);
  neo_str_addf(t->out, " : %s [", neo_type_text((neo_type)r->type));
  add_exprs(t, r->extent);
  neo_str_addc(t->out, ']');
  if (r->bound.i) {
    neo_str_add(t->out, " < ");
    neo_text_add_expr(t, r->bound, LEVEL_SUM);
  }
  if (r->least.i || r->below.i)
    add_ends(t, r);
  if (r->partial)
    neo_str_add(t->out, " partial");
  if (r->terms)
    neo_str_add(t->out, " terms");
  if (r->optimizer)
    neo_str_add(t->out, " optimizer");
  if (r->inner)
    neo_str_add(t->out, " inner");
  if (r->offsets.i) {
    neo_str_add(t->out, " offsets ");
    neo_text_add_tensor(t->m, t->out, r->offsets);
  }
  if (r->updates.i) {
    neo_str_add(t->out, " of ");
    neo_text_add_tensor(t->m, t->out, r->updates);
  }
  if (r->role == NEO_ROLE_CONST)
    add_data(t->out, r);
  neo_str_addc(t->out, '\n');
}

static const char *const entry_kinds[] = {"forward", "train", "grad", "init"};

static void add_entry(const neo_module *m, neo_str *out, const neo_entry_rec *e) {
  neo_str_addf(out, "entry %s ", entry_kinds[e->kind]);
  neo_text_add_label(out, neo_name_text(m->names, e->name));
  neo_str_addc(out, ':');
  for (uint32_t k = 0; k < e->outputs.n; k++) {
    neo_str_add(out, k ? ", " : " ");
    neo_text_add_label(out, neo_name_text(m->names, neo_list_at(m, e->names, k)));
    neo_str_add(out, " = ");
    neo_text_add_tensor(m, out, neo_list_tensor(m, e->outputs, k));
  }
  if (e->updates.n) {
    neo_str_add(out, "; updates ");
    add_tensors(m, out, e->updates);
  }
  neo_str_addc(out, '\n');
}

static void add_gradient(const neo_module *m, neo_str *out, const neo_grad_rec *g) {
  neo_str_add(out, "gradient of ");
  neo_text_add_tensor(m, out, g->y);
  if (g->seed.i) {
    neo_str_add(out, " seed ");
    neo_text_add_tensor(m, out, g->seed);
  }
  if (g->n_batch)
    neo_str_addf(out, " batch %u", g->n_batch);
  if (g->hold.n) {
    neo_str_add(out, " hold ");
    add_tensors(m, out, g->hold);
  }
  neo_str_add(out, " for ");
  add_tensors(m, out, g->wrt);
  neo_str_add(out, " into ");
  add_tensors(m, out, g->out);
  neo_str_add(out, g->done ? " done\n" : "\n");
}

static void add_custom(const neo_module *m, neo_str *out, const neo_custom_rec *c) {
  neo_str_add(out, "custom ");
  add_tensors(m, out, c->ins);
  neo_str_add(out, " -> ");
  add_tensors(m, out, c->outs);
  neo_str_add(out, " with ");
  add_tensors(m, out, c->dys);
  neo_str_add(out, " -> ");
  add_tensors(m, out, c->dxs);
  neo_str_addc(out, '\n');
}

void neo_module_print(const neo_module *m, neo_str *out) {
  neo_text_expr t = {.m = m, .out = out};
  neo_str_add(out, "neo-ir 1\n");
  if (m->name) {
    neo_str_add(out, "module ");
    neo_text_add_label(out, neo_name_text(m->names, m->name));
    neo_str_addc(out, '\n');
  }
  if (m->n_sites)
    neo_str_addf(out, "sites %u\n", m->n_sites);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    add_size(&t, (neo_size){k});
  for (size_t k = 0; k < m->asserts.n; k++)
    add_assert(&t, m->asserts.at[k].holds);
  for (uint32_t k = 1; k < m->tensors.n; k++)
    add_tensor(&t, (neo_tensor){k});
  for (uint32_t k = 1; k < m->defs.n; k++)
    if (in_use(m, (neo_def){k}))
      neo_def_print(m, (neo_def){k}, out);
  for (size_t k = 0; k < m->entries.n; k++)
    add_entry(m, out, &m->entries.at[k]);
  for (size_t k = 0; k < m->grads.n; k++)
    add_gradient(m, out, &m->grads.at[k]);
  for (size_t k = 0; k < m->customs.n; k++)
    add_custom(m, out, &m->customs.at[k]);
}
