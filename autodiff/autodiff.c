/* The pass: one request after the other. The steps that lead to y (a step is a definition, or a
 * call of a function with its own gradient) are ordered producers first, then visited backwards:
 * when a step is reached, every reader of its outputs has been visited, so their adjoints are
 * complete.
 *
 * Steps that depend on each other (ir/component.h) are consecutive. Their adjoints depend on each
 * other too: they are read while the steps are visited, and defined at the end. The adjoint of h[t
 * - 1] is solved like that of any read, so that the order of the adjoints is that of the steps,
 * reversed. */
#include "autodiff/internal.h"
#include "ir/component.h"
#include "ir/loop_axes.h"

enum { MAX_DEFS = 1 << 20 };

typedef struct {
  bool custom;
  uint32_t number;     /* definition id, or row of m->customs */
  uint32_t recurrence; /* steps with the same number depend on each other; 0: no such dependence */
} step;

typedef struct {
  neo_module *m;
  neo_arena *scratch;
  neo_map seen;       /* tensor, or step with a high bit */
  neo_map *custom_of; /* out tensor -> row of m->customs */
  NEO_VEC(step) steps;
  bool recurs;
} order_ctx;

static bool first_time(order_ctx *o, uint64_t key) {
  if (neo_map_get(&o->seen, key, NULL))
    return false;
  neo_map_set(&o->seen, key, 1);
  return true;
}

static void visit_tensor(order_ctx *o, neo_tensor t);

static void visit_custom(order_ctx *o, uint32_t number) {
  if (!first_time(o, 1ull << 40 | number))
    return;
  neo_list ins = o->m->customs.at[number].ins;
  for (uint32_t k = 0; k < ins.n; k++)
    visit_tensor(o, neo_list_tensor(o->m, ins, k));
  NEO_PUSH(o->scratch, &o->steps, (step){true, number, 0});
}

static void visit_definition(order_ctx *o, neo_def d) {
  if (!first_time(o, 1ull << 41 | d.i))
    return;
  neo_tensor *reads;
  size_t n = neo_def_reads(o->m, d, o->scratch, &reads);
  for (size_t k = 0; k < n; k++)
    visit_tensor(o, reads[k]);
  NEO_PUSH(o->scratch, &o->steps, (step){false, d.i, 0});
}

static void visit_tensor(order_ctx *o, neo_tensor t) {
  uint64_t custom;
  if (!first_time(o, t.i))
    return;
  if (neo_map_get(o->custom_of, t.i, &custom)) {
    visit_custom(o, (uint32_t)custom);
    return;
  }
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    visit_definition(o, neo_list_def(o->m, pieces, k));
}

static void find_customs(order_ctx *o) {
  for (uint32_t c = 0; c < o->m->customs.n; c++) {
    neo_list outs = o->m->customs.at[c].outs;
    for (uint32_t k = 0; k < outs.n; k++)
      neo_map_set(o->custom_of, neo_list_at(o->m, outs, k), c);
  }
}

/* ---- steps that need each other */

typedef NEO_VEC(neo_dependence) edges;

static uint64_t key_of_step(step s) {
  return (s.custom ? 1ull << 40 : 1ull << 41) | s.number;
}

static void add_edge(const order_ctx *o, edges *e, const neo_map *at, step producer,
                     uint32_t reader) {
  uint64_t k;
  if (neo_map_get(at, key_of_step(producer), &k))
    NEO_PUSH(o->scratch, e, (neo_dependence){(uint32_t)k, reader});
}

/* Adds edges from the steps that define t to the reader. */
static void add_edges(const order_ctx *o, edges *e, const neo_map *at, neo_tensor t,
                      uint32_t reader) {
  uint64_t custom;
  if (neo_map_get(o->custom_of, t.i, &custom)) {
    add_edge(o, e, at, (step){true, (uint32_t)custom, 0}, reader);
    return;
  }
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    add_edge(o, e, at, (step){false, neo_list_at(o->m, pieces, k), 0}, reader);
}

static void find_edges(const order_ctx *o, edges *e) {
  neo_map at = neo_map_in(o->scratch);
  for (size_t k = 0; k < o->steps.n; k++)
    neo_map_set(&at, key_of_step(o->steps.at[k]), k);
  for (uint32_t k = 0; k < o->steps.n; k++) {
    step x = o->steps.at[k];
    neo_tensor *reads;
    neo_list ins = x.custom ? o->m->customs.at[x.number].ins : (neo_list){0};
    size_t n = x.custom ? 0 : neo_def_reads(o->m, (neo_def){x.number}, o->scratch, &reads);
    for (uint32_t j = 0; j < ins.n; j++)
      add_edges(o, e, &at, neo_list_tensor(o->m, ins, j), k);
    for (size_t j = 0; j < n; j++)
      add_edges(o, e, &at, reads[j], k);
  }
}

/* Sorts the steps by component. */
static void sort_steps(order_ctx *o, const uint32_t *component, uint32_t n) {
  step *sorted = NEO_NEW_ARRAY(o->scratch, step, o->steps.n + 1);
  uint32_t *first = NEO_NEW_ARRAY(o->scratch, uint32_t, n + 2);
  for (size_t k = 0; k < o->steps.n; k++)
    first[component[k] + 1]++;
  for (uint32_t c = 1; c <= n + 1; c++)
    first[c] += first[c - 1];
  for (size_t k = 0; k < o->steps.n; k++)
    sorted[first[component[k]]++] = o->steps.at[k];
  o->steps.at = sorted;
}

static void find_recurrences(order_ctx *o) {
  edges e = {0};
  uint32_t *component = NEO_NEW_ARRAY(o->scratch, uint32_t, o->steps.n + 1);
  find_edges(o, &e);
  uint32_t n = neo_components_of(e.at, e.n, (uint32_t)o->steps.n, o->scratch, component);
  for (size_t k = 0; k < e.n; k++) {
    uint32_t c = component[e.at[k].producer];
    if (c == component[e.at[k].reader])
      o->steps.at[e.at[k].producer].recurrence = o->steps.at[e.at[k].reader].recurrence = c;
    o->recurs = o->recurs || c == component[e.at[k].reader];
  }
  if (o->recurs)
    sort_steps(o, component, n);
}

/* ---- tensors that depend on the request's */

/* Marks the tensors that need a gradient; returns whether one is new. */
static bool mark_needs(ad_state *s, neo_list outs, bool yes) {
  size_t before = s->needs.n;
  for (uint32_t k = 0; yes && k < outs.n; k++)
    neo_map_set(&s->needs, neo_list_at(s->m, outs, k), 1);
  return s->needs.n > before;
}

static bool find_needs_once(ad_state *s, const order_ctx *o) {
  neo_module *m = s->m;
  bool more = false;
  for (size_t i = 0; i < o->steps.n; i++) {
    step st = o->steps.at[i];
    bool yes = false;
    if (st.custom) {
      neo_custom_rec c = m->customs.at[st.number];
      for (uint32_t k = 0; k < c.ins.n; k++)
        yes = yes || ad_needs(s, neo_list_tensor(m, c.ins, k));
      more = mark_needs(s, c.outs, yes) || more;
      continue;
    }
    neo_tensor *reads;
    size_t n = neo_def_reads(m, (neo_def){st.number}, s->scratch, &reads);
    for (size_t k = 0; k < n; k++)
      yes = yes || ad_needs(s, reads[k]);
    more = mark_needs(s, neo_def_at(m, (neo_def){st.number})->out, yes) || more;
  }
  return more;
}

static void find_needs(ad_state *s, const order_ctx *o) {
  (void)mark_needs(s, s->request.wrt, true);
  while (find_needs_once(s, o) && o->recurs)
    ;
}

/* ---- conditions of adjoints */

static bool find_conditions_once(ad_state *s, const order_ctx *o) {
  bool more = false;
  for (size_t i = o->steps.n; i-- > 0;) {
    step st = o->steps.at[i];
    neo_list ins = st.custom ? s->m->customs.at[st.number].ins : (neo_list){0};
    for (uint32_t k = 0; k < ins.n; k++)
      more = ad_conditions_none(s, &s->conditions, neo_list_tensor(s->m, ins, k)) || more;
    if (!st.custom)
      more = ad_conditions_step(s, &s->conditions, (neo_def){st.number}) || more;
  }
  return more;
}

/* The axes along which loops of recurrences run. */
static void find_loops(ad_state *s, const order_ctx *o) {
  neo_def *defs = NEO_NEW_ARRAY(s->scratch, neo_def, o->steps.n + 1);
  size_t n = 0;
  for (size_t i = 0; i < o->steps.n; i++)
    if (!o->steps.at[i].custom)
      defs[n++].i = o->steps.at[i].number;
  if (s->conditions.recurring.n)
    s->conditions.loops = neo_loop_axes(s->env.prover, defs, n, s->scratch);
}

static void find_conditions(ad_state *s, const order_ctx *o) {
  ad_conditions_init(s, &s->conditions);
  for (size_t i = 0; i < o->steps.n; i++)
    if (o->steps.at[i].recurrence && !o->steps.at[i].custom) {
      neo_list outs = neo_def_at(s->m, (neo_def){o->steps.at[i].number})->out;
      for (uint32_t k = 0; k < outs.n; k++)
        neo_map_set(&s->conditions.recurring, neo_list_at(s->m, outs, k), 1);
    }
  find_loops(s, o);
  for (size_t i = 0; i < o->steps.n; i++)
    if (!o->steps.at[i].custom)
      ad_conditions_note(s, &s->conditions, (neo_def){o->steps.at[i].number});
  (void)ad_conditions_none(s, &s->conditions, s->request.y);
  while (find_conditions_once(s, o) && o->recurs)
    ;
}

static bool any_needs(ad_state *s, neo_list outs) {
  for (uint32_t k = 0; k < outs.n; k++)
    if (ad_needs(s, neo_list_tensor(s->m, outs, k)))
      return true;
  return false;
}

static void seed(ad_state *s) {
  neo_module *m = s->m;
  neo_tensor y = s->request.y;
  if (!ad_needs(s, y))
    return;
  if (s->request.seed.i)
    ad_adjoint_add_expr(s, y, ad_read(m, s->request.seed));
  else
    ad_adjoint_add_expr(s, y, neo_const_int(m, neo_tensor_type(m, y), 1));
}

/* A request may name a tensor twice: the second out is then a copy of the first. */
static void pair_outs(ad_state *s) {
  neo_module *m = s->m;
  for (uint32_t k = 0; k < s->request.wrt.n; k++) {
    uint32_t wrt = neo_list_at(m, s->request.wrt, k), out = neo_list_at(m, s->request.out, k);
    uint64_t known;
    if (!neo_map_get(&s->out_of, wrt, &known))
      neo_map_set(&s->out_of, wrt, out);
  }
}

static void copy_repeats(ad_state *s) {
  neo_module *m = s->m;
  for (uint32_t k = 0; k < s->request.wrt.n; k++) {
    neo_tensor out = {neo_list_at(m, s->request.out, k)};
    uint64_t known = 0;
    neo_map_get(&s->out_of, neo_list_at(m, s->request.wrt, k), &known);
    if (known == out.i)
      continue;
    neo_axis_rec axis[16];
    uint32_t n = neo_tensor_rank(m, out);
    for (uint32_t i = 0; i < n; i++)
      axis[i] = (neo_axis_rec){.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, out, i)};
    neo_expr value = ad_read(m, (neo_tensor){(uint32_t)known});
    neo_def_rec r = {.n_out = n, .reducer = NEO_RED_NONE, .span = s->request.span};
    r.finish = neo_list_one(m, value.i);
    ad_define(m, out, r, axis, n);
  }
}

static neo_list outs_of(const ad_state *s, step st) {
  return st.custom ? s->m->customs.at[st.number].outs : neo_def_at(s->m, (neo_def){st.number})->out;
}

static void step_back(ad_state *s, step st) {
  neo_module *m = s->m;
  if (any_needs(s, outs_of(s, st))) {
    if (st.custom)
      ad_custom(s, st.number);
    else
      ad_definition(s, (neo_def){st.number});
  }
  if (m->defs.n > MAX_DEFS) {
    neo_diag(m->diags, s->request.span, NEO_D_GRAD_LIMIT, MAX_DEFS);
    s->failed = true;
  }
}

/* Calls f for the tensors that the steps make and that need a gradient. */
static void each_out(ad_state *s, const step *st, size_t n, void (*f)(ad_state *, neo_tensor)) {
  for (size_t k = 0; k < n; k++) {
    neo_list outs = outs_of(s, st[k]); /* a step may add outputs for itself */
    for (uint32_t j = 0; j < outs.n; j++) {
      neo_tensor t = {neo_list_at(s->m, outs, j)};
      if (ad_needs(s, t) && neo_type_is_float(neo_tensor_type(s->m, t)))
        f(s, t);
    }
  }
}

static bool any_arrives(ad_state *s, const step *st, size_t n) {
  bool found = false;
  for (size_t k = 0; k < n; k++) {
    neo_list outs = outs_of(s, st[k]);
    for (uint32_t j = 0; j < outs.n; j++)
      found = found || ad_adjoint_arrives(s, neo_list_tensor(s->m, outs, j));
  }
  return found;
}

/* ---- which results of a recurrence something flows to */

typedef struct {
  ad_state *s;
  neo_map seen;    /* expressions of the current step */
  neo_map reached; /* tensors */
} reach;

/* Marks the tensors from which the value of e is computed, floats of floats. */
static void reach_reads(reach *r, neo_expr e) {
  const neo_module *m = r->s->m;
  neo_node n = *neo_expr_node(m, e);
  if (!neo_type_is_float((neo_type)n.type) || neo_map_get(&r->seen, e.i, NULL))
    return;
  neo_map_set(&r->seen, e.i, 1);
  if (n.op == NEO_OP_LOAD || n.op == NEO_OP_LOAD_ELSE)
    neo_map_set(&r->reached, n.attr, 1);
  for (uint32_t k = 0; k < n.arg.n; k++)
    reach_reads(r, neo_list_expr(m, n.arg, k));
}

static bool is_reached(const reach *r, neo_list outs) {
  bool is = false;
  for (uint32_t k = 0; k < outs.n; k++) {
    neo_tensor t = {neo_list_at(r->s->m, outs, k)};
    is = is || neo_map_get(&r->reached, t.i, NULL) || ad_adjoint_arrives(r->s, t);
  }
  return is;
}

static void reach_step(reach *r, step st) {
  neo_module *m = r->s->m;
  if (!is_reached(r, outs_of(r->s, st)))
    return;
  if (st.custom) {
    neo_list ins = m->customs.at[st.number].ins;
    for (uint32_t k = 0; k < ins.n; k++)
      neo_map_set(&r->reached, neo_list_at(m, ins, k), 1);
    return;
  }
  neo_def_rec d = *neo_def_at(m, (neo_def){st.number});
  neo_map_init(&r->seen, r->s->scratch);
  for (uint32_t k = 0; k < d.finish.n; k++)
    reach_reads(r, neo_list_expr(m, d.finish, k));
  for (uint32_t k = 0; k < d.body.n; k++)
    reach_reads(r, neo_list_expr(m, d.body, k));
}

/* A carry that conditions alone read, as the error by which a `while` ends, has no adjoint. */
static void open_reached(ad_state *s, const step *st, size_t n) {
  reach r = {.s = s};
  neo_map_init(&r.reached, s->scratch);
  for (size_t before = SIZE_MAX; before != r.reached.n;) {
    before = r.reached.n;
    for (size_t k = n; k-- > 0;)
      reach_step(&r, st[k]);
  }
  for (size_t k = 0; k < n; k++)
    if (is_reached(&r, outs_of(s, st[k])))
      each_out(s, &st[k], 1, ad_adjoint_open);
}

static void recurrence_back(ad_state *s, const step *st, size_t n) {
  if (!any_arrives(s, st, n))
    return;
  open_reached(s, st, n);
  for (size_t k = n; k-- > 0 && !s->failed;)
    step_back(s, st[k]);
  if (!s->failed)
    each_out(s, st, n, ad_adjoint_close);
}

static void backward(ad_state *s, const order_ctx *o) {
  for (size_t end = o->steps.n, i; end > 0 && !s->failed; end = i) {
    const step *st = o->steps.at;
    i = end - 1;
    while (st[i].recurrence && i > 0 && st[i - 1].recurrence == st[i].recurrence)
      i--;
    if (st[i].recurrence)
      recurrence_back(s, st + i, end - i);
    else
      step_back(s, st[i]);
  }
}

bool ad_carry_out(neo_module *m, neo_prover *prover, neo_arena *scratch, neo_grad_rec request,
                  const neo_map *back) {
  ad_state s = {
      .env = {prover, m, scratch}, .m = m, .scratch = scratch, .request = request, .back = back};
  order_ctx o = {.m = m, .scratch = scratch, .custom_of = &s.custom_of};
  neo_map_init(&o.seen, scratch);
  neo_map_init(&s.custom_of, scratch);
  neo_map_init(&s.adjoint_of, scratch);
  neo_map_init(&s.needs, scratch);
  neo_map_init(&s.out_of, scratch);
  find_customs(&o);
  visit_tensor(&o, request.y);
  find_recurrences(&o);
  find_needs(&s, &o);
  find_conditions(&s, &o);
  pair_outs(&s);
  seed(&s);
  backward(&s, &o);
  for (uint32_t k = 0; k < request.wrt.n && !s.failed; k++)
    ad_adjoint_final(&s, neo_list_tensor(m, request.wrt, k));
  if (!s.failed)
    copy_repeats(&s);
  return !s.failed;
}

/* ---- requests of one tensor */

static bool same_list(const neo_module *m, neo_list a, neo_list b) {
  bool same = a.n == b.n;
  for (uint32_t k = 0; same && k < a.n; k++)
    same = neo_list_at(m, a, k) == neo_list_at(m, b, k);
  return same;
}

static bool goes_with(const neo_module *m, const neo_grad_rec *r, const neo_grad_rec *first) {
  return !r->done && r->y.i == first->y.i && r->seed.i == first->seed.i &&
         r->n_batch == first->n_batch && same_list(m, r->hold, first->hold);
}

static neo_list joined(neo_module *m, neo_arena *scratch, neo_list a, neo_list b) {
  uint32_t *all = NEO_NEW_ARRAY(scratch, uint32_t, a.n + b.n + 1);
  for (uint32_t k = 0; k < a.n + b.n; k++)
    all[k] = k < a.n ? neo_list_at(m, a, k) : neo_list_at(m, b, k - a.n);
  return neo_list_new(m, all, a.n + b.n);
}

/* Merges request k with all later ones of the same y and seed, and marks all of them as done: their
 * backward passes share adjoints, also those of recurrences, which no later pass would find to be
 * equal. The tensors that later requests ask for exist already, as y depends on them. */
static neo_grad_rec taken_together(neo_module *m, neo_arena *scratch, size_t k) {
  neo_grad_rec all = m->grads.at[k];
  m->grads.at[k].done = true;
  for (size_t i = k + 1; i < m->grads.n; i++) {
    if (!goes_with(m, &m->grads.at[i], &all))
      continue;
    neo_list wrt = m->grads.at[i].wrt, out = m->grads.at[i].out;
    all.wrt = joined(m, scratch, all.wrt, wrt);
    all.out = joined(m, scratch, all.out, out);
    m->grads.at[i].done = true;
  }
  return all;
}

neo_status neo_pass_autodiff(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  bool good = true;
  for (uint32_t k = 1; k < m->defs.n; k++)
    m->defs.at[k].as_written = true;
  for (uint32_t k = 0; k < m->grads.n; k++) {
    if (m->grads.at[k].done)
      continue;
    neo_arena scratch = neo_arena_scratch(m->arena);
    neo_grad_rec request = taken_together(m, &scratch, k);
    good = (request.n_batch ? ad_batch(m, pass->p, &scratch, request)
                            : ad_carry_out(m, pass->p, &scratch, request, NULL)) &&
           good;
    neo_arena_free(&scratch);
  }
  return good ? NEO_OK : NEO_INPUT;
}
