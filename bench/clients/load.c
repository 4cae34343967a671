/* Load on a node over WebSocket: requests in flight on some connections, each reply timed by its id.
 *
 *   cc -O2 -o load load.c
 *   ./load HOST PORT PATH CONNECTIONS DEPTH SECONDS REQUESTS [PROCESS]
 *
 * REQUESTS is a file of request texts, one a line, sent in turn by all connections. The first id of each is
 * six digits that begin with 1 (`"id":100000`, `"id": ` with a space will not do); the other five are
 * replaced by the request's place among the DEPTH in flight, so that replies may come in any order. The id
 * is looked for at both ends of a reply. A connection asks again as soon as it is answered; the first tenth
 * of SECONDS is not counted. A node that is too slow to answer everything in flight twice gets more time, up
 * to four times as much. With PROCESS the CPU time of that process over the counted time is printed.
 * Prints one line of JSON; errors are counted and the first one goes to standard error.
 * Exit status: 0, 1 no reply, 2 no connection, 3 the node ended one.
 */
#include "client.h"
#include <sys/resource.h>

enum { EDGE = 128, ID_DIGITS = 5, EVENTS = 256 };

typedef struct {
    uint8_t *frame;
    size_t size, id_place;
    uint8_t id_mask[ID_DIGITS];
} Request;

typedef struct {
    int socket;
    Parser parser;
    uint8_t *unsent;
    size_t unsent_size, unsent_room, unsent_done;
    double *asked; /* by place */
    char head[EDGE], tail[EDGE];
    size_t message_size, tail_size;
} Connection;

static const double WARM_UP = 0.1, MAX_FACTOR = 4;
static Request *requests;
static size_t request_count, next_request;
static int depth, is_counting, poller;
static double arrival;
static struct {
    uint32_t *microseconds;
    size_t count, room;
    uint64_t bytes, errors, lost;
} replies;

/* ---- requests ---- */

static void read_request(const char *line, size_t size) {
    const char *id = strstr(line, "\"id\":1");
    if (!id) {
        fprintf(stderr, "no \"id\":1 in %s\n", line);
        exit(2);
    }
    requests = realloc(requests, (request_count + 1) * sizeof *requests);
    Request *request = &requests[request_count++];
    request->frame = malloc(size + 14);
    request->size = write_frame(request->frame, TEXT, line, size);
    size_t place = id - line + strlen("\"id\":1");
    request->id_place = request->size - size + place;
    for (int digit = 0; digit < ID_DIGITS; digit++) request->id_mask[digit] = MASK[(place + digit) & 3];
}

static void read_requests(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    if (!file) fail(path);
    while ((size = getline(&line, &room, file)) > 0) {
        if (line[size - 1] == '\n') line[--size] = 0;
        if (size) read_request(line, size);
    }
    fclose(file);
    if (!request_count) fail("no requests");
}

static void append(Connection *connection, const uint8_t *bytes, size_t size) {
    if (connection->unsent_size + size > connection->unsent_room) {
        connection->unsent_room = (connection->unsent_size + size) * 2;
        connection->unsent = realloc(connection->unsent, connection->unsent_room);
        if (!connection->unsent) fail("memory");
    }
    memcpy(connection->unsent + connection->unsent_size, bytes, size);
    connection->unsent_size += size;
}

static void ask(Connection *connection, int place) {
    Request *request = &requests[next_request++ % request_count];
    for (int digit = ID_DIGITS - 1, rest = place; digit >= 0; digit--, rest /= 10)
        request->frame[request->id_place + digit] = ('0' + rest % 10) ^ request->id_mask[digit];
    append(connection, request->frame, request->size);
    connection->asked[place] = now();
}

static void watch(Connection *connection, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(poller, operation, connection->socket, &event);
}

static void flush(Connection *connection) {
    while (connection->unsent_done < connection->unsent_size) {
        ssize_t sent = send(connection->socket, connection->unsent + connection->unsent_done,
                            connection->unsent_size - connection->unsent_done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) return watch(connection, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
        if (sent < 0) fail("send");
        connection->unsent_done += sent;
    }
    connection->unsent_done = connection->unsent_size = 0;
}

/* ---- replies ---- */

/* Returns the place that the id in `text` names, -1 where there is none. */
static int place_in(const char *text, size_t size) {
    const char *id = memmem(text, size, "\"id\":", 5), *end = text + size;
    if (!id) return -1;
    for (id += 5; id < end && *id == ' ';) id++;
    if (id + 1 + ID_DIGITS > end || *id++ != '1') return -1;
    int place = 0;
    for (int digit = 0; digit < ID_DIGITS; digit++) {
        if (id[digit] < '0' || id[digit] > '9') return -1;
        place = place * 10 + id[digit] - '0';
    }
    return place < depth ? place : -1;
}

static void count(const Connection *connection, double seconds, size_t head_size) {
    if (replies.count == replies.room) {
        replies.room = replies.room ? replies.room * 2 : 1 << 20;
        replies.microseconds = realloc(replies.microseconds, replies.room * sizeof *replies.microseconds);
        if (!replies.microseconds) fail("memory");
    }
    replies.microseconds[replies.count++] = (uint32_t)(seconds * 1e6);
    replies.bytes += connection->message_size;
    if (memmem(connection->head, head_size, "\"error\":{", 9) && !replies.errors++)
        fprintf(stderr, "%.*s\n", (int)head_size, connection->head);
}

static void reply_part(void *owner, const uint8_t *bytes, size_t size) {
    Connection *connection = owner;
    if (connection->message_size < EDGE) {
        size_t room = EDGE - connection->message_size;
        memcpy(connection->head + connection->message_size, bytes, size < room ? size : room);
    }
    connection->message_size += size;
    if (size > EDGE) bytes += size - EDGE, size = EDGE;
    size_t kept = connection->tail_size + size > EDGE ? EDGE - size : connection->tail_size;
    memmove(connection->tail, connection->tail + connection->tail_size - kept, kept);
    memcpy(connection->tail + kept, bytes, size);
    connection->tail_size = kept + size;
}

static void reply_end(void *owner) {
    Connection *connection = owner;
    size_t head_size = connection->message_size < EDGE ? connection->message_size : EDGE;
    int place = place_in(connection->head, head_size);
    if (place < 0) place = place_in(connection->tail, connection->tail_size);
    if (place < 0 && !replies.lost++) fprintf(stderr, "no id: %.*s\n", (int)head_size, connection->head);
    if (place >= 0) {
        if (is_counting) count(connection, arrival - connection->asked[place], head_size);
        ask(connection, place);
    }
    connection->message_size = connection->tail_size = 0;
}

static void answer_ping(void *owner, const char *payload, size_t size) {
    uint8_t frame[CONTROL_BYTES + 14];
    append(owner, frame, write_frame(frame, PONG, payload, size));
}

static const Receiver RECEIVER = {reply_part, reply_end, answer_ping};

static void receive(Connection *connection) {
    static uint8_t buffer[RECEIVE_BYTES];
    ssize_t size = recv(connection->socket, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EAGAIN) return;
    arrival = now();
    if (size <= 0 || feed(&connection->parser, buffer, size, &RECEIVER, connection)) {
        fprintf(stderr, "the node ended a connection\n");
        exit(3);
    }
    if (connection->unsent_size && !connection->unsent_done) flush(connection);
}

/* ---- the run ---- */

static double own_cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void serve_event(const struct epoll_event *event) {
    Connection *connection = event->data.ptr;
    if (event->events & EPOLLOUT) {
        flush(connection);
        if (!connection->unsent_size) watch(connection, EPOLL_CTL_MOD, EPOLLIN);
    }
    if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(connection);
}

static void run_for(double seconds) {
    struct epoll_event events[EVENTS];
    for (double end = now() + seconds; now() < end;) {
        int ready = epoll_wait(poller, events, EVENTS, 50);
        for (int index = 0; index < ready; index++) serve_event(&events[index]);
    }
}

static int by_size(const void *first, const void *second) {
    uint32_t one = *(const uint32_t *)first, other = *(const uint32_t *)second;
    return (one > other) - (one < other);
}

static int report(double seconds, double node_cpu, double own_cpu) {
    size_t counted = replies.count;
    if (!counted) {
        fprintf(stderr, "no reply in %.1f s\n", seconds);
        return 1;
    }
    qsort(replies.microseconds, counted, sizeof *replies.microseconds, by_size);
    printf("{\"replies\":%zu,\"seconds\":%.4f,\"p50\":%.4f,\"p99\":%.4f,\"node_cpu\":%.4f,\"client_cpu\":%.4f,"
           "\"bytes\":%lu,\"errors\":%lu,\"lost\":%lu}\n",
           counted, seconds, replies.microseconds[counted / 2] / 1e3,
           replies.microseconds[(size_t)(counted * 0.99)] / 1e3, node_cpu, own_cpu, replies.bytes, replies.errors,
           replies.lost);
    return 0;
}

int main(int argument_count, char **arguments) {
    if (argument_count < 8) {
        fprintf(stderr, "usage: load HOST PORT PATH CONNECTIONS DEPTH SECONDS REQUESTS [PROCESS]\n");
        return 2;
    }
    int connections = atoi(arguments[4]), process = argument_count > 8 ? atoi(arguments[8]) : 0;
    double seconds = atof(arguments[6]);
    depth = atoi(arguments[5]);
    read_requests(arguments[7]);
    poller = epoll_create1(0);
    Connection *all = calloc(connections, sizeof *all);
    for (Connection *connection = all; connection < all + connections; connection++) {
        connection->socket = dial(arguments[1], arguments[2], arguments[3], 0);
        connection->asked = calloc(depth, sizeof *connection->asked);
        watch(connection, EPOLL_CTL_ADD, EPOLLIN);
    }
    for (Connection *connection = all; connection < all + connections; connection++) {
        for (int place = 0; place < depth; place++) ask(connection, place);
        flush(connection);
    }
    run_for(seconds * WARM_UP);
    double begin = now(), node_before = cpu_seconds(process), own_before = own_cpu_seconds();
    is_counting = 1;
    run_for(seconds * (1 - WARM_UP));
    while (replies.count < 2 * (size_t)(connections * depth) && now() - begin < seconds * MAX_FACTOR) run_for(0.1);
    double counted = now() - begin, node_cpu = cpu_seconds(process) - node_before;
    return report(counted, node_cpu, own_cpu_seconds() - own_before);
}
