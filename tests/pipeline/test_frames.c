/* Memory at the sizes of a call. One context takes calls of sizes that grow and shrink; beside
 * it are one whose frames have the offsets of the largest sizes, as an arena of the caller's
 * once had, and for each call a new one. All give the same bits. What a context allocates ends
 * at a page that nobody may touch, and holds NaN before each call: a buffer that is too short,
 * or is read where nothing was written, is seen. */
#define _GNU_SOURCE /* mmap */
#include "runtime/context.h"
#include "runtime/model.h"
#include "tests/effort.h"
#include "tests/pick.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/gen.h"
#include "tests/random/seeds.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory that ends at a guard */

enum { PAGE = 4096, MOST_BLOCKS = 256 };
typedef struct {
  char *map, *at;
  size_t map_bytes, bytes;
} block;
typedef struct {
  block block[MOST_BLOCKS];
  size_t n, now, most; /* bytes */
  int taken;           /* blocks, so far */
  size_t limit;        /* larger ones are refused; 0: none is */
} guarded;

static block *block_of(guarded *g, const void *p) {
  for (size_t k = 0; k < g->n; k++)
    if (g->block[k].at == p)
      return &g->block[k];
  fail_msg("freed what was not allocated");
  return NULL;
}

static void *guarded_resize(void *ctx, void *p, size_t n) {
  guarded *g = ctx;
  if (p) {
    block *b = block_of(g, p);
    assert_int_equal(n, 0); /* nothing of the runtime's that is tested here grows in place */
    g->now -= b->bytes;
    munmap(b->map, b->map_bytes);
    *b = g->block[--g->n];
    return NULL;
  }
  if (!n || (g->limit && n > g->limit))
    return NULL;
  size_t pages = (n + PAGE - 1) / PAGE * PAGE;
  assert_true(g->n < MOST_BLOCKS);
  char *map = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(map != MAP_FAILED);
  assert_int_equal(mprotect(map + pages, PAGE, PROT_NONE), 0);
  g->block[g->n++] = (block){map, map + pages - n, pages + PAGE, n};
  g->now += n;
  g->most = g->now > g->most ? g->now : g->most;
  g->taken++;
  return map + pages - n;
}

/* ---- a program and its contexts */

typedef struct {
  plan_world w;
  neo_rt_model fixed; /* without places: offsets are those of the largest sizes */
  guarded memory, fixed_memory;
  neo_rt_ctx *ctx, *fixed_ctx;
  bool host;
} frames;

static neo_rt_ctx *create(frames *f, const neo_rt_model *m, guarded *g) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = f->w.threads, .seed = 7};
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  if (g && f->host)
    env.alloc = (neo_alloc){.resize = guarded_resize, .ctx = g};
  neo_rt_ctx *c = NULL;
  if (neo_rti_create(m, &config, &env, &c))
    fail_msg("%s", c ? neo_rt_error(c) : "no context");
  return c;
}

static void begin(frames *f, kernel_kind kind) {
  world_compile(&f->w, kind, NULL);
  neo_rt_model *m = &f->w.model;
  f->host = kind != KERNELS_EMULATED;
  f->fixed = *m;
  neo_rt_entry *e = neo_arena_copy(&f->w.c.arena, m->entries, (size_t)m->n_entries * sizeof *e);
  for (int32_t k = 0; k < m->n_entries; k++)
    e[k].n_places = 0;
  f->fixed.entries = e;
  f->ctx = create(f, m, &f->memory);
  f->fixed_ctx = create(f, &f->fixed, &f->fixed_memory);
}

static void open_world(frames *f) {
  static const char *const imports[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};
  *f = (frames){0};
  world_open(&f->w);
  f->w.c.options.import_paths = imports;
}

static void open_text(frames *f, const char *text, kernel_kind kind) {
  open_world(f);
  f->w.c.options.every_grid = kind == KERNELS_EMULATED;
  if (kind == KERNELS_EMULATED)
    f->w.c.options.target = "nvptx:sm_90a+host";
  world_source(&f->w, text);
  begin(f, kind);
}

static void open_model(frames *f, const char *name) {
  open_world(f);
  f->w.c.options.path =
      neo_arena_printf(&f->w.c.arena, NEO_TEST_SOURCE_DIR "/models/%s.expr", name);
  if (neo_compile_front(&f->w.c))
    fail_msg("%s: %s", name, f->w.c.why ? f->w.c.why : "errors");
  begin(f, KERNELS_COMPILED);
}

static void close_frames(frames *f) {
  neo_rt_destroy(f->ctx);
  neo_rt_destroy(f->fixed_ctx);
  if (f->host) {
    assert_int_equal(f->memory.n, 0);
    assert_int_equal(f->fixed_memory.n, 0);
  }
  world_close(&f->w);
}

/* ---- calls */

typedef struct {
  void **args;
  size_t *bytes;
  int32_t n, n_inputs;
} call;

static int64_t *ids_of(frames *f, const int64_t *by_number) {
  neo_module *m = f->w.c.module;
  int64_t *by_id = NEO_NEW_ARRAY(&f->w.c.arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    by_id[k] = m->sizes.at[k].loop_index ? m->sizes.at[k].hi
                                         : by_number[neo_size_number(m, (neo_size){k})];
  for (uint32_t k = 1; k < m->sizes.n; k++) /* over sizes before it */
    if (m->sizes.at[k].kind == NEO_SIZE_DERIVED)
      by_id[k] = neo_size_value(m, m->sizes.at[k].value, by_id);
  return by_id;
}

/* Inputs that are right at these sizes; outputs in which nothing is written. */
static call call_new(frames *f, const neo_rt_entry *e, const int64_t *by_number) {
  const neo_rt_model *m = &f->w.model;
  neo_module *module = f->w.c.module;
  int64_t *by_id = ids_of(f, by_number);
  neo_gen_program g = {.m = module, .seed = 5, .sizes = by_id};
  call x = {calloc((size_t)e->n_args + 1, sizeof(void *)),
            calloc((size_t)e->n_args + 1, sizeof(size_t)), e->n_args, e->n_inputs};
  for (int32_t i = 0; i < e->n_args; i++) {
    const neo_rt_tensor *t = &m->tensors[m->entry_args[e->args + i]];
    int64_t extent[16], n = neo_rti_extents(m, t, by_number, extent);
    neo_type type = (neo_type)t->type;
    x.bytes[i] = (size_t)n * neo_type_bytes(type);
    x.args[i] = calloc((size_t)n + 1, 8);
    neo_tensor in = i < e->n_inputs ? neo_tensor_find(module, t->name) : (neo_tensor){0};
    for (int64_t k = 0; k < n && in.i; k++)
      neo_value_write(type, neo_gen_element(&g, in, (uint64_t)k),
                      (char *)x.args[i] + (size_t)k * neo_type_bytes(type));
  }
  return x;
}

static void call_free(call *x) {
  for (int32_t i = 0; i < x->n; i++)
    free(x->args[i]);
  free(x->args);
  free(x->bytes);
}

static void spoil(frames *f, neo_rt_ctx *c) {
  size_t n;
  void *p = neo_rti_work(c, &n);
  if (f->host && p)
    memset(p, 0xff, n);
}

static neo_rt_status run(frames *f, neo_rt_ctx *c, int32_t entry, const int64_t *sizes, call *x,
                         uint64_t nulls) {
  void **args = calloc((size_t)x->n + 1, sizeof *args);
  for (int32_t i = 0; i < x->n; i++)
    args[i] = i >= x->n_inputs && nulls >> (i - x->n_inputs) & 1 ? NULL : x->args[i];
  spoil(f, c);
  neo_rt_status s = neo_rt_call(c, entry, sizes, args);
  free(args);
  return s;
}

/* Checks that the persistent tensors of two contexts have the same bits. `copy`: copies a's to b
 * first. */
static void same_stores(frames *f, neo_rt_ctx *a, neo_rt_ctx *b, bool copy) {
  const neo_rt_model *m = &f->w.model;
  for (int32_t t = 0; t < m->n_tensors; t++) {
    if (!neo_rti_tensor_persists(&m->tensors[t]))
      continue;
    size_t n = neo_rti_tensor_bytes(m, &m->tensors[t], NULL);
    char *p = malloc(n + 1), *q = malloc(n + 1);
    assert_int_equal(neo_rt_get(a, t, p, n), NEO_OK);
    if (copy)
      assert_int_equal(neo_rt_set(b, t, p, n), NEO_OK);
    assert_int_equal(neo_rt_get(b, t, q, n), NEO_OK);
    if (memcmp(p, q, n) != 0)
      fail_msg("%s differs", m->tensors[t].name);
    free(p);
    free(q);
  }
}

static void same_outputs(const frames *f, const neo_rt_entry *e, const call *a, const call *b,
                         uint64_t nulls) {
  const neo_rt_model *m = &f->w.model;
  for (int32_t i = e->n_inputs; i < e->n_args; i++)
    if (!(nulls >> (i - e->n_inputs) & 1) && memcmp(a->args[i], b->args[i], a->bytes[i]) != 0)
      fail_msg("%s of %s differs", m->tensors[m->entry_args[e->args + i]].name, e->name);
}

/* ---- lives, by the plan and the shapes alone */

/* The bytes of a tensor of the frame in a call: [from, to). */
static void find_span(frames *f, const neo_plan_place *x, const neo_rti_place *place,
                      const int64_t *by_id, int64_t *from, int64_t *to) {
  const neo_rt_model *m = &f->w.model;
  const neo_rt_entry *e = &m->entries[x->entry];
  const neo_rt_buf *b = &m->bufs[x->buf];
  int64_t n = neo_tensor_elements_at(f->w.c.module, x->tensor, by_id, NULL);
  n = n < 0 ? 0 : n;
  *from = e->n_places && b->place ? place[b->place - 1 - e->places].at : b->offset;
  *to = *from + n * neo_type_bytes((neo_type)neo_tensor_at(f->w.c.module, x->tensor)->type);
}

static void expect_apart(frames *f, int32_t entry, const int64_t *by_number) {
  const neo_plan *p = f->w.c.plan;
  const neo_rt_entry *e = &f->w.model.entries[entry];
  neo_rti_place *place = calloc((size_t)e->n_places + 1, sizeof *place);
  int64_t *by_id = ids_of(f, by_number), a, a_end, b, b_end;
  int64_t top = neo_rti_frame_stack(&f->w.model, e, by_number, place);
  for (size_t i = 0; i < p->places.n; i++) {
    const neo_plan_place *x = &p->places.at[i];
    if (x->entry != entry)
      continue;
    find_span(f, x, place, by_id, &a, &a_end);
    assert_true(a == a_end || (a >= 0 && a_end <= top && top <= e->frame_bytes));
    for (size_t k = 0; k < i; k++) {
      const neo_plan_place *y = &p->places.at[k];
      if (y->entry != entry || y->first > x->last || x->first > y->last)
        continue;
      find_span(f, y, place, by_id, &b, &b_end);
      if (a < b_end && b < a_end && a < a_end && b < b_end)
        fail_msg("%s and %s overlap",
                 neo_name_text(f->w.c.names, neo_tensor_at(f->w.c.module, x->tensor)->name),
                 neo_name_text(f->w.c.names, neo_tensor_at(f->w.c.module, y->tensor)->name));
    }
  }
  free(place);
}

/* One call of all contexts; sizes: by number. False: the sizes are not allowed. */
static bool check_call(frames *f, int32_t entry, const int64_t *by_number, uint64_t nulls) {
  const neo_rt_model *m = &f->w.model;
  const neo_rt_entry *e = &m->entries[entry];
  int64_t sizes[NEO_RT_MOST_SIZES];
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = by_number[m->entry_sizes[e->sizes + k]];
  call x = call_new(f, e, by_number), y = call_new(f, e, by_number), z = call_new(f, e, by_number);
  neo_rt_ctx *fresh = create(f, m, NULL);
  same_stores(f, f->ctx, fresh, true);
  neo_rti_copy_position(f->ctx, fresh);
  neo_rt_status s = run(f, f->ctx, entry, sizes, &x, nulls);
  assert_int_equal(run(f, f->fixed_ctx, entry, sizes, &y, nulls), s);
  assert_int_equal(neo_rt_call(fresh, entry, sizes, z.args), s);
  if (s && s != NEO_SHAPE)
    fail_msg("%s: %s", e->name, neo_rt_error(f->ctx));
  if (!s) {
    same_outputs(f, e, &x, &y, nulls);
    same_outputs(f, e, &x, &z, nulls);
    same_stores(f, f->ctx, f->fixed_ctx, false);
    same_stores(f, f->ctx, fresh, false);
    assert_true(neo_rt_bytes(f->ctx) <= neo_rt_arena_size(m, f->w.threads));
    assert_true(neo_rt_frame_bytes(m, entry, sizes) <= e->frame_bytes);
  }
  neo_rt_destroy(fresh);
  call_free(&x);
  call_free(&y);
  call_free(&z);
  return s == NEO_OK;
}

/* The end, the middle or any other value of a size; sizes of loops are at their largest. */
static void draw_sizes(const neo_rt_model *m, uint64_t *seed, int64_t most, int64_t *by_number) {
  for (int32_t k = 0; k < m->n_sizes; k++) {
    int64_t lo = m->sizes[k].lo, hi = m->sizes[k].hi < most ? m->sizes[k].hi : most;
    const int64_t all[] = {lo,
                           hi,
                           lo < 1 && hi >= 1 ? 1 : lo,
                           lo + (hi - lo) / 2,
                           neo_pick(seed, lo, hi),
                           neo_pick(seed, lo, hi)};
    by_number[k] = all[neo_pick(seed, 0, 5)];
  }
  for (int32_t k = neo_rti_call_sizes(m); k < m->n_sizes; k++)
    by_number[k] = m->sizes[k].hi;
}

/* sizes that an entry does not take have their largest value */
static void keep_taken(const neo_rt_model *m, const neo_rt_entry *e, const int64_t *drawn,
                       int64_t *by_number) {
  for (int32_t k = 0; k < m->n_sizes; k++)
    by_number[k] = m->sizes[k].hi;
  for (int32_t k = 0; k < e->n_sizes; k++)
    by_number[m->entry_sizes[e->sizes + k]] = drawn[m->entry_sizes[e->sizes + k]];
}

static void check_draws(frames *f, int n, int64_t most, uint64_t seed) {
  const neo_rt_model *m = &f->w.model;
  int64_t drawn[NEO_RT_MOST_SIZES], by_number[NEO_RT_MOST_SIZES];
  int good = 0;
  for (int k = 0; k < n; k++) {
    draw_sizes(m, &seed, most, drawn);
    for (int32_t e = 0; e < m->n_entries; e++) {
      keep_taken(m, &m->entries[e], drawn, by_number);
      expect_apart(f, e, by_number);
      if (m->entries[e].kind != NEO_RT_ENTRY_INIT)
        good += check_call(f, e, by_number, neo_pick(&seed, 0, 3) ? 0 : neo_splitmix(&seed));
    }
  }
  assert_true(good > 0);
}

/* ---- programs */

#define ONE                                                                     \
  "import nn, optim\ndim 0 <= B <= 300\ninput X[B, 24]\ninput Y[B] : i32 < 5\n" \
  "h = nn.linear(X, out = 40)\ng[b, j] = tanh(h[b, j])\n"                       \
  "L = nn.linear(g, out = 5)\nP = nn.softmax(L)\n"                              \
  "loss = (sum[b] (0.0 - log(P[b, Y[b]] + 0.001))) / f32(B + 1)\n"              \
  "output P\noutput test: loss\ntrain loss using optim.adam(lr = 0.01)\n"
#define TWO                                                                         \
  "import nn\ndim 0 <= N <= 90\ndim M <= 70\ninput Q[N, 16]\ninput K[M, 16]\n"      \
  "input V[M, 8]\nS[n, m] = 0.25 * sum[d] Q[n, d]*K[m, d]\nA = nn.softmax(S)\n"     \
  "O[n, e] = sum[m] A[n, m]*V[m, e]\nr = repeat t < 5 from r[n < N, e < 8] = 0 {\n" \
  "  next r[n, e] = 0.5*r[n, e] + O[n, e]*(sum[m] K[m, e + 8])\n}\n"                \
  "T[m] = sum[n] A[n, m]\noutput O, r, T\n"
#define THREE                                                                           \
  "dim 0 <= A <= 40\ndim B <= 50\ndim 0 <= C <= 60\ninput X[A, B]\ninput Y[B, C]\n"     \
  "input Z[C, A]\nP[i, k] = sum[j] X[i, j]*Y[j, k]\nE[i, k] = exp(0.1*tanh(P[i, k]))\n" \
  "R[i, l] = sum[k] E[i, k]*Z[k, l]\nU[k] = sum[i] E[i, k]*R[i, i]\n"                   \
  "W[i] = sum[k] E[i, k]*U[k]\noutput R, U, W\n"
/* Extents that fall as sizes rise, remainders, the least and the largest of two. */
#define OTHER                                                                       \
  "dim 0 <= N <= 60\ndim 0 <= M <= 30\ninput X[60]\ninput Y[N]\ninput Z[M]\n"       \
  "a[i < 60 - N] = X[i + N]*X[i]\nb[i < N % 7, j < 9] = Y[i]*X[j]\n"                \
  "c[i < min(N, M)] = Y[i]*Z[i]\nd[i < max(N - M, 0)] = Y[i + M]\n"                 \
  "s = sum[i] a[i]*tanh(a[i])\nt[j] = sum[i] b[i, j]*tanh(b[i, j])\n"               \
  "u = sum[i] exp(0.1*c[i])\nv = sum[i] d[i]*tanh(d[i])\nw[i] = tanh(a[i])*u + s\n" \
  "x[i] = w[i] - (sum[k] w[k])\noutput s, t, u, v, x\n"

static void check_program(const char *text, kernel_kind kind, uint64_t n) {
  frames f;
  open_text(&f, text, kind);
  check_draws(&f, (int)neo_test_count(n), INT64_MAX, 3);
  close_frames(&f);
}

static void one_size_that_grows_and_shrinks_gives_the_bits_of_a_new_context(void **state) {
  (void)state;
  check_program(ONE, KERNELS_COMPILED, 40);
}

static void two_sizes_that_grow_and_shrink_give_the_bits_of_a_new_context(void **state) {
  (void)state;
  check_program(TWO, KERNELS_COMPILED, 40);
}

static void three_sizes_that_grow_and_shrink_give_the_bits_of_a_new_context(void **state) {
  (void)state;
  check_program(THREE, KERNELS_COMPILED, 40);
}

static void extents_that_do_not_grow_with_their_sizes_keep_within_the_plan(void **state) {
  (void)state;
  check_program(OTHER, KERNELS_COMPILED, 60);
}

/* Graphs of the driver, cooperative kernels and kernels side by side are with the offsets of a
 * call. */
static void a_gpu_gives_the_bits_of_a_new_context(void **state) {
  (void)state;
  static const char *const texts[] = {ONE, TWO, THREE, OTHER};
  if (NEO_TEST_SANITIZED) /* the stacks of emulated threads are not theirs */
    skip();
  for (int graphs = 0; graphs < 3; graphs++)
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      setenv("NEO_CUDA_GRAPHS", graphs == 0 ? "0" : graphs == 1 ? "1" : "2", 1);
      check_program(texts[k], KERNELS_EMULATED, 6);
    }
  unsetenv("NEO_CUDA_GRAPHS");
}

static void random_programs_give_the_bits_of_a_new_context(void **state) {
  (void)state;
  neo_seeds s = neo_seeds_of(1, 40);
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    frames f;
    neo_seeds_tell(&s, seed);
    open_world(&f);
    neo_gen_program g = neo_gen_make(&f.w.c.arena, seed, &neo_gen_plans);
    f.w.c.module = g.m;
    f.w.c.names = g.m->names;
    f.w.c.diags = g.m->diags;
    f.w.seed = seed;
    if (g.m->entries.n) {
      begin(&f, KERNELS_COMPILED);
      check_draws(&f, 4, INT64_MAX, seed);
      close_frames(&f);
    } else {
      world_close(&f.w);
    }
  }
}

static void models_of_the_zoo_give_the_bits_of_a_new_context(void **state) {
  (void)state;
  static const char *const names[] = {"zoo/mlp", "zoo/gotoh", "zoo/milstm_scan", "zoo/tagger"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    frames f;
    print_message("%s\n", names[k]);
    open_model(&f, names[k]);
    check_draws(&f, (int)neo_test_count(3), 12, k);
    close_frames(&f);
  }
}

/* ---- how much, how often */

#define WIDE                                                                           \
  "import nn, optim\ndim B <= 65536\ninput X[B, 64]\ninput Y[B] : i32 < 10\n"          \
  "h = nn.linear(X, out = 128)\ng[b, j] = relu(h[b, j])\nL = nn.linear(g, out = 10)\n" \
  "loss = nn.cross_entropy(L, Y)\noutput L\ntrain loss using optim.adam(lr = 0.01)\n"
#define DEEP                                                                           \
  "import nn\ndim B <= 65536\ninput X[B, 12, 16]\nh, c, d = nn.lstm(X, hidden = 24)\n" \
  "a = nn.softmax(h)\nL[b, t, j] = tanh(a[b, t, j])\ny[b, j] = sum[t] L[b, t, j]\n"    \
  "output y\n"

/* Bytes after a call of each entry at B = 48; fixed: the program is compiled for it. */
static int64_t bytes_at_48(const char *text, bool fixed) {
  static const neo_define_option define = {.name = "B", .value = 48};
  frames f;
  open_world(&f);
  f.w.c.options.defines = &define;
  f.w.c.options.n_defines = fixed;
  world_source(&f.w, text);
  begin(&f, KERNELS_COMPILED);
  int64_t by_number[NEO_RT_MOST_SIZES] = {48};
  for (int32_t k = fixed ? 0 : 1; k < f.w.model.n_sizes; k++)
    by_number[k] = f.w.model.sizes[k].hi;
  for (int32_t e = 0; e < f.w.model.n_entries; e++) {
    if (f.w.model.entries[e].kind == NEO_RT_ENTRY_INIT)
      continue;
    call x = call_new(&f, &f.w.model.entries[e], by_number);
    assert_int_equal(neo_rt_call(f.ctx, e, by_number, x.args), NEO_OK);
    call_free(&x);
  }
  int64_t bytes = neo_rt_bytes(f.ctx);
  assert_true((size_t)bytes <= f.memory.now);
  close_frames(&f);
  return bytes;
}

static void
a_small_batch_of_a_large_bound_takes_little_more_than_one_of_a_fixed_size(void **state) {
  (void)state;
  static const char *const texts[] = {WIDE, DEEP};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    int64_t free_size = bytes_at_48(texts[k], false), fixed = bytes_at_48(texts[k], true);
    print_message("%lld bytes, of a fixed size %lld\n", (long long)free_size, (long long)fixed);
    assert_true((double)free_size <= 1.3 * (double)fixed);
  }
}

static neo_rt_status call_at(frames *f, neo_rt_ctx *c, int32_t entry, int64_t size) {
  int64_t by_number[NEO_RT_MOST_SIZES] = {size};
  for (int32_t k = 1; k < f->w.model.n_sizes; k++)
    by_number[k] = f->w.model.sizes[k].hi;
  call x = call_new(f, &f->w.model.entries[entry], by_number);
  neo_rt_status s = neo_rt_call(c, entry, by_number, x.args);
  call_free(&x);
  return s;
}

static void calls_of_any_sizes_allocate_few_times(void **state) {
  (void)state;
  frames f;
  open_text(&f,
            "dim B <= 5000\ninput X[B]\nh[i] = tanh(X[i])\n"
            "y[i] = h[i]*(sum[j] h[j])\noutput y\n",
            KERNELS_COMPILED);
  uint64_t seed = 9;
  int32_t entry = neo_rt_find_entry(&f.w.model, "forward");
  float *x = calloc(5000, sizeof *x), *y = calloc(5000, sizeof *y);
  void *args[] = {x, y};
  /* growing sizes, so that the context's memory grows as often as it can */
  for (int k = 0; k < 100000; k++) {
    int64_t size = neo_pick(&seed, 1, 1 + 5000 * (int64_t)k / 100000);
    assert_int_equal(neo_rt_call(f.ctx, entry, &size, args), NEO_OK);
  }
  print_message("%d blocks\n", f.memory.taken);
  assert_true(f.memory.taken <= 40);
  free(x);
  free(y);
  close_frames(&f);
}

static void a_call_without_memory_fails_and_changes_nothing(void **state) {
  (void)state;
  frames f;
  open_text(&f, ONE, KERNELS_COMPILED);
  int32_t step = neo_rt_find_entry(&f.w.model, "step");
  assert_int_equal(call_at(&f, f.ctx, step, 20), NEO_OK);
  assert_int_equal(call_at(&f, f.fixed_ctx, step, 20), NEO_OK);
  f.memory.limit = 30000;
  assert_int_equal(call_at(&f, f.ctx, step, 300), NEO_MEMORY);
  assert_non_null(strstr(neo_rt_error(f.ctx), "out of memory: "));
  assert_int_equal(neo_rt_step_count(f.ctx), 1);
  same_stores(&f, f.ctx, f.fixed_ctx, false);
  for (int64_t size = 0; size <= 300; size += 20) {
    neo_rt_status s = call_at(&f, f.ctx, step, size);
    assert_true(s == NEO_OK || (s == NEO_MEMORY && size > 20));
    if (!s)
      assert_int_equal(call_at(&f, f.fixed_ctx, step, size), NEO_OK);
    same_stores(&f, f.ctx, f.fixed_ctx, false);
  }
  f.memory.limit = 0;
  assert_int_equal(call_at(&f, f.ctx, step, 300), NEO_OK);
  assert_int_equal(call_at(&f, f.fixed_ctx, step, 300), NEO_OK);
  same_stores(&f, f.ctx, f.fixed_ctx, false);
  close_frames(&f);
}

static void an_arena_of_the_callers_has_room_for_all_sizes(void **state) {
  (void)state;
  frames f;
  open_text(&f, ONE, KERNELS_COMPILED);
  guarded g = {0};
  size_t n = (size_t)neo_rt_arena_size(&f.w.model, 1);
  char *arena = guarded_resize(&g, NULL, n); /* n is a multiple of 64, as a page is */
  neo_rt_config config = {
      .struct_size = sizeof config, .threads = 1, .seed = 7, .arena = arena, .arena_bytes = n};
  guarded tables = {0};
  neo_rti_env env = {{.resize = guarded_resize, .ctx = &tables}, neo_io_default};
  neo_rt_ctx *c = NULL;
  assert_int_equal(neo_rti_create(&f.w.model, &config, &env, &c), NEO_OK);
  int taken = tables.taken;
  static const int64_t sizes[] = {0, 1, 300, 7, 150, 300, 0};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (int32_t e = 0; e < f.w.model.n_entries; e++) {
      if (f.w.model.entries[e].kind == NEO_RT_ENTRY_INIT)
        continue;
      assert_int_equal(call_at(&f, c, e, sizes[k]), NEO_OK);
      assert_int_equal(call_at(&f, f.fixed_ctx, e, sizes[k]), NEO_OK);
      same_stores(&f, c, f.fixed_ctx, false);
    }
  assert_int_equal(tables.taken, taken);
  assert_int_equal(neo_rt_bytes(c), (int64_t)n);
  neo_rt_destroy(c);
  (void)guarded_resize(&g, arena, 0);
  close_frames(&f);
}

int main(void) {
#define T(name) cmocka_unit_test(name)
  const struct CMUnitTest tests[] = {
      T(one_size_that_grows_and_shrinks_gives_the_bits_of_a_new_context),
      T(two_sizes_that_grow_and_shrink_give_the_bits_of_a_new_context),
      T(three_sizes_that_grow_and_shrink_give_the_bits_of_a_new_context),
      T(extents_that_do_not_grow_with_their_sizes_keep_within_the_plan),
      T(a_gpu_gives_the_bits_of_a_new_context),
      T(a_small_batch_of_a_large_bound_takes_little_more_than_one_of_a_fixed_size),
      T(calls_of_any_sizes_allocate_few_times),
      T(a_call_without_memory_fails_and_changes_nothing),
      T(an_arena_of_the_callers_has_room_for_all_sizes),
      T(random_programs_give_the_bits_of_a_new_context),
      T(models_of_the_zoo_give_the_bits_of_a_new_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
#undef T
}
