/* Golden files; see parse_test.h. */
#define _GNU_SOURCE /* memmem */
#include "base/file.h"
#include "parse_test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "# expect:\n";

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the folder's .expr files, sorted; the last is NULL. */
static char **list_folder(neo_arena *a, const char *folder) {
  NEO_VEC(char *) names = {0};
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));)
    if (strlen(e->d_name) > 5 && strcmp(e->d_name + strlen(e->d_name) - 5, ".expr") == 0)
      NEO_PUSH(a, &names, neo_arena_strdup(a, e->d_name));
  closedir(dir);
  assert_true(names.n > 0);
  qsort(names.at, names.n, sizeof *names.at, compare_names);
  NEO_PUSH(a, &names, NULL);
  return names.at;
}

/* Each line behind `# `, or `#` if it is empty. */
static const char *as_comments(neo_arena *a, const char *text) {
  neo_str out;
  neo_str_init(&out, a);
  while (*text) {
    size_t n = strcspn(text, "\n");
    neo_str_add(&out, n ? "# " : "#");
    neo_str_addn(&out, text, n);
    neo_str_addc(&out, '\n');
    text += n + (text[n] == '\n');
  }
  return neo_str_text(&out);
}

static void check_file(neo_arena *a, const char *folder, const char *name, golden_result *result) {
  char *path = neo_path_join(a, folder, name), *text;
  size_t size;
  assert_int_equal(neo_file_read(&neo_io_default, a, path, 0, &text, &size), NEO_OK);
  const char *at = memmem(text, size, mark, strlen(mark));
  size_t n = at ? (size_t)(at - text) : size;
  const char *is = as_comments(a, result(a, name, neo_arena_strndup(a, text, n), n));
  if (at && strcmp(at + strlen(mark), is) == 0)
    return;
  if (!getenv("NEO_GOLDEN_REFRESH"))
    fail_msg("%s: is\n%s\nNEO_GOLDEN_REFRESH=1 rewrites it", path, is);
  neo_str out;
  neo_str_init(&out, a);
  neo_str_addn(&out, text, n);
  neo_str_addf(&out, "%s%s%s", n && text[n - 1] != '\n' ? "\n" : "", mark, is);
  assert_int_equal(neo_file_write(&neo_io_default, path, out.at, out.n), NEO_OK);
}

void check_golden_folder(const char *path, golden_result *result) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (char **name = list_folder(&a, path); *name; name++)
    check_file(&a, path, *name, result);
  neo_arena_free(&a);
}
