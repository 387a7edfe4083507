/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who confirms a bash command, or a change of the configuration: nobody, the terminal, or a program.  Shows
 * what it is given, which is visible already. */
#pragma once

#include "agent/confirmer.h"

#define CONFIRM_ANSWER_SIZE 8

/* nsrun's terminal, whatever the standard streams are; -ENXIO: it has none. */
int confirm_open_terminal(void);
/* Asks on a terminal. 1 with the line that was typed, in lower case, and cut; 0: the input has ended;
 * -errno.
 */
int confirm_ask(int fd, const char *prompt, char answer[CONFIRM_ANSWER_SIZE]);

/* For nsrun_bash_options: each returns 1, 0 or -errno. */
int confirm_on_terminal(const char *prompt);
/* The program, where it was found, else by PATH where it has no slash, has the prompt to read; exit status
 * 0 is yes.  No argument; what it prints goes to standard error. */
int confirm_by_program(const struct confirmer *confirmer, const char *prompt);
