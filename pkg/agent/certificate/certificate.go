// Package certificate keeps the certificate of a member and the authorities that it trusts as its files hold them: the
// kubelet replaces those while the member runs.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// Files are where a certificate, its key and the authorities are, in PEM.
type Files struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Authority   string `json:"authority"`
}

// Identity is what proves a member, and who it trusts.
type Identity struct {
	Own       tls.Certificate
	Authority *x509.CertPool
}

// Keeper holds the identity that is in force. It is safe for concurrent use.
type Keeper struct {
	files Files

	mu   sync.Mutex
	held Identity
	raw  [3][]byte
}

// Open reads the files. An error says which of them can't be used.
func Open(f Files) (*Keeper, error) {
	raw, err := f.read()
	if err != nil {
		return nil, err
	}
	held, err := f.parse(raw)
	if err != nil {
		return nil, err
	}
	return &Keeper{files: f, held: held, raw: raw}, nil
}

// Fixed returns a keeper whose identity never changes.
func Fixed(i Identity) *Keeper { return &Keeper{held: i} }

// Identity returns what is in force now.
func (k *Keeper) Identity() Identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held
}

// checkInterval is how often the files are compared with what is held.
const checkInterval = 10 * time.Second

// Run follows the files until the context is done. A new identity is in force once take has returned without an error;
// until then it is tried again. What goes wrong is reported.
func (k *Keeper) Run(ctx context.Context, take func(context.Context) error, report func(string)) {
	if k.files == (Files{}) {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pulse.Next(checkInterval)):
		}
		if err := k.follow(ctx, take); err != nil {
			report("the certificate of this member was replaced, and can't be used yet: " + err.Error())
		}
	}
}

// follow compares once.
func (k *Keeper) follow(ctx context.Context, take func(context.Context) error) error {
	raw, err := k.files.read()
	if err != nil {
		return err
	}
	k.mu.Lock()
	same := slices.EqualFunc(raw[:], k.raw[:], bytes.Equal)
	k.mu.Unlock()
	if same {
		return nil
	}
	// Between two reads the kubelet may have replaced all of them: a certificate does not fit to its key then.
	held, err := k.files.parse(raw)
	if err != nil {
		return err
	}
	if err := take(ctx); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held, k.raw = held, raw
	return nil
}

func (f Files) read() (raw [3][]byte, err error) {
	for i, name := range []string{f.Certificate, f.Key, f.Authority} {
		if raw[i], err = os.ReadFile(name); err != nil { //nolint:gosec // the configuration names it
			return raw, fmt.Errorf("read the certificate of the member: %w", err)
		}
	}
	return raw, nil
}

func (f Files) parse(raw [3][]byte) (Identity, error) {
	own, err := tls.X509KeyPair(raw[0], raw[1])
	if err != nil {
		return Identity{}, fmt.Errorf("read the certificate of the member from %s and %s: %w", f.Certificate, f.Key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw[2]) {
		return Identity{}, fmt.Errorf("read the authority: %s holds no certificate", f.Authority)
	}
	return Identity{Own: own, Authority: pool}, nil
}
