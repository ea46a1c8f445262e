/* Private to what reads options from syntax trees: grammar_walk.c statements and blocks, grammar_expr.c expressions,
 * grammar_class.c what an end of a range, a condition or a subscript is. */
#ifndef NEO_TESTS_PAIRS_GRAMMAR_WALK_H
#define NEO_TESTS_PAIRS_GRAMMAR_WALK_H
#include "base/vec.h"
#include "tests/pairs/grammar.h"

typedef enum { PW_INDEX, PW_CONSTANT, PW_SIZE, PW_TENSOR, PW_FUNCTION, PW_GRAPH } pw_kind;

typedef struct {
  const char *name;
  pw_kind is;
  int64_t value;      /* of a constant */
  pairs_option low;   /* of an index */
  const char *range;  /* of an index: its ends as text */
  pairs_option role;  /* of a tensor */
  neo_type type;      /* of a tensor; NEO_TYPE_COUNT where it is not written */
  bool scalar, constant, recurs, result, bounded, below; /* of a tensor; below: argmax from below 0 */
  uint64_t through;   /* bit k: option PAIRS_THROUGH_BELOW + k; PW_HAS_GRAD: a gradient is in it */
} pw_name;

enum { PW_HAS_GRAD = 40, PW_MOST_REGIONS = 8 };

typedef struct { /* a value that is computed, and for which elements */
  const char *shape, *range;
  pairs_option by;
} pw_value;

typedef struct {
  pairs_grammar *g;
  neo_arena *a;
  const pairs_program *p;
  NEO_VEC(pw_name) names; /* in scope; the last of a name counts */
  NEO_VEC(pw_value) values;
  pairs_option place, position, low; /* low: of the innermost range */
  bool in_range; /* within a reducer's body */
  pairs_option reducer, guard;
  const char *self; /* what is being defined */
  const neo_ast_expr *self_value;
  uint64_t through;
  pairs_option region[PW_MOST_REGIONS];
  uint32_t n_regions;
} pw_walk;

/* ---- grammar_walk.c */
void pw_note(pw_walk *w, pairs_cross c, pairs_option row, pairs_option column);
void pw_rule(pw_walk *w, pairs_option rule);
void pw_trait(pw_walk *w, pairs_option trait); /* of every region around */
pw_name *pw_find(pw_walk *w, const char *name); /* null: none */
pw_name *pw_add(pw_walk *w, const char *name, pw_kind is);

/* ---- grammar_class.c */
typedef struct {
  uint32_t indices, constants, sizes, given, computed, guards, reducers;
  bool huge, is_number; /* is_number: a constant, of `value` */
  int64_t value;
} pw_parts;
pw_parts pw_parts_of(pw_walk *w, const neo_ast_expr *e);
pairs_option pw_low_of(pw_walk *w, const neo_ast_expr *e); /* e may be null */
pairs_option pw_high_of(pw_walk *w, const neo_ast_expr *e, neo_ast_rel rel);
pairs_option pw_condition_of(pw_walk *w, const neo_ast_expr *e);
pairs_option pw_subscript_of(pw_walk *w, const neo_ast_expr *e); /* null: `..` */
bool pw_is_builtin(const char *name, uint32_t *k);

/* ---- grammar_expr.c */
void pw_expr(pw_walk *w, const neo_ast_expr *e);
void pw_in(pw_walk *w, pairs_option position, const neo_ast_expr *e);
/* An index with its range comes into scope. */
void pw_axis(pw_walk *w, const neo_ast_axis *axis, pairs_option low);
/* A function of elements is computed for the elements of a range: noted where another range has it too. */
void pw_value_at(pw_walk *w, const neo_ast_expr *e, pairs_option by);

#endif
