/* Names of passes and of kinds of fusion that have changed (renamed.def). */
#pragma once

typedef enum { NEOC_RENAMED_PASS, NEOC_RENAMED_FUSION } neoc_renamed;

/* What is called `name` no more; null: nothing was called so. */
const char *neoc_renamed_to(neoc_renamed what, const char *name);
