package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/retinue-dev/retinue/internal/tool"
)

// fileBytes is the size of the largest file to read.
const fileBytes = 32 << 20

// openFlags keep a named pipe from blocking the process that opens it.
const openFlags = syscall.O_NONBLOCK

// open opens a regular file below a root, and nothing else.
func open(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info) // the file may have been replaced since the check
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// regular refuses anything but a file of a readable size.
func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return tool.Refuse("%s is a folder: list_dir shows what is in it", show(info.Name()))
	case !info.Mode().IsRegular():
		return tool.Refuse("%s is %s, not a file: it cannot be read", show(info.Name()), special(info.Mode()))
	case info.Size() > fileBytes:
		return tool.Refuse("%s has %d bytes, more than the %d that are read", show(info.Name()), info.Size(), fileBytes)
	}
	return nil
}

// special names the kind of an entry that is neither a file nor a folder.
func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// readTries is how often a file that changes meanwhile is read before it is given up.
const readTries = 3

// read passes the whole content of a file to use. If use shows a part of it, the file is read a
// second time, and use is called again if the file has changed. The last call counts.
func read(ctx context.Context, f *os.File, use func(data []byte) bool) (tool.File, error) {
	for range readTries {
		before, err := f.Stat()
		if err != nil {
			return tool.File{}, err
		}
		data, err := load(ctx, f, before.Size())
		if err != nil {
			return tool.File{}, err
		}
		if !use(data) {
			return tool.File{}, nil
		}
		hash, again := sha256.New(), sha256.New()
		if err := errors.Join(copyAll(ctx, hash, bytes.NewReader(data)), copyAll(ctx, again, f)); err != nil {
			return tool.File{}, err
		}
		after, err := f.Stat()
		if err != nil {
			return tool.File{}, err
		}
		if bytes.Equal(hash.Sum(nil), again.Sum(nil)) && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) {
			return tool.File{Hash: hex.EncodeToString(hash.Sum(nil)), Bytes: int64(len(data))}, nil
		}
	}
	return tool.File{}, tool.Refuse("the file changed while it was read, %d times in a row: call again when it is at rest", readTries)
}

func load(ctx context.Context, f *os.File, size int64) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(min(size, fileBytes)) + bytes.MinRead)
	err := copyAll(ctx, &buf, f)
	return buf.Bytes(), err
}

// copyAll copies from the beginning, in steps between which ctx is heard.
func copyAll(ctx context.Context, to io.Writer, from io.ReaderAt) error {
	const step = 1 << 20
	for at := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if at > fileBytes {
			return tool.Refuse("the file grew over the %d bytes that are read", fileBytes)
		}
		n, err := io.Copy(to, io.NewSectionReader(from, at, step))
		at += n
		if err != nil {
			return err
		}
		if n < step {
			return nil
		}
	}
}

// binary says what kind of binary a content is; of text it says nothing.
func binary(data []byte) string { return tool.Binary(data) }

// refuseBinary is the answer to a call that wants to read a binary file.
func refuseBinary(name, kind string, size int) error {
	return tool.Refuse("%s is binary (%s, %d bytes): only text can be read", show(name), kind, size)
}

// atLine ends an answer that is not complete.
func atLine(format string, args ...any) string { return tool.Note(format, args...) }
