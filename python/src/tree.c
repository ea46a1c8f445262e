/* tree.c: trees of values, as neoc/trace/tree.py has them, where their structure is known.
 *
 * A structure is ("leaf",), ("none",), or (word, type, keys, parts). The functions here take the
 * arguments of a call apart, and put results together, for dicts, lists and tuples, without
 * subclasses; for any other tree they answer None, and Python does the same. */
#include "python/src/core.h"

typedef struct {
  PyObject *list;    /* leaves so far */
  PyObject *ndarray; /* the type of numpy's arrays */
} walk;

/* 1: the tree has the structure; 0: it has not, or this is not for us; -1: an exception. */
static int take(walk *w, PyObject *structure, PyObject *tree);

static int take_leaf(walk *w, PyObject *tree) {
  PyObject *type = (PyObject *)Py_TYPE(tree);
  if (type != w->ndarray && !PyFloat_CheckExact(tree) && !PyLong_CheckExact(tree) &&
      !PyBool_Check(tree))
    return 0;
  return PyList_Append(w->list, tree) ? -1 : 1;
}

static int take_dict(walk *w, PyObject *keys, PyObject *parts, PyObject *tree) {
  Py_ssize_t n = PyTuple_Size(parts);
  int took = PyDict_Size(tree) == n;
  for (Py_ssize_t k = 0; took > 0 && k < n; k++) {
    PyObject *value = PyDict_GetItemWithError(tree, PyTuple_GetItem(keys, k));
    took = value ? take(w, PyTuple_GetItem(parts, k), value) : PyErr_Occurred() ? -1 : 0;
  }
  return took;
}

static int take_sequence(walk *w, PyObject *parts, PyObject *tree) {
  Py_ssize_t n = PyTuple_Size(parts);
  int took = PySequence_Size(tree) == n;
  for (Py_ssize_t k = 0; took > 0 && k < n; k++) {
    PyObject *value = PySequence_GetItem(tree, k);
    took = value ? take(w, PyTuple_GetItem(parts, k), value) : -1;
    Py_XDECREF(value); /* the list has it */
  }
  return took;
}

/* Whether `structure` has parts, of exactly this type. */
static bool is_of(PyObject *structure, PyTypeObject *type) {
  return PyTuple_Size(structure) == 4 && PyTuple_GetItem(structure, 1) == (PyObject *)type;
}

static int take(walk *w, PyObject *structure, PyObject *tree) {
  bool inner = PyTuple_Size(structure) == 4;
  if (tree == Py_None)
    return PyTuple_Size(structure) == 1 &&
           PyUnicode_CompareWithASCIIString(PyTuple_GetItem(structure, 0), "none") == 0;
  if (!inner)
    return PyUnicode_CompareWithASCIIString(PyTuple_GetItem(structure, 0), "leaf") == 0
               ? take_leaf(w, tree)
               : 0;
  PyObject *parts = PyTuple_GetItem(structure, 3);
  if (PyDict_CheckExact(tree))
    return is_of(structure, &PyDict_Type) ? take_dict(w, PyTuple_GetItem(structure, 2), parts, tree)
                                          : 0;
  if ((PyTuple_CheckExact(tree) && is_of(structure, &PyTuple_Type)) ||
      (PyList_CheckExact(tree) && is_of(structure, &PyList_Type)))
    return take_sequence(w, parts, tree);
  return 0;
}

static PyObject *tree_leaves(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *structure, *tree, *made = NULL;
  neo_py_state *s = neo_py_state_get();
  if (!s || !PyArg_ParseTuple(args, "O!O:tree_leaves", &PyTuple_Type, &structure, &tree) ||
      neo_py_numpy(s))
    return NULL;
  walk w = {PyList_New(0), s->ndarray};
  int took = w.list ? take(&w, structure, tree) : -1;
  if (took > 0)
    made = PyList_AsTuple(w.list);
  else if (took == 0)
    made = Py_NewRef(Py_None);
  Py_XDECREF(w.list);
  return made;
}

/* ------------------------------------------------------------ results */

typedef struct {
  PyObject *values; /* a tuple */
  Py_ssize_t at;
} source;

/* Null without an exception where this is not for us. */
static PyObject *give(source *from, PyObject *structure);

static PyObject *give_dict(source *from, PyObject *keys, PyObject *parts) {
  PyObject *made = PyDict_New();
  for (Py_ssize_t k = 0; made && k < PyTuple_Size(parts); k++) {
    PyObject *value = give(from, PyTuple_GetItem(parts, k));
    if (!value || PyDict_SetItem(made, PyTuple_GetItem(keys, k), value))
      Py_CLEAR(made);
    Py_XDECREF(value);
  }
  return made;
}

static PyObject *give_sequence(source *from, PyObject *parts, bool is_list) {
  Py_ssize_t n = PyTuple_Size(parts);
  PyObject *made = is_list ? PyList_New(n) : PyTuple_New(n);
  for (Py_ssize_t k = 0; made && k < n; k++) {
    PyObject *value = give(from, PyTuple_GetItem(parts, k));
    if (!value)
      Py_CLEAR(made);
    else if (is_list)
      PyList_SetItem(made, k, value);
    else
      PyTuple_SetItem(made, k, value);
  }
  return made;
}

static PyObject *give(source *from, PyObject *structure) {
  if (PyTuple_Size(structure) == 1) {
    bool leaf = PyUnicode_CompareWithASCIIString(PyTuple_GetItem(structure, 0), "leaf") == 0;
    return leaf ? Py_XNewRef(PyTuple_GetItem(from->values, from->at++)) : Py_NewRef(Py_None);
  }
  PyObject *parts = PyTuple_GetItem(structure, 3);
  if (is_of(structure, &PyDict_Type))
    return give_dict(from, PyTuple_GetItem(structure, 2), parts);
  if (is_of(structure, &PyTuple_Type) || is_of(structure, &PyList_Type))
    return give_sequence(from, parts, is_of(structure, &PyList_Type));
  return NULL;
}

static PyObject *tree_made(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *structure;
  source from = {NULL, 0};
  if (!PyArg_ParseTuple(args, "O!O!:tree_made", &PyTuple_Type, &structure, &PyTuple_Type,
                        &from.values))
    return NULL;
  PyObject *made = give(&from, structure);
  return made || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}

int neo_py_add_tree(neo_py_state *s) {
  static PyMethodDef functions[] = {
      {"tree_leaves", tree_leaves, METH_VARARGS,
       "tree_leaves(structure, tree) -> tuple of leaves, or None: the tree may have another."},
      {"tree_made", tree_made, METH_VARARGS,
       "tree_made(structure, leaves) -> the tree, or None where Python is to make it."},
      {0}};
  return PyModule_AddFunctions(s->module, functions);
}
