/* processor.h: the features of this machine's processor, and the cores that this process may
 * use. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cores that this process may use, at least 1. */
int32_t neo_rti_cores(void);
/* Whether the processor has all features of a comma-separated list ("avx2,fma", LLVM's names); the
 * missing ones go to `missing`. Requests those that the system grants on request only (AMX's
 * tiles). */
bool neo_rti_features_check(const char *features, char *missing, size_t missing_bytes);
