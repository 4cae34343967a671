/* The least that a WebSocket server can do for a load: it reads each frame and sends a reply of SIZE bytes.
 *
 *   cc -O2 -o echo echo.c
 *   ./echo SIZE
 *
 * Listens on a free port of 127.0.0.1, which is the first line of its output. Each text frame is unmasked, the id of
 * the request in it found, six digits, and answered with a reply under that id whose text has SIZE bytes and which is
 * copied and sent as a frame: no JSON is parsed, no method looked up, no chain read, and nothing is measured, limited
 * or logged. One thread, with epoll; the handshake is that of the clients of this folder, which do not check the
 * accepted key.
 */
#include "client.h"
#include <arpa/inet.h>

enum { LISTENED = 256, ID_DIGITS = 6, SERVER_EVENTS = 256 };

typedef struct {
    int socket, is_open; /* the handshake is done */
    uint8_t *received, *unsent;
    size_t received_size, received_room, unsent_size, unsent_room, unsent_done;
} Client;

static const char OPENING[] = "{\"jsonrpc\":\"2.0\",\"id\":", SWITCHING[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
static uint8_t *reply; /* a frame with an id to be replaced */
static size_t reply_size, id_place;
static int poller;

static void make_reply(size_t size) {
    static const char middle[] = ",\"result\":\"", end[] = "\"}";
    size_t least = strlen(OPENING) + ID_DIGITS + strlen(middle) + strlen(end), head;
    if (size < least) size = least;
    reply = malloc(size + 10);
    reply[0] = 0x80 | TEXT;
    head = size < 126 ? 2 : size < 65536 ? 4 : 10;
    reply[1] = size < 126 ? size : head == 4 ? 126 : 127;
    for (size_t byte = 2; byte < head; byte++) reply[byte] = (uint64_t)size >> (8 * (head - 1 - byte));
    reply_size = head + size;
    memset(reply + head, '0', size);
    memcpy(reply + head, OPENING, strlen(OPENING));
    id_place = head + strlen(OPENING);
    memcpy(reply + id_place + ID_DIGITS, middle, strlen(middle));
    memcpy(reply + reply_size - strlen(end), end, strlen(end));
}

static void watch(Client *client, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = client};
    epoll_ctl(poller, operation, client->socket, &event);
}

static uint8_t *more_room(uint8_t **bytes, size_t *room, size_t used, size_t more) {
    if (used + more > *room) {
        *room = 2 * (used + more);
        *bytes = realloc(*bytes, *room);
        if (!*bytes) fail("memory");
    }
    return *bytes + used;
}

static void put(Client *client, const void *bytes, size_t size) {
    memcpy(more_room(&client->unsent, &client->unsent_room, client->unsent_size, size), bytes, size);
    client->unsent_size += size;
}

static void end(Client *client) {
    close(client->socket);
    free(client->received);
    free(client->unsent);
    free(client);
}

/* Returns -1 if the client is gone. */
static int flush(Client *client) {
    while (client->unsent_done < client->unsent_size) {
        ssize_t sent = send(client->socket, client->unsent + client->unsent_done,
                            client->unsent_size - client->unsent_done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return -1;
        if (sent < 0) return watch(client, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT), 0;
        client->unsent_done += sent;
    }
    client->unsent_done = client->unsent_size = 0;
    return 0;
}

static void answer(Client *client, uint8_t *payload, size_t size, const uint8_t *mask) {
    for (size_t place = 0; place < size; place++) payload[place] ^= mask[place & 3];
    const uint8_t *id = memmem(payload, size, "\"id\":", 5);
    if (!id || id + 5 + ID_DIGITS > payload + size) return;
    memcpy(reply + id_place, id + 5, ID_DIGITS);
    put(client, reply, reply_size);
}

/* Returns the size of the first frame after answering it, 0 while it has not arrived. */
static size_t take_frame(Client *client, uint8_t *frame, size_t have) {
    if (have < 2) return 0;
    size_t head = head_size(frame[1] & 127), size = frame[1] & 127;
    if (have < head + 4) return 0;
    if (head > 2) size = 0;
    for (size_t byte = 2; byte < head; byte++) size = size << 8 | frame[byte];
    if (have < head + 4 + size) return 0;
    if ((frame[0] & 15) == TEXT) answer(client, frame + head + 4, size, frame + head);
    return head + 4 + size;
}

static size_t take_handshake(Client *client) {
    uint8_t *end = memmem(client->received, client->received_size, "\r\n\r\n", 4);
    if (!end) return 0;
    client->is_open = 1;
    put(client, SWITCHING, strlen(SWITCHING));
    return end + 4 - client->received;
}

/* Returns -1 once the client is gone. */
static int receive(Client *client) {
    uint8_t *target = more_room(&client->received, &client->received_room, client->received_size, RECEIVE_BYTES);
    ssize_t size = recv(client->socket, target, RECEIVE_BYTES, 0);
    if (size < 0 && errno == EAGAIN) return 0;
    if (size <= 0) return -1;
    client->received_size += size;
    size_t done = client->is_open ? 0 : take_handshake(client);
    for (size_t taken; client->is_open; done += taken)
        if (!(taken = take_frame(client, client->received + done, client->received_size - done))) break;
    memmove(client->received, client->received + done, client->received_size -= done);
    return client->unsent_size && !client->unsent_done ? flush(client) : 0;
}

static void accept_client(int listener) {
    int on = 1, accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (accepted < 0) return;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Client *client = calloc(1, sizeof *client);
    client->socket = accepted;
    watch(client, EPOLL_CTL_ADD, EPOLLIN);
}

static void serve(Client *client, uint32_t events) {
    if (events & EPOLLOUT) {
        if (flush(client)) return end(client);
        if (!client->unsent_size) watch(client, EPOLL_CTL_MOD, EPOLLIN);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && receive(client)) end(client);
}

static int listen_locally(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, LISTENED)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: echo SIZE\n");
        return 2;
    }
    make_reply(strtoul(arguments[1], NULL, 10));
    poller = epoll_create1(0);
    Client listening = {.socket = listen_locally()};
    watch(&listening, EPOLL_CTL_ADD, EPOLLIN);
    for (struct epoll_event events[SERVER_EVENTS];;) {
        int ready = epoll_wait(poller, events, SERVER_EVENTS, -1);
        for (int index = 0; index < ready; index++) {
            if (events[index].data.ptr == &listening) accept_client(listening.socket);
            else serve(events[index].data.ptr, events[index].events);
        }
    }
}
