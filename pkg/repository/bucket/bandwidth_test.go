package bucket

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestBandwidth: what passes takes the time that the limit asks for, both ways.
func TestBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, secrets := described(t)
		d.Bandwidth = 1 << 20
		r := inDirectory(t, t.TempDir(), d, secrets)
		content := make([]byte, 5<<20)
		random := rand.NewChaCha8([32]byte{})
		_, _ = random.Read(content)
		began := time.Now()
		_, err := save(t, r, "op", string(content))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 4*time.Second || took > 8*time.Second {
			t.Errorf("to write 5 MiB at 1 MiB a second takes %s", took)
		}
		began = time.Now()
		in, _, err := r.Reader(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Error(err)
		}
		_ = in.Close()
		if took := time.Since(began); took < 4*time.Second || took > 8*time.Second {
			t.Errorf("to read it takes %s", took)
		}
	})
}

func TestBandwidthBounds(t *testing.T) {
	t.Parallel()
	for given, fine := range map[int64]bool{0: true, 50 << 20: true, 64 << 10: true, 50: false, -1 << 20: false,
		8 << 30: false} {
		d, _ := described(t)
		d.Bandwidth = given
		if err := d.Check(); errors.Is(err, ErrDescription) == fine {
			t.Errorf("%d: %v", given, err)
		}
	}
}
