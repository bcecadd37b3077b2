/* tools.h - (not written yet) */
#ifndef WERKBANK_DATA_TOOLS_H
#define WERKBANK_DATA_TOOLS_H

#endif
