/* A definition is needed where one of its readers is and the conditions at the read hold. This is the least solution,
 * from nothing on, as for definitions that need each other: what is needed grows until all readers are satisfied. (G.
 * Kildall, "A unified approach to global program optimization".)
 *
 * What is needed is a disjunction of a few conjunctions; where these become many, what they have in common. A condition
 * that not all of them have is asked for only if its elements are made before the definition: what makes them
 * might need it. */
#include "ir/needed.h"
#include "base/vec.h"
#include "ir/component.h"
#include "ir/guarded_read.h"
#include <stdlib.h>

enum { MOST_TERMS = 8, MOST_CONDITIONS = 48, MOST_CASES = 64 };

typedef struct { /* a conjunction */
  uint32_t n;
  neo_expr at[MOST_CONDITIONS];
} term;

typedef struct { /* a disjunction; n == 0: it is needed nowhere */
  uint32_t n;
  const term *at[MOST_TERMS];
} need;

typedef struct { /* of one definition */
  neo_tensor t;
  bool steers;
  term under; /* conditions at the read */
} read_under;
typedef NEO_VEC(read_under) reads_under;

typedef struct {
  neo_module *m;
  const neo_needed_input *in;
  neo_arena *a;
  const uint32_t *together;
  need *of, *of_class; /* by definition, by number of those that run together */
  bool *dirty;         /* by definition: its own need is new to what it reads */
  uint32_t *place;     /* of definitions, from 1 on; 0: not asked about */
  reads_under *reads;  /* by place */
} search;

/* ---- conjunctions */

static bool term_implies(neo_module *m, const term *x, const term *y) {
  for (uint32_t k = 0; k < y->n; k++)
    if (neo_condition_where(m, x->at, x->n, y->at[k]) != NEO_CONDITION_HOLDS)
      return false;
  return true;
}

static void drop(term *x, uint32_t k) {
  for (; k + 1 < x->n; k++)
    x->at[k] = x->at[k + 1];
  x->n--;
}

/* Without what follows from the others. */
static void reduce(neo_module *m, term *x) {
  for (uint32_t k = x->n; k-- > 0;) {
    term rest = *x;
    drop(&rest, k);
    if (neo_condition_where(m, rest.at, rest.n, x->at[k]) == NEO_CONDITION_HOLDS)
      *x = rest;
  }
}

/* A condition more; false: it never holds with the others. */
static bool add(neo_module *m, term *x, neo_expr e) {
  return neo_condition_add(m, x->at, &x->n, MOST_CONDITIONS, e);
}

/* ---- disjunctions */

/* What all terms have in common. */
static term common(neo_module *m, const need *x) {
  term y = {0};
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < x->at[i]->n; k++) {
      bool all = true;
      for (uint32_t j = 0; j < x->n && all; j++)
        all = neo_condition_where(m, x->at[j]->at, x->at[j]->n, x->at[i]->at[k]) ==
              NEO_CONDITION_HOLDS;
      if (all)
        (void)add(m, &y, x->at[i]->at[k]);
    }
  reduce(m, &y);
  return y;
}

typedef struct {
  const search *s;
  uint32_t place;
  bool before;
} before_ctx;

static void look_before(void *ctx, neo_expr e) {
  before_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->s->m, e);
  if (n->op != NEO_OP_LOAD)
    return;
  neo_list pieces = neo_tensor_at(c->s->m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    c->before = c->before && c->s->place[neo_list_at(c->s->m, pieces, k)] < c->place;
}

/* Are the elements of all conditions made before the place? */
static bool made_before(const search *s, const need *x, uint32_t place) {
  before_ctx c = {s, place, true};
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < x->at[i]->n; k++)
      neo_expr_visit(s->m, x->at[i]->at[k], look_before, &c);
  return c.before;
}

static bool implies_one(neo_module *m, const term *x, const need *of) {
  for (uint32_t k = 0; k < of->n; k++)
    if (term_implies(m, x, of->at[k]))
      return true;
  return false;
}

/* x or (y and not x) is x or y: a condition is left out where the term with its negation is there already. */
static bool widen(neo_module *m, term *x, const need *by) {
  bool changed = false;
  for (uint32_t k = x->n; k-- > 0;) {
    term other = *x;
    other.at[k] = neo_condition_not(m, x->at[k]);
    if (!implies_one(m, &other, by))
      continue;
    drop(x, k);
    changed = true;
  }
  return changed;
}

static void leave_out_implied(neo_module *m, need *of, const term *by) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < of->n; k++)
    if (!term_implies(m, of->at[k], by))
      of->at[n++] = of->at[k];
  of->n = n;
}

static void collapse(search *s, need *of, const term *more) {
  need all = *of;
  uint32_t n = 0;
  term y = more ? *more : *of->at[0];
  for (uint32_t k = 0; k < all.n; k++) {
    need two = {2, {&y, all.at[k]}};
    y = common(s->m, &two);
  }
  of->at[n++] = neo_arena_copy(s->a, &y, sizeof y);
  of->n = n;
}

/* False: it was there already. `place`: of the first definition whose need it is. */
static bool add_term(search *s, need *of, const term *more, uint32_t place) {
  neo_module *m = s->m;
  term x = *more;
  if (implies_one(m, &x, of))
    return false;
  (void)widen(m, &x, of);
  leave_out_implied(m, of, &x);
  for (uint32_t k = 0; k < of->n; k++) {
    need one = {1, {&x}};
    term y = *of->at[k];
    if (!widen(m, &y, &one))
      continue;
    for (; k + 1 < of->n; k++)
      of->at[k] = of->at[k + 1];
    of->n--;
    (void)add_term(s, of, &y, place);
    if (!implies_one(m, &x, of))
      (void)add_term(s, of, &x, place);
    return true;
  }
  if (of->n == MOST_TERMS)
    collapse(s, of, &x);
  else
    of->at[of->n++] = neo_arena_copy(s->a, &x, sizeof x);
  if (of->n > 1 && !made_before(s, of, place))
    collapse(s, of, NULL);
  return true;
}

/* ---- reads */

static void mark_load(void *ctx, neo_expr e) {
  void **c = ctx;
  const neo_module *m = c[0];
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE)
    ((bool *)c[1])[n->attr] = true;
}

/* Reads within the indices of reads. */
static void mark_indices(void *ctx, neo_expr e) {
  void **c = ctx;
  const neo_module *m = c[0];
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE)
    return;
  for (uint32_t k = 0; k < neo_tensor_rank(m, (neo_tensor){n->attr}); k++)
    neo_expr_visit(m, neo_list_expr(m, n->arg, k), mark_load, ctx);
}

static bool is_integer(const neo_module *m, uint32_t t) {
  neo_type type = (neo_type)neo_tensor_at(m, (neo_tensor){t})->type;
  return type == NEO_BOOL_T || neo_type_is_int(type);
}

static bool makes_steering(const neo_module *m, const neo_def_rec *r, const bool *steers) {
  for (uint32_t k = 0; k < r->out.n; k++)
    if (is_integer(m, neo_list_at(m, r->out, k)) && steers[neo_list_at(m, r->out, k)])
      return true;
  return false;
}

/* What steers the definition itself. */
static void mark_own(const neo_module *m, neo_def d, bool *steers) {
  neo_def_rec r = *neo_def_at(m, d);
  void *ctx[] = {(void *)(uintptr_t)m, steers};
  neo_def_visit(m, d, mark_indices, ctx);
  if (r.where.i)
    neo_expr_visit(m, r.where, mark_load, ctx);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, &r, k)->lo, mark_load, ctx);
    neo_expr_visit(m, neo_def_axis(m, &r, k)->hi, mark_load, ctx);
  }
}

/* Tables of rows say how many there are to loops that no condition is around. */
static bool is_table(const neo_tensor_rec *r) {
  return r->terms || r->saturates || r->partial || r->moves || r->apart.i || r->kinds.i ||
         r->injective || r->parts > 1;
}

bool *neo_steering_tensors(const neo_module *m, const neo_def *defs, size_t n, neo_arena *a) {
  bool *steers = NEO_NEW_ARRAY(a, bool, m->tensors.n), changed = true;
  for (size_t k = 0; k < n; k++)
    mark_own(m, defs[k], steers);
  while (changed) {
    changed = false;
    for (size_t k = n; k-- > 0;) {
      neo_tensor *in;
      if (!makes_steering(m, neo_def_at(m, defs[k]), steers))
        continue;
      for (size_t i = neo_def_reads(m, defs[k], a, &in); i-- > 0;) {
        changed = changed || (is_integer(m, in[i].i) && !steers[in[i].i]);
        steers[in[i].i] = true;
      }
    }
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    steers[t] = steers[t] && is_integer(m, t);
  return steers;
}

static bool counts(const search *s, neo_expr e) {
  return neo_is_condition(s->m, e) ||
         (s->in->uniform && neo_expr_type(s->m, e) == NEO_BOOL_T && neo_is_uniform(s->m, e));
}

static read_under read_of(search *s, const neo_guarded_read *r, const bool *steers) {
  read_under x = {.t = {neo_expr_node(s->m, r->read)->attr}};
  x.steers = steers[x.t.i];
  for (uint32_t k = 0; k < r->n_around && !x.steers; k++) {
    neo_expr part[MOST_CONDITIONS];
    uint32_t n = 0;
    if (!neo_condition_parts(s->m, r->assume[k], part, &n, MOST_CONDITIONS))
      continue;
    for (uint32_t i = 0; i < n; i++)
      if (counts(s, part[i]))
        (void)add(s->m, &x.under, part[i]);
  }
  return x;
}

static void find_reads(search *s, size_t place, const bool *steers, const bool *all) {
  neo_def d = s->in->defs[place];
  neo_guarded_reads reads = {0};
  neo_tensor *in;
  neo_guarded_reads_of(s->m, d, all, s->a, &reads);
  for (size_t k = 0; k < reads.n; k++)
    NEO_PUSH(s->a, &s->reads[place], read_of(s, &reads.at[k], steers));
  for (size_t i = neo_def_reads(s->m, d, s->a, &in), k = 0; k < i; k++) {
    const neo_tensor_rec *r = neo_tensor_at(s->m, in[k]);
    neo_tensor tables[] = {r->apart, r->kinds};
    for (int j = 0; j < 2; j++)
      if (tables[j].i)
        NEO_PUSH(s->a, &s->reads[place], ((read_under){.t = tables[j], .steers = true}));
  }
}

/* ---- the fixed point */

static uint32_t class_of(const search *s, uint32_t d) {
  return s->together[d];
}

static void need_def(search *s, uint32_t d, const term *x) {
  uint32_t c = class_of(s, d);
  bool more = add_term(s, &s->of[d], x, s->place[d]);
  s->dirty[d] = s->dirty[d] || more;
  if (!c || !more)
    return;
  uint32_t first = UINT32_MAX;
  for (size_t k = 0; k < s->in->n; k++)
    if (class_of(s, s->in->defs[k].i) == c && s->place[s->in->defs[k].i] < first)
      first = s->place[s->in->defs[k].i];
  if (!add_term(s, &s->of_class[c], x, first))
    return;
  for (size_t k = 0; k < s->in->n; k++) /* those that steer it are needed where all of it is */
    if (class_of(s, s->in->defs[k].i) == c && s->of[s->in->defs[k].i].n)
      s->dirty[s->in->defs[k].i] = true;
}

static void need_read(search *s, uint32_t d, const read_under *r) {
  const need from = r->steers && class_of(s, d) ? s->of_class[class_of(s, d)] : s->of[d];
  neo_list pieces = neo_tensor_at(s->m, r->t)->pieces;
  for (uint32_t i = 0; i < from.n; i++) {
    term x = *from.at[i];
    bool can = true;
    for (uint32_t k = 0; k < r->under.n && can; k++)
      can = add(s->m, &x, r->under.at[k]);
    reduce(s->m, &x);
    for (uint32_t k = 0; k < pieces.n && can; k++)
      if (s->place[neo_list_at(s->m, pieces, k)])
        need_def(s, neo_list_at(s->m, pieces, k), &x);
  }
}

static void solve(search *s) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t k = s->in->n; k-- > 0;) {
      uint32_t d = s->in->defs[k].i;
      if (!s->dirty[d])
        continue;
      s->dirty[d] = false;
      changed = true;
      for (size_t i = 0; i < s->reads[k].n; i++)
        need_read(s, d, &s->reads[k].at[i]);
    }
  }
}

static bool is_always(const search *s, uint32_t d) {
  neo_list out = neo_def_at(s->m, (neo_def){d})->out;
  for (uint32_t k = 0; k < out.n; k++) {
    uint32_t t = neo_list_at(s->m, out, k);
    const neo_tensor_rec *r = neo_tensor_at(s->m, (neo_tensor){t});
    if (s->in->always[t] || (is_integer(s->m, t) && is_table(r)))
      return true;
  }
  return false;
}

/* ---- the answer */

static int by_number(const void *a, const void *b) {
  uint32_t x = ((const neo_expr *)a)->i, y = ((const neo_expr *)b)->i;
  return (x > y) - (x < y);
}

/* The terms without what they have in common; 0: nothing is left of one. */
static neo_expr rest_of(search *s, const need *x, const term *all) {
  neo_expr any = {0};
  for (uint32_t i = 0; i < x->n; i++) {
    neo_expr one = {0};
    for (uint32_t k = 0; k < x->at[i]->n; k++) {
      neo_expr e = x->at[i]->at[k];
      if (neo_condition_where(s->m, all->at, all->n, e) != NEO_CONDITION_HOLDS)
        one = one.i ? neo_op2(s->m, NEO_OP_AND, one, e) : e;
    }
    if (!one.i)
      return one;
    any = any.i ? neo_op2(s->m, NEO_OP_OR, any, one) : one;
  }
  return any;
}

static neo_conditions answer(search *s, const need *x) {
  if (!x->n) { /* conditions that never hold at one time are on the way to all of its readers */
    neo_expr never = neo_const_bool(s->m, false);
    return (neo_conditions){1, neo_arena_copy(s->a, &never, sizeof never)};
  }
  term all = common(s->m, x);
  neo_expr rest = x->n > 1 ? rest_of(s, x, &all) : (neo_expr){0};
  neo_expr *at = NEO_NEW_ARRAY(s->a, neo_expr, all.n + 1);
  uint32_t n = 0;
  for (uint32_t k = 0; k < all.n; k++)
    at[n++] = all.at[k];
  if (rest.i)
    at[n++] = rest;
  qsort(at, n, sizeof *at, by_number);
  return (neo_conditions){n, at};
}

static bool has_condition(const search *s, neo_expr e) {
  const neo_node *n = e.i ? neo_expr_node(s->m, e) : NULL;
  if (n && (n->op == NEO_OP_AND || n->op == NEO_OP_OR || n->op == NEO_OP_NOT))
    for (uint32_t k = 0; k < n->arg.n; k++)
      if (has_condition(s, neo_list_expr(s->m, n->arg, k)))
        return true;
  return n && counts(s, e);
}

static bool any_condition(const search *s) {
  for (uint32_t k = 1; k < s->m->nodes.n; k++) {
    const neo_node *n = neo_expr_node(s->m, (neo_expr){k});
    if (n->op == NEO_OP_SELECT && has_condition(s, neo_list_expr(s->m, n->arg, 0)))
      return true;
  }
  for (size_t k = 0; k < s->in->n; k++)
    if (has_condition(s, neo_def_at(s->m, s->in->defs[k])->where))
      return true;
  return false;
}

static const uint32_t *recurrences(search *s) {
  uint32_t *number = NEO_NEW_ARRAY(s->a, uint32_t, s->m->defs.n);
  (void)neo_recurrences(s->m, s->in->defs, s->in->n, s->a, number);
  return number;
}

static void begin(search *s) {
  const neo_needed_input *in = s->in;
  neo_module *m = s->m;
  s->together = in->together ? in->together : recurrences(s);
  s->of = NEO_NEW_ARRAY(s->a, need, m->defs.n);
  s->of_class = NEO_NEW_ARRAY(s->a, need, m->defs.n + 1);
  s->dirty = NEO_NEW_ARRAY(s->a, bool, m->defs.n);
  s->place = NEO_NEW_ARRAY(s->a, uint32_t, m->defs.n);
  s->reads = NEO_NEW_ARRAY(s->a, reads_under, in->n + 1);
  bool *all = NEO_NEW_ARRAY(s->a, bool, m->tensors.n);
  const bool *steers = neo_steering_tensors(m, in->defs, in->n, s->a);
  for (uint32_t t = 0; t < m->tensors.n; t++)
    all[t] = true;
  for (size_t k = 0; k < in->n; k++)
    s->place[in->defs[k].i] = (uint32_t)k + 1;
  for (size_t k = 0; k < in->n; k++)
    find_reads(s, k, steers, all);
}

const neo_conditions *neo_needed_where(neo_module *m, const neo_needed_input *in, neo_arena *a) {
  search s = {.m = m, .in = in, .a = a};
  const term whatever = {0};
  if (!any_condition(&s))
    return NULL;
  begin(&s);
  for (size_t k = 0; k < in->n; k++)
    if (is_always(&s, in->defs[k].i))
      need_def(&s, in->defs[k].i, &whatever);
  solve(&s);
  neo_conditions *of = NEO_NEW_ARRAY(a, neo_conditions, m->defs.n);
  for (size_t k = 0; k < in->n; k++) {
    uint32_t d = in->defs[k].i, c = in->together ? in->together[d] : 0;
    of[d] = answer(&s, c ? &s.of_class[c] : &s.of[d]);
  }
  return of;
}

/* ---- comparing */

bool neo_conditions_same(const neo_conditions *a, const neo_conditions *b) {
  bool same = a->n == b->n;
  for (uint32_t k = 0; k < a->n && same; k++)
    same = a->at[k].i == b->at[k].i;
  return same;
}

typedef struct { /* is it so in each case of the conditions? */
  neo_module *m;
  const neo_conditions *of;
  bool excludes; /* one of them fails; else: all of them hold */
  uint32_t cases;
} cases_ctx;

static bool answers(const cases_ctx *c, const term *holds) {
  for (uint32_t k = 0; k < holds->n; k++)
    if (neo_expr_node(c->m, holds->at[k])->op == NEO_OP_CONST) /* never */
      return true;
  for (uint32_t k = 0; k < c->of->n; k++) {
    neo_condition_value v = neo_condition_where(c->m, holds->at, holds->n, c->of->at[k]);
    if (c->excludes && v == NEO_CONDITION_FAILS)
      return true;
    if (!c->excludes && v != NEO_CONDITION_HOLDS)
      return false;
  }
  return !c->excludes;
}

static bool each_case(cases_ctx *c, term holds);

/* The disjunction k of `holds` is one of its sides. */
static bool each_side(cases_ctx *c, const term *holds, uint32_t k) {
  neo_expr either = holds->at[k];
  for (uint32_t i = 0; i < 2; i++) {
    term x = *holds;
    drop(&x, k);
    if (!neo_condition_parts(c->m, neo_expr_arg(c->m, either, i), x.at, &x.n, MOST_CONDITIONS) ||
        !each_case(c, x))
      return false;
  }
  return true;
}

static bool each_case(cases_ctx *c, term holds) {
  if (answers(c, &holds))
    return true;
  for (uint32_t k = 0; k < holds.n && c->cases < MOST_CASES; k++)
    if (neo_expr_node(c->m, holds.at[k])->op == NEO_OP_OR) {
      c->cases++;
      return each_side(c, &holds, k);
    }
  return false;
}

static bool in_each_case(neo_module *m, const neo_conditions *holds, const neo_conditions *of,
                         bool excludes) {
  cases_ctx c = {m, of, excludes, 0};
  term x = {0};
  for (uint32_t k = 0; k < holds->n && x.n < MOST_CONDITIONS; k++)
    x.at[x.n++] = holds->at[k];
  return each_case(&c, x);
}

bool neo_conditions_exclude(neo_module *m, const neo_conditions *a, const neo_conditions *other) {
  return in_each_case(m, other, a, true) || in_each_case(m, a, other, true);
}

bool neo_conditions_imply(neo_module *m, const neo_conditions *c, const neo_conditions *weaker) {
  return in_each_case(m, c, weaker, false);
}
