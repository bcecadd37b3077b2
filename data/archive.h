/* archive.h - (not written yet) */
#ifndef WERKBANK_DATA_ARCHIVE_H
#define WERKBANK_DATA_ARCHIVE_H

#endif
