/* A definition is needed where one of its readers is and the conditions at the read hold; what all readers have in
 * common is its own. This is the greatest solution, as for definitions that need each other: a definition has
 * all conditions until a reader of it is found. (G. Kildall, "A unified approach to global program
 * optimization".) */
#include "ir/needed.h"
#include "ir/comparison.h"
#include "ir/guarded_read.h"

enum { MOST_CONJUNCTS = 64 };

typedef struct {
  neo_module *m;
  neo_conditions *of; /* by definition */
  bool *known;        /* by definition: a reader was seen */
  bool changed;
} search;

static bool is_flag(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_LOAD && n->type == NEO_BOOL_T && !n->arg.n;
}

static neo_expr flag_of(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_NOT ? neo_list_expr(m, n->arg, 0) : e;
}

bool neo_is_condition(const neo_module *m, neo_expr e) {
  return is_flag(m, flag_of(m, e));
}

neo_tensor neo_condition_tensor(const neo_module *m, neo_expr e, bool *negated) {
  neo_expr flag = flag_of(m, e);
  *negated = flag.i != e.i;
  return (neo_tensor){neo_expr_node(m, flag)->attr};
}

bool neo_conditions_have(const neo_conditions *c, neo_expr e) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->at[k].i == e.i)
      return true;
  return false;
}

static void narrow(search *s, uint32_t d, const neo_conditions *by) {
  neo_conditions out = {0}, *c = &s->of[d];
  for (uint32_t k = 0; k < c->n; k++)
    if (neo_conditions_have(by, c->at[k]))
      out.at[out.n++] = c->at[k];
  s->changed = s->changed || !s->known[d] || out.n != c->n;
  *c = s->known[d] ? out : *by;
  s->known[d] = true;
}

/* The conditions of the definition, and those at one of its reads. */
static neo_conditions at_read(const search *s, uint32_t d, const neo_guarded_read *r) {
  neo_conditions c = s->of[d];
  for (uint32_t k = 0; k < r->n_assume; k++) {
    neo_expr part[MOST_CONJUNCTS];
    uint32_t n = 0;
    if (!neo_conjuncts_of(s->m, r->assume[k], part, &n, MOST_CONJUNCTS))
      continue;
    for (uint32_t i = 0; i < n; i++)
      if (neo_is_condition(s->m, part[i]) && !neo_conditions_have(&c, part[i]) &&
          c.n < NEO_MOST_CONDITIONS)
        c.at[c.n++] = part[i];
  }
  return c;
}

static void look(search *s, uint32_t d, const neo_guarded_reads *reads) {
  for (size_t k = 0; k < reads->n; k++) {
    neo_conditions c = at_read(s, d, &reads->at[k]);
    neo_tensor t = {neo_expr_node(s->m, reads->at[k].read)->attr};
    neo_list pieces = neo_tensor_at(s->m, t)->pieces;
    for (uint32_t i = 0; i < pieces.n; i++)
      narrow(s, neo_list_at(s->m, pieces, i), &c);
  }
}

static bool is_always(const search *s, uint32_t d, const bool *always) {
  neo_list out = neo_def_at(s->m, (neo_def){d})->out;
  for (uint32_t k = 0; k < out.n; k++) {
    uint32_t t = neo_list_at(s->m, out, k);
    if (always[t] || neo_type_is_int((neo_type)neo_tensor_at(s->m, (neo_tensor){t})->type))
      return true;
  }
  return false;
}

static bool any_flag(const neo_module *m) {
  for (uint32_t k = 1; k < m->nodes.n; k++)
    if (is_flag(m, (neo_expr){k}))
      return true;
  return false;
}

const neo_conditions *neo_needed_where(neo_module *m, const neo_def *defs, size_t n,
                                       const bool *always, neo_arena *a) {
  search s = {.m = m, .changed = true};
  if (!any_flag(m))
    return NULL;
  s.of = NEO_NEW_ARRAY(a, neo_conditions, m->defs.n);
  s.known = NEO_NEW_ARRAY(a, bool, m->defs.n);
  bool *all = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  neo_guarded_reads *reads = NEO_NEW_ARRAY(a, neo_guarded_reads, n + 1);
  for (uint32_t t = 0; t < m->tensors.n; t++)
    all[t] = true;
  for (size_t k = 0; k < n; k++) {
    s.known[defs[k].i] = is_always(&s, defs[k].i, always);
    neo_guarded_reads_of(m, defs[k], all, a, &reads[k]);
  }
  while (s.changed) {
    s.changed = false;
    for (size_t k = n; k-- > 0;)
      if (s.known[defs[k].i])
        look(&s, defs[k].i, &reads[k]);
  }
  return s.of;
}
