/* Boxes, phases and roles in the reference interpreter. A box is copied at once, and its elements
 * are marked with the turn that they belong to: until that is reached, who reads or writes them
 * stops it.
 *
 * A producer does nothing that depends on what consumers do, but when: so its arm is run first, and
 * notes what it does, with all values. While consumers run, these deeds are done one by one, as far
 * as its waits allow: without a seed as late as may be, when consumers wait for a turn; with one
 * also before, at random between any two of their statements. Who waits for what nobody will do any
 * more has found a deadlock. Consumers are one here, and arrive at once: how far one warpgroup may
 * be ahead of another is for the emulated device to show. */
#include "codegen/loop/interp.h"

static const char *name_of(const interp *p, uint32_t buf) {
  return p->k->bufs.at[buf].name;
}

/* ---- deeds */

static deed deed_of(interp *p, const neo_ls *s) {
  bool bulk = s->kind == NEO_LS_BULK;
  deed x = {.s = s, .phase = neo_li_eval(p, s->index[bulk]).i};
  if (s->kind == NEO_LS_REACH)
    x.turn = neo_li_eval(p, s->value).i;
  if (!bulk)
    return x;
  x.to = neo_li_eval(p, s->index[0]).i;
  for (uint32_t d = 0; d < s->box->rank; d++) {
    x.first[d] = neo_li_eval(p, s->box->at[d]).i;
    x.first[NEO_BOX_RANK + d] = neo_li_eval(p, s->box->extent[d]).i;
  }
  return x;
}

static uint32_t phases_of(const deed *x) {
  return x->s->kind == NEO_LS_BULK ? x->s->factor[1] : x->s->attr;
}

static phase *phase_of(interp *p, const deed *x) {
  uint32_t buf = phases_of(x);
  return neo_li_in_buffer(p, buf, x->phase, "phase") ? &p->phases[buf][x->phase] : NULL;
}

static void expect(interp *p, const deed *x, phase *of) {
  if (of->begun > of->reached)
    neo_li_fail(p, "turn before the last one was reached", name_of(p, x->s->attr), of->begun, 0);
  *of = (phase){of->begun + 1, of->reached, x->s->step, 0, false};
}

static void arrive(interp *p, const deed *x, phase *of) {
  if (of->begun > of->reached)
    neo_li_fail(p, "arrival before the last turn was reached", name_of(p, x->s->attr), of->begun,
                0);
  *of = (phase){of->begun + 1, of->reached, 0, 0, true};
}

static bool is_over(const phase *of) {
  return of->begun > of->reached && of->copied == of->expected;
}

static void reach(interp *p, const deed *x, phase *of) {
  const char *name = name_of(p, x->s->attr);
  if (of->begun == of->reached)
    neo_li_fail(p, "turn that never comes", name, of->begun, 0);
  else if (x->turn != (of->begun - 1) % 2)
    neo_li_fail(p, "other turn", name, of->begun, 0);
  else if (of->copied != of->expected)
    neo_li_fail(p, "other number of bytes", name, of->copied, of->expected);
  of->reached = of->begun;
}

/* Element e of the box: where it is in the tensor; false: outside. */
static bool of_tensor(const neo_box *b, const int64_t *first, int64_t e, int64_t *from) {
  bool inside = true;
  *from = 0;
  for (uint32_t d = 0; d < b->rank; d++) {
    int64_t at = first[d] + e % b->count[d];
    inside = inside && at >= 0 && at < first[NEO_BOX_RANK + d];
    *from += at * b->stride[d];
    e /= b->count[d];
  }
  return inside;
}

static void bulk(interp *p, const deed *x, phase *of) {
  const neo_box *b = x->s->box;
  uint32_t buf = x->s->attr;
  neo_type t = (neo_type)p->k->bufs.at[buf].type;
  int64_t size = neo_type_bytes(t), piece = NEO_WARPGROUP_PIECE_BYTES / size;
  int64_t line = b->count[0], n = neo_box_elements(b), from;
  if (of->begun == of->reached)
    neo_li_fail(p, "box of no turn", name_of(p, buf), x->to, 0);
  if (x->to * size % NEO_WARPGROUP_ALIGN_BYTES)
    neo_li_fail(p, "box between its places", name_of(p, buf), x->to, 0);
  of->copied += n * size;
  awaited mark = {of, of->begun};
  NEO_PUSH(&p->arena, &p->awaiting, mark);
  for (int64_t e = 0; e < n && !p->failed; e++) {
    int64_t row = e / line, c = e % line;
    int64_t to = x->to + row * line + (c / piece ^ row % 8) * piece + c % piece;
    neo_value v = {.i = 0};
    if (neo_type_is_float(t))
      v.f = 0;
    if (of_tensor(b, x->first, e, &from))
      v = neo_li_load_at(p, x->s->factor[0], from);
    if (!neo_li_in_buffer(p, buf, to, "copy"))
      return;
    neo_li_settled(p, buf, to, "copy to a copy under way");
    neo_li_free_of_products(p, buf, to);
    p->run->bufs[buf][to] = v;
    p->copied[buf][to] = -(int64_t)p->awaiting.n;
  }
}

static void act(interp *p, const deed *x) {
  static void (*const by_kind[])(interp * p, const deed *x, phase *of) = {[NEO_LS_EXPECT] = expect,
                                                                          [NEO_LS_REACH] = reach,
                                                                          [NEO_LS_ARRIVE] = arrive,
                                                                          [NEO_LS_BULK] = bulk};
  phase *of = phase_of(p, x);
  if (of)
    by_kind[x->s->kind](p, x, of);
}

/* ---- roles */

/* The producer's next deed; false: there is none, or it waits for one of the consumers'. */
static bool advance(interp *p) {
  if (p->producer.done == p->producer.all.n || p->failed)
    return false;
  const deed *x = &p->producer.all.at[p->producer.done];
  const phase *of = phase_of(p, x);
  if (!of || (x->s->kind == NEO_LS_REACH && !is_over(of)))
    return false;
  p->producer.done++;
  act(p, x);
  return true;
}

void neo_li_producer_goes_on(interp *p) {
  enum { SOME = 3 };
  if (!p->producer.at_work || p->thread >= 0 || !p->run->seed)
    return;
  while (neo_li_pick(p, SOME) && advance(p))
    ;
}

static void roles(interp *p, const neo_ls *s) {
  p->producer.all.n = p->producer.done = 0;
  p->notes = true;
  neo_li_run_block(p, &s->body);
  p->notes = false;
  p->producer.at_work = true;
  neo_li_run_block(p, &s->other);
  p->producer.at_work = false;
  while (advance(p))
    ;
  if (p->producer.done < p->producer.all.n) {
    const deed *x = &p->producer.all.at[p->producer.done];
    neo_li_fail(p, "deadlock: the producer waits", name_of(p, phases_of(x)), x->phase, x->turn);
  }
}

void neo_li_box(interp *p, const neo_ls *s) {
  if (s->kind == NEO_LS_ROLES) {
    roles(p, s);
    return;
  }
  deed x = deed_of(p, s);
  if (p->notes) {
    NEO_PUSH(&p->arena, &p->producer.all, x);
    return;
  }
  const phase *of = phase_of(p, &x);
  bool waits = of && p->producer.at_work && s->kind == NEO_LS_REACH;
  while (waits && !is_over(of) && advance(p))
    ;
  if (waits && !is_over(of))
    neo_li_fail(p, "deadlock: consumers wait", name_of(p, s->attr), x.phase, x.turn);
  act(p, &x);
}

/* ---- units: phases begin anew with each. What consumers have arrived at nobody need wait for. */

static void end_phase(interp *p, phase *of) {
  if (of->begun > of->reached && !of->arrived)
    neo_li_fail(p, "boxes under way at the end", "a unit", of->begun, 0);
  *of = (phase){0};
}

void neo_li_end_boxes(interp *p) {
  for (size_t b = 0; p->phases && b < p->k->bufs.n; b++) {
    for (int64_t i = 0; p->phases[b] && i < p->run->n_elems[b]; i++)
      end_phase(p, &p->phases[b][i]);
    for (int64_t i = 0; p->copied[b] && i < p->run->n_elems[b]; i++)
      p->copied[b][i] = p->copied[b][i] < 0 ? 0 : p->copied[b][i];
  }
  p->awaiting.n = 0;
}
