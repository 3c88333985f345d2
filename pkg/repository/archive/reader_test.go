package archive

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// full takes no byte more than it has room for.
type full struct {
	bytes.Buffer

	room int
}

var errRoom = errors.New("no room")

func (f *full) Write(p []byte) (int, error) {
	n, _ := f.Buffer.Write(p[:min(len(p), f.room)])
	f.room -= n
	if n < len(p) {
		return n, errRoom
	}
	return n, nil
}

// TestWriteTo: a stream of several volumes passes whole, and who has no room for it is not told that it is damaged.
func TestWriteTo(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	content := pages(9 << 20)
	m := mustSave(t, a, "b", content)
	if n := len(m.Streams[0].Volumes); n < 3 {
		t.Fatalf("it has %d volumes", n)
	}
	for _, room := range []int{0, 1 << 20, len(content) - 1, len(content)} {
		r, err := a.Read(t.Context(), m, "snapshot.db")
		if err != nil {
			t.Fatal(err)
		}
		to := &full{room: room}
		n, err := io.Copy(to, r)
		if want := len(content) > room; n != int64(room) || errors.Is(err, errRoom) != want || !want && err != nil ||
			errors.Is(err, ErrDamaged) {
			t.Errorf("room for %d: wrote %d bytes, and %v", room, n, err)
		}
		to.room = len(content)
		if n, err := io.Copy(to, r); n != int64(len(content)-room) || err != nil || !bytes.Equal(to.Bytes(), content) {
			t.Errorf("the rest after %d: %d bytes, and %v", room, n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	key := storetest.Keys(t, s, kindData+"/")[1]
	body := []byte(storetest.Content(t, s, key))
	body[len(body)-1] ^= 1
	replace(t, s, key, body)
	r, err := a.Read(t.Context(), m, "snapshot.db")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, ErrDamaged) || n >= int64(len(content)) {
		t.Errorf("damaged: wrote %d bytes, and %v", n, err)
	}
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, ErrDamaged) || n != 0 {
		t.Errorf("damaged, again: wrote %d bytes, and %v", n, err)
	}
}
