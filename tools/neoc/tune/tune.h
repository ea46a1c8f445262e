/* Tuning ahead of another command: `neoc compile --tune=60s`. */
#pragma once
#include "tools/neoc/neoc.h"

/* Tunes for the given time ("60s"), and adds the result to the records that the compilation
 * reads. */
neoc_exit neoc_tune_before(neoc_cli *cli, const char *seconds, neo_compile_options *co);
