/* Queries on reads of instances: producers of elements, and distances between positions. */
#include "fusion/recurrence/internal.h"
#include "ir/out_map.h"

/* ---- positions */

neo_expr outline_number(const outliner *o, int64_t x) {
  return neo_const_int(o->m, NEO_I64_T, x);
}

bool outline_distance(const outliner *o, neo_expr a, neo_expr b, int64_t *x) {
  neo_linear l;
  if (!neo_linear_of(o->m, neo_op2(o->m, NEO_OP_SUB, a, b), &l) || l.n)
    return false;
  *x = l.constant;
  return true;
}

neo_expr outline_sum(const outliner *o, neo_expr a, neo_expr b) {
  return neo_op2(o->m, NEO_OP_ADD, a, b);
}

neo_expr outline_difference(const outliner *o, neo_expr a, neo_expr b) {
  neo_linear l;
  neo_expr e = neo_op2(o->m, NEO_OP_SUB, a, b);
  return neo_linear_of(o->m, e, &l) ? neo_linear_expr(o->m, &l) : e;
}

bool outline_holds(const outliner *o, neo_expr goal) {
  neo_facts facts = {NULL, 0, o->assume.at, (uint32_t)o->assume.n};
  return neo_prove(o->p, &facts, goal, NULL) == NEO_PROVED;
}

bool outline_at_most(const outliner *o, neo_expr a, neo_expr b) {
  return outline_holds(o, neo_op2(o->m, NEO_OP_LE, a, b));
}

neo_expr outline_max(const outliner *o, neo_expr a, neo_expr b) {
  return outline_at_most(o, b, a)   ? a
         : outline_at_most(o, a, b) ? b
                                    : neo_op2(o->m, NEO_OP_MAX, a, b);
}

neo_expr outline_min(const outliner *o, neo_expr a, neo_expr b) {
  return outline_at_most(o, a, b)   ? a
         : outline_at_most(o, b, a) ? b
                                    : neo_op2(o->m, NEO_OP_MIN, a, b);
}

/* ---- expressions of a definition */

neo_list outline_map_list(const outliner *o, neo_list from, neo_expr (*f)(void *ctx, neo_expr e),
                          void *ctx) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < from.n; k++)
    id[k] = f(ctx, neo_list_expr(o->m, from, k)).i;
  return neo_list_new(o->m, id, from.n);
}

void outline_map(const outliner *o, neo_def_rec *r, neo_expr (*f)(void *ctx, neo_expr e),
                 void *ctx) {
  if (r->where.i)
    r->where = f(ctx, r->where);
  r->body = outline_map_list(o, r->body, f, ctx);
  r->finish = outline_map_list(o, r->finish, f, ctx);
}

void outline_visit(const outliner *o, const neo_def_rec *r, void (*f)(void *ctx, neo_expr e),
                   void *ctx) {
  if (r->where.i)
    neo_expr_visit(o->m, r->where, f, ctx);
  for (uint32_t k = 0; k < r->body.n; k++)
    neo_expr_visit(o->m, neo_list_expr(o->m, r->body, k), f, ctx);
  for (uint32_t k = 0; k < r->finish.n; k++)
    neo_expr_visit(o->m, neo_list_expr(o->m, r->finish, k), f, ctx);
}

/* ---- reads */

typedef struct {
  const outliner *o;
  uint32_t n_axes;
  void (*f)(void *ctx, neo_expr read, uint32_t n_axes);
  void *ctx;
} read_walk;

static void call_read(void *ctx, neo_expr e) {
  read_walk *w = ctx;
  if (outline_is_read(neo_expr_node(w->o->m, e)))
    w->f(w->ctx, e, w->n_axes);
}

static void walk(read_walk *w, neo_expr e, uint32_t n_axes) {
  w->n_axes = n_axes;
  if (e.i)
    neo_expr_visit(w->o->m, e, call_read, w);
}

void outline_reads(const outliner *o, const outline_instance *x,
                   void (*f)(void *ctx, neo_expr read, uint32_t n_axes), void *ctx) {
  read_walk w = {o, 0, f, ctx};
  neo_def_rec r = x->rec;
  for (uint32_t k = 0; k < r.axes.n; k++) {
    walk(&w, neo_def_axis(o->m, &r, k)->lo, k);
    walk(&w, neo_def_axis(o->m, &r, k)->hi, k);
  }
  walk(&w, r.where, r.axes.n);
  for (uint32_t k = 0; k < r.body.n; k++)
    walk(&w, neo_list_expr(o->m, r.body, k), r.axes.n);
  for (uint32_t k = 0; k < r.finish.n; k++)
    walk(&w, neo_list_expr(o->m, r.finish, k), r.n_out);
  for (size_t k = 0; k < x->needed.n; k++)
    walk(&w, x->needed.at[k], 0);
}

/* ---- proofs */

bool outline_proved(const outliner *o, const outline_instance *x, uint32_t n_axes, neo_expr goal) {
  neo_axis_rec axes[OUTLINE_AXES];
  neo_expr *assume = NEO_NEW_ARRAY(o->a, neo_expr, x->n_assume + x->row_facts.n + 1);
  neo_facts facts = {axes, n_axes, assume, x->n_assume};
  for (uint32_t k = 0; k < n_axes; k++)
    axes[k] = *neo_def_axis(o->m, &x->rec, k);
  for (uint32_t k = 0; k < x->n_assume; k++)
    assume[k] = x->assume[k];
  for (size_t k = 0; k < x->row_facts.n; k++)
    if (!(neo_expr_axes(o->m, x->row_facts.at[k]) >> n_axes))
      assume[facts.n_assume++] = x->row_facts.at[k];
  if (x->rec.where.i && n_axes == x->rec.axes.n)
    assume[facts.n_assume++] = x->rec.where;
  return neo_prove(o->p, &facts, goal, NULL) == NEO_PROVED;
}

/* ---- producers of elements */

typedef enum { INSIDE, OUTSIDE, PERHAPS } where_read;

static where_read on_axis(const outliner *o, const outline_instance *p, uint32_t axis,
                          const outline_instance *x, uint32_t n_axes, neo_expr read) {
  neo_module *m = o->m;
  int64_t d;
  if (!p->extent[axis].i)
    return INSIDE; /* the instance has the whole axis */
  neo_expr base = p->base[axis], at = neo_expr_arg(m, read, axis);
  if (p->rec.out_map.n) {
    neo_out_dim map = neo_out_map_at(m, p->rec.out_map, axis);
    base = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, base, outline_number(o, map.stride)),
                   outline_number(o, map.offset));
  }
  if (p->fixed[axis] && outline_distance(o, at, base, &d))
    return d == 0 ? INSIDE : OUTSIDE;
  neo_expr end = neo_op2(m, NEO_OP_ADD, base, p->extent[axis]);
  if (outline_proved(o, x, n_axes, neo_op2(m, NEO_OP_LT, at, base)) ||
      outline_proved(o, x, n_axes, neo_op2(m, NEO_OP_LE, end, at)))
    return OUTSIDE;
  if (outline_proved(o, x, n_axes, neo_op2(m, NEO_OP_LE, base, at)) &&
      outline_proved(o, x, n_axes, neo_op2(m, NEO_OP_LT, at, end)))
    return INSIDE;
  return PERHAPS;
}

static where_read in_instance(const outliner *o, const outline_instance *p,
                              const outline_instance *x, uint32_t n_axes, neo_expr read) {
  neo_tensor t = {neo_expr_node(o->m, read)->attr};
  where_read all = INSIDE;
  for (uint32_t k = 0; k < p->rec.n_out; k++) {
    where_read one = on_axis(o, p, k, x, n_axes, read);
    if (one == OUTSIDE)
      return OUTSIDE;
    all = one == PERHAPS ? PERHAPS : all;
  }
  return p->rec.out_map.n || neo_tensor_at(o->m, t)->pieces.n != 1 ? PERHAPS : all;
}

bool outline_may_make(const outliner *o, const outline_instance *p, const outline_instance *x,
                      uint32_t n_axes, neo_expr read) {
  return in_instance(o, p, x, n_axes, read) != OUTSIDE;
}

int outline_producer(const outliner *o, const outline_open *open, const outline_instance *x,
                     uint32_t n_axes, neo_expr read) {
  uint32_t t = neo_expr_node(o->m, read)->attr;
  int found = OUTLINE_MEMORY;
  for (size_t k = 0; k < open->n; k++) {
    if (!outline_makes(o, open->at[k], t))
      continue;
    where_read w = in_instance(o, open->at[k], x, n_axes, read);
    if (w == INSIDE)
      return (int)k;
    found = w == PERHAPS ? OUTLINE_UNKNOWN : found;
  }
  return found;
}

/* ---- arrays by tensor, and trees */

void outline_grow(outliner *o) {
  outliner from = *o;
  size_t n = o->room;
  o->room = o->m->tensors.n;
  o->own = NEO_NEW_ARRAY(o->a, bool, o->room);
  o->stored = NEO_NEW_ARRAY(o->a, bool, o->room);
  o->storage = NEO_NEW_ARRAY(o->a, outline_storage, o->room);
  for (size_t t = 0; t < n; t++) {
    o->own[t] = from.own[t];
    o->stored[t] = from.stored[t];
    o->storage[t] = from.storage[t];
  }
}

bool neo_recurrence_asks(const neo_module *m, const neo_tree *t) {
  return (t->kind == NEO_TREE_GUARD || t->kind == NEO_TREE_EXIT) &&
         outline_is_read(neo_expr_node(m, t->condition));
}

neo_expr neo_recurrence_exit(const neo_tree *band) {
  const neo_tree *child = band->children.at[0];
  bool many = child->kind == NEO_TREE_SEQUENCE && child->children.n;
  const neo_tree *first = many ? child->children.at[0] : child;
  return first->kind == NEO_TREE_EXIT ? first->condition : (neo_expr){0};
}
