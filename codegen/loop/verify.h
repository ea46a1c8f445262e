/* The state of the loop IR's verifier, for its files. loop/verify.c walks over the statements,
 * loop/verify_device.c checks statements of warps, matrix units and asynchronous copies,
 * loop/verify_expr.c expressions. */
#pragma once
#include "codegen/loop/loop.h"

enum { OUTSIDE = 1, INSIDE }; /* a register is declared outside or inside of a thread loop */
enum { MAX_DEPTH = 64 };

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
  int64_t threads;   /* extent of the kernel's THREAD loops; 0: it has none */
  bool in_threads;
  enum { NO_ROLE, PRODUCER, CONSUMERS } role; /* the arm of SPECIALIZE */
  bool *expected, *arrived; /* by buffer: its mbarriers have EXPECT_TX, or MBARRIER_ARRIVE */
} verifier;

/* Records a broken rule; only the first one is reported. */
void neo_lv_fail(verifier *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The enclosing loop of that variable; null: there is none. */
const scope *neo_lv_find(const verifier *v, uint32_t var);
/* Checks an element of a register: the register is declared at this place, and the indices are
 * right. */
void neo_lv_check_place(verifier *v, uint32_t reg, const neo_lx *const *index, size_t n);
/* Checks an expression, and that it has that type; null is a violation. */
void neo_lv_check_typed(verifier *v, const neo_lx *e, neo_type t, const char *what);
/* Checks index `dim` of a register: after unrolling it is a constant, or a lane in the last
 * dimension. */
void neo_lv_check_index(verifier *v, const neo_reg *r, uint32_t dim, const neo_lx *e);
/* Checks a statement of a kind for GPUs. */
void neo_lv_check_device(verifier *v, const neo_ls *s);
