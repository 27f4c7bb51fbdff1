# SPDX-License-Identifier: BSD-3-Clause
# fb_flags.m4: compiler flags that are asked for before they are used.

# FB_CHECK_CFLAG(FLAG, IF-TAKEN, IF-NOT): does $CC take FLAG without a warning?
AC_DEFUN([FB_CHECK_CFLAG], [
  AS_VAR_PUSHDEF([cached], [fb_cv_cflag_$1])dnl
  AC_CACHE_CHECK([whether $CC takes $1], [cached], [
    fb_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([cached], [yes])], [AS_VAR_SET([cached], [no])])
    CFLAGS=$fb_save_CFLAGS
  ])
  AS_VAR_IF([cached], [yes], [$2], [$3])
  AS_VAR_POPDEF([cached])dnl
])

# FB_WARNINGS: sets WARN_CFLAGS.
AC_DEFUN([FB_WARNINGS], [
  WARN_CFLAGS=
  m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wpedantic -Wstrict-prototypes -Wmissing-prototypes
                        -Wpointer-arith -Wvla],
    [FB_CHECK_CFLAG(flag, [AS_VAR_APPEND([WARN_CFLAGS], [" flag"])])])
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make compiler warnings errors])],
    [], [enable_werror=no])
  AS_IF([test "x$enable_werror" = xyes], [AS_VAR_APPEND([WARN_CFLAGS], [" -Werror"])])
  AC_SUBST([WARN_CFLAGS])
])

# FB_ISA: which of the x86-64 levels hot CPU files are compiled for. Compiles only: whether this
# very machine has the instructions is asked at run time.
AC_DEFUN([FB_ISA], [
  fb_isa_levels=
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#ifndef __x86_64__
#error other machine
#endif
  ]])], [fb_isa_x86_64=yes], [fb_isa_x86_64=no])
  m4_foreach([level], [[v2], [v3], [v4]], [
    fb_isa_[]level=no
    AS_IF([test $fb_isa_x86_64 = yes],
      [FB_CHECK_CFLAG([-march=x86-64-]level, [fb_isa_[]level=yes], [])])
    AS_IF([test $fb_isa_[]level = yes], [
      AS_VAR_APPEND([fb_isa_levels], [" x86-64-level"])
      AC_DEFINE([HAVE_ISA_]m4_toupper(level), [1],
        [Define to 1 if hot CPU files are compiled for x86-64-]level[ too.])])
    AM_CONDITIONAL([ISA_]m4_toupper(level), [test $fb_isa_[]level = yes])
  ])
])

# FB_SANITIZERS: --enable-sanitizers=LIST. Sets SANITIZER_FLAGS, for compiling and for linking.
# Thread needs clang: gcc's runtime for OpenMP is not known to ThreadSanitizer, while LLVM's tells it
# through Archer what its barriers order.
AC_DEFUN([FB_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [instrument the program: address,undefined or thread (thread: with CC=clang)])],
    [], [enable_sanitizers=no])
  SANITIZER_FLAGS=
  ARCHER_LIBRARY=
  AS_CASE([$enable_sanitizers],
    [no], [],
    [yes], [AC_MSG_ERROR([--enable-sanitizers needs a list: address,undefined or thread])],
    [*thread*address*|*address*thread*],
      [AC_MSG_ERROR([--enable-sanitizers: address and thread exclude each other])],
    [SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer"
     FB_CHECK_SANITIZERS
     AS_CASE([,$enable_sanitizers,], [*,undefined,*],
       [AS_VAR_APPEND([SANITIZER_FLAGS], [" -fno-sanitize-recover=undefined"])],
       [*,thread,*], [FB_ARCHER])])
  AM_CONDITIONAL([SANITIZERS], [test -n "$SANITIZER_FLAGS"])
  AC_DEFINE_UNQUOTED([FB_BUILD_SANITIZERS], ["$enable_sanitizers"], [The sanitizers built in, or no.])
  AC_SUBST([SANITIZER_FLAGS])
  AC_SUBST([ARCHER_LIBRARY])
])

AC_DEFUN([FB_CHECK_SANITIZERS], [
  AC_MSG_CHECKING([whether $CC links with $SANITIZER_FLAGS])
  fb_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $SANITIZER_FLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM()], [fb_links=yes], [fb_links=no])
  CFLAGS=$fb_save_CFLAGS
  AC_MSG_RESULT([$fb_links])
  AS_IF([test $fb_links = no],
    [AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: $CC cannot link that; see config.log])])
])

AC_DEFUN([FB_ARCHER], [
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#ifndef __clang__
#error not clang
#endif
  ]])], [], [AC_MSG_ERROR([--enable-sanitizers=thread needs clang and its OpenMP: configure CC=clang])])
  AC_MSG_CHECKING([for LLVM's Archer])
  ARCHER_LIBRARY=`$CC -print-file-name=libarcher.so`
  AS_IF([test -f "$ARCHER_LIBRARY"], [], [ARCHER_LIBRARY=`ls /usr/lib/llvm-*/lib/libarcher.so 2>/dev/null | tail -n 1`])
  AC_MSG_RESULT([${ARCHER_LIBRARY:-no}])
  AS_IF([test -n "$ARCHER_LIBRARY"], [],
    [AC_MSG_ERROR([--enable-sanitizers=thread needs libarcher.so (Debian: libomp-dev): without it every barrier looks like a race])])
])
