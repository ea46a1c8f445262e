/* message.c: the message of a failure. */
#include "runtime/net/net.h"
#include <stdarg.h>
#include <stdio.h>

neo_rt_status neo_rti_net_fail(neo_rt_network *n, neo_rt_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(n->error, sizeof n->error, fmt, args);
  va_end(args);
  n->failed = true;
  return status;
}
