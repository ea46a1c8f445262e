/* Files: whole or not at all, whatever call fails. */
#include "base/file.h"
#include "base/str.h"
#include "base/temp.h"
#include "tests/fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  char folder[64];
  const char *path;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  neo_arena_init(&f->arena, neo_alloc_default, NULL);
  strcpy(f->folder, "/tmp/neo_file_XXXXXX");
  if (!mkdtemp(f->folder))
    return 1;
  f->path = neo_path_join(&f->arena, f->folder, "target.bin");
  *state = f;
  return 0;
}

/* Removes what is in the folder; returns how many files there were. */
static int empty_folder(fixture *f) {
  DIR *d = opendir(f->folder);
  int n = 0;
  for (struct dirent *e = readdir(d); e; e = readdir(d)) {
    if (neo_streq(e->d_name, ".") || neo_streq(e->d_name, ".."))
      continue;
    unlink(neo_path_join(&f->arena, f->folder, e->d_name));
    n++;
  }
  closedir(d);
  return n;
}

static int tear_down(void **state) {
  fixture *f = *state;
  empty_folder(f);
  rmdir(f->folder);
  neo_arena_free(&f->arena);
  free(f);
  return 0;
}

static void assert_content(fixture *f, const char *path, const char *text) {
  char *at;
  size_t n;
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, path, 0, &at, &n), NEO_OK);
  assert_int_equal(n, strlen(text));
  assert_string_equal(at, text);
}

static void what_is_written_is_read_back(void **state) {
  fixture *f = *state;
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "hello", 5), NEO_OK);
  assert_content(f, f->path, "hello");
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "", 0), NEO_OK);
  assert_content(f, f->path, "");
  assert_int_equal(empty_folder(f), 1);
}

static void pieces_of_any_size_arrive_in_order(void **state) {
  fixture *f = *state;
  enum { N = 300000 };
  unsigned char *data = neo_arena_alloc(&f->arena, N);
  for (size_t i = 0; i < N; i++)
    data[i] = (unsigned char)(i * 7 + i / 256);
  neo_file_writer w;
  assert_int_equal(neo_file_begin(&w, &neo_io_default, f->path, 0600), NEO_OK);
  size_t at = 0;
  for (size_t step = 1; at < N; step = step * 3 + 1) {
    size_t n = step < N - at ? step : N - at;
    neo_file_put(&w, data + at, n);
    at += n;
  }
  assert_int_equal(neo_file_commit(&w), NEO_OK);
  char *text;
  size_t n;
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, f->path, N, &text, &n), NEO_OK);
  assert_int_equal(n, N);
  assert_memory_equal(text, data, N);
  struct stat st;
  assert_int_equal(stat(f->path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
}

/* Writes two buffers' worth through the faulty table. */
static neo_status write_new(const neo_io *io, const char *path, const char *text) {
  neo_file_writer w;
  if (neo_file_begin(&w, io, path, 0666) != NEO_OK)
    return w.status;
  size_t half = strlen(text) / 2;
  neo_file_put(&w, text, half);
  neo_file_put(&w, text + half, strlen(text) - half);
  return neo_file_commit(&w);
}

/* With the n-th call failing: true when the write went through. */
static bool try_fault(fixture *f, size_t n, int forever, const char *text) {
  neo_io_fault fault = {.fail_at = n, .forever = forever};
  neo_io io = neo_io_with_fault(&fault);
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "old", 3), NEO_OK);
  neo_status status = write_new(&io, f->path, text);
  char *at;
  size_t size;
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, f->path, 0, &at, &size), NEO_OK);
  bool is_new = neo_streq(at, text);
  assert_true(is_new || neo_streq(at, "old"));
  if (status == NEO_OK)
    assert_true(is_new);
  else
    assert_int_equal(status, NEO_IO);
  int files = empty_folder(f);
  assert_true(files == 1 || (forever && files == 2)); /* then unlink fails as well */
  return status == NEO_OK && fault.count < n;
}

static void no_failing_call_leaves_half_a_file(void **state) {
  fixture *f = *state;
  char *text = neo_arena_alloc(&f->arena, 200001);
  memset(text, 'x', 200000);
  for (int forever = 0; forever < 2; forever++) {
    size_t n = 1;
    while (!try_fault(f, n, forever, text))
      assert_true(++n < 100);
    assert_true(n > 8); /* open, writes, fsync, close, rename, and the folder's three */
  }
}

/* A table that writes down its calls, one letter each, and passes them on. */
static void record(void *ctx, char letter) {
  char *calls = ctx;
  size_t n = strlen(calls);
  calls[n] = letter;
  calls[n + 1] = '\0';
}

static int record_open(void *ctx, const char *path, int flags, mode_t mode) {
  record(ctx, 'o');
  return neo_io_default.open(NULL, path, flags, mode);
}

static ssize_t record_write(void *ctx, int fd, const void *p, size_t n) {
  record(ctx, 'w');
  return neo_io_default.write(NULL, fd, p, n);
}

static int record_fsync(void *ctx, int fd) {
  record(ctx, 's');
  return neo_io_default.fsync(NULL, fd);
}

static int record_close(void *ctx, int fd) {
  record(ctx, 'c');
  return neo_io_default.close(NULL, fd);
}

static int record_rename(void *ctx, const char *from, const char *to) {
  record(ctx, 'r');
  return neo_io_default.rename(NULL, from, to);
}

static void a_file_is_on_the_disk_before_it_gets_its_name(void **state) {
  fixture *f = *state;
  char calls[32] = "";
  neo_io io = neo_io_default;
  io.ctx = calls;
  io.open = record_open;
  io.write = record_write;
  io.fsync = record_fsync;
  io.close = record_close;
  io.rename = record_rename;
  assert_int_equal(neo_file_write(&io, f->path, "x", 1), NEO_OK);
  assert_string_equal(calls, "owscrosc"); /* the file, its name, its folder */
}

static void every_failing_call_of_a_read_is_reported(void **state) {
  fixture *f = *state;
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "hello", 5), NEO_OK);
  neo_status status = NEO_IO;
  for (size_t n = 1; status != NEO_OK; n++) {
    neo_io_fault fault = {.fail_at = n};
    neo_io io = neo_io_with_fault(&fault);
    char *text;
    size_t size;
    status = neo_file_read(&io, &f->arena, f->path, 0, &text, &size);
    if (status != NEO_OK)
      assert_true(status == NEO_IO && errno == EIO && n < 10);
  }
}

static int open_files(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++)
    n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static void memory_that_runs_out_while_reading_is_a_status(void **state) {
  fixture *f = *state;
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "hello", 5), NEO_OK);
  neo_alloc_fault fault = {.fail_at = 1};
  neo_arena a;
  jmp_buf unused;
  neo_arena_init(&a, neo_alloc_with_fault(&fault), &unused);
  char *text;
  size_t size;
  int before = open_files();
  assert_int_equal(neo_file_read(&neo_io_default, &a, f->path, 0, &text, &size), NEO_MEMORY);
  assert_int_equal(open_files(), before);
  assert_ptr_equal(a.on_fail, &unused);
  neo_arena_free(&a);
}

static void limits_and_odd_files_are_refused(void **state) {
  fixture *f = *state;
  char *text;
  size_t n;
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "hello", 5), NEO_OK);
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, f->path, 4, &text, &n), NEO_FORMAT);
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, f->path, 5, &text, &n), NEO_OK);
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, f->folder, 0, &text, &n), NEO_IO);
  assert_int_equal(errno, EISDIR);
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, "/no/such", 0, &text, &n), NEO_IO);
  assert_int_equal(errno, ENOENT);
  assert_null(text);
  assert_int_equal(neo_file_write(&neo_io_default, "/no/such/folder", "x", 1), NEO_IO);
  assert_int_equal(neo_file_write(&neo_io_default, f->folder, "x", 1), NEO_IO);
  assert_int_equal(neo_file_write(&neo_io_default, "", "x", 1), NEO_IO);
}

static void endless_files_stop_at_the_limit(void **state) {
  fixture *f = *state;
  char *text;
  size_t n;
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, "/dev/zero", 1 << 20, &text, &n),
                   NEO_FORMAT);
  assert_int_equal(neo_file_read(&neo_io_default, &f->arena, "/proc/self/maps", 0, &text, &n),
                   NEO_OK);
  assert_true(n > 0 && strlen(text) == n);
}

static void abandoned_files_leave_nothing(void **state) {
  fixture *f = *state;
  neo_file_writer w;
  assert_int_equal(neo_file_begin(&w, &neo_io_default, f->path, 0666), NEO_OK);
  neo_file_put(&w, "half", 4);
  neo_file_abandon(&w);
  neo_file_abandon(&w);
  assert_int_equal(empty_folder(f), 0);
}

static void two_writers_of_one_file_do_not_meet(void **state) {
  fixture *f = *state;
  neo_file_writer a, b;
  assert_int_equal(neo_file_begin(&a, &neo_io_default, f->path, 0666), NEO_OK);
  assert_int_equal(neo_file_begin(&b, &neo_io_default, f->path, 0666), NEO_OK);
  neo_file_put(&a, "aaa", 3);
  neo_file_put(&b, "bb", 2);
  assert_int_equal(neo_file_commit(&a), NEO_OK);
  assert_content(f, f->path, "aaa");
  assert_int_equal(neo_file_commit(&b), NEO_OK);
  assert_content(f, f->path, "bb");
  assert_int_equal(empty_folder(f), 1);
}

static void devices_are_written_not_replaced(void **state) {
  (void)state;
  struct stat st;
  assert_int_equal(neo_file_write(&neo_io_default, "/dev/null", "x", 1), NEO_OK);
  assert_int_equal(stat("/dev/null", &st), 0);
  assert_true(S_ISCHR(st.st_mode));
}

static void folders_are_made_with_their_parents(void **state) {
  fixture *f = *state;
  char *outer = neo_path_join(&f->arena, f->folder, "a");
  char *inner = neo_path_join(&f->arena, outer, "b/");
  assert_int_equal(neo_path_make_folder(inner), NEO_OK);
  assert_int_equal(neo_path_make_folder(inner), NEO_OK);
  assert_true(neo_path_exists(inner));
  assert_int_equal(rmdir(inner), 0);
  assert_int_equal(rmdir(outer), 0);
  assert_false(neo_path_exists(outer));
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "x", 1), NEO_OK);
  assert_int_equal(neo_path_make_folder(f->path), NEO_IO);
  assert_int_equal(errno, EEXIST);
  assert_int_equal(neo_path_make_folder(""), NEO_IO);
}

static void paths_are_taken_apart_and_joined(void **state) {
  fixture *f = *state;
  neo_arena *a = &f->arena;
  assert_string_equal(neo_path_join(a, "a", "b"), "a/b");
  assert_string_equal(neo_path_join(a, "a/", "b"), "a/b");
  assert_string_equal(neo_path_join(a, "", "b"), "b");
  assert_string_equal(neo_path_join(a, "a", "/b"), "/b");
  assert_string_equal(neo_path_folder(a, "a/b.expr"), "a");
  assert_string_equal(neo_path_folder(a, "b.expr"), ".");
  assert_string_equal(neo_path_folder(a, "/b"), "/");
  assert_string_equal(neo_path_stem(a, "a.x/b.expr"), "b");
  assert_string_equal(neo_path_stem(a, "a.x/b"), "b");
  assert_string_equal(neo_path_stem(a, "b.tar.gz"), "b.tar");
  assert_string_equal(neo_path_stem(a, ".hidden"), ".hidden");
}

static void a_new_file_has_the_mode_of_the_old_one(void **state) {
  fixture *f = *state;
  struct stat st;
  mode_t before = umask(077);
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "a", 1), NEO_OK);
  assert_int_equal(chmod(f->path, 0664), 0);
  assert_int_equal(neo_file_write(&neo_io_default, f->path, "b", 1), NEO_OK);
  umask(before);
  assert_int_equal(stat(f->path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0664);
  assert_content(f, f->path, "b");
}

/* latest -> sub/link, link -> ../target.bin */
static void a_link_stays_and_its_target_is_replaced(void **state) {
  fixture *f = *state;
  neo_arena *a = &f->arena;
  char *sub = neo_path_join(a, f->folder, "sub"), *link = neo_path_join(a, sub, "link");
  char *latest = neo_path_join(a, f->folder, "latest"), to[64];
  assert_int_equal(mkdir(sub, 0777), 0);
  assert_int_equal(symlink("../target.bin", link), 0);
  assert_int_equal(symlink("sub/link", latest), 0);
  for (int exists = 0; exists < 2; exists++) { /* at first it leads nowhere */
    assert_int_equal(neo_file_write(&neo_io_default, latest, exists ? "new" : "old", 3), NEO_OK);
    assert_content(f, f->path, exists ? "new" : "old");
    assert_int_equal(readlink(latest, to, sizeof to), 8);
    assert_int_equal(readlink(link, to, sizeof to), 13);
  }
  assert_int_equal(unlink(link), 0);
  assert_int_equal(symlink("../latest", link), 0);
  assert_int_equal(neo_file_write(&neo_io_default, latest, "x", 1), NEO_IO);
  assert_int_equal(errno, ELOOP);
  assert_int_equal(unlink(link), 0);
  assert_int_equal(rmdir(sub), 0);
}

/* A child makes a temporary file, and a folder with a file in it, and ends as if it were killed. */
static void leave_temporaries(fixture *f) {
  pid_t child = fork();
  if (child == 0) {
    neo_file_writer w;
    const char *folder;
    bool good =
        neo_file_begin(&w, &neo_io_default, f->path, 0666) == NEO_OK &&
        neo_temp_folder(&f->arena, f->folder, &folder) == NEO_OK &&
        neo_file_write(&neo_io_default, neo_path_join(&f->arena, folder, "a.o"), "x", 1) == NEO_OK;
    _exit(good ? 0 : 1);
  }
  int status = 1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static int count_files(fixture *f) {
  DIR *d = opendir(f->folder);
  int n = -2;
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

static void what_ended_processes_left_is_removed_and_nothing_else(void **state) {
  fixture *f = *state;
  static const char *const others[] = {".neo-00000000-1-0.tmp", ".neo-x.tmp", "a.tmp", ".neo-",
                                       NULL};
  for (int k = 0; others[k]; k++)
    assert_int_equal(
        neo_file_write(&neo_io_default, neo_path_join(&f->arena, f->folder, others[k]), "", 0),
        NEO_OK);
  neo_file_writer mine;
  assert_int_equal(neo_file_begin(&mine, &neo_io_default, f->path, 0666), NEO_OK);
  leave_temporaries(f);
  assert_int_equal(count_files(f), 4 + 1 + 2);
  neo_temp_sweep(f->folder);
  assert_int_equal(count_files(f), 4 + 1);
  assert_int_equal(neo_file_commit(&mine), NEO_OK);
  leave_temporaries(f);
  const char *folder;
  assert_int_equal(neo_temp_folder(&f->arena, f->folder, &folder), NEO_OK); /* the next one */
  const char *again;
  assert_int_equal(rmdir(folder), 0);
  assert_int_equal(neo_temp_folder(&f->arena, f->folder, &again), NEO_OK);
  assert_string_not_equal(folder, again); /* of one path, two libraries would be one */
  assert_int_equal(rmdir(again), 0);
  assert_int_equal(count_files(f), 4 + 1);
  neo_temp_sweep("/nonexistent");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_written_is_read_back),
      TEST(pieces_of_any_size_arrive_in_order),
      TEST(no_failing_call_leaves_half_a_file),
      TEST(a_file_is_on_the_disk_before_it_gets_its_name),
      TEST(every_failing_call_of_a_read_is_reported),
      TEST(memory_that_runs_out_while_reading_is_a_status),
      TEST(limits_and_odd_files_are_refused),
      TEST(endless_files_stop_at_the_limit),
      TEST(abandoned_files_leave_nothing),
      TEST(two_writers_of_one_file_do_not_meet),
      TEST(devices_are_written_not_replaced),
      TEST(folders_are_made_with_their_parents),
      TEST(paths_are_taken_apart_and_joined),
      TEST(a_new_file_has_the_mode_of_the_old_one),
      TEST(a_link_stays_and_its_target_is_replaced),
      TEST(what_ended_processes_left_is_removed_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
