/* Files of expected values, and following one with a machine. A file's lines say in order what to
 * run and what to compare:
 *
 *     size B 3                  a run-time size; these come first
 *     ENTRY NAME N VALUES...    the entry is run (once for lines that follow each other, but every
 *                               time if it trains); its output NAME
 *     after NAME N VALUES...    the present value of a parameter or state; all of them
 *     now NAME N VALUES...      the same, of some
 *
 * Where a tensor is large, N ~ NORM P1 P2 P3 stands for its values: their 2-norm, and their sums
 * with signs, `expected_sign`. As the signs are nothing to the error, |sum of signed errors| is
 * about the norm of the error, and only by accident less than a tenth of it three times. */
#ifndef NEO_TESTS_ORACLE_EXPECTED_H
#define NEO_TESTS_ORACLE_EXPECTED_H
#include "tests/oracle/machine.h"

enum { EXPECTED_SUMS = 3 };

typedef struct {
  const char *entry, *name;
  int64_t n;
  bool is_summed; /* x has EXPECTED_SUMS + 1 elements: the norm and signed sums */
  double *x;      /* null: the line ends after n */
} expected;

/* 64 bits from two numbers; tests/zoo/make_expected.py has the same function. */
uint64_t expected_hash(uint64_t a, uint64_t b);

/* The lines of a file, in the arena. A malformed line fails the test. */
expected *expected_read(neo_arena *a, const char *path, size_t *n);

/* |got - want| <= tolerance * max(|want|, floor_norm), in the 2-norm; infinite and NaN elements
 * must be the same. Otherwise the test fails with a text that names `model` and `what`. */
void expected_compare(const char *model, const char *what, const double *got, const double *want,
                      int64_t n, double tolerance, double floor_norm);

/* Runs and compares what lines r[0..n) say, without the sizes. Every output of an entry must be
 * there, but for entries that train, and with `after` every parameter and state. */
void expected_follow(machine *m, const char *model, const expected *r, size_t n, double tolerance,
                     double floor_norm);

#endif
