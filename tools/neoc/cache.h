/* `neoc cache`: the same program as neo-cache, which reads its own options. */
#ifndef NEO_TOOLS_NEOC_CACHE_H
#define NEO_TOOLS_NEOC_CACHE_H

/* argv[0] is "cache"; the exit code. */
int neoc_run_cache(int argc, char **argv);

#endif
