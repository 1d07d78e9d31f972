/* A second module for the tests, which shares a server with the one under test.
 *
 *   NEIGHBOUR.SET key            stores a value of a data type of its own
 *   NEIGHBOUR.CALL command ...   calls a command as one module calls another's, and relays the reply
 *
 * The few functions it needs of the module interface are looked up by name, as the interface's header would do, so
 * that no header has to be installed.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct Ctx Ctx;
typedef struct String String;
typedef struct Key Key;
typedef struct Reply Reply;
typedef struct Type Type;
typedef int Handler(Ctx *, String **, int);

/* The beginning of the interface's table of callbacks, version 1. */
typedef struct {
    uint64_t version;
    void *(*rdb_load)(void *, int);
    void (*rdb_save)(void *, void *);
    void (*aof_rewrite)(void *, String *, void *);
    size_t (*mem_usage)(const void *);
    void (*digest)(void *, void *);
    void (*free)(void *);
} Methods;

static int (*get_api)(const char *, void **);
static int (*SetModuleAttribs)(Ctx *, const char *, int, int);
static int (*CreateCommand)(Ctx *, const char *, Handler *, const char *, int, int, int);
static Type *(*CreateDataType)(Ctx *, const char *, int, Methods *);
static Key *(*OpenKey)(Ctx *, String *, int);
static void (*CloseKey)(Key *);
static int (*ModuleTypeSetValue)(Key *, Type *, void *);
static Reply *(*Call)(Ctx *, const char *, const char *, ...);
static int (*ReplyWithCallReply)(Ctx *, Reply *);
static int (*ReplyWithSimpleString)(Ctx *, const char *);
static int (*ReplyWithError)(Ctx *, const char *);
static int (*WrongArity)(Ctx *);
static const char *(*StringPtrLen)(const String *, size_t *);

#define LOOK_UP(name) get_api("RedisModule_" #name, (void **)&name)
enum { OK = 0, READ_AND_WRITE = 3 };

static Type *type;

static void *load(void *io, int version) {
    (void)io, (void)version;
    return malloc(1);
}

static void save(void *io, void *value) { (void)io, (void)value; }

static int set(Ctx *ctx, String **argv, int argc) {
    if (argc != 2) return WrongArity(ctx);
    Key *key = OpenKey(ctx, argv[1], READ_AND_WRITE);
    ModuleTypeSetValue(key, type, malloc(1));
    CloseKey(key);
    return ReplyWithSimpleString(ctx, "OK");
}

static int call(Ctx *ctx, String **argv, int argc) {
    if (argc < 2) return WrongArity(ctx);
    /* E: errors come back as replies; v: the remaining arguments. */
    Reply *reply = Call(ctx, StringPtrLen(argv[1], NULL), "Ev", argv + 2, (size_t)(argc - 2));
    return reply ? ReplyWithCallReply(ctx, reply) : ReplyWithError(ctx, "ERR no reply");
}

int RedisModule_OnLoad(Ctx *ctx, String **argv, int argc) {
    (void)argv, (void)argc;
    get_api = ((int (**)(const char *, void **))ctx)[0];
    LOOK_UP(SetModuleAttribs), LOOK_UP(CreateCommand), LOOK_UP(CreateDataType), LOOK_UP(OpenKey), LOOK_UP(CloseKey);
    LOOK_UP(ModuleTypeSetValue), LOOK_UP(Call), LOOK_UP(ReplyWithCallReply), LOOK_UP(ReplyWithSimpleString);
    LOOK_UP(ReplyWithError), LOOK_UP(WrongArity), LOOK_UP(StringPtrLen);
    static Methods methods = {.version = 1, .rdb_load = load, .rdb_save = save, .free = free};
    SetModuleAttribs(ctx, "neighbour", 1, 1);
    type = CreateDataType(ctx, "neighbour", 0, &methods);
    int bad = type == NULL;
    bad |= CreateCommand(ctx, "neighbour.set", set, "write", 1, 1, 1) != OK;
    bad |= CreateCommand(ctx, "neighbour.call", call, "write", 0, 0, 0) != OK;
    return bad;
}
