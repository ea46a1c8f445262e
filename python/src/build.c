/* build.c: Build, what a compilation made (neo_build of neo.h).
 *
 * Ctrl-C: Python tells of signals in the main thread alone, and only to code that asks. So in the
 * main thread a compilation runs in a thread of its own while the main one waits, and asks every
 * few milliseconds. When a signal's handler raises (Ctrl-C's does), the compilation is told to end,
 * and the exception is neoc.Cancelled. Elsewhere a compilation runs where it is called. */
#include "python/src/compiling.h"
#include "python/src/wait.h"
#include <string.h>

typedef struct {
  PyObject_HEAD neo_build *build;
  int32_t status;
} build_object;

/* ------------------------------------------------------------ the request */

typedef struct {
  neo_request r;
  const char **options, **imports;
  neo_module_text *modules;
  volatile int32_t cancel;
  bool names;
  neo_build *made;
  int32_t status;
} work;

static const char **strings(PyObject *list) {
  Py_ssize_t n = list == Py_None ? 0 : PyTuple_Size(list);
  const char **at = n < 0 ? NULL : PyMem_Calloc((size_t)n + 1, sizeof *at);
  for (Py_ssize_t k = 0; at && k < n; k++) {
    at[k] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(list, k), NULL);
    if (!at[k]) {
      PyMem_Free(at);
      return NULL;
    }
  }
  return at;
}

static int take_modules(work *w, PyObject *list) {
  Py_ssize_t n = list == Py_None ? 0 : PyTuple_Size(list);
  w->modules = n < 0 ? NULL : PyMem_Calloc((size_t)n + 1, sizeof *w->modules);
  for (Py_ssize_t k = 0; w->modules && k < n; k++) {
    neo_module_text *m = &w->modules[k];
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(PyTuple_GetItem(list, k), "ss#", &m->name, &m->text, &bytes))
      return -1;
    m->text_bytes = (size_t)bytes;
  }
  w->r.modules = w->modules;
  w->r.n_modules = (int32_t)n;
  return w->modules ? 0 : -1;
}

static int take_request(work *w, PyObject *args, PyObject *named) {
  static char *words[] = {"path",    "text",   "options", "modules", "imports", "cache",
                          "out_dir", "prefix", "emit",    "target",  "names",   NULL};
  PyObject *options = Py_None, *modules = Py_None, *imports = Py_None;
  Py_ssize_t bytes = 0;
  int names = 0;
  w->r.struct_size = sizeof w->r;
  if (!PyArg_ParseTupleAndKeywords(args, named, "z|z#O!O!O!zzzzzp:Build", words, &w->r.path,
                                   &w->r.text, &bytes, &PyTuple_Type, &options, &PyTuple_Type,
                                   &modules, &PyTuple_Type, &imports, &w->r.cache, &w->r.out_dir,
                                   &w->r.prefix, &w->r.emit, &w->r.target, &names))
    return -1;
  w->r.text_bytes = (size_t)bytes;
  w->names = names;
  w->options = strings(options);
  w->imports = w->options ? strings(imports) : NULL;
  if (!w->imports || take_modules(w, modules))
    return -1;
  w->r.options = w->options;
  w->r.import_paths = w->imports;
  w->r.cancel = &w->cancel;
  return 0;
}

static void release_request(work *w) {
  PyMem_Free(w->options);
  PyMem_Free(w->imports);
  PyMem_Free(w->modules);
}

enum { INTERRUPTED = 14 }; /* where the process is ending */

static void compile(void *user) {
  work *w = user;
  neo_py_stay stay;
  w->status = INTERRUPTED;
  if (!neo_py_compiler_enter(&stay, &w->cancel))
    return;
  w->status = w->names ? neo_build_names(&w->r, &w->made) : neo_build_make(&w->r, &w->made);
  neo_py_compiler_leave(&stay);
}

/* ------------------------------------------------------------ life */

static PyObject *build_new(PyTypeObject *type, PyObject *args, PyObject *named) {
  work w = {0};
  neo_py_state *s = neo_py_state_get();
  int failed = s ? take_request(&w, args, named) : -1;
  if (!failed)
    failed = neo_py_wait(compile, &w, &w.cancel);
  release_request(&w);
  build_object *b = failed ? NULL : (build_object *)PyType_GenericAlloc(type, 0);
  if (!b) {
    neo_build_free(w.made);
    return NULL;
  }
  b->build = w.made;
  b->status = w.status;
  if (w.made)
    return (PyObject *)b;
  Py_DECREF(b);
  return neo_py_raise(s, w.status, NULL);
}

static void build_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  neo_build_free(((build_object *)self)->build);
  PyObject_Free(self);
  Py_DECREF(type);
}

static const neo_build *built(PyObject *self) {
  return ((build_object *)self)->build;
}

/* ------------------------------------------------------------ files, errors */

typedef struct {
  work w;
  char *messages;
  bool check;
} text_work;

static void write_text(void *user) {
  text_work *t = user;
  neo_py_stay stay;
  t->w.status = INTERRUPTED;
  if (!neo_py_compiler_enter(&stay, &t->w.cancel))
    return;
  t->w.status = t->check ? neo_check(&t->w.r, &t->messages) : neo_compile(&t->w.r, &t->messages);
  neo_py_compiler_leave(&stay);
}

static PyObject *text_build(PyObject *args, PyObject *named, bool check) {
  text_work t = {.check = check};
  int failed = take_request(&t.w, args, named);
  t.w.r.json = check;
  if (!failed)
    failed = neo_py_wait(write_text, &t, &t.w.cancel);
  release_request(&t.w);
  PyObject *made =
      failed ? NULL : Py_BuildValue("(is)", (int)t.w.status, t.messages ? t.messages : "");
  neo_messages_free(t.messages);
  return made;
}

PyObject *neo_py_write_files(PyObject *self, PyObject *args, PyObject *named) {
  (void)self;
  return text_build(args, named, false);
}

PyObject *neo_py_check(PyObject *self, PyObject *args, PyObject *named) {
  (void)self;
  return text_build(args, named, true);
}

/* ------------------------------------------------------------ what was made */

static PyObject *text_or_none(const char *text) {
  if (text)
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  Py_RETURN_NONE;
}

static PyObject *note_rows(const neo_diagnostic *d) {
  PyObject *list = PyTuple_New(d->n_notes);
  for (int32_t k = 0; list && k < d->n_notes; k++) {
    const neo_note *n = &d->notes[k];
    PyObject *row = Py_BuildValue("(NiiiN)", text_or_none(n->file), (int)n->line, (int)n->column,
                                  (int)n->length, text_or_none(n->text));
    if (!row || PyTuple_SetItem(list, k, row)) {
      Py_DECREF(list);
      return NULL;
    }
  }
  return list;
}

static PyObject *diagnostic_row(const neo_diagnostic *d) {
  return Py_BuildValue("(NNNNNiiiNN)", text_or_none(d->severity), text_or_none(d->code),
                       text_or_none(d->message), text_or_none(d->file),
                       text_or_none(d->source_line), (int)d->line, (int)d->column, (int)d->length,
                       text_or_none(d->help), note_rows(d));
}

static PyObject *get_diagnostics(PyObject *self, void *none) {
  (void)none;
  const neo_diagnostic *at = NULL;
  int32_t n = neo_build_diagnostics(built(self), &at);
  PyObject *list = PyList_New(n);
  for (int32_t k = 0; list && k < n; k++) {
    PyObject *row = diagnostic_row(&at[k]);
    if (!row || PyList_SetItem(list, k, row)) {
      Py_DECREF(list);
      return NULL;
    }
  }
  return list;
}

static PyObject *get_status(PyObject *self, void *none) {
  (void)none;
  return PyLong_FromLong(((build_object *)self)->status);
}

static PyObject *get_messages(PyObject *self, void *none) {
  (void)none;
  return text_or_none(neo_build_messages(built(self)));
}

static PyObject *get_failure(PyObject *self, void *none) {
  (void)none;
  return text_or_none(neo_build_failure(built(self)));
}

static PyObject *output(PyObject *self, PyObject *kind) {
  const char *word = PyUnicode_AsUTF8AndSize(kind, NULL);
  size_t n = 0;
  if (!word)
    return NULL;
  const void *p = neo_build_output(built(self), word, &n);
  if (p)
    return PyBytes_FromStringAndSize(p, (Py_ssize_t)n);
  Py_RETURN_NONE;
}

typedef struct {
  const neo_build *build;
  const char *what;
  char *text;
} explanation;

static void explain_now(void *user) {
  explanation *e = user;
  neo_py_stay stay;
  if (!neo_py_compiler_enter(&stay, NULL))
    return;
  e->text = neo_build_explain(e->build, e->what);
  neo_py_compiler_leave(&stay);
}

static PyObject *explain(PyObject *self, PyObject *what) {
  explanation e = {built(self), PyUnicode_AsUTF8AndSize(what, NULL), NULL};
  volatile int32_t ignored = 0;
  if (!e.what || neo_py_wait(explain_now, &e, &ignored))
    return NULL;
  PyObject *text = text_or_none(e.text);
  neo_messages_free(e.text);
  return text;
}

/* ------------------------------------------------------------ loading */

static PyObject *load(PyObject *self, PyObject *threads) {
  neo_py_state *s = neo_py_state_get();
  build_object *b = (build_object *)self;
  long n = PyLong_AsLong(threads);
  if (!s || PyErr_Occurred())
    return NULL;
  char *message = NULL;
  int32_t status;
  neo_py_program *p;
  bool main = neo_py_in_main_thread();
  Py_BEGIN_ALLOW_THREADS;
  p = neo_py_program_make(b->build, (int32_t)n, &status, &message);
  if (!p && !main)
    neo_py_compiler_rest();
  Py_END_ALLOW_THREADS;
  if (!p) {
    neo_py_raise(s, status, message ? message : "the code cannot be loaded");
    neo_messages_free(message);
    return NULL;
  }
  return neo_py_program_wrap(s, p);
}

int neo_py_add_build(neo_py_state *s) {
  static PyGetSetDef members[] = {
      {"status", get_status, NULL, "0, or what failed", NULL},
      {"messages", get_messages, NULL, "all diagnostics as text, then the failure", NULL},
      {"failure", get_failure, NULL, "what failed that is no diagnostic, or None", NULL},
      {"diagnostics", get_diagnostics, NULL,
       "[(severity, code, message, file, source line, line, column, length, help, notes)]", NULL},
      {0}};
  static PyMethodDef methods[] = {
      {"output", output, METH_O, "output(kind) -> bytes, or None if emit lacked it."},
      {"explain", explain, METH_O, "explain(what) -> str."},
      {"load", load, METH_O, "load(threads) -> Program."},
      {0}};
  static PyType_Slot slots[] = {
      {Py_tp_new, build_new},
      {Py_tp_dealloc, build_free},
      {Py_tp_getset, members},
      {Py_tp_methods, methods},
      {Py_tp_doc, "Build(path, text, options, modules, imports, cache, out_dir, prefix, emit, "
                  "target, names): compiles."},
      {0}};
  static PyType_Spec spec = {"neoc._core.Build", sizeof(build_object), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  s->build = (PyTypeObject *)PyType_FromSpec(&spec);
  return s->build ? PyModule_AddObjectRef(s->module, "Build", (PyObject *)s->build) : -1;
}
