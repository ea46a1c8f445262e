/* Names that a compiled library must not define, because other libraries do. */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include "codegen/plan/plan.h"
#include "tools/pipeline/compile.h"
#include <dlfcn.h>
#include <string.h>

/* Whether compilers and their users name a library so: with ours in the same folder, `-lm` would
 * find ours instead of the system's. */
static bool is_system_library(const char *name) {
  static const char *const names[] = {
      "BrokenLocale", "anl",    "asan",      "atomic", "c",       "crypt",    "cuda",   "dl",
      "gcc",          "gcc_eh", "gcc_s",     "gomp",   "itm",     "lsan",     "m",      "mvec",
      "neo",          "neort",  "nsl",       "omp",    "pthread", "quadmath", "resolv", "rt",
      "ssp",          "stdc",   "thread_db", "tsan",   "ubsan",   "util",     "z"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (neo_streq(names[k], name))
      return true;
  return false;
}

/* The first function of a library with this prefix that the C library has, too; null: none. */
static const char *taken_function(neo_arena *a, const char *prefix) {
  static const char *const entries[] = {"forward", "step", "grad", "test", "wait", "post", "init"};
  const char *name;
  for (size_t k = 0; (name = neo_plan_function(k)) != NULL; k++) {
    const char *whole = neo_arena_printf(a, "%s_%s", prefix, name);
    if (dlsym(RTLD_DEFAULT, whole))
      return whole;
  }
  for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
    const char *whole = neo_arena_printf(a, "%s_%s", prefix, entries[k]);
    if (dlsym(RTLD_DEFAULT, whole))
      return whole;
  }
  return NULL;
}

const char *neo_library_name_taken(neo_arena *a, const char *name) {
  if (is_system_library(name))
    return neo_arena_printf(a, "lib%s would take the place of the system's library of that name",
                            name);
  if (neo_streq(name, "neo_rt") || strncmp(name, "neo_rt_", 7) == 0)
    return neo_arena_printf(a, "names that begin with %s_ are the runtime's", "neo_rt");
  const char *function = taken_function(a, name);
  return function
             ? neo_arena_printf(a, "%s would take the place of a function of the system", function)
             : NULL;
}
