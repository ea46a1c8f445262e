/* Finds the shipped library, the headers and libneort: beside the running program, as installed or
 * as built. */
#define _GNU_SOURCE /* dladdr */
#include "base/file.h"
#include "tools/pipeline/compile.h"
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* The folder of libneo, or of the program that this is linked into. */
static char *program_folder(neo_arena *a) {
  char path[4096];
  Dl_info info;
  if (dladdr((void *)(uintptr_t)neo_place_std, &info) && strstr(info.dli_fname, "libneo.so"))
    return neo_path_folder(a, info.dli_fname);
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0)
    return NULL;
  return neo_path_folder(a, neo_arena_strndup(a, path, (size_t)n));
}

static const char *relative_to_program(neo_arena *a, const char *const *candidates) {
  char *folder = program_folder(a);
  for (size_t k = 0; folder && candidates[k]; k++) {
    char *path = candidates[k][0] == '/' ? neo_arena_strdup(a, candidates[k])
                                         : neo_path_join(a, folder, candidates[k]);
    if (neo_path_exists(path))
      return path;
  }
  return NULL;
}

const char *neo_place_std(neo_arena *a) {
  static const char *const at[] = {"../share/neo/std", "../../share/neo/std", NEO_STD_DIR_BUILD,
                                   NULL};
  return relative_to_program(a, at);
}

const char *neo_place_records(neo_arena *a) {
  static const char *const at[] = {"../share/neo/records", "../../share/neo/records", NULL};
  return relative_to_program(a, at);
}

const char *neo_place_zoo(neo_arena *a) {
  static const char *const at[] = {"../share/neo/zoo", "../../share/neo/zoo", NULL};
  return relative_to_program(a, at);
}

const char *neo_place_agents(neo_arena *a) {
  static const char *const at[] = {"../share/neo/AGENTS.md", "../../share/neo/AGENTS.md", NULL};
  return relative_to_program(a, at);
}

const char *neo_place_gallery(neo_arena *a) {
  static const char *const at[] = {"../share/neo/gallery", "../../share/neo/gallery", NULL};
  return relative_to_program(a, at);
}

const char *neo_place_lib(neo_arena *a) {
  static const char *const at[] = {"../" NEO_INSTALL_LIBDIR "/libneort.so", "../lib/libneort.so",
                                   NULL};
  const char *lib = relative_to_program(a, at);
  return lib ? neo_path_folder(a, lib) : NULL;
}

const char *neo_place_measurer(neo_arena *a) {
  static const char *const at[] = {"neo-measure", "../bin/neo-measure", NULL};
  return relative_to_program(a, at);
}

const char *neo_place_include(neo_arena *a) {
  static const char *const at[] = {"../include/neo/neo_rt.h", NULL};
  const char *header = relative_to_program(a, at);
  return header ? neo_path_folder(a, neo_path_folder(a, header)) : NULL;
}
