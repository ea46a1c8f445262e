/* The verifier: checks the rules of loop.h, and describes the first violation in *why. One walk
 * over the statements tracks the enclosing loops. */
#include "codegen/loop/verify.h"

enum { MAX_THREADS = 1024, MAX_LANES = 64, MAX_UNROLL = 4096, MAX_ELEMENTS = 1 << 16 };

static const scope *vector_scope(const verifier *v) {
  return v->n && v->loops[v->n - 1].kind == NEO_LOOP_VECTOR ? &v->loops[v->n - 1] : NULL;
}

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

/* May s be a UNIT loop at its place? It is the kernel's only statement; in a persistent kernel, the
 * last of an arm. */
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
  if (neo_lv_find(v, s->loop.var))
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
  if (s->loop.more && s->loop.kind != NEO_LOOP_SERIAL)
    neo_lv_fail(v, "a loop with a condition is serial");
  if (s->loop.more)
    neo_lv_check_typed(v, s->loop.more, NEO_BOOL_T, "a loop's condition");
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
  bool read = b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH);
  if (s->store.adds && (!v->in_threads || vector_scope(v) || s->store.cond || !read))
    neo_lv_fail(v, "an addition to %s is no thread's, has a condition, or reads nothing", b->name);
  if (s->store.adds && b->type != NEO_I32_T && b->type != NEO_I64_T)
    neo_lv_fail(v, "an addition to %s, which is neither i32 nor i64", b->name);
}

/* Registers without threads are shared, so all threads set them to the same value. */
static void check_set(verifier *v, const neo_ls *s) {
  neo_lv_check_place(v, s->set.reg, s->set.index, s->set.n_index);
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

/* Can a warpgroup set its registers to n (setmaxnreg)? */
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

/* May the statement be in a producer's arm? A producer waits only at mbarriers, and has no memory
 * of its own. */
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
    if (b->nontemporal && b->use != NEO_BUF_WRITE)
      neo_lv_fail(v, "buffer %s is nontemporal but is read", b->name);
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
  for (size_t b = 0; b < k->bufs.n; b++)
    if (k->bufs.at[b].origin)
      neo_lv_check_typed(&v, k->bufs.at[b].origin, NEO_I64_T, "the origin");
  if (k->persistent)
    check_persistent(&v);
  check_block(&v, &k->body);
  return v.failed ? NEO_INTERNAL : NEO_OK;
}
