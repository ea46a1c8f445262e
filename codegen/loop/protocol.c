/* Checks of the protocols of copies, mbarriers and products (loop/protocol.h). One walk in the
 * order of the text tracks the state at each statement: the mbarriers that blocks around it have
 * waited for, the groups of copies and the products in flight. The walk visits a loop twice,
 * because the second iteration begins with the state that the first one leaves. It checks
 * arithmetic of stages and parities by trying all of their values. */
#include "codegen/loop/protocol.h"
#include <stdarg.h>

enum { MAX_WAITS = 64, MAX_STAGES = 64, TWICE = 2 };

typedef struct {
  const neo_kernel *k;
  neo_str *why;
  bool failed;
  const neo_ls *waits[MAX_WAITS]; /* MBARRIER_WAIT in this block and those around it */
  uint32_t n_waits;
  const neo_ls **box; /* by buffer: a statement that fills it; null: none */
  bool *pending;      /* [register] a product in flight adds to it */
  bool consumers, awaited, open;
  int64_t groups; /* groups of copies that may be in flight */
} protocol;

static void fail(protocol *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(protocol *p, const char *fmt, ...) {
  va_list ap;
  if (p->failed)
    return;
  p->failed = true;
  va_start(ap, fmt);
  neo_str_addf(p->why, "kernel %s: %s", p->k->name, neo_arena_vprintf(p->why->arena, fmt, ap));
  va_end(ap);
}

static const char *buffer(const protocol *p, uint32_t b) {
  return p->k->bufs.at[b].name;
}

/* ---- bytes */

static int64_t box_bytes(const protocol *p, const neo_ls *s) {
  neo_type t = (neo_type)p->k->bufs.at[s->tma_copy.to.buf].type;
  return neo_box_elements(s->tma_copy.box) * neo_type_bytes(t);
}

static bool is_same(const neo_element *x, const neo_element *y) {
  return x->buf == y->buf && x->offset == y->offset;
}

static bool is_on(const neo_ls *copy, const neo_ls *expect) {
  return copy->kind == NEO_LS_TMA_COPY &&
         is_same(&copy->tma_copy.mbarrier, &expect->expect_tx.mbarrier);
}

static bool begins_again(const neo_ls *s, const neo_ls *expect) {
  return s->kind == NEO_LS_EXPECT_TX &&
         is_same(&s->expect_tx.mbarrier, &expect->expect_tx.mbarrier);
}

static void check_bytes(protocol *p, const neo_block *b, size_t at) {
  const neo_ls *expect = b->at[at];
  int64_t bytes = 0;
  for (size_t i = at + 1; i < b->n && !begins_again(b->at[i], expect); i++)
    bytes += is_on(b->at[i], expect) ? box_bytes(p, b->at[i]) : 0;
  if (bytes != expect->expect_tx.bytes)
    fail(p, "%lld bytes are announced on %s, and the boxes that follow bring %lld",
         (long long)expect->expect_tx.bytes, buffer(p, expect->expect_tx.mbarrier.buf),
         (long long)bytes);
}

static void check_announced(protocol *p, const neo_block *b, size_t at) {
  const neo_ls *copy = b->at[at];
  for (size_t i = 0; i < at; i++)
    if (b->at[i]->kind == NEO_LS_EXPECT_TX && is_on(copy, b->at[i]))
      return;
  fail(p, "a box comes to %s, and nothing before it in its block is announced on %s",
       buffer(p, copy->tma_copy.to.buf), buffer(p, copy->tma_copy.mbarrier.buf));
}

/* ---- stages: registers that a loop sets, tried for all values */

typedef struct {
  uint32_t stage, parity; /* registers */
  int64_t stage_is, parity_is;
} values;

/* The value of e at these values of the registers; false: it depends on something else. */
static bool value_of(const neo_lx *e, const values *v, int64_t *out) {
  neo_value x[3];
  if (e->kind == NEO_LX_CONST && !neo_type_is_float((neo_type)e->type)) {
    *out = (int64_t)e->bits;
    return true;
  }
  if (e->kind == NEO_LX_REG && !e->n && (e->attr == v->stage || e->attr == v->parity)) {
    *out = e->attr == v->stage ? v->stage_is : v->parity_is;
    return true;
  }
  if (e->kind != NEO_LX_OP || e->n > 3)
    return false;
  for (uint32_t i = 0; i < e->n; i++)
    if (neo_type_is_float((neo_type)e->arg[i]->type) || !value_of(e->arg[i], v, &x[i].i))
      return false;
  *out = neo_value_op((neo_op)e->attr, (neo_type)e->type,
                      (neo_type)e->arg[e->attr == NEO_OP_SELECT ? 1 : 0]->type, x)
             .i;
  return true;
}

/* The first scalar register in e; false: there is none. */
static bool register_in(const neo_lx *e, uint32_t *reg) {
  if (e->kind == NEO_LX_REG && !e->n) {
    *reg = e->attr;
    return true;
  }
  for (uint32_t i = 0; i < e->n; i++)
    if (register_in(e->arg[i], reg))
      return true;
  return false;
}

static const neo_ls *set_in(const neo_block *b, uint32_t reg, size_t *at) {
  for (*at = 0; *at < b->n; ++*at)
    if (b->at[*at]->kind == NEO_LS_SET && b->at[*at]->set.reg == reg)
      return b->at[*at];
  return NULL;
}

typedef struct {
  const neo_ls *stage, *parity; /* SET statements */
  size_t at_stage, at_parity;   /* in their block */
} advance;

/* The stage and parity after one iteration that begins with these values; false: they depend on
 * something else. */
static bool advanced(const advance *to, values v, int64_t *stage, int64_t *parity) {
  if (!value_of(to->parity->set.value, &v, parity))
    return false;
  v.parity_is = to->at_parity < to->at_stage ? v.parity_is : *parity;
  return value_of(to->stage->set.value, &v, stage);
}

/* Checks one step from these values of stage and parity to the next; false: they depend on
 * something else. */
static bool check_advance(protocol *p, const neo_ls *wait, const advance *to, const values *v) {
  uint32_t buf = wait->mbarrier_wait.mbarrier.buf;
  int64_t stages = p->k->bufs.at[buf].scratch_elems, stage, parity, wanted;
  bool last = v->stage_is == stages - 1;
  if (!advanced(to, *v, &stage, &parity) || !value_of(wait->mbarrier_wait.parity, v, &wanted))
    return false;
  if (stage != (last ? 0 : v->stage_is + 1))
    fail(p, "after stage %lld of %lld of %s comes %lld", (long long)v->stage_is, (long long)stages,
         buffer(p, buf), (long long)stage);
  else if (parity != (last ? 1 - v->parity_is : v->parity_is) || to->at_stage < to->at_parity)
    fail(p, "after parity %lld of stage %lld of %s comes parity %lld", (long long)v->parity_is,
         (long long)v->stage_is, buffer(p, buf), (long long)parity);
  else if (p->consumers && wanted != v->parity_is)
    fail(p, "parity %lld of %s is waited for in parity %lld", (long long)wanted, buffer(p, buf),
         (long long)v->parity_is);
  return true;
}

/* Checks one iteration of a loop over stages. The loop sets the parity, which depends on the stage,
 * before the stage. */
static void check_stage_loop(protocol *p, const neo_block *b, const neo_ls *wait, values v) {
  uint32_t buf = wait->mbarrier_wait.mbarrier.buf;
  int64_t stages = p->k->bufs.at[buf].scratch_elems;
  advance to;
  to.stage = set_in(b, v.stage, &to.at_stage);
  to.parity = set_in(b, v.parity, &to.at_parity);
  if (!to.stage || stages > MAX_STAGES)
    return;
  if (!to.parity) {
    fail(p, "a loop goes round the stages of %s, and its parity stays", buffer(p, buf));
    return;
  }
  for (int64_t n = 0; n < TWICE * stages && !p->failed; n++) {
    v.stage_is = n % stages;
    v.parity_is = n / stages;
    if (!check_advance(p, wait, &to, &v))
      return;
  }
}

/* Does it wait for a stage that a register names? Gives the registers of stage and parity. */
static bool waits_for_stage(const neo_ls *s, values *v) {
  if (s->kind != NEO_LS_MBARRIER_WAIT)
    return false;
  const neo_lx *which = s->mbarrier_wait.mbarrier.offset;
  if (which->kind != NEO_LX_REG || which->n || !register_in(s->mbarrier_wait.parity, &v->parity))
    return false;
  v->stage = which->attr;
  return true;
}

/* `in` is a loop's body, or the body of a condition inside of it. */
static void check_stage_loops(protocol *p, const neo_block *body, const neo_block *in) {
  for (size_t i = 0; i < in->n; i++) {
    values v = {0};
    if (in->at[i]->kind == NEO_LS_IF)
      check_stage_loops(p, body, &in->at[i]->branch.then);
    if (waits_for_stage(in->at[i], &v))
      check_stage_loop(p, body, in->at[i], v);
  }
}

/* ---- reads */

static bool contains(const neo_lx *e, const neo_lx *part) {
  bool found = e == part;
  for (uint32_t i = 0; i < e->n && !found; i++)
    found = contains(e->arg[i], part);
  return found;
}

/* Has a block around waited for the mbarrier of this stage? Constant offsets are folded, so that a
 * wait for a constant stage counts for all. */
static bool is_waited_for(const protocol *p, uint32_t mbarriers, const neo_lx *offset) {
  int64_t at;
  for (uint32_t i = 0; i < p->n_waits; i++) {
    const neo_element *m = &p->waits[i]->mbarrier_wait.mbarrier;
    if (m->buf == mbarriers && (neo_lx_is_int(m->offset, &at) || contains(offset, m->offset)))
      return true;
  }
  return false;
}

static void check_read(protocol *p, const neo_ls *s) {
  for (int i = 0; i < 2; i++) {
    const neo_element *factor = &s->wgmma.factor[i];
    const neo_ls *copy = p->box[factor->buf];
    if (copy && !is_waited_for(p, copy->tma_copy.mbarrier.buf, factor->offset))
      fail(p, "a product reads %s, and no mbarrier of %s was waited for at that place",
           buffer(p, factor->buf), buffer(p, copy->tma_copy.mbarrier.buf));
  }
}

/* ---- products and copies in flight */

static void check_sums(protocol *p, const neo_lx *e) {
  if (e->kind == NEO_LX_REG && p->pending[e->attr])
    fail(p, "register %s is read before its products have ended", p->k->regs.at[e->attr].name);
  for (uint32_t i = 0; i < e->n && !p->failed; i++)
    check_sums(p, e->arg[i]);
}

static bool any_pending(const protocol *p) {
  for (uint32_t r = 0; r < p->k->regs.n; r++)
    if (p->pending[r])
      return true;
  return false;
}

static void check_value(protocol *p, const neo_ls *s) {
  const neo_lx *own[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, own);
  if (!any_pending(p))
    return;
  if (s->kind == NEO_LS_SET && p->pending[s->set.reg])
    fail(p, "register %s is set before its products have ended", p->k->regs.at[s->set.reg].name);
  for (uint32_t i = 0; i < n; i++)
    check_sums(p, own[i]);
}

static void wait_for_copies(protocol *p, int64_t left) {
  if (p->open)
    fail(p, "a wait comes before the group of copies is closed");
  p->groups = p->groups < left ? p->groups : left;
}

static void check_end(protocol *p) {
  if (p->open || p->groups)
    fail(p, "copies are under way at the end");
  if (any_pending(p))
    fail(p, "products are under way at the end");
}

/* ---- arrivals */

static bool stands_in(const neo_block *b, neo_ls_kind kind) {
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == kind)
      return true;
  return false;
}

static void check_arrivals(protocol *p, const neo_block *b) {
  if (p->consumers && neo_kernel_specialized(p->k) && stands_in(b, NEO_LS_MBARRIER_WAIT) &&
      stands_in(b, NEO_LS_WGMMA) && !neo_block_find(b, NEO_LS_MBARRIER_ARRIVE, 0))
    fail(p, "consumers go round stages, and arrive at none: the producer waits for ever");
}

/* ---- the walk */

static void walk(protocol *p, const neo_block *b);

static void walk_loop(protocol *p, const neo_ls *s) {
  const neo_block *body = &s->loop.body;
  check_stage_loops(p, body, body);
  check_arrivals(p, body);
  for (int i = 0; i < TWICE && !p->failed; i++)
    walk(p, body);
  if (s->loop.kind == NEO_LOOP_UNIT)
    check_end(p);
}

static void walk_arms(protocol *p, const neo_ls *s) {
  p->consumers = false;
  walk(p, &s->specialize.arm[NEO_PRODUCER]);
  p->consumers = true;
  walk(p, &s->specialize.arm[NEO_CONSUMER]);
}

static void arrive(protocol *p, const neo_ls *s) {
  if (p->consumers && any_pending(p) && !p->awaited)
    fail(p, "consumers arrive at %s before they have waited for a product",
         buffer(p, s->mbarrier_arrive.mbarrier.buf));
}

static void multiply(protocol *p, const neo_ls *s) {
  check_read(p, s);
  p->pending[s->wgmma.acc] = true;
  p->awaited = false;
}

static void wait_for_products(protocol *p, const neo_ls *s) {
  uint32_t acc = s->wgmma_wait.acc;
  p->pending[acc] = p->pending[acc] && s->wgmma_wait.pending;
  p->awaited = true;
}

static void visit(protocol *p, const neo_block *b, size_t at) {
  const neo_ls *s = b->at[at];
  switch (s->kind) {
  case NEO_LS_FOR:
    walk_loop(p, s);
    break;
  case NEO_LS_IF:
    check_value(p, s);
    walk(p, &s->branch.then);
    walk(p, &s->branch.otherwise);
    break;
  case NEO_LS_SPECIALIZE:
    walk_arms(p, s);
    break;
  case NEO_LS_SET:
  case NEO_LS_STORE:
    check_value(p, s);
    break;
  case NEO_LS_EXPECT_TX:
    check_bytes(p, b, at);
    break;
  case NEO_LS_TMA_COPY:
    check_announced(p, b, at);
    break;
  case NEO_LS_MBARRIER_WAIT:
    if (p->n_waits < MAX_WAITS)
      p->waits[p->n_waits++] = s;
    break;
  case NEO_LS_MBARRIER_ARRIVE:
    arrive(p, s);
    break;
  case NEO_LS_WGMMA:
    multiply(p, s);
    break;
  case NEO_LS_WGMMA_WAIT:
    wait_for_products(p, s);
    break;
  case NEO_LS_COPY:
    p->open = true;
    break;
  case NEO_LS_COPY_COMMIT:
    p->groups++;
    p->open = false;
    break;
  case NEO_LS_COPY_WAIT:
    wait_for_copies(p, s->copy_wait.pending);
    break;
  default:
    break;
  }
}

static void walk(protocol *p, const neo_block *b) {
  uint32_t before = p->n_waits;
  for (size_t i = 0; i < b->n && !p->failed; i++)
    visit(p, b, i);
  p->n_waits = before;
}

static void note_box(void *ctx, neo_ls *s) {
  protocol *p = ctx;
  if (s->kind == NEO_LS_TMA_COPY)
    p->box[s->tma_copy.to.buf] = s;
}

neo_status neo_kernel_check_protocol(const neo_kernel *k, neo_str *why) {
  protocol p = {.k = k, .why = why, .consumers = true};
  p.box = NEO_NEW_ARRAY(why->arena, const neo_ls *, k->bufs.n + 1);
  p.pending = NEO_NEW_ARRAY(why->arena, bool, k->regs.n + 1);
  neo_block_visit(&k->body, note_box, &p);
  walk(&p, &k->body);
  check_end(&p);
  return p.failed ? NEO_INTERNAL : NEO_OK;
}
