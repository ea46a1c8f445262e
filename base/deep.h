/* Code that recurses as deep as a program is long runs on a stack of its own. */
#pragma once

/* Runs f(ctx), on a thread with a large stack unless this thread has one, and returns when it has. Where
 * no such thread can be made it runs here. f must not jump out. */
void neo_deep_run(void (*f)(void *ctx), void *ctx);
