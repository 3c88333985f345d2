package helper

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// TestInPlace: the command reads the file where the repository keeps it, so a volume needs room for what it makes
// alone; and damage is told rather than what the command says.
func TestInPlace(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	for name, c := range map[string]struct {
		mode    string
		damaged bool
		room    int64
		want    error
	}{
		"whole":                  {mode: "copy"},
		"damaged":                {mode: "copy", damaged: true, want: repository.ErrDamaged},
		"the command fails":      {mode: "fail", want: ErrCommand},
		"damaged, and it fails":  {mode: "fail", damaged: true, want: repository.ErrDamaged},
		"it makes nothing":       {mode: "nothing", want: ErrCommand},
		"a volume one too small": {mode: "copy", room: -1, want: ErrVolumeFull},
	} {
		t.Run(name, func(t *testing.T) {
			repo, file := holding(t, data)
			if c.damaged {
				other := bytes.Clone(data)
				other[len(other)-1]++
				if err := os.WriteFile(file, other, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := options(t, c.mode)
			r := newReceiver(o)
			r.free = func(string) (int64, error) { return int64(len(data)) + o.Margin + c.room, nil }
			if err := r.fetch(t.Context(), repo, fetched); !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(o.Into, "db"))
			if c.want == nil && (err != nil || !bytes.Equal(got, data)) {
				t.Errorf("loaded %d bytes, %v", len(got), err)
			}
			if left := volume(t, o); c.want != nil && len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// TestFetchedFile: a backup of a repository that has no files is stored beside the data, as one that is sent.
func TestFetchedFile(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	repo, file := holding(t, data)
	o := options(t, "copy")
	r := newReceiver(o)
	r.free = func(string) (int64, error) { return 2*int64(len(data)) + o.Margin, nil }
	if err := r.fetch(t.Context(), struct{ repository.Repository }{repo}, fetched); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("loaded %d bytes, %v", len(got), err)
	}
	if err := os.WriteFile(file, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newReceiver(options(t, "copy")).fetch(t.Context(), struct{ repository.Repository }{repo},
		fetched); !errors.Is(err, repository.ErrDamaged) {
		t.Errorf("%v", err)
	}
}
