/* A record: the measured time of a schedule of a group of definitions on some machine. Records
 * outlive the model that they were made for: a group with the same canonical IR, in any model,
 * finds them.
 *
 * In a file a record is one line,
 *
 *   LENGTH CHECKSUM {"key":"9f..","family":"03..","sizes":[64,128],"target":"x86-64-v3 ...", ...}
 *
 * LENGTH bytes of JSON (decimal, no leading zeros), whose 64-bit hash is CHECKSUM (16 lower-case
 * hexadecimal digits). There is one spelling of each number, so that no changed byte of a line
 * leaves it valid. (set.h: the file.) */
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include <stdbool.h>

enum {
  NEO_RECORD_VERSION = 1,      /* version of the file format; part of every checksum */
  NEO_RECORD_MAX_SIZES = 64,   /* further ones are in the key alone */
  NEO_RECORD_MAX_BYTES = 65536 /* most bytes of a line */
};

typedef struct neo_record {
  uint64_t key[2];      /* key of the canonical IR with types and sizes */
  uint64_t family[2];   /* hash of the kernel without its sizes */
  const int64_t *sizes; /* the sizes left out of `family`, each >= 0, in canonical order */
  uint32_t n_sizes;     /* at most NEO_RECORD_MAX_SIZES */
  uint32_t threads;     /* number of threads in the measurement, at least 1 */
  const char *target;   /* the machine as schedules see it (neo_compile_target_text) */
  const char
      *build; /* the compiler's version and the meaning of its schedules (neo_compile_build_text) */
  const char *name;     /* name of the group, for people; may be "" */
  const char *schedule; /* as neo_schedule_print writes it */
  double time_ns;       /* median of one run of the kernel; > 0 */
  double default_ns;    /* time of the default schedule, measured in the same run; > 0 */
  const char *against;  /* the default schedule; null or "": not known */
  int64_t trials;       /* candidates measured so far, >= 0 */
  int64_t when;         /* seconds since 1970; 0: not known */
} neo_record;

/* Whether the fields are as described above, and texts are free of control characters. *why (may be
 * null): which is not. */
bool neo_record_valid(const neo_record *r, const char **why);
/* time_ns / default_ns: below 1 it beats the default. */
double neo_record_ratio(const neo_record *r);

/* A copy, with texts and sizes in the arena. */
neo_record neo_record_copy(neo_arena *a, const neo_record *r);

/* Appends the record as an object of JSON on one line. */
void neo_record_json(const neo_record *r, neo_str *out);
/* Parses a record. Fields are copied to the arena; unknown members are ignored. NEO_FORMAT (with
 * *why) or NEO_MEMORY. */
neo_status neo_record_parse(neo_arena *a, const char *json, size_t n, neo_record *out,
                            const char **why) NEO_MUST_CHECK;

/* Writes a line with its newline. The record has to be valid. */
void neo_record_line(const neo_record *r, neo_str *out);
/* The JSON of the line that begins at text[0], of n bytes; *json_bytes is its length. Null: length
 * or checksum is wrong. A newline need not follow. */
const char *neo_record_unline(const char *text, size_t n, size_t *json_bytes);

/* 32 hexadecimal digits, as keys are written, and back. */
void neo_record_key_text(const uint64_t key[2], char text[33]);
/* Reads a key, 32 hexadecimal digits, and writes it. False: the text is none. */
bool neo_record_key_of(const char *text, uint64_t key[2]);
