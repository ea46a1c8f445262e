/* Status codes, which fallible functions return. */
#pragma once

typedef enum {
#define X(name, value, text) NEO_##name = value,
#include "base/status.def"
#undef X
} neo_status;

#define NEO_MUST_CHECK __attribute__((warn_unused_result))

/* The status of a failed call by its errno: NEO_MEMORY where memory is short, else NEO_IO. */
neo_status neo_status_of_errno(int code);
/* English text of a status; never null. */
const char *neo_status_text(neo_status status);
