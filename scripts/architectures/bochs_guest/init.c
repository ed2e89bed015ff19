// SPDX-License-Identifier: BSD-3-Clause
/* Process 1 of the guest: loads /tiles.ko if it is there, runs /t/run with the arguments in /t/args and the
   environment in /t/env, sends what it writes and how it ended to the
   parallel port (a file on the host), then ends the emulator. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void byte(unsigned char c) {
  outb(c, 0x378);
  outb(0x0d, 0x37a);
  outb(0x0c, 0x37a);
}
static void frame(int type, const void *data, unsigned n) {
  const unsigned char *p = data;
  byte(0xa5); byte(type); byte(n & 255); byte(n >> 8);
  while (n--) byte(*p++);
}
static void off(void) {
  const char *s = "Shutdown";
  while (*s) outb(*s++, 0x8900);
  for (;;) pause();
}
static void fail(const char *what) {
  char b[200] = "";
  strncat(b, what, 90); strcat(b, ": "); strncat(b, strerror(errno), 90);
  frame(4, b, strlen(b));
  off();
}
static char **vec(const char *path) { /* a file of NUL-terminated strings */
  int fd = open(path, O_RDONLY), c = 0;
  char *b = calloc(1, 1 << 20), **v = calloc(4096, sizeof *v);
  ssize_t n = fd < 0 ? 0 : read(fd, b, (1 << 20) - 1);
  if (fd >= 0) close(fd);
  for (ssize_t i = 0; i < n && c < 4095; i += strlen(b + i) + 1) v[c++] = b + i;
  return v;
}
int main(void) {
  if (iopl(3)) return 1;
  outb(0x0c, 0x37a); /* printer on line */
  inb(0x379);
  mkdir("/proc", 0755); mkdir("/dev", 0755); mkdir("/sys", 0755); mkdir("/tmp", 01777);
  mount("proc", "/proc", "proc", 0, 0);
  mount("sysfs", "/sys", "sysfs", 0, 0);
  mount("devtmpfs", "/dev", "devtmpfs", 0, 0);
  int module = open("/tiles.ko", O_RDONLY | O_CLOEXEC);
  if (module >= 0 && syscall(SYS_finit_module, module, "", 0)) fail("tiles.ko");
  char **argv = vec("/t/args"), **envp = vec("/t/env");
  int po[2], pe[2], st = 0, left = 2;
  if (pipe2(po, O_CLOEXEC) || pipe2(pe, O_CLOEXEC)) fail("pipe");
  frame(0, "", 0); /* started */
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (!pid) {
    static const char m[] = "run-avx512: the guest cannot start the program: ";
    int nul = open("/dev/null", O_RDONLY);
    iopl(0);
    if (nul >= 0) dup2(nul, 0);
    dup2(po[1], 1); dup2(pe[1], 2);
    if (!chdir("/t")) execve("/t/run", argv, envp);
    const char *e = errno == ENOENT ? "not a static program" : strerror(errno);
    if (write(2, m, sizeof m - 1) + write(2, e, strlen(e)) + write(2, "\n", 1) < 0) _exit(126);
    _exit(127);
  }
  close(po[1]); close(pe[1]);
  struct pollfd f[2] = {{po[0], POLLIN, 0}, {pe[0], POLLIN, 0}};
  static char buf[32768];
  while (left) {
    if (poll(f, 2, -1) < 0 && errno != EINTR) fail("poll");
    for (int i = 0; i < 2; i++)
      if (f[i].fd >= 0 && f[i].revents) {
        ssize_t n = read(f[i].fd, buf, sizeof buf);
        if (n > 0) frame(1 + i, buf, n);
        else { f[i].fd = -1; left--; }
      }
  }
  while (waitpid(pid, &st, 0) < 0 && errno == EINTR) {}
  unsigned char r = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
  frame(3, &r, 1);
  off();
}
