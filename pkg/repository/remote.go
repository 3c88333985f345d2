package repository

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// Remote is a repository behind the server of package helper. Its errors match
// the same sentinels as a Directory's. It never repeats a request by itself.
type Remote struct {
	url    string
	client *http.Client
}

var _ Repository = (*Remote)(nil)

// NewRemote names a repository by its canonical URL, for example "pvc:claim",
// and reaches it by dial. Nothing is dialled before the first call.
func NewRemote(url string, dial func(context.Context) (net.Conn, error)) *Remote {
	return &Remote{url: url, client: wire.NewClient(dial)}
}

// URL is what NewRemote was given.
func (r *Remote) URL() string { return r.url }

// Close drops idle connections. Readers and writers in use go on.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// Ready makes one attempt to reach the server.
func (r *Remote) Ready(ctx context.Context) error {
	if err := r.call(ctx, http.MethodGet, PathHealth, nil, nil); err != nil {
		return fmt.Errorf("reach repository %s: %w", r.url, err)
	}
	return nil
}

// Probe proves that a backup could be written on the server's side.
func (r *Remote) Probe(ctx context.Context) (int64, error) {
	var reply ProbeReply
	if err := r.call(ctx, http.MethodPost, PathProbe, nil, &reply); err != nil {
		return 0, fmt.Errorf("write to %s: %w", r.url, err)
	}
	return reply.Free, nil
}

// Get returns the manifest of one backup.
func (r *Remote) Get(ctx context.Context, id string) (Manifest, error) {
	if err := CheckID(id); err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := r.call(ctx, http.MethodGet, backupPath(id), nil, &m); err != nil {
		return Manifest{}, fmt.Errorf("get backup %s from %s: %w", id, r.url, err)
	}
	return m, nil
}

// List works as Directory's does: broken manifests come as an error beside the list.
func (r *Remote) List(ctx context.Context, cluster string) ([]Manifest, error) {
	var listing Listing
	path := PathBackups + "?" + url.Values{"cluster": {cluster}}.Encode()
	if err := r.call(ctx, http.MethodGet, path, nil, &listing); err != nil {
		return nil, fmt.Errorf("list backups in %s: %w", r.url, err)
	}
	broken := make([]error, len(listing.Broken))
	for i, f := range listing.Broken {
		if err := CheckID(f.ID); err != nil {
			return nil, fmt.Errorf("list backups in %s: %w", r.url, err)
		}
		broken[i] = &Damaged{ID: f.ID, Err: Faults().Unpack(f.Fault)}
	}
	return listing.Manifests, errors.Join(broken...)
}

// AddProof records what a verification found, atomically. A side of an older version takes only a success of the
// highest level.
func (r *Remote) AddProof(ctx context.Context, id string, p Proof) error {
	if err := CheckID(id); err != nil {
		return err
	}
	path, said := backupPath(id, "proofs"), any(p)
	if p.Level == LevelRestorable && !p.Failed { // older versions know that alone
		path, said = backupPath(id, "verified"), p.Verification
	}
	if err := r.call(ctx, http.MethodPost, path, said, nil); err != nil {
		return fmt.Errorf("record a proof of %s in %s: %w", id, r.url, err)
	}
	return nil
}

// Present implements Presence. A side of an older version refuses it.
func (r *Remote) Present(ctx context.Context, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if err := r.call(ctx, http.MethodPost, backupPath(id, "present"), struct{}{}, nil); err != nil {
		return fmt.Errorf("find what backup %s is made of in %s: %w", id, r.url, err)
	}
	return nil
}

// Delete removes manifest, then data. A repeat returns ErrNotFound.
func (r *Remote) Delete(ctx context.Context, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if err := r.call(ctx, http.MethodDelete, backupPath(id), nil, nil); err != nil {
		return fmt.Errorf("delete backup %s in %s: %w", id, r.url, err)
	}
	return nil
}

// Reader streams the data and checks it on this side of the wire. ctx bounds
// the whole stream.
func (r *Remote) Reader(ctx context.Context, id string) (io.ReadCloser, Manifest, error) {
	if err := CheckID(id); err != nil {
		return nil, Manifest{}, err
	}
	resp, err := r.send(ctx, http.MethodGet, backupPath(id, "data"), nil)
	if err != nil {
		return nil, Manifest{}, fmt.Errorf("read backup %s from %s: %w", id, r.url, err)
	}
	m, err := headerManifest(id, resp.Header)
	if err != nil {
		return nil, Manifest{}, errors.Join(fmt.Errorf("read backup %s from %s: %w", id, r.url, err), resp.Body.Close())
	}
	return newCheckedReader(ctx, resp.Body, m), m, nil
}

func headerManifest(id string, header http.Header) (Manifest, error) {
	content, err := base64.StdEncoding.DecodeString(header.Get(HeaderManifest))
	if err != nil {
		return Manifest{}, fmt.Errorf("decode header %s: %w", HeaderManifest, err)
	}
	return decodeManifest(id, content)
}

// call sends in, unless it is nil, and decodes the answer into out, unless it is nil.
func (r *Remote) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		content, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(content)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	resp, err := r.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := decodeAnswer(resp.Body, out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// repositoryURL has a host only to fill the Host header: dial alone decides where to.
const repositoryURL = "http://repository"

// send returns only answers that are a success.
func (r *Remote) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, repositoryURL+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := Faults().Check(resp); err != nil {
		return nil, err
	}
	return resp, nil
}
