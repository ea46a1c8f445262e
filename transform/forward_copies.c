/* Copy propagation in recurrences: readers of a copy read its source.
 *
 *     H[t, j] = (N[t-1, j] else first[j])
 *     N[t, j] = tanh(x[t, j] + sum[k] H[t, k]*U[k, j])
 *     ->
 *     N[t, j] = tanh(x[t, j] + sum[k] (N[t-1, k] else first[k])*U[k, j])
 *
 * Carries of `scan` and `while` are such copies (frontend/sema/loops.c). Without them an iteration
 * moves no data and one tensor less is stored. A copy of a copy reads one more iteration back, so
 * chains of carries (`next a = b, b = n`) move nothing either. Carries that only rotate repeat
 * their first values:
 *
 *     A[t, j] = (B[t-1, j] else a[j]),  B[t, j] = (A[t-1, j] else b[j])
 *     ->  A[t, j] = select(t%2 == 0, a[j], b[j]),  B[t, j] = select(t%2 == 0, b[j], a[j])
 *
 * Readers outside of the recurrence read a copy whose first values are not 0 unchanged: it is
 * written once, and they would test each element for being a first one. Of a loop that ends early
 * they read its source: most of its iterations may not have run, and these have nothing to copy. */
#include "ir/component.h"
#include "ir/prove/prove.h"
#include "ir/trip_count.h"
#include "transform/transform.h"

enum { MOST_COPIES = 8 }; /* length of a chain */

typedef struct {
  neo_module *m;
  neo_prover *p;
  const uint32_t *number; /* recurrences, by definition */
  neo_expr *value; /* by tensor: the value of a copy over the axes of its definition; 0: no copy */
  uint32_t *of;    /* by tensor: its recurrence */
  bool *outside;   /* by tensor: a definition outside of its recurrence reads it */
  neo_def reader;  /* current reader */
  neo_arena *a;
} copies;

/* ---- finding copies */

/* The elementwise definition of a whole tensor; null: there is none. */
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

/* The element with constants of constant tensors and sources of copies in place. */
static neo_expr first_value(const copies *c, neo_expr e) {
  neo_module *m = c->m;
  for (int k = 0; k < MOST_COPIES; k++) {
    const neo_node n = *neo_expr_node(m, e);
    neo_expr index[NEO_DEF_AXES];
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

/* Readers outside of the recurrence need the copy in memory. The loop, which may exit early, then
 * writes it, and reads it. */
static bool is_kept(const copies *c, neo_tensor t, neo_expr first) {
  return c->outside[t.i] && c->of[neo_expr_node(c->m, first)->attr] == c->of[t.i];
}

/* The value of tensor t, if it copies a tensor of its recurrence or an earlier one. */
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

/* ---- readers */

/* Does a loop that ends early make the tensor, select(alive[.., r], next[.., r], ..)? */
static bool is_kept_while_alive(neo_module *m, neo_tensor t) {
  uint32_t id, rank;
  const neo_def_rec *d = plain_def(m, t, &id);
  neo_node n = d ? *neo_expr_node(m, neo_list_expr(m, d->finish, 0)) : (neo_node){0};
  if (!d || n.op != NEO_OP_SELECT)
    return false;
  neo_node c = *neo_expr_node(m, neo_list_expr(m, n.arg, 0));
  bool ends = false;
  rank = c.op == NEO_OP_LOAD ? c.arg.n : 0;
  for (uint32_t k = 0; k < rank && !ends; k++)
    ends = neo_stays_false(m, (neo_tensor){c.attr}, k);
  return ends;
}

/* May a reader outside of the recurrence read the value? Loops peel their first iterations. */
static bool is_for_others(const copies *c, neo_expr read, neo_expr value) {
  const neo_node *n = neo_expr_node(c->m, value);
  if (n->op == NEO_OP_LOAD || !neo_expr_axes(c->m, neo_expr_arg(c->m, read, 0)))
    return true; /* one iteration tests once */
  if (is_kept_while_alive(c->m, (neo_tensor){n->attr}))
    return true;
  return n->op == NEO_OP_LOAD_ELSE &&
         neo_expr_is_zero(c->m, neo_expr_arg(c->m, value, n->arg.n - 1));
}

/* The tensor that t copies element by element; 0: none. */
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

/* Makes a test for an element of a copy one for its source. */
static neo_expr forward_else(const copies *c, neo_expr e) {
  neo_module *m = c->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor from = whole_of(c, (neo_tensor){n.attr});
  neo_expr arg[NEO_NODE_ARGS];
  if (!from.i)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  return neo_load_else(m, from, arg, n.arg.n - 1, arg[n.arg.n - 1], n.span);
}

/* The condition that the element exists; 0: always. */
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

/* The read of a copy, as its `value` at that position. */
static neo_expr read_of(const copies *c, neo_def reader, neo_expr read, neo_expr value) {
  neo_module *m = c->m;
  const neo_node n = *neo_expr_node(m, read);
  neo_expr index[NEO_DEF_AXES] = {{0}};
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

/* The value of copy t without reads of copies; 0: a cycle of copies. */
static neo_expr resolved(copies *c, neo_tensor t) {
  neo_expr value = c->value[t.i];
  c->reader = neo_tensor_piece(c->m, t, 0);
  const neo_def_rec *d = neo_def_at(c->m, c->reader);
  neo_axis_rec axes[NEO_DEF_AXES];
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

/* The values of all copies. Nested loops can make a cycle of copies: a carry begins with its own
 * last value of the iteration before. A copy of least rank, in an outer loop, then stays a
 * tensor. */
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

/* ---- rotating carries */

/* The tensor whose previous iteration t equals, element by element, with *first in iteration 0; 0:
 * none. */
static neo_tensor place_before(const copies *c, neo_tensor t, neo_expr *first) {
  neo_module *m = c->m;
  neo_tensor none = {0};
  if (!c->value[t.i].i || neo_expr_node(m, c->value[t.i])->op != NEO_OP_LOAD_ELSE)
    return none;
  const neo_node n = *neo_expr_node(m, c->value[t.i]);
  neo_tensor from = {n.attr};
  neo_expr iteration = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, 0), neo_const_i64(m, 1));
  neo_linear by;
  bool same = neo_tensor_rank(m, t) == n.arg.n - 1;
  for (uint32_t k = 0; k + 1 < n.arg.n && same; k++) {
    neo_expr at = neo_list_expr(m, n.arg, k), own = k ? neo_axis_ref(m, k) : iteration;
    same = neo_linear_of(m, neo_op2(m, NEO_OP_SUB, at, own), &by) && !by.n && !by.constant &&
           neo_tensor_extent(m, t, k).i == neo_tensor_extent(m, from, k).i;
  }
  *first = neo_list_expr(m, n.arg, n.arg.n - 1);
  return same && !(neo_expr_axes(m, *first) & 1) ? from : none;
}

/* The value of a tensor in a cycle of carries: their first values in turn; 0: it is in none. */
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

/* Writes these values; the definitions leave the recurrence. */
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

neo_status neo_pass_forward_copies(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  copies c = {.m = m, .p = pass->p, .number = pass->number, .a = pass->a};
  if (pass->n_recurrences) {
    find_copies(&c, pass->a, pass->n_defs);
    for (uint32_t k = 1; k < pass->n_defs; k++) {
      c.reader.i = k;
      neo_def_rewrite(m, (neo_def){k}, forward, &c);
    }
  }
  return NEO_OK;
}
