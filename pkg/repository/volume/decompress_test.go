package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"filippo.io/age"
)

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func compressed(t testing.TB, content []byte) []byte {
	t.Helper()
	var stored []byte
	err := Compress(t.Context(), bytes.NewReader(content), func(f *Frame) error {
		stored = append(stored, f.Stored...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func read(t testing.TB, stored io.Reader, plain int, identities ...age.Identity) ([]byte, error) {
	t.Helper()
	r, err := NewReader(stored, int64(plain), identities...)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	if _, again := r.Read(make([]byte, 1)); err != nil && !errors.Is(again, err) {
		t.Errorf("a second read says %v, the first one said %v", again, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return content, err
}

// brittle takes so many bytes and then fails, once.
type brittle struct {
	bytes.Buffer

	left int
}

var errBrittle = errors.New("the pipe broke")

func (b *brittle) Write(p []byte) (int, error) {
	if b.left < 0 || len(p) <= b.left {
		b.left -= len(p)
		return b.Buffer.Write(p)
	}
	n, _ := b.Buffer.Write(p[:b.left])
	b.left = -1
	return n, errBrittle
}

// TestWriteTo: what one writer did not take, another one gets.
func TestWriteTo(t *testing.T) {
	content := noise(2*FrameSize + 7)
	for _, takes := range []int{0, 5, FrameSize, FrameSize + 1} {
		r, err := NewReader(bytes.NewReader(compressed(t, content)), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		b := &brittle{left: takes}
		if n, err := r.WriteTo(b); n != int64(takes) || !errors.Is(err, errBrittle) {
			t.Errorf("wrote %d of %d bytes: %v", n, takes, err)
		}
		n, err := r.WriteTo(b)
		if n != int64(len(content)-takes) || err != nil || !bytes.Equal(b.Bytes(), content) {
			t.Errorf("wrote %d bytes after %d: %v", n, takes, err)
		}
		if n, err := r.WriteTo(b); n != 0 || err != nil {
			t.Errorf("wrote %d bytes after the end: %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	short, err := NewReader(bytes.NewReader(compressed(t, content)), int64(len(content))+1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.WriteTo(io.Discard); !errors.Is(err, ErrDamaged) {
		t.Errorf("a stream that ends early: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 100 << 10, FrameSize - 1, FrameSize, FrameSize + 1, 9*FrameSize + 5} {
		for what, content := range map[string][]byte{"noise": noise(n), "zeros": make([]byte, n)} {
			t.Run(fmt.Sprint(what, n), func(t *testing.T) {
				stored := compressed(t, content)
				got, err := read(t, bytes.NewReader(stored), n)
				if err != nil || !bytes.Equal(got, content) {
					t.Fatalf("got %d bytes and %v", len(got), err)
				}
				var sealed bytes.Buffer
				w, err := age.Encrypt(&sealed, identity.Recipient())
				if err == nil {
					_, err = w.Write(stored)
				}
				if err == nil {
					err = w.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err = read(t, &sealed, n, identity)
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("encrypted: got %d bytes and %v", len(got), err)
				}
			})
		}
	}
}

// TestReaderDamage: whatever is wrong, what was read before it is right, and the end never comes without an error.
func TestReaderDamage(t *testing.T) {
	content := slices.Concat(noise(FrameSize+1000), make([]byte, 2*FrameSize))
	stored := compressed(t, content)
	changed := func(at int) []byte {
		b := slices.Clone(stored)
		b[at] ^= 1
		return b
	}
	cases := map[string]struct {
		stored []byte
		plain  int
	}{
		"first byte":        {changed(0), len(content)},
		"middle":            {changed(len(stored) / 2), len(content)},
		"last byte":         {changed(len(stored) - 1), len(content)},
		"cut by a byte":     {stored[:len(stored)-1], len(content)},
		"cut in the middle": {stored[:len(stored)/2], len(content)},
		"nothing":           {nil, len(content)},
		"a byte more":       {append(slices.Clone(stored), 0), len(content)},
		"shorter than said": {stored, len(content) + 1},
		"longer than said":  {stored, len(content) - 1},
		"twice":             {slices.Concat(stored, stored), len(content)},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			got, err := read(t, bytes.NewReader(c.stored), c.plain)
			if err == nil {
				t.Fatal("no error")
			}
			if !bytes.HasPrefix(content, got) {
				t.Errorf("%d bytes were passed on that nobody stored (%v)", len(got), err)
			}
		})
	}
}

// TestReaderBounds: a frame that says little and holds much is refused.
func TestReaderBounds(t *testing.T) {
	large := encoder(t).EncodeAll(make([]byte, FrameSize+1), nil)
	if _, err := read(t, bytes.NewReader(large), FrameSize+1); err == nil {
		t.Error("a frame that is larger than any of ours was read")
	}
}

// TestReaderClose: nothing reads from the source once Close returned, wherever the reader was.
func TestReaderClose(t *testing.T) {
	stored := compressed(t, noise(20*FrameSize))
	for n := range 12 {
		source := &watched{Reader: bytes.NewReader(stored)}
		r, err := NewReader(source, 20*FrameSize)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, r, int64(n)*FrameSize/2); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		source.closed = true
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a read after Close says %v", err)
		}
		if source.late {
			t.Fatal("the source was read after Close")
		}
	}
}

// watched is not locked: the race detector sees a read that goes on.
type watched struct {
	io.Reader

	closed, late bool
}

func (w *watched) Read(p []byte) (int, error) {
	w.late = w.late || w.closed
	return w.Reader.Read(p)
}

func BenchmarkReader(b *testing.B) {
	content := slices.Concat(noise(8<<20), bytes.Repeat([]byte("a row of a table"), 8<<20/16))
	stored := compressed(b, content)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(stored), int64(len(content)))
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			b.Fatal(err)
		}
		_ = r.Close()
	}
}
