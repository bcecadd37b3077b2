/* manifest.h - (not written yet) */
#ifndef WERKBANK_DATA_MANIFEST_H
#define WERKBANK_DATA_MANIFEST_H

#endif
