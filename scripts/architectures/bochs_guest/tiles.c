// SPDX-License-Identifier: BSD-3-Clause
/* A kernel module that switches on AMX's tile registers: bits 17 and 18 of XCR0.
   Linux itself leaves them off on a processor that cannot disable them again
   for a process (XFD), which Bochs' cannot. It needs no symbol of the kernel;
   bochs.py compiles it against the kernel's headers, without kbuild. What
   kbuild's modpost would write is written here: vermagic, struct module and the
   version of its layout. */
#include <linux/init.h>
#include <linux/module.h>
#define INCLUDE_VERMAGIC
#include <linux/vermagic.h>

static int switch_on(void) {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  asm volatile("xsetbv" : : "a"(low | 3u << 17), "d"(high), "c"(0));
  return 0;
}

MODULE_LICENSE("Dual BSD/GPL");
MODULE_INFO(vermagic, VERMAGIC_STRING);
MODULE_INFO(name, KBUILD_MODNAME);

__visible struct module __this_module __section(".gnu.linkonce.this_module") = {
  .name = KBUILD_MODNAME,
  .init = switch_on,
  .arch = MODULE_ARCH_INIT,
};
static const struct modversion_info versions[] __used __section("__versions") = {
  { LAYOUT_VERSION, "module_layout" },
};
