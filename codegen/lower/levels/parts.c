/* See parts.h. */
#include "codegen/lower/levels/parts.h"
#include <assert.h>

/* ---- the kernel */

static bool has(const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->roots.n; k++)
    if (g->roots.at[k].i == t.i)
      return true;
  return false;
}

static uint32_t add_buffer(const level_kernel *x, neo_tensor t, uint8_t use) {
  const neo_tensor_rec *r = neo_tensor_at(x->m, t);
  for (uint32_t b = 0; b < x->k->bufs.n; b++)
    if (x->k->bufs.at[b].tensor.i == t.i)
      return b;
  return neo_kernel_buf(x->k, (neo_kbuf){.name = neo_name_text(x->m->names, r->name),
                                         .type = r->type,
                                         .use = use,
                                         .tensor = t,
                                         .no_alias = true,
                                         .align = neo_type_bytes((neo_type)r->type)});
}

static uint32_t add_table(const level_kernel *x, neo_tensor t) {
  return has(x->g, t) ? add_buffer(x, t, NEO_BUF_READ | NEO_BUF_WRITE) : LEVELS_NO_BUF;
}

static uint32_t add_read(const level_kernel *x, neo_list loads, uint32_t k) {
  const neo_node *n = neo_expr_node(x->m, neo_list_expr(x->m, loads, k));
  return add_buffer(x, (neo_tensor){n->attr}, NEO_BUF_READ);
}

/* An expression over sizes. */
static const neo_lx *number_of(const level_kernel *x, neo_expr e) {
  neo_node n = *neo_expr_node(x->m, e);
  const neo_lx *arg[3];
  int64_t c;
  if (neo_expr_is_int(x->m, e, &c))
    return neo_lx_int(x->k, c);
  if (n.op == NEO_OP_SIZE) {
    neo_size s = {n.attr};
    const neo_size_rec *r = neo_size_at(x->m, s);
    return r->kind == NEO_SIZE_DERIVED ? number_of(x, r->value)
                                       : neo_lx_size(x->k, neo_size_number(x->m, s));
  }
  assert(n.arg.n <= 3 && "an expression over sizes");
  for (uint32_t i = 0; i < n.arg.n; i++)
    arg[i] = number_of(x, neo_list_expr(x->m, n.arg, i));
  return neo_lx_op(x->k, (neo_op)n.op, (neo_type)n.type, arg, n.arg.n);
}

/* Adds the list's tables of parents, which exist together. */
static void add_list(const level_kernel *x, const neo_row_list *l, level_list *out) {
  uint8_t use = NEO_BUF_READ | NEO_BUF_WRITE;
  bool parents = l->end.i &&
                 (has(x->g, l->end) || has(x->g, l->edge) || (l->parent.i && has(x->g, l->parent)));
  out->placed = add_table(x, l->placed);
  out->end = parents ? add_buffer(x, l->end, use) : LEVELS_NO_BUF;
  out->edge = parents ? add_buffer(x, l->edge, use) : LEVELS_NO_BUF;
  out->parent = parents && l->parent.i ? add_buffer(x, l->parent, use) : LEVELS_NO_BUF;
}

level_kernel level_kernel_begin(neo_module *m, const neo_group *g, neo_arena *a) {
  neo_def_rec d = *neo_def_at(m, g->members.at[0].def);
  level_kernel x = {.m = m, .g = g, .rows = neo_rows_at(m, g->levels)};
  x.k = neo_kernel_new(a, g->name);
  x.k->span = d.span;
  neo_kernel_name_sizes(x.k, m);
  x.n = number_of(&x, neo_def_axis(m, &d, 0)->hi);
  x.n = neo_lx_op2(x.k, NEO_OP_MAX, x.n, neo_lx_int(x.k, 0));
  for (uint32_t i = 0; i < x.rows->n_lists; i++)
    x.list[i] = (level_list){.slots = x.rows->list[i].slots, .child = add_read(&x, d.body, i)};
  if (x.rows->kinds > 1)
    x.kind = add_read(&x, d.body, x.rows->n_lists);
  for (uint32_t i = 0, at = x.rows->n_lists + (x.rows->kinds > 1); i < x.rows->n_lists; i++)
    x.list[i].begin = x.rows->list[i].begin.i ? add_read(&x, d.body, at++) : LEVELS_NO_BUF;
  for (uint32_t i = 0; i < x.rows->n_lists; i++) {
    neo_tensor child = x.k->bufs.at[x.list[i].child].tensor;
    if (!lv_has_slots(&x.list[i]))
      x.list[i].edges = number_of(&x, neo_tensor_extent(m, child, 0));
  }
  x.level = add_table(&x, x.rows->level);
  x.first = add_table(&x, x.rows->first);
  x.place = add_table(&x, x.rows->place);
  x.vertex = add_table(&x, x.rows->vertex);
  x.placed_kind = add_table(&x, x.rows->kind);
  for (uint32_t i = 0; i < x.rows->n_lists; i++)
    add_list(&x, &x.rows->list[i], &x.list[i]);
  return x;
}

/* ---- expressions and statements */

const neo_lx *lv_load(const level_kernel *x, uint32_t buf, const neo_lx *at) {
  return neo_lx_cast(x->k, NEO_I64_T, neo_lx_load(x->k, buf, at));
}

void lv_store(const level_kernel *x, neo_block *in, uint32_t buf, const neo_lx *at,
              const neo_lx *value) {
  neo_ls_store(x->k, in, buf, at, neo_lx_cast(x->k, NEO_I32_T, value), NULL);
}

uint32_t lv_reg(const level_kernel *x, neo_block *in, const char *name, int64_t threads) {
  neo_reg r = {.name = name, .type = NEO_I64_T, .rank = 1, .extent = {1}, .threads = threads};
  uint32_t reg = neo_kernel_reg(x->k, r);
  neo_ls_reg(x->k, in, reg);
  return reg;
}

const neo_lx *lv_get(const level_kernel *x, uint32_t reg) {
  const neo_lx *zero = neo_lx_int(x->k, 0);
  return neo_lx_reg(x->k, reg, &zero, 1);
}

void lv_set(const level_kernel *x, neo_block *in, uint32_t reg, const neo_lx *value) {
  const neo_lx *zero = neo_lx_int(x->k, 0);
  neo_ls_set(x->k, in, reg, &zero, 1, value);
}

const neo_lx *lv_store_value(const level_kernel *x, neo_block *in, const char *name,
                             const neo_lx *value) {
  uint32_t reg = lv_reg(x, in, name, 0);
  lv_set(x, in, reg, value);
  return lv_get(x, reg);
}

neo_block *lv_loop(const level_kernel *x, neo_block *in, neo_loop_kind kind, const char *name,
                   const neo_lx *lo, const neo_lx *hi, const neo_lx **var) {
  uint32_t v = neo_kernel_var(x->k, name);
  *var = neo_lx_var(x->k, v);
  return &neo_ls_for(x->k, in, kind, v, lo, hi, 1)->loop.body;
}

neo_block *lv_if(const level_kernel *x, neo_block *in, const neo_lx *cond) {
  return &neo_ls_if(x->k, in, cond)->branch.then;
}

const neo_lx *lv_first_edge(const level_kernel *x, const level_list *l, const neo_lx *v) {
  return lv_has_slots(l) ? lv_mul(x, v, l->slots) : lv_load(x, l->begin, v);
}

/* The loop over slots, or over edges; *at is the edge. */
static neo_block *open_slots(const level_kernel *x, neo_block *in, const level_list *l,
                             const neo_lx *v, level_slot *s, const neo_lx **at) {
  enum { MOST_UNROLLED = 4 };
  neo_loop_kind kind = l->slots <= MOST_UNROLLED ? NEO_LOOP_UNROLL : NEO_LOOP_SERIAL;
  const neo_lx *from = lv_first_edge(x, l, v);
  s->slot = lv_int(x, 0);
  if (!lv_has_slots(l)) {
    const neo_lx *to = lv_first_edge(x, l, lv_add(x, v, lv_int(x, 1)));
    in = lv_loop(x, in, NEO_LOOP_SERIAL, "e", from, to, &s->slot);
    *at = s->slot;
    return in;
  }
  if (l->slots > 1)
    in = lv_loop(x, in, kind, "k", lv_int(x, 0), lv_int(x, l->slots), &s->slot);
  *at = lv_add(x, from, s->slot);
  return in;
}

level_slot lv_slots(const level_kernel *x, neo_block *in, const level_list *l, const neo_lx *v) {
  level_slot s;
  const neo_lx *at;
  in = open_slots(x, in, l, v, &s, &at);
  s.child = lv_store_value(x, in, "child", lv_load(x, l->child, at));
  neo_ls *branch = neo_ls_if(x->k, in, neo_lx_op2(x->k, NEO_OP_LE, lv_int(x, 0), s.child));
  s.there = &branch->branch.then;
  s.none = &branch->branch.otherwise;
  return s;
}

static const neo_lx *slot_at(const level_kernel *x, const level_list *l, const level_slot *s,
                             const neo_lx *place) {
  return lv_has_slots(l) ? lv_add(x, lv_mul(x, place, l->slots), s->slot) : s->slot;
}

void lv_store_child(const level_kernel *x, const level_list *l, const level_slot *s,
                    const neo_lx *place) {
  const neo_lx *at = slot_at(x, l, s, place);
  if (l->placed == LEVELS_NO_BUF)
    return;
  lv_store(x, s->there, l->placed, at, lv_load(x, x->place, s->child));
  if (lv_has_slots(l))
    lv_store(x, s->none, l->placed, at, lv_int(x, -1));
}

void lv_store_edge(const level_kernel *x, neo_block *in, const level_list *l, const level_slot *s,
                   const neo_lx *place, const neo_lx *at) {
  lv_store(x, in, l->edge, at, slot_at(x, l, s, place));
  if (l->parent != LEVELS_NO_BUF)
    lv_store(x, in, l->parent, at, place);
}

void lv_store_place(const level_kernel *x, neo_block *in, const neo_lx *v, const neo_lx *place) {
  const neo_lx *kinds = lv_int(x, x->rows->kinds);
  lv_store(x, in, x->place, v, place);
  if (x->vertex != LEVELS_NO_BUF)
    lv_store(x, in, x->vertex, place, v);
  if (x->placed_kind != LEVELS_NO_BUF)
    lv_store(x, in, x->placed_kind, place,
             neo_lx_op2(x->k, NEO_OP_MOD, lv_load(x, x->level, v), kinds));
}

void lv_saturate(const level_kernel *x, neo_block *in, const neo_lx *used) {
  const neo_lx *b, *last = lv_mul(x, x->n, x->rows->kinds);
  const neo_lx *hi = neo_lx_op2(x->k, NEO_OP_MAX, used, lv_int(x, NEO_SATURATED));
  hi = neo_lx_op2(x->k, NEO_OP_MIN, lv_add(x, hi, lv_int(x, 1)), last);
  neo_block *body = lv_loop(x, in, NEO_LOOP_SERIAL, "b", used, hi, &b);
  lv_store(x, body, x->first, b, x->n);
  lv_store(x, in, x->first, last, x->n);
}
