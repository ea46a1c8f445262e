/* npy.h: parts of NumPy's .npy: its header, and arrays as they are written. Private to
 * runtime/files. */
#pragma once
#include "runtime/files/format.h"

typedef struct {
  uint8_t type, bytes; /* as the array gets it, as stored */
  char kind;           /* NumPy's letter */
  bool swap, fortran;  /* big-endian; column-major */
  uint8_t rank;
  int64_t extent[NEO_RTI_MAX_RANK];
  size_t data; /* where elements begin */
} neo_rti_npy_header;

/* Reads the header of a file of version 1, 2 or 3. */
neo_rt_status neo_rti_npy_read_header(const neo_rti_source *s,
                                      neo_rti_npy_header *out) NEO_MUST_CHECK;

typedef struct { /* an array as it is written: bf16, which NumPy lacks, as f32 */
  const neo_rt_array *array;
  neo_rt_array copy; /* what it is then; else empty */
  char head[640];
  size_t head_bytes;
} neo_rti_npy;
/* The caller ends it with neo_rti_npy_close, also after a failure. NEO_TYPE, NEO_MEMORY. */
neo_rt_status neo_rti_npy_open(const neo_rt_array *array, neo_rti_npy *out) NEO_MUST_CHECK;
void neo_rti_npy_close(neo_rti_npy *n);
