/* Words of definitions; see structure.h. Constants are those of linear forms of indices: 2*k + 3
 * and 2*k + 5 match, and so do k (k + 0) and k + 1. Other integer expressions (conditions, bounds,
 * operands of quotients) must be equal. */
#include "transform/structure.h"
#include <string.h>

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_structure *out;
  neo_map seen; /* node -> its number: shared nodes are written once */
} writer;

static void put(writer *w, uint32_t x) {
  NEO_PUSH(w->a, &w->out->words, x);
}

static void put_index(writer *w, neo_expr e) {
  neo_linear l;
  if (!neo_linear_of(w->m, e, &l)) {
    put(w, UINT32_MAX);
    put(w, e.i);
    NEO_PUSH(w->a, &w->out->constants, 0);
    return;
  }
  put(w, l.n);
  for (uint32_t k = 0; k < l.n; k++) {
    put(w, l.term[k].atom.i);
    put(w, (uint32_t)l.term[k].coef);
    put(w, (uint32_t)((uint64_t)l.term[k].coef >> 32));
  }
  NEO_PUSH(w->a, &w->out->constants, l.constant);
}

static void put_tensor_shape(writer *w, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(w->m, t);
  put(w, r->type);
  put(w, r->extent.n);
}

/* Writes nodes by content, not by identity. */
static void put_expr(writer *w, neo_expr e) {
  const neo_node n = *neo_expr_node(w->m, e);
  uint64_t number;
  if (n.type == NEO_I64_T || !neo_expr_has_loads(w->m, e)) {
    put(w, UINT32_MAX - 1);
    put(w, e.i);
    return;
  }
  if (neo_map_get(&w->seen, e.i, &number)) {
    put(w, UINT32_MAX - 2);
    put(w, (uint32_t)number);
    return;
  }
  neo_map_set(&w->seen, e.i, w->seen.n);
  put(w, n.op);
  put(w, n.type);
  bool load = neo_node_is_load(&n);
  if (!load) {
    put(w, n.attr);
    put(w, n.arg.n);
    for (uint32_t k = 0; k < n.arg.n; k++)
      put_expr(w, neo_list_expr(w->m, n.arg, k));
    return;
  }
  neo_tensor t = {n.attr};
  uint32_t rank = neo_tensor_rank(w->m, t);
  neo_structure_read r = {t, e, (uint32_t)w->out->constants.n};
  put_tensor_shape(w, t);
  for (uint32_t k = 0; k < rank; k++)
    put_index(w, neo_list_expr(w->m, n.arg, k));
  NEO_PUSH(w->a, &w->out->reads, r);
  for (uint32_t k = rank; k < n.arg.n; k++)
    put_expr(w, neo_list_expr(w->m, n.arg, k));
}

static void put_exprs(writer *w, neo_list l) {
  put(w, l.n);
  for (uint32_t k = 0; k < l.n; k++)
    put_expr(w, neo_list_expr(w->m, l, k));
}

neo_structure neo_structure_of(neo_module *m, neo_arena *a, neo_def d, neo_structure_part part) {
  neo_structure out = {0};
  writer w = {.m = m, .a = a, .out = &out};
  const neo_def_rec r = *neo_def_at(m, d);
  neo_map_init(&w.seen, a);
  put(&w, r.axes.n);
  put(&w, r.n_out);
  put(&w, r.where.i);
  put(&w, r.reducer);
  put(&w, r.out.n);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    put(&w, neo_def_axis(m, &r, k)->lo.i);
    put(&w, neo_def_axis(m, &r, k)->hi.i);
  }
  put_exprs(&w, r.body);
  if (part == NEO_STRUCTURE_REDUCTION)
    return out;
  put_exprs(&w, r.finish);
  for (uint32_t k = 0; k < r.out.n; k++) {
    neo_tensor t = {neo_list_at(m, r.out, k)};
    put_tensor_shape(&w, t);
    put(&w, neo_tensor_at(m, t)->bound.i);
    put(&w, neo_tensor_at(m, t)->least.i);
    put(&w, neo_tensor_at(m, t)->below.i);
  }
  return out;
}

bool neo_structure_matches(const neo_structure *x, const neo_structure *y) {
  if (x->words.n != y->words.n || x->reads.n != y->reads.n)
    return false;
  if (memcmp(x->words.at, y->words.at, x->words.n * sizeof *x->words.at) != 0)
    return false;
  for (size_t k = 0; k < x->reads.n; k++)
    if (x->reads.at[k].tensor.i != y->reads.at[k].tensor.i)
      return false;
  return true;
}

/* ---- the expression of all members */

typedef struct {
  const neo_structure_family *f;
  neo_map done;
} rebuilder;

static const neo_structure_read *read_of(const neo_structure *form, neo_expr load) {
  for (size_t k = 0; k < form->reads.n; k++)
    if (form->reads.at[k].load.i == load.i)
      return &form->reads.at[k];
  return NULL;
}

static neo_expr moved(const neo_structure_family *f, neo_expr e, int64_t step) {
  neo_expr x = neo_expr_subst_axes(f->m, e, f->by, f->n);
  if (!step)
    return x;
  neo_expr by = neo_op2(f->m, NEO_OP_MUL, f->t, neo_const_i64(f->m, step));
  return neo_op2(f->m, NEO_OP_ADD, by, x);
}

static neo_expr rebuild(rebuilder *r, neo_expr e) {
  const neo_structure_family *f = r->f;
  const neo_node n = *neo_expr_node(f->m, e);
  neo_expr arg[24];
  uint64_t made;
  if (n.type == NEO_I64_T || !neo_expr_has_loads(f->m, e))
    return neo_expr_subst_axes(f->m, e, f->by, f->n);
  if (neo_map_get(&r->done, e.i, &made))
    return (neo_expr){(uint32_t)made};
  bool load = neo_node_is_load(&n);
  const neo_structure_read *read = load ? read_of(f->form, e) : NULL;
  uint32_t rank = load ? neo_tensor_rank(f->m, (neo_tensor){n.attr}) : 0;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    neo_expr x = neo_list_expr(f->m, n.arg, k);
    arg[k] = k < rank ? moved(f, x, read ? f->step[read->first + k] : 0) : rebuild(r, x);
  }
  neo_expr y = neo_expr_make(f->m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
  neo_map_set(&r->done, e.i, y.i);
  return y;
}

neo_expr neo_structure_member(const neo_structure_family *f, neo_arena *a, neo_expr e) {
  rebuilder r = {.f = f, .done = neo_map_in(a)};
  return rebuild(&r, e);
}
