/* The rules of loop.h, checked. The first breach is described in *why.
 *
 * One walk over the statements keeps the enclosing loops; expressions are checked against them.
 * Register indices are small and constant after unrolling, so their range is checked by trying all
 * values of the variables in them. */
#include "codegen/loop.h"
#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum { MAX_THREADS = 1024, OUTSIDE = 1, INSIDE };
enum { MAX_DEPTH = 64, MAX_LANES = 64, MAX_UNROLL = 4096, MAX_ELEMENTS = 1 << 16, MAX_VARS = 4 };

typedef struct {
  uint32_t var;
  uint8_t kind;
  int64_t lo, hi, step; /* UNROLL, VECTOR */
} scope;

typedef struct {
  const neo_kernel *k;
  neo_str *why;
  bool failed;
  scope loops[MAX_DEPTH];
  uint32_t n;
  uint32_t *seen; /* by node id: the statement that checked it */
  uint32_t statement;
  uint8_t *declared; /* by register: outside or inside of a thread loop */
  int64_t threads;   /* of the kernel's THREAD loops; 0: it has none */
  bool in_threads;
} verifier;

static void fail(verifier *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(verifier *v, const char *fmt, ...) {
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

static void check_index(verifier *v, const neo_reg *r, uint32_t dim, const neo_lx *e) {
  uint32_t var[MAX_VARS], n = 0;
  const scope *s[MAX_VARS];
  int64_t value[MAX_VARS], x;
  if (!collect(e, var, &n))
    fail(v, "an index of register %s has too many variables", r->name);
  for (uint32_t i = 0; i < n && !v->failed; i++) {
    s[i] = find(v, var[i]);
    bool last = dim + 1U == r->rank && e->kind == NEO_LX_VAR;
    bool lane = s[i] && s[i]->kind == NEO_LOOP_VECTOR && last;
    if (!s[i] || (s[i]->kind != NEO_LOOP_UNROLL && !lane))
      fail(v, "index %u of register %s is neither constant nor unrolled", dim, r->name);
    else if (s[i]->lo >= s[i]->hi)
      return; /* never runs */
    else
      value[i] = s[i]->lo;
  }
  do {
    if (v->failed)
      return;
    if (!index_value(e, var, value, n, &x))
      fail(v, "index %u of register %s is not constant", dim, r->name);
    else if (x < 0 || x >= r->extent[dim])
      fail(v, "index %u of register %s is %lld, of %lld", dim, r->name, (long long)x,
           (long long)r->extent[dim]);
  } while (next_values(s, value, n));
}

static void check_place(verifier *v, uint32_t reg, const neo_lx *const *index, size_t n) {
  if (reg >= v->k->regs.n) {
    fail(v, "there is no register %u", reg);
    return;
  }
  const neo_reg *r = &v->k->regs.at[reg];
  if (!v->declared[reg])
    fail(v, "register %s is used outside its block", r->name);
  if (r->threads && !v->in_threads)
    fail(v, "register %s of threads is used outside of a thread loop", r->name);
  if (n != r->rank)
    fail(v, "register %s has rank %d, not %zu", r->name, r->rank, n);
  for (uint32_t d = 0; d < n && !v->failed; d++)
    check_index(v, r, d, index[d]);
}

/* ---- expressions */

static void expect(verifier *v, const neo_lx *e, neo_type t, const char *what) {
  if (e->type != t)
    fail(v, "%s is %s, not %s", what, neo_type_text((neo_type)e->type), neo_type_text(t));
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
    fail(v, "%s takes floats", name);
  if (rule == NEO_RULE_NUM && t == NEO_BOOL_T)
    fail(v, "%s takes numbers", name);
  if (rule == NEO_RULE_LOGIC && t != NEO_BOOL_T)
    fail(v, "%s takes bool", name);
}

static void check_op(verifier *v, const neo_lx *e) {
  if (e->attr >= NEO_OP_COUNT || !neo_op_is_elementwise((neo_op)e->attr))
    fail(v, "operator %u is not elementwise", e->attr);
  else if (neo_op_arity((neo_op)e->attr) != e->n)
    fail(v, "%s has %d arguments", neo_op_text((neo_op)e->attr), e->n);
  else
    check_op_types(v, e);
}

static void check_buffer(verifier *v, const neo_lx *e) {
  if (e->attr >= v->k->bufs.n) {
    fail(v, "there is no buffer %u", e->attr);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[e->attr];
  expect(v, e, (neo_type)b->type, b->name);
  expect(v, e->arg[0], NEO_I64_T, "an offset");
  if (!(b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH)))
    fail(v, "%s is not read", b->name);
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
      fail(v, "variable %s is used outside its loop",
           e->attr < v->k->vars.n ? v->k->vars.at[e->attr] : "?");
    break;
  case NEO_LX_SIZE:
    if (e->attr >= v->k->sizes.n)
      fail(v, "there is no size %u", e->attr);
    break;
  case NEO_LX_KEY:
    if (e->attr > 2)
      fail(v, "there is no key %u", e->attr);
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
      fail(v, "rand is f32 or f64");
    break;
  case NEO_LX_FMA:
    if (e->n != 3)
      fail(v, "fma has three arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], (neo_type)e->type, "fma");
    break;
  case NEO_LX_PAIR:
    if (e->n != 2)
      fail(v, "pair has two arguments");
    for (uint32_t k = 0; k < e->n; k++)
      expect(v, e->arg[k], NEO_BF16_T, "pair");
    expect(v, e, NEO_I32_T, "pair");
    break;
  case NEO_LX_OP:
    check_op(v, e);
    break;
  default:
    fail(v, "unknown expression %d", e->kind);
  }
}

static void check(verifier *v, const neo_lx *e) {
  if (v->failed)
    return;
  if (e->id >= v->k->nodes.n || v->k->nodes.at[e->id] != e) {
    fail(v, "an expression of another kernel");
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

static void check_typed(verifier *v, const neo_lx *e, neo_type t, const char *what) {
  if (!e) {
    fail(v, "%s is missing", what);
    return;
  }
  check(v, e);
  if (!v->failed)
    expect(v, e, t, what);
}

/* ---- statements */

static void check_block(verifier *v, const neo_block *b);

static void check_constant_loop(verifier *v, const neo_ls *s, scope *in) {
  bool constant = neo_lx_is_int(s->lo, &in->lo) && neo_lx_is_int(s->hi, &in->hi);
  in->step = s->step;
  if (!constant) {
    fail(v, "the bounds of the %s loop %s are not constant",
         s->loop == NEO_LOOP_VECTOR ? "vector" : "unrolled", v->k->vars.at[s->attr]);
  } else if (s->loop == NEO_LOOP_VECTOR) {
    if (in->lo != 0 || in->hi < 1 || in->hi > MAX_LANES || s->step != 1)
      fail(v, "a vector loop runs from 0 to at most %d by 1", MAX_LANES);
  } else if (in->hi > in->lo && (in->hi - in->lo) / s->step > MAX_UNROLL) {
    fail(v, "a loop of more than %d copies is not unrolled", MAX_UNROLL);
  }
}

static void check_vector_body(verifier *v, const neo_ls *s) {
  for (size_t i = 0; i < s->body.n; i++) {
    const neo_ls *in = s->body.at[i];
    const neo_lx *last = in->n_index ? in->index[in->n_index - 1] : NULL;
    if (in->kind != NEO_LS_SET && in->kind != NEO_LS_STORE)
      fail(v, "a vector loop holds only assignments");
    else if (in->kind == NEO_LS_SET && (!last || last->kind != NEO_LX_VAR || last->attr != s->attr))
      fail(v, "in a vector loop the last index of a register that is set is the lane");
  }
}

static void check_unit(verifier *v, const neo_ls *s) {
  int64_t zero;
  if (v->n || v->k->body.n != 1 || v->k->body.at[0] != s)
    fail(v, "the unit loop is the kernel's outermost statement");
  else if (s->step != 1 || !neo_lx_is_int(s->lo, &zero) || zero != 0 || s->hi != v->k->units)
    fail(v, "the unit loop runs from 0 to the kernel's units");
}

static void check_thread(verifier *v, const neo_ls *s) {
  int64_t lo, hi;
  if (v->in_threads)
    fail(v, "a thread loop stands in another");
  if (!neo_lx_is_int(s->lo, &lo) || !neo_lx_is_int(s->hi, &hi) || lo != 0 || s->step != 1)
    fail(v, "a thread loop runs from 0 by 1 to a constant");
  else if (hi != v->threads || hi > MAX_THREADS)
    fail(v, "a thread loop runs to %lld, another to %lld, of %d", (long long)hi,
         (long long)v->threads, MAX_THREADS);
}

static void check_for(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->vars.n || v->n == MAX_DEPTH) {
    fail(v, v->n == MAX_DEPTH ? "loops are nested too deeply" : "a loop has no variable");
    return;
  }
  if (find(v, s->attr))
    fail(v, "variable %s is already in use", v->k->vars.at[s->attr]);
  if (vector_scope(v))
    fail(v, "a vector loop holds only assignments");
  if (s->step <= 0)
    fail(v, "a loop's step is positive");
  check_typed(v, s->lo, NEO_I64_T, "a lower bound");
  check_typed(v, s->hi, NEO_I64_T, "an upper bound");
  if (v->failed)
    return;
  scope in = {.var = s->attr, .kind = s->loop};
  if (s->loop == NEO_LOOP_UNIT)
    check_unit(v, s);
  if (s->loop == NEO_LOOP_UNROLL || s->loop == NEO_LOOP_VECTOR)
    check_constant_loop(v, s, &in);
  if (s->loop == NEO_LOOP_VECTOR)
    check_vector_body(v, s);
  bool thread = s->loop == NEO_LOOP_THREAD;
  if (thread)
    check_thread(v, s);
  v->loops[v->n++] = in;
  v->in_threads = v->in_threads || thread;
  check_block(v, &s->body);
  v->in_threads = v->in_threads && !thread;
  v->n--;
}

static void check_reg(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->regs.n) {
    fail(v, "there is no register %u", s->attr);
    return;
  }
  const neo_reg *r = &v->k->regs.at[s->attr];
  int64_t n = 1;
  if (v->declared[s->attr])
    fail(v, "register %s is declared twice", r->name);
  if (r->threads && (r->threads != v->threads || v->in_threads))
    fail(v, "register %s of threads is declared in a thread loop, or for another number of them",
         r->name);
  if (r->rank > 4)
    fail(v, "register %s has a rank above 4", r->name);
  for (uint32_t d = 0; d < r->rank && !v->failed; d++)
    if (r->extent[d] < 1 || r->extent[d] > MAX_ELEMENTS || (n *= r->extent[d]) > MAX_ELEMENTS)
      fail(v, "register %s has a bad extent", r->name);
  v->declared[s->attr] = v->in_threads ? INSIDE : OUTSIDE;
}

static void check_store(verifier *v, const neo_ls *s) {
  if (v->threads && !v->in_threads)
    fail(v, "a store stands outside of the thread loops");
  if (s->attr >= v->k->bufs.n) {
    fail(v, "there is no buffer %u", s->attr);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->attr];
  if (!(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    fail(v, "%s is not written", b->name);
  check_typed(v, s->index[0], NEO_I64_T, "an offset");
  check_typed(v, s->value, (neo_type)b->type, "a stored value");
  if (s->cond)
    check_typed(v, s->cond, NEO_BOOL_T, "the condition of a store");
}

/* What all threads share is set by all alike. */
static void check_set(verifier *v, const neo_ls *s) {
  check_place(v, s->attr, s->index, s->n_index);
  if (!v->failed && v->in_threads && v->declared[s->attr] == OUTSIDE &&
      !v->k->regs.at[s->attr].threads)
    fail(v, "register %s is of all threads and set in a thread loop", v->k->regs.at[s->attr].name);
  if (!v->failed)
    check_typed(v, s->value, (neo_type)v->k->regs.at[s->attr].type, "a register's new value");
}

static void check_tile(verifier *v, const neo_ls *s) {
  if (s->op >= NEO_TILE_OPS) {
    fail(v, "unknown tile operation %u", s->op);
    return;
  }
  const neo_tile_row *row = &neo_tile_rows[s->op];
  for (uint32_t i = 0; i < row->registers; i++) {
    if (s->tile[i] >= NEO_TILE_COUNT)
      fail(v, "there is no tile register %u", s->tile[i]);
    for (uint32_t j = 0; j < i; j++)
      if (s->tile[i] == s->tile[j])
        fail(v, "tile register %u is named twice", s->tile[i]);
  }
  if (!row->memory)
    return;
  if (s->attr >= v->k->bufs.n) {
    fail(v, "there is no buffer %u", s->attr);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->attr];
  if (b->type != NEO_I32_T && b->type != NEO_F32_T)
    fail(v, "tiles are i32 or f32 in memory");
  if (row->memory == 'w' && !(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    fail(v, "%s is not written", b->name);
  if (row->memory == 'r' && !(b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH)))
    fail(v, "%s is not read", b->name);
  if (s->step < 1)
    fail(v, "the pitch of a tile is positive");
  check_typed(v, s->index[0], NEO_I64_T, "an offset");
}

/* One part of a register for all threads. */
static void check_fragment(verifier *v, const neo_ls *s, uint32_t reg, int i) {
  if (reg >= v->k->regs.n || !v->declared[reg]) {
    fail(v, "a register of a warp's product is used outside its block");
    return;
  }
  const neo_reg *r = &v->k->regs.at[reg];
  const neo_warp_row *row = &neo_warp_rows[s->op];
  if (!r->threads || r->rank != 2 || r->extent[1] != neo_warp_elements[i] ||
      r->type != row->type[i]) {
    fail(v, "register %s has no fragments of %u elements of %s for each thread", r->name,
         neo_warp_elements[i], neo_type_text((neo_type)row->type[i]));
    return;
  }
  check_typed(v, s->index[i], NEO_I64_T, "the number of a fragment");
  if (!v->failed)
    check_index(v, r, 0, s->index[i]);
}

/* Fragments that are filled exist, and have cells of the memory's elements. */
static void check_filled(verifier *v, const neo_ls *s) {
  const neo_warp_row *row = &neo_warp_rows[s->op];
  if (s->attr >= v->k->regs.n || !v->declared[s->attr]) {
    fail(v, "a register of a warp's matrices is used outside its block");
    return;
  }
  neo_reg r = v->k->regs.at[s->attr];
  const neo_kbuf *b = &v->k->bufs.at[s->factor[0]];
  neo_type cell = b->type == NEO_F32_T ? NEO_F32_T : NEO_I32_T;
  if (!r.threads || r.rank != 2 || row->cells % r.extent[1] || r.type != cell) {
    fail(v, "register %s has no fragments of %u cells of %s for each thread", r.name, row->cells,
         neo_type_text(cell));
    return;
  }
  r.extent[0] -= row->cells / r.extent[1] - 1;
  check_typed(v, s->index[0], NEO_I64_T, "the number of a fragment");
  if (!v->failed)
    check_index(v, &r, 0, s->index[0]);
}

static void check_warp_read(verifier *v, const neo_ls *s) {
  if (s->factor[0] >= v->k->bufs.n) {
    fail(v, "there is no buffer %u", s->factor[0]);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->factor[0]];
  bool narrow = b->type == NEO_F16_T || b->type == NEO_BF16_T;
  if (!(b->use & NEO_BUF_SCRATCH) ||
      (!narrow && (b->type != NEO_F32_T || neo_warp_rows[s->op].memory != 'r')))
    fail(v, "%s has no matrices for %s", b->name, neo_warp_rows[s->op].text);
  check_filled(v, s);
  v->in_threads = true; /* each thread names a place of its own */
  check_typed(v, s->index[1], NEO_I64_T, "an offset");
  v->in_threads = false;
}

static void check_warp(verifier *v, const neo_ls *s) {
  bool known = s->op < NEO_WARP_OPS;
  if (!known || s->n_index != (neo_warp_rows[s->op].memory ? 2 : 3)) {
    fail(v, "unknown operation %u of a warp", s->op);
    return;
  }
  if (!v->threads || v->in_threads || v->threads % NEO_WARP)
    fail(v, "warps are of the threads of a block, outside of loops of threads");
  if (neo_warp_rows[s->op].memory) {
    if (!v->failed)
      check_warp_read(v, s);
    return;
  }
  const uint32_t reg[] = {s->attr, s->factor[0], s->factor[1]};
  for (int i = 0; i < 3 && !v->failed; i++)
    check_fragment(v, s, reg[i], i);
  if (!v->failed && (reg[0] == reg[1] || reg[0] == reg[2]))
    fail(v, "a warp's product is added to one of its factors");
}

/* Sums of whole tiles for each thread. */
static void check_sums(verifier *v, uint32_t reg) {
  if (v->failed)
    return;
  if (!v->threads || v->in_threads || v->threads % NEO_WARPGROUP)
    fail(v, "warpgroups are of the threads of a block, outside of loops of threads");
  else if (reg >= v->k->regs.n || !v->declared[reg])
    fail(v, "a register of a warpgroup's product is used outside its block");
  if (v->failed)
    return;
  const neo_reg *r = &v->k->regs.at[reg];
  if (!r->threads || r->rank != 2 || r->type != NEO_F32_T ||
      2 * r->extent[1] % NEO_WARPGROUP_COLUMNS || 2 * r->extent[1] > NEO_WARPGROUP_WIDEST)
    fail(v, "register %s has no sums of a warpgroup for each thread", r->name);
}

static void check_factor(verifier *v, const neo_ls *s, int i) {
  if (v->failed)
    return;
  if (s->factor[i] >= v->k->bufs.n) {
    fail(v, "there is no buffer %u", s->factor[i]);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->factor[i]];
  uint8_t cell = neo_warpgroup_rows[s->op].cell;
  if (!(b->use & NEO_BUF_SCRATCH) || b->type != cell || !b->align ||
      b->align % NEO_WARPGROUP_ALIGN_BYTES)
    fail(v, "%s is no scratch of %s from a multiple of %d bytes on", b->name,
         neo_type_text((neo_type)cell), NEO_WARPGROUP_ALIGN_BYTES);
  if (s->tile[i] && !neo_warpgroup_rows[s->op].turns)
    fail(v, "a factor of %s is not turned round", neo_warpgroup_rows[s->op].text);
  if (s->tile[i] && i && 2 * v->k->regs.at[s->attr].extent[1] % NEO_WARPGROUP_SIDE)
    fail(v, "columns that are turned round are no multiple of %d", NEO_WARPGROUP_SIDE);
  check_typed(v, s->index[i], NEO_I64_T, "an offset");
}

static void check_warpgroup(verifier *v, const neo_ls *s) {
  if (s->op >= NEO_WARPGROUP_OPS || s->n_index != 2) {
    fail(v, "unknown operation %u of a warpgroup", s->op);
    return;
  }
  check_sums(v, s->attr);
  for (int i = 0; i < 2; i++)
    check_factor(v, s, i);
  if (!v->failed && (s->step < 1 || v->threads / NEO_WARPGROUP % s->step))
    fail(v, "%lld warpgroups beside each other do not divide the block's", (long long)s->step);
}

static void check_await(verifier *v, const neo_ls *s) {
  enum { MOST = 7 }; /* as far as the hardware counts */
  check_sums(v, s->attr);
  if (!v->failed && (s->step < 0 || s->step > MOST))
    fail(v, "%lld products are left, of at most %d", (long long)s->step, MOST);
}

static void check_copy(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->bufs.n || s->factor[0] >= v->k->bufs.n || s->n_index != 2) {
    fail(v, "there is no buffer %u, or no buffer %u", s->attr, s->factor[0]);
    return;
  }
  const neo_kbuf *to = &v->k->bufs.at[s->attr], *from = &v->k->bufs.at[s->factor[0]];
  if (!v->in_threads)
    fail(v, "a copy stands outside of the thread loops");
  if (!(to->use & NEO_BUF_SCRATCH))
    fail(v, "%s is no scratch: nothing is copied there", to->name);
  if (from->use != NEO_BUF_READ || from->type != to->type)
    fail(v, "%s is not only read, or of another type than %s", from->name, to->name);
  int64_t bytes = s->step * neo_type_bytes((neo_type)to->type);
  if (bytes != 4 && bytes != 8 && bytes != NEO_COPY_BYTES)
    fail(v, "a copy is of 4, 8 or 16 bytes, not of %lld", (long long)bytes);
  check_typed(v, s->index[0], NEO_I64_T, "an offset");
  check_typed(v, s->index[1], NEO_I64_T, "an offset");
  if (s->cond)
    check_typed(v, s->cond, NEO_BOOL_T, "the condition of a copy");
}

static bool is_of_sizes(const neo_lx *e) {
  bool is = e->kind == NEO_LX_CONST || e->kind == NEO_LX_SIZE || e->kind == NEO_LX_OP;
  for (uint32_t i = 0; is && i < e->n; i++)
    is = is_of_sizes(e->arg[i]);
  return is;
}

static void check_axis(verifier *v, const neo_box *b, uint32_t d, int64_t size) {
  check_typed(v, b->at[d], NEO_I64_T, "where a box begins");
  check_typed(v, b->extent[d], NEO_I64_T, "an extent");
  if (v->failed)
    return;
  if (!is_of_sizes(b->extent[d]))
    fail(v, "the extent of a tensor that boxes are copied of depends on more than sizes");
  if (d ? b->stride[d] < 1 || b->stride[d] * size % NEO_COPY_BYTES : b->stride[d] != 1)
    fail(v, "elements %lld apart are not side by side, or no multiple of 16 bytes",
         (long long)b->stride[d]);
  if (b->count[d] < 1 || b->count[d] > NEO_BOX_MOST)
    fail(v, "a box has 1 to %d elements along an axis, not %lld", NEO_BOX_MOST,
         (long long)b->count[d]);
}

static void check_phase(verifier *v, uint32_t buf, const neo_lx *phase) {
  if (v->failed)
    return;
  if (!v->threads || v->in_threads)
    fail(v, "boxes are copied for the threads of a block, outside of loops of threads");
  else if (buf >= v->k->bufs.n || !(v->k->bufs.at[buf].use & NEO_BUF_SCRATCH) ||
           v->k->bufs.at[buf].type != NEO_I64_T)
    fail(v, "phases are scratch of i64");
  check_typed(v, phase, NEO_I64_T, "a phase");
}

static void check_bulk(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->bufs.n || s->factor[0] >= v->k->bufs.n || s->n_index != 2) {
    fail(v, "there is no buffer %u, or no buffer %u", s->attr, s->factor[0]);
    return;
  }
  const neo_kbuf *to = &v->k->bufs.at[s->attr], *from = &v->k->bufs.at[s->factor[0]];
  const neo_box *b = s->box;
  int64_t size = neo_type_bytes((neo_type)to->type);
  check_phase(v, s->factor[1], s->index[1]);
  check_typed(v, s->index[0], NEO_I64_T, "an offset");
  if (!(to->use & NEO_BUF_SCRATCH) || !to->align || to->align % NEO_WARPGROUP_ALIGN_BYTES)
    fail(v, "%s is no scratch from a multiple of %d bytes on", to->name, NEO_WARPGROUP_ALIGN_BYTES);
  if (from->use != NEO_BUF_READ || from->type != to->type)
    fail(v, "%s is not only read, or of another type than %s", from->name, to->name);
  if (b->rank < 2 || b->rank > NEO_BOX_RANK || b->count[0] * size != NEO_BOX_LINE_BYTES)
    fail(v, "a box has two to five axes, %d bytes along the first", NEO_BOX_LINE_BYTES);
  for (uint32_t d = 0; d < b->rank && !v->failed; d++)
    check_axis(v, b, d, size);
}

static void check_turn(verifier *v, const neo_ls *s) {
  check_phase(v, s->attr, s->index[0]);
  if (s->kind == NEO_LS_REACH)
    check_typed(v, s->value, NEO_I64_T, "a turn");
  else if (!v->failed && s->step < 1)
    fail(v, "a turn of a phase has bytes to come");
}

static void check_groups(verifier *v, const neo_ls *s) {
  if (!v->threads || v->in_threads)
    fail(v, "groups of copies are of a block's threads, outside of loops of threads");
  if (s->kind == NEO_LS_WAIT && (s->step < 0 || s->step > NEO_COPY_GROUPS))
    fail(v, "%lld groups of copies under way are not in 0..%d", (long long)s->step,
         NEO_COPY_GROUPS);
}

/* Between registers of the same elements for each thread, in parts of a warp. */
static void check_shuffle(verifier *v, const neo_ls *s) {
  uint32_t to = s->attr, from = s->factor[0], of = s->factor[1];
  if (to >= v->k->regs.n || from >= v->k->regs.n || !v->declared[to] || !v->declared[from]) {
    fail(v, "a register of a shuffle is used outside its block");
    return;
  }
  const neo_reg *x = &v->k->regs.at[to], *y = &v->k->regs.at[from];
  if (!v->threads || v->in_threads)
    fail(v, "threads of a block shuffle outside of loops of threads");
  if (!x->threads || !y->threads || x->type != y->type || x->rank != y->rank ||
      memcmp(x->extent, y->extent, sizeof x->extent) != 0)
    fail(v, "registers %s and %s have not the same elements for each thread", x->name, y->name);
  bool power = of && !(of & (of - 1)) && s->step > 0 && !(s->step & (s->step - 1));
  if (!power || of > NEO_WARP || s->step > of || v->threads % of)
    fail(v, "a shuffle of %lld of %u threads is no part of a warp", (long long)s->step, of);
}

static void check_fetch(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->bufs.n)
    fail(v, "there is no buffer %u", s->attr);
  check_typed(v, s->index[0], NEO_I64_T, "an offset");
}

static void check_statement(verifier *v, const neo_ls *s) {
  v->statement++;
  switch ((neo_ls_kind)s->kind) {
  case NEO_LS_FOR:
    check_for(v, s);
    break;
  case NEO_LS_IF:
    check_typed(v, s->cond, NEO_BOOL_T, "a condition");
    check_block(v, &s->body);
    check_block(v, &s->other);
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
  case NEO_LS_FETCH:
    check_fetch(v, s);
    break;
  case NEO_LS_WARP:
    check_warp(v, s);
    break;
  case NEO_LS_WARPGROUP:
    check_warpgroup(v, s);
    break;
  case NEO_LS_AWAIT:
    check_await(v, s);
    break;
  case NEO_LS_SHUFFLE:
    check_shuffle(v, s);
    break;
  case NEO_LS_TILE:
    check_tile(v, s);
    break;
  case NEO_LS_COPY:
    check_copy(v, s);
    break;
  case NEO_LS_BULK:
    check_bulk(v, s);
    break;
  case NEO_LS_EXPECT:
  case NEO_LS_REACH:
    check_turn(v, s);
    break;
  case NEO_LS_COMMIT:
  case NEO_LS_WAIT:
    check_groups(v, s);
    break;
  default:
    fail(v, "unknown statement %d", s->kind);
  }
}

/* A register lives to the end of the block that declares it. */
static void check_block(verifier *v, const neo_block *b) {
  for (size_t i = 0; i < b->n && !v->failed; i++)
    check_statement(v, b->at[i]);
  for (size_t i = 0; i < b->n; i++)
    if (b->at[i]->kind == NEO_LS_REG && b->at[i]->attr < v->k->regs.n)
      v->declared[b->at[i]->attr] = 0;
}

static void check_buffers(verifier *v) {
  bool scratch = false;
  for (size_t i = 0; i < v->k->bufs.n; i++) {
    const neo_kbuf *b = &v->k->bufs.at[i];
    bool is_scratch = b->use & NEO_BUF_SCRATCH;
    if (scratch && !is_scratch)
      fail(v, "buffer %s stands after a scratch buffer", b->name);
    if (b->type >= NEO_TYPE_COUNT || !b->use)
      fail(v, "buffer %s has no type or use", b->name);
    if (is_scratch && b->scratch_elems < 0)
      fail(v, "buffer %s has a bad size", b->name);
    if (b->stream && b->use != NEO_BUF_WRITE)
      fail(v, "buffer %s streams but is read", b->name);
    if (b->align < 0 || (b->align & (b->align - 1)))
      fail(v, "buffer %s has a bad alignment", b->name);
    scratch = scratch || is_scratch;
  }
}

neo_status neo_kernel_verify(const neo_kernel *k, neo_str *why) {
  verifier v = {.k = k, .why = why};
  v.seen = NEO_NEW_ARRAY(why->arena, uint32_t, k->nodes.n + 1);
  v.declared = NEO_NEW_ARRAY(why->arena, uint8_t, k->regs.n + 1);
  v.threads = neo_kernel_threads(k);
  check_buffers(&v);
  v.statement = 1;
  check_typed(&v, k->units, NEO_I64_T, "the number of units");
  check_block(&v, &k->body);
  return v.failed ? NEO_INTERNAL : NEO_OK;
}
