/* The names of a text, from its syntax alone: what it reads and does not define, what it
 * defines, what it declares. For programs that complete a text, as one that gives a line of
 * definitions its inputs and its entry. */
#pragma once
#include "base/vec.h"
#include "frontend/syntax/ast.h"

enum { NEO_RANK_UNKNOWN = -1 };

typedef struct {
  const char *name; /* "A"; of a module that is not imported "nn.softmax" */
  int rank;         /* its subscripts; 0 of a bare name where elements stand, else unknown */
  neo_span at;      /* where it is read first */
  bool callable;    /* it is called */
  bool size;        /* it stands in an extent or a bound */
  bool subscript;   /* each of its reads is a subscript by itself, as k in x[i, k] */
} neo_name_read;

typedef struct {
  const char *name;
  int rank;  /* of its axes; unknown without brackets, and of further results */
  bool read; /* by another definition, an output, a train statement */
} neo_name_definition;

typedef struct {
  NEO_VEC(neo_name_read) reads;             /* in the order in which they are first read */
  NEO_VEC(neo_name_definition) definitions; /* in order */
  NEO_VEC(const char *) declares; /* "dim N", "input X", "fn f", "import nn", "output forward" */
} neo_text_names;

/* In the arena; names are the tree's. The bodies of functions read nothing of the text around
 * them. */
neo_text_names *neo_text_names_of(neo_arena *a, const neo_ast_file *file);
