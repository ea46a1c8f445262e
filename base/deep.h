/* A large stack for code that recurses as deep as a program is long. */
#pragma once

/* Runs f(ctx) to its end, on a thread with a large stack unless this thread has one already. If no
 * such thread can be made, f runs on this one. f must not jump out. */
void neo_deep_run(void (*f)(void *ctx), void *ctx);
