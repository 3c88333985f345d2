package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// AddProof replaces what the manifest says of proofs and keeps all else, also
// fields that this version does not know. A crash leaves the old manifest or
// the new one; a repeat does no harm.
func (d *Directory) AddProof(ctx context.Context, id string, p Proof) (err error) {
	if err := begin(ctx, id); err != nil {
		return err
	}
	if _, err := d.manifest(id); err != nil {
		return fmt.Errorf("record a proof of %s: %w", id, err)
	}
	l, err := d.claim(id)
	if err != nil {
		return fmt.Errorf("record a proof of %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	content, err := d.manifestBytes(id)
	var m Manifest
	if err == nil {
		m, err = decodeManifest(id, content)
	}
	if err == nil {
		content, err = proven(m, content, p)
	}
	if err == nil {
		err = d.putManifest(id, content)
	}
	if err != nil {
		return fmt.Errorf("record a proof of %s: %w", id, err)
	}
	return nil
}

// Present implements Presence. Manifests in a directory are not signed.
func (d *Directory) Present(ctx context.Context, id string) error {
	m, err := d.Get(ctx, id)
	if err != nil {
		return err
	}
	info, err := os.Stat(d.dataPath(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the data of %s is missing in %s", ErrDamaged, id, d.URL())
	case err != nil:
		return fmt.Errorf("find the data of %s: %w", id, err)
	case info.Size() != m.Bytes:
		return fmt.Errorf("%w: the data of %s has %d bytes instead of %d in %s", ErrDamaged, id, info.Size(), m.Bytes,
			d.URL())
	case m.Parent == "":
		return nil
	}
	if err := d.Present(ctx, m.Parent); err != nil {
		return fmt.Errorf("the backup that %s adds to: %w", id, err)
	}
	return nil
}

// Delete removes the manifest, then the data, so that a crash leaves no
// backup that lacks its data. A repeat removes what is left and returns
// ErrNotFound. ErrBusy while the backup is being written.
func (d *Directory) Delete(ctx context.Context, id string) (err error) {
	if err := begin(ctx, id); err != nil {
		return err
	}
	if !d.anything(id) {
		return fmt.Errorf("delete: %w: %s in %s", ErrNotFound, id, d.URL())
	}
	l, err := d.claim(id)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	if err := d.unneeded(ctx, id); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	_, missing := os.Stat(d.manifestPath(id))
	if err := d.wipe(id); err != nil {
		return err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("delete: %w: %s in %s; remains of an unfinished one were removed", ErrNotFound, id, d.URL())
	}
	return nil
}

// wipe removes all of a backup but the claim, which the caller holds.
func (d *Directory) wipe(id string) error {
	manifest := d.manifestPath(id)
	err := d.files.remove(manifest)
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	for _, path := range []string{d.dataPath(id), d.partPath(id), manifest + partSuffix} {
		if err == nil {
			err = d.files.remove(path)
		}
	}
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	if err != nil {
		return d.explain(err, "delete "+id)
	}
	return nil
}

// anything reports whether a backup or remains of one are there.
func (d *Directory) anything(id string) bool {
	manifest := d.manifestPath(id)
	for _, path := range []string{manifest, manifest + partSuffix, d.dataPath(id), d.partPath(id), d.claimPath(id)} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// unneeded fails with ErrNeeded while another backup adds to this one. Manifests that can't be read count for nothing.
func (d *Directory) unneeded(ctx context.Context, id string) error {
	all, err := d.List(ctx, "")
	if _, err := SplitDamaged(err); err != nil {
		return err
	}
	for _, m := range all {
		if m.Parent == id {
			return fmt.Errorf("%w: %s in %s; delete that first", ErrNeeded, m.ID, d.URL())
		}
	}
	return nil
}

// adds fails unless the full backup is here that a manifest says it adds to.
func (d *Directory) adds(m Manifest) error {
	if err := m.Adds(m.Facts); err != nil || m.Parent == "" {
		return err
	}
	if err := CheckID(m.Parent); err != nil {
		return err
	}
	p, err := d.manifest(m.Parent)
	if err == nil && p.Parent != "" {
		err = errors.New("it is no full one")
	}
	if err != nil {
		return fmt.Errorf("add to backup %s: %w", m.Parent, err)
	}
	return nil
}
