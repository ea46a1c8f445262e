/* Support of the kernel tests; see loop_support.h. */
#include "loop_support.h"
#include "base/random.h"
#include "loop_parse.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* cmocka wants the four headers above before it. */
#include <cmocka.h>

int loop_setup(void **state) {
  loop_fix *f = test_malloc(sizeof *f);
  neo_arena_init(&f->arena, neo_alloc_default, NULL);
  f->diags = neo_diags_new(&f->arena, neo_sources_new(&f->arena));
  *state = f;
  return 0;
}

int loop_teardown(void **state) {
  loop_fix *f = *state;
  neo_arena_free(&f->arena);
  test_free(f);
  return 0;
}

neo_kernel *loop_parse(loop_fix *f, const char *text) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_kernel *k = neo_kernel_parse(&f->arena, f->diags, "test", text, strlen(text));
  if (!k) {
    neo_diags_print(f->diags, &why, false);
    fail_msg("%s", neo_str_text(&why));
  }
  return k;
}

neo_kernel *loop_kernel(loop_fix *f, const char *text) {
  neo_kernel *k = loop_parse(f, text);
  neo_str why;
  neo_str_init(&why, &f->arena);
  if (neo_kernel_verify(k, &why))
    fail_msg("%s", neo_str_text(&why));
  return k;
}

const char *loop_text(loop_fix *f, const neo_kernel *k) {
  neo_str s;
  neo_str_init(&s, &f->arena);
  neo_kernel_print(k, &s);
  return neo_str_text(&s);
}

const char *const *loop_levels(void) {
#if defined(__x86_64__)
  static const char *const v4[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", NULL};
  static const char *const v3[] = {"x86-64-v2", "x86-64-v3", NULL};
  static const char *const v2[] = {"x86-64-v2", NULL};
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return v2;
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide ? v4 : v3;
#else
  static const char *const arm[] = {"generic", NULL};
  return arm;
#endif
}

neo_rt_fn *loop_compile(loop_fix *f, const neo_kernel *k, const char *mcpu, neo_llvm **out) {
  neo_target t;
  const char *why;
  if (neo_target_choose(&f->arena, NULL, mcpu, &t, &why))
    fail_msg("%s", why);
  if (neo_llvm_new(&f->arena, &t, "test", out, &why))
    fail_msg("%s", why);
  if (neo_llvm_kernel(*out, k, "test_kernel", &why))
    fail_msg("%s", why);
  if (neo_llvm_finish(*out, &why))
    fail_msg("%s", why);
  neo_rt_fn *fn = (neo_rt_fn *)(uintptr_t)neo_llvm_jit(*out, "test_kernel", &why);
  if (!fn)
    fail_msg("%s", why);
  return fn;
}

const char *loop_asm(loop_fix *f, const char *text, const char *mcpu) {
  const size_t most = 1 << 20;
  neo_llvm *l;
  const char *why, *path = neo_arena_printf(&f->arena, "/tmp/neo_test_%d.s", (int)getpid());
  char *code = neo_arena_alloc(&f->arena, most);
  loop_compile(f, loop_kernel(f, text), mcpu, &l);
  assert_int_equal(neo_llvm_emit_asm(l, path, &why), NEO_OK);
  neo_llvm_free(l);
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  code[fread(code, 1, most - 1, in)] = 0;
  fclose(in);
  remove(path);
  return code;
}

/* ---- elements */

static uint16_t f16_bits(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  int e;
  if (isnan(x))
    return (uint16_t)(sign | 0x7e00);
  if (isinf(x))
    return (uint16_t)(sign | 0x7c00);
  double m = frexp(fabs(x), &e); /* m in [1/2, 1) */
  if (m == 0)
    return sign;
  if (e < -13)
    return (uint16_t)(sign | (uint16_t)ldexp(m, e + 24));
  return (uint16_t)(sign | (uint16_t)((e + 14) << 10) | ((uint16_t)ldexp(m, 11) & 0x3ff));
}

static double f16_value(uint16_t u) {
  int e = u >> 10 & 31, m = u & 0x3ff;
  double x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
  return u & 0x8000 ? -x : x;
}

static float f32_of(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

neo_value loop_get(neo_type t, const void *p, int64_t i) {
  switch (t) {
  case NEO_F64_T:
    return (neo_value){.f = ((const double *)p)[i]};
  case NEO_F32_T:
    return (neo_value){.f = (double)((const float *)p)[i]};
  case NEO_F16_T:
    return (neo_value){.f = f16_value(((const uint16_t *)p)[i])};
  case NEO_BF16_T:
    return (neo_value){.f = (double)f32_of((uint32_t)((const uint16_t *)p)[i] << 16)};
  case NEO_I64_T:
    return (neo_value){.i = ((const int64_t *)p)[i]};
  case NEO_I32_T:
    return (neo_value){.i = ((const int32_t *)p)[i]};
  case NEO_I8_T:
    return (neo_value){.i = ((const int8_t *)p)[i]};
  default:
    return (neo_value){.i = ((const uint8_t *)p)[i]};
  }
}

void loop_set(neo_type t, void *p, int64_t i, neo_value v) {
  float x = (float)v.f;
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  switch (t) {
  case NEO_F64_T:
    ((double *)p)[i] = v.f;
    break;
  case NEO_F32_T:
    ((float *)p)[i] = (float)v.f;
    break;
  case NEO_F16_T:
    ((uint16_t *)p)[i] = f16_bits(v.f);
    break;
  case NEO_BF16_T:
    ((uint16_t *)p)[i] = (uint16_t)(u >> 16);
    break;
  case NEO_I64_T:
    ((int64_t *)p)[i] = v.i;
    break;
  case NEO_I32_T:
    ((int32_t *)p)[i] = (int32_t)v.i;
    break;
  case NEO_I8_T:
    ((int8_t *)p)[i] = (int8_t)v.i;
    break;
  default:
    ((uint8_t *)p)[i] = (uint8_t)v.i;
  }
}

/* ---- memory between unreadable pages */

typedef struct {
  void *map, *at;
  size_t map_bytes;
} guarded;

static guarded guarded_new(size_t bytes, bool at_start) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
  guarded g = {.map_bytes = room + 2 * page};
  g.map = mmap(NULL, g.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(g.map, MAP_FAILED);
  char *inner = (char *)g.map + page;
  if (room)
    assert_int_equal(mprotect(inner, room, PROT_READ | PROT_WRITE), 0);
  g.at = at_start ? inner : inner + (room - bytes);
  return g;
}

/* ---- contents */

static double random_float(uint64_t *state, bool specials) {
  static const double odd[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0, 1e-40, -1e-40, 65504, 1e30};
  uint64_t r = neo_splitmix(state);
  if (specials && r % 7 == 0)
    return odd[r / 7 % 9];
  return ((double)(r >> 11) * 0x1p-53 - 0.5) * 4;
}

static neo_value random_value(const neo_kbuf *b, const loop_case *c, uint64_t *state) {
  neo_type t = (neo_type)b->type;
  if (neo_type_is_float(t))
    return neo_value_cast(t, NEO_F64_T, (neo_value){.f = random_float(state, c->specials)});
  int64_t x = (int64_t)(neo_splitmix(state) % 401) - 200;
  if (strncmp(b->name, "idx", 3) == 0)
    x = (int64_t)(neo_splitmix(state) % (uint64_t)(c->index_below > 0 ? c->index_below : 1));
  return neo_value_cast(t, NEO_I64_T, (neo_value){.i = x});
}

typedef struct {
  loop_fix *f;
  const neo_kernel *k;
  const loop_case *c;
  int64_t *n_elems;
  neo_value **want; /* after the interpreter */
  neo_value **before;
} check;

static void fill(check *x) {
  uint64_t state = x->c->seed;
  for (size_t b = 0; b < x->k->bufs.n; b++) {
    const neo_kbuf *buf = &x->k->bufs.at[b];
    bool scratch = buf->use & NEO_BUF_SCRATCH;
    int64_t n = scratch ? buf->scratch_elems : x->c->n_elems[b];
    x->n_elems[b] = n;
    x->before[b] = NEO_NEW_ARRAY(&x->f->arena, neo_value, n + 1);
    for (int64_t i = 0; i < n; i++)
      x->before[b][i] = random_value(buf, x->c, &state);
    x->want[b] = neo_arena_copy(&x->f->arena, x->before[b], (size_t)(n + 1) * sizeof(neo_value));
  }
}

static bool equal(neo_type t, neo_value want, neo_value got, double tolerance) {
  if (!neo_type_is_float(t))
    return want.i == got.i;
  if (isnan(want.f) || isnan(got.f))
    return isnan(want.f) && isnan(got.f);
  if (want.f == got.f)
    return tolerance > 0 || !signbit(want.f) == !signbit(got.f);
  return fabs(want.f - got.f) <= tolerance * fmax(1, fabs(want.f));
}

static void compare(const check *x, const guarded *g, const char *level) {
  for (size_t b = 0; b < x->k->bufs.n; b++) {
    const neo_kbuf *buf = &x->k->bufs.at[b];
    neo_type t = (neo_type)buf->type;
    if (buf->use & NEO_BUF_SCRATCH)
      continue;
    for (int64_t i = 0; i < x->n_elems[b]; i++) {
      neo_value got = loop_get(t, g[b].at, i), want = x->want[b][i];
      if (equal(t, want, got, x->c->tolerance))
        continue;
      bool f = neo_type_is_float(t);
      print_error("%s, %s[%lld]: %.9g, not %.9g\n", level, buf->name, (long long)i,
                  f ? got.f : (double)got.i, f ? want.f : (double)want.i);
      fail_msg("%s", loop_text(x->f, x->k));
    }
  }
}

static void run_code(check *x, const char *level, neo_rt_fn *fn, int64_t lo, int64_t hi) {
  size_t n = x->k->bufs.n, n_ptr = 0;
  guarded *g = NEO_NEW_ARRAY(&x->f->arena, guarded, n + 1);
  void **ptr = NEO_NEW_ARRAY(&x->f->arena, void *, n + 1);
  for (size_t b = 0; b < n; b++) {
    const neo_kbuf *buf = &x->k->bufs.at[b];
    uint32_t size = neo_type_bytes((neo_type)buf->type);
    if (buf->use & NEO_BUF_SCRATCH)
      continue;
    g[b] = guarded_new((size_t)x->n_elems[b] * size, buf->align > size);
    for (int64_t i = 0; i < x->n_elems[b]; i++)
      loop_set((neo_type)buf->type, g[b].at, i, x->before[b][i]);
    ptr[n_ptr++] = g[b].at;
  }
  guarded scratch = guarded_new((size_t)neo_kernel_scratch_bytes(x->k), true);
  neo_rt_args args = {ptr, x->c->sizes, x->c->key, lo, hi, scratch.at};
  assert_int_equal(fn(&args), 0);
  compare(x, g, level);
  munmap(scratch.map, scratch.map_bytes);
  for (size_t b = 0; b < n; b++)
    if (g[b].map)
      munmap(g[b].map, g[b].map_bytes);
}

static void run_case(loop_fix *f, const neo_kernel *k, const char *level, neo_rt_fn *fn,
                     const loop_case *c) {
  check x = {.f = f, .k = k, .c = c};
  neo_str why;
  neo_str_init(&why, &f->arena);
  x.n_elems = NEO_NEW_ARRAY(&f->arena, int64_t, k->bufs.n + 1);
  x.want = NEO_NEW_ARRAY(&f->arena, neo_value *, k->bufs.n + 1);
  x.before = NEO_NEW_ARRAY(&f->arena, neo_value *, k->bufs.n + 1);
  fill(&x);
  int64_t lo = c->lo, hi = c->hi ? c->hi : neo_kernel_units(k, c->sizes);
  neo_kernel_run run = {.bufs = x.want,
                        .n_elems = x.n_elems,
                        .sizes = c->sizes,
                        .key = {c->key[0], c->key[1], c->key[2]},
                        .lo = lo,
                        .hi = hi};
  if (neo_kernel_interp(k, &run, &why))
    fail_msg("%s\n%s", neo_str_text(&why), loop_text(f, k));
  run_code(&x, level, fn, lo, hi);
}

void loop_check_all(loop_fix *f, const neo_kernel *k, const loop_case *c, size_t n) {
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l;
    neo_rt_fn *fn = loop_compile(f, k, *level, &l);
    for (size_t i = 0; i < n; i++)
      run_case(f, k, *level, fn, &c[i]);
    neo_llvm_free(l);
  }
}

void loop_check(loop_fix *f, const char *text, const loop_case *c) {
  loop_check_all(f, loop_kernel(f, text), c, 1);
}
