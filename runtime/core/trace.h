/* trace.h: the events of a trace, written by devices. Private to runtime. */
#pragma once
#include "runtime/core/ctx.h"

typedef struct {
  const char *name, *kind; /* "entry", "kernel", "copy" */
  int row;                 /* row of the viewer; 0: the host */
  int64_t from, to;        /* ns, by neo_rti_now_ns */
  int32_t step;            /* step of the entry; -1: none */
  int64_t bytes;           /* -1: not known */
  int64_t busy;            /* ns within from..to in which it ran; 0: not known */
} neo_rti_event;

int64_t neo_rti_now_ns(void); /* time of the monotonic clock */
const char *neo_rti_step_name(const neo_rt_ctx *ctx, int32_t step);
void neo_rti_trace_event(neo_rti_trace *t, const neo_rti_event *e);
/* Names a row of the viewer. */
void neo_rti_trace_row(neo_rti_trace *t, int row, const char *name);

/* Called before an entry, and after it has run or failed. */
neo_rt_status neo_rti_trace_begin(neo_rt_ctx *ctx) NEO_MUST_CHECK;
void neo_rti_trace_end(neo_rt_ctx *ctx, const neo_rt_entry *e);
/* Writes the file, if there is a trace. */
neo_rt_status neo_rti_trace_close(neo_rt_ctx *ctx) NEO_MUST_CHECK;
