/* The table of commands, and the command line that names one of them. */
#pragma once
#include "tools/neoc/neoc.h"

/* Parses argv[1..]: the command and its options; NEOC_OK, or an error that was reported. */
neoc_exit neoc_command_read(neoc_cli *cli, int argc, char **argv);
/* Parses n words as the options of this command, without a command line; NEOC_OK, or an error that
 * was reported. The caller owns the words. */
neoc_exit neoc_options_read(neoc_cli *cli, const char *command, int n, char **words);
/* Runs the parsed command, on a stack that is deep enough for a compilation. (execute.c) */
neoc_exit neoc_command_run(neoc_cli *cli);
/* Parses the line, runs the command, and returns the exit code. argv's words are reordered.
 * `program` null: neoc is a function of another program, without what the program neoc alone does.
 * (execute.c) */
int neoc_execute(int argc, char **argv, const neoc_program *program);
void neoc_print_help(const neoc_command *command, FILE *out); /* null: of neoc itself */
