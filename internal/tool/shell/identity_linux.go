package shell

import (
	"io/fs"
	"syscall"
)

// kernelIdentity is a file's inode and the time of its last change of any kind, in nanoseconds.
func kernelIdentity(info fs.FileInfo) (inode uint64, status int64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino, s.Ctim.Nano()
	}
	return 0, 0
}
