/* The table of commands, and the command line that names one of them. */
#pragma once
#include "tools/neoc/neoc.h"

/* Reads argv[1..]: the command and its options; NEOC_OK, or an error that has been reported. */
neoc_exit neoc_command_read(neoc_cli *cli, int argc, char **argv);
/* The same without a line: these words are options of the command of this name. */
neoc_exit neoc_options_read(neoc_cli *cli, const char *command, int n, char **words);
/* Runs the command that was read, on a stack that is deep enough for what compiles. (execute.c) */
neoc_exit neoc_command_run(neoc_cli *cli);
/* All of it: reads the line, runs the command, returns the exit code. `program`: null: as a
 * function of another program, without what neoc alone does. argv's words change their order.
 * (execute.c) */
int neoc_execute(int argc, char **argv, const neoc_program *program);
void neoc_print_help(const neoc_command *command, FILE *out); /* null: of neoc itself */
