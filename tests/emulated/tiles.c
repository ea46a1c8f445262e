/* Module for the emulated machine: switches the tile registers on. Linux does so itself where the
 * CPU can hand them out on first use (XFD), which Bochs 3.0 lacks. Then nobody saves them when
 * processes alternate: run one at a time. */
#include <asm/fpu/xcr.h>
#include <linux/module.h>

static int __init tiles_init(void) {
  xsetbv(XCR_XFEATURE_ENABLED_MASK, xgetbv(XCR_XFEATURE_ENABLED_MASK) | 0x60000);
  return 0;
}
module_init(tiles_init);
MODULE_LICENSE("GPL");
