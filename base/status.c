/* Texts of status codes, from status.def. */
#include "base/status.h"
#include <errno.h>

neo_status neo_status_of_errno(int code) {
  return code == ENOMEM ? NEO_MEMORY : NEO_IO;
}

const char *neo_status_text(neo_status status) {
  switch (status) {
#define X(name, value, text) \
  case NEO_##name:           \
    return text;
#include "base/status.def"
#undef X
  }
  return "unknown status";
}
