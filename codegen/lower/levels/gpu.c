/* The kernels for a GPU (levels.h): one block finds levels and ranks, window by window, then all
 * threads write the tables.
 *
 *     for w in 0..n step T                       thread t has vertex v = w + t
 *       now[t] = 0
 *       again = true
 *       while again, T + 1 times at most
 *         next = max(now[child - w], or level[child] if the child is before the window) + 1
 *         again = is next != now[t] in any thread
 *         now[t] = next
 *       level[v] = now[t];  place[v] = first[level[v]] + equal levels of threads before t
 *     first, end = sums of the earlier counts
 *
 * A child comes before its parents. So a vertex has its final level after the first pass if none of
 * its children is in the window, and otherwise after the pass that follows those of its children,
 * for any previous values. When a pass changes nothing, all levels are final. A batch of graphs
 * takes about as many passes as the graphs in a window are deep.
 *
 * Edges of lists get their ranks in the lists of parents window by window, as vertices do in their
 * level; each searches the offsets for its vertex. The rank of a slot's edge is the number of
 * earlier edges to the same child; if the child has several parents, the edge counts them from the
 * child on. */
#include "codegen/lower/levels/parts.h"

enum { THREADS = 512, PASSES = 32 /* between two tests of the end */ };

typedef struct {
  level_kernel k;
  uint32_t now, next, differs, again; /* now: scratch, the others: registers */
  const neo_lx *w;                    /* the window's first vertex */
} window;

static neo_block *open_threads(const level_kernel *x, neo_block *in, const neo_lx **t) {
  return lv_loop(x, in, NEO_LOOP_THREAD, "t", lv_int(x, 0), lv_int(x, THREADS), t);
}

static const neo_lx *less(const level_kernel *x, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(x->k, NEO_OP_LT, a, b);
}

static const neo_lx *truth(const level_kernel *x, bool is) {
  return neo_lx_const(x->k, NEO_BOOL_T, (neo_value){.i = is});
}

static neo_block *where_there(const window *y, neo_block *in, const neo_lx *len, const neo_lx *t,
                              const neo_lx **v) {
  *v = lv_add(&y->k, y->w, t);
  return lv_if(&y->k, in, less(&y->k, *v, len));
}

/* ---- levels */

static const neo_lx *level_of(const window *y, const neo_lx *child) {
  const level_kernel *x = &y->k;
  const neo_lx *in = neo_lx_op2(x->k, NEO_OP_LE, y->w, child);
  const neo_lx *before =
      neo_lx_op2(x->k, NEO_OP_DIV, neo_lx_load(x->k, x->level, child),
                 neo_lx_const(x->k, NEO_I32_T, (neo_value){.i = x->rows->kinds}));
  const neo_lx *at = neo_lx_op2(x->k, NEO_OP_SUB, child, y->w);
  return neo_lx_cast(x->k, NEO_I64_T, neo_lx_loadif(x->k, y->now, at, in, before));
}

static void add_pass(const window *y, neo_block *in) {
  const level_kernel *x = &y->k;
  const neo_lx *t, *v;
  neo_block *threads = open_threads(x, in, &t);
  lv_set(x, threads, y->differs, truth(x, false));
  neo_block *own = where_there(y, threads, x->n, t, &v);
  lv_set(x, own, y->next, lv_int(x, 0));
  for (uint32_t i = 0; i < x->rows->n_lists; i++) {
    level_slot s = lv_slots(x, own, &x->list[i], v);
    const neo_lx *level = lv_add(x, level_of(y, s.child), lv_int(x, 1));
    lv_set(x, s.there, y->next, neo_lx_op2(x->k, NEO_OP_MAX, lv_get(x, y->next), level));
  }
  const neo_lx *zero = lv_int(x, 0), *was = lv_load(x, y->now, t);
  lv_set(x, own, y->differs, neo_lx_op2(x->k, NEO_OP_NE, lv_get(x, y->next), was));
  threads = open_threads(x, in, &t);
  threads = lv_if(x, threads, neo_lx_reg(x->k, y->differs, &zero, 1));
  lv_store(x, threads, y->now, t, lv_get(x, y->next));
  neo_ls_vote(x->k, in, y->again, y->differs);
}

/* Two loops, so that not every pass that is left is looked at. */
static void add_passes(const window *y, neo_block *in) {
  const level_kernel *x = &y->k;
  const neo_lx *i, *zero = lv_int(x, 0), *again = neo_lx_reg(x->k, y->again, &zero, 1);
  const neo_lx *left = neo_lx_op2(x->k, NEO_OP_SUB, x->n, y->w);
  left = neo_lx_op2(x->k, NEO_OP_MIN, lv_int(x, THREADS), left);
  left = neo_lx_op2(x->k, NEO_OP_DIV, lv_add(x, left, lv_int(x, PASSES)), lv_int(x, PASSES));
  in = lv_loop(x, in, NEO_LOOP_SERIAL, "i", zero, left, &i);
  in = lv_if(x, in, again);
  in = lv_loop(x, in, NEO_LOOP_SERIAL, "j", zero, lv_int(x, PASSES), &i);
  add_pass(y, lv_if(x, in, again));
}

/* Stores the levels: now[t] becomes the block of the vertex, or -1 without a vertex, and counters
 * of vertices and parents become 0. */
static void store_levels(const window *y, neo_block *in) {
  const level_kernel *x = &y->k;
  int64_t kinds = x->rows->kinds;
  const neo_lx *t, *v, *k;
  neo_block *threads = open_threads(x, in, &t);
  lv_set(x, threads, y->next, lv_int(x, -1));
  neo_block *own = where_there(y, threads, x->n, t, &v);
  const neo_lx *block = lv_mul(x, lv_load(x, y->now, t), kinds);
  lv_set(x, own, y->next, kinds > 1 ? lv_add(x, block, lv_load(x, x->kind, v)) : block);
  lv_store(x, own, x->level, v, lv_get(x, y->next));
  for (uint32_t i = 0; i < x->rows->n_lists; i++)
    if (lv_has_parents(&x->list[i]))
      lv_store(x, own, x->list[i].end, v, lv_int(x, 0));
  neo_block *each = lv_loop(x, own, NEO_LOOP_UNROLL, "k", lv_int(x, 0), lv_int(x, kinds), &k);
  lv_store(x, each, x->first, lv_add(x, lv_mul(x, v, kinds), k), lv_int(x, 0));
  lv_store(x, threads, y->now, t, lv_get(x, y->next));
}

static void count_parents(const level_kernel *x, neo_block *in, const neo_lx *v) {
  const neo_lx *one = neo_lx_const(x->k, NEO_I32_T, (neo_value){.i = 1});
  for (uint32_t i = 0; i < x->rows->n_lists; i++)
    if (lv_has_parents(&x->list[i])) {
      level_slot s = lv_slots(x, in, &x->list[i], v);
      neo_ls_add(x->k, s.there, x->list[i].end, s.child, one);
    }
}

/* Ranks of a window's elements among those with the same now[t]: rank = counter[now[t]] + the
 * number of equal elements before t in the window. The last of equal elements stores rank + 1 in
 * the counter. by_rank: table[rank] = v, else table[v] = rank. */
static void rank_window(const window *y, neo_block *in, const neo_lx *len, uint32_t counter,
                        uint32_t table, bool by_rank) {
  const level_kernel *x = &y->k;
  const neo_lx *t, *v, *u;
  neo_block *threads = open_threads(x, in, &t);
  lv_set(x, threads, y->next, lv_int(x, -1));
  neo_block *own = where_there(y, threads, len, t, &v);
  const neo_lx *equal = lv_store_value(x, own, "equal", lv_load(x, y->now, t));
  uint32_t rank = lv_reg(x, own, "rank", 0), later = lv_reg(x, own, "later", 0);
  lv_set(x, own, rank, lv_load(x, counter, equal));
  lv_set(x, own, later, lv_int(x, 0));
  neo_block *each = lv_loop(x, own, NEO_LOOP_SERIAL, "u", lv_int(x, 0), lv_int(x, THREADS), &u);
  each = lv_if(x, each, neo_lx_op2(x->k, NEO_OP_EQ, lv_load(x, y->now, u), equal));
  const neo_lx *is = neo_lx_cast(x->k, NEO_I64_T, less(x, u, t));
  lv_set(x, each, rank, lv_add(x, lv_get(x, rank), is));
  is = neo_lx_cast(x->k, NEO_I64_T, less(x, t, u));
  lv_set(x, each, later, lv_add(x, lv_get(x, later), is));
  lv_store(x, own, table, by_rank ? lv_get(x, rank) : v, by_rank ? v : lv_get(x, rank));
  neo_block *last = lv_if(x, own, neo_lx_op2(x->k, NEO_OP_EQ, lv_get(x, later), lv_int(x, 0)));
  lv_set(x, last, y->next, lv_add(x, lv_get(x, rank), lv_int(x, 1)));
  threads = open_threads(x, in, &t);
  threads = lv_if(x, threads, neo_lx_op2(x->k, NEO_OP_LE, lv_int(x, 0), lv_get(x, y->next)));
  lv_store(x, threads, counter, lv_load(x, y->now, t), lv_get(x, y->next));
}

static void count_window(const window *y, neo_block *in) {
  const level_kernel *x = &y->k;
  const neo_lx *t, *v;
  rank_window(y, in, x->n, x->first, x->place, false);
  neo_block *threads = open_threads(x, in, &t);
  threads = where_there(y, threads, x->n, t, &v);
  count_parents(x, threads, v);
}

/* ---- sums */

/* The body of a loop over the part of a buffer that belongs to thread t; *at: the current
 * element. */
static neo_block *open_run(const window *y, neo_block *in, const neo_lx *t, const neo_lx *len,
                           const neo_lx **at) {
  const level_kernel *x = &y->k;
  const neo_lx *j, *run = lv_add(x, len, lv_int(x, THREADS - 1));
  run = neo_lx_op2(x->k, NEO_OP_DIV, run, lv_int(x, THREADS));
  in = lv_loop(x, in, NEO_LOOP_SERIAL, "j", lv_int(x, 0), run, &j);
  *at = lv_add(x, neo_lx_op2(x->k, NEO_OP_MUL, t, run), j);
  return lv_if(x, in, less(x, *at, len));
}

/* now[t] = the sum of now[0] .. now[t] (W. Hillis, G. Steele, Data parallel algorithms, CACM
 * 1986). */
static void add_up(const window *y, neo_block *in) {
  const level_kernel *x = &y->k;
  const neo_lx *t;
  for (int64_t d = 1; d < THREADS; d *= 2) {
    neo_block *threads = open_threads(x, in, &t);
    lv_set(x, threads, y->next, lv_load(x, y->now, t));
    neo_block *later = lv_if(x, threads, neo_lx_op2(x->k, NEO_OP_LE, lv_int(x, d), t));
    const neo_lx *other = lv_load(x, y->now, neo_lx_op2(x->k, NEO_OP_SUB, t, lv_int(x, d)));
    lv_set(x, later, y->next, lv_add(x, lv_get(x, y->next), other));
    threads = open_threads(x, in, &t);
    lv_store(x, threads, y->now, t, lv_get(x, y->next));
  }
}

/* buf[i] becomes the sum of the elements before it; own: and of itself. */
static void sum_table(const window *y, neo_block *in, uint32_t buf, const neo_lx *len, bool own) {
  const level_kernel *x = &y->k;
  const neo_lx *t, *at;
  neo_block *threads = open_threads(x, in, &t);
  lv_set(x, threads, y->next, lv_int(x, 0));
  neo_block *each = open_run(y, threads, t, len, &at);
  lv_set(x, each, y->next, lv_add(x, lv_get(x, y->next), lv_load(x, buf, at)));
  lv_store(x, threads, y->now, t, lv_get(x, y->next));
  add_up(y, in);
  threads = open_threads(x, in, &t);
  lv_set(x, threads, y->next, lv_int(x, 0));
  neo_block *later = lv_if(x, threads, less(x, lv_int(x, 0), t));
  const neo_lx *before = neo_lx_op2(x->k, NEO_OP_SUB, t, lv_int(x, 1));
  lv_set(x, later, y->next, lv_load(x, y->now, before));
  each = open_run(y, threads, t, len, &at);
  const neo_lx *sum =
      lv_store_value(x, each, "sum", lv_add(x, lv_get(x, y->next), lv_load(x, buf, at)));
  lv_store(x, each, buf, at, own ? sum : lv_get(x, y->next));
  lv_set(x, each, y->next, sum);
}

/* ---- edges of lists */

static neo_block *open_windows(window *y, neo_block *in, const neo_lx *len) {
  uint32_t w = neo_kernel_var(y->k.k, "w");
  y->w = neo_lx_var(y->k.k, w);
  return &neo_ls_for(y->k.k, in, NEO_LOOP_SERIAL, w, lv_int(&y->k, 0), len, THREADS)->loop.body;
}

/* The list of a vertex's parents gets its edges, by their number; its end is where it begins
 * before. */
static void list_edges(window *y, neo_block *in, const level_list *l) {
  const level_kernel *x = &y->k;
  const neo_lx *t, *e;
  in = open_windows(y, in, l->edges);
  neo_block *threads = open_threads(x, in, &t);
  lv_store(x, threads, y->now, t, lv_int(x, -1));
  neo_block *own = where_there(y, threads, l->edges, t, &e);
  lv_store(x, own, y->now, t, lv_load(x, l->child, e));
  rank_window(y, in, l->edges, l->end, l->edge, true);
}

/* ---- kernels */

static neo_block *open_unit(const level_kernel *x, const neo_lx *n, const neo_lx **unit) {
  return lv_loop(x, &x->k->body, NEO_LOOP_UNIT, "v", lv_int(x, 0), n, unit);
}

static void count_all(window *y) {
  const level_kernel *x = &y->k;
  const neo_lx *t, *unit, *blocks = lv_mul(x, x->n, x->rows->kinds);
  neo_block *in = open_unit(x, lv_int(x, 1), &unit);
  neo_reg votes = {.name = "again", .type = NEO_BOOL_T, .rank = 1, .extent = {1}};
  y->again = neo_kernel_reg(x->k, votes);
  votes.name = "differs";
  votes.threads = THREADS;
  y->differs = neo_kernel_reg(x->k, votes);
  neo_ls_reg(x->k, in, y->again);
  neo_ls_reg(x->k, in, y->differs);
  y->next = lv_reg(x, in, "next", THREADS);
  neo_block *body = open_windows(y, in, x->n), *threads;
  threads = open_threads(x, body, &t);
  lv_store(x, threads, y->now, t, lv_int(x, 0));
  lv_set(x, body, y->again, truth(x, true));
  add_passes(y, body);
  store_levels(y, body);
  count_window(y, body);
  sum_table(y, in, x->first, blocks, false);
  for (uint32_t i = 0; i < x->rows->n_lists; i++) {
    const level_list *l = &x->list[i];
    if (lv_has_parents(l))
      sum_table(y, in, l->end, x->n, lv_has_slots(l));
    if (lv_has_parents(l) && !lv_has_slots(l))
      list_edges(y, in, l);
  }
  threads = open_threads(x, in, &t);
  threads = lv_if(x, threads, neo_lx_op2(x->k, NEO_OP_EQ, t, lv_int(x, 0)));
  lv_store(x, threads, x->first, blocks, x->n);
}

static void place_all(const level_kernel *x) {
  const neo_lx *v;
  neo_block *in = open_unit(x, x->n, &v);
  const neo_lx *place =
      lv_add(x, lv_load(x, x->first, lv_load(x, x->level, v)), lv_load(x, x->place, v));
  place = lv_store_value(x, in, "place", place);
  lv_store_place(x, in, v, place);
}

/* The edge's place in the list of its child's parents. */
static const neo_lx *place_of_edge(const level_kernel *x, const level_list *l, const level_slot *s,
                                   const neo_lx *edge) {
  const neo_lx *other, *one = lv_int(x, 1);
  const neo_lx *before = neo_lx_op2(x->k, NEO_OP_SUB, s->child, one);
  uint32_t at = lv_reg(x, s->there, "at", 0);
  lv_set(x, s->there, at, lv_int(x, 0));
  neo_block *later = lv_if(x, s->there, less(x, lv_int(x, 0), s->child));
  lv_set(x, later, at, lv_load(x, l->end, before));
  neo_block *several =
      lv_if(x, s->there, less(x, lv_add(x, lv_get(x, at), one), lv_load(x, l->end, s->child)));
  const neo_lx *from = lv_first_edge(x, l, lv_add(x, s->child, one));
  neo_block *each = lv_loop(x, several, NEO_LOOP_SERIAL, "f", from, edge, &other);
  const neo_lx *same = neo_lx_op2(x->k, NEO_OP_EQ, lv_load(x, l->child, other), s->child);
  lv_set(x, each, at, lv_add(x, lv_get(x, at), neo_lx_cast(x->k, NEO_I64_T, same)));
  return lv_get(x, at);
}

static void write_lists(const level_kernel *x) {
  const neo_lx *v;
  neo_block *in = open_unit(x, x->n, &v);
  const neo_lx *place = lv_store_value(x, in, "place", lv_load(x, x->place, v));
  for (uint32_t i = 0; i < x->rows->n_lists; i++) {
    const level_list *l = &x->list[i];
    level_slot s = lv_slots(x, in, l, v);
    lv_store_child(x, l, &s, place);
    if (!lv_has_parents(l) || !lv_has_slots(l))
      continue;
    const neo_lx *at = place_of_edge(x, l, &s, lv_add(x, lv_mul(x, v, l->slots), s.slot));
    lv_store_edge(x, s.there, l, &s, place, at);
  }
}

/* The vertex in whose list the edge is: begin[at] <= edge < begin[end], halved until one is
 * left. */
static const neo_lx *owner_of(const level_kernel *x, neo_block *in, const level_list *l,
                              const neo_lx *edge) {
  enum { STEPS = 31 };
  const neo_lx *step;
  uint32_t at = lv_reg(x, in, "at", 0), end = lv_reg(x, in, "end", 0);
  lv_set(x, in, at, lv_int(x, 0));
  lv_set(x, in, end, x->n);
  neo_block *each = lv_loop(x, in, NEO_LOOP_SERIAL, "s", lv_int(x, 0), lv_int(x, STEPS), &step);
  const neo_lx *half =
      neo_lx_op2(x->k, NEO_OP_DIV, lv_add(x, lv_get(x, at), lv_get(x, end)), lv_int(x, 2));
  half = lv_store_value(x, each, "half", half);
  neo_ls *branch =
      neo_ls_if(x->k, each, neo_lx_op2(x->k, NEO_OP_LE, lv_load(x, l->begin, half), edge));
  lv_set(x, &branch->branch.then, at, half);
  lv_set(x, &branch->branch.otherwise, end, half);
  return lv_get(x, at);
}

/* Writes the owners of a list's edges to parents, as positions in the order. */
static void write_parents(const level_kernel *x, const level_list *l) {
  const neo_lx *i;
  neo_block *in = open_unit(x, l->edges, &i);
  const neo_lx *owner = owner_of(x, in, l, lv_load(x, l->edge, i));
  lv_store(x, in, l->parent, i, lv_load(x, x->place, owner));
}

void level_kernels_gpu(neo_module *m, const neo_group *g, neo_arena *a, neo_kernels *out) {
  window y = {.k = level_kernel_begin(m, g, a)};
  y.now = neo_kernel_scratch(y.k.k, "now", NEO_I32_T, THREADS);
  count_all(&y);
  NEO_PUSH(a, out, y.k.k);
  for (int pass = 0; pass < 2; pass++) {
    level_kernel x = level_kernel_begin(m, g, a);
    (pass ? write_lists : place_all)(&x);
    NEO_PUSH(a, out, x.k);
  }
  for (uint32_t i = 0; i < y.k.rows->n_lists; i++) {
    if (!lv_has_parents(&y.k.list[i]) || lv_has_slots(&y.k.list[i]))
      continue;
    level_kernel x = level_kernel_begin(m, g, a);
    write_parents(&x, &x.list[i]);
    NEO_PUSH(a, out, x.k);
  }
}
