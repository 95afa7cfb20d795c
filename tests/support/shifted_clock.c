/* Preloaded into a program: its wall clock is off by as many milliseconds as the file in
   $ASSAY_TEST_CLOCK says, now. A second number in it is a drift in ppm, which counts from the
   program's start on.

   Only what asks for CLOCK_REALTIME is told so; monotonic clocks and every wait are the kernel's.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long begun_ns;

static long long true_ns(clockid_t which) {
  struct timespec now = {0, 0};
  syscall(SYS_clock_gettime, which, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  begun_ns = true_ns(CLOCK_MONOTONIC);
}

static long long offset_ns(void) {
  char text[64] = {0};
  const char* path = getenv("ASSAY_TEST_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return 0;
  if (read(file, text, sizeof text - 1) < 0)
    text[0] = 0;
  close(file);
  char* rest = text;
  long long off = strtol(text, &rest, 10) * 1000000LL;
  long long ppm = strtol(rest, NULL, 10);
  return ppm == 0 ? off : off + (true_ns(CLOCK_MONOTONIC) - begun_ns) / 1000000 * ppm;
}

int clock_gettime(clockid_t which, struct timespec* out) {
  int done = (int)syscall(SYS_clock_gettime, which, out);
  if (done == 0 && which == CLOCK_REALTIME) {
    long long ns = out->tv_sec * 1000000000LL + out->tv_nsec + offset_ns();
    out->tv_sec = ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
  }
  return done;
}
