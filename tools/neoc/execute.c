/* Finds the command and runs it, for the program and for callers of a function (neo_command). */
#include "base/deep.h"
#include "tools/neoc/cache.h"
#include "tools/neoc/commands.h"

static neoc_exit finish(neoc_exit e) {
  bool failed = fflush(stdout) != 0 || ferror(stdout);
  if (failed && e == NEOC_OK) {
    fprintf(stderr, "neoc: the output cannot be written\n");
    return NEOC_IO;
  }
  return e;
}

static bool compiles(const neoc_cli *cli) {
  static const char *const names[] = {"compile", "check",   "run",      "train", "grad-check",
                                      "verify",  "explain", "describe", "tune",  NULL};
  for (int k = 0; names[k]; k++)
    if (neo_streq(cli->command->name, names[k]))
      return true;
  return false;
}

typedef struct {
  neoc_cli *cli;
  neoc_exit exit;
} command_call;

/* Runs a command. An allocation that fails jumps out of it: the jump must end on the thread on
 * which it began. */
static void run_command(void *ctx) {
  command_call *c = ctx;
  neo_arena *a = c->cli->arena;
  jmp_buf out_of_memory, *before = a->on_fail;
  a->on_fail = &out_of_memory;
  if (setjmp(out_of_memory)) {
    fprintf(stderr, "neoc: out of memory\n");
    c->exit = NEOC_DEVICE;
  } else {
    c->exit = c->cli->command->run(c->cli);
  }
  a->on_fail = before;
}

neoc_exit neoc_command_run(neoc_cli *cli) {
  command_call c = {cli, NEOC_OK};
  neo_deep_run(run_command, &c);
  return c.exit;
}

static neoc_exit run(neoc_cli *cli, int argc, char **argv) {
  neoc_exit e = neoc_command_read(cli, argc, argv);
  if (e)
    return e;
  if (neoc_has(cli, NEOC_O_HELP)) {
    neoc_print_help(cli->command, stdout);
    return NEOC_OK;
  }
  if (!compiles(cli))
    return cli->command->run(cli);
  return cli->program ? cli->program->run(cli) : neoc_command_run(cli);
}

int neoc_execute(int argc, char **argv, const neoc_program *program) {
  if (argc > 1 && neo_streq(argv[1], "cache"))
    return neoc_run_cache(argc - 1, argv + 1);
  neo_arena arena;
  jmp_buf out_of_memory;
  neo_arena_init(&arena, neo_alloc_default, &out_of_memory);
  if (setjmp(out_of_memory)) {
    fprintf(stderr, "neoc: out of memory\n");
    neo_arena_free(&arena);
    return NEOC_DEVICE;
  }
  neoc_cli cli = {.arena = &arena, .program = program};
  neoc_exit e = finish(run(&cli, argc, argv));
  neo_arena_free(&arena);
  return (int)e;
}
