# SPDX-License-Identifier: MIT OR Apache-2.0
"""An ext2 file system with a directory of very many entries and no index, in which everything is looked for entry by
entry. Linux takes time in proportion to the square of their number to make them; this writes the directory as a file,
and makes a directory of it."""

import re
import shutil
import struct
import subprocess

BLOCK = 4096
NAME = "entry-{:018d}"  # each block is full: of 32 bytes
LINKS_MAX = 30000       # to one file
REGULAR, DIRECTORY = 1, 2
ROOT_INODE = 2


class NoImage(Exception):
    """It could not be made, and why."""


def _run(*command, accepted=(0,)):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NoImage(f"{command[0]} is missing (e2fsprogs)") from error
    if done.returncode not in accepted:
        raise NoImage(f"{' '.join(command)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _entry(inode, name, kind, length):
    return struct.pack("<IHBB", inode, length, len(name), kind) + name.ljust(length - 8, b"\0")


def _needs(name):
    return 8 + (len(name) + 3) // 4 * 4


def _directory(own_inode, entries):
    """Its blocks. The last entry of each reaches to the block's end."""
    blocks, block = [], []
    left = BLOCK

    def close():
        inode, name, kind = block.pop()
        packed = b"".join(_entry(*one, _needs(one[1])) for one in block)
        blocks.append(packed + _entry(inode, name, kind, BLOCK - len(packed)))
        block.clear()

    for one in [(own_inode, b".", DIRECTORY), (ROOT_INODE, b"..", DIRECTORY), *entries]:
        if _needs(one[1]) > left:
            close()
            left = BLOCK
        block.append(one)
        left -= _needs(one[1])
    close()
    return b"".join(blocks)


def _inode(image, path):
    return int(re.search(r"Inode: (\d+)", _run("debugfs", "-R", f"stat {path}", str(image))).group(1))


def make(image, large, others, entries):
    """An image with the directory `large` of so many entries, and with empty ones."""
    tree = image.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    targets = [f"target-{number}" for number in range(-(-entries // LINKS_MAX))]
    for name in others:
        (tree / name).mkdir(parents=True)
    for name in targets:
        (tree / name).touch()
    size_kib = entries * 32 // 1024 * 102 // 100 + 1024
    image.unlink(missing_ok=True)
    _run("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", str(BLOCK), "-m", "0",
         "-N", "1024", "-d", str(tree), str(image), f"{size_kib}k")
    shutil.rmtree(tree)
    inodes = [_inode(image, f"/{name}") for name in targets]
    free = max([ROOT_INODE, *inodes, *(_inode(image, f"/{name}") for name in others)]) + 1
    content = image.with_suffix(".directory")
    content.write_bytes(_directory(free, [(inodes[number // LINKS_MAX], NAME.format(number).encode(), REGULAR)
                                          for number in range(entries)]))
    _run("debugfs", "-w", "-R", f"write {content} {large}", str(image))
    content.unlink()
    _run("debugfs", "-w", "-R", f"set_inode_field /{large} mode 040755", str(image))
    _run("e2fsck", "-fy", str(image), accepted=(0, 1)) # counts links and directories anew
    _run("e2fsck", "-fn", str(image))
    listed = _run("debugfs", "-R", f"ls -p /{large}", str(image)).count("/entry-")
    if listed != entries:
        raise NoImage(f"{image} has {listed} of {entries} entries")
