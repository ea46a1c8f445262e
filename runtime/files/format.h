/* format.h: what readers and writers of formats share. Private to runtime/files. */
#pragma once
#include "runtime/files.h"

/* The rows of formats.def. */
#define X(name) extern const neo_rti_format neo_rti_format_##name;
#include "runtime/files/formats.def"
#undef X

/* A failure of reading: its message, and the status. */
#define NEO_RTI_REJECT(s, status, ...) \
  neo_rti_say((s)->error, (s)->error_bytes, status, __VA_ARGS__)
