/* The prover: the reads of the language's reference, each proved, refuted or left open as a reader
 * would; and witnesses. */
#include "ir/prove/prove.h"
#include "ir/prove/relation.h"
#include "tests/fault.h"
#include "tests/ir/ir_test.h"
#include "tests/ir/prove_text.h"
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  const char *what, *sizes, *tensors, *axes, *assume, *goal;
  neo_proof want;
} row;

static const row rows[] = {
    {"padding, guarded", 0, 0, "p<28; r<3", "0 <= p + r - 1 and p + r - 1 < 28",
     "0 <= p + r - 1 < 28", NEO_PROVED},
    {"padding, not guarded, low", 0, 0, "p<28; r<3", 0, "0 <= p + r - 1", NEO_REFUTED},
    {"padding, not guarded, high", 0, 0, "p<28; r<3", 0, "p + r - 1 < 28", NEO_REFUTED},
    {"concatenation, left", 0, 0, "j<8", "j < 5", "0 <= j < 5", NEO_PROVED},
    {"concatenation, right", 0, 0, "j<8", "not (j < 5)", "0 <= j - 5 < 3", NEO_PROVED},
    {"concatenation, right, wrong", 0, 0, "j<9", "not (j < 5)", "0 <= j - 5 < 3", NEO_REFUTED},
    {"concatenation as one goal", 0, 0, "j<8", 0, "select(j < 5, 0 <= j < 5, 0 <= j - 5 < 3)",
     NEO_PROVED},
    {"concatenation of run-time sizes", "1<=N<=64; 1<=M<=64", 0, "j<N+M", "not (j < N)",
     "0 <= j - N < M", NEO_PROVED},
    {"remainders of floors of four axes", 0, 0, "i<4; j<3; k<4; l<3", "(i*3)%4 == (j - k + 8)/2%3",
     "((i*3 + j)%4 + l)/2%3 <= (j*5 + k*3 + i)%7/2 + (l*3 + k)%5/2 + 2", NEO_PROVED},
    {"remainders of floors of four axes, wrong", 0, 0, "i<4; j<3; k<4; l<3",
     "(i*3)%4 == (j - k + 8)/2%3", "((i*3 + j)%4 + l)/2%3 <= (j*5 + k*3 + i)%7/2 + (l*3 + k)%5/2",
     NEO_REFUTED},
    {"triangular", "1<=N<=512", 0, "i<N; k<=i", 0, "0 <= k < N", NEO_PROVED},
    {"triangular, too far", "1<=N<=512", 0, "i<N; k<=i+1", 0, "k < N", NEO_REFUTED},
    {"triangular, three deep", "1<=N<=512", 0, "i<N; j<=i; k<=j", 0, "i - k < N", NEO_PROVED},
    {"reverse", "1<=N<=512", 0, "i<N", 0, "0 <= N - 1 - i < N", NEO_PROVED},
    {"reverse, off by one", "1<=N<=512", 0, "i<N", 0, "N - i < N", NEO_REFUTED},
    {"strided window", "8<=H<=64; 1<=R<=5; P=(H-R)/2+1", 0, "p<P; r<R", 0, "0 <= p*2 + r < H",
     NEO_PROVED},
    {"strided window written out", "8<=H<=64; 1<=R<=5", 0, "p<(H-R)/3+1; r<R", 0,
     "0 <= p*3 + r < H", NEO_PROVED},
    {"strided window, one too many", "8<=H<=64; 1<=R<=5; P=(H-R)/2+2", 0, "p<P; r<R", 0,
     "p*2 + r < H", NEO_REFUTED},
    {"dilated window", "20<=H<=64", 0, "p<(H - 3*(5-1) - 1)/2 + 1; r<5", 0, "2*p + 3*r < H",
     NEO_PROVED},
    {"reshape to rows, constant", 0, 0, "i<784", 0, "0 <= i/28 < 28 and 0 <= i%28 < 28",
     NEO_PROVED},
    {"reshape to rows, too long", 0, 0, "i<785", 0, "i/28 < 28", NEO_REFUTED},
    {"reshape of run-time rows", "1<=N<=64", 0, "i<N*28", 0, "0 <= i/28 < N", NEO_PROVED},
    {"flattened", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "0 <= b*T + t < B*T", NEO_PROVED},
    {"flattened, wrong stride", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "b*B + t < B*T",
     NEO_REFUTED},
    {"flattened three deep", "1<=A<=9; 1<=B<=64; 1<=T<=64", 0, "a<A; b<B; t<T", 0,
     "0 <= (a*B + b)*T + t < A*B*T", NEO_PROVED},
    {"flattened and divided", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "(b*T + t)/T == b",
     NEO_PROVED},
    {"flattened and the remainder", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "(b*T + t)%T == t",
     NEO_PROVED},
    {"digits of a flat index", "1<=B<=64; 1<=T<=64", 0, "x<B*T", 0, "0 <= x/T < B and 0 <= x%T < T",
     NEO_PROVED},
    {"digits of a flat index, of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<B*T", 0,
     "0 <= x/T < B and 0 <= x%T < T", NEO_PROVED},
    {"three digits of a flat index, of sizes that may be 0", "0<=A<=9; 0<=B<=9; 0<=T<=9", 0,
     "x<A*B*T", 0, "0 <= x/(B*T) < A and 0 <= x/T%B < B and 0 <= x%T < T", NEO_PROVED},
    {"digits of a guarded index, of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<9999",
     "x < B*T", "0 <= x/T < B and 0 <= x%T < T", NEO_PROVED},
    {"digits put together, of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<B*T", 0,
     "x/T*T + x%T == x", NEO_PROVED},
    {"a digit that is 0, of a size that may be 0", "0<=M<=1; 0<=L<=8", 0, "j<M*L", 0,
     "0 <= j/L < M and 0 <= j%L < L", NEO_PROVED},
    {"an end that is not 0 where there is an index", "0<=N<=8", 0, "i<N", 0, "i/N + N - 1 >= 0",
     NEO_PROVED},
    {"a digit of another index, of a size that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<B*T; y<B", 0,
     "y%T < T", NEO_UNKNOWN},
    {"digits of a number below a product", "1<=B<=64; 1<=T<=64", 0, "x<1", "3 < B*T",
     "0 <= 3/T < B and 0 <= 3%T < T", NEO_PROVED},
    {"digits of a number below a product of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<3",
     "3 <= B*T", "0 <= B + (x - 3)/T < B and 0 <= (x - 3)%T < T", NEO_PROVED},
    {"three digits of a number below a product", "1<=A<=9; 1<=B<=9; 1<=T<=9", 0, "x<1", "5 < A*B*T",
     "0 <= 5/T/B < A and 0 <= 5/T%B < B", NEO_PROVED},
    {"digits of a number below a part of a product", "1<=B<=64; 1<=T<=64", 0, "x<2", "3 < B*T/2",
     "0 <= (x + 6)/T < B and 0 <= (x + 6)%T < T", NEO_PROVED},
    {"digits of a number at a part of a product", "1<=B<=64; 1<=T<=64", 0, "x<2", "2 < B*T/2",
     "(x + 6)/T < B", NEO_REFUTED},
    {"digits of a number at a product", "1<=B<=64; 1<=T<=64", 0, "x<1", "3 < B*T", "4/T < B",
     NEO_REFUTED},
    {"digits of a triangular index, of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "i<B*T; x<=i",
     0, "0 <= x/T < B and 0 <= x%T < T", NEO_PROVED},
    {"digits of each other index, of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<(B*T + 1)/2",
     0, "0 <= 2*x/T < B and 0 <= 2*x%T < T", NEO_PROVED},
    {"digits of each other index, one too many", "1<=B<=64; 1<=T<=64", 0, "x<(B*T + 2)/2", 0,
     "2*x/T < B", NEO_REFUTED},
    {"digits of each third index, of sizes that may be 0", "0<=B<=64; 0<=T<=64", 0, "x<(B*T + 3)/3",
     0, "x%T < T", NEO_REFUTED},
    {"digits put together", "1<=B<=64; 1<=T<=64", 0, "x<B*T", 0, "x/T*T + x%T == x", NEO_PROVED},
    {"three digits of a flat index", "1<=A<=9; 1<=B<=9; 1<=T<=9", 0, "x<A*B*T", 0,
     "0 <= x/(B*T) < A and 0 <= x/T%B < B", NEO_PROVED},
    {"digits with a derived radix", "8<=H<=64; 1<=B<=9; P=(H-3)/2+1", 0, "b<B; p<P", 0,
     "(b*P + p)/P == b and b*P + p < B*P", NEO_PROVED},
    {"shuffle of constant digits", 0, 0, "c<12", 0, "0 <= c%3*4 + c/3 < 12", NEO_PROVED},
    {"depth to space", 0, 0, "h<16; w<16; c<4", 0, "0 <= (h%2*2 + w%2)*4 + c < 16 and 0 <= h/2 < 8",
     NEO_PROVED},
    {"grouped channels", 0, 0, "k<32; c<4", 0, "0 <= k/4*4 + c < 32", NEO_PROVED},
    {"lookup with a bound", 0, "Y<10", "b<8", 0, "0 <= Y[b] < 10", NEO_PROVED},
    {"lookup with a run-time bound", "1<=V<=100", "Y<V", "b<8", 0, "0 <= Y[b] < V", NEO_PROVED},
    {"an element that a branch reads, where there may be none", "V<=5", "Y<V; Z; L<V+1; K<V", 0,
     "0 < Z[3]",
     "0 <= select(0 < V, select(0 <= Z[0], L[K[0]] + Y[0], select(0 <= Z[1], L[K[0]] + Y[0], Y[0])), "
     "-1)",
     NEO_UNKNOWN},
    {"an element of a branch of a condition", "V<=5", "Y<V; Z; L<V+1; K<V", 0, "0 < Z[3]",
     "select(0 < V, 0 <= select(0 <= Z[0], L[K[0]] + Y[0], Y[0]), 1 < 0)", NEO_UNKNOWN},
    {"an element that the second condition reads, where there may be none", "V<=5", "Y<V; Z", 0,
     "0 < Z[3]", "Z[0] < 0 or (0 < V and 0 <= Y[0])", NEO_UNKNOWN},
    {"an element read unless there is none", "V<=5", "Y<V; Z", 0, "0 < Z[3]",
     "Z[0] < 0 or not (V <= 0 or Y[0] < 0)", NEO_UNKNOWN},
    {"an element of the second condition, in its range", "V<=5", "Y<V", 0, 0,
     "V <= 0 or not (V < 1 or V <= Y[0])", NEO_PROVED},
    {"an element under a condition, in its range", "V<=100", "Y<V", 0, 0,
     "-1 <= select(0 < V, Y[0], -1) < max(V, 0)", NEO_PROVED},
    {"lookup without a bound", 0, "Y", "b<8", 0, "0 <= Y[b] < 10", NEO_UNKNOWN},
    {"lookup of a clamped element", 0, "Y", "b<8", 0, "0 <= clamp(Y[b], 0, 9) < 10", NEO_PROVED},
    {"lookup under its guard", 0, "Y", "b<8", "0 <= Y[b] and Y[b] < 10", "0 <= Y[b] < 10",
     NEO_PROVED},
    {"a length of a sequence", "1<=T<=64", "L<T+1", "b<8; t<L[b]", 0, "t < T", NEO_PROVED},
    {"a length that is too long", "1<=T<=64", "L<T+2", "b<8; t<L[b]", 0, "t < T", NEO_UNKNOWN},
    {"bounds by min and max", "1<=N<=64", 0, "i<N; max(0, i-3)<=k<min(N, i+4)", 0,
     "0 <= k < N and -4 < k - i < 4", NEO_PROVED},
    {"reflected border", "4<=N<=64", 0, "i<N; r<3", 0, "0 <= abs(i + r - 1)", NEO_PROVED},
    {"reflected border, high", "4<=N<=64", 0, "i<N; r<3", 0,
     "0 <= min(abs(i + r - 1), 2*N - 2 - abs(i + r - 1)) < N", NEO_PROVED},
    {"causal mask", "1<=S<=64; 1<=T<=64", 0, "i<T; j<S", "j <= i + S - T", "i + S - T >= 0",
     NEO_PROVED},
    {"a select in an index", 0, 0, "i<10", 0, "0 <= select(i < 5, i + 5, i - 5) < 10", NEO_PROVED},
    {"upsampling", "1<=N<=64", 0, "i<2*N", 0, "0 <= i/2 < N", NEO_PROVED},
    {"blocks rounded up", "1<=N<=512", 0, "i<N", 0, "0 <= i/16 < (N + 15)/16", NEO_PROVED},
    {"tiles within the whole", "1<=N<=512", 0, "o<(N + 15)/16; i<min(16, N - 16*o)", 0,
     "0 <= 16*o + i < N", NEO_PROVED},
    {"an empty domain", 0, 0, "i<0", 0, "i == 7", NEO_PROVED},
    {"contradictory assumptions", "1<=N<=64", 0, "i<N", "i < 3 and i > 5", "i == 7", NEO_PROVED},
    {"a case that is never tells nothing of the others", 0, 0, "i<10", 0,
     "select(i < 0, i < -5, i < 5)", NEO_REFUTED},
    {"nor does one that may be", 0, 0, "i<10", 0, "(not (i < 0) or 20 < i) and i < 5", NEO_REFUTED},
    {"a square", 0, 0, "-3<=i<4", 0, "0 <= i*i < 10", NEO_PROVED},
    {"a square reaches zero", 0, 0, "-3<=i<4", 0, "i*i > 0", NEO_REFUTED},
    {"parity", 0, 0, "i<10; j<10", 0, "2*i != 2*j + 1", NEO_PROVED},
    {"even and odd", 0, 0, "i<10", "i % 2 == 1", "i >= 1", NEO_PROVED},
    {"an element and one more", 0, "Y", "i<4", 0, "Y[i] < Y[i] + 1", NEO_PROVED},
};

static void reads_are_judged_as_in_the_reference(void **state) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    question q;
    neo_prover *p = neo_prover_new(*state);
    question_init(&q, *state, rows[k].sizes, rows[k].tensors, rows[k].axes, rows[k].assume);
    neo_facts facts = question_facts(&q);
    neo_proof got = neo_prove(p, &facts, question_expr(&q, rows[k].goal), NULL);
    if (got != rows[k].want)
      fail_msg("%s: %s: %d", rows[k].what, rows[k].goal, (int)got);
    neo_prover_free(p);
  }
}

/* The question's witness; fails if it is not refuted. */
static neo_witness refuted(void **state, question *q, const char *sizes, const char *axes,
                           const char *goal) {
  neo_witness w;
  neo_prover *p = neo_prover_new(*state);
  question_init(q, *state, sizes, NULL, axes, NULL);
  neo_facts facts = question_facts(q);
  assert_int_equal(neo_prove(p, &facts, question_expr(q, goal), &w), NEO_REFUTED);
  neo_prover_free(p);
  return w;
}

static void witnesses_are_the_first_points_that_fail(void **state) {
  question q;
  neo_witness w = refuted(state, &q, NULL, "i<28; r<3", "0 <= i + r - 1");
  assert_int_equal(w.n_axes, 2);
  assert_int_equal(w.axis[0], 0);
  assert_int_equal(w.axis[1], 0);
  w = refuted(state, &q, NULL, "i<28; j<10", "j < 5");
  assert_int_equal(w.axis[0], 0);
  assert_int_equal(w.axis[1], 5);
  w = refuted(state, &q, "1<=N<=512", "i<N", "i < 5");
  assert_int_equal(w.axis[0], 5);
  assert_int_equal(w.n_sizes, 1);
  assert_int_equal(w.size[0].size.i, q.size[0].i);
  assert_int_equal(w.size[0].value, 6);
}

static void points_that_only_isl_finds_are_refuted(void **state) {
  question q;
  neo_witness w = refuted(state, &q, NULL, "i<1000; j<1000", "17*i - 23*j != 1");
  assert_int_equal(17 * w.axis[0] - 23 * w.axis[1], 1);
  w = refuted(state, &q, "1<=N<=500", "i<N", "i % 97 != 41 or i / 97 != 3");
  assert_int_equal(w.axis[0], 332);
}

static void a_point_counts_only_if_it_certainly_exists(void **state) {
  question q;
  neo_witness w;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, NULL, "Y", "b<8; t<Y[b]", NULL); /* perhaps no t at all */
  neo_facts facts = question_facts(&q);
  assert_int_equal(neo_prove(p, &facts, question_expr(&q, "t > 5"), &w), NEO_UNKNOWN);
  question_init(&q, *state, "1<=N<=9; P=(N-3)/2+1", NULL, "i<N", NULL);
  facts = question_facts(&q); /* P is declared not to be negative: N = 1 is fine, P = 0 */
  assert_int_equal(neo_prove(p, &facts, question_expr(&q, "N > 2"), &w), NEO_REFUTED);
  question_init(&q, *state, "1<=N<=9; P=(N-3)/2", NULL, "i<N", NULL);
  facts = question_facts(&q); /* now N = 1 would make P negative */
  assert_int_not_equal(neo_prove(p, &facts, question_expr(&q, "N > 2"), &w), NEO_REFUTED);
  assert_int_equal(neo_prove(p, &facts, question_expr(&q, "N > 2 or P > 5"), &w), NEO_PROVED);
  neo_prover_free(p);
}

static void arithmetic_that_may_wrap_proves_nothing(void **state) {
  question q;
  neo_module *m = *state;
  neo_prover *p = neo_prover_new(m);
  neo_tensor_rec rec = {.role = NEO_ROLE_INPUT, .type = NEO_I64_T};
  neo_expr x = neo_load(m, neo_tensor_add(m, rec), NULL, 0, 0);
  neo_expr one = neo_const_int(m, NEO_I64_T, 1);
  question_init(&q, m, NULL, NULL, NULL, NULL);
  neo_facts facts = question_facts(&q);
  neo_expr goal = neo_op2(m, NEO_OP_LT, x, neo_op2(m, NEO_OP_ADD, x, one));
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_UNKNOWN);
  neo_expr small = neo_op2(m, NEO_OP_LT, x, neo_const_int(m, NEO_I64_T, 100));
  facts = (neo_facts){.assume = &small, .n_assume = 1};
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_UNKNOWN); /* x could still be the least */
  neo_expr both = neo_op2(m, NEO_OP_AND, small, neo_op2(m, NEO_OP_LT, one, x));
  facts = (neo_facts){.assume = &both, .n_assume = 1};
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_PROVED);
  neo_prover_free(p);
}

/* Sizes of loops that never run are made of such intervals: memory is planned for them. */
static void where_facts_exclude_each_other_sizes_keep_their_bounds(void **state) {
  neo_module *m = *state;
  neo_prover *p = neo_prover_new(m);
  neo_size_rec rec = {.kind = NEO_SIZE_RUNTIME, .name = neo_name_of(m->names, "V"), .hi = 5};
  neo_expr v = neo_size_ref(m, neo_size_add(m, rec)), one = neo_const_i64(m, 1);
  neo_expr never[] = {neo_op2(m, NEO_OP_LT, v, one), neo_op2(m, NEO_OP_LE, one, v)};
  neo_facts facts = {.assume = never, .n_assume = 2};
  int64_t lo, hi;
  assert_true(neo_interval(p, &facts, neo_op2(m, NEO_OP_SUB, v, one), &lo, &hi));
  assert_int_equal(lo, -1);
  assert_int_equal(hi, 4);
  neo_prover_free(p);
}

static void narrow_integers_are_followed_through_conversions(void **state) {
  neo_module *m = *state;
  neo_prover *p = neo_prover_new(m);
  neo_tensor_rec rec = {.role = NEO_ROLE_INPUT, .type = NEO_U8_T};
  neo_expr x = neo_load(m, neo_tensor_add(m, rec), NULL, 0, 0);
  neo_expr sum = neo_op2(m, NEO_OP_ADD, neo_cast(m, NEO_I32_T, x), neo_const_int(m, NEO_I32_T, 1));
  neo_expr wrapped = neo_op2(m, NEO_OP_ADD, x, neo_const_int(m, NEO_U8_T, 1));
  neo_facts facts = {0};
  int64_t lo, hi;
  assert_true(neo_interval(p, &facts, neo_cast(m, NEO_I64_T, sum), &lo, &hi));
  assert_int_equal(lo, 1);
  assert_int_equal(hi, 256);
  assert_true(neo_interval(p, &facts, wrapped, &lo, &hi));
  assert_int_equal(lo, 0);
  assert_int_equal(hi, 255);
  neo_prover_free(p);
}

static void a_bool_is_0_or_1_as_a_number(void **state) {
  neo_module *m = *state;
  neo_prover *p = neo_prover_new(m);
  neo_tensor_rec rec = {.role = NEO_ROLE_INPUT, .type = NEO_BOOL_T};
  neo_expr x = neo_load(m, neo_tensor_add(m, rec), NULL, 0, 0);
  neo_facts facts = {0};
  int64_t lo, hi;
  assert_true(neo_interval(p, &facts, neo_cast(m, NEO_I64_T, x), &lo, &hi));
  assert_int_equal(lo, 0);
  assert_int_equal(hi, 1);
  neo_prover_free(p);
}

static void intervals_follow_the_arithmetic(void **state) {
  static const struct {
    const char *expr;
    int64_t lo, hi;
  } want[] = {{"3*i - 2*j + 1", -17, 28},
              {"i/4 - j%4", -3, 2},
              {"i - i", 0, 0},
              {"min(i, 5) + max(j, 3)", 3, 14},
              {"select(i < 5, i, 9 - i)", 0, 4},
              {"i*j", 0, 81},
              {"abs(i - j)", 0, 9},
              {"clamp(i - 5, -2, 2)", -2, 2},
              {"(0 - i)/3", -3, 0},
              {"N - i", -8, 60},
              {"(N + 3)/4", 1, 15},
              {"k - i", -9, 0}};
  question q;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, "1<=N<=60", NULL, "i<10; j<10; k<=i", NULL);
  neo_facts facts = question_facts(&q);
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    int64_t lo, hi;
    assert_true(neo_interval(p, &facts, question_expr(&q, want[k].expr), &lo, &hi));
    if (lo > want[k].lo || hi < want[k].hi)
      fail_msg("%s: too narrow", want[k].expr);
    if (k != 6 && (lo != want[k].lo || hi != want[k].hi))
      fail_msg("%s: [%ld, %ld]", want[k].expr, (long)lo, (long)hi);
  }
  neo_prover_free(p);
}

static void equal_questions_are_answered_from_memory(void **state) {
  question q;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, NULL, NULL, "i<10; j<10", NULL);
  neo_facts facts = question_facts(&q);
  neo_expr goal = question_expr(&q, "17*i - 23*j != 1");
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_PROVED);
  neo_prover_stats first = neo_prover_statistics(p);
  assert_int_equal(first.isl_calls, 1);
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_PROVED);
  neo_prover_stats second = neo_prover_statistics(p);
  assert_int_equal(second.isl_calls, 1);
  assert_int_equal(second.memo, first.memo + 1);
  neo_prover_free(p);
}

/* Other axes, another size, another prover: the relation is the same. */
static void equal_sets_are_known_whatever_they_are_called(void **state) {
  question q, r;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, "1<=N<=99", NULL, "i<10; j<N", NULL);
  neo_facts facts = question_facts(&q);
  assert_int_equal(neo_prove(p, &facts, question_expr(&q, "17*i - 23*j != 1"), NULL), NEO_PROVED);
  neo_prover_free(p);
  assert_int_equal(neo_proofs_total(*state).isl_calls, 1);
  p = neo_prover_new(*state);
  question_init(&r, *state, "1<=M<=99", NULL, "k<3; i<50; a<10; b<M", NULL);
  facts = question_facts(&r);
  assert_int_equal(neo_prove(p, &facts, question_expr(&r, "17*a - 23*b != 1"), NULL), NEO_PROVED);
  assert_int_equal(neo_prover_statistics(p).isl_calls, 0);
  assert_int_equal(neo_prover_statistics(p).isl_known, 1);
  assert_int_equal(neo_prove(p, &facts, question_expr(&r, "17*a - 23*b != 2"), NULL), NEO_PROVED);
  assert_int_equal(neo_prover_statistics(p).isl_calls, 1);
  neo_prover_free(p);
}

/* A prover that its owner left by a longjmp, out of memory. */
static void leave_a_prover(neo_arena *a, neo_alloc_fault *fault, jmp_buf *out) {
  question q;
  neo_arena_init(a, neo_alloc_with_fault(fault), out);
  neo_module *m = test_module_new(a);
  neo_prover *p = neo_prover_new(m);
  question_init(&q, m, "1<=N<=99", NULL, "i<10; j<N", NULL);
  neo_facts facts = question_facts(&q);
  assert_int_equal(neo_prove(p, &facts, question_expr(&q, "17*i - 23*j != 1"), NULL), NEO_PROVED);
  assert_int_equal(neo_prover_statistics(p).isl_calls, 1);
  fault->fail_at = fault->count + 1;
  (void)neo_arena_alloc(a, 1 << 20);
  fail_msg("there is memory");
}

/* isl has its memory elsewhere. The sanitizers look for what is lost; without them the heap must not
 * grow. */
static void memory_of_isl_ends_with_the_arena(void **state) {
  enum { ROUNDS = 20 };
  static neo_arena a;
  static size_t used[2];
  (void)state;
  for (volatile int round = 0; round < 2 * ROUNDS; round++) {
    neo_alloc_fault fault = {0};
    jmp_buf out;
    if (setjmp(out) == 0)
      leave_a_prover(&a, &fault, &out);
    neo_arena_free(&a);
    used[round / ROUNDS] = mallinfo2().uordblks;
  }
  if (used[1] > used[0] + 1024)
    fail_msg("%zu bytes after some rounds, %zu after as many more", used[0], used[1]);
}

static size_t remarks(neo_module *m, neo_span *at) {
  static const char *const text[] = {"17*i - 23*j != 1", "17*i - 23*j != 2 and 17*i - 23*j != 1"};
  neo_prover *p = neo_prover_new(m);
  question q;
  question_init(&q, m, "1<=N<=99999", NULL, "i<10; j<N", NULL);
  neo_facts facts = question_facts(&q);
  size_t before = neo_diags_count(m->diags);
  for (int k = 0; k < 2; k++) {
    neo_prover_at(p, at[k]);
    assert_int_equal(neo_prove(p, &facts, question_expr(&q, text[k]), NULL), NEO_UNKNOWN);
  }
  neo_prover_free(p);
  return neo_diags_count(m->diags) - before;
}

static void a_proof_that_is_given_up_is_told_at_every_place_that_asks(void **state) {
  neo_module *m = *state;
  neo_sources *sources = neo_diags_sources(m->diags);
  uint32_t file = neo_sources_add(sources, "m.expr", "Y[i] = X[i]\n", 12);
  neo_span at[] = {neo_span_of(sources, file, 7, 4), neo_span_of(sources, file, 0, 4)};
  neo_proofs_limit(m, 1);
  assert_int_equal(remarks(m, at), 2);
  assert_int_equal(remarks(m, at), 0); /* once for each place */
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_diags_print(m->diags, &s, false);
  assert_non_null(strstr(neo_str_text(&s), "m.expr:1:8: remark[R0915]"));
  assert_non_null(strstr(neo_str_text(&s), "m.expr:1:1: remark[R0915]"));
  assert_int_equal(neo_diags_errors(m->diags), 0);
}

/* Questions that sums, signs and cases answer: isl may take one operation. */
static void simple_reads_are_proved_without_isl(void **state) {
  static const row simple[] = {
      {"a select in an index", 0, 0, "i<10", 0, "0 <= select(i < 5, i + 5, i - 5) < 10",
       NEO_PROVED},
      {"a select whose first branch is far inside", "1<=N<=64", 0, "i<N", 0,
       "0 <= select(i < 5, N + 9, i) - i", NEO_PROVED},
      {"a derived size", "8<=H<=64; P=(H-3)/2+1", 0, "p<P", 0, "2*p + 2 < H", NEO_PROVED},
      {"two derived sizes", "8<=H<=64; P=(H-3)/2+1; Q=(P-3)/2+1", 0, "q<Q", 0, "2*q + 2 < P",
       NEO_PROVED},
      {"several sizes", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "0 <= b*T + t < B*T", NEO_PROVED},
      {"a quotient by a number below zero", 0, 0, "i<10", 0, "4*i/-2 == 0 - 2*i", NEO_PROVED},
      {"a remainder by a number below zero", 0, 0, "i<10", 0, "(6*i + 1) % -3 == -2", NEO_PROVED},
      {"an assumption that never holds", 0, 0, "i<10", "1 < 0", "i == 7", NEO_PROVED},
      {"what is said often leaves room for the rest", 0, 0, "i<99; j<99",
       "i < 9 and 2*i < 18 and 3*i < 27 and 4*i < 36 and 5*i < 45 and 6*i < 54 and 7*i < 63 and "
       "8*i < 72 and 10*i < 90 and 11*i < 99 and 12*i < 108 and 13*i < 117 and 14*i < 126 and "
       "15*i < 135 and 16*i < 144 and 17*i < 153 and 18*i < 162 and 19*i < 171 and 20*i < 180 and "
       "21*i < 189 and 22*i < 198 and 23*i < 207 and 24*i < 216 and 25*i < 225 and 26*i < 234 and "
       "27*i < 243 and 28*i < 252 and 29*i < 261 and 30*i < 270 and 31*i < 279 and 32*i < 288 and "
       "33*i < 297 and 34*i < 306 and 35*i < 315 and 36*i < 324 and 37*i < 333 and 38*i < 342 and "
       "39*i < 351 and 40*i < 360 and 41*i < 369 and 42*i < 378 and 43*i < 387 and 44*i < 396 and "
       "45*i < 405 and 46*i < 414 and 47*i < 423 and 48*i < 432 and 49*i < 441 and 50*i < 450 and "
       "51*i < 459 and 52*i < 468 and 53*i < 477 and 54*i < 486 and 55*i < 495 and 56*i < 504 and "
       "57*i < 513 and 58*i < 522 and 59*i < 531 and 60*i < 540 and 61*i < 549 and 62*i < 558 and "
       "63*i < 567 and 64*i < 576 and 65*i < 585 and 66*i < 594 and 67*i < 603 and j < 7",
       "j < 8", NEO_PROVED},
  };
  neo_proofs_limit(*state, 1);
  for (size_t k = 0; k < sizeof simple / sizeof *simple; k++) {
    question q;
    neo_prover *p = neo_prover_new(*state);
    question_init(&q, *state, simple[k].sizes, simple[k].tensors, simple[k].axes, simple[k].assume);
    neo_facts facts = question_facts(&q);
    neo_proof got = neo_prove(p, &facts, question_expr(&q, simple[k].goal), NULL);
    if (got != simple[k].want)
      fail_msg("%s: %s: %d", simple[k].what, simple[k].goal, (int)got);
    if (neo_prover_statistics(p).isl_calls)
      fail_msg("%s: isl was asked", simple[k].what);
    neo_prover_free(p);
  }
}

/* Nor is anything printed: isl's own warnings are off. */
static void what_is_needed_is_asked_again_with_the_usual_limit(void **state) {
  neo_module *m = *state;
  question q;
  question_init(&q, m, "1<=N<=99999", NULL, "i<10; j<N", NULL);
  neo_facts facts = question_facts(&q);
  neo_expr goal = question_expr(&q, "17*i - 23*j != 1");
  FILE *said = tmpfile();
  int old = dup(fileno(stderr));
  fflush(stderr);
  assert_true(said && dup2(fileno(said), fileno(stderr)) >= 0);
  neo_proofs_limit(m, 1);
  neo_prover *p = neo_prover_new(m);
  neo_proof first = neo_prove(p, &facts, goal, NULL);
  neo_prover_free(p);
  fflush(stderr);
  assert_true(dup2(old, fileno(stderr)) >= 0);
  close(old);
  assert_int_equal(first, NEO_UNKNOWN);
  assert_int_equal(lseek(fileno(said), 0, SEEK_END), 0);
  fclose(said);
  p = neo_prover_new(m);
  (void)neo_prover_insist(p, true);
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_PROVED);
  assert_int_equal(neo_prover_statistics(p).isl_calls, 1);
  neo_prover_free(p);
  p = neo_prover_new(m); /* it is known now, whatever the limit is */
  assert_int_equal(neo_prove(p, &facts, goal, NULL), NEO_PROVED);
  assert_int_equal(neo_prover_statistics(p).isl_calls, 0);
  neo_prover_free(p);
}

/* The last element of a long sum may be below 0. */
static void a_sum_of_more_elements_than_are_looked_at_is_left_open(void **state) {
  question q;
  neo_str sum;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, NULL, "Z; Y<10", NULL, NULL);
  neo_facts facts = question_facts(&q);
  neo_str_init(&sum, ((neo_module *)*state)->arena);
  neo_str_add(&sum, "0 <= Z[0]");
  for (int k = 0; k < 50; k++) {
    neo_str_addf(&sum, " + Y[%d]", k);
    assert_int_equal(neo_prove(p, &facts, question_expr(&q, neo_str_text(&sum)), NULL),
                     NEO_UNKNOWN);
  }
  neo_prover_free(p);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nasty_questions_return_quickly(void **state) {
  static const char *const goals[] = {
      "(a*7 + b*11 + c*13) % 17 != (a*5 - b*3 + c*19) % 23 or (a + b*b) % 29 == c / 3",
      "(a%7*3 + b%11*5 + c%13*7) % 101 + (a/7 + b/11 + c/13) % 37 != 99 and a*12347 != b*45679 - 3",
      "min(max(a%5, b%7), max(c%11, d%13)) + min(max(a%17, b%19), max(c%23, d%29)) <= 40",
      "select(a%3 == b%5, a*b, c*d) != select(b%7 == c%11, a*c + 1, b*d - 1)",
      "a*1000003 + b*999983 - c*1000033 != d*999979 + 12345"};
  for (size_t k = 0; k < sizeof goals / sizeof *goals; k++) {
    question q;
    neo_prover *p = neo_prover_new(*state);
    question_init(&q, *state, "1<=N<=4096", NULL, "a<N*3; b<a+N; c<b+a; d<100000",
                  "a % 3 != b % 2");
    neo_facts facts = question_facts(&q);
    double start = seconds();
    neo_prove(p, &facts, question_expr(&q, goals[k]), NULL);
    assert_true(seconds() - start < 5.0);
    neo_prover_free(p);
  }
}

/* Enumeration gives up also where no point comes up. */
static void ranges_that_may_all_be_empty_return_quickly(void **state) {
  question q;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, "1<=N<=900; 1<=M<=900; 1<=K<=900", NULL,
                "1 <= i < 1 + (N*N + M*M) % 4/3", NULL); /* two squares are never 3 modulo 4 */
  neo_facts facts = question_facts(&q);
  double start = seconds();
  neo_prove(p, &facts, question_expr(&q, "i*K % 5 == 1"), NULL);
  assert_true(seconds() - start < 5.0);
  neo_prover_free(p);
}

static neo_expr deep(neo_module *m, neo_expr e, int n) {
  for (int k = 0; k < n; k++) {
    neo_expr c = neo_const_int(m, NEO_I64_T, k % 5 + 2);
    e = neo_op2(m, k % 3 ? NEO_OP_ADD : NEO_OP_MAX, neo_op2(m, NEO_OP_MOD, e, c), e);
  }
  return e;
}

static void deep_expressions_return_quickly(void **state) {
  neo_module *m = *state;
  question q;
  neo_prover *p = neo_prover_new(m);
  question_init(&q, m, NULL, NULL, "i<100000", NULL);
  neo_facts facts = question_facts(&q);
  double start = seconds();
  neo_expr e = deep(m, neo_axis_ref(m, 0), 300);
  neo_expr goal = neo_op2(m, NEO_OP_LT, e, neo_const_int(m, NEO_I64_T, 12345));
  neo_prove(p, &facts, goal, NULL);
  neo_simplify_under(p, &facts, goal);
  assert_true(seconds() - start < 20.0); /* and not 2^300 steps */
  neo_prover_free(p);
}

/* Operations of the questions before count for none. */
static void each_question_has_the_whole_limit(void **state) {
  enum { LIMIT = 2000, QUESTIONS = 2000 };
  static const int64_t words[] = {2, NEO_REL_GE, -3, 1, 0, 1, NEO_REL_EQ,
                                  0, 2,          0,  2, 1, -1}; /* x >= 3, 2*x = y */
  neo_module *m = *state;
  neo_isl *isl = neo_isl_new(m->arena);
  for (int k = 0; k < QUESTIONS; k++) {
    int64_t point[2] = {0, 0};
    neo_isl_answer is = neo_isl_sample(isl, words, sizeof words / sizeof *words, LIMIT, point);
    assert_int_equal(is, NEO_ISL_POINT);
    assert_true(point[0] >= 3 && point[1] == 2 * point[0]);
  }
  neo_isl_free(isl);
}

/* Derived sizes go before what they are made of, axes before both, whichever was made first. */
static void atoms_are_eliminated_before_what_they_depend_on(void **state) {
  neo_module *m = *state;
  question q;
  neo_prover *p = neo_prover_new(m);
  question_init(&q, m, "1<=N<=64; H=N/3; P=H+1", NULL, "i<N; j<i", NULL);
  static const char *const order[] = {"j", "i", "N%5%3", "N%5", "N"};
  neo_facts facts = question_facts(&q);
  neo_prover_scope *s = neo_prover_of(p, &facts);
  for (size_t k = 0; k < sizeof order / sizeof *order; k++)
    for (size_t l = k + 1; l < sizeof order / sizeof *order; l++) {
      neo_expr later = question_expr(&q, order[l]), first = question_expr(&q, order[k]);
      neo_poly f, g, both;
      neo_prover_form(s, first, &f);
      neo_prover_form(s, later, &g);
      assert_true(neo_prover_level(s, first.i) >= neo_prover_level(s, later.i));
      assert_true(neo_poly_add(&f, -1, &g, &both));
      assert_int_equal(neo_prover_top(s, &both), first.i);
    }
  neo_prover_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(each_question_has_the_whole_limit),
      TEST(atoms_are_eliminated_before_what_they_depend_on),
      TEST(reads_are_judged_as_in_the_reference),
      TEST(witnesses_are_the_first_points_that_fail),
      TEST(points_that_only_isl_finds_are_refuted),
      TEST(a_point_counts_only_if_it_certainly_exists),
      TEST(arithmetic_that_may_wrap_proves_nothing),
      TEST(where_facts_exclude_each_other_sizes_keep_their_bounds),
      TEST(narrow_integers_are_followed_through_conversions),
      TEST(a_bool_is_0_or_1_as_a_number),
      TEST(intervals_follow_the_arithmetic),
      TEST(equal_questions_are_answered_from_memory),
      TEST(equal_sets_are_known_whatever_they_are_called),
      TEST(memory_of_isl_ends_with_the_arena),
      TEST(simple_reads_are_proved_without_isl),
      TEST(a_proof_that_is_given_up_is_told_at_every_place_that_asks),
      TEST(what_is_needed_is_asked_again_with_the_usual_limit),
      TEST(a_sum_of_more_elements_than_are_looked_at_is_left_open),
      TEST(nasty_questions_return_quickly),
      TEST(ranges_that_may_all_be_empty_return_quickly),
      TEST(deep_expressions_return_quickly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
