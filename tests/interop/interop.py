#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the cases of the folder `cases` against SCTP stacks and compares what it sees with expected.tsv.

Usage: interop.py [-v] [-w] [-c PATTERN] [STACK=PROGRAM]...
  -v            print each case
  -w            write expected.tsv again; sentences stay
  -c PATTERN    only cases whose name has this regular expression in it
  STACK         user, usrsctp or linux; PROGRAM talks as host.h says

A verdict is "ok", "-" (the case is not for this stack), or what was seen instead and in which line of the case. A line of
expected.tsv with a difference has a sentence that says why. Exit status: 1 for a verdict that is not the expected one; one that
has become "ok" is only printed, because another version of a stack may be better."""
import getopt
import os
import re
import sys

import script

FOLDER = os.path.dirname(os.path.abspath(__file__))
TABLE = f'{FOLDER}/expected.tsv'
STACKS = ['user', 'usrsctp', 'linux']
COLUMNS = ['case', 'row', *STACKS, 'sentence']
refusals = []


def refuse(text):
    refusals.append(text)
    print(f'FAILED: {text}')


def read_table(path, columns):
    with open(path, encoding='utf-8') as f:
        lines = f.read().splitlines()
    if lines[0].split('\t') != columns:
        sys.exit(f'{path}: the first line is not {columns}')
    return [dict(zip(columns, line.split('\t'))) for line in lines[1:]]


def read_cases():
    cases, rows = {}, set()
    with open(f'{FOLDER}/../conformance/rows-sctp.tsv', encoding='utf-8') as f:
        rows = {line.split('\t')[0] for line in f}
    for name in sorted(os.listdir(f'{FOLDER}/cases')):
        for case in script.read(f'{FOLDER}/cases/{name}'):
            if case.name in cases:
                sys.exit(f'{name}:{case.line}: there are two cases "{case.name}"')
            if case.row not in rows:
                sys.exit(f'{name}:{case.line}: there is no row {case.row}')
            cases[case.name] = case
    return cases


def differs(line):
    return any(line[s] not in ('ok', '-') for s in STACKS)


def check_table(cases, table):
    """Each case has a line, each difference a sentence."""
    for name in cases.keys() ^ table.keys():
        refuse(f'expected.tsv: "{name}" is not in both, the cases and the table (-w writes it)')
    for name, line in table.items():
        if differs(line) != (line.get('sentence', '') != ''):
            refuse(f'expected.tsv: "{name}": a sentence belongs to a difference')


def is_for(case, stack):
    return not case.only or stack in case.only.split(',')


def run_stack(stack, program, cases, table, options):
    """The verdicts by case."""
    seen = {}
    for case in cases:
        seen[case.name] = script.run(case, program) if is_for(case, stack) else '-'
        if '-v' in options:
            print(f'{stack:8}{case.name}: {seen[case.name]}', flush=True)
        wanted = table.get(case.name, {}).get(stack, 'ok')
        if seen[case.name] == 'ok' != wanted and '-w' not in options:
            print(f'{stack}: {case.name}: ok; expected: {wanted}')
        elif seen[case.name] != wanted and '-w' not in options:
            refuse(f'{stack}: {case.name}: {seen[case.name]}; expected: {wanted}')
        if stack == 'user' and seen[case.name] == 'ok':
            print(f'row {case.row}: {case.name}')
    ok, other = (sum((v == 'ok') == x for v in seen.values() if v != '-') for x in (True, False))
    print(f'{stack}: {ok + other} cases, {ok} ok, {other} differ')
    return seen


def write_table(cases, table, seen):
    with open(TABLE, 'w', encoding='utf-8') as f:
        print(*COLUMNS, sep='\t', file=f)
        for name, case in cases.items():
            old = table.get(name, {})
            line = {s: '-' if not is_for(case, s) else seen.get(s, {}).get(name, old.get(s, 'ok')) for s in STACKS}
            sentence = old.get('sentence', '') if differs(line) else ''
            words = [name, case.row, *(line[s] for s in STACKS)]
            print(*words, *[sentence] * (sentence != ''), sep='\t', file=f)


def main():
    try:
        options, programs = getopt.getopt(sys.argv[1:], 'vwc:h')
    except getopt.GetoptError as e:
        sys.exit(f'interop.py: {e}')
    options = dict(options)
    if '-h' in options:
        print(__doc__)
        return 0
    cases = read_cases()
    table = {line['case']: line for line in read_table(TABLE, COLUMNS)} if os.path.exists(TABLE) else {}
    if '-w' not in options:
        check_table(cases, table)
    chosen = [c for c in cases.values() if re.search(options.get('-c', ''), c.name)]
    seen = {}
    for word in programs:
        stack, _, program = word.partition('=')
        if stack not in STACKS:
            sys.exit(f'interop.py: there is no stack "{stack}"')
        seen[stack] = run_stack(stack, program, chosen, table, options)
    if '-w' in options:
        write_table(cases, table, seen)
    return 1 if refusals else 0


if __name__ == '__main__':
    sys.exit(main())
