/* Private to the generator: gen.c draws programs; gen_read.c reads of tensors; gen_value.c values
 * and conditions; gen_form.c, gen_shape.c, gen_model.c and gen_rows.c definitions, a function for
 * each form; gen_self.c and gen_loop.c recurrences. What draws programs over graphs is in
 * gen_vertex.h. */
#ifndef NEO_TESTS_PAIRS_GEN_H
#define NEO_TESTS_PAIRS_GEN_H
#include "base/random.h"
#include "tests/pairs/program.h"

enum { NO_EXTENT = UINT32_MAX, MOST_RANK = 4, MOST_INDICES = 8, MOST_WORK = 9000 };

typedef struct {
  const char *text;
  int64_t now, least;
  bool runtime;
  bool rows;     /* it counts vertices or roots */
  uint32_t line; /* of the statement that says it */
} pextent;

typedef struct {
  const char *name;
  neo_type type;
  uint32_t rank, dim[MOST_RANK]; /* numbers of extents */
  uint32_t bound; /* elements are below this extent, or up to it; NO_EXTENT: no bound */
  bool up_to;
  bool earlier; /* an element is a position before its own, or -1 */
  uint32_t line;
  bool exact;                 /* small multiples of 1/4 */
  bool given, reduced, found; /* an input; a reduction's result; a position */
  bool smooth;                /* a float that depends on a given one by floats */
  uint64_t from;              /* of which tensors it is a smooth function */
  uint32_t rows; /* above 0: a row belongs to a vertex of graph rows - 1 (gen_vertex.h) */
  bool of_roots; /* to a root of that graph instead */
} ptensor;

typedef struct {
  const char *name;
  uint32_t extent; /* NO_EXTENT: none goes with its range */
  bool reduced;
  bool ranged; /* it runs from `from` to the extent and `to`, or over `times` values of its own */
  int64_t from, to, times;
} pindex;

typedef struct {
  neo_arena *arena;
  uint64_t state;
  pairs_program *p;
  NEO_VEC(pextent) extents;
  NEO_VEC(ptensor) tensors;
  uint32_t n_names;
  /* of the statement that is being written */
  pindex index[MOST_INDICES];
  uint32_t n_index;
  uint64_t reads, from;
  pairs_set has;
  uint64_t recurs;
  bool exact;
  int read_depth;
  bool inside; /* of what is written for one vertex: no index is of vertices */
  bool nested; /* loops in loops, mostly of f64, with what gen_nested.c draws */
  /* every option of the grammar is drawn; else the seeds of before mean what they meant */
  bool wide;
} pgen;

static inline uint64_t pg_below(pgen *g, uint64_t n) {
  return neo_splitmix(&g->state) % n;
}
static inline bool pg_chance(pgen *g, uint64_t percent) {
  return pg_below(g, 100) < percent;
}
#define PG_PICK(g, a) ((a)[pg_below((g), sizeof(a) / sizeof *(a))])

/* ---- gen.c */
const char *pg_name(pgen *g, const char *stem);
/* Begins a statement without indices; ends it. `like` says what it defines: text goes behind
 * "name[indices] : type = ". */
void pg_begin(pgen *g);
uint32_t pg_end(pgen *g, pairs_statement s);
ptensor pg_result(pgen *g, neo_type type, const uint32_t *dim, uint32_t rank);
void pg_define(pgen *g, ptensor *t, const char *left, const char *value);
void pg_define_text(pgen *g, ptensor *t, const char *text); /* "left = value" */
/* The declaration of an input with t's name, by which the shrinker replaces t's definition. */
const char *pg_input_text(pgen *g, const ptensor *t);
uint32_t pg_given_earlier(pgen *g, uint32_t extent);
uint32_t pg_given(pgen *g, neo_type type, const uint32_t *dim, uint32_t rank, uint32_t bound,
                  bool up_to);
void pg_param(pgen *g);      /* a parameter of constant extents */
uint32_t pg_extent(pgen *g); /* one of the program's */
uint32_t pg_extent_of(pgen *g, const char *value, int64_t now, int64_t least, bool runtime);
int64_t pg_work(const pgen *g);                  /* iterations of the indices at hand */
const char *pg_extent_text(pgen *g, uint32_t e); /* and notes that it is read */
pairs_feature pg_type_feature(neo_type t);
const char *pg_shape(pgen *g, const uint32_t *dim, uint32_t rank); /* "[N, 4]", or nothing */
const char *pg_type_text(neo_type t);

/* ---- gen_read.c */
const char *pg_index(pgen *g, uint32_t extent, bool reduced); /* a new index, in scope */
const char *pg_left(pgen *g, const char *name, uint32_t n);   /* "y[i < N, j < 4]" of the first n */
const char *pg_left_of(pgen *g, const ptensor *t);            /* "y[i < N, j < 4] : f32" */
/* The statement reads it in some way. */
void pg_take(pgen *g, const ptensor *t);
/* A read of a tensor at indices at hand; null: none fits. */
const char *pg_read(pgen *g, uint32_t tensor);
/* A read of some tensor of this type, or converted to it. */
const char *pg_read_any(pgen *g, neo_type t);
typedef bool pg_wanted(const pgen *g, const ptensor *t);
/* A tensor that is wanted and whose dimensions are all among the indices; UINT32_MAX: none. */
uint32_t pg_find(pgen *g, pg_wanted *wanted);
/* Reads with nothing but the indices at hand. */
const char *pg_read_plain(pgen *g, uint32_t tensor);
const char *pg_convert(pgen *g, neo_type to, neo_type from, const char *e);

/* "t + 1": an index at hand, moved into the extent where its range lies beside it; null: none
 * fits. */
const char *pg_at_extent(pgen *g, uint32_t extent);

/* ---- gen_wide.c: what programs have that draw every option */
/* "-2 <= t < N + 1", "i - 1 <= t < k[i]": a new index, in scope, whose range need not be that of
 * the extent. */
const char *pg_wide_range(pgen *g, uint32_t extent);
/* An integer of indices, sizes, constants and integer tensors, of any size and sign. */
const char *pg_integer(pgen *g, int depth);
/* A subscript below the extent, or with *guarded set one that may be outside. *affine: a sum of
 * indices and constants. */
const char *pg_wide_subscript(pgen *g, uint32_t extent, bool *guarded, bool *affine);
/* A value with a reducer in it, a call at an element, a random number or a function that is rare;
 * null: not here. */
const char *pg_wide_value(pgen *g, neo_type t, int depth);
/* A condition on integers, a guarded read or a reducer; null: not here. */
const char *pg_wide_where(pgen *g);

/* ---- gen_value.c */
neo_type pg_type(pgen *g);
neo_type pg_float(pgen *g);
const char *pg_literal(pgen *g, neo_type t);
const char *pg_value(pgen *g, neo_type t, int depth);
const char *pg_compare(pgen *g, int depth);
/* A condition for a reduction, with its features; null: none could be made. */
const char *pg_where(pgen *g);

/* ---- gen_form*.c */
typedef bool pg_form(pgen *g); /* false: not here */
pg_form pg_map, pg_reduce, pg_product, pg_window, pg_lookup, pg_segment, pg_pieces, pg_reshape,
    pg_running, pg_running_product, pg_gradient, pg_own_grad, pg_call, pg_repeat, pg_state,
    pg_any_rank, pg_attention, pg_softmax, pg_rows, pg_count, pg_scalar, pg_self, pg_triangle,
    pg_past, pg_scan, pg_while, pg_case, pg_recurrent_call, pg_twice, pg_constant, pg_integers,
    pg_channel, pg_declare, pg_bounded, pg_many, pg_vast, pg_convolutions;
/* "sum[t < N where ...] (body)" of this type, in parentheses; its indices are gone again. */
const char *pg_reduction(pgen *g, pairs_feature reducer, neo_type t);
/* "t < n" of a new index along the extent, which is in scope then; of some kind of range. */
const char *pg_range(pgen *g, uint32_t extent);
pairs_feature pg_reducer(pgen *g, neo_type t);
/* An integer tensor along one extent whose elements are below another: one that there is, or an
 * input. */
uint32_t pg_positions(pgen *g, uint32_t along, uint32_t below);
/* A reduction whose range or condition is what the tensor `on` found. */
bool pg_follow(pgen *g, uint32_t on);

#endif
