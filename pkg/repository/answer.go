package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The server runs in a pod of the cluster's namespace, where others may put
// another one in its place. These bounds keep its answers within the memory of an operator.
const (
	// maxListing bounds a listing, maxBackups the entries of it.
	maxListing = 16 << 20
	maxBackups = 10_000
	// answerWithin bounds requests that move no data.
	answerWithin = 10 * time.Minute
)

var errListing = errors.New("the repository lists more backups than fit into memory; delete old ones")

// decodeAnswer reads one JSON value of a bounded size into out; nil drops it.
func decodeAnswer(body io.Reader, out any) error {
	if listing, ok := out.(*Listing); ok {
		return listing.read(io.LimitReader(body, maxListing))
	}
	limited := &io.LimitedReader{R: body, N: maxManifest + 1}
	var err error
	if out == nil {
		// A body that was read to its end leaves the connection for the next call.
		_, err = io.Copy(io.Discard, limited)
	} else {
		err = json.NewDecoder(limited).Decode(out)
	}
	if limited.N <= 0 {
		return fmt.Errorf("it is longer than %d bytes; is this port really served by this tool?", maxManifest)
	}
	return err
}

// read decodes entry by entry: an empty one takes three bytes on the wire, and
// hundreds in memory.
func (l *Listing) read(body io.Reader) error {
	in := json.NewDecoder(body)
	if err := delimiter(in, '{'); err != nil {
		return err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		switch name {
		case "manifests":
			l.Manifests, err = entries[Manifest](in)
		case "broken":
			l.Broken, err = entries[BrokenReply](in)
		default:
			var ignored json.RawMessage
			err = in.Decode(&ignored)
		}
		if err != nil {
			return err
		}
	}
	return delimiter(in, '}')
}

// entries reads a list of at most maxBackups; null is an empty one.
func entries[T any](in *json.Decoder) ([]T, error) {
	first, err := in.Token()
	if err != nil || first == nil {
		return nil, err
	}
	if first != json.Delim('[') {
		return nil, fmt.Errorf("expected a list, not %v", first)
	}
	var out []T
	for in.More() {
		if len(out) == maxBackups {
			return nil, errListing
		}
		var v T
		if err := in.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, delimiter(in, ']')
}

func delimiter(in *json.Decoder, want json.Delim) error {
	got, err := in.Token()
	if err == nil && got != want {
		err = fmt.Errorf("expected %v, not %v", want, got)
	}
	return err
}
