/* Reads of LMDB that end with an error where a damaged page leads out of the map.
 *
 * LMDB follows the page numbers, places and flags of a page unchecked. A damaged one leads beyond the end of the
 * file (SIGBUS), to an address without a page, or to duplicates that no table has (SIGSEGV). The linker replaces
 * the calls of these functions by those below (`--wrap`, build.rs), which return MDB_CORRUPTED after such a fault.
 * Only frames of LMDB are left by the jump: its reads hold no lock and change nothing. A cursor that a fault keeps
 * from opening is memory lost, about 400 bytes.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#define MDB_CORRUPTED (-30796)

typedef struct MDB_val {
    size_t mv_size;
    void *mv_data;
} MDB_val;

/* LMDB's functions. They are undefined where the linker wraps nothing; then nothing calls the functions below. */
#define REAL __attribute__((weak)) extern int
REAL __real_mdb_get(void *txn, unsigned table, MDB_val *key, MDB_val *value);
REAL __real_mdb_cursor_open(void *txn, unsigned table, void **cursor);
REAL __real_mdb_cursor_get(void *cursor, MDB_val *key, MDB_val *value, int operation);
REAL __real_mdb_dbi_open(void *txn, const char *name, unsigned flags, unsigned *table);
REAL __real_mdb_stat(void *txn, unsigned table, void *stat);

/* Place to which a fault of this thread returns; NULL outside of the functions below. */
static __thread sigjmp_buf *volatile reading;

static struct sigaction before_segv, before_bus;

static void on_fault(int signal, siginfo_t *info, void *context) {
    sigjmp_buf *back = reading;
    (void)context;
    /* A signal that a process has sent is no fault. */
    int is_fault = info->si_code > 0;
    if (is_fault && back != NULL) {
        reading = NULL;
        siglongjmp(*back, 1);
    }
    /* The fault occurs again when this returns, and the handler before this one has it. */
    sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv, NULL);
    if (!is_fault)
        raise(signal);
}

static void install(void) {
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    /* SA_NODEFER: the jump need not restore the mask, which would be a system call for each read. */
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
}

void wsnode_store_catch_faults(void) {
    /* Once: a later handler may continue with this one, and must not be what this one continues with. */
    static pthread_once_t installed = PTHREAD_ONCE_INIT;
    pthread_once(&installed, install);
}

/* Read the first and the last byte: an entry may lie beyond the end of the file. */
static void touch(const MDB_val *found) {
    if (found != NULL && found->mv_size != 0) {
        const volatile char *bytes = found->mv_data;
        (void)bytes[0];
        (void)bytes[found->mv_size - 1];
    }
}

#define CATCHING(call, key, value)       \
    sigjmp_buf back;                     \
    int code;                            \
    if (sigsetjmp(back, 0) != 0)         \
        return MDB_CORRUPTED;            \
    reading = &back;                     \
    code = (call);                       \
    if (code == 0) {                     \
        touch(key);                      \
        touch(value);                    \
    }                                    \
    reading = NULL;                      \
    return code

int __wrap_mdb_get(void *txn, unsigned table, MDB_val *key, MDB_val *value) {
    CATCHING(__real_mdb_get(txn, table, key, value), NULL, value);
}

int __wrap_mdb_cursor_open(void *txn, unsigned table, void **cursor) {
    CATCHING(__real_mdb_cursor_open(txn, table, cursor), NULL, NULL);
}

int __wrap_mdb_cursor_get(void *cursor, MDB_val *key, MDB_val *value, int operation) {
    CATCHING(__real_mdb_cursor_get(cursor, key, value, operation), key, value);
}

int __wrap_mdb_dbi_open(void *txn, const char *name, unsigned flags, unsigned *table) {
    CATCHING(__real_mdb_dbi_open(txn, name, flags, table), NULL, NULL);
}

int __wrap_mdb_stat(void *txn, unsigned table, void *stat) {
    CATCHING(__real_mdb_stat(txn, table, stat), NULL, NULL);
}
