/* `neoc cache`: the same program as neo-cache, which parses its own options. */
#pragma once

/* Runs it; argv[0] is "cache". Returns the exit code. */
int neoc_run_cache(int argc, char **argv);
