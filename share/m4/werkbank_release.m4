# werkbank_release.m4 - what a release needs: the same archive from the same sources, and a list of its libraries.

# GNU tar writes the same bytes wherever and whenever "make dist" runs; the time is SOURCE_DATE_EPOCH, else RELEASE_DATE.
AC_DEFUN([WERKBANK_REPRODUCIBLE_DIST], [
  AC_MSG_CHECKING([whether tar writes the same archive twice])
  werkbank_tar="--format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX"
  AS_IF([${TAR-tar} $werkbank_tar --mtime=@0 -cf /dev/null "$srcdir/configure.ac" 2>/dev/null], [
    am__tar='LC_ALL=C $${TAR-tar} '$werkbank_tar' --mtime="$${SOURCE_DATE_EPOCH:+@}$${SOURCE_DATE_EPOCH:-$(RELEASE_DATE) 12:00Z}" -chf - "$$tardir"'
    AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
])

# WERKBANK_SBOM: SBOM_LIBRARIES = "NAME=VERSION ...": all libraries that the programs are linked with.
AC_DEFUN([WERKBANK_SBOM], [
  SBOM_LIBRARIES=
  werkbank_modules="libpcre2-8 libarchive zlib libcurl libcrypto icu-uc"
  AS_IF([test $werkbank_curses = yes], [werkbank_modules="$werkbank_modules ncursesw"])
  AS_IF([test $werkbank_seccomp = yes], [werkbank_modules="$werkbank_modules libseccomp"])
  AS_IF([test $werkbank_expat = yes], [werkbank_modules="$werkbank_modules expat"])
  AS_IF([test $werkbank_mpi = yes], [AS_IF([$PKG_CONFIG --exists ompi-c],
    [werkbank_modules="$werkbank_modules ompi-c"], [werkbank_modules="$werkbank_modules mpich"])])
  for module in $werkbank_modules; do
    SBOM_LIBRARIES="$SBOM_LIBRARIES $module=`$PKG_CONFIG --modversion $module`"
  done
  # it has no file for pkg-config
  AS_IF([test $werkbank_cuda = yes], [SBOM_LIBRARIES="$SBOM_LIBRARIES cuda-runtime=`"$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`"])
  AC_SUBST([SBOM_LIBRARIES])
])
