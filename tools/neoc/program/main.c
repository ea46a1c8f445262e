/* The program. A signal that ends it (a bug: an assert that fails) is caught in guard.c, which
 * writes a reproducer. */
#include "tools/neoc/commands.h"
#include "tools/neoc/program/guard.h"
#include <signal.h>

int main(int argc, char **argv) {
  static const neoc_program program = {neoc_guard, neoc_reproducer};
  signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes must be a write error, not a signal */
  return neoc_execute(argc, argv, &program);
}
