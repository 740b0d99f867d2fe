/* A stand-in for libnvidia-ml.so.1 on machines without a GPU: as many GPUs as FAKE_GPUS says, all idle.
 * FAKE_LOST: index of one that fell off the bus; FAKE_PID: a process that computes on GPU 0; FAKE_HANG: never answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
typedef int R;
typedef void *D; /* index + 1 */
struct use { unsigned gpu, memory; };
struct memory { unsigned long long size, free, used; };
struct process { unsigned pid; unsigned long long used; unsigned a, b; };
static int number(const char *name, int otherwise) { const char *v = getenv(name); return v ? atoi(v) : otherwise; }
static int index_of(D d) { return (int)((long)d - 1); }
static R lost(D d) { return number("FAKE_LOST", -1) == index_of(d) ? 15 : 0; }
R nvmlInit_v2(void) { while (getenv("FAKE_HANG")) pause(); return 0; }
R nvmlShutdown(void) { return 0; }
R nvmlDeviceGetCount_v2(unsigned *n) { *n = (unsigned)number("FAKE_GPUS", 2); return 0; }
R nvmlDeviceGetHandleByIndex_v2(unsigned i, D *d) { *d = (D)(long)(i + 1); return 0; }
R nvmlDeviceGetName(D d, char *s, unsigned n) { if (lost(d)) return 15; snprintf(s, n, "Stand-in"); return 0; }
R nvmlDeviceGetUUID(D d, char *s, unsigned n) { snprintf(s, n, "GPU-%d", index_of(d)); return 0; }
R nvmlDeviceGetUtilizationRates(D d, struct use *u) { if (lost(d)) return 15; u->gpu = u->memory = 0; return 0; }
R nvmlDeviceGetMemoryInfo(D d, struct memory *m) {
    if (lost(d)) return 15;
    m->size = 80ull << 30; m->used = 11ull << 20; m->free = m->size - m->used;
    return 0;
}
R nvmlDeviceGetComputeRunningProcesses_v3(D d, unsigned *n, struct process *p) {
    int pid = index_of(d) == 0 ? number("FAKE_PID", 0) : 0;
    *n = pid ? 1 : 0;
    if (pid) { p[0].pid = (unsigned)pid; p[0].used = 1ull << 30; }
    return 0;
}
