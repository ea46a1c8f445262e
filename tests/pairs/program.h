/* Programs of the language as text, drawn from a seed: 2 to 6 definitions that read one another,
 * each made of features (features.def). Every read is in range by construction, inputs are small
 * multiples of 1/4, so what is compared is exact unless a function is not.
 *
 *   pairs_program p = pairs_draw(arena, seed);
 *   pairs_text(&p, &text);                  // a model that neoc takes
 *   pairs_size(&p, "N"), pairs_element(...) // what it runs on
 *
 * Same seed, same program. Statements know what they read, so that the shrinker can drop them. */
#ifndef NEO_TESTS_PAIRS_PROGRAM_H
#define NEO_TESTS_PAIRS_PROGRAM_H
#include "base/str.h"
#include "base/vec.h"
#include "ir/interp/interp.h"

typedef enum {
#define X(name, text, meaning) PAIRS_##name,
#include "tests/pairs/features.def"
#undef X
  PAIRS_FEATURES
} pairs_feature;
typedef uint64_t pairs_set; /* bit f: feature f */
#define PAIRS_BIT(f) ((pairs_set)1 << (f))
const char *pairs_feature_text(uint32_t f);

typedef enum { /* kinds of recurrences */
#define X(name, text, meaning) PAIRS_R_##name,
#include "tests/pairs/recurrences.def"
#undef X
               PAIRS_RECURRENCES
} pairs_recurrence;
#define PAIRS_RECURS(r) ((uint64_t)1 << (r))
const char *pairs_recurrence_text(uint32_t r);

typedef enum { PAIRS_SIZE_LINE, PAIRS_GIVEN, PAIRS_DEFINITION, PAIRS_HELPER } pairs_kind;

typedef struct {
  pairs_kind kind;
  const char *text;  /* one or more lines, without the end of the last one */
  const char *name;  /* what it defines first */
  const char *names; /* all of its results, with commas between them; null: the name */
  const char *input; /* the same tensor as an input, for the shrinker; null: it cannot be one */
  uint64_t reads;    /* bit k: statement k */
  pairs_set has;
  uint64_t recurs; /* bit r: pairs_recurrence */
  bool output, update, gone;
} pairs_statement;

typedef struct {
  const char *name;
  int64_t now;
} pairs_size;

typedef struct {                /* a graph: its vertices are rows of tensors (graph.h) */
  const char *child, *vertices; /* the input of children, and the size that counts the vertices */
  const char *root, *roots; /* an input of vertices, and the size that counts them; null: none */
  const char *places;       /* the constant that counts the places of children */
} pairs_graph;

typedef struct
{ /* a tensor with a row for each vertex, or root, that depends on what is linked to it alone */
  const char *name;
  uint32_t graph;
  bool of_roots;
} pairs_rows;

typedef struct {
  uint64_t seed;
  NEO_VEC(pairs_statement) lines; /* in order; at most 64 */
  NEO_VEC(pairs_size) sizes;      /* run-time sizes */
  NEO_VEC(pairs_graph) graphs;
  NEO_VEC(pairs_rows) rows;
  bool whole;        /* an input names vertices, so there are no smaller batches */
  bool listed;       /* a graph has lists of edges, so there are no other batches */
  bool ordered;      /* a sum of what is a vertex' own goes over vertices by their numbers */
  const char *train; /* a train statement, behind the outputs; null: none */
  uint64_t trains;   /* bit k: it needs statement k */
} pairs_program;

typedef pairs_program pairs_drawer(neo_arena *a, uint64_t seed);
pairs_drawer pairs_draw;
pairs_drawer pairs_draw_recurrent; /* with recurrences among the definitions */
pairs_drawer pairs_draw_vertices;  /* with graphs, vertex functions and recurrences over vertices */
/* With loops in loops, each with conditions, choices and carries of every kind; of graphs, within vertex functions. */
pairs_drawer pairs_draw_nested, pairs_draw_nested_vertices;
bool pairs_is_nested(pairs_drawer *d);
/* The same, with every option of the grammar (grammar.def); the others keep what a seed of theirs meant. */
pairs_drawer pairs_draw_wide, pairs_draw_wide_recurrent, pairs_draw_wide_vertices;
bool pairs_has_recurrences(pairs_drawer *d), pairs_has_vertices(pairs_drawer *d);
/* Definitions of the program that are not gone. */
uint32_t pairs_definitions(const pairs_program *p);
/* The program: what is not gone and is needed, and its outputs. */
void pairs_text(const pairs_program *p, neo_str *out);
/* Value of a run-time size by its name; `otherwise` where there is none. */
int64_t pairs_size_now(const pairs_program *p, const char *name, int64_t otherwise);
/* Value of a constant, "dim C3 = 5". */
int64_t pairs_constant(const pairs_program *p, const char *name);
/* The k-th element of an input: a function of seed, name and k. bound: above 0: in [0, bound). */
neo_value pairs_element(uint64_t seed, const char *name, neo_type type, int64_t bound, uint64_t k);
/* The features of the statement that made a tensor of this name, which may be derived from its
 * ("d.y", "part.y"). */
pairs_set pairs_features_of(const pairs_program *p, const char *tensor);
/* The kinds of recurrences of that statement. */
uint64_t pairs_recurrences_of(const pairs_program *p, const char *tensor);

/* Makes a failing program smaller while `fails` says so: at most `budget` calls. */
typedef bool pairs_fails(void *ctx, const pairs_program *p);
pairs_program pairs_shrink(neo_arena *a, const pairs_program *p, pairs_fails *fails, void *ctx,
                           size_t budget);

#endif
