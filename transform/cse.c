/* Common subexpression elimination of definitions. Expressions are hash-consed, so two definitions
 * are equal if their words are. Producers come first, so that equal inputs make their readers
 * equal. Recurrences are equal up to a renaming of their tensors (equal_recurrences.c). Last,
 * values that some tensor already has are read from there (value_reuse.c). */
#include "base/hash.h"
#include "ir/clone.h"
#include "transform/equal_recurrences.h"
#include "transform/transform.h"
#include "transform/value_reuse.h"

typedef struct {
  neo_module *m;
  neo_arena *scratch;
  neo_map kept;  /* tensors that entries name: never replaced */
  neo_map to;    /* tensor -> equal earlier one */
  neo_map first; /* hash of a definition's words -> definition */
} cse;

static void keep(cse *c, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    neo_map_set(&c->kept, neo_list_at(c->m, l, k), 1);
}

typedef NEO_VEC(uint32_t) words_vec;

static void put_list(cse *c, words_vec *w, neo_list l) {
  NEO_PUSH(c->scratch, w, l.n);
  for (uint32_t k = 0; k < l.n; k++)
    NEO_PUSH(c->scratch, w, neo_list_at(c->m, l, k));
}

static words_vec words_of(cse *c, neo_def d) {
  neo_module *m = c->m;
  const neo_def_rec *r = neo_def_at(m, d);
  words_vec w = {0};
  NEO_PUSH(c->scratch, &w, r->axes.n);
  NEO_PUSH(c->scratch, &w, r->n_out);
  NEO_PUSH(c->scratch, &w, r->where.i);
  NEO_PUSH(c->scratch, &w, r->reducer);
  for (uint32_t k = 0; k < r->axes.n; k++) {
    NEO_PUSH(c->scratch, &w, neo_def_axis(m, r, k)->lo.i);
    NEO_PUSH(c->scratch, &w, neo_def_axis(m, r, k)->hi.i);
  }
  put_list(c, &w, r->body);
  put_list(c, &w, r->finish);
  put_list(c, &w, r->out_map);
  return w;
}

/* Has the tensor one piece, and does nothing outside name it? */
static bool replaceable(cse *c, const neo_def_rec *r) {
  for (uint32_t k = 0; k < r->out.n; k++) {
    uint32_t t = neo_list_at(c->m, r->out, k);
    const neo_tensor_rec *rec = &c->m->tensors.at[t];
    if (rec->role != NEO_ROLE_TEMP || rec->pieces.n != 1 || neo_map_get(&c->kept, t, NULL))
      return false;
  }
  return true;
}

static bool same_words(words_vec a, words_vec b) {
  if (a.n != b.n)
    return false;
  for (size_t k = 0; k < a.n; k++)
    if (a.at[k] != b.at[k])
      return false;
  return true;
}

static void merge(cse *c, neo_def d) {
  neo_module *m = c->m;
  if (c->to.n)
    neo_def_rename(m, d, &c->to);
  words_vec w = words_of(c, d);
  uint64_t h = neo_hash(w.at, w.n * sizeof *w.at, 0), old;
  if (!neo_map_get(&c->first, h, &old)) {
    neo_map_set(&c->first, h, d.i);
    return;
  }
  const neo_def_rec *r = neo_def_at(m, d), *f = neo_def_at(m, (neo_def){(uint32_t)old});
  bool typed = r->out.n == f->out.n && same_words(w, words_of(c, (neo_def){(uint32_t)old}));
  for (uint32_t k = 0; typed && k < r->out.n; k++) {
    const neo_tensor_rec *a = &m->tensors.at[neo_list_at(m, r->out, k)],
                         *b = &m->tensors.at[neo_list_at(m, f->out, k)];
    typed = a->type == b->type && b->role == NEO_ROLE_TEMP && b->pieces.n == 1;
  }
  if (!typed || !replaceable(c, r))
    return;
  neo_def_at(m, (neo_def){(uint32_t)old})->as_written = r->as_written || f->as_written;
  for (uint32_t k = 0; k < r->out.n; k++)
    neo_map_set(&c->to, neo_list_at(m, r->out, k), neo_list_at(m, f->out, k));
}

neo_status neo_pass_cse(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  cse c = {.m = m, .scratch = pass->a, .kept = neo_map_in(pass->a), .to = neo_map_in(pass->a)};
  neo_tensors roots = {0};
  for (size_t i = 0; i < m->entries.n; i++) {
    keep(&c, m->entries.at[i].outputs);
    keep(&c, m->entries.at[i].updates);
    neo_entry_roots(m, pass->a, &roots, &m->entries.at[i]);
  }
  for (uint32_t c2 = 0; c2 < m->customs.n; c2++) { /* later gradients may still ask for these */
    keep(&c, m->customs.at[c2].ins);
    keep(&c, m->customs.at[c2].outs);
  }
  neo_def *defs;
  size_t n;
  do { /* readers of equal recurrences may become equal, then recurrences over those */
    bool recurrences;
    neo_map_init(&c.first, pass->a);
    n = neo_module_topo(m, roots.at, roots.n, pass->a, &defs, &recurrences);
    for (size_t k = 0; k < n; k++)
      merge(&c, defs[k]);
    if (!recurrences)
      break;
    n = neo_module_topo(m, roots.at, roots.n, pass->a, &defs, NULL);
  } while (neo_equal_recurrences(m, defs, n, &c.kept, &c.to, pass->a));
  neo_reuse_values(m, defs, n, pass->a);
  return NEO_OK;
}
