/* The last stage: LLVM module, object, and the files that were asked for. */
#ifndef NEO_TOOLS_EMIT_H
#define NEO_TOOLS_EMIT_H
#include "tools/pipeline/compile.h"

neo_status neo_emit_files(neo_compilation *c) NEO_MUST_CHECK;

#endif
