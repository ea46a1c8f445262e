/* The prover: the reads of the language's reference, each proved, refuted or left open as a reader
 * would; and witnesses. */
#include "ir/prove.h"
#include "tests/ir/ir_test.h"
#include "tests/ir/prove_text.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

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
    {"reshape to rows, constant", 0, 0, "i<784", 0, "0 <= i/28 < 28 and 0 <= i%28 < 28", NEO_PROVED},
    {"reshape to rows, too long", 0, 0, "i<785", 0, "i/28 < 28", NEO_REFUTED},
    {"reshape of run-time rows", "1<=N<=64", 0, "i<N*28", 0, "0 <= i/28 < N", NEO_PROVED},
    {"flattened", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "0 <= b*T + t < B*T", NEO_PROVED},
    {"flattened, wrong stride", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "b*B + t < B*T",
     NEO_REFUTED},
    {"flattened three deep", "1<=A<=9; 1<=B<=64; 1<=T<=64", 0, "a<A; b<B; t<T", 0,
     "0 <= (a*B + b)*T + t < A*B*T", NEO_PROVED},
    {"flattened and divided", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "(b*T + t)/T == b", NEO_PROVED},
    {"flattened and the remainder", "1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "(b*T + t)%T == t",
     NEO_PROVED},
    {"digits of a flat index", "1<=B<=64; 1<=T<=64", 0, "x<B*T", 0, "0 <= x/T < B and 0 <= x%T < T",
     NEO_PROVED},
    {"digits put together", "1<=B<=64; 1<=T<=64", 0, "x<B*T", 0, "x/T*T + x%T == x", NEO_PROVED},
    {"three digits of a flat index", "1<=A<=9; 1<=B<=9; 1<=T<=9", 0, "x<A*B*T", 0,
     "0 <= x/(B*T) < A and 0 <= x/T%B < B", NEO_PROVED},
    {"digits with a derived radix", "8<=H<=64; 1<=B<=9; P=(H-3)/2+1", 0, "b<B; p<P", 0,
     "(b*P + p)/P == b and b*P + p < B*P", NEO_PROVED},
    {"shuffle of constant digits", 0, 0, "c<12", 0, "0 <= c%3*4 + c/3 < 12", NEO_PROVED},
    {"depth to space", 0, 0, "h<16; w<16; c<4", 0,
     "0 <= (h%2*2 + w%2)*4 + c < 16 and 0 <= h/2 < 8", NEO_PROVED},
    {"grouped channels", 0, 0, "k<32; c<4", 0, "0 <= k/4*4 + c < 32", NEO_PROVED},
    {"lookup with a bound", 0, "Y<10", "b<8", 0, "0 <= Y[b] < 10", NEO_PROVED},
    {"lookup with a run-time bound", "1<=V<=100", "Y<V", "b<8", 0, "0 <= Y[b] < V", NEO_PROVED},
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
    {"parity", 0, 0, "i<10; j<10", 0, "2*i != 2*j + 1", NEO_PROVED},
    {"even and odd", 0, 0, "i<10", "i % 2 == 1", "i >= 1", NEO_PROVED},
    {"wrapping is not assumed away", 0, "Y", "i<4", 0, "Y[i] < Y[i] + 1", NEO_PROVED},
};

static void reads_are_judged_as_in_the_reference(void **state) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    question q;
    neo_prover *p = neo_prover_new(*state);
    question_init(&q, *state, rows[k].sizes, rows[k].tensors, rows[k].axes, rows[k].assume);
    neo_facts facts = question_facts(&q);
    neo_proof got = neo_prove(p, &facts, question_expr(&q, rows[k].goal), NULL);
    neo_prover_stats st = neo_prover_statistics(p);
    if (st.isl_calls || st.unknown) print_message("%s: isl %d, unknown %d\n", rows[k].what, (int)st.isl_calls, (int)st.unknown);
    if (got != rows[k].want) print_message("%s: %s: got %d\n", rows[k].what, rows[k].goal, got);
    neo_prover_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(reads_are_judged_as_in_the_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
