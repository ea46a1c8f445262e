/* processor.h: what this machine's processor has, and this process may use. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cores that this process may use, at least 1. */
int32_t neo_rti_cores(void);
/* Does it have all CPU features of a comma list ("avx2,fma", LLVM's names)? Those that it lacks go
 * to `missing`. Asks the system for what it hands out on request only (AMX's tiles). */
bool neo_rti_features_check(const char *features, char *missing, size_t missing_bytes);
