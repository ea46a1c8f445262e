/* Temporary files and folders: `.neo-PLACE-PID-N.tmp`, beside what they become, or in the folder for
 * temporaries. PLACE is a hash of the host and its namespace of processes, so that whoever finds one can tell
 * whether the process that made it is gone: a kill leaves them behind. */
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n-th name for this process, behind `folder_bytes` of `folder` (which end with a slash, or are
 * none). False if there is no room. */
bool neo_temp_name(char *out, size_t room, const char *folder, size_t folder_bytes, uint64_t n);
/* Makes a folder that only this user can enter, in `parent`, or, if null, in $TMPDIR or /tmp; removes
 * what ended processes left there first. NEO_IO with errno; *out is then what could not be made. The
 * caller removes it. Programs take a path in it for one (neo_path_plain). */
neo_status neo_temp_folder(neo_arena *a, const char *parent, const char **out) NEO_MUST_CHECK;
/* Removes such a folder with what is in it, four levels deep; errno stays. */
void neo_temp_remove(const char *folder);
/* Removes this user's temporaries of this host whose processes are gone from the folder. Failures are
 * passed over. Null: $TMPDIR or /tmp. */
void neo_temp_sweep(const char *folder);
