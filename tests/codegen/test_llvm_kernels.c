/* Compiled kernels against the interpreter: every kind of loop, access, guard and type, at every
 * level that this machine runs, on memory that ends at an unreadable page. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEAD "neo-loop 2\nkernel k"
#define SIZES(...) ((const int64_t[]){__VA_ARGS__})

static void elementwise_loops_of_every_width_agree(void **state) {
  static const int widths[] = {1, 2, 3, 4, 8, 16, 32, 64};
  loop_fix *f = *state;
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
    int w = widths[i];
    neo_kernel *k = loop_kernel(
        f, neo_arena_printf(
               &f->arena,
               HEAD "(x: f32 read, y: f32 read, z: f32 write) sizes N units N\n"
                    "for u in 0..N unit\n  for l in 0..%d vector\n"
                    "    z[u*%d + l] = x[u*%d + l] * y[l] + x[u] - min(y[u*%d + l], y[0])\n",
               w, w, w, w));
    loop_case c[4];
    int64_t n[4], elems[4][3];
    for (int64_t j = 0; j < 4; j++) {
      n[j] = j;
      elems[j][0] = elems[j][1] = j * w > 64 ? j * w : 64;
      elems[j][2] = j * w;
      c[j] = (loop_case){.sizes = &n[j], .n_elems = elems[j], .tolerance = 1e-6, .seed = i};
    }
    loop_check_all(f, k, c, 4);
  }
}

static void the_product_of_the_header_agrees(void **state) {
  for (int64_t n = 0; n <= 3; n++)
    loop_check(*state,
               HEAD "(X: f32 read noalias, W: f32 read noalias align 64, b: f32 read, "
                    "Y: f32 write noalias align 64) sizes B units B\n"
                    "for b_ in 0..B unit\n"
                    "  for j0 in 0..32 step 16\n"
                    "    reg acc[2, 8]: f32\n"
                    "    for v in 0..2 unroll\n      for l in 0..8 vector\n"
                    "        acc[v, l] = 0.0\n"
                    "    for i in 0..37\n      for v in 0..2 unroll\n        for l in 0..8 vector\n"
                    "          acc[v, l] = fma(X[b_*37 + i], W[i*32 + j0 + v*8 + l], acc[v, l])\n"
                    "    for v in 0..2 unroll\n      for l in 0..8 vector\n"
                    "        Y[b_*32 + j0 + v*8 + l] = relu(acc[v, l] + b[j0 + v*8 + l])\n",
               &(loop_case){.sizes = &n,
                            .n_elems = SIZES(n * 37, 37 * 32, 32, n * 32),
                            .tolerance = 1e-4,
                            .seed = 7});
}

/* The last vector is cut off by conditions; nothing behind the end may be touched. */
static void masked_edges_touch_nothing_outside(void **state) {
  static const char *const types[] = {"f64", "f32", "f16", "bf16", "i64",
                                      "i32", "i8",  "u8",  "bool"};
  enum { CASES = 13 };
  loop_fix *f = *state;
  for (size_t t = 0; t < 9; t++) {
    const char *zero = t == 8 ? "false" : t < 4 ? "0.0" : "0";
    const char *suffix = t == 8 || t == 1 || t == 4 ? "" : ":";
    const char *text =
        neo_arena_printf(&f->arena,
                         HEAD "(x: %s read, z: %s write, w: %s write) sizes N units 1\n"
                              "for i in 0..N step 8\n  for l in 0..8 vector\n"
                              "    z[i + l] = x[i + l if i + l < N else %s%s%s] if i + l < N\n"
                              "    w[N - 1 - i - l] = x[N - 1 - i - l] if i + l <= N - 1\n",
                         types[t], types[t], types[t], zero, suffix, *suffix ? types[t] : "");
    loop_case c[CASES];
    int64_t elems[CASES][3];
    for (int64_t i = 0; i < CASES; i++) {
      elems[i][0] = elems[i][1] = elems[i][2] = i < 10 ? i : 5 * i - 40;
      c[i] = (loop_case){.sizes = elems[i], .n_elems = elems[i], .seed = t};
    }
    loop_check_all(f, loop_kernel(f, text), c, CASES);
  }
}

static void strides_gathers_and_scatters_agree(void **state) {
  static const char *const bodies[] = {
      "z[i*8 + l] = x[2*i*8 + 2*l]",
      "z[i*8 + l] = x[2*(i*8 + l) + 1]",
      "z[i*8 + l] = x[3*(i*8 + l)]",
      "z[i*8 + l] = x[48 - 3*(i*8 + l)]",
      "z[i*8 + l] = x[(i*8 + l)*S]",
      "z[i*8 + l] = x[i*8 + 7 - l]",
      "z[i*8 + l] = x[idx[i*8 + l]]",
      "z[i*8 + l] = x[idx[idx[i*8 + l] % 16]]",
      "z[15 - i*8 - l] = x[i]",
      "z[(i*8 + l)*S] = x[l]",
      "z[3*(i*8 + l)] = x[i] * x[l]",
      "z[(i*8 + l)*5 % 16] = x[i*8 + l]",
      "z[i*8 + l] = x[(i*8 + l)/4*3 + (i*8 + l) % 4]",
      "z[i*8 + l] = x[(i*8 + l)/4*11 + (i*8 + l) % 4]",
      "z[(i*8 + l)/4*11 + (i*8 + l) % 4] = x[i*8 + l]",
      "z[i*8 + l] = x[(i*8 + l)/4*11 + (i*8 + l) % 4 if i*8 + l < 14 else 2.0]",
      "z[i*8 + l] = x[(i*80 + l)/4*11 + l % 4 if i < 1 else 2.0]",
      "z[(i*8 + l)/4*11 + (i*8 + l) % 4] = x[i*8 + l] if i*8 + l < 14",
      "z[(i*8 + l)/4*11 + (i*8 + l) % 4] = x[l] if i*8 + l < 13 and l != 2",
      "z[33 - (i*8 + l)/4*11 + (i*8 + l) % 4] = x[i*8 + l]",
      "z[(i*8 + l)/4*11 + 3 - (i*8 + l) % 4] = x[i*8 + l]",
      "z[i*8 + l] = x[(i*16 + l)/8 + (i*16 + l) % 8]",
      "z[i*8 + l] = x[(i*8 + l)*(i*8 + l) % 37]",
      "z[i*8 + l] = x[5]",
      "z[i*8 + l] = x[48 - l*S - i*S]",
      "z[i*8 + l] = x[max(i*8 + l - 3, 0)]",
      "z[i*8 + l] = x[(i + 30)/(l + 1)] + x[(i + 30) % (l + 1)] + f32((i - 9)/(l - 1))",
      "z[i*8 + l] = min(x[i*8 + l], f32(l - 1)/f32(l - 1)) + f32((i - 9) % (l - 1))",
      "z[i*8 + l] = x[2*(i*8 + l) if i*8 + l < 3*S else 4.0]",
      "z[i*8 + l] = x[3*(i*8 + l) - 9 if 3 <= i*8 + l else x[l]]",
      "z[i*8 + l] = x[100*i if i < 1 else -1.0]",
      "z[i*8 + l] = x[100*i + l if i < 1 else -1.0]",
      "z[i*8 + l] = x[100*i + 2*l if i < 1 else -1.0]",
      "z[i*8 + l] = x[100*i + 3*l if i < 1 else -1.0]",
      "z[i*8 + l] = x[idx[100*i + l] if i == 0 else 0.5]",
      "z[i*8 + l] = x[idx[i*8 + l] if idx[i*8 + l] < 9 else 0.5]",
      "z[i*8 + l] = x[7*i*8 + l if i*8 + l != 9 and i == 0 else x[0]]",
      "z[3*(i*8 + l)] = x[i] if i*8 + l < 11",
      "z[15 - i*8 - l] = x[i] if not i*8 + l < 11",
      "z[i*8 + l] = x[l] if i == 1",
      "z[i*100 + l] = x[i*100 + l] if i == 0",
      "z[i*100 + l] = x[i*100 + l] if i == 0 and l != 3",
      "z[idx[i*8 + l]] = 2.5 if idx[i*8 + l] < 20",
      "z[i] = x[l] if l == 3",
      "z[i*8 + l] = select(i*8 + l < 9, x[6*(i*8 + l)], x[0])",
      "z[i*8 + l] = select(i == 0, x[60*i + l], x[3])",
  };
  loop_fix *f = *state;
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    const char *text =
        neo_arena_printf(&f->arena,
                         HEAD "(x: f32 read, idx: i64 read, z: f32 write) sizes S units 1\n"
                              "for i in 0..2\n  for l in 0..8 vector\n    %s\n",
                         bodies[i]);
    loop_check(f, text,
               &(loop_case){.sizes = SIZES(3),
                            .n_elems = SIZES(49, 16, 49),
                            .index_below = 40,
                            .tolerance = 1e-6,
                            .seed = i});
  }
}

/* Lanes of two rows of a matrix walked as one: two vectors, no lane alone. */
static void runs_of_lanes_are_vectors(void **state) {
  static const char *const single[] = {"movss", "extractps", "insertps", "movd"};
  const char *code = loop_asm(*state,
                              HEAD "(x: f32 read noalias, z: f32 write noalias) units 1\n"
                                   "for i in 0..2\n  for l in 0..16 vector\n"
                                   "    z[(i*16 + l)/8*20 + (i*16 + l) % 8] = "
                                   "x[(i*16 + l)/8*30 + (i*16 + l) % 8]\n",
                              "x86-64-v4");
  for (size_t k = 0; k < sizeof single / sizeof *single; k++)
    assert_null(strstr(code, single[k]));
}

/* The branch that a select does not take is out of range. */
static void branches_not_taken_touch_nothing(void **state) {
  static const char *const bodies[] = {
      "z[l] = select(l < N, x[l], -1.0)",
      "z[l] = select(N <= l, -1.0, x[l])",
      "z[l] = select(l < N, select(0 < l, x[l - 1], 3.0), -1.0)",
      "z[l] = select(N < 0, x[1000 + l], 0.5) + select(N < 0, x[-1], 0.5)",
      "z[l] = select(l < N and N < 0, x[1000], 0.5)",
      "z[l] = select(l < N, x[N - 1 if 0 < N else 2.0], 0.5)",
      "z[l] = select(l < N, exp(x[l]) + x[l], 1.0) + select(l < N, x[l], 1.0)",
      "z[l] = select(l < N, x[select(l < N, l, 100000)], 0.5)",
      "z[l] = select(0 < N, x[l % max(N, 1)], 0.5)",
  };
  loop_fix *f = *state;
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    for (int kind = 0; kind < 2; kind++) {
      const char *text = neo_arena_printf(&f->arena,
                                          HEAD "(x: f32 read, z: f32 write) sizes N units 1\n"
                                               "for l in 0..8%s\n  %s\n",
                                          kind ? " vector" : "", bodies[i]);
      loop_case c[3];
      for (int j = 0; j < 3; j++) {
        static const int64_t elems[][2] = {{0, 8}, {4, 8}, {8, 8}};
        c[j] = (loop_case){.sizes = elems[j], .n_elems = elems[j], .tolerance = 1e-6, .seed = i};
      }
      loop_check_all(f, loop_kernel(f, text), c, 3);
    }
}

static void loops_branches_and_registers_agree(void **state) {
  static const char *const bodies[] = {
      /* lane reduction through an unrolled loop */
      "  reg v[8]: f32\n  reg s[]: f32\n  for l in 0..8 vector\n    v[l] = x[u*8 + l]\n"
      "  s[] = 0.0\n  for j in 0..8 unroll\n    s[] = s[] + v[j]\n  z[u] = s[]\n",
      /* lanes set one by one, then read as a vector */
      "  reg v[4]: f32\n  for j in 0..4 unroll\n    v[j] = x[u + j] + f32(j)\n"
      "  for l in 0..4 vector\n    z[u*4 + l] = v[l] * v[2]\n",
      /* one register under two widths */
      "  reg v[8]: f32\n  for l in 0..8 vector\n    v[l] = x[l]\n  for l in 0..4 vector\n"
      "    z[u*4 + l] = v[l]\n",
      /* a register that loops carry, reset by its declaration */
      "  for j in 0..3\n    reg s[2]: f32\n    s[0] = 0.0\n    s[1] = 1.0\n    for i in 0..N\n"
      "      s[0] = s[0] + x[i]\n      s[1] = s[1] * x[i]\n    z[u*3 + j] = s[0] + s[1]\n",
      "  if u < 2\n    if u == 0\n      z[0] = 1.0\n    else\n      z[1] = x[0]\n  else\n"
      "    z[u] = x[u]\n",
      "  for i in u..N step 3\n    z[u] = x[i]\n",
      "  for i in N..u\n    z[u] = x[i]\n",
      "  for j in 3..12 step 4 unroll\n    z[u + j] = x[j] if j != 7\n",
      "  for a in 0..2 unroll\n    for b in 0..2 unroll\n      reg t[2, 2]: f32\n"
      "      t[a, b] = x[a]\n      z[a*2 + b] = t[a, b]\n",
      /* two dimensions, the vector one of a wider register */
      "  reg t[3, 4]: f32\n  for r in 0..3 unroll\n    for l in 0..4 vector\n"
      "      t[2 - r, l] = x[r*4 + l]\n  for r in 0..3 unroll\n    for l in 0..4 vector\n"
      "      z[r*4 + l] = t[r, l] + t[r, 3]\n",
      /* loads after stores to the same buffer see the stores */
      "  z[0] = x[u]\n  for i in 1..N\n    z[i] = z[i - 1] + x[i]\n",
      "  for i in 0..2\n    for l in 0..8 vector\n      z[i*8 + l + 8] = z[i*8 + l] + 1.0\n",
  };
  loop_fix *f = *state;
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    const char *text = neo_arena_printf(&f->arena,
                                        HEAD "(x: f32 read, z: f32 read write) sizes N, U units U\n"
                                             "for u in 0..U unit\n%s",
                                        bodies[i]);
    loop_case c[4];
    for (int j = 0; j < 4; j++) {
      static const int64_t sizes[][2] = {{7, 0}, {7, 1}, {7, 2}, {7, 3}}, elems[] = {64, 64};
      c[j] = (loop_case){.sizes = sizes[j], .n_elems = elems, .tolerance = 1e-5, .seed = i};
    }
    loop_check_all(f, loop_kernel(f, text), c, 4);
  }
}

static void units_run_only_their_part(void **state) {
  loop_check(*state,
             HEAD "(z: f32 write) sizes N units N*2\nfor u in 0..N*2 unit\n  z[u] = f32(u)\n",
             &(loop_case){.sizes = SIZES(10), .n_elems = SIZES(20), .lo = 3, .hi = 8, .seed = 1});
}

static void scratch_lies_behind_its_alignment(void **state) {
  loop_check(*state,
             HEAD "(x: f32 read, z: f32 write, a: u8 scratch 5, b: f32 scratch 32) units 1\n"
                  "for i in 0..4\n"
                  "  for l in 0..8 vector\n    b[i*8 + l] = x[i*8 + 7 - l]\n"
                  "  a[i] = u8(x[i])\n"
                  "for i in 0..4\n  for l in 0..8 vector\n"
                  "    z[i*8 + l] = b[i*8 + l] + f32(a[i])\n",
             &(loop_case){.n_elems = SIZES(32, 32), .tolerance = 1e-6, .seed = 3});
}

/* Each operator on each type that has it, with arguments that include the odd values. All of a
 * type's operators make one kernel, the exact ones another. */
static const char *op_value(loop_fix *f, neo_op op, int width) {
  const char *a = neo_arena_printf(&f->arena, "x[i*%d + l]", width);
  const char *b = neo_arena_printf(&f->arena, "y[i*%d + l]", width);
  const char *c = neo_arena_printf(&f->arena, "y[i*%d + %d - l]", width, width - 1);
  const char *name = neo_op_text(op);
  bool word = name[0] >= 'a' && name[0] <= 'z' && op != NEO_OP_AND && op != NEO_OP_OR;
  if (op == NEO_OP_NEG)
    return neo_arena_printf(&f->arena, "-%s", a);
  if (op == NEO_OP_NOT)
    return neo_arena_printf(&f->arena, "not %s", a);
  if (op == NEO_OP_SELECT)
    return neo_arena_printf(&f->arena, "select(%s != %s, %s, %s)", b, c, a, b);
  if (!word)
    return neo_arena_printf(&f->arena, "%s %s %s", a, name, b);
  switch (neo_op_arity(op)) {
  case 1:
    return neo_arena_printf(&f->arena, "%s(%s)", name, a);
  case 2:
    return neo_arena_printf(&f->arena, "%s(%s, %s)", name, a, b);
  default:
    return neo_arena_printf(&f->arena, "%s(%s, %s, %s)", name, a, b, c);
  }
}

static bool has_op(neo_op op, neo_type t) {
  if (!neo_op_is_elementwise(op) || op == NEO_OP_CAST)
    return false;
  switch (neo_op_rule(op)) {
  case NEO_RULE_NUM:
    return t != NEO_BOOL_T;
  case NEO_RULE_FLOAT:
    return neo_type_is_float(t);
  case NEO_RULE_LOGIC:
    return t == NEO_BOOL_T;
  default:
    return true;
  }
}

static bool is_exact(neo_op op) {
  return neo_op_rule(op) != NEO_RULE_FLOAT || op == NEO_OP_FLOOR || op == NEO_OP_CEIL ||
         op == NEO_OP_ROUND || op == NEO_OP_SQRT;
}

/* The number of elements that each operator needs goes to *each, that of operators to *rows. */
static const char *ops_kernel(loop_fix *f, neo_type t, int width, bool exact, int64_t *each,
                              int64_t *rows) {
  neo_str text;
  int64_t n = 12 * width;
  neo_str_init(&text, &f->arena);
  *each = n;
  *rows = 0;
  const char *name = neo_type_text(t);
  neo_str_addf(&text, HEAD "(x: %s read, y: %s read, z: %s write, w: bool write) units 1\n", name,
               name, name);
  neo_str_addf(&text, "for i in 0..12\n  for l in 0..%d vector\n    w[i] = true\n", width);
  for (int op = 0; op < NEO_OP_COUNT; op++) {
    if (!has_op((neo_op)op, t) || is_exact((neo_op)op) != exact)
      continue;
    bool cmp = neo_op_rule((neo_op)op) == NEO_RULE_CMP;
    neo_str_addf(&text, "    %s[%d + i*%d + l] = %s\n", cmp ? "w" : "z", (int)(n * (*rows)++),
                 width, op_value(f, (neo_op)op, width));
  }
  return neo_str_text(&text);
}

static void check_ops(loop_fix *f, neo_type t, int width, bool exact) {
  static const double tolerances[] = {1e-13, 1e-6, 0x1p-10, 0x1p-7};
  int64_t n, rows;
  const char *text = ops_kernel(f, t, width, exact, &n, &rows);
  loop_check(f, text,
             &(loop_case){.n_elems = SIZES(n, n, n * rows + 1, n * rows + 12),
                          .specials = true,
                          .tolerance = exact ? 0 : tolerances[t],
                          .seed = (uint64_t)t});
}

static void every_operator_agrees_on_every_type(void **state) {
  for (int t = 0; t < NEO_TYPE_COUNT; t++) {
    check_ops(*state, (neo_type)t, 4, true);
    if (neo_type_is_float((neo_type)t))
      check_ops(*state, (neo_type)t, 4, false);
  }
  check_ops(*state, NEO_F32_T, 1, true);
  check_ops(*state, NEO_F32_T, 16, false);
  check_ops(*state, NEO_U8_T, 1, true);
}

/* Also for machines that this one is not. */
static void every_operator_has_code_at_every_level(void **state) {
  static const char *const levels[][2] = {{"x86_64", "x86-64-v2"},
                                          {"x86_64", "x86-64-v3"},
                                          {"x86_64", "x86-64-v4"},
                                          {"aarch64", "generic"}};
  loop_fix *f = *state;
  for (int i = 0; i < 4; i++) {
    neo_target t;
    neo_llvm *l;
    const char *why;
    int64_t n, rows;
    assert_int_equal(neo_target_choose(&f->arena, levels[i][0], levels[i][1], &t, &why), NEO_OK);
    assert_int_equal(neo_llvm_new(&f->arena, &t, "ops", &l, &why), NEO_OK);
    for (int type = 0; type < NEO_TYPE_COUNT; type += 2)
      for (int exact = type == NEO_F64_T; exact < 2; exact++) {
        neo_kernel *k = loop_kernel(f, ops_kernel(f, (neo_type)type, 16, exact, &n, &rows));
        const char *symbol = neo_arena_printf(&f->arena, "k%d", 2 * type + exact);
        if (neo_llvm_kernel(l, k, symbol, &why))
          fail_msg("%s", why);
      }
    if (neo_llvm_finish(l, &why))
      fail_msg("%s", why);
    if (neo_llvm_emit_object(l, "/dev/null", &why))
      fail_msg("%s", why);
    neo_llvm_free(l);
  }
}

static void every_conversion_agrees(void **state) {
  loop_fix *f = *state;
  for (int from = 0; from < NEO_TYPE_COUNT; from++) {
    neo_str head, body;
    int64_t n_elems[2 * NEO_TYPE_COUNT + 1];
    neo_str_init(&head, &f->arena);
    neo_str_init(&body, &f->arena);
    neo_str_addf(&head, HEAD "(x: %s read", neo_type_text((neo_type)from));
    n_elems[0] = 64;
    for (int to = 0; to < NEO_TYPE_COUNT; to++) {
      const char *t = neo_type_text((neo_type)to);
      neo_str_addf(&head, ", v%d: %s write, s%d: %s write", to, t, to, t);
      neo_str_addf(&body,
                   "for i in 0..8\n  for l in 0..8 vector\n    v%d[i*8 + l] = "
                   "%s(x[i*8 + l])\nfor i in 0..64\n  s%d[i] = %s(x[i])\n",
                   to, t, to, t);
      n_elems[1 + 2 * to] = n_elems[2 + 2 * to] = 64;
    }
    neo_str_addf(&head, ") units 1\n%s", neo_str_text(&body));
    loop_check(f, neo_str_text(&head),
               &(loop_case){.n_elems = n_elems, .specials = true, .seed = (uint64_t)from});
  }
}

static void integer_division_floors_and_is_total(void **state) {
  static const char *const divisors[] = {
      "7", "-7", "8", "-8", "1", "-1", "0", "y[i]", "-9223372036854775808"};
  enum { N = sizeof divisors / sizeof divisors[0] };
  loop_fix *f = *state;
  neo_str text;
  neo_str_init(&text, &f->arena);
  neo_str_add(&text, HEAD "(x: i64 read, y: i64 read, z: i64 write) units 1\nfor i in 0..32\n");
  for (int d = 0; d < N; d++)
    for (int k = 0; k < 6; k++) {
      static const char *const top[] = {"x[i]", "i", "(x[i] + 9223372036854775807)"};
      neo_str_addf(&text, "  z[i*%d + %d] = %s %s %s\n", 6 * N, d * 6 + k, top[k / 2],
                   k % 2 ? "%" : "/", divisors[d]);
    }
  loop_check(f, neo_str_text(&text), &(loop_case){.n_elems = SIZES(32, 32, 32 * 6 * N), .seed = 9});
}

static void comparisons_of_indices_hold_at_every_edge(void **state) {
  static const char *const ops[] = {"<", "<=", "==", "!="};
  loop_fix *f = *state;
  for (int i = 0; i < 4; i++) {
    const char *text = neo_arena_printf(
        &f->arena,
        HEAD "(z: bool write, w: bool write, v: bool write) sizes N units 1\n"
             "for i in -2..4\n  for l in 0..8 vector\n"
             "    z[(i + 2)*8 + l] = 5*i + l %s N\n    w[(i + 2)*8 + l] = N %s 3*l - i\n"
             "    v[(i + 2)*8 + l] = l + i %s l*2\n",
        ops[i], ops[i], ops[i]);
    loop_case c[13];
    int64_t n[13];
    for (int j = 0; j < 13; j++) {
      n[j] = 3 * j - 12;
      static const int64_t elems[] = {48, 48, 48};
      c[j] = (loop_case){.sizes = &n[j], .n_elems = elems};
    }
    loop_check_all(f, loop_kernel(f, text), c, 13);
  }
}

/* Also where the number is so far off that the difference from an index wraps. */
static void any_number_is_compared_with_indices(void **state) {
  static const char *const ops[] = {"<", "<=", "==", "!="};
  loop_fix *f = *state;
  for (int i = 0; i < 4; i++) {
    const char *text = neo_arena_printf(
        &f->arena,
        HEAD "(idx: i64 read, any: i64 read, idx32: i32 read, any32: i32 read, z: bool write) "
             "units 1\nfor i in 0..6\n  for l in 0..8 vector\n"
             "    z[i*8 + l] = idx[i] %s i*8 + l\n    z[i*8 + l + 48] = i*8 + l %s any[i]\n"
             "    z[i*8 + l + 96] = i*8 - l %s i64(idx32[i])\n"
             "    z[i*8 + l + 144] = i64(any32[i]) %s i*8 - l\n"
             "    z[i*8 + l + 192] = 2*l %s 4611686018427387904*idx[i]\n"
             "    z[i*8 + l + 240] = -9223372036854775807 - idx[i] %s l\n"
             "    z[i*8 + l + 288] = 9223372036854775807 - idx[i] %s i*8 - l\n",
        ops[i], ops[i], ops[i], ops[i], ops[i], ops[i], ops[i]);
    loop_case c[4];
    static const int64_t elems[] = {6, 6, 6, 6, 336};
    for (int j = 0; j < 4; j++)
      c[j] = (loop_case){.n_elems = elems, .index_below = j < 2 ? 48 : 8, .seed = (uint64_t)j};
    loop_check_all(f, loop_kernel(f, text), c, 4);
  }
}

/* Eight lanes, and edges at every place among them. */
static void selects_by_an_edge_agree_wherever_it_lies(void **state) {
  static const char *const conditions[] = {"i*8 + l < %d",  "i*8 + l <= %d",    "%d < i*8 + l",
                                           "%d <= i*8 + l", "not i*8 + l < %d", "i*8 - l < %d",
                                           "%d <= i*8 - l"};
  loop_fix *f = *state;
  for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
    neo_str text;
    neo_str_init(&text, &f->arena);
    neo_str_add(&text, HEAD "(x: f32 read, z: f32 write) units 1\nfor i in 0..4\n"
                            "  for l in 0..8 vector\n");
    for (int edge = -1; edge < 34; edge++) {
      neo_str_addf(&text, "    z[%d + i*8 + l] = select(", 32 * (edge + 1));
      neo_str_addf(&text, conditions[i], edge);
      neo_str_add(&text, ", exp(x[i*8 + l]) + x[i*8 + l], tanh(x[i*8 + l])) + x[i*8 + l]\n");
    }
    loop_check(f, neo_str_text(&text),
               &(loop_case){
                   .n_elems = SIZES(32, 32 * 35), .tolerance = 1e-6, .specials = true, .seed = i});
  }
}

static const char *code_of(loop_fix *f, const char *text) {
  neo_llvm *l;
  const char *why, *path = "/tmp/neo_test_kernels.ll";
  loop_compile(f, loop_kernel(f, text), "x86-64-v2", &l);
  assert_int_equal(neo_llvm_emit_text(l, path, &why), NEO_OK);
  FILE *in = fopen(path, "rb");
  char *bytes = neo_arena_alloc(&f->arena, 1 << 20);
  assert_non_null(in);
  bytes[fread(bytes, 1, (1 << 20) - 1, in)] = 0;
  fclose(in);
  remove(path);
  neo_llvm_free(l);
  return bytes;
}

static const char *select_by(loop_fix *f, const char *cond, const char *yes) {
  return code_of(f, neo_arena_printf(&f->arena,
                                     HEAD "(z: f32 write) sizes N units 1\n"
                                          "for i in 0..4\n  for l in 0..8 vector\n"
                                          "    z[i*8 + l] = select(%s, %s, f32(i - l))\n",
                                     cond, yes));
}

/* One condition for all of them, of which a branch can be made. */
static void lanes_that_take_one_side_have_one_condition(void **state) {
  static const char one[] = "select i1 ", each[] = "select <8 x i1> ";
  static const char *const heavy[] = {"i*8 + l < 16", "24 <= i*8 + l", "N < 3"};
  static const char *const split[] = {"i*8 + l < 15", "i*8 + l < N"};
  loop_fix *f = *state;
  for (int i = 0; i < 3; i++) {
    assert_non_null(strstr(select_by(f, heavy[i], "tanh(f32(i + l))"), one));
    assert_null(strstr(select_by(f, heavy[i], "f32(i + l) + 1.0"), one));
    assert_non_null(strstr(select_by(f, heavy[i], "f32(i + l) + 1.0"), each));
  }
  for (int i = 0; i < 2; i++)
    assert_null(strstr(select_by(f, split[i], "tanh(f32(i + l))"), one));
}

/* It is there whatever the condition says. */
static void scratch_of_a_known_size_is_read_without_guards(void **state) {
  static const char *const texts[] = {
      HEAD "(x: f32 read, z: f32 write, s: f32 scratch %d) sizes N units 1\n"
           "for i in 0..4\n  for l in 0..8 vector\n    s[i*8 + l] = x[i*8 + l]\n"
           "for i in 0..4\n  for l in 0..8 vector\n"
           "    z[i*8 + l] = select(N < 3, 0.0, s[i*8 + l%s])\n"};
  loop_fix *f = *state;
  const char *inside = neo_arena_printf(&f->arena, texts[0], 32, "");
  const char *beyond = neo_arena_printf(&f->arena, texts[0], 32, " + 1000*N - 2000");
  for (int64_t n = 2; n < 4; n++)
    loop_check(f, inside, &(loop_case){.sizes = &n, .n_elems = SIZES(32, 32), .seed = (uint64_t)n});
  assert_null(strstr(code_of(f, inside), "neo.outside"));
  assert_non_null(strstr(code_of(f, beyond), "neo.outside"));
}

static void objects_are_the_same_bytes_every_time(void **state) {
  static const char text[] = HEAD "(x: f32 read, z: f32 write) units 1\nfor l in 0..8 vector\n"
                                  "  z[l] = tanh(x[l]) + pow(x[l], 2.5)\n";
  const char *first = loop_asm(*state, text, "x86-64-v2");
  assert_string_equal(first, loop_asm(*state, text, "x86-64-v2"));
}

/* Buffers end at a page: of 8 n elements they begin at a multiple of a vector, of others not. */
static void results_past_the_caches_agree_at_any_address(void **state) {
  for (int64_t n = 60; n <= 68; n++)
    loop_check(*state,
               HEAD
               "(x: f32 read, z: f32 write noalias nontemporal, w: f32 write nontemporal) units 7\n"
               "for u in 0..7 unit\n  for l in 0..8 vector\n"
               "    z[u*8 + l] = x[u*8 + l] + 1.0\n    w[u*8 + 1 + l] = x[u*8 + l] * 2.0\n"
               "    w[u] = 3.0 if u < 1\n",
               &(loop_case){.n_elems = SIZES(64, n, n), .seed = 3, .lo = n % 3, .hi = 7});
}

static void one_result_off_its_place_keeps_all_in_the_caches(void **state) {
  for (int64_t n = 60; n <= 68; n++)
    for (int first = 0; first < 2; first++)
      loop_check(
          *state,
          HEAD "(x: f32 read, z: f32 write noalias nontemporal, w: f32 write noalias nontemporal) "
               "units 7\nfor u in 0..7 unit\n  for l in 0..8 vector\n"
               "    z[u*8 + l] = x[u*8 + l] + 1.0\n    w[u*8 + l] = x[u*8 + l] * 2.0\n",
          &(loop_case){
              .n_elems = SIZES(64, first ? n : 64, first ? 64 : n), .seed = 5, .lo = 0, .hi = 7});
}

/* Its size includes the page; all that lies in it moves together, and what is guarded behind the
 * last of it (loop_support.h) stays untouched. */
static void scratch_beside_results_past_the_caches_agrees(void **state) {
  static const char text[] =
      HEAD "(x: f32 read, z: f32 write noalias nontemporal, a: f32 scratch 64, b: u8 scratch 5, "
           "c: f32 scratch 64) units 7\nfor u in 0..7 unit\n"
           "  for l in 0..8 vector\n    a[u*8 + l] = x[u*8 + l] + 1.0\n"
           "    c[u*8 + 8 + l] = x[u*8 + l] * 2.0\n  b[4] = u8(u)\n"
           "  for l in 0..8 vector\n    z[u*8 + l] = a[u*8 + l] - c[u*8 + 15 - l] + f32(b[4])\n";
  loop_fix *f = *state;
  neo_kernel *k = loop_kernel(f, text);
  assert_true(neo_kernel_scratch_moves(k));
  assert_int_equal(neo_kernel_scratch_bytes(k), 256 + 64 + 256 + 4096);
  for (int64_t n = 56; n <= 72; n++)
    loop_check(f, text, &(loop_case){.n_elems = SIZES(56, n), .seed = (uint64_t)n});
}

/* At whatever addresses scratch and results lie. */
static void scratch_lies_half_a_page_from_results_past_the_caches(void **state) {
  enum { PAGE = NEO_PAGE_BYTES };
  loop_fix *f = *state;
  neo_llvm *l;
  neo_kernel *k =
      loop_kernel(f, HEAD "(z: f32 write noalias nontemporal, s: f32 scratch 16) units 1\n"
                          "for i in 0..16\n  s[i] = 7.5\n"
                          "for i in 0..16\n  z[i] = s[i]\n");
  neo_rt_fn *fn = loop_compile(f, k, "x86-64-v2", &l);
  static _Alignas(PAGE) float z[2 * PAGE / 4], scratch[3 * PAGE / 4];
  for (size_t to = 0; to < PAGE / 4; to += 56)
    for (size_t from = 0; from < PAGE / 4; from += 16 * 19) {
      void *buf[] = {z + to};
      neo_rt_args args = {.buf = buf, .lo = 0, .hi = 1, .scratch = scratch + from};
      memset(scratch, 0, sizeof scratch);
      assert_int_equal(fn(&args), 0);
      size_t at = from;
      while (at < 3 * PAGE / 4 && scratch[at] == 0)
        at++;
      size_t apart = (at + 2 * PAGE / 4 - to) % (PAGE / 4); /* elements */
      assert_true(at < from + PAGE / 4 && at % 16 == 0);
      assert_true(apart > PAGE / 8 - 16 && apart <= PAGE / 8);
    }
  neo_llvm_free(l);
}

static bool asm_has(loop_fix *f, const char *buffers, const char *what) {
  const char *text =
      neo_arena_printf(&f->arena,
                       HEAD "(x: f32 read, z: f32 %s) units 8\nfor u in 0..8 unit\n"
                            "  for l in 0..8 vector\n    z[u*8 + l] = x[u*8 + l] + 1.0\n",
                       buffers);
  return strstr(loop_asm(f, text, "x86-64-v3"), what) != NULL;
}

static void only_buffers_that_stream_are_written_past_the_caches(void **state) {
  const char *const *level = loop_levels();
  while (*level && strcmp(*level, "x86-64-v3"))
    level++;
  if (!*level)
    return;
  assert_true(asm_has(*state, "write nontemporal", "vmovntps"));
  assert_true(asm_has(*state, "write nontemporal", "sfence"));
  assert_false(asm_has(*state, "write", "vmovntps"));
  assert_false(asm_has(*state, "write", "sfence"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(elementwise_loops_of_every_width_agree),
      TEST(the_product_of_the_header_agrees),
      TEST(masked_edges_touch_nothing_outside),
      TEST(strides_gathers_and_scatters_agree),
      TEST(runs_of_lanes_are_vectors),
      TEST(branches_not_taken_touch_nothing),
      TEST(loops_branches_and_registers_agree),
      TEST(units_run_only_their_part),
      TEST(scratch_lies_behind_its_alignment),
      TEST(every_operator_agrees_on_every_type),
      TEST(every_operator_has_code_at_every_level),
      TEST(every_conversion_agrees),
      TEST(integer_division_floors_and_is_total),
      TEST(comparisons_of_indices_hold_at_every_edge),
      TEST(any_number_is_compared_with_indices),
      TEST(selects_by_an_edge_agree_wherever_it_lies),
      TEST(lanes_that_take_one_side_have_one_condition),
      TEST(scratch_of_a_known_size_is_read_without_guards),
      TEST(objects_are_the_same_bytes_every_time),
      TEST(results_past_the_caches_agree_at_any_address),
      TEST(one_result_off_its_place_keeps_all_in_the_caches),
      TEST(scratch_beside_results_past_the_caches_agrees),
      TEST(scratch_lies_half_a_page_from_results_past_the_caches),
      TEST(only_buffers_that_stream_are_written_past_the_caches),
  };
  return cmocka_run_group_tests_name("llvm_kernels", tests, NULL, NULL);
}
