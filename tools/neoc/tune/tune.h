/* Tuning ahead of another command: `neoc compile --tune=60s`. */
#pragma once
#include "tools/neoc/neoc.h"

/* Tunes for so long ("60s"), and lets the compilation read what was found. */
neoc_exit neoc_tune_before(neoc_cli *cli, const char *seconds, neo_compile_options *co);
