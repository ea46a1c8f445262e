/* Temporary files and folders, named `.neo-PLACE-PID-N.tmp`, beside their final path, or in the
 * folder for temporaries. PLACE is a hash of the host and its namespace of processes, so that a
 * program that finds one can tell whether its process is gone: a killed process leaves them. */
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the n-th name for this process after `folder_bytes` of `folder` (which end with a slash,
 * or are none). False if there is no room. */
bool neo_temp_name(char *out, size_t room, const char *folder, size_t folder_bytes, uint64_t n);
/* Makes a folder that only this user can enter, in `parent`, or, if null, in $TMPDIR or /tmp.
 * Removes the temporaries of ended processes there first. NEO_IO with errno; *out is then the path
 * that could not be made. The caller removes the folder. No program takes the path for an option
 * (neo_path_plain). */
neo_status neo_temp_folder(neo_arena *a, const char *parent, const char **out) NEO_MUST_CHECK;
/* Removes such a folder with what is in it, four levels deep; errno stays. */
void neo_temp_remove(const char *folder);
/* Removes from the folder this user's temporaries of this host whose processes are gone. Ignores
 * failures. Null: $TMPDIR or /tmp. */
void neo_temp_sweep(const char *folder);
