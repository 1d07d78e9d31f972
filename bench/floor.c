/* The floor: the least a module command can cost. FLOOR.FIVE takes a limiter's arguments, looks at none of
 * them and replies five integers, with the flags and the key spec of the limiters.
 *
 * FLOOR.COUNT steers callgrind from inside the server, so that exactly the requests between two of its calls
 * are counted. Outside callgrind it does nothing. */
#include "redismodule.h"
#include <string.h>
#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define HAVE_CALLGRIND 1
#endif
#endif

static int five(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    RedisModule_ReplyWithArray(ctx, 5);
    RedisModule_ReplyWithLongLong(ctx, 1);
    RedisModule_ReplyWithLongLong(ctx, 100);
    RedisModule_ReplyWithLongLong(ctx, 99);
    RedisModule_ReplyWithLongLong(ctx, 0);
    RedisModule_ReplyWithLongLong(ctx, 1000);
    return REDISMODULE_OK;
}

static int count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
#ifdef HAVE_CALLGRIND
    const char *what = RedisModule_StringPtrLen(argv[1], NULL);
    if (!strcmp(what, "ON")) {
        CALLGRIND_START_INSTRUMENTATION;
    } else if (!strcmp(what, "ZERO")) {
        CALLGRIND_ZERO_STATS;
    } else if (!strcmp(what, "DUMP")) {
        CALLGRIND_DUMP_STATS;
    } else if (!strcmp(what, "OFF")) {
        CALLGRIND_STOP_INSTRUMENTATION;
    } else {
        return RedisModule_ReplyWithError(ctx, "ERR expected ON, ZERO, DUMP or OFF");
    }
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
#else
    (void)argv;
    return RedisModule_ReplyWithError(ctx, "ERR built without valgrind/callgrind.h");
#endif
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    if (RedisModule_Init(ctx, "floor", 1, REDISMODULE_APIVER_1) == REDISMODULE_ERR) return REDISMODULE_ERR;
    if (RedisModule_CreateCommand(ctx, "floor.five", five, "write deny-oom fast", 1, 1, 1) == REDISMODULE_ERR)
        return REDISMODULE_ERR;
    return RedisModule_CreateCommand(ctx, "floor.count", count, "admin", 0, 0, 0);
}
