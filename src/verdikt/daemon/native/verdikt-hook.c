/* verdikt-hook [--socket PATH] SECONDS closed|open PYTHON [FLAG...] -m verdikt.hosts.hook HOST [EVENT [ARGUMENT]]
 * verdikt-hook [--socket PATH] HOST [EVENT [ARGUMENT]]
 *
 * The program that hosts run as their hook. It sends the hook's input to the warm process, over the socket in verdikt's
 * data directory, and passes on the reply. Where no warm process can be asked it execs guard.sh, which lies beside it
 * and runs the hook in Python; in the second form, meant for use by hand, it execs the hook itself.
 *
 * Every failure is a block where the agent is about to act (closed) and no opinion elsewhere (open), because hosts take
 * a hook that fails for consent and run the tool. With --socket only that socket is asked and nothing else decides.
 *
 * Every buffer has a fixed size, one alarm ends every wait, and the program ends only through reply_and_exit(),
 * fail_and_exit() and exec_fallback().
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#include <mach-o/dyld.h>
#include <sys/random.h>
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
    DEFAULT_TOTAL_SECONDS = 20,     /* for everything, when the command line does not say */
    REQUEST_SECONDS = 10,           /* for reading the input and for the reply to it, as in hosts/hook.py */
    GUARD_SECONDS = 20,             /* for guard.sh and the hook that it runs, which waits for no people */
    MAX_PATIENCE_SECONDS = 45,      /* for people who have to approve the call; as in daemon/protocol.py */
    PATIENCE_MARGIN_SECONDS = 5,    /* of the total that is left for everything else */
    CONNECT_MS = 1500,              /* for a warm process that is busy or, with --socket, being restarted */
    RETRY_PAUSE_MS = 5,             /* between two attempts with --socket */
    MAX_HEAD_BYTES = 64 * 1024,     /* this and the next four are protocol 1's; see daemon/protocol.py */
    MAX_PAYLOAD_BYTES = 24 * 1024 * 1024,
    MAX_STREAM_BYTES = 1024 * 1024,
    REQUEST_PREFIX_BYTES = 12,
    REPLY_PREFIX_BYTES = 14,
    SECRET_BYTES = 64,              /* this and the next two are those of the proof; see daemon/proof.py */
    NONCE_BYTES = 32,
    PROOF_BYTES = 32,
};

/* hosts/integrity.py searches the installed program for this text to learn its version. */
static const char VERSION[] = "verdikt-hook " VERDIKT_VERSION;

/* Every variable that a decision reads; the same list as SENT_VARIABLES in daemon/protocol.py. */
static const char *const SENT_VARIABLES[] = {
    "HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "VERDIKT_HOME",
    "VERDIKT_RUNS_DIR", "VERDIKT_MANAGED_POLICY", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED", "CODEX_HOME", "GEMINI_PROJECT_DIR",
};

/* The events at which the hook itself tries the warm process with a canary; CHECKED_EVENTS in protocol.py. */
static const char *const CHECKED_EVENTS[] = {"SessionStart", "Stop", "AfterAgent", "sessionStart", "agentStop", "stop"};

static struct {
    const char *socket_path;    /* of --socket, else NULL */
    char **guard_argv;          /* for guard.sh: its name, SECONDS, closed|open, the hook; NULL in the second form */
    char **hook_arguments;      /* host, event, argument; NULL when the command line names another program */
    int hook_argument_count;
    bool fails_open;            /* a failure is no opinion */
    unsigned total_seconds, request_seconds;
    const char *timeout_reason; /* the message when the alarm goes off */
    bool input_was_read;        /* stdin is in `request`, and the hook must get it from there */
    volatile sig_atomic_t is_exiting;
} call;

/* The payload follows the head without a gap, however long the head is. One byte more than a payload may have. */
static char request[REQUEST_PREFIX_BYTES + MAX_HEAD_BYTES + MAX_PAYLOAD_BYTES + 1];
static char *payload;
static size_t payload_length;
static char reply[REPLY_PREFIX_BYTES + 2 * MAX_STREAM_BYTES + PROOF_BYTES];
static char nonce[NONCE_BYTES + 1]; /* hexadecimal digits */

/* ---- bytes ---- */

/* After a read or write that failed: waits if necessary, and returns whether to try again. */
static bool can_retry(int fd, short events) {
    struct pollfd descriptor = {.fd = fd, .events = events, .revents = 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) (void)poll(&descriptor, 1, -1);
    else if (errno != EINTR) return false;
    return true;
}

static bool write_all(int fd, const char *data, size_t length) {
    while (length > 0) {
        ssize_t count = write(fd, data, length);
        if (count < 0 && !can_retry(fd, POLLOUT)) return false;
        if (count < 0) continue;
        data += count;
        length -= (size_t)count;
    }
    return true;
}

/* Text that grows inside a buffer of a fixed size. Once something did not fit, `overflowed` stays set. */
struct buffer {
    char *data;
    size_t length, size;
    bool overflowed;
};

static void append_bytes(struct buffer *buffer, const char *data, size_t length) {
    buffer->overflowed = buffer->overflowed || length > buffer->size - buffer->length;
    if (buffer->overflowed) return;
    memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
}

static void append_text(struct buffer *buffer, const char *text) { append_bytes(buffer, text, strlen(text)); }

/* With the terminating NUL. */
static void append_field(struct buffer *buffer, const char *text) { append_bytes(buffer, text, strlen(text) + 1); }

static void append_number(struct buffer *buffer, uint64_t number) {
    char digits[20];
    size_t start = sizeof digits;
    do digits[--start] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    append_bytes(buffer, digits + start, sizeof digits - start);
}

static void encode_u32(char *target, size_t number) {
    for (int i = 0; i < 4; i++) target[i] = (char)(number >> (24 - 8 * i));
}

static size_t decode_u32(const char *source) {
    size_t number = 0;
    for (int i = 0; i < 4; i++) number = number << 8 | (unsigned char)source[i];
    return number;
}

/* Writes the path of a file beside this program; false when the program's own path is not known. */
static bool find_sibling(char *path, size_t size, const char *name) {
    char program[PATH_MAX];
    struct buffer buffer = {path, 0, size, false};
#ifdef __APPLE__
    char unresolved[PATH_MAX];
    uint32_t unresolved_size = sizeof unresolved;
    if (_NSGetExecutablePath(unresolved, &unresolved_size) != 0 || realpath(unresolved, program) == NULL) return false;
    append_text(&buffer, program);
#else
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    if (length <= 0) return false;
    append_bytes(&buffer, program, (size_t)length);
#endif
    while (buffer.length > 0 && path[buffer.length - 1] != '/') buffer.length--;
    append_field(&buffer, name);
    return !buffer.overflowed;
}

/* ---- ending with a decision ---- */

_Noreturn static void reply_and_exit(
    int status, const char *out, size_t out_length, const char *err, size_t err_length) {
    call.is_exiting = true; /* a signal must not cut the document in half */
    (void)alarm(REQUEST_SECONDS);
    (void)write_all(STDERR_FILENO, err, err_length);
    /* A host that cannot read the document sees the status alone. */
    if (!write_all(STDOUT_FILENO, out, out_length)) status = call.fails_open ? 0 : 2;
    _exit(status);
}

/* Installed, this program lies in `hooks/` of verdikt's data directory, and failures are recorded beside the log. */
static void record_failure(const char *reason) {
    char path[PATH_MAX], line[512];
    struct buffer record = {line, 0, sizeof line, false};
    if (!find_sibling(path, sizeof path, "../_hook_crashes.jsonl") || strstr(path, "/hooks/../_hook") == NULL) return;
    append_text(&record, "{\"ts\":");
    append_number(&record, (uint64_t)time(NULL));
    append_text(&record, ",\"hook\":\"guard\",\"error\":\"HookFailed\",\"message\":\"");
    append_text(&record, reason);
    append_text(&record, call.fails_open ? "\",\"note\":\"open\"}\n" : "\",\"note\":\"closed\"}\n");
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) (void)write_all(fd, line, record.length); /* one write, so lines of several processes do not mix */
}

/* `reason` is one of our own texts and goes into JSON as it is: no quotes, no backslashes. */
_Noreturn static void fail_and_exit(const char *reason) {
    char message[256], document[512];
    struct buffer err = {message, 0, sizeof message, false}, out = {document, 0, sizeof document, false};
    call.is_exiting = true;
    record_failure(reason);
    if (call.fails_open) reply_and_exit(0, "{}\n", 3, "", 0);
    append_text(&err, "[verdikt] blocked, because the hook that decides did not work: ");
    append_text(&err, reason);
    append_text(&out, "{\"decision\":\"block\",\"reason\":\"");
    append_bytes(&out, message, err.length);
    append_text(&out, "\\nInstead: stop here and ask the person to run `verdikt doctor`\"}\n");
    append_text(&err, "\n");
    reply_and_exit(2, document, out.length, message, err.length);
}

static void handle_signal(int number) {
    if (number == SIGPIPE) return; /* the write that caused it reports an error */
    if (!call.is_exiting) fail_and_exit(number == SIGALRM ? call.timeout_reason : "it was stopped by a signal");
    if (number == SIGALRM) _exit(call.fails_open ? 0 : 2); /* the host does not read the document */
}

/* ---- the request ---- */

/* How many seconds the host's own limit leaves for people. The warm process answers all other calls in time. */
static unsigned get_patience(void) {
    if (call.total_seconds <= PATIENCE_MARGIN_SECONDS + REQUEST_SECONDS) return 0;
    unsigned seconds = call.total_seconds - PATIENCE_MARGIN_SECONDS;
    return seconds < MAX_PATIENCE_SECONDS ? seconds : MAX_PATIENCE_SECONDS;
}

/* Encodes the head behind the space for the prefix; false when it cannot be sent, and the hook has to decide. */
static bool encode_head(void) {
    char cwd[PATH_MAX];
    struct buffer head = {request + REQUEST_PREFIX_BYTES, 0, MAX_HEAD_BYTES, false};
    const char *arguments[3] = {"generic", "", ""};
    if (getcwd(cwd, sizeof cwd) == NULL || cwd[0] != '/') return false;
    for (int i = 0; i < call.hook_argument_count; i++) arguments[i] = call.hook_arguments[i];
    append_field(&head, VERSION + sizeof "verdikt-hook " - 1);
    for (int i = 0; i < 3; i++) append_field(&head, arguments[i]);
    append_field(&head, cwd);
    append_field(&head, "native");
    for (size_t i = 0; i < sizeof SENT_VARIABLES / sizeof *SENT_VARIABLES; i++) {
        const char *value = getenv(SENT_VARIABLES[i]);
        if (value == NULL) continue;
        append_text(&head, SENT_VARIABLES[i]);
        append_text(&head, "=");
        append_field(&head, value);
    }
    if (get_patience() > 0) {
        append_text(&head, "patience=");
        append_number(&head, get_patience());
        append_bytes(&head, "", 1);
    }
    append_text(&head, "nonce="); /* last, so that the warm process can tell the heads of all calls as equal */
    append_field(&head, nonce);
    memcpy(request, "VDK1", 4);
    encode_u32(request + 4, head.length);
    payload = request + REQUEST_PREFIX_BYTES + head.length;
    return !head.overflowed;
}

/* Some hosts pass the payload as the third argument of the hook instead of on stdin. */
static bool has_payload_argument(void) { return call.hook_argument_count > 2 && call.hook_arguments[2][0] != '\0'; }

static void read_payload(void) {
    call.input_was_read = true;
    for (;;) {
        /* What is too long is read to its end and thrown away: the host must be able to write all of it. */
        bool is_full = payload_length == MAX_PAYLOAD_BYTES + 1;
        ssize_t count = is_full ? read(STDIN_FILENO, reply, sizeof reply)
                                : read(STDIN_FILENO, payload + payload_length, MAX_PAYLOAD_BYTES + 1 - payload_length);
        if (count < 0 && !can_retry(STDIN_FILENO, POLLIN)) fail_and_exit("it could not read its input");
        if (count == 0) return;
        if (count > 0 && !is_full) payload_length += (size_t)count;
    }
}

/* ---- the proof that a warm process answers, and not a program that took its place ---- */

/* SHA-256 (FIPS 180-4), because a small static program has no library for it. */
struct sha256 {
    uint32_t state[8];
    unsigned char block[64];
    uint64_t length;
};

static uint32_t rotate(uint32_t word, unsigned bits) { return word >> bits | word << (32 - bits); }

static void sha256_block(struct sha256 *hash) {
    static const uint32_t K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = (uint32_t)decode_u32((const char *)hash->block + 4 * i);
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, hash->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t first = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                         ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
        uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                          ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < 8; i++) hash->state[i] += s[i];
}

static void sha256_init(struct sha256 *hash) {
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, initial, sizeof initial);
    hash->length = 0;
}

static void sha256_update(struct sha256 *hash, const char *data, size_t length) {
    for (size_t i = 0; i < length; i++) {
        hash->block[hash->length++ % 64] = (unsigned char)data[i];
        if (hash->length % 64 == 0) sha256_block(hash);
    }
}

static void sha256_final(struct sha256 *hash, char digest[PROOF_BYTES]) {
    char bits[8];
    uint64_t bit_count = hash->length * 8;
    encode_u32(bits, (size_t)(bit_count >> 32));
    encode_u32(bits + 4, (size_t)(bit_count & 0xffffffff));
    sha256_update(hash, "\x80", 1);
    while (hash->length % 64 != 56) sha256_update(hash, "", 1);
    sha256_update(hash, bits, sizeof bits);
    for (int i = 0; i < 8; i++) encode_u32(digest + 4 * i, hash->state[i]);
}

/* HMAC (RFC 2104) of the nonce and the reply; the secret is exactly as long as a block. */
static void compute_proof(const char secret[SECRET_BYTES], size_t reply_length, char proof[PROOF_BYTES]) {
    char pad[SECRET_BYTES];
    struct sha256 hash;
    for (int i = 0; i < SECRET_BYTES; i++) pad[i] = (char)(secret[i] ^ 0x36);
    sha256_init(&hash);
    sha256_update(&hash, pad, sizeof pad);
    sha256_update(&hash, nonce, NONCE_BYTES);
    sha256_update(&hash, reply, reply_length);
    sha256_final(&hash, proof);
    for (int i = 0; i < SECRET_BYTES; i++) pad[i] = (char)(secret[i] ^ 0x5c);
    sha256_init(&hash);
    sha256_update(&hash, pad, sizeof pad);
    sha256_update(&hash, proof, PROOF_BYTES);
    sha256_final(&hash, proof);
}

/* Reads what the warm process wrote beside its socket before it listened; false where another user could have. */
static bool read_secret(const char *socket_path, char secret[SECRET_BYTES]) {
    char path[PATH_MAX];
    struct buffer buffer = {path, 0, sizeof path, false};
    struct stat status;
    append_text(&buffer, socket_path);
    while (buffer.length > 0 && path[buffer.length - 1] != '/') buffer.length--;
    append_field(&buffer, "daemon.secret");
    int fd = buffer.overflowed ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool is_valid = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                    (status.st_mode & 077) == 0 && status.st_size == SECRET_BYTES &&
                    read(fd, secret, SECRET_BYTES) == SECRET_BYTES;
    (void)close(fd);
    return is_valid;
}

static bool make_nonce(void) {
    static const char digits[] = "0123456789abcdef";
    unsigned char random[NONCE_BYTES / 2];
    if (getentropy(random, sizeof random) != 0) return false;
    for (size_t i = 0; i < sizeof random; i++) {
        nonce[2 * i] = digits[random[i] >> 4];
        nonce[2 * i + 1] = digits[random[i] & 15];
    }
    return true;
}

/* Whether the bytes after the reply prove that its sender knows the secret. */
static bool has_proof(const char *socket_path, size_t reply_length) {
    char secret[SECRET_BYTES], proof[PROOF_BYTES];
    unsigned char difference = 0;
    if (!read_secret(socket_path, secret)) return false;
    compute_proof(secret, reply_length, proof);
    for (size_t i = 0; i < PROOF_BYTES; i++) difference |= (unsigned char)(proof[i] ^ reply[reply_length + i]);
    return difference == 0;
}

/* ---- asking the warm process ---- */

/* Writes the path of its socket, like `get_run_directory` in daemon/client.py; false when there is none or it is too
 * long for an address. */
static bool find_socket(char *path, size_t size) {
    struct buffer buffer = {path, 0, size, false};
    const char *home = getenv("HOME"), *data_home = getenv("VERDIKT_HOME"), *xdg_home = getenv("XDG_DATA_HOME");
    bool uses_data_home = data_home != NULL && *data_home != '\0';
    bool uses_xdg_home = !uses_data_home && xdg_home != NULL && *xdg_home != '\0';
    const char *base = call.socket_path != NULL ? call.socket_path
                       : uses_data_home         ? data_home
                       : uses_xdg_home          ? xdg_home
                                                : home;
    if (base == NULL || *base != '/') return false;
    append_text(&buffer, base);
    if (call.socket_path == NULL) {
        append_text(&buffer, uses_data_home ? "" : uses_xdg_home ? "/verdikt" : "/.local/share/verdikt");
        append_text(&buffer, "/run/daemon.sock");
    }
    append_bytes(&buffer, "", 1);
    return !buffer.overflowed;
}

static bool is_peer_user(int fd, uid_t expected) {
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer && peer.uid == expected;
#else
    uid_t uid;
    gid_t gid;
    return getpeereid(fd, &uid, &gid) == 0 && uid == expected;
#endif
}

/* Connects to the owner of the socket's directory, if no other user could have put the socket there; -1 otherwise. */
static int connect_socket(char path[PATH_MAX]) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {CONNECT_MS / 1000, CONNECT_MS % 1000 * 1000}; /* for a queue that is full */
    struct stat directory;
    bool is_own = call.socket_path == NULL;
    char secret[SECRET_BYTES];
    if (!find_socket(address.sun_path, sizeof address.sun_path)) return -1;
    strcpy(path, address.sun_path);
    /* One that has written no secret is of an earlier version, or none of ours. */
    if (is_own && !read_secret(path, secret)) return -1;
    /* An operator's directory may be a symbolic link; with its slash at the end, lstat follows it. */
    char *end = strrchr(address.sun_path, '/') + (is_own ? 0 : 1), saved = *end;
    *end = '\0';
    if (lstat(address.sun_path, &directory) != 0 || !S_ISDIR(directory.st_mode)) return -1;
    if (is_own ? (directory.st_mode & 077) != 0 || directory.st_uid != geteuid() : (directory.st_mode & 022) != 0)
        return -1;
    *end = saved;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 && is_peer_user(fd, directory.st_uid))
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

static void receive_exactly(int fd, char *target, size_t length) {
    while (length > 0) {
        ssize_t count = read(fd, target, length);
        if (count == 0 || (count < 0 && !can_retry(fd, POLLIN)))
            fail_and_exit("the warm process ended before it had answered");
        if (count < 0) continue;
        target += count;
        length -= (size_t)count;
    }
}

/* Whether it is what our encoder writes: one object in ASCII on one line. Gemini CLI reads stdout and not the status,
 * so with status 2 the document must be a block as well; Codex accepts a block only with a reason on stderr. */
static bool is_decision(int status, const char *out, size_t length, size_t err_length) {
    static const char block[] = "{\"decision\":\"block\",\"reason\":\"";
    size_t prefix = sizeof block - 1;
    if (length < 3 || out[0] != '{' || out[length - 2] != '}' || out[length - 1] != '\n') return false;
    for (size_t i = 0; i < length - 1; i++)
        if (out[i] < ' ' || out[i] > '~') return false;
    if (status != 2) return status == 0;
    return err_length > 0 && length > prefix && memcmp(out, block, prefix) == 0 && out[prefix] != '"';
}

/* Reads the proof; false when the sender hung up instead. */
static bool receive_proof(int fd, char *target) {
    size_t missing = PROOF_BYTES;
    while (missing > 0) {
        ssize_t count = read(fd, target, missing);
        if (count == 0 || (count < 0 && !can_retry(fd, POLLIN))) return false;
        if (count < 0) continue;
        target += count;
        missing -= (size_t)count;
    }
    return true;
}

/* Returns when nothing was decided and another process may be asked. */
static void send_request(int fd, const char *path) {
    call.timeout_reason = "it did not receive its whole input in time";
    if (!call.input_was_read && !has_payload_argument()) read_payload();
    encode_u32(request + 8, payload_length);
    call.timeout_reason = "the warm process did not answer in time";
    /* A process that did not receive the whole request has decided nothing. */
    if (!write_all(fd, request, (size_t)(payload - request) + payload_length)) return;
    receive_exactly(fd, reply, REPLY_PREFIX_BYTES);
    if (reply[4] == 3 && get_patience() > 0) { /* the call waits for people, and the reply follows */
        unsigned spent_seconds = call.request_seconds - alarm(0);
        call.request_seconds = call.total_seconds;
        (void)alarm(call.total_seconds - spent_seconds);
        receive_exactly(fd, reply, REPLY_PREFIX_BYTES);
    }
    int kind = reply[4], status = reply[5];
    size_t out_length = decode_u32(reply + 6), err_length = decode_u32(reply + 10);
    if (memcmp(reply, "VDK1", 4) != 0 || out_length > MAX_STREAM_BYTES || err_length > MAX_STREAM_BYTES)
        fail_and_exit("it did not answer with one decision");
    if (kind == 1) return; /* it is of another version, or stops */
    if (kind != 0) fail_and_exit("the warm process refused to answer");
    const char *out = reply + REPLY_PREFIX_BYTES;
    receive_exactly(fd, reply + REPLY_PREFIX_BYTES, out_length + err_length);
    size_t reply_length = REPLY_PREFIX_BYTES + out_length + err_length;
    /* An operator's warm process is of another user, which the kernel vouches for and whose secret is not readable. */
    if (call.socket_path == NULL && !(receive_proof(fd, reply + reply_length) && has_proof(path, reply_length))) {
        record_failure("a program that is not the warm process answered at its socket");
        return;
    }
    if (!is_decision(status, out, out_length, err_length)) fail_and_exit("it did not answer with one decision");
    reply_and_exit(status, out, out_length, out + out_length, err_length);
}

/* Returns when nothing was decided. Connects only when there is input, so that the warm process need not wait for it,
 * and reads the input only when connected, so that a process that decides instead finds it on stdin. */
static void ask_daemon(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    char path[PATH_MAX];
    if (!make_nonce() || !encode_head()) return;
    while (!has_payload_argument() && poll(&input, 1, -1) < 0) continue;
    for (int remaining_ms = CONNECT_MS; remaining_ms > 0; remaining_ms -= RETRY_PAUSE_MS) {
        call.timeout_reason = "no process answers at its socket";
        int fd = connect_socket(path);
        if (fd >= 0) send_request(fd, path);
        if (fd >= 0) (void)close(fd);
        if (call.socket_path == NULL) return;
        (void)poll(NULL, 0, RETRY_PAUSE_MS);
    }
}

/* ---- letting the hook decide ---- */

/* Writes the input that was read to a new stdin, from a process that holds no other descriptor of ours: the host waits
 * until every process has closed our stdout. */
static void restore_stdin(void) {
    int ends[2];
    if (pipe(ends) != 0) fail_and_exit("it could not be started");
    pid_t writer = fork();
    if (writer < 0 || (writer > 0 && dup2(ends[0], STDIN_FILENO) < 0)) fail_and_exit("it could not be started");
    if (writer == 0) {
        for (int fd = 0; fd < 3; fd++) (void)close(fd);
        (void)close(ends[0]);
        _exit(write_all(ends[1], payload, payload_length) ? 0 : 1);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Execs guard.sh or, in the second form, the hook. */
_Noreturn static void exec_fallback(void) {
    static char path[PATH_MAX], seconds[24], isolated[] = "-I", module[] = "-m", entry[] = "verdikt.hosts.hook";
    static char *hook_argv[8] = {path, isolated, module, entry};
    unsigned guard_seconds = call.total_seconds < GUARD_SECONDS ? call.total_seconds : GUARD_SECONDS;
    unsigned spent_seconds = call.request_seconds - alarm(0);
    struct buffer remaining = {seconds, 0, sizeof seconds - 1, false};
    call.is_exiting = true; /* else a signal could make this process and the next one answer */
    if (call.socket_path != NULL) fail_and_exit("no process answers at its socket");
    /* Neither guard.sh nor this program searches PATH, where the project could put an interpreter of its own. */
    if (call.guard_argv != NULL && call.guard_argv[3][0] != '/') fail_and_exit("it could not be started");
    if (!find_sibling(path, sizeof path, call.guard_argv != NULL ? "guard.sh" : "python3"))
        fail_and_exit("it could not be started");
    if (call.guard_argv != NULL) {
        append_number(&remaining, guard_seconds > spent_seconds ? guard_seconds - spent_seconds : 1);
        call.guard_argv[0] = path;
        call.guard_argv[1] = seconds;
    }
    for (int i = 0; call.guard_argv == NULL && i < call.hook_argument_count; i++)
        hook_argv[4 + i] = call.hook_arguments[i];
    if (call.input_was_read) restore_stdin();
    /* The host may ignore it, and then guard.sh could not tell how the hook ended. */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)execve(path, call.guard_argv != NULL ? call.guard_argv : hook_argv, environ);
    fail_and_exit("it could not be started");
}

/* ---- the command line ---- */

/* The index of the hook's first argument, after the name of its module; 0 when the line names another program. */
static int find_hook_arguments(int count, char **arguments) {
    for (int i = 3; i < count; i++)
        if (strcmp(arguments[i], "verdikt.hosts.hook") == 0) return i + 1;
    return 0;
}

/* 0 when it is not a number. */
static unsigned parse_number(const char *text) {
    unsigned number = 0;
    for (; *text >= '0' && *text <= '9' && number < 100000; text++) number = number * 10 + (unsigned)(*text - '0');
    return *text == '\0' ? number : 0;
}

static void parse_arguments(int count, char **arguments) {
    call.total_seconds = DEFAULT_TOTAL_SECONDS;
    call.timeout_reason = "it did not receive its whole input in time";
    if (count > 2 && strcmp(arguments[1], "--socket") == 0) {
        call.socket_path = arguments[2];
        arguments += 2, count -= 2;
    }
    bool has_guard = count > 1 && arguments[1][0] >= '0' && arguments[1][0] <= '9';
    int program = has_guard ? 3 : 1;
    if (has_guard) {
        call.guard_argv = arguments;
        call.total_seconds = parse_number(arguments[1]);
        call.fails_open = count > 2 && strcmp(arguments[2], "open") == 0;
    }
    if (call.total_seconds == 0 || count <= program || arguments[program][0] == '\0' || arguments[program][0] == '-')
        fail_and_exit("it was called without a hook");
    if (call.socket_path != NULL && call.socket_path[0] != '/')
        fail_and_exit("it was called with a socket whose path is not absolute");
    call.request_seconds = call.total_seconds < REQUEST_SECONDS ? call.total_seconds : REQUEST_SECONDS;
    int first = has_guard ? find_hook_arguments(count, arguments) : program;
    if (first == 0 || (has_guard && count - first > 3)) return; /* not a hook call that we know: guard.sh runs it */
    if (count - first > 3) fail_and_exit("it was called without a hook");
    call.hook_arguments = arguments + first;
    call.hook_argument_count = count - first;
}

/* ---- signals and descriptors ---- */

/* Blocks all signals until the arguments are parsed: before that, a handler would not know whether to block. */
static void install_signal_handlers(void) {
    static const int handled[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGPIPE};
    struct sigaction action = {.sa_handler = handle_signal};
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) (void)sigaction(handled[i], &action, NULL);
}

/* Also signals that the host has blocked; some may be pending since before this program started. */
static void unblock_signals(void) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Opens closed standard descriptors, so that the socket does not get one of their numbers. */
static void reserve_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        /* Without a stdout the status alone can say it. */
        if (open("/dev/null", O_RDWR) != fd || fd == STDOUT_FILENO) _exit(call.fails_open ? 0 : 2);
    }
}

/* Whether the hook has to look at the warm process before it is asked; an operator's is of another user. */
static bool is_checked_event(void) {
    if (call.socket_path != NULL || call.hook_argument_count < 2) return false;
    for (size_t i = 0; i < sizeof CHECKED_EVENTS / sizeof *CHECKED_EVENTS; i++)
        if (strcmp(call.hook_arguments[1], CHECKED_EVENTS[i]) == 0) return true;
    return false;
}

/* The settings of a project may set variables for the hooks, and must not be able to send them to another data directory,
 * where nothing is accepted or anything is. The one that this program was installed in has the record of the wiring. */
static void pin_data_directory(void) {
    char path[PATH_MAX];
    struct stat status;
    if (!find_sibling(path, sizeof path, "../wiring.json")) return;
    char *end = strstr(path, "/hooks/../wiring.json");
    if (end == NULL || stat(path, &status) != 0) return;
    *end = '\0';
    (void)setenv("VERDIKT_HOME", path, 1);
}

#ifndef VERDIKT_HOOK_PARTS
int main(int count, char **arguments) {
    install_signal_handlers();
    parse_arguments(count, arguments);
    reserve_standard_descriptors();
    unblock_signals();
    pin_data_directory();
    (void)alarm(call.request_seconds);
    const char *setting = getenv("VERDIKT_DAEMON");
    bool is_off = setting != NULL && strcmp(setting, "off") == 0;
    if (call.hook_arguments != NULL && (call.socket_path != NULL || !is_off) && !is_checked_event()) ask_daemon();
    exec_fallback();
}
#endif
