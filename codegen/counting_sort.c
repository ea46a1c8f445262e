/* See counting_sort.h. Definitions are matched by writing the same expressions again: these are hash-consed, so equal
 * ones have equal ids. */
#include "codegen/counting_sort.h"
#include "ir/comparison.h"

enum { MOST_RANK = 8, MOST_CONJUNCTS = 4 };

typedef struct {
  neo_module *m;
  const neo_position_loops *loops;
  neo_arena *a;
} matcher;

static neo_expr axis(const matcher *x, uint32_t k) {
  return neo_axis_ref(x->m, k);
}

/* The only definition of the tensor, with one result; null: there is none. */
static const neo_def_rec *made_by(const matcher *x, neo_tensor t) {
  neo_list pieces = neo_tensor_at(x->m, t)->pieces;
  const neo_def_rec *d =
      pieces.n == 1 ? neo_def_at(x->m, (neo_def){neo_list_at(x->m, pieces, 0)}) : NULL;
  return d && d->out.n == 1 && !d->out_map.n ? d : NULL;
}

static bool sums(const neo_def_rec *d) {
  return d->reducer == NEO_RED_SUM && d->where.i && d->body.n == 1 && d->finish.n == 1;
}

static bool ends_in_acc(const matcher *x, const neo_def_rec *d) {
  return neo_expr_node(x->m, neo_list_expr(x->m, d->finish, 0))->op == NEO_OP_ACC;
}

static bool is_from_zero(const matcher *x, const neo_def_rec *d) {
  int64_t lo = 0;
  bool is = true;
  for (uint32_t k = 0; k < d->axes.n && is; k++)
    is = neo_expr_is_int(x->m, neo_def_axis(x->m, d, k)->lo, &lo) && lo == 0;
  return is;
}

/* The tensor that the loop makes one element of at each position. */
static neo_tensor made_in(const matcher *x, size_t i) {
  const neo_group *g = x->loops->at[i].g;
  return g->roots.n == 1 ? g->roots.at[0] : (neo_tensor){0};
}

/* The other argument of a sum or an equation of e; 0: it has none. */
static neo_expr beside(const matcher *x, neo_expr all, neo_op op, neo_expr e) {
  const neo_node *n = neo_expr_node(x->m, all);
  for (uint32_t k = 0; n->op == op && k < 2; k++)
    if (neo_list_at(x->m, n->arg, k) == e.i)
      return neo_list_expr(x->m, n->arg, 1 - k);
  return (neo_expr){0};
}

/* ---- the definitions */

/* The key, of axes 0 .. n_out - 1, of a definition at[e]; *first: what it starts with. 0: it is none. */
static neo_expr key_of(const matcher *x, const neo_def_rec *d, neo_tensor *first) {
  neo_module *m = x->m;
  neo_expr part[MOST_CONJUNCTS], none = {0};
  uint32_t n = 0;
  neo_node sum = *neo_expr_node(m, neo_list_expr(m, d->finish, 0));
  if (sum.op != NEO_OP_ADD || !neo_conjuncts_of(m, d->where, part, &n, MOST_CONJUNCTS))
    return none;
  for (uint32_t k = 0; k < 2; k++) {
    neo_node start = *neo_expr_node(m, neo_list_expr(m, sum.arg, k));
    int64_t zero;
    if (start.op != NEO_OP_LOAD_ELSE || start.arg.n != 2 ||
        neo_expr_node(m, neo_list_expr(m, sum.arg, 1 - k))->op != NEO_OP_ACC ||
        !neo_expr_is_int(m, neo_list_expr(m, start.arg, 1), &zero) || zero != 0)
      continue;
    neo_expr key = neo_list_expr(m, start.arg, 0);
    first->i = start.attr;
    for (uint32_t c = 0; c < n; c++) {
      neo_expr other = beside(x, part[c], NEO_OP_EQ, key);
      if (other.i)
        return key;
    }
  }
  return none;
}

/* Is it sum[e where key[e] == u] of the same terms? */
static bool counts(const matcher *x, neo_tensor count, const neo_def_rec *at, neo_expr key) {
  neo_module *m = x->m;
  const neo_def_rec *d = made_by(x, count);
  neo_expr by[MOST_RANK];
  int64_t one;
  if (!d || !sums(d) || !ends_in_acc(x, d) || d->n_out != 1 || d->axes.n != at->n_out + 1 ||
      !is_from_zero(x, d) || at->n_out > MOST_RANK)
    return false;
  bool same = neo_list_at(m, d->body, 0) == neo_list_at(m, at->body, 0) &&
              neo_expr_is_int(m, neo_list_expr(m, d->body, 0), &one);
  for (uint32_t k = 0; k < at->n_out; k++) {
    by[k] = axis(x, k + 1);
    same = same && neo_def_axis(m, d, k + 1)->hi.i == neo_def_axis(m, at, k)->hi.i;
  }
  neo_expr where = d->where, moved = neo_expr_subst_axes(m, key, by, at->n_out);
  return same && beside(x, where, NEO_OP_EQ, moved).i == axis(x, 0).i;
}

/* count, if `first` is sum[k < u] count[k]; 0: it is another sum. */
static neo_tensor counted_before(const matcher *x, neo_tensor first) {
  neo_module *m = x->m;
  const neo_def_rec *d = made_by(x, first);
  neo_tensor none = {0};
  if (!d || !sums(d) || !ends_in_acc(x, d) || d->n_out != 1 || d->axes.n != 2 ||
      !is_from_zero(x, d))
    return none;
  neo_node load = *neo_expr_node(m, neo_list_expr(m, d->body, 0));
  neo_expr before = axis(x, 1);
  bool is = load.op == NEO_OP_LOAD && load.arg.n == 1 && neo_list_at(m, load.arg, 0) == before.i &&
            neo_op2(m, NEO_OP_LT, before, axis(x, 0)).i == made_by(x, first)->where.i &&
            neo_tensor_extent(m, (neo_tensor){load.attr}, 0).i ==
                neo_def_axis(m, made_by(x, first), 1)->hi.i;
  return is ? (neo_tensor){load.attr} : none;
}

/* Is it first[u] + count[u]? */
static bool ends(const matcher *x, neo_tensor end, neo_tensor first, neo_tensor count) {
  neo_module *m = x->m;
  const neo_def_rec *d = made_by(x, end);
  neo_expr here = axis(x, 0);
  if (!d || d->reducer != NEO_RED_NONE || d->where.i || d->n_out != 1 || !is_from_zero(x, d))
    return false;
  neo_expr value = neo_list_expr(m, d->finish, 0), from = neo_load(m, first, &here, 1, d->span);
  return beside(x, value, NEO_OP_ADD, from).i ==
             neo_load(m, count, &here, 1, made_by(x, end)->span).i &&
         neo_tensor_extent(m, end, 0).i == neo_tensor_extent(m, first, 0).i &&
         neo_tensor_at(m, end)->type == neo_tensor_at(m, first)->type;
}

/* ---- who reads them */

static bool has(const matcher *x, neo_list l, neo_tensor t) {
  for (uint32_t k = 0; k < l.n; k++)
    if (neo_list_at(x->m, l, k) == t.i)
      return true;
  return false;
}

/* Does another definition than these two read it, or an entry return it? */
static bool is_read(const matcher *x, neo_tensor t, neo_tensor but, neo_tensor and) {
  neo_module *m = x->m;
  for (uint32_t d = 1; d < m->defs.n; d++) {
    neo_tensor *reads;
    uint32_t out = neo_list_at(m, neo_def_at(m, (neo_def){d})->out, 0);
    size_t n = out == but.i || out == and.i ? 0 : neo_def_reads(m, (neo_def){d}, x->a, &reads);
    for (size_t k = 0; k < n; k++)
      if (reads[k].i == t.i)
        return true;
  }
  for (size_t e = 0; e < m->entries.n; e++)
    if (has(x, m->entries.at[e].outputs, t) || has(x, m->entries.at[e].updates, t))
      return true;
  return neo_tensor_at(m, t)->role != NEO_ROLE_TEMP;
}

static bool is_read_in(const matcher *x, neo_tensor t) {
  for (size_t k = 0; k < x->loops->n; k++)
    for (size_t r = 0; r < x->loops->at[k].g->reads.n; r++)
      if (x->loops->at[k].g->reads.at[r].i == t.i)
        return true;
  return false;
}

/* Finds the loop that makes the ends of the sort. */
static bool find_end(const matcher *x, neo_counting_sort *out) {
  for (size_t k = 0; k < x->loops->n; k++)
    for (size_t r = 0; r < x->loops->at[k].g->roots.n; r++)
      if (ends(x, x->loops->at[k].g->roots.at[r], out->first, out->count)) {
        out->end = x->loops->at[k].g->roots.at[r];
        out->end_at = k;
        return true;
      }
  return false;
}

/* The loop before the i-th that makes its starts. */
static bool find_first(const matcher *x, size_t i, neo_counting_sort *out) {
  for (size_t k = 0; k < i; k++)
    for (size_t r = 0; r < x->loops->at[k].g->roots.n; r++)
      if (x->loops->at[k].g->roots.at[r].i == out->first.i) {
        out->first_at = k;
        return true;
      }
  return false;
}

/* Does the loop make nothing but these two, at each position once? */
static bool makes_ends_alone(const matcher *x, size_t i, const neo_counting_sort *s) {
  const neo_position_loop *y = &x->loops->at[i];
  bool are = y->factor == 1;
  for (size_t r = 0; r < y->g->roots.n; r++)
    are = are && (y->g->roots.at[r].i == s->first.i || y->g->roots.at[r].i == s->end.i);
  return are;
}

bool neo_counting_sort_of(neo_module *m, const neo_position_loops *loops, size_t i, neo_arena *a,
                          neo_counting_sort *out) {
  matcher x = {m, loops, a};
  neo_tensor at = made_in(&x, i);
  const neo_def_rec *d = loops->at[i].table && at.i ? made_by(&x, at) : NULL;
  *out = (neo_counting_sort){.at = i};
  if (!d || !sums(d) || !is_from_zero(&x, d))
    return false;
  neo_def_rec rec = *d;
  neo_expr key = key_of(&x, &rec, &out->first);
  out->count = key.i ? counted_before(&x, out->first) : (neo_tensor){0};
  return out->count.i && counts(&x, out->count, &rec, key) && find_first(&x, i, out) &&
         find_end(&x, out) && makes_ends_alone(&x, out->first_at, out) &&
         makes_ends_alone(&x, out->end_at, out) && !is_read(&x, out->first, at, out->end) &&
         !is_read_in(&x, out->end);
}

/* ---- the kernel */

static const neo_lx *load_of(const neo_lx *e, uint32_t buf) {
  const neo_lx *found = NULL;
  if ((e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF) && e->attr == buf)
    return e;
  for (uint32_t k = 0; k < e->n && !found; k++)
    found = load_of(e->arg[k], buf);
  return found;
}

typedef struct {
  neo_kernel *k;
  uint32_t buf;
} taker;

static void take_out(void *ctx, neo_ls *s) {
  taker *x = ctx;
  const neo_lx **place[NEO_LS_EXPRS], *load;
  uint32_t n = neo_ls_places(s, place);
  for (uint32_t k = 0; k < n; k++)
    while (*place[k] && (load = load_of(*place[k], x->buf)))
      *place[k] = neo_lx_replace(x->k, *place[k], load,
                                 neo_lx_const(x->k, (neo_type)load->type, (neo_value){.i = 0}));
}

void neo_counting_sort_start(const neo_counting_sort *x, const neo_position_loops *loops) {
  neo_kernel *k = loops->at[x->at].k;
  for (uint32_t b = 0; b < k->bufs.n; b++) {
    taker t = {k, b};
    if (k->bufs.at[b].tensor.i == x->first.i)
      neo_block_visit(&k->body, take_out, &t);
  }
}
