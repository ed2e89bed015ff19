// SPDX-License-Identifier: BSD-3-Clause
/* Boot sector and second stage: reads the segments listed at `segs` with BIOS
   INT 13h, enters 64-bit mode and jumps to the kernel by Linux's 64-bit boot
   protocol (rsi = boot_params, here at 0x90000). */
        .code16
        .text
        .globl _start
_start: ljmp    $0, $1f
1:      xor     %ax, %ax
        mov     %ax, %ds
        mov     %ax, %es
        mov     %ax, %ss
        mov     $0x7c00, %sp
        mov     $stage2_dap, %si
        mov     $0x42, %ah
        mov     $0x80, %dl
        int     $0x13
        jc      fail
        jmp     stage2
fail:   cli                             /* says Shutdown to the emulator */
        mov     $0x8900, %dx
        mov     $bye, %si
1:      lodsb
        outb    %al, %dx
        test    %al, %al
        jnz     1b
        hlt
bye:    .asciz  "Shutdown"
        .align  4
stage2_dap:
        .byte   16, 0
        .word   7                       /* sectors */
        .word   0x7e00, 0               /* offset, segment */
        .quad   1                       /* LBA */
        .org    510
        .word   0xaa55
/* second stage, 7 sectors at 0x7e00 */
stage2: mov     $0x92, %dx              /* A20 */
        inb     %dx, %al
        or      $2, %al
        and     $0xfe, %al
        outb    %al, %dx
        mov     $segs, %bx
seg_loop:
        mov     8(%bx), %eax            /* sectors left */
        cmp     $64, %eax
        jbe     1f
        mov     $64, %eax
1:      mov     %ax, dap_n
        mov     0(%bx), %ecx
        mov     %ecx, dap_lba
        mov     $dap, %si
        mov     $0x42, %ah
        mov     $0x80, %dl
        push    %bx
        int     $0x13
        pop     %bx
        jc      fail
        cli                             /* 4 GiB limits by way of protected mode */
        lgdtl   gdtr
        mov     %cr0, %eax
        or      $1, %al
        mov     %eax, %cr0
        jmp     1f
1:      mov     $0x10, %ax
        mov     %ax, %ds
        mov     %ax, %es
        mov     %cr0, %eax
        and     $0xfe, %al
        mov     %eax, %cr0
        ljmp    $0, $1f
1:      xor     %ax, %ax
        mov     %ax, %ds
        mov     %ax, %es
        movzwl  dap_n, %ecx
        add     %ecx, 0(%bx)            /* next LBA */
        sub     %ecx, 8(%bx)
        shl     $7, %ecx                /* dwords */
        mov     4(%bx), %edi
        mov     $0x10000, %esi
        cld
        addr32 rep movsl
        mov     %edi, 4(%bx)
        sti
        cmpl    $0, 8(%bx)
        jne     seg_loop
        add     $12, %bx
        cmpl    $0, 8(%bx)
        jne     seg_loop
        cli
        mov     $0x6000, %ax            /* page tables at 0x60000: first 4 GiB */
        mov     %ax, %es
        xor     %di, %di
        xor     %eax, %eax
        mov     $0x1800, %cx
        cld
        rep stosl
        movl    $0x61003, %es:0
        movl    $0x62003, %es:0x1000
        movl    $0x63003, %es:0x1008
        movl    $0x64003, %es:0x1010
        movl    $0x65003, %es:0x1018
        mov     $0x2000, %di
        mov     $0x83, %eax
1:      mov     %eax, %es:(%di)
        add     $8, %di
        add     $0x200000, %eax
        cmp     $0x6000, %di
        jne     1b
        mov     $0x60000, %eax
        mov     %eax, %cr3
        mov     %cr4, %eax
        or      $0x20, %eax             /* PAE */
        mov     %eax, %cr4
        mov     $0xc0000080, %ecx
        rdmsr
        or      $0x100, %eax            /* LME */
        wrmsr
        lgdtl   gdtr
        mov     %cr0, %eax
        or      $0x80000001, %eax
        mov     %eax, %cr0
        ljmpl   $0x18, $long
        .code64
long:   mov     $0x10, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %ss
        mov     %eax, %fs
        mov     %eax, %gs
        mov     $0x7c00, %esp
        mov     $0x90000, %esi
        mov     entry(%rip), %rax
        xor     %ebp, %ebp
        xor     %edi, %edi
        xor     %ebx, %ebx
        jmp     *%rax
        .align  8
gdt:    .quad   0
        .quad   0x00cf9a000000ffff      /* 08: 32-bit code */
        .quad   0x00cf92000000ffff      /* 10: data; Linux expects it here */
        .quad   0x00af9a000000ffff      /* 18: 64-bit code */
gdtr:   .word   31
        .long   gdt
        .align  4
dap:    .byte   16, 0
dap_n:  .word   0
        .word   0, 0x1000
dap_lba:.quad   0
        .org    0xf00
entry:  .quad   0                       /* offset 0xf00 of the disk */
segs:   .fill   0xf8, 1, 0              /* offset 0xf08: LBA, address, sectors; ends at 0 sectors */
