/* zip.h: the records of a zip archive that reading and writing share (signatures and sizes).
 * Private to runtime/files. */
#pragma once
#include "runtime/files/format.h"

#define ZIP_LOCAL 0x04034b50u
#define ZIP_CENTRAL 0x02014b50u
#define ZIP_END 0x06054b50u
#define ZIP_END64 0x06064b50u
#define ZIP_LOCATOR64 0x07064b50u
enum {
  ZIP_LOCAL_BYTES = 30,
  ZIP_CENTRAL_BYTES = 46,
  ZIP_END_BYTES = 22,
  ZIP_END64_BYTES = 56,
  ZIP_LOCATOR64_BYTES = 20,
  ZIP_EXTRA64 = 1
};

/* As write_arrays of a format (npz_write.c). */
neo_rt_status neo_rti_npz_write(const neo_rti_env *env, const char *path,
                                const neo_rt_named_array *arrays, int32_t n) NEO_MUST_CHECK;
