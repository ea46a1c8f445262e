/* The command line of `neoc tune`. */
#include "tools/neoc/tune/tuner.h"
#include <stdlib.h>
#include <string.h>

bool neoc_tune_duration(const char *text, double *seconds) {
  size_t n = strlen(text);
  double unit = 1;
  char *number = strdup(text);
  if (number && n && strchr("smh", text[n - 1])) {
    unit = text[n - 1] == 's' ? 1 : text[n - 1] == 'm' ? 60 : 3600;
    number[n - 1] = 0;
  }
  bool ok = number && neoc_parse_real(number, seconds) && *seconds >= 0;
  *seconds *= unit;
  free(number);
  return ok;
}

/* The value of --records without a leading `none,`, which switches off the shipped records. */
static const char *records_file(neoc_cli *cli, neo_compile_options *co) {
  static const char none[] = "none,";
  const char *text = neoc_text(cli, NEOC_O_TUNE_RECORDS, NULL);
  if (!text || strncmp(text, none, sizeof none - 1) != 0)
    return text;
  co->records_dir = NULL;
  return text + sizeof none - 1;
}

/* The files of records. The file that is written is read too, so that its schedules are not
 * searched for again. */
neoc_exit neoc_tune_files(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co) {
  const char *place = neo_records_place(cli->arena);
  const char *log = neoc_text(cli, NEOC_O_LOG, NULL);
  o->records = records_file(cli, co);
  if (!o->records && !place)
    return neoc_usage(
        cli, "neither XDG_CACHE_HOME nor HOME names a folder: say where with --records=FILE");
  if (o->records && strchr(o->records, ','))
    return neoc_usage(cli, "--records=%s: tune writes one file, FILE or none,FILE", o->records);
  if (!o->records)
    o->records_flags = NEO_RECORDS_PRIVATE;
  if (!log)
    log = neo_arena_printf(cli->arena, "%s%s", o->records ? o->records : place,
                           o->records ? ".trials" : "");
  if (!o->records)
    log = neoc_has(cli, NEOC_O_LOG)
              ? log
              : neo_path_join(cli->arena, neo_path_folder(cli->arena, place), "trials");
  o->log = neo_streq(log, "none") ? NULL : log;
  o->records = o->records ? o->records : place;
  neo_records_source *sources = NEO_NEW_ARRAY(cli->arena, neo_records_source, 2);
  sources[0] = (neo_records_source){o->records, o->records_flags, true};
  co->records = sources;
  return NEOC_OK;
}

/* The option's folder without trailing slashes. */
static const char *folder_of(neoc_cli *cli, neoc_option option) {
  const char *text = neoc_text(cli, option, NULL);
  size_t n = text ? strlen(text) : 0;
  while (n > 1 && text[n - 1] == '/')
    n--;
  return text ? neo_arena_strndup(cli->arena, text, n) : NULL;
}

static neoc_exit read_folders(neoc_cli *cli, neo_tune_options *o) {
  neoc_exit e = NEOC_OK;
  int modes = neoc_has(cli, NEOC_O_TUNE_EMIT) + neoc_has(cli, NEOC_O_TUNE_IMPORT) +
              neoc_has(cli, NEOC_O_SURVEY);
  o->emit = folder_of(cli, NEOC_O_TUNE_EMIT);
  o->import = folder_of(cli, NEOC_O_TUNE_IMPORT);
  o->candidates = neoc_count(cli, NEOC_O_CANDIDATES, 32, 1, &e);
  if (e)
    return e;
  if (modes > 1)
    return neoc_usage(cli, "of --emit, --import and --survey only one can be done");
  if (neoc_has(cli, NEOC_O_CANDIDATES) && !o->emit)
    return neoc_usage(cli, "--candidates is for --emit");
  if (o->candidates > 1000)
    return neoc_usage(cli, "--candidates: at most 1000");
  if (o->emit && !neoc_has(cli, NEOC_O_TIME))
    o->seconds = 1e9;
  return NEOC_OK;
}

neoc_exit neoc_tune_options(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co) {
  neoc_exit e = NEOC_OK;
  const char *time_text = neoc_text(cli, NEOC_O_TIME, "60s");
  if (!neoc_tune_duration(time_text, &o->seconds))
    return neoc_usage(cli, "--time takes a duration as 90s, 5m or 1h, not '%s'", time_text);
  o->threads = neoc_count(cli, NEOC_O_TUNE_THREADS, 1, 1, &e);
  o->seed = (uint64_t)neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  o->only = neoc_text(cli, NEOC_O_KERNEL, NULL);
  if (!e)
    e = read_folders(cli, o);
  return e ? e : neoc_tune_files(cli, o, co);
}
