/* Readers of a loop with an early exit (early_exit.h): its iterations, which read earlier ones, and
 * others:
 *
 *     y[t] = h[t, L - 1]                                 the last element
 *     z[t, r] = select(r < rounds[t], h[t, r], 0)        elements of iterations that ran
 *     s[t, r] = h[t, r]                                  all elements: h is not skipped */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/guarded_read.h"
#include "ir/needed.h"
#include "ir/trip_count.h"

/* The iterations of an element that is read: positions along the loops, of a definition whose
 * delays are 0 if `plain`. */
typedef struct {
  neo_expr at[OUTLINE_FOLDS];
  bool plain;
} place;

static place place_of(const early_exit *q, neo_expr read) {
  const neo_order_member *made = early_exit_maker(q, neo_expr_node(q->o->m, read)->attr);
  place p = {.plain = true};
  for (uint32_t k = 0; k < q->n_loops; k++) {
    const neo_order_member *own = outline_member(q->loop[k], made->def);
    p.at[k] = neo_expr_arg(q->o->m, read, own->axis);
    p.plain = p.plain && !own->delay;
  }
  return p;
}

typedef struct {
  const early_exit *q;
  neo_tensor rounds;
  const place *p;
  neo_facts facts;
  bool run;
} run_look;

/* Is it of an iteration before the end of one of the batch: r < rounds[..], which is at hand? */
static void look_run(void *ctx, neo_expr e) {
  run_look *l = ctx;
  const early_exit *q = l->q;
  neo_module *m = q->o->m;
  const neo_node *n = neo_expr_node(m, e);
  bool may = !l->run && n->op == NEO_OP_LOAD && n->attr == l->rounds.i;
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

/* Is it of an iteration that ran, whatever it is? */
static bool has_run(const early_exit *q, neo_tensor rounds, neo_def reader,
                    const neo_guarded_read *g, const place *p) {
  neo_axis_rec axes[OUTLINE_AXES];
  run_look l = {q, rounds, p, neo_guarded_read_facts(q->o->m, reader, g, axes), false};
  if (rounds.i && p->plain)
    neo_def_visit(q->o->m, reader, look_run, &l);
  return l.run;
}

/* Does the condition fail in dead iterations: is it alive[.., r] of an element made at r or
 * before? */
static bool tells_run(const early_exit *q, const place *p, neo_expr condition) {
  neo_module *m = q->o->m;
  const neo_node *n = neo_expr_node(m, condition);
  if (n->op == NEO_OP_AND)
    return tells_run(q, p, neo_expr_arg(m, condition, 0)) ||
           tells_run(q, p, neo_expr_arg(m, condition, 1));
  bool tells = n->op == NEO_OP_LOAD && n->attr == q->alive.i;
  for (uint32_t k = 0; k < q->n_loops && tells; k++) {
    int64_t d;
    tells = outline_distance(q->o, neo_expr_arg(m, condition, q->axis[k]), p->at[k], &d) &&
            (k + 1 < q->n_loops ? d == 0 : d >= 0);
  }
  return tells;
}

/* Is it read under such a condition, or by a definition that is needed only under one? */
static bool asks(const early_exit *q, neo_def reader, const neo_guarded_read *g, const place *p) {
  const neo_conditions *c = q->o->options ? q->o->options->needed : NULL;
  bool is = false;
  for (uint32_t k = 0; k < g->n_around && !is; k++)
    is = tells_run(q, p, g->assume[k]);
  for (uint32_t k = 0; c && k < c[reader.i].n && !is; k++)
    is = tells_run(q, p, c[reader.i].at[k]);
  return is;
}

typedef struct {
  early_exit *q;
  neo_tensor rounds;
  bool asked;          /* a condition says so, and not the trip count alone */
  NEO_VEC(neo_def) on; /* are taken to hand on until a reader is found that does not */
} hand_look;

/* The axes of the definition along the loops, at iterations from that of the element on. */
static bool find_axes(const early_exit *q, const neo_def_rec *d, const place *p, uint32_t *axis) {
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

static bool hands_on(hand_look *l, neo_def d, const place *p);

/* `recurs`: t is of a recurrence, whose dead iterations make nothing that nobody needs (tree.c). */
static bool reads_run(hand_look *l, neo_def reader, neo_tensor t, const uint32_t *axis, bool plain,
                      bool recurs) {
  early_exit *q = l->q;
  bool *wanted = NEO_NEW_ARRAY(q->o->a, bool, q->o->m->tensors.n), run = true;
  neo_guarded_reads all = {0};
  wanted[t.i] = true;
  neo_guarded_reads_of(q->o->m, reader, wanted, q->o->a, &all);
  for (size_t i = 0; i < all.n && run; i++) {
    place there = {.plain = plain};
    for (uint32_t j = 0; j < q->n_loops; j++)
      there.at[j] = neo_expr_arg(q->o->m, all.at[i].read, axis[j]);
    bool told = recurs && asks(q, reader, &all.at[i], &there);
    l->asked = l->asked || told;
    run = told || has_run(q, l->rounds, reader, &all.at[i], &there) ||
          (recurs && hands_on(l, reader, &there));
  }
  return run;
}

/* Does the definition, of another loop or of none, hand an element on to who asks for iterations that ran alone, by itself
 * or by others? One of none runs for all iterations, of a batch whether they ran or not.
 *
 *     y[t, r] = (h[t, r - 1] else u[t]),     G = sum[t, r: 0 .. rounds[t]] y[t, r]*d[t, r] */
static bool hands_on(hand_look *l, neo_def d, const place *p) {
  early_exit *q = l->q;
  const neo_module *m = q->o->m;
  neo_def_rec rec = *neo_def_at(m, d);
  neo_tensor t = {neo_list_at(m, rec.out, 0)};
  uint32_t axis[OUTLINE_FOLDS];
  bool recurs = q->recurrence[d.i] != 0;
  bool on = (recurs || (!q->batches && rec.reducer == NEO_RED_NONE)) && rec.out.n == 1 &&
            !rec.out_map.n && !q->steers[t.i] && !q->read_after[t.i] &&
            neo_tensor_at(m, t)->pieces.n == 1 && neo_tensor_at(m, t)->role == NEO_ROLE_TEMP &&
            q->hands[d.i] != HANDS_NOT &&
            (early_exit_loop(q)->down || !outline_member(early_exit_loop(q), d)) &&
            find_axes(q, &rec, p, axis);
  for (uint32_t k = 0; k < q->n_loops && on && q->hands[d.i] == HANDS_ON; k++)
    on = axis[k] == q->hand_axis[d.i * OUTLINE_FOLDS + k];
  if (!on || q->hands[d.i] == HANDS_ON)
    return on;
  q->hands[d.i] = HANDS_ON;
  for (uint32_t k = 0; k < q->n_loops; k++)
    q->hand_axis[d.i * OUTLINE_FOLDS + k] = (uint8_t)axis[k];
  NEO_PUSH(q->o->a, &l->on, d);
  for (size_t k = 0; k < q->readers[t.i].n && on; k++)
    on = reads_run(l, q->readers[t.i].at[k], t, axis, p->plain, recurs);
  if (!on)
    q->hands[d.i] = HANDS_NOT;
  return on;
}

/* The same, and notes if alive is asked. What was taken to hand on is not known where it does not. */
static bool hands_on_all(early_exit *q, neo_tensor rounds, neo_def d, const place *p) {
  hand_look l = {.q = q, .rounds = rounds};
  bool on = hands_on(&l, d, p);
  for (size_t k = 0; k < l.on.n && !on; k++)
    if (q->hands[l.on.at[k].i] == HANDS_ON)
      q->hands[l.on.at[k].i] = HANDS_UNKNOWN;
  q->read_after[q->alive.i] = q->read_after[q->alive.i] || (on && l.asked);
  return on;
}

/* Is it a read in the loop of this iteration or an earlier one? */
static bool is_within(const early_exit *q, neo_def reader, neo_expr read) {
  const neo_order_member *made = early_exit_maker(q, neo_expr_node(q->o->m, read)->attr);
  bool within = outline_member(early_exit_loop(q), reader) != NULL;
  int64_t d;
  for (uint32_t k = 0; k + 1 < q->n_loops && within; k++)
    within = early_exit_distance(q, k, reader, made->def, read, &d) && d == 0;
  return within;
}

/* Is it the element of the last iteration? */
static bool is_of_last(const early_exit *q, neo_expr read) {
  const neo_node *n = neo_expr_node(q->o->m, read);
  uint32_t axis = early_exit_maker(q, n->attr)->axis;
  neo_expr at = neo_expr_arg(q->o->m, read, axis);
  int64_t apart;
  if (early_exit_loop(q)->down)
    return outline_distance(q->o, at, outline_number(q->o, 0), &apart) && apart == 0;
  neo_expr extent = neo_tensor_extent(q->o->m, (neo_tensor){n->attr}, axis);
  return outline_distance(q->o, extent, at, &apart) && apart == 1;
}

/* Tensors of the loop; or those of them that are needed outside of the group. */
static const bool *made_in(const early_exit *q, bool stored) {
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

/* Notes reads by others than the iterations that run. */
static void note_reader(early_exit *q, neo_tensor rounds, const bool *made, neo_def d) {
  neo_guarded_reads all = {0};
  neo_guarded_reads_of(q->o->m, d, made, q->o->a, &all);
  for (size_t k = 0; k < all.n; k++) {
    neo_expr e = all.at[k].read;
    uint32_t t = neo_expr_node(q->o->m, e)->attr;
    if (is_within(q, d, e))
      continue;
    place p = place_of(q, e);
    bool of_last = is_of_last(q, e), may = !q->steers[t];
    bool told = may && t != q->alive.i && asks(q, d, &all.at[k], &p);
    bool ran = told || (may && (has_run(q, rounds, d, &all.at[k], &p) ||
                                (!of_last && hands_on_all(q, rounds, d, &p))));
    q->read_last[t] = q->read_last[t] || of_last;
    q->read_after[q->alive.i] = q->read_after[q->alive.i] || told;
    q->read_after[t] = q->read_after[t] || !(of_last || ran);
  }
}

void early_exit_find_readers(early_exit *q) {
  outliner *o = q->o;
  const neo_module *m = o->m;
  const bool *made = made_in(q, false), *stored = made_in(q, true);
  neo_tensor rounds = neo_trip_count(o->m, q->alive, early_exit_axis(q));
  q->read_after = NEO_NEW_ARRAY(o->a, bool, m->tensors.n);
  q->read_last = NEO_NEW_ARRAY(o->a, bool, m->tensors.n);
  q->hands = NEO_NEW_ARRAY(o->a, uint8_t, m->defs.n);
  q->hand_axis = NEO_NEW_ARRAY(o->a, uint8_t, m->defs.n * OUTLINE_FOLDS);
  for (size_t e = 0; e < m->entries.n; e++) /* an entry gives all elements */
    for (uint32_t k = 0; k < m->entries.at[e].outputs.n; k++)
      q->read_after[neo_list_at(m, m->entries.at[e].outputs, k)] = true;
  for (size_t k = 0; k < o->n; k++)
    note_reader(q, rounds, made, o->defs[k]);
  for (size_t k = 0; k < q->n_needed; k++)
    note_reader(q, rounds, stored, q->needed[k]);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (m->tensors.at[t].init.i)
      note_reader(q, rounds, stored, m->tensors.at[t].init);
}

void early_exit_find_unneeded(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  neo_module *m = q->o->m;
  neo_tensor rounds = neo_trip_count(m, q->alive, early_exit_axis(q));
  q->unneeded = NEO_NEW_ARRAY(q->o->a, bool, m->defs.n);
  for (uint32_t i = 0; i < loop->n_members; i++) {
    place p = {.plain = true};
    for (uint32_t k = 0; k < q->n_loops; k++) {
      const neo_order_member *own = outline_member(q->loop[k], loop->member[i].def);
      p.at[k] = neo_axis_ref(m, own->axis);
      p.plain = p.plain && !own->delay;
    }
    q->unneeded[loop->member[i].def.i] = hands_on_all(q, rounds, loop->member[i].def, &p);
  }
}
