/* verdikt-hook [--socket PATH] SECONDS closed|open PYTHON [FLAG...] .../verdikt/adapters/launch.py HOST [EVENT [ARGUMENT]]
 * verdikt-hook [--socket PATH] HOST [EVENT [ARGUMENT]]
 *
 * What clients call. It asks the warm process, over its socket in verdikt's data directory, and hands on the answer. Where
 * nobody answers, it runs the hook itself and hands on what that says, if it is a decision: status 0 or 2, and exactly one
 * JSON object, without a null, on one line of stdout. Anything else (a crash, a kill, a hang, a missing interpreter, a stray
 * line) becomes a block where the agent is about to act (closed), and no opinion elsewhere (open), because the clients would
 * run the tool. With --socket nothing but that socket is asked, and nothing is started.
 *
 * Every buffer has a fixed size, every wait ends at a deadline, and the only ways out are answer() and fail().
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
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef O_PATH
#define SEARCH O_PATH /* a directory that may be entered but not listed is enough */
#else
#define SEARCH O_RDONLY
#endif

enum {
    SECONDS = 20,      /* for everything, when nobody says how long */
    ASK_SECONDS = 10,  /* for the question and the warm process's answer to it, as in adapters/entry.py */
    REACH_MS = 1500,   /* for a warm process that is busy or, behind --socket, being restarted */
    START_SECONDS = 3, /* within these, a second warm process is not started */
    DEPTH = 64,        /* of nested JSON */
    HEAD = 64 * 1024,  /* these five are protocol 1's, see daemon/protocol.py */
    PAYLOAD = 24 * 1024 * 1024,
    ANSWER = 1024 * 1024,
    QUESTION_PREFIX = 12,
    ANSWER_PREFIX = 14,
};
static const char VERSION[] = "verdikt-hook " VERDIKT_VERSION; /* adapters/integrity.py looks for it in the program */
static const int STOPS[] = {SIGTERM, SIGINT, SIGHUP};
static const int64_t SECOND = 1000000000; /* times are nanoseconds on the monotonic clock */

/* Every variable that a decision reads; the same list as in daemon/protocol.py. */
static const char *const VARIABLES[] = {
    "HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "VERDIKT_HOME",
    "VERDIKT_RUNS_DIR", "VERDIKT_MANAGED_POLICY", "VERDIKT_HOOK_SECONDS", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ATTENDED", "CODEX_HOME", "GEMINI_PROJECT_DIR",
};

static struct {
    const char *self;   /* argv[0] */
    const char *socket; /* given with --socket, else NULL */
    char **hook;        /* the command line of the hook, which ends with NULL; NULL when there is none */
    int entry;          /* where in it the words for the interpreter end; 0 when it is another program */
    char **words;       /* what follows them: host, event, argument */
    int count;          /* how many of those there are */
    bool open;          /* a failure is no opinion */
    int64_t ask_until, until;
    bool busy;          /* the warm process is there, and its queue is full */
    bool warm;          /* start one when the answer is out */
    pid_t child;        /* to be killed if we fail */
} call;

static char question[QUESTION_PREFIX + HEAD];
static char payload[PAYLOAD + 1];
static size_t payload_length;
static char said[ANSWER_PREFIX + 2 * ANSWER];

/* ---- time and bytes ---- */

static int64_t clock_now(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return INT64_MAX / 2; /* every deadline has passed */
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* Waits until one of the descriptors is ready; false at the deadline. */
static bool wait_any(struct pollfd *fds, nfds_t count, int64_t until) {
    for (;;) {
        int64_t left = (until - clock_now(CLOCK_MONOTONIC) + 999999) / 1000000;
        if (left <= 0) return false;
        int ready = poll(fds, count, left > INT_MAX ? INT_MAX : (int)left);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR && errno != EAGAIN) return false;
    }
}

static bool wait_for(int fd, short events, int64_t until) {
    struct pollfd one = {.fd = fd, .events = events, .revents = 0};
    return wait_any(&one, 1, until);
}

/* Of what read or write returned: nothing is wrong, try again. */
static bool again(ssize_t got) { return got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK); }

static bool write_all(int fd, const char *data, size_t length, int64_t until) {
    while (length > 0) {
        size_t part = length < PIPE_BUF ? length : PIPE_BUF; /* what is ready takes this much without blocking */
        if (!wait_for(fd, POLLOUT, until)) return false;
        ssize_t done = write(fd, data, part);
        if (again(done)) continue;
        if (done <= 0) return false;
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

static void put_number(struct text *text, uint64_t number) {
    char digits[20];
    size_t from = sizeof digits;
    do digits[--from] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    put(text, digits + from, sizeof digits - from);
}

/* ---- the only two ways out ---- */

static void start_warm(void);

static void set_signal(int number, void (*action)(int)) {
    struct sigaction wanted = {.sa_handler = action};
    (void)sigaction(number, &wanted, NULL);
}

static void set_mask(bool hold) {
    sigset_t set;
    (void)(hold ? sigfillset(&set) : sigemptyset(&set));
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
}

_Noreturn static void answer(int status, const char *out, size_t out_length, const char *err, size_t err_length) {
    set_mask(true); /* a signal must not cut the document in half */
    int64_t until = clock_now(CLOCK_MONOTONIC) + ASK_SECONDS * SECOND;
    (void)write_all(STDERR_FILENO, err, err_length, until);
    if (!write_all(STDOUT_FILENO, out, out_length, until)) status = call.open ? 0 : 2; /* it alone must say it */
    if (call.warm) start_warm();
    _exit(status);
}

/* Installed, this program lies in `hooks/` of verdikt's data directory, and the line goes beside the log. */
static void record_failure(const char *what) {
    char path[PATH_MAX], line[512];
    struct text file = {path, 0, sizeof path, false}, crash = {line, 0, sizeof line, false};
    const char *slash = call.self ? strrchr(call.self, '/') : NULL;
    if (slash == NULL || slash - call.self < 6 || memcmp(slash - 6, "/hooks", 6) != 0) return;
    put(&file, call.self, (size_t)(slash - call.self));
    put(&file, "/../_hook_crashes.jsonl", sizeof "/../_hook_crashes.jsonl");
    put_text(&crash, "{\"ts\":");
    put_number(&crash, (uint64_t)(clock_now(CLOCK_REALTIME) / SECOND));
    put_text(&crash, ",\"hook\":\"guard\",\"error\":\"HookFailed\",\"message\":\"");
    put_text(&crash, what);
    put_text(&crash, call.open ? "\",\"note\":\"open\"}\n" : "\",\"note\":\"closed\"}\n");
    if (file.full || crash.full) return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    ssize_t ignored = write(fd, line, crash.length); /* one write of one line: lines of several processes do not mix */
    (void)ignored;
    (void)close(fd);
}

/* `what` is plain text of our own, without quotes or backslashes. */
_Noreturn static void fail(const char *what) {
    set_mask(true);
    if (call.child > 0) (void)kill(-call.child, SIGKILL);
    call.warm = false;
    record_failure(what);
    if (call.open) answer(0, "{}\n", 3, "", 0);
    char words[256], document[512];
    struct text err = {words, 0, sizeof words, false}, out = {document, 0, sizeof document, false};
    put_text(&err, "[verdikt] blocked, because the hook that decides did not work: ");
    put_text(&err, what);
    put_text(&out, "{\"decision\":\"block\",\"reason\":\"");
    put(&out, words, err.length);
    put_text(&out, "\\nInstead: stop here and ask the person to run `verdikt doctor`\"}\n");
    put_text(&err, "\n");
    answer(2, document, out.length, words, err.length);
}

static void on_signal(int number) {
    (void)number;
    fail("it was stopped by a signal");
}

/* ---- is it one JSON object, on one line, without a null? ---- */

struct json {
    const unsigned char *at, *end;
};

static bool json_value(struct json *json, int depth);

static bool json_take(struct json *json, const char *wanted) {
    size_t length = strlen(wanted);
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, wanted, length) != 0) return false;
    json->at += length;
    return true;
}

static void json_space(struct json *json) {
    while (json_take(json, " ") || json_take(json, "\t")) continue;
}

/* The number that four hexadecimal digits are; -1 when they are not. */
static int json_hex(struct json *json) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = json->at < json->end ? *json->at++ : 0;
        if (digit >= '0' && digit <= '9') digit -= '0';
        else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f') digit = (digit | 0x20) - 'a' + 10;
        else return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* What follows a backslash. Half a character is refused, because some clients refuse the document then, and run the tool. */
static bool json_escape(struct json *json) {
    if (!json_take(json, "u")) return json->at < json->end && *json->at != '\0' && strchr("\"\\/bfnrt", *json->at++) != NULL;
    int unit = json_hex(json);
    if (unit < 0xD800 || unit > 0xDFFF) return unit >= 0;
    if (unit > 0xDBFF || !json_take(json, "\\u")) return false;
    unit = json_hex(json);
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* One character beyond ASCII in UTF-8: no overlong form, no surrogate, nothing above U+10FFFF. */
static bool json_utf8(struct json *json) {
    unsigned char lead = *json->at++;
    size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || (size_t)(json->end - json->at) < more) return false;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (; more > 0; more--, low = 0x80, high = 0xBF)
        if (*json->at < low || *json->at++ > high) return false;
    return true;
}

static bool json_string(struct json *json) {
    if (!json_take(json, "\"")) return false;
    while (json->at < json->end && *json->at >= 0x20) {
        if (json_take(json, "\"")) return true;
        bool plain = *json->at < 0x80 && *json->at != '\\';
        if (plain) json->at++;
        else if (json_take(json, "\\") ? !json_escape(json) : !json_utf8(json)) return false;
    }
    return false;
}

static bool json_digits(struct json *json) {
    const unsigned char *from = json->at;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9') json->at++;
    return json->at > from;
}

static bool json_number(struct json *json) {
    (void)json_take(json, "-");
    if (!json_take(json, "0") && !json_digits(json)) return false;
    if (json_take(json, ".") && !json_digits(json)) return false;
    if (!json_take(json, "e") && !json_take(json, "E")) return true;
    if (!json_take(json, "+")) (void)json_take(json, "-");
    return json_digits(json);
}

/* The inside of an object or a list, after its opening bracket. */
static bool json_members(struct json *json, const char *close, int depth) {
    json_space(json);
    if (json_take(json, close)) return true;
    for (;;) {
        json_space(json);
        if (*close == '}') {
            if (!json_string(json)) return false;
            json_space(json);
            if (!json_take(json, ":")) return false;
        }
        if (!json_value(json, depth)) return false;
        json_space(json);
        if (json_take(json, close)) return true;
        if (!json_take(json, ",")) return false;
    }
}

static bool json_value(struct json *json, int depth) {
    json_space(json);
    if (depth <= 0) return false;
    if (json_take(json, "{")) return json_members(json, "}", depth - 1);
    if (json_take(json, "[")) return json_members(json, "]", depth - 1);
    if (json_take(json, "true") || json_take(json, "false")) return true;
    return json->at < json->end && (*json->at == '"' ? json_string(json) : json_number(json));
}

static bool is_one_object(const char *text, size_t length) {
    struct json json = {(const unsigned char *)text, (const unsigned char *)text + length};
    if (length > 0 && text[length - 1] == '\n') json.end--;
    if (json.at >= json.end || *json.at != '{' || !json_value(&json, DEPTH)) return false;
    json_space(&json);
    return json.at == json.end;
}

/* Gemini CLI believes stdout and not the status, so a 2 must be a block in words as well. */
static bool is_decision(int status, const char *out, size_t length) {
    static const char block[] = "{\"decision\":\"block\",\"reason\":\"";
    size_t prefix = sizeof block - 1;
    if (status == 2 && (length <= prefix || memcmp(out, block, prefix) != 0 || out[prefix] == '"')) return false;
    return (status == 0 || status == 2) && is_one_object(out, length);
}

/* ---- the question ---- */

static void read_payload(void) {
    if (call.count > 2 && call.words[2][0] != '\0') return; /* it came as an argument */
    for (;;) {
        if (!wait_for(STDIN_FILENO, POLLIN, call.ask_until)) fail("it did not hear the whole question in time");
        bool rest = payload_length == sizeof payload; /* read away: the client must be able to write all of it */
        ssize_t got = rest ? read(STDIN_FILENO, said, sizeof said)
                           : read(STDIN_FILENO, payload + payload_length, sizeof payload - payload_length);
        if (again(got)) continue;
        if (got < 0) fail("it could not read the question");
        if (got == 0) return;
        if (!rest) payload_length += (size_t)got;
    }
}

static void put_length(char *at, size_t length) {
    for (int i = 0; i < 4; i++) at[i] = (char)(length >> (24 - 8 * i));
}

/* Puts prefix and head into `question`; its length, or 0 when this cannot be asked: then the hook itself decides. */
static size_t build_question(void) {
    char here[PATH_MAX];
    struct text head = {question + QUESTION_PREFIX, 0, HEAD, false};
    if (getcwd(here, sizeof here) == NULL || here[0] != '/') return 0;
    const char *words[6] = {VERSION + sizeof "verdikt-hook " - 1, "generic", "", "", here, "native"};
    for (int i = 0; i < call.count; i++) words[1 + i] = call.words[i];
    for (size_t i = 0; i < 6; i++) put(&head, words[i], strlen(words[i]) + 1);
    for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) {
        const char *value = getenv(VARIABLES[i]);
        if (value == NULL) continue;
        put_text(&head, VARIABLES[i]);
        put_text(&head, "=");
        put(&head, value, strlen(value) + 1);
    }
    memcpy(question, "VDK1", 4);
    put_length(question + 4, head.length);
    put_length(question + 8, payload_length);
    return head.full ? 0 : QUESTION_PREFIX + head.length;
}

/* A path in the directory of the warm process, as `run_directory` in daemon/client.py; false when there is none. */
static bool run_path(char *path, size_t size, const char *name) {
    struct text text = {path, 0, size - 1, false};
    const char *home = getenv("HOME"), *own = getenv("VERDIKT_HOME"), *share = getenv("XDG_DATA_HOME");
    bool owns = own != NULL && *own != '\0', shares = !owns && share != NULL && *share != '\0';
    const char *from = owns ? own : shares ? share : home;
    if (from == NULL || *from != '/') return false;
    put_text(&text, from);
    put_text(&text, owns ? "" : shares ? "/verdikt" : "/.local/share/verdikt");
    put_text(&text, "/run");
    put_text(&text, name);
    path[text.length] = '\0';
    return !text.full;
}

/* ---- asking the warm process ---- */

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

/* Connects to a socket in the directory that we are in; -1 when nobody listens there. */
static int connect_here(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = strlen(name) < sizeof address.sun_path ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
    if (fd < 0) return -1;
    memcpy(address.sun_path, name, strlen(name) + 1);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    call.busy = errno == EAGAIN || errno == EINTR;
    (void)close(fd);
    return -1;
}

/* A connection to the owner of the directory and to nobody else; -1 when there is none. By way of the directory itself,
 * because the address of a socket has room for about a hundred letters. */
static int reach(const char *directory, const char *name, bool own) {
    struct stat there;
    call.busy = false;
    int fd = -1, here = open(".", SEARCH | O_DIRECTORY | O_CLOEXEC);
    int run = here < 0 ? -1 : open(directory, SEARCH | O_DIRECTORY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));
    if (run >= 0 && fstat(run, &there) == 0 && (there.st_mode & (own ? 077 : 022)) == 0 &&
        (!own || there.st_uid == geteuid()) && fchdir(run) == 0) {
        fd = connect_here(name);
        if (fchdir(here) != 0) fail("its working directory is gone");
        if (fd >= 0 && !peer_is(fd, there.st_uid)) {
            (void)close(fd);
            fd = -1;
        }
    }
    if (run >= 0) (void)close(run);
    if (here >= 0) (void)close(here);
    return fd;
}

/* False when the connection ended before all of the question was written: then nothing was decided. */
static bool send_question(int fd, size_t length) {
    struct iovec parts[2] = {{question, length}, {payload, payload_length}};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t done = writev(fd, parts, 2);
        if (again(done)) {
            if (!wait_for(fd, POLLOUT, call.ask_until)) fail("the warm process did not answer in time");
            continue;
        }
        if (done < 0) return false;
        for (size_t i = 0, left = (size_t)done; i < 2; i++) {
            size_t sent = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + sent;
            parts[i].iov_len -= sent;
            left -= sent;
        }
    }
    return true;
}

static void receive(int fd, size_t from, size_t to) {
    while (from < to) {
        if (!wait_for(fd, POLLIN, call.ask_until)) fail("the warm process did not answer in time");
        ssize_t got = read(fd, said + from, to - from);
        if (again(got)) continue;
        if (got <= 0) fail("the warm process ended before it had answered");
        from += (size_t)got;
    }
}

static size_t length_at(size_t at) {
    const unsigned char *from = (const unsigned char *)said + at;
    return (size_t)from[0] << 24 | (size_t)from[1] << 16 | (size_t)from[2] << 8 | from[3];
}

/* Returns when nothing was decided and somebody else may be asked. */
static void ask(int fd) {
    size_t length = build_question();
    if (length == 0 || !send_question(fd, length)) return;
    receive(fd, 0, ANSWER_PREFIX);
    int kind = said[4], status = said[5];
    size_t out = length_at(6), err = length_at(10);
    if (memcmp(said, "VDK1", 4) != 0 || out > ANSWER || err > ANSWER) fail("it did not answer with one decision");
    if (kind == 1) return; /* it is of another version, or going away */
    if (kind != 0) fail("the warm process refused to answer");
    receive(fd, ANSWER_PREFIX, ANSWER_PREFIX + out + err);
    const char *document = said + ANSWER_PREFIX;
    if (!is_decision(status, document, out) || (status == 2 && err == 0)) fail("it did not answer with one decision");
    answer(status, document, out, document + out, err);
}

/* Asks behind the given socket, or the user's own warm process; returns when nothing was decided. */
static void ask_warm(void) {
    char path[PATH_MAX];
    const char *name = "daemon.sock";
    bool own = call.socket == NULL;
    if (own && !run_path(path, sizeof path, "")) return;
    if (!own) {
        size_t length = (size_t)(strrchr(call.socket, '/') - call.socket);
        if (length >= sizeof path) return;
        memcpy(path, call.socket, length + 1);
        path[length > 0 ? length : 1] = '\0';
        name = call.socket + length + 1;
    }
    int64_t until = clock_now(CLOCK_MONOTONIC) + (int64_t)REACH_MS * 1000000;
    if (until > call.ask_until) until = call.ask_until;
    for (; clock_now(CLOCK_MONOTONIC) < until; (void)poll(NULL, 0, 5)) {
        int fd = reach(path, name, own);
        if (fd >= 0) ask(fd);
        if (fd >= 0) (void)close(fd);
        call.warm = own && fd < 0 && !call.busy;
        if (own && (fd >= 0 || call.warm)) return;
    }
}

/* ---- starting a warm process ---- */

/* Whether nobody has tried within the last seconds: a warm process that cannot start must not be started by every call. */
static bool first_to_start(void) {
    char path[PATH_MAX];
    struct stat mark;
    if (run_path(path, sizeof path, "")) (void)mkdir(path, 0700);
    if (!run_path(path, sizeof path, "/starting")) return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool first = fd >= 0;
    if (!first && errno == EEXIST) {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &mark) != 0) return false;
        int64_t age = clock_now(CLOCK_REALTIME) / SECOND - (int64_t)mark.st_mtime;
        first = (age < 0 || age >= START_SECONDS) && futimens(fd, NULL) == 0;
    }
    if (fd >= 0) (void)close(fd);
    return first;
}

/* The variables that it is given: those that are sent, and how long it may idle. It outlives the session, and a token must not. */
static char **warm_variables(void) {
    static char *variables[sizeof VARIABLES / sizeof *VARIABLES + 2];
    size_t count = 0, most = sizeof variables / sizeof *variables - 1;
    for (char **each = environ; *each != NULL && count < most; each++)
        for (size_t i = 0; i < most; i++) {
            const char *name = i < most - 1 ? VARIABLES[i] : "VERDIKT_DAEMON_IDLE";
            if (strncmp(*each, name, strlen(name)) != 0 || (*each)[strlen(name)] != '=') continue;
            variables[count++] = *each;
            break;
        }
    return variables;
}

/* The interpreter as the hook has it, but with what is installed beside verdikt, and the warm process. */
static char **warm_line(void) {
    static char module[] = "-m", package[] = "verdikt.daemon", path[PATH_MAX], *line[16];
    static const char hook[] = "adapters/launch.py", warm[] = "daemon/__main__.py";
    size_t length = 0, end = strlen(call.hook[call.entry]);
    for (int i = 0; i < call.entry && length < 12; i++)
        if (strcmp(call.hook[i], "-S") != 0) line[length++] = call.hook[i];
    if (strcmp(call.hook[call.entry], module) != 0 && end < sizeof path) {
        size_t prefix = end - (sizeof hook - 1);
        struct text script = {path, 0, sizeof path, false};
        put(&script, call.hook[call.entry], prefix);
        put(&script, warm, sizeof warm);
        line[length++] = path;
    } else {
        line[length++] = module;
        line[length++] = package;
    }
    return line;
}

/* After the answer, so that it slows nobody down. It holds nothing of ours: a client waits for the end of our output. */
static void start_warm(void) {
    if (!first_to_start()) return;
    pid_t between = fork();
    while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR) continue;
    if (between != 0) return;
    if (setsid() < 0 || chdir("/") != 0 || fork() != 0) _exit(0);
    for (int fd = 0; fd < 1024; fd++) (void)close(fd);
    if (open("/dev/null", O_RDWR) != 0 || dup2(0, 1) != 1 || dup2(0, 2) != 2) _exit(0);
    (void)umask(077);
    set_signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < 3; i++) set_signal(STOPS[i], SIG_DFL);
    set_mask(false);
    char **line = warm_line();
    (void)execve(line[0], line, warm_variables());
    _exit(127);
}

/* ---- running the hook ---- */

_Noreturn static void become_hook(int in, int out) {
    static char *variables[4096] = {NULL}, off[] = "VERDIKT_DAEMON=off";
    size_t count = 0;
    for (char **each = environ; *each != NULL; each++) {
        if (strncmp(*each, off, sizeof "VERDIKT_DAEMON=" - 1) == 0) continue;
        if (count == sizeof variables / sizeof *variables - 2) _exit(127);
        variables[count++] = *each;
    }
    variables[count] = off; /* it must not ask the same warm process, or start another */
    (void)setpgid(0, 0);
    set_signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < 3; i++) set_signal(STOPS[i], SIG_DFL);
    set_mask(false);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) _exit(127);
    (void)execve(call.hook[0], call.hook, variables);
    _exit(127);
}

/* Feeds the hook its question and collects what it says, until it says no more; the length. */
static size_t talk(int in, int out) {
    size_t fed = 0, heard = 0;
    for (;;) {
        if (in >= 0 && fed == payload_length) {
            (void)close(in);
            in = -1;
        }
        struct pollfd fds[2] = {{out, POLLIN, 0}, {in, POLLOUT, 0}};
        if (!wait_any(fds, 2, call.until)) fail("it was killed or took too long");
        if (fds[1].revents != 0) {
            ssize_t done = write(in, payload + fed, payload_length - fed);
            if (done >= 0) fed += (size_t)done;
            else if (!again(done)) fed = payload_length; /* it has heard enough */
        }
        if (fds[0].revents != 0) {
            ssize_t got = read(out, said + heard, sizeof said - heard);
            if (got == 0) return heard;
            if (got > 0) heard += (size_t)got;
            if ((got < 0 && !again(got)) || heard == sizeof said) fail("it did not answer with one decision");
        }
    }
}

_Noreturn static void run_hook(void) {
    int in[2], out[2], state = 0;
    if (call.hook == NULL || call.hook[0][0] != '/') fail("it could not be started");
    if (pipe(in) != 0 || pipe(out) != 0) fail("it could not be started");
    for (int i = 0; i < 2; i++)
        if (fcntl(in[i], F_SETFD, FD_CLOEXEC) != 0 || fcntl(out[i], F_SETFD, FD_CLOEXEC) != 0) fail("it could not be started");
    (void)fcntl(in[1], F_SETFL, O_NONBLOCK);
    set_mask(true); /* a signal must not come before we know whom to kill */
    pid_t child = fork();
    if (child < 0) fail("it could not be started");
    if (child == 0) become_hook(in[0], out[1]);
    call.child = child;
    (void)setpgid(child, child); /* whoever of the two comes first */
    set_mask(false);
    (void)close(in[0]);
    (void)close(out[1]);
    size_t length = talk(in[1], out[0]);
    for (pid_t ended; (ended = waitpid(child, &state, WNOHANG)) != child; (void)poll(NULL, 0, 1))
        if ((ended < 0 && errno != EINTR) || clock_now(CLOCK_MONOTONIC) > call.until) fail("it was killed or took too long");
    call.child = 0;
    int status = WIFEXITED(state) ? WEXITSTATUS(state) : 137;
    if (status == 126 || status == 127) fail("it could not be started");
    if (status == 124 || status == 137) fail("it was killed or took too long");
    if (status != 0 && status != 2) {
        char words[64] = {0};
        struct text what = {words, 0, sizeof words - 1, false};
        put_text(&what, "it failed with status ");
        put_number(&what, (uint64_t)status);
        fail(words);
    }
    if (!is_decision(status, said, length)) fail("it did not answer with one decision");
    if (said[length - 1] != '\n') said[length++] = '\n';
    answer(status, said, length, "", 0);
}

/* ---- how it was called ---- */

/* By hand: the interpreter beside this program, isolated, and the hook. */
static void find_hook(char **words, int count) {
    static char path[PATH_MAX + 8], isolated[] = "-I", module[] = "-m", entry[] = "verdikt.adapters.entry";
    static char *hook[8] = {path, isolated, module, entry};
#ifdef __APPLE__
    char found[PATH_MAX];
    uint32_t size = sizeof found;
    if (_NSGetExecutablePath(found, &size) != 0 || realpath(found, path) == NULL) return;
#else
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0 || length >= PATH_MAX) return;
    path[length] = '\0';
#endif
    char *slash = strrchr(path, '/');
    if (slash == NULL || count > 3) return;
    memcpy(slash + 1, "python3", sizeof "python3");
    for (int i = 0; i < count; i++) hook[4 + i] = words[i];
    call.hook = hook;
    call.entry = 2;
    call.words = hook + 4;
    call.count = count;
}

/* Where the words for the hook begin: after its script or its module; 0 when this is another program. */
static int after_entry(char **words, int at) {
    static const char script[] = "/verdikt/adapters/launch.py";
    size_t length = strlen(words[at]), end = sizeof script - 1;
    if (length > end && strcmp(words[at] + length - end, script) == 0) return at + 1;
    bool module = strcmp(words[at], "-m") == 0 && words[at + 1] != NULL;
    return module && strcmp(words[at + 1], "verdikt.adapters.entry") == 0 ? at + 2 : 0;
}

static int64_t whole_number(const char *text) {
    int64_t number = 0;
    for (; *text >= '0' && *text <= '9' && number < 100000; text++) number = number * 10 + (*text - '0');
    return *text == '\0' ? number : 0;
}

static void read_arguments(int count, char **words) {
    int64_t start = clock_now(CLOCK_MONOTONIC), seconds = SECONDS;
    call.self = count > 0 ? words[0] : NULL;
    if (count > 0) words++, count--;
    if (count > 1 && strcmp(words[0], "--socket") == 0) {
        call.socket = words[1];
        words += 2, count -= 2;
    }
    bool wrapped = count > 0 && words[0][0] >= '0' && words[0][0] <= '9';
    if (wrapped) {
        int limits = count > 1 ? 2 : 1;
        seconds = whole_number(words[0]);
        call.open = count > 1 && strcmp(words[1], "open") == 0;
        words += limits, count -= limits;
    }
    call.until = start + (seconds > 0 ? seconds : 1) * SECOND;
    call.ask_until = seconds < ASK_SECONDS ? call.until : start + ASK_SECONDS * SECOND;
    if (count < 1 || seconds < 1 || words[0][0] == '-' || words[0][0] == '\0') fail("it was called without a hook");
    if (call.socket != NULL && call.socket[0] != '/') fail("it was called with a socket whose path is not absolute");
    if (!wrapped) {
        find_hook(words, count);
        return;
    }
    call.hook = words;
    for (int at = 1; at < count && call.entry == 0; at++) {
        int from = after_entry(words, at);
        if (from == 0) continue;
        if (count - from > 3) return; /* whatever that means, the hook knows it */
        call.entry = at;
        call.words = words + from;
        call.count = count - from;
    }
}

static void take_signals(void) {
    struct sigaction stopped = {.sa_handler = on_signal}, before;
    set_signal(SIGPIPE, SIG_IGN);
    set_signal(SIGCHLD, SIG_DFL); /* who starts us may ignore it, and then nobody is told how a hook ended */
    for (size_t i = 0; i < 3; i++)
        if (sigaction(STOPS[i], &stopped, &before) == 0 && before.sa_handler == SIG_IGN) set_signal(STOPS[i], SIG_IGN);
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
    read_payload();
    const char *wish = getenv("VERDIKT_DAEMON");
    bool off = wish != NULL && strcmp(wish, "off") == 0;
    if (call.entry > 0 && (call.socket != NULL || !off)) ask_warm();
    if (call.socket != NULL) fail("nobody answers at its socket");
    run_hook();
}
#endif
