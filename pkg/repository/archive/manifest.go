package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	// Format is the one that this package writes.
	Format = 2
	// maxVolumes keeps a manifest below the size of a signed object.
	maxVolumes = 4000
	maxStreams = 64
)

// Manifest explains one backup. It is written last, and signed: a backup without one does not exist.
type Manifest struct {
	Format int `json:"format"`
	// ID is unique in its repository. Attempt is the ULID under which its data is stored.
	ID      string `json:"id"`
	Attempt string `json:"attempt"`
	Scope
	// ClusterID is the permanent identity of the cluster, Incarnation that of its history: it changes when a
	// restore in place begins another one.
	ClusterID   string `json:"clusterID,omitempty"`
	Incarnation string `json:"incarnation,omitempty"`
	Engine      string `json:"engine"`
	// Version of the server, full, and Member that the data came from.
	Version string `json:"version"`
	Member  string `json:"member,omitempty"`
	// Parent is the attempt of the backup that this one adds to; "" for a full one.
	Parent string `json:"parent,omitempty"`
	// Position is the engine's own name of the moment that a restore reaches.
	Position string `json:"position,omitempty"`
	// Log is the first segment that going on from this backup takes.
	Log *LogStart `json:"log,omitempty"`
	// Facts are what the engine knows of the data, by its own names.
	Facts   map[string]string `json:"facts,omitempty"`
	Streams []Stream          `json:"streams"`
	// Encrypted: the data is under age.
	Encrypted bool `json:"encrypted"`
	// Operation is the identifier of the operation that wrote it; a repeat of it finds the backup done.
	Operation string `json:"operation"`
	Tool      string `json:"tool,omitempty"`
	// Scheduled: the retention of a schedule may delete it.
	Scheduled   bool       `json:"scheduled,omitempty"`
	StartedAt   time.Time  `json:"startedAt"`
	FinishedAt  time.Time  `json:"finishedAt"`
	RetainUntil *time.Time `json:"retainUntil,omitempty"`
}

// LogStart names a segment of the log.
type LogStart struct {
	Timeline string `json:"timeline"`
	Segment  string `json:"segment"`
}

// Stream is one file of a backup, in volumes that follow each other.
type Stream struct {
	// Name is that of the file, such as "snapshot.db" or "base.tar".
	Name    string   `json:"name"`
	Volumes []Volume `json:"volumes"`
}

// Volume is one stored object: its size, the SHA-256 of it as it is stored, and how much of the stream it holds.
type Volume struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Plain  int64  `json:"plain"`
}

// Bytes is how much the stream has before compression.
func (s Stream) Bytes() int64 {
	var sum int64
	for _, v := range s.Volumes {
		sum += v.Plain
	}
	return sum
}

// Stored is how many bytes the backup takes in the store.
func (m *Manifest) Stored() int64 {
	var sum int64
	for _, s := range m.Streams {
		for _, v := range s.Volumes {
			sum += v.Bytes
		}
	}
	return sum
}

// key is the name of the manifest, which carries what a listing shows.
func (m *Manifest) key() (string, error) {
	flags := ""
	if m.Scheduled {
		flags += "s"
	}
	if m.Encrypted {
		flags += "e"
	}
	if m.Parent != "" {
		flags += "i"
	}
	log := ""
	if m.Log != nil {
		log = m.Log.Timeline + "/" + m.Log.Segment
	}
	n := name{lead: m.Attempt, fields: []field{
		{'n', m.ID}, {'e', m.Engine}, {'b', strconv.FormatInt(m.Stored(), 10)},
		{'f', strconv.FormatInt(m.FinishedAt.Unix(), 10)}, {'x', flags}, {'p', m.Parent}, {'l', log},
		{'i', m.Incarnation}, {'v', m.Version}, {'r', m.Position},
	}}
	text, err := n.fits(manifestRequired)
	return m.prefix(kindManifest) + text + ".json", err
}

// manifestRequired are the fields without which a listing or a retention would be wrong.
const manifestRequired = 8

// volumeKey names volume n of a stream.
func (m *Manifest) volumeKey(stream string, n int) string {
	suffix := ".zst"
	if m.Encrypted {
		suffix += ".age"
	}
	return m.prefix(kindData) + m.Attempt + "/" + fmt.Sprintf("%s.%05d", stream, n) + suffix
}

// check judges a manifest as if its writer were hostile: every number is bounded, and nothing in it leads elsewhere.
func (m *Manifest) check() error {
	var wrong string
	switch {
	case m.Format > Format:
		return fmt.Errorf("%w: it has format %d, this one reads up to %d", ErrFormat, m.Format, Format)
	case m.Format != Format:
		wrong = fmt.Sprintf("its format is %d", m.Format)
	case !isAttempt(m.Attempt) || m.Parent != "" && (!isAttempt(m.Parent) || m.Parent >= m.Attempt):
		wrong = "its attempt, or that of its parent, is none"
	case m.ID == "" || m.Engine == "" || m.Cluster == "" || m.Operation == "":
		wrong = "it lacks an identifier, engine, cluster or operation"
	case len(m.Streams) == 0 || len(m.Streams) > maxStreams:
		wrong = fmt.Sprintf("it has %d streams", len(m.Streams))
	case m.FinishedAt.Before(m.StartedAt):
		wrong = "it ended before it began"
	default:
		wrong = m.checkStreams()
	}
	if wrong != "" {
		return fmt.Errorf("%w: manifest of %.80q: %s", ErrDamaged, m.ID, wrong)
	}
	return nil
}

func (m *Manifest) checkStreams() string {
	seen, volumes := map[string]bool{}, 0
	var total int64
	for _, s := range m.Streams {
		if !validStream(s.Name) || seen[s.Name] {
			return fmt.Sprintf("its stream %.80q is no plain name, or there twice", s.Name)
		}
		seen[s.Name] = true
		if volumes += len(s.Volumes); volumes > maxVolumes {
			return fmt.Sprintf("it has more than %d volumes", maxVolumes)
		}
		for i, v := range s.Volumes {
			sum, err := hex.DecodeString(v.SHA256)
			if err != nil || len(sum) != 32 || v.Bytes <= 0 || v.Plain < 0 || v.Bytes > maxBytes || v.Plain > maxBytes {
				return fmt.Sprintf("volume %d of %s is none", i, s.Name)
			}
			if total += v.Plain + v.Bytes; total > maxBytes {
				return "it has more bytes than any store"
			}
		}
	}
	return ""
}

// maxBytes bounds every sum, far from where it would overflow.
const maxBytes = 1 << 60

// validStream accepts what is safe as a file name: small letters, digits, "-" and ".", not first.
func validStream(s string) bool {
	return s != "" && len(s) <= 100 && s[0] != '.' && s[0] != '-' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// Manifest reads the manifest of a backup in a listing: ErrSignature, ErrFormat or ErrDamaged unless it is what a
// trusted key signed for this very name.
func (a *Archive) Manifest(ctx context.Context, e Entry) (*Manifest, error) {
	m := &Manifest{}
	if err := a.getSigned(ctx, e.Key, m); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, fmt.Errorf("read the manifest of %s: %w", e.ID, err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	// A manifest under another name would be shown as what it is not: older, newer, of another cluster.
	if key, err := m.key(); err != nil || key != e.Key {
		return nil, fmt.Errorf("%w: the manifest of %s is stored as that of %s; another backup was put in its place",
			ErrDamaged, m.ID, e.ID)
	}
	return m, nil
}
