/* Measures folders of candidates (docs/tuning.md). */
#pragma once
#include "tools/measure/measure.h"

/* Runs the command line for folders (argv[1..]); returns the exit code. */
int measure_folder(measure_server *s, int argc, char **argv);
