/* Readers of a loop with an early exit (early_exit.h). Iterations read earlier ones. Definitions
 * outside of the loop read
 *
 *     y[t] = h[t, L - 1]                                 the last element
 *     z[t, r] = select(r < trip_count[t], h[t, r], 0)    elements of iterations that ran
 *     s[t, r] = h[t, r]                                  all elements: h is not skipped */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/guarded_read.h"
#include "ir/needed.h"
#include "ir/trip_count.h"

/* The iterations in which a read element is made, as the element's positions along the loops. */
typedef struct {
  neo_expr at[OUTLINE_FOLDS];
  bool plain; /* the delays are 0, so positions are iterations */
} made_in;

static made_in iterations_of(const early_exit *q, neo_expr read) {
  const neo_order_member *made = early_exit_maker(q, neo_expr_node(q->o->m, read)->attr);
  made_in p = {.plain = true};
  for (uint32_t k = 0; k < q->n_loops; k++) {
    const neo_order_member *own = outline_member(q->loop[k], made->def);
    p.at[k] = neo_expr_arg(q->o->m, read, own->axis);
    p.plain = p.plain && !own->delay;
  }
  return p;
}

typedef struct {
  const early_exit *q;
  neo_tensor trip_count;
  const made_in *p;
  neo_facts facts;
  bool run;
} run_look;

/* Sets `run` if e is trip_count[..] of the element's run, and its iteration is proved to be
 * less. */
static void look_run(void *ctx, neo_expr e) {
  run_look *l = ctx;
  const early_exit *q = l->q;
  neo_module *m = q->o->m;
  const neo_node *n = neo_expr_node(m, e);
  bool may = !l->run && n->op == NEO_OP_LOAD && n->attr == l->trip_count.i;
  for (uint32_t k = 0; k + 1 < q->n_loops && may; k++) {
    int64_t d;
    uint32_t axis = q->axis[k] - (q->axis[k] > early_exit_axis(q));
    may = outline_distance(q->o, neo_expr_arg(m, e, axis), l->p->at[k], &d) && d == 0;
  }
  if (may && !(neo_expr_axes(m, e) >> l->facts.n_axes)) {
    neo_expr goal = neo_op2(m, NEO_OP_LT, l->p->at[q->n_loops - 1], neo_cast(m, NEO_I64_T, e));
    l->run = neo_prove(q->o->p, &l->facts, goal, NULL) == NEO_PROVED;
  }
}

/* Is the read element proved to be of an iteration that ran, by a trip count that the reader
 * uses? */
static bool has_run(const early_exit *q, neo_tensor trip_count, neo_def reader,
                    const neo_guarded_read *g, const made_in *p) {
  neo_axis_rec axes[OUTLINE_AXES];
  run_look l = {q, trip_count, p, neo_guarded_read_facts(q->o->m, reader, g, axes), false};
  if (trip_count.i && p->plain)
    neo_def_visit(q->o->m, reader, look_run, &l);
  return l.run;
}

/* Does the condition imply that the element's iteration ran: is it alive[.., r], and the element
 * made at r or before? */
static bool implies_run(const early_exit *q, const made_in *p, neo_expr condition) {
  neo_module *m = q->o->m;
  const neo_node *n = neo_expr_node(m, condition);
  if (n->op == NEO_OP_AND)
    return implies_run(q, p, neo_expr_arg(m, condition, 0)) ||
           implies_run(q, p, neo_expr_arg(m, condition, 1));
  bool implies = n->op == NEO_OP_LOAD && n->attr == q->alive.i;
  for (uint32_t k = 0; k < q->n_loops && implies; k++) {
    int64_t d;
    implies = outline_distance(q->o, neo_expr_arg(m, condition, q->axis[k]), p->at[k], &d) &&
              (k + 1 < q->n_loops ? d == 0 : d >= 0);
  }
  return implies;
}

/* Is the element read under a condition that implies it, or by a definition that is needed only
 * under one? */
static bool is_tested(const early_exit *q, neo_def reader, const neo_guarded_read *g,
                      const made_in *p) {
  const neo_conditions *c = q->o->options ? q->o->options->needed : NULL;
  bool is = false;
  for (uint32_t k = 0; k < g->n_around && !is; k++)
    is = implies_run(q, p, g->assume[k]);
  for (uint32_t k = 0; c && k < c[reader.i].n && !is; k++)
    is = implies_run(q, p, c[reader.i].at[k]);
  return is;
}

typedef struct {
  early_exit *q;
  neo_tensor trip_count;
  bool tested;              /* a condition implies it for some read, and not a trip count */
  NEO_VEC(neo_def) assumed; /* definitions assumed MASKED, until a reader proves otherwise */
} mask_look;

/* Finds the axes of the definition along the loops: its iteration is the element's, or in the
 * innermost loop a later one. */
static bool find_axes(const early_exit *q, const neo_def_rec *d, const made_in *p, uint32_t *axis) {
  bool found = true;
  for (uint32_t k = 0; k < q->n_loops && found; k++) {
    int64_t back = -1;
    for (axis[k] = 0; axis[k] < d->n_out && back < 0; axis[k] += back < 0)
      if (!outline_distance(q->o, neo_axis_ref(q->o->m, axis[k]), p->at[k], &back))
        back = -1;
    found = k + 1 < q->n_loops ? back == 0 : back >= 0;
  }
  return found;
}

static bool is_masked(mask_look *l, neo_def d, const made_in *p);

/* Does the reader use elements of t only of iterations that ran? `recurs`: t is of a recurrence,
 * whose dead iterations skip elements that no reader uses (tree.c). */
static bool reads_run(mask_look *l, neo_def reader, neo_tensor t, const uint32_t *axis, bool plain,
                      bool recurs) {
  early_exit *q = l->q;
  bool *wanted = NEO_NEW_ARRAY(q->o->a, bool, q->o->m->tensors.n), run = true;
  neo_guarded_reads all = {0};
  wanted[t.i] = true;
  neo_guarded_reads_of(q->o->m, reader, wanted, q->o->a, &all);
  for (size_t i = 0; i < all.n && run; i++) {
    made_in there = {.plain = plain};
    for (uint32_t j = 0; j < q->n_loops; j++)
      there.at[j] = neo_expr_arg(q->o->m, all.at[i].read, axis[j]);
    bool tested = recurs && is_tested(q, reader, &all.at[i], &there);
    l->tested = l->tested || tested;
    run = tested || has_run(q, l->trip_count, reader, &all.at[i], &there) ||
          (recurs && is_masked(l, reader, &there));
  }
  return run;
}

/* Do all readers of definition d, direct or indirect, use its elements only of iterations that ran?
 * d is outside of the loop, in another loop or in none. Without a loop d runs for all iterations,
 * so a batch, whose positions end at different iterations, counts as unmasked.
 *
 *     y[t, r] = (h[t, r - 1] else u[t]),     G = sum[t, r: 0 .. trip_count[t]] y[t, r]*d[t, r] */
static bool is_masked(mask_look *l, neo_def d, const made_in *p) {
  early_exit *q = l->q;
  const neo_module *m = q->o->m;
  neo_def_rec rec = *neo_def_at(m, d);
  neo_tensor t = {neo_list_at(m, rec.out, 0)};
  uint32_t axis[OUTLINE_FOLDS];
  bool recurs = q->recurrence[d.i] != 0;
  bool on = (recurs || (!q->batches && rec.reducer == NEO_RED_NONE)) && rec.out.n == 1 &&
            !rec.out_map.n && !q->steers[t.i] && !q->read_after[t.i] &&
            neo_tensor_at(m, t)->pieces.n == 1 && neo_tensor_at(m, t)->role == NEO_ROLE_TEMP &&
            q->masked[d.i] != UNMASKED &&
            (early_exit_loop(q)->down || !outline_member(early_exit_loop(q), d)) &&
            find_axes(q, &rec, p, axis);
  for (uint32_t k = 0; k < q->n_loops && on && q->masked[d.i] == MASKED; k++)
    on = axis[k] == q->masked_axis[d.i * OUTLINE_FOLDS + k];
  if (!on || q->masked[d.i] == MASKED)
    return on;
  q->masked[d.i] = MASKED;
  for (uint32_t k = 0; k < q->n_loops; k++)
    q->masked_axis[d.i * OUTLINE_FOLDS + k] = (uint8_t)axis[k];
  NEO_PUSH(q->o->a, &l->assumed, d);
  for (size_t k = 0; k < q->readers[t.i].n && on; k++)
    on = reads_run(l, q->readers[t.i].at[k], t, axis, p->plain, recurs);
  if (!on)
    q->masked[d.i] = UNMASKED;
  return on;
}

/* The same. Assumptions that a failed proof made are withdrawn; a proof that needs alive marks it
 * as read. */
static bool prove_masked(early_exit *q, neo_tensor trip_count, neo_def d, const made_in *p) {
  mask_look l = {.q = q, .trip_count = trip_count};
  bool masked = is_masked(&l, d, p);
  for (size_t k = 0; k < l.assumed.n && !masked; k++)
    if (q->masked[l.assumed.at[k].i] == MASKED)
      q->masked[l.assumed.at[k].i] = MASK_UNKNOWN;
  q->read_after[q->alive.i] = q->read_after[q->alive.i] || (masked && l.tested);
  return masked;
}

/* Is the reader in the loop, and the read of the same run of it? */
static bool is_within(const early_exit *q, neo_def reader, neo_expr read) {
  const neo_order_member *made = early_exit_maker(q, neo_expr_node(q->o->m, read)->attr);
  bool within = outline_member(early_exit_loop(q), reader) != NULL;
  int64_t d;
  for (uint32_t k = 0; k + 1 < q->n_loops && within; k++)
    within = early_exit_distance(q, k, reader, made->def, read, &d) && d == 0;
  return within;
}

/* Does the read take the element of the last iteration? */
static bool is_of_last(const early_exit *q, neo_expr read) {
  const neo_node *n = neo_expr_node(q->o->m, read);
  uint32_t axis = early_exit_maker(q, n->attr)->axis;
  neo_expr at = neo_expr_arg(q->o->m, read, axis);
  int64_t d;
  if (early_exit_loop(q)->down)
    return outline_distance(q->o, at, outline_number(q->o, 0), &d) && d == 0;
  neo_expr extent = neo_tensor_extent(q->o->m, (neo_tensor){n->attr}, axis);
  return outline_distance(q->o, extent, at, &d) && d == 1;
}

/* By tensor: does the loop make it? `stored`: and is it read outside of the group? */
static const bool *tensors_of(const early_exit *q, bool stored) {
  const neo_order_step *loop = early_exit_loop(q);
  const neo_module *m = q->o->m;
  bool *made = NEO_NEW_ARRAY(q->o->a, bool, m->tensors.n);
  for (uint32_t k = 0; k < loop->n_members; k++) {
    neo_list out = neo_def_at(m, loop->member[k].def)->out;
    for (uint32_t i = 0; i < out.n; i++) {
      uint32_t t = neo_list_at(m, out, i);
      made[t] = early_exit_maker(q, t) && (!stored || q->outside[t]);
    }
  }
  return made;
}

/* Notes reads of definition d, other than those of the loop's own runs. */
static void note_reader(early_exit *q, neo_tensor trip_count, const bool *made, neo_def d) {
  neo_guarded_reads all = {0};
  neo_guarded_reads_of(q->o->m, d, made, q->o->a, &all);
  for (size_t k = 0; k < all.n; k++) {
    neo_expr e = all.at[k].read;
    uint32_t t = neo_expr_node(q->o->m, e)->attr;
    if (is_within(q, d, e))
      continue;
    made_in p = iterations_of(q, e);
    bool of_last = is_of_last(q, e), may = !q->steers[t];
    bool tested = may && t != q->alive.i && is_tested(q, d, &all.at[k], &p);
    bool ran = tested || (may && (has_run(q, trip_count, d, &all.at[k], &p) ||
                                  (!of_last && prove_masked(q, trip_count, d, &p))));
    q->read_last[t] = q->read_last[t] || of_last;
    q->read_after[q->alive.i] = q->read_after[q->alive.i] || tested;
    q->read_after[t] = q->read_after[t] || !(of_last || ran);
  }
}

void early_exit_find_readers(early_exit *q) {
  outliner *o = q->o;
  const neo_module *m = o->m;
  const bool *made = tensors_of(q, false), *stored = tensors_of(q, true);
  neo_tensor trip_count = neo_trip_count(o->m, q->alive, early_exit_axis(q));
  q->read_after = NEO_NEW_ARRAY(o->a, bool, m->tensors.n);
  q->read_last = NEO_NEW_ARRAY(o->a, bool, m->tensors.n);
  q->masked = NEO_NEW_ARRAY(o->a, uint8_t, m->defs.n);
  q->masked_axis = NEO_NEW_ARRAY(o->a, uint8_t, m->defs.n * OUTLINE_FOLDS);
  for (size_t e = 0; e < m->entries.n; e++) /* an entry gives all elements */
    for (uint32_t k = 0; k < m->entries.at[e].outputs.n; k++)
      q->read_after[neo_list_at(m, m->entries.at[e].outputs, k)] = true;
  for (size_t k = 0; k < o->n; k++)
    note_reader(q, trip_count, made, o->defs[k]);
  for (size_t k = 0; k < q->n_needed; k++)
    note_reader(q, trip_count, stored, q->needed[k]);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (m->tensors.at[t].init.i)
      note_reader(q, trip_count, stored, m->tensors.at[t].init);
}

void early_exit_find_unneeded(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  neo_module *m = q->o->m;
  neo_tensor trip_count = neo_trip_count(m, q->alive, early_exit_axis(q));
  q->unneeded = NEO_NEW_ARRAY(q->o->a, bool, m->defs.n);
  for (uint32_t i = 0; i < loop->n_members; i++) {
    made_in p = {.plain = true};
    for (uint32_t k = 0; k < q->n_loops; k++) {
      const neo_order_member *own = outline_member(q->loop[k], loop->member[i].def);
      p.at[k] = neo_axis_ref(m, own->axis);
      p.plain = p.plain && !own->delay;
    }
    q->unneeded[loop->member[i].def.i] = prove_masked(q, trip_count, loop->member[i].def, &p);
  }
}
