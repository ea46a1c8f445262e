/* The command line: one table of options (options.def) and one of commands (commands.def), from
 * which the reading of options, --help, the man page and the completion of shells are made. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "tools/neoc/commands.h"
#include "base/file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char fusion_kinds[] = "kinds of fusion to leave out: all, or a list of"
#define X(name, text, rules, meaning) " " text
#include "fusion/kinds.def"
#undef X
    ;

static const neo_usage_option options[] = {
#define X(id, name, letter, value, commands, meaning) {name, value, commands, meaning, letter},
#include "tools/neoc/options.def"
#undef X
};

static const neo_usage_section sections[] = {
    {NEOC_O_ENTRY, "running:"},       {NEOC_O_DATA, "training:"},
    {NEOC_O_FULL, "checking:"},       {NEOC_O_TIME, "the search:"},
    {NEOC_O_AFTER, "what is shown:"}, {NEOC_O_WRITE, "files:"},
    {NEOC_O_OUTPUT, "code:"},         {NEOC_O_DEFINE, "the model:"},
    {NEOC_O_HELP, "messages:"},       {NEOC_O_SKIP_PASS, "looking for a fault in the compiler:"},
};

/* The text after the options in a command's help. */
static const neo_usage_note notes[] = {
    {"run",
     "NAME=VALUE gives an input, parameter, state or setting. VALUE is\n"
     "  2.5                 a number\n"
     "  [1,2,3]             a list; [[1,2],[3,4]] has the shape [2,2]\n"
     "  @x.npy              a file: .npy, x.npz:name, or columns of a table: x.csv:age+height, "
     "x.csv:1..4\n"
     "  random:42:[8,10]    random numbers of a seed: floats in [-1, 1), integers below their "
     "bound\n"
     "  zeros:[8,10]        also ones:[8,10], full:0.5:[8,10]\n"
     "A shape may be left out where the model or --size tells it. A shell wants brackets in "
     "quotes.\n"},
};

static const neo_usage_command usages[] = {
#define X(id, name, args, function, meaning) {name, args, meaning},
#include "tools/neoc/commands.def"
#undef X
};

static const neoc_command commands[] = {
#define X(id, name, args, function, meaning) {name, function},
#include "tools/neoc/commands.def"
#undef X
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const neo_usage usage = {
    .program = "neoc",
    .page = "neoc",
    .version = NEO_VERSION,
    .what = "compile models of tensor expressions to training libraries",
    .about = "compiles models written as tensor expressions to machine code.",
    .exits = "0 ok, 1 errors in the input or a failed check, 2 usage, 3 files,\n"
             "4 the machine lacks something, 70 a bug in neoc, 130 interrupted.",
    .options = options,
    .commands = usages,
    .notes = notes,
    .sections = sections,
    .n_options = NEOC_O_COUNT,
    .n_commands = N_COMMANDS,
    .n_notes = sizeof notes / sizeof *notes,
    .n_sections = sizeof sections / sizeof *sections};

static const neoc_command *find(const char *name) {
  for (int k = 0; k < N_COMMANDS; k++)
    if (neo_streq(commands[k].name, name))
      return &commands[k];
  return NULL;
}

/* ---- reading */

/* The commands that have this option, "run, verify"; "": none has. */
static const char *commands_with(const neoc_cli *cli, const char *option) {
  neo_str text = neo_str_in(cli->arena);
  for (size_t c = 0; c < N_COMMANDS; c++)
    for (size_t k = 0; k < NEOC_O_COUNT; k++)
      if (neo_streq(options[k].name, option) && neo_usage_applies(&options[k], commands[c].name))
        neo_str_addf(&text, "%s%s", text.n ? ", " : "", commands[c].name);
  return neo_str_text(&text);
}

static neoc_exit bad_option(const neoc_cli *cli, const char *word) {
  const char *name = word + strspn(word, "-");
  char *bare = neo_arena_strndup(cli->arena, name, strcspn(name, "="));
  const char *others = commands_with(cli, bare);
  if (*others && strncmp(word, "--", 2) == 0)
    return neoc_usage(cli, "%s has no option --%s; it is one of %s", cli->command->name, bare,
                      others);
  const char *near = neo_usage_nearest_option(&usage, cli->command->name, bare);
  if (near && strncmp(word, "--", 2) == 0)
    return neoc_usage(cli, "unknown option '%s' (did you mean --%s?)", word, near);
  return neoc_usage(cli, "unknown option '%s'", word);
}

static neoc_exit read_options(neoc_cli *cli, int n, char **words) {
  neo_usage_reader r;
  neo_usage_found found;
  neo_usage_begin(&r, &usage, cli->command->name, n, words);
  while ((found = neo_usage_next(&r)) == NEO_USAGE_OPTION)
    NEO_PUSH(cli->arena, &cli->value[r.option], r.value);
  if (found == NEO_USAGE_LACKS_VALUE)
    return neoc_usage(cli, "option '%s' needs a value", r.word);
  if (found == NEO_USAGE_TAKES_NONE)
    return neoc_usage(cli, "option '%s' takes no value", r.word);
  if (found == NEO_USAGE_UNKNOWN)
    return bad_option(cli, r.word);
  cli->args = r.argv;
  cli->n_args = r.n_args;
  return NEOC_OK;
}

static neoc_exit unknown_command(const neoc_cli *cli, const char *name) {
  const char *best = neo_usage_nearest_command(&usage, name);
  if (best)
    return neoc_usage(cli, "unknown command '%s' (did you mean %s?)", name, best);
  return neoc_usage(cli, "unknown command '%s'", name);
}

static neoc_exit common_options(neoc_cli *cli) {
  const char *format = neoc_text(cli, NEOC_O_FORMAT, "text");
  const char *colour = neoc_text(cli, NEOC_O_COLOUR, "auto");
  cli->json = neo_streq(format, "json");
  if (!cli->json && !neo_streq(format, "text"))
    return neoc_usage(cli, "--format is text or json, not '%s'", format);
  const char *no_colour = secure_getenv("NO_COLOR");
  cli->colour = neo_streq(colour, "always") ||
                (neo_streq(colour, "auto") && isatty(2) && !(no_colour && *no_colour));
  if (!cli->colour && !neo_streq(colour, "auto") && !neo_streq(colour, "never"))
    return neoc_usage(cli, "--color is auto, always or never, not '%s'", colour);
  return NEOC_OK;
}

neoc_exit neoc_command_read(neoc_cli *cli, int argc, char **argv) {
  if (argc < 2) {
    neoc_print_help(NULL, stderr);
    return NEOC_USAGE;
  }
  const char *name = argv[1];
  if (neo_streq(name, "--help") || neo_streq(name, "-h"))
    name = "help";
  if (neo_streq(name, "--version"))
    name = "version";
  cli->command = find(name);
  if (!cli->command)
    return unknown_command(cli, name);
  neoc_exit e = read_options(cli, argc - 2, argv + 2);
  if (!e)
    e = common_options(cli);
  return e ? e : neoc_values_check(cli);
}

neoc_exit neoc_options_read(neoc_cli *cli, const char *command, int n, char **words) {
  cli->command = find(command);
  neoc_exit e = read_options(cli, n, words);
  return e ? e : neoc_values_check(cli);
}

/* ---- help */

void neoc_print_help(const neoc_command *command, FILE *out) {
  neo_usage_print(&usage, command ? &usages[command - commands] : NULL, out);
}

/* Prints AGENTS.md, which is in the folder of the library of expressions. */
static neoc_exit print_agents_page(neoc_cli *cli) {
  enum { LARGEST = 1 << 20 };
  const char *path = neo_place_agents(cli->arena);
  char *text;
  size_t n;
  if (cli->n_args)
    return neoc_usage(cli, "--agent is a page of its own: no command beside it");
  if (!path || neo_file_read(&neo_io_default, cli->arena, path, LARGEST, &text, &n))
    return neoc_fail(cli, NEOC_IO, "share/neo/AGENTS.md beside neoc cannot be read");
  fwrite(text, 1, n, stdout);
  return NEOC_OK;
}

neoc_exit neoc_help(neoc_cli *cli) {
  if (neoc_has(cli, NEOC_O_AGENT))
    return print_agents_page(cli);
  if (cli->n_args > 1)
    return neoc_usage(cli, "one command at a time");
  if (cli->n_args == 0) {
    neoc_print_help(NULL, stdout);
    return NEOC_OK;
  }
  const char *topic = cli->args[0];
  const neoc_command *c = find(topic);
  if (c && c->run == neoc_cache)
    return c->run(cli);
  if (c)
    neoc_print_help(c, stdout);
  else if (neo_streq(topic, "man"))
    neo_usage_man(&usage);
  else
    return unknown_command(cli, topic);
  return NEOC_OK;
}

neoc_exit neoc_completion(neoc_cli *cli) {
  if (cli->n_args != 1)
    return neoc_usage(cli, "which shell? bash, zsh or fish");
  if (!neo_usage_completion(&usage, cli->args[0], stdout))
    return neoc_usage(cli, "the shells are bash, zsh and fish, not '%s'", cli->args[0]);
  return NEOC_OK;
}

neoc_exit neoc_version(neoc_cli *cli) {
  if (cli->n_args)
    return neoc_usage(cli, "unexpected argument '%s'", cli->args[0]);
  printf("neoc %s\n", NEO_VERSION);
  return NEOC_OK;
}
