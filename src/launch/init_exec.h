/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-init's side of a launch, for its main(). */
#pragma once

int init_exec_main(int argc, char **argv, char **env);
