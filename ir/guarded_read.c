/* Walks expressions from the roots down, as conditions come from above. Expressions are graphs: a
 * node is visited once per set of conditions, and only if a read is below it. If the sets become
 * many, further ones are taken as empty: the reads then have fewer conditions. */
#include "ir/guarded_read.h"
#include "base/hash.h"

enum { MOST_VISITS = 4096 };

typedef struct {
  neo_module *m;
  neo_arena *arena;
  const bool *wanted;
  neo_map above; /* nodes with a wanted read in them */
  neo_map done;  /* by node and set of conditions */
  uint32_t n_axes, visits;
  NEO_VEC(neo_expr) assume;
  neo_guarded_reads *out;
} walk;

static bool is_wanted(const walk *w, const neo_node *n) {
  return neo_node_is_load(n) && w->wanted[n->attr];
}

static void mark_node(void *ctx, neo_expr e) {
  walk *w = ctx;
  const neo_node *n = neo_expr_node(w->m, e);
  bool found = is_wanted(w, n);
  for (uint32_t k = 0; k < n->arg.n && !found; k++)
    found = neo_map_get(&w->above, neo_list_at(w->m, n->arg, k), NULL);
  if (found)
    neo_map_set(&w->above, e.i, 1);
}

static uint64_t conditions_key(const walk *w, neo_expr e) {
  uint64_t h = neo_hash_mix(0, e.i); /* ids alone are small, and would meet */
  for (size_t k = 0; k < w->assume.n; k++)
    h = neo_hash_mix(h, w->assume.at[k].i);
  return h;
}

static void assume(walk *w, neo_expr c) {
  if (w->visits < MOST_VISITS)
    NEO_PUSH(w->arena, &w->assume, c);
}

static void assume_in_range(walk *w, neo_node n) {
  neo_expr zero = neo_const_i64(w->m, 0);
  for (uint32_t k = 0; k < neo_tensor_rank(w->m, (neo_tensor){n.attr}); k++) {
    neo_expr x = neo_list_expr(w->m, n.arg, k);
    neo_expr extent = neo_tensor_extent(w->m, (neo_tensor){n.attr}, k);
    assume(w, neo_op2(w->m, NEO_OP_LE, zero, x));
    assume(w, neo_op2(w->m, NEO_OP_LT, x, extent));
  }
}

static void add_read(walk *w, neo_expr e) {
  size_t before = w->assume.n;
  assume_in_range(w, *neo_expr_node(w->m, e));
  neo_guarded_read r = {
      e, w->n_axes, NULL, (uint32_t)w->assume.n, (uint32_t)before, w->visits < MOST_VISITS};
  if (w->assume.n)
    r.assume = neo_arena_copy(w->arena, w->assume.at, w->assume.n * sizeof(neo_expr));
  w->assume.n = before;
  NEO_PUSH(w->arena, w->out, r);
}

static void go(walk *w, neo_expr e);

static void go_under(walk *w, neo_expr c, bool holds, neo_expr e) {
  size_t before = w->assume.n;
  assume(w, holds ? c : neo_op1(w->m, NEO_OP_NOT, c));
  go(w, e);
  w->assume.n = before;
}

/* Arguments of a node that always evaluates all of them. */
static void go_all(walk *w, neo_node n) {
  for (uint32_t k = 0; k < n.arg.n; k++)
    go(w, neo_list_expr(w->m, n.arg, k));
}

static void go(walk *w, neo_expr e) {
  neo_node n = *neo_expr_node(w->m, e);
  uint64_t key = conditions_key(w, e);
  if (!neo_map_get(&w->above, e.i, NULL) || neo_map_get(&w->done, key, NULL))
    return;
  neo_map_set(&w->done, key, 1);
  w->visits++;
  if (is_wanted(w, &n))
    add_read(w, e);
  if (n.op == NEO_OP_SELECT || n.op == NEO_OP_AND || n.op == NEO_OP_OR) {
    neo_expr first = neo_list_expr(w->m, n.arg, 0);
    go(w, first);
    go_under(w, first, n.op != NEO_OP_OR, neo_list_expr(w->m, n.arg, 1));
    if (n.op == NEO_OP_SELECT)
      go_under(w, first, false, neo_list_expr(w->m, n.arg, 2));
    return;
  }
  go_all(w, n);
}

static void look(walk *w, neo_expr e, uint32_t n_axes) {
  if (!e.i)
    return;
  w->n_axes = n_axes;
  neo_map_init(&w->done, w->arena);
  neo_expr_visit(w->m, e, mark_node, w);
  go(w, e);
}

static void look_reduction(walk *w, const neo_def_rec *d) {
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(w->m, d, k);
    look(w, x.lo, k);
    look(w, x.hi, k);
  }
  look(w, d->where, d->axes.n);
  if (d->where.i)
    NEO_PUSH(w->arena, &w->assume, d->where);
  for (uint32_t k = 0; k < d->body.n; k++)
    look(w, neo_list_expr(w->m, d->body, k), d->axes.n);
  w->assume.n = 0;
}

void neo_guarded_reads_of(neo_module *m, neo_def d, const bool *wanted, neo_arena *arena,
                          neo_guarded_reads *out) {
  walk w = {.m = m, .arena = arena, .wanted = wanted, .out = out};
  neo_def_rec rec = *neo_def_at(m, d);
  neo_map_init(&w.above, arena);
  look_reduction(&w, &rec);
  for (uint32_t k = 0; k < rec.finish.n; k++)
    look(&w, neo_list_expr(m, rec.finish, k), rec.n_out);
}

neo_facts neo_guarded_read_facts(const neo_module *m, neo_def d, const neo_guarded_read *r,
                                 neo_axis_rec *axes) {
  neo_def_rec rec = *neo_def_at(m, d);
  for (uint32_t k = 0; k < r->n_axes; k++)
    axes[k] = *neo_def_axis(m, &rec, k);
  return (neo_facts){axes, r->n_axes, r->assume, r->n_assume};
}
