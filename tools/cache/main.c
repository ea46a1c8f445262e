/* neo-cache: records of schedules from the command line, without the compiler. */
#include "tools/cache/cli.h"

int main(int argc, char **argv) {
  return neo_cache_run("neo-cache", NEO_VERSION, argc, argv);
}
