/* `neoc cache`: the same program as neo-cache, which reads its own options. */
#pragma once

/* argv[0] is "cache"; the exit code. */
int neoc_run_cache(int argc, char **argv);
