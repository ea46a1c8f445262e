/* Definitions that dead iterations skip (early_exit.h): definitions without readers there, and
 * definitions that keep their value.
 *
 *     band r                                     band r
 *       leaf alive[r] next[r] h[r] s[r]            leaf alive[r] next[r] s[r]
 *     leaf y: h[L - 1]                     ->      leaf h[r], skipped
 *     leaf z[r]: s[r]                            leaf y, z[r]
 *
 * s, and all of its operands that do not keep their value, are computed in all iterations. */
#include "fusion/recurrence/early_exit/early_exit.h"

static int64_t slices_of(const early_exit *q, uint32_t tensor) {
  const outline_storage *r = &q->o->storage[tensor];
  return tensor < q->o->n_tensors && r->n_folds ? outline_slices(r, early_exit_loop(q)) : 0;
}

/* May dead iterations skip the definition? */
static bool may_skip(early_exit *q, const neo_order_member *x) {
  const outliner *o = q->o;
  neo_list out = neo_def_at(o->m, x->def)->out;
  bool may = true, after = false, last = false;
  int64_t n = slices_of(q, neo_list_at(o->m, out, 0));
  for (uint32_t k = 0; k < out.n; k++) {
    uint32_t t = neo_list_at(o->m, out, k);
    const neo_tensor_rec *rec = neo_tensor_at(o->m, (neo_tensor){t});
    may = may && rec->role == NEO_ROLE_TEMP && rec->pieces.n == 1;
    after = after || q->read_after[t];
    last = last || q->read_last[t];
  }
  bool is_condition = x->def.i == q->maker.i;
  if (!may || (!after && !last && !is_condition))
    return may;
  if (is_condition ? after && n > 0 : (after && n == 0) || !early_exit_is_unchanged(q, x))
    return false;
  q->n = n > q->n ? n : q->n;
  q->fills = q->fills || (is_condition && n == 0 && (after || last));
  q->ends[x->def.i] = n == 0 && !is_condition;
  return true;
}

/* Is each instance of the loop's definitions in one iteration of it, and in one iteration or a
 * batch of the loops around? */
static bool is_in_iterations(early_exit *q, const neo_tree *t) {
  bool is = true;
  neo_expr at;
  for (size_t k = 0; k < t->children.n && is; k++)
    is = is_in_iterations(q, t->children.at[k]);
  if (t->kind != NEO_TREE_LEAF || !outline_member(early_exit_loop(q), outline_at(q->o, t)->def))
    return is;
  const outline_instance *x = outline_at(q->o, t);
  bool batch = early_exit_is_batch(q, x);
  for (uint32_t k = 0; k < q->n_loops && is; k++)
    is = outline_iteration_of(q->o, q->loop[k], x, &at) ||
         (k + 1 < q->n_loops && outline_range_in(q->loop[k], x));
  q->batches = q->batches || batch;
  return is && (!batch || (!x->when.i && (x->def.i != q->maker.i || early_exit_has_batch(q, x))));
}

/* ---- definitions that run in all iterations */

typedef struct {
  early_exit *q;
  neo_def x;   /* the reader */
  bool chosen; /* the read is conditional on the iteration */
  bool more;
} need_look;

/* Does the member have the last iteration's value in all of its cells after q->n dead ones? */
static bool stays(const early_exit *q, const neo_order_member *x) {
  int64_t n = slices_of(q, neo_list_at(q->o->m, neo_def_at(q->o->m, x->def)->out, 0));
  return n > 0 && n <= q->n && early_exit_is_unchanged(q, x);
}

/* Marks the maker of a read element as needed in all iterations. A float that a select does not
 * take may be undefined; an integer may be used as an index, and may not. */
static void need_read(void *ctx, neo_expr e) {
  need_look *k = ctx;
  early_exit *q = k->q;
  const neo_node *n = neo_expr_node(q->o->m, e);
  const neo_order_member *made = outline_is_read(n) ? early_exit_maker(q, n->attr) : NULL;
  if (!made || !q->skipped[made->def.i] || stays(q, made) ||
      (k->chosen && neo_type_is_float((neo_type)n->type)))
    return;
  q->skipped[made->def.i] = false;
  k->more = true;
}

static void need_expr(need_look *k, neo_expr e) {
  neo_module *m = k->q->o->m;
  bool select = neo_expr_node(m, e)->op == NEO_OP_SELECT &&
                early_exit_is_condition(k->q, k->x, neo_expr_arg(m, e, 0));
  neo_expr_visit(m, select ? neo_expr_arg(m, e, 2) : e, need_read, k);
  k->chosen = select;
  if (select)
    neo_expr_visit(m, neo_expr_arg(m, e, 1), need_read, k);
  k->chosen = false;
}

static void need_reads(need_look *k) {
  neo_module *m = k->q->o->m;
  neo_def_rec d = *neo_def_at(m, k->x);
  for (uint32_t i = 0; i < d.axes.n; i++) {
    neo_expr_visit(m, neo_def_axis(m, &d, i)->lo, need_read, k);
    neo_expr_visit(m, neo_def_axis(m, &d, i)->hi, need_read, k);
  }
  for (uint32_t i = 0; i < d.body.n; i++)
    neo_expr_visit(m, neo_list_expr(m, d.body, i), need_read, k);
  if (d.where.i)
    neo_expr_visit(m, d.where, need_read, k);
  for (uint32_t i = 0; i < d.finish.n; i++)
    need_expr(k, neo_list_expr(m, d.finish, i));
}

/* Adds the operands of definitions that run in all iterations; false: nothing is skipped. */
static bool close_needed(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  need_look k = {.q = q, .more = true};
  bool any = false;
  q->skipped[q->maker.i] = false;
  while (k.more) {
    k.more = false;
    for (uint32_t i = 0; i < loop->n_members; i++) {
      k.x = loop->member[i].def;
      if (!q->skipped[k.x.i])
        need_reads(&k);
    }
  }
  for (uint32_t i = 0; i < loop->n_members; i++)
    any = any || q->skipped[loop->member[i].def.i];
  return any;
}

/* ---- loops that begin with dead iterations */

/* Sets `more` if e reads an earlier iteration, which may not have run. */
static void look_earlier(void *ctx, neo_expr e) {
  need_look *k = ctx;
  const early_exit *q = k->q;
  const neo_node *n = neo_expr_node(q->o->m, e);
  const neo_order_member *made = outline_is_read(n) ? early_exit_maker(q, n->attr) : NULL;
  int64_t d;
  if (made && !stays(q, made))
    k->more = k->more || !early_exit_distance(q, q->n_loops - 1, k->x, made->def, e, &d) || d != 0;
}

/* May the loop skip all dead iterations but the first n? */
static bool begins_late(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  need_look look = {.q = q, .more = q->predicated};
  for (uint32_t k = 0; k < loop->n_members && !look.more; k++) {
    look.x = loop->member[k].def;
    look.more = q->ends[look.x.i];
    neo_def_visit(q->o->m, look.x, look_earlier, &look);
  }
  return !look.more;
}

bool early_exit_find_skipped(early_exit *q, const neo_tree *t) {
  const neo_order_step *loop = early_exit_loop(q);
  neo_facts none = {0};
  int64_t lo, most;
  q->batches = false;
  bool may = early_exit_find_condition(q) && is_in_iterations(q, t);
  for (uint32_t k = 0; k < loop->n_members && may; k++)
    may = loop->member[k].delay == loop->member[0].delay;
  if (!may)
    return false;
  q->n = 1;
  q->fills = false;
  q->predicated = q->o->options && q->o->options->predicated;
  q->skipped = NEO_NEW_ARRAY(q->o->a, bool, q->o->m->defs.n);
  q->ends = NEO_NEW_ARRAY(q->o->a, bool, q->o->m->defs.n);
  early_exit_find_readers(q);
  for (uint32_t k = 0; k < loop->n_members; k++) {
    q->skipped[loop->member[k].def.i] = may_skip(q, &loop->member[k]);
    q->predicated = q->predicated || !q->skipped[loop->member[k].def.i];
  }
  neo_expr extent = neo_tensor_extent(q->o->m, q->alive, early_exit_axis(q));
  return (loop->down ? begins_late(q) : !q->predicated || close_needed(q)) &&
         neo_interval(q->o->p, &none, extent, &lo, &most) && most > q->n + 1;
}
