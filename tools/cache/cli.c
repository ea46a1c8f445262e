/* The command line of neo-cache: one table of options, one of commands, from which the reading
 * of options, --help, the man page and the completion of shells are made. */
#include "tools/cache/cli.h"
#include "tools/cache/commands.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const neo_usage_option options[] = {
#define X(id, name, letter, value, commands, meaning) {name, value, commands, meaning, letter},
#include "tools/cache/options.def"
#undef X
};

static const neo_usage_command usages[] = {
#define X(id, name, args, function, meaning) {name, args, meaning},
#include "tools/cache/commands.def"
#undef X
};

static cache_exit (*const commands[])(cache_cli *cli) = {
#define X(id, name, args, function, meaning) function,
#include "tools/cache/commands.def"
#undef X
};
enum { N_COMMANDS = sizeof usages / sizeof *usages };

static neo_usage usage_of(const cache_cli *cli) {
  return (neo_usage){
      .program = cli->program,
      .page = "neo-cache",
      .version = cli->version,
      .what = "records of schedules, and compiled code",
      .about =
          "keeps records of schedules, which tuning found for groups of tensor definitions, and "
          "compiled code.",
      .exits = "0 ok, 1 damage or nothing found, 2 usage, 3 files, 4 out of memory.",
      .options = options,
      .commands = usages,
      .n_options = CACHE_O_COUNT,
      .n_commands = N_COMMANDS};
}

static const neo_usage_command *find(const char *name) {
  for (int k = 0; k < N_COMMANDS; k++)
    if (neo_streq(usages[k].name, name))
      return &usages[k];
  return NULL;
}

/* ---- help */

cache_exit neo_cache_help(cache_cli *cli) {
  const char *topic = cli->n_args ? cli->args[0] : NULL;
  const neo_usage_command *c = topic ? find(topic) : NULL;
  neo_usage u = usage_of(cli);
  if (cli->n_args > 1 || (topic && !c && !neo_streq(topic, "man")))
    return cache_usage(cli, "there is no command '%s'", cli->args[cli->n_args - 1]);
  if (c || !topic)
    neo_usage_print(&u, c, stdout);
  else
    neo_usage_man(&u);
  return CACHE_OK;
}

cache_exit neo_cache_completion(cache_cli *cli) {
  neo_usage u = usage_of(cli);
  if (cli->n_args != 1 || !neo_usage_completion(&u, cli->args[0], stdout))
    return cache_usage(cli, "the shells are bash, zsh and fish");
  return CACHE_OK;
}

cache_exit neo_cache_version(cache_cli *cli) {
  printf("%s %s\n", cli->program, cli->version);
  return CACHE_OK;
}

/* ---- reading */

static cache_exit bad_option(const cache_cli *cli, const char *word) {
  neo_usage u = usage_of(cli);
  char *bare = neo_arena_strndup(cli->arena, word, strcspn(word, "="));
  const char *best = neo_usage_nearest_option(&u, cli->command->name, bare + strspn(bare, "-"));
  return best && strncmp(word, "--", 2) == 0
             ? cache_usage(cli, "unknown option '%s' (did you mean --%s?)", word, best)
             : cache_usage(cli, "unknown option '%s'", word);
}

/* Reads the values that more than one command has. */
static cache_exit read_values(cache_cli *cli) {
  const char *format = cli->value[CACHE_O_FORMAT];
  int64_t percent = 0;
  cli->json = format && neo_streq(format, "json");
  cli->most_ratio = HUGE_VAL;
  if (format && !cli->json && !neo_streq(format, "text"))
    return cache_usage(cli, "--format is text or json, not '%s'", format);
  if (!cli->value[CACHE_O_GAIN])
    return CACHE_OK;
  cache_exit e = cache_number(cli, CACHE_O_GAIN, &percent);
  cli->most_ratio = 1 - 0.01 * (double)percent;
  return e;
}

static cache_exit read_options(cache_cli *cli, int argc, char **argv) {
  neo_usage u = usage_of(cli);
  neo_usage_reader r;
  neo_usage_found found;
  neo_usage_begin(&r, &u, cli->command->name, argc - 1, argv + 1);
  while ((found = neo_usage_next(&r)) == NEO_USAGE_OPTION)
    cli->value[r.option] = r.value;
  if (found == NEO_USAGE_LACKS_VALUE)
    return cache_usage(cli, "option '%s' needs a value", r.word);
  if (found == NEO_USAGE_TAKES_NONE)
    return cache_usage(cli, "option '%s' takes no value", r.word);
  if (found == NEO_USAGE_UNKNOWN)
    return bad_option(cli, r.word);
  cli->args = r.argv;
  cli->n_args = r.n_args;
  return read_values(cli);
}

static cache_exit unknown_command(const cache_cli *cli, const char *name) {
  neo_usage u = usage_of(cli);
  const char *best = neo_usage_nearest_command(&u, name);
  return best ? cache_usage(cli, "unknown command '%s' (did you mean %s?)", name, best)
              : cache_usage(cli, "unknown command '%s'", name);
}

static cache_exit run(cache_cli *cli, int argc, char **argv) {
  neo_usage u = usage_of(cli);
  if (argc < 2) {
    neo_usage_print(&u, NULL, stderr);
    return CACHE_USAGE;
  }
  const char *name = argv[1];
  if (neo_streq(name, "--help") || neo_streq(name, "-h"))
    name = "help";
  if (neo_streq(name, "--version"))
    name = "version";
  cli->command = find(name);
  if (!cli->command)
    return unknown_command(cli, name);
  cache_exit e = read_options(cli, argc - 1, argv + 1);
  if (e)
    return e;
  if (cli->value[CACHE_O_HELP]) {
    neo_usage_print(&u, cli->command, stdout);
    return CACHE_OK;
  }
  return commands[cli->command - usages](cli);
}

int neo_cache_run(const char *program, const char *version, int argc, char **argv) {
  neo_arena arena;
  jmp_buf out_of_memory;
  neo_arena_init(&arena, neo_alloc_default, &out_of_memory);
  if (setjmp(out_of_memory)) {
    fprintf(stderr, "%s: out of memory\n", program);
    neo_arena_free(&arena);
    return CACHE_MEMORY;
  }
  cache_cli cli = {.program = program, .version = version, .arena = &arena};
  cache_exit e = run(&cli, argc, argv);
  neo_arena_free(&arena);
  if ((fflush(stdout) != 0 || ferror(stdout)) && e == CACHE_OK) {
    fprintf(stderr, "%s: the output cannot be written\n", program);
    return CACHE_IO;
  }
  return (int)e;
}
