/*
 * amxsim.h - Intel's AMX tiles in plain C, so that kernels with tiles run on every processor.
 *
 * A file of kernels/cpu compiled with "-include tests/amxsim/amxsim.h" calls these functions in place
 * of the instructions. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2
 * (TDPBF16PS, TDPBSSD and relatives) and volume 1, "Programming with Intel AMX".
 *
 * Each thread has eight tiles of up to 16 rows x 64 bytes. What the processor refuses (#UD, #GP) ends
 * the process with a sentence: an instruction without a configuration, a reserved byte, a tile without
 * rows, shapes that do not match, one tile as two operands. Stricter than the processor: a new
 * configuration fills all tiles with NaN instead of 0, so that a missing _tile_zero() shows at once.
 */
#ifndef WERKBANK_TESTS_AMXSIM_AMXSIM_H
#define WERKBANK_TESTS_AMXSIM_AMXSIM_H

#define AMXSIM 1

#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h> /* before the macros below, which replace some of its names */
#endif

void amxsim_load_config(const void *config);
void amxsim_release(void);
void amxsim_zero(int tile);
void amxsim_load(int tile, const void *base, ptrdiff_t stride);
void amxsim_store(int tile, void *base, ptrdiff_t stride);
void amxsim_multiply_bf16(int sums, int a, int b);
/* Letters as in the instructions' names: are the bytes of a, and of b, signed? */
void amxsim_multiply_bytes(int sums, int a, int b, int a_signed, int b_signed);

/*
 * From now on a refusal in this thread is written to text, which holds size bytes, and the
 * instruction does nothing. NULL: refusals end the process again.
 */
void amxsim_catch(char *text, size_t size);

/* Number of threads that have loaded a configuration and not yet released it. */
int amxsim_configured_threads(void);

/* Number of multiplications of tiles since the program began, all threads. */
long amxsim_multiplications(void);

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#define _tile_loadconfig(config)	    amxsim_load_config(config)
#define _tile_release()			    amxsim_release()
#define _tile_zero(tile)		    amxsim_zero(tile)
#define _tile_loadd(tile, base, stride)	    amxsim_load(tile, base, stride)
#define _tile_stream_loadd(t, base, stride) amxsim_load(t, base, stride)
#define _tile_stored(tile, base, stride)    amxsim_store(tile, base, stride)
#define _tile_dpbf16ps(sums, a, b)	    amxsim_multiply_bf16(sums, a, b)
#define _tile_dpbssd(sums, a, b)	    amxsim_multiply_bytes(sums, a, b, 1, 1)
#define _tile_dpbsud(sums, a, b)	    amxsim_multiply_bytes(sums, a, b, 1, 0)
#define _tile_dpbusd(sums, a, b)	    amxsim_multiply_bytes(sums, a, b, 0, 1)
#define _tile_dpbuud(sums, a, b)	    amxsim_multiply_bytes(sums, a, b, 0, 0)

#endif
