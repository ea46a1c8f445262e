/* Runs commands that compile in a child process. A bug in the compiler is an assert or a fault,
 * which ends the process with a signal; this way the user gets a message and a reproducer instead.
 * The parent waits, and forwards signals; if the child died of a bug, it writes the IR (made again
 * by the frontend, in another child) and exits with NEOC_INTERNAL. NEOC_NO_GUARD=1 in the
 * environment runs everything in one process, for debuggers. */
#pragma once
#include "tools/neoc/neoc.h"

/* Runs the command, which compiles. */
neoc_exit neoc_guard(neoc_cli *cli);
/* Writes the IR of the command's model, as the frontend makes it, and the list of passes into a
 * file of the temporary folder; returns its path, or null. (reproducer.c) */
const char *neoc_reproducer(neoc_cli *cli, const char *why);
