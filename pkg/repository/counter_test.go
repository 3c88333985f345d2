package repository

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestCounter(t *testing.T) {
	var in, out []int64
	r := Counter{Report: func(n int64) { in = append(in, n) }}
	w := Counter{Report: func(n int64) { out = append(out, n) }}
	n, err := io.Copy(w.Writer(io.Discard), r.Reader(iotest.OneByteReader(strings.NewReader("abc"))))
	if n != 3 || err != nil || r.Total() != 3 || w.Total() != 3 {
		t.Errorf("copied %d, %v; counted %d and %d", n, err, r.Total(), w.Total())
	}
	if d := cmp.Diff([]int64{1, 2, 3}, in); d != "" {
		t.Errorf("read (-want +got):\n%s", d)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Errorf("written (-read +written):\n%s", d)
	}
	var silent Counter
	if _, err := io.Copy(silent.Writer(io.Discard), strings.NewReader("abc")); err != nil || silent.Total() != 3 {
		t.Errorf("without Report: %d, %v", silent.Total(), err)
	}
}
