/* Names of a plan as words of C. */
#include "codegen/plan/plan.h"
#include <ctype.h>

char *neo_plan_ident(neo_arena *a, const char *name) {
  char *id = neo_arena_strdup(a, name);
  for (char *c = id; *c; c++)
    if (!isalnum((unsigned char)*c))
      *c = '_';
  return id;
}
