/* Texts of status codes, from status.def. */
#include "base/status.h"

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
