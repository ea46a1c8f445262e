/* Definitions that entries need: their order, forward or backward pass, and call-invariance. */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"
#include "ir/call_invariant.h"
#include "ir/component.h"
#include "ir/order.h"

/* Entries come in order, so equal sets get equal numbers. */
static void need_def(fuser *q, fuse_def *d, uint32_t entry) {
  if (d->last_entry == entry)
    return;
  uint64_t set, key = (uint64_t)d->entries << 32 | entry;
  if (!neo_map_get(&q->sets, key, &set)) {
    set = q->sets.n + 1;
    neo_map_set(&q->sets, key, set);
  }
  d->entries = (uint32_t)set;
  d->last_entry = entry;
}

/* Marks what the entry needs of these, which are added to all roots. */
static void need_roots(fuser *q, const neo_tensor *t, size_t n_roots, uint32_t entry,
                       neo_tensors *all) {
  neo_def *order;
  for (size_t k = 0; k < n_roots; k++) {
    q->wanted[t[k].i] = true;
    NEO_PUSH(q->a, all, t[k]);
  }
  size_t n = neo_module_topo(q->m, t, n_roots, q->a, &order, NULL);
  for (size_t k = 0; k < n; k++)
    need_def(q, &q->def[order[k].i], entry);
}

static void need_list(fuser *q, neo_list roots, uint32_t entry, neo_tensors *all) {
  neo_tensors t = {0};
  neo_tensors_add(q->m, q->a, &t, roots);
  need_roots(q, t.at, t.n, entry, all);
}

/* Computed tensors that initialisers read. */
static neo_list needed_by_inits(fuser *q) {
  NEO_VEC(uint32_t) ids = {0};
  for (uint32_t t = 1; t < q->m->tensors.n; t++) {
    neo_tensor *read;
    neo_def init = q->m->tensors.at[t].init;
    size_t n = init.i ? neo_def_reads(q->m, init, q->a, &read) : 0;
    for (size_t k = 0; k < n; k++)
      if (neo_tensor_at(q->m, read[k])->role == NEO_ROLE_TEMP)
        NEO_PUSH(q->a, &ids, read[k].i);
  }
  return neo_list_new(q->m, ids.at, ids.n);
}

/* Are the groups for entry k? */
static bool is_served(const fuser *q, size_t k) {
  return !q->program &&
         (q->entry == FUSE_EVERY || neo_group_entry(q->m, &q->m->entries.at[k]) == q->entry);
}

/* Marks definitions of the first outputs (a training entry's loss) as forward, the others as
 * backward. */
static void find_forward(fuser *q) {
  neo_def *order;
  neo_tensors roots = {0};
  for (size_t k = 0; q->program && k < q->program->n_roots; k++)
    NEO_PUSH(q->a, &roots, q->program->roots[k]);
  for (size_t k = 0; k < q->m->entries.n; k++) {
    const neo_entry_rec *e = &q->m->entries.at[k];
    if (!is_served(q, k))
      continue;
    bool trains = e->kind == NEO_ENTRY_TRAIN || e->kind == NEO_ENTRY_GRAD;
    for (uint32_t j = 0; j < e->outputs.n && (j == 0 || !trains); j++)
      NEO_PUSH(q->a, &roots, neo_list_tensor(q->m, e->outputs, j));
  }
  size_t n = neo_module_topo(q->m, roots.at, roots.n, q->a, &order, NULL);
  for (size_t k = 0; k < q->n_order; k++) {
    fuse_def *d = &q->def[q->order[k]];
    d->again = neo_def_at(q->m, (neo_def){q->order[k]})->after.i != 0;
    d->backward = !d->again;
  }
  for (size_t k = 0; k < n; k++)
    q->def[order[k].i].backward = false;
}

static void need_entries(fuser *q, neo_tensors *roots) {
  if (q->entry == FUSE_EVERY || !q->entry)
    need_list(q, needed_by_inits(q), 1, roots);
  for (size_t k = 0; k < q->m->entries.n; k++) {
    neo_list lists[] = {q->m->entries.at[k].outputs, q->m->entries.at[k].updates};
    for (int i = 0; i < 2 && is_served(q, k); i++)
      need_list(q, lists[i], (uint32_t)k + 2, roots);
  }
}

/* Keeps the program's definitions; all others are computed before. Blocks of rows
 * (neo_tensor_blocks) count as no read. */
static void filter_program(fuser *q, neo_def *order) {
  const neo_program *p = q->program;
  bool *own = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  size_t n = 0;
  for (size_t k = 0; k < p->n_defs; k++)
    own[p->defs[k].i] = true;
  for (size_t k = 0; k < q->n_order; k++)
    if (own[order[k].i])
      order[n++] = order[k];
  q->n_order = n;
}

static void find_needed(fuser *q) {
  neo_tensors roots = {0};
  neo_def *order;
  if (q->program)
    need_roots(q, q->program->roots, q->program->n_roots, 2, &roots);
  else
    need_entries(q, &roots);
  q->n_order = neo_module_topo(q->m, roots.at, roots.n, q->a, &order, NULL);
  if (q->program)
    filter_program(q, order);
  q->order = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++) {
    q->order[k] = order[k].i;
    q->def[order[k].i].at = (uint32_t)k;
    q->def[order[k].i].needed = true;
  }
}

static void find_call_invariant(fuser *q) {
  if (!q->caches)
    return;
  bool *served = NEO_NEW_ARRAY(q->a, bool, q->m->entries.n + 1);
  neo_def *order = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  for (size_t k = 0; k < q->m->entries.n; k++)
    served[k] = is_served(q, k);
  for (size_t k = 0; k < q->n_order; k++)
    order[k] = (neo_def){q->order[k]};
  neo_call_invariants l = neo_call_invariants_of(q->m, order, q->n_order, served, q->a);
  for (size_t k = 0; k < q->n_order; k++)
    q->def[q->order[k]].call_invariant = l.def[q->order[k]];
}

static void find_recurrences(fuser *q) {
  neo_def *defs = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  uint32_t *number = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  for (size_t k = 0; k < q->n_order; k++)
    defs[k].i = q->order[k];
  (void)neo_recurrences(q->m, defs, q->n_order, q->a, number);
  for (size_t k = 0; k < q->n_order; k++)
    q->def[q->order[k]].recurrence = number[q->order[k]];
}

/* ---- readers of the last slices of a recurrence
 *
 *     u[t, i] = ... u[t-1, i] ...,  last[i] = u[T-1, i]
 *
 * `last` joins the recurrence's group and runs after the loops: then nobody outside reads u, and a
 * few slices of it are enough (fusion/recurrence/fold.c). */

typedef struct {
  fuser *q;
  uint32_t *at;    /* by definition: its position in the order + 1; 0: not needed */
  uint32_t number; /* the recurrence */
  uint32_t first;  /* position of its first definition + 1 */
  bool good, reads;
  bool reads_bools; /* the definition reads bools that the recurrence computes */
} follower;

static bool is_made_by(const follower *f, neo_tensor t) {
  neo_list pieces = neo_tensor_at(f->q->m, t)->pieces;
  bool is = false;
  for (uint32_t k = 0; k < pieces.n; k++) {
    const fuse_def *d = &f->q->def[neo_list_at(f->q->m, pieces, k)];
    is = is || (d->needed && d->recurrence == f->number);
  }
  return is;
}

/* Is the tensor computed before the recurrence begins? */
static bool is_before(const follower *f, neo_tensor t) {
  neo_list pieces = neo_tensor_at(f->q->m, t)->pieces;
  bool is = true;
  for (uint32_t k = 0; k < pieces.n; k++)
    is = is && f->at[neo_list_at(f->q->m, pieces, k)] < f->first;
  return is;
}

static void look_follows(void *ctx, neo_expr e) {
  follower *f = ctx;
  neo_module *m = f->q->m;
  neo_node n = *neo_expr_node(m, e);
  if (!neo_node_is_load(&n))
    return;
  neo_tensor t = {n.attr};
  if (!is_made_by(f, t)) {
    f->good = f->good && is_before(f, t);
    return;
  }
  bool slice = false; /* reads one position of some axis */
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    slice = slice || !neo_expr_axes(m, neo_list_expr(m, n.arg, k));
  f->reads = true;
  f->good = f->good && slice;
}

/* Does the definition read a slice of the recurrence, and otherwise only earlier tensors? */
static bool follows(follower *f, uint32_t d) {
  neo_module *m = f->q->m;
  neo_list out = neo_def_at(m, (neo_def){d})->out;
  f->good = !f->q->def[d].recurrence && !neo_def_at(m, (neo_def){d})->after.i;
  f->reads = false;
  for (uint32_t k = 0; k < out.n; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, out, k));
    f->good = f->good && t->role == NEO_ROLE_TEMP && t->pieces.n == 1;
  }
  neo_def_visit(m, (neo_def){d}, look_follows, f);
  return f->good && f->reads;
}

static bool reads(const fuser *q, uint32_t d, neo_tensor t) {
  neo_tensor *in;
  size_t n = neo_def_reads(q->m, (neo_def){d}, q->a, &in);
  bool is = false;
  for (size_t k = 0; k < n; k++)
    is = is || in[k].i == t.i;
  return is;
}

/* Takes the readers of tensor t, if all of them read slices. */
static void take_readers(follower *f, neo_tensor t, bool *taken) {
  fuser *q = f->q;
  for (int pass = 0; pass < 2 && !q->wanted[t.i]; pass++)
    for (size_t k = f->first; k < q->n_order; k++) {
      uint32_t d = q->order[k];
      if (q->def[d].recurrence == f->number || !reads(q, d, t))
        continue;
      if (!follows(f, d))
        return;
      taken[d] = taken[d] || pass == 1;
    }
}

/* ---- recurrences that share loops (loop fusion)
 *
 *     d[t, i] = ... d[t+1, i] ...,  s[t, i] = (s[t+1, i] else 0) + d[t, i]*x[t, i]
 *
 * A recurrence that reads another one, and otherwise earlier tensors, joins its group if then
 * nobody outside reads all of some tensor, of which a few slices are enough. A recurrence of
 * several definitions joins if it reads bools of the other one, as carries do that the condition of
 * their `while` does not depend on: all exit early together
 * (fusion/recurrence/early_exit/early_exit.h). Others may have products with the rows of all
 * iterations outside. Definitions between the two join too. All that share loops need one common
 * order: pairwise orders are not enough. */

typedef NEO_VEC(neo_def) def_list;

typedef struct {
  fuser *q;
  follower f;        /* readers of the recurrence whose loops are shared */
  bool *joins;       /* by recurrence: may join */
  def_list *between; /* by recurrence: operands that depend on the shared one */
  uint32_t n;        /* number of recurrences */
  uint32_t joiner;
  const neo_conditions *when; /* by definition; null: all are always needed */
} sharing;

/* Is the definition needed whenever the loops run? A conditional one may depend on results that
 * wait for it, which the loops may compute. */
static bool is_needed_with(const sharing *s, uint32_t d) {
  return !s->when || neo_conditions_same(&s->when[d], &s->when[s->q->order[s->f.first - 1]]);
}

static bool makes_temporaries(const neo_module *m, neo_def d) {
  neo_list out = neo_def_at(m, d)->out;
  bool makes = true;
  for (uint32_t k = 0; k < out.n; k++)
    makes = makes && neo_tensor_at(m, neo_list_tensor(m, out, k))->role == NEO_ROLE_TEMP;
  return makes;
}

static bool is_between(const sharing *s, uint32_t number, uint32_t d) {
  for (size_t k = 0; k < s->between[number].n; k++)
    if (s->between[number].at[k].i == d)
      return true;
  return false;
}

static void look_joins(void *ctx, neo_expr e);

/* Takes the producers of the tensor; false: they cannot join. */
static bool take_between(sharing *s, neo_tensor t) {
  const fuser *q = s->q;
  neo_list pieces = neo_tensor_at(q->m, t)->pieces;
  neo_def d = {pieces.n == 1 ? neo_list_at(q->m, pieces, 0) : 0};
  if (!d.i || !q->def[d.i].needed || q->def[d.i].recurrence || q->wanted[t.i] ||
      !is_needed_with(s, d.i) || neo_def_at(q->m, d)->chunk_loop || !makes_temporaries(q->m, d))
    return false;
  if (is_between(s, s->joiner, d.i))
    return true;
  NEO_PUSH(q->a, &s->between[s->joiner], d);
  bool reads = s->f.reads; /* a definition without such reads is in no iteration */
  s->f.reads = false;
  neo_def_visit(q->m, d, look_joins, s);
  bool good = s->f.good && s->f.reads;
  s->f.reads = reads || good;
  return good;
}

static void look_joins(void *ctx, neo_expr e) {
  sharing *s = ctx;
  follower *f = &s->f;
  const neo_node *n = neo_expr_node(f->q->m, e);
  if (!f->good || (!neo_node_is_load(n)))
    return;
  neo_tensor t = {n->attr};
  if (!is_made_by(f, t)) {
    f->good = is_before(f, t) || take_between(s, t);
    return;
  }
  f->reads = true;
  f->reads_bools = f->reads_bools || neo_tensor_at(f->q->m, t)->type == NEO_BOOL_T;
}

/* The definitions of two recurrences; returns how many. */
static size_t members_of(const fuser *q, uint32_t a, uint32_t b, neo_def *out) {
  size_t n = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t number = q->def[q->order[k]].recurrence;
    if (number == a || number == b)
      out[n++].i = q->order[k];
  }
  return n;
}

/* Depth of the loop nest. */
static uint32_t depth_of(const neo_order_step *s) {
  uint32_t inner = 0;
  for (uint32_t k = 0; k < s->n_steps; k++) {
    uint32_t depth = depth_of(&s->step[k]);
    inner = depth > inner ? depth : inner;
  }
  return inner + !s->def.i;
}

/* Have both recurrences an order with common iterations? If one then needs a loop inside of the
 * other's iterations, it runs better alone, with lanes along them. */
static bool have_common_iterations(const fuser *q, uint32_t a, uint32_t b) {
  neo_def *own = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  neo_order_step loop[3];
  neo_prover *p = neo_prover_new(q->m);
  uint32_t of[3][2] = {{a, b}, {a, a}, {b, b}}, depth[3];
  bool are = true;
  for (uint32_t k = 0; k < 3 && are; k++) {
    size_t n = members_of(q, of[k][0], of[k][1], own);
    are = neo_order_find(p, own, n, q->a, &loop[k], NULL);
    depth[k] = are ? depth_of(&loop[k]) : 0;
  }
  neo_prover_free(p);
  return are && depth[0] <= (depth[1] > depth[2] ? depth[1] : depth[2]);
}

/* May the recurrence run in the loops? */
static bool could_join(sharing *s, uint32_t number) {
  fuser *q = s->q;
  neo_def *own = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  uint32_t *at = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  size_t n = members_of(q, number, number, own);
  s->joiner = number;
  s->f.good = n > 0;
  s->f.reads = false;
  s->f.reads_bools = false;
  for (size_t k = 0; k < n; k++) { /* definitions of a chunk loop stay in it */
    s->f.good = s->f.good && !neo_def_at(q->m, own[k])->chunk_loop &&
                makes_temporaries(q->m, own[k]) && is_needed_with(s, own[k].i);
    at[k] = s->f.at[own[k].i]; /* a definition may read its own earlier elements */
    s->f.at[own[k].i] = 0;
  }
  for (size_t k = 0; k < n; k++)
    neo_def_visit(q->m, own[k], look_joins, s);
  for (size_t k = 0; k < n; k++)
    s->f.at[own[k].i] = at[k];
  bool alone = n == 1 && !s->between[number].n;
  return s->f.good && s->f.reads && (alone || s->f.reads_bools) &&
         have_common_iterations(q, s->f.number, number);
}

/* Does the definition join with these recurrences? */
static bool is_of_winner(const sharing *s, const bool *wins, uint32_t d) {
  bool is = wins[s->q->def[d].recurrence];
  for (uint32_t x = 1; x <= s->n && !is; x++)
    is = wins[x] && is_between(s, x, d);
  return is;
}

/* Marks in `wins` the recurrences that must join so that nobody outside reads tensor t. */
static void find_winners(const sharing *s, neo_tensor t, bool *wins) {
  const fuser *q = s->q;
  for (int pass = 0; pass < 2 && !q->wanted[t.i]; pass++)
    for (size_t k = 0; k < q->n_order; k++) {
      uint32_t d = q->order[k], number = q->def[d].recurrence;
      if (number == s->f.number || !reads(q, d, t))
        continue;
      if (!is_of_winner(s, s->joins, d))
        return;
      for (uint32_t x = 1; x <= s->n; x++)
        wins[x] = wins[x] ||
                  (pass == 1 && s->joins[x] && (x == number || (!number && is_between(s, x, d))));
    }
}

/* Joins these recurrences, if there are loops that all joined so far can share. */
static void let_join(const sharing *s, const bool *wins, uint32_t *of) {
  const fuser *q = s->q;
  neo_def *all = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  size_t n = members_of(q, s->f.number, s->f.number, all);
  for (size_t k = 0; k < q->n_order; k++) { /* in the order of fuse_take_into */
    uint32_t d = q->order[k];
    if (of[d] || is_of_winner(s, wins, d))
      all[n++].i = d;
  }
  if (!neo_recurrence_shares(q->m, q->a, all, n))
    return;
  for (size_t k = 0; k < q->n_order; k++)
    if (is_of_winner(s, wins, q->order[k]))
      of[q->order[k]] = s->f.number;
}

/* Joins those that must join so that nobody outside reads tensor t. */
static void share_over(const sharing *s, neo_tensor t, uint32_t *of) {
  bool *wins = NEO_NEW_ARRAY(s->q->a, bool, s->n + 1), any = false;
  find_winners(s, t, wins);
  for (uint32_t x = 1; x <= s->n; x++)
    any = any || wins[x];
  if (any)
    let_join(s, wins, of);
}

static void share_loops(fuser *q) {
  const neo_conditions *when = fuse_conditions(q); /* joined groups have equal conditions */
  uint32_t n = 0;
  for (size_t k = 0; k < q->n_order; k++)
    n = q->def[q->order[k]].recurrence > n ? q->def[q->order[k]].recurrence : n;
  for (uint32_t number = 1; number < n; number++) {
    uint32_t *at = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n),
             *of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
    sharing s = {.q = q, .f = {.q = q, .at = at, .number = number}, .n = n, .when = when};
    s.joins = NEO_NEW_ARRAY(q->a, bool, n + 1);
    s.between = NEO_NEW_ARRAY(q->a, def_list, n + 1);
    for (size_t k = 0; k < q->n_order; k++) {
      at[q->order[k]] = (uint32_t)k + 1;
      if (!s.f.first && q->def[q->order[k]].recurrence == number)
        s.f.first = (uint32_t)k + 1;
    }
    for (uint32_t x = 1; x <= n && s.f.first; x++)
      s.joins[x] = x != number && could_join(&s, x);
    for (size_t k = 0; k < q->n_order; k++) {
      neo_list out = neo_def_at(q->m, (neo_def){q->order[k]})->out;
      for (uint32_t i = 0; i < out.n && q->def[q->order[k]].recurrence == number; i++)
        share_over(&s, neo_list_tensor(q->m, out, i), of);
    }
    fuse_take_into(q, of);
  }
}

static void take_followers(fuser *q) {
  uint32_t *at = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  uint32_t *of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n), before = 0;
  bool *taken = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  follower f = {.q = q, .at = at};
  for (size_t k = 0; k < q->n_order; k++)
    at[q->order[k]] = (uint32_t)k + 1;
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t d = q->order[k];
    f.number = q->def[d].recurrence;
    if (!f.number)
      continue;
    f.first = f.number == before ? f.first : (uint32_t)k + 1;
    before = f.number;
    neo_list out = neo_def_at(q->m, (neo_def){d})->out;
    for (uint32_t i = 0; i < out.n; i++)
      take_readers(&f, neo_list_tensor(q->m, out, i), taken);
    for (size_t j = 0; j < q->n_order; j++)
      if (taken[q->order[j]] && !of[q->order[j]])
        of[q->order[j]] = f.number;
  }
  fuse_take_into(q, of);
}

void fuse_needs(fuser *q) {
  find_needed(q);
  find_recurrences(q);
  fuse_take_chunks(q);
  fuse_take_consumers(q);
  share_loops(q);
  take_followers(q);
  find_forward(q);
  find_call_invariant(q);
  fuse_find_flags(q);
  fuse_hoist(q);
  fuse_find_branches(q);
}
