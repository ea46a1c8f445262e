/* Copies in recurrences: who reads a copy reads what it is of.
 *
 *     H[t, j] = (N[t-1, j] else first[j])
 *     N[t, j] = tanh(x[t, j] + sum[k] H[t, k]*U[k, j])
 *     ->
 *     N[t, j] = tanh(x[t, j] + sum[k] (N[t-1, k] else first[k])*U[k, j])
 *
 * Carries of `scan` and `while` are written as such copies (frontend/sema/loops.c). Without them a round
 * moves no data, and one tensor less is in memory. Outside of recurrences a copy whose first values
 * are not 0 is still read as it is: there it is written once, and its readers would ask at each element
 * whether it is a first one. */
#include "ir/component.h"
#include "transform/transform.h"

typedef struct {
  neo_module *m;
  const uint32_t *number; /* of recurrences, by definition */
  neo_expr *value; /* of a tensor that is a copy, over the axes of its definition; 0: it is none */
  uint32_t *of;    /* by tensor: the number of its recurrence */
  uint32_t reader; /* the number of the recurrence at hand */
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

/* A tensor of one constant is that constant, and so is a copy of one. */
static neo_expr first_value(const copies *c, neo_expr e) {
  enum { MOST_COPIES = 8 };
  neo_expr value = e;
  for (int k = 0; k < MOST_COPIES && !is_constant(c->m, value); k++) {
    const neo_node *n = neo_expr_node(c->m, value);
    uint32_t id;
    const neo_def_rec *d =
        n->op == NEO_OP_LOAD ? plain_def(c->m, (neo_tensor){n->attr}, &id) : NULL;
    if (!d)
      return e;
    value = neo_list_expr(c->m, d->finish, 0);
  }
  return is_constant(c->m, value) ? value : e;
}

static bool is_simple_read(neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  neo_linear l;
  bool simple = n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
  uint32_t rank = simple ? neo_tensor_rank(m, (neo_tensor){n->attr}) : 0;
  for (uint32_t k = 0; simple && k < rank; k++)
    simple = neo_linear_of(m, neo_expr_arg(m, e, k), &l) && l.n <= 1;
  return simple;
}

static bool is_of(const copies *c, neo_expr read, uint32_t number) {
  const neo_node *n = neo_expr_node(c->m, read);
  return c->of[n->attr] == number;
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
  if (!is_simple_read(m, e) || !is_of(c, e, number) || n.attr == t.i)
    return none;
  if (n.op == NEO_OP_LOAD)
    return e;
  neo_expr arg[16], first = first_value(c, neo_expr_arg(m, e, n.arg.n - 1));
  if (!is_constant(m, first) && (!is_simple_read(m, first) || is_of(c, first, number)))
    return none;
  for (uint32_t k = 0; k + 1 < n.arg.n; k++)
    arg[k] = neo_expr_arg(m, e, k);
  return neo_load_else(m, (neo_tensor){n.attr}, arg, n.arg.n - 1, first, n.span);
}

/* ---- who reads it */

static bool is_zero(const neo_module *m, neo_expr e) {
  double x;
  int64_t i;
  return neo_expr_is_float(m, e, &x) ? x == 0 : neo_expr_is_int(m, e, &i) && i == 0;
}

/* May the recurrence at hand, or what is in none, read the value itself? In loops first rounds are apart. */
static bool is_for(const copies *c, neo_expr value) {
  const neo_node *n = neo_expr_node(c->m, value);
  return c->reader || n->op == NEO_OP_LOAD ||
         is_zero(c->m, neo_expr_arg(c->m, value, n->arg.n - 1));
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

static neo_expr forward(void *ctx, neo_module *m, neo_expr e) {
  const copies *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[64];
  if (n.op == NEO_OP_LOAD_ELSE)
    return forward_else(c, e);
  if (n.op != NEO_OP_LOAD || !c->value[n.attr].i || !is_for(c, c->value[n.attr]))
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  return neo_expr_subst_axes(m, c->value[n.attr], index, n.arg.n);
}

/* A copy of a copy. There is an end to it, as each of them reads an earlier element. */
static neo_expr resolved(const copies *c, neo_expr value) {
  enum { MOST = 16 };
  neo_module *m = c->m;
  for (int k = 0; k < MOST && value.i; k++) {
    neo_node n = *neo_expr_node(m, value);
    neo_expr index[64];
    if (n.op == NEO_OP_LOAD_ELSE)
      return forward_else(c, value);
    if (n.op != NEO_OP_LOAD || !c->value[n.attr].i)
      break;
    for (uint32_t i = 0; i < n.arg.n; i++)
      index[i] = neo_list_expr(m, n.arg, i);
    value = neo_expr_subst_axes(m, c->value[n.attr], index, n.arg.n);
  }
  return value;
}

static void find_copies(copies *c, neo_arena *a, uint32_t n_defs) {
  neo_module *m = c->m;
  c->of = NEO_NEW_ARRAY(a, uint32_t, m->tensors.n);
  c->value = NEO_NEW_ARRAY(a, neo_expr, m->tensors.n);
  for (uint32_t k = 1; k < n_defs; k++) {
    neo_list out = neo_def_at(m, (neo_def){k})->out;
    for (uint32_t i = 0; i < out.n && c->number[k]; i++)
      c->of[neo_list_at(m, out, i)] = c->number[k];
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    c->value[t] = copied(c, (neo_tensor){t});
  for (uint32_t t = 1; t < m->tensors.n; t++)
    c->value[t] = resolved(c, c->value[t]);
}

neo_status neo_pass_forward_copies(neo_module *m, const neo_pass_target *target) {
  (void)target;
  neo_arena scratch;
  neo_arena_init(&scratch, m->arena->alloc, m->arena->on_fail);
  uint32_t n_defs = (uint32_t)m->defs.n;
  neo_def *defs = NEO_NEW_ARRAY(&scratch, neo_def, n_defs);
  uint32_t *number = NEO_NEW_ARRAY(&scratch, uint32_t, n_defs);
  for (uint32_t k = 1; k < n_defs; k++)
    defs[k - 1].i = k;
  copies c = {.m = m, .number = number};
  if (neo_recurrences(m, defs, n_defs - 1, &scratch, number)) {
    find_copies(&c, &scratch, n_defs);
    for (uint32_t k = 1; k < n_defs; k++) {
      c.reader = number[k];
      neo_def_rewrite(m, (neo_def){k}, forward, &c);
    }
  }
  neo_arena_free(&scratch);
  return NEO_OK;
}
