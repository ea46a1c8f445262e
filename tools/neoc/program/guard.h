/* A bug in the compiler is an assert or a fault: the process ends in a signal. So that the user
 * gets a message and a reproducer instead, commands that compile run in a child: parent waits,
 * hands signals on, and when the child died of a bug, writes the IR (made again by the frontend, in
 * another child) and exits with NEOC_INTERNAL. NEOC_NO_GUARD=1 in the environment runs everything
 * in one process, for debuggers. */
#pragma once
#include "tools/neoc/neoc.h"

/* Runs the command, which compiles. */
neoc_exit neoc_guard(neoc_cli *cli);
/* Writes the IR of the command's model, as the frontend makes it, and the passes into a file of the
 * temporary folder; its name, or null. (reproducer.c) */
const char *neoc_reproducer(neoc_cli *cli, const char *why);
