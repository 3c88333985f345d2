package rdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// file returns a whole file with some content between its fields and its end.
func file(header string, content ...byte) []byte {
	raw := []byte(header + "\xfa\x09redis-ver\x058.1.1\xfa\x05ctime\xc2\x00\x5e\xd0\x5e\xfa\x08used-mem\xc1\x00\x10")
	raw = append(append(raw, content...), endOfFile)
	c := NewCheck()
	c.add(raw)
	return binary.LittleEndian.AppendUint64(raw, c.sum)
}

// TestSum: the check value of the polynomial as everybody publishes it.
func TestSum(t *testing.T) {
	t.Parallel()
	c := NewCheck()
	c.add([]byte("123456789"))
	if c.sum != 0xe9c6d914c4b8d9ca {
		t.Errorf("the sum is %x", c.sum)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	whole := file("REDIS0011", bytes.Repeat([]byte("content"), 2000)...)
	changed := func(change func([]byte) []byte) []byte { return change(bytes.Clone(whole)) }
	for name, c := range map[string]struct {
		raw   []byte
		whole bool
	}{
		"whole":       {whole, true},
		"Valkey 9":    {file("VALKEY080"), true},
		"empty":       {nil, false},
		"one byte":    {whole[:1], false},
		"cut":         {whole[:len(whole)-1], false},
		"cut early":   {whole[:40], false},
		"longer":      {changed(func(b []byte) []byte { return append(b, 0) }), false},
		"changed":     {changed(func(b []byte) []byte { b[5000]++; return b }), false},
		"another end": {changed(func(b []byte) []byte { b[len(b)-1]++; return b }), false},
		"no checksum": {changed(func(b []byte) []byte { return append(b[:len(b)-8], make([]byte, 8)...) }), false},
		"no file":     {bytes.Repeat([]byte("x"), 100), false},
	} {
		check := NewCheck()
		for _, one := range c.raw { // byte by byte, and then in other portions
			if _, err := check.Write([]byte{one}); err != nil {
				t.Fatal(err)
			}
		}
		err := check.Close()
		if (err == nil) != c.whole || err != nil && !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
		for _, portion := range []int{3, 9, 10, 1000, 1 << 20} {
			check, left := NewCheck(), c.raw
			for len(left) > 0 {
				n := min(portion, len(left))
				_, _ = check.Write(left[:n])
				left = left[n:]
			}
			if again := check.Close(); (again == nil) != (err == nil) {
				t.Errorf("%s in portions of %d: %v", name, portion, again)
			}
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	raw := file("VALKEY080")
	got, err := Read(iotest.OneByteReader(bytes.NewReader(raw)))
	want := Facts{Version: 80, Product: "redis", Server: "8.1.1", Made: time.Unix(0x5ed05e00, 0).UTC(), Sum: got.Sum,
		Bytes: int64(len(raw))}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(file("REDIS0011"), 3)
	f.Add([]byte("REDIS0010\xfa\xff"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, _ int) {
		if _, err := Read(bytes.NewReader(raw)); err != nil && !errors.Is(err, engine.ErrNotSnapshot) {
			t.Error(err)
		}
	})
}
