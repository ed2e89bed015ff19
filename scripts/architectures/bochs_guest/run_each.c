// SPDX-License-Identifier: BSD-3-Clause
/* Runs several static programs, because booting takes longer than they do: run_each [VARIABLE=VALUE]... PROGRAM ...
   A variable is set for the next program alone. Behind what each writes stands a line "status N" on stdout and stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** arguments) {
  int first = 1, status;
  for (int i = 1; i < count; first = ++i) {
    while (i < count && strchr(arguments[i], '=')) i++;
    if (i == count) return 2;
    pid_t child = fork();
    if (child < 0) return 3;
    if (child == 0) {
      while (first < i) putenv(arguments[first++]);
      execl(arguments[i], arguments[i], (char*)0);
      perror(arguments[i]);
      _exit(127);
    }
    if (waitpid(child, &status, 0) != child) return 3;
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    for (int stream = 1; stream <= 2; stream++) dprintf(stream, "status %d\n", status);
  }
  return 0;
}
