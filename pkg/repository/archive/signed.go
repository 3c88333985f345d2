package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// maxSigned bounds what is read as a signed object: the "signed note" format allows a million bytes.
const maxSigned = 1_000_000

// sign makes a signed note of a value as JSON.
func (a *Archive) sign(v any) ([]byte, error) {
	if a.keys.Signer == nil {
		return nil, errors.New("there is no signing key: the repository's manifests must say who wrote them")
	}
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	out, err := note.Sign(&note.Note{Text: string(text) + "\n"}, a.keys.Signer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	if len(out) > maxSigned {
		return nil, fmt.Errorf("sign: it has %d bytes, more than the %d of the format", len(out), maxSigned)
	}
	return out, nil
}

// putSigned stores a signed value. The same value again is success; see store.PutSame.
func (a *Archive) putSigned(ctx context.Context, key string, v any, o store.Options) error {
	body, err := a.sign(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return store.PutSame(ctx, a.store, key, body, o)
}

// getSigned reads a value of bounded size whose signature is trusted: ErrSignature or ErrDamaged if that is not what is
// there.
func (a *Archive) getSigned(ctx context.Context, key string, v any) error {
	body, err := store.ReadAll(ctx, a.store, key, maxSigned)
	if errors.Is(err, store.ErrTooLong) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	if err := a.verify(body, v); err != nil {
		return fmt.Errorf("read %s from %s: %w", key, a.store.URL(), err)
	}
	return nil
}

func (a *Archive) verify(body []byte, v any) error {
	if a.keys.Trusted == nil {
		return fmt.Errorf("%w: no key is trusted here", ErrSignature)
	}
	n, err := note.Open(body, a.keys.Trusted)
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return fmt.Errorf("%w: a key that is not trusted here signed it: %s", ErrSignature,
			signedBy(unverified.Note.UnverifiedSigs))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	if err := checkText([]byte(n.Text)); err != nil {
		return err
	}
	in := json.NewDecoder(strings.NewReader(n.Text))
	if err := in.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// checkText refuses JSON that hides characters from who reads it, escaped ones included.
func checkText(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := in.Token()
		if err != nil {
			return nil //nolint:nilerr // its end, or what the real decoder will refuse
		}
		if s, ok := token.(string); ok && !printable(s) {
			return fmt.Errorf("%w: it holds characters that can't be printed: %.80q", ErrDamaged, s)
		}
	}
}

// printable accepts text that a terminal shows as it is.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
