/* The program neoc as a function. */
#include "tools/library/build.h"
#include "tools/library/mode.h"
#include "tools/neoc/commands.h"
#include <stdlib.h>

/* Runs the program on a copy of the words, since reading options reorders them. */
static int run(int argc, const char *const *argv) {
  char **words = calloc((size_t)argc + 1, sizeof *words);
  if (!words)
    return NEOC_DEVICE;
  for (int k = 0; k < argc; k++)
    words[k] = (char *)(uintptr_t)argv[k];
  int code = neoc_execute(argc, words, NULL);
  free(words);
  return code;
}

int32_t neo_command(int argc, const char *const *argv) {
  neo_mode before = neo_mode_enter();
  int code = run(argc, argv);
  neo_mode_leave(&before);
  return code;
}
