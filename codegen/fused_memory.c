/* See fused_memory.h. */
#include "codegen/fused_memory.h"
#include "schedule/segment/segment.h"

/* ---- who reads what */

/* Is the definition computed here alone? One that is inline may be so in other kernels, too. */
static bool is_member(const neo_position_loops *loops, neo_def d) {
  for (size_t k = 0; k < loops->n; k++)
    for (size_t i = 0; i < loops->at[k].g->members.n; i++) {
      const neo_member *y = &loops->at[k].g->members.at[i];
      if (y->def.i == d.i && y->place != NEO_PLACE_INLINE)
        return true;
    }
  return false;
}

static void mark(const neo_module *m, neo_list l, bool *is) {
  for (uint32_t k = 0; k < l.n; k++)
    is[neo_list_at(m, l, k)] = true;
}

bool *neo_fused_read_elsewhere(neo_module *m, const neo_position_loops *loops, neo_arena *a) {
  bool *is = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    is[t] = m->tensors.at[t].role != NEO_ROLE_TEMP;
  for (size_t e = 0; e < m->entries.n; e++) {
    mark(m, m->entries.at[e].outputs, is);
    mark(m, m->entries.at[e].updates, is);
  }
  for (uint32_t d = 1; d < m->defs.n; d++) {
    neo_tensor *reads;
    size_t n = is_member(loops, (neo_def){d}) ? 0 : neo_def_reads(m, (neo_def){d}, a, &reads);
    for (size_t i = 0; i < n; i++)
      is[reads[i].i] = true;
  }
  return is;
}

static bool reads(const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->reads.n; k++)
    if (g->reads.at[k].i == t.i)
      return true;
  return false;
}

static bool makes(const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->roots.n; k++)
    if (g->roots.at[k].i == t.i)
      return true;
  return false;
}

/* ---- in place */

typedef struct {
  neo_module *m;
  const neo_grouping *all;
  const neo_group *g;
  const neo_position_loops *loops;
  const neo_counting_sorts *sorts;
  const bool *elsewhere; /* neo_fused_read_elsewhere */
  neo_in_places *out;
} finder;

/* Has it an element for each position? */
static bool is_along(neo_module *m, neo_tensor t, const neo_lx *n) {
  if (neo_tensor_rank(m, t) != 1 || n->kind != NEO_LX_SIZE)
    return false;
  const neo_node *extent = neo_expr_node(m, neo_tensor_extent(m, t, 0));
  return extent->op == NEO_OP_SIZE && neo_size_number(m, (neo_size){extent->attr}) == n->attr;
}

/* Does another kernel of an entry read it? It may compute again what the definitions here do. */
static bool is_read_again(const finder *x, neo_tensor t) {
  bool is = false;
  for (size_t k = 0; k < x->all->groups.n; k++) {
    const neo_group *h = &x->all->groups.at[k];
    is = is || (h != x->g && h->entry == x->g->entry && reads(h, t));
  }
  for (size_t k = 0; k < x->g->loops.n; k++) {
    bool here = false;
    for (size_t i = 0; i < x->loops->n; i++)
      here = here || x->loops->at[i].g == &x->g->loops.at[k];
    is = is || (!here && reads(&x->g->loops.at[k], t));
  }
  return is;
}

/* Are both of this kernel and earlier ones alone, and of one size? As a run-time size says how large the old one is, it is
 * not cached between calls. */
static bool are_alike(const finder *x, neo_tensor old, neo_tensor made) {
  const neo_lx *n = x->loops->at[0].n;
  const neo_tensor_rec *a = neo_tensor_at(x->m, old), *b = neo_tensor_at(x->m, made);
  bool returned = b->role != NEO_ROLE_TEMP;
  for (size_t e = 0; e < x->m->entries.n; e++) {
    neo_list l = x->m->entries.at[e].outputs;
    for (uint32_t k = 0; k < l.n; k++)
      returned = returned || neo_list_at(x->m, l, k) == made.i;
  }
  bool are = !returned && !x->elsewhere[old.i] && !is_read_again(x, old) && a->type == b->type &&
             is_along(x->m, old, n) && is_along(x->m, made, n);
  for (size_t k = 0; k < x->out->n; k++)
    are = are && x->out->at[k].old.i != old.i;
  for (size_t k = 0; k < x->loops->n; k++)
    are = are && !makes(x->loops->at[k].g, old);
  return are;
}

static bool is_left_to(const finder *x, size_t i, neo_tensor old, neo_tensor made) {
  bool is = are_alike(x, old, made) && neo_position_loop_writes_own(x->m, &x->loops->at[i], made);
  for (size_t k = 0; k < x->loops->n && is; k++) {
    const neo_position_loop *y = &x->loops->at[k];
    is = (k == i || !makes(y->g, made)) && (k <= i || !reads(y->g, old)) &&
         neo_position_loop_reads_own(x->m, y, old);
  }
  return is;
}

/* The loops of the sort read a count as they make the end (fused_loops.c). */
static bool are_left_to(const finder *x, const neo_counting_sort *s) {
  bool are = are_alike(x, s->count, s->end);
  for (size_t k = 0; k < x->loops->n; k++)
    are = are && (k == s->first_at || k == s->end_at || !reads(x->loops->at[k].g, s->count));
  return are;
}

static bool is_sorted(const finder *x, size_t i) {
  bool is = false;
  for (size_t k = 0; k < x->sorts->n; k++) {
    const neo_counting_sort *s = &x->sorts->at[k];
    is = is || s->at == i || s->first_at == i || s->end_at == i;
  }
  return is;
}

void neo_fused_in_place(neo_module *m, const neo_grouping *all, const neo_group *g,
                        const neo_position_loops *loops, const neo_counting_sorts *sorts,
                        neo_arena *a, neo_in_places *out) {
  finder x = {m, all, g, loops, sorts, NULL, out};
  *out = (neo_in_places){0};
  if (!all)
    return;
  x.elsewhere = neo_fused_read_elsewhere(m, loops, a);
  for (size_t k = 0; k < sorts->n; k++)
    if (are_left_to(&x, &sorts->at[k]))
      NEO_PUSH(a, out, ((neo_in_place){sorts->at[k].end, sorts->at[k].count}));
  for (size_t i = 0; i < loops->n; i++) {
    const neo_group *one = loops->at[i].g;
    bool found = one->roots.n != 1 || is_sorted(&x, i);
    for (size_t r = 0; r < one->reads.n && !found; r++) {
      neo_in_place y = {one->roots.at[0], one->reads.at[r]};
      found = is_left_to(&x, i, y.old, y.made);
      if (found)
        NEO_PUSH(a, out, y);
    }
  }
}

/* ---- tables that become 0 in the loop */

/* Is it one statement or more that store 0 in elements of the tensor, and nothing else? */
static bool only_zeroes(const neo_block *b, size_t n, const neo_kernel *k, neo_tensor t) {
  int64_t zero;
  bool only = n > 0;
  for (size_t i = 0; i < n && only; i++) {
    const neo_ls *s = b->at[i];
    if (s->kind == NEO_LS_FOR)
      only = only_zeroes(&s->loop.body, s->loop.body.n, k, t);
    else
      only = s->kind == NEO_LS_STORE && k->bufs.at[s->store.to.buf].tensor.i == t.i &&
             neo_lx_is_int(s->store.value, &zero) && zero == 0;
  }
  return only;
}

neo_tensor neo_fused_zeroed(neo_module *m, const neo_position_loops *loops, size_t i) {
  const neo_position_loop *y = &loops->at[i];
  neo_segment s;
  neo_tensor none = {0}, t = y->g->roots.n == 1 ? y->g->roots.at[0] : none;
  bool is = t.i && !y->g->recurrence && neo_segment_of(m, y->g, &s) && s.ends &&
            is_along(m, t, y->n) && only_zeroes(&y->k->body, y->k->body.n - 1, y->k, t);
  for (size_t k = 0; k < loops->n && is; k++)
    is = neo_position_loop_is_behind(m, &loops->at[k], t);
  return is ? t : none;
}
