/* Records of schedules in a compilation: which files are read, and which schedules are used.
 *
 * A group's schedule is that of the best record for exactly this group, target and build, if it
 * beat the default and is legal here; else the analytic model's choice. A record may have beaten
 * the choice of an older model: then its gain is reduced by the ratio of the present model's prices
 * of both choices. Records of similar shapes only seed the tuner. The output is determined by
 * (source, options, target, records): the schedules used are part of the source's hash. */
#pragma once
#include "fusion/group.h"
#include "schedule/schedule.h"
#include "tools/cache/set.h"

struct neo_compilation;
struct neo_target;

typedef struct {
  const char *path; /* null: the end of a list */
  unsigned flags;   /* flags for neo_records_load */
  bool optional;    /* may be missing; any other failure to read it is a remark */
} neo_records_source;

/* Parses the value of --records: a list of files; `user`: the user's own; `none`: without the
 * shipped records. Null, with *why: it is malformed. *shipped: whether the shipped records are
 * read. */
const neo_records_source *neo_records_sources(neo_arena *a, const char *list, bool *shipped,
                                              const char **why);

/* The file of shipped records for the target: one for each level of processors. */
const char *neo_records_shipped_name(neo_arena *a, const struct neo_target *t);
/* The target as records state it: everything that schedules and kernels depend on. */
const char *neo_record_target_text(neo_arena *a, const struct neo_target *t);
/* The compiler as records state it: records of another one may mean something else. Constant
 * text. */
const char *neo_record_build_text(void);
/* Fills in the fields of a record that describe a group (key, family, sizes, name), the target and
 * the build; the others are not changed. In the compilation's arena. Call it in or after
 * neo_compile_kernels. */
void neo_record_describe(struct neo_compilation *c, const neo_group *g, neo_record *r);

/* ---- for compile.c */
/* Reads the options' records once the target is known. NEO_IO, NEO_FORMAT: the text is in
 * c->why. */
neo_status neo_compile_read_records(struct neo_compilation *c) NEO_MUST_CHECK;
/* The group's schedule; *from is its record, or null. */
neo_schedule neo_compile_schedule(struct neo_compilation *c, const neo_group *g,
                                  const neo_record **from);
/* The same for a group that may use the machine as given: one inside of a recurrence. *from is the
 * record that it is of, owned by the compilation; null: none. */
neo_schedule neo_compile_schedule_on(struct neo_compilation *c, const neo_group *g,
                                     const struct neo_machine *machine, const neo_record **from);
/* Remarks about records that could not be used; after the last group. */
void neo_compile_report_records(struct neo_compilation *c);
