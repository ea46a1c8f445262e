/* devices.c: the table of devices: the one place that names them. */
#include "runtime/core/device.h"

#define X(name) extern const neo_rti_device neo_rti_device_##name;
#include "runtime/core/devices.def"
#undef X

static const neo_rti_device *const devices[] = {
#define X(name) &neo_rti_device_##name,
#include "runtime/core/devices.def"
#undef X
};

const neo_rti_device *neo_rti_device_of(const neo_rt_model *m) {
  size_t k = 0;
  while (k + 1 < sizeof devices / sizeof *devices && !devices[k]->takes(m->device))
    k++;
  return devices[k];
}
