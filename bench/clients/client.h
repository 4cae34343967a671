/* What the clients of the benchmarks share: a WebSocket connection on a plain socket, and /proc.
 *
 * Frames are masked with one constant key, so that a node has its full work with them and the client has
 * none: what is sent often is masked once, beforehand.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 1, CLOSE = 8, PING = 9, PONG = 10, CONTROL_BYTES = 125, RECEIVE_BYTES = 1 << 18 };
static const uint8_t MASK[4] = {0x37, 0xfa, 0x21, 0x3d};

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* ---- frames ---- */

/* Appends a masked frame to `target`, which has room for `size` + 14 bytes; returns the frame's size. */
static size_t write_frame(uint8_t *target, int opcode, const char *payload, size_t size) {
    size_t used = 0;
    target[used++] = 0x80 | opcode;
    if (size < 126) {
        target[used++] = 0x80 | size;
    } else {
        int bytes = size < 65536 ? 2 : 8;
        target[used++] = 0x80 | (bytes == 2 ? 126 : 127);
        for (int byte = bytes - 1; byte >= 0; byte--) target[used++] = (uint64_t)size >> (8 * byte);
    }
    memcpy(target + used, MASK, sizeof MASK);
    used += sizeof MASK;
    for (size_t place = 0; place < size; place++) target[used + place] = payload[place] ^ MASK[place & 3];
    return used + size;
}

typedef struct {
    uint8_t head[10];
    int have, need; /* bytes of the head */
    uint64_t left;  /* bytes of the payload */
    char control[CONTROL_BYTES];
    int control_size;
} Parser;

/* What a connection does with what arrives; `end` after the last frame of a message. */
typedef struct {
    void (*part)(void *owner, const uint8_t *bytes, size_t size);
    void (*end)(void *owner);
    void (*ping)(void *owner, const char *payload, size_t size);
} Receiver;

static int head_size(uint8_t length) { return length == 126 ? 4 : length == 127 ? 10 : 2; }

static uint64_t payload_size(const Parser *parser) {
    uint64_t size = 0;
    if (parser->need == 2) return parser->head[1];
    for (int place = 2; place < parser->need; place++) size = size << 8 | parser->head[place];
    return size;
}

/* Returns -1 at a close frame. */
static int end_frame(Parser *parser, const Receiver *receiver, void *owner) {
    int opcode = parser->head[0] & 15, is_last = parser->head[0] >> 7;
    parser->have = 0;
    if (opcode == CLOSE) return -1;
    if (opcode == PING) receiver->ping(owner, parser->control, parser->control_size);
    if (opcode < CLOSE && is_last) receiver->end(owner);
    return 0;
}

static void take_payload(Parser *parser, const Receiver *receiver, void *owner, const uint8_t *bytes, size_t size) {
    if ((parser->head[0] & 15) < CLOSE) {
        receiver->part(owner, bytes, size);
    } else if (parser->control_size + size <= CONTROL_BYTES) {
        memcpy(parser->control + parser->control_size, bytes, size);
        parser->control_size += size;
    }
    parser->left -= size;
}

/* Feeds what was received; returns -1 once the node has said goodbye. */
static int feed(Parser *parser, const uint8_t *bytes, size_t size, const Receiver *receiver, void *owner) {
    while (size) {
        if (!parser->have) parser->need = 2;
        if (parser->have < parser->need) {
            parser->head[parser->have++] = *bytes++;
            size--;
            if (parser->have == 2) parser->need = head_size(parser->head[1]);
            if (parser->have < parser->need) continue;
            parser->left = payload_size(parser);
            parser->control_size = 0;
        }
        size_t taken = parser->left < size ? parser->left : size;
        take_payload(parser, receiver, owner, bytes, taken);
        bytes += taken;
        size -= taken;
        if (!parser->left && end_frame(parser, receiver, owner)) return -1;
    }
    return 0;
}

/* ---- connections ---- */

static void shake_hands(int connection, const char *host, const char *port, const char *path) {
    char text[2048];
    int size = snprintf(text, sizeof text,
                        "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
                        path, host, port);
    if (send(connection, text, size, 0) != size) fail("handshake");
    int got = 0;
    /* Byte by byte, so that nothing behind the handshake is taken. */
    while (got < (int)sizeof text - 1 && (got < 4 || memcmp(text + got - 4, "\r\n\r\n", 4))) {
        if (recv(connection, text + got, 1, 0) != 1) break;
        got++;
    }
    text[got] = 0;
    if (!strstr(text, " 101 ")) {
        fprintf(stderr, "no WebSocket: %.200s\n", got ? text : "no answer");
        exit(2);
    }
}

/* Returns a connection past its handshake that does not block; `receive_buffer` 0 is the system's own. */
static int dial(const char *host, const char *port, const char *path, int receive_buffer) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(host, port, &hints, &found)) fail(host);
    int connection = socket(found->ai_family, SOCK_STREAM, 0), on = 1;
    if (receive_buffer) setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    if (connect(connection, found->ai_addr, found->ai_addrlen)) fail("connect");
    freeaddrinfo(found);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    shake_hands(connection, host, port, path);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    return connection;
}

/* ---- processes ---- */

/* Returns the seconds that a process has computed, 0 of process 0. */
static double cpu_seconds(int process) {
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = process ? fopen(path, "r") : NULL;
    if (!file) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}
