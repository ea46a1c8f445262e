/* Appending and rewriting: what is acknowledged is there, whatever call fails; places that cannot
 * be written or trusted; a file that is rewritten while others wait for it. */
#include "tests/cache/world.h"
#include "tests/fault.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void load(world *w, neo_records *s) {
  const char *why = NULL;
  neo_records_init(s, &w->arena);
  if (neo_records_load(s, &neo_io_default, w->path, 0, &why))
    fail_msg("%s", why);
}

static void check_has(world *w, int64_t from, int64_t to) {
  neo_records s;
  load(w, &s);
  assert_int_equal(s.all.n, to - from);
  assert_int_equal(s.files.at[0].bad_lines, 0);
  for (int64_t k = from; k < to; k++) {
    neo_record r = world_record(&w->arena, k);
    assert_true(world_same(&r, &s.all.at[k - from]));
  }
}

static void records_are_read_in_the_order_in_which_they_were_appended(void **state) {
  world *w = *state;
  world_append(w, 0, 100);
  check_has(w, 0, 100);
}

static void folders_are_made_on_the_first_write(void **state) {
  world *w = *state;
  w->path = neo_path_join(&w->arena, w->folder, "a/b/c/records");
  world_append(w, 0, 1);
  check_has(w, 0, 1);
}

static neo_status try_append(world *w, const neo_io *io, int64_t k, unsigned flags,
                             const char **why) {
  neo_record r = world_record(&w->arena, k);
  *why = NULL;
  return neo_record_append(io, &w->arena, w->path, &r, flags, why);
}

/* Appends record 2 to 0 and 1 with the n-th call failing; the number of calls when none failed. */
static size_t fail_at(world *w, size_t n, int forever, size_t *records) {
  neo_io_fault fault = {.fail_at = n, .forever = forever};
  neo_io io = neo_io_with_fault(&fault);
  neo_records s;
  const char *why;
  unlink(w->path);
  world_append(w, 0, 2);
  neo_status status = try_append(w, &io, 2, NEO_RECORDS_SYNC, &why);
  assert_int_equal(status, fault.count < n ? NEO_OK : NEO_IO);
  assert_true(!status || strstr(why, w->path));
  load(w, &s);
  assert_int_equal(s.files.at[0].bad_lines, 0);
  assert_int_equal(s.files.at[0].torn_bytes, 0);
  *records = s.all.n;
  return status ? 0 : fault.count;
}

static void after_any_failing_call_the_file_has_what_it_had_or_the_record_too(void **state) {
  world *w = *state;
  for (int forever = 0; forever < 2; forever++) {
    size_t calls = 0, records, kept = 0;
    for (size_t n = 1; !calls; n++) {
      calls = fail_at(w, n, forever, &records);
      kept += records == 2;
      assert_true(records == 2 || records == 3);
      assert_true(!calls || records == 3);
    }
    assert_in_range(calls, 6, 20);               /* open, reads, write, fsync, close */
    assert_in_range(kept, calls - 2, calls - 1); /* a failing fsync or close comes after it */
  }
}

static bool drop_odd(void *ctx, neo_records *s) {
  (void)ctx;
  size_t n = 0;
  for (size_t k = 0; k < s->all.n; k++)
    if (s->all.at[k].key[0] % 2 == 1) /* world_record(even) */
      s->all.at[n++] = s->all.at[k];
  s->all.n = n;
  return true;
}

static void a_rewritten_file_is_the_old_or_the_new_one_whatever_call_fails(void **state) {
  world *w = *state;
  const char *why = NULL;
  neo_status s = NEO_IO;
  size_t n = 0;
  for (; s; n++) {
    neo_io_fault fault = {.fail_at = n + 1};
    neo_io io = neo_io_with_fault(&fault);
    neo_records set;
    unlink(w->path);
    world_append(w, 0, 4);
    s = neo_records_rewrite(&io, &w->arena, w->path, 0, drop_odd, NULL, &why);
    load(w, &set);
    assert_true(set.all.n == 4 || set.all.n == 2);
    if (!s) {
      assert_int_equal(set.all.n, 2);
      assert_int_equal(set.all.at[1].sizes[0], 3);
    }
  }
  assert_in_range(n, 5, 40);
}

static bool leave(void *ctx, neo_records *s) {
  (void)ctx;
  (void)s;
  return false;
}

static void an_edit_that_declines_leaves_the_file_alone(void **state) {
  world *w = *state;
  const char *why = NULL;
  struct stat a, b;
  world_append(w, 0, 3);
  stat(w->path, &a);
  assert_int_equal(neo_records_rewrite(&neo_io_default, &w->arena, w->path, 0, leave, NULL, &why),
                   NEO_OK);
  stat(w->path, &b);
  assert_int_equal(a.st_ino, b.st_ino);
  check_has(w, 0, 3);
}

static void a_rewritten_file_keeps_its_permissions_and_a_link_stays_one(void **state) {
  world *w = *state;
  const char *why = NULL, *link = neo_path_join(&w->arena, w->folder, "link");
  struct stat st;
  world_append(w, 0, 3);
  chmod(w->path, 0640);
  assert_int_equal(symlink(w->path, link), 0);
  assert_int_equal(neo_records_rewrite(&neo_io_default, &w->arena, link, 0, drop_odd, NULL, &why),
                   NEO_OK);
  lstat(link, &st);
  assert_true(S_ISLNK(st.st_mode));
  stat(w->path, &st);
  assert_int_equal(st.st_mode & 0777, 0640);
  neo_records s;
  load(w, &s);
  assert_int_equal(s.all.n, 2);
}

/* A writer waits for the lock; meanwhile the file is replaced. Its record is in the new one. */
static void a_writer_that_waited_writes_to_the_new_file(void **state) {
  world *w = *state;
  world_append(w, 0, 1);
  const char *next = neo_path_join(&w->arena, w->folder, "next");
  int fd = open(w->path, O_RDWR);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  pid_t child = fork();
  if (child == 0) {
    const char *why;
    close(fd);
    _exit(try_append(w, &neo_io_default, 1, 0, &why) != NEO_OK);
  }
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  size_t n;
  const char *text = world_read(w, &n), *old = w->path;
  w->path = next;
  world_write(w, text, n);
  w->path = old;
  assert_int_equal(rename(next, old), 0);
  close(fd);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  check_has(w, 0, 2);
}

static void a_place_that_cannot_be_written_is_said_so(void **state) {
  world *w = *state;
  const char *why;
  w->path = "/proc/neo/records";
  assert_int_equal(try_append(w, &neo_io_default, 0, 0, &why), NEO_IO);
  assert_non_null(strstr(why, "/proc/neo/records: "));
  w->path = neo_arena_strdup(&w->arena, w->folder);
  assert_int_equal(try_append(w, &neo_io_default, 0, 0, &why), NEO_IO);
  assert_non_null(strstr(why, "Is a directory"));
}

static void the_users_own_file_is_private(void **state) {
  world *w = *state;
  const char *why;
  struct stat st;
  mode_t mask = umask(0);
  setenv("XDG_CACHE_HOME", neo_path_join(&w->arena, w->folder, "xdg"), 1);
  w->path = neo_records_place(&w->arena);
  assert_non_null(strstr(w->path, "/xdg/neo/records"));
  assert_int_equal(try_append(w, &neo_io_default, 0, NEO_RECORDS_PRIVATE, &why), NEO_OK);
  umask(mask);
  stat(w->path, &st);
  assert_int_equal(st.st_mode & 0777, 0600);
  stat(neo_path_folder(&w->arena, w->path), &st);
  assert_int_equal(st.st_mode & 0777, 0700);
  check_has(w, 0, 1);
}

static void check_refused(world *w, const char *what) {
  const char *why = NULL;
  neo_records s;
  size_t n, m;
  const char *before = world_read(w, &n);
  assert_int_equal(try_append(w, &neo_io_default, 1, NEO_RECORDS_PRIVATE, &why), NEO_IO);
  assert_non_null(strstr(why, what));
  neo_records_init(&s, &w->arena);
  assert_int_equal(neo_records_load(&s, &neo_io_default, w->path, NEO_RECORDS_PRIVATE, &why),
                   NEO_IO);
  assert_non_null(strstr(why, what));
  assert_string_equal(world_read(w, &m), before);
}

static void what_others_could_have_written_is_not_trusted(void **state) {
  world *w = *state;
  world_append(w, 0, 1);
  chmod(w->path, 0622);
  check_refused(w, "others may write it");
  chmod(w->path, 0600);
  chmod(w->folder, 0777);
  check_refused(w, "others may write it");
  chmod(w->folder, 0700);
  const char *link = neo_path_join(&w->arena, w->folder, "link");
  assert_int_equal(symlink(w->path, link), 0);
  w->path = link;
  check_refused(w, "no regular file");
}

static void where_the_users_file_is(void **state) {
  world *w = *state;
  setenv("HOME", "/home/a", 1);
  setenv("XDG_CACHE_HOME", "relative", 1);
  assert_string_equal(neo_records_place(&w->arena), "/home/a/.cache/neo/records");
  setenv("XDG_CACHE_HOME", "/var/x", 1);
  assert_string_equal(neo_records_place(&w->arena), "/var/x/neo/records");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  assert_null(neo_records_place(&w->arena));
}

static void memory_that_ends_leaves_no_file_open_or_locked(void **state) {
  world *w = *state;
  world_append(w, 0, 2);
  for (size_t n = 1; n < 5; n++) {
    neo_arena a;
    jmp_buf gone;
    neo_alloc_fault fault = {.fail_at = n, .forever = 1};
    const char *why = NULL;
    neo_record r = world_record(&w->arena, 2);
    neo_arena_init(&a, neo_alloc_with_fault(&fault), &gone);
    int before = dup(0);
    close(before);
    if (setjmp(gone) == 0) {
      neo_status s = neo_record_append(&neo_io_default, &a, w->path, &r, 0, &why);
      assert_int_equal(s, fault.count >= n ? NEO_MEMORY : NEO_OK);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
    neo_arena_free(&a);
  }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(records_are_read_in_the_order_in_which_they_were_appended),
      TEST(folders_are_made_on_the_first_write),
      TEST(after_any_failing_call_the_file_has_what_it_had_or_the_record_too),
      TEST(a_rewritten_file_is_the_old_or_the_new_one_whatever_call_fails),
      TEST(an_edit_that_declines_leaves_the_file_alone),
      TEST(a_rewritten_file_keeps_its_permissions_and_a_link_stays_one),
      TEST(a_writer_that_waited_writes_to_the_new_file),
      TEST(a_place_that_cannot_be_written_is_said_so),
      TEST(the_users_own_file_is_private),
      TEST(what_others_could_have_written_is_not_trusted),
      TEST(where_the_users_file_is),
      TEST(memory_that_ends_leaves_no_file_open_or_locked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
