/* The rules of loop.h, checked. The first breach is described in *why.
 *
 * One walk over the statements keeps the enclosing loops; expressions are checked against them.
 * Register indices are small and constant after unrolling, so their range is checked by trying all
 * values of the variables in them. */
#include "codegen/loop/verify.h"
#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum {
  MAX_THREADS = 1024,
  MAX_LANES = 64,
  MAX_UNROLL = 4096,
  MAX_ELEMENTS = 1 << 16,
  MAX_VARS = 4
};

void neo_lv_fail(verifier *v, const char *fmt, ...) {
  va_list ap;
  if (v->failed)
    return;
  v->failed = true;
  va_start(ap, fmt);
  neo_str_addf(v->why, "kernel %s: %s", v->k->name, neo_arena_vprintf(v->why->arena, fmt, ap));
  va_end(ap);
}

static const scope *find(const verifier *v, uint32_t var) {
  for (uint32_t i = v->n; i-- > 0;)
    if (v->loops[i].var == var)
      return &v->loops[i];
  return NULL;
}

static const scope *vector_scope(const verifier *v) {
  return v->n && v->loops[v->n - 1].kind == NEO_LOOP_VECTOR ? &v->loops[v->n - 1] : NULL;
}

/* ---- register indices */

/* Value of an index over constants and unrolled variables; false if it is not one. */
static bool index_value(const neo_lx *e, const uint32_t *var, const int64_t *value, uint32_t n,
                        int64_t *out) {
  neo_value x[3];
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    *out = (int64_t)e->bits;
    return true;
  case NEO_LX_VAR:
    for (uint32_t i = 0; i < n; i++)
      if (var[i] == e->attr) {
        *out = value[i];
        return true;
      }
    return false;
  case NEO_LX_OP:
    if (e->type != NEO_I64_T || e->n > 3)
      return false;
    for (uint32_t k = 0; k < e->n; k++)
      if (!index_value(e->arg[k], var, value, n, &x[k].i))
        return false;
    *out = neo_value_op((neo_op)e->attr, NEO_I64_T, NEO_I64_T, x).i;
    return true;
  default:
    return false;
  }
}

static bool add_var(uint32_t *var, uint32_t *n, uint32_t x) {
  for (uint32_t i = 0; i < *n; i++)
    if (var[i] == x)
      return true;
  if (*n == MAX_VARS)
    return false;
  var[(*n)++] = x;
  return true;
}

static bool collect(const neo_lx *e, uint32_t *var, uint32_t *n) {
  if (e->kind == NEO_LX_VAR)
    return add_var(var, n, e->attr);
  for (uint32_t k = 0; k < e->n; k++)
    if (!collect(e->arg[k], var, n))
      return false;
  return true;
}

static bool next_values(const scope *const *s, int64_t *value, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    value[i] += s[i]->step;
    if (value[i] < s[i]->hi)
      return true;
    value[i] = s[i]->lo;
  }
  return false;
}

void neo_lv_check_index(verifier *v, const neo_reg *r, uint32_t dim, const neo_lx *e) {
  uint32_t var[MAX_VARS], n = 0;
  const scope *s[MAX_VARS];
  int64_t value[MAX_VARS], x;
  if (!collect(e, var, &n))
    neo_lv_fail(v, "an index of register %s has too many variables", r->name);
  for (uint32_t i = 0; i < n && !v->failed; i++) {
    s[i] = find(v, var[i]);
    bool last = dim + 1U == r->rank && e->kind == NEO_LX_VAR;
    bool lane = s[i] && s[i]->kind == NEO_LOOP_VECTOR && last;
    if (!s[i] || (s[i]->kind != NEO_LOOP_UNROLL && !lane))
      neo_lv_fail(v, "index %u of register %s is neither constant nor unrolled", dim, r->name);
    else if (s[i]->lo >= s[i]->hi)
      return; /* never runs */
    else
      value[i] = s[i]->lo;
  }
  do {
    if (v->failed)
      return;
    if (!index_value(e, var, value, n, &x))
      neo_lv_fail(v, "index %u of register %s is not constant", dim, r->name);
    else if (x < 0 || x >= r->extent[dim])
      neo_lv_fail(v, "index %u of register %s is %lld, of %lld", dim, r->name, (long long)x,
                  (long long)r->extent[dim]);
  } while (next_values(s, value, n));
}

static void check_place(verifier *v, uint32_t reg, const neo_lx *const *index, size_t n) {
  if (reg >= v->k->regs.n) {
    neo_lv_fail(v, "there is no register %u", reg);
    return;
  }
  const neo_reg *r = &v->k->regs.at[reg];
  if (!v->declared[reg])
    neo_lv_fail(v, "register %s is used outside its block", r->name);
  if (r->threads && !v->in_threads)
    neo_lv_fail(v, "register %s of threads is used outside of a thread loop", r->name);
  if (n != r->rank)
    neo_lv_fail(v, "register %s has rank %d, not %zu", r->name, r->rank, n);
  for (uint32_t d = 0; d < n && !v->failed; d++)
    neo_lv_check_index(v, r, d, index[d]);
}

/* ---- expressions */

static void expect(verifier *v, const neo_lx *e, neo_type t, const char *what) {
  if (e->type != t)
    neo_lv_fail(v, "%s is %s, not %s", what, neo_type_text((neo_type)e->type), neo_type_text(t));
}

static void check_op_types(verifier *v, const neo_lx *e) {
  neo_op op = (neo_op)e->attr;
  neo_type t = (neo_type)e->type, a = (neo_type)e->arg[0]->type;
  neo_rule rule = neo_op_rule(op);
  const char *name = neo_op_text(op);
  if (rule == NEO_RULE_CAST)
    return;
  if (rule == NEO_RULE_SELECT) {
    expect(v, e->arg[0], NEO_BOOL_T, "the condition of select");
    expect(v, e->arg[1], t, "an argument of select");
    expect(v, e->arg[2], t, "an argument of select");
    return;
  }
  for (uint32_t k = 1; k < e->n; k++)
    expect(v, e->arg[k], a, name);
  if (rule == NEO_RULE_CMP)
    expect(v, e, NEO_BOOL_T, name);
  else
    expect(v, e, a, name);
  if (rule == NEO_RULE_FLOAT && !neo_type_is_float(t))
    neo_lv_fail(v, "%s takes floats", name);
  if (rule == NEO_RULE_NUM && t == NEO_BOOL_T)
    neo_lv_fail(v, "%s takes numbers", name);
  if (rule == NEO_RULE_LOGIC && t != NEO_BOOL_T)
    neo_lv_fail(v, "%s takes bool", name);
}

static void check_op(verifier *v, const neo_lx *e) {
  if (e->attr >= NEO_OP_COUNT || !neo_op_is_elementwise((neo_op)e->attr))
    neo_lv_fail(v, "operator %u is not elementwise", e->attr);
  else if (neo_op_arity((neo_op)e->attr) != e->n)
    neo_lv_fail(v, "%s has %d arguments", neo_op_text((neo_op)e->attr), e->n);
  else
    check_op_types(v, e);
}

static void check_buffer(verifier *v, const neo_lx *e) {
  if (e->attr >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", e->attr);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[e->attr];
  if (v->role == PRODUCER)
    neo_lv_fail(v, "the producer reads %s", b->name);
  expect(v, e, (neo_type)b->type, b->name);
  expect(v, e->arg[0], NEO_I64_T, "an offset");
  if (!(b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not read", b->name);
  if (e->kind != NEO_LX_LOADIF)
    return;
  expect(v, e->arg[1], NEO_BOOL_T, "the condition of a load");
  expect(v, e->arg[2], (neo_type)b->type, "the other value of a load");
}

static void check_node(verifier *v, const neo_lx *e) {
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    break;
  case NEO_LX_VAR:
    if (e->attr >= v->k->vars.n || !find(v, e->attr))
      neo_lv_fail(v, "variable %s is used outside its loop",
                  e->attr < v->k->vars.n ? v->k->vars.at[e->attr] : "?");
    break;
  case NEO_LX_SIZE:
    if (e->attr >= v->k->sizes.n)
      neo_lv_fail(v, "there is no size %u", e->attr);
    break;
  case NEO_LX_KEY:
    if (e->attr > 2)
      neo_lv_fail(v, "there is no key %u", e->attr);
    break;
  case NEO_LX_LOAD:
  case NEO_LX_LOADIF:
    check_buffer(v, e);
    break;
  case NEO_LX_REG:
    check_place(v, e->attr, e->arg, e->n);
    if (!v->failed)
      expect(v, e, (neo_type)v->k->regs.at[e->attr].type, "a register's value");
    break;
  case NEO_LX_RAND:
    expect(v, e->arg[0], NEO_I64_T, "the element of rand");
    if (e->type != NEO_F32_T && e->type != NEO_F64_T)
      neo_lv_fail(v, "rand is f32 or f64");
    break;
  case NEO_LX_FMA:
    if (e->n != 3)
      neo_lv_fail(v, "fma has three arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], (neo_type)e->type, "fma");
    break;
  case NEO_LX_PAIR:
    if (e->n != 2)
      neo_lv_fail(v, "pair has two arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], NEO_BF16_T, "pair");
    expect(v, e, NEO_I32_T, "pair");
    break;
  case NEO_LX_DOT:
    if (e->n != 3)
      neo_lv_fail(v, "dot has three arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], k < 2 ? NEO_I32_T : NEO_F32_T, "dot");
    expect(v, e, NEO_F32_T, "dot");
    break;
  case NEO_LX_OP:
    check_op(v, e);
    break;
  default:
    neo_lv_fail(v, "unknown expression %d", e->kind);
  }
}

static void check(verifier *v, const neo_lx *e) {
  if (v->failed)
    return;
  if (e->id >= v->k->nodes.n || v->k->nodes.at[e->id] != e) {
    neo_lv_fail(v, "an expression of another kernel");
    return;
  }
  if (v->seen[e->id] == v->statement)
    return;
  v->seen[e->id] = v->statement;
  for (uint32_t k = 0; k < e->n; k++)
    check(v, e->arg[k]);
  if (!v->failed)
    check_node(v, e);
}

void neo_lv_check_typed(verifier *v, const neo_lx *e, neo_type t, const char *what) {
  if (!e) {
    neo_lv_fail(v, "%s is missing", what);
    return;
  }
  check(v, e);
  if (!v->failed)
    expect(v, e, t, what);
}

/* ---- statements */

static void check_block(verifier *v, const neo_block *b);

static void check_constant_loop(verifier *v, const neo_ls *s, scope *in) {
  bool constant = neo_lx_is_int(s->loop.lo, &in->lo) && neo_lx_is_int(s->loop.hi, &in->hi);
  in->step = s->loop.step;
  if (!constant) {
    neo_lv_fail(v, "the bounds of the %s loop %s are not constant",
                s->loop.kind == NEO_LOOP_VECTOR ? "vector" : "unrolled",
                v->k->vars.at[s->loop.var]);
  } else if (s->loop.kind == NEO_LOOP_VECTOR) {
    if (in->lo != 0 || in->hi < 1 || in->hi > MAX_LANES || s->loop.step != 1)
      neo_lv_fail(v, "a vector loop runs from 0 to at most %d by 1", MAX_LANES);
  } else if (in->hi > in->lo && (in->hi - in->lo) / s->loop.step > MAX_UNROLL) {
    neo_lv_fail(v, "a loop of more than %d copies is not unrolled", MAX_UNROLL);
  }
}

static bool is_lane(const neo_ls *set, uint32_t var) {
  uint32_t n = set->set.n_index;
  const neo_lx *last = n ? set->set.index[n - 1] : NULL;
  return last && last->kind == NEO_LX_VAR && last->attr == var;
}

static void check_vector_body(verifier *v, const neo_ls *s) {
  for (size_t i = 0; i < s->loop.body.n; i++) {
    const neo_ls *in = s->loop.body.at[i];
    if (in->kind != NEO_LS_SET && in->kind != NEO_LS_STORE)
      neo_lv_fail(v, "a vector loop holds only assignments");
    else if (in->kind == NEO_LS_SET && !is_lane(in, s->loop.var))
      neo_lv_fail(v, "in a vector loop the last index of a register that is set is the lane");
  }
}

/* Where a kernel's unit loop stands; a persistent one's, of each role. */
static bool takes_units(const verifier *v, const neo_ls *s) {
  const neo_block *b = &v->k->body;
  if (v->k->persistent && v->role)
    b = &neo_kernel_specialized(v->k)
             ->specialize.arm[v->role == PRODUCER ? NEO_PRODUCER : NEO_CONSUMER];
  else if (v->k->persistent || b->n != 1)
    return false;
  return b->n && b->at[b->n - 1] == s;
}

static void check_unit(verifier *v, const neo_ls *s) {
  int64_t zero;
  if (v->n || !takes_units(v, s))
    neo_lv_fail(v, "the unit loop is the kernel's outermost statement, or ends a persistent role");
  else if (s->loop.step != 1 || !neo_lx_is_int(s->loop.lo, &zero) || zero != 0 ||
           s->loop.hi != v->k->units)
    neo_lv_fail(v, "the unit loop runs from 0 to the kernel's units");
}

static void check_thread(verifier *v, const neo_ls *s) {
  int64_t lo, hi;
  if (v->in_threads)
    neo_lv_fail(v, "a thread loop stands in another");
  if (!neo_lx_is_int(s->loop.lo, &lo) || !neo_lx_is_int(s->loop.hi, &hi) || lo != 0 ||
      s->loop.step != 1)
    neo_lv_fail(v, "a thread loop runs from 0 by 1 to a constant");
  else if (hi != v->threads || hi > MAX_THREADS)
    neo_lv_fail(v, "a thread loop runs to %lld, another to %lld, of %d", (long long)hi,
                (long long)v->threads, MAX_THREADS);
}

static void check_for(verifier *v, const neo_ls *s) {
  if (s->loop.var >= v->k->vars.n || v->n == MAX_DEPTH) {
    neo_lv_fail(v, v->n == MAX_DEPTH ? "loops are nested too deeply" : "a loop has no variable");
    return;
  }
  if (find(v, s->loop.var))
    neo_lv_fail(v, "variable %s is already in use", v->k->vars.at[s->loop.var]);
  if (vector_scope(v))
    neo_lv_fail(v, "a vector loop holds only assignments");
  if (s->loop.step <= 0)
    neo_lv_fail(v, "a loop's step is positive");
  neo_lv_check_typed(v, s->loop.lo, NEO_I64_T, "a lower bound");
  neo_lv_check_typed(v, s->loop.hi, NEO_I64_T, "an upper bound");
  if (v->failed)
    return;
  scope in = {.var = s->loop.var, .kind = s->loop.kind};
  if (s->loop.kind == NEO_LOOP_UNIT)
    check_unit(v, s);
  if (s->loop.kind == NEO_LOOP_UNROLL || s->loop.kind == NEO_LOOP_VECTOR)
    check_constant_loop(v, s, &in);
  if (s->loop.kind == NEO_LOOP_VECTOR)
    check_vector_body(v, s);
  bool thread = s->loop.kind == NEO_LOOP_THREAD;
  if (thread)
    check_thread(v, s);
  v->loops[v->n++] = in;
  v->in_threads = v->in_threads || thread;
  check_block(v, &s->loop.body);
  v->in_threads = v->in_threads && !thread;
  v->n--;
}

static void check_reg(verifier *v, const neo_ls *s) {
  if (s->declare.reg >= v->k->regs.n) {
    neo_lv_fail(v, "there is no register %u", s->declare.reg);
    return;
  }
  const neo_reg *r = &v->k->regs.at[s->declare.reg];
  int64_t n = 1;
  if (v->declared[s->declare.reg])
    neo_lv_fail(v, "register %s is declared twice", r->name);
  if (r->threads && v->role == PRODUCER)
    neo_lv_fail(v, "register %s of threads is the producer's", r->name);
  if (r->threads && (r->threads != v->threads || v->in_threads))
    neo_lv_fail(
        v, "register %s of threads is declared in a thread loop, or for another number of them",
        r->name);
  if (r->rank > 4)
    neo_lv_fail(v, "register %s has a rank above 4", r->name);
  for (uint32_t d = 0; d < r->rank && !v->failed; d++)
    if (r->extent[d] < 1 || r->extent[d] > MAX_ELEMENTS || (n *= r->extent[d]) > MAX_ELEMENTS)
      neo_lv_fail(v, "register %s has a bad extent", r->name);
  v->declared[s->declare.reg] = v->in_threads ? INSIDE : OUTSIDE;
}

static void check_store(verifier *v, const neo_ls *s) {
  if (v->threads && !v->in_threads)
    neo_lv_fail(v, "a store stands outside of the thread loops");
  if (s->store.to.buf >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", s->store.to.buf);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->store.to.buf];
  if (!(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not written", b->name);
  neo_lv_check_typed(v, s->store.to.offset, NEO_I64_T, "an offset");
  neo_lv_check_typed(v, s->store.value, (neo_type)b->type, "a stored value");
  if (s->store.cond)
    neo_lv_check_typed(v, s->store.cond, NEO_BOOL_T, "the condition of a store");
}

/* What all threads share is set by all alike. */
static void check_set(verifier *v, const neo_ls *s) {
  check_place(v, s->set.reg, s->set.index, s->set.n_index);
  if (!v->failed && v->in_threads && v->declared[s->set.reg] == OUTSIDE &&
      !v->k->regs.at[s->set.reg].threads)
    neo_lv_fail(v, "register %s is of all threads and set in a thread loop",
                v->k->regs.at[s->set.reg].name);
  if (!v->failed)
    neo_lv_check_typed(v, s->set.value, (neo_type)v->k->regs.at[s->set.reg].type,
                       "a register's new value");
}

/* ---- warp specialization */

static void note(verifier *v, bool *mbarriers, uint32_t buf) {
  if (buf < v->k->bufs.n)
    mbarriers[buf] = true;
}

static void note_mbarriers(void *ctx, neo_ls *s) {
  verifier *v = ctx;
  if (s->kind == NEO_LS_EXPECT_TX)
    note(v, v->expected, s->expect_tx.mbarrier.buf);
  if (s->kind == NEO_LS_MBARRIER_ARRIVE)
    note(v, v->arrived, s->mbarrier_arrive.mbarrier.buf);
}

/* Is it an arm of a persistent kernel: registers and arrivals of the block, then its units? */
static bool is_of_block(const neo_block *b) {
  for (size_t i = 0; i + 1 < b->n; i++)
    if (b->at[i]->kind != NEO_LS_REG && b->at[i]->kind != NEO_LS_SET &&
        b->at[i]->kind != NEO_LS_MBARRIER_ARRIVE)
      return false;
  const neo_ls *last = b->n ? b->at[b->n - 1] : NULL;
  return last && neo_ls_is_loop(last, NEO_LOOP_UNIT);
}

static void check_persistent(verifier *v) {
  const neo_block *b = &v->k->body;
  if (v->k->persistent < 0 || b->n != 1 || b->at[0]->kind != NEO_LS_SPECIALIZE ||
      !is_of_block(&b->at[0]->specialize.arm[0]) || !is_of_block(&b->at[0]->specialize.arm[1]))
    neo_lv_fail(v, "a persistent kernel is a producer and consumers, each of them registers and a "
                   "unit loop");
}

/* What a warpgroup's registers are set to. */
static bool is_number_of_registers(uint32_t n) {
  enum { LEAST = 24, MOST = 256, EIGHT = 8 };
  return n >= LEAST && n <= MOST && n % EIGHT == 0;
}

static void check_registers(verifier *v, const uint32_t *n) {
  enum { REGISTERS = 65536 };
  int64_t few = n[NEO_PRODUCER], many = n[NEO_CONSUMER];
  if (!few && !many)
    return;
  if (!is_number_of_registers(n[0]) || !is_number_of_registers(n[1]) ||
      few * NEO_WARPGROUP + many * v->threads > REGISTERS)
    neo_lv_fail(v, "%lld and %lld registers are not what warpgroups may have", (long long)few,
                (long long)many);
}

static void check_specialize(verifier *v, const neo_ls *s) {
  if (neo_kernel_specialized(v->k) != s)
    neo_lv_fail(v, "producer and consumers are not all that a unit does");
  if (!v->threads || v->threads % NEO_WARPGROUP || neo_kernel_block_threads(v->k) > MAX_THREADS)
    neo_lv_fail(v, "consumers and producer are no warpgroups of a block");
  check_registers(v, s->specialize.registers);
  neo_block_visit(&v->k->body, note_mbarriers, v);
  for (size_t b = 0; b < v->k->bufs.n; b++)
    if (v->expected[b] && v->arrived[b])
      neo_lv_fail(v, "mbarriers of %s have bytes to come and are arrived at",
                  v->k->bufs.at[b].name);
  v->role = PRODUCER;
  check_block(v, &s->specialize.arm[NEO_PRODUCER]);
  v->role = CONSUMERS;
  check_block(v, &s->specialize.arm[NEO_CONSUMER]);
  v->role = NO_ROLE;
}

/* What waits for nobody but at mbarriers, and has no memory of its own. */
static bool is_producers(const neo_ls *s) {
  switch (s->kind) {
  case NEO_LS_FOR:
    return s->loop.kind != NEO_LOOP_VECTOR && s->loop.kind != NEO_LOOP_THREAD;
  case NEO_LS_IF:
  case NEO_LS_REG:
  case NEO_LS_SET:
  case NEO_LS_TMA_COPY:
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
    return true;
  default:
    return false;
  }
}

static void check_statement(verifier *v, const neo_ls *s) {
  v->statement++;
  if (v->role == PRODUCER && !is_producers(s))
    neo_lv_fail(v, "the producer does what only consumers do");
  switch (s->kind) {
  case NEO_LS_FOR:
    check_for(v, s);
    break;
  case NEO_LS_IF:
    neo_lv_check_typed(v, s->branch.cond, NEO_BOOL_T, "a condition");
    check_block(v, &s->branch.then);
    check_block(v, &s->branch.otherwise);
    break;
  case NEO_LS_REG:
    check_reg(v, s);
    break;
  case NEO_LS_SET:
    check_set(v, s);
    break;
  case NEO_LS_STORE:
    check_store(v, s);
    break;
  case NEO_LS_SPECIALIZE:
    check_specialize(v, s);
    break;
  default:
    neo_lv_check_device(v, s);
  }
}

/* A register lives to the end of the block that declares it. */
static void check_block(verifier *v, const neo_block *b) {
  for (size_t i = 0; i < b->n && !v->failed; i++)
    check_statement(v, b->at[i]);
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == NEO_LS_REG && b->at[i]->declare.reg < v->k->regs.n)
      v->declared[b->at[i]->declare.reg] = 0;
}

static void check_buffers(verifier *v) {
  bool scratch = false;
  for (size_t i = 0; i < v->k->bufs.n; i++) {
    const neo_kbuf *b = &v->k->bufs.at[i];
    bool is_scratch = b->use & NEO_BUF_SCRATCH;
    if (scratch && !is_scratch)
      neo_lv_fail(v, "buffer %s stands after a scratch buffer", b->name);
    if (b->type >= NEO_TYPE_COUNT || !b->use)
      neo_lv_fail(v, "buffer %s has no type or use", b->name);
    if (is_scratch && b->scratch_elems < 0)
      neo_lv_fail(v, "buffer %s has a bad size", b->name);
    if (b->stream && b->use != NEO_BUF_WRITE)
      neo_lv_fail(v, "buffer %s streams but is read", b->name);
    if (b->align < 0 || (b->align & (b->align - 1)))
      neo_lv_fail(v, "buffer %s has a bad alignment", b->name);
    scratch = scratch || is_scratch;
  }
}

neo_status neo_kernel_verify(const neo_kernel *k, neo_str *why) {
  verifier v = {.k = k, .why = why};
  v.seen = NEO_NEW_ARRAY(why->arena, uint32_t, k->nodes.n + 1);
  v.declared = NEO_NEW_ARRAY(why->arena, uint8_t, k->regs.n + 1);
  v.threads = neo_kernel_threads(k);
  v.expected = NEO_NEW_ARRAY(why->arena, bool, k->bufs.n + 1);
  v.arrived = NEO_NEW_ARRAY(why->arena, bool, k->bufs.n + 1);
  check_buffers(&v);
  v.statement = 1;
  neo_lv_check_typed(&v, k->units, NEO_I64_T, "the number of units");
  if (k->persistent)
    check_persistent(&v);
  check_block(&v, &k->body);
  return v.failed ? NEO_INTERNAL : NEO_OK;
}
