# SPDX-License-Identifier: BSD-2-Clause

# DDP_REQUIRE(VAR, MODULE, DEBIAN-PACKAGE)
# A library that the build cannot do without.
AC_DEFUN([DDP_REQUIRE],
	[PKG_CHECK_MODULES([$1], [$2], [],
		[AC_MSG_ERROR([$2 was not found. On Debian: apt-get install $3])])])

# DDP_OPTIONAL(VAR, MODULE)
# Sets have_VAR to the version that was found, or to "no".
AC_DEFUN([DDP_OPTIONAL],
	[PKG_CHECK_MODULES([$1], [$2],
		[have_$1=$($PKG_CONFIG --modversion "$2" | sed 's/ .*//')],
		[have_$1=no])])

# DDP_FOLDER(VAR, WHAT, DEFAULT)
# An option --with-VAR=DIR for where WHAT; the default is under the prefix.
AC_DEFUN([DDP_FOLDER],
	[AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [where $2 @<:@PREFIX/$3@:>@])],
		[], [with_$1='${prefix}/$3'])
	AC_SUBST([$1], [$with_$1])])

# DDP_ADD_CFLAG(FLAG)
# Adds a flag to DDP_CFLAGS if the compiler knows it.
AC_DEFUN([DDP_ADD_CFLAG],
	[ddp_saved_cflags=$CFLAGS
	CFLAGS="$CFLAGS -Werror $1"
	AC_MSG_CHECKING([whether $CC knows $1])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
		[AC_MSG_RESULT([yes]); DDP_CFLAGS="$DDP_CFLAGS $1"],
		[AC_MSG_RESULT([no])])
	CFLAGS=$ddp_saved_cflags])

# DDP_SANITIZER(OPTION, WORDS, FLAGS)
AC_DEFUN([DDP_SANITIZER],
	[AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [build with the $2 sanitizer])],
		[], [enable_$1=no])
	AS_IF([test "$enable_$1" = yes],
		[DDP_CFLAGS="$DDP_CFLAGS -fno-omit-frame-pointer $3"
		DDP_LDFLAGS="$DDP_LDFLAGS $3"
		AS_IF([test "$ddp_sanitizers" = none], [ddp_sanitizers=$2],
			[ddp_sanitizers="$ddp_sanitizers, $2"])])])

# DDP_LTO
# Optimization of the daemon and of each library as a whole. The objects have ordinary code, too, with which
# tests and tools are linked: that is faster. Other compilers than gcc have no such objects.
AC_DEFUN([DDP_LTO],
	[AC_ARG_ENABLE([lto],
		[AS_HELP_STRING([--disable-lto],
			[do not optimize across files (default with --enable-werror and with sanitizers)])],
		[],
		[AS_IF([test "$enable_werror$ddp_sanitizers" = nonone], [enable_lto=yes], [enable_lto=no])])
	AS_IF([test "$enable_lto" != no],
		[ddp_saved_cflags=$CFLAGS
		CFLAGS="$CFLAGS -Werror -flto=auto -ffat-lto-objects"
		AC_MSG_CHECKING([whether $CC optimizes across files])
		AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [enable_lto=yes], [enable_lto=no])
		AC_MSG_RESULT([$enable_lto])
		CFLAGS=$ddp_saved_cflags])
	AS_IF([test "$enable_lto" = yes],
		[DDP_CFLAGS="$DDP_CFLAGS -flto=auto -ffat-lto-objects"
		NO_LTO_LDFLAGS=-fno-lto])
	AC_SUBST([NO_LTO_LDFLAGS])])

# DDP_COMPILER_FLAGS
# The flags of every file of the project, in DDP_CFLAGS and DDP_LDFLAGS.
AC_DEFUN([DDP_COMPILER_FLAGS],
	[DDP_CFLAGS="-std=gnu11 -pthread"
	DDP_LDFLAGS=
	ddp_sanitizers=none
	m4_foreach_w([ddp_flag],
		[-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -fvisibility=hidden],
		[DDP_ADD_CFLAG(ddp_flag)
		])
	AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
		[], [enable_werror=no])
	AS_IF([test "$enable_werror" = yes], [DDP_CFLAGS="$DDP_CFLAGS -Werror"])
	DDP_SANITIZER([asan], [address], [-fsanitize=address])
	DDP_SANITIZER([ubsan], [undefined], [-fsanitize=undefined -fno-sanitize-recover=undefined])
	DDP_SANITIZER([tsan], [thread], [-fsanitize=thread])
	DDP_LTO
	AC_SUBST([ddp_sanitizers])
	AC_SUBST([DDP_CFLAGS])
	AC_SUBST([DDP_LDFLAGS])])
