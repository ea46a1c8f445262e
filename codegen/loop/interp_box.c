/* Boxes, mbarriers, producer and consumers in the reference interpreter. A box is copied at once,
 * and its elements are marked with their phase: a read or write of one of them before a wait for
 * that phase is an error.
 *
 * The producer depends on the consumers only in time. So its arm runs first, and its statements are
 * recorded with the values of their operands. The interpreter then executes the recorded statements
 * while the consumers run, as far as the producer's waits allow: without a seed as late as
 * possible, when consumers wait for a phase; with a seed also earlier, at random between two of the
 * consumers' statements. A wait for a phase that can never complete is a deadlock. All consumers
 * are one thread of control here and arrive together; the emulated device tests how far one
 * warpgroup may run ahead of another. */
#include "codegen/loop/interp.h"

static const char *name_of(const interp *p, uint32_t buf) {
  return p->k->bufs.at[buf].name;
}

/* ---- deeds */

static void note_copy(interp *p, deed *x) {
  const neo_box *box = x->s->tma_copy.box;
  x->mbarrier = x->s->tma_copy.mbarrier;
  x->to = neo_li_eval(p, x->s->tma_copy.to.offset).i;
  for (uint32_t d = 0; d < box->rank; d++) {
    x->first[d] = neo_li_eval(p, box->at[d]).i;
    x->first[NEO_BOX_RANK + d] = neo_li_eval(p, box->extent[d]).i;
  }
}

static deed deed_of(interp *p, const neo_ls *s) {
  deed x = {.s = s};
  if (s->kind == NEO_LS_TMA_COPY) {
    note_copy(p, &x);
  } else if (s->kind == NEO_LS_MBARRIER_WAIT) {
    x.mbarrier = s->mbarrier_wait.mbarrier;
    x.parity = neo_li_eval(p, s->mbarrier_wait.parity).i;
  } else {
    bool expects = s->kind == NEO_LS_EXPECT_TX;
    x.mbarrier = expects ? s->expect_tx.mbarrier : s->mbarrier_arrive.mbarrier;
  }
  x.at = neo_li_eval(p, x.mbarrier.offset).i;
  return x;
}

static mbarrier *mbarrier_of(interp *p, const deed *x) {
  uint32_t buf = x->mbarrier.buf;
  return neo_li_in_buffer(p, buf, x->at, "mbarrier") ? &p->mbarriers[buf][x->at] : NULL;
}

static void expect_tx(interp *p, const deed *x, mbarrier *of) {
  if (of->begun > of->waited)
    neo_li_fail(p, "phase before the last one was waited for", name_of(p, x->mbarrier.buf),
                of->begun, 0);
  *of = (mbarrier){of->begun + 1, of->waited, x->s->expect_tx.bytes, 0, false};
}

static void arrive(interp *p, const deed *x, mbarrier *of) {
  if (of->begun > of->waited)
    neo_li_fail(p, "arrival before the last phase was waited for", name_of(p, x->mbarrier.buf),
                of->begun, 0);
  *of = (mbarrier){of->begun + 1, of->waited, 0, 0, true};
}

static bool is_complete(const mbarrier *of) {
  return of->begun > of->waited && of->copied == of->expected;
}

static void wait_for(interp *p, const deed *x, mbarrier *of) {
  const char *name = name_of(p, x->mbarrier.buf);
  if (of->begun == of->waited)
    neo_li_fail(p, "phase that never begins", name, of->begun, 0);
  else if (x->parity != (of->begun - 1) % 2)
    neo_li_fail(p, "other parity", name, of->begun, 0);
  else if (of->copied != of->expected)
    neo_li_fail(p, "other number of bytes", name, of->copied, of->expected);
  of->waited = of->begun;
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

static void copy_element(interp *p, const deed *x, int64_t e) {
  const neo_box *b = x->s->tma_copy.box;
  uint32_t buf = x->s->tma_copy.to.buf;
  neo_type t = (neo_type)p->k->bufs.at[buf].type;
  int64_t piece = NEO_WGMMA_PIECE_BYTES / neo_type_bytes(t), line = b->count[0], from;
  int64_t row = e / line, c = e % line;
  int64_t to = x->to + row * line + (c / piece ^ row % 8) * piece + c % piece;
  neo_value v = {.i = 0};
  if (neo_type_is_float(t))
    v.f = 0;
  if (of_tensor(b, x->first, e, &from))
    v = neo_li_load_at(p, x->s->tma_copy.from, from);
  if (!neo_li_in_buffer(p, buf, to, "copy"))
    return;
  neo_li_settled(p, buf, to, "copy to a copy under way");
  neo_li_free_of_products(p, buf, to);
  neo_li_put(p, buf, to, v, false);
  p->copied[buf][to] = -(int64_t)p->awaiting.n;
}

static void copy(interp *p, const deed *x, mbarrier *of) {
  uint32_t buf = x->s->tma_copy.to.buf;
  int64_t size = neo_type_bytes((neo_type)p->k->bufs.at[buf].type);
  int64_t n = neo_box_elements(x->s->tma_copy.box);
  if (of->begun == of->waited)
    neo_li_fail(p, "box of no phase", name_of(p, buf), x->to, 0);
  if (x->to * size % NEO_WGMMA_ALIGN_BYTES)
    neo_li_fail(p, "box between its places", name_of(p, buf), x->to, 0);
  of->copied += n * size;
  awaited mark = {of, of->begun};
  NEO_PUSH(&p->arena, &p->awaiting, mark);
  for (int64_t e = 0; e < n && !p->failed; e++)
    copy_element(p, x, e);
}

static void act(interp *p, const deed *x) {
  mbarrier *of = mbarrier_of(p, x);
  if (!of)
    return;
  switch (x->s->kind) {
  case NEO_LS_EXPECT_TX:
    expect_tx(p, x, of);
    break;
  case NEO_LS_TMA_COPY:
    copy(p, x, of);
    break;
  case NEO_LS_MBARRIER_WAIT:
    wait_for(p, x, of);
    break;
  default:
    arrive(p, x, of);
  }
}

/* ---- producer and consumers */

/* Carries out the producer's next statement; false: there is none, or it waits for the
 * consumers. */
static bool advance(interp *p) {
  if (p->producer.done == p->producer.all.n || p->failed)
    return false;
  const deed *x = &p->producer.all.at[p->producer.done];
  const mbarrier *of = mbarrier_of(p, x);
  if (!of || (x->s->kind == NEO_LS_MBARRIER_WAIT && !is_complete(of)))
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

void neo_li_end_producer(interp *p) {
  p->producer.at_work = false;
  while (advance(p))
    ;
  if (p->producer.done < p->producer.all.n) {
    const deed *x = &p->producer.all.at[p->producer.done];
    neo_li_fail(p, "deadlock: the producer waits", name_of(p, x->mbarrier.buf), x->at, x->parity);
  }
}

void neo_li_box(interp *p, const neo_ls *s) {
  deed x = deed_of(p, s);
  if (p->notes) {
    NEO_PUSH(&p->arena, &p->producer.all, x);
    return;
  }
  const mbarrier *of = mbarrier_of(p, &x);
  bool waits = of && p->producer.at_work && s->kind == NEO_LS_MBARRIER_WAIT;
  while (waits && !is_complete(of) && advance(p))
    ;
  if (waits && !is_complete(of))
    neo_li_fail(p, "deadlock: consumers wait", name_of(p, x.mbarrier.buf), x.at, x.parity);
  act(p, &x);
}

/* ---- units: mbarriers restart with each unit. Phases that consumers arrive at need no wait. */

static void end_mbarrier(interp *p, mbarrier *of) {
  if (of->begun > of->waited && !of->arrived)
    neo_li_fail(p, "boxes under way at the end", "a unit", of->begun, 0);
  *of = (mbarrier){0};
}

void neo_li_end_boxes(interp *p) {
  for (size_t b = 0; p->mbarriers && b < p->k->bufs.n; b++) {
    for (int64_t i = 0; p->mbarriers[b] && i < p->run->n_elems[b]; i++)
      end_mbarrier(p, &p->mbarriers[b][i]);
    for (int64_t i = 0; p->copied[b] && i < p->run->n_elems[b]; i++)
      p->copied[b][i] = p->copied[b][i] < 0 ? 0 : p->copied[b][i];
  }
  p->awaiting.n = 0;
}
