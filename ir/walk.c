/* Walks over expressions and definitions.
 *
 * Expressions are directed acyclic graphs whose arguments have smaller ids, possibly deep, so
 * walks keep their own stack, and mark nodes with the number of the walk. A walk may start another
 * from its callback: each level of nesting has its own marks, kept by the module for the next
 * walk. */
#include "ir/ir.h"
#include <assert.h>
#include <string.h>

typedef struct walk {
  struct walk *deeper; /* marks of a walk inside this one */
  uint32_t epoch, n;   /* marks for ids below n */
  uint32_t *mark;      /* epoch: done */
  uint32_t *value;     /* rewritten id, where marked */
  NEO_VEC(uint32_t) stack;
} walk;

struct neo_walks {
  walk *first;
  walk **next; /* points to the pointer to the marks of the next nested walk */
};

static walk *walk_begin(const neo_module *m, uint32_t n) {
  neo_module *own = (neo_module *)m; /* marks are not part of the module's contents */
  if (!own->walks) {
    own->walks = NEO_NEW(m->arena, struct neo_walks);
    own->walks->next = &own->walks->first;
  }
  walk *w = *own->walks->next;
  if (!w)
    w = *own->walks->next = NEO_NEW(m->arena, walk);
  own->walks->next = &w->deeper;
  if (n > w->n) {
    w->n = n + n / 2 + 64;
    w->mark = NEO_NEW_ARRAY(m->arena, uint32_t, w->n);
    w->value = NEO_NEW_ARRAY(m->arena, uint32_t, w->n);
    w->epoch = 0;
  }
  if (++w->epoch == 0) {
    memset(w->mark, 0, w->n * sizeof *w->mark);
    w->epoch = 1;
  }
  w->stack.n = 0;
  return w;
}

static void walk_end(const neo_module *m, walk *w) {
  walk **at = &m->walks->first;
  while (*at != w)
    at = &(*at)->deeper;
  m->walks->next = at;
}

static bool seen(const walk *w, uint32_t id) {
  return w->mark[id] == w->epoch;
}

/* Pushes the arguments of the top node that are not done; false if there are none. */
static bool push_args(const neo_module *m, walk *w) {
  const neo_node *n = &m->nodes.at[w->stack.at[w->stack.n - 1]];
  size_t before = w->stack.n;
  for (uint32_t k = n->arg.n; k > 0; k--) {
    uint32_t a = m->pool.at[n->arg.at + k - 1];
    if (!seen(w, a))
      NEO_PUSH(m->arena, &w->stack, a);
  }
  return w->stack.n > before;
}

/* The next node whose arguments are done, marked done itself; 0 at the end. */
static uint32_t walk_next(const neo_module *m, walk *w) {
  while (w->stack.n) {
    uint32_t id = w->stack.at[w->stack.n - 1];
    if (seen(w, id)) {
      w->stack.n--;
    } else if (!push_args(m, w)) {
      w->stack.n--;
      w->mark[id] = w->epoch;
      return id;
    }
  }
  return 0;
}

static void walk_from(const neo_module *m, walk *w, neo_expr e) {
  if (e.i)
    NEO_PUSH(m->arena, &w->stack, e.i);
}

void neo_expr_visit(const neo_module *m, neo_expr e, void (*f)(void *ctx, neo_expr e), void *ctx) {
  walk *w = walk_begin(m, e.i + 1);
  walk_from(m, w, e);
  for (uint32_t id; (id = walk_next(m, w)) != 0;)
    f(ctx, (neo_expr){id});
  walk_end(m, w);
}

bool neo_expr_any(const neo_module *m, neo_expr e, neo_expr_is *is, const void *x) {
  bool found = false;
  walk *w = walk_begin(m, e.i + 1);
  walk_from(m, w, e);
  for (uint32_t id; !found && (id = walk_next(m, w)) != 0;)
    found = is(m, (neo_expr){id}, x);
  walk_end(m, w);
  return found;
}

/* ---- rewriting */

typedef neo_expr rewriter(void *ctx, neo_module *m, neo_expr e);

/* The node with its arguments replaced by their values in w. */
static neo_expr rebuild(neo_module *m, const walk *w, uint32_t id) {
  neo_node n = m->nodes.at[id];
  neo_expr small[16], *arg = small;
  bool same = true;
  if (n.arg.n > 16)
    arg = NEO_NEW_ARRAY(m->arena, neo_expr, n.arg.n);
  for (uint32_t k = 0; k < n.arg.n; k++) {
    uint32_t a = m->pool.at[n.arg.at + k];
    arg[k].i = w->value[a];
    same = same && arg[k].i == a;
  }
  if (same)
    return (neo_expr){id};
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
}

static neo_expr rewrite_in(neo_module *m, walk *w, neo_expr e, rewriter *f, void *ctx) {
  walk_from(m, w, e);
  for (uint32_t id; (id = walk_next(m, w)) != 0;) {
    neo_expr y = rebuild(m, w, id);
    /* A node that folded consists of arguments that were rewritten already: it is not rewritten
     * again. */
    bool folded = neo_expr_node(m, y)->op != m->nodes.at[id].op;
    w->value[id] = folded ? y.i : f(ctx, m, y).i;
  }
  return (neo_expr){e.i ? w->value[e.i] : 0};
}

neo_expr neo_expr_rewrite(neo_module *m, neo_expr e, rewriter *f, void *ctx) {
  walk *w = walk_begin(m, e.i + 1);
  neo_expr y = rewrite_in(m, w, e, f, ctx);
  walk_end(m, w);
  return y;
}

typedef struct {
  const neo_expr *by;
  uint32_t n;
} axis_subst;

static neo_expr subst_axis(void *ctx, neo_module *m, neo_expr e) {
  const axis_subst *s = ctx;
  const neo_node *n = neo_expr_node(m, e);
  bool hit = n->op == NEO_OP_AXIS && n->attr < s->n && s->by[n->attr].i;
  return hit ? s->by[n->attr] : e;
}

neo_expr neo_expr_subst_axes(neo_module *m, neo_expr e, const neo_expr *by, uint32_t n) {
  axis_subst s = {by, n};
  uint64_t replaced = 0;
  for (uint32_t k = 0; k < n; k++)
    if (by[k].i)
      replaced |= 1ULL << (k < 63 ? k : 63);
  return neo_expr_axes(m, e) & replaced ? neo_expr_rewrite(m, e, subst_axis, &s) : e;
}

typedef struct {
  neo_expr from, to;
} replacement;

static neo_expr replace(void *ctx, neo_module *m, neo_expr e) {
  const replacement *r = ctx;
  (void)m;
  return e.i == r->from.i ? r->to : e;
}

neo_expr neo_expr_replace(neo_module *m, neo_expr e, neo_expr from, neo_expr to) {
  replacement r = {from, to};
  return neo_expr_rewrite(m, e, replace, &r);
}

/* ---- questions */

static bool is_op(const neo_module *m, neo_expr e, const void *op) {
  return neo_expr_node(m, e)->op == *(const neo_op *)op;
}

uint64_t neo_expr_axes(const neo_module *m, neo_expr e) {
  return m->used.at[e.i];
}

uint64_t neo_expr_accs(const neo_module *m, neo_expr e) {
  return m->accs.at[e.i];
}

bool neo_expr_uses_op(const neo_module *m, neo_expr e, neo_op op) {
  return neo_expr_any(m, e, is_op, &op);
}

static bool is_load(const neo_module *m, neo_expr e, const void *x) {
  (void)x;
  return neo_node_is_load(neo_expr_node(m, e));
}

bool neo_expr_has_loads(const neo_module *m, neo_expr e) {
  return neo_expr_any(m, e, is_load, NULL);
}

/* ---- definitions */

static neo_list rewrite_list(neo_module *m, walk *w, neo_list l, rewriter *f, void *ctx) {
  uint32_t at[NEO_DEF_AXES];
  bool same = true;
  assert(l.n <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < l.n; k++) {
    at[k] = rewrite_in(m, w, neo_list_expr(m, l, k), f, ctx).i;
    same = same && at[k] == neo_list_at(m, l, k);
  }
  return same ? l : neo_list_new(m, at, l.n);
}

neo_list neo_list_rewrite(neo_module *m, neo_list l, rewriter *f, void *ctx) {
  walk *w = walk_begin(m, (uint32_t)m->nodes.n);
  neo_list y = rewrite_list(m, w, l, f, ctx);
  walk_end(m, w);
  return y;
}

neo_list neo_list_subst_axes(neo_module *m, neo_list l, const neo_expr *by, uint32_t n) {
  axis_subst s = {by, n};
  return neo_list_rewrite(m, l, subst_axis, &s);
}

neo_list neo_list_replace(neo_module *m, neo_list l, neo_expr from, neo_expr to) {
  replacement r = {from, to};
  return neo_list_rewrite(m, l, replace, &r);
}

/* A changed axis becomes a new record, since definitions may share one. */
static neo_list rewrite_axes(neo_module *m, walk *w, neo_list l, rewriter *f, void *ctx) {
  uint32_t at[NEO_DEF_AXES];
  bool same = true;
  assert(l.n <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < l.n; k++) {
    neo_axis_rec old = *neo_axis_at(m, (neo_axis){neo_list_at(m, l, k)}), rec = old;
    rec.lo = rewrite_in(m, w, old.lo, f, ctx);
    rec.hi = rewrite_in(m, w, old.hi, f, ctx);
    at[k] = neo_list_at(m, l, k);
    if (rec.lo.i == old.lo.i && rec.hi.i == old.hi.i)
      continue;
    at[k] = neo_axis_add(m, rec).i;
    same = false;
  }
  return same ? l : neo_list_new(m, at, l.n);
}

void neo_def_rewrite(neo_module *m, neo_def d, rewriter *f, void *ctx) {
  walk *w = walk_begin(m, (uint32_t)m->nodes.n);
  neo_def_rec rec = *neo_def_at(m, d);
  rec.axes = rewrite_axes(m, w, rec.axes, f, ctx);
  rec.where = rewrite_in(m, w, rec.where, f, ctx);
  rec.body = rewrite_list(m, w, rec.body, f, ctx);
  rec.finish = rewrite_list(m, w, rec.finish, f, ctx);
  walk_end(m, w);
  *neo_def_at(m, d) = rec;
}

void neo_def_replace(neo_module *m, neo_def d, neo_expr from, neo_expr to) {
  replacement r = {from, to};
  neo_def_rewrite(m, d, replace, &r);
}

static void visit_in(const neo_module *m, walk *w, neo_expr e, void (*f)(void *ctx, neo_expr e),
                     void *ctx) {
  walk_from(m, w, e);
  for (uint32_t id; (id = walk_next(m, w)) != 0;)
    f(ctx, (neo_expr){id});
}

void neo_def_visit(const neo_module *m, neo_def d, void (*f)(void *ctx, neo_expr e), void *ctx) {
  walk *w = walk_begin(m, (uint32_t)m->nodes.n);
  neo_def_rec rec = *neo_def_at(m, d);
  for (uint32_t k = 0; k < rec.axes.n; k++) {
    visit_in(m, w, neo_def_axis(m, &rec, k)->lo, f, ctx);
    visit_in(m, w, neo_def_axis(m, &rec, k)->hi, f, ctx);
  }
  visit_in(m, w, rec.where, f, ctx);
  for (uint32_t k = 0; k < rec.body.n; k++)
    visit_in(m, w, neo_list_expr(m, rec.body, k), f, ctx);
  for (uint32_t k = 0; k < rec.finish.n; k++)
    visit_in(m, w, neo_list_expr(m, rec.finish, k), f, ctx);
  walk_end(m, w);
}
