/* Picks the command and runs it. What ends in a signal (a bug: an assert that fails) is caught in
 * guard.c, which writes a reproducer. */
#include "tools/neoc/cache.h"
#include "tools/neoc/cli/guard.h"
#include "tools/neoc/commands.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static neoc_exit finish(neoc_exit e) {
  bool failed = fflush(stdout) != 0 || ferror(stdout);
  if (failed && e == NEOC_OK) {
    fprintf(stderr, "neoc: the output cannot be written\n");
    return NEOC_IO;
  }
  return e;
}

static neoc_exit run(neoc_cli *cli, int argc, char **argv) {
  neoc_exit e = neoc_command_read(cli, argc, argv);
  if (e)
    return e;
  if (neoc_has(cli, NEOC_O_HELP)) {
    neoc_print_help(cli->command, stdout);
    return NEOC_OK;
  }
  return neoc_guard(cli);
}

int main(int argc, char **argv) {
  signal(SIGXFSZ,
         SIG_IGN); /* a limit of a file's size is an error of writing, not an end by a signal */
  if (argc > 1 && neo_streq(argv[1], "cache"))
    return neoc_run_cache(argc - 1, argv + 1);
  neo_arena arena;
  jmp_buf out_of_memory;
  neo_arena_init(&arena, neo_alloc_default, &out_of_memory);
  if (setjmp(out_of_memory)) {
    fprintf(stderr, "neoc: out of memory\n");
    return NEOC_DEVICE;
  }
  neoc_cli cli = {.arena = &arena};
  neoc_exit e = finish(run(&cli, argc, argv));
  neo_arena_free(&arena);
  return (int)e;
}
