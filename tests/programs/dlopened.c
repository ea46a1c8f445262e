/* Creates a context of ./libpair.so through dlopen, with what the header says, and without: prints both codes.
 * (tests/test_cli_files.sh) */
#include "pair.h"
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!library)
    return 2;
  pair_status (*create_for)(uint64_t, const pair_config *, pair_ctx **);
  const neo_rt_model *model = dlsym(library, "pair_model");
  *(void **)&create_for = dlsym(library, "pair_create_for");
  pair_ctx *c;
  int first = create_for(PAIR_INTERFACE, NULL, &c);
  pair_destroy(c);
  int generic = neo_rt_create_for(model, PAIR_INTERFACE, NULL, &c);
  neo_rt_destroy(c);
  printf("%d %d\n", first, generic);
  return 0;
}
