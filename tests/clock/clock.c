/* The wall clock of a server under test, preloaded with LD_PRELOAD.
 *
 * RL_TEST_CLOCK names a file of one native 64-bit signed integer, mapped into every process that loads
 * this library: microseconds since the epoch. Whoever writes the file sets the clock, to the microsecond.
 * With RL_TEST_CLOCK_OFFSET instead, the integer is added to the machine's clock, which keeps running.
 * Without either the library changes nothing.
 *
 * Only the wall clock is replaced: CLOCK_MONOTONIC stays true, so timers and event loops go on.
 * The machine's clock is read by system call, because looking up the C library's function would allocate,
 * and allocators read clocks.
 *
 * Valkey 9.1 counts on from its last reading of the wall clock by the processor's own counter, for up to a
 * millisecond, where /proc/cpuinfo says that this counter is constant. So that file is not there for a server on
 * a test clock, and it asks each time. (On ARM it does not look, and would run up to a millisecond ahead.)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MICROS 1000000

static const volatile int64_t *shared;
static int is_offset;

__attribute__((constructor)) static void map_clock(void) {
    const char *path = getenv("RL_TEST_CLOCK");
    if (!path) {
        path = getenv("RL_TEST_CLOCK_OFFSET");
        is_offset = 1;
    }
    if (!path) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        /* Running on the wrong clock would make every result meaningless. */
        perror(path);
        abort();
    }
    close(fd);
    shared = page;
}

static void from_micros(int64_t us, struct timespec *ts) {
    int64_t rest = us % MICROS;
    if (rest < 0) rest += MICROS;
    ts->tv_sec = (us - rest) / MICROS;
    ts->tv_nsec = rest * 1000;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    if (!wall || !shared) return (int)syscall(SYS_clock_gettime, id, ts);
    int64_t us = *shared;
    if (is_offset) {
        struct timespec now;
        if (syscall(SYS_clock_gettime, id, &now)) return -1;
        us += (int64_t)now.tv_sec * MICROS + now.tv_nsec / 1000;
    }
    from_micros(us, ts);
    return 0;
}

int timespec_get(struct timespec *ts, int base) {
    if (base != TIME_UTC) return 0;
    return clock_gettime(CLOCK_REALTIME, ts) ? 0 : base;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    (void)zone;
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts)) return (time_t)-1;
    if (out) *out = ts.tv_sec;
    return ts.tv_sec;
}

typedef FILE *opener(const char *, const char *);

static FILE *open_unless_hidden(const char *name, const char *path, const char *mode) {
    if (shared && strcmp(path, "/proc/cpuinfo") == 0) {
        errno = ENOENT;
        return NULL;
    }
    opener *next = (opener *)dlsym(RTLD_NEXT, name);
    return next(path, mode);
}

FILE *fopen(const char *restrict path, const char *restrict mode) {
    return open_unless_hidden("fopen", path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode) {
    return open_unless_hidden("fopen64", path, mode);
}
