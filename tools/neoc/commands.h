/* The table of commands, and the command line that names one of them. */
#ifndef NEO_TOOLS_NEOC_COMMANDS_H
#define NEO_TOOLS_NEOC_COMMANDS_H
#include "tools/neoc/neoc.h"

/* Reads argv[1..]: the command and its options; NEOC_OK, or an error that has been reported. */
neoc_exit neoc_command_read(neoc_cli *cli, int argc, char **argv);
void neoc_print_help(const neoc_command *command, FILE *out); /* null: of neoc itself */

#endif
