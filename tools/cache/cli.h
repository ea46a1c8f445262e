/* neo-cache: shows and mends files of records, from the command line. `neoc cache` is the same
 * program. */
#pragma once

/* Runs the command line argv[1..]. `program` is its name in messages ("neo-cache", "neoc cache"),
 * `version` the text that its command `version` prints. Returns the exit code: 0 ok, 1 damage or
 * nothing found, 2 usage, 3 files, 4 out of memory. */
int neo_cache_run(const char *program, const char *version, int argc, char **argv);
