// SPDX-License-Identifier: BSD-3-Clause
/* An LD_AUDIT library that hides AVX-512, AVX-VNNI and AMX, or AMX alone, from chosen shared objects.
 *
 * Libraries ask the processor itself, with the cpuid instruction, which no environment variable changes. When one of
 * the objects named in the file $MASK_CPUID is mapped, and before any of its code runs, each of its cpuid instructions
 * (0F A2) becomes ud2 (0F 0B, as long). The SIGILL handler then executes cpuid in its place, clears the bits and goes
 * on behind it. Lines of that file: <file name> <hexadecimal address in the object>. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { max_sites = 4096 };
static struct {
    char object[128];
    uintptr_t offset, address; /* address: 0 until the object is mapped */
} sites[max_sites];
static int site_count;
static int tiles_alone;

static uint32_t bit(int i) { return (uint32_t)1 << i; }

/* What a processor without AMX answers; with AVX2 and FMA, and nothing wider. */
static void mask(uint32_t leaf, uint32_t subleaf, uint32_t* a, uint32_t* b, uint32_t* c, uint32_t* d) {
    if (leaf == 7 && subleaf == 0) *d &= ~(bit(22) | bit(24) | bit(25)); /* AMX */
    if (leaf == 7 && subleaf == 1) {
        *a &= ~bit(21); /* AMX-FP16 */
        *d &= ~bit(8);  /* AMX-COMPLEX */
    }
    if (tiles_alone) return;
    if (leaf == 7 && subleaf == 0) {
        *b &= ~(bit(16) | bit(17) | bit(21) | bit(26) | bit(27) | bit(28) | bit(30) | bit(31)); /* AVX-512 */
        *c &= ~(bit(1) | bit(6) | bit(8) | bit(11) | bit(12) | bit(14)); /* its VBMI VNNI BITALG VPOPCNTDQ, GFNI */
        *d &= ~(bit(2) | bit(3) | bit(8) | bit(23));                     /* its 4VNNIW 4FMAPS VP2INTERSECT FP16 */
    }
    if (leaf == 7 && subleaf == 1) {
        *a &= ~(bit(4) | bit(23));          /* AVX-VNNI AVX-IFMA */
        *a &= ~bit(5);                      /* AVX512-BF16 */
        *d &= ~(bit(4) | bit(5) | bit(10)); /* AVX-VNNI-INT8 AVX-NE-CONVERT AVX-VNNI-INT16 */
        *d &= ~bit(19);                     /* AVX10 */
    }
}

static void on_illegal_instruction(int signal_number, siginfo_t* info, void* context) {
    (void)info;
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    const uintptr_t at = (uintptr_t)registers[REG_RIP];
    for (int i = 0; i != site_count; ++i) {
        if (sites[i].address != at) continue;
        const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
        uint32_t a, b, c, d;
        __cpuid_count(leaf, subleaf, a, b, c, d);
        mask(leaf, subleaf, &a, &b, &c, &d);
        registers[REG_RAX] = a;
        registers[REG_RBX] = b;
        registers[REG_RCX] = c;
        registers[REG_RDX] = d;
        registers[REG_RIP] += 2;
        return;
    }
    signal(signal_number, SIG_DFL); /* someone else's: it faults again */
}

unsigned int la_version(unsigned int version) {
    const char* path = getenv("MASK_CPUID");
    tiles_alone = getenv("MASK_CPUID_TILES") != NULL;
    FILE* file = path == NULL ? NULL : fopen(path, "r");
    if (file == NULL) return version;
    unsigned long offset;
    while (site_count != max_sites && fscanf(file, "%127s %lx", sites[site_count].object, &offset) == 2)
        sites[site_count++].offset = offset;
    fclose(file);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, NULL);
    return version;
}

unsigned int la_objopen(struct link_map* map, Lmid_t namespace, uintptr_t* cookie) {
    (void)namespace;
    (void)cookie;
    const char* slash = strrchr(map->l_name, '/');
    const char* name = slash == NULL ? map->l_name : slash + 1;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i != site_count; ++i) {
        if (strcmp(name, sites[i].object) != 0) continue;
        unsigned char* const code = (unsigned char*)(map->l_addr + sites[i].offset);
        unsigned char* const first = (unsigned char*)((uintptr_t)code & ~(page - 1));
        const size_t bytes = (size_t)(code + 2 - first);
        if (mprotect(first, bytes, PROT_READ | PROT_WRITE) != 0 || code[0] != 0x0f || code[1] != 0xa2) {
            fprintf(stderr, "mask_cpuid: %s has no cpuid at %lx\n", name, (unsigned long)sites[i].offset);
            _exit(1);
        }
        code[1] = 0x0b;
        mprotect(first, bytes, PROT_READ | PROT_EXEC);
        sites[i].address = (uintptr_t)code;
    }
    return 0;
}
