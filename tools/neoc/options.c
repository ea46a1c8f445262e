/* The command line: one table of options (options.def) and one of commands (commands.def), from
 * which getopt_long, --help, the man page and the completion of shells are made. */
#include "tools/neoc/neoc.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const char *name, *value, *commands, *meaning;
  char letter;
} option_row;

static const option_row options[] = {
#define X(id, name, letter, value, commands, meaning) {name, value, commands, meaning, letter},
#include "tools/neoc/options.def"
#undef X
};

static const neoc_command commands[] = {
#define X(id, name, args, function, meaning) {name, args, meaning, function},
#include "tools/neoc/commands.def"
#undef X
};
enum { N_COMMANDS = sizeof commands / sizeof *commands, LETTER_BASE = 256 };

const neoc_command *neoc_command_find(const char *name) {
  for (int k = 0; k < N_COMMANDS; k++)
    if (neo_streq(commands[k].name, name))
      return &commands[k];
  return NULL;
}

/* Is `word` one of the words of `list`? */
static bool has_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
    if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
      return true;
  return false;
}

static bool applies(const option_row *o, const neoc_command *c) {
  return neo_streq(o->commands, "*") || (c && has_word(o->commands, c->name));
}

/* ---- reading */

typedef struct {
  struct option longs[NEOC_O_COUNT + 1];
  char letters[2 * NEOC_O_COUNT + 2];
} getopt_table;

static void make_table(const neoc_command *c, getopt_table *t) {
  size_t n = 0, l = 0;
  memset(t, 0, sizeof *t);
  t->letters[l++] = ':'; /* a missing value is told from an unknown option */
  for (int k = 0; k < NEOC_O_COUNT; k++) {
    const option_row *o = &options[k];
    if (!applies(o, c))
      continue;
    t->longs[n++] =
        (struct option){o->name, o->value ? required_argument : no_argument, NULL, LETTER_BASE + k};
    if (!o->letter)
      continue;
    t->letters[l++] = o->letter;
    if (o->value)
      t->letters[l++] = ':';
  }
}

static int of_letter(const neoc_command *c, int letter) {
  for (int k = 0; k < NEOC_O_COUNT; k++)
    if (options[k].letter == letter && applies(&options[k], c))
      return k;
  return -1;
}

/* The nearest of the names, or null. */
static const char *nearest_option(const neoc_command *c, const char *name) {
  const char *best = NULL;
  int least = 3;
  for (int k = 0; k < NEOC_O_COUNT; k++) {
    if (!applies(&options[k], c))
      continue;
    int d = neo_str_distance(name, options[k].name, 2);
    if (d < least)
      least = d, best = options[k].name;
  }
  return best;
}

static neoc_exit bad_option(const neoc_cli *cli, const char *word) {
  const char *name = word + strspn(word, "-");
  char *bare = neo_arena_strndup(cli->arena, name, strcspn(name, "="));
  const char *near = nearest_option(cli->command, bare);
  if (near && strncmp(word, "--", 2) == 0)
    return neoc_usage(cli, "unknown option '%s' (did you mean --%s?)", word, near);
  return neoc_usage(cli, "unknown option '%s'", word);
}

static neoc_exit read_options(neoc_cli *cli, int argc, char **argv) {
  getopt_table t;
  make_table(cli->command, &t);
  opterr = 0;
  optind = 1;
  for (;;) {
    int at = optind, found = getopt_long(argc, argv, t.letters, t.longs, NULL);
    if (found < 0)
      break;
    if (found == ':')
      return neoc_usage(cli, "option '%s' needs a value", argv[at]);
    if (found == '?') {
      char letter[3] = {'-', (char)optopt, 0};
      bool known = optopt >= LETTER_BASE;
      if (known)
        return neoc_usage(cli, "option '%s' takes no value", argv[at]);
      return bad_option(cli, optopt ? letter : argv[optind - 1]);
    }
    int k = found >= LETTER_BASE ? found - LETTER_BASE : of_letter(cli->command, found);
    NEO_PUSH(cli->arena, &cli->value[k], optarg ? optarg : "");
  }
  cli->args = argv + optind;
  cli->n_args = argc - optind;
  return NEOC_OK;
}

static neoc_exit unknown_command(const neoc_cli *cli, const char *name) {
  const char *best = NULL;
  int least = 3;
  for (int k = 0; k < N_COMMANDS; k++) {
    int d = neo_str_distance(name, commands[k].name, 2);
    if (d < least)
      least = d, best = commands[k].name;
  }
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
  const char *no_colour = getenv("NO_COLOR");
  cli->colour = neo_streq(colour, "always") ||
                (neo_streq(colour, "auto") && isatty(2) && !(no_colour && *no_colour));
  if (!cli->colour && !neo_streq(colour, "auto") && !neo_streq(colour, "never"))
    return neoc_usage(cli, "--color is auto, always or never, not '%s'", colour);
  return NEOC_OK;
}

neoc_exit neoc_options_read(neoc_cli *cli, int argc, char **argv) {
  if (argc < 2) {
    neoc_print_help(NULL, stderr);
    return NEOC_USAGE;
  }
  const char *name = argv[1];
  if (neo_streq(name, "--help") || neo_streq(name, "-h"))
    name = "help";
  if (neo_streq(name, "--version"))
    name = "version";
  cli->command = neoc_command_find(name);
  if (!cli->command)
    return unknown_command(cli, name);
  neoc_exit e = read_options(cli, argc - 1, argv + 1);
  return e ? e : common_options(cli);
}

/* ---- values */

bool neoc_has(const neoc_cli *cli, neoc_option o) {
  return cli->value[o].n > 0;
}

const char *neoc_text(const neoc_cli *cli, neoc_option o, const char *otherwise) {
  return neoc_has(cli, o) ? cli->value[o].at[cli->value[o].n - 1] : otherwise;
}

bool neoc_parse_int(const char *text, int64_t *x) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno || end == text || *end)
    return false;
  *x = v;
  return true;
}

bool neoc_parse_real(const char *text, double *x) {
  char *end;
  *x = strtod(text, &end);
  if (end == text)
    return false;
  if (*end == '/') {
    const char *below = end + 1;
    *x /= strtod(below, &end);
    if (end == below)
      return false;
  }
  return *end == 0 && !isnan(*x);
}

int64_t neoc_int(const neoc_cli *cli, neoc_option o, int64_t otherwise, int64_t lo, neoc_exit *e) {
  int64_t x = otherwise;
  if (!neoc_has(cli, o))
    return x;
  const char *text = neoc_text(cli, o, "");
  if (!neoc_parse_int(text, &x) || x < lo)
    *e = neoc_usage(cli, "--%s is a whole number of at least %lld, not '%s'", options[o].name,
                    (long long)lo, text);
  return x;
}

double neoc_real(const neoc_cli *cli, neoc_option o, double otherwise, neoc_exit *e) {
  double x = otherwise;
  if (!neoc_has(cli, o))
    return x;
  const char *text = neoc_text(cli, o, "");
  if (!neoc_parse_real(text, &x) || !(x >= 0))
    *e = neoc_usage(cli, "--%s is a number of at least 0, not '%s'", options[o].name, text);
  return x;
}

neoc_texts neoc_words(const neoc_cli *cli, neoc_option o) {
  neoc_texts out = {0};
  for (size_t k = 0; k < cli->value[o].n; k++)
    for (const char *p = cli->value[o].at[k]; *p;) {
      size_t n = strcspn(p, ",");
      if (n)
        NEO_PUSH(cli->arena, &out, neo_arena_strndup(cli->arena, p, n));
      p += n + (p[n] == ',');
    }
  return out;
}

char *neoc_pair(const neoc_cli *cli, const char *text, const char **value) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text)
    return NULL;
  *value = equals + 1;
  return neo_arena_strndup(cli->arena, text, (size_t)(equals - text));
}

/* ---- help */

enum { HELP_COLUMN = 30, HELP_WIDTH = 98 };

/* Words from column `indent` on, in lines of HELP_WIDTH. */
static void put_wrapped(FILE *out, const char *text, int column, int indent) {
  while (*text) {
    int n = (int)strcspn(text, " ");
    if (column > indent && column + 1 + n > HELP_WIDTH) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    }
    column += fprintf(out, column > indent ? " %.*s" : "%.*s", n, text);
    text += n;
    text += strspn(text, " ");
  }
  fputc('\n', out);
}

static void put_option(FILE *out, const option_row *o) {
  int n = o->letter ? fprintf(out, "  -%c, --%s", o->letter, o->name)
                    : fprintf(out, "      --%s", o->name);
  if (o->value)
    n += fprintf(out, "=%s", o->value);
  if (n >= HELP_COLUMN - 1)
    n = fprintf(out, "\n") - 1;
  fprintf(out, "%*s", HELP_COLUMN - n, "");
  put_wrapped(out, o->meaning, HELP_COLUMN, HELP_COLUMN);
}

static void put_general(FILE *out) {
  fprintf(out, "neoc compiles models written as tensor expressions to machine code.\n\n"
               "usage: neoc COMMAND [OPTIONS] ARGUMENTS\n\n");
  for (int k = 0; k < N_COMMANDS; k++)
    fprintf(out, "  %-12s %s\n", commands[k].name, commands[k].meaning);
  fprintf(out, "\n`neoc COMMAND --help` lists the options of a command.\n"
               "Exit codes: 0 ok, 1 errors in the input or a failed check, 2 usage, 3 files,\n"
               "4 the machine lacks something, 70 a bug in neoc, 130 interrupted.\n");
}

void neoc_print_help(const neoc_command *command, FILE *out) {
  if (!command) {
    put_general(out);
    return;
  }
  fprintf(out, "neoc %s: %s\n\nusage: neoc %s [OPTIONS] %s\n\n", command->name, command->meaning,
          command->name, command->args);
  for (int k = 0; k < NEOC_O_COUNT; k++)
    if (applies(&options[k], command))
      put_option(out, &options[k]);
}

static void put_man_text(const char *text) {
  for (; *text; text++) {
    if (*text == '-' || *text == '\\')
      putchar('\\');
    putchar(*text);
  }
}

static void put_man(void) {
  printf(".TH NEOC 1 \"\" \"neo " NEO_VERSION "\"\n.SH NAME\nneoc \\- compile models of tensor "
         "expressions to training libraries\n.SH SYNOPSIS\n.B neoc\n.I command\n[options] "
         "arguments\n");
  for (int k = 0; k < N_COMMANDS; k++) {
    printf(".SH NEOC %s\n", commands[k].name);
    put_man_text(commands[k].meaning);
    printf(".PP\n.B neoc %s\n", commands[k].name);
    put_man_text(commands[k].args);
    putchar('\n');
    for (int o = 0; o < NEOC_O_COUNT; o++) {
      if (!applies(&options[o], &commands[k]))
        continue;
      printf(".TP\n.B ");
      if (options[o].letter)
        printf("\\-%c, ", options[o].letter);
      printf("\\-\\-");
      put_man_text(options[o].name);
      if (options[o].value)
        printf("=%s", options[o].value);
      putchar('\n');
      put_man_text(options[o].meaning);
      putchar('\n');
    }
  }
  printf(".SH EXIT STATUS\n0 ok, 1 errors in the input or a failed check, 2 usage, 3 files, 4 the "
         "machine lacks something, 70 a bug in neoc, 130 interrupted.\n");
}

static void put_completion(void) {
  printf("# bash: eval \"$(neoc help completion)\"\n_neoc() {\n  local words\n"
         "  case ${COMP_WORDS[1]} in\n");
  for (int k = 0; k < N_COMMANDS; k++) {
    printf("    %s) words=\"", commands[k].name);
    for (int o = 0; o < NEOC_O_COUNT; o++)
      if (applies(&options[o], &commands[k]))
        printf("--%s%s ", options[o].name, options[o].value ? "=" : "");
    printf("\" ;;\n");
  }
  printf("  esac\n  [ \"$COMP_CWORD\" = 1 ] && words=\"");
  for (int k = 0; k < N_COMMANDS; k++)
    printf("%s ", commands[k].name);
  printf("\"\n  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
         "complete -o default -F _neoc neoc\n");
}

neoc_exit neoc_help(neoc_cli *cli) {
  if (cli->n_args > 1)
    return neoc_usage(cli, "one command at a time");
  if (cli->n_args == 0) {
    neoc_print_help(NULL, stdout);
    return NEOC_OK;
  }
  const char *topic = cli->args[0];
  const neoc_command *c = neoc_command_find(topic);
  if (c && c->run == neoc_cache)
    return c->run(cli);
  if (c)
    neoc_print_help(c, stdout);
  else if (neo_streq(topic, "man"))
    put_man();
  else if (neo_streq(topic, "completion"))
    put_completion();
  else
    return unknown_command(cli, topic);
  return NEOC_OK;
}

neoc_exit neoc_version(neoc_cli *cli) {
  if (cli->n_args)
    return neoc_usage(cli, "unexpected argument '%s'", cli->args[0]);
  printf("neoc %s\n", NEO_VERSION);
  return NEOC_OK;
}
