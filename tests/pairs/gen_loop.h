/* Private to gen_loop.c, which draws loops and choices at run time, and to gen_nested.c, which
 * draws what only programs of loops in loops have: conditions on what is computed, arms that have
 * loops, carries that are shifted. */
#ifndef NEO_TESTS_PAIRS_GEN_LOOP_H
#define NEO_TESTS_PAIRS_GEN_LOOP_H
#include "tests/pairs/gen_recur.h"

enum { MOST_CARRIES = 3, MOST_RESULTS = 8, MOST_MADE = 64, MOST_ASKED = 2 };

typedef struct loop {
  pgen *g;
  /* the loop around, whose carries its own begin with; null: they begin anew */
  const struct loop *continues;
  /* the first of the results of a loop that continues this one; 0: there is none */
  uint32_t ended;
  uint32_t depth;
  uint32_t rounds; /* the extent of a scan's index; NO_EXTENT: a while */
  const char *index;
  uint32_t carry[MOST_CARRIES], n_carries; /* tensors */
  uint64_t from[MOST_CARRIES];             /* of which tensors a carry is a smooth function */
  uint32_t first, made[MOST_MADE], n_made; /* tensors of the block */
  ptensor result[MOST_RESULTS];
  uint32_t n_results;
  const char *indent;
  const ptensor *like; /* what the first carry is like; null: anything */
} loop;

/* The condition of a `while`, and the carries that serve it alone. */
typedef struct {
  const char *test, *from, *next; /* "e > 0.25"; "e : f64 = 1"; "e = 0.5*e" */
  neo_type type[MOST_ASKED];
  uint32_t n;
} loop_condition;

/* ---- gen_loop.c */
const char *pl_name(pgen *g);
/* The left side's indices, and behind them those of the loops around. */
void pl_begin(loop *l, const ptensor *t, const pindex *around, uint32_t n_around);
/* "a, b = scan r < N from ... { ... }": its results are in l->result, and nothing reads what the
 * block defines. */
const char *pl_loop(loop *l, const pindex *around, uint32_t n_around);
/* How many rounds a while wants, which may be more than its limit. */
const char *pl_wanted(loop *l);

/* ---- gen_nested.c */
/* After the carries: of the first one, if that is a float, or of carries of its own. */
loop_condition pn_condition(loop *l, const pindex *around, uint32_t n_around);
/* "{ loop; t = value of its first result }" */
const char *pn_arm(loop *l, const ptensor *t, const pindex *around, uint32_t n_around);
/* "k[t]": an element of given integers at the index of a loop around; null: its number of
 * iterations is no extent. */
const char *pn_element(loop *l, const pindex *around, uint32_t n_around);
/* A scalar bool of what is at hand. */
const char *pn_selector(loop *l, const pindex *around, uint32_t n_around);
/* "a[i < N] = (b[i + 1] else 0)" of another carry, or itself. */
const char *pn_shifted(loop *l, const ptensor *t, uint32_t of, const pindex *around,
                       uint32_t n_around);

#endif
