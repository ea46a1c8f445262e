/* Finds the device of candidates: a GPU, for which a child looks, or this processor. */
#include "tools/measure/device.h"
#include "base/gpu.h"
#include "runtime/processor.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *measure_device_told(const measure_device *d, cuda_result r, const char *doing,
                                char *text) {
  return neo_rti_cuda_why(&d->api, r, doing, text);
}

static const char *check_level(const measure_device *d, const char *level, char *text) {
  char name[NEO_GPU_NAME];
  if (neo_gpu_runs(d->sm, level))
    return NULL;
  if (neo_gpu_name(d->sm, name))
    snprintf(text, CUDA_TEXT,
             "the candidates are for %s, and this is %s (sm_%d): use --target=nvptx:%s", level,
             d->name, d->sm, name);
  else
    snprintf(text, CUDA_TEXT,
             "the candidates are for %s, and %s (sm_%d) is older than all GPUs that neoc compiles "
             "for",
             level, d->name, d->sm);
  return text;
}

const char *measure_device_open(const measure_job *j, measure_device *d, char text[CUDA_TEXT]) {
  int n = 0, major = 0, minor = 0;
  void *library;
  const char *why = neo_rti_cuda_driver(&d->api, &library, text);
  if (!why)
    why = measure_device_told(d, d->api.init(0), "initialising the CUDA driver", text);
  if (!why)
    why = measure_device_told(d, d->api.device_count(&n), "counting devices", text);
  if (!why && j->device >= n) {
    snprintf(text, CUDA_TEXT, "there is no device cuda:%d: the driver has %d", j->device, n);
    why = text;
  }
  if (!why)
    why = measure_device_told(d, d->api.device_get(&d->number, j->device), "opening the device",
                              text);
  if (!why)
    why = measure_device_told(d, d->api.device_name(d->name, (int)sizeof d->name, d->number),
                              "naming the device", text);
  if (!why)
    why = measure_device_told(d, d->api.device_attribute(&major, CUDA_CAPABILITY_MAJOR, d->number),
                              "asking for the device's generation", text);
  if (!why)
    why = measure_device_told(d, d->api.device_attribute(&minor, CUDA_CAPABILITY_MINOR, d->number),
                              "asking for the device's generation", text);
  if (!why)
    why = measure_device_told(
        d, d->api.device_attribute(&d->processors, CUDA_MULTIPROCESSORS, d->number),
        "counting multiprocessors", text);
  d->sm = 10 * major + minor;
  return why ? why : check_level(d, j->level, text);
}

/* A child looks for the device, because an initialised driver cannot be used after a fork. */
static bool look_for_device(const measure_job *j, char text[CUDA_TEXT]) {
  int fd[2];
  bool found = false;
  snprintf(text, CUDA_TEXT, "no process can be made");
  if (pipe(fd))
    return false;
  pid_t pid = fork();
  if (pid == 0) {
    measure_device *d = calloc(1, sizeof *d);
    char answer[257] = {0};
    const char *why = d ? measure_device_open(j, d, answer + 1) : "out of memory";
    answer[0] = !why;
    if (!why)
      snprintf(answer + 1, 256, "%s (sm_%d)", d->name, d->sm);
    _exit(write(fd[1], answer, sizeof answer) != sizeof answer);
  }
  close(fd[1]);
  char answer[257];
  if (pid > 0 && read(fd[0], answer, sizeof answer) == sizeof answer) {
    found = answer[0];
    memcpy(text, answer + 1, 256);
  } else if (pid > 0) {
    snprintf(text, CUDA_TEXT, "the CUDA driver ended the process that opened it");
  }
  close(fd[0]);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return found;
}

/* The processor's name, as the system reports it. */
static void name_processor(char text[CUDA_TEXT]) {
  char line[256];
  FILE *f = fopen("/proc/cpuinfo", "r");
  snprintf(text, CUDA_TEXT, "processor");
  while (f && fgets(line, sizeof line, f)) {
    const char *name = strstr(line, ": ");
    if (strncmp(line, "model name", 10) != 0 || !name)
      continue;
    snprintf(text, CUDA_TEXT, "%.*s", (int)strcspn(name + 2, "\n"), name + 2);
    break;
  }
  if (f)
    fclose(f);
}

bool measure_device_choose(measure_job *j, const char *line, char text[CUDA_TEXT]) {
  char kind[8] = "", what[128] = "", missing[64];
  sscanf(line, "device %7s %127s", kind, what);
  j->gpu = strcmp(kind, "cuda") == 0;
  if (j->gpu) {
    snprintf(j->level, sizeof j->level, "%.15s", what);
    j->device = (int)measure_number(line, "number", 0);
    return look_for_device(j, text);
  }
  if (strcmp(kind, "cpu") != 0) {
    snprintf(text, CUDA_TEXT, "device is cpu or cuda");
    return false;
  }
  if (neo_rti_features_check(what, missing, sizeof missing)) {
    name_processor(text);
    return true;
  }
  snprintf(text, CUDA_TEXT, "this processor lacks %s, which the candidates need", missing);
  return false;
}
