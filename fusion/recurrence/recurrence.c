/* Lowering of an order to loops (internal.h), and the tensors of a recurrence in memory. */
#include "fusion/recurrence/internal.h"
#include "ir/component.h"

static void look_outside(void *ctx, neo_expr e) {
  outliner *o = ctx;
  const neo_node *n = neo_expr_node(o->m, e);
  if (outline_is_read(n) && !o->own[n->attr])
    outline_add_read(o, (neo_tensor){n->attr});
}

static bool is_member(const outliner *o, uint32_t d) {
  for (size_t k = 0; k < o->n; k++)
    if (o->defs[k].i == d)
      return true;
  return false;
}

/* Has the tensor pieces from other definitions? */
static bool is_shared(const outliner *o, neo_tensor t) {
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (!is_member(o, neo_list_at(o->m, pieces, k)))
      return true;
  return false;
}

/* Lists the tensors that the recurrence reads and writes. A tensor with other pieces is read,
 * too. */
static void find_memory(outliner *o) {
  for (size_t k = 0; k < o->n; k++) {
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    neo_def_visit(o->m, o->defs[k], look_outside, o);
    for (uint32_t j = 0; j < out.n; j++) {
      neo_tensor t = {neo_list_at(o->m, out, j)};
      bool listed = !o->stored[t.i] || o->storage[t.i].tensor.i;
      for (size_t i = 0; i < o->out->roots.n && !listed; i++)
        listed = o->out->roots.at[i].i == t.i;
      if (listed)
        continue;
      NEO_PUSH(o->a, &o->out->roots, t);
      if (is_shared(o, t))
        outline_add_read(o, t);
    }
  }
}

/* Lists the reads of instances' conditions. */
static void find_conditions(outliner *o) {
  for (size_t k = 0; k < o->instances.n; k++)
    for (size_t i = 0; i < o->instances.at[k]->needed.n; i++)
      neo_expr_visit(o->m, o->instances.at[k]->needed.at[i], look_outside, o);
}

static void mark(outliner *o, const bool *leaves) {
  for (size_t k = 0; k < o->n; k++) {
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    for (uint32_t j = 0; j < out.n; j++) {
      uint32_t t = neo_list_at(o->m, out, j);
      o->own[t] = true;
      o->stored[t] = leaves[t] || neo_tensor_at(o->m, (neo_tensor){t})->pieces.n > 1;
    }
  }
}

/* The number of sequential runs of instances, at the largest sizes. */
static double runs_of(const outliner *o, const neo_tree *t) {
  double all = t->kind == NEO_TREE_LEAF;
  neo_facts none = {0};
  int64_t lo, times = 1;
  for (size_t k = 0; k < t->children.n; k++)
    all += runs_of(o, t->children.at[k]);
  if (t->kind == NEO_TREE_BAND)
    (void)neo_interval(o->p, &none, neo_op2(o->m, NEO_OP_SUB, t->band.hi, t->band.lo), &lo, &times);
  return (double)times * all;
}

/* The order's tree, with hoisted producers. */
static neo_trees bands_of(outliner *o, const neo_order_step *order) {
  neo_trees out = {0};
  if (outline_hoist(o, &out, order))
    return out;
  for (size_t k = 0; k < o->n_hoisted; k++)
    outline_add_def(o, &out, o->hoisted[k]);
  outline_add_loop(o, &out, order);
  return out;
}

/* The order with the fewest sequential runs: each run is then a vector, or a product. */
static uint32_t best_of(outliner *o, neo_order_step *orders, uint32_t n, neo_trees *steps) {
  uint32_t best = 0;
  int64_t block = 0;
  double least = 0;
  for (uint32_t k = 0; k < n; k++) {
    outline_find_hoisted(o, &orders[k]);
    neo_trees other = bands_of(o, &orders[k]);
    double x = n > 1 ? runs_of(o, neo_tree_sequence(o->a, &other)) : 0;
    if (k && x >= least)
      continue;
    *steps = other;
    best = k;
    block = o->hoist_block;
    least = x;
  }
  o->hoist_block = block;
  return best;
}

/* The group's definitions, in this order: those in the loops, those before them, those after. */
typedef struct {
  size_t own, before; /* number in the loops, before them */
  bool ordered;       /* all recurrences are in the loops */
} parts;

static bool reads_any(const neo_module *m, neo_arena *a, neo_def d, const bool *tensor) {
  neo_tensor *read;
  bool is = false;
  for (size_t k = neo_def_reads(m, d, a, &read); k-- > 0;)
    is = is || tensor[read[k].i];
  return is;
}

/* Does a definition in the loops read one after them? */
static bool reads_later(const neo_module *m, neo_arena *a, const parts *x, const neo_def *all,
                        size_t n) {
  bool *later = NEO_NEW_ARRAY(a, bool, m->tensors.n), is = false;
  for (size_t k = x->own + x->before; k < n; k++) {
    neo_list out = neo_def_at(m, all[k])->out;
    for (uint32_t i = 0; i < out.n; i++)
      later[neo_list_at(m, out, i)] = true;
  }
  for (size_t k = 0; k < x->own && !is; k++)
    is = reads_any(m, a, all[k], later);
  return is;
}

/* The chunk loop that most of the definitions are in; 0: none. Others may have parts here
 * (fusion/search/needs.c). */
static uint32_t most_of(const neo_module *m, const neo_def *defs, size_t n) {
  uint32_t loop = 0;
  size_t most = 0;
  for (size_t k = 0; k < n; k++) {
    uint32_t own = neo_def_at(m, defs[k])->chunk_loop;
    size_t count = 0;
    for (size_t i = 0; i < n && own; i++)
      count += neo_def_at(m, defs[i])->chunk_loop == own;
    loop = count > most ? own : loop;
    most = count > most ? count : most;
  }
  return loop;
}

/* Finds definitions first[0] .. first[1] - 1, which always run in the loops: from the first to the
 * last one of a chunk loop (fusion/search/chunks.c). */
static void chunk_loop_of(const neo_module *m, const neo_def *defs, size_t n, size_t *first) {
  uint32_t loop = most_of(m, defs, n);
  first[0] = first[1] = 0;
  for (size_t k = 0; k < n && loop; k++)
    if (neo_def_at(m, defs[k])->chunk_loop == loop) {
      first[0] = first[1] ? first[0] : k;
      first[1] = k + 1;
    }
}

/* Divides the definitions into `out`. In the loops are the chunk loop, or else the first
 * recurrence, and each later definition that fits their order: a recurrence that shares the loops,
 * or a definition that reads along their iterations. */
static parts divide_by(neo_module *m, neo_prover *p, neo_arena *a, const neo_def *defs, size_t n,
                       const size_t *chunk_loop, neo_def *out) {
  uint32_t *number = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  bool *in = NEO_NEW_ARRAY(a, bool, n);
  size_t at = 0;
  parts x = {0, 0, true};
  neo_order_step loop = {0}, with;
  (void)neo_recurrences(m, defs, n, a, number);
  while (x.before < n && !number[defs[x.before].i] && !(chunk_loop[1] && x.before == chunk_loop[0]))
    x.before++;
  for (size_t k = 0; k < n; k++) {
    in[k] = chunk_loop[1] ? k >= chunk_loop[0] && k < chunk_loop[1] : number[defs[k].i] == 1;
    if (in[k])
      out[at++] = defs[k];
  }
  bool ordered = neo_list_order_find(p, out, at, a, &loop, NULL);
  for (size_t k = x.before; k < n && ordered; k++) {
    size_t more = 0;
    for (size_t i = k; i < n && !in[k]; i++) /* a recurrence shares the loops as a whole */
      if (i == k || (number[defs[k].i] && number[defs[i].i] == number[defs[k].i]))
        out[at + more++] = defs[i];
    if (!more || (!number[defs[k].i] && neo_order_iteration_axis(m, &loop, defs[k]) < 0) ||
        !neo_list_order_find(p, out, at + more, a, &with, NULL))
      continue;
    loop = with;
    for (size_t i = k; i < n; i++)
      in[i] = in[i] || i == k || (number[defs[k].i] && number[defs[i].i] == number[defs[k].i]);
    at += more;
  }
  for (size_t k = 0, to = at; k < n; k++)
    if (!in[k]) {
      out[to++] = defs[k];
      x.ordered = x.ordered && !number[defs[k].i];
    }
  x.own = at;
  x.ordered = x.ordered && ordered;
  return x;
}

/* Divides the definitions into `out`. A chunk loop whose definitions have no common order is not
 * kept together. */
static parts divide(neo_module *m, neo_prover *p, neo_arena *a, const neo_def *defs, size_t n,
                    neo_def *out) {
  size_t chunk_loop[2], none[2] = {0};
  chunk_loop_of(m, defs, n, chunk_loop);
  parts x = divide_by(m, p, a, defs, n, chunk_loop, out);
  return x.ordered || !chunk_loop[1] ? x : divide_by(m, p, a, defs, n, none, out);
}

bool neo_recurrence_shares(neo_module *m, neo_arena *a, const neo_def *defs, size_t n) {
  neo_prover *p = neo_prover_new(m);
  neo_def *all = NEO_NEW_ARRAY(a, neo_def, n + 1);
  parts x = divide(m, p, a, defs, n, all);
  neo_prover_free(p);
  return x.ordered && !reads_later(m, a, &x, all, n);
}

neo_recurrence *neo_recurrence_of(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                  const bool *leaves, const neo_loop_options *options) {
  enum { MOST_ORDERS = 4 };
  neo_order_step orders[MOST_ORDERS];
  neo_def *all = NEO_NEW_ARRAY(a, neo_def, n + 1);
  outliner o = {.m = m, .a = a, .defs = all, .n = n, .options = options};
  o.p = neo_prover_new(m);
  parts x = divide(m, o.p, a, defs, n, all);
  o.hoisted = all + x.own;
  o.n_hoisted = x.before;
  uint32_t n_orders =
      x.ordered ? neo_list_orders_find(o.p, all, x.own, a, orders, MOST_ORDERS, NULL) : 0;
  if (!n_orders) {
    neo_prover_free(o.p);
    return NULL;
  }
  outline_grow(&o);
  o.n_tensors = (uint32_t)m->tensors.n;
  o.out = NEO_NEW(a, neo_recurrence);
  neo_map_init(&o.out->memory, a);
  mark(&o, leaves);
  neo_trees steps;
  uint32_t best = best_of(&o, orders, n_orders, &steps);
  for (size_t k = x.own + x.before; k < n; k++)
    outline_add_def(&o, &steps, all[k]);
  const neo_tree *tree = neo_tree_sequence(a, &steps);
  outline_drop_unmade(&o, tree);
  outline_loops ending = outline_ending_loops(&o, &orders[best]);
  outline_fold_storage(&o, tree, &orders[best], &ending);
  o.out->tree.root = outline_segments(&o, outline_early_exits(&o, &orders[best], tree));
  outline_add_stores(&o);
  find_memory(&o);
  find_conditions(&o);
  neo_prover_free(o.p);
  return o.out;
}

const neo_slice *neo_recurrence_slice(const neo_recurrence *r, neo_tensor slice) {
  for (size_t k = 0; k < r->slices.n; k++)
    if (r->slices.at[k].slice.i == slice.i)
      return &r->slices.at[k];
  return NULL;
}
