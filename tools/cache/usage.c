/* See usage.h. */
#include "tools/cache/usage.h"
#include "base/str.h"
#include <string.h>

enum { COLUMN = 30, WIDTH = 98, FAR = 3 };

/* Is `word` one of the words of `list`? */
static bool has_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
    if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
      return true;
  return false;
}

bool neo_usage_applies(const neo_usage_option *o, const char *command) {
  return neo_streq(o->commands, "*") || has_word(o->commands, command);
}

/* ---- help */

/* Words from column `indent` on, in lines of WIDTH. */
static void put_wrapped(FILE *out, const char *text, int column, int indent) {
  while (*text) {
    int n = (int)strcspn(text, " ");
    if (column > indent && column + 1 + n > WIDTH) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    }
    column += fprintf(out, column > indent ? " %.*s" : "%.*s", n, text);
    text += n;
    text += strspn(text, " ");
  }
  fputc('\n', out);
}

static void put_option(FILE *out, const neo_usage_option *o) {
  int n = o->letter ? fprintf(out, "  -%c, --%s", o->letter, o->name)
                    : fprintf(out, "      --%s", o->name);
  if (o->value)
    n += fprintf(out, "=%s", o->value);
  if (n >= COLUMN - 1)
    n = fprintf(out, "\n") - 1;
  fprintf(out, "%*s", COLUMN - n, "");
  put_wrapped(out, o->meaning, COLUMN, COLUMN);
}

static void put_program(const neo_usage *u, FILE *out) {
  fprintf(out, "%s %s\n\nusage: %s COMMAND [OPTIONS] ARGUMENTS\n\n", u->program, u->about,
          u->program);
  for (size_t k = 0; k < u->n_commands; k++)
    fprintf(out, "  %-12s %s\n", u->commands[k].name, u->commands[k].meaning);
  fprintf(out, "\n`%s COMMAND --help` lists the options of a command.\nExit codes: %s\n",
          u->program, u->exits);
}

/* The heading of option k's section, or null: it has none. */
static const char *heading_of(const neo_usage *u, size_t k) {
  const char *heading = NULL;
  for (size_t s = 0; s < u->n_sections && u->sections[s].first <= k; s++)
    heading = u->sections[s].heading;
  return heading;
}

static void put_options(const neo_usage *u, const neo_usage_command *c, FILE *out) {
  const char *last = NULL;
  for (size_t k = 0; k < u->n_options; k++) {
    if (!neo_usage_applies(&u->options[k], c->name))
      continue;
    const char *heading = heading_of(u, k);
    if (heading && heading != last)
      fprintf(out, "%s%s\n", last ? "\n" : "", heading);
    last = heading;
    put_option(out, &u->options[k]);
  }
}

void neo_usage_print(const neo_usage *u, const neo_usage_command *c, FILE *out) {
  if (!c) {
    put_program(u, out);
    return;
  }
  fprintf(out, "%s %s: %s\n\nusage: %s %s [OPTIONS] %s\n\n", u->program, c->name, c->meaning,
          u->program, c->name, c->args);
  put_options(u, c, out);
  for (size_t k = 0; k < u->n_notes; k++)
    if (neo_streq(u->notes[k].command, c->name))
      fprintf(out, "\n%s", u->notes[k].text);
}

/* ---- the man page */

static void put_man_text(const char *text) {
  for (; *text; text++) {
    if (*text == '-' || *text == '\\')
      putchar('\\');
    putchar(*text);
  }
}

static void put_man_line(const char *text) {
  put_man_text(text);
  putchar('\n');
}

static void put_man_option(const neo_usage_option *o) {
  printf(".TP\n.B ");
  if (o->letter)
    printf("\\-%c, ", o->letter);
  printf("\\-\\-");
  put_man_text(o->name);
  if (o->value)
    printf("=%s", o->value);
  putchar('\n');
  put_man_line(o->meaning);
}

/* Writes lines to the man page without filling. */
static void put_man_note(const char *text) {
  printf(".PP\n.nf\n");
  put_man_text(text);
  printf(".fi\n");
}

void neo_usage_man(const neo_usage *u) {
  printf(".TH %s 1 \"\" \"neo %s\"\n.SH NAME\n", u->page, u->version);
  put_man_text(u->page);
  printf(" \\- %s\n.SH SYNOPSIS\n.B ", u->what);
  put_man_line(u->page);
  printf(".I command\n[options] arguments\n");
  for (size_t k = 0; k < u->n_commands; k++) {
    const neo_usage_command *c = &u->commands[k];
    printf(".SH ");
    put_man_text(u->page);
    printf(" %s\n", c->name);
    put_man_line(c->meaning);
    printf(".PP\n.B ");
    put_man_text(u->page);
    printf(" %s\n", c->name);
    put_man_line(c->args);
    for (size_t o = 0; o < u->n_options; o++)
      if (neo_usage_applies(&u->options[o], c->name))
        put_man_option(&u->options[o]);
    for (size_t n = 0; n < u->n_notes; n++)
      if (neo_streq(u->notes[n].command, c->name))
        put_man_note(u->notes[n].text);
  }
  printf(".SH EXIT STATUS\n%s\n", u->exits);
}

/* ---- reading */

const char *neo_usage_nearest_command(const neo_usage *u, const char *name) {
  const char *best = NULL;
  int least = FAR;
  for (size_t k = 0; k < u->n_commands; k++) {
    int d = neo_str_distance(name, u->commands[k].name, FAR - 1);
    if (d < least)
      least = d, best = u->commands[k].name;
  }
  return best;
}

const char *neo_usage_nearest_option(const neo_usage *u, const char *command, const char *name) {
  const char *best = NULL;
  int least = FAR;
  for (size_t k = 0; k < u->n_options; k++) {
    int d = neo_str_distance(name, u->options[k].name, FAR - 1);
    if (d < least && neo_usage_applies(&u->options[k], command))
      least = d, best = u->options[k].name;
  }
  return best;
}
