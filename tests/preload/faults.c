/* A layer below every program: operations on files under one folder are counted, and a fault strikes at one of them.

   Loaded with LD_PRELOAD, so that it sees what Python, SQLite and DuckDB ask the system for. A write that is killed has
   written half of its bytes. A read-only or full disk stays so; it can still be read. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define LONGEST 100000
enum { COUNT, KILL, TERM, INT, IO, FULL, READ_ONLY };
enum { READ = 1, OPEN, WRITE, TRUNCATE, SYNC, NAME, REMOVE };

static char root[PATH_MAX];
static size_t length;
static volatile long seen, at = -1;
static int kind;
static char kinds[LONGEST + 1];

void faults_arm(const char *folder, long number, int what) {
    snprintf(root, sizeof root, "%s", folder);
    length = strlen(root);
    kind = what;
    at = number;
    seen = 0;
    memset(kinds, 0, sizeof kinds);
}
void faults_disarm(void) { at = -1; }
long faults_seen(void) { return seen; }
/* A letter for every operation that was seen, a capital one where it is about a copy. */
const char *faults_kinds(void) { return kinds; }

static __thread int is_copy;
/* Whether a path is below the folder; and whether it is one of many files of the same kind, a copy of a board. */
static int inside(const char *path) {
    is_copy = strstr(path, "/copy/") || strstr(path, "/copied") || strstr(path, ".board");
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int by_number(int number) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    ssize_t got = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (got < 0) return 0;
    path[got] = 0;
    return inside(path);
}

static int by_path(int folder, const char *path) {
    if (!path) return 0;
    if (path[0] == '/') return inside(path);
    is_copy = strstr(path, "/copy/") || !strncmp(path, "copied", 6) || strstr(path, ".board");
    int is_own_copy = is_copy;
    if (folder != AT_FDCWD) return by_number(folder);
    char here[PATH_MAX];
    if (syscall(SYS_getcwd, here, sizeof here) < 0) return 0;
    int found = inside(here);
    is_copy = is_own_copy;
    return found;
}

/* Whether the operation fails; errno says why. A torn write is left to the caller. */
static int strikes(int what) {
    int is_change = what != READ;
    if (at < 0) return 0;
    long number = __sync_add_and_fetch(&seen, 1);
    if (number <= LONGEST) kinds[number - 1] = (is_copy ? " ROWTSNX" : " rowtsnx")[what];
    if (kind == COUNT || number < at) return 0;
    if (number > at && kind != FULL && kind != READ_ONLY) return 0;
    switch (kind) {
    case KILL: if (what != WRITE) kill(getpid(), SIGKILL); return 1;
    case TERM: kill(getpid(), SIGTERM); return 0;
    case INT: kill(getpid(), SIGINT); return 0;
    case IO: errno = EIO; return 1;
    case FULL: if (what == REMOVE || what == SYNC || !is_change) return 0; errno = ENOSPC; return 1;
    case READ_ONLY: if (!is_change || what == SYNC || what == WRITE || what == TRUNCATE) return 0; errno = EROFS; return 1;
    }
    return 0;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int is_write(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)); }

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        if (at >= 0 && by_path(AT_FDCWD, path) && strikes(is_write(flags) ? OPEN : READ)) return -1; \
        return real(path, flags, mode); }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        if (at >= 0 && by_path(folder, path) && strikes(is_write(flags) ? OPEN : READ)) return -1; \
        return real(folder, path, flags, mode); }
OPENS_AT(openat)
OPENS_AT(openat64)
#define OPENS_STREAM(name) \
    FILE *name(const char *path, const char *mode) { \
        REAL(name); \
        if (at >= 0 && by_path(AT_FDCWD, path) && strikes(mode[0] == 'r' && !strchr(mode, '+') ? READ : OPEN)) return NULL; \
        return real(path, mode); }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

#define WRITES(name, given, call, half, size) \
    ssize_t name given { \
        REAL(name); \
        if (at >= 0 && by_number(file) && strikes(WRITE)) { \
            if (kind == KILL) { if ((size) > 1) half; kill(getpid(), SIGKILL); } \
            return -1; } \
        return call; }
WRITES(write, (int file, const void *data, size_t size), real(file, data, size), (void)!real(file, data, size / 2), size)
WRITES(pwrite, (int file, const void *data, size_t size, off_t place), real(file, data, size, place),
       (void)!real(file, data, size / 2, place), size)
WRITES(pwrite64, (int file, const void *data, size_t size, off64_t place), real(file, data, size, place),
       (void)!real(file, data, size / 2, place), size)
WRITES(writev, (int file, const struct iovec *parts, int count), real(file, parts, count), (void)!real(file, parts, count / 2), count)

/* Copies inside the system are writes without a half. */
#define COPIES(name, given, call) \
    ssize_t name given { \
        REAL(name); \
        if (at >= 0 && by_number(to) && strikes(WRITE)) { if (kind == KILL) kill(getpid(), SIGKILL); return -1; } \
        return call; }
COPIES(sendfile, (int to, int from, off_t *place, size_t size), real(to, from, place, size))
COPIES(sendfile64, (int to, int from, off64_t *place, size_t size), real(to, from, place, size))
COPIES(copy_file_range, (int from, off64_t *here, int to, off64_t *there, size_t size, unsigned flags),
       real(from, here, to, there, size, flags))

#define BY_NUMBER(name, what, given, call) \
    int name given { REAL(name); if (at >= 0 && by_number(file) && strikes(what)) return -1; return call; }
BY_NUMBER(fsync, SYNC, (int file), real(file))
BY_NUMBER(fdatasync, SYNC, (int file), real(file))
BY_NUMBER(ftruncate, TRUNCATE, (int file, off_t size), real(file, size))
BY_NUMBER(ftruncate64, TRUNCATE, (int file, off64_t size), real(file, size))

#define BY_PATH(name, what, folder, path, given, call) \
    int name given { REAL(name); if (at >= 0 && by_path(folder, path) && strikes(what)) return -1; return call; }
BY_PATH(rename, NAME, AT_FDCWD, to, (const char *from, const char *to), real(from, to))
BY_PATH(renameat, NAME, there, to, (int here, const char *from, int there, const char *to), real(here, from, there, to))
BY_PATH(link, NAME, AT_FDCWD, to, (const char *from, const char *to), real(from, to))
BY_PATH(linkat, NAME, there, to, (int here, const char *from, int there, const char *to, int flags), real(here, from, there, to, flags))
BY_PATH(unlink, REMOVE, AT_FDCWD, path, (const char *path), real(path))
BY_PATH(unlinkat, REMOVE, folder, path, (int folder, const char *path, int flags), real(folder, path, flags))
BY_PATH(rmdir, REMOVE, AT_FDCWD, path, (const char *path), real(path))
BY_PATH(mkdir, NAME, AT_FDCWD, path, (const char *path, mode_t mode), real(path, mode))
BY_PATH(mkdirat, NAME, folder, path, (int folder, const char *path, mode_t mode), real(folder, path, mode))
BY_PATH(symlink, NAME, AT_FDCWD, to, (const char *from, const char *to), real(from, to))
BY_PATH(chmod, NAME, AT_FDCWD, path, (const char *path, mode_t mode), real(path, mode))
BY_PATH(fchmodat, NAME, folder, path, (int folder, const char *path, mode_t mode, int flags), real(folder, path, mode, flags))
BY_NUMBER(fchmod, NAME, (int file, mode_t mode), real(file, mode))
