package krew

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
)

// InstallHere installs a manifest's archive for this machine as krew does: into
// a store below root, with a link to the program in root/bin. The archives are
// taken from a directory, not from where the manifest says.
func InstallHere(manifest, archives, root string) error {
	raw, err := os.ReadFile(filepath.Clean(manifest))
	if err != nil {
		return fmt.Errorf("read the krew manifest: %w", err)
	}
	m, err := Parse(raw)
	if err != nil {
		return err
	}
	here := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH}
	for _, p := range m.Spec.Platforms {
		if p.Selector == nil || !p.Selector.matches(here) {
			continue
		}
		store := filepath.Join(root, "store", m.Metadata.Name, m.Spec.Version)
		if err := Install(p, filepath.Join(archives, path.Base(p.URI)), store); err != nil {
			return err
		}
		link := filepath.Join(root, "bin", "kubectl-"+m.Metadata.Name)
		if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
			return fmt.Errorf("link %s: %w", link, err)
		}
		return os.Symlink(filepath.Join(store, filepath.FromSlash(p.Bin)), link)
	}
	return fmt.Errorf("the manifest has nothing for %s/%s", runtime.GOOS, runtime.GOARCH)
}
