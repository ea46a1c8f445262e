/* Facts of single definitions: work, reads, readers. Linear in the size of the module. */
#include "fusion/search/search.h"
#include "ir/comparison.h"
#include <assert.h>
#include <math.h>

/* ---- extents */

static double extent_of(fuser *q, neo_expr e) {
  int64_t n = neo_extent_most(q->m, e);
  return n < 0 ? 64 : n < 1 ? 1 : (double)n; /* a guess for ranges from data */
}

static double axis_extent(fuser *q, const neo_axis_rec *x) {
  int64_t length = neo_list_length(q->m, x);
  return length ? (double)length : extent_of(q, x->hi);
}

double fuse_bytes(fuser *q, neo_tensor t) {
  double n = neo_type_bytes(neo_tensor_type(q->m, t));
  for (uint32_t k = 0; k < neo_tensor_rank(q->m, t); k++)
    n *= extent_of(q, neo_tensor_extent(q->m, t, k));
  return n;
}

neo_tensor fuse_out(const fuser *q, uint32_t d, uint32_t k) {
  return neo_def_out(q->m, (neo_def){d}, k);
}

neo_expr fuse_out_extent(const fuser *q, uint32_t d, uint32_t axis) {
  const neo_def_rec *r = neo_def_at(q->m, (neo_def){d});
  return neo_def_axis(q->m, r, axis)->hi;
}

/* ---- visiting a definition */

typedef struct {
  fuser *q;
  fuse_def *d;
  neo_def_rec rec;
  neo_map number; /* tensor -> read + 1 */
  NEO_VEC(fuse_read) reads;
  double *extent; /* by axis */
  double work;    /* work of the visited expressions */
  uint32_t size;
  uint64_t domain; /* axes of the surrounding loops; in a factor, those that it uses */
  bool factor;     /* in a factor of a product */
  bool reduced;
} looker;

/* Points of these axes. An elementwise loop evaluates what uses outer axes alone in outer loops; an
 * operand of a product is packed: evaluated once an element. */
static double points_of(const looker *c, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < c->rec.axes.n && k < 63; k++)
    if (axes >> k & 1)
      n *= c->extent[k];
  return n;
}

static uint64_t up_to_last(uint64_t axes) {
  uint64_t all = axes;
  for (int s = 1; s < 64; s *= 2)
    all |= all >> s;
  return all;
}

/* Copies of a product's operand: one for each point of the output axes that it lacks, except the
 * longest, along which the register tile runs. */
static double copies_of(const looker *c) {
  double n = 1, longest = 1;
  for (uint32_t k = 0; k < c->rec.n_out && k < 63; k++)
    if (!(c->domain >> k & 1)) {
      n *= c->extent[k];
      longest = c->extent[k] > longest ? c->extent[k] : longest;
    }
  return n / longest;
}

static double evals_of(const looker *c, neo_expr load) {
  if (c->factor)
    return points_of(c, c->domain) * copies_of(c);
  return points_of(c, up_to_last(neo_expr_axes(c->q->m, load)) & c->domain);
}

/* The read of tensor t, added if it is the first. */
static fuse_read *read_of(looker *c, neo_tensor t) {
  uint64_t k = 0;
  if (neo_map_get(&c->number, t.i, &k))
    return &c->reads.at[k - 1];
  neo_module *m = c->q->m;
  fuse_read r = {.t = t, .rank = neo_tensor_rank(m, t)};
  const neo_tensor_rec *rec = neo_tensor_at(m, t);
  if (rec->pieces.n == 1)
    r.from = neo_list_at(m, rec->pieces, 0); /* several pieces: none can be joined */
  r.axis = NEO_NEW_ARRAY(c->q->a, int8_t, r.rank + 1);
  NEO_PUSH(c->q->a, &c->reads, r);
  neo_map_set(&c->number, t.i, c->reads.n);
  return &c->reads.at[c->reads.n - 1];
}

static void add_read(looker *c, neo_expr e, const neo_node *n) {
  fuse_read *r = read_of(c, (neo_tensor){n->attr});
  bool exact = n->op == NEO_OP_LOAD;
  for (uint32_t k = 0; k < r->rank; k++) {
    const neo_node *x = neo_expr_node(c->q->m, neo_list_expr(c->q->m, n->arg, k));
    bool axis = exact && x->op == NEO_OP_AXIS && x->attr < 100;
    int8_t now = axis ? (int8_t)x->attr : -1;
    r->axis[k] = r->places && r->axis[k] != now ? -1 : now;
  }
  r->places++;
  r->evals += evals_of(c, e);
  r->reduced = r->reduced || c->reduced;
}

static void look_node(void *ctx, neo_expr e) {
  looker *c = ctx;
  neo_node n = *neo_expr_node(c->q->m, e);
  c->size++;
  if (neo_node_is_load(&n)) {
    add_read(c, e, &n);
    c->work += n.op == NEO_OP_LOAD ? 0.5 : 1.5;
  } else if (n.op == NEO_OP_RAND || (n.type != NEO_I64_T && neo_op_is_elementwise((neo_op)n.op)))
    c->work += neo_op_additions((neo_op)n.op);
  else if (n.type == NEO_I64_T && (n.op == NEO_OP_DIV || n.op == NEO_OP_MOD))
    c->work += 2; /* lanes are not contiguous then */
}

static void look_at(looker *c, neo_expr e) {
  if (e.i)
    neo_expr_visit(c->q->m, e, look_node, c);
}

/* ---- products */

/* Factors. Reads bound a factor of all axes: each element is used once. */
typedef struct {
  uint64_t all, out; /* axes longer than 1; output axes among them */
  uint32_t n, whole; /* number of factors; factors of all axes */
  neo_expr last;     /* the last factor of all axes */
  bool elsewhere;    /* another factor uses an output axis */
} factors;

static void find_factors(looker *c, neo_expr e, factors *f) {
  const neo_node *x = neo_expr_node(c->q->m, e);
  if (x->op == NEO_OP_MUL) {
    neo_expr a = neo_expr_arg(c->q->m, e, 0), b = neo_expr_arg(c->q->m, e, 1);
    find_factors(c, a, f);
    find_factors(c, b, f);
    return;
  }
  uint64_t axes = neo_expr_axes(c->q->m, e);
  f->n++;
  if (f->all & ~axes) {
    f->elsewhere = f->elsewhere || (axes & f->out);
    return;
  }
  f->whole++;
  f->last = e;
}

/* Is it a vector times a matrix whose rows are long runs of the output? Blocks of rows read it as
 * one stream; several sums in one kernel would not. */
static bool is_stream(looker *c, const factors *f) {
  enum { LARGE_BYTES = 128 << 10 };
  neo_module *m = c->q->m;
  if (f->whole != 1 || f->elsewhere || f->all == f->out)
    return false;
  const neo_node *n = neo_expr_node(m, f->last);
  if (n->op != NEO_OP_LOAD || !n->arg.n)
    return false;
  const neo_node *x = neo_expr_node(m, neo_list_expr(m, n->arg, n->arg.n - 1));
  return x->op == NEO_OP_AXIS && x->attr < 63 && f->out >> x->attr & 1 &&
         fuse_bytes(c->q, (neo_tensor){n->attr}) >= LARGE_BYTES;
}

/* Is it a product of matrices, whose factors' elements are each used many times, or read as a
 * stream? */
static bool is_product(looker *c) {
  factors f = {0};
  neo_reducer r = (neo_reducer)c->rec.reducer;
  if (r != NEO_RED_SUM && r != NEO_RED_MEAN)
    return false;
  neo_expr body = neo_list_expr(c->q->m, c->rec.body, 0);
  if (!neo_type_is_float(neo_expr_type(c->q->m, body)))
    return false;
  for (uint32_t k = 0; k < c->rec.axes.n && k < 63; k++)
    if (c->extent[k] > 1) {
      f.all |= 1ULL << k;
      f.out |= k < c->rec.n_out ? 1ULL << k : 0;
    }
  find_factors(c, body, &f);
  return f.n >= 2 && (!f.whole || is_stream(c, &f));
}

/* Products of rounded factors by matrix units in the time of one FMA. */
static double rate_of(const fuser *q, neo_expr e) {
  const double parts = 3.2; /* tf32 products for one of f32, with the splitting of operands */
  const neo_module *m = q->m;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_MUL)
    return fmin(rate_of(q, neo_expr_arg(m, e, 0)), rate_of(q, neo_expr_arg(m, e, 1)));
  if (n->type == NEO_F32_T && n->op == NEO_OP_TF32)
    return q->profile->tf32;
  if (n->type == NEO_F32_T && n->op == NEO_OP_CAST) {
    neo_type from = neo_expr_type(m, neo_expr_arg(m, e, 0));
    if (from == NEO_BF16_T || from == NEO_F16_T)
      return q->profile->halves;
  }
  return n->type == NEO_F32_T && m->math == NEO_PRECISION_3XTF32 ? q->profile->tf32 / parts : 1;
}

static void look_factors(looker *c, neo_expr e) {
  neo_node n = *neo_expr_node(c->q->m, e);
  if (n.op == NEO_OP_MUL) {
    look_factors(c, neo_expr_arg(c->q->m, e, 0));
    look_factors(c, neo_expr_arg(c->q->m, e, 1));
    c->work++;
    return;
  }
  c->domain = neo_expr_axes(c->q->m, e);
  look_at(c, e);
}

/* ---- reductions */

/* Do data bound the reduction by an output axis? A kernel of row intervals then computes it
 * (schedule/segment/segment.h). */
static bool has_interval(const neo_module *m, const neo_def_rec *r) {
  neo_expr part[16];
  uint32_t n = 0;
  uint64_t first = 0, last = 0, outs = (1ULL << r->n_out) - 1;
  if (!r->where.i || !neo_conjuncts_of(m, r->where, part, &n, 16))
    return false;
  for (uint32_t k = 0; k < n; k++) {
    const neo_node *x = neo_expr_node(m, part[k]);
    for (uint32_t side = 0; side < 2 && (x->op == NEO_OP_LE || x->op == NEO_OP_LT); side++) {
      const neo_node *v = neo_expr_node(m, neo_list_expr(m, x->arg, side));
      if (v->op == NEO_OP_AXIS &&
          neo_expr_uses_op(m, neo_list_expr(m, x->arg, 1 - side), NEO_OP_LOAD))
        *(side ? &first : &last) |= 1ULL << v->attr;
    }
  }
  return first & last & outs;
}

/* Does the reduction's end depend on an output axis, and on nothing else? */
static bool may_scan(const neo_module *m, const neo_def_rec *r) {
  uint64_t body = 0, domain = neo_expr_axes(m, r->where);
  for (uint32_t k = 0; k < r->body.n; k++)
    body |= neo_expr_axes(m, neo_list_expr(m, r->body, k));
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    const neo_axis_rec *a = neo_def_axis(m, r, k);
    domain |= neo_expr_axes(m, a->lo) | neo_expr_axes(m, a->hi);
  }
  return domain & ~body & ((1ULL << r->n_out) - 1);
}

/* Are ranges free of loads and of axes other than these? */
static bool is_ranged(const neo_module *m, const neo_def_rec *r, uint64_t but) {
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    const neo_axis_rec *a = neo_def_axis(m, r, k);
    if ((neo_expr_axes(m, a->lo) | neo_expr_axes(m, a->hi)) & ~but ||
        neo_expr_uses_op(m, a->lo, NEO_OP_LOAD) || neo_expr_uses_op(m, a->hi, NEO_OP_LOAD))
      return false;
  }
  return true;
}

static void look_reduction(looker *c) {
  fuse_def *d = c->d;
  uint64_t all = (c->rec.axes.n < 63 ? 1ULL << c->rec.axes.n : 1ULL << 63) - 1;
  d->equation =
      neo_expr_uses_op(c->q->m, c->rec.where, NEO_OP_EQ) || has_interval(c->q->m, &c->rec);
  d->scans = may_scan(c->q->m, &c->rec);
  d->ranged = is_ranged(c->q->m, &c->rec, 0);
  d->slanted = is_ranged(c->q->m, &c->rec, (1ULL << c->rec.n_out) - 1);
  d->product = is_product(c);
  d->rate = rate_of(c->q, neo_list_expr(c->q->m, c->rec.body, 0));
  d->spans = c->rec.reducer == NEO_RED_LOGSUMEXP ? 2 : 1;
  d->n_accs = d->spans > neo_reducer_accs((neo_reducer)c->rec.reducer)
                  ? d->spans
                  : neo_reducer_accs((neo_reducer)c->rec.reducer);
  c->reduced = true;
  c->domain = all;
  look_at(c, c->rec.where);
  for (uint32_t k = c->rec.n_out; k < c->rec.axes.n; k++) {
    look_at(c, neo_def_axis(c->q->m, &c->rec, k)->lo);
    look_at(c, neo_def_axis(c->q->m, &c->rec, k)->hi);
  }
  c->factor = d->product;
  for (uint32_t k = 0; k < c->rec.body.n; k++)
    if (d->product)
      look_factors(c, neo_list_expr(c->q->m, c->rec.body, k));
    else
      look_at(c, neo_list_expr(c->q->m, c->rec.body, k));
  if (c->rec.reducer == NEO_RED_LOGSUMEXP)
    c->work += neo_op_additions(NEO_OP_EXP);
  d->body_work = c->work + 1;
  c->reduced = c->factor = false;
}

/* ---- one definition */

static bool pieced(const neo_module *m, const neo_def_rec *r) {
  bool lone = r->out_map.n > 0;
  for (uint32_t k = 0; k < r->out.n; k++)
    lone = lone || neo_tensor_at(m, neo_list_tensor(m, r->out, k))->pieces.n != 1;
  return lone;
}

static bool is_plain(const neo_module *m, const fuse_def *d, const neo_def_rec *r) {
  return r->reducer == NEO_RED_NONE && r->out.n == 1 && !d->lone &&
         neo_tensor_at(m, neo_list_tensor(m, r->out, 0))->role == NEO_ROLE_TEMP;
}

static void look_condition(void *ctx, neo_expr e) {
  looker *c = ctx;
  const neo_node *n = neo_expr_node(c->q->m, e);
  if (n->op != NEO_OP_LOAD)
    return;
  fuse_read *r = read_of(c, (neo_tensor){n->attr});
  r->places++;
  r->evals++;
}

/* Adds the conditions under which it is needed, which a kernel reads. */
static void look_conditions(looker *c) {
  for (uint32_t k = 0; k < c->d->when.n; k++)
    neo_expr_visit(c->q->m, c->d->when.at[k], look_condition, c);
}

static void look_order(looker *c) {
  neo_tensor after = c->rec.after;
  if (!after.i || neo_map_get(&c->number, after.i, NULL))
    return;
  fuse_read *r = read_of(c, after);
  r->ordered = true;
  for (uint32_t k = 0; k < r->rank; k++)
    r->axis[k] = -1;
}

static void look(fuser *q, uint32_t id) {
  fuse_def *d = &q->def[id];
  looker c = {.q = q, .d = d, .rec = *neo_def_at(q->m, (neo_def){id}), .number = neo_map_in(q->a)};
  c.extent = NEO_NEW_ARRAY(q->a, double, c.rec.axes.n + 1);
  d->points = d->steps = 1;
  for (uint32_t k = 0; k < c.rec.axes.n; k++) {
    c.extent[k] = axis_extent(q, neo_def_axis(q->m, &c.rec, k));
    d->steps *= c.extent[k];
    d->points *= k < c.rec.n_out ? c.extent[k] : 1;
  }
  d->n_out = c.rec.n_out;
  d->n_outs = c.rec.out.n;
  d->concat = fuse_is_concat(q, id);
  d->lone = d->recurrence || d->concat || neo_def_is_levels(&c.rec) || pieced(q->m, &c.rec);
  d->plain = is_plain(q->m, d, &c.rec);
  if (c.rec.reducer != NEO_RED_NONE)
    look_reduction(&c);
  for (uint32_t k = 0; neo_def_is_levels(&c.rec) && k < c.rec.body.n; k++)
    look_at(&c, neo_list_expr(q->m, c.rec.body, k));
  double before = c.work;
  c.domain = (c.rec.n_out < 63 ? 1ULL << c.rec.n_out : 1ULL << 63) - 1;
  for (uint32_t k = 0; k < c.rec.finish.n; k++)
    look_at(&c, neo_list_expr(q->m, c.rec.finish, k));
  d->end_work = c.work - before;
  look_conditions(&c);
  look_order(&c);
  d->size = c.size;
  d->read = c.reads.at;
  d->n_read = (uint32_t)c.reads.n;
  for (uint32_t k = 0; k < c.rec.out.n; k++)
    d->wanted = d->wanted || q->wanted[neo_list_at(q->m, c.rec.out, k)];
}

/* ---- readers */

static void link_reads(fuser *q, uint32_t id) {
  fuse_def *d = &q->def[id];
  for (uint32_t k = 0; k < d->n_read; k++) {
    fuse_read *r = &d->read[k];
    fuse_edge e = {id, k};
    neo_list pieces = neo_tensor_at(q->m, r->t)->pieces;
    r->at = (uint32_t)q->tensor[r->t.i].readers.n;
    NEO_PUSH(q->a, &q->tensor[r->t.i].readers, id);
    for (uint32_t i = 0; i < pieces.n; i++) {
      uint32_t p = neo_list_at(q->m, pieces, i);
      assert(q->def[p].needed && "what is read is needed");
      NEO_PUSH(q->a, &q->def[p].readers, e);
    }
  }
}

static void find_updaters(fuser *q) {
  for (size_t k = 0; k < q->n_order; k++)
    for (uint32_t i = 0; i < q->def[q->order[k]].n_outs; i++) {
      neo_tensor old = neo_tensor_at(q->m, fuse_out(q, q->order[k], i))->updates;
      if (old.i)
        NEO_PUSH(q->a, &q->tensor[old.i].updaters, q->order[k]);
    }
}

void fuse_facts(fuser *q) {
  neo_map_init(&q->sets, q->a);
  q->def = NEO_NEW_ARRAY(q->a, fuse_def, q->m->defs.n + 1);
  q->wanted = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n + 1);
  q->tensor = NEO_NEW_ARRAY(q->a, fuse_tensor, q->m->tensors.n + 1);
  q->part = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  q->part_of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  q->seen = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  fuse_needs(q);
  for (size_t k = 0; k < q->n_order; k++)
    look(q, q->order[k]);
  find_updaters(q);
  for (size_t k = 0; k < q->n_order; k++)
    link_reads(q, q->order[k]);
}
