package archive

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tree reads a directory of the machine as the root of an image.
func tree(root string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{mode: int64(info.Mode().Perm())}
		if e.name, err = filepath.Rel(root, path); err != nil {
			return err
		}
		switch {
		case d.IsDir():
			e.name += "/"
		case d.Type() == fs.ModeSymlink:
			e.link, err = os.Readlink(path)
		case d.Type().IsRegular():
			e.content, err = os.ReadFile(path)
		default:
			err = fmt.Errorf("%s is neither a file nor a directory nor a link", path)
		}
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree of an image: %w", err)
	}
	return entries, nil
}
