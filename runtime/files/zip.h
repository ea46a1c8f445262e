/* zip.h: the records of a zip archive that reading and writing share (signatures and sizes). */
#ifndef NEO_RUNTIME_ZIP_H
#define NEO_RUNTIME_ZIP_H

#define ZIP_LOCAL 0x04034b50u
#define ZIP_CENTRAL 0x02014b50u
#define ZIP_END 0x06054b50u
#define ZIP_END64 0x06064b50u
#define ZIP_LOCATOR64 0x07064b50u
enum {
  ZIP_LOCAL_BYTES = 30,
  ZIP_CENTRAL_BYTES = 46,
  ZIP_END_BYTES = 22,
  ZIP_END64_BYTES = 56,
  ZIP_LOCATOR64_BYTES = 20,
  ZIP_EXTRA64 = 1
};

#endif
