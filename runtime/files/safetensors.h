/* safetensors.h: shared by reader and writer of safetensors. Private to runtime/files. */
#pragma once
#include "runtime/files/format.h"

/* The format's names of types: enum neo_rt_type, then enum neo_rti_file_type. */
extern const char *const neo_rti_safetensors_types[NEO_RTI_N_FILE_TYPES];
/* As write_head of a format (safetensors_write.c). */
void neo_rti_safetensors_write_head(neo_file_writer *w, const neo_rti_file_tensors *t);
