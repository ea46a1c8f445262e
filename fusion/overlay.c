/* Overlay of exclusive tensors; see overlay.h. Two tensors may share rows if, for any two segments
 * that write them, the rows differ, or they are rows of one iteration with exclusive conditions:
 * each index in the conditions is a position of the row. Other tensors get neighbouring elements,
 * such as several that one arm saves: first fit in the row. */
#include "fusion/overlay.h"
#include "fusion/concat.h"
#include "fusion/form/steps.h"
#include "fusion/recurrence.h"
#include "ir/clone.h"
#include "ir/store.h"
#include <stdlib.h>

enum { LEAST_TENSORS = 2 };

typedef struct { /* a segment's group that writes rows of a tensor */
  size_t group;  /* number of the recurrence's group */
  uint32_t entry;
  const neo_slice *slice;
  neo_conditions when;
} row_writer;

typedef struct {
  bool fixed; /* has its own memory */
  NEO_VEC(row_writer) writers;
} tape;

typedef struct {
  uint32_t tensor;
  double bytes;
} candidate;

typedef struct { /* elements at .. at + n - 1 of a row */
  neo_tensor tensor;
  int64_t at, n;
} part;

typedef struct { /* tensors that share rows */
  NEO_VEC(part) parts;
  neo_expr unit; /* unit of lengths, over sizes */
  int64_t n;     /* units of a row */
} place;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  neo_grouping *all;
  uint32_t n_tensors;
  double least_bytes;
  tape *tape; /* by tensor */
  NEO_VEC(place) places;
  bool *moved; /* by tensor: in shared rows, or a copy of one that is */
} overlayer;

static void fix(overlayer *x, neo_tensor t) {
  if (t.i < x->n_tensors)
    x->tape[t.i].fixed = true;
}

static void fix_list(overlayer *x, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    fix(x, (neo_tensor){neo_list_at(x->m, l, k)});
}

/* ---- writers of tensors, and readers that fix their layout */

static void fix_asked(void *ctx, neo_expr e) {
  overlayer *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE)
    fix(x, (neo_tensor){n->attr});
}

/* Fixes tensors that conditions read: their elements have to be row-major. */
static void fix_conditions(overlayer *x, const neo_group *g) {
  for (size_t k = 0; k < g->when.n; k++)
    neo_expr_visit(x->m, g->when.at[k], fix_asked, x);
}

static void fix_tree(overlayer *x, const neo_tree *t) {
  if (t->kind == NEO_TREE_GUARD || t->kind == NEO_TREE_EXIT)
    neo_expr_visit(x->m, t->condition, fix_asked, x);
  for (size_t k = 0; k < t->children.n; k++)
    fix_tree(x, t->children.at[k]);
}

static void add_writers(overlayer *x, size_t group, const neo_group *g) {
  const neo_recurrence *r = x->all->groups.at[group].recurrence;
  fix_conditions(x, g);
  for (size_t k = 0; k < g->roots.n; k++) {
    const neo_slice *s = neo_recurrence_slice(r, g->roots.at[k]);
    row_writer w = {group, x->all->groups.at[group].entry, s, {(uint32_t)g->when.n, g->when.at}};
    if (s && s->stored && s->whole.i < x->n_tensors)
      NEO_PUSH(x->a, &x->tape[s->whole.i].writers, w);
  }
}

/* Fixes tensors whose copies the segments' conditions read. */
static void fix_copied(overlayer *x, const neo_recurrence *r) {
  for (size_t k = 0; k < r->memory.n; k++)
    if (x->tape[r->memory.key[k]].fixed)
      fix(x, (neo_tensor){(uint32_t)r->memory.value[k]});
}

static void find_writers(overlayer *x) {
  for (size_t g = 0; g < x->all->groups.n; g++) {
    const neo_group *y = &x->all->groups.at[g];
    fix_conditions(x, y);
    for (size_t k = 0; k < y->roots.n && !y->recurrence; k++)
      fix(x, y->roots.at[k]);
    if (!y->recurrence)
      continue;
    fix_tree(x, y->recurrence->tree.root);
    for (size_t s = 0; s < y->recurrence->segments.n; s++)
      for (size_t k = 0; k < y->recurrence->segments.at[s].groups.n; k++)
        add_writers(x, g, &y->recurrence->segments.at[s].groups.at[k]);
    fix_copied(x, y->recurrence);
  }
  for (size_t k = 0; k < x->m->entries.n; k++) {
    fix_list(x, x->m->entries.at[k].outputs);
    fix_list(x, x->m->entries.at[k].updates);
  }
}

/* ---- candidates */

typedef struct {
  neo_module *m;
  const neo_slice *slice;
  bool good;
} index_look;

/* Is the index of a loop a position of the row, up to a constant? */
static void look_index(void *ctx, neo_expr e) {
  index_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  bool found = n->op != NEO_OP_SIZE || !neo_size_at(l->m, (neo_size){n->attr})->loop_index;
  for (uint32_t k = 0; k < l->slice->fixed && !found; k++) {
    neo_linear at;
    found = neo_linear_of(l->m, neo_list_expr(l->m, l->slice->at, k), &at) && at.n == 1 &&
            at.term[0].atom.i == e.i;
  }
  l->good = l->good && found;
}

static bool is_row_writer(const overlayer *x, const row_writer *w, uint32_t n_outer) {
  index_look l = {x->m, w->slice, w->when.n && w->slice->fixed == n_outer};
  for (uint32_t k = 0; k < w->when.n && l.good; k++)
    neo_expr_visit(x->m, w->when.at[k], look_index, &l);
  return l.good;
}

static uint32_t outer_axes_of(const overlayer *x, neo_tensor t) {
  return x->tape[t.i].writers.at[0].slice->fixed;
}

static bool is_root(const overlayer *x, size_t group, neo_tensor t) {
  const neo_group *g = &x->all->groups.at[group];
  for (size_t k = 0; k < g->roots.n; k++)
    if (g->roots.at[k].i == t.i)
      return true;
  return false;
}

static bool may_move(const overlayer *x, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(x->m, t);
  const tape *y = &x->tape[t.i];
  bool may = !y->fixed && y->writers.n && r->role == NEO_ROLE_TEMP &&
             neo_type_is_float((neo_type)r->type) && !r->terms && !r->rows.i && !r->moves &&
             !r->within.i && !r->offsets.i && outer_axes_of(x, t);
  for (size_t k = 0; k < y->writers.n && may; k++)
    may = is_root(x, y->writers.at[k].group, t) &&
          is_row_writer(x, &y->writers.at[k], outer_axes_of(x, t));
  return may;
}

/* ---- compatibility */

static bool is_below(const overlayer *x, neo_expr a, neo_expr b) {
  neo_facts none = {0};
  return neo_prove(x->p, &none, neo_op2(x->m, NEO_OP_LT, a, b), NULL) == NEO_PROVED;
}

/* Is at most one of them written in the other one's row? */
static bool are_disjoint(const overlayer *x, const row_writer *a, const row_writer *b,
                         uint32_t n_outer) {
  bool same = true, differ = false;
  if (a->group != b->group) /* in one call, if of one entry */
    return a->entry != b->entry;
  for (uint32_t k = 0; k < n_outer && !differ; k++) {
    neo_expr p = neo_list_expr(x->m, a->slice->at, k), q = neo_list_expr(x->m, b->slice->at, k);
    same = same && p.i == q.i;
    differ = p.i != q.i && (is_below(x, p, q) || is_below(x, q, p));
  }
  return differ || (same && neo_conditions_exclude(x->m, &a->when, &b->when));
}

static bool exclude_each_other(const overlayer *x, neo_tensor t, neo_tensor other) {
  const tape *a = &x->tape[t.i], *b = &x->tape[other.i];
  bool may = true;
  for (size_t i = 0; i < a->writers.n; i++)
    for (size_t k = 0; k < b->writers.n && may; k++)
      may = are_disjoint(x, &a->writers.at[i], &b->writers.at[k], outer_axes_of(x, t));
  return may;
}

static bool have_like_rows(const overlayer *x, neo_tensor t, neo_tensor other) {
  uint32_t n_outer = outer_axes_of(x, t);
  bool like = n_outer == outer_axes_of(x, other) &&
              neo_tensor_at(x->m, t)->type == neo_tensor_at(x->m, other)->type;
  for (uint32_t k = 0; k < n_outer && like; k++)
    like = neo_tensor_extent(x->m, t, k).i == neo_tensor_extent(x->m, other, k).i;
  return like;
}

/* A row as a number of units, B*24 as 24 of B. */
static neo_expr unit_of(const overlayer *x, neo_tensor t, int64_t *n) {
  neo_module *m = x->m;
  neo_expr all = neo_const_int(m, NEO_I64_T, 1), one = all;
  neo_linear l;
  for (uint32_t k = outer_axes_of(x, t); k < neo_tensor_rank(m, t); k++)
    all = neo_op2(m, NEO_OP_MUL, all, neo_tensor_extent(m, t, k));
  *n = 1;
  if (!neo_linear_of(m, all, &l) || l.n > 1 || (l.n && l.constant))
    return all;
  *n = l.n ? l.term[0].coef : l.constant;
  return l.n ? l.term[0].atom : one;
}

/* The first free elements in the rows for n elements of t. */
static int64_t first_fit(const overlayer *x, const place *y, neo_tensor t, int64_t n) {
  int64_t at = 0;
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t k = 0; k < y->parts.n; k++) {
      const part *p = &y->parts.at[k];
      if (at >= p->at + p->n || p->at >= at + n || exclude_each_other(x, t, p->tensor))
        continue;
      at = p->at + p->n;
      moved = true;
    }
  }
  return at;
}

/* Puts t into the rows that grow least, if by less than its own size. */
static void put(overlayer *x, neo_tensor t) {
  part own = {.tensor = t};
  neo_expr unit = unit_of(x, t, &own.n);
  size_t to = x->places.n;
  int64_t least = own.n;
  for (size_t k = 0; k < x->places.n; k++) {
    const place *y = &x->places.at[k];
    if (unit.i != y->unit.i || !have_like_rows(x, t, y->parts.at[0].tensor))
      continue;
    int64_t at = first_fit(x, y, t, own.n), more = at + own.n > y->n ? at + own.n - y->n : 0;
    if (more >= least)
      continue;
    least = more;
    to = k;
    own.at = at;
  }
  if (to == x->places.n)
    NEO_PUSH(x->a, &x->places, (place){.unit = unit});
  x->places.at[to].n += least;
  NEO_PUSH(x->a, &x->places.at[to].parts, own);
}

static int larger_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static void put_all(overlayer *x) {
  candidate *c = NEO_NEW_ARRAY(x->a, candidate, x->n_tensors + 1);
  size_t n = 0;
  for (uint32_t t = 1; t < x->n_tensors; t++) {
    double bytes = x->tape[t].writers.n ? neo_most_bytes(x->m, (neo_tensor){t}) : 0;
    if (bytes > x->least_bytes && may_move(x, (neo_tensor){t}))
      c[n++] = (candidate){t, bytes};
  }
  qsort(c, n, sizeof *c, larger_first);
  for (size_t k = 0; k < n; k++)
    put(x, (neo_tensor){c[k].tensor});
}

/* ---- defining the rows */

static neo_expr elements(const overlayer *x, const place *y, int64_t n) {
  return neo_op2(x->m, NEO_OP_MUL, y->unit, neo_const_int(x->m, NEO_I64_T, n));
}

static neo_tensor rows_tensor(const overlayer *x, const place *y) {
  neo_module *m = x->m;
  neo_tensor first = y->parts.at[0].tensor;
  neo_tensor_rec r = *neo_tensor_at(m, first);
  uint32_t extent[NEO_DEF_AXES], n_outer = outer_axes_of(x, first);
  for (uint32_t k = 0; k < n_outer; k++)
    extent[k] = neo_tensor_extent(m, first, k).i;
  extent[n_outer] = elements(x, y, y->n).i;
  neo_tensor_rec rows = {.role = NEO_ROLE_TEMP, .type = r.type, .span = r.span};
  rows.extent = neo_list_new(m, extent, n_outer + 1);
  rows.name = neo_tensor_fresh_name(m, "rows", neo_name_text(m->names, r.name));
  return neo_tensor_add(m, rows);
}

static void move_all(overlayer *x) {
  for (size_t k = 0; k < x->places.n; k++) {
    const place *y = &x->places.at[k];
    if (y->parts.n < LEAST_TENSORS)
      continue;
    neo_tensor rows = rows_tensor(x, y);
    for (size_t i = 0; i < y->parts.n; i++) {
      const part *p = &y->parts.at[i];
      neo_store_in_rows(x->m, p->tensor, rows, elements(x, y, p->at));
      x->moved[p->tensor.i] = true;
    }
  }
}

/* ---- the groups */

/* Moves copies in the segments with their tensors; slices begin elsewhere. */
static void move_in(overlayer *x, neo_recurrence *r) {
  neo_module *m = x->m;
  for (size_t k = 0; k < r->memory.n; k++) {
    neo_tensor copy = {(uint32_t)r->memory.key[k]}, of = {(uint32_t)r->memory.value[k]};
    if (!x->moved[of.i])
      continue;
    uint32_t n_outer;
    neo_store_in_rows(m, copy, neo_tensor_at(m, of)->within, neo_store_in_row(m, of, &n_outer));
    x->moved[copy.i] = true;
  }
  for (size_t k = 0; k < r->slices.n; k++) {
    neo_slice *s = &r->slices.at[k];
    neo_expr at[NEO_DEF_AXES];
    if (!s->stored || !x->moved[s->whole.i])
      continue;
    for (uint32_t i = 0; i < s->at.n; i++)
      at[i] = neo_list_expr(m, s->at, i);
    s->offset = neo_flat_offset(m, s->whole, at);
  }
}

/* Rebuilds the form of a group whose reads moved. Its other reads, such as conditions of loops,
 * stay. */
static void finish(overlayer *x, neo_group *g) {
  bool reads = false, in_order = g->in_order;
  neo_group before = *g;
  for (size_t k = 0; k < g->reads.n; k++)
    reads = reads || x->moved[g->reads.at[k].i];
  if (!reads || !neo_group_has_form(g))
    return;
  g->reads.at = NULL;
  g->reads.n = g->reads.cap = 0;
  g->in_order = false;
  neo_group_finish(x->m, x->a, g);
  for (size_t k = 0; k < before.reads.n; k++) {
    bool has = false;
    for (size_t i = 0; i < g->reads.n; i++)
      has = has || g->reads.at[i].i == before.reads.at[k].i;
    if (!has)
      NEO_PUSH(x->a, &g->reads, before.reads.at[k]);
  }
  g->in_order = in_order;
  g->form = in_order ? NULL : g->form;
}

static void finish_all(overlayer *x) {
  for (size_t g = 0; g < x->all->groups.n; g++) {
    neo_recurrence *r = x->all->groups.at[g].recurrence;
    if (r)
      move_in(x, r);
    for (size_t s = 0; r && s < r->segments.n; s++)
      for (size_t k = 0; k < r->segments.at[s].groups.n; k++)
        finish(x, &r->segments.at[s].groups.at[k]);
    finish(x, &x->all->groups.at[g]);
  }
}

void neo_grouping_overlay(neo_module *m, neo_arena *a, double least_bytes, neo_grouping *all) {
  overlayer x = {.m = m, .a = a, .all = all, .n_tensors = (uint32_t)m->tensors.n};
  x.least_bytes = least_bytes;
  x.p = neo_prover_new(m);
  x.tape = NEO_NEW_ARRAY(a, tape, x.n_tensors + 1);
  find_writers(&x);
  put_all(&x);
  x.moved = NEO_NEW_ARRAY(a, bool, m->tensors.n + x.places.n + 1);
  move_all(&x);
  finish_all(&x);
  neo_prover_free(x.p);
}
