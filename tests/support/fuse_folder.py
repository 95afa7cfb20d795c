#!/usr/bin/python3
"""Shows a folder through FUSE until it is unmounted: fuse_folder.py FOLDER MOUNTPOINT."""

import errno
import os
import sys

from fusepy import FUSE, FuseOSError, Operations


class Folder(Operations):
    def __init__(self, root):
        self.root = root

    def _at(self, path):
        return self.root + path

    def getattr(self, path, fh=None):
        try:
            found = os.lstat(self._at(path))
        except OSError as why:
            raise FuseOSError(why.errno) from None
        names = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
        return {name: getattr(found, name) for name in names}

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self._at(path))]

    def mkdir(self, path, mode):
        os.mkdir(self._at(path), mode)

    def chmod(self, path, mode):
        os.chmod(self._at(path), mode)

    def create(self, path, mode, fi=None):
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT, mode)

    def open(self, path, flags):
        return os.open(self._at(path), flags)

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self._at(path), length)

    def unlink(self, path):
        os.unlink(self._at(path))

    def release(self, path, fh):
        os.close(fh)

    def statfs(self, path):
        found = os.statvfs(self._at(path))
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_frsize", "f_namemax")
        return {name: getattr(found, name) for name in names}

    def rename(self, old, new):
        raise FuseOSError(errno.EXDEV)


if __name__ == "__main__":
    FUSE(Folder(sys.argv[1]), sys.argv[2], foreground=True, nothreads=True)
