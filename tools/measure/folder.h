/* Measures folders of candidates (docs/tuning.md). */
#pragma once
#include "tools/measure/measure.h"

int measure_folder(measure_server *s, int argc, char **argv);
