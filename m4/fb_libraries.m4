# SPDX-License-Identifier: BSD-3-Clause
# fb_libraries.m4: HDF5 and BLAS.

# FB_TRY_HDF5(NAME): links the calls that the store makes; sets fb_hdf5=NAME when that works.
AC_DEFUN([FB_TRY_HDF5], [
  AS_IF([test "x$fb_hdf5" = xno], [
    AC_MSG_CHECKING([for HDF5 >= 1.10.7 ($1)])
    fb_save_CPPFLAGS=$CPPFLAGS
    fb_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS"
    LIBS="$HDF5_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <hdf5.h>
#include <hdf5_hl.h>
    ]], [[
      hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
      H5Pset_file_locking(fapl, 0, 1);
      return H5DSis_scale(fapl) != 0;
    ]])], [fb_hdf5="$1"])
    CPPFLAGS=$fb_save_CPPFLAGS
    LIBS=$fb_save_LIBS
    AS_IF([test "x$fb_hdf5" = xno], [AC_MSG_RESULT([no])], [AC_MSG_RESULT([yes])])
  ])
])

# FB_HDF5: --with-hdf5=DIR, else pkg-config, then the h5cc wrapper, then the usual folders; each only
# believed once it links. Sets HDF5_CFLAGS and HDF5_LIBS.
AC_DEFUN([FB_HDF5], [
  AC_ARG_WITH([hdf5],
    [AS_HELP_STRING([--with-hdf5=DIR], [HDF5 >= 1.10.7 is installed under DIR])], [], [with_hdf5=auto])
  AC_ARG_VAR([HDF5_CFLAGS], [preprocessor flags for HDF5, instead of looking for it])
  AC_ARG_VAR([HDF5_LIBS], [linker flags for HDF5, instead of looking for it])
  fb_hdf5=no
  AS_CASE([$with_hdf5],
    [no], [AC_MSG_ERROR([--without-hdf5: Flashback cannot do without HDF5, its results file])],
    [auto|yes], [FB_FIND_HDF5],
    [HDF5_CFLAGS="-I$with_hdf5/include"
     HDF5_LIBS="-L$with_hdf5/lib -Wl,-rpath,$with_hdf5/lib -lhdf5_hl -lhdf5"
     FB_TRY_HDF5([$with_hdf5])
     AS_IF([test "x$fb_hdf5" = xno],
       [AC_MSG_ERROR([--with-hdf5=$with_hdf5: no usable HDF5 >= 1.10.7 in include/ and lib/ there; see config.log])])])
])

AC_DEFUN([FB_FIND_HDF5], [
  AS_IF([test -n "$HDF5_LIBS"], [FB_TRY_HDF5([HDF5_LIBS])])
  m4_foreach([module], [[hdf5-serial], [hdf5]], [
    AS_IF([test "x$fb_hdf5" = xno && test -n "$PKG_CONFIG" && $PKG_CONFIG --exists module], [
      HDF5_CFLAGS=`$PKG_CONFIG --cflags module`
      HDF5_LIBS=`$PKG_CONFIG --libs-only-L --libs-only-other module`" -lhdf5_hl "`$PKG_CONFIG --libs-only-l module`
      FB_TRY_HDF5([pkg-config module])])])
  AC_CHECK_PROGS([H5CC], [h5cc h5pcc])
  AS_IF([test "x$fb_hdf5" = xno && test -n "$H5CC"], [
    fb_h5cc=`$H5CC -show 2>/dev/null`
    HDF5_CFLAGS=`AS_ECHO(["$fb_h5cc"]) | tr ' ' '\n' | grep '^-[[ID]]' | tr '\n' ' '`
    HDF5_LIBS=`AS_ECHO(["$fb_h5cc"]) | tr ' ' '\n' | grep '^-L' | tr '\n' ' '`" -lhdf5_hl -lhdf5"
    FB_TRY_HDF5([$H5CC])])
  for fb_dir in "" /usr/local /opt/hdf5; do
    AS_IF([test "x$fb_hdf5" = xno], [
      HDF5_CFLAGS=${fb_dir:+-I$fb_dir/include}
      HDF5_LIBS="${fb_dir:+-L$fb_dir/lib -Wl,-rpath,$fb_dir/lib} -lhdf5_hl -lhdf5"
      FB_TRY_HDF5([${fb_dir:-the compiler's own folders}])])
  done
  fb_multiarch=`$CC -print-multiarch 2>/dev/null`
  AS_IF([test "x$fb_hdf5" = xno && test -n "$fb_multiarch"], [
    HDF5_CFLAGS=-I/usr/include/hdf5/serial
    HDF5_LIBS="-L/usr/lib/$fb_multiarch/hdf5/serial -lhdf5_hl -lhdf5"
    FB_TRY_HDF5([Debian's serial folder])])
  AS_IF([test "x$fb_hdf5" = xno],
    [AC_MSG_ERROR([HDF5 >= 1.10.7 not found: install it (Debian: libhdf5-dev) or say --with-hdf5=DIR])])
])

# FB_BLAS: OpenBLAS through pkg-config, else any CBLAS by -lcblas or -lblas. Without one the
# materialised CPU variants refuse by reason. Sets BLAS_CFLAGS, BLAS_LIBS and HAVE_CBLAS.
AC_DEFUN([FB_BLAS], [
  AC_ARG_WITH([blas],
    [AS_HELP_STRING([--without-blas], [do without OpenBLAS: the naive CPU variants then refuse])],
    [], [with_blas=auto])
  fb_blas=no
  AS_IF([test "x$with_blas" != xno], [
    PKG_CHECK_MODULES([BLAS], [openblas], [FB_TRY_CBLAS([openblas])], [:])
    m4_foreach([library], [[-lopenblas], [-lcblas], [-lblas]], [
      AS_IF([test "x$fb_blas" = xno], [BLAS_CFLAGS= BLAS_LIBS=library; FB_TRY_CBLAS(library)])])
    AS_IF([test "x$fb_blas" != xno], [],
      [test "x$with_blas" = xyes], [AC_MSG_ERROR([--with-blas: no CBLAS found; see config.log])],
      [AC_MSG_WARN([no CBLAS found (Debian: libopenblas-dev): the naive CPU variants will refuse])])
  ])
  AS_IF([test "x$fb_blas" = xno], [BLAS_CFLAGS= BLAS_LIBS=],
    [AC_DEFINE([HAVE_CBLAS], [1], [Define to 1 if cblas.h and its library are there.])])
  AC_DEFINE_UNQUOTED([FB_BUILD_BLAS], ["$fb_blas"], [The BLAS linked in, or no.])
])

AC_DEFUN([FB_TRY_CBLAS], [
  fb_save_CPPFLAGS=$CPPFLAGS
  fb_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $BLAS_CFLAGS"
  LIBS="$BLAS_LIBS $LIBS"
  AC_MSG_CHECKING([for CBLAS in $1])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cblas.h>]], [[return cblas_sdot(0, 0, 1, 0, 1) != 0;]])],
    [fb_blas="$1"
     AC_MSG_RESULT([yes])
     AC_CHECK_FUNCS([openblas_set_num_threads openblas_get_config])],
    [AC_MSG_RESULT([no])])
  CPPFLAGS=$fb_save_CPPFLAGS
  LIBS=$fb_save_LIBS
])
