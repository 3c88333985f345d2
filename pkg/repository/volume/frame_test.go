package volume

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

func encoder(t testing.TB, options ...zstd.EOption) *zstd.Encoder {
	t.Helper()
	e, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestReadFrame: frames with every kind of header are cut where they end, however few bytes a read returns.
func TestReadFrame(t *testing.T) {
	contents := map[string][]byte{
		"empty":   nil,
		"byte":    {'x'},
		"repeats": bytes.Repeat([]byte("x"), 300<<10),
		"noise":   noise(300 << 10),
		"rows":    bytes.Repeat([]byte("a row of a table; "), 30<<10),
	}
	encoders := map[string]*zstd.Encoder{
		"as stored":       encoder(t, zstd.WithEncoderCRC(true), zstd.WithWindowSize(FrameSize)),
		"without a sum":   encoder(t, zstd.WithEncoderCRC(false)),
		"single segment":  encoder(t, zstd.WithSingleSegment(true)),
		"a small window":  encoder(t, zstd.WithWindowSize(zstd.MinWindowSize), zstd.WithSingleSegment(false)),
		"the best of all": encoder(t, zstd.WithEncoderLevel(zstd.SpeedBestCompression)),
		"an empty frame":  encoder(t, zstd.WithZeroFrames(true)),
	}
	for how, e := range encoders {
		for what, content := range contents {
			t.Run(how+"/"+what, func(t *testing.T) {
				frame := e.EncodeAll(content, nil)
				two := slices.Concat(frame, frame)
				r := iotest.OneByteReader(bytes.NewReader(two))
				for range len(two) / max(1, len(frame)) {
					got, err := readFrame(r, []byte("kept"))
					if err != nil {
						t.Fatal(err)
					}
					if want := "kept" + string(frame); string(got) != want {
						t.Fatalf("got %d bytes, want %d", len(got), len(want))
					}
				}
				if _, err := readFrame(r, nil); !errors.Is(err, io.EOF) {
					t.Errorf("got %v at the end, want io.EOF", err)
				}
			})
		}
	}
}

// TestReadFrameCut: the end of the stream within a frame is not its end.
func TestReadFrameCut(t *testing.T) {
	frame := encoder(t).EncodeAll(noise(1000), nil)
	for n := 1; n < len(frame); n++ {
		if _, err := readFrame(bytes.NewReader(frame[:n]), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("after %d of %d bytes: got %v", n, len(frame), err)
		}
	}
	broken := errors.New("the network is gone")
	_, err := readFrame(io.MultiReader(bytes.NewReader(frame[:500]), iotest.ErrReader(broken)), nil)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want what the reader said", err)
	}
}

// TestReadFrameBounds: what is no frame of ours is refused before it takes memory.
func TestReadFrameBounds(t *testing.T) {
	header := []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0x58}
	for what, stream := range map[string]io.Reader{
		"another magic number": bytes.NewReader([]byte("GZIP and so on")),
		"a skippable frame":    bytes.NewReader([]byte{0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 7}),
		"a large block":        bytes.NewReader(slices.Concat(header, []byte{0xFC, 0xFF, 0xFF})),
		"blocks without end":   io.MultiReader(bytes.NewReader(header), endless{}),
	} {
		got, err := readFrame(stream, nil)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", what, err)
		}
		if len(got) > maxStored+maxBlock {
			t.Errorf("%s: %d bytes were read", what, len(got))
		}
	}
}

// endless are empty raw blocks.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// FuzzReadFrame: readFrame ends each frame where the decoder does, and never takes more than its bound.
func FuzzReadFrame(f *testing.F) {
	e := encoder(f, zstd.WithEncoderCRC(true))
	for _, content := range [][]byte{nil, []byte("a row"), noise(1000), make([]byte, 1000)} {
		f.Add(e.EncodeAll(content, nil))
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(FrameSize))
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		frame, err := readFrame(r, nil)
		if len(frame) > maxStored+maxBlock {
			t.Fatalf("%d bytes were read", len(frame))
		}
		if !bytes.HasPrefix(stream, frame) {
			t.Fatal("a frame is not what was read")
		}
		if err != nil {
			return
		}
		whole, wholeErr := d.DecodeAll(stream, nil)
		first, err := d.DecodeAll(frame, nil)
		if wholeErr == nil && (err != nil || !bytes.HasPrefix(whole, first)) {
			t.Fatalf("the first frame holds %q (%v), all hold %q", first, err, whole)
		}
	})
}
