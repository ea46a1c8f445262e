/* neo-cache: looking at files of records and mending them, from the command line. `neoc cache` is
 * the same. */
#pragma once

/* Runs the command line argv[1..]; `program` is what it is called in messages ("neo-cache", "neoc
 * cache"), `version` what `version` prints. Returns the exit code: 0 ok, 1 damage or nothing found,
 * 2 usage, 3 files, 4 out of memory. */
int neo_cache_run(const char *program, const char *version, int argc, char **argv);
