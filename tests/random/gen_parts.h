/* The generator's parts; private to tests/random. */
#ifndef NEO_TESTS_RANDOM_GEN_PARTS_H
#define NEO_TESTS_RANDOM_GEN_PARTS_H
#include "tests/random/gen.h"

typedef struct {
  neo_expr e;    /* i64 over sizes */
  int64_t now;   /* its value at the chosen sizes */
  int64_t least; /* at the least sizes */
  bool constant;
} extent;

typedef struct {
  neo_tensor t;
  neo_type type;
  bool exact; /* made of exact operations only */
  bool has_bound;
  extent bound; /* elements lie in [0, bound) */
  uint32_t rank;
  extent dim[5];
} source; /* a tensor that can be read */

typedef struct {
  extent end; /* 0 <= axis < end */
  bool reduced;
} live_axis;

typedef struct {
  neo_module *m;
  neo_arena *arena;
  uint64_t state;
  const neo_gen_options *o;
  int64_t *sizes;
  NEO_VEC(source) sources;
  NEO_VEC(extent) extents; /* in use, to meet again */
  /* the definition being made */
  live_axis axis[12];
  uint32_t n_axes; /* in scope */
  neo_expr acc[2];
  uint32_t n_accs;
  uint32_t lookups; /* in one another, where an index is being made */
  uint32_t names;
} gen;

/* ---- numbers */
bool gen_has(const gen *g, uint32_t what); /* one of the NEO_GEN_ bits? */
uint64_t gen_below(gen *g, uint64_t n);    /* uniform in [0, n) */
bool gen_chance(gen *g, uint32_t percent);
#define GEN_PICK(g, array) ((array)[gen_below((g), sizeof(array) / sizeof *(array))])

/* ---- gen_index.c: extents and indices */
neo_expr gen_int(gen *g, int64_t x);
extent gen_constant_extent(gen *g, int64_t x);
extent gen_extent(gen *g,
                  int64_t limit); /* an old or a new one, at most `limit` at the chosen sizes */
/* An index in [0, end) with the axes in scope; 0 if none was found. */
neo_expr gen_index(gen *g, const extent *end);
/* Any integer over the axes, for guarded reads and values. */
neo_expr gen_any_index(gen *g);
/* A read of s; the value itself, of its type; 0 if s cannot be read here. */
neo_expr gen_read(gen *g, const source *s);

/* ---- gen.c */
void gen_add_tensor(gen *g, source *s, neo_role role, const char *stem);
/* Makes an axis of the definition under way; its id. */
uint32_t gen_push_axis(gen *g, neo_expr lo, neo_expr hi, const extent *end, bool reduced);
neo_expr gen_finish(gen *g, neo_type t, bool exact);

/* ---- gen_contract.c: adds a definition that is a product of two new inputs, a convolution, ... */
void gen_contraction(gen *g);

/* ---- gen_run.c */
void gen_derive_sizes(neo_gen_program *g); /* values of derived sizes from those of the others */

/* ---- gen_expr.c */
neo_expr gen_expr(gen *g, neo_type t, int depth, bool exact);
neo_type gen_type(gen *g);

#endif
