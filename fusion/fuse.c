/* Groups of a module: which definitions become one kernel.
 *
 * First, which values are recomputed where they are read (inline): elementwise definitions of which nobody else wants the
 * tensor, and which are read once, or are cheap, and whose reader has no more points than they have elements.
 *
 * Then definitions are taken in order, and each joins the kernel of a producer or of a sibling if that saves memory
 * traffic, all it needs is there or done before, and no kernel would have to run before itself:
 *   epilogue  elementwise over the axes of a kernel whose value it reads at the element at hand
 *   sibling   elementwise over equal axes as another elementwise kernel that reads the same (Adam's three updates)
 *   rows      elementwise over the axes of a row reduction and one more, reading the row's results (softmax)
 * An update of a tensor joins only kernels that read the old values nowhere else than at the element written. */
#include "fusion/form.h"
#include <assert.h>
#include <string.h>

typedef struct {
  bool needed, inlined;
  bool lone;        /* never joined: several pieces, strided, an initialiser */
  uint32_t entries; /* number of the set of entries that need it */
  uint32_t last;    /* the entry of this set that came last */
  uint32_t group;   /* number + 1 */
  double cost;      /* of one element, elementwise work alone */
  uint32_t n_loads, size;
  uint32_t n_quotients; /* / and % in indices: lanes no longer run along memory */
  neo_tensor *read;
  size_t n_read;
} def_info;

typedef struct {
  NEO_VEC(neo_def) members;
  uint32_t entries;
  bool closed; /* takes no more members */
} draft;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_str *explain;
  def_info *def;
  bool *wanted;      /* tensor: an entry's output or update */
  uint32_t *readers; /* tensor: how many definitions read it */
  neo_map sets;      /* (set of entries, one more entry) -> set; 0 is the empty one */
  neo_def *order;
  size_t n_order;
  NEO_VEC(draft) drafts;
} fuser;

enum { MOST_COST = 60, MOST_SIZE = 160, MOST_OUTS = 8, MOST_ROW = 8192, LEAST_ROWS = 8 };

/* ---- what definitions are like */

typedef struct {
  fuser *q;
  def_info *d;
} measure_ctx;

static double op_cost(neo_op op) {
  switch (op) {
  case NEO_OP_EXP:
  case NEO_OP_TANH:
  case NEO_OP_SIGMOID:
  case NEO_OP_SILU:
  case NEO_OP_ELU:
  case NEO_OP_EXPM1:
  case NEO_OP_LOG:
  case NEO_OP_LOG1P:
  case NEO_OP_SOFTPLUS:
  case NEO_OP_GELU:
  case NEO_OP_ERF:
  case NEO_OP_RAND:
    return 16;
  case NEO_OP_SIN:
  case NEO_OP_COS:
  case NEO_OP_TAN:
  case NEO_OP_POW:
    return 30;
  case NEO_OP_DIV:
  case NEO_OP_SQRT:
  case NEO_OP_RSQRT:
  case NEO_OP_MOD:
    return 5;
  case NEO_OP_CAST:
  case NEO_OP_STOP:
    return 0;
  default:
    return 1;
  }
}

static void measure_node(void *ctx, neo_expr e) {
  measure_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->q->m, e);
  c->d->size++;
  if (n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE)
    c->d->n_loads++;
  else if (n->type != NEO_I64_T && neo_op_is_elementwise((neo_op)n->op))
    c->d->cost += op_cost((neo_op)n->op);
  else if (n->op == NEO_OP_RAND)
    c->d->cost += op_cost(NEO_OP_RAND);
  else if (n->type == NEO_I64_T && (n->op == NEO_OP_DIV || n->op == NEO_OP_MOD))
    c->d->n_quotients++;
}

static void measure(fuser *q, neo_def d) {
  def_info *x = &q->def[d.i];
  measure_ctx c = {q, x};
  const neo_def_rec *r = neo_def_at(q->m, d);
  neo_def_visit(q->m, d, measure_node, &c);
  x->n_read = neo_def_reads(q->m, d, q->a, &x->read);
  x->lone = r->out_map.n > 0;
  for (uint32_t k = 0; k < r->out.n; k++)
    x->lone =
        x->lone || neo_tensor_at(q->m, (neo_tensor){neo_list_at(q->m, r->out, k)})->pieces.n != 1;
  for (size_t k = 0; k < x->n_read; k++)
    q->readers[x->read[k].i]++;
}

/* ---- what entries need */

/* Entries come in order, so equal sets get equal numbers. */
static void need_def(fuser *q, def_info *d, uint32_t entry) {
  if (d->last == entry)
    return;
  uint64_t set, key = (uint64_t)d->entries << 32 | entry;
  if (!neo_map_get(&q->sets, key, &set)) {
    set = q->sets.n + 1;
    neo_map_set(&q->sets, key, set);
  }
  d->entries = (uint32_t)set;
  d->last = entry;
}

static void need_roots(fuser *q, neo_list roots, uint32_t entry) {
  neo_def *order;
  neo_tensor *t = NEO_NEW_ARRAY(q->a, neo_tensor, roots.n + 1);
  for (uint32_t k = 0; k < roots.n; k++) {
    t[k].i = neo_list_at(q->m, roots, k);
    q->wanted[t[k].i] = true;
  }
  size_t n = neo_module_topo(q->m, t, roots.n, q->a, &order, NULL);
  for (size_t k = 0; k < n; k++)
    need_def(q, &q->def[order[k].i], entry);
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

static void need_entries(fuser *q) {
  NEO_VEC(neo_tensor) roots = {0};
  neo_list inits = needed_by_inits(q);
  need_roots(q, inits, 1);
  for (uint32_t k = 0; k < inits.n; k++)
    NEO_PUSH(q->a, &roots, (neo_tensor){neo_list_at(q->m, inits, k)});
  for (size_t k = 0; k < q->m->entries.n; k++) {
    neo_list lists[] = {q->m->entries.at[k].outputs, q->m->entries.at[k].updates};
    for (int i = 0; i < 2; i++) {
      need_roots(q, lists[i], (uint32_t)k + 2);
      for (uint32_t j = 0; j < lists[i].n; j++)
        NEO_PUSH(q->a, &roots, (neo_tensor){neo_list_at(q->m, lists[i], j)});
    }
  }
  q->n_order = neo_module_topo(q->m, roots.at, roots.n, q->a, &q->order, NULL);
  for (size_t k = 0; k < q->n_order; k++) {
    q->def[q->order[k].i].needed = true;
    measure(q, q->order[k]);
  }
}

static neo_def producer(const fuser *q, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(q->m, t);
  return r->pieces.n == 1 ? (neo_def){neo_list_at(q->m, r->pieces, 0)} : (neo_def){0};
}

/* ---- reads */

typedef struct {
  const neo_module *m;
  neo_tensor t;
  uint32_t n_reads, n_prefix; /* places; of those at AXIS 0, 1, ... exactly */
} read_ctx;

static void count_read(void *ctx, neo_expr e) {
  read_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if ((n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE) || n->attr != c->t.i)
    return;
  c->n_reads++;
  bool same = n->op == NEO_OP_LOAD;
  for (uint32_t k = 0; k < n->arg.n && same; k++) {
    const neo_node *x = neo_expr_node(c->m, neo_list_expr(c->m, n->arg, k));
    same = x->op == NEO_OP_AXIS && x->attr == k;
  }
  c->n_prefix += same;
}

/* Does d read t only at the element at hand (of its leading axes)? */
static bool reads_here_only(const fuser *q, neo_def d, neo_tensor t) {
  read_ctx c = {.m = q->m, .t = t};
  neo_def_visit(q->m, d, count_read, &c);
  return c.n_reads == c.n_prefix;
}

static uint32_t places(const fuser *q, neo_def d, neo_tensor t) {
  read_ctx c = {.m = q->m, .t = t};
  neo_def_visit(q->m, d, count_read, &c);
  return c.n_reads;
}

static bool in_reduction(const fuser *q, neo_def d, neo_tensor t) {
  const neo_def_rec *r = neo_def_at(q->m, d);
  read_ctx c = {.m = q->m, .t = t};
  for (uint32_t k = 0; k < r->body.n; k++)
    neo_expr_visit(q->m, neo_list_expr(q->m, r->body, k), count_read, &c);
  neo_expr_visit(q->m, r->where, count_read, &c);
  return c.n_reads > 0;
}

static double extent_of(fuser *q, neo_expr e) {
  int64_t n = neo_extent_most(q->m, e);
  return n < 0 ? 64 : (double)n;
}

static double points(fuser *q, neo_def d, bool reduction) {
  neo_def_rec r = *neo_def_at(q->m, d);
  double n = 1;
  for (uint32_t k = 0; k < (reduction ? r.axes.n : r.n_out); k++)
    n *= extent_of(q, neo_def_axis(q->m, &r, k)->hi);
  return n;
}

static double elements(fuser *q, neo_tensor t) {
  double n = 1;
  for (uint32_t k = 0; k < neo_tensor_rank(q->m, t); k++)
    n *= extent_of(q, neo_tensor_extent(q->m, t, k));
  return n;
}

static void say(fuser *q, const char *what, neo_tensor t, const char *why) {
  if (q->explain)
    neo_str_addf(q->explain, "%s %s: %s\n", what,
                 neo_name_text(q->m->names, neo_tensor_at(q->m, t)->name), why);
}

/* ---- inline */

static bool inlines_into(fuser *q, neo_def d, neo_tensor t, neo_def reader) {
  const def_info *x = &q->def[d.i];
  bool reduced = in_reduction(q, reader, t), view = x->cost == 0 && x->n_loads <= 1;
  double n = points(q, reader, reduced);
  if (q->def[reader.i].size + x->size > MOST_SIZE)
    return false;
  if (n > elements(q, t) * 1.01 && !view)
    return false; /* it would be computed more often than now */
  return places(q, reader, t) == 1 || (x->cost <= 4 && x->n_loads <= 2 && !reduced);
}

static bool inlines(fuser *q, neo_def d) {
  const neo_def_rec r = *neo_def_at(q->m, d);
  const def_info *x = &q->def[d.i];
  neo_tensor t = {neo_list_at(q->m, r.out, 0)};
  bool simple = r.reducer == NEO_RED_NONE && r.out.n == 1 && !x->lone && !q->wanted[t.i];
  uint32_t n = q->readers[t.i];
  if (!simple || neo_tensor_at(q->m, t)->role != NEO_ROLE_TEMP || x->cost > MOST_COST || n == 0)
    return false;
  if (n > 1 && (x->cost > 3 || x->n_loads > 2 || n > 3 || x->n_quotients))
    return false;
  for (size_t k = 0; k < q->n_order; k++) {
    const def_info *y = &q->def[q->order[k].i];
    for (size_t i = 0; i < y->n_read; i++)
      if (y->read[i].i == t.i && !inlines_into(q, d, t, q->order[k]))
        return false;
  }
  say(q, "inline", t, n > 1 ? "cheap" : "read in one place");
  return true;
}

/* Readers take over what an inlined definition reads. */
static void hand_over(fuser *q, neo_def d) {
  def_info *x = &q->def[d.i];
  neo_tensor t = {neo_list_at(q->m, neo_def_at(q->m, d)->out, 0)};
  x->inlined = true;
  for (size_t k = 0; k < q->n_order; k++) {
    def_info *y = &q->def[q->order[k].i];
    for (size_t i = 0; i < y->n_read; i++)
      if (y->read[i].i == t.i) {
        y->size += x->size;
        y->cost += x->cost;
        y->n_loads += x->n_loads;
      }
  }
}

/* ---- joining */

static neo_tensor first_out(const fuser *q, neo_def d) {
  return (neo_tensor){neo_list_at(q->m, neo_def_at(q->m, d)->out, 0)};
}

static bool drafted_here(const draft *g, neo_def d) {
  for (size_t k = 0; k < g->members.n; k++)
    if (g->members.at[k].i == d.i)
      return true;
  return false;
}

/* Does definition d need, by way of others, a value of draft g? Members of g themselves do not count. */
static bool needs_draft(fuser *q, neo_def d, uint32_t g, bool *seen) {
  const def_info *x = &q->def[d.i];
  for (size_t k = 0; k < x->n_read; k++) {
    const neo_tensor_rec *r = neo_tensor_at(q->m, x->read[k]);
    for (uint32_t i = 0; i < r->pieces.n; i++) {
      neo_def p = {neo_list_at(q->m, r->pieces, i)};
      if (r->role == NEO_ROLE_PARAM || r->role == NEO_ROLE_STATE || seen[p.i])
        continue;
      seen[p.i] = true;
      const def_info *y = &q->def[p.i];
      if (y->group == g + 1)
        return true;
      if (needs_draft(q, p, g, seen))
        return true;
      /* the rest of its kernel has to be done as well */
      for (size_t j = 0; y->group && j < q->drafts.at[y->group - 1].members.n; j++) {
        neo_def sibling = q->drafts.at[y->group - 1].members.at[j];
        if (!seen[sibling.i]) {
          seen[sibling.i] = true;
          if (needs_draft(q, sibling, g, seen))
            return true;
        }
      }
    }
  }
  return false;
}

/* Would d, joined to g, wait for a kernel that waits for g? */
static bool cycles(fuser *q, neo_def d, uint32_t g) {
  const def_info *x = &q->def[d.i];
  for (size_t k = 0; k < x->n_read; k++) {
    const neo_tensor_rec *r = neo_tensor_at(q->m, x->read[k]);
    for (uint32_t i = 0; i < r->pieces.n; i++) {
      neo_def piece = {neo_list_at(q->m, r->pieces, i)};
      bool *seen = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n + 1);
      if (q->def[piece.i].group == g + 1 || !q->def[piece.i].needed)
        continue;
      if (needs_draft(q, piece, g, seen))
        return true;
      uint32_t other = q->def[piece.i].group;
      for (size_t j = 0; other && j < q->drafts.at[other - 1].members.n; j++)
        if (needs_draft(q, q->drafts.at[other - 1].members.at[j], g, seen))
          return true;
    }
  }
  return false;
}

static bool equal_axes(const fuser *q, neo_def a, neo_def b, uint32_t n) {
  const neo_def_rec *x = neo_def_at(q->m, a), *y = neo_def_at(q->m, b);
  for (uint32_t k = 0; k < n; k++)
    if (neo_def_axis(q->m, x, k)->hi.i != neo_def_axis(q->m, y, k)->hi.i)
      return false;
  return true;
}

typedef struct {
  const neo_module *m;
  bool found;
} equation_ctx;

static void find_equation(void *ctx, neo_expr e) {
  equation_ctx *c = ctx;
  c->found = c->found || neo_expr_node(c->m, e)->op == NEO_OP_EQ;
}

/* Sums over a data equation keep their kernel, in which they grow in the result's place. */
static bool has_equation(const fuser *q, neo_def d) {
  equation_ctx c = {q->m, false};
  neo_expr_visit(q->m, neo_def_at(q->m, d)->where, find_equation, &c);
  return c.found;
}

static uint32_t least_axes(const fuser *q, const draft *g) {
  uint32_t n = UINT32_MAX;
  for (size_t k = 0; k < g->members.n; k++) {
    uint32_t x = neo_def_at(q->m, g->members.at[k])->n_out;
    n = x < n ? x : n;
  }
  return n;
}

/* Does d read a member of g? By way of inlined values too. *here: only at the element at hand? */
static bool reads_member(fuser *q, const draft *g, neo_def d, bool *here) {
  const def_info *x = &q->def[d.i];
  bool any = false;
  for (size_t k = 0; k < x->n_read; k++) {
    neo_def p = producer(q, x->read[k]);
    if (!p.i || !(drafted_here(g, p) || (q->def[p.i].inlined && reads_member(q, g, p, here))))
      continue;
    any = true;
    *here = *here && reads_here_only(q, d, x->read[k]);
  }
  return any;
}

/* Does the value of d depend on t, by way of inlined values too? *here as above. */
static bool depends(fuser *q, neo_def d, neo_tensor t, bool *here) {
  const def_info *x = &q->def[d.i];
  bool any = false;
  for (size_t k = 0; k < x->n_read; k++) {
    neo_def p = producer(q, x->read[k]);
    bool inlined = p.i && q->def[p.i].inlined;
    if (x->read[k].i != t.i && !(inlined && depends(q, p, t, here)))
      continue;
    any = true;
    *here = *here && reads_here_only(q, d, x->read[k]);
  }
  return any;
}

/* Updates stay in place: who writes the new version reads the old one at the element at hand alone. */
static bool update_conflict(fuser *q, const draft *g, neo_def d) {
  for (size_t i = 0; i <= g->members.n; i++) {
    neo_def w = i < g->members.n ? g->members.at[i] : d;
    const neo_def_rec *r = neo_def_at(q->m, w);
    for (uint32_t k = 0; k < r->out.n; k++) {
      neo_tensor old = neo_tensor_at(q->m, (neo_tensor){neo_list_at(q->m, r->out, k)})->updates;
      for (size_t j = 0; old.i && j <= g->members.n; j++) {
        neo_def x = j < g->members.n ? g->members.at[j] : d;
        bool reduced = neo_def_at(q->m, x)->reducer != NEO_RED_NONE, here = true;
        if (depends(q, x, old, &here) && (reduced || !here))
          return true;
      }
    }
  }
  return false;
}

/* A tensor that both read, of the size of their axes. */
static bool shares_read(fuser *q, const draft *g, neo_def d) {
  const def_info *x = &q->def[d.i];
  for (size_t k = 0; k < x->n_read; k++) {
    if (neo_tensor_rank(q->m, x->read[k]) != neo_def_at(q->m, d)->n_out ||
        !reads_here_only(q, d, x->read[k]))
      continue;
    for (size_t i = 0; i < g->members.n; i++) {
      const def_info *y = &q->def[g->members.at[i].i];
      for (size_t j = 0; j < y->n_read; j++)
        if (y->read[j].i == x->read[k].i && reads_here_only(q, g->members.at[i], y->read[j]))
          return true;
    }
  }
  return false;
}

static bool has_reduction(const fuser *q, const draft *g) {
  for (size_t k = 0; k < g->members.n; k++)
    if (neo_def_at(q->m, g->members.at[k])->reducer != NEO_RED_NONE)
      return true;
  return false;
}

/* Does an output axis say how far the reduction goes, and nothing else? Then it may be run along this axis, in a kernel
 * without rows. */
static bool may_run(const fuser *q, const neo_def_rec *r) {
  uint64_t body = 0, domain = neo_expr_axes(q->m, r->where);
  for (uint32_t k = 0; k < r->body.n; k++)
    body |= neo_expr_axes(q->m, neo_list_expr(q->m, r->body, k));
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    const neo_axis_rec *a = neo_def_axis(q->m, r, k);
    domain |= neo_expr_axes(q->m, a->lo) | neo_expr_axes(q->m, a->hi);
  }
  return domain & ~body & ((1ULL << r->n_out) - 1);
}

/* Rows: the draft reduces rows of one axis, and d has that one axis more. */
static bool rows_fit(fuser *q, const draft *g, neo_def d, uint32_t n) {
  if (neo_def_at(q->m, d)->n_out != n + 1 || !has_reduction(q, g))
    return false;
  for (size_t k = 0; k < g->members.n; k++) {
    const neo_def_rec *r = neo_def_at(q->m, g->members.at[k]);
    if (r->reducer == NEO_RED_NONE)
      continue;
    bool product = neo_expr_node(q->m, neo_list_expr(q->m, r->body, 0))->op == NEO_OP_MUL;
    if (r->axes.n != r->n_out + 1 || r->n_out != n || product || may_run(q, r))
      return false; /* a product has better kernels of its own */
  }
  neo_def_rec r = *neo_def_at(q->m, d);
  double row = extent_of(q, neo_def_axis(q->m, &r, n)->hi);
  return row <= MOST_ROW && points(q, d, false) / row >= LEAST_ROWS;
}

static const char *joins(fuser *q, uint32_t at, neo_def d) {
  draft *g = &q->drafts.at[at];
  const neo_def_rec *r = neo_def_at(q->m, d);
  uint32_t n = least_axes(q, g), outs = r->out.n;
  bool here = true;
  if (g->closed || q->def[d.i].lone || r->reducer != NEO_RED_NONE)
    return NULL;
  for (size_t k = 0; k < g->members.n; k++)
    outs += neo_def_at(q->m, g->members.at[k])->out.n;
  if (g->entries != q->def[d.i].entries || outs > MOST_OUTS)
    return NULL;
  bool same = r->n_out == n && equal_axes(q, g->members.at[0], d, n);
  bool rows =
      !same && r->n_out > n && equal_axes(q, g->members.at[0], d, n) && rows_fit(q, g, d, n);
  for (size_t k = 0; k < g->members.n;
       k++) /* a kernel of rows takes only rows and what fits them */
    if (neo_def_at(q->m, g->members.at[k])->n_out != n && same)
      return NULL;
  if (!same && !rows)
    return NULL;
  bool member = reads_member(q, g, d, &here);
  if (!here || (!member && (rows || has_reduction(q, g) || !shares_read(q, g, d))))
    return NULL;
  if (update_conflict(q, g, d) || cycles(q, d, at))
    return NULL;
  return rows     ? "with the row's reduction"
         : member ? "reads what the kernel has just made"
                  : "reads the same";
}

static void place(fuser *q, neo_def d) {
  for (uint32_t k = (uint32_t)q->drafts.n; k-- > 0 && k + 64 > q->drafts.n;) {
    const char *why = joins(q, k, d);
    if (!why)
      continue;
    if (q->explain)
      neo_str_addf(
          q->explain, "join %s to %s: %s\n",
          neo_name_text(q->m->names, neo_tensor_at(q->m, first_out(q, d))->name),
          neo_name_text(q->m->names,
                        neo_tensor_at(q->m, first_out(q, q->drafts.at[k].members.at[0]))->name),
          why);
    NEO_PUSH(q->a, &q->drafts.at[k].members, d);
    q->def[d.i].group = k + 1;
    return;
  }
  draft g = {.entries = q->def[d.i].entries};
  g.closed = q->def[d.i].lone || has_equation(q, d);
  NEO_PUSH(q->a, &g.members, d);
  NEO_PUSH(q->a, &q->drafts, g);
  q->def[d.i].group = (uint32_t)q->drafts.n;
}

/* ---- drafts to groups */

/* Is t wanted outside of the draft? */
static bool leaves(fuser *q, const draft *g, neo_tensor t) {
  if (q->wanted[t.i] || neo_tensor_at(q->m, t)->role != NEO_ROLE_TEMP)
    return true;
  for (size_t k = 0; k < q->n_order; k++) {
    const def_info *y = &q->def[q->order[k].i];
    for (size_t i = 0; i < y->n_read; i++)
      if (y->read[i].i == t.i && !drafted_here(g, q->order[k]))
        return true;
  }
  return false;
}

/* Inlined definitions that d reads, theirs first. */
static void add_inlined(fuser *q, neo_group *g, neo_def d, bool *seen) {
  const def_info *x = &q->def[d.i];
  for (size_t k = 0; k < x->n_read; k++) {
    neo_def p = producer(q, x->read[k]);
    if (!p.i || !q->def[p.i].inlined || seen[p.i])
      continue;
    seen[p.i] = true;
    add_inlined(q, g, p, seen);
    neo_member y = {p, NEO_PLACE_INLINE};
    NEO_PUSH(q->a, &g->members, y);
  }
}

static neo_group finish(fuser *q, const draft *d) {
  neo_group g = {0};
  bool *seen = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n + 1);
  for (size_t k = 0; k < d->members.n; k++) {
    neo_def x = d->members.at[k];
    add_inlined(q, &g, x, seen);
    const neo_def_rec *r = neo_def_at(q->m, x);
    bool root = false;
    for (uint32_t i = 0; i < r->out.n; i++)
      root = root || leaves(q, d, (neo_tensor){neo_list_at(q->m, r->out, i)});
    neo_member y = {x, root ? NEO_PLACE_ROOT : NEO_PLACE_REGISTER};
    NEO_PUSH(q->a, &g.members, y);
  }
  neo_group_finish(q->m, q->a, &g);
  return g;
}

/* Producers first: a draft may have got members after others that need them were begun. */
static void emit(fuser *q, neo_grouping *out, uint32_t at, bool *done) {
  if (done[at])
    return;
  done[at] = true;
  const draft *g = &q->drafts.at[at];
  bool *seen = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n + 1);
  for (size_t k = 0; k < g->members.n; k++) {
    neo_group parts = {0};
    add_inlined(q, &parts, g->members.at[k], seen);
    neo_member self = {g->members.at[k], NEO_PLACE_ROOT};
    NEO_PUSH(q->a, &parts.members, self);
    for (size_t i = 0; i < parts.members.n; i++) {
      const def_info *x = &q->def[parts.members.at[i].def.i];
      for (size_t j = 0; j < x->n_read; j++) {
        const neo_tensor_rec *r = neo_tensor_at(q->m, x->read[j]);
        for (uint32_t p = 0; p < r->pieces.n; p++) {
          uint32_t other = q->def[neo_list_at(q->m, r->pieces, p)].group;
          if (other)
            emit(q, out, other - 1, done);
        }
      }
    }
  }
  neo_group made = finish(q, g);
  NEO_PUSH(q->a, &out->groups, made);
}

static void add_inits(fuser *q, neo_grouping *out) {
  for (uint32_t k = 1; k < q->m->tensors.n; k++) {
    if (!q->m->tensors.at[k].init.i)
      continue;
    neo_group g = {0};
    neo_member x = {q->m->tensors.at[k].init, NEO_PLACE_ROOT};
    NEO_PUSH(q->a, &g.members, x);
    neo_group_finish(q->m, q->a, &g);
    NEO_PUSH(q->a, &out->groups, g);
  }
}

neo_status neo_fuse(neo_module *m, neo_arena *a, neo_grouping *out, neo_str *explain) {
  fuser q = {.m = m, .a = a, .explain = explain};
  neo_map_init(&q.sets, a);
  q.def = NEO_NEW_ARRAY(a, def_info, m->defs.n + 1);
  q.wanted = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  q.readers = NEO_NEW_ARRAY(a, uint32_t, m->tensors.n + 1);
  *out = (neo_grouping){.m = m};
  need_entries(&q);
  for (size_t k = 0; k < q.n_order; k++)
    if (inlines(&q, q.order[k]))
      hand_over(&q, q.order[k]);
  for (size_t k = 0; k < q.n_order; k++)
    if (!q.def[q.order[k].i].inlined)
      place(&q, q.order[k]);
  add_inits(&q, out);
  bool *done = NEO_NEW_ARRAY(a, bool, q.drafts.n + 1);
  for (uint32_t k = 0; k < q.drafts.n; k++)
    emit(&q, out, k, done);
  return NEO_OK;
}
