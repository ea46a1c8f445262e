/* Records of schedules in a compilation: which are read, and what is taken from them.
 *
 * A group's schedule is that of the best record for exactly this group, target and build, if it
 * beat the default and is legal here; else the analytic model's choice. What it beat may have been
 * the choice of an older model: then the gain is what is left of it by what today's model thinks of
 * both choices. Nearest shapes only seed the tuner. Same bytes out holds for (source, options,
 * target, records): the schedules that were taken are part of the source's hash. */
#pragma once
#include "fusion/group.h"
#include "schedule/schedule.h"
#include "tools/cache/set.h"

struct neo_compilation;
struct neo_target;

typedef struct {
  const char *path; /* null: the end of a list */
  unsigned flags;   /* of neo_records_load */
  bool optional;    /* may be missing; what else keeps it from being read is a remark */
} neo_records_source;

/* The value of --records: a list of files; `user`: the user's own; `none`: without the records that
 * are shipped. Null with *why if it is not well formed. *shipped: whether those are read. */
const neo_records_source *neo_records_sources(neo_arena *a, const char *list, bool *shipped,
                                              const char **why);

/* The file of shipped records, one for each level of processors that is compiled for. */
const char *neo_records_shipped_name(neo_arena *a, const struct neo_target *t);
/* What a record says of the machine: all that schedules and kernels depend on. */
const char *neo_record_target_text(neo_arena *a, const struct neo_target *t);
/* What it says of the compiler: records of another one may mean something else. */
const char *neo_record_build_text(void);
/* Fills in what a record says of a group (key, family, sizes, name), of the target and of the
 * build; the rest is as it was. In the compilation's arena. After neo_compile_kernels, or in it. */
void neo_record_describe(struct neo_compilation *c, const neo_group *g, neo_record *r);

/* ---- for compile.c */
/* Reads the options' records once the target is known. */
neo_status neo_compile_read_records(struct neo_compilation *c) NEO_MUST_CHECK;
/* The group's schedule; *from: the record that it is of, or null. */
neo_schedule neo_compile_schedule(struct neo_compilation *c, const neo_group *g,
                                  const neo_record **from);
/* The same of a group that may use the machine in this way: one inside of a recurrence. */
neo_schedule neo_compile_schedule_on(struct neo_compilation *c, const neo_group *g,
                                     const struct neo_machine *machine, const neo_record **from);
/* Remarks about records that could not be used; after the last group. */
void neo_compile_report_records(struct neo_compilation *c);
