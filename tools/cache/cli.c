/* The command line of neo-cache: one table of options, one of commands, from which getopt_long,
 * --help, the man page and the completion of shells are made. */
#include "tools/cache/cli.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name, *value, *commands, *meaning;
  char letter;
} option_row;

static const option_row options[] = {
#define X(id, name, letter, value, commands, meaning) {name, value, commands, meaning, letter},
#include "tools/cache/options.def"
#undef X
};

static const cache_command commands[] = {
#define X(id, name, args, function, meaning) {name, args, meaning, function},
#include "tools/cache/commands.def"
#undef X
};
enum { N_COMMANDS = sizeof commands / sizeof *commands, LETTER_BASE = 256, COLUMN = 28 };

static const char exits[] = "Exit codes: 0 ok, 1 damage or nothing found, 2 usage, 3 files, 4 out "
                            "of memory.\n";

static const cache_command *find(const char *name) {
  for (int k = 0; k < N_COMMANDS; k++)
    if (neo_streq(commands[k].name, name))
      return &commands[k];
  return NULL;
}

static bool applies(const option_row *o, const cache_command *c) {
  size_t n = strlen(c->name);
  for (const char *p = o->commands; (p = strstr(p, c->name)) != NULL; p += n)
    if ((p == o->commands || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
      return true;
  return neo_streq(o->commands, "*");
}

/* ---- messages */

static void put_message(const cache_cli *cli, const char *format, va_list ap) {
  fflush(stdout);
  fprintf(stderr, "%s%s%s: ", cli->program, cli->command ? " " : "",
          cli->command ? cli->command->name : "");
  vfprintf(stderr, format, ap);
  fputc('\n', stderr);
}

cache_exit cache_fail(const cache_cli *cli, cache_exit code, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  put_message(cli, format, ap);
  va_end(ap);
  return code;
}

cache_exit cache_usage(const cache_cli *cli, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  put_message(cli, format, ap);
  va_end(ap);
  fprintf(stderr, "try `%s %s%s--help`\n", cli->program, cli->command ? cli->command->name : "",
          cli->command ? " " : "");
  return CACHE_USAGE;
}

cache_exit cache_number(const cache_cli *cli, cache_option o, int64_t *x) {
  char *end;
  const char *text = cli->value[o];
  errno = 0;
  *x = strtoll(text, &end, 10);
  if (errno || end == text || *end || *x < 0)
    return cache_usage(cli, "--%s is a whole number of at least 0, not '%s'", options[o].name,
                       text);
  return CACHE_OK;
}

/* ---- help */

static void put_general(const cache_cli *cli, FILE *out) {
  fprintf(out,
          "%s keeps records of schedules: what tuning found for groups of tensor "
          "definitions.\n\nusage: %s COMMAND [OPTIONS] ARGUMENTS\n\n",
          cli->program, cli->program);
  for (int k = 0; k < N_COMMANDS; k++)
    fprintf(out, "  %-9s %s\n", commands[k].name, commands[k].meaning);
  fprintf(out, "\n`%s COMMAND --help` lists the options of a command.\n%s", cli->program, exits);
}

static void put_help(const cache_cli *cli, const cache_command *c, FILE *out) {
  fprintf(out, "%s %s: %s\n\nusage: %s %s [OPTIONS] %s\n\n", cli->program, c->name, c->meaning,
          cli->program, c->name, c->args);
  for (int k = 0; k < CACHE_O_COUNT; k++) {
    const option_row *o = &options[k];
    if (!applies(o, c))
      continue;
    int n = o->letter ? fprintf(out, "  -%c, --%s", o->letter, o->name)
                      : fprintf(out, "      --%s", o->name);
    n += o->value ? fprintf(out, "=%s", o->value) : 0;
    fprintf(out, "%*s%s\n", n < COLUMN ? COLUMN - n : 1, "", o->meaning);
  }
}

static void put_man(void) {
  printf(".TH NEO-CACHE 1\n.SH NAME\nneo\\-cache \\- records of schedules\n.SH SYNOPSIS\n"
         ".B neo\\-cache\n.I command\n[options] arguments\n");
  for (int k = 0; k < N_COMMANDS; k++) {
    printf(".SH %s\n%s.\n.PP\n.B neo\\-cache %s\n%s\n", commands[k].name, commands[k].meaning,
           commands[k].name, commands[k].args);
    for (int o = 0; o < CACHE_O_COUNT; o++)
      if (applies(&options[o], &commands[k]))
        printf(".TP\n.B \\-\\-%s%s%s\n%s\n", options[o].name, options[o].value ? "=" : "",
               options[o].value ? options[o].value : "", options[o].meaning);
  }
  printf(".SH EXIT STATUS\n%s", exits);
}

static void put_completion(void) {
  printf("# bash: eval \"$(neo-cache help completion)\"\n_neo_cache() {\n  local words\n"
         "  case ${COMP_WORDS[1]} in\n");
  for (int k = 0; k < N_COMMANDS; k++) {
    printf("    %s) words=\"", commands[k].name);
    for (int o = 0; o < CACHE_O_COUNT; o++)
      if (applies(&options[o], &commands[k]))
        printf("--%s%s ", options[o].name, options[o].value ? "=" : "");
    printf("\" ;;\n");
  }
  printf("  esac\n  [ \"$COMP_CWORD\" = 1 ] && words=\"");
  for (int k = 0; k < N_COMMANDS; k++)
    printf("%s ", commands[k].name);
  printf("\"\n  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
         "complete -o default -F _neo_cache neo-cache\n");
}

cache_exit neo_cache_help(cache_cli *cli) {
  const char *topic = cli->n_args ? cli->args[0] : NULL;
  const cache_command *c = topic ? find(topic) : NULL;
  if (cli->n_args > 1 ||
      (topic && !c && !neo_streq(topic, "man") && !neo_streq(topic, "completion")))
    return cache_usage(cli, "there is no command '%s'", cli->args[cli->n_args - 1]);
  if (c)
    put_help(cli, c, stdout);
  else if (!topic)
    put_general(cli, stdout);
  else if (neo_streq(topic, "man"))
    put_man();
  else
    put_completion();
  return CACHE_OK;
}

cache_exit neo_cache_version(cache_cli *cli) {
  printf("%s %s\n", cli->program, cli->version);
  return CACHE_OK;
}

/* ---- reading */

typedef struct {
  struct option longs[CACHE_O_COUNT + 1];
  char letters[2 * CACHE_O_COUNT + 2];
} getopt_table;

static getopt_table make_table(const cache_command *c) {
  getopt_table t = {.letters = ":"};
  size_t n = 0, l = 1;
  for (int k = 0; k < CACHE_O_COUNT; k++) {
    const option_row *o = &options[k];
    if (!applies(o, c))
      continue;
    t.longs[n++] =
        (struct option){o->name, o->value ? required_argument : no_argument, NULL, LETTER_BASE + k};
    if (!o->letter)
      continue;
    t.letters[l++] = o->letter;
    if (o->value)
      t.letters[l++] = ':';
  }
  return t;
}

static int of_letter(int letter) {
  for (int k = 0; k < CACHE_O_COUNT; k++)
    if (options[k].letter == letter)
      return k;
  return -1;
}

static cache_exit bad_option(const cache_cli *cli, const char *word) {
  const char *best = NULL;
  char *bare = neo_arena_strndup(cli->arena, word, strcspn(word, "="));
  for (int k = 0, least = 3; k < CACHE_O_COUNT; k++) {
    int d = neo_str_distance(bare + strspn(bare, "-"), options[k].name, 2);
    if (d < least && applies(&options[k], cli->command))
      least = d, best = options[k].name;
  }
  return best && strncmp(word, "--", 2) == 0
             ? cache_usage(cli, "unknown option '%s' (did you mean --%s?)", word, best)
             : cache_usage(cli, "unknown option '%s'", word);
}

/* Of the values that more than one command has. */
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
  getopt_table t = make_table(cli->command);
  opterr = 0;
  optind = 1;
  for (;;) {
    int at = optind, found = getopt_long(argc, argv, t.letters, t.longs, NULL);
    if (found < 0)
      break;
    if (found == ':')
      return cache_usage(cli, "option '%s' needs a value", argv[at]);
    if (found == '?')
      return optopt >= LETTER_BASE ? cache_usage(cli, "option '%s' takes no value", argv[at])
                                   : bad_option(cli, argv[at]);
    cli->value[found >= LETTER_BASE ? found - LETTER_BASE : of_letter(found)] =
        optarg ? optarg : "";
  }
  cli->args = argv + optind;
  cli->n_args = argc - optind;
  return read_values(cli);
}

static cache_exit unknown_command(const cache_cli *cli, const char *name) {
  const char *best = NULL;
  for (int k = 0, least = 3; k < N_COMMANDS; k++) {
    int d = neo_str_distance(name, commands[k].name, 2);
    if (d < least)
      least = d, best = commands[k].name;
  }
  return best ? cache_usage(cli, "unknown command '%s' (did you mean %s?)", name, best)
              : cache_usage(cli, "unknown command '%s'", name);
}

static cache_exit run(cache_cli *cli, int argc, char **argv) {
  if (argc < 2) {
    put_general(cli, stderr);
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
    put_help(cli, cli->command, stdout);
    return CACHE_OK;
  }
  return cli->command->run(cli);
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
