#include "tests/codegen/lower_test.h"
#include "base/random.h"
#include "codegen/llvm/emit.h"
#include "codegen/loop/protocol.h"
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "include/neo/neo_rt.h"
#include "ir/interp/interp.h"
#include "ir/order.h"
#include "ir/print.h"
#include "tests/draw/draw.h"
#include "tests/effort.h"
#include "tests/random/gen.h"
#include "transform/transform.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  neo_arena *a;
  neo_module *m;
  const lower_options *o;
  neo_interp *interp;
  int64_t *sizes; /* by id */
  uint64_t seed;
  neo_str *why;
  int n_bad;
} checker;

static uint64_t next(uint64_t *seed) {
  return neo_splitmix(seed);
}

/* Value of a size expression: the reference interpreter is asked by a definition of its own
 * elsewhere; extents are plain. */
static int64_t size_value(checker *c, neo_expr e) {
  int64_t x;
  const neo_node *n = neo_expr_node(c->m, e);
  if (neo_expr_is_int(c->m, e, &x))
    return x;
  if (n->op == NEO_OP_SIZE) {
    const neo_size_rec *r = neo_size_at(c->m, (neo_size){n->attr});
    return r->kind == NEO_SIZE_DERIVED ? size_value(c, r->value) : c->sizes[n->attr];
  }
  neo_value v[4];
  for (uint32_t k = 0; k < n->arg.n; k++)
    v[k].i = size_value(c, neo_list_expr(c->m, n->arg, k));
  return neo_value_op((neo_op)n->op, NEO_I64_T, NEO_I64_T, v).i;
}

static void fill_tensor(checker *c, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(c->m, t);
  neo_values *v = neo_interp_tensor(c->interp, t);
  int64_t bound = r->bound.i ? size_value(c, r->bound) : 0;
  for (int64_t k = 0; k < v->n; k++) {
    uint64_t x = next(&c->seed);
    if (neo_type_is_float((neo_type)r->type))
      v->at[k].f = neo_value_round((neo_type)r->type, (double)(x % 2001) / 1000.0 - 1);
    else
      v->at[k].i =
          r->type == NEO_BOOL_T ? (int64_t)(x & 1) : (int64_t)(x % (uint64_t)(bound ? bound : 7));
  }
  v->known = true;
}

/* ---- running a kernel */

typedef struct {
  neo_value **buf;
  int64_t *n;
} memory;

/* The value of elements that were never stored: never the right one. */
static neo_value unwritten(neo_type t, neo_value right) {
  if (neo_type_is_float(t))
    return (neo_value){.f = 768};
  return (neo_value){.i = right.i ^ 1};
}

static memory memory_new(checker *c, const neo_group *g, const neo_kernel *k) {
  memory y = {NEO_NEW_ARRAY(c->a, neo_value *, k->bufs.n + 1),
              NEO_NEW_ARRAY(c->a, int64_t, k->bufs.n + 1)};
  for (size_t b = 0; b < k->bufs.n; b++) {
    const neo_kbuf *r = &k->bufs.at[b];
    neo_values *v = r->tensor.i ? neo_interp_tensor(c->interp, r->tensor) : NULL;
    int64_t shift = v && r->shift > v->n ? v->n : r->shift; /* where nothing is read or written */
    const neo_value *at = v ? v->at + shift : NULL;
    y.n[b] = v ? v->n - shift : r->scratch_elems;
    y.buf[b] = NEO_NEW_ARRAY(c->a, neo_value, y.n[b] + 1);
    bool root = false; /* a result that is read again: what lies there at first is nobody's */
    for (size_t i = 0; i < g->roots.n; i++)
      root = root || g->roots.at[i].i == r->tensor.i;
    if (v && r->use & NEO_BUF_READ && !root)
      memcpy(y.buf[b], at, (size_t)y.n[b] * sizeof *at);
    else
      for (int64_t i = 0; i < y.n[b]; i++)
        y.buf[b][i] = unwritten((neo_type)r->type, v ? at[i] : (neo_value){.i = 0});
  }
  return y;
}

static void report(checker *c, const neo_group *g, const neo_schedule *s, const neo_kernel *k,
                   const char *what) {
  if (c->n_bad++)
    return;
  neo_str_addf(c->why, "group %s: %s\nschedule ", g->name, what);
  neo_schedule_print(s, c->why);
  neo_str_add(c->why, "\n");
  for (size_t i = 0; i < g->members.n; i++)
    neo_def_print(c->m, g->members.at[i].def, c->why);
  neo_str_add(c->why, "\n");
  if (k)
    neo_kernel_print(k, c->why);
}

/* Elements that the group stores: those of its pieces. */
static void compare(checker *c, const neo_group *g, const neo_schedule *s, const neo_kernel *k,
                    const memory *mem, const char *who) {
  for (size_t b = 0; b < k->bufs.n; b++) {
    const neo_kbuf *r = &k->bufs.at[b];
    if (!r->tensor.i || !(r->use & NEO_BUF_WRITE))
      continue;
    neo_values *v = neo_interp_tensor(c->interp, r->tensor);
    const double *error = neo_interp_errors(c->interp, r->tensor);
    bool pieces = neo_tensor_at(c->m, r->tensor)->pieces.n > 1;
    bool partial = neo_tensor_at(c->m, r->tensor)->partial; /* not needed: 0 in the reference */
    for (int64_t i = r->shift; i < v->n; i++) {
      neo_value y = mem->buf[b][i - r->shift];
      neo_value before = unwritten((neo_type)r->type, v->at[i]);
      bool untouched = neo_type_is_float((neo_type)r->type) ? y.f == before.f : y.i == before.i;
      if (neo_gen_same((neo_type)r->type, v->at[i], error ? error[i] : 0, y) ||
          (untouched && (pieces || (partial && v->at[i].i == 0))))
        continue;
      char *text =
          neo_arena_printf(c->a, "%s: %s[%lld] is %.9g (%lld), expected %.9g (%lld)", who, r->name,
                           (long long)i, y.f, (long long)y.i, v->at[i].f, (long long)v->at[i].i);
      report(c, g, s, k, text);
      return;
    }
  }
}

static void key_of(const checker *c, uint64_t key[3]) {
  key[0] = c->o->seed;
  key[1] = 0;
  key[2] = 0;
}

/* Units in pieces, last first: they are independent. */
static int64_t split(int64_t units, int part, int64_t *hi) {
  int64_t mid = units / 3;
  *hi = part == 0 ? units : mid;
  return part == 0 ? mid : 0;
}

static void run_interp(checker *c, const neo_group *g, const neo_schedule *s, const neo_kernel *k) {
  memory mem = memory_new(c, g, k);
  neo_str why;
  neo_str_init(&why, c->a);
  int64_t units = neo_kernel_units(k, c->sizes + 1);
  for (int part = 0; part < 2; part++) {
    neo_kernel_run run = {.bufs = mem.buf, .n_elems = mem.n, .sizes = c->sizes + 1};
    key_of(c, run.key);
    run.lo = split(units, part, &run.hi);
    run.seed = c->o->gpu ? next(&c->seed) | 1 : 0;
    if (neo_kernel_interp(k, &run, &why) != NEO_OK) {
      report(c, g, s, k, neo_str_text(&why));
      return;
    }
  }
  compare(c, g, s, k, &mem, "loop interpreter");
}

/* Buffers as machine code sees them, each ending at unmapped memory would be best; here with a
 * guard band. */
static void run_native(checker *c, const neo_group *g, const neo_schedule *s, const neo_kernel *k,
                       neo_rt_fn *fn) {
  memory mem = memory_new(c, g, k);
  void **raw = NEO_NEW_ARRAY(c->a, void *, k->bufs.n + 1);
  for (size_t b = 0; b < k->bufs.n; b++) {
    size_t size = neo_type_bytes((neo_type)k->bufs.at[b].type);
    char *p = neo_arena_alloc(c->a, (size_t)mem.n[b] * size + 192);
    memset(p, 0x5a, (size_t)mem.n[b] * size + 192);
    raw[b] = p + 64;
    for (int64_t i = 0; i < mem.n[b]; i++)
      neo_value_write((neo_type)k->bufs.at[b].type, mem.buf[b][i], p + 64 + (size_t)i * size);
  }
  uint64_t key[3];
  key_of(c, key);
  size_t scratch_bytes = (size_t)neo_kernel_scratch_bytes(k) + 64;
  void *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
  memset(scratch, 0x7f, scratch_bytes);
  int64_t units = neo_kernel_units(k, c->sizes + 1);
  for (int part = 0; part < 2; part++) {
    neo_rt_args args = {.buf = raw, .size = c->sizes + 1, .key = key, .scratch = scratch};
    args.lo = split(units, part, &args.hi);
    fn(&args);
  }
  free(scratch);
  for (size_t b = 0; b < k->bufs.n; b++) {
    size_t size = neo_type_bytes((neo_type)k->bufs.at[b].type);
    if (!k->bufs.at[b].tensor.i)
      continue;
    for (int64_t i = 0; i < mem.n[b]; i++)
      mem.buf[b][i] =
          neo_value_read((neo_type)k->bufs.at[b].type, (char *)raw[b] + (size_t)i * size);
    const unsigned char *end = (unsigned char *)raw[b] + (size_t)mem.n[b] * size;
    for (int i = 0; i < 64; i++)
      if (end[i] != 0x5a || ((unsigned char *)raw[b])[i - 64] != 0x5a) {
        report(c, g, s, k, "machine code writes outside a buffer");
        return;
      }
  }
  compare(c, g, s, k, &mem, "machine code");
}

/* ---- schedules and groups */

typedef struct {
  const neo_group *g;
  neo_schedule s;
  neo_kernel *k;
  char *symbol;
} compiled;

typedef struct {
  NEO_VEC(compiled) at;
} compiled_list;

static void check_schedule(checker *c, const neo_group *g, const neo_machine *machine,
                           const neo_schedule *s, compiled_list *list) {
  neo_str why;
  neo_str_init(&why, c->a);
  neo_kernel *k = NULL;
  if (!neo_schedule_legal(c->m, g, machine, s, &why))
    report(c, g, s, NULL, neo_arena_printf(c->a, "not legal: %s", neo_str_text(&why)));
  else if (neo_lower(c->m, g, s, machine, c->a, &k, &why) != NEO_OK ||
           neo_kernel_verify(k, &why) != NEO_OK || neo_kernel_check_protocol(k, &why) != NEO_OK)
    report(c, g, s, k, neo_str_text(&why));
  else if (machine->gpu && neo_kernel_scratch_bytes(k) > machine->shared_bytes)
    report(c, g, s, k, "a block has more shared memory than there is");
  else {
    run_interp(c, g, s, k);
    if (c->o->tiled)
      *c->o->tiled +=
          c->o->gpu ? s->strategy == NEO_STRATEGY_GPU_TILE || s->strategy == NEO_STRATEGY_GPU_NESTED
                    : neo_kernel_has(k, NEO_LS_TILE) || neo_kernel_has_dots(k);
    if (c->o->by_warps)
      *c->o->by_warps += s->block.products || s->nested.products;
    if (c->o->kept)
      *c->o->kept += s->loops.stash || s->rows.stash;
    if (c->o->wide)
      *c->o->wide += s->loops.vector_width > 1 || s->rows.vector_width > 1;
    if (c->o->staged)
      *c->o->staged += s->block.stages > 0 || s->nested.stages > 0;
    if (c->o->warps)
      *c->o->warps += s->block.products || s->nested.products;
    compiled x = {g, *s, k, neo_arena_printf(c->a, "k%zu", list->at.n)};
    NEO_PUSH(c->a, &list->at, x);
  }
}

static void check_group(checker *c, const neo_group *g, const neo_machine *machine,
                        compiled_list *list) {
  neo_schedule s = neo_schedule_plain(), parsed;
  check_schedule(c, g, machine, &s, list);
  s = neo_schedule_default(c->m, g, machine);
  check_schedule(c, g, machine, &s, list);
  for (int k = 0; k < neo_test_draws(c->o->n_random); k++) {
    neo_str text;
    neo_str_init(&text, c->a);
    s = neo_schedule_random(c->m, g, machine, &c->seed);
    neo_schedule_print(&s, &text);
    if (!neo_schedule_parse(neo_str_text(&text), &parsed) || memcmp(&s, &parsed, sizeof s) != 0)
      report(c, g, &s, NULL, "print and parse differ");
    check_schedule(c, g, machine, &s, list);
  }
}

static void check_native(checker *c, const neo_target *target, compiled_list *list) {
  neo_llvm *llvm;
  const char *why = "";
  if (neo_llvm_new(c->a, target, "test", &llvm, &why) != NEO_OK) {
    fail_msg("%s", why);
    return;
  }
  for (size_t k = 0; k < list->at.n; k++) {
    compiled *x = &list->at.at[k];
    if (neo_llvm_kernel(llvm, x->k, x->symbol, &why) != NEO_OK)
      report(c, x->g, &x->s, x->k, why);
  }
  if (neo_llvm_finish(llvm, &why) != NEO_OK)
    fail_msg("%s", why);
  for (size_t k = 0; k < list->at.n; k++) {
    compiled *x = &list->at.at[k];
    void *p = neo_llvm_jit(llvm, x->symbol, &why);
    neo_rt_fn *fn;
    memcpy(&fn, &p, sizeof p);
    if (p)
      run_native(c, x->g, &x->s, x->k, fn);
    else
      report(c, x->g, &x->s, x->k, why);
  }
  neo_llvm_free(llvm);
}

static void draw_sizes(checker *c) {
  c->sizes = NEO_NEW_ARRAY(c->a, int64_t, c->m->sizes.n + 1);
  for (uint32_t k = 1; k < c->m->sizes.n; k++) {
    const neo_size_rec *r = &c->m->sizes.at[k];
    int64_t hi = r->hi < r->lo + 40 ? r->hi : r->lo + 40;
    c->sizes[k] = c->o->sizes ? c->o->sizes[k]
                              : r->lo + (int64_t)(next(&c->seed) % (uint64_t)(hi - r->lo + 1));
  }
  for (uint32_t k = 1; k < c->m->sizes.n; k++)
    if (c->m->sizes.at[k].kind == NEO_SIZE_DERIVED)
      c->sizes[k] = size_value(c, c->m->sizes.at[k].value);
}

static bool evaluate(checker *c) {
  NEO_VEC(neo_tensor) roots = {0};
  c->interp = c->o->interp ? c->o->interp : neo_interp_new(c->a, c->m, c->sizes, c->o->seed);
  neo_interp_track_errors(c->interp, true);
  for (uint32_t k = 1; k < c->m->tensors.n; k++) {
    const neo_tensor_rec *r = &c->m->tensors.at[k];
    neo_tensor t = {k};
    if (c->o->interp)
      ;
    else if (r->role == NEO_ROLE_INPUT || (r->role != NEO_ROLE_CONST && !r->init.i && !r->pieces.n))
      fill_tensor(c, t);
    if (r->pieces.n)
      NEO_PUSH(c->a, &roots, t);
  }
  neo_str why;
  neo_str_init(&why, c->a);
  if (neo_interp_eval(c->interp, roots.at, roots.n, false, &why) == NEO_OK)
    return true;
  neo_str_add(c->why, neo_str_text(&why));
  return false;
}

/* Without entries everything that is defined is wanted. */
static void add_entry(neo_arena *a, neo_module *m) {
  NEO_VEC(uint32_t) all = {0}, names = {0};
  for (uint32_t k = 1; k < m->tensors.n; k++)
    if (m->tensors.at[k].pieces.n) {
      NEO_PUSH(a, &all, k);
      NEO_PUSH(a, &names, m->tensors.at[k].name);
    }
  neo_entry_rec e = {.kind = NEO_ENTRY_FORWARD, .name = neo_name_of(m->names, "forward")};
  e.outputs = neo_list_new(m, all.at, all.n);
  e.names = neo_list_new(m, names.at, names.n);
  NEO_PUSH(a, &m->entries, e);
}

int lower_check_module(neo_arena *a, neo_module *m, const lower_options *o, neo_str *why) {
  checker c = {.a = a, .m = m, .o = o, .seed = o->seed, .why = why};
  const char *problem = "";
  neo_target target;
  neo_grouping groups;
  compiled_list list = {0};
  if (!m->entries.n)
    add_entry(a, m);
  draw_sizes(&c);
  if (!evaluate(&c))
    return 1;
  if (neo_target_choose(a, o->gpu ? "nvptx:sm_90a" : NULL, o->mcpu, &target, &problem) != NEO_OK) {
    neo_str_add(why, problem);
    return 1;
  }
  neo_machine machine = neo_target_machine(&target);
  if (neo_fuse_with(m, a, &o->fusion, &groups, NULL) != NEO_OK)
    return 1;
  for (size_t k = 0; k < groups.groups.n; k++)
    check_group(&c, &groups.groups.at[k], &machine, &list);
  if (o->jit && !o->gpu && !c.n_bad)
    check_native(&c, &target, &list);
  return c.n_bad;
}

void lower_check(const char *text, const lower_options *o) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_names *names = neo_names_new(&a);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s", text);
  neo_module *m = neo_module_parse(&a, names, d, "test", whole, strlen(whole));
  if (!m) {
    neo_str s;
    neo_str_init(&s, &a);
    neo_diags_print(d, &s, false);
    fail_msg("%s", neo_str_text(&s));
  }
  neo_str why;
  neo_str_init(&why, &a);
  if (neo_module_check(m, &why) != NEO_OK)
    fail_msg("%s", neo_str_text(&why));
  m->math = o->narrow ? NEO_PRECISION_BF16 : o->split ? NEO_PRECISION_3XTF32 : m->math;
  if (o->narrow && neo_pass_call(m, &(neo_pass_target){0}, neo_pass_mixed_precision) != NEO_OK)
    fail();
  if (lower_check_module(&a, m, o, &why)) {
    fprintf(stderr, "%s\n", neo_str_text(&why)); /* cmocka cuts */
    fail();
  }
  neo_arena_free(&a);
}
