/* The order of methods for a question, the memo, and the public interface: see prove.h and, for the
 * parts, scope.h. */
#include "base/hash.h"
#include "ir/prove/relation.h"
#include <assert.h>
#include <string.h>

/* Operations of isl before the points of a small domain are enumerated. */
enum { FEW_OPERATIONS = 500 };

neo_module *neo_prover_module(const neo_prover *p) {
  return p->m;
}

neo_prover *neo_prover_new(neo_module *m) {
  neo_prover *p = NEO_NEW(m->arena, neo_prover);
  p->m = m;
  neo_map_init(&p->scopes, m->arena);
  return p;
}

void neo_prover_be_quiet(neo_prover *p) {
  p->quiet = true;
}

uint64_t neo_prover_given_up(const neo_prover *p) {
  return p->given_up;
}

bool neo_prover_insist(neo_prover *p, bool insists) {
  bool before = p->insists;
  p->insists = insists;
  return before;
}

neo_prover_stats neo_prover_statistics(const neo_prover *p) {
  return p->stats;
}

/* ---- scopes, one for each context asked about */

static uint64_t facts_hash(const neo_facts *f) {
  uint64_t h = neo_hash_mix(f->n_axes, f->n_assume);
  for (uint32_t k = 0; k < f->n_axes; k++) {
    h = neo_hash_mix(h, f->axes[k].lo.i);
    h = neo_hash_mix(h, f->axes[k].hi.i);
  }
  for (uint32_t k = 0; k < f->n_assume; k++)
    h = neo_hash_mix(h, f->assume[k].i);
  return h;
}

static bool same_facts(const neo_prover_scope *s, const neo_facts *f) {
  if (s->n_axes != f->n_axes || s->n_assume != f->n_assume)
    return false;
  for (uint32_t k = 0; k < f->n_axes; k++)
    if (s->axes[k].lo.i != f->axes[k].lo.i || s->axes[k].hi.i != f->axes[k].hi.i)
      return false;
  for (uint32_t k = 0; k < f->n_assume; k++)
    if (s->assume[k].i != f->assume[k].i)
      return false;
  return true;
}

static void forget(neo_prover_scope *s) {
  neo_map_init(&s->forms, s->m->arena);
  neo_map_init(&s->ranges, s->m->arena);
}

static bool is_empty(neo_prover_scope *s, const neo_axis_rec *axis) {
  neo_poly lo, hi, g;
  neo_prover_form(s, axis->lo, &lo);
  neo_prover_form(s, axis->hi, &hi);
  return neo_poly_add(&lo, -1, &hi, &g) && neo_prover_nonneg(s, &g);
}

static neo_prover_scope *new_scope(neo_prover *p, const neo_facts *f) {
  neo_prover_scope *s = NEO_NEW(p->m->arena, neo_prover_scope);
  neo_arena *a = p->m->arena;
  assert(f->n_axes <= NEO_DEF_AXES);
  *s = (neo_prover_scope){.p = p, .m = p->m, .n_axes = f->n_axes, .n_assume = f->n_assume};
  if (f->n_axes)
    s->axes = neo_arena_copy(a, f->axes, f->n_axes * sizeof *f->axes);
  if (f->n_assume)
    s->assume = neo_arena_copy(a, f->assume, f->n_assume * sizeof *f->assume);
  neo_map_init(&s->results, a);
  neo_map_init(&s->simple, a);
  forget(s);
  s->fuel = NEO_PROVE_FUEL;
  for (uint32_t k = 0; k < f->n_axes; k++)
    s->never = s->never || is_empty(s, &s->axes[k]);
  for (uint32_t k = 0; k < f->n_assume; k++) {
    s->fuel = NEO_PROVE_FUEL;
    neo_prover_assume(s, s->assume[k], true);
  }
  if (f->n_assume)
    forget(s); /* results found before all facts were added are weaker */
  return s;
}

neo_prover_scope *neo_prover_of(neo_prover *p, const neo_facts *facts) {
  facts = facts ? facts : &(neo_facts){0};
  uint64_t h = facts_hash(facts), found = 0;
  neo_map_get(&p->scopes, h, &found);
  for (neo_prover_scope *s = (neo_prover_scope *)(uintptr_t)found; s; s = s->next)
    if (same_facts(s, facts))
      return s;
  neo_prover_scope *s = new_scope(p, facts);
  s->next = (neo_prover_scope *)(uintptr_t)found;
  neo_map_set(&p->scopes, h, (uint64_t)(uintptr_t)s);
  return s;
}

neo_prover_scope *neo_prover_under(neo_prover_scope *s, neo_expr e, bool value) {
  neo_expr *assume = NEO_NEW_ARRAY(s->m->arena, neo_expr, s->n_assume + 1);
  if (s->n_assume)
    memcpy(assume, s->assume, s->n_assume * sizeof *assume);
  assume[s->n_assume] = value ? e : neo_op1(s->m, NEO_OP_NOT, e);
  neo_facts f = {s->axes, s->n_axes, assume, s->n_assume + 1};
  return neo_prover_of(s->p, &f);
}

/* ---- one question */

static bool read_point(const neo_relation *r, const int64_t *point, neo_witness_search *t,
                       neo_witness *w) {
  uint64_t given = 0;
  neo_witness_search_start(t, w);
  for (uint32_t k = 0; k < r->n_dims; k++) {
    const neo_node *n = neo_expr_node(r->m, (neo_expr){r->dim[k].atom[0]});
    if (r->dim[k].n != 1 || (n->op != NEO_OP_AXIS && n->op != NEO_OP_SIZE))
      continue;
    if (point[k] == INT64_MIN)
      return false;
    int size = n->op == NEO_OP_SIZE ? neo_witness_search_size(t, n->attr) : -1;
    if (size >= 0)
      w->size[size].value = point[k];
    if (n->op != NEO_OP_AXIS || n->attr >= w->n_axes)
      continue;
    w->axis[n->attr] = point[k];
    given |= 1ULL << n->attr;
  }
  return neo_witness_search_check(t, given, w);
}

static bool relation_of(neo_prover_scope *s, neo_expr goal) {
  neo_prover *p = s->p;
  if (!p->relation)
    p->relation = NEO_NEW(p->m->arena, neo_relation);
  return neo_relation_of(p->relation, s, goal, true);
}

/* Decides by integer sets. A point is a counterexample only if evaluation agrees. */
static neo_proof by_sets(neo_prover *p, uint64_t quota, neo_witness_search *t, neo_witness *w,
                         bool *gave_up) {
  int64_t point[NEO_REL_DIMS];
  const neo_relation *r = p->relation;
  neo_isl_answer a = neo_proofs_sample(p, r->words.at, r->words.n, quota, point);
  *gave_up = a == NEO_ISL_QUOTA;
  if (a == NEO_ISL_EMPTY)
    return NEO_PROVED;
  if (a != NEO_ISL_POINT || !read_point(r, point, t, w))
    return NEO_UNKNOWN;
  neo_witness_search_shrink(t, w);
  return NEO_REFUTED;
}

static neo_proof sets_counted(neo_prover *p, uint64_t quota, neo_witness_search *t, neo_witness *w,
                              bool *gave_up) {
  neo_proof proof = by_sets(p, quota, t, w, gave_up);
  p->stats.isl_proved += proof == NEO_PROVED;
  p->stats.isl_refuted += proof == NEO_REFUTED;
  return proof;
}

/* Decides a goal by search: sample points, isl with few operations, all points of a small domain,
 * isl with the whole quota. Enumeration comes before the long run of isl, which takes a hundred
 * times as long for remainders and floors of many axes. */
static neo_proof by_search(neo_prover_scope *s, neo_expr goal, neo_witness *w, bool *gave_up) {
  neo_prover_stats *stats = &s->p->stats;
  neo_witness_search *t = neo_witness_search_new(s, goal, true);
  if (neo_witness_search_points(t, w)) {
    stats->points++;
    return NEO_REFUTED;
  }
  uint64_t quota = neo_prover_quota(s->p);
  bool is_relation = relation_of(s, goal);
  neo_proof proof = NEO_UNKNOWN;
  if (is_relation)
    proof = sets_counted(s->p, quota < FEW_OPERATIONS ? quota : FEW_OPERATIONS, t, w, gave_up);
  if (proof != NEO_UNKNOWN)
    return proof;
  proof = neo_witness_search_all(t, w);
  stats->enumerated += proof != NEO_UNKNOWN;
  if (proof == NEO_UNKNOWN && *gave_up && quota > FEW_OPERATIONS)
    proof = sets_counted(s->p, quota, t, w, gave_up);
  stats->unknown += proof == NEO_UNKNOWN;
  return proof;
}

/* Decides by polynomials, with the facts that follow from the existence of a point: for k < N*M,
 * N*M is at least 1. */
static bool decide_at_points(neo_prover_scope *s, neo_expr goal) {
  neo_mark mark;
  s->fuel = NEO_PROVE_FUEL;
  bool more = neo_prover_push_points(s, goal, &mark);
  bool yes = more && neo_prover_decide(s, goal, true);
  neo_prover_pop(s, mark);
  return yes;
}

static void answer_leaf(neo_prover_scope *s, neo_expr goal, neo_result *r) {
  neo_witness w;
  bool gave_up = false;
  s->fuel = NEO_PROVE_FUEL;
  if (neo_prover_decide(s, goal, true) || decide_at_points(s, goal)) {
    r->proof = NEO_PROVED;
    s->p->stats.interval++;
    return;
  }
  r->proof = by_search(s, goal, &w, &gave_up);
  r->gave_up = gave_up && r->proof == NEO_UNKNOWN;
  r->quota = neo_prover_quota(s->p);
  if (r->proof == NEO_REFUTED)
    r->witness = neo_arena_copy(s->m->arena, &w, sizeof w);
}

/* Conjuncts one by one: small questions for isl, and shared ones are answered once. */
static void answer_both(neo_prover_scope *s, neo_expr goal, neo_result *r) {
  neo_expr a = neo_expr_arg(s->m, goal, 0), b = neo_expr_arg(s->m, goal, 1);
  const neo_result *x = neo_prover_prove(s, a);
  if (x->proof != NEO_REFUTED) {
    const neo_result *y = neo_prover_prove(s, b);
    if (y->proof != NEO_PROVED && (x->proof == NEO_PROVED || y->proof == NEO_REFUTED))
      x = y;
  }
  *r = *x;
}

/* Reports it, at the prover's source position. */
static void prover_gave_up(neo_prover *p) {
  neo_diags *d = p->m->diags;
  p->given_up++;
  if (p->quiet)
    return;
  int h = neo_diag(d, p->at, NEO_D_PROOF_QUOTA, (unsigned long long)neo_prover_quota(p));
  neo_diag_help(d, h,
                "what is computed is the same, perhaps in more steps; --proof-quota=N allows "
                "proofs N operations");
}

const neo_result *neo_prover_prove(neo_prover_scope *s, neo_expr goal) {
  uint64_t found;
  s->p->stats.questions++;
  if (neo_map_get(&s->results, goal.i, &found)) {
    const neo_result *known = (const neo_result *)(uintptr_t)found;
    if (!known->gave_up || known->quota >= neo_prover_quota(s->p)) {
      s->p->stats.memo++;
      if (known->gave_up)
        prover_gave_up(s->p);
      return known;
    }
  }
  neo_result *r = NEO_NEW(s->m->arena, neo_result);
  if (neo_expr_node(s->m, goal)->op == NEO_OP_AND)
    answer_both(s, goal, r);
  else
    answer_leaf(s, goal, r);
  if (r->gave_up)
    prover_gave_up(s->p);
  neo_map_set(&s->results, goal.i, (uint64_t)(uintptr_t)r);
  return r;
}

neo_proof neo_prove(neo_prover *p, const neo_facts *facts, neo_expr goal, neo_witness *w) {
  assert(neo_expr_type(p->m, goal) == NEO_BOOL_T);
  const neo_result *r = neo_prover_prove(neo_prover_of(p, facts), goal);
  if (w && r->witness)
    *w = *r->witness;
  return r->proof;
}

neo_proof neo_prove_index(neo_prover *p, const neo_facts *facts, neo_expr index, neo_expr extent,
                          neo_witness *w) {
  return neo_prove(p, facts, neo_between(p->m, neo_const_i64(p->m, 0), index, extent), w);
}

bool neo_proves(neo_prover *p, const neo_facts *facts, neo_expr goal) {
  return neo_prove(p, facts, goal, NULL) == NEO_PROVED;
}

bool neo_proves_index(neo_prover *p, const neo_facts *facts, neo_expr index, neo_expr extent) {
  return neo_prove_index(p, facts, index, extent, NULL) == NEO_PROVED;
}

static bool unbounded(int64_t *lo, int64_t *hi) {
  *lo = INT64_MIN;
  *hi = INT64_MAX;
  return false;
}

bool neo_interval(neo_prover *p, const neo_facts *facts, neo_expr e, int64_t *lo, int64_t *hi) {
  neo_poly g;
  neo_prover_scope *s = neo_prover_of(p, facts);
  s->fuel = NEO_PROVE_FUEL;
  neo_prover_form(s, e, &g);
  neo_range type = neo_type_range(neo_expr_type(p->m, e));
  neo_range r = neo_range_meet(type, neo_prover_bounds(s, &g));
  if (s->never) /* at no point: the interval without facts is one, with ends where sizes have */
    return facts ? neo_interval(p, NULL, e, lo, hi) : unbounded(lo, hi);
  *lo = r.lo;
  *hi = r.hi;
  return neo_range_is_known(r);
}
