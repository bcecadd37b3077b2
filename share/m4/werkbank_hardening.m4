# werkbank_hardening.m4 - flags that make a mistake in a program harder to exploit.
#
# Each flag is used if the compiler and the linker accept it here without a warning. A flag that the user gives in
# CPPFLAGS, CFLAGS or LDFLAGS, of the same kind or against it, is left alone. --disable-hardening adds none.

# WERKBANK_HARDENING_FLAG(VARIABLE, FLAG): adds FLAG to VARIABLE if it works, together with HARDENING_CFLAGS so far.
AC_DEFUN([WERKBANK_HARDENING_FLAG], [
  AC_MSG_CHECKING([whether $CC accepts $2])
  save_CFLAGS=$CFLAGS save_LDFLAGS=$LDFLAGS
  m4_if([$1], [HARDENING_LDFLAGS], [LDFLAGS="$LDFLAGS $2"], [CFLAGS="$CFLAGS $2"])
  CFLAGS="$CFLAGS $HARDENING_CFLAGS -Werror"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[char line[64]; return !fgets(line, sizeof(line), stdin);]])],
    [$1="$$1 $2"; werkbank_accepted=yes], [werkbank_accepted=no])
  CFLAGS=$save_CFLAGS LDFLAGS=$save_LDFLAGS
  AC_MSG_RESULT([$werkbank_accepted])
])

# The C library decides which level it knows, and wants optimisation. Sanitizers check more, with functions of their own.
AC_DEFUN([WERKBANK_FORTIFY], [
  werkbank_fortify=no
  AC_MSG_CHECKING([for checked functions of the C library (_FORTIFY_SOURCE)])
  save_CPPFLAGS=$CPPFLAGS
  AS_CASE(["$CPPFLAGS $CFLAGS"], [*_FORTIFY_SOURCE*], [werkbank_fortify=given],
    [AS_IF([test "x${enable_sanitizers:-no}" = xno], [
      for level in 3 2; do
        CPPFLAGS="$save_CPPFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$level"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>
#if !defined __OPTIMIZE__ || !defined __USE_FORTIFY_LEVEL || __USE_FORTIFY_LEVEL < _FORTIFY_SOURCE
#error this level is not there
#endif]], [])], [werkbank_fortify=$level; HARDENING_CPPFLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$level"; break])
      done])])
  CPPFLAGS=$save_CPPFLAGS
  AC_MSG_RESULT([$werkbank_fortify])
])

AC_DEFUN([WERKBANK_HARDENING], [
  AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening], [no _FORTIFY_SOURCE, stack protector, PIE, RELRO, BIND_NOW, CET, --as-needed])],
    [], [enable_hardening=yes])
  HARDENING_CPPFLAGS= HARDENING_CFLAGS= HARDENING_LDFLAGS= werkbank_fortify=no
  AS_IF([test "x$enable_hardening" != xno], [
    WERKBANK_FORTIFY
    WERKBANK_HARDENING_FLAG([HARDENING_CFLAGS], [-fstack-protector-strong])
    WERKBANK_HARDENING_FLAG([HARDENING_CFLAGS], [-fstack-clash-protection])
    WERKBANK_HARDENING_FLAG([HARDENING_CFLAGS], [-fcf-protection=full])
    AS_CASE(["$CFLAGS $LDFLAGS"], [*-static*|*-no-pie*|*-fno-pie*|*-fno-PIE*], [], [
      WERKBANK_HARDENING_FLAG([HARDENING_CFLAGS], [-fPIE])
      WERKBANK_HARDENING_FLAG([HARDENING_LDFLAGS], [-pie])])
    # a program loads only the libraries that it calls
    WERKBANK_HARDENING_FLAG([HARDENING_LDFLAGS], [-Wl,--as-needed])
    WERKBANK_HARDENING_FLAG([HARDENING_LDFLAGS], [-Wl,-z,relro])
    WERKBANK_HARDENING_FLAG([HARDENING_LDFLAGS], [-Wl,-z,now])
    WERKBANK_HARDENING_FLAG([HARDENING_LDFLAGS], [-Wl,-z,noexecstack])
  ])
  AC_SUBST([HARDENING_CPPFLAGS])
  AC_SUBST([HARDENING_CFLAGS])
  AC_SUBST([HARDENING_LDFLAGS])
])
