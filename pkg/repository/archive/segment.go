package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

// MaxSegment bounds one segment of a log, before compression. A longer file of an engine is cut.
const MaxSegment = 60 << 20

// Segment is a piece of a database's log, such as a WAL file or a part of a binary log.
type Segment struct {
	// Timeline is the history that it belongs to, such as that of PostgreSQL, or the server of a binary log.
	Timeline string `json:"timeline"`
	// Name sorts the segments of a timeline, bytewise. It is given once.
	Name string `json:"name"`
	// Start and End are positions, in the engine's own words. A segment follows another if it starts where that ends.
	Start string `json:"start"`
	End   string `json:"end"`
	// Time of the newest record in it.
	Time time.Time `json:"time"`

	// Stored is when it appeared, by the store's clock, and Bytes what it takes there.
	Stored time.Time `json:"-"`
	Bytes  int64     `json:"-"`

	key, hash string
	encrypted bool
}

// Sum is the beginning of the SHA-256 of its content, as its name tells it.
func (s Segment) Sum() string { return s.hash }

// statement is what is signed of a segment: it travels inside the object, where zstd skips it.
type statement struct {
	Scope

	Incarnation string  `json:"incarnation"`
	Segment     Segment `json:"segment"`
	Bytes       int     `json:"bytes"`
	SHA256      string  `json:"sha256"`
}

// noteMagic begins a frame that every zstd decoder skips.
const noteMagic = 0x184D2A5D

// maxNote bounds the signed statement.
const maxNote = 64 << 10

func (l *Log) prefix() string { return l.scope.prefix(kindLog) + segment(l.incarnation) + "/" }

func (l *Log) key(s Segment, hash string) (string, error) {
	n := name{lead: s.Name, fields: []field{
		{'h', hash}, {'s', position(s.Start)}, {'e', position(s.End)}, {'t', strconv.FormatInt(s.Time.Unix(), 10)},
	}}
	text, err := n.fits(len(n.fields))
	suffix := ".zst"
	if len(l.archive.keys.Recipients) > 0 {
		suffix += ".age"
	}
	return l.prefix() + segment(s.Timeline) + "/" + text + suffix, err
}

// position shortens long ones, such as sets of transaction identifiers, to a hash: only their equality counts.
func position(text string) string {
	if len(text) <= maxPosition {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256." + hex.EncodeToString(sum[:16])
}

const maxPosition = 40

// parseSegment reads the name of a segment.
func (l *Log) parseSegment(o store.Object) (Segment, bool) {
	rest, ok := strings.CutPrefix(o.Key, l.prefix())
	timeline, file, found := strings.Cut(rest, "/")
	file, encrypted := strings.CutSuffix(file, ".age")
	file, zst := strings.CutSuffix(file, ".zst")
	if !ok || !found || !zst {
		return Segment{}, false
	}
	lead, f, ok := parseName(file)
	at, err := strconv.ParseInt(f['t'], 10, 64)
	if !ok || err != nil || at < 0 || at > maxUnix || f['h'] == "" {
		return Segment{}, false
	}
	s := Segment{
		Name: lead, Start: f['s'], End: f['e'], Time: time.Unix(at, 0).UTC(), Stored: o.Modified, Bytes: o.Size,
		key: o.Key, hash: f['h'], encrypted: encrypted,
	}
	s.Timeline, ok = parseSegment(timeline)
	return s, ok
}

// encode makes the object of a segment: a signed statement, which zstd skips, and the compressed body, under age.
func (l *Log) encode(s Segment, body []byte, sum string) ([]byte, error) {
	note, err := l.archive.sign(statement{
		Scope: l.scope, Incarnation: l.incarnation, Segment: s, Bytes: len(body), SHA256: sum,
	})
	if err != nil {
		return nil, err
	}
	if len(note) > maxNote {
		return nil, fmt.Errorf("its positions have more than %d bytes", maxNote)
	}
	plain := binary.LittleEndian.AppendUint32(nil, noteMagic)
	plain = binary.LittleEndian.AppendUint32(plain, uint32(len(note))) //nolint:gosec // maxNote bounds it
	plain = append(plain, note...)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(volume.FrameSize))
	if err != nil {
		return nil, fmt.Errorf("make a compressor: %w", err)
	}
	plain = encoder.EncodeAll(body, plain)
	to := l.archive.keys.Recipients
	if len(to) == 0 {
		return plain, nil
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return out.Bytes(), nil
}

// scratch is memory for reading a segment, which is used again for the next one.
type scratch struct {
	object, plain, body []byte
	decoder             *zstd.Decoder
}

// decode is the way back from the object that at holds. It returns nothing that a trusted key did not sign for this
// very place in the log. What it returns is part of at.
func (l *Log) decode(s Segment, at *scratch) ([]byte, error) {
	object := at.object
	if s.encrypted {
		if len(l.archive.keys.Identities) == 0 {
			return nil, fmt.Errorf("%w: it is encrypted, and there is no secret key here", volume.ErrKey)
		}
		r, err := age.Decrypt(bytes.NewReader(object), l.archive.keys.Identities...)
		if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
			return nil, fmt.Errorf("%w: it was encrypted to other recipients", volume.ErrKey)
		}
		if err == nil {
			at.plain, err = sized(r, int64(len(object)), at.plain)
			object = at.plain
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if len(object) < 8 || binary.LittleEndian.Uint32(object) != noteMagic {
		return nil, fmt.Errorf("%w: it carries no signed statement", ErrSignature)
	}
	size := int64(binary.LittleEndian.Uint32(object[4:]))
	if size > maxNote || size > int64(len(object)-8) {
		return nil, fmt.Errorf("%w: its statement is cut", ErrDamaged)
	}
	var said statement
	if err := l.archive.verify(object[8:8+size], &said); err != nil {
		return nil, err
	}
	if key, err := l.key(said.Segment, shortHash(said.SHA256)); err != nil || said.Scope != l.scope ||
		said.Incarnation != l.incarnation || strings.TrimSuffix(key, ".age") != strings.TrimSuffix(s.key, ".age") {
		return nil, fmt.Errorf("%w: it is another segment, put in the place of this one", ErrDamaged)
	}
	return at.unpack(said, object[8+size:])
}

func (at *scratch) unpack(said statement, frames []byte) ([]byte, error) {
	if said.Bytes < 0 || said.Bytes > MaxSegment {
		return nil, fmt.Errorf("%w: it claims %d bytes", ErrDamaged, said.Bytes)
	}
	if at.decoder == nil {
		// What it would compare at the end is compared below, by SHA-256.
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxSegment),
			zstd.WithDecodeAllCapLimit(true), zstd.IgnoreChecksum(true))
		if err != nil {
			return nil, fmt.Errorf("make a decompressor: %w", err)
		}
		at.decoder = decoder
	}
	if cap(at.body) < said.Bytes {
		at.body = make([]byte, 0, said.Bytes)
	}
	// Who can't sign can put other frames behind a signed statement: they get no more room than it says.
	body, err := at.decoder.DecodeAll(frames, at.body[:0:said.Bytes])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if sum := sha256.Sum256(body); len(body) != said.Bytes || hex.EncodeToString(sum[:]) != said.SHA256 {
		return nil, fmt.Errorf("%w: its content is not what was signed", ErrDamaged)
	}
	return body, nil
}

// shortHash is enough to tell segments apart in names.
func shortHash(sum string) string { return sum[:min(len(sum), 32)] }

// sized reads what has about so many bytes, and store.MaxPut at most, into memory that is free. It does not grow that
// step by step, because several segments are in memory at once.
func sized(r io.Reader, size int64, free []byte) ([]byte, error) {
	out := bytes.NewBuffer(free[:0])
	out.Grow(int(min(max(size, 0), store.MaxPut)) + bytes.MinRead)
	_, err := out.ReadFrom(io.LimitReader(r, store.MaxPut))
	return out.Bytes(), err
}
