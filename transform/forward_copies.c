/* Copies in recurrences: who reads a copy reads what it is of.
 *
 *     H[t, j] = (N[t-1, j] else first[j])
 *     N[t, j] = tanh(x[t, j] + sum[k] H[t, k]*U[k, j])
 *     ->
 *     N[t, j] = tanh(x[t, j] + sum[k] (N[t-1, k] else first[k])*U[k, j])
 *
 * Carries of `scan` and `while` are written as such copies (frontend/sema/loops.c). Without them a round
 * moves no data, and one tensor less is in memory. A copy of a copy reads one round more, so that chains of
 * carries (`next a = b, b = n`) move nothing either; carries that only change places repeat their first values:
 *
 *     A[t, j] = (B[t-1, j] else a[j]),  B[t, j] = (A[t-1, j] else b[j])
 *     ->  A[t, j] = select(t%2 == 0, a[j], b[j]),  B[t, j] = select(t%2 == 0, b[j], a[j])
 *
 * Outside of recurrences a copy whose first values are not 0 is still read as it is: there it is written
 * once, and its readers would ask at each element whether it is a first one. */
#include "ir/component.h"
#include "ir/prove.h"
#include "transform/transform.h"

enum { MOST_COPIES = 8 }; /* of copies */

typedef struct {
  neo_module *m;
  neo_prover *p;
  const uint32_t *number; /* of recurrences, by definition */
  neo_expr *value; /* of a tensor that is a copy, over the axes of its definition; 0: it is none */
  uint32_t *of;    /* by tensor: the number of its recurrence */
  bool *outside;   /* by tensor: a definition outside of its recurrence reads it */
  neo_def reader;  /* at hand */
  neo_arena *a;
} copies;

/* ---- what is a copy */

/* The definition of all of a tensor, whose elements it computes one by one; null: there is none. */
static const neo_def_rec *plain_def(const neo_module *m, neo_tensor t, uint32_t *id) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  if (r->role != NEO_ROLE_TEMP || r->pieces.n != 1)
    return NULL;
  *id = neo_list_at(m, r->pieces, 0);
  const neo_def_rec *d = neo_def_at(m, (neo_def){*id});
  bool plain = d->reducer == NEO_RED_NONE && d->out.n == 1 && !d->out_map.n;
  return plain ? d : NULL;
}

static bool is_constant(const neo_module *m, neo_expr e) {
  return neo_expr_node(m, e)->op == NEO_OP_CONST;
}

static bool is_simple_read(neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  neo_linear l;
  bool simple = neo_node_is_load(n);
  uint32_t rank = simple ? neo_tensor_rank(m, (neo_tensor){n->attr}) : 0;
  for (uint32_t k = 0; simple && k < rank; k++)
    simple = neo_linear_of(m, neo_expr_arg(m, e, k), &l) && l.n <= 1;
  return simple;
}

/* A tensor of one constant is that constant, and an element of a copy is that of what is copied. */
static neo_expr first_value(const copies *c, neo_expr e) {
  neo_module *m = c->m;
  for (int k = 0; k < MOST_COPIES; k++) {
    const neo_node n = *neo_expr_node(m, e);
    neo_expr index[64];
    uint32_t id;
    const neo_def_rec *d = n.op == NEO_OP_LOAD ? plain_def(m, (neo_tensor){n.attr}, &id) : NULL;
    if (!d || c->of[n.attr])
      return e;
    for (uint32_t i = 0; i < n.arg.n; i++)
      index[i] = neo_list_expr(m, n.arg, i);
    neo_expr value = neo_list_expr(m, d->finish, 0);
    bool copy = is_constant(m, value) ||
                (neo_expr_node(m, value)->op == NEO_OP_LOAD && is_simple_read(m, value));
    if (!copy)
      return e;
    e = neo_expr_subst_axes(m, value, index, n.arg.n);
  }
  return e;
}

/* A copy that others read is written where it is computed, in the loop, which may end early: it is a copy of what comes first in
 * each of its runs, too. */
static bool is_kept(const copies *c, neo_tensor t, neo_expr first) {
  return c->outside[t.i] && c->of[neo_expr_node(c->m, first)->attr] == c->of[t.i];
}

/* The value of tensor t, if it is a copy of another tensor of its recurrence, or of what comes first. */
static neo_expr copied(const copies *c, neo_tensor t) {
  neo_module *m = c->m;
  neo_expr none = {0};
  uint32_t id, number = c->of[t.i];
  const neo_def_rec *d = number ? plain_def(m, t, &id) : NULL;
  if (!d)
    return none;
  neo_expr e = neo_list_expr(m, d->finish, 0);
  neo_node n = *neo_expr_node(m, e);
  if (!is_simple_read(m, e) || c->of[n.attr] != number || n.attr == t.i)
    return none;
  if (n.op == NEO_OP_LOAD)
    return e;
  neo_expr arg[16], first = first_value(c, neo_expr_arg(m, e, n.arg.n - 1));
  bool reads = !is_constant(m, first);
  if (reads && (!is_simple_read(m, first) || is_kept(c, t, first)))
    return none;
  for (uint32_t k = 0; k + 1 < n.arg.n; k++)
    arg[k] = neo_expr_arg(m, e, k);
  return neo_load_else(m, (neo_tensor){n.attr}, arg, n.arg.n - 1, first, n.span);
}

/* ---- who reads it */

/* May what is in no recurrence read the value itself? In loops first rounds are apart. */
static bool is_for_others(const copies *c, neo_expr read, neo_expr value) {
  const neo_node *n = neo_expr_node(c->m, value);
  if (n->op == NEO_OP_LOAD || !neo_expr_axes(c->m, neo_expr_arg(c->m, read, 0)))
    return true; /* one round asks once */
  return n->op == NEO_OP_LOAD_ELSE &&
         neo_expr_is_zero(c->m, neo_expr_arg(c->m, value, n->arg.n - 1));
}

/* The tensor that t is a copy of, element by element; 0: of none. */
static neo_tensor whole_of(const copies *c, neo_tensor t) {
  neo_module *m = c->m;
  neo_tensor none = {0};
  if (!c->value[t.i].i)
    return none;
  const neo_node *n = neo_expr_node(m, c->value[t.i]);
  neo_tensor from = {n->attr};
  uint32_t rank = neo_tensor_rank(m, t);
  if (n->op != NEO_OP_LOAD || neo_tensor_rank(m, from) != rank)
    return none;
  for (uint32_t k = 0; k < rank; k++)
    if (neo_list_at(m, n->arg, k) != neo_axis_ref(m, k).i ||
        neo_tensor_extent(m, t, k).i != neo_tensor_extent(m, from, k).i)
      return none;
  return from;
}

/* A read that asks whether the element is there asks the same of the tensor that is copied. */
static neo_expr forward_else(const copies *c, neo_expr e) {
  neo_module *m = c->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor from = whole_of(c, (neo_tensor){n.attr});
  neo_expr arg[64];
  if (!from.i)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  return neo_load_else(m, from, arg, n.arg.n - 1, arg[n.arg.n - 1], n.span);
}

/* Is the element there that is read? 0: always. */
static neo_expr is_there(const copies *c, neo_def reader, neo_expr read) {
  neo_module *m = c->m;
  const neo_node n = *neo_expr_node(m, read);
  neo_expr is = {0}, zero = neo_const_i64(m, 0);
  for (uint32_t k = 0; k + 1 < n.arg.n; k++) {
    neo_expr at = neo_list_expr(m, n.arg, k);
    neo_expr extent = neo_tensor_extent(m, (neo_tensor){n.attr}, k);
    neo_linear l;
    bool own = neo_linear_of(m, at, &l) && l.n == 1 && l.term[0].coef == 1 &&
               neo_expr_node(m, l.term[0].atom)->op == NEO_OP_AXIS;
    if (own) {
      const neo_axis_rec *axis =
          neo_def_axis(m, neo_def_at(m, reader), neo_expr_node(m, l.term[0].atom)->attr);
      own = axis->lo.i == zero.i && axis->hi.i == extent.i;
    }
    if (!own || l.constant < 0)
      is = neo_both(m, is, neo_op2(m, NEO_OP_LE, zero, at));
    if (!own || l.constant > 0)
      is = neo_both(m, is, neo_op2(m, NEO_OP_LT, at, extent));
  }
  return is;
}

/* What is read of a copy, as `value` of the definition that the copy is. */
static neo_expr read_of(const copies *c, neo_def reader, neo_expr read, neo_expr value) {
  neo_module *m = c->m;
  const neo_node n = *neo_expr_node(m, read);
  neo_expr index[64] = {{0}};
  bool otherwise = n.op == NEO_OP_LOAD_ELSE;
  neo_expr is = otherwise ? is_there(c, reader, read) : (neo_expr){0};
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  value = neo_expr_subst_axes(m, value, index, n.arg.n - otherwise);
  return is.i ? neo_op3(m, NEO_OP_SELECT, is, value, index[n.arg.n - 1]) : value;
}

static bool is_read_of_copy(const copies *c, neo_expr e) {
  const neo_node *n = neo_expr_node(c->m, e);
  return neo_node_is_load(n) && c->value[n->attr].i;
}

/* A read in a value of the reader, which is a copy. */
static neo_expr expand(void *ctx, neo_module *m, neo_expr e) {
  const copies *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (!is_read_of_copy(c, e))
    return e;
  if (n.op == NEO_OP_LOAD_ELSE && whole_of(c, (neo_tensor){n.attr}).i)
    return forward_else(c, e);
  return read_of(c, c->reader, e, c->value[n.attr]);
}

static neo_expr forward(void *ctx, neo_module *m, neo_expr e) {
  const copies *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (!is_read_of_copy(c, e))
    return e;
  if (n.op == NEO_OP_LOAD_ELSE && whole_of(c, (neo_tensor){n.attr}).i)
    return forward_else(c, e);
  bool own = c->number[c->reader.i] && c->number[c->reader.i] == c->of[n.attr];
  if (!own && (n.op == NEO_OP_LOAD_ELSE || !is_for_others(c, e, c->value[n.attr])))
    return e;
  return read_of(c, c->reader, e, c->value[n.attr]);
}

static bool reads_copy(const neo_module *m, neo_expr e, const void *c) {
  (void)m;
  return is_read_of_copy(c, e);
}

/* The value of t, which may be a copy of copies, as reads of what is none; 0: it is not found. */
static neo_expr resolved(copies *c, neo_tensor t) {
  neo_expr value = c->value[t.i];
  c->reader = neo_tensor_piece(c->m, t, 0);
  const neo_def_rec *d = neo_def_at(c->m, c->reader);
  neo_axis_rec axes[64];
  neo_facts facts = {axes, d->n_out, NULL, 0};
  for (uint32_t k = 0; k < d->n_out; k++)
    axes[k] = *neo_def_axis(c->m, d, k);
  for (int k = 0; k < MOST_COPIES; k++) {
    if (!neo_expr_any(c->m, value, reads_copy, c))
      return value;
    value = neo_simplify_under(c->p, &facts, neo_expr_rewrite(c->m, value, expand, c));
  }
  return (neo_expr){0};
}

/* Finds the values of all copies. Copies that read each other in a circle, as a carry of a loop in a loop that begins with what it
 * was at the end of the iteration before, are resolved after one of them stays as it is, which is one of few axes: in the
 * outermost loop. */
static neo_expr *resolve(copies *c, neo_arena *a) {
  neo_module *m = c->m;
  for (;;) {
    neo_expr *value = NEO_NEW_ARRAY(a, neo_expr, m->tensors.n);
    neo_tensor kept = {0};
    for (uint32_t t = 1; t < m->tensors.n; t++) {
      value[t] = c->value[t].i ? resolved(c, (neo_tensor){t}) : (neo_expr){0};
      bool open = c->value[t].i && !value[t].i;
      if (open && (!kept.i || neo_tensor_rank(m, (neo_tensor){t}) < neo_tensor_rank(m, kept)))
        kept.i = t;
    }
    if (!kept.i)
      return value;
    c->value[kept.i].i = 0;
  }
}

/* ---- carries that change places */

/* The tensor that t has the elements of in the round before, in the same places, with *first in round 0; 0:
 * there is none. */
static neo_tensor place_before(const copies *c, neo_tensor t, neo_expr *first) {
  neo_module *m = c->m;
  neo_tensor none = {0};
  if (!c->value[t.i].i || neo_expr_node(m, c->value[t.i])->op != NEO_OP_LOAD_ELSE)
    return none;
  const neo_node n = *neo_expr_node(m, c->value[t.i]);
  neo_tensor from = {n.attr};
  neo_expr round = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, 0), neo_const_i64(m, 1));
  neo_linear by;
  bool same = neo_tensor_rank(m, t) == n.arg.n - 1;
  for (uint32_t k = 0; k + 1 < n.arg.n && same; k++) {
    neo_expr at = neo_list_expr(m, n.arg, k), own = k ? neo_axis_ref(m, k) : round;
    same = neo_linear_of(m, neo_op2(m, NEO_OP_SUB, at, own), &by) && !by.n && !by.constant &&
           neo_tensor_extent(m, t, k).i == neo_tensor_extent(m, from, k).i;
  }
  *first = neo_list_expr(m, n.arg, n.arg.n - 1);
  return same && !(neo_expr_axes(m, *first) & 1) ? from : none;
}

/* The value of a tensor in a cycle of carries: their first values, one after the other; 0: it is in none. */
static neo_expr rotated(const copies *c, neo_tensor t) {
  enum { MOST = 8 };
  neo_module *m = c->m;
  neo_expr first[MOST], value = {0};
  uint32_t n = 0;
  neo_tensor from = t;
  do
    from = place_before(c, from, &first[n++]);
  while (from.i && from.i != t.i && n < MOST);
  if (from.i != t.i)
    return value;
  neo_expr position = neo_op2(m, NEO_OP_MOD, neo_axis_ref(m, 0), neo_const_i64(m, n));
  for (uint32_t k = n; k-- > 0;) {
    neo_expr is = neo_op2(m, NEO_OP_EQ, position, neo_const_i64(m, k));
    value = value.i ? neo_op3(m, NEO_OP_SELECT, is, first[k], value) : first[k];
  }
  return value;
}

/* Gives the definitions of such carries these values: they are part of no recurrence then. */
static void write_rotations(copies *c) {
  neo_module *m = c->m;
  uint32_t n = (uint32_t)m->tensors.n, id;
  neo_expr *value = NEO_NEW_ARRAY(c->a, neo_expr, n);
  for (uint32_t t = 1; t < n; t++)
    value[t] = rotated(c, (neo_tensor){t});
  for (uint32_t t = 1; t < n; t++) {
    if (!value[t].i)
      continue;
    (void)plain_def(m, (neo_tensor){t}, &id);
    neo_def_at(m, (neo_def){id})->finish = neo_list_one(m, value[t].i);
    c->value[t].i = 0;
  }
}

static void note_outside(void *ctx, neo_expr e) {
  copies *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (neo_node_is_load(n) && c->number[c->reader.i] != c->of[n->attr])
    c->outside[n->attr] = true;
}

static void find_copies(copies *c, neo_arena *a, uint32_t n_defs) {
  neo_module *m = c->m;
  c->of = NEO_NEW_ARRAY(a, uint32_t, m->tensors.n);
  c->outside = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  c->value = NEO_NEW_ARRAY(a, neo_expr, m->tensors.n);
  for (uint32_t k = 1; k < n_defs; k++) {
    neo_list out = neo_def_at(m, (neo_def){k})->out;
    for (uint32_t i = 0; i < out.n && c->number[k]; i++)
      c->of[neo_list_at(m, out, i)] = c->number[k];
  }
  for (uint32_t k = 1; k < n_defs; k++) {
    c->reader.i = k;
    neo_def_visit(m, c->reader, note_outside, c);
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    c->value[t] = copied(c, (neo_tensor){t});
  write_rotations(c);
  c->value = resolve(c, a);
}

neo_status neo_pass_forward_copies(neo_module *m, const neo_pass_target *target) {
  (void)target;
  neo_arena scratch = neo_arena_scratch(m->arena);
  uint32_t n_defs = (uint32_t)m->defs.n, *number;
  uint32_t n_found = neo_all_recurrences(m, &scratch, &number);
  copies c = {.m = m, .number = number, .a = &scratch};
  if (n_found) {
    c.p = neo_prover_new(m);
    find_copies(&c, &scratch, n_defs);
    for (uint32_t k = 1; k < n_defs; k++) {
      c.reader.i = k;
      neo_def_rewrite(m, (neo_def){k}, forward, &c);
    }
    neo_prover_free(c.p);
  }
  neo_arena_free(&scratch);
  return NEO_OK;
}
