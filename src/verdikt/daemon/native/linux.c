/* What verdikt-hook.c needs of a C library, for Linux on x86-64: system calls and a few loops.
 *
 * A C library asks such a processor what it can do before main() begins, and on virtual machines every such question is a
 * detour through the hypervisor: starting with one takes several times as long as all that the client does. Where this
 * cannot be built, the client is linked with the system's C library and does the same.
 */
#if !defined __x86_64__ || !defined __LP64__
#error "for x86-64"
#endif
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words);
int *__errno_location(void);
_Noreturn void __stack_chk_fail(void);
_Noreturn void verdikt_start(uintptr_t *stack);

char **environ;
static int error;

int *__errno_location(void) { return &error; }

__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call verdikt_start\n"
        ".globl verdikt_restore\nverdikt_restore: mov $15, %eax\n syscall\n");

static long raw(long number, long a, long b, long c, long d, long e) {
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return result;
}

static long sys(long number, long a, long b, long c, long d, long e) {
    long result = raw(number, a, b, c, d, e);
    if (result >= 0 || result < -4095) return result;
    error = (int)-result;
    return -1;
}

/* ---- from the first instruction to main() ---- */

static uintptr_t thread[8]; /* the compiler looks for the canary in it, 40 bytes after the thread pointer */

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));

/* The program can lie anywhere: puts right the addresses in its data, and then makes those read-only that stay as they are. */
__attribute__((no_stack_protector)) static void relocate(char *base) {
    const Elf64_Rela *rows = NULL;
    size_t size = 0;
    for (const Elf64_Dyn *each = _DYNAMIC; each->d_tag != DT_NULL; each++) {
        if (each->d_tag == DT_RELA) rows = (const Elf64_Rela *)(const void *)(base + each->d_un.d_ptr);
        if (each->d_tag == DT_RELASZ) size = each->d_un.d_val;
    }
    for (size_t i = 0; rows != NULL && i < size / sizeof *rows; i++)
        if (ELF64_R_TYPE(rows[i].r_info) == R_X86_64_RELATIVE)
            *(uintptr_t *)(void *)(base + rows[i].r_offset) = (uintptr_t)base + (uintptr_t)rows[i].r_addend;
    const Elf64_Phdr *parts = (const Elf64_Phdr *)(const void *)(base + __ehdr_start.e_phoff);
    for (size_t i = 0; i < __ehdr_start.e_phnum; i++)
        if (parts[i].p_type == PT_GNU_RELRO) {
            uintptr_t from = (uintptr_t)base + parts[i].p_vaddr, to = from + parts[i].p_memsz;
            (void)raw(SYS_mprotect, (long)(from & ~4095UL), (long)((to & ~4095UL) - (from & ~4095UL)), PROT_READ, 0, 0);
        }
}

__attribute__((no_stack_protector)) _Noreturn void verdikt_start(uintptr_t *stack) {
    char **words = (char **)(stack + 1);
    char **variables = words + stack[0] + 1;
    char **end = variables;
    while (*end != NULL) end++;
    uintptr_t canary = 0;
    for (const Elf64_auxv_t *each = (const Elf64_auxv_t *)(void *)(end + 1); each->a_type != AT_NULL; each++)
        if (each->a_type == AT_RANDOM) canary = *(const uintptr_t *)each->a_un.a_val & ~0xFFUL;
    relocate((char *)(uintptr_t)&__ehdr_start);
    thread[0] = (uintptr_t)thread;
    thread[5] = canary;
    if (raw(SYS_arch_prctl, 0x1002 /* ARCH_SET_FS */, (long)thread, 0, 0, 0) != 0) _exit(2);
    environ = variables;
    _exit(main((int)stack[0], words));
}

void __stack_chk_fail(void) { _exit(2); }

/* ---- text ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    for (size_t i = 0; i < length; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t length) {
    for (size_t i = 0; i < length; i++) ((char *)to)[i] = (char)value;
    return to;
}

int memcmp(const void *one, const void *other, size_t length) {
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < length; i++)
        if (a[i] != b[i]) return a[i] - b[i];
    return 0;
}

size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != '\0') length++;
    return length;
}

int strncmp(const char *one, const char *other, size_t most) {
    for (size_t i = 0; i < most; i++)
        if (one[i] != other[i] || one[i] == '\0') return (unsigned char)one[i] - (unsigned char)other[i];
    return 0;
}

int strcmp(const char *one, const char *other) { return strncmp(one, other, SIZE_MAX); }

char *strchr(const char *text, int letter) {
    for (;; text++) {
        if (*text == (char)letter) return (char *)(uintptr_t)text;
        if (*text == '\0') return NULL;
    }
}

char *strrchr(const char *text, int letter) {
    char *last = NULL;
    for (char *found = strchr(text, letter); found != NULL; found = strchr(found + 1, letter)) last = found;
    return last;
}

char *getenv(const char *name) {
    size_t length = strlen(name);
    for (char **each = environ; *each != NULL; each++)
        if (strncmp(*each, name, length) == 0 && (*each)[length] == '=') return *each + length + 1;
    return NULL;
}

/* ---- system calls ---- */

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    unsigned mode = flags & O_CREAT ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return (int)sys(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0);
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    int value = command == F_GETFD ? 0 : va_arg(rest, int);
    va_end(rest);
    return (int)sys(SYS_fcntl, fd, command, value, 0, 0);
}

int poll(struct pollfd *fds, nfds_t count, int milliseconds) {
    struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    return (int)sys(SYS_ppoll, (long)fds, (long)count, (long)&limit, 0, 0);
}

int sigaction(int number, const struct sigaction *restrict wanted, struct sigaction *restrict before) {
    extern void verdikt_restore(void) __attribute__((visibility("hidden")));
    struct {
        void (*action)(int);
        unsigned long flags;
        void (*restore)(void);
        unsigned long mask;
    } new = {wanted->sa_handler, 0x04000000 /* SA_RESTORER */, verdikt_restore, 0}, old = {0};
    int result = (int)sys(SYS_rt_sigaction, number, (long)&new, (long)&old, sizeof new.mask, 0);
    if (before != NULL) before->sa_handler = old.action;
    return result;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    return (int)sys(SYS_rt_sigprocmask, how, (long)set, (long)before, 8, 0);
}

int sigfillset(sigset_t *set) { return memset(set, 255, sizeof *set) == NULL; }
int sigemptyset(sigset_t *set) { return memset(set, 0, sizeof *set) == NULL; }
int clock_gettime(clockid_t clock, struct timespec *now) { return (int)sys(SYS_clock_gettime, clock, (long)now, 0, 0, 0); }
ssize_t read(int fd, void *to, size_t size) { return sys(SYS_read, fd, (long)to, (long)size, 0, 0); }
ssize_t write(int fd, const void *from, size_t size) { return sys(SYS_write, fd, (long)from, (long)size, 0, 0); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return sys(SYS_writev, fd, (long)parts, count, 0, 0); }
int close(int fd) { return (int)sys(SYS_close, fd, 0, 0, 0, 0); }
int dup2(int from, int to) { return from == to ? to : (int)sys(SYS_dup3, from, to, 0, 0, 0); }
int pipe(int ends[2]) { return (int)sys(SYS_pipe2, (long)ends, 0, 0, 0, 0); }
int fstat(int fd, struct stat *found) { return (int)sys(SYS_fstat, fd, (long)found, 0, 0, 0); }
int futimens(int fd, const struct timespec times[2]) { return (int)sys(SYS_utimensat, fd, 0, (long)times, 0, 0); }
int mkdir(const char *path, mode_t mode) { return (int)sys(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0); }
mode_t umask(mode_t mask) { return (mode_t)sys(SYS_umask, mask, 0, 0, 0, 0); }
int chdir(const char *path) { return (int)sys(SYS_chdir, (long)path, 0, 0, 0, 0); }
int fchdir(int fd) { return (int)sys(SYS_fchdir, fd, 0, 0, 0, 0); }
char *getcwd(char *path, size_t size) { return sys(SYS_getcwd, (long)path, (long)size, 0, 0, 0) < 0 ? NULL : path; }
int socket(int family, int type, int protocol) { return (int)sys(SYS_socket, family, type, protocol, 0, 0); }
int connect(int fd, const struct sockaddr *address, socklen_t size) { return (int)sys(SYS_connect, fd, (long)address, size, 0, 0); }
pid_t fork(void) { return (pid_t)sys(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
int execve(const char *path, char *const words[], char *const variables[]) { return (int)sys(SYS_execve, (long)path, (long)words, (long)variables, 0, 0); }
pid_t waitpid(pid_t child, int *state, int options) { return (pid_t)sys(SYS_wait4, child, (long)state, options, 0, 0); }
int kill(pid_t process, int number) { return (int)sys(SYS_kill, process, number, 0, 0, 0); }
int setpgid(pid_t process, pid_t group) { return (int)sys(SYS_setpgid, process, group, 0, 0, 0); }
pid_t setsid(void) { return (pid_t)sys(SYS_setsid, 0, 0, 0, 0, 0); }
uid_t geteuid(void) { return (uid_t)sys(SYS_geteuid, 0, 0, 0, 0, 0); }

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size) {
    return (int)sys(SYS_getsockopt, fd, level, name, (long)value, (long)size);
}

ssize_t readlink(const char *restrict path, char *restrict target, size_t size) {
    return sys(SYS_readlinkat, AT_FDCWD, (long)path, (long)target, (long)size, 0);
}

void _exit(int status) {
    for (;;) (void)raw(SYS_exit_group, status, 0, 0, 0, 0);
}
