// Package store keeps immutable objects in one place: a directory, or a bucket
// of an object store. It knows nothing about backups. Package storetest holds
// what every implementation must pass.
package store

import (
	"context"
	"errors"
	"io"
	"time"
)

// Errors that callers compare with errors.Is.
var (
	// ErrNotFound: no object of that key.
	ErrNotFound = errors.New("no such object")
	// ErrExists: an object of that key is there already; it was left as it is.
	ErrExists = errors.New("object exists already")
	// ErrDenied: the credentials are missing, wrong, expired, or lack a right.
	ErrDenied = errors.New("access denied by the store")
	// ErrFull: the store has no space left, or a quota is used up.
	ErrFull = errors.New("no space left in the store")
	// ErrRetained: a retention that the store enforces keeps the object.
	ErrRetained = errors.New("object is retained by the store")
	// ErrKey: the text can't be the key of an object.
	ErrKey = errors.New("not a key of an object")
	// ErrTooLong: the object has more bytes than may be read.
	ErrTooLong = errors.New("object is too long")
	// ErrUnsupported: the store can't do what was asked for.
	ErrUnsupported = errors.New("the store does not support this")
)

// PartSize is the size of every part of an Upload but its last one.
const PartSize = 8 << 20

// MaxPut bounds the body of Put.
const MaxPut = 64 << 20

// Object is what a store says about one object.
type Object struct {
	Key  string
	Size int64
	// Modified is the time of the store's clock at which the object appeared.
	Modified time.Time
	// RetainedUntil is when the store lets the object be deleted, as Head tells it; zero if it does so now, or where
	// the store does not say.
	RetainedUntil time.Time `json:",omitzero"`
}

// Page is one page of a listing, in ascending order of keys, bytewise.
type Page struct {
	Objects []Object
	// Next is the token of the next page; "" after the last one.
	Next string
}

// Options of a new object.
type Options struct {
	// RetainUntil, if set, has the store refuse to delete the object before:
	// ErrUnsupported where it can't. Seconds count.
	RetainUntil time.Time
}

// Store is one place where objects live. It is safe for concurrent use. Keys are those that CheckKey accepts.
//
// A Put or a Commit that returned nil is durable, and the next List or Get sees it. One that failed may
// have stored the object all the same, whole; a repeat then answers ErrExists, see PutSame.
type Store interface {
	// URL names the store for people. It holds no secret.
	URL() string
	// Put stores an object of at most MaxPut bytes: ErrExists, and no change, if the key is taken.
	Put(ctx context.Context, key string, body []byte, o Options) error
	// Get reads length bytes from offset on, to the end for -1. What lies behind the end is not there:
	// the reader just ends. ctx bounds the whole stream.
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Head describes one object.
	Head(ctx context.Context, key string) (Object, error)
	// List returns one page, of at most 1,000 objects whose keys begin with prefix; token is "" for the first.
	List(ctx context.Context, prefix, token string) (Page, error)
	// Delete removes an object; that it is not there is no error. ErrRetained if the store keeps it.
	Delete(ctx context.Context, key string) error
	// Upload begins an object of any size. Nothing of it is visible before Commit.
	Upload(ctx context.Context, key string, o Options) (Upload, error)
	// Sweep drops uploads under prefix that were started before a time of the store's clock and neither
	// committed nor aborted, and says how many.
	Sweep(ctx context.Context, prefix string, before time.Time) (int, error)
	// Capabilities says what the store promises. Probe tests what of it is true.
	Capabilities(ctx context.Context) (Capabilities, error)
	// Close releases connections. Streams in use may break.
	Close() error
}

// Upload is one large object on its way. Parts may arrive from several goroutines at once.
type Upload interface {
	// Part stores part n, counted from 0. All but the last have PartSize bytes. A repeat replaces it. A store
	// that takes parts in order only waits for those before n.
	Part(ctx context.Context, n int, body []byte) error
	// Commit makes the object of the parts 0 to parts-1, at least one. ErrExists as Put, where the store can tell.
	Commit(ctx context.Context, parts int) error
	// Abort drops what was stored. After Commit it does nothing.
	Abort(ctx context.Context) error
}

// Capabilities is what a store offers beyond what every store must do.
type Capabilities struct {
	// Retention: Options.RetainUntil is enforced.
	Retention bool `json:"retention"`
	// Versioning: deleted and replaced objects stay as old versions, which cost space until a rule of the
	// bucket removes them.
	Versioning bool `json:"versioning"`
	// Default says how a rule of the store retains each new object, for people; "" if it does not, or does not say.
	Default string `json:"default,omitempty"`
	// Checksums: the store compares a checksum of what arrives.
	Checksums bool `json:"checksums"`
	// Free is how many bytes fit still; 0 where that is not known.
	Free int64 `json:"free,omitempty"`
}
