# SPDX-License-Identifier: BSD-3-Clause
# fb_cudnn.m4: the headers of cuDNN. The library itself is loaded at run time.
#
# FB_CUDNN sets CUDNN_CPPFLAGS, the conditional HAVE_CUDNN, and fb_cudnn, a line that says what was found.
# Comes after FB_CUDA: without CUDA there is nothing to look for.
AC_DEFUN([FB_CUDNN], [
  AC_ARG_WITH([cudnn],
    [AS_HELP_STRING([--with-cudnn[=DIR]],
      [build the cuDNN variants, with the headers in DIR/include; default: auto, when CUDA and they are found])],
    [], [with_cudnn=auto])
  fb_cudnn=no
  CUDNN_CPPFLAGS=
  AS_CASE([$with_cudnn], [no|auto|yes], [], [
    AS_IF([test -f "$with_cudnn/include/cudnn_graph.h"], [],
      [AC_MSG_ERROR([--with-cudnn=$with_cudnn: there is no include/cudnn_graph.h in that folder])])
    CUDNN_CPPFLAGS="-isystem $with_cudnn/include"])
  AS_IF([test "x$with_cudnn" = xno], [fb_cudnn=no],
    [test $fb_cuda = no], [fb_cudnn="no: without CUDA"],
    [FB_CUDNN_HEADERS])
  AS_CASE([$fb_cudnn], [no*], [
    CUDNN_CPPFLAGS=
    AS_CASE([$with_cudnn], [no|auto], [], [AC_MSG_ERROR([--with-cudnn=$with_cudnn: $fb_cudnn])])])
  AS_CASE([$fb_cudnn], [no*], [], [
    AC_DEFINE([HAVE_CUDNN], [1], [Define to 1 if the cuDNN variants are built.])])
  AM_CONDITIONAL([HAVE_CUDNN], [AS_CASE([$fb_cudnn], [no*], [false], [:])])
  AC_SUBST([CUDNN_CPPFLAGS])
])

# Backend descriptors as the variants use them came with cuDNN 9.
AC_DEFUN([FB_CUDNN_HEADERS], [
  AC_MSG_CHECKING([for the headers of cuDNN 9])
  fb_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS $CUDNN_CPPFLAGS"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <cudnn_graph.h>
#if CUDNN_MAJOR < 9
#error too old
#endif
  ]], [[return (int)CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;]])],
    [fb_cudnn="headers found"], [fb_cudnn="no: the headers of cuDNN 9 were not found (--with-cudnn=DIR)"])
  CPPFLAGS=$fb_save_CPPFLAGS
  AS_CASE([$fb_cudnn], [no*], [AC_MSG_RESULT([no])], [AC_MSG_RESULT([yes])])
])
