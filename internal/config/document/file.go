package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// FileCap is the most that a file may hold.
const FileCap = 256 << 10

// ReadFile reads a regular file of bounded size.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, Plain(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, Plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not an ordinary file")
	}
	data, err := io.ReadAll(io.LimitReader(f, FileCap+1))
	if err != nil {
		return nil, Plain(err)
	}
	if len(data) > FileCap {
		return nil, fmt.Errorf("it is larger than %d KiB", FileCap>>10)
	}
	return data, nil
}

// Plain drops the operation and the path from an error of the file system: a warning names them.
func Plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
