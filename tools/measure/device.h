/* A GPU, opened through its driver. */
#pragma once
#include "runtime/cuda_api.h"
#include "tools/measure/measure.h"

typedef struct {
  cuda_api api;
  cuda_device number;
  cuda_context context;
  cuda_stream stream;
  cuda_event from, to;
  char name[128];
  int sm, processors; /* 10 * major + minor; multiprocessors */
} measure_device;

/* Null, or the text of a failed call of the driver, written to `text`. */
const char *measure_device_told(const measure_device *d, cuda_result r, const char *doing,
                                char *text);
/* Opens the job's device and reads its properties. Null, or why it cannot be opened. */
const char *measure_device_open(const measure_job *j, measure_device *d, char text[CUDA_TEXT]);
