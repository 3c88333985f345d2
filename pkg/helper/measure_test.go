package helper

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMeasureReports(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "termination-log")
	if err := os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"db": 500, "db.tmp.12": 100, "db.tmp.34": 200} {
		if err := os.WriteFile(filepath.Join(dir, "member", "snap", name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (MeasureOptions{Dir: dir, Leftovers: "member/snap/db.tmp.*", Report: to}).Run(); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadFill(string(said))
	if err != nil || f.Leftovers != 2 || f.LeftoverBytes != 300 || f.Free <= 0 || f.Total < f.Free {
		t.Errorf("%+v, %v", f, err)
	}
	if err := (MeasureOptions{Dir: filepath.Join(dir, "none"), Report: to}).Run(); err == nil {
		t.Error("a directory that is not there was measured")
	}
	if _, err := ReadFill("out of words"); err == nil {
		t.Error("no report was read")
	}
}
