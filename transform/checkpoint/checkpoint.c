/* Checkpointing (rematerialisation) of recurrences: the forward pass saves every K-th slice; the
 * backward pass recomputes the others chunk by chunk.
 *
 *     h[t, j] = f(x[t, j], h[t-1, j]),   d[t, j] = g(h[t, j], d[t+1, j])               t < T
 *     ->
 *     chunk.u[q, r, j] = f(x[q*K+r, j], select(r >= 1, chunk.u[q, r-1, j], chunk.u[q-1, K-1, j]))
 *     edge.u[q, i, j] = chunk.u[q, K-1+i, j]                              one loop over q, up
 *
 *     again.u[q, r, j] = f(x[q*K+r, j], select(r >= 1, again.u[q, r-1, j], edge.u[q-1, r, j]))
 *     chunk.d[q, r, j] = g(again.u[q, r, j],
 *                          select(r+1 < K, chunk.d[q, r+1, j], chunk.d[q+1, 0, j]))
 *                                                                         one loop over q, down
 *
 * Iterations are strip-mined, t = q*K + r, and every definition along them gets an axis q in front.
 * again.u carries nothing between chunks, so its iterations run inside of the loop of d, up, before
 * those of d run down. Definitions that share a loop have the same neo_def_rec.chunk_loop: fusion
 * makes them one group (fusion/search/chunks.c), whose tensors need the slices of one or two chunks
 * (fusion/recurrence/fold.c). Of T slices the T/K edges are stored. Sums over iterations (gradients
 * of weights) are accumulated chunk by chunk (sums.c). Other readers read copies of the
 * chunks.
 *
 * Two levels: where the edges are still too large, chunks are chunked, q = p*L + s, by the same
 * rewriting along q in place of iterations. One edge in L is stored; the backward pass recomputes
 * the edges of one p, then their iterations: about the cube root of T slices. Definitions that
 * shared a loop over q have the same neo_def_rec.inner_loop and share a loop inside of that over p.
 *
 * Nested loops: where loops within an iteration use most memory, a chunk is one iteration, and only
 * its edges are stored. Its inner loops, forward again and backward, are chunked as if the rest of
 * the iteration were the whole module (neo_def_rec.inner_loop):
 *
 *     edge.again.k[q, p, j] = chunk.again.k[q, p, J-1, j]                in q: a loop over p, up
 *     again.again.k[q, p, s, j] = .., chunk.chunk.dk[q, p, s, j] = ..    in q: a loop over p, down
 *
 * Entries without a backward pass get copies of the original definitions.
 *
 * The forward pass runs twice or three times. K is the largest for which a chunk fits into a cache
 * and edges and chunk fit the limit; without a limit, the K of least memory. (A. Griewank, A.
 * Walther, "Algorithm 799: revolve"; chunks of equal length: T. Chen et al., "Training deep nets
 * with sublinear memory cost".) */
#include "ir/clone.h"
#include "ir/component.h"
#include "transform/checkpoint/parts.h"
#include "transform/transform.h"
#include <math.h>

enum { LEAST_CHUNKS = 4, CACHE_BYTES = 1 << 20 };
#define MUCH_LESS 0.75
enum { MOST_IN_TWO_LEVELS = 24 }; /* definitions: each loop around them multiplies their code */

/* ---- what entries need */

/* Definitions that entries with a backward pass need. */
static void find_needs(checkpoints *c, const bool *served) {
  const neo_module *m = c->m;
  neo_def *order;
  neo_tensors roots = {0};
  for (size_t k = 0; k < m->entries.n; k++)
    if (served[k])
      neo_entry_roots(m, c->a, &roots, &m->entries.at[k]);
  for (size_t k = 0; k < roots.n; k++) {
    neo_list pieces = neo_tensor_at(m, roots.at[k])->pieces;
    for (uint32_t i = 0; i < pieces.n; i++)
      c->def[neo_list_at(m, pieces, i)].wanted = true;
  }
  c->n_order = neo_module_topo(m, roots.at, roots.n, c->a, &order, NULL);
  uint32_t *ids = NEO_NEW_ARRAY(c->a, uint32_t, c->n_order + 1);
  for (size_t k = 0; k < c->n_order; k++) {
    ids[k] = order[k].i;
    c->def[ids[k]].needed = true;
  }
  c->order = ids;
}

/* ---- the length of a chunk */

static double most(const checkpoints *c, neo_expr e) {
  int64_t lo, hi;
  return neo_interval(c->p, NULL, e, &lo, &hi) ? (double)hi : 1;
}

/* Bytes of a slice of the tensor at the largest sizes. */
static double slice_bytes(const checkpoints *c, uint32_t t, uint32_t along) {
  double n = neo_type_bytes(neo_tensor_type(c->m, (neo_tensor){t}));
  for (uint32_t k = 0; k < neo_tensor_rank(c->m, (neo_tensor){t}); k++)
    n *= k == along ? 1 : most(c, neo_tensor_extent(c->m, (neo_tensor){t}, k));
  return n;
}

/* Bytes of a slice that are read across an edge. */
static double edge_bytes(const checkpoints *c, neo_expr read, uint32_t along) {
  neo_node n = *neo_expr_node(c->m, read);
  double bytes = slice_bytes(c, n.attr, along);
  for (uint32_t k = 0; k < neo_tensor_rank(c->m, (neo_tensor){n.attr}); k++)
    if (k != along && checkpoint_one_element(c, n, k).i)
      bytes /= most(c, neo_tensor_extent(c->m, (neo_tensor){n.attr}, k));
  return bytes;
}

typedef struct {
  const checkpoints *c;
  uint32_t reader;
  bool *saved;   /* by tensor */
  double *edges; /* by tensor: elements of a slice that are carried */
} price_look;

static void look_price(void *ctx, neo_expr e) {
  price_look *l = ctx;
  const checkpoints *c = l->c;
  const neo_node *n = neo_expr_node(c->m, e);
  uint32_t d = neo_node_is_load(n) ? checkpoint_maker(c, n->attr) : 0, axis;
  int64_t offset;
  if (!d || c->def[d].kind != CHECKPOINT_RUNS || !c->def[d].home)
    return;
  if (c->def[l->reader].kind && !c->def[d].whole && c->def[l->reader].home != c->def[d].home)
    l->saved[n->attr] = true;
  if (checkpoint_is_offset(c, neo_expr_arg(c->m, e, c->def[d].axis), &axis, &offset) && !offset)
    return;
  double bytes = edge_bytes(c, e, c->def[d].axis);
  l->edges[n->attr] = bytes > l->edges[n->attr] ? bytes : l->edges[n->attr];
}

typedef struct {
  double saved, edges, slices; /* bytes of an iteration: for later loops; at edges; in a chunk */
} chunk_price;

static chunk_price price_of(const checkpoints *c) {
  chunk_price x = {0};
  price_look l = {.c = c};
  uint32_t last = 0;
  for (size_t k = 0; k < c->loops.n; k++)
    last = c->loops.at[k].level > last ? c->loops.at[k].level : last;
  l.saved = NEO_NEW_ARRAY(c->a, bool, c->n_tensors);
  l.edges = NEO_NEW_ARRAY(c->a, double, c->n_tensors);
  for (size_t k = 0; k < c->n_order; k++) {
    l.reader = c->order[k];
    neo_def_visit(c->m, (neo_def){c->order[k]}, look_price, &l);
  }
  for (uint32_t t = 1; t < c->n_tensors; t++) {
    uint32_t d = checkpoint_maker(c, t);
    if (!d || c->def[d].kind != CHECKPOINT_RUNS)
      continue;
    double bytes = slice_bytes(c, t, c->def[d].axis);
    x.saved += l.saved[t] ? bytes : 0;
    bool edge = l.edges[t] > 0 && c->loops.at[c->def[d].home - 1].level < last;
    x.edges += edge ? l.edges[t] * (double)c->lag : 0;
    x.slices += bytes;
  }
  return x;
}

/* A divisor of the iterations near `best`, or else `best`; 0 iterations: unknown at compile
 * time. */
static int64_t divisor_near(int64_t iterations, int64_t best) {
  for (int64_t by = 0; by <= best / 4 && iterations; by++)
    for (int sign = -1; sign <= 1; sign += 2)
      if (iterations % (best + sign * by) == 0)
        return best + sign * by;
  return best;
}

typedef struct {
  int64_t iterations; /* iterations of a chunk; 0: chunks are not needed or do not pay */
  int64_t chunks;     /* chunks of an outer chunk; 0: one level */
} chunk_lengths;

static int64_t clamped(double x, double least, double most_of_them) {
  x = x > most_of_them ? most_of_them : x;
  return (int64_t)(x < least ? least : x);
}

/* The number of iterations if it is a constant, else 0. */
static int64_t exact_iterations(const checkpoints *c) {
  int64_t iterations;
  return neo_expr_is_int(c->m, c->iterations, &iterations) ? iterations : 0;
}

static double edges_and_chunk(const chunk_price *x, double iterations, double chunk) {
  return x->edges * iterations / chunk + x->slices * chunk;
}

static bool is_small(const checkpoints *c) {
  uint32_t n = 0;
  for (size_t k = 0; k < c->n_order; k++)
    n += c->def[c->order[k]].kind == CHECKPOINT_RUNS;
  return n <= MOST_IN_TWO_LEVELS;
}

/* Two levels, where they take much less than `bytes`: edges*T/(J*L) + edges*L + slices*J bytes are
 * least at these J and L. */
static chunk_lengths two_levels(const checkpoints *c, const chunk_price *x, double bytes) {
  double t = most(c, c->iterations), best = pow(x->edges * sqrt(t) / x->slices, 2.0 / 3);
  int64_t exact = exact_iterations(c), j, l;
  if (c->within || !is_small(c))
    return (chunk_lengths){0};
  j = clamped(best, (double)c->lag, t / (LEAST_CHUNKS * LEAST_CHUNKS));
  j = divisor_near(exact, j);
  exact = exact % j == 0 ? exact / j : 0;
  l = clamped(sqrt(t / (double)j), 2, t / (double)j / LEAST_CHUNKS);
  l = divisor_near(exact, l);
  double two = edges_and_chunk(x, t / (double)l, (double)j) + x->edges * (double)l;
  return two < MUCH_LESS * bytes ? (chunk_lengths){j, l} : (chunk_lengths){0};
}

static chunk_lengths lengths_of(const checkpoints *c, const chunk_price *price,
                                const neo_pass_target *target) {
  double iterations = most(c, c->iterations), limit = (double)target->memory;
  chunk_price x = *price;
  if (target
          /* both levels, for tests; if a chunk is one iteration, the second is of its inner
           * loops */
          ->chunk_iterations) {
    int64_t n = target->chunk_iterations & 0xffff, second = target->chunk_iterations >> 16;
    n = c->within ? second : n > c->lag ? n : c->lag;
    return (chunk_lengths){n, c->within || n == 1 ? 0 : second};
  }
  if (!target->memory || x.saved <= 0 || (limit > 0 && x.saved * iterations <= limit))
    return (chunk_lengths){0};
  double smallest = sqrt(iterations * x.edges / x.slices), best = CACHE_BYTES / x.slices;
  if (limit < 0 || best < 1 || edges_and_chunk(&x, iterations, best) > limit)
    best = smallest;
  best = (double)clamped(best, (double)c->lag, iterations / LEAST_CHUNKS);
  double bytes = edges_and_chunk(&x, iterations, best);
  if (bytes > MUCH_LESS * x.saved * iterations)
    return (chunk_lengths){0};
  /* a third pass does not pay for a chunk that fits into a cache */
  chunk_lengths n = {0};
  if (bytes > (limit < 0 ? CACHE_BYTES : limit))
    n = two_levels(c, &x, bytes);
  return n.iterations ? n : (chunk_lengths){divisor_near(exact_iterations(c), (int64_t)best), 0};
}

/* ---- rewriting the current recurrences */

/* Remarks what is stored, at the first recurrence of which something is. */
static void report(const checkpoints *c, const chunk_price *x, chunk_lengths n) {
  const neo_module *m = c->m;
  double iterations = most(c, c->iterations), outer = n.chunks ? (double)n.chunks : 1;
  double chunk = (double)n.iterations, inner = n.chunks ? x->edges * outer : 0;
  uint32_t d = 0;
  for (size_t k = 0; k < c->n_order && !d; k++)
    if (c->def[c->order[k]].home && c->def[c->order[k]].carried)
      d = c->order[k];
  if (!m->diags || !d)
    return;
  const neo_def_rec *r = neo_def_at(m, (neo_def){d});
  neo_tensor t = {neo_list_at(m, r->out, 0)};
  (void)neo_diag(m->diags, r->span, NEO_D_CHECKPOINTS, (long long)(chunk * outer),
                 neo_tensor_name(m, t), x->edges * iterations / (chunk * outer),
                 x->saved * iterations, x->slices * chunk + inner);
}

static void cut_iterations(checkpoints *c) {
  int64_t iterations;
  neo_expr n = checkpoint_number(c, c->chunk);
  c->exact = neo_expr_is_int(c->m, c->iterations, &iterations) && iterations % c->chunk == 0;
  c->exact = c->exact || c->chunk == 1;
  neo_expr all = neo_op2(c->m, NEO_OP_ADD, c->iterations, checkpoint_number(c, c->chunk - 1));
  c->chunks = neo_op2(c->m, NEO_OP_DIV, all, n);
}

/* Is it computed in its loop and copied from there? A whole reader counts, so that what it reads
 * need not be copied. */
static bool is_made(const checkpoint_def *x) {
  return x->home && x->kind == CHECKPOINT_RUNS && (x->carried || x->whole);
}

static void write(checkpoints *c) {
  cut_iterations(c);
  for (size_t k = 0; k < c->n_order; k++) {
    uint32_t d = c->order[k];
    const checkpoint_def *x = &c->def[d];
    neo_list out = neo_def_at(c->m, (neo_def){d})->out;
    if (is_made(x))
      (void)checkpoint_chunked(c, x->home, neo_list_tensor(c->m, out, 0));
    if (x->home && x->kind == CHECKPOINT_SUM)
      checkpoint_run_sum(c, d);
  }
  for (size_t k = 0; k < c->n_order; k++)
    if (is_made(&c->def[c->order[k]]))
      checkpoint_define_copy(c, c->order[k]);
  checkpoint_read_slices(c);
}

/* Facts of the module for recurrences of this many iterations, whose number *n gets. */
static checkpoints begin(neo_module *m, neo_prover *p, neo_arena *a, neo_expr iterations,
                         const bool *served, uint32_t *n) {
  checkpoints c = {.m = m, .a = a, .p = p, .iterations = iterations, .lag = 1};
  c.n_defs = (uint32_t)m->defs.n;
  c.n_tensors = (uint32_t)m->tensors.n;
  c.def = NEO_NEW_ARRAY(a, checkpoint_def, c.n_defs);
  uint32_t *number = NEO_NEW_ARRAY(a, uint32_t, c.n_defs);
  find_needs(&c, served);
  neo_def *defs = NEO_NEW_ARRAY(a, neo_def, c.n_order + 1);
  for (size_t k = 0; k < c.n_order; k++)
    defs[k].i = c.order[k];
  *n = neo_recurrences(m, defs, c.n_order, a, number);
  for (uint32_t k = 1; k < c.n_defs; k++)
    c.def[k].number = number[k];
  c.down = NEO_NEW_ARRAY(a, bool, *n + 1);
  return c;
}

/* Chunks the loops over chunks: all that they define has the axis of chunks in front. */
static void write_again(const checkpoints *first, const bool *served, int64_t chunk) {
  uint32_t n, top = first->loops.at[0].mark;
  checkpoints c = begin(first->m, first->p, first->a, first->chunks, served, &n);
  for (size_t k = 0; k < first->loops.n; k++)
    top = first->loops.at[k].mark > top ? first->loops.at[k].mark : top;
  for (size_t k = 0; k < first->loops.n; k++) {
    checkpoint_loop x = first->loops.at[k];
    neo_map_init(&x.made, c.a);
    for (size_t i = 0; i < c.n_order; i++)
      if (neo_def_at(c.m, (neo_def){c.order[i]})->chunk_loop == x.mark) {
        c.def[c.order[i]].kind = CHECKPOINT_RUNS;
        c.def[c.order[i]].home = (uint32_t)k + 1;
        c.def[c.order[i]].carried = c.def[c.order[i]].number != 0;
      }
    x.mark = top + (uint32_t)k + 1;
    NEO_PUSH(c.a, &c.loops, x);
  }
  c.chunk = chunk;
  write(&c);
}

/* ---- loops within an iteration */

/* Adds the definitions of steps in order; `number`: their recurrence, 0: none yet. */
static void add_steps(checkpoints *c, const neo_order_step *in, uint32_t number, uint32_t *ids,
                      uint32_t *n) {
  for (uint32_t k = 0; k < in->n_steps; k++) {
    const neo_order_step *s = &in->step[k];
    if (!s->def.i && !number)
      c->step[++*n] = s;
    if (!s->def.i) {
      add_steps(c, s, number ? number : *n, ids, n);
      continue;
    }
    c->def[s->def.i].needed = true;
    c->def[s->def.i].number = number;
    ids[c->n_order++] = s->def.i;
  }
}

/* Like begin(), for definitions in an iteration of the chunk_loop, whose chunks are of one. */
static checkpoints begin_within(const checkpoints *outer, uint32_t mark, neo_expr iterations,
                                uint32_t *n) {
  neo_module *m = outer->m;
  checkpoints c = {
      .m = m, .a = outer->a, .p = outer->p, .iterations = iterations, .lag = 1, .within = mark};
  neo_def *defs = NEO_NEW_ARRAY(c.a, neo_def, m->defs.n);
  neo_order_step loop;
  size_t n_defs = 0;
  c.n_defs = (uint32_t)m->defs.n;
  c.n_tensors = (uint32_t)m->tensors.n;
  c.def = NEO_NEW_ARRAY(c.a, checkpoint_def, c.n_defs);
  for (uint32_t k = 1; k < c.n_defs; k++)
    if (neo_def_at(m, (neo_def){k})->chunk_loop == mark)
      defs[n_defs++].i = k;
  *n = 0;
  bool is = n_defs && neo_order_find(c.p, defs, n_defs, c.a, &loop, NULL);
  for (uint32_t k = 0; k < loop.n_members && is; k++)
    is = loop.member[k].axis == 0;
  if (!is)
    return c;
  uint32_t *ids = NEO_NEW_ARRAY(c.a, uint32_t, n_defs + 1);
  c.step = NEO_NEW_ARRAY(c.a, const neo_order_step *, n_defs + 1);
  add_steps(&c, &loop, 0, ids, n);
  c.order = ids;
  c.down = NEO_NEW_ARRAY(c.a, bool, *n + 1);
  return c;
}

/* Chunks the inner loops where chunks are of one iteration because these loops use most memory. */
static void write_within(const checkpoints *outer, uint32_t mark, const neo_pass_target *target) {
  uint32_t n;
  checkpoints all = begin_within(outer, mark, outer->iterations, &n);
  for (uint32_t k = 1; k <= n; k++) {
    const neo_order_member *x = &all.step[k]->member[0];
    neo_expr iterations = neo_def_axis(all.m, neo_def_at(all.m, x->def), x->axis)->hi;
    checkpoints c = begin_within(outer, mark, iterations, &n);
    if (!checkpoint_align(&c))
      continue;
    checkpoint_find_loops(&c);
    chunk_price price = price_of(&c);
    c.chunk = lengths_of(&c, &price, target).iterations;
    if (!c.chunk)
      continue;
    write(&c);
    return;
  }
}

/* ---- entries */

typedef struct {
  neo_module *m;
  neo_prover *p;
  const neo_pass_target *target;
  bool *served;            /* by entry: its recurrences may be chunked */
  bool others_have_copies; /* other entries get copies */
} checkpointing;

/* Does the entry compute a gradient? */
static bool has_backward(neo_module *m, const neo_entry_rec *e, neo_arena *a) {
  bool *gradient = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  neo_def *defs;
  bool has = e->kind == NEO_ENTRY_TRAIN || e->kind == NEO_ENTRY_GRAD;
  for (size_t k = 0; k < m->grads.n; k++)
    for (uint32_t i = 0; i < m->grads.at[k].out.n; i++)
      gradient[neo_list_at(m, m->grads.at[k].out, i)] = true;
  for (size_t k = neo_entry_defs(m, e, a, &defs); k-- > 0;)
    for (uint32_t i = 0; i < neo_def_at(m, defs[k])->out.n; i++)
      has = has || gradient[neo_def_out(m, defs[k], i).i];
  return has;
}

/* Copies the recurrences that the entry needs, and their readers. */
static void give_copies(neo_module *m, neo_entry_rec *e, neo_arena *a) {
  const bool *recurs = neo_recurrent_defs(m, a);
  neo_def *defs;
  neo_map made = neo_map_in(a);
  neo_map to = neo_map_in(a);
  size_t n = neo_entry_defs(m, e, a, &defs); /* definitions that the entry needs, but for updates */
  for (size_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < neo_def_at(m, defs[k])->out.n && recurs[defs[k].i]; i++)
      neo_map_set(&made, neo_def_out(m, defs[k], i).i, 1);
  const bool *marked = neo_defs_affected(m, defs, n, &made, NULL, a);
  neo_defs_clone(m, defs, n, marked, "whole", &to);
  e->outputs = neo_tensors_renamed(m, e->outputs, &to, a);
}

static void copy_for_others(checkpointing *x, neo_arena *a) {
  neo_module *m = x->m;
  for (size_t k = 0; k < m->entries.n && !x->others_have_copies; k++)
    if (!x->served[k] && !m->entries.at[k].updates.n)
      give_copies(m, &m->entries.at[k], a);
  x->others_have_copies = true;
}

/* Chunks the recurrences of this many iterations, if asked for. */
static void checkpoint_iterations(checkpointing *x, neo_expr iterations) {
  uint32_t n;
  neo_arena scratch = neo_arena_scratch(x->m->arena);
  checkpoints c = begin(x->m, x->p, &scratch, iterations, x->served, &n);
  if (n && checkpoint_align(&c)) {
    checkpoint_find_loops(&c);
    chunk_price price = price_of(&c);
    chunk_lengths l = lengths_of(&c, &price, x->target);
    c.chunk = l.iterations;
    if (c.chunk) {
      copy_for_others(x, &scratch);
      write(&c);
    }
    if (c.chunk && l.chunks > 1)
      write_again(&c, x->served, l.chunks);
    for (size_t k = 0; k < c.loops.n && c.chunk == 1 && l.chunks < 2; k++)
      write_within(&c, c.loops.at[k].mark, x->target);
    if (c.chunk && x->target->memory)
      report(&c, &price, l);
  }
  neo_arena_free(&scratch);
}

/* Distinct extents along which a recurrence may run. */
static uint32_t extents_of(const neo_pass_context *pass, neo_expr *out, uint32_t most_of_them) {
  neo_module *m = pass->m;
  uint32_t n = 0;
  for (uint32_t d = 1; d < m->defs.n; d++) {
    const neo_def_rec *r = neo_def_at(m, (neo_def){d});
    for (uint32_t k = 0; k < r->n_out && pass->number[d] && n < most_of_them; k++) {
      neo_expr hi = neo_def_axis(m, r, k)->hi;
      bool seen = false;
      for (uint32_t i = 0; i < n; i++)
        seen = seen || out[i].i == hi.i;
      if (!seen)
        out[n++] = hi;
    }
  }
  return n;
}

neo_status neo_pass_checkpoint(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  enum { MOST = 64 };
  neo_expr iterations[MOST];
  if (!pass->target->memory && !pass->target->chunk_iterations)
    return NEO_OK;
  checkpointing x = {.m = m, .p = pass->p, .target = pass->target};
  x.served = NEO_NEW_ARRAY(pass->a, bool, m->entries.n + 1);
  for (size_t k = 0; k < m->entries.n; k++)
    x.served[k] = pass->target->chunk_iterations || has_backward(m, &m->entries.at[k], pass->a);
  uint32_t n = extents_of(pass, iterations, MOST);
  for (uint32_t k = 0; k < n; k++)
    checkpoint_iterations(&x, iterations[k]);
  return NEO_OK;
}
