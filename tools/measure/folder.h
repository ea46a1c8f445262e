/* Measures folders of candidates (docs/tuning.md). */
#ifndef NEO_TOOLS_MEASURE_FOLDER_H
#define NEO_TOOLS_MEASURE_FOLDER_H
#include "tools/measure/measure.h"

int measure_folder(measure_server *s, int argc, char **argv);
#endif
