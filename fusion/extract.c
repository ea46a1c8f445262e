/* Extraction of a group; see extract.h. */
#include "fusion/extract.h"
#include "base/pack.h"
#include "fusion/form.h"

/* ---- moving expressions, sizes, tensors */

typedef struct {
  const neo_module *from;
  neo_module *to;
  neo_map expr, size, tensor, rows; /* numbers in `from` -> in `to` */
} extractor;

static neo_expr moved(extractor *x, neo_expr e);

static neo_size move_size(extractor *x, neo_size s) {
  uint64_t at;
  if (neo_map_get(&x->size, s.i, &at))
    return (neo_size){(uint32_t)at};
  neo_size_rec r = *neo_size_at(x->from, s);
  r.span = 0;
  r.value = moved(x, r.value);
  neo_size to = neo_size_add(x->to, r);
  neo_map_set(&x->size, s.i, to.i);
  return to;
}

static neo_list move_exprs(extractor *x, neo_list l) {
  uint32_t *at = NEO_NEW_ARRAY(x->to->arena, uint32_t, l.n);
  for (uint32_t k = 0; k < l.n; k++)
    at[k] = moved(x, neo_list_expr(x->from, l, k)).i;
  return neo_list_new(x->to, at, l.n);
}

static neo_tensor move_tensor(extractor *x, neo_tensor t);

/* Moves the tables' kinds, slots, and first rows of blocks, for their readers. */
static neo_rows move_rows(extractor *x, neo_rows from) {
  uint64_t at;
  if (!from.i || neo_map_get(&x->rows, from.i, &at))
    return (neo_rows){from.i ? (uint32_t)at : 0};
  const neo_rows_rec *r = neo_rows_at(x->from, from);
  neo_rows_rec made = {.kinds = r->kinds, .n_lists = r->n_lists};
  neo_rows to = {(uint32_t)x->to->rows.n};
  for (uint32_t k = 0; k < r->n_lists; k++)
    made.list[k].slots = r->list[k].slots;
  NEO_PUSH(x->to->arena, &x->to->rows, made);
  neo_map_set(&x->rows, from.i, to.i);
  neo_tensor first = move_tensor(x, r->first);
  neo_rows_at(x->to, to)->first = first;
  for (uint32_t k = 0; k < r->n_lists; k++) {
    neo_tensor begin = move_tensor(x, r->list[k].begin);
    neo_rows_at(x->to, to)->list[k].begin = begin;
  }
  return to;
}

static void move_list(extractor *x, neo_rows from, neo_tensor t, neo_rows rows, neo_tensor to) {
  const neo_rows_rec *r = neo_rows_at(x->from, from);
  for (uint32_t k = 0; k < r->n_lists; k++)
    if (r->list[k].edge.i == t.i)
      neo_rows_at(x->to, rows)->list[k].edge = to;
}

/* Moves the tensor, before those that its record names, which may name it. */
static neo_tensor move_tensor(extractor *x, neo_tensor t) {
  uint64_t at;
  if (!t.i || neo_map_get(&x->tensor, t.i, &at))
    return (neo_tensor){t.i ? (uint32_t)at : 0};
  neo_tensor_rec r = *neo_tensor_at(x->from, t);
  neo_tensor to = neo_tensor_add(x->to, r);
  neo_map_set(&x->tensor, t.i, to.i);
  r.span = 0;
  r.bound = moved(x, r.bound);
  r.least = moved(x, r.least);
  r.below = moved(x, r.below);
  r.extent = move_exprs(x, r.extent);
  r.updates = move_tensor(x, r.updates);
  neo_rows rows = r.rows;
  r.rows = move_rows(x, rows);
  move_list(x, rows, t, r.rows, to);
  r.within = move_tensor(x, r.within);
  r.at = move_exprs(x, r.at);
  r.offsets = (neo_tensor){0};
  r.pieces = (neo_list){0};
  r.init = (neo_def){0};
  r.in = (neo_region){0};
  r.data = NULL;
  r.n_data_bytes = 0;
  *neo_tensor_at(x->to, to) = r;
  return to;
}

static neo_expr move_constant(extractor *x, neo_expr e, neo_type t) {
  int64_t n = 0;
  double d = 0;
  if (neo_expr_is_float(x->from, e, &d))
    return neo_const_float(x->to, t, d);
  neo_expr_is_int(x->from, e, &n);
  return neo_const_int(x->to, t, n);
}

static uint32_t move_attr(extractor *x, const neo_node *n) {
  switch (n->op) {
  case NEO_OP_SIZE:
    return move_size(x, (neo_size){n->attr}).i;
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
    return move_tensor(x, (neo_tensor){n->attr}).i;
  default:
    return n->attr;
  }
}

/* The index with terms in the order of their numbers, which differ between programs. */
static neo_expr in_order(neo_module *m, neo_expr e) {
  neo_linear l;
  bool is = neo_expr_node(m, e)->op == NEO_OP_ADD && neo_expr_type(m, e) == NEO_I64_T;
  return is && neo_linear_of(m, e, &l) ? neo_linear_expr(m, &l) : e;
}

/* Moves the node with its span, which proofs report; the text has no spans. */
static void move_node(void *ctx, neo_expr e) {
  extractor *x = ctx;
  neo_expr small[16], *arg = small, to;
  neo_node n = *neo_expr_node(x->from, e);
  if (neo_map_get(&x->expr, e.i, NULL))
    return;
  if (n.arg.n > sizeof small / sizeof *small)
    arg = NEO_NEW_ARRAY(x->to->arena, neo_expr, n.arg.n);
  for (uint32_t k = 0; k < n.arg.n; k++) {
    uint64_t at = 0;
    neo_map_get(&x->expr, neo_list_at(x->from, n.arg, k), &at);
    arg[k].i = (uint32_t)at;
  }
  uint32_t attr = move_attr(x, &n);
  to = n.op == NEO_OP_CONST
           ? move_constant(x, e, (neo_type)n.type)
           : neo_expr_make(x->to, (neo_op)n.op, (neo_type)n.type, attr, arg, n.arg.n, n.span);
  neo_map_set(&x->expr, e.i, in_order(x->to, to).i);
}

static neo_expr moved(extractor *x, neo_expr e) {
  uint64_t at = 0;
  if (!e.i)
    return e;
  neo_expr_visit(x->from, e, move_node, x);
  neo_map_get(&x->expr, e.i, &at);
  return (neo_expr){(uint32_t)at};
}

/* ---- moving the form and the group */

static void move_axes(extractor *x, neo_axis_rec *at, size_t n) {
  for (size_t k = 0; k < n; k++)
    at[k] = (neo_axis_rec){at[k].name, moved(x, at[k].lo), moved(x, at[k].hi), 0};
}

/* Copies a vector of the form; its elements are moved later. */
#define COPY(a, v) \
  ((v).at = (v).n ? neo_arena_copy((a), (v).at, (v).n * sizeof *(v).at) : NULL, (v).cap = (v).n)

static void move_stage(extractor *x, neo_stage *s) {
  COPY(x->to->arena, s->axes);
  COPY(x->to->arena, s->accs);
  COPY(x->to->arena, s->outs);
  move_axes(x, s->axes.at, s->axes.n);
  s->where = moved(x, s->where);
  for (size_t k = 0; k < s->accs.n; k++)
    s->accs.at[k].body = moved(x, s->accs.at[k].body);
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_form_out *o = &s->outs.at[k];
    o->tensor = move_tensor(x, o->tensor);
    o->offset = moved(x, o->offset);
    o->value = moved(x, o->value);
  }
}

static neo_form *move_form(extractor *x, const neo_form *from) {
  neo_arena *a = x->to->arena;
  neo_form *f = neo_arena_copy(a, from, sizeof *from);
  f->nested = NULL;
  f->match = NULL;
  f->keyed = 0;
  COPY(a, f->axes);
  COPY(a, f->stages);
  COPY(a, f->accesses);
  move_axes(x, f->axes.at, f->axes.n);
  for (size_t k = 0; k < f->stages.n; k++)
    move_stage(x, &f->stages.at[k]);
  for (size_t k = 0; k < f->accesses.n; k++)
    f->accesses.at[k].tensor = move_tensor(x, f->accesses.at[k].tensor);
  return f;
}

static void move_group(extractor *x, const neo_form *form, const neo_group *from, neo_group *g) {
  neo_arena *a = x->to->arena;
  *g = (neo_group){.cached = from->cached, .in_order = from->in_order, .name = from->name};
  g->reads.at = from->reads.at, g->reads.n = from->reads.n;
  g->roots.at = from->roots.at, g->roots.n = from->roots.n;
  g->when.at = from->when.at, g->when.n = from->when.n;
  COPY(a, g->reads);
  COPY(a, g->roots);
  COPY(a, g->when);
  for (size_t k = 0; k < g->reads.n; k++)
    g->reads.at[k] = move_tensor(x, g->reads.at[k]);
  for (size_t k = 0; k < g->roots.n; k++)
    g->roots.at[k] = move_tensor(x, g->roots.at[k]);
  for (size_t k = 0; k < g->when.n; k++)
    g->when.at[k] = moved(x, g->when.at[k]);
  g->form = move_form(x, form);
}

/* Numbers axes before all expressions over them. */
static void number_axes(neo_module *m, const neo_form *f) {
  size_t most = 0;
  for (size_t k = 0; k < f->stages.n; k++)
    most = f->stages.at[k].axes.n > most ? f->stages.at[k].axes.n : most;
  for (uint32_t k = 0; k < f->axes.n + most; k++)
    neo_axis_ref(m, k);
}

static neo_module *extract(neo_module *m, const neo_group *g, neo_arena *a, neo_group *out) {
  extractor x = {.from = m, .to = neo_module_new(a, m->names, m->diags, g->name)};
  x.to->math = m->math;
  x.to->store = m->store;
  x.to->recurrent = m->recurrent;
  neo_proofs_limit(x.to, neo_proofs_most(m));
  neo_map_init(&x.expr, a);
  neo_map_init(&x.size, a);
  neo_map_init(&x.tensor, a);
  neo_map_init(&x.rows, a);
  number_axes(x.to, neo_group_form(m, g));
  move_group(&x, neo_group_form(m, g), g, out);
  return x.to;
}

/* Reordered terms leave sums in the old order behind; a second move drops them. */
neo_module *neo_group_extract(neo_module *m, const neo_group *g, neo_arena *a, neo_group *out) {
  neo_group first;
  neo_module *ordered = extract(m, g, a, &first);
  return extract(ordered, &first, a, out);
}

/* ---- as bytes: each significant field. A new field of a record is added here too: the assertion
 * on its size fails otherwise. */

_Static_assert(sizeof(neo_tensor_rec) == 104, "print_tensors");
_Static_assert(sizeof(neo_size_rec) == 48, "print_sizes");
_Static_assert(sizeof(neo_node) == 20, "print_nodes");
_Static_assert(sizeof(neo_form) == 104 && sizeof(neo_form_access) == 24, "print_form");
_Static_assert(sizeof(neo_stage) == 88 && sizeof(neo_form_out) == 24 && sizeof(neo_form_acc) == 8,
               "print_stage");

static void print_nodes(const neo_module *m, neo_str *s) {
  neo_pack_number(s, m->nodes.n);
  for (size_t k = 1; k < m->nodes.n; k++) {
    const neo_node *n = &m->nodes.at[k];
    uint32_t head[] = {(uint32_t)n->op << 8 | n->type, n->attr, n->arg.n};
    neo_str_addn(s, (const char *)head, sizeof head);
    neo_str_addn(s, (const char *)&m->pool.at[n->arg.at], n->arg.n * sizeof *m->pool.at);
  }
  neo_pack_bytes(s, (const char *)m->constants.at, m->constants.n * sizeof *m->constants.at);
}

static void print_sizes(const neo_module *m, neo_str *s) {
  neo_pack_number(s, m->sizes.n);
  for (size_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *r = &m->sizes.at[k];
    int64_t x[] = {r->kind,  r->lo,        r->hi,    r->loop_index,
                   r->depth, r->has_usual, r->usual, r->value.i};
    neo_str_addn(s, (const char *)x, sizeof x);
  }
}

static void print_tensors(const neo_module *m, neo_str *s) {
  neo_pack_number(s, m->tensors.n);
  for (size_t k = 1; k < m->tensors.n; k++) {
    const neo_tensor_rec *r = &m->tensors.at[k];
    neo_tensor t = {(uint32_t)k}, blocks = neo_tensor_blocks(m, t);
    const neo_rows_rec *rows = neo_rows_at(m, r->rows);
    int64_t x[] = {r->role,      r->type,    r->bound.i, r->least.i,   r->below.i, r->extent.n,
                   r->updates.i, r->partial, r->terms,   r->optimizer, r->inner,   r->moves};
    int64_t y[] = {r->row_role, r->rows.i,   blocks.i,
                   neo_tensor_slots(m, t),
                   rows->kinds, neo_rows_are_chains(rows), r->within.i};
    neo_str_addn(s, (const char *)x, sizeof x);
    neo_str_addn(s, (const char *)y, sizeof y);
    neo_str_addn(s, (const char *)&m->pool.at[r->extent.at], r->extent.n * sizeof *m->pool.at);
    neo_str_addn(s, (const char *)&m->pool.at[r->at.at], r->at.n * sizeof *m->pool.at);
  }
}

static void print_axes(const neo_axis_rec *at, size_t n, neo_str *s) {
  neo_pack_number(s, n);
  for (size_t k = 0; k < n; k++) {
    uint32_t x[] = {at[k].lo.i, at[k].hi.i};
    neo_str_addn(s, (const char *)x, sizeof x);
  }
}

static void print_stage(const neo_stage *t, neo_str *s) {
  uint32_t head[] = {t->over, t->where.i, t->first_acc, (uint32_t)t->accs.n, (uint32_t)t->outs.n};
  print_axes(t->axes.at, t->axes.n, s);
  neo_str_addn(s, (const char *)head, sizeof head);
  for (size_t k = 0; k < t->accs.n; k++) {
    uint32_t x[] = {t->accs.at[k].kind, t->accs.at[k].type, t->accs.at[k].body.i};
    neo_str_addn(s, (const char *)x, sizeof x);
  }
  for (size_t k = 0; k < t->outs.n; k++) {
    const neo_form_out *o = &t->outs.at[k];
    int64_t x[] = {o->tensor.i, o->offset.i, o->value.i, o->row_block};
    neo_str_addn(s, (const char *)x, sizeof x);
  }
}

static void print_form(const neo_form *f, neo_str *s) {
  print_axes(f->axes.at, f->axes.n, s);
  neo_pack_number(s, f->stages.n);
  for (size_t k = 0; k < f->stages.n; k++)
    print_stage(&f->stages.at[k], s);
  neo_pack_number(s, f->n_accs);
  neo_pack_number(s, f->in_order);
  neo_pack_number(s, f->accesses.n);
  for (size_t k = 0; k < f->accesses.n; k++) {
    const neo_form_access *x = &f->accesses.at[k];
    int64_t all[] = {x->tensor.i, x->base, x->closed};
    neo_str_addn(s, (const char *)all, sizeof all);
  }
}

#define PRINT_IDS(s, v)                  \
  do {                                   \
    neo_pack_number((s), (v).n);         \
    for (size_t k = 0; k < (v).n; k++)   \
      neo_pack_number((s), (v).at[k].i); \
  } while (0)

void neo_extract_print(const neo_module *m, const neo_group *g, neo_str *out) {
  neo_pack_number(out, (uint64_t)m->math << 16 | (uint64_t)m->store << 8 | m->recurrent);
  neo_pack_number(out, neo_proofs_most(m));
  print_nodes(m, out);
  print_sizes(m, out);
  print_tensors(m, out);
  PRINT_IDS(out, g->reads);
  PRINT_IDS(out, g->roots);
  PRINT_IDS(out, g->when);
  neo_pack_number(out, (uint64_t)g->cached << 1 | g->in_order);
  print_form(g->form, out);
}
