/* verdikt-hook [--socket PATH] SECONDS closed|open PYTHON [FLAG...] -m verdikt.hosts.hook HOST [EVENT [ARGUMENT]]
 * verdikt-hook [--socket PATH] HOST [EVENT [ARGUMENT]]
 *
 * What clients call. It asks the warm process, over its socket in verdikt's data directory, and hands on the answer. Where
 * nobody can be asked, it becomes guard.sh, which lies beside it and runs the hook; by hand it becomes the hook itself. Whatever
 * else happens is a block where the agent is about to act (closed), and no opinion elsewhere (open), because the clients would
 * run the tool. With --socket nothing but that socket is asked, and nothing else decides.
 *
 * Every buffer has a fixed size, one alarm ends every wait, and the only ways out are answer(), fail() and leave_it().
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#include <mach-o/dyld.h>
extern char **environ;
#else
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    SECONDS = 20,      /* for everything, when nobody says how long */
    ASK_SECONDS = 10,  /* for the question and the warm process's answer to it, as in hosts/hook.py */
    REACH_MS = 1500,   /* for a warm process that is busy or, behind --socket, being restarted */
    PAUSE_MS = 5,      /* before that one is asked again */
    HEAD = 64 * 1024,  /* these five are protocol 1's, see daemon/protocol.py */
    PAYLOAD = 24 * 1024 * 1024,
    ANSWER = 1024 * 1024,
    QUESTION_PREFIX = 12,
    ANSWER_PREFIX = 14,
};
static const char VERSION[] = "verdikt-hook " VERDIKT_VERSION; /* hosts/integrity.py looks for it in the program */

/* Every variable that a decision reads; the same list as in daemon/protocol.py. */
static const char *const VARIABLES[] = {
    "HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "VERDIKT_HOME",
    "VERDIKT_RUNS_DIR", "VERDIKT_MANAGED_POLICY", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED", "CODEX_HOME", "GEMINI_PROJECT_DIR",
};

static struct {
    const char *socket; /* given with --socket, else NULL */
    char **line;        /* for guard.sh: its name, SECONDS, closed|open, the hook; NULL by hand */
    char **words;       /* for the hook: host, event, argument; NULL when the line names another program */
    int count;          /* how many of those there are */
    bool open;          /* a failure is no opinion */
    unsigned seconds, ask_seconds;
    const char *late;   /* what it means when the alarm goes off */
    bool heard;         /* stdin was read, and is in `question` */
    volatile sig_atomic_t answering;
} call;

static char question[QUESTION_PREFIX + HEAD + PAYLOAD + 1]; /* the payload follows the head at once, however long that is */
static char *payload;
static size_t payload_length;
static char said[ANSWER_PREFIX + 2 * ANSWER];

/* ---- bytes ---- */

/* After a read or write that failed: whether to try it again, when the descriptor is ready. */
static bool again(int fd, short events) {
    struct pollfd one = {.fd = fd, .events = events, .revents = 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) (void)poll(&one, 1, -1);
    else if (errno != EINTR) return false;
    return true;
}

static bool write_all(int fd, const char *data, size_t length) {
    while (length > 0) {
        ssize_t done = write(fd, data, length);
        if (done < 0 && !again(fd, POLLOUT)) return false;
        if (done < 0) continue;
        data += done;
        length -= (size_t)done;
    }
    return true;
}

/* Text that grows inside a buffer of a fixed size; once something did not fit, it stays marked as full. */
struct text {
    char *at;
    size_t length, size;
    bool full;
};

static void put(struct text *text, const char *data, size_t length) {
    text->full = text->full || length > text->size - text->length;
    if (text->full) return;
    memcpy(text->at + text->length, data, length);
    text->length += length;
}

static void put_text(struct text *text, const char *data) { put(text, data, strlen(data)); }

static void put_word(struct text *text, const char *data) { put(text, data, strlen(data) + 1); }

static void put_number(struct text *text, uint64_t number) {
    char digits[20];
    size_t from = sizeof digits;
    do digits[--from] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(text, digits + from, sizeof digits - from);
}

static void put_length(char *at, size_t length) {
    for (int i = 0; i < 4; i++) at[i] = (char)(length >> (24 - 8 * i));
}

static size_t length_at(const char *at) {
    size_t length = 0;
    for (int i = 0; i < 4; i++) length = length << 8 | (unsigned char)at[i];
    return length;
}

/* Puts the name of a file beside this program; false when nobody knows where that is. */
static bool put_beside(char *path, size_t size, const char *name) {
    char self[PATH_MAX];
    struct text text = {path, 0, size, false};
#ifdef __APPLE__
    char found[PATH_MAX];
    uint32_t room = sizeof found;
    if (_NSGetExecutablePath(found, &room) != 0 || realpath(found, self) == NULL) return false;
    put_text(&text, self);
#else
    ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0) return false;
    put(&text, self, (size_t)length);
#endif
    while (text.length > 0 && path[text.length - 1] != '/') text.length--;
    put_word(&text, name);
    return !text.full;
}

/* ---- the ways out that say something ---- */

_Noreturn static void answer(int status, const char *out, size_t out_length, const char *err, size_t err_length) {
    call.answering = true; /* a signal must not cut the document in half */
    (void)alarm(ASK_SECONDS);
    (void)write_all(STDERR_FILENO, err, err_length);
    if (!write_all(STDOUT_FILENO, out, out_length)) status = call.open ? 0 : 2; /* it alone must say it */
    _exit(status);
}

/* Installed, this program lies in `hooks/` of verdikt's data directory, and the line goes beside the log. */
static void record_failure(const char *what) {
    char path[PATH_MAX], line[512];
    struct text crash = {line, 0, sizeof line, false};
    if (!put_beside(path, sizeof path, "../_hook_crashes.jsonl") || strstr(path, "/hooks/../_hook") == NULL) return;
    put_text(&crash, "{\"ts\":");
    put_number(&crash, (uint64_t)time(NULL));
    put_text(&crash, ",\"hook\":\"guard\",\"error\":\"HookFailed\",\"message\":\"");
    put_text(&crash, what);
    put_text(&crash, call.open ? "\",\"note\":\"open\"}\n" : "\",\"note\":\"closed\"}\n");
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) (void)write_all(fd, line, crash.length); /* in one piece: lines of several processes do not mix */
}

/* `what` is plain text of our own, without quotes or backslashes. */
_Noreturn static void fail(const char *what) {
    char words[256], document[512];
    struct text err = {words, 0, sizeof words, false}, out = {document, 0, sizeof document, false};
    call.answering = true;
    record_failure(what);
    if (call.open) answer(0, "{}\n", 3, "", 0);
    put_text(&err, "[verdikt] blocked, because the hook that decides did not work: ");
    put_text(&err, what);
    put_text(&out, "{\"decision\":\"block\",\"reason\":\"");
    put(&out, words, err.length);
    put_text(&out, "\\nInstead: stop here and ask the person to run `verdikt doctor`\"}\n");
    put_text(&err, "\n");
    answer(2, document, out.length, words, err.length);
}

static void on_signal(int number) {
    if (number == SIGPIPE) return; /* whoever writes is told */
    if (!call.answering) fail(number == SIGALRM ? call.late : "it was stopped by a signal");
    if (number == SIGALRM) _exit(call.open ? 0 : 2); /* nobody takes the answer */
}

/* ---- the question ---- */

/* Puts the head behind the room for the prefix; false when this cannot be asked: then the hook decides. */
static bool put_head(void) {
    char here[PATH_MAX];
    struct text head = {question + QUESTION_PREFIX, 0, HEAD, false};
    const char *named[3] = {"generic", "", ""};
    if (getcwd(here, sizeof here) == NULL || here[0] != '/') return false;
    for (int i = 0; i < call.count; i++) named[i] = call.words[i];
    put_word(&head, VERSION + sizeof "verdikt-hook " - 1);
    for (int i = 0; i < 3; i++) put_word(&head, named[i]);
    put_word(&head, here);
    put_word(&head, "native");
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) {
        const char *value = getenv(VARIABLES[i]);
        if (value == NULL) continue;
        put_text(&head, VARIABLES[i]);
        put_text(&head, "=");
        put_word(&head, value);
    }
    memcpy(question, "VDK1", 4);
    put_length(question + 4, head.length);
    payload = question + QUESTION_PREFIX + head.length;
    return !head.full;
}

static bool comes_as_argument(void) { return call.count > 2 && call.words[2][0] != '\0'; }

static void read_payload(void) {
    call.heard = true;
    for (;;) {
        bool rest = payload_length == PAYLOAD + 1; /* read away: the client must be able to write all of it */
        ssize_t got = rest ? read(STDIN_FILENO, said, sizeof said)
                           : read(STDIN_FILENO, payload + payload_length, PAYLOAD + 1 - payload_length);
        if (got < 0 && !again(STDIN_FILENO, POLLIN)) fail("it could not read the question");
        if (got == 0) return;
        if (got > 0 && !rest) payload_length += (size_t)got;
    }
}

/* ---- asking the warm process ---- */

/* Where its socket is, as `run_directory` in daemon/client.py; false when there is no place for one, or its name is too long. */
static bool put_address(char *path, size_t size) {
    struct text text = {path, 0, size, false};
    const char *home = getenv("HOME"), *own = getenv("VERDIKT_HOME"), *share = getenv("XDG_DATA_HOME");
    bool owns = own != NULL && *own != '\0', shares = !owns && share != NULL && *share != '\0';
    const char *from = call.socket != NULL ? call.socket : owns ? own : shares ? share : home;
    if (from == NULL || *from != '/') return false;
    put_text(&text, from);
    if (call.socket == NULL) {
        put_text(&text, owns ? "" : shares ? "/verdikt" : "/.local/share/verdikt");
        put_text(&text, "/run/daemon.sock");
    }
    put(&text, "", 1);
    return !text.full;
}

static bool peer_is(int fd, uid_t wanted) {
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer && peer.uid == wanted;
#else
    uid_t uid;
    gid_t gid;
    return getpeereid(fd, &uid, &gid) == 0 && uid == wanted;
#endif
}

/* A connection to the owner of the socket's directory, where nobody else could have put it; -1 when there is none. */
static int reach(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval busy = {REACH_MS / 1000, REACH_MS % 1000 * 1000}; /* how long a queue that is full is waited for */
    struct stat there;
    bool own = call.socket == NULL;
    if (!put_address(address.sun_path, sizeof address.sun_path)) return -1;
    char *end = strrchr(address.sun_path, '/') + (own ? 0 : 1), kept = *end; /* with a slash at its end a link is followed */
    *end = '\0';
    if (lstat(address.sun_path, &there) != 0 || !S_ISDIR(there.st_mode)) return -1;
    if (own ? (there.st_mode & 077) != 0 || there.st_uid != geteuid() : (there.st_mode & 022) != 0) return -1;
    *end = kept;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &busy, sizeof busy) == 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 && peer_is(fd, there.st_uid))
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

static void receive(int fd, char *to, size_t length) {
    while (length > 0) {
        ssize_t got = read(fd, to, length);
        if (got == 0 || (got < 0 && !again(fd, POLLIN))) fail("the warm process ended before it had answered");
        if (got < 0) continue;
        to += got;
        length -= (size_t)got;
    }
}

/* Whether it is what our encoder makes: one object in ASCII on one line. Gemini CLI believes stdout and not the status, so a 2
 * must be a block in words as well; Codex believes it only when there is a reason on stderr. */
static bool is_decision(int status, const char *out, size_t length, size_t err_length) {
    static const char block[] = "{\"decision\":\"block\",\"reason\":\"";
    size_t prefix = sizeof block - 1;
    if (length < 3 || out[0] != '{' || out[length - 2] != '}' || out[length - 1] != '\n') return false;
    for (size_t i = 0; i < length - 1; i++)
        if (out[i] < ' ' || out[i] > '~') return false;
    if (status != 2) return status == 0;
    return err_length > 0 && length > prefix && memcmp(out, block, prefix) == 0 && out[prefix] != '"';
}

/* Returns when nothing was decided and somebody else may be asked. */
static void ask(int fd) {
    call.late = "it did not hear the whole question in time";
    if (!call.heard && !comes_as_argument()) read_payload();
    put_length(question + 8, payload_length);
    call.late = "the warm process did not answer in time";
    if (!write_all(fd, question, (size_t)(payload - question) + payload_length)) return; /* nobody heard all of it */
    receive(fd, said, ANSWER_PREFIX);
    int kind = said[4], status = said[5];
    size_t out = length_at(said + 6), err = length_at(said + 10);
    if (memcmp(said, "VDK1", 4) != 0 || out > ANSWER || err > ANSWER) fail("it did not answer with one decision");
    if (kind == 1) return; /* it is of another version, or going away */
    if (kind != 0) fail("the warm process refused to answer");
    receive(fd, said + ANSWER_PREFIX, out + err);
    const char *document = said + ANSWER_PREFIX;
    if (!is_decision(status, document, out, err)) fail("it did not answer with one decision");
    answer(status, document, out, document + out, err);
}

/* Returns when nothing was decided. Waits for the question first, and then connects: who lets us in need not wait for it. */
static void ask_warm(void) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (!put_head()) return;
    while (!comes_as_argument() && poll(&in, 1, -1) < 0) continue;
    for (int left = REACH_MS; left > 0; left -= PAUSE_MS) {
        call.late = "nobody answers at its socket";
        int fd = reach();
        if (fd >= 0) ask(fd);
        if (fd >= 0) (void)close(fd);
        if (call.socket == NULL) return;
        (void)poll(NULL, 0, PAUSE_MS);
    }
}

/* ---- leaving it to the hook ---- */

/* What was read is written again, by a process that holds nothing else of ours: a client waits for the end of our output. */
static void hand_on(void) {
    int ends[2];
    if (pipe(ends) != 0) fail("it could not be started");
    pid_t writer = fork();
    if (writer < 0 || (writer > 0 && dup2(ends[0], STDIN_FILENO) < 0)) fail("it could not be started");
    if (writer == 0) {
        for (int fd = 0; fd < 3; fd++) (void)close(fd);
        (void)close(ends[0]);
        _exit(write_all(ends[1], payload, payload_length) ? 0 : 1);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Becomes guard.sh or, by hand, the hook. */
_Noreturn static void leave_it(void) {
    static char path[PATH_MAX], seconds[24], isolated[] = "-I", module[] = "-m", entry[] = "verdikt.hosts.hook";
    static char *by_hand[8] = {path, isolated, module, entry};
    unsigned spent = call.ask_seconds - alarm(0);
    struct text left = {seconds, 0, sizeof seconds - 1, false};
    call.answering = true; /* a signal must not make two processes answer */
    if (call.socket != NULL) fail("nobody answers at its socket");
    if (call.line != NULL && call.line[3][0] != '/') fail("it could not be started"); /* nothing is looked for in PATH */
    if (!put_beside(path, sizeof path, call.line != NULL ? "guard.sh" : "python3")) fail("it could not be started");
    if (call.line != NULL) {
        put_number(&left, call.seconds > spent ? call.seconds - spent : 1);
        call.line[0] = path;
        call.line[1] = seconds;
    }
    for (int i = 0; call.line == NULL && i < call.count; i++) by_hand[4 + i] = call.words[i];
    if (call.heard) hand_on();
    (void)signal(SIGCHLD, SIG_DFL); /* who starts us may ignore it, and then nobody is told how a hook ended */
    (void)execve(path, call.line != NULL ? call.line : by_hand, environ);
    fail("it could not be started");
}

/* ---- how it was called ---- */

/* The index of the first argument of the hook, after the name of its module; 0 when the line names another program. */
static int after_entry(int count, char **words) {
    for (int at = 3; at < count; at++)
        if (strcmp(words[at], "verdikt.hosts.hook") == 0) return at + 1;
    return 0;
}

static unsigned whole_number(const char *text) {
    unsigned number = 0;
    for (; *text >= '0' && *text <= '9' && number < 100000; text++) number = number * 10 + (unsigned)(*text - '0');
    return *text == '\0' ? number : 0;
}

static void read_arguments(int count, char **words) {
    call.seconds = SECONDS;
    call.late = "it did not hear the whole question in time";
    if (count > 2 && strcmp(words[1], "--socket") == 0) {
        call.socket = words[2];
        words += 2, count -= 2;
    }
    bool wrapped = count > 1 && words[1][0] >= '0' && words[1][0] <= '9';
    int hook = wrapped ? 3 : 1;
    if (wrapped) {
        call.line = words;
        call.seconds = whole_number(words[1]);
        call.open = count > 2 && strcmp(words[2], "open") == 0;
    }
    if (call.seconds == 0 || count <= hook || words[hook][0] == '\0' || words[hook][0] == '-') fail("it was called without a hook");
    if (call.socket != NULL && call.socket[0] != '/') fail("it was called with a socket whose path is not absolute");
    call.ask_seconds = call.seconds < ASK_SECONDS ? call.seconds : ASK_SECONDS;
    int from = wrapped ? after_entry(count, words) : hook;
    if (from == 0 || (wrapped && count - from > 3)) return; /* whatever that means, guard.sh runs it */
    if (count - from > 3) fail("it was called without a hook");
    call.words = words + from;
    call.count = count - from;
}

static void take_signals(void) {
    static const int caught[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    struct sigaction wanted = {.sa_handler = on_signal};
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) (void)sigaction(caught[i], &wanted, NULL);
}

/* Now that it is known what they mean; some may have come before we were started. */
static void hear_signals(void) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What is opened later must not get the number of a descriptor that we speak through. */
static void take_descriptors(void) {
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        if (open("/dev/null", O_RDWR) != fd || fd == STDOUT_FILENO) _exit(call.open ? 0 : 2); /* nobody listens */
    }
}

#ifndef VERDIKT_HOOK_PARTS
int main(int count, char **words) {
    take_signals();
    read_arguments(count, words);
    take_descriptors();
    hear_signals();
    (void)alarm(call.ask_seconds);
    const char *wish = getenv("VERDIKT_DAEMON");
    bool off = wish != NULL && strcmp(wish, "off") == 0;
    if (call.words != NULL && (call.socket != NULL || !off)) ask_warm();
    leave_it();
}
#endif
