/* message.c: a context's last failure, and its log. */
#include "runtime/core/ctx.h"
#include <stdarg.h>
#include <stdio.h>

neo_rt_status neo_rti_fail(neo_rt_ctx *ctx, neo_rt_status status, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(ctx->error, sizeof ctx->error, fmt, ap);
  va_end(ap);
  if (ctx->log)
    ctx->log(ctx->log_user, NEO_RTI_LOG_ERROR, ctx->error);
  return status;
}

void neo_rti_log(neo_rt_ctx *ctx, int level, const char *fmt, ...) {
  if (!ctx->log)
    return;
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  ctx->log(ctx->log_user, level, text);
}

const char *neo_rt_error(const neo_rt_ctx *ctx) {
  return ctx ? ctx->error : "";
}

const char *neo_rt_status_text(neo_rt_status status) {
  return neo_status_text((neo_status)status);
}

neo_rt_status neo_rti_alive(neo_rt_ctx *ctx) {
  if (!ctx)
    return NEO_NULL;
  return ctx->alive ? NEO_OK : NEO_STATE;
}
