/* The inner blocks and the expressions of a statement of any kind, and walks over all
 * statements. */
#include "codegen/loop/statement.h"

const neo_block *neo_ls_block(const neo_ls *s, uint32_t k) {
  switch (s->kind) {
  case NEO_LS_FOR:
    return k < 1 ? &s->loop.body : NULL;
  case NEO_LS_IF:
    return k == 0 ? &s->branch.then : k == 1 ? &s->branch.otherwise : NULL;
  case NEO_LS_SPECIALIZE:
    return k < 2 ? &s->specialize.arm[k] : NULL;
  default:
    return NULL;
  }
}

bool neo_ls_is_loop(const neo_ls *s, neo_loop_kind kind) {
  return s->kind == NEO_LS_FOR && s->loop.kind == kind;
}

int64_t neo_ls_trips(const neo_ls *s) {
  int64_t lo = (int64_t)s->loop.lo->bits, hi = (int64_t)s->loop.hi->bits;
  return (hi - lo + s->loop.step - 1) / s->loop.step;
}

typedef struct {
  const neo_lx ***place;
  uint32_t n;
} places;

static void add_place(places *p, const neo_lx **e) {
  if (*e)
    p->place[p->n++] = e;
}

static void add_box(places *p, neo_box *b) {
  for (uint32_t d = 0; d < b->rank; d++)
    add_place(p, &b->at[d]);
  for (uint32_t d = 0; d < b->rank; d++)
    add_place(p, &b->extent[d]);
}

static void add_control(places *p, neo_ls *s) {
  if (s->kind == NEO_LS_FOR) {
    add_place(p, &s->loop.lo);
    add_place(p, &s->loop.hi);
    add_place(p, &s->loop.more);
  } else if (s->kind == NEO_LS_IF) {
    add_place(p, &s->branch.cond);
  }
}

static void add_assignment(places *p, neo_ls *s) {
  if (s->kind == NEO_LS_SET) {
    add_place(p, &s->set.value);
    for (uint32_t d = 0; d < s->set.n_index; d++)
      add_place(p, &s->set.index[d]);
  } else {
    add_place(p, &s->store.value);
    if (s->store.cond)
      add_place(p, &s->store.cond);
    add_place(p, &s->store.to.offset);
  }
}

static void add_copy(places *p, neo_ls *s) {
  if (s->kind == NEO_LS_COPY) {
    add_place(p, &s->copy.to.offset);
    add_place(p, &s->copy.from.offset);
    add_place(p, &s->copy.cond);
  } else {
    add_place(p, &s->tma_copy.to.offset);
    add_place(p, &s->tma_copy.mbarrier.offset);
    add_box(p, s->tma_copy.box);
  }
}

static void add_product(places *p, neo_ls *s) {
  if (s->kind == NEO_LS_MMA) {
    for (int k = 0; k < 3; k++)
      add_place(p, &s->mma.part[k].at);
  } else {
    for (int k = 0; k < 2; k++)
      add_place(p, &s->wgmma.factor[k].offset);
  }
}

uint32_t neo_ls_places(neo_ls *s, const neo_lx **place[NEO_LS_EXPRS]) {
  places p = {place, 0};
  switch (s->kind) {
  case NEO_LS_FOR:
  case NEO_LS_IF:
    add_control(&p, s);
    break;
  case NEO_LS_SET:
  case NEO_LS_STORE:
    add_assignment(&p, s);
    break;
  case NEO_LS_PREFETCH:
    add_place(&p, &s->prefetch.of.offset);
    break;
  case NEO_LS_TILE:
    add_place(&p, &s->tile.element.offset);
    break;
  case NEO_LS_MMA:
  case NEO_LS_WGMMA:
    add_product(&p, s);
    break;
  case NEO_LS_LDMATRIX:
    add_place(&p, &s->ldmatrix.to.at);
    add_place(&p, &s->ldmatrix.from.offset);
    break;
  case NEO_LS_COPY:
  case NEO_LS_TMA_COPY:
    add_copy(&p, s);
    break;
  case NEO_LS_EXPECT_TX:
    add_place(&p, &s->expect_tx.mbarrier.offset);
    break;
  case NEO_LS_MBARRIER_WAIT:
    add_place(&p, &s->mbarrier_wait.mbarrier.offset);
    add_place(&p, &s->mbarrier_wait.parity);
    break;
  case NEO_LS_MBARRIER_ARRIVE:
    add_place(&p, &s->mbarrier_arrive.mbarrier.offset);
    break;
  case NEO_LS_REG:
  case NEO_LS_SHUFFLE:
  case NEO_LS_VOTE:
  case NEO_LS_WGMMA_WAIT:
  case NEO_LS_COPY_COMMIT:
  case NEO_LS_COPY_WAIT:
  case NEO_LS_SPECIALIZE:
    break;
  }
  return p.n;
}

uint32_t neo_ls_exprs(const neo_ls *s, const neo_lx *expr[NEO_LS_EXPRS]) {
  neo_ls copy = *s;
  const neo_lx **place[NEO_LS_EXPRS];
  uint32_t n = neo_ls_places(&copy, place);
  for (uint32_t k = 0; k < n; k++)
    expr[k] = *place[k];
  return n;
}

void neo_block_visit(const neo_block *b, neo_ls_visitor *visit, void *ctx) {
  for (size_t i = 0; i < b->n; i++) {
    visit(ctx, b->at[i]);
    for (uint32_t k = 0; neo_ls_block(b->at[i], k); k++)
      neo_block_visit(neo_ls_block(b->at[i], k), visit, ctx);
  }
}

typedef struct {
  neo_ls_kind kind;
  size_t skip;
} wanted;

static neo_ls *find(const neo_block *b, wanted *w) {
  neo_ls *found = NULL;
  for (size_t i = 0; i < b->n && !found; i++) {
    if (b->at[i]->kind == w->kind && w->skip-- == 0)
      return b->at[i];
    for (uint32_t k = 0; !found && neo_ls_block(b->at[i], k); k++)
      found = find(neo_ls_block(b->at[i], k), w);
  }
  return found;
}

neo_ls *neo_block_find(const neo_block *b, neo_ls_kind kind, size_t n) {
  wanted w = {kind, n};
  return find(b, &w);
}
