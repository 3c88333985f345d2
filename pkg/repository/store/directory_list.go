package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const pageSize = 1000

// List walks the directory in the order of keys. The token is the last key of the page before.
func (d *Directory) List(ctx context.Context, prefix, token string) (Page, error) {
	if err := checkPrefix(prefix); err != nil {
		return Page{}, err
	}
	w := walk{ctx: ctx, store: d, prefix: prefix, after: token}
	// Nothing outside the directory part of the prefix can match.
	start := ""
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		start = prefix[:i]
	}
	if err := w.directory(start); err != nil && !errors.Is(err, errPageFull) {
		return Page{}, d.explain(err, "list "+prefix)
	}
	return w.page, nil
}

var errPageFull = errors.New("page is full")

// walk collects one page.
type walk struct {
	ctx           context.Context
	store         *Directory
	prefix, after string
	page          Page
}

func (w *walk) directory(key string) error {
	entries, err := os.ReadDir(w.store.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	// A directory comes where its keys do, which is behind "name-" and before "name0".
	order := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(order(a), order(b)) })
	for _, e := range entries {
		if err := w.entry(path.Join(key, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(key string, e fs.DirEntry) error {
	if !validSegment(path.Base(key)) {
		return nil // unfinished, or not of this tool
	}
	if e.IsDir() {
		below := key + "/"
		outside := !strings.HasPrefix(below, w.prefix) && !strings.HasPrefix(w.prefix, below)
		if outside || w.after > below && !strings.HasPrefix(w.after, below) {
			return nil
		}
		return w.directory(key)
	}
	if key <= w.after || !strings.HasPrefix(key, w.prefix) || !e.Type().IsRegular() {
		return nil
	}
	info, err := os.Stat(filepath.Join(w.store.root, filepath.FromSlash(key)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	if n := len(w.page.Objects); n == pageSize {
		w.page.Next = w.page.Objects[n-1].Key
		return errPageFull
	}
	w.page.Objects = append(w.page.Objects, Object{Key: key, Size: info.Size(), Modified: info.ModTime()})
	return nil
}
