package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Level says how much was proven of a backup. A higher one implies the lower ones.
type Level string

// Levels, lowest first.
const (
	// LevelPresent: every object is there, and has the size that the manifest says.
	LevelPresent Level = "present"
	// LevelIntact: every byte was read, decrypted, decompressed and compared.
	LevelIntact Level = "intact"
	// LevelRestorable: it was restored, and the engine proved what came out.
	LevelRestorable Level = "restorable"
)

// Includes reports whether a proof of this level is one of the other as well. A level that is not known includes none.
func (l Level) Includes(other Level) bool { return l.rank() > 0 && l.rank() >= other.rank() }

func (l Level) rank() int {
	return map[Level]int{LevelPresent: 1, LevelIntact: 2, LevelRestorable: 3}[l]
}

// Proof is the result of one verification. It is an object of its own.
type Proof struct {
	Attempt string    `json:"attempt"`
	Level   Level     `json:"level"`
	Time    time.Time `json:"time"`
	// Failed says that the backup is not what the level means, and Reason why not, in a few words without secrets.
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Version of the server that served the restored data, Tool the one that verified.
	Version string `json:"version,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// By is who asked for it.
	By string `json:"by,omitempty"`
	// Checked says what a program of the database compared, and found whole.
	Checked string `json:"checked,omitempty"`

	// key is that of the object.
	key string
}

// AddProof stores a proof. Its time is set.
func (a *Archive) AddProof(ctx context.Context, m *Manifest, p Proof) error {
	if p.Level.rank() == 0 {
		return fmt.Errorf("record a proof of backup %s: there is no level %q", m.ID, p.Level)
	}
	p.Attempt, p.Time = m.Attempt, a.now().UTC()
	p.Reason = Brief(p.Reason)
	p.Level = p.stored()
	id, err := ulid.New(ulid.Timestamp(p.Time), rand.Reader)
	if err != nil {
		return fmt.Errorf("make an identifier: %w", err)
	}
	text, err := name{lead: m.Attempt, fields: []field{{'l', string(p.Level)}, {'u', id.String()}}}.fits(2)
	if err == nil {
		err = a.putSigned(ctx, m.prefix(kindProof)+text+".json", p, store.Options{})
	}
	if err != nil {
		return fmt.Errorf("record a proof of backup %s: %w", m.ID, err)
	}
	return nil
}

// proofs reads the names of all proofs, those that failed among them, by attempt.
func (a *Archive) proofs(ctx context.Context, s Scope) (map[string][]Proof, error) {
	out := map[string][]Proof{}
	for o, err := range store.All(ctx, a.store, s.prefix(kindProof)) {
		if err != nil {
			return nil, fmt.Errorf("list proofs: %w", err)
		}
		_, rest, ok := parseKey(kindProof, o.Key)
		if !ok {
			continue
		}
		attempt, f, ok := parseName(rest)
		level, failed := storedLevel(f['l'])
		if !ok || !isAttempt(attempt) || !isAttempt(f['u']) || level.rank() == 0 {
			continue
		}
		p := Proof{Attempt: attempt, Level: level, Time: attemptTime(f['u']), Failed: failed, key: o.Key}
		out[attempt] = append(out[attempt], p)
	}
	return out, nil
}

// BestProof reads the proofs of one backup, the highest level and then the newest first, and returns the first one
// that a trusted key signed; nil if there is none. What names alone claim does not count.
func (a *Archive) BestProof(ctx context.Context, e Entry) (*Proof, error) {
	if e.Proof == nil {
		return nil, nil
	}
	all, err := a.proofs(ctx, e.Scope)
	if err != nil {
		return nil, err
	}
	return a.signedProof(ctx, e, all[e.Attempt])
}

// signedProof is BestProof among those that names claim of a backup. What failed is none.
func (a *Archive) signedProof(ctx context.Context, e Entry, named []Proof) (*Proof, error) {
	return a.firstSigned(ctx, e, slices.SortedFunc(slices.Values(succeeded(named)), func(x, y Proof) int {
		return cmp.Or(y.Level.rank()-x.Level.rank(), y.Time.Compare(x.Time))
	}))
}

// firstSigned is the first proof of a backup that a trusted key signed for its name; nil if there is none.
func (a *Archive) firstSigned(ctx context.Context, e Entry, named []Proof) (*Proof, error) {
	for _, n := range named {
		var p Proof
		switch err := a.getSigned(ctx, n.key, &p); {
		case err == nil && p.Attempt == e.Attempt && p.Level == n.stored() && p.Failed == n.Failed:
			p.Level = n.Level
			return &p, nil
		case err == nil, errors.Is(err, ErrSignature), errors.Is(err, ErrDamaged), errors.Is(err, store.ErrNotFound):
		default:
			return nil, fmt.Errorf("read a proof of backup %s: %w", e.ID, err)
		}
	}
	return nil, nil
}

// newest is the highest proof that did not fail, and of those the newest.
func newest(all []Proof) *Proof {
	var best *Proof
	for i, p := range all {
		if p.Failed {
			continue
		}
		if best == nil || p.Level.rank() > best.Level.rank() || p.Level == best.Level && p.Time.After(best.Time) {
			best = &all[i]
		}
	}
	return best
}

// Verify proves a backup to be present or intact and returns the error that says what is not. It stores nothing.
func (a *Archive) Verify(ctx context.Context, m *Manifest, level Level) error {
	switch level {
	case LevelPresent:
		return a.present(ctx, m)
	case LevelIntact:
		_, err := a.VerifyBytes(ctx, m)
		return err
	}
	return fmt.Errorf("verify backup %s: reading can't prove it %s", m.ID, level)
}

// StoredOnly is what VerifyBytes says of an encrypted backup that no key at hand opens.
const StoredOnly = "what is stored, without a key that opens it"

// VerifyBytes reads each byte of a backup, and compares it with the manifest. It decrypts and decompresses too if it
// has a secret key, or none is needed; checked is StoredOnly if it did not.
func (a *Archive) VerifyBytes(ctx context.Context, m *Manifest) (checked string, err error) {
	if err := a.present(ctx, m); err != nil {
		return "", err
	}
	read := a.readStream
	if m.Encrypted && len(a.keys.Identities) == 0 {
		read, checked = a.readStored, StoredOnly
	}
	for _, s := range m.Streams {
		if err := read(ctx, m, s); err != nil {
			return "", err
		}
	}
	return checked, nil
}

// readStream reads a stream as a restore does.
func (a *Archive) readStream(ctx context.Context, m *Manifest, s Stream) error {
	r, err := a.Read(ctx, m, s.Name)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	if closed := r.Close(); err == nil {
		err = closed
	}
	return err
}

// readStored reads the volumes of a stream as they are stored.
func (a *Archive) readStored(ctx context.Context, m *Manifest, s Stream) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // what reads ahead ends
	for n, v := range s.Volumes {
		_, err := io.Copy(io.Discard, newStoredReader(ctx, a.store, m.volumeKey(s.Name, n), v))
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if err != nil {
			return fmt.Errorf("read %s of backup %s, volume %d: %w", s.Name, m.ID, n, err)
		}
	}
	return nil
}

// present compares the sizes of all volumes with a listing: one request for every thousand.
func (a *Archive) present(ctx context.Context, m *Manifest) error {
	prefix := m.prefix(kindData) + m.Attempt + "/"
	sizes := map[string]int64{}
	for o, err := range store.All(ctx, a.store, prefix) {
		if err != nil {
			return fmt.Errorf("list the volumes of backup %s: %w", m.ID, err)
		}
		sizes[o.Key] = o.Size
	}
	for _, s := range m.Streams {
		for n, v := range s.Volumes {
			key := m.volumeKey(s.Name, n)
			size, ok := sizes[key]
			switch {
			case !ok:
				return fmt.Errorf("%w: %s of backup %s is missing", ErrDamaged, strings.TrimPrefix(key, prefix), m.ID)
			case size != v.Bytes:
				return fmt.Errorf("%w: %s of backup %s has %d bytes instead of %d", ErrDamaged,
					strings.TrimPrefix(key, prefix), m.ID, size, v.Bytes)
			}
		}
	}
	return nil
}
