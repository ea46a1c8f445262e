/* Value numbering of recurrences by partition refinement (B. Alpern, M. Wegman, F. K. Zadeck,
 * "Detecting equality of variables in programs"):
 *
 *     h[t] = 0.5 * h[t - 1] + x[t]      g[t] = 0.5 * g[t - 1] + x[t]      ->  g is h
 *
 * Tensors of recurrences with equal types and extents begin in one class. A class is split where
 * definitions differ, each read written as the first tensor of its class, until nothing changes.
 * Tensors of one class are then equal, by induction over the order of elements. Classes are
 * compared by the words of definitions; hashes only select candidates. Tensors of one recurrence
 * are never identified. */
#include "transform/equal_recurrences.h"
#include "base/hash.h"
#include "ir/clone.h"
#include "ir/component.h"

typedef NEO_VEC(uint32_t) words_vec;

typedef struct {
  neo_module *m;
  neo_arena *scratch;
  uint32_t n;
  uint32_t *tensor, *component; /* tensors in recurrences, producers first; their recurrence */
  uint32_t *first;              /* by tensor: the first of its class */
  words_vec *words;
  neo_map reads; /* tensor -> the first of its class */
} partition;

static void put(partition *p, words_vec *w, uint32_t x) {
  NEO_PUSH(p->scratch, w, x);
}

static void put_list(partition *p, words_vec *w, neo_list l) {
  put(p, w, l.n);
  for (uint32_t k = 0; k < l.n; k++)
    put(p, w, neo_list_at(p->m, l, k));
}

static void put_expr(partition *p, words_vec *w, neo_expr e) {
  put(p, w, e.i ? neo_expr_renamed(p->m, e, &p->reads).i : 0);
}

static void put_exprs(partition *p, words_vec *w, neo_list l) {
  put(p, w, l.n);
  for (uint32_t k = 0; k < l.n; k++)
    put_expr(p, w, neo_list_expr(p->m, l, k));
}

/* The tensor's declaration, and facts from earlier passes. */
static words_vec declared(partition *p, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(p->m, t);
  words_vec w = {0};
  uint32_t flags = r->partial | r->terms << 1 | r->inner << 2 | r->moves << 3;
  uint32_t word[] = {r->type, r->pieces.n, r->bound.i,  r->least.i, r->below.i,
                     r->in.i, r->rows.i,   r->row_role, flags,      r->role};
  for (size_t k = 0; k < sizeof word / sizeof *word; k++)
    put(p, &w, word[k]);
  put_list(p, &w, r->extent);
  return w;
}

static void put_piece(partition *p, words_vec *w, neo_def d, uint32_t t) {
  neo_def_rec r = *neo_def_at(p->m, d);
  uint32_t place = 0;
  while (place < r.out.n && neo_list_at(p->m, r.out, place) != t)
    place++;
  uint32_t word[] = {place, r.out.n, r.axes.n, r.n_out, r.reducer, r.in.i, r.chunk_loop, r.rows.i};
  for (size_t k = 0; k < sizeof word / sizeof *word; k++)
    put(p, w, word[k]);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(p->m, &r, k);
    put_expr(p, w, axis.lo);
    put_expr(p, w, axis.hi);
  }
  put_expr(p, w, r.where);
  put_exprs(p, w, r.body);
  put_exprs(p, w, r.finish);
  put_list(p, w, r.out_map);
}

static words_vec defined(partition *p, uint32_t t) {
  neo_list pieces = neo_tensor_at(p->m, (neo_tensor){t})->pieces;
  words_vec w = {0};
  for (uint32_t k = 0; k < pieces.n; k++)
    put_piece(p, &w, neo_list_def(p->m, pieces, k), t);
  return w;
}

static bool same_words(const words_vec *a, const words_vec *b) {
  if (a->n != b->n)
    return false;
  for (size_t k = 0; k < a->n; k++)
    if (a->at[k] != b->at[k])
      return false;
  return true;
}

/* Splits classes by the words of their tensors; returns whether one was split. */
static bool split(partition *p) {
  bool changed = false;
  uint32_t *next = NEO_NEW_ARRAY(p->scratch, uint32_t, p->n + 1);
  neo_map seen = neo_map_in(p->scratch);
  for (uint32_t k = 0; k < p->n; k++) {
    uint64_t h = neo_hash(p->words[k].at, p->words[k].n * sizeof(uint32_t), p->first[k]), j = k;
    if (!neo_map_get(&seen, h, &j))
      neo_map_set(&seen, h, k);
    bool same = p->first[j] == p->first[k] && same_words(&p->words[j], &p->words[k]);
    next[k] = same ? (uint32_t)j : k;
    changed = changed || next[k] != p->first[k];
  }
  for (uint32_t k = 0; k < p->n; k++)
    p->first[k] = next[k];
  return changed;
}

static bool has_pairs(const partition *p) {
  for (uint32_t k = 0; k < p->n; k++)
    if (p->first[k] != k)
      return true;
  return false;
}

/* Tensors that share a class; the words of others are not needed. */
static bool *shared(partition *p) {
  bool *more = NEO_NEW_ARRAY(p->scratch, bool, p->n + 1);
  for (uint32_t k = 0; k < p->n; k++)
    more[k] = false;
  for (uint32_t k = 0; k < p->n; k++)
    if (p->first[k] != k)
      more[k] = more[p->first[k]] = true;
  return more;
}

static void refine(partition *p) {
  for (uint32_t k = 0; k < p->n; k++)
    p->words[k] = declared(p, (neo_tensor){p->tensor[k]});
  bool changed = split(p) || has_pairs(p);
  while (changed && has_pairs(p)) {
    neo_map_init(&p->reads, p->scratch);
    for (uint32_t k = 0; k < p->n; k++)
      neo_map_set(&p->reads, p->tensor[k], p->tensor[p->first[k]]);
    const bool *more = shared(p);
    for (uint32_t k = 0; k < p->n; k++)
      p->words[k] = more[k] ? defined(p, p->tensor[k]) : (words_vec){0};
    changed = split(p);
  }
}

static void gather(partition *p, const neo_def *defs, size_t n, const uint32_t *number) {
  neo_map seen = neo_map_in(p->scratch);
  for (size_t k = 0; k < n; k++) {
    neo_list out = neo_def_at(p->m, defs[k])->out;
    for (uint32_t j = 0; j < out.n && number[defs[k].i]; j++) {
      uint32_t t = neo_list_at(p->m, out, j);
      if (neo_map_get(&seen, t, NULL) ||
          neo_tensor_at(p->m, (neo_tensor){t})->role != NEO_ROLE_TEMP)
        continue;
      neo_map_set(&seen, t, 1);
      p->tensor[p->n] = t;
      p->component[p->n++] = number[defs[k].i];
    }
  }
}

static partition *partition_new(neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch) {
  partition *p = NEO_NEW(scratch, partition);
  uint32_t *number = NEO_NEW_ARRAY(scratch, uint32_t, m->defs.n + 1);
  *p = (partition){.m = m, .scratch = scratch};
  p->tensor = NEO_NEW_ARRAY(scratch, uint32_t, 4 * n + 1);
  p->component = NEO_NEW_ARRAY(scratch, uint32_t, 4 * n + 1);
  if (neo_recurrences(m, defs, n, scratch, number) > 1)
    gather(p, defs, n, number);
  p->first = NEO_NEW_ARRAY(scratch, uint32_t, p->n + 1);
  p->words = NEO_NEW_ARRAY(scratch, words_vec, p->n + 1);
  for (uint32_t k = 0; k < p->n; k++)
    p->first[k] = 0;
  return p;
}

/* Marks the products of `to` as written by the program if those of `from` are. */
static void keep_as_written(neo_module *m, uint32_t from, uint32_t to) {
  neo_list a = neo_tensor_at(m, (neo_tensor){from})->pieces,
           b = neo_tensor_at(m, (neo_tensor){to})->pieces;
  for (uint32_t k = 0; k < a.n; k++)
    if (neo_def_at(m, neo_list_def(m, a, k))->as_written)
      neo_def_at(m, neo_list_def(m, b, k))->as_written = true;
}

bool neo_equal_recurrences(neo_module *m, const neo_def *defs, size_t n, const neo_map *kept,
                           neo_map *to, neo_arena *scratch) {
  partition *p = partition_new(m, defs, n, scratch);
  bool any = false;
  refine(p);
  for (uint32_t k = 0; k < p->n; k++) {
    uint32_t j = p->first[k];
    if (j == k || p->component[j] == p->component[k] || neo_map_get(kept, p->tensor[k], NULL) ||
        neo_map_get(to, p->tensor[k], NULL))
      continue;
    neo_map_set(to, p->tensor[k], p->tensor[j]);
    keep_as_written(m, p->tensor[k], p->tensor[j]);
    any = true;
  }
  return any;
}
