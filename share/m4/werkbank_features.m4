# werkbank_features.m4 - the one policy for every optional dependency.
#
# --with-X      must be found, else configure stops
# --without-X   never looked for
# (neither)     used when found
#
# WERKBANK_VERDICT(NAME, FOUND) turns the two into yes/no in $werkbank_NAME, or stops.
AC_DEFUN([WERKBANK_VERDICT], [
  AS_CASE([$with_$1:$2],
    [no:*],        [werkbank_$1=no],
    [*:yes],       [werkbank_$1=yes],
    [check:no],    [werkbank_$1=no],
    [AC_MSG_ERROR([--with-$1 was asked for, but $1 was not found])])
])

AC_DEFUN([WERKBANK_ENABLE_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@], [build with -fsanitize=LIST (address,undefined)])])
  AS_CASE([${enable_sanitizers:-no}], [no], [],
    [yes], [enable_sanitizers=address,undefined])
  AS_IF([test "x${enable_sanitizers:-no}" != xno], [
    SAN_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=undefined"])
  AC_SUBST([SAN_FLAGS])
])

# assert() is for developers: off in a release build, on with --enable-asserts or sanitizers.
AC_DEFUN([WERKBANK_ENABLE_ASSERTS], [
  AC_ARG_ENABLE([asserts], [AS_HELP_STRING([--enable-asserts], [check invariants at run time (default: with sanitizers)])],
    [], [AS_IF([test "x${enable_sanitizers:-no}" != xno], [enable_asserts=yes], [enable_asserts=no])])
  AS_IF([test "x$enable_asserts" = xno], [ASSERT_FLAGS=-DNDEBUG], [ASSERT_FLAGS=])
  AC_SUBST([ASSERT_FLAGS])
])

AC_DEFUN([WERKBANK_ENABLE_WERROR], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])])
  WARN_FLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Wwrite-strings"
  # GCC guesses wrongly about "maybe" uninitialised variables in code that sanitizers have instrumented.
  AS_IF([test "x${enable_sanitizers:-no}" != xno], [
    save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror -Wmaybe-uninitialized"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [WARN_FLAGS="$WARN_FLAGS -Wno-maybe-uninitialized"])
    CFLAGS=$save_CFLAGS])
  AS_IF([test "x$enable_werror" = xyes], [WARN_FLAGS="$WARN_FLAGS -Werror"])
  AC_SUBST([WARN_FLAGS])
])

# musl gives threads 128 KiB of stack unless the program asks for more; glibc ignores the request.
AC_DEFUN([WERKBANK_THREAD_STACK], [
  AC_MSG_CHECKING([whether the linker sets the stack size of threads])
  STACK_FLAGS=-Wl,-z,stack-size=8388608
  save_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS $STACK_FLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [], [STACK_FLAGS=])
  LDFLAGS=$save_LDFLAGS
  AC_MSG_RESULT([${STACK_FLAGS:-no}])
  AC_SUBST([STACK_FLAGS])
])

# A C++ compiler is needed for the tests of the GPU kernels only.
AC_DEFUN([WERKBANK_CXX_WORKS], [
  AC_LANG_PUSH([C++])
  AC_MSG_CHECKING([for C++17, for tests of GPU kernels])
  save_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -std=gnu++17"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <tuple>
#include <functional>
template <class... T> int sum(T... t) { return (t + ...); }]], [std::tuple<int> t(1); return sum(std::get<0>(t), -1);])],
    [werkbank_cxx=yes], [werkbank_cxx=no])
  CXXFLAGS=$save_CXXFLAGS
  AC_MSG_RESULT([$werkbank_cxx])
  AC_LANG_POP([C++])
  AM_CONDITIONAL([HAVE_CXX], [test $werkbank_cxx = yes])
])

# The CPU kernels are compiled once more for each x86-64 level that the
# compiler knows; kernels/cpu/cpu_levels.c picks at run time.
AC_DEFUN([WERKBANK_VECTOR_VARIANTS], [
  werkbank_variants=
  save_CFLAGS=$CFLAGS
  AC_MSG_CHECKING([for x86-64-v3 and x86-64-v4])
  AC_ARG_ENABLE([vector-variants], [AS_HELP_STRING([--disable-vector-variants], [CPU kernels for the plain architecture only])])
  AS_IF([test "x$enable_vector_variants" != xno], [
    CFLAGS="$save_CFLAGS -march=x86-64-v4"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#ifndef __x86_64__
#error not x86-64
#endif
]], [])], [werkbank_variants="v3 v4"])])
  CFLAGS=$save_CFLAGS
  AC_MSG_RESULT([${werkbank_variants:-none}])
  AS_IF([test -n "$werkbank_variants"], [AC_DEFINE([HAVE_VECTOR_VARIANTS], [1], [CPU kernels exist for x86-64-v3 and -v4])])
  AM_CONDITIONAL([HAVE_VECTOR_VARIANTS], [test -n "$werkbank_variants"])
  # At the -O2 that comes last on the line GCC turns only few loops into vectors, unless it is told to weigh each.
  AC_MSG_CHECKING([whether $CC weighs loops])
  VECTOR_FLAGS=-fvect-cost-model=dynamic
  CFLAGS="$save_CFLAGS $VECTOR_FLAGS -Werror"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [], [VECTOR_FLAGS=])
  CFLAGS=$save_CFLAGS
  AC_MSG_RESULT([${VECTOR_FLAGS:-no}])
  AC_SUBST([VECTOR_FLAGS])
])

AC_DEFUN([WERKBANK_WITH_CURSES], [
  AC_ARG_WITH([curses], [AS_HELP_STRING([--without-curses], [no workbench on the terminal])], [], [with_curses=check])
  found=no
  AS_IF([test "x$with_curses" != xno], [PKG_CHECK_MODULES([CURSES], [ncursesw], [found=yes], [found=no])])
  WERKBANK_VERDICT([curses], [$found])
  AS_IF([test $werkbank_curses = yes], [AC_DEFINE([HAVE_CURSES], [1], [the workbench is built])])
  AM_CONDITIONAL([HAVE_CURSES], [test $werkbank_curses = yes])
])

# Leak checks of sanitizers stop and read their own process, which the sandbox refuses.
AC_DEFUN([WERKBANK_WITH_SECCOMP], [
  AC_ARG_WITH([seccomp], [AS_HELP_STRING([--without-seccomp], [system calls are not limited while foreign bytes are read])],
    [], [with_seccomp=check])
  AS_IF([test "x${enable_sanitizers:-no}" != xno && test "x$with_seccomp" = xcheck], [with_seccomp=no])
  found=no
  AS_IF([test "x$with_seccomp" != xno], [PKG_CHECK_MODULES([SECCOMP], [libseccomp >= 2.4], [found=yes], [found=no])])
  WERKBANK_VERDICT([seccomp], [$found])
  AS_IF([test $werkbank_seccomp = yes], [AC_DEFINE([HAVE_SECCOMP], [1], [libseccomp limits system calls])])
])

# Expat reads XML as a stream and opens no file: a stranger's file needs no more. 2.2.0: no known overflow in long tags.
AC_DEFUN([WERKBANK_WITH_EXPAT], [
  AC_ARG_WITH([expat], [AS_HELP_STRING([--without-expat], [no translation memories in XML (TMX, XLIFF)])],
    [], [with_expat=check])
  found=no
  AS_IF([test "x$with_expat" != xno], [PKG_CHECK_MODULES([EXPAT], [expat >= 2.2.0], [found=yes], [found=no])])
  WERKBANK_VERDICT([expat], [$found])
  AS_IF([test $werkbank_expat = yes], [AC_DEFINE([HAVE_EXPAT], [1], [TMX and XLIFF are read])])
])

# The runtime is linked statically where it can be and finds the driver when the
# program runs; cuBLASLt is looked for by the program itself. So the same binary
# works, without a GPU, where nothing of CUDA is installed. Kernels are compiled
# for every chip from Volta to Hopper that this nvcc knows, and as PTX for later ones.
AC_DEFUN([WERKBANK_WITH_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [CUDA toolkit])], [], [with_cuda=check])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCC_GENCODE], [nvcc -gencode flags])
  AC_ARG_VAR([NVCCFLAGS], [more flags for nvcc])
  found=no
  AS_IF([test "x$with_cuda" != xno], [
    cuda_dir=/usr/local/cuda cuda_dir_given=no
    AS_CASE([$with_cuda], [yes|check], [], [cuda_dir=$with_cuda; with_cuda=yes cuda_dir_given=yes])
    AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_dir/bin$PATH_SEPARATOR$PATH])
    AS_IF([test -n "$NVCC"], [
      # Another nvcc has its headers and libraries beside it, or, from a distribution's package, where all are.
      AS_IF([test $cuda_dir_given = no && test "$NVCC" != "$cuda_dir/bin/nvcc"],
        [cuda_dir=`readlink -f "$NVCC" | sed 's|/bin/nvcc$||'`])
      AS_IF([test -e "$cuda_dir/include/cuda_runtime.h" && test "$cuda_dir" != /usr],
        [CUDA_CPPFLAGS="-isystem $cuda_dir/include"])
      save_LIBS=$LIBS
      for d in "$cuda_dir/lib64" "$cuda_dir/lib" ""; do
        for l in "-lcudart_static -lrt -ldl" -lcudart; do
          AS_IF([test $found = no && { test -z "$d" || test -d "$d"; }], [
            CUDA_LIBS="${d:+-L$d }$l"
            LIBS="$CUDA_LIBS $save_LIBS"
            AC_LINK_IFELSE([AC_LANG_CALL([], [cudaGetLastError])], [found=yes; CUDA_LIBRARY_DIR=$d])])
        done
      done
      LIBS=$save_LIBS])])
  WERKBANK_VERDICT([cuda], [$found])
  AS_IF([test $werkbank_cuda = yes && test -z "$NVCC_GENCODE"], [
    AC_MSG_CHECKING([which GPUs $NVCC compiles for])
    werkbank_chips=" `"$NVCC" --list-gpu-code 2>/dev/null | tr '\n' ' '`"
    last=
    for n in 70 75 80 86 89 90; do
      AS_CASE([$werkbank_chips], [*" sm_$n "*], [last=$n NVCC_GENCODE="$NVCC_GENCODE -gencode=arch=compute_$n,code=sm_$n"])
    done
    AS_IF([test -n "$last"], [NVCC_GENCODE="$NVCC_GENCODE -gencode=arch=compute_$last,code=compute_$last"],
      [NVCC_GENCODE="-arch=all-major"])
    AC_MSG_RESULT([$NVCC_GENCODE])])
  AS_IF([test $werkbank_cuda = yes], [AC_DEFINE([HAVE_CUDA], [1], [CUDA backend is built])],
        [CUDA_CPPFLAGS=; CUDA_LIBS=])
  AC_SUBST([CUDA_CPPFLAGS]) AC_SUBST([CUDA_LIBS]) AC_SUBST([CUDA_LIBRARY_DIR])
  AM_CONDITIONAL([HAVE_CUDA], [test $werkbank_cuda = yes])
])

AC_DEFUN([WERKBANK_WITH_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--without-mpi], [single-process training only])], [], [with_mpi=check])
  found=no
  AS_IF([test "x$with_mpi" != xno], [PKG_CHECK_MODULES([MPI], [ompi-c], [found=yes],
        [PKG_CHECK_MODULES([MPI], [mpich], [found=yes], [found=no])])])
  WERKBANK_VERDICT([mpi], [$found])
  AS_IF([test $werkbank_mpi = yes], [AC_DEFINE([HAVE_MPI], [1], [MPI communicator is built])])
  AM_CONDITIONAL([HAVE_MPI], [test $werkbank_mpi = yes])
])

# Only its header is needed: the program looks for the library when it runs.
AC_DEFUN([WERKBANK_WITH_NCCL], [
  AC_ARG_WITH([nccl], [AS_HELP_STRING([--without-nccl], [no multi-GPU collectives])], [], [with_nccl=check])
  found=no
  AS_IF([test "x$with_nccl" != xno && test $werkbank_cuda = yes && test $werkbank_mpi = yes], [
    save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CUDA_CPPFLAGS $CPPFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([#include <nccl.h>], [ncclConfig_t c = NCCL_CONFIG_INITIALIZER; (void)c;])],
      [found=yes])
    CPPFLAGS=$save_CPPFLAGS])
  WERKBANK_VERDICT([nccl], [$found])
  AS_IF([test $werkbank_nccl = yes], [AC_DEFINE([HAVE_NCCL], [1], [NCCL communicator is built])])
  AM_CONDITIONAL([HAVE_NCCL], [test $werkbank_nccl = yes])
])
