/* Calls of the system on files below one folder, counted; the n-th of them fails. Loaded by LD_PRELOAD, armed by ctypes.

   A full disk stays full: from the n-th call on, whatever would take room fails with ENOSPC, and the n-th write puts
   half of its bytes down first. Any other error comes once. Each call is told to whoever asked, before it is made. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST 4096
static char prefix[PATH_MAX];
static size_t prefix_length;
static char ours[MOST];
static long counted, failing_at = -1;
static int error_to_give, armed, fired;
static const char *fired_in = "";
static void (*listener)(long, const char *, int);

void failing_arm(const char *below, long nth, int error) {
    strncpy(prefix, below, sizeof prefix - 1);
    prefix_length = strlen(prefix);
    memset(ours, 0, sizeof ours);
    counted = 0; failing_at = nth; error_to_give = error; fired = 0; fired_in = ""; armed = 1;
}
long failing_disarm(void) { armed = 0; return counted; }
int failing_fired(void) { return fired; }
const char *failing_call(void) { return fired_in; }
void failing_tell(void (*to)(long, const char *, int)) { listener = to; }

static int below(int at, const char *path) {
    if (!armed || !path) return 0;
    if (path[0] == '/') return strncmp(path, prefix, prefix_length) == 0;
    if (at >= 0) return at < MOST && ours[at];
    char here[PATH_MAX];
    return getcwd(here, sizeof here) && strncmp(here, prefix, prefix_length) == 0;
}
static int tracked(int fd) { return armed && fd >= 0 && fd < MOST && ours[fd]; }

/* Whether this call fails. */
static int meets(const char *name, int takes_room) {
    long number = __atomic_fetch_add(&counted, 1, __ATOMIC_SEQ_CST);
    if (listener) listener(number, name, takes_room != 0);
    if (failing_at < 0 || number < failing_at) return 0;
    if (error_to_give == ENOSPC) { if (!takes_room) return 0; }
    else if (number > failing_at) return 0;
    if (!fired) { fired = 1; fired_in = name; }
    errno = error_to_give;
    return 1;
}
#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)

static int opened(int fd, int at, const char *path) {
    if (fd >= 0 && fd < MOST) ours[fd] = below(at, path);
    return fd;
}
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
#define OPEN(name) int name(const char *path, int flags, ...) { MODE \
    REAL(int, #name, const char *, int, ...); \
    if (below(-1, path) && meets("open", flags & O_CREAT)) return -1; \
    return opened(real(path, flags, mode), -1, path); }
OPEN(open)
OPEN(open64)
#define OPENAT(name) int name(int at, const char *path, int flags, ...) { MODE \
    REAL(int, #name, int, const char *, int, ...); \
    if (below(at, path) && meets("openat", flags & O_CREAT)) return -1; \
    return opened(real(at, path, flags, mode), at, path); }
OPENAT(openat)
OPENAT(openat64)
int close(int fd) { REAL(int, "close", int); if (fd >= 0 && fd < MOST) ours[fd] = 0; return real(fd); }
ssize_t read(int fd, void *to, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    return tracked(fd) && meets("read", 0) ? -1 : real(fd, to, size);
}
#define PREAD(name, offset_type) ssize_t name(int fd, void *to, size_t size, offset_type at) { \
    REAL(ssize_t, #name, int, void *, size_t, offset_type); \
    return tracked(fd) && meets("pread", 0) ? -1 : real(fd, to, size, at); }
PREAD(pread, off_t)
PREAD(pread64, off64_t)
ssize_t write(int fd, const void *from, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    int before = fired;
    if (tracked(fd) && meets("write", 1)) {
        if (!before && size > 1 && error_to_give == ENOSPC) return real(fd, from, size / 2);
        return -1;
    }
    return real(fd, from, size);
}
#define PWRITE(name, offset_type) ssize_t name(int fd, const void *from, size_t size, offset_type at) { \
    REAL(ssize_t, #name, int, const void *, size_t, offset_type); \
    return tracked(fd) && meets("pwrite", 1) ? -1 : real(fd, from, size, at); }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
#define SYNC(name) int name(int fd) { REAL(int, #name, int); return tracked(fd) && meets(#name, 0) ? -1 : real(fd); }
SYNC(fsync)
SYNC(fdatasync)
#define TRUNCATE(name, offset_type) int name(int fd, offset_type size) { REAL(int, #name, int, offset_type); \
    return tracked(fd) && meets("ftruncate", 0) ? -1 : real(fd, size); }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return below(-1, to) && meets("rename", 1) ? -1 : real(from, to);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    return below(to_at, to) && meets("renameat", 1) ? -1 : real(from_at, from, to_at, to);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return below(-1, path) && meets("mkdir", 1) ? -1 : real(path, mode);
}
int mkdirat(int at, const char *path, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    return below(at, path) && meets("mkdirat", 1) ? -1 : real(at, path, mode);
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return below(-1, path) && meets("unlink", 0) ? -1 : real(path);
}
#define STAT(name, kind) int name(const char *path, struct kind *to) { REAL(int, #name, const char *, struct kind *); \
    return below(-1, path) && meets(#name, 0) ? -1 : real(path, to); }
DIR *opendir(const char *path) { REAL(DIR *, "opendir", const char *);
    return below(-1, path) && meets("opendir", 0) ? NULL : real(path); }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)
