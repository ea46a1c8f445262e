/* Inlining of gathers. A copy with an element for each vertex, such as the vector of a leaf's word,
 * is dropped if only one value of a recurrence reads it:
 *
 *     x[p, j] = X[row[order[p]], j]
 *     h[p, j] = select(leaves <= p, f(h[..]), x[p, j])
 *     ->
 *     h[p, j] = select(leaves <= p, f(h[..]), X[row[order[p]], j])
 *
 * The copy would be written and read again, and take memory for all vertices. So would the choice
 * between a kind's tensor and a parameter, if few values read it:
 *
 *     t[p, j] = select(begin <= p and p < end, sum[i] .., 0)       partial
 *     x[p, j] = select(0 <= word[order[p]], t[p, j], b[j])
 *     z[p, j] = sum[i] .. + x[p, j]
 *     ->
 *     z[p, j] = sum[i] .. + select(0 <= word[order[p]], t[p, j], b[j]) */
#include "ir/component.h"
#include "ir/define.h"
#include "transform/levels/parts.h"

typedef struct {
  const neo_module *m;
  neo_tensor t;
  neo_def def;    /* definition whose reads are counted */
  neo_def reader; /* first reader */
  neo_expr read;
  uint32_t n; /* number of different reads, by reader */
} reading;

static void note_read(void *ctx, neo_expr e) {
  reading *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (!neo_node_is_load(n) || n->attr != x->t.i)
    return;
  if (x->n && x->reader.i == x->def.i && x->read.i == e.i)
    return;
  x->reader = x->def;
  x->read = e;
  x->n++;
}

/* The value, if it is a read, perhaps under a condition; 0: it is computed. */
static neo_expr gathered(const levels *s, const neo_def_rec *d) {
  neo_module *m = s->m;
  neo_expr none = {0};
  if (d->reducer != NEO_RED_NONE || d->out_map.n || d->out.n != 1)
    return none;
  neo_expr value = neo_list_expr(m, d->finish, 0);
  const neo_node *n = neo_expr_node(m, value);
  if (n->op == NEO_OP_SELECT && neo_expr_is_zero(m, neo_list_expr(m, n->arg, 2)))
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 1));
  return neo_node_is_load(n) ? value : none;
}

static bool is_own_element(const levels *s, neo_expr read) {
  const neo_node *n = neo_expr_node(s->m, read);
  bool own = n->op == NEO_OP_LOAD;
  for (uint32_t k = 0; k < n->arg.n && own; k++)
    own = neo_list_at(s->m, n->arg, k) == neo_axis_ref(s->m, k).i;
  return own;
}

static void read_there(levels *s, const neo_def *defs, size_t n, const uint32_t *number,
                       neo_def id) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, id);
  neo_expr value = number[id.i] ? (neo_expr){0} : gathered(s, &d);
  reading x = {.m = m, .t = {neo_list_at(m, d.out, 0)}};
  if (!value.i || neo_tensor_at(m, x.t)->role != NEO_ROLE_TEMP)
    return;
  for (size_t k = 0; k < n; k++) {
    x.def = defs[k];
    neo_def_visit(m, defs[k], note_read, &x);
  }
  if (x.n != 1 || !number[x.reader.i] || !is_own_element(s, x.read))
    return;
  neo_def_rec r = *neo_def_at(m, x.reader);
  if (r.reducer != NEO_RED_NONE || r.finish.n > LEVELS_RANK) /* a product reads rows many times */
    return;
  neo_def_at(m, x.reader)->finish = neo_list_replace(m, r.finish, x.read, value);
}

/* ---- choices */

enum { MOST_READERS = 3 };

/* The value, if it is the own element of a partial tensor, or a parameter's; 0: another one. */
static neo_expr chosen(const levels *s, const levels_ordered *in, const neo_def_rec *d) {
  neo_module *m = s->m;
  neo_expr none = {0};
  uint32_t t = neo_list_at(m, d->out, 0);
  if (d->reducer != NEO_RED_NONE || d->out_map.n || d->out.n != 1)
    return none;
  neo_expr value = neo_list_expr(m, d->finish, 0);
  neo_node n = *neo_expr_node(m, value);
  if (n.op != NEO_OP_SELECT || !is_own_element(s, neo_list_expr(m, n.arg, 1)))
    return none;
  const neo_node *a = neo_expr_node(m, neo_list_expr(m, n.arg, 1));
  neo_node b = *neo_expr_node(m, neo_list_expr(m, n.arg, 2));
  bool is = in->wanted[a->attr] && neo_tensor_at(m, (neo_tensor){a->attr})->partial &&
            b.op == NEO_OP_LOAD && neo_tensor_at(m, (neo_tensor){b.attr})->role == NEO_ROLE_PARAM &&
            !(neo_expr_axes(m, neo_list_expr(m, n.arg, 2)) >> in->dim[t] & 1);
  return is ? value : none;
}

typedef struct {
  const levels *s;
  neo_tensor t;
  neo_expr read; /* common read */
  bool others;   /* another read differs */
} own_reads;

static void note_own_read(void *ctx, neo_expr e) {
  own_reads *x = ctx;
  const neo_node *n = neo_expr_node(x->s->m, e);
  if (!neo_node_is_load(n) || n->attr != x->t.i)
    return;
  x->others = x->others || !is_own_element(x->s, e);
  x->read = e;
}

/* Does the definition read the tensor only at its own element, after its sum if it has one? */
static bool reads_own(own_reads *x, neo_def d) {
  neo_module *m = x->s->m;
  neo_def_rec r = *neo_def_at(m, d);
  x->read.i = 0;
  own_reads inside = *x;
  neo_def_visit(m, d, note_own_read, x);
  for (uint32_t k = 0; k < r.body.n && r.reducer != NEO_RED_NONE; k++)
    neo_expr_visit(m, neo_list_expr(m, r.body, k), note_own_read, &inside);
  x->others = x->others || inside.read.i;
  return x->read.i;
}

static void choose_there(levels *s, const levels_ordered *in, const neo_def *defs, size_t n,
                         neo_def id) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, id);
  neo_expr value = chosen(s, in, &d);
  own_reads x = {.s = s, .t = {neo_list_at(m, d.out, 0)}};
  neo_def reader[MOST_READERS + 1];
  uint32_t n_readers = 0;
  if (!value.i || neo_tensor_at(m, x.t)->role != NEO_ROLE_TEMP || d.n_out > LEVELS_RANK)
    return;
  for (size_t k = 0; k < n && n_readers <= MOST_READERS; k++)
    if (reads_own(&x, defs[k]))
      reader[n_readers++] = defs[k];
  if (x.others || n_readers > MOST_READERS)
    return;
  neo_expr own = neo_load_own(m, x.t, d.span);
  for (uint32_t i = 0; i < n_readers; i++) {
    neo_def_rec *r = neo_def_at(m, reader[i]);
    r->finish = neo_list_replace(m, r->finish, own, value);
  }
}

void levels_read_there(levels *s) {
  neo_module *m = s->m;
  neo_def *defs;
  size_t n = neo_needed_defs(s->m, false, s->a, &defs);
  uint32_t *number = NEO_NEW_ARRAY(s->a, uint32_t, m->defs.n);
  neo_recurrences(m, defs, n, s->a, number);
  levels_ordered in = levels_tensors_in_order(s);
  for (size_t k = 0; k < n; k++)
    if (in.wanted[neo_def_out(m, defs[k], 0).i])
      read_there(s, defs, n, number, defs[k]);
  for (size_t k = 0; k < n; k++)
    if (in.wanted[neo_def_out(m, defs[k], 0).i])
      choose_there(s, &in, defs, n, defs[k]);
}
