#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Promise: ddpcp copies several files, trees, pipes, modes, times, links and holes, leaves out unchanged files, goes on
# with a part of the same file only, tells by its exit status what it left out, writes nothing outside of its folder, and
# takes memory in proportion to the files.
# shellcheck source=lib.sh
. "${top_srcdir:-.}/tests/system/lib.sh"
needs ddpsctpd ddpctl ddpcp

a=$(address 0)
daemon a "$a"
mkdir "$tmp/in" "$tmp/out" "$tmp/outside"
server copy a "$ddpcp" --socket "$(socket_of a)" serve --root "$tmp/in"
cp_() { "$ddpcp" --socket "$(socket_of a)" "$@" >"$tmp/cp.log" 2>&1; }
said() { grep -qF -- "$1" "$tmp/cp.log" || fail "ddpcp did not say: $1"; }

# A small file takes the memory that it needs, and not all that large ones may have.
peak() { sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB$/\1/p' "/proc/$(pid_of copy)/status"; }
peak=$(peak)
echo small >"$tmp/small"
cp_ put "$tmp/small" "$a:" || fail "put of a small file: $(cat "$tmp/cp.log")"
[ "$(peak)" -lt $((peak + 8 * 1024)) ] || fail "a file of 6 bytes took $(($(peak) - peak)) kB of the server"
rm "$tmp/small" "$tmp/in/small"

# A tree there and back: a link and a pipe in it are skipped, modes and times are kept, one file fails alone.
mkdir -p "$tmp/tree/sub/empty"
echo one >"$tmp/tree/one" && : >"$tmp/tree/nothing" && head -c 5000 /dev/urandom >"$tmp/tree/sub/two"
chmod 0604 "$tmp/tree/one" && chmod 0705 "$tmp/tree/sub"
touch -d '2001-02-03 04:05:06.789' "$tmp/tree/one" "$tmp/tree/sub/empty" "$tmp/tree/sub" "$tmp/tree"
ln -s one "$tmp/tree/link" && mkfifo "$tmp/tree/fifo" || fail 'ln, mkfifo'
touch -d '2001-02-03 04:05:06.789' "$tmp/tree"
umask 077
cp_ -r -p put "$tmp/tree" "$a:"
[ $? -eq 1 ] || fail 'put -r of a link and a pipe: the exit status does not tell'
said 'link: skipped: a symbolic link (-a copies it)'
said 'fifo: skipped: not a regular file'
said 'put: 3 files, 0.0 MB in '
said ', 2 skipped'
mkdir "$tmp/back"
cp_ -r -p get "$a:tree" "$tmp/back" || fail 'get -r'
rm "$tmp/tree/link" "$tmp/tree/fifo"
touch -d '2001-02-03 04:05:06.789' "$tmp/tree"
listed() { (cd "$1" && find . -printf '%p %y %m %T@\n' | sort); }
diff -r "$tmp/tree" "$tmp/back/tree" || fail 'the tree differs'
diff <(listed "$tmp/tree") <(listed "$tmp/back/tree") || fail 'modes or times differ'
cp_ get "$a:tree" "$tmp/out" && fail 'get of a directory without -r'
said 'tree: is a directory: -r copies it'
cp_ put "$tmp/tree/one" "$a:plain" || fail 'put'
[ "$(stat -c %a "$tmp/in/plain")" = 604 ] || fail 'the server has another umask' # 022: it started before umask

# -a: links of both kinds and their times, sparse files; a second copy finds all unchanged, and one file that is not.
mkdir -p "$tmp/all/sub" "$tmp/all/many"
echo one >"$tmp/all/one" && ln "$tmp/all/one" "$tmp/all/sub/hard" && ln -s sub/hard "$tmp/all/soft" && ln -s ../one "$tmp/all/sub/up"
ln -s "$tmp/outside" "$tmp/all/absolute" && ln -s ../../outside "$tmp/all/away" || fail ln
truncate -s 3M "$tmp/all/small-hole" && echo x >>"$tmp/all/small-hole"
truncate -s 64M "$tmp/all/hole" && echo end >>"$tmp/all/hole" && truncate -s 100M "$tmp/all/hole"
head -c 5000001 /dev/urandom >"$tmp/all/large"
for i in $(seq 300); do echo "$i" >"$tmp/all/many/$i"; done
touch -h -d '2002-03-04 05:06:07.891' "$tmp"/all/*
touch -d '2001-02-03 04:05:06.789' "$tmp/all" "$tmp/all/sub" "$tmp/all/many"
cp_ -a put "$tmp/all" "$a:"
[ $? -eq 1 ] || fail 'put -a of links that lead out: the exit status does not tell'
said 'all/absolute: '
said 'the link leads out of the folder: its target is absolute'
said 'all/away: '
said 'put: 304 files, '
said ', 3 links, 2 failed'
[ "$(wc -l <"$tmp/cp.log")" -eq 3 ] || fail 'put -a says more than a summary and the failures'
rm "$tmp/all/absolute" "$tmp/all/away"
touch -d '2001-02-03 04:05:06.789' "$tmp/all" "$tmp/in/all"
same_tree() { diff -r --no-dereference "$1" "$2" && diff <(listed "$1") <(listed "$2"); }
same_tree "$tmp/all" "$tmp/in/all" || fail 'put -a: the tree differs'
[ "$tmp/in/all/one" -ef "$tmp/in/all/sub/hard" ] || fail 'put -a: a hard link is a copy'
[ "$(stat -c %b "$tmp/in/all/hole")" -lt 1000 ] || fail 'put -a: a sparse file is not sparse'
[ "$(stat -c %b "$tmp/in/all/small-hole")" -lt 1000 ] || fail 'put -a: a small sparse file is not sparse'
cp_ -a put "$tmp/all" "$a:" || fail 'put -a again'
said 'put: 0 files, 0.0 MB in '
said ', 3 links, 304 unchanged'
same_tree "$tmp/all" "$tmp/in/all" || fail 'put -a again: the tree differs'
echo two >"$tmp/all/many/7"
cp_ -a --no-sync put "$tmp/all" "$a:" || fail 'put -a of a change'
said 'put: 1 file, '
same_tree "$tmp/all" "$tmp/in/all" || fail 'put -a of a change: the tree differs'
cp_ -a -I put "$tmp/all" "$a:" || fail 'put -a -I'
said 'put: 304 files, '
for round in 1 2; do
	cp_ -a get "$a:all" "$tmp/back" || fail "get -a, round $round"
	same_tree "$tmp/all" "$tmp/back/all" || fail "get -a: the tree differs, round $round"
	[ "$tmp/back/all/one" -ef "$tmp/back/all/sub/hard" ] || fail 'get -a: a hard link is a copy'
	[ "$(stat -c %b "$tmp/back/all/hole")" -lt 1000 ] || fail 'get -a: a sparse file is not sparse'
done
said ', 3 links, 304 unchanged'
cp_ -v -I -a get "$a:all" "$tmp/back" || fail 'get -v'
[ "$(grep -c '^get many/.* SHA-256 ' "$tmp/cp.log")" -eq 300 ] || fail 'get -v: not a line for each file'
eventually 10 sh -c "! ls -A '$tmp/in' '$tmp/in/all' '$tmp/back/all' | grep '[.]ddpcp-'" || fail 'a part is left'

# Several files; one that does not exist and one that is refused do not stop the others.
mkdir "$tmp/in/dir" "$tmp/in/dir/one"
cp_ put "$tmp/none" "$tmp/tree/one" "$tmp/tree/sub/two" "$a:dir" && fail 'put of a missing file'
said 'none: no such file'
said '5045: is a directory'
cmp "$tmp/tree/sub/two" "$tmp/in/dir/two" || fail 'the other file was not copied'
cp_ get "$a:plain" "$a:nothing-there" "$a:dir/two" "$tmp/out" && fail 'get of a missing file'
cmp "$tmp/tree/one" "$tmp/out/plain" && cmp "$tmp/tree/sub/two" "$tmp/out/two" || fail 'get of several files'

# A small and a large file of one name, of which the first has no name yet: the later one counts.
mkdir "$tmp/small" "$tmp/large"
echo small >"$tmp/small/same" && head -c 5000000 /dev/urandom >"$tmp/large/same"
cp_ put "$tmp/small/same" "$tmp/large/same" "$a:dir" || fail 'two files of one name'
cmp "$tmp/large/same" "$tmp/in/dir/same" || fail 'not the last of two files of one name'
cp_ put "$tmp/large/same" "$tmp/small/same" "$tmp/small/same" "$a:dir" || fail 'three files of one name'
cmp "$tmp/small/same" "$tmp/in/dir/same" || fail 'not the last of three files of one name'

# Pipes: sizes below, at and beyond a chunk.
for size in 0 4194304 9000001; do
	head -c $size /dev/urandom >"$tmp/sent"
	# shellcheck disable=SC2002 # a pipe and not a file is the point
	cat "$tmp/sent" | cp_ put - "$a:piped" || fail "put from a pipe, $size bytes"
	"$ddpcp" --socket "$(socket_of a)" -q get "$a:piped" - 2>"$tmp/cp.log" | cmp - "$tmp/sent" || fail "get to a pipe, $size bytes"
done

# A part of the same file is used, a part of another one is not, and one that another user could have made is refused.
for side in put get; do
	if [ $side = put ]; then part=$tmp/in/.ddpcp-big; else part=$tmp/out/.ddpcp-big; fi
	copy() {
		if [ $side = put ]; then cp_ put "$tmp/sent" "$a:big" && cmp "$tmp/sent" "$tmp/in/big"; else
			cp_ get "$a:big" "$tmp/out" && cmp "$tmp/sent" "$tmp/out/big"
		fi
	}
	head -c 5000000 "$tmp/sent" >"$part"
	copy || fail "$side with a part"
	said '(4194304 already copied)'
	{ head -c 10 /dev/zero && head -c 10000000 "$tmp/sent"; } >"$part"
	copy || fail "$side with a part of another file"
	grep -q 'already copied' "$tmp/cp.log" && fail "$side uses a part of another file"
	[ ! -e "$part" ] || fail "$side leaves a part"
	echo secret >"$tmp/outside/file"
	for link in -sf -f; do
		ln $link "$tmp/outside/file" "$part" || fail ln
		copy && fail "$side writes through a link"
		said 'remove it'
		rm "$part"
	done
	[ "$(cat "$tmp/outside/file")" = secret ] || fail "$side wrote outside"
done

# A copy that is interrupted leaves a part, which the next one completes.
head -c 30000000 /dev/urandom >"$tmp/long"
part=$tmp/in/.ddpcp-long
background one "$ddpcp" --socket "$(socket_of a)" put "$tmp/long" "$a:long"
has_chunk() { [ "$(stat -c %s "$part" 2>/dev/null || echo 0)" -ge 4194304 ]; }
eventually 10 eval 'has_chunk || gone "$(pid_of one)"'
kill -KILL "$(pid_of one)" 2>/dev/null
eventually 10 gone "$(pid_of one)"
free_again() { cp_ put "$tmp/long" "$a:long"; }
eventually 10 free_again || fail 'put after an interruption'
cmp "$tmp/long" "$tmp/in/long" || fail 'the file differs after an interruption'
[ ! -e "$part" ] || fail 'the part remains'

# A server cannot be led out of its root by links in it.
ln -s ../outside "$tmp/in/way" && ln -s "$tmp/outside/file" "$tmp/in/leak" || fail ln
for name in way/new leak/x; do cp_ put "$tmp/tree/one" "$a:$name" && fail "put to $name"; done
cp_ -r put "$tmp/tree" "$a:way" && fail 'put -r to a link'
[ "$(ls "$tmp/outside")" = file ] && [ "$(cat "$tmp/outside/file")" = secret ] || fail 'a file outside of the root was written'
stop copy || fail "server: exit status $?"
stop a || fail "daemon: exit status $?"
