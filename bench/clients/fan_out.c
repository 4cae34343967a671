/* How soon every subscriber has what a block brings.
 *
 *   cc -O2 -o fan_out fan_out.c
 *   ./fan_out HOST PORT[,PORT...] PATH SUBSCRIBERS BLOCKS EXPECTED SUBSCRIBE TRIGGER PAUSE_MS STALLED [PROCESS]
 *
 * Opens SUBSCRIBERS connections that send SUBSCRIBE, and one more that sends TRIGGER once for each of BLOCKS
 * blocks: a transaction which the node mines at once, and of which each subscriber gets EXPECTED notifications.
 * The lag of a subscriber is the time from sending the trigger to its last notification of the block; the lag
 * of a block is that of its last subscriber. STALLED further connections subscribe and read nothing until all
 * blocks are through; what they then find, notices of a gap among it, is counted.
 * With several ports the trigger goes to the first one, and the subscribers to the others in turn.
 * With PROCESS its CPU time and memory (MiB) are printed. Prints one line of JSON.
 * Exit status: 0, 2 no connection, 3 not all could subscribe.
 */
#include "client.h"

enum { HEAD = 256, PORTS = 64, EVENTS = 256, STALLED_BUFFER = 4096 };
static const double SUBSCRIBING_SECONDS = 60, BLOCK_SECONDS = 15, DRAINING_SECONDS = 5;

typedef struct {
    int socket, has_ended;
    Parser parser;
    char head[HEAD];
    size_t message_size;
    long notifications, goal, notices, replies;
    double last;
} Subscriber;

static int poller;
static long waiting; /* subscribers that miss something of this block */
static uint64_t all_notifications, all_bytes;
static double arrival;

/* ---- messages ---- */

static void message_part(void *owner, const uint8_t *bytes, size_t size) {
    Subscriber *subscriber = owner;
    if (subscriber->message_size < HEAD) {
        size_t room = HEAD - subscriber->message_size;
        memcpy(subscriber->head + subscriber->message_size, bytes, size < room ? size : room);
    }
    subscriber->message_size += size;
}

static void message_end(void *owner) {
    Subscriber *subscriber = owner;
    size_t size = subscriber->message_size < HEAD ? subscriber->message_size : HEAD;
    int is_error = memmem(subscriber->head, size, "\"error\":{", 9) != NULL;
    if (!memmem(subscriber->head, size, "_subscription\"", 14)) {
        subscriber->replies++;
        if (is_error) fprintf(stderr, "%.*s\n", (int)size, subscriber->head);
    } else if (is_error) {
        subscriber->notices++;
    } else {
        all_notifications++;
        all_bytes += subscriber->message_size;
        subscriber->last = arrival;
        if (++subscriber->notifications == subscriber->goal) waiting--;
    }
    subscriber->message_size = 0;
}

static void say(Subscriber *subscriber, int opcode, const char *text, size_t size) {
    uint8_t *frame = malloc(size + 14);
    size_t left = write_frame(frame, opcode, text, size);
    for (uint8_t *next = frame; left;) {
        ssize_t sent = send(subscriber->socket, next, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) break;
        if (sent > 0) next += sent, left -= sent;
    }
    free(frame);
}

static void answer_ping(void *owner, const char *payload, size_t size) { say(owner, PONG, payload, size); }

static const Receiver RECEIVER = {message_part, message_end, answer_ping};

/* ---- connections ---- */

typedef struct {
    const char *host, *port, *path;
} Place;

static void begin(Subscriber *subscriber, Place place, int receive_buffer, const char *subscribe) {
    subscriber->socket = dial(place.host, place.port, place.path, receive_buffer);
    if (subscribe) say(subscriber, TEXT, subscribe, strlen(subscribe));
}

static void watch(Subscriber *subscriber) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = subscriber};
    epoll_ctl(poller, EPOLL_CTL_ADD, subscriber->socket, &event);
}

static void end(Subscriber *subscriber) {
    if (subscriber->notifications < subscriber->goal) waiting--;
    subscriber->has_ended = 1;
    epoll_ctl(poller, EPOLL_CTL_DEL, subscriber->socket, NULL);
}

static void receive(Subscriber *subscriber) {
    static uint8_t buffer[RECEIVE_BYTES];
    ssize_t size = recv(subscriber->socket, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EAGAIN) return;
    arrival = now();
    if (size <= 0 || feed(&subscriber->parser, buffer, size, &RECEIVER, subscriber)) end(subscriber);
}

static void pump(int milliseconds) {
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(poller, events, EVENTS, milliseconds);
    for (int index = 0; index < ready; index++) receive(events[index].data.ptr);
}

static void pump_for(double seconds) {
    for (double until = now() + seconds; now() < until;) pump(5);
}

static int count_subscribed(const Subscriber *all, int count) {
    int subscribed = 0;
    for (int index = 0; index < count; index++) subscribed += all[index].replies > 0;
    return subscribed;
}

/* ---- the run ---- */

typedef struct {
    Place triggered, subscribed[PORTS];
    int places;
    const char *subscribe, *trigger;
    int count, blocks, expected, stalled_count, process;
    double pause;
    Subscriber *all, *stalled, asker;
} Run;

typedef struct {
    double *lags, *last; /* seconds: of each subscriber and block, of each block */
    size_t lag_count;
    long missing, late_blocks;
    double busy, cpu, memory_before, memory_subscribed, memory_peak;
} Outcome;

static double resident(int process) {
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", process);
    FILE *file = process ? fopen(path, "r") : NULL;
    if (!file) return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void find_places(Run *run, const char *host, char *ports, const char *path) {
    run->triggered = (Place){host, strtok(ports, ","), path};
    for (char *port; run->places < PORTS && (port = strtok(NULL, ","));)
        run->subscribed[run->places++] = (Place){host, port, path};
    if (!run->places) run->subscribed[run->places++] = run->triggered;
}

static void subscribe_all(Run *run) {
    for (int index = 0; index < run->count; index++) {
        begin(&run->all[index], run->subscribed[index % run->places], 0, run->subscribe);
        watch(&run->all[index]);
    }
    begin(&run->asker, run->triggered, 0, NULL);
    watch(&run->asker);
    for (double until = now() + SUBSCRIBING_SECONDS; count_subscribed(run->all, run->count) < run->count;) {
        if (now() > until) {
            fprintf(stderr, "only %d of %d subscribed\n", count_subscribed(run->all, run->count), run->count);
            exit(3);
        }
        pump(50);
    }
    for (int index = 0; index < run->stalled_count; index++)
        begin(&run->stalled[index], run->subscribed[0], STALLED_BUFFER, run->subscribe);
    pump_for(0.5);
}

static double make_block(Run *run) {
    long replies = run->asker.replies;
    waiting = 0;
    for (int index = 0; index < run->count; index++) {
        run->all[index].goal = run->all[index].notifications + run->expected;
        waiting += !run->all[index].has_ended;
    }
    double began = now();
    say(&run->asker, TEXT, run->trigger, strlen(run->trigger));
    while ((waiting > 0 || run->asker.replies == replies) && now() - began < BLOCK_SECONDS) pump(20);
    return began;
}

static void take_lags(const Run *run, double began, int block, Outcome *outcome) {
    long missing = 0;
    double worst = 0;
    for (const Subscriber *each = run->all; each < run->all + run->count; each++) {
        if (each->has_ended) continue;
        if (each->notifications < each->goal) {
            missing += each->goal - each->notifications;
            continue;
        }
        double lag = each->last - began;
        outcome->lags[outcome->lag_count++] = lag;
        if (lag > worst) worst = lag;
    }
    outcome->missing += missing;
    outcome->late_blocks += missing > 0;
    outcome->last[block] = missing ? BLOCK_SECONDS : worst;
}

static void run_blocks(Run *run, Outcome *outcome) {
    outcome->memory_subscribed = outcome->memory_peak = resident(run->process);
    double before = cpu_seconds(run->process);
    for (int block = 0; block < run->blocks; block++) {
        double began = make_block(run), memory = resident(run->process);
        outcome->busy += now() - began;
        take_lags(run, began, block, outcome);
        if (memory > outcome->memory_peak) outcome->memory_peak = memory;
        pump_for(run->pause);
    }
    outcome->cpu = cpu_seconds(run->process) - before;
}

/* ---- the report ---- */

static int by_size(const void *first, const void *second) {
    double one = *(const double *)first, other = *(const double *)second;
    return (one > other) - (one < other);
}

static double percentile(const double *ordered, size_t count, double part) {
    return count ? ordered[(size_t)((count - 1) * part + 0.5)] * 1000 : 0;
}

static void report(Run *run, Outcome *outcome) {
    long ended = 0, notices = 0;
    for (int index = 0; index < run->count; index++) {
        ended += run->all[index].has_ended;
        notices += run->all[index].notices;
    }
    qsort(outcome->lags, outcome->lag_count, sizeof(double), by_size);
    qsort(outcome->last, run->blocks, sizeof(double), by_size);
    printf("{\"lag_p50\":%.3f,\"lag_p99\":%.3f,\"last_p50\":%.3f,\"last_p99\":%.3f,\"notifications\":%lu,"
           "\"bytes\":%lu,\"missing\":%ld,\"late_blocks\":%ld,\"ended\":%ld,\"notices\":%ld,\"busy\":%.4f,"
           "\"node_cpu\":%.3f,\"memory_before\":%.1f,\"memory_subscribed\":%.1f,\"memory_peak\":%.1f",
           percentile(outcome->lags, outcome->lag_count, 0.5), percentile(outcome->lags, outcome->lag_count, 0.99),
           percentile(outcome->last, run->blocks, 0.5), percentile(outcome->last, run->blocks, 0.99),
           all_notifications, all_bytes, outcome->missing, outcome->late_blocks, ended, notices, outcome->busy,
           outcome->cpu, outcome->memory_before, outcome->memory_subscribed, outcome->memory_peak);
}

/* Lets the stalled ones read at last, and tells what they find. */
static void report_stalled(Run *run) {
    long notifications = 0, notices = 0, ended = 0;
    for (int index = 0; index < run->stalled_count; index++) watch(&run->stalled[index]);
    if (run->stalled_count) pump_for(DRAINING_SECONDS);
    for (int index = 0; index < run->stalled_count; index++) {
        notifications += run->stalled[index].notifications;
        notices += run->stalled[index].notices;
        ended += run->stalled[index].has_ended;
    }
    printf(",\"stalled_notifications\":%ld,\"stalled_notices\":%ld,\"stalled_ended\":%ld}\n", notifications, notices,
           ended);
}

int main(int argument_count, char **arguments) {
    if (argument_count < 11) {
        fprintf(stderr, "usage: fan_out HOST PORT[,PORT...] PATH SUBSCRIBERS BLOCKS EXPECTED SUBSCRIBE TRIGGER PAUSE_MS STALLED "
                        "[PROCESS]\n");
        return 2;
    }
    Run run = {.count = atoi(arguments[4]),
               .blocks = atoi(arguments[5]),
               .expected = atoi(arguments[6]),
               .subscribe = arguments[7],
               .trigger = arguments[8],
               .pause = atof(arguments[9]) / 1000,
               .stalled_count = atoi(arguments[10]),
               .process = argument_count > 11 ? atoi(arguments[11]) : 0};
    find_places(&run, arguments[1], arguments[2], arguments[3]);
    run.all = calloc(run.count, sizeof *run.all);
    run.stalled = calloc(run.stalled_count + 1, sizeof *run.stalled);
    Outcome outcome = {.lags = calloc((size_t)run.count * run.blocks, sizeof(double)),
                       .last = calloc(run.blocks, sizeof(double)),
                       .memory_before = resident(run.process)};
    poller = epoll_create1(0);
    subscribe_all(&run);
    run_blocks(&run, &outcome);
    report(&run, &outcome);
    report_stalled(&run);
    return 0;
}
