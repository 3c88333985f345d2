package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func FuzzParseSegment(f *testing.F) {
	l := Open(nil, Keys{}).Log(scope, "1")
	good, err := l.key(numbered(7), strings.Repeat("0a", 16))
	if err != nil {
		f.Fatal(err)
	}
	rest := strings.TrimPrefix(good, l.prefix())
	f.Add(rest)
	f.Add(rest + ".age")
	f.Add("!/x_h-0a_s-0_e-1_t-1.zst")
	f.Add("1/x_h-0a_h-0b_t-1.zst")
	f.Add("history/00000002.history_h-0a_s-1_e-0!2f3000028_t-253402300799_z-later.zst.age")
	f.Fuzz(func(t *testing.T, rest string) {
		o := store.Object{Key: l.prefix() + rest}
		s, ok := l.parseSegment(o)
		if !ok {
			return
		}
		for _, text := range []string{s.Timeline, s.Name, s.Start, s.End, s.Sum()} {
			if !printable(text) {
				t.Fatalf("%q shows %q", rest, text)
			}
		}
		if s.Name == "" || s.Sum() == "" || s.Time.Unix() < 0 || s.Time.Unix() > maxUnix || s.key != o.Key {
			t.Fatalf("%q is %+v", rest, s)
		}
		// What finds a segment by its name finds this one.
		if !strings.HasPrefix(o.Key, l.prefix()+segment(s.Timeline)+"/"+escape(s.Name)+"_") {
			t.Fatalf("%q is not where %s of %s belongs", rest, s.Name, s.Timeline)
		}
	})
}

// object is a segment as a writer that was taken over may make one: a statement, whatever it says, and any frames.
func object(a *Archive, said string, frames []byte) ([]byte, error) {
	note, err := a.sign(jsonText(said))
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint32(nil, noteMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(note)))
	return append(append(out, note...), frames...), nil
}

func FuzzDecodeSegment(f *testing.F) {
	keys, _ := testKeys(f)
	a := Open(nil, keys)
	l := a.Log(scope, "1")
	s, body := numbered(7), []byte("the content of a segment")
	digest := sha256.Sum256(body)
	sum := hex.EncodeToString(digest[:])
	var err error
	if s.key, err = l.key(s, shortHash(sum)); err != nil {
		f.Fatal(err)
	}
	encrypted, err := l.encode(s, body, sum)
	if err != nil {
		f.Fatal(err)
	}
	plain := Open(nil, Keys{Signer: keys.Signer, Trusted: keys.Trusted})
	clear, err := plain.Log(scope, "1").encode(s, body, sum)
	if err != nil {
		f.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	said := fmt.Sprintf(`{"namespace":%q,"cluster":%q,"incarnation":"1","segment":{"timeline":"1","name":%q,"start":"0/7",`+
		`"end":"0/8","time":"2026-11-23T00:00:07Z"},"bytes":%d,"sha256":%q}`, scope.Namespace, scope.Cluster, s.Name,
		len(body), sum)
	frames := encoder.EncodeAll(body, nil)
	f.Add(encrypted, said, frames)
	f.Add(clear, said, append(slices.Clip(frames), frames...))
	f.Add(clear[:20], strings.Replace(said, sum, sum[:40], 1), frames)
	f.Add([]byte("age-encryption.org/v1\n"), strings.Replace(said, `"bytes":24`, `"bytes":-1`, 1), []byte{})
	f.Fuzz(func(t *testing.T, stored []byte, said string, frames []byte) {
		// Of an attacker, who can't sign, but can encrypt.
		for _, s := range []Segment{{key: s.key}, {key: s.key, encrypted: true}} {
			if got, err := l.decode(s, &scratch{object: stored}); err == nil && !bytes.Equal(got, body) {
				t.Fatalf("it reads %q", got)
			}
		}
		var sealed bytes.Buffer
		w, err := age.Encrypt(&sealed, keys.Recipients...)
		if err == nil {
			_, err = w.Write(stored)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := l.decode(Segment{key: s.key, encrypted: true}, &scratch{object: sealed.Bytes()})
		if err == nil && !bytes.Equal(got, body) {
			t.Fatalf("it reads %q", got)
		}
		// Of a writer that was taken over.
		made, err := object(a, said, frames)
		if err != nil {
			return
		}
		got, err = l.decode(Segment{key: s.key}, &scratch{object: made})
		if err != nil {
			return
		}
		if digest := sha256.Sum256(got); !strings.Contains(s.key, "_h-"+shortHash(hex.EncodeToString(digest[:]))) {
			t.Fatalf("%q reads %q", said, got)
		}
	})
}

// TestHostileSegments: what a store says of sizes is not believed, and frames that somebody put behind a statement that
// was signed for others take no memory.
func TestHostileSegments(t *testing.T) {
	if got, err := sized(strings.NewReader("content"), -1<<40, nil); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	keys, _ := testKeys(t)
	keys.Recipients = nil
	l := Open(nil, keys).Log(scope, "1")
	s, body := numbered(7), []byte("content")
	digest := sha256.Sum256(body)
	sum := hex.EncodeToString(digest[:])
	var err error
	if s.key, err = l.key(s, shortHash(sum)); err != nil {
		t.Fatal(err)
	}
	made, err := l.encode(s, body, sum)
	if err != nil {
		t.Fatal(err)
	}
	statement := made[:8+binary.LittleEndian.Uint32(made[4:])]
	var frames bytes.Buffer
	for range 2 {
		w, err := zstd.NewWriter(&frames)
		if err == nil {
			_, err = w.Write(make([]byte, MaxSegment-1))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	hostile := append(slices.Clip(statement), frames.Bytes()...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = l.decode(s, &scratch{object: hostile})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrDamaged) || took > MaxSegment/2 {
		t.Errorf("%d bytes took %d of memory, %v", len(hostile), took, err)
	}
	at := &scratch{object: made}
	for range 2 {
		if got, err := l.decode(s, at); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%q, %v", got, err)
		}
	}
}
