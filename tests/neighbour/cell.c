/* What a server with redis-cell looks like to the module under test: another module that owns CL.THROTTLE.
 *
 *   CL.THROTTLE key max_burst count period [quantity]
 *
 * As redis-cell does, it keeps a theoretical arrival time in a string, in nanoseconds and decimal digits, lets the key
 * expire then, and has replicas and the append-only file repeat the call itself. Arguments are not checked.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct Ctx Ctx;
typedef struct String String;
typedef struct Reply Reply;
typedef int Handler(Ctx *, String **, int);

static int (*get_api)(const char *, void **);
static int (*SetModuleAttribs)(Ctx *, const char *, int, int);
static int (*CreateCommand)(Ctx *, const char *, Handler *, const char *, int, int, int);
static Reply *(*Call)(Ctx *, const char *, const char *, ...);
static const char *(*CallReplyStringPtr)(Reply *, size_t *);
static void (*FreeCallReply)(Reply *);
static int (*ReplyWithArray)(Ctx *, long);
static int (*ReplyWithLongLong)(Ctx *, long long);
static int (*ReplicateVerbatim)(Ctx *);
static int (*WrongArity)(Ctx *);
static const char *(*StringPtrLen)(const String *, size_t *);
/* Null on Redis 7.0. Valkey gives modules a clock of their own, which tests do not reach. */
static long long (*CachedMicroseconds)(void);

#define LOOK_UP(name) get_api("RedisModule_" #name, (void **)&name)
enum { OK = 0 };
static const int64_t SECOND = 1000000000;

static int64_t seconds_up(int64_t ns) { return ns / SECOND + (ns % SECOND > 0); }

static int throttle(Ctx *ctx, String **argv, int argc) {
    if (argc != 5 && argc != 6) return WrongArity(ctx);
    int64_t given[4] = {0, 0, 0, 1};
    for (int i = 2; i < argc; i++) given[i - 2] = atoll(StringPtrLen(argv[i], NULL));
    struct timespec clock;
    clock_gettime(CLOCK_REALTIME, &clock);
    int64_t now = CachedMicroseconds ? CachedMicroseconds() * 1000 : clock.tv_sec * SECOND + clock.tv_nsec;
    int64_t interval = given[2] * SECOND / given[1];
    int64_t all = interval * (given[0] + 1), increment = interval * given[3];

    int64_t arrival = now;
    Reply *stored = Call(ctx, "GET", "s", argv[1]);
    size_t len = 0;
    const char *digits = stored ? CallReplyStringPtr(stored, &len) : NULL;
    char text[24] = "";
    if (digits && len < sizeof text) {
        snprintf(text, sizeof text, "%.*s", (int)len, digits);
        arrival = atoll(text);
    }
    if (stored) FreeCallReply(stored);
    if (arrival < now) arrival = now;

    int64_t wait = arrival + increment - all - now;
    int limited = wait > 0;
    if (!limited) {
        arrival += increment;
        snprintf(text, sizeof text, "%lld", (long long)arrival);
        long long ms = (arrival - now) / 1000000;
        FreeCallReply(Call(ctx, "SET", "sccl", argv[1], text, "PX", ms > 0 ? ms : 1));
    }
    ReplyWithArray(ctx, 5);
    ReplyWithLongLong(ctx, limited);
    ReplyWithLongLong(ctx, given[0] + 1);
    ReplyWithLongLong(ctx, arrival - now < all ? (all - (arrival - now)) / interval : 0);
    ReplyWithLongLong(ctx, limited && increment <= all ? seconds_up(wait) : -1);
    ReplyWithLongLong(ctx, seconds_up(arrival - now));
    ReplicateVerbatim(ctx);
    return OK;
}

int RedisModule_OnLoad(Ctx *ctx, String **argv, int argc) {
    (void)argv, (void)argc;
    get_api = ((int (**)(const char *, void **))ctx)[0];
    LOOK_UP(SetModuleAttribs), LOOK_UP(CreateCommand), LOOK_UP(Call), LOOK_UP(CallReplyStringPtr);
    LOOK_UP(FreeCallReply), LOOK_UP(ReplyWithArray), LOOK_UP(ReplyWithLongLong), LOOK_UP(ReplicateVerbatim);
    LOOK_UP(WrongArity), LOOK_UP(StringPtrLen), LOOK_UP(CachedMicroseconds);
    SetModuleAttribs(ctx, "redis-cell", 1, 1);
    return CreateCommand(ctx, "cl.throttle", throttle, "write", 1, 1, 1) != OK;
}
