/* message.c: a context's last failure, and its log. */
#include "base/utf8.h"
#include "runtime/core/ctx.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Removes a character that truncation cut in two, as names may hold any UTF-8. */
static void drop_part(char *text) {
  size_t n = strlen(text), begin = n;
  while (begin > 0 && n - begin < 4 && ((unsigned char)text[begin - 1] & 0xc0) == 0x80)
    begin--;
  begin -= begin > 0 && (unsigned char)text[begin - 1] >= 0xc0;
  if (begin < n && !neo_utf8_decode(text + begin, n - begin, NULL))
    text[begin] = 0;
}

neo_rt_status neo_rti_fail(neo_rt_ctx *ctx, neo_rt_status status, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(ctx->error, sizeof ctx->error, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof ctx->error)
    drop_part(ctx->error);
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
