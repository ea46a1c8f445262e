/* Asynchronous training, --async: the network of the entry (neo/neo_net.h) in place of its step.
 *
 *   async_words.c  reads the option
 *   async.c        sends batches as messages, and takes values back at barriers
 *   async_show.c   prints what the network did
 *
 * The context of the whole model stays the training's state: its values go to the actors when the
 * network begins, and come back at each barrier, which is where the model is tested and saved. So
 * files, settings and names are those of synchronous training. Its count of steps counts batches.
 *
 *     synchronous       asynchronous
 *     fill a batch      fill a batch, or `rows` of it
 *     call the step     send it as a message
 *     test, save        barrier; test, save */
#pragma once
#include "tools/neoc/neoc.h"

typedef enum {
#define X(id, word, form, meaning) NEOC_ASYNC_##id,
#include "tools/neoc/train/async.def"
#undef X
  NEOC_ASYNC_WORDS
} neoc_async_word;

typedef struct {
  bool given;
  const char *text[NEOC_ASYNC_WORDS]; /* null: not given */
  int64_t value[NEOC_ASYNC_WORDS];    /* numbers, and places of words in a list; 0: not given */
} neoc_async_words;

/* Reads the words of the option, and refuses other options that cannot be with it. */
neoc_exit neoc_async_read(const neoc_cli *cli, neoc_async_words *out);
/* Asks for the networks, if the option is given. */
void neoc_async_compile(const neoc_async_words *w, neo_compile_options *o);
