/* Names of passes and of kinds of fusion that have changed (renamed.def). */
#pragma once

typedef enum { NEOC_RENAMED_PASS, NEOC_RENAMED_FUSION } neoc_renamed;

/* The present name of the thing that was once called `name`; null: nothing had that name. */
const char *neoc_renamed_to(neoc_renamed what, const char *name);
