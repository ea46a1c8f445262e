/* The names of a text, from its syntax alone: those that it reads but does not define, those that
 * it defines, and those that it declares. For programs that complete a text, such as one that adds
 * inputs and an entry to a line of definitions. */
#pragma once
#include "base/vec.h"
#include "frontend/syntax/ast.h"

enum { NEO_RANK_UNKNOWN = -1 };

typedef struct {
  const char *name; /* "A"; "nn.softmax" in a module that is not imported */
  int rank;         /* number of subscripts; 0 for a bare name used as an element, else unknown */
  neo_span at;      /* span of the first read */
  bool callable;    /* called */
  bool size;        /* occurs in an extent or a bound */
  bool subscript;   /* each read is a whole subscript, as k in x[i, k] */
} neo_name_read;

typedef struct {
  const char *name;
  int rank;  /* number of axes; unknown for a name without brackets, and for further results */
  bool read; /* by another definition, an output, or a train statement */
} neo_name_definition;

typedef struct {
  NEO_VEC(neo_name_read) reads;             /* in order of their first read */
  NEO_VEC(neo_name_definition) definitions; /* in order */
  NEO_VEC(const char *) declares; /* "dim N", "input X", "fn f", "import nn", "output forward" */
} neo_text_names;

/* Collects the names of a file. Lists are in the arena; names are the tree's. The bodies of
 * functions read no names of the text around them. */
neo_text_names *neo_text_names_of(neo_arena *a, const neo_ast_file *file);
