/* See cache.h. */
#include "tools/neoc/cache.h"
#include "tools/cache/cli.h"
#include "tools/neoc/neoc.h"

int neoc_run_cache(int argc, char **argv) {
  return neo_cache_run("neoc cache", NEO_VERSION, argc, argv);
}

/* Prints the command's help. The table of commands reaches this function by `neoc help cache`
 * alone. */
neoc_exit neoc_cache(neoc_cli *cli) {
  char name[] = "cache", help[] = "help";
  char *argv[] = {name, help, NULL};
  (void)cli;
  return (neoc_exit)neoc_run_cache(2, argv);
}
