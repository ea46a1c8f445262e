/* format.h: shared by readers and writers of formats. Private to runtime/files. */
#pragma once
#include "runtime/files.h"

/* The rows of formats.def. */
#define X(name) extern const neo_rti_format neo_rti_format_##name;
#include "runtime/files/formats.def"
#undef X

/* Writes the message of a failed read; its value is the status. */
#define NEO_RTI_REJECT(s, status, ...) \
  neo_rti_say((s)->error, (s)->error_bytes, status, __VA_ARGS__)
