//go:build linux

package appendonly

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// TestGrown notes where the files of a copy end, and counts what is appended after that, whatever a rewrite left.
func TestGrown(t *testing.T) {
	t.Parallel()
	const removed = -1 // a file of which nobody knows how long it was
	for name, c := range map[string]struct {
		noted, found map[int]int
		// want is at least so much, and exactly so much if no file was removed.
		want int
	}{
		"nothing":                        {map[int]int{1: 100}, map[int]int{1: 100}, 0},
		"one file":                       {map[int]int{1: 100}, map[int]int{1: 150}, 50},
		"a partial write was cut off":    {map[int]int{1: 100}, map[int]int{1: 90}, 0},
		"a rewrite began":                {map[int]int{1: 100}, map[int]int{1: 150, 2: 30}, 80},
		"during a rewrite":               {map[int]int{1: 100, 2: 10}, map[int]int{1: 100, 2: 30}, 20},
		"a rewrite failed, another one":  {map[int]int{1: 100, 2: 10}, map[int]int{1: 100, 2: 30, 3: 5}, 25},
		"no rewrite could begin":         {map[int]int{1: 100, 2: 0}, map[int]int{1: 170, 2: 0}, 70},
		"one began after all":            {map[int]int{1: 100, 2: 0}, map[int]int{1: 170, 2: 40}, 110},
		"a rewrite ended":                {map[int]int{1: 100}, map[int]int{2: 30}, removed},
		"a rewrite ended that went on":   {map[int]int{1: 100, 2: 10}, map[int]int{2: 30}, removed},
		"several ended":                  {map[int]int{1: 100}, map[int]int{4: 30}, removed},
		"no file grew yet":               {nil, map[int]int{1: 30}, removed},
		"the first file has no number 1": {map[int]int{7: 100}, map[int]int{7: 100, 8: 5}, 5},
		"no file is left":                {map[int]int{7: 100}, nil, removed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			dir := filepath.Dir(datadir.Manifest(data))
			write := func(files map[int]int) {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				for number, size := range files {
					path := filepath.Join(dir, datadir.AppendFile+"."+strconv.Itoa(number)+".incr.aof")
					if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			var id datadir.Identity
			write(c.noted)
			Note(&id, 1, End(data))
			write(c.found)
			got := int64(Grown(data, id))
			if c.want == removed {
				if whole := volumeSize(data); got < whole-id.Appended || got > 4*whole {
					t.Errorf("%d bytes were appended at most, on a volume of %d", got, whole)
				}
			} else if got != int64(c.want) {
				t.Errorf("%d bytes were appended, want %d", got, c.want)
			}
		})
	}
	if got := volumeSize("/nowhere"); got != noVolume {
		t.Errorf("no volume has %d bytes", got)
	}
}
