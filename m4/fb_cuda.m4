# SPDX-License-Identifier: BSD-3-Clause
# fb_cuda.m4: finds the CUDA toolkit, chooses the architectures and proves that an object of nvcc links
# with the C compiler. Nothing here runs a compiled program or asks for a device.
#
# FB_CUDA sets NVCC, CUDA_CPPFLAGS, CUDA_LIBS, CUDA_NVCCFLAGS, the conditional HAVE_CUDA, DISTCHECK_CUDA, the
# options that lead to the same choice, and what each family of kernels is compiled for. Of the default
# list, 75,80,90+PTX, these are
#
#   family                      compiled for     serves             set in
#   simt, dense, measure        75 80 90 +PTX    all from 7.5 on    CUDA_GENCODE
#   sm80                           80 90 +PTX    all from 8.0 on    CUDA_GENCODE_SM80
#   sm80, tiles of 99 KiB          80            8.6, 8.9           CUDA_GENCODE_SM80_SMALL
#   sm90                           90a           9.0 alone          CUDA_GENCODE_SM90
#
# Machine code serves the later devices of its major version (8.0's also 8.6 and 8.9), PTX all later
# ones. What an architecture can never be asked for is not compiled for it: mma.sync kernels for 7.5, tiles
# for 99 KiB where every device has more; simt's tile heights by the same rule (kernels/simt/backward.cuh).
AC_DEFUN([FB_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda[=DIR]],
      [build the CUDA variants, with the toolkit in DIR; default: auto, when one is found])],
    [], [with_cuda=auto])
  AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST],
      [compute capabilities to compile for, "80,90"; 90+PTX adds PTX; native: this machine's
       devices; default: 75,80,90+PTX as far as nvcc knows them])],
    [], [with_cuda_arch=auto])
  AC_ARG_ENABLE([lineinfo],
    [AS_HELP_STRING([--enable-lineinfo],
      [keep the lines of the sources in the kernels, for profilers; ten times the size])],
    [], [enable_lineinfo=no])
  AC_ARG_VAR([NVCC], [the CUDA compiler])
  AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler; -ccbin=PROGRAM chooses its host compiler])
  AS_CASE([$with_cuda_arch], [yes|no|''], [AC_MSG_ERROR([--with-cuda-arch needs a list, such as 80,90])])

  fb_cuda=no
  fb_cuda_why=
  AS_IF([test "x$with_cuda" != xno], [FB_FIND_NVCC
    AS_IF([test -n "$NVCC"], [FB_CUDA_ROOT])
    AS_IF([test "x$fb_cuda_root" != x], [FB_CUDA_WORKS])])
  AS_IF([test $fb_cuda = no && test "x$with_cuda" != xno], [
    AS_IF([test "x$with_cuda" = xauto && test "x$with_cuda_arch" = xauto],
      [AC_MSG_WARN([building for the CPU alone: $fb_cuda_why])],
      [AC_MSG_ERROR([CUDA was asked for, but $fb_cuda_why])])])

  AS_IF([test $fb_cuda = yes], [
    AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA variants are built.])
    AC_DEFINE_UNQUOTED([FB_BUILD_CUDA], ["$fb_cuda_version"], [Version of the CUDA toolkit, or no.])
    AC_DEFINE_UNQUOTED([FB_BUILD_CUDA_ARCHS], ["$fb_cuda_archs"], [Architectures compiled for.])
    AS_IF([test "x$with_cuda" = xauto], [DISTCHECK_CUDA="--with-cuda"], [DISTCHECK_CUDA="--with-cuda='$with_cuda'"])
    AS_VAR_APPEND([DISTCHECK_CUDA], [" --with-cuda-arch='$fb_cuda_archs'"])
  ], [
    AC_DEFINE([FB_BUILD_CUDA], ["no"], [])
    AC_DEFINE([FB_BUILD_CUDA_ARCHS], ["no"], [])
    NVCC= CUDA_CPPFLAGS= CUDA_LIBS= CUDA_NVCCFLAGS=
    CUDA_GENCODE= CUDA_GENCODE_SM80= CUDA_GENCODE_SM80_SMALL= CUDA_GENCODE_SM90=
    DISTCHECK_CUDA=--without-cuda])
  AM_CONDITIONAL([HAVE_CUDA], [test $fb_cuda = yes])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
  AC_SUBST([CUDA_NVCCFLAGS])
  AC_SUBST([CUDA_GENCODE])
  AC_SUBST([CUDA_GENCODE_SM80])
  AC_SUBST([CUDA_GENCODE_SM80_SMALL])
  AC_SUBST([CUDA_GENCODE_SM90])
  AC_SUBST([DISTCHECK_CUDA])
])

# The compiler: a folder given wins over everything; else NVCC, CUDA_HOME, CUDA_PATH, PATH, and the
# usual place. A folder without an nvcc is an error whoever asked.
AC_DEFUN([FB_FIND_NVCC], [
  AS_CASE([$with_cuda],
    [yes|auto], [
      AS_IF([test -n "$NVCC"], [], [
        AC_PATH_PROG([NVCC], [nvcc], [],
          [${CUDA_HOME:+$CUDA_HOME/bin:}${CUDA_PATH:+$CUDA_PATH/bin:}$PATH:/usr/local/cuda/bin])])
      AS_IF([test -n "$NVCC"], [], [fb_cuda_why="there is no nvcc in NVCC, CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda"])],
    [AS_IF([test -x "$with_cuda/bin/nvcc"], [NVCC=$with_cuda/bin/nvcc],
       [AC_MSG_ERROR([--with-cuda=$with_cuda: there is no bin/nvcc in that folder])])])
])

# The toolkit's folder, as nvcc itself tells: nvcc on PATH may be a wrapper script that lies elsewhere.
AC_DEFUN([FB_CUDA_ROOT], [
  AC_MSG_CHECKING([for the toolkit of $NVCC])
  fb_cuda_root=`$NVCC --dryrun -x cu -E /dev/null 2>&1 | sed -n 's/^#\\$ TOP=//p'`
  AS_IF([test -n "$fb_cuda_root"], [fb_cuda_root=`cd "$fb_cuda_root" 2>/dev/null && pwd -P`])
  fb_cuda_libdir=
  for fb_dir in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib; do
    AS_IF([test -z "$fb_cuda_libdir" && test -f "$fb_cuda_root/$fb_dir/libcudart_static.a"],
      [fb_cuda_libdir=$fb_cuda_root/$fb_dir])
  done
  AS_IF([test -z "$fb_cuda_root"],
      [AC_MSG_RESULT([no])
       fb_cuda_why="$NVCC does not work: "`$NVCC --version 2>&1 | head -n 1`],
    [test -z "$fb_cuda_libdir"],
      [AC_MSG_RESULT([$fb_cuda_root])
       fb_cuda_why="$fb_cuda_root holds no libcudart_static.a"
       fb_cuda_root=],
    [AC_MSG_RESULT([$fb_cuda_root])
     fb_cuda_version=`$NVCC --version | sed -n 's/^.*release.*, V//p'`
     CUDA_CPPFLAGS="-isystem $fb_cuda_root/include"
     CUDA_LIBS="-L$fb_cuda_libdir -lcudart_static -ldl -lrt -lpthread -lstdc++"])
])

# FB_NVCC_TRY(FLAGS, IF-TAKEN, IF-NOT): compiles a kernel; nvcc's words end up in conftest.nvcc.
AC_DEFUN([FB_NVCC_TRY], [
  cat >conftest.cu <<'_FB_EOF'
__global__ void kernel(float *x) { x[[threadIdx.x]] = 1; }
extern "C" int start_kernel(float *x) { kernel<<<1, 1>>>(x); return (int)cudaGetLastError(); }
_FB_EOF
  AS_IF([$NVCC $NVCCFLAGS $1 -c -o conftest_cu.o conftest.cu >conftest.nvcc 2>&1], [$2], [
    AS_ECHO(["$NVCC $NVCCFLAGS $1:"]) >&AS_MESSAGE_LOG_FD
    cat conftest.nvcc >&AS_MESSAGE_LOG_FD
    $3])
])

# One entry of the list, "90" or "90a+PTX", as words for nvcc in fb_gencode.
AC_DEFUN([FB_GENCODE], [
  fb_base=`AS_ECHO(["$1"]) | sed 's/+PTX$//'`
  fb_gencode="-gencode arch=compute_$fb_base,code=sm_$fb_base"
  AS_CASE([$1], [*+PTX], [fb_gencode="-gencode arch=compute_$fb_base,code=[[sm_$fb_base,compute_$fb_base]]"])
])

AC_DEFUN([FB_CUDA_WORKS], [
  AC_MSG_CHECKING([whether $NVCC compiles])
  FB_NVCC_TRY([], [AC_MSG_RESULT([yes]) FB_CUDA_ARCHS], [
    AC_MSG_RESULT([no])
    fb_cuda_why=`grep -v '^ *$' conftest.nvcc | head -n 1`
    fb_cuda_why="$NVCC rejects a small kernel: $fb_cuda_why (if it is the host compiler that it rejects, choose another with NVCCFLAGS=-ccbin=PROGRAM)"])
  rm -f conftest*
])

# The capabilities of this machine's devices, "90" or "86 120", in fb_native.
AC_DEFUN([FB_CUDA_NATIVE], [
  AC_MSG_CHECKING([what this machine's devices are])
  fb_native=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed -n 's/^ *\([[0-9]]*\)\.\([[0-9]]\) *$/\1\2/p' | sort -un | tr '\n' ' '`
  AC_MSG_RESULT([${fb_native:-unknown}])
  AS_IF([test -n "$fb_native"], [], [AC_MSG_ERROR([--with-cuda-arch=native: nvidia-smi names no device])])
])

# One entry as a number, 90 for "90a+PTX", in fb_number.
AC_DEFUN([FB_ARCH_NUMBER], [fb_number=`AS_ECHO(["$1"]) | sed 's/[[^0-9]].*//'`])

# Cubins run on every later minor version of their major one, so 75, 80 and 90 make code for all
# devices from Turing to Hopper, and the PTX of 90 serves what is newer. Every entry is
# test-compiled: nvcc's own lists do not name the targets with a letter.
AC_DEFUN([FB_CUDA_ARCHS], [
  fb_cuda_archs=
  fb_cuda_asked=$with_cuda_arch
  fb_ptx_from=999
  AS_CASE([$with_cuda_arch],
    [auto], [fb_cuda_asked="75 80 90+PTX"],
    [native], [FB_CUDA_NATIVE
      fb_cuda_asked=$fb_native])
  for fb_arch in `AS_ECHO(["$fb_cuda_asked"]) | tr ',;' '  '`; do
    AC_MSG_CHECKING([whether $NVCC compiles for $fb_arch])
    FB_GENCODE([$fb_arch])
    FB_NVCC_TRY([$fb_gencode], [
      AC_MSG_RESULT([yes])
      AS_VAR_APPEND([fb_cuda_archs], ["${fb_cuda_archs:+,}$fb_arch"])
      AS_VAR_APPEND([CUDA_GENCODE], [" $fb_gencode"])
      FB_ARCH_NUMBER([$fb_arch])
      AS_IF([test $fb_number -ge 80], [AS_VAR_APPEND([CUDA_GENCODE_SM80], [" $fb_gencode"])])
      AS_IF([test $fb_number -ge 80 && test $fb_number -lt 90],
        [AS_VAR_APPEND([CUDA_GENCODE_SM80_SMALL], [" $fb_gencode"])])
      AS_CASE([$fb_arch], [*+PTX], [AS_IF([test $fb_number -lt $fb_ptx_from], [fb_ptx_from=$fb_number])])
    ], [
      AC_MSG_RESULT([no])
      fb_words=`grep -v '^ *$' conftest.nvcc | head -n 1`
      AS_IF([test "x$with_cuda_arch" = xauto], [],
        [AC_MSG_ERROR([--with-cuda-arch: $NVCC does not compile for "$fb_arch": $fb_words])])])
  done
  # A family without an architecture still links: its kernels are empty there, and the host refuses.
  AS_IF([test -n "$CUDA_GENCODE_SM80"], [], [CUDA_GENCODE_SM80=$CUDA_GENCODE])
  AS_IF([test -n "$CUDA_GENCODE_SM80_SMALL"], [], [CUDA_GENCODE_SM80_SMALL=$CUDA_GENCODE_SM80])
  FB_CUDA_FLAGS
  FB_GENCODE([90a])
  AC_MSG_CHECKING([whether $NVCC compiles for 90a])
  FB_NVCC_TRY([$fb_gencode], [CUDA_GENCODE_SM90=$fb_gencode])
  AS_IF([test -n "$CUDA_GENCODE_SM90"], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
  AS_IF([test -z "$fb_cuda_archs"], [fb_cuda_why="$NVCC compiles for none of $fb_cuda_asked"],
    [test -z "$CUDA_GENCODE_SM90"], [fb_cuda_why="$NVCC $fb_cuda_version does not know sm_90a: CUDA 12 or newer is needed"],
    [FB_CUDA_LINKS])
])

# Flags that all kernels are compiled with. Compressed, the machine code is a fifteenth of its size.
AC_DEFUN([FB_CUDA_FLAGS], [
  CUDA_NVCCFLAGS="-DFB_PTX_FROM=$fb_ptx_from"
  AS_IF([test "x$enable_lineinfo" != xno], [AS_VAR_APPEND([CUDA_NVCCFLAGS], [" -lineinfo"])])
  AC_MSG_CHECKING([whether $NVCC compresses machine code])
  FB_NVCC_TRY([-Xfatbin=-compress-all],
    [AS_VAR_APPEND([CUDA_NVCCFLAGS], [" -Xfatbin=-compress-all"])
     AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
])

AC_DEFUN([FB_CUDA_LINKS], [
  AC_MSG_CHECKING([whether $CC links an object of $NVCC])
  FB_NVCC_TRY([])
  fb_save_LIBS=$LIBS
  LIBS="conftest_cu.o $CUDA_LIBS $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[int start_kernel(float *);]], [[return start_kernel(0);]])],
    [fb_cuda=yes], [fb_cuda_why="$CC cannot link an object of $NVCC; see config.log"])
  LIBS=$fb_save_LIBS
  AC_MSG_RESULT([$fb_cuda])
])

# FB_HEAD_DIMS: --with-head-dims=LIST, the head sizes that families of CUDA variants are compiled for.
# Sets HEAD_DIMS, words, and the macro FB_FOR_EACH_HEAD_DIM(X).
AC_DEFUN([FB_HEAD_DIMS], [
  AC_ARG_WITH([head-dims],
    [AS_HELP_STRING([--with-head-dims=LIST],
      [head sizes that CUDA families are compiled for; default: 64,96,128,192,256])],
    [], [with_head_dims=64,96,128,192,256])
  HEAD_DIMS=
  fb_head_dim_calls=
  for fb_dim in `AS_ECHO(["$with_head_dims"]) | tr ',;' '  '`; do
    AS_CASE([$fb_dim], [16|32|64|80|96|112|128|160|192|224|256], [],
      [AC_MSG_ERROR([--with-head-dims: "$fb_dim" is none of 16 32 64 80 96 112 128 160 192 224 256])])
    AS_CASE([" $HEAD_DIMS "], [*" $fb_dim "*], [], [
      AS_VAR_APPEND([HEAD_DIMS], ["${HEAD_DIMS:+ }$fb_dim"])
      AS_VAR_APPEND([fb_head_dim_calls], [" X($fb_dim)"])])
  done
  AS_IF([test -n "$HEAD_DIMS"], [], [AC_MSG_ERROR([--with-head-dims needs a list, such as 64,128])])
  AC_DEFINE_UNQUOTED([FB_FOR_EACH_HEAD_DIM(X)], [$fb_head_dim_calls],
    [Calls X with each head size that families of CUDA variants are compiled for.])
  AC_SUBST([HEAD_DIMS])
])
