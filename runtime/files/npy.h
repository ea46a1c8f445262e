/* npy.h: parts of NumPy's .npy: its header, and arrays in the form that is written. Private to
 * runtime/files. */
#pragma once
#include "runtime/files/format.h"

typedef struct {
  uint8_t type, bytes; /* type of the array in memory; bytes of an element in the file */
  char kind;           /* NumPy's letter */
  bool swap, fortran;  /* big-endian; column-major */
  uint8_t rank;
  int64_t extent[NEO_RTI_MAX_RANK];
  size_t data; /* offset of the elements */
} neo_rti_npy_header;

/* Reads the header of a file of version 1, 2 or 3. */
neo_rt_status neo_rti_npy_read_header(const neo_rti_source *s,
                                      neo_rti_npy_header *out) NEO_MUST_CHECK;

typedef struct { /* an array in the form that is written: bf16, which NumPy lacks, becomes f32 */
  const neo_rt_array *array;
  neo_rt_array copy; /* the converted array; else empty */
  char head[640];
  size_t head_bytes;
} neo_rti_npy;
/* The caller calls neo_rti_npy_close, also after a failure. NEO_TYPE, NEO_MEMORY. */
neo_rt_status neo_rti_npy_open(const neo_rt_array *array, neo_rti_npy *out) NEO_MUST_CHECK;
void neo_rti_npy_close(neo_rti_npy *n);
