/* The protocols of copies, phases and products (loop/protocol.h). One walk in the order of the text
 * keeps what is known where a statement stands: the phases that were reached in blocks around it,
 * the groups of copies and the products under way. A loop is walked twice, as its second iteration
 * begins with what the first one leaves. Arithmetic of stages and turns is checked by trying all
 * their values. */
#include "codegen/loop/protocol.h"
#include <stdarg.h>

enum { MAX_REACHED = 64, MAX_STAGES = 64, TWICE = 2 };

typedef struct {
  const neo_kernel *k;
  neo_str *why;
  bool failed;
  const neo_ls *reached[MAX_REACHED]; /* in this block and those around it */
  uint32_t n_reached;
  const neo_ls **box; /* by buffer: a statement that fills it; null: none */
  bool *pending;      /* by register: a product is under way that adds to it */
  bool consumers, awaited, open;
  int64_t groups; /* of copies that may be under way */
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
  return neo_box_elements(s->box) * neo_type_bytes((neo_type)p->k->bufs.at[s->attr].type);
}

static bool is_on(const neo_ls *bulk, const neo_ls *expect) {
  return bulk->kind == NEO_LS_BULK && bulk->factor[1] == expect->attr &&
         bulk->index[1] == expect->index[0];
}

static bool is_same_phase(const neo_ls *x, const neo_ls *y) {
  return x->kind == y->kind && x->attr == y->attr && x->index[0] == y->index[0];
}

static void check_bytes(protocol *p, const neo_block *b, size_t at) {
  const neo_ls *expect = b->at[at];
  int64_t bytes = 0;
  for (size_t i = at + 1; i < b->n && !is_same_phase(b->at[i], expect); i++)
    bytes += is_on(b->at[i], expect) ? box_bytes(p, b->at[i]) : 0;
  if (bytes != expect->step)
    fail(p, "%lld bytes are announced on %s, and the boxes that follow bring %lld",
         (long long)expect->step, buffer(p, expect->attr), (long long)bytes);
}

static void check_announced(protocol *p, const neo_block *b, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (b->at[i]->kind == NEO_LS_EXPECT && is_on(b->at[at], b->at[i]))
      return;
  fail(p, "a box comes to %s, and nothing before it in its block is announced on %s",
       buffer(p, b->at[at]->attr), buffer(p, b->at[at]->factor[1]));
}

/* ---- stages: registers that a loop sets, tried for all values */

typedef struct {
  uint32_t stage, turn; /* registers */
  int64_t stage_is, turn_is;
} values;

/* Null: it depends on other things. */
static bool value_of(const neo_lx *e, const values *v, int64_t *out) {
  neo_value x[3];
  if (e->kind == NEO_LX_CONST && !neo_type_is_float((neo_type)e->type)) {
    *out = (int64_t)e->bits;
    return true;
  }
  if (e->kind == NEO_LX_REG && !e->n && (e->attr == v->stage || e->attr == v->turn)) {
    *out = e->attr == v->stage ? v->stage_is : v->turn_is;
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

/* The scalar register that it is, or the only one in it; false: neither. */
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
    if (b->at[*at]->kind == NEO_LS_SET && b->at[*at]->attr == reg)
      return b->at[*at];
  return NULL;
}

/* The stage is set behind the turn, which is computed from it. */
static void check_round(protocol *p, const neo_block *b, const neo_ls *reach, values v) {
  int64_t stages = p->k->bufs.at[reach->attr].scratch_elems, stage, turn, wanted;
  size_t at_stage, at_turn;
  const neo_ls *next = set_in(b, v.stage, &at_stage), *other = set_in(b, v.turn, &at_turn);
  if (!next || stages > MAX_STAGES)
    return;
  if (!other) {
    fail(p, "a loop goes round the stages of %s, and its turn stays", buffer(p, reach->attr));
    return;
  }
  for (int64_t n = 0; n < TWICE * stages && !p->failed; n++) {
    v.stage_is = n % stages;
    v.turn_is = n / stages;
    bool last = v.stage_is == stages - 1;
    if (!value_of(other->value, &v, &turn))
      return;
    values then = v;
    then.turn_is = at_turn < at_stage ? v.turn_is : turn;
    if (!value_of(next->value, &then, &stage) || !value_of(reach->value, &v, &wanted))
      return;
    if (stage != (last ? 0 : v.stage_is + 1))
      fail(p, "behind stage %lld of %lld of %s comes %lld", (long long)v.stage_is,
           (long long)stages, buffer(p, reach->attr), (long long)stage);
    else if (turn != (last ? 1 - v.turn_is : v.turn_is) || at_stage < at_turn)
      fail(p, "behind turn %lld of stage %lld of %s comes turn %lld", (long long)v.turn_is,
           (long long)v.stage_is, buffer(p, reach->attr), (long long)turn);
    else if (p->consumers && wanted != v.turn_is)
      fail(p, "turn %lld of %s is waited for in turn %lld", (long long)wanted,
           buffer(p, reach->attr), (long long)v.turn_is);
  }
}

/* `in` is a loop's body, or the body of a condition inside of it. */
static void check_rounds(protocol *p, const neo_block *body, const neo_block *in) {
  for (size_t i = 0; i < in->n; i++) {
    const neo_ls *s = in->at[i];
    values v = {0};
    if (s->kind == NEO_LS_IF)
      check_rounds(p, body, &s->body);
    if (s->kind == NEO_LS_REACH && s->index[0]->kind == NEO_LX_REG && !s->index[0]->n &&
        register_in(s->value, &v.turn)) {
      v.stage = s->index[0]->attr;
      check_round(p, body, s, v);
    }
  }
}

/* ---- reads */

static bool contains(const neo_lx *e, const neo_lx *part) {
  bool found = e == part;
  for (uint32_t i = 0; i < e->n && !found; i++)
    found = contains(e->arg[i], part);
  return found;
}

/* Constants are folded: of a constant stage nothing more is asked. */
static bool is_reached(const protocol *p, uint32_t phases, const neo_lx *offset) {
  int64_t at;
  for (uint32_t i = 0; i < p->n_reached; i++) {
    const neo_ls *s = p->reached[i];
    if (s->attr == phases && (neo_lx_is_int(s->index[0], &at) || contains(offset, s->index[0])))
      return true;
  }
  return false;
}

static void check_read(protocol *p, const neo_ls *s) {
  for (int i = 0; i < 2; i++) {
    const neo_ls *box = p->box[s->factor[i]];
    if (box && !is_reached(p, box->factor[1], s->index[i]))
      fail(p, "a product reads %s, and no phase of %s was reached for that place",
           buffer(p, s->factor[i]), buffer(p, box->factor[1]));
  }
}

/* ---- products and copies under way */

static void check_sums(protocol *p, const neo_lx *e) {
  if (e && e->kind == NEO_LX_REG && p->pending[e->attr])
    fail(p, "register %s is read before its products have ended", p->k->regs.at[e->attr].name);
  for (uint32_t i = 0; e && i < e->n && !p->failed; i++)
    check_sums(p, e->arg[i]);
}

static bool any_pending(const protocol *p) {
  for (uint32_t r = 0; r < p->k->regs.n; r++)
    if (p->pending[r])
      return true;
  return false;
}

static void check_value(protocol *p, const neo_ls *s) {
  if (!any_pending(p))
    return;
  if (s->kind == NEO_LS_SET && p->pending[s->attr])
    fail(p, "register %s is set before its products have ended", p->k->regs.at[s->attr].name);
  check_sums(p, s->value);
  check_sums(p, s->cond);
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

static bool has(const neo_block *b, neo_ls_kind kind) {
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == kind || has(&b->at[i]->body, kind) || has(&b->at[i]->other, kind))
      return true;
  return false;
}

static bool stands_in(const neo_block *b, neo_ls_kind kind) {
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == kind)
      return true;
  return false;
}

static void check_arrivals(protocol *p, const neo_block *b) {
  if (p->consumers && neo_kernel_roles(p->k) && stands_in(b, NEO_LS_REACH) &&
      stands_in(b, NEO_LS_WARPGROUP) && !has(b, NEO_LS_ARRIVE))
    fail(p, "consumers go round stages, and arrive at none: the producer waits for ever");
}

/* ---- the walk */

static void walk(protocol *p, const neo_block *b);

static void walk_loop(protocol *p, const neo_ls *s) {
  check_rounds(p, &s->body, &s->body);
  check_arrivals(p, &s->body);
  for (int i = 0; i < TWICE && !p->failed; i++)
    walk(p, &s->body);
  if (s->loop == NEO_LOOP_UNIT)
    check_end(p);
}

static void walk_arms(protocol *p, const neo_ls *s) {
  p->consumers = false;
  walk(p, &s->body);
  p->consumers = true;
  walk(p, &s->other);
}

static void visit(protocol *p, const neo_block *b, size_t at) {
  const neo_ls *s = b->at[at];
  switch ((neo_ls_kind)s->kind) {
  case NEO_LS_FOR:
    walk_loop(p, s);
    break;
  case NEO_LS_IF:
    check_value(p, s);
    walk(p, &s->body);
    walk(p, &s->other);
    break;
  case NEO_LS_ROLES:
    walk_arms(p, s);
    break;
  case NEO_LS_SET:
  case NEO_LS_STORE:
    check_value(p, s);
    break;
  case NEO_LS_EXPECT:
    check_bytes(p, b, at);
    break;
  case NEO_LS_BULK:
    check_announced(p, b, at);
    break;
  case NEO_LS_REACH:
    if (p->n_reached < MAX_REACHED)
      p->reached[p->n_reached++] = s;
    break;
  case NEO_LS_ARRIVE:
    if (p->consumers && any_pending(p) && !p->awaited)
      fail(p, "consumers arrive at %s before they have awaited a product", buffer(p, s->attr));
    break;
  case NEO_LS_WARPGROUP:
    check_read(p, s);
    p->pending[s->attr] = true;
    p->awaited = false;
    break;
  case NEO_LS_AWAIT:
    p->pending[s->attr] = p->pending[s->attr] && s->step;
    p->awaited = true;
    break;
  case NEO_LS_COPY:
    p->open = true;
    break;
  case NEO_LS_COMMIT:
    p->groups++;
    p->open = false;
    break;
  case NEO_LS_WAIT:
    wait_for_copies(p, s->step);
    break;
  default:
    break;
  }
}

static void walk(protocol *p, const neo_block *b) {
  uint32_t before = p->n_reached;
  for (size_t i = 0; i < b->n && !p->failed; i++)
    visit(p, b, i);
  p->n_reached = before;
}

static void note_boxes(protocol *p, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    if (b->at[i]->kind == NEO_LS_BULK)
      p->box[b->at[i]->attr] = b->at[i];
    note_boxes(p, &b->at[i]->body);
    note_boxes(p, &b->at[i]->other);
  }
}

neo_status neo_kernel_check_protocol(const neo_kernel *k, neo_str *why) {
  protocol p = {.k = k, .why = why, .consumers = true};
  p.box = NEO_NEW_ARRAY(why->arena, const neo_ls *, k->bufs.n + 1);
  p.pending = NEO_NEW_ARRAY(why->arena, bool, k->regs.n + 1);
  note_boxes(&p, &k->body);
  walk(&p, &k->body);
  check_end(&p);
  return p.failed ? NEO_INTERNAL : NEO_OK;
}
