/* Scripts that complete a program's command line in bash, zsh and fish, from its tables. An
 * option's value is completed from the list of its values in the table, as text|json; if there is
 * none, with files. */
#include "base/str.h"
#include "tools/cache/usage.h"
#include <ctype.h>
#include <string.h>

/* A function's name has no dashes. */
static void put_function(const neo_usage *u, FILE *out) {
  fputc('_', out);
  for (const char *p = u->page; *p; p++)
    fputc(*p == '-' ? '_' : *p, out);
}

/* The next value of a list such as cpu|nvptx:LEVEL that is a word, not a placeholder; moves *at
 * after it. 0: no more. */
static size_t next_choice(const char **at, const char **word) {
  while (**at) {
    size_t n = strcspn(*at, "|");
    bool is_word = n > 0;
    *word = *at;
    for (size_t k = 0; k < n; k++)
      is_word = is_word && (islower((unsigned char)(*at)[k]) || isdigit((unsigned char)(*at)[k]) ||
                            (*at)[k] == '_');
    *at += n + ((*at)[n] == '|');
    if (is_word)
      return n;
  }
  return 0;
}

static bool has_choices(const char *value) {
  const char *at = value, *word;
  return value && strchr(value, '|') && next_choice(&at, &word) > 0;
}

static void put_choices(const char *value, FILE *out) {
  const char *word, *between = "";
  for (size_t n; (n = next_choice(&value, &word)) > 0; between = " ")
    fprintf(out, "%s%.*s", between, (int)n, word);
}

/* Writes a text for inside of '...', with a backslash before the characters of `special`. */
static void put_quoted(const char *text, const char *special, FILE *out) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\'", out);
    else if (strchr(special, *text))
      fputc('\\', out);
    fputc(*text, out);
  }
}

/* ---- bash */

static void put_bash_values(const neo_usage *u, const neo_usage_command *c, FILE *out) {
  for (size_t k = 0; k < u->n_options; k++) {
    const neo_usage_option *o = &u->options[k];
    if (!neo_usage_applies(o, c->name) || !has_choices(o->value))
      continue;
    fprintf(out, "    %s:--%s) words=\"", c->name, o->name);
    put_choices(o->value, out);
    fprintf(out, "\"; option= ;;\n");
  }
}

static void put_bash_options(const neo_usage *u, const neo_usage_command *c, FILE *out) {
  fprintf(out, "    %s) words=\"", c->name);
  for (size_t k = 0; k < u->n_options; k++)
    if (neo_usage_applies(&u->options[k], c->name))
      fprintf(out, "--%s%s ", u->options[k].name, u->options[k].value ? "=" : "");
  fprintf(out, "\" ;;\n");
}

/* Writes the script for bash, which splits words at '=', so that a value is the second word after
 * its option. */
static void put_bash(const neo_usage *u, FILE *out) {
  fprintf(out, "# bash: eval \"$(%s completion bash)\"\n", u->program);
  put_function(u, out);
  fprintf(out, "() {\n"
               "  local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} words=\n"
               "  if [ \"$cur\" = = ]; then cur=\n"
               "  elif [ \"$option\" = = ]; then option=${COMP_WORDS[COMP_CWORD-2]}\n"
               "  fi\n"
               "  case ${COMP_WORDS[1]}:$option in\n");
  for (size_t k = 0; k < u->n_commands; k++)
    put_bash_values(u, &u->commands[k], out);
  fprintf(out, "  esac\n  if [ -z \"$words\" ]; then\n    case ${COMP_WORDS[1]} in\n");
  for (size_t k = 0; k < u->n_commands; k++)
    put_bash_options(u, &u->commands[k], out);
  fprintf(out, "    esac\n  fi\n  [ \"$COMP_CWORD\" = 1 ] && words=\"");
  for (size_t k = 0; k < u->n_commands; k++)
    fprintf(out, "%s ", u->commands[k].name);
  fprintf(out, "\"\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
               "  case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac\n}\n"
               "complete -o default -F ");
  put_function(u, out);
  fprintf(out, " %s\n", u->page);
}

/* ---- zsh */

static void put_zsh_option(const neo_usage_option *o, FILE *out) {
  fprintf(out, " \\\n        ");
  if (o->letter)
    fprintf(out, "'(-%c --%s)'{-%c,--%s%s}", o->letter, o->name, o->letter, o->name,
            o->value ? "=" : "");
  else
    fprintf(out, "--%s%s", o->name, o->value ? "=" : "");
  fputs("'[", out);
  put_quoted(o->meaning, "[]\\", out);
  fputc(']', out);
  if (o->value) {
    fputc(':', out);
    put_quoted(o->value, ":\\", out);
    fputs(has_choices(o->value) ? ":(" : ":_files", out);
    if (has_choices(o->value)) {
      put_choices(o->value, out);
      fputc(')', out);
    }
  }
  fputc('\'', out);
}

static void put_zsh(const neo_usage *u, FILE *out) {
  fprintf(out, "#compdef %s\n", u->page);
  put_function(u, out);
  fprintf(out, "() {\n  local -a commands\n  commands=(\n");
  for (size_t k = 0; k < u->n_commands; k++) {
    fprintf(out, "    '%s:", u->commands[k].name);
    put_quoted(u->commands[k].meaning, "\\", out);
    fputs("'\n", out);
  }
  fprintf(out, "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n"
               "  fi\n  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n"
               "  case $command in\n");
  for (size_t k = 0; k < u->n_commands; k++) {
    fprintf(out, "    %s)\n      _arguments", u->commands[k].name);
    for (size_t o = 0; o < u->n_options; o++)
      if (neo_usage_applies(&u->options[o], u->commands[k].name))
        put_zsh_option(&u->options[o], out);
    fprintf(out, " \\\n        '*:file:_files' ;;\n");
  }
  fprintf(out, "  esac\n}\n");
  put_function(u, out);
  fprintf(out, " \"$@\"\n");
}

/* ---- fish */

static void put_fish_option(const neo_usage *u, const neo_usage_command *c,
                            const neo_usage_option *o, FILE *out) {
  fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", u->page, c->name,
          o->name);
  if (o->letter)
    fprintf(out, " -s %c", o->letter);
  if (has_choices(o->value)) {
    fprintf(out, " -x -a '");
    put_choices(o->value, out);
    fputc('\'', out);
  } else if (o->value) {
    fprintf(out, " -r");
  }
  fprintf(out, " -d '");
  put_quoted(o->meaning, "\\", out);
  fprintf(out, "'\n");
}

static void put_fish(const neo_usage *u, FILE *out) {
  for (size_t k = 0; k < u->n_commands; k++) {
    const neo_usage_command *c = &u->commands[k];
    fprintf(out, "complete -c %s -f -n __fish_use_subcommand -a %s -d '", u->page, c->name);
    put_quoted(c->meaning, "\\", out);
    fprintf(out, "'\n");
    for (size_t o = 0; o < u->n_options; o++)
      if (neo_usage_applies(&u->options[o], c->name))
        put_fish_option(u, c, &u->options[o], out);
  }
}

bool neo_usage_completion(const neo_usage *u, const char *shell, FILE *out) {
  if (neo_streq(shell, "bash"))
    put_bash(u, out);
  else if (neo_streq(shell, "zsh"))
    put_zsh(u, out);
  else if (neo_streq(shell, "fish"))
    put_fish(u, out);
  else
    return false;
  return true;
}
